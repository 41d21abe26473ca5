package tokenizer

import "unicode/utf8"

// replacement replaces invalid UTF-8.
const replacement = "\uFFFD"

// Decode returns the text of ids. Unknown ids are ignored. If skipSpecial is set, special tokens are ignored too.
// Invalid UTF-8 becomes U+FFFD, one for each maximal part of a character (Unicode 3.9, table 3-8), as in the reference.
//
// Decode does not apply clean_up_tokenization_spaces (which would remove the space in "it 's"), because no server
// applies this option to a stream.
func (t *Tokenizer) Decode(ids []int32, skipSpecial bool) string {
	b := t.AppendBytes(nil, ids, skipSpecial)
	if utf8.Valid(b) {
		return string(b)
	}
	text, rest := repair(nil, b)
	if len(rest) > 0 {
		text = append(text, replacement...)
	}
	return string(text)
}

// AppendBytes appends the decoded bytes of ids to dst. Unlike Decode, it does not replace invalid UTF-8.
func (t *Tokenizer) AppendBytes(dst []byte, ids []int32, skipSpecial bool) []byte {
	for _, id := range ids {
		if skipSpecial && t.IsSpecial(id) {
			continue
		}
		dst = append(dst, t.Bytes(id)...)
	}
	return dst
}

// Decoder decodes a stream of ids. The text that [Decoder.Push] returns is final: a character spread over several
// tokens is held back until it is complete or the next byte cannot continue it. The concatenated results of Push and
// [Decoder.Flush] equal the result of [Tokenizer.Decode].
type Decoder struct {
	t    *Tokenizer
	skip bool
	held []byte // start of an incomplete character: 0 to 3 bytes
	text []byte // scratch
}

// NewDecoder returns a decoder at the start of a text.
func (t *Tokenizer) NewDecoder(skipSpecial bool) *Decoder {
	return &Decoder{t: t, skip: skipSpecial}
}

// Push decodes the next id and returns the text that has become final, which is often "".
func (d *Decoder) Push(id int32) string {
	if d.skip && d.t.IsSpecial(id) {
		return ""
	}
	b := d.t.Bytes(id)
	if len(d.held) == 0 && utf8.Valid(b) {
		return string(b)
	}
	var rest []byte
	d.text, rest = repair(d.text[:0], append(d.held, b...))
	d.held = append(d.held[:0], rest...)
	return string(d.text)
}

// Flush ends the text. An incomplete character becomes U+FFFD.
func (d *Decoder) Flush() string {
	if len(d.held) == 0 {
		return ""
	}
	d.held = d.held[:0]
	return replacement
}

// repair appends b to dst and replaces invalid UTF-8 by U+FFFD. If b ends with an incomplete character, repair returns
// that character as rest.
func repair(dst, b []byte) (text, rest []byte) {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r != utf8.RuneError || n != 1 {
			dst = append(dst, b[:n]...)
		} else if !utf8.FullRune(b) {
			return dst, b
		} else {
			// Find the longest start of a character, for which FullRune is false.
			for n < len(b) && !utf8.FullRune(b[:n]) && !utf8.FullRune(b[:n+1]) {
				n++
			}
			dst = append(dst, replacement...)
		}
		b = b[n:]
	}
	return dst, nil
}
