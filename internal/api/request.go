// Package api is the vocabulary of serving, declared once: what is asked of an engine
// ([Request], [Sampling], [ProfileRequest]), what it answers ([Event], [Stats],
// [ProfileResult]), what it logs of each step ([Step]), why it refuses, and the roles of
// servers that share the work on a request. Server, engine, scheduler, router, launch
// and offline runs all use these types. Package wire has the same things as HTTP carries
// them, package client sends them.
//
// Lengths are tokens, log probabilities are natural logarithms.
package api

import (
	"errors"
	"math"
	"time"
)

// Reasons for which an engine refuses, wrapped or not; each has its HTTP status.
var (
	ErrQueueFull   = errors.New("the request queue is full")   // 503, Retry-After
	ErrUnavailable = errors.New("the engine is shutting down") // 503
	ErrTooLong     = errors.New("the request does not fit")    // 400
	ErrInvalid     = errors.New("the request is invalid")      // 400
	ErrNotIdle     = errors.New("requests are running")        // flush: 400

	// Clients know the texts of these: they are SGLang's.

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
	TopLogprobs   int        // most probable tokens to tell beside each token
	LogprobStart  int        // first prompt position whose log probability is wanted; -1: output only
	DPRank        int        // -1: the engine chooses
	Bootstrap     *Bootstrap // of an engine that shares the work; nil: as if there were another
	Priority      *int       // nil: none; what it means the engine's options say
	Probe         bool       // a health check: not counted, not logged
}

// Sampling says how the next token is chosen and when to end; the zero Sampling is
// greedy. Stop strings are the server's business.
type Sampling struct {
	MaxNewTokens      int     // at least 0
	MinNewTokens      int     // before so many tokens, none that ends the sequence is chosen
	Temperature       float64 // 0: greedy
	TopP              float64 // (0, 1]; 0 counts as 1
	TopK              int     // 0: the whole vocabulary
	MinP              float64 // [0, 1], of the largest probability
	FrequencyPenalty  float64 // subtracted from the logit for each time the token was generated
	PresencePenalty   float64 // subtracted once
	RepetitionPenalty float64 // divides positive logits of generated tokens, multiplies negative ones; 0 counts as 1
	StopTokens        []int32 // end the sequence, beside the model's own
	IgnoreEOS         bool    // neither the model's tokens nor StopTokens end the sequence, as in SGLang
	Seed              *int64  // nil: the engine's choice
	LogitBias         map[int32]float32
}

// Bootstrap is where the two engines of a request meet.
type Bootstrap struct {
	Host string // of the prefill engine; not needed by itself
	Port int
	Room uint64
}

// Sample is where sample j of a sequence meets: both engines work it out alike.
func (b *Bootstrap) Sample(j int) *Bootstrap {
	if b == nil || j == 0 {
		return b
	}
	const golden = 0x9e3779b97f4a7c15 // spreads rooms apart
	out := *b
	out.Room = (b.Room + uint64(j)*golden) & math.MaxInt64
	return &out
}

// FakeHost stands for a prefill engine that is not there (FAKE_BOOTSTRAP_HOST):
// whatever the blocks hold counts as the prompt's keys and values.
const FakeHost = "2.2.2.2"

// NoToken stands for an event without a token.
const NoToken int32 = -1

// Event is what one step made of a request.
type Event struct {
	Token   int32 // NoToken: none
	Logprob float64
	Top     []Logprob // the most probable tokens, most probable first

	// Log probabilities of the prompt come once, with the first event: of each
	// token from Request.LogprobStart on. The first token of all has none (NaN).
	Prompt    []Logprob
	PromptTop [][]Logprob

	// Of the first token: how long the request waited for its first forward pass, and
	// from there to the token.
	Waited, Prefilled time.Duration

	Cached      int // prompt tokens found in the prefix cache when it was first admitted
	Retractions int // how often it was retracted so far
	DPRank      int
	Finish      *Finish
}

// Logprob is one token with its log probability (NaN: none).
type Logprob struct {
	ID      int32
	Logprob float64
}

// Reasons for which a request ends.
const (
	FinishStop   = "stop"
	FinishLength = "length"
	FinishAbort  = "abort"
)

// Finish says why a request ended.
type Finish struct {
	Type    string
	Matched int32  // stop: the token that ended it; NoToken: none
	Message string // abort: the reason
	Status  int    // abort: an HTTP status; 0: it was asked for
}
