package tokenizer

import (
	"fmt"
	"maps"
	"slices"
)

// None stands for a token id that a tokenizer does not have.
const None int32 = -1

// A Tokenizer encodes and decodes text. It never changes once it is made.
type Tokenizer struct {
	model     model
	normalise func(string) string // nil: text is left as it is
	steps     []step              // the pre-tokeniser

	raw    matcher // added tokens looked for in the text as it comes
	normal matcher // added tokens looked for in normalised text

	prefix, suffix []int32 // around a text, when special tokens are asked for

	ids     map[string]int32 // by the token's text as written in the file
	bytes   [][]byte         // by id: what the token decodes to; nil: no such id
	special []bool           // by id
	named   []int32          // special tokens that the configuration names
	own     int              // tokens of the model, without those added to it

	bos, pad int32
	eos      []int32
	chat     *Chat
	notes    []string
}

// Encode returns the ids of text. With addSpecial it adds what the
// post-processor puts around a text: for Llama 3 a BOS in front, for Qwen
// nothing. Text that a chat template made has these already.
//
// Special tokens written out in text become their ids, as in the reference.
func (t *Tokenizer) Encode(text string, addSpecial bool) []int32 {
	ids := make([]int32, 0, len(text)/3+len(t.prefix)+len(t.suffix)+1)
	if addSpecial {
		ids = append(ids, t.prefix...)
	}
	t.raw.split(text, func(s string, id int32) {
		if id != None {
			ids = append(ids, id)
			return
		}
		if t.normalise != nil {
			s = t.normalise(s)
		}
		t.normal.split(s, func(s string, id int32) {
			if id != None {
				ids = append(ids, id)
				return
			}
			ids = t.words(ids, s)
		})
	})
	if addSpecial {
		ids = append(ids, t.suffix...)
	}
	return ids
}

// words cuts s into words and appends their ids.
func (t *Tokenizer) words(ids []int32, s string) []int32 {
	if len(t.steps) == 1 {
		if next, ok := t.steps[0].(scanner); ok { // no slice of words needed
			for i := 0; i < len(s); {
				j := next(s, i)
				ids = t.model.encode(ids, s[i:j])
				i = j
			}
			return ids
		}
	}
	words := []string{s}
	for _, step := range t.steps {
		var cut []string
		for _, w := range words {
			cut = step.cut(cut, w)
		}
		words = cut
	}
	for _, w := range words {
		ids = t.model.encode(ids, w)
	}
	return ids
}

// Size is one more than the highest id, so that any id indexes a slice of this
// length. A model's vocab_size may be larger: rows that no token uses.
func (t *Tokenizer) Size() int { return len(t.bytes) }

// Own is how many tokens the model has without those that were added to it, which transformers calls vocab_size.
func (t *Tokenizer) Own() int { return t.own }

// IDs are all ids that there are, special ones too, ascending.
func (t *Tokenizer) IDs() []int32 { return slices.Compact(slices.Sorted(maps.Values(t.ids))) }

// Named are the special tokens that tokenizer_config.json names: BOS, EOS and others, which transformers calls
// all_special_ids. Added tokens may be special without that.
func (t *Tokenizer) Named() []int32 { return t.named }

// ID finds a token by its text as written in tokenizer.json, which for an added
// token is its content ("<|im_end|>").
func (t *Tokenizer) ID(token string) (id int32, ok bool) {
	id, ok = t.ids[token]
	return id, ok
}

// Bytes is what a token decodes to, which need not be valid UTF-8; nil if there
// is no such id. The caller must not change it.
func (t *Tokenizer) Bytes(id int32) []byte {
	if id < 0 || int(id) >= len(t.bytes) {
		return nil
	}
	return t.bytes[id]
}

// IsSpecial says whether decoding may skip the token.
func (t *Tokenizer) IsSpecial(id int32) bool {
	return id >= 0 && int(id) < len(t.special) && t.special[id]
}

// BOS is the id that begins a text, or [None].
func (t *Tokenizer) BOS() int32 { return t.bos }

// PAD is the id that fills up a batch, or [None].
func (t *Tokenizer) PAD() int32 { return t.pad }

// EOS lists the ids that end a generation: those of generation_config.json,
// tokenizer_config.json and config.json together. The caller must not change it.
func (t *Tokenizer) EOS() []int32 { return t.eos }

// Chat renders conversations as the model was trained on them.
func (t *Tokenizer) Chat() *Chat { return t.chat }

// Notes says in sentences what the files ask for and this tokenizer does in
// another way, such as a chat template it does not know.
func (t *Tokenizer) Notes() []string { return t.notes }

// add gives a token its id.
func (t *Tokenizer) add(token string, id int32, special bool) error {
	if id < 0 || id >= maxID {
		return fmt.Errorf("token %q has id %d, which is not between 0 and %d", token, id, maxID-1)
	}
	if have, ok := t.ids[token]; ok && have != id {
		return fmt.Errorf("token %q has id %d here and %d before: make them the same", token, id, have)
	}
	for int(id) >= len(t.bytes) {
		t.bytes, t.special = append(t.bytes, nil), append(t.special, false)
	}
	b := decodeToken(token)
	if have := t.bytes[id]; have != nil && string(have) != string(b) {
		return fmt.Errorf("id %d is both %q and %q: each token needs its own", id, have, b)
	}
	t.ids[token], t.bytes[id] = id, b
	t.special[id] = t.special[id] || special
	return nil
}

// maxID bounds what a broken file can make [Tokenizer.add] allocate; the largest
// vocabularies in use are of some 2^18 tokens.
const maxID = 1 << 24
