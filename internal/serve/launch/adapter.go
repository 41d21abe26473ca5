package launch

import (
	"context"
	"errors"

	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/engine"
	"github.com/stepscope/stepscope/internal/engine/sample"
	"github.com/stepscope/stepscope/internal/engine/sched"
	"github.com/stepscope/stepscope/internal/serve/server"
)

// served is an engine as the server wants it: other names, the same things.
type served struct{ e *Engine }

// API is the engine for package server.
func (e *Engine) API() server.Engine { return served{e} }

func (s served) Info() server.Info           { return s.e.info }
func (s served) Tokenizer() server.Tokenizer { return s.e.tok }
func (s served) Healthy() error              { return refusal(s.e.Healthy()) }
func (s served) Profiling() bool             { return s.e.Profiling() }

func (s served) FlushCache(ctx context.Context) error { return refusal(s.e.FlushCache(ctx)) }

// refusal gives errors the server's sentinels.
func refusal(err error) error {
	for from, to := range map[error]error{
		engine.ErrQueueFull: server.ErrQueueFull, engine.ErrTooLong: server.ErrTooLong, engine.ErrClosed: server.ErrUnavailable,
		engine.ErrNotIdle: server.ErrNotIdle, engine.ErrProfileRunning: server.ErrProfileRunning, engine.ErrProfileIdle: server.ErrProfileIdle,
	} {
		if errors.Is(err, from) {
			return &refused{err, to}
		}
	}
	if errors.Is(err, engine.ErrInvalid) {
		return wire.Refuse("", "%v", err)
	}
	return err
}

// refused has the text of one error and is another.
type refused struct {
	error
	as error
}

func (r *refused) Error() string { return r.error.Error() }
func (r *refused) Unwrap() error { return r.as }

func (s served) Submit(ctx context.Context, r *server.Request) (<-chan server.Event, error) {
	meet := (*engine.Bootstrap)(r.Bootstrap)
	events, err := engine.Stream(ctx, s.e.Engine, &engine.Request{
		ID: r.ID, Input: r.Input, Params: engine.Sampling(r.Params), ReturnLogprob: r.ReturnLogprob, TopLogprobs: r.TopLogprobs,
		LogprobStart: r.LogprobStart, DPRank: r.DPRank, Bootstrap: meet,
	}, event)
	return events, refusal(err)
}

func event(e engine.Event) server.Event {
	out := server.Event{
		Token: e.Token, Logprob: float64(e.Logprob), Top: logprobs(e.Top), Prompt: logprobs(e.Prompt),
		Cached: e.Cached, Retractions: e.Retractions, DPRank: e.DPRank,
	}
	for _, list := range e.PromptTop {
		out.PromptTop = append(out.PromptTop, logprobs(list))
	}
	if f := e.Finish; f != nil {
		out.Finish = &server.Finish{Type: f.Type, Matched: f.Matched, Message: f.Message, Status: f.Status}
		if f.Type != sched.FinishStop {
			out.Finish.Matched = server.NoToken
		}
	}
	return out
}

func logprobs(list []sample.Logprob) []server.Logprob {
	if list == nil {
		return nil
	}
	out := make([]server.Logprob, len(list))
	for i, l := range list {
		out[i] = server.Logprob{ID: l.Token, Logprob: float64(l.Logprob)}
	}
	return out
}

func (s served) Stats() []server.Stats {
	var out []server.Stats
	for dp, st := range s.e.Stats() {
		out = append(out, server.Stats{
			DPRank: dp, Running: st.Running, Waiting: st.Waiting, ForwardCt: st.ForwardCt,
			WaitingTokens: st.WaitingTokens, UsedTokens: st.UsedTokens, EvictableTokens: st.EvictableTokens, FreeTokens: st.FreeTokens,
			SumSeqLens: st.SumSeqLens, GenThroughput: st.GenThroughput, CacheHitRate: st.CacheHitRate, NewTokenRatio: st.NewTokenRatio,
			Utilization: float64(st.Running) / float64(max(s.e.info.MaxRunningRequests, 1)), GraphReplayed: st.Graph, Retracted: st.Retracted,
			Bootstrap: st.Bootstrap, Inflight: st.Inflight, Prealloc: st.Prealloc, Transfer: st.Transfer, SetAside: st.SetAside,
			BootstrapFailed: st.BootstrapFailed, TransferFailed: st.TransferFailed,
			PrefillUncached: st.ComputedTokens, PrefillBusy: st.PrefillBusy,
			RetractedTotal: st.RetractedRequests, RetractedInputTotal: st.RetractedInput, RetractedOutputTotal: st.RetractedOutput,
		})
	}
	return out
}

func (s served) StartProfile(ctx context.Context, r server.ProfileRequest) error {
	return refusal(s.e.StartProfile(ctx, engine.ProfileRequest{
		ID: r.ID, OutputDir: r.OutputDir, Prefix: r.Prefix, StartStep: r.StartStep, NumSteps: r.NumSteps,
		Activities: engine.Activity(r.Activities), ByStage: r.ByStage, StageNames: r.StageNames, Prefill: r.Prefill, Decode: r.Decode,
		WithStack: r.WithStack, RecordShapes: r.RecordShapes, Merge: r.Merge, DecodeMinBS: r.DecodeMinBS, MemEntries: r.MemEntries,
	}))
}

func (s served) StopProfile(ctx context.Context) (server.ProfileResult, error) {
	r, err := s.e.StopProfile(ctx)
	return server.ProfileResult{Dir: r.Dir, ID: r.ID, Files: r.Files, Merged: r.Merged, Message: r.Message}, refusal(err)
}
