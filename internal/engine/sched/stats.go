package sched

import (
	"fmt"
	"time"

	"github.com/stepscope/stepscope/internal/engine/kvcache"
	"github.com/stepscope/stepscope/internal/engine/model"
)

// Stats is the state of one data-parallel rank, after its last step. Tokens are
// positions of the KV cache, whole blocks, unless said otherwise. Totals count
// since the start.
type Stats struct {
	Running   int
	Waiting   int
	ForwardCt int64

	Capacity        int // of the KV cache
	UsedTokens      int // held by requests
	EvictableTokens int // held by the prefix cache alone
	FreeTokens      int
	WaitingTokens   int // prompt tokens that wait to be computed, the cut prompt's rest included
	SumSeqLens      int // tokens of the running sequences

	GenThroughput float64 // generated tokens/s, up to the last decode report or the last idleness
	CacheHitRate  float64 // part of the last prefill batch's prompt tokens
	NewTokenRatio float64
	Graph         bool // the last decode step was a replayed graph
	Retracted     int  // waiting requests that were retracted

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
}

// Usage is the part of the KV cache that requests hold.
func (s *Stats) Usage() float64 {
	if s.Capacity == 0 {
		return 0
	}
	return float64(s.UsedTokens) / float64(s.Capacity)
}

// Stats returns the present state. Any goroutine may call it.
func (s *Scheduler) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	for _, q := range s.adds {
		st.Waiting++
		st.WaitingTokens += len(q.tokens)
	}
	return st
}

// note brings the state up to date for other goroutines.
func (s *Scheduler) note() {
	u := s.cache.Usage()
	m := &s.meter
	st := Stats{
		Running: len(s.running), Waiting: len(s.waiting), ForwardCt: s.count,
		Capacity:        s.Capacity(),
		UsedTokens:      u.Used() * kvcache.BlockSize,
		EvictableTokens: u.Evictable * kvcache.BlockSize,
		FreeTokens:      u.Free * kvcache.BlockSize,
		GenThroughput:   m.genThroughput, CacheHitRate: m.hitRate, NewTokenRatio: s.ratio.now, Graph: m.graph,
		PromptTokens: m.prompts, CachedTokens: m.cached, ComputedTokens: m.prompt, GeneratedTokens: m.generated,
		Finished: m.finished, Aborted: m.aborted,
		RetractedRequests: m.retracted, RetractedInput: m.retractedIn, RetractedOutput: m.retractedOut,
		PrefillBusy: m.busy[model.Extend], DecodeBusy: m.busy[model.Decode],
	}
	for _, q := range s.waiting {
		st.WaitingTokens += len(q.tokens)
		if q.retractions > 0 {
			st.Retracted++
		}
	}
	for _, q := range s.running {
		st.SumSeqLens += len(q.tokens)
	}
	if q := s.chunked; q != nil {
		st.Running++
		st.WaitingTokens += len(q.tokens) - q.computed
	}
	s.mu.Lock()
	s.stats = st
	s.queued = len(s.adds) + len(s.waiting)
	s.mu.Unlock()
}

// Report is a batch as SGLang's log tells it: of every prefill batch, and of every
// few decode batches.
type Report struct {
	Time    time.Time
	Step    int64
	Prefill bool
	Running int // sequences that decode
	Queued  int
	Tokens  int     // held in the KV cache
	Usage   float64 // the part of the KV cache that is
	Graph   bool
	// Throughput since the last report of the kind, tokens/s: of prompts or of
	// generated tokens.
	Throughput float64

	// Of prefill batches.
	NewSeqs, NewTokens, CachedTokens, PendingTokens int
}

// String is the text of SGLang's log line, without its prefix.
func (r Report) String() string {
	graph := "False"
	if r.Graph {
		graph = "True"
	}
	if r.Prefill {
		return fmt.Sprintf("Prefill batch, #new-seq: %d, #new-token: %d, #cached-token: %d, token usage: %.2f, "+
			"#running-req: %d, #queue-req: %d, #pending-token: %d, cuda graph: %s, input throughput (token/s): %.2f",
			r.NewSeqs, r.NewTokens, r.CachedTokens, r.Usage, r.Running, r.Queued, r.PendingTokens, graph, r.Throughput)
	}
	return fmt.Sprintf("Decode batch, #running-req: %d, #token: %d, token usage: %.2f, cuda graph: %s, "+
		"gen throughput (token/s): %.2f, #queue-req: %d",
		r.Running, r.Tokens, r.Usage, graph, r.Throughput, r.Queued)
}

// meter counts for statistics and reports.
type meter struct {
	prompts, cached, prompt, generated, finished, aborted int64
	retracted, retractedIn, retractedOut                  int64
	busy                                                  [2]time.Duration
	graph                                                 bool
	hitRate, genThroughput                                float64

	sinceLine  int64 // tokens generated since the last decode report
	lastDecode time.Time
	steps      int // decode steps since

	input       int64 // prompt tokens since the last prefill report
	lastPrefill time.Time
}

func (m *meter) start() { m.lastDecode = time.Now(); m.lastPrefill = m.lastDecode }

// ran counts one forward pass.
func (m *meter) ran(mode model.Mode, tokens, seqs int, took time.Duration) {
	m.busy[mode&1] += took
	if mode == model.Extend {
		m.input += int64(tokens)
	} else {
		m.steps++
	}
}

// admitted counts a request whose prompt is computed, once.
func (m *meter) admitted(q *seq) {
	if q.retractions > 0 {
		return
	}
	m.prompts += int64(len(q.Input))
	m.cached += int64(q.cached)
}

func (m *meter) retract(q *seq) {
	m.retracted++
	m.retractedIn += int64(len(q.Input))
	m.retractedOut += int64(q.generated())
}

// pause ends the counting of generated tokens when there is nothing more to do.
func (m *meter) pause() {
	if m.sinceLine > 0 {
		m.lineDecode(time.Now())
	}
}

// lineDecode ends one stretch of decoding and begins the next.
func (m *meter) lineDecode(now time.Time) {
	m.genThroughput = rate(m.sinceLine, now.Sub(m.lastDecode))
	m.sinceLine, m.lastDecode, m.steps = 0, now, 0
}

func rate(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// report tells of the step that ended.
func (s *Scheduler) report(mode model.Mode) {
	m := &s.meter
	r := Report{Time: time.Now(), Step: s.count, Prefill: mode == model.Extend, Queued: len(s.waiting)}
	u := s.cache.Usage()
	r.Tokens = u.Used() * kvcache.BlockSize
	r.Usage = float64(u.Used()) / float64(max(u.Total, 1))
	if mode == model.Extend {
		s.reportPrefill(&r)
	} else {
		m.graph = s.opt.Graphs
		if m.steps < s.opt.DecodeInterval {
			return
		}
		m.lineDecode(r.Time)
		r.Running, r.Throughput, r.Graph = len(s.acts), m.genThroughput, m.graph
	}
	if s.opt.Report != nil {
		s.opt.Report(r)
	}
}

func (s *Scheduler) reportPrefill(r *Report) {
	m := &s.meter
	r.Running, r.NewSeqs = s.decoding, len(s.acts)
	for i, a := range s.acts {
		r.NewTokens += len(s.seqs[i].Tokens)
		r.CachedTokens += a.hit
	}
	for _, q := range s.waiting {
		r.PendingTokens += len(q.tokens)
	}
	if q := s.chunked; q != nil {
		r.PendingTokens += len(q.tokens) - q.computed
	}
	m.hitRate = float64(r.CachedTokens) / float64(max(r.CachedTokens+r.NewTokens, 1))
	r.Throughput = rate(m.input, r.Time.Sub(m.lastPrefill))
	m.input, m.lastPrefill = 0, r.Time
}
