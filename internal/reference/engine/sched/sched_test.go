package sched

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api"
)

// paused runs f between two steps, so that everything it submits meets in one batch.
func paused(s *Scheduler, f func()) {
	done := make(chan struct{})
	s.Do(func() { f(); close(done) })
	<-done
}

func TestSteps(t *testing.T) {
	wide := Options{Vocab: maxLogits / 50} // logits of 50 positions fit a batch
	tests := []struct {
		name string
		opt  Options
		reqs []api.Request
		want []string
	}{
		{"scored prompts are split", wide, []api.Request{{Input: prompt(1, 120), ReturnLogprob: true, LogprobStart: 1}},
			[]string{"step[EXTEND bs=1 toks=50]", "step[EXTEND bs=1 toks=50]", "step[EXTEND bs=1 toks=20]"}},
		{"but not before the first scored token", wide, []api.Request{{Input: prompt(1, 120), ReturnLogprob: true, LogprobStart: 100}},
			[]string{"step[EXTEND bs=1 toks=99]", "step[EXTEND bs=1 toks=21]"}},
		{"one", Options{}, []api.Request{ask(prompt(1, 5), 3)},
			[]string{"step[EXTEND bs=1 toks=5]", "step[DECODE bs=1]", "step[DECODE bs=1]"}},
		{"no new tokens", Options{}, []api.Request{ask(prompt(1, 5), 0)}, []string{"step[EXTEND bs=1 toks=5]"}},
		{"together", Options{}, []api.Request{ask(prompt(1, 5), 3), ask(prompt(2, 7), 2)},
			[]string{"step[EXTEND bs=2 toks=12]", "step[DECODE bs=2]", "step[DECODE bs=1]"}},
		{"one at a time", Options{MaxRunning: 1}, []api.Request{ask(prompt(1, 5), 2), ask(prompt(2, 7), 1)},
			[]string{"step[EXTEND bs=1 toks=5]", "step[DECODE bs=1]", "step[EXTEND bs=1 toks=7]"}},
		{"chunks", Options{ChunkedPrefill: 100}, []api.Request{ask(prompt(1, 250), 2), ask(prompt(2, 20), 1)},
			[]string{"step[EXTEND bs=1 toks=100]", "step[EXTEND bs=1 toks=100]", "step[EXTEND bs=2 toks=70]", "step[DECODE bs=1]"}},
		{"one prompt may pass the limit", Options{MaxPrefill: 64}, []api.Request{ask(prompt(1, 20), 0), ask(prompt(2, 100), 0)},
			[]string{"step[EXTEND bs=1 toks=20]", "step[EXTEND bs=1 toks=100]"}},
		{"a prefix in the cache", Options{MaxRunning: 1}, []api.Request{ask(prompt(1, 130), 1), ask(prompt(1, 150), 1)},
			[]string{"step[EXTEND bs=1 toks=130]", "step[EXTEND bs=1 toks=22]"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, 40)
			s := start(t, f, tt.opt)
			var logs []*log
			paused(s, func() {
				for _, r := range tt.reqs {
					l, _ := submit(t, s, r)
					logs = append(logs, l)
				}
			})
			for _, l := range logs {
				l.wait()
			}
			s.Idle(t.Context())
			if !slices.Equal(f.steps, tt.want) {
				t.Errorf("steps\n%s\nwant\n%s", strings.Join(f.steps, "\n"), strings.Join(tt.want, "\n"))
			}
			if got := s.Stats().ForwardCt; got != int64(len(tt.want)) {
				t.Errorf("forward_ct %d, want %d", got, len(tt.want))
			}
		})
	}
}

// Two requests of 260 tokens fit into 6 blocks at first, but not until they end: the second waits for the first instead
// of being retracted.
func TestReserve(t *testing.T) {
	f := newFake(t, 6)
	s := start(t, f, Options{})
	paused(s, func() {
		for i := range 2 {
			submit(t, s, ask(prompt(i, 60), 200))
		}
	})
	s.Idle(t.Context())
	if f.steps[0] != "step[EXTEND bs=1 toks=60]" || s.Stats().RetractedRequests != 0 {
		t.Errorf("first step %s, %d retractions", f.steps[0], s.Stats().RetractedRequests)
	}
}

// A block is complete after 64 computed positions, and the last token of a prompt is computed again; the event reports
// the number of cached tokens.
func TestCachedTokens(t *testing.T) {
	s := start(t, newFake(t, 20), Options{})
	for _, tt := range []struct{ n, cached int }{{64, 0}, {64, 0}, {65, 64}} {
		l, _ := submit(t, s, ask(prompt(9, tt.n), 1))
		if _, last := l.wait(); last.Cached != tt.cached || last.Finish.Type != api.FinishLength {
			t.Errorf("%d tokens: %d cached, want %d; %+v", tt.n, last.Cached, tt.cached, last.Finish)
		}
	}
	s = start(t, newFake(t, 20), Options{})
	for i, want := range []int{0, 128} {
		l, _ := submit(t, s, ask(prompt(3, 129), 2))
		if _, last := l.wait(); last.Cached != want {
			t.Errorf("request %d had %d cached tokens, want %d", i, last.Cached, want)
		}
	}
	s.Idle(t.Context())
	if st := s.Stats(); st.PromptTokens != 258 || st.CachedTokens != 128 || st.ComputedTokens != 130 || st.GeneratedTokens != 4 || st.Finished != 2 {
		t.Errorf("%+v", st)
	}
	if !s.Flush() {
		t.Error("not flushed although idle")
	}
	l, _ := submit(t, s, ask(prompt(3, 129), 2))
	if _, last := l.wait(); last.Cached != 0 {
		t.Errorf("%d cached tokens after a flush", last.Cached)
	}
}

// Each sequence needs 3 blocks in the end; three are admitted to 7 blocks, one after the other, since little is
// reserved for running sequences.
func TestRetraction(t *testing.T) {
	f := newFake(t, 7)
	s := start(t, f, Options{Conservativeness: 0.01})
	var logs []*log
	var reqs []api.Request
	var inStep []int // retractions in the step before
	add := func() {
		i := len(reqs)
		r := ask(prompt(i, 60), 130)
		seed := int64(i)
		r.Params.Temperature, r.Params.Seed = 1, &seed
		l, _ := submit(t, s, r)
		logs, reqs = append(logs, l), append(reqs, r)
	}
	f.hold = func(st Step) {
		if st.Count == 2 || st.Count == 4 {
			add()
		}
		if n := s.Stats().Retracted; n > 0 {
			inStep = append(inStep, n)
		}
	}
	paused(s, add)
	s.Idle(t.Context())
	total := 0
	if len(inStep) == 0 {
		t.Error("no step reported retractions")
	}
	for i, l := range logs {
		tokens, last := l.wait()
		if want, _, _ := alone(&reqs[i]); !slices.Equal(tokens, want) {
			t.Errorf("request %d: got %v, want %v", i, tokens, want)
		}
		total += last.Retractions
	}
	s.Idle(t.Context())
	st := s.Stats()
	if total == 0 || st.RetractedRequests != int64(total) || st.RetractedInput != 60*int64(total) {
		t.Errorf("events report %d retractions, statistics %+v", total, st)
	}
	if st.Finished != 3 || st.PromptTokens != 180 {
		t.Errorf("retracted requests were counted twice: %+v", st)
	}
}

func TestQueueFull(t *testing.T) {
	f := newFake(t, 20)
	s := start(t, f, Options{MaxQueued: 2})
	var logs []*log
	paused(s, func() { // nothing is taken from the queue meanwhile
		for range 2 {
			l, _ := submit(t, s, ask(prompt(1, 5), 1))
			logs = append(logs, l)
		}
		if _, err := s.Submit(&Request{Request: ask(prompt(1, 5), 0)}); !errors.Is(err, api.ErrQueueFull) {
			t.Errorf("a third request: %v", err)
		}
	})
	for _, l := range logs {
		l.wait()
	}
	s.Idle(t.Context())
	l, _ := submit(t, s, ask(prompt(1, 5), 1))
	l.wait()
}

func TestAbort(t *testing.T) {
	t.Run("waiting", func(t *testing.T) {
		s := start(t, newFake(t, 20), Options{MaxRunning: 1})
		var l *log
		paused(s, func() {
			submit(t, s, ask(prompt(1, 5), 50))
			var h *Handle
			l, h = submit(t, s, ask(prompt(2, 5), 5))
			h.Abort(api.Finish{Type: api.FinishAbort, Message: "gone"})
		})
		if tokens, last := l.wait(); len(tokens) > 0 || last.Finish.Message != "gone" {
			t.Errorf("tokens %v, %+v", tokens, last.Finish)
		}
	})
	t.Run("between chunks", func(t *testing.T) {
		f := newFake(t, 20)
		s := start(t, f, Options{ChunkedPrefill: 70})
		var l *log
		var h *Handle
		f.hold = func(st Step) {
			if st.Count == 2 {
				h.Abort(api.Finish{Type: api.FinishAbort})
			}
		}
		paused(s, func() { l, h = submit(t, s, ask(prompt(1, 500), 5)) })
		l.wait()
		s.Idle(t.Context())
		if len(f.steps) != 2 {
			t.Errorf("%d steps, want 2", len(f.steps))
		}
		// Computed blocks remain: 140 positions are two blocks.
		again, _ := submit(t, s, ask(prompt(1, 500), 1))
		if _, last := again.wait(); last.Cached != 128 {
			t.Errorf("%d tokens were kept, want 128", last.Cached)
		}
	})
	t.Run("after the end", func(t *testing.T) {
		s := start(t, newFake(t, 20), Options{})
		l, h := submit(t, s, ask(prompt(1, 5), 1))
		l.wait()
		h.Abort(api.Finish{Type: api.FinishAbort}) // a second Finish would panic
		paused(s, func() {})
	})
}

func TestStop(t *testing.T) {
	f := newFake(t, 20)
	s := start(t, f, Options{MaxRunning: 1})
	var logs []*log
	f.hold = func(st Step) {
		if st.Count == 3 {
			s.Stop()
		}
	}
	paused(s, func() {
		for i := range 3 {
			l, _ := submit(t, s, ask(prompt(i, 5), 50))
			logs = append(logs, l)
		}
	})
	for i, l := range logs {
		if _, last := l.wait(); last.Finish.Type != api.FinishAbort || last.Finish.Status != 503 {
			t.Errorf("request %d ended with %+v", i, last.Finish)
		}
	}
	if err := s.Idle(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Submit(&Request{Request: ask(prompt(1, 1), 0)}); !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("submit after stop: %v", err)
	}
	if s.Do(func() {}) || s.Flush() {
		t.Error("calls are accepted after stop")
	}
}

func TestFailures(t *testing.T) {
	t.Run("one step", func(t *testing.T) {
		f := newFake(t, 20)
		f.hold = func(st Step) {
			f.fail = nil
			if st.Count == 2 {
				f.fail = errors.New("out of luck")
			}
		}
		s := start(t, f, Options{})
		l, _ := submit(t, s, ask(prompt(1, 5), 9))
		if tokens, last := l.wait(); len(tokens) != 1 || last.Finish.Status != 500 || last.Finish.Message != "out of luck" {
			t.Errorf("%d tokens, %+v", len(tokens), last.Finish)
		}
		l, _ = submit(t, s, ask(prompt(1, 5), 9))
		if tokens, _ := l.wait(); len(tokens) != 9 {
			t.Errorf("afterwards %d tokens, want 9", len(tokens))
		}
	})
	t.Run("for good", func(t *testing.T) {
		f := newFake(t, 20)
		f.hold = func(st Step) {
			if st.Count == 2 {
				f.fatal = errors.New("device lost")
				f.fail = f.fatal
			}
		}
		s := start(t, f, Options{MaxRunning: 1})
		var logs []*log
		paused(s, func() {
			for range 3 {
				l, _ := submit(t, s, ask(prompt(1, 5), 9))
				logs = append(logs, l)
			}
		})
		for _, l := range logs {
			if _, last := l.wait(); last.Finish.Message != "device lost" {
				t.Errorf("%+v", last.Finish)
			}
		}
		if len(f.steps) != 2 {
			t.Errorf("%d steps were run on a lost device", len(f.steps)-2)
		}
	})
	t.Run("too long for the cache", func(t *testing.T) {
		s := start(t, newFake(t, 2), Options{})
		l, _ := submit(t, s, ask(prompt(1, 129), 1))
		if _, last := l.wait(); last.Finish.Status != 400 {
			t.Errorf("%+v", last.Finish)
		}
	})
}

func TestIdle(t *testing.T) {
	f := newFake(t, 20)
	gate := make(chan struct{})
	f.hold = func(Step) { <-gate }
	s := start(t, f, Options{})
	l, _ := submit(t, s, ask(prompt(1, 5), 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Idle(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("idle while a request is queued: %v", err)
	}
	close(gate)
	l.wait()
	if err := s.Idle(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestReports(t *testing.T) {
	var got []api.Step
	s := start(t, newFake(t, 10), Options{
		DecodeInterval: 2, Graphs: true, ChunkedPrefill: 128,
		Report: func(r api.Step) { r.Time = time.Time{}; got = append(got, r) },
	})
	paused(s, func() {
		submit(t, s, ask(prompt(1, 130), 3))
		submit(t, s, ask(prompt(1, 170), 3))
	})
	s.Idle(t.Context())
	want := []api.Step{
		{ForwardCt: 1, Prefill: true, Queued: 1, UsedTokens: 192, Usage: 0.3, NewTokens: 128, NewSeqs: 1, PendingTokens: 172},
		{ForwardCt: 2, Prefill: true, UsedTokens: 256, Usage: 0.4, NewTokens: 44, NewSeqs: 2, CachedTokens: 128},
		{ForwardCt: 3, Running: 2, UsedTokens: 256, Usage: 0.4, Graph: true, NewTokens: 2},
		{ForwardCt: 4, Running: 2, Graph: true, NewTokens: 2}, // both ended with it
	}
	if !slices.Equal(got, want) {
		t.Errorf("reports\n%+v\nwant\n%+v", got, want)
	}
	if st := s.Stats(); st.CacheHitRate != 128./(128+44) || st.GenThroughput <= 0 || st.NewTokenRatio != 0.7 || !st.Graph {
		t.Errorf("%+v", st)
	}
}
