package api

import "time"

// Stats is the state of one data-parallel rank after its last step. Unless stated otherwise, tokens are positions in
// the KV cache, counted in whole blocks. Totals count from the start of the server.
type Stats struct {
	DPRank    int
	Running   int
	Waiting   int
	ForwardCt int64

	Capacity        int // size of the KV cache
	UsedTokens      int // tokens held by requests
	EvictableTokens int // tokens held only by the prefix cache
	FreeTokens      int
	WaitingTokens   int // uncomputed prompt tokens, including the rest of a chunked prompt
	SumSeqLens      int // tokens of the running sequences

	GenThroughput float64 // generated tokens/s over the latest decode steps, or before the last idle time
	CacheHitRate  float64 // cached fraction of the prompt tokens in the last prefill batch
	NewTokenRatio float64
	Utilization   float64 // running requests as a fraction of their limit
	Graph         bool    // whether the last decode step replayed a graph
	Retracted     int     // requests retracted by the last decode step

	PromptTokens    int64 // prompt tokens of requests whose prefill is done
	CachedTokens    int64 // part of PromptTokens that was found in the prefix cache
	ComputedTokens  int64 // prompt tokens computed by the model; after a retraction they are counted again
	GeneratedTokens int64
	Finished        int64 // requests that ended without being aborted
	Aborted         int64

	RetractedRequests int64 // number of retractions
	RetractedInput    int64 // prompt tokens of retracted requests
	RetractedOutput   int64 // generated tokens of retracted requests

	PrefillBusy, DecodeBusy time.Duration // time in forward passes

	PrefillSteps, DecodeSteps int64
	GraphSteps                int64                   // decode steps that replayed a graph
	Loop                      [Idle + 1]time.Duration // by LoopStage of the scheduler; sum: time since the start

	Queues
	Preallocated, ToAllocate        float64 // fractions of the KV cache held by the transfer queue and wanted by the prealloc queue
	BootstrapFailed, TransferFailed int64   // failed requests since the start
}

// LoopStage is a stage of a scheduler's loop.
type LoopStage int

// Stages of the loop. In the stage Idle, SGLang also checks its cache (sanity_check_cache).
const (
	Other LoopStage = iota
	RecvRequests
	ProcessInputRequests
	GetNextBatch
	ProcessQueue
	RunBatch
	ProcessBatchResult
	Idle
)

// String returns SGLang's name for the stage.
func (s LoopStage) String() string {
	return [...]string{"other", "recv_requests", "process_input_requests", "get_next_batch_to_run", "process_queue", "run_batch", "process_batch_result", "idle"}[s]
}

// Queues counts the requests that wait in a disaggregated server: for the bootstrap (Bootstrap), for the end of their
// KV transfer (Inflight), for memory (Prealloc), and for keys and values (Transfer). SetAside counts requests that a
// decode server has retracted.
type Queues struct{ Bootstrap, Inflight, Prealloc, Transfer, SetAside int }

// Step is the log record of one forward step, with SGLang's figures.
type Step struct {
	Time       time.Time // end of the step
	Ranks      string    // rank suffix of the log line, such as "" or " DP0 TP1 EP0"
	Role       string    // role of the server: Prefill, Decode, or ""
	Prefill    bool      // whether the step is a prefill step rather than a decode step
	ForwardCt  int64
	Running    int // decoding sequences; for a prefill batch, sequences that would have decoded
	Queued     int
	UsedTokens int     // positions held in the KV cache
	Usage      float64 // used fraction of the KV cache
	Graph      bool    // whether the step replayed a graph
	NewTokens  int     // prefill: computed tokens; decode: generated tokens

	// The following fields are set only for prefill batches.
	NewSeqs       int // sequences in the batch
	CachedTokens  int // prompt tokens found in the prefix cache
	PendingTokens int // uncomputed prompt tokens

	Queues
	Preallocated float64 // fraction of the KV cache held by the transfer queue
}
