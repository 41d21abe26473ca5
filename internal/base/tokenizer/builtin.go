package tokenizer

import "fmt"

// specials are the built-in tokenizer's special tokens, from id firstSpecial on.
var specials = []string{bosToken, eosToken, padToken, "<|im_start|>", "<|im_end|>"}

const (
	bosToken, eosToken, padToken = "<|bos|>", "<|eos|>", "<|pad|>"

	firstSpecial = 256 // first id after the bytes
	firstWord    = firstSpecial + 5
)

// ByteLevel returns a tokenizer without files, for models with random weights whose directory has no tokenizer.json.
// vocab is the model's vocab_size: each id below vocab is a token. Ids 0 to 255 are the bytes. Five special tokens
// follow, and then made-up words (" ba", " suko"), so that nearly every id that a random model draws is visible text
// for the client. There are no merges. A made-up word in a text becomes the token of that word, as with Llama 3's
// ignore_merges. All other text becomes bytes.
func ByteLevel(vocab int) (*Tokenizer, error) {
	if vocab < firstWord || vocab > maxID {
		return nil, fmt.Errorf("the built-in tokenizer needs a vocab_size from %d (bytes and special tokens) to %d, not %d: "+
			"give the model another vocab_size, or a tokenizer.json", firstWord, maxID, vocab)
	}
	t := &Tokenizer{
		ids:   make(map[string]int32, vocab),
		bytes: make([][]byte, 0, vocab), special: make([]bool, 0, vocab), own: vocab,
	}
	for b, r := range byteToRune {
		t.model.byteID[b] = int32(b)
		t.mustAdd(string(r), int32(b), false)
	}
	t.model.merges = newPairTable(0)
	t.model.cache = newWordCache()
	for i, token := range specials {
		id := int32(firstSpecial + i)
		t.mustAdd(token, id, true)
		t.raw.add(token, &addedToken{ID: id, Content: token, Special: true})
	}
	t.steps = []step{scanners[patternGPT2]}
	t.addWords(vocab - firstWord)
	t.bos, t.pad = t.ids[bosToken], t.ids[padToken]
	t.named = []int32{t.bos, t.ids[eosToken], t.pad}
	t.eos = []int32{t.ids[eosToken], t.ids["<|im_end|>"]}
	t.prefix = []int32{t.bos}
	t.chat = newChat("", "")
	return t, nil
}

func (t *Tokenizer) mustAdd(token string, id int32, special bool) {
	if err := t.add(token, id, special); err != nil {
		panic(err) // only if two built-in tokens are equal
	}
}

// addWords appends the first n made-up words: first the words of one syllable, then the words of two syllables, and so
// on. A syllable is a consonant and a vowel. The words are numbers in bijective numeration with one digit per syllable,
// so they are distinct. Each start of a server builds a vocabulary of 150,000 words, so for speed all words share one
// buffer and bypass [Tokenizer.add].
func (t *Tokenizer) addWords(n int) {
	const consonants, vowels = "bdfghjklmnprstvz", "aeiou"
	const base = len(consonants) * len(vowels)
	written := make([]byte, 0, 12*n) // words as written in a vocabulary, where a space is Ġ, two bytes
	ends := make([]int, n)
	for i := range n {
		written = append(written, "Ġ"...)
		for k := i + 1; k > 0; k = (k - 1) / base {
			s := (k - 1) % base
			written = append(written, consonants[s/len(vowels)], vowels[s%len(vowels)])
		}
		ends[i] = len(written)
	}
	names := string(written)
	for from, i := 0, 0; i < n; from, i = ends[i], i+1 {
		written[from+1] = ' '
	}
	words, from := string(written), 0
	t.model.whole = make(map[string]int32, n)
	for _, end := range ends {
		id := int32(len(t.bytes))
		t.ids[names[from:end]], t.model.whole[words[from+1:end]] = id, id
		t.bytes, t.special = append(t.bytes, written[from+1:end:end]), append(t.special, false)
		from = end
	}
}
