// Package workload says what is asked of a server and when: prompts from data
// sets or made up, their lengths, and arrival times, all from one seed.
//
// [Build] makes the requests of a data set, [Schedule] the times to send them
// at; [Save] and [Load] keep both in a file, and [Hash] names them. Lengths are
// in tokens, times count from the start of the run. Nothing is ever downloaded.
//
// The data sets and their rules are those of SGLang's bench_serving, so that its
// results can be compared; where its lengths are not what was asked for, those
// here are mended until they are (see fit.go).
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

	System     string        // the part that a group shares; warm-up sends it alone
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

// Vocabulary is what random prompts are made of. No list has special tokens.
type Vocabulary struct {
	IDs   []int32 // all others, ascending
	Text  []int32 // those that are text by themselves: no parts of characters, no control characters
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
