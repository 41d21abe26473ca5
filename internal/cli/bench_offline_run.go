package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/measure/workload"
	"github.com/stepscope/stepscope/internal/serve/launch"
)

// offlineBackend is where the requests go: the engine itself, or a server before it.
type offlineBackend struct {
	engine *launch.Engine
	server *embedded // nil: the engine itself
}

func (c *offlineCmd) open(ctx context.Context, e *env, n int) (*offlineBackend, error) {
	if c.Backend == "runtime" {
		s, err := startEmbedded(ctx, c.ModelArgs, n, e.Line)
		if err != nil {
			return nil, err
		}
		return &offlineBackend{s.engine, s}, nil
	}
	en, err := launch.Load(ctx, c.ModelArgs, launch.Options{Log: e.Line})
	return &offlineBackend{engine: en}, err
}

func (b *offlineBackend) Close() error {
	if b.server != nil {
		return b.server.Close()
	}
	return b.engine.Close()
}

// generation gives requests to a backend, all at once.
type generation struct {
	backend      *offlineBackend
	ignoreEOS    bool
	sampling     map[string]json.RawMessage // over the requests' own
	logprob      bool
	logprobStart int

	failed map[string]int // requests of the last run, by reason
}

// params are the sampling parameters of a request as JSON.
func (g *generation) params(r *workload.Request) map[string]any {
	p := map[string]any{"temperature": 0, "max_new_tokens": r.OutputLen, "ignore_eos": g.ignoreEOS}
	for key, v := range g.sampling {
		p[key] = v
	}
	return p
}

// run measures. When ctx ends there is a result of the requests that had ended
// until then, beside the error.
func (g *generation) run(ctx context.Context, requests []workload.Request) (*offlineResult, error) {
	g.failed = map[string]int{}
	res := &offlineResult{}
	start := time.Now()
	var err error
	if g.backend.server != nil {
		err = g.overHTTP(ctx, requests, res)
	} else {
		err = g.direct(ctx, requests, res)
	}
	if err != nil && (ctx.Err() == nil || res.Successful == 0) {
		return nil, err
	}
	if res.Successful == 0 {
		for reason := range g.failed {
			return nil, fmt.Errorf("no request succeeded: %s", reason)
		}
	}
	res.rates(time.Since(start), g.backend.engine.Stats()[0].GenThroughput)
	return res, err
}

// direct submits to the engine. Tokenising is part of the work, as it is in
// SGLang's engine.
func (g *generation) direct(ctx context.Context, requests []workload.Request, res *offlineResult) error {
	ctx, cancel := context.WithCancel(ctx) // an error ends what was submitted
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	var mu sync.Mutex
	for i := range requests {
		r := &requests[i]
		req, err := g.request(r, i)
		if err != nil {
			return err
		}
		events, err := g.backend.engine.Submit(ctx, req)
		if errors.Is(err, api.ErrTooLong) {
			mu.Lock()
			g.failed["too long for the model or its KV cache"]++
			mu.Unlock()
			continue
		}
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		wg.Go(func() {
			tokens := 0
			var finish *api.Finish
			for ev := range events {
				if ev.Token != api.NoToken {
					tokens++
				}
				finish = ev.Finish
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case ctx.Err() != nil && (finish == nil || finish.Type == api.FinishAbort):
			case finish == nil || finish.Type == api.FinishAbort:
				reason := "the engine ended it"
				if finish != nil {
					reason = finish.Message
				}
				g.failed[reason]++
			default:
				res.Successful++
				res.InputTokens += len(req.Input)
				res.OutputTokens += tokens
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

// request is one for the engine.
func (g *generation) request(r *workload.Request, i int) (*api.Request, error) {
	out := &api.Request{ID: strconv.Itoa(i), Input: r.Tokens, DPRank: -1, LogprobStart: -1, ReturnLogprob: g.logprob}
	if g.logprob {
		out.LogprobStart = g.logprobStart
	}
	if out.Input == nil {
		out.Input = g.backend.engine.PlainTokenizer().Encode(r.Prompt, true)
	}
	text, err := json.Marshal(g.params(r))
	if err != nil {
		return nil, err
	}
	var p wire.SamplingParams
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("--extra-request-body: %w", err)
	}
	if len(p.Stop)+len(p.StopRegex) > 0 || p.JSONSchema+p.Regex+p.EBNF+p.StructuralTag != "" || p.N != nil && *p.N > 1 {
		return nil, errors.New("--extra-request-body: stop texts, constrained output and n are the server's: give --backend runtime")
	}
	out.Params = p.Sampling(0)
	return out, nil
}

// overHTTP sends one request with all sequences.
func (g *generation) overHTTP(ctx context.Context, requests []workload.Request, res *offlineResult) error {
	var texts []string
	var ids [][]int32
	var params []map[string]any
	for i := range requests {
		r := &requests[i]
		if r.Tokens != nil {
			ids = append(ids, r.Tokens)
		} else {
			texts = append(texts, r.Prompt)
		}
		params = append(params, g.params(r))
	}
	body := map[string]any{"sampling_params": params, "return_logprob": g.logprob}
	if g.logprob {
		body["logprob_start_len"] = g.logprobStart
	}
	if ids != nil {
		body["input_ids"] = ids
	} else {
		body["text"] = texts
	}
	return g.backend.server.Server.Generate(ctx, body, func(ev *client.Event) {
		if f := ev.Meta.Finish(); f != "stop" && f != "length" {
			g.failed["finish reason "+string(ev.Meta.FinishReason)]++
			return
		}
		res.Successful++
		res.InputTokens += ev.Meta.PromptTokens
		res.OutputTokens += ev.Meta.CompletionTokens
	})
}
