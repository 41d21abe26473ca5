package tokenizer

// ByteLevel is a tokenizer without files: ids 0 to 255 are the bytes, then come
// five special tokens. For models with random weights, whose directory has no
// tokenizer.json.
func ByteLevel() *Tokenizer {
	t := &Tokenizer{ids: map[string]int32{}}
	for b, r := range byteToRune {
		t.model.byteID[b] = int32(b)
		t.mustAdd(string(r), int32(b), false)
	}
	t.model.merges = newPairTable(0)
	t.model.cache = newWordCache()
	special := []string{"<|bos|>", "<|eos|>", "<|pad|>", "<|im_start|>", "<|im_end|>"}
	for i, token := range special {
		id := int32(256 + i)
		t.mustAdd(token, id, true)
		t.raw.add(token, &addedToken{ID: id, Content: token, Special: true})
	}
	t.bos, t.pad = 256, 258
	t.eos = []int32{257, 260}
	t.prefix = []int32{t.bos}
	t.chat = newChat("", "")
	return t
}

func (t *Tokenizer) mustAdd(token string, id int32, special bool) {
	if err := t.add(token, id, special); err != nil {
		panic(err) // two of our own tokens clash
	}
}
