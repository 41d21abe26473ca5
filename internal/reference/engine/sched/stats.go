package sched

import (
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/kvcache"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
)

// Stats returns the current state. Any goroutine may call it.
func (s *Scheduler) Stats() api.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	if !s.idleSince.IsZero() {
		st.Loop[api.Idle] += time.Since(s.idleSince)
	}
	for _, q := range s.adds {
		st.Waiting++
		st.WaitingTokens += len(q.tokens)
	}
	return st
}

// note publishes the state for other goroutines.
func (s *Scheduler) note() {
	u := s.cache.Usage()
	m := &s.meter
	st := api.Stats{
		Running: len(s.running), Waiting: len(s.waiting), ForwardCt: s.count,
		Capacity:        s.Capacity(),
		UsedTokens:      u.Used() * kvcache.BlockSize,
		EvictableTokens: u.Evictable * kvcache.BlockSize,
		FreeTokens:      u.Free * kvcache.BlockSize,
		GenThroughput:   m.genThroughput, CacheHitRate: m.hitRate, NewTokenRatio: s.ratio.now, Graph: m.graph, Retracted: m.lastRetracted,
		PromptTokens: m.prompts, CachedTokens: m.cached, ComputedTokens: m.prompt, GeneratedTokens: m.generated,
		Finished: m.finished, Aborted: m.aborted,
		RetractedRequests: m.retracted, RetractedInput: m.retractedIn, RetractedOutput: m.retractedOut,
		PrefillBusy: m.busy[model.Extend], DecodeBusy: m.busy[model.Decode],
		PrefillSteps: m.forwards[model.Extend], DecodeSteps: m.forwards[model.Decode], Loop: m.loop,
		Queues: s.away.queues(), Preallocated: s.preallocated(u), BootstrapFailed: m.bootstrapFailed, TransferFailed: m.transferFailed,
	}
	if s.opt.Graphs {
		st.GraphSteps = st.DecodeSteps
	}
	for _, q := range s.waiting {
		st.WaitingTokens += len(q.tokens)
	}
	for _, q := range s.away.prealloc {
		st.ToAllocate += float64(len(q.tokens)) / float64(max(st.Capacity, 1))
	}
	for _, q := range s.running {
		st.SumSeqLens += len(q.tokens)
	}
	if q := s.chunked; q != nil {
		st.Running++
		st.WaitingTokens += len(q.tokens) - q.computed
	}
	st.Utilization = float64(st.Running) / float64(s.opt.MaxRunning)
	s.mu.Lock()
	s.stats, s.idleSince = st, time.Time{}
	if m.stage == api.Idle {
		s.idleSince = m.since
	}
	s.queued = len(s.adds) + len(s.waiting) + st.Bootstrap + st.Prealloc
	s.mu.Unlock()
}

// preallocated is the fraction of the cache that the transfer queue holds.
func (s *Scheduler) preallocated(u kvcache.Usage) float64 {
	held := 0
	for _, q := range s.away.transfer {
		held += len(q.table.Blocks)
	}
	return float64(held) / float64(max(u.Total, 1))
}

// meter counts for statistics and reports.
type meter struct {
	prompts, cached, prompt, generated, finished, aborted int64
	retracted, retractedIn, retractedOut                  int64
	lastRetracted                                         int // sequences retracted by the last decode step
	bootstrapFailed, transferFailed                       int64
	busy                                                  [2]time.Duration
	forwards                                              [2]int64
	loop                                                  [api.Idle + 1]time.Duration
	stage                                                 api.LoopStage // current stage of the loop
	since                                                 time.Time     // start time of the stage
	graph                                                 bool
	hitRate, genThroughput                                float64

	sinceLine  int64 // tokens generated since genThroughput was last computed
	lastDecode time.Time
	steps      int // decode steps since genThroughput was last computed
}

// enter ends the current stage of the loop and begins the given stage. It returns the current time.
func (m *meter) enter(stage api.LoopStage) time.Time {
	now := time.Now()
	m.loop[m.stage] += now.Sub(m.since)
	m.stage, m.since = stage, now
	return now
}

// ran counts one forward pass.
func (m *meter) ran(mode model.Mode, took time.Duration) {
	m.busy[mode&1] += took
	m.forwards[mode&1]++
	if mode == model.Decode {
		m.steps++
	}
}

// admitted counts a request once, when the computation of its prompt begins.
func (m *meter) admitted(q *seq) {
	if q.retractions > 0 {
		return
	}
	m.prompts += int64(len(q.Input))
	m.cached += int64(q.cached)
}

func (m *meter) retract(q *seq) {
	m.retracted++
	m.lastRetracted++
	m.retractedIn += int64(len(q.Input))
	m.retractedOut += int64(q.generated())
}

// pause ends the measurement of decode throughput when the scheduler has no more work.
func (m *meter) pause() {
	if m.sinceLine > 0 {
		m.lineDecode(time.Now())
	}
}

// lineDecode ends one interval of the measurement of decode throughput and begins the next.
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

// report reports the step that has ended.
func (s *Scheduler) report(mode model.Mode) {
	m := &s.meter
	u := s.cache.Usage()
	r := api.Step{
		Time: time.Now(), ForwardCt: s.count, Prefill: mode == model.Extend, Queued: len(s.waiting),
		UsedTokens: u.Used() * kvcache.BlockSize, Usage: float64(u.Used()) / float64(max(u.Total, 1)),
		Queues: s.away.queues(), Preallocated: s.preallocated(u),
	}
	if mode == model.Extend {
		s.reportPrefill(&r)
	} else {
		m.graph = s.opt.Graphs
		if m.steps >= s.opt.DecodeInterval {
			m.lineDecode(r.Time)
		}
		r.Running, r.NewTokens, r.Graph = len(s.acts), len(s.acts), m.graph
	}
	if s.opt.Report != nil {
		s.opt.Report(r)
	}
}

func (s *Scheduler) reportPrefill(r *api.Step) {
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
}
