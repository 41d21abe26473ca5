package api

import "time"

// Stats is the state of one data-parallel rank, after its last step. Tokens are
// positions of the KV cache, whole blocks, unless said otherwise. Totals count since
// the start.
type Stats struct {
	DPRank    int
	Running   int
	Waiting   int
	ForwardCt int64

	Capacity        int // of the KV cache
	UsedTokens      int // held by requests
	EvictableTokens int // held by the prefix cache alone
	FreeTokens      int
	WaitingTokens   int // prompt tokens that wait to be computed, the cut prompt's rest included
	SumSeqLens      int // tokens of the running sequences

	GenThroughput float64 // generated tokens/s, over the last so many decode steps, or up to the last idleness
	CacheHitRate  float64 // part of the last prefill batch's prompt tokens
	NewTokenRatio float64
	Utilization   float64 // part of the limit on running requests
	Graph         bool    // the last decode step was a replayed graph
	Retracted     int     // requests, by the last decode step

	PromptTokens    int64 // of requests whose prompt is computed
	CachedTokens    int64 // of those, found in the cache
	ComputedTokens  int64 // prompt tokens that went through the model, retracted ones again
	GeneratedTokens int64
	Finished        int64 // requests that ended by themselves
	Aborted         int64

	RetractedRequests int64 // retractions
	RetractedInput    int64 // prompt tokens of them
	RetractedOutput   int64 // generated tokens of them

	PrefillBusy, DecodeBusy time.Duration // in forward passes

	PrefillSteps, DecodeSteps int64
	GraphSteps                int64                   // of DecodeSteps, replayed graphs
	Loop                      [Idle + 1]time.Duration // of the scheduler's loop by LoopStage; its sum is the time since the start

	Queues
	Preallocated, ToAllocate        float64 // parts of the KV cache that the transfer queue holds, and that the prealloc queue wants
	BootstrapFailed, TransferFailed int64   // requests that came to nothing since the start
}

// LoopStage is what a scheduler's loop is at.
type LoopStage int

// The stages. SGLang also looks over its cache when it is idle (sanity_check_cache).
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

// String is SGLang's name.
func (s LoopStage) String() string {
	return [...]string{"other", "recv_requests", "process_input_requests", "get_next_batch_to_run", "process_queue", "run_batch", "process_batch_result", "idle"}[s]
}

// Queues count the requests that wait for another server: to be taken, to have arrived,
// for memory, for keys and values; SetAside were retracted by a decode server.
type Queues struct{ Bootstrap, Inflight, Prealloc, Transfer, SetAside int }

// Step is one forward step as a log tells it, with SGLang's figures.
type Step struct {
	Time       time.Time // of its end
	Ranks      string    // "", " DP0 TP1 EP0": the ranks in a log line
	Role       string    // of the server: Prefill, Decode, or nothing
	Prefill    bool      // else decode
	ForwardCt  int64
	Running    int // sequences that decode; of a prefill batch: that would have
	Queued     int
	UsedTokens int     // positions held in the KV cache
	Usage      float64 // the part of the KV cache that is
	Graph      bool    // a replayed graph
	NewTokens  int     // prefill: computed; decode: generated

	// Of prefill batches.
	NewSeqs       int // sequences in the batch
	CachedTokens  int // found in the prefix cache
	PendingTokens int // prompt tokens that wait to be computed

	Queues
	Preallocated float64 // part of the KV cache that the transfer queue holds
}
