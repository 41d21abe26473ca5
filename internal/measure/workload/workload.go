// Package workload generates the requests of a load, with their prompts, lengths and arrival times. The prompts come
// from data sets or are random. All random choices derive from one seed.
//
// [Plan] makes the requests of a data set and their send times. [Hash] identifies the requests and times of a plan.
// [Build] makes only the requests, [Schedule] only the times. Lengths are in tokens. Times count from the start of the
// run. This package downloads nothing.
//
// Data sets and requests are the same as in SGLang's bench_serving: the same flags, seed and tokenizer give the same
// prompts, lengths, order, adapters and arrival times. The random numbers are the same as in Python and numpy
// (base/pyrand), and they are drawn in the order of SGLang's client. If the necessary data are unavailable, such as a
// server's vocabulary or a missing file, the package generates other prompts and adds a note. The lengths of these
// prompts are corrected to the drawn lengths (see fit.go).
package workload

import (
	"context"
	"encoding/json"
	"time"
)

// Request is a request of a plan, or a conversation of several requests.
type Request struct {
	// Prompt is the text of the prompt. If the prompt is sent as ids, Tokens holds the ids. For a chat that consists of
	// more than one prompt, Messages holds the messages as a JSON array.
	Prompt   string
	Tokens   []int32
	Messages json.RawMessage
	// Rounds are all turns of a conversation. The text of the first turn is also in Prompt (or Messages). Each turn is
	// sent together with all preceding turns and the server's replies to these turns.
	Rounds []Round
	Images []string // data URIs

	PromptLen int // prompt tokens of the first round as the server counts them: Text + Vision
	TextLen   int
	VisionLen int
	OutputLen int // maximum tokens to generate

	RoutingKey string        // X-SMG-Routing-Key
	LoRA       string        // adapter
	At         time.Duration // traces: time since the first request, before slowdown
	// Extra holds additional keys of the body. They override the keys of --extra-request-body.
	Extra map[string]json.RawMessage
}

// Round is one turn of a conversation.
type Round struct {
	Prompt string
	// Messages holds, for agentic traces, the new messages of this turn without the assistant's messages; otherwise
	// nil.
	Messages  json.RawMessage
	PromptLen int // tokens of this turn only; agentic traces: tokens of all turns so far
	OutputLen int
	Delay     time.Duration // time between the previous reply and this turn
}

// Tokenizer is the interface of tokenizers for data sets: a local tokenizer, a server's /tokenize, or an estimate. See
// [Resolve]. Each call takes many texts, because a tokenizer that is accessed over HTTP would be slow with one text per
// call.
type Tokenizer interface {
	// Encode returns the ids of each text. If special is set, the ids include the special tokens that a server adds to
	// a prompt, such as BOS.
	Encode(ctx context.Context, texts []string, special bool) ([][]int32, error)
	Decode(ctx context.Context, ids [][]int32, skipSpecial bool) ([]string, error)
	Vocabulary(ctx context.Context) (*Vocabulary, error)
	String() string // for display: "the tokenizer in DIR"
}

// Vocabulary is the set of tokens for random prompts.
type Vocabulary struct {
	All   []int32 // every id, including special ids, ascending; nil: the tokenizer does not list its ids
	Named []int32 // special ids named in the tokenizer's configuration: all_special_ids of transformers
	Own   int     // number of the model's tokens, without added tokens: vocab_size of transformers

	Text  []int32 // ids that are text by themselves: no partial characters, no control characters, not special
	Words []int32 // ids of Text that remain single tokens after any other token: a space and letters
}

// ChatTokenizer is a Tokenizer that knows the model's chat template.
type ChatTokenizer interface {
	Tokenizer
	// Chats renders conversations with the chat template, up to the start of the assistant's reply. Each conversation
	// is a JSON array of messages. If text is false, Chats computes only the lengths.
	Chats(ctx context.Context, chats []json.RawMessage, text bool) ([]RenderedChat, error)
}

// RenderedChat is a conversation in the form that the model receives.
type RenderedChat struct {
	Text string // text including BOS, if any
	Len  int    // tokens
}
