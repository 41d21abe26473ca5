// Package workload says what is asked of a server and when: prompts from data
// sets or made up, their lengths, and arrival times, all from one seed.
//
// [Plan] makes the requests of a data set and the times to send them at, and [Hash]
// names both; [Build] makes requests alone, [Schedule] times alone. Lengths are
// in tokens, times count from the start of the run. Nothing is ever downloaded.
//
// The data sets are those of SGLang's bench_serving, and so are the requests: the
// same flags, seed and tokenizer make the same prompts, lengths, order, adapters
// and arrival times, since the draws are those of Python and numpy (base/pyrand),
// in the order of its client. What it takes from a tokenizer that this program
// cannot have (a server does not list its vocabulary), or from a file that is not
// there, is made up here in another way, which is said; its lengths are mended
// until they are what was drawn (see fit.go).
package workload

import (
	"context"
	"encoding/json"
	"time"
)

// Request is one request of a plan, or one conversation of several.
type Request struct {
	// Prompt is the text; Tokens is it as ids, when it is to be sent so. Chats
	// that are more than a prompt have Messages, a JSON array.
	Prompt   string
	Tokens   []int32
	Messages json.RawMessage
	// Rounds are all turns of a conversation of several. The first one's text is
	// also Prompt (or Messages). Each is sent with what was said before it and the
	// server's own replies.
	Rounds []Round
	Images []string // data URIs

	PromptLen int // tokens as the server will count them, Text + Vision; of the first round
	TextLen   int
	VisionLen int
	OutputLen int // most tokens to generate

	RoutingKey string        // X-SMG-Routing-Key
	LoRA       string        // adapter
	At         time.Duration // traces: since the first request, slowdown not applied
	// Extra are keys of the body, over those of --extra-request-body.
	Extra map[string]json.RawMessage
}

// Round is one turn of a conversation.
type Round struct {
	Prompt    string
	Messages  json.RawMessage // agentic traces: the messages that are new in this turn, none of the assistant's; else nil
	PromptLen int             // tokens of this turn alone; agentic traces: of all up to here
	OutputLen int
	Delay     time.Duration // after the reply before
}

// Tokenizer is what data sets need of one: a local one, a server's /tokenize, or
// an estimate. See [Resolve]. Many texts go in one call, since a tokenizer
// behind HTTP would take long for one after the other.
type Tokenizer interface {
	// Encode returns the ids of each text; with special also those that a server
	// puts around a prompt, such as BOS.
	Encode(ctx context.Context, texts []string, special bool) ([][]int32, error)
	Decode(ctx context.Context, ids [][]int32, skipSpecial bool) ([]string, error)
	Vocabulary(ctx context.Context) (*Vocabulary, error)
	String() string // for people: "the tokenizer in DIR"
}

// Vocabulary is what random prompts are made of.
type Vocabulary struct {
	All   []int32 // every id, special ones too, ascending; nil: a tokenizer that does not list them
	Named []int32 // special ones that the tokenizer's configuration names: all_special_ids of transformers
	Own   int     // tokens of the model, without those added to it: vocab_size of transformers

	Text  []int32 // those that are text by themselves: no parts of characters, no control characters, not special
	Words []int32 // those of Text that stay what they are behind any other: a space and letters
}

// ChatTokenizer is a Tokenizer that knows the model's chat template.
type ChatTokenizer interface {
	Tokenizer
	// Chats renders conversations, each a JSON array of messages, up to where the
	// assistant is to go on. A caller that only counts leaves text out.
	Chats(ctx context.Context, chats []json.RawMessage, text bool) ([]RenderedChat, error)
}

// RenderedChat is a conversation as the model sees it.
type RenderedChat struct {
	Text string // with its BOS, if it has one
	Len  int    // tokens
}
