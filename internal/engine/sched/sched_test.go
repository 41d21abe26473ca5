package sched

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/engine/sample"
)

// paused runs f between two steps, so that all it submits meets in one batch.
func paused(s *Scheduler, f func()) {
	done := make(chan struct{})
	s.Do(func() { f(); close(done) })
	<-done
}

func TestSteps(t *testing.T) {
	tests := []struct {
		name string
		opt  Options
		reqs []Request
		want []string
	}{
		{"one", Options{}, []Request{{Input: prompt(1, 5), MaxNewTokens: 3}},
			[]string{"step[EXTEND bs=1 toks=5]", "step[DECODE bs=1]", "step[DECODE bs=1]"}},
		{"no new tokens", Options{}, []Request{{Input: prompt(1, 5)}}, []string{"step[EXTEND bs=1 toks=5]"}},
		{"together", Options{}, []Request{{Input: prompt(1, 5), MaxNewTokens: 3}, {Input: prompt(2, 7), MaxNewTokens: 2}},
			[]string{"step[EXTEND bs=2 toks=12]", "step[DECODE bs=2]", "step[DECODE bs=1]"}},
		{"one at a time", Options{MaxRunning: 1}, []Request{{Input: prompt(1, 5), MaxNewTokens: 2}, {Input: prompt(2, 7), MaxNewTokens: 1}},
			[]string{"step[EXTEND bs=1 toks=5]", "step[DECODE bs=1]", "step[EXTEND bs=1 toks=7]"}},
		{"chunks", Options{ChunkedPrefill: 100}, []Request{{Input: prompt(1, 250), MaxNewTokens: 2}, {Input: prompt(2, 20), MaxNewTokens: 1}},
			[]string{"step[EXTEND bs=1 toks=100]", "step[EXTEND bs=1 toks=100]", "step[EXTEND bs=2 toks=70]", "step[DECODE bs=1]"}},
		{"one prompt may pass the limit", Options{MaxPrefill: 64}, []Request{{Input: prompt(1, 20)}, {Input: prompt(2, 100)}},
			[]string{"step[EXTEND bs=1 toks=20]", "step[EXTEND bs=1 toks=100]"}},
		{"a prefix in the cache", Options{MaxRunning: 1}, []Request{{Input: prompt(1, 130), MaxNewTokens: 1}, {Input: prompt(1, 150), MaxNewTokens: 1}},
			[]string{"step[EXTEND bs=1 toks=130]", "step[EXTEND bs=1 toks=22]"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, 40)
			s := start(t, f, tt.opt)
			var logs []*log
			paused(s, func() {
				for _, r := range tt.reqs {
					r.LogprobStart = -1
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

// A block is whole after 64 computed positions, and the last token of a prompt is
// computed again; the event says how much was not.
func TestCachedTokens(t *testing.T) {
	s := start(t, newFake(t, 20), Options{})
	for i, want := range []int{0, 128} {
		l, _ := submit(t, s, Request{Input: prompt(3, 129), MaxNewTokens: 2, LogprobStart: -1})
		if _, last := l.wait(); last.Cached != want {
			t.Errorf("request %d had %d cached tokens, want %d", i, last.Cached, want)
		}
	}
	s.Idle(t.Context())
	if st := s.Stats(); st.PromptTokens != 258 || st.CachedTokens != 128 || st.ComputedTokens != 130 || st.GeneratedTokens != 4 || st.Finished != 2 {
		t.Errorf("%+v", st)
	}
	if !s.Flush() {
		t.Error("not flushed though idle")
	}
	l, _ := submit(t, s, Request{Input: prompt(3, 129), MaxNewTokens: 2, LogprobStart: -1})
	if _, last := l.wait(); last.Cached != 0 {
		t.Errorf("%d cached tokens after a flush", last.Cached)
	}
}

// One sequence needs 3 blocks in the end; three are admitted to 7, one after the
// other, since little is reserved for those that run.
func TestRetraction(t *testing.T) {
	f := newFake(t, 7)
	s := start(t, f, Options{Conservativeness: 0.01})
	var logs []*log
	var reqs []Request
	add := func() {
		i := len(reqs)
		r := Request{Input: prompt(i, 60), MaxNewTokens: 130, LogprobStart: -1, Params: sample.Params{Temperature: 1, Seed: uint64(i)}}
		l, _ := submit(t, s, r)
		logs, reqs = append(logs, l), append(reqs, r)
	}
	f.hold = func(st Step) {
		if st.Count == 2 || st.Count == 4 {
			add()
		}
	}
	paused(s, add)
	s.Idle(t.Context())
	total := 0
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
		t.Errorf("events tell %d retractions, statistics %+v", total, st)
	}
	if st.Finished != 3 || st.PromptTokens != 180 {
		t.Errorf("retracted requests were counted twice: %+v", st)
	}
}

func TestQueueFull(t *testing.T) {
	f := newFake(t, 20)
	gate := make(chan struct{})
	f.hold = func(Step) { <-gate }
	s := start(t, f, Options{MaxQueued: 2, MaxRunning: 1})
	var logs []*log
	add := func() error {
		l := newLog()
		_, err := s.Submit(&Request{Input: prompt(1, 5), MaxNewTokens: 1, LogprobStart: -1, Emit: l.emit})
		if err == nil {
			logs = append(logs, l)
		}
		return err
	}
	if err := add(); err != nil {
		t.Fatal(err)
	}
	gate <- struct{}{} // the first was taken from the queue…
	<-logs[0].done
	s.Idle(t.Context())
	for i := range 2 {
		if err := add(); err != nil {
			t.Fatalf("request %d of 2 that may wait: %v", i+1, err)
		}
	}
	if err := add(); !errors.Is(err, ErrQueueFull) {
		// One of the two may have been admitted in the meantime; then there is room for one.
		if err = add(); !errors.Is(err, ErrQueueFull) {
			t.Errorf("a request too many: %v", err)
		}
	}
	close(gate)
	for _, l := range logs {
		l.wait()
	}
}

func TestAbort(t *testing.T) {
	t.Run("waiting", func(t *testing.T) {
		s := start(t, newFake(t, 20), Options{MaxRunning: 1})
		var l *log
		paused(s, func() {
			submit(t, s, Request{Input: prompt(1, 5), MaxNewTokens: 50, LogprobStart: -1})
			var h *Handle
			l, h = submit(t, s, Request{Input: prompt(2, 5), MaxNewTokens: 5, LogprobStart: -1})
			h.Abort(Finish{Type: FinishAbort, Message: "gone"})
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
				h.Abort(Finish{Type: FinishAbort})
			}
		}
		paused(s, func() { l, h = submit(t, s, Request{Input: prompt(1, 500), MaxNewTokens: 5, LogprobStart: -1}) })
		l.wait()
		s.Idle(t.Context())
		if len(f.steps) != 2 {
			t.Errorf("%d steps, want 2", len(f.steps))
		}
		// What was computed stays: 140 positions are two blocks.
		again, _ := submit(t, s, Request{Input: prompt(1, 500), MaxNewTokens: 1, LogprobStart: -1})
		if _, last := again.wait(); last.Cached != 128 {
			t.Errorf("%d tokens were kept, want 128", last.Cached)
		}
	})
	t.Run("after the end", func(t *testing.T) {
		s := start(t, newFake(t, 20), Options{})
		l, h := submit(t, s, Request{Input: prompt(1, 5), MaxNewTokens: 1, LogprobStart: -1})
		l.wait()
		h.Abort(Finish{Type: FinishAbort}) // a second Finish would panic
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
			l, _ := submit(t, s, Request{Input: prompt(i, 5), MaxNewTokens: 50, LogprobStart: -1})
			logs = append(logs, l)
		}
	})
	for i, l := range logs {
		if _, last := l.wait(); last.Finish.Type != FinishAbort || last.Finish.Status != 503 {
			t.Errorf("request %d ended with %+v", i, last.Finish)
		}
	}
	if err := s.Idle(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Submit(&Request{Input: prompt(1, 1)}); !errors.Is(err, ErrStopped) {
		t.Errorf("submit after stop: %v", err)
	}
	if s.Do(func() {}) || s.Flush() {
		t.Error("calls are taken after stop")
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
		l, _ := submit(t, s, Request{Input: prompt(1, 5), MaxNewTokens: 9, LogprobStart: -1})
		if tokens, last := l.wait(); len(tokens) != 1 || last.Finish.Status != 500 || last.Finish.Message != "out of luck" {
			t.Errorf("%d tokens, %+v", len(tokens), last.Finish)
		}
		l, _ = submit(t, s, Request{Input: prompt(1, 5), MaxNewTokens: 9, LogprobStart: -1})
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
				l, _ := submit(t, s, Request{Input: prompt(1, 5), MaxNewTokens: 9, LogprobStart: -1})
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
		l, _ := submit(t, s, Request{Input: prompt(1, 129), MaxNewTokens: 1, LogprobStart: -1})
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
	l, _ := submit(t, s, Request{Input: prompt(1, 5), MaxNewTokens: 1, LogprobStart: -1})
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
	var lines []string
	s := start(t, newFake(t, 10), Options{
		DecodeInterval: 2, Graphs: true, ChunkedPrefill: 128,
		Report: func(r Report) { r.Throughput = 12.345; lines = append(lines, r.String()) },
	})
	paused(s, func() {
		submit(t, s, Request{Input: prompt(1, 130), MaxNewTokens: 6, LogprobStart: -1})
		submit(t, s, Request{Input: prompt(1, 170), MaxNewTokens: 6, LogprobStart: -1})
	})
	s.Idle(t.Context())
	want := []string{
		"Prefill batch, #new-seq: 1, #new-token: 128, #cached-token: 0, token usage: 0.30, #running-req: 0, #queue-req: 1, #pending-token: 172, cuda graph: False, input throughput (token/s): 12.35",
		"Prefill batch, #new-seq: 2, #new-token: 44, #cached-token: 128, token usage: 0.40, #running-req: 0, #queue-req: 0, #pending-token: 0, cuda graph: False, input throughput (token/s): 12.35",
		"Decode batch, #running-req: 2, #token: 256, token usage: 0.40, cuda graph: True, gen throughput (token/s): 12.35, #queue-req: 0",
		"Decode batch, #running-req: 2, #token: 256, token usage: 0.40, cuda graph: True, gen throughput (token/s): 12.35, #queue-req: 0",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("lines\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if st := s.Stats(); st.CacheHitRate < 0.74 || st.CacheHitRate > 0.75 || st.GenThroughput <= 0 || st.NewTokenRatio != 0.7 {
		t.Errorf("%+v", st)
	}
}
