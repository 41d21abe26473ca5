// Package workload generates requests to a server: prompts from data sets or random ones, their lengths, and arrival
// times, all from one seed.
//
// [Plan] makes the requests of a data set and their send times, and [Hash] identifies both; [Build] makes only
// requests, [Schedule] only times. Lengths are in tokens; times count from the start of the run. Nothing is ever
// downloaded.
//
// Data sets and requests are those of SGLang's bench_serving: the same flags, seed and tokenizer give the same prompts,
// lengths, order, adapters and arrival times. The draws are those of Python and numpy (base/pyrand), in the order of
// its client. Where that needs unavailable data, such as a server's vocabulary or a missing file, the package generates
// other prompts and notes it. Their lengths are corrected to the drawn ones (see fit.go).
package workload

import (
	"context"
	"encoding/json"
	"time"
)

// Request is a request of a plan, or a conversation of several requests.
type Request struct {
	// Prompt is the text; Tokens are its ids if it is sent as ids. Chats with more than one prompt have Messages, a
	// JSON array.
	Prompt   string
	Tokens   []int32
	Messages json.RawMessage
	// Rounds are all turns of a conversation. The text of the first is also Prompt (or Messages). Each is sent with the
	// preceding turns and the server's own replies.
	Rounds []Round
	Images []string // data URIs

	PromptLen int // tokens as counted by the server, Text + Vision; first round only
	TextLen   int
	VisionLen int
	OutputLen int // maximum tokens to generate

	RoutingKey string        // X-SMG-Routing-Key
	LoRA       string        // adapter
	At         time.Duration // traces: time since the first request, before slowdown
	// Extra are keys of the body that override those of --extra-request-body.
	Extra map[string]json.RawMessage
}

// Round is one turn of a conversation.
type Round struct {
	Prompt    string
	Messages  json.RawMessage // agentic traces: the new messages of this turn, without the assistant's; otherwise nil
	PromptLen int             // tokens of this turn only; agentic traces: of all turns so far
	OutputLen int
	Delay     time.Duration // after the previous reply
}

// Tokenizer is the interface of tokenizers for data sets: a local one, a server's /tokenize, or an estimate. See
// [Resolve]. Calls take many texts, since a tokenizer behind HTTP would be slow for one at a time.
type Tokenizer interface {
	// Encode returns the ids of each text; with special, including those that a server adds to a prompt, such as BOS.
	Encode(ctx context.Context, texts []string, special bool) ([][]int32, error)
	Decode(ctx context.Context, ids [][]int32, skipSpecial bool) ([]string, error)
	Vocabulary(ctx context.Context) (*Vocabulary, error)
	String() string // for display: "the tokenizer in DIR"
}

// Vocabulary is the set of tokens for random prompts.
type Vocabulary struct {
	All   []int32 // every id, including special ones, ascending; nil: the tokenizer does not list them
	Named []int32 // special ids named in the tokenizer's configuration: all_special_ids of transformers
	Own   int     // number of the model's tokens, without added ones: vocab_size of transformers

	Text  []int32 // ids that are text by themselves: no parts of characters, no control characters, not special
	Words []int32 // ids of Text that stay unchanged after any other: a space and letters
}

// ChatTokenizer is a Tokenizer that knows the model's chat template.
type ChatTokenizer interface {
	Tokenizer
	// Chats renders conversations, each a JSON array of messages, up to the start of the assistant's reply. If text is
	// false, only lengths are computed.
	Chats(ctx context.Context, chats []json.RawMessage, text bool) ([]RenderedChat, error)
}

// RenderedChat is a conversation as the model sees it.
type RenderedChat struct {
	Text string // including its BOS, if any
	Len  int    // tokens
}
