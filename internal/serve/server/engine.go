package server

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/stepscope/stepscope/internal/api/wire"
)

// Errors an engine returns, wrapped or not; each has its HTTP status.
var (
	ErrQueueFull      = errors.New("the request queue is full")       // 503, Retry-After
	ErrTooLong        = errors.New("the request does not fit")        // 400
	ErrUnavailable    = errors.New("the engine is not running")       // 503
	ErrNotIdle        = errors.New("requests are running")            // flush: 400
	ErrProfileRunning = errors.New(wire.ProfileBusy)                  // 409
	ErrProfileIdle    = errors.New(wire.ProfileIdle)                  // 409
	ErrUnsupported    = errors.New("is not supported by this server") // 400
)

// Engine is what the server needs of an LLM engine. Its methods may be called
// from many goroutines.
type Engine interface {
	// Submit queues one sequence. The events end with one that has a Finish;
	// then, or soon after ctx is cancelled, the engine closes the channel. The
	// server takes events without delay, so an engine may give a request up whose
	// channel stays full.
	Submit(ctx context.Context, r *Request) (<-chan Event, error)

	// FlushCache empties the prefix cache. It waits until the engine is idle or
	// ctx ends, and then returns ErrNotIdle.
	FlushCache(ctx context.Context) error

	// Stats returns the state of each data-parallel rank.
	Stats() []Stats

	// Info describes the model and the ranks; it does not change.
	Info() Info

	// Tokenizer returns the model's tokenizer.
	Tokenizer() Tokenizer

	// StartProfile arms or starts a window on all ranks and returns; it does not
	// wait for steps or files. It returns ErrProfileRunning or another reason.
	StartProfile(ctx context.Context, r ProfileRequest) error

	// StopProfile ends the window, waits for the files, and tells what was
	// written. It returns ErrProfileIdle when no window is open or armed.
	StopProfile(ctx context.Context) (ProfileResult, error)

	// Healthy returns nil while the engine can serve, else the reason.
	Healthy() error
}

// Tokenizer turns text into tokens and back.
type Tokenizer interface {
	// Encode returns the tokens of text; special adds what the model starts a
	// prompt with (BOS).
	Encode(text string, special bool) ([]int32, error)
	// Decode returns the text of ids, any broken UTF-8 replaced.
	Decode(ids []int32, skipSpecial bool) string
	// Stream returns a decoder for one sequence.
	Stream(skipSpecial bool) TextStream
	// Bytes returns the bytes of one token, which need not be whole runes.
	Bytes(id int32) []byte
	// ChatPrompt renders messages with the model's chat template.
	ChatPrompt(messages []wire.Message, o ChatOptions) (string, error)
}

// TextStream decodes one sequence token by token. It returns whole runes only.
type TextStream interface {
	Push(id int32) string
	Flush() string // what is left, broken UTF-8 replaced
}

// ChatOptions go to the chat template.
type ChatOptions struct {
	Generate bool // open the assistant's turn
	Continue bool // leave the last message open
	Kwargs   map[string]json.RawMessage
}

// Request is one sequence to generate.
type Request struct {
	ID            string
	Input         []int32
	Params        Sampling
	ReturnLogprob bool
	TopLogprobs   int
	LogprobStart  int // first prompt position whose logprob is wanted; -1: output only
	DPRank        int // -1: the engine chooses
	Bootstrap     *Bootstrap
	Priority      int
	Probe         bool // a health check: not counted, not logged
}

// Sampling says how the next token is chosen and when to end. Stop strings are
// the server's business.
type Sampling struct {
	MaxNewTokens      int // at least 0
	MinNewTokens      int
	Temperature       float64 // 0 is greedy
	TopP              float64 // (0, 1]
	TopK              int     // 0: the whole vocabulary
	MinP              float64 // [0, 1]
	FrequencyPenalty  float64
	PresencePenalty   float64
	RepetitionPenalty float64 // 1: none
	StopTokens        []int32
	IgnoreEOS         bool
	Seed              *int64
	LogitBias         map[int32]float32
}

// NoToken stands for an event without a token.
const NoToken int32 = -1

// Event is what one step made of a sequence.
type Event struct {
	Token   int32 // NoToken: none
	Logprob float64
	Top     []Logprob // the most probable tokens, most probable first

	// Prompt logprobs come once, with the first event.
	Prompt    []Logprob
	PromptTop [][]Logprob

	Cached      int // prompt tokens found in the prefix cache
	Retractions int // how often the sequence was retracted so far
	DPRank      int
	Finish      *Finish
}

// Logprob is one token with its log probability (NaN: none).
type Logprob struct {
	ID      int32
	Logprob float64
}

// Reasons for which a sequence ends.
const (
	FinishStop   = "stop"
	FinishLength = "length"
	FinishAbort  = "abort"
)

// Finish ends a sequence.
type Finish struct {
	Type    string
	Matched int32  // the stop or EOS token; NoToken: none
	Message string // abort: the reason
	Status  int    // abort: an HTTP status; 0: the client asked for it
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

	Role string // RolePrefill, RoleDecode; else the engine works alone

	DP, TP, PP, EP     int // ranks
	MaxRunningRequests int // for each DP rank
	TokenCapacity      int // KV cache, tokens, for each DP rank

	WeightBytes, KVBytes, GraphBytes int64 // for each rank

	Accelerator string // "software GPU (AVX512)"

	// Defaults of the model's generation_config.json, for chats that set nothing;
	// nil: 1.0, 1.0, whole vocabulary.
	Temperature *float64
	TopP        *float64
	TopK        *int
}

// Stats is the state of one data-parallel rank. Tokens are KV cache slots unless
// said otherwise.
type Stats struct {
	DPRank    int
	Running   int
	Waiting   int
	ForwardCt int64

	WaitingTokens   int // prompt tokens that wait, without those in the cache
	UsedTokens      int // held by running requests
	EvictableTokens int // held by the prefix cache only
	FreeTokens      int
	SumSeqLens      int // of the running decode batch

	GenThroughput   float64 // generated tokens/s
	CacheHitRate    float64 // fraction of the last prefill's prompt tokens
	NewTokenRatio   float64
	Utilization     float64 // fraction of the running-request limit
	GraphReplayed   bool    // the last decode step was a replayed graph
	Retracted       int     // in the last step
	PrefillUncached int64   // prompt tokens computed since the start
	PrefillBusy     time.Duration

	// Requests that wait for the other server: to be taken, to have arrived, for
	// memory, for keys and values; SetAside were retracted by a decode server; and
	// those that came to nothing since the start.
	Bootstrap, Inflight, Prealloc, Transfer, SetAside int
	BootstrapFailed, TransferFailed                   int64

	RetractedTotal       int64 // requests
	RetractedInputTotal  int64 // tokens
	RetractedOutputTotal int64 // tokens
}

// Activity is a set of things a profile records.
type Activity uint8

// Activities of SGLang's profiler.
const (
	ActivityCPU Activity = 1 << iota
	ActivityGPU
	ActivityMem
	ActivityCUDAProfiler
)

// ProfileRequest is a resolved /start_profile: defaults and environment applied.
type ProfileRequest struct {
	ID           string // profile id, the same for all ranks
	OutputDir    string // absolute
	Prefix       string // before the id in file names; may be empty
	StartStep    int64  // absolute forward count; 0: now
	NumSteps     int    // exactly so many; 0: until StopProfile
	Activities   Activity
	ByStage      bool
	StageNames   bool // stages are named prefill and decode (V2), not EXTEND and DECODE
	Prefill      bool // by stage: record prefill
	Decode       bool // by stage: record decode
	WithStack    bool
	RecordShapes bool
	Merge        bool
	MemEntries   int // MEM: depth of the allocator's history
	DecodeMinBS  int // by stage: the decode window waits for so many requests
}

// ProfileResult tells what a window left behind.
type ProfileResult struct {
	Dir     string
	ID      string
	Files   []string // base names
	Merged  string   // path; empty: not asked for
	Message string   // "Merged trace: PATH (Events: N, Files: M)" or a warning
}

// finish turns f into the form of the API; matched is the stop string, if any.
func (f *Finish) wire(matched *string, completion int) *wire.FinishReason {
	out := &wire.FinishReason{Type: f.Type, Message: f.Message, Status: f.Status}
	switch {
	case matched != nil:
		out.Matched = wire.AppendString(nil, *matched)
	case f.Type == FinishStop && f.Matched != NoToken:
		out.Matched = wire.AppendTokens(nil, f.Matched)
	case f.Type == FinishLength:
		out.Length = completion
	}
	return out
}
