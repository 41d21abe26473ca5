package sched

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/kvcache"
	"github.com/stepscope/stepscope/internal/reference/engine/sample"
)

// alone is the fake model's result for a request by itself, computed without a scheduler or a cache.
func alone(r *api.Request) ([]int32, []float64, string) {
	tokens := slices.Clone(r.Input)
	st := sample.NewState(r.Params)
	var s sample.Sampler
	var out []int32
	var probs []float64
	for len(out) < r.Params.MaxNewTokens {
		c, err := s.Choose(st, fakeLogits(tokens), sample.Want{Logprob: true})
		if err != nil {
			panic(err)
		}
		st.Accept(c.ID)
		tokens, out, probs = append(tokens, c.ID), append(out, c.ID), append(probs, c.Logprob.Logprob)
		if len(out) < r.Params.MaxNewTokens && !r.Params.IgnoreEOS && len(out) >= r.Params.MinNewTokens && slices.Contains(r.Params.StopTokens, c.ID) {
			return out, probs, api.FinishStop
		}
	}
	return out, probs, api.FinishLength
}

// randomRequest starts with one of few prefixes, so that prefixes coincide.
func randomRequest(rng *rand.Rand, capacity int) api.Request {
	n := 1 + rng.IntN(min(capacity-1, 300))
	input := slices.Concat(prompt(rng.IntN(3), n/2), prompt(rng.IntN(2), n-n/2))
	r := ask(input, rng.IntN(min(capacity-n, 150)+1))
	seed := rng.Int64()
	r.Params.Seed, r.Params.StopTokens, r.Params.IgnoreEOS = &seed, []int32{1, 2}, rng.IntN(2) == 0
	switch rng.IntN(4) {
	case 0: // greedy
	case 1:
		r.Params.Temperature, r.Params.TopP = 1, 0.9
	case 2:
		r.Params.Temperature, r.Params.TopK, r.Params.FrequencyPenalty = 0.7, 5, 0.5
	case 3:
		r.Params.RepetitionPenalty, r.Params.MinNewTokens = 1.3, r.Params.MaxNewTokens/2
	}
	if rng.IntN(4) == 0 {
		r.ReturnLogprob, r.LogprobStart, r.TopLogprobs = true, rng.IntN(n), rng.IntN(3)
	}
	return r
}

// TestEveryRequestGetsItsOwnTokens submits random requests at random times, aborts some again, and compares every
// request with its result alone. Caches are so small that sequences are evicted and retracted.
func TestEveryRequestGetsItsOwnTokens(t *testing.T) {
	retracted := int64(0)
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	for seed := range uint64(rounds) {
		rng := rand.New(rand.NewPCG(seed, 3))
		opt := Options{
			DisableRadix:   rng.IntN(3) == 0,
			ChunkedPrefill: []int{0, 1, 30, 64, 100, 2048}[rng.IntN(6)],
			MaxPrefill:     []int{0, 50, 4096}[rng.IntN(3)],
			MaxRunning:     1 + rng.IntN(20),
			// Far too optimistic, so that sequences must be retracted.
			Conservativeness: []float64{1, 0.01}[rng.IntN(2)],
			Priority:         Priority{Enabled: rng.IntN(3) == 0, Threshold: 5},
		}
		t.Run(fmt.Sprintf("%d/%+v", seed, opt), func(t *testing.T) {
			f := newFake(t, 6+rng.IntN(12))
			s := start(t, f, opt)
			var wg sync.WaitGroup
			for range 40 {
				r := randomRequest(rng, s.Capacity())
				if rng.IntN(2) == 0 {
					r.Priority = p(rng.IntN(20))
				}
				leave := 0 // after this many events
				if rng.IntN(5) == 0 {
					leave = 1 + rng.IntN(5)
				}
				l := newLog()
				events := 0
				var h *Handle
				ready := make(chan struct{})
				emit := func(e api.Event) {
					l.emit(e)
					if events++; events == leave && e.Finish == nil {
						<-ready
						h.Abort(api.Finish{Type: api.FinishAbort})
					}
				}
				var err error
				if h, err = s.Submit(&Request{Request: r, Emit: emit}); err != nil {
					t.Fatal(err)
				}
				close(ready)
				wg.Go(func() {
					tokens, last := l.wait()
					if err := judge(&r, l.events, tokens, last, leave > 0); err != nil {
						t.Error(err)
					}
				})
				for range rng.IntN(4) {
					s.Stats()
					check := make(chan error, 1)
					s.Do(func() { check <- s.checkBlocks() })
					if err := <-check; err != nil {
						t.Fatal(err)
					}
				}
			}
			wg.Wait()
			if opt.ChunkedPrefill > 0 && f.maxTokens > max(opt.ChunkedPrefill, opt.MaxRunning) {
				t.Errorf("a batch had %d tokens", f.maxTokens)
			}
			if f.maxSeqs > opt.MaxRunning {
				t.Errorf("a batch had %d sequences", f.maxSeqs)
			}
			retracted += s.Stats().RetractedRequests
		})
	}
	if retracted == 0 {
		t.Error("nothing was ever retracted: the test does not cover it")
	}
}

// checkBlocks checks the cache against all sequences, and the queue's order.
func (s *Scheduler) checkBlocks() error {
	if !slices.IsSortedFunc(s.waiting, byRank) {
		return errors.New("the queue is not in the order of priority and arrival")
	}
	var tables []*kvcache.Table
	for _, q := range slices.Concat(s.running, s.waiting) {
		tables = append(tables, &q.table)
	}
	if s.chunked != nil {
		tables = append(tables, &s.chunked.table)
	}
	return s.cache.Check(tables...)
}

// judge compares the result of a request with its result alone.
func judge(r *api.Request, events []api.Event, tokens []int32, last api.Event, left bool) error {
	want, probs, reason := alone(r)
	if last.Finish.Type == api.FinishAbort {
		if !left || last.Finish.Message != "" {
			return fmt.Errorf("aborted: %q", last.Finish.Message)
		}
		if len(tokens) > len(want) || !slices.Equal(tokens, want[:len(tokens)]) {
			return fmt.Errorf("before it was aborted: got %v, want a beginning of %v", tokens, want)
		}
		return nil
	}
	if !slices.Equal(tokens, want) || last.Finish.Type != reason {
		return fmt.Errorf("%d+%d tokens, %d retractions: got %v (%s), want %v (%s)",
			len(r.Input), r.Params.MaxNewTokens, last.Retractions, tokens, last.Finish.Type, want, reason)
	}
	if reason == api.FinishStop && last.Finish.Matched != want[len(want)-1] {
		return fmt.Errorf("stopped by token %d, want %d", last.Finish.Matched, want[len(want)-1])
	}
	for i, e := range events {
		if r.ReturnLogprob && e.Token != api.NoToken && e.Logprob != probs[i] {
			return fmt.Errorf("logprob %v of token %d, want %v", e.Logprob, i, probs[i])
		}
		if i > 0 && e.Prompt != nil {
			return fmt.Errorf("event %d has logprobs of the prompt", i)
		}
	}
	if r.LogprobStart < 0 {
		return nil
	}
	return judgePrompt(r, events[0])
}

func judgePrompt(r *api.Request, first api.Event) error {
	if n := len(r.Input) - r.LogprobStart; len(first.Prompt) != n || (r.TopLogprobs > 0 && len(first.PromptTop) != n) {
		return fmt.Errorf("%d logprobs and %d lists for %d tokens of the prompt", len(first.Prompt), len(first.PromptTop), n)
	}
	var s sample.Sampler
	for i, p := range first.Prompt {
		at := r.LogprobStart + i
		if p.ID != r.Input[at] {
			return fmt.Errorf("logprob %d is of token %d, want %d", i, p.ID, r.Input[at])
		}
		if at == 0 {
			if p.Logprob == p.Logprob {
				return fmt.Errorf("the first token has logprob %v", p.Logprob)
			}
			continue
		}
		want, top := s.Score(fakeLogits(r.Input[:at]), r.Input[at], r.TopLogprobs)
		if p.Logprob != want || (r.TopLogprobs > 0 && !slices.Equal(first.PromptTop[i], top)) {
			return fmt.Errorf("position %d has logprob %v, want %v", at, p.Logprob, want)
		}
	}
	return nil
}
