package tokenizer

import (
	"fmt"
	"maps"
	"slices"
)

// None is the id of a missing token.
const None int32 = -1

// Tokenizer encodes and decodes text. It is immutable.
type Tokenizer struct {
	model     model
	normalise func(string) string // nil: text is not normalised
	steps     []step              // pre-tokeniser

	raw    matcher // added tokens matched in the raw text
	normal matcher // added tokens matched in normalised text

	prefix, suffix []int32 // ids before and after a text if special tokens are added

	ids     map[string]int32 // id by the token's text, as written in the file
	bytes   [][]byte         // decoded bytes by id; nil: no such id
	special []bool           // by id: whether the token is special
	named   []int32          // special tokens named by the configuration
	own     int              // number of tokens of the model, without added tokens

	bos, pad int32
	eos      []int32
	chat     *Chat
	notes    []string
}

// Encode returns the ids of text. If addSpecial is set, Encode adds the special tokens of the post-processor: a leading
// BOS for Llama 3, none for Qwen. Text from a chat template already contains them.
//
// If text spells out a special token, that token's id is returned, as in the reference.
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

// words splits s into words and appends their ids.
func (t *Tokenizer) words(ids []int32, s string) []int32 {
	if len(t.steps) == 1 {
		if next, ok := t.steps[0].(scanner); ok { // a single scanner needs no slice of words
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

// Size returns one more than the highest id, so that any id indexes a slice of this length. A model's vocab_size may be
// larger than Size, because the model may have embedding rows that no token uses.
func (t *Tokenizer) Size() int { return len(t.bytes) }

// Own returns the number of tokens of the model without added tokens, which transformers calls vocab_size.
func (t *Tokenizer) Own() int { return t.own }

// IDs returns all ids, including special ones, in ascending order.
func (t *Tokenizer) IDs() []int32 { return slices.Compact(slices.Sorted(maps.Values(t.ids))) }

// Named returns the special tokens that tokenizer_config.json names: BOS, EOS and others, which transformers calls
// all_special_ids. Other added tokens may also be special.
func (t *Tokenizer) Named() []int32 { return t.named }

// ID finds a token by its text in tokenizer.json, which for an added token is its content ("<|im_end|>").
func (t *Tokenizer) ID(token string) (id int32, ok bool) {
	id, ok = t.ids[token]
	return id, ok
}

// Bytes returns the decoded bytes of a token, which may be invalid UTF-8, or nil if there is no such id. The caller
// must not change them.
func (t *Tokenizer) Bytes(id int32) []byte {
	if id < 0 || int(id) >= len(t.bytes) {
		return nil
	}
	return t.bytes[id]
}

// IsSpecial reports whether decoding may skip the token.
func (t *Tokenizer) IsSpecial(id int32) bool {
	return id >= 0 && int(id) < len(t.special) && t.special[id]
}

// BOS returns the id of the token that begins a text, or [None].
func (t *Tokenizer) BOS() int32 { return t.bos }

// PAD returns the id of the token that pads a batch, or [None].
func (t *Tokenizer) PAD() int32 { return t.pad }

// EOS returns the ids of the tokens that end a generation: the union of generation_config.json, tokenizer_config.json
// and config.json. The caller must not change them.
func (t *Tokenizer) EOS() []int32 { return t.eos }

// Chat returns the renderer of conversations in the model's training format.
func (t *Tokenizer) Chat() *Chat { return t.chat }

// Notes returns sentences about settings in the files that the Tokenizer ignores, such as an unknown chat template.
func (t *Tokenizer) Notes() []string { return t.notes }

// add assigns an id to a token.
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

// maxID is the largest accepted id. It limits the memory that [Tokenizer.add] allocates for a broken file. The largest
// vocabularies in use have about 2^18 tokens.
const maxID = 1 << 24
