package fakeengine

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/reference/server"
)

// Special tokens. Ids below 256 are bytes, and ids above End have no text.
const (
	BOS   int32 = 256
	EOS   int32 = 257
	Start int32 = 258 // <|im_start|>
	End   int32 = 259 // <|im_end|>
)

var specials = map[int32]string{BOS: "<s>", EOS: "</s>", Start: "<|im_start|>", End: "<|im_end|>"}

// Tokenizer has one token for each byte.
type Tokenizer struct{}

// Encode converts a text to ids. If special is set, it converts the names of special tokens in the text to their ids.
func (Tokenizer) Encode(text string, special bool) ([]int32, error) {
	var ids []int32
	if special {
		ids = append(ids, BOS)
	}
next:
	for text != "" {
		for id, name := range specials {
			if rest, ok := strings.CutPrefix(text, name); ok {
				ids, text = append(ids, id), rest
				continue next
			}
		}
		ids, text = append(ids, int32(text[0])), text[1:]
	}
	return ids, nil
}

// Bytes returns the bytes of one token.
func (Tokenizer) Bytes(id int32) []byte {
	if id < 256 {
		return []byte{byte(id)}
	}
	return []byte(specials[id])
}

// Decode returns the text of ids.
func (t Tokenizer) Decode(ids []int32, skipSpecial bool) string {
	d := t.Stream(skipSpecial)
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(d.Push(id))
	}
	return b.String() + d.Flush()
}

// Stream returns a decoder that holds back the bytes of unfinished runes.
func (Tokenizer) Stream(skipSpecial bool) server.TextStream { return &stream{skip: skipSpecial} }

type stream struct {
	skip bool
	held []byte
}

func (s *stream) Push(id int32) string {
	if id >= 256 {
		out := s.Flush()
		if !s.skip {
			out += specials[id]
		}
		return out
	}
	s.held = append(s.held, byte(id))
	if !utf8.FullRune(s.held) {
		return ""
	}
	// The held bytes form a complete rune, or they are invalid because the new byte does not continue the rune.
	return s.Flush()
}

func (s *stream) Flush() string {
	out := strings.ToValidUTF8(string(s.held), "\ufffd")
	s.held = nil
	return out
}

// ChatPrompt renders ChatML.
func (Tokenizer) ChatPrompt(messages []wire.Message, o server.ChatOptions) (string, error) {
	var b strings.Builder
	for i, m := range messages {
		switch m.Role {
		case "system", "developer", "user", "assistant", "tool":
		default:
			return "", errors.New("unknown role " + m.Role)
		}
		b.WriteString("<|im_start|>" + m.Role + "\n" + m.Content)
		if o.Continue && i == len(messages)-1 {
			return b.String(), nil
		}
		b.WriteString("<|im_end|>\n")
	}
	if o.Generate {
		b.WriteString("<|im_start|>assistant\n")
	}
	return b.String(), nil
}
