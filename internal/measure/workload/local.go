package workload

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/tokenizer"
)

// Local is a tokenizer that runs in this process.
type Local struct {
	tok   *tokenizer.Tokenizer
	name  string
	vocab func() *Vocabulary
}

// NewLocal wraps a tokenizer. The name is used only for display.
func NewLocal(tok *tokenizer.Tokenizer, name string) *Local {
	return &Local{tok, name, sync.OnceValue(func() *Vocabulary { return vocabulary(tok) })}
}

// OpenLocal reads the tokenizer of a model directory.
func OpenLocal(path string) (*Local, error) {
	tok, err := tokenizer.Load(path)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	return NewLocal(tok, "the tokenizer in "+path), nil
}

func (l *Local) String() string { return l.name }

// Encode implements [Tokenizer].
func (l *Local) Encode(ctx context.Context, texts []string, special bool) ([][]int32, error) {
	return each(ctx, runtime.GOMAXPROCS(0), texts, func(_ context.Context, text string) ([]int32, error) {
		return l.tok.Encode(text, special), nil
	})
}

// Decode implements [Tokenizer].
func (l *Local) Decode(ctx context.Context, ids [][]int32, skipSpecial bool) ([]string, error) {
	return each(ctx, runtime.GOMAXPROCS(0), ids, func(_ context.Context, ids []int32) (string, error) {
		return l.tok.Decode(ids, skipSpecial), nil
	})
}

// Vocabulary implements [Tokenizer].
func (l *Local) Vocabulary(context.Context) (*Vocabulary, error) { return l.vocab(), nil }

// Chats implements [ChatTokenizer].
func (l *Local) Chats(ctx context.Context, chats []json.RawMessage, _ bool) ([]RenderedChat, error) {
	return each(ctx, runtime.GOMAXPROCS(0), chats, func(_ context.Context, chat json.RawMessage) (RenderedChat, error) {
		messages, err := parseMessages(chat)
		if err != nil {
			return RenderedChat{}, err
		}
		text, err := l.tok.Chat().Render(messages, tokenizer.ChatOptions{})
		if err != nil {
			return RenderedChat{}, err
		}
		return RenderedChat{text, len(l.tok.Encode(text, false))}, nil
	})
}

// each calls do for all items, at most limit of them concurrently. The results have the order of the items.
func each[T, R any](ctx context.Context, limit int, items []T, do func(context.Context, T) (R, error)) ([]R, error) {
	out := make([]R, len(items))
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(limit)
	for i, item := range items {
		if inner.Err() != nil {
			break
		}
		group.Go(func() (err error) {
			out[i], err = do(inner, item)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return out, ctx.Err()
}

// vocabulary classifies a tokenizer's ids.
func vocabulary(tok *tokenizer.Tokenizer) *Vocabulary {
	v := &Vocabulary{All: tok.IDs(), Named: tok.Named(), Own: tok.Own()}
	for _, id := range v.All {
		b := tok.Bytes(id)
		if tok.IsSpecial(id) || len(b) == 0 || !utf8.Valid(b) || bytes.ContainsFunc(b, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) {
			continue
		}
		v.Text = append(v.Text, id)
		if isWord(b) {
			v.Words = append(v.Words, id)
		}
	}
	if len(v.Words) == 0 { // the tokenizer has only bytes, so letters do not merge into words
		for _, id := range v.Text {
			if b := tok.Bytes(id); len(b) == 1 && unicode.IsLetter(rune(b[0])) {
				v.Words = append(v.Words, id)
			}
		}
	}
	return v
}

// isWord reports whether b has the form " word": a space followed by two or more lower-case letters.
func isWord(b []byte) bool {
	return len(b) >= 3 && b[0] == ' ' && !slices.ContainsFunc(b[1:], func(c byte) bool { return c < 'a' || c > 'z' })
}

// parseMessages parses an OpenAI conversation. If the content of a message is a list of parts, only the text parts are
// used.
func parseMessages(chat json.RawMessage) ([]tokenizer.Message, error) {
	var raw []struct {
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		Reasoning string          `json:"reasoning_content"`
	}
	if err := json.Unmarshal(chat, &raw); err != nil {
		return nil, fmt.Errorf("messages: %s", wire.JSONCause(err))
	}
	out := make([]tokenizer.Message, len(raw))
	for i, m := range raw {
		text, err := contentText(m.Content)
		if err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
		out[i] = tokenizer.Message{Role: m.Role, Content: text, Reasoning: m.Reasoning}
	}
	return out, nil
}

func contentText(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", fmt.Errorf("content is neither a text nor a list of parts")
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String(), nil
}
