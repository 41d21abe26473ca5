package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
)

// Served is the tokenizer of a server, accessed through /tokenize and /detokenize. SGLang and vLLM have both routes.
// vLLM returns the decoded text under the key "prompt".
type Served struct {
	server *client.Server
	model  string

	mu    sync.Mutex
	known map[string][]int32 // key: 's' (with special tokens) or ' ' (without), then the text
	held  int                // number of bytes in known
	vocab *Vocabulary
}

const (
	servedAtOnce = 16               // concurrent requests
	servedCache  = 64 << 20         // bytes of cached texts and ids
	servedWait   = 60 * time.Second // timeout of one reply
)

// NewServed returns the tokenizer of a server. If the server has only one model, model may be empty.
func NewServed(server *client.Server, model string) *Served {
	return &Served{server: server, model: model, known: map[string][]int32{}}
}

func (s *Served) String() string { return "the tokenizer of " + s.server.URL }

// Encode implements [Tokenizer].
func (s *Served) Encode(ctx context.Context, texts []string, special bool) ([][]int32, error) {
	mark := " "
	if special {
		mark = "s"
	}
	return each(ctx, servedAtOnce, texts, func(ctx context.Context, text string) ([]int32, error) {
		s.mu.Lock()
		ids, ok := s.known[mark+text]
		s.mu.Unlock()
		if ok {
			return slices.Clone(ids), nil
		}
		ids, err := s.tokenize(ctx, map[string]any{"prompt": text, "add_special_tokens": special})
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if size := len(text) + 4*len(ids); s.held+size <= servedCache {
			s.known[mark+text], s.held = slices.Clone(ids), s.held+size
		}
		return ids, nil
	})
}

func (s *Served) tokenize(ctx context.Context, body map[string]any) ([]int32, error) {
	var reply struct {
		Tokens []int32 `json:"tokens"`
	}
	if err := s.post(ctx, "/tokenize", body, &reply); err != nil {
		return nil, err
	}
	if reply.Tokens == nil {
		return nil, fmt.Errorf("%s/tokenize: the reply has no list of tokens", s.server.URL)
	}
	return reply.Tokens, nil
}

// Decode implements [Tokenizer]. vLLM always keeps special tokens.
func (s *Served) Decode(ctx context.Context, ids [][]int32, skipSpecial bool) ([]string, error) {
	return each(ctx, servedAtOnce, ids, func(ctx context.Context, ids []int32) (string, error) {
		if len(ids) == 0 {
			return "", nil
		}
		var reply struct{ Text, Prompt *string }
		if err := s.post(ctx, "/detokenize", map[string]any{"tokens": ids, "skip_special_tokens": skipSpecial}, &reply); err != nil {
			return "", err
		}
		switch {
		case reply.Text != nil:
			return *reply.Text, nil
		case reply.Prompt != nil:
			return *reply.Prompt, nil
		}
		return "", fmt.Errorf("%s/detokenize: the reply has no text", s.server.URL)
	})
}

// Vocabulary implements [Tokenizer]. Servers do not list their tokens, so the vocabulary consists of the tokens of
// common words.
func (s *Served) Vocabulary(ctx context.Context) (*Vocabulary, error) {
	s.mu.Lock()
	vocab := s.vocab
	s.mu.Unlock()
	if vocab != nil {
		return vocab, nil
	}
	ids, err := s.Encode(ctx, []string{" " + strings.Join(estimateWords(), " ")}, false)
	if err != nil {
		return nil, err
	}
	words := slices.Clone(ids[0])
	slices.Sort(words)
	words = slices.Compact(words)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vocab = &Vocabulary{Text: words, Words: words}
	return s.vocab, nil
}

// Chats implements [ChatTokenizer].
func (s *Served) Chats(ctx context.Context, chats []json.RawMessage, text bool) ([]RenderedChat, error) {
	return each(ctx, servedAtOnce, chats, func(ctx context.Context, chat json.RawMessage) (RenderedChat, error) {
		ids, err := s.tokenize(ctx, map[string]any{"messages": chat, "add_generation_prompt": true, "add_special_tokens": false})
		if err != nil || !text {
			return RenderedChat{Len: len(ids)}, err
		}
		made, err := s.Decode(ctx, [][]int32{ids}, false)
		if err != nil {
			return RenderedChat{}, err
		}
		return RenderedChat{made[0], len(ids)}, nil
	})
}

func (s *Served) post(ctx context.Context, route string, body map[string]any, into any) error {
	if s.model != "" {
		body["model"] = s.model
	}
	ctx, cancel := context.WithTimeout(ctx, servedWait)
	defer cancel()
	return s.server.Post(ctx, route, body, into)
}
