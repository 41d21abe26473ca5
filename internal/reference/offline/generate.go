package offline

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
	"github.com/stepscope/stepscope/internal/reference/embedded"
	"github.com/stepscope/stepscope/internal/reference/launch"
)

// open loads the engine for the given number of sequences. If requests are sent over HTTP, open also starts a server
// for the engine.
func (b *Benchmark) open(ctx context.Context, sequences int) (err error) {
	if b.Backend == Runtime {
		if b.server, err = embedded.Start(ctx, b.Model, sequences, b.Version, b.Say.Line); err == nil {
			b.engine = b.server.Engine
		}
		return err
	}
	b.engine, err = launch.Load(ctx, b.Model, launch.Options{Log: b.Say.Line})
	return err
}

func (b *Benchmark) close() error {
	if b.server != nil {
		return b.server.Close()
	}
	return b.engine.Close()
}

// params returns the sampling parameters of a request for a JSON body.
func (b *Benchmark) params(r *workload.Request) map[string]any {
	p := map[string]any{"temperature": 0, "max_new_tokens": r.OutputLen, "ignore_eos": b.IgnoreEOS}
	for key, v := range b.Sampling {
		p[key] = v
	}
	return p
}

// run runs the measurement. If ctx ends, it returns the error and also the result of the requests that have finished.
func (b *Benchmark) run(ctx context.Context, requests []workload.Request) (*Result, error) {
	b.failed = map[string]int{}
	res := &Result{}
	start := time.Now()
	var err error
	if b.server != nil {
		err = b.overHTTP(ctx, requests, res)
	} else {
		err = b.direct(ctx, requests, res)
	}
	if err != nil && (ctx.Err() == nil || res.Successful == 0) {
		return nil, err
	}
	if res.Successful == 0 {
		for reason := range b.failed {
			return nil, fmt.Errorf("no request succeeded: %s", reason)
		}
	}
	res.rates(time.Since(start), b.engine.Stats()[0].GenThroughput)
	return res, err
}

// direct submits the requests to the engine. The measured time includes tokenizing, as in SGLang's engine.
func (b *Benchmark) direct(ctx context.Context, requests []workload.Request, res *Result) error {
	ctx, cancel := context.WithCancel(ctx) // on error, abort the submitted requests
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	var mu sync.Mutex
	for i := range requests {
		r := &requests[i]
		req, err := b.request(r, i)
		if err != nil {
			return err
		}
		events, err := b.engine.Submit(ctx, req)
		if errors.Is(err, api.ErrTooLong) {
			mu.Lock()
			b.failed["too long for the model or its KV cache"]++
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
				b.failed[reason]++
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

// request converts a request for the engine.
func (b *Benchmark) request(r *workload.Request, i int) (*api.Request, error) {
	out := &api.Request{ID: strconv.Itoa(i), Input: r.Tokens, DPRank: -1, LogprobStart: -1, ReturnLogprob: b.Logprob}
	if b.Logprob {
		out.LogprobStart = b.LogprobStart
	}
	if out.Input == nil {
		out.Input = b.engine.PlainTokenizer().Encode(r.Prompt, true)
	}
	text, err := json.Marshal(b.params(r))
	if err != nil {
		return nil, err
	}
	var p wire.SamplingParams
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("--extra-request-body: %w", err)
	}
	if len(p.Stop)+len(p.StopRegex) > 0 || p.JSONSchema+p.Regex+p.EBNF+p.StructuralTag != "" || p.N != nil && *p.N > 1 {
		return nil, errors.New("--extra-request-body: stop texts, constrained output and n need a server: use --backend runtime")
	}
	out.Params = p.Sampling(0)
	return out, nil
}

// overHTTP sends all sequences in one request.
func (b *Benchmark) overHTTP(ctx context.Context, requests []workload.Request, res *Result) error {
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
		params = append(params, b.params(r))
	}
	body := map[string]any{"sampling_params": params, "return_logprob": b.Logprob}
	if b.Logprob {
		body["logprob_start_len"] = b.LogprobStart
	}
	if ids != nil {
		body["input_ids"] = ids
	} else {
		body["text"] = texts
	}
	return b.server.Server.Generate(ctx, body, func(ev *client.Event) {
		if f := ev.Meta.Finish(); f != "stop" && f != "length" {
			b.failed["finish reason "+string(ev.Meta.FinishReason)]++
			return
		}
		res.Successful++
		res.InputTokens += ev.Meta.PromptTokens
		res.OutputTokens += ev.Meta.CompletionTokens
	})
}
