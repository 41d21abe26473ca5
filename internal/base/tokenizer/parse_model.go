package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// fileModel is a model of type BPE. The fields that must be absent are those for SentencePiece-style vocabularies and
// for training.
type fileModel struct {
	Type                    string           `json:"type"`
	Dropout                 *float64         `json:"dropout"`
	ContinuingSubwordPrefix *string          `json:"continuing_subword_prefix"`
	EndOfWordSuffix         *string          `json:"end_of_word_suffix"`
	ByteFallback            bool             `json:"byte_fallback"`
	IgnoreMerges            bool             `json:"ignore_merges"`
	Vocab                   map[string]int32 `json:"vocab"`
	Merges                  merges           `json:"merges"`
}

// merges are pairs of written tokens. Files store them as "a b" or, since tokenizers 0.20, as ["a","b"], which allows
// spaces in tokens.
type merges [][2]string

func (m *merges) UnmarshalJSON(data []byte) error {
	inner := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("[")), " \t\r\n")
	if len(inner) > 0 && inner[0] == '[' {
		return json.Unmarshal(data, (*[][2]string)(m))
	}
	var lines []string
	if err := json.Unmarshal(data, &lines); err != nil {
		return err
	}
	for i, line := range lines {
		a, b, ok := strings.Cut(line, " ")
		if !ok || strings.Contains(b, " ") {
			return fmt.Errorf("merges[%d]: %q is not two tokens with a space between", i, line)
		}
		*m = append(*m, [2]string{a, b})
	}
	return nil
}

func (t *Tokenizer) setModel(raw json.RawMessage) error {
	if isNull(raw) {
		return wrong("is missing: is this a tokenizer.json?")
	}
	var f fileModel
	if err := decode(raw, &f); err != nil {
		return err
	}
	switch {
	case f.Type != "BPE" && (f.Type != "" || f.Merges == nil): // old files of BPE models have no type
		return wrong("type %q is not supported; BPE is", f.Type)
	case f.ByteFallback:
		return wrong("byte_fallback is not supported: this is a SentencePiece-style vocabulary, not a byte-level one")
	case f.Dropout != nil && *f.Dropout != 0:
		return wrong("dropout is not supported: it makes encoding random")
	case f.ContinuingSubwordPrefix != nil && *f.ContinuingSubwordPrefix != "":
		return wrong("continuing_subword_prefix %q is not supported", *f.ContinuingSubwordPrefix)
	case f.EndOfWordSuffix != nil && *f.EndOfWordSuffix != "":
		return wrong("end_of_word_suffix %q is not supported", *f.EndOfWordSuffix)
	}
	for token, id := range f.Vocab {
		if err := t.add(token, id, false); err != nil {
			return wrong("vocab: %w", err)
		}
	}
	t.own = len(f.Vocab)
	// Every byte has a token, so unk_token is never needed.
	for b, r := range byteToRune {
		id, ok := f.Vocab[string(r)]
		if !ok {
			return wrong("vocab has no token %q for the byte 0x%02x: only byte-level vocabularies are supported", string(r), b)
		}
		t.model.byteID[b] = id
	}
	t.model.merges = newPairTable(len(f.Merges))
	for rank, m := range f.Merges {
		a, okA := f.Vocab[m[0]]
		b, okB := f.Vocab[m[1]]
		ab, okAB := f.Vocab[m[0]+m[1]]
		switch {
		case !okA:
			return wrong("merges[%d]: %q is not in the vocab", rank, m[0])
		case !okB:
			return wrong("merges[%d]: %q is not in the vocab", rank, m[1])
		case !okAB:
			return wrong("merges[%d]: %q is not in the vocab", rank, m[0]+m[1])
		}
		t.model.merges.put(a, b, rank, ab)
	}
	if f.IgnoreMerges {
		t.model.whole = make(map[string]int32, len(f.Vocab))
		for token, id := range f.Vocab {
			if b, ok := decodeMapped(token); ok {
				t.model.whole[string(b)] = id
			}
		}
	}
	t.model.cache = newWordCache()
	return nil
}
