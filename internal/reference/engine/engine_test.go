package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/sched"
)

func TestSubmit(t *testing.T) {
	r := newRig(t, 1, 1, Options{EOS: []int32{44}})
	input := []int32{4, 5, 6}
	want := fakeTokens(input, 40)
	end := slices.Index(want, 44)
	for _, tt := range []struct {
		name   string
		params api.Sampling
		tokens []int32
		finish api.Finish
	}{
		{"length", api.Sampling{MaxNewTokens: 3}, want[:3], api.Finish{Type: api.FinishLength}},
		{"nothing", api.Sampling{}, nil, api.Finish{Type: api.FinishLength}},
		{"eos", api.Sampling{MaxNewTokens: 40}, want[:end+1], api.Finish{Type: api.FinishStop, Matched: 44}},
		{"ignored eos", api.Sampling{MaxNewTokens: 40, IgnoreEOS: true}, want, api.Finish{Type: api.FinishLength}},
		{"stop token", api.Sampling{MaxNewTokens: 40, StopTokens: []int32{want[1]}}, want[:2], api.Finish{Type: api.FinishStop, Matched: want[1]}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			events, err := r.Submit(t.Context(), &api.Request{Input: input, Params: tt.params, LogprobStart: -1, DPRank: -1})
			if err != nil {
				t.Fatal(err)
			}
			var tokens []int32
			var finish *api.Finish
			for _, e := range drain(events) {
				if e.Token != api.NoToken {
					tokens = append(tokens, e.Token)
				}
				finish = e.Finish
			}
			if !slices.Equal(tokens, tt.tokens) || finish == nil || *finish != tt.finish {
				t.Errorf("got %v %+v, want %v %+v", tokens, finish, tt.tokens, tt.finish)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	r := newRig(t, 2, 1, Options{ContextLen: 1500})
	for _, tt := range []struct {
		name string
		req  api.Request
		kind error
		text string
	}{
		{"empty", api.Request{}, api.ErrInvalid, "empty"},
		{"context", api.Request{Input: make([]int32, 1500)}, api.ErrTooLong, "context length (1500 tokens)"},
		{"input and output", api.Request{Input: make([]int32, 700), Params: api.Sampling{MaxNewTokens: 801}}, api.ErrTooLong, "700 tokens from the input and 801"},
		{"cache", api.Request{Input: make([]int32, 1024)}, api.ErrTooLong, "KV cache (1024 tokens)"},
		{"rank", api.Request{Input: []int32{1}, DPRank: 2}, api.ErrInvalid, "no data-parallel rank 2"},
		{"token", api.Request{Input: []int32{1, 50}}, api.ErrInvalid, "input token 1 is 50"},
		{"negative token", api.Request{Input: []int32{-1}}, api.ErrInvalid, "input token 0 is -1"},
		{"bias", api.Request{Input: []int32{1}, Params: api.Sampling{LogitBias: map[int32]float32{50: 1}}}, api.ErrInvalid, "token 50"},
		{"length", api.Request{Input: []int32{1}, Params: api.Sampling{MaxNewTokens: -1}}, api.ErrInvalid, "max_new_tokens"},
		{"top", api.Request{Input: []int32{1}, TopLogprobs: 51}, api.ErrInvalid, "[0, 50]"},
	} {
		_, err := r.Submit(t.Context(), &tt.req)
		if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// A request for more tokens than the cache can hold ends early.
func TestOutputIsCutToTheCache(t *testing.T) {
	r := newRig(t, 1, 1, Options{})
	events, err := r.Submit(t.Context(), &api.Request{Input: make([]int32, 1000), Params: api.Sampling{MaxNewTokens: 900}, LogprobStart: -1, DPRank: -1})
	if err != nil {
		t.Fatal(err)
	}
	if got := drain(events); len(got) != 24 || got[23].Finish.Type != api.FinishLength {
		t.Errorf("%d events, the last with %+v", len(got), got[len(got)-1].Finish)
	}
}

func TestLeavingClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, 1, Options{})
		r.groups[0].hold = func(sched.Step) { time.Sleep(time.Second) }
		ctx, cancel := context.WithCancel(t.Context())
		events, err := r.Submit(ctx, &api.Request{Input: []int32{1}, Params: api.Sampling{MaxNewTokens: 1000}, LogprobStart: -1, DPRank: -1})
		if err != nil {
			t.Fatal(err)
		}
		<-events
		<-events
		cancel()
		drain(events) // it is closed
		if err := r.ranks[0].Idle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if st := r.Stats()[0]; st.UsedTokens != 0 || st.Aborted != 1 || st.ForwardCt > 3 {
			t.Errorf("%+v", st)
		}
		r.Close()
	})
}

// A slow reader does not delay the others.
func TestSlowReader(t *testing.T) {
	r := newRig(t, 1, 1, Options{})
	slow, err := r.Submit(t.Context(), &api.Request{Input: []int32{1}, Params: api.Sampling{MaxNewTokens: 100}, LogprobStart: -1, DPRank: -1})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		r.generate(t, -1, 100)
	}
	if got := drain(slow); len(got) != 100 {
		t.Errorf("the slow reader got %d events, want 100", len(got))
	}
}

func TestBalance(t *testing.T) {
	submit := func(r *rig, dp int) {
		t.Helper()
		events, err := r.Submit(t.Context(), &api.Request{Input: []int32{1}, Params: api.Sampling{MaxNewTokens: 5}, LogprobStart: -1, DPRank: dp})
		if err != nil {
			t.Fatal(err)
		}
		go drain(events)
	}
	held := func(balance Balance) *rig {
		r := newRig(t, 3, 1, Options{Balance: balance})
		gate := make(chan struct{})
		for _, g := range r.groups {
			g.hold = func(sched.Step) { <-gate }
		}
		t.Cleanup(func() { close(gate) })
		return r
	}
	load := func(r *rig) (out []int) {
		for _, st := range r.Stats() {
			out = append(out, st.Waiting+st.Running)
		}
		return out
	}
	r := held(RoundRobin)
	for range 4 {
		submit(r, -1)
	}
	if got := load(r); !slices.Equal(got, []int{2, 1, 1}) {
		t.Errorf("round robin: %v", got)
	}
	for _, b := range []Balance{ShortestQueue, TotalTokens} {
		r = held(b)
		submit(r, 0)
		submit(r, 0)
		submit(r, 2)
		submit(r, -1)
		submit(r, -1)
		if got := load(r); got[0] != 2 || got[1]+got[2] != 3 || got[1] == 0 {
			t.Errorf("%s: %v", b, got)
		}
	}
}

func TestFlushCache(t *testing.T) {
	r := newRig(t, 2, 1, Options{})
	events, err := r.Submit(t.Context(), &api.Request{Input: make([]int32, 200), Params: api.Sampling{MaxNewTokens: 2}, LogprobStart: -1, DPRank: 1})
	if err != nil {
		t.Fatal(err)
	}
	drain(events)
	if err := r.FlushCache(soon(t)); err != nil {
		t.Fatal(err)
	}
	if st := r.Stats()[1]; st.EvictableTokens != 0 || st.FreeTokens != 1024 {
		t.Errorf("%+v", st)
	}
	gate := make(chan struct{})
	r.groups[0].hold = func(sched.Step) { <-gate }
	events, err = r.Submit(t.Context(), &api.Request{Input: []int32{1}, Params: api.Sampling{MaxNewTokens: 2}, LogprobStart: -1, DPRank: 0})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.FlushCache(ctx) }()
	gate <- struct{}{}
	cancel()
	close(gate)
	drain(events)
	if err := <-done; err != nil && !errors.Is(err, api.ErrNotIdle) {
		t.Error(err)
	}
}

func TestDrainAndClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, 1, Options{})
		r.groups[0].hold = func(sched.Step) { time.Sleep(time.Second) }
		submit := func(n int) <-chan api.Event {
			events, err := r.Submit(t.Context(), &api.Request{Input: []int32{1}, Params: api.Sampling{MaxNewTokens: n}, LogprobStart: -1, DPRank: 0})
			if err != nil {
				t.Fatal(err)
			}
			return events
		}
		short, long, unread := submit(5), submit(500), submit(500)
		go drain(short)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := r.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("drain with long requests: %v", err)
		}
		if _, err := r.Submit(t.Context(), &api.Request{Input: []int32{1}, DPRank: 0}); !errors.Is(err, api.ErrUnavailable) {
			t.Errorf("submit while draining: %v", err)
		}
		if err := r.Healthy(); !errors.Is(err, api.ErrUnavailable) {
			t.Errorf("healthy: %v", err)
		}
		last := make(chan api.Event)
		go func() { got := drain(long); last <- got[len(got)-1] }()
		closed := make(chan error, 1)
		go func() { closed <- r.Close() }()
		if e := <-last; e.Finish == nil || e.Finish.Status != 503 {
			t.Errorf("the running request ended with %+v", e)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		drain(unread) // given up after the grace period
	}) // no goroutine may remain
}

func TestHealthy(t *testing.T) {
	r := newRig(t, 2, 1, Options{})
	if err := r.Healthy(); err != nil {
		t.Error(err)
	}
	g := r.groups[1]
	g.mu.Lock()
	g.err = errors.New("device lost")
	g.mu.Unlock()
	if err := r.Healthy(); err == nil || !strings.Contains(err.Error(), "rank 1: device lost") {
		t.Error(err)
	}
}

func TestOnStep(t *testing.T) {
	type step struct {
		dp      int
		prefill bool
	}
	var got []step
	r := newRig(t, 2, 1, Options{OnStep: func(dp int, rep api.Step) { got = append(got, step{dp, rep.Prefill}) }})
	r.generate(t, 1, 2)
	if want := []step{{1, true}, {1, false}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestSeeds(t *testing.T) {
	r := newRig(t, 1, 1, Options{Seed: 7})
	q := &api.Request{Input: []int32{1}}
	a, b := *r.request(q).Params.Seed, *r.request(q).Params.Seed
	if a == b {
		t.Error("two requests without a seed have the same")
	}
	seed := int64(-3)
	q.Params.Seed = &seed
	if *r.request(q).Params.Seed != seed {
		t.Error("a given seed is not kept")
	}
}
