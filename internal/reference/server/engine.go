package server

import (
	"context"
	"encoding/json"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/reference/windows"
)

// Engine is the server's interface to an LLM engine. Its methods must be safe for concurrent use.
type Engine interface {
	// Submit queues one sequence. The last event has a Finish. The engine closes the channel after the last event. If
	// ctx is cancelled, the engine closes the channel soon afterwards. The server receives events without delay, so an
	// engine may abort a request whose channel remains full.
	Submit(ctx context.Context, r *api.Request) (<-chan api.Event, error)

	// FlushCache empties the prefix cache. It waits until the engine is idle. If ctx ends first, it returns ErrNotIdle.
	FlushCache(ctx context.Context) error

	// Stats returns the state of each data-parallel rank.
	Stats() []api.Stats

	// Info describes the model and the ranks. Info always returns the same value.
	Info() Info

	// Tokenizer returns the model's tokenizer.
	Tokenizer() Tokenizer

	windows.Recorder

	// Healthy returns nil while the engine can serve requests. Otherwise it returns the reason as an error.
	Healthy() error
}

// Tokenizer converts text to tokens and tokens to text.
type Tokenizer interface {
	// Encode returns the tokens of text. If special is set, the model's start token (BOS) is added.
	Encode(text string, special bool) ([]int32, error)
	// Decode returns the text of ids, with broken UTF-8 replaced.
	Decode(ids []int32, skipSpecial bool) string
	// Stream returns a decoder for one sequence.
	Stream(skipSpecial bool) TextStream
	// Bytes returns the bytes of one token, which may be partial runes.
	Bytes(id int32) []byte
	// ChatPrompt renders messages with the model's chat template.
	ChatPrompt(messages []wire.Message, o ChatOptions) (string, error)
}

// TextStream decodes one sequence token by token. It returns only complete runes.
type TextStream interface {
	Push(id int32) string
	Flush() string // returns the remaining text, with broken UTF-8 replaced
}

// ChatOptions are options of the chat template.
type ChatOptions struct {
	Generate bool // open the assistant's turn
	Continue bool // leave the last message open
	Kwargs   map[string]json.RawMessage
}

// Info describes the model and how it is served.
type Info struct {
	ModelPath     string
	TokenizerPath string
	ModelType     string // "qwen3"
	Architectures []string
	LoadFormat    string
	WeightVersion string // "default"

	ContextLen int // tokens
	VocabSize  int

	Role string // api.Prefill or api.Decode; otherwise the engine works alone

	DP, TP, PP, EP     int // sizes of the parallel layout
	MaxRunningRequests int // limit per DP rank
	TokenCapacity      int // KV cache per DP rank, tokens
	PageSize           int // allocation unit of the KV cache, tokens

	WeightBytes, KVBytes, GraphBytes int64 // bytes per rank

	Accelerator string // "software GPU (AVX512)"

	// Defaults from the model's generation_config.json for chats that omit these parameters. nil means 1.0 for
	// Temperature, 1.0 for TopP and the whole vocabulary for TopK.
	Temperature *float64
	TopP        *float64
	TopK        *int
}
