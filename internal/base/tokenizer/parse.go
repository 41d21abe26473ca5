package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// The only specification of the format is the source of its reader: https://github.com/huggingface/tokenizers (each
// serialization.rs in tokenizers/src).

// file is the top level of a tokenizer.json.
type file struct {
	Truncation    json.RawMessage `json:"truncation"`
	Padding       json.RawMessage `json:"padding"`
	AddedTokens   []addedToken    `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       json.RawMessage `json:"decoder"`
	Model         json.RawMessage `json:"model"`
}

// Parse parses a tokenizer.json. BOS, EOS, PAD and the chat template are in other files, which [Load] reads too.
func Parse(data []byte) (*Tokenizer, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, jsonError(err)
	}
	t := &Tokenizer{ids: map[string]int32{}, bos: None, pad: None}
	t.chat = newChat("", "")
	if err := t.setModel(f.Model); err != nil {
		return nil, fmt.Errorf("model%w", err)
	}
	if err := t.setNormalizer(f.Normalizer); err != nil {
		return nil, fmt.Errorf("normalizer%w", err)
	}
	if err := t.setAdded(f.AddedTokens); err != nil {
		return nil, err
	}
	byteLevel := false
	if err := t.addSteps(f.PreTokenizer, &byteLevel); err != nil {
		return nil, fmt.Errorf("pre_tokenizer%w", err)
	}
	if !byteLevel {
		return nil, errors.New("pre_tokenizer: has no ByteLevel: only byte-level BPE is supported")
	}
	if err := t.setPostProcessor(f.PostProcessor); err != nil {
		return nil, fmt.Errorf("post_processor%w", err)
	}
	if err := checkDecoder(f.Decoder); err != nil {
		return nil, fmt.Errorf("decoder%w", err)
	}
	if !isNull(f.Truncation) {
		t.notes = append(t.notes, "tokenizer.json asks for truncation: texts are encoded whole")
	}
	if !isNull(f.Padding) {
		t.notes = append(t.notes, "tokenizer.json asks for padding: none is added")
	}
	return t, nil
}

// place prefixes an error with a location. The text of err must start with a location or ": ".
func place(where string, err error) error { return fmt.Errorf("%s%w", where, err) }

// wrong returns an error at the current location.
func wrong(format string, args ...any) error { return fmt.Errorf(": "+format, args...) }

func isNull(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

// decode decodes one part of the file. An error is one that wrong returns.
func decode(raw json.RawMessage, to any) error {
	if err := json.Unmarshal(raw, to); err != nil {
		return wrong("%w", jsonError(err))
	}
	return nil
}

// jsonError rephrases an error of encoding/json in the terms of the file's format.
func jsonError(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && e.Field != "" {
		return fmt.Errorf("%s: has a %s where %s is expected", e.Field, e.Value, e.Type)
	}
	return err
}

func (t *Tokenizer) setNormalizer(raw json.RawMessage) error {
	if isNull(raw) {
		return nil
	}
	var n struct {
		Type        string            `json:"type"`
		Normalizers []json.RawMessage `json:"normalizers"`
	}
	if err := decode(raw, &n); err != nil {
		return err
	}
	if n.Type == "Sequence" {
		for i, raw := range n.Normalizers {
			if err := t.setNormalizer(raw); err != nil {
				return place(fmt.Sprintf(".normalizers[%d]", i), err)
			}
		}
		return nil
	}
	form, ok := normalForms[n.Type]
	if !ok {
		return wrong("type %q is not supported; NFC, NFD, NFKC, NFKD and Sequence are", n.Type)
	}
	if before := t.normalise; before != nil {
		t.normalise = func(s string) string { return form(before(s)) }
	} else {
		t.normalise = form
	}
	return nil
}

func (t *Tokenizer) setAdded(tokens []addedToken) error {
	for i := range tokens {
		tok := &tokens[i]
		if err := t.add(tok.Content, tok.ID, tok.Special); err != nil {
			return fmt.Errorf("added_tokens[%d]: %w", i, err)
		}
		normal := !tok.Special
		if tok.Normalized != nil {
			normal = *tok.Normalized
		}
		if !normal {
			t.raw.add(tok.Content, tok)
			continue
		}
		text := tok.Content
		if t.normalise != nil {
			text = t.normalise(text)
		}
		t.bytes[tok.ID] = decodeToken(text) // the reference decodes the token in the same way
		t.normal.add(text, tok)
	}
	return nil
}

// addSteps appends the steps of one pre-tokeniser. done is set after ByteLevel, because after that step words are no
// longer text.
func (t *Tokenizer) addSteps(raw json.RawMessage, done *bool) error {
	if isNull(raw) {
		return nil
	}
	p := struct {
		Type          string            `json:"type"`
		Pretokenizers []json.RawMessage `json:"pretokenizers"`
		// Split
		Pattern struct {
			Regex  *string `json:"Regex"`
			String *string `json:"String"`
		} `json:"pattern"`
		Behavior string `json:"behavior"`
		Invert   bool   `json:"invert"`
		// ByteLevel
		AddPrefixSpace bool `json:"add_prefix_space"`
		UseRegex       bool `json:"use_regex"`
		// Digits
		IndividualDigits bool `json:"individual_digits"`
	}{UseRegex: true} // an older file, which lacks the field, means true
	if err := decode(raw, &p); err != nil {
		return err
	}
	if p.Type == "Sequence" {
		for i, raw := range p.Pretokenizers {
			if err := t.addSteps(raw, done); err != nil {
				return place(fmt.Sprintf(".pretokenizers[%d]", i), err)
			}
		}
		return nil
	}
	if *done {
		return wrong("%q follows ByteLevel, which must be last", p.Type)
	}
	switch p.Type {
	case "Split":
		switch p.Behavior {
		case "Isolated", "Removed", "Contiguous", "MergedWithPrevious", "MergedWithNext":
		default:
			return wrong("behavior %q of Split is not supported", p.Behavior)
		}
		var pattern string
		switch {
		case p.Pattern.Regex != nil:
			pattern = *p.Pattern.Regex
		case p.Pattern.String != nil:
			pattern = quoteRegexp(*p.Pattern.String)
		default:
			return wrong("pattern of Split has neither Regex nor String")
		}
		s, err := newSplit(pattern, p.Behavior, p.Invert)
		if err != nil {
			return wrong("pattern of Split: %w", err)
		}
		t.steps = append(t.steps, s)
	case "ByteLevel":
		*done = true
		if p.AddPrefixSpace {
			t.steps = append(t.steps, prefixSpace{})
		}
		if p.UseRegex {
			t.steps = append(t.steps, scanners[patternGPT2])
		}
	case "Digits":
		t.steps = append(t.steps, digits{p.IndividualDigits})
	default:
		return wrong("type %q is not supported; Split, ByteLevel, Digits and Sequence are", p.Type)
	}
	return nil
}

// quoteRegexp escapes the syntax characters of both regular expression engines (Go's regexp and regexp2).
func quoteRegexp(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(`\.+*?()|[]{}^$#`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (t *Tokenizer) setPostProcessor(raw json.RawMessage) error {
	if isNull(raw) {
		return nil
	}
	var p struct {
		Type       string            `json:"type"`
		Processors []json.RawMessage `json:"processors"`
		// TemplateProcessing
		Single []struct {
			SpecialToken *struct {
				ID string `json:"id"`
			} `json:"SpecialToken"`
			Sequence *struct {
				ID string `json:"id"`
			} `json:"Sequence"`
		} `json:"single"`
		SpecialTokens map[string]struct {
			IDs []int32 `json:"ids"`
		} `json:"special_tokens"`
	}
	if err := decode(raw, &p); err != nil {
		return err
	}
	switch p.Type {
	case "ByteLevel": // this step changes only offsets
		return nil
	case "Sequence":
		for i, raw := range p.Processors {
			if err := t.setPostProcessor(raw); err != nil {
				return place(fmt.Sprintf(".processors[%d]", i), err)
			}
		}
		return nil
	case "TemplateProcessing":
	default:
		return wrong("type %q is not supported; TemplateProcessing, ByteLevel and Sequence are", p.Type)
	}
	if t.prefix != nil || t.suffix != nil {
		return wrong("a second TemplateProcessing is not supported")
	}
	texts := 0
	for i, part := range p.Single {
		switch {
		case part.Sequence != nil && part.Sequence.ID == "A":
			texts++
		case part.SpecialToken != nil:
			tok, ok := p.SpecialTokens[part.SpecialToken.ID]
			if !ok {
				return wrong("single[%d] names %q, which special_tokens lacks", i, part.SpecialToken.ID)
			}
			if texts == 0 {
				t.prefix = append(t.prefix, tok.IDs...)
			} else {
				t.suffix = append(t.suffix, tok.IDs...)
			}
		default:
			return wrong("single[%d] is neither Sequence A nor a SpecialToken", i)
		}
	}
	if texts != 1 {
		return wrong("single has Sequence A %d times; once is supported", texts)
	}
	return nil
}

func checkDecoder(raw json.RawMessage) error {
	var d struct {
		Type     string            `json:"type"`
		Decoders []json.RawMessage `json:"decoders"`
	}
	if isNull(raw) {
		return wrong("is missing: only ByteLevel is supported")
	}
	if err := decode(raw, &d); err != nil {
		return err
	}
	if d.Type == "Sequence" && len(d.Decoders) == 1 {
		if err := checkDecoder(d.Decoders[0]); err != nil {
			return place(".decoders[0]", err)
		}
		return nil
	}
	if d.Type != "ByteLevel" {
		return wrong("type %q is not supported; ByteLevel is", d.Type)
	}
	return nil
}
