// Package api defines the types of serving: requests to an engine ([Request], [Sampling], [ProfileRequest]), its
// answers ([Event], [Stats], [ProfileResult]), and the log record of a step ([Step]). It also defines the reasons for a
// refusal and the roles of disaggregated servers. Server, engine, scheduler, router, launch and offline runs all use
// these types. Package wire defines the HTTP form of these types, and package client sends requests to servers.
//
// Lengths are in tokens. Log probabilities are natural logarithms.
package api

import (
	"errors"
	"math"
	"time"
)

// Reasons for a refusal by an engine. An error may wrap them. The comment after each gives the HTTP status.
var (
	ErrQueueFull   = errors.New("the request queue is full")   // 503, Retry-After
	ErrUnavailable = errors.New("the engine is shutting down") // 503
	ErrTooLong     = errors.New("the request does not fit")    // 400
	ErrInvalid     = errors.New("the request is invalid")      // 400
	ErrNotIdle     = errors.New("requests are running")        // flush: 400

	// The texts of these errors are SGLang's, because clients match them.

	//lint:ignore ST1005 SGLang's text
	ErrPriority = errors.New("Using priority is disabled for this server. Please send a new request without a priority.") // 503
	//lint:ignore ST1005 SGLang's text
	ErrProfileRunning = errors.New("Profiling is already in progress. Call /stop_profile first.") // 409
	//lint:ignore ST1005 SGLang's text
	ErrProfileIdle = errors.New("Profiling is not in progress. Call /start_profile first.") // 409
)

// Request is one sequence to generate.
type Request struct {
	ID            string
	Input         []int32 // at least one token
	Params        Sampling
	ReturnLogprob bool
	TopLogprobs   int        // number of most probable tokens to report at each position
	LogprobStart  int        // first prompt position to report a log probability for; -1: output only
	DPRank        int        // -1: the engine chooses
	Bootstrap     *Bootstrap // only if disaggregated; nil: run the request as if the peer engine existed
	Priority      *int       // nil: none; the engine's options define the order of priorities
	Probe         bool       // whether the request is a health check, which is not counted and not logged
}

// Sampling controls how the next token is chosen and when generation ends. The zero Sampling is greedy. The server
// handles stop strings.
type Sampling struct {
	MaxNewTokens      int     // at least 0
	MinNewTokens      int     // no token that ends the sequence is chosen before this number of tokens
	Temperature       float64 // 0: greedy
	TopP              float64 // (0, 1]; 0 counts as 1
	TopK              int     // 0: the whole vocabulary
	MinP              float64 // minimum probability relative to the largest one, [0, 1]
	FrequencyPenalty  float64 // subtracted from the logit for each occurrence among the generated tokens
	PresencePenalty   float64 // subtracted once from the logit of each generated token
	RepetitionPenalty float64 // divides positive and multiplies negative logits of generated tokens; 0 counts as 1
	StopTokens        []int32 // tokens that end the sequence, in addition to the model's
	IgnoreEOS         bool    // whether neither the model's tokens nor StopTokens end the sequence, as in SGLang
	Seed              *int64  // nil: chosen by the engine
	LogitBias         map[int32]float32
}

// Bootstrap identifies the rendezvous at which the prefill engine and the decode engine of a request meet.
type Bootstrap struct {
	Host string // host of the prefill engine; may be empty
	Port int
	Room uint64
}

// Sample returns the rendezvous of sample j of a sequence. Both engines compute the same result.
func (b *Bootstrap) Sample(j int) *Bootstrap {
	if b == nil || j == 0 {
		return b
	}
	const golden = 0x9e3779b97f4a7c15 // distributes the rooms evenly over all numbers
	out := *b
	out.Room = (b.Room + uint64(j)*golden) & math.MaxInt64
	return &out
}

// FakeHost is the host of a prefill engine that does not exist (FAKE_BOOTSTRAP_HOST). With it, a decode engine uses the
// current contents of the request's blocks as the keys and values of the prompt.
const FakeHost = "2.2.2.2"

// NoToken marks an event without a token.
const NoToken int32 = -1

// Event is the result of one step for a request.
type Event struct {
	Token   int32 // NoToken: none
	Logprob float64
	Top     []Logprob // the most probable tokens, most probable first

	// Prompt has the log probabilities of the prompt, one for each token from Request.LogprobStart on. It is set only
	// in the first event. The first token of the prompt has no log probability (NaN).
	Prompt    []Logprob
	PromptTop [][]Logprob

	// Waited and Prefilled are set in the event of the first token. Waited is the time from the request to its first
	// forward pass, and Prefilled is the time from that pass to the token.
	Waited, Prefilled time.Duration

	Cached      int // prompt tokens found in the prefix cache when the request was first admitted
	Retractions int // number of retractions so far
	DPRank      int
	Finish      *Finish
}

// Logprob is a token and its log probability (NaN: none).
type Logprob struct {
	ID      int32
	Logprob float64
}

// Types of Finish.
const (
	FinishStop   = "stop"
	FinishLength = "length"
	FinishAbort  = "abort"
)

// Finish is the reason why a request ended.
type Finish struct {
	Type    string
	Matched int32  // stop: the token that ended the sequence; NoToken: none
	Message string // abort: the reason
	Status  int    // abort: an HTTP status; 0: aborted on request
}
