package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/trace"
)

// How holds the settings that are common to all batches of a benchmark.
type How struct {
	Temperature    float64
	ReturnLogprob  bool
	StreamInterval int // tokens per chunk
	ParallelBatch  bool
	FakePrefill    bool    // benchmark a decode server without a prefill server
	CacheHitRate   float64 // fraction of each prompt that is sent beforehand to fill the prefix cache
	StopAtEOS      bool    // sequences may end before their requested length
	FlushStorage   bool    // before each batch, also empty the storage tier of a hierarchical cache
}

// Served is the result of one batch.
type Served struct {
	RunName           string
	BatchSize         int
	InputLen          int
	OutputLen         int
	Latency           float64
	InputThroughput   float64
	OutputThroughput  float64 // 0: no time passed after the first tokens
	OverallThroughput float64
	LastTTFT          float64
	LastGenThroughput float64 // -1: the server does not report it
	AccLength         float64 // -1: no speculation
	StopAtEOS         bool    // sequences could end before their requested length
	OutputTokens      *int    // nil: the server does not count output tokens (vLLM)
	EarlyStopped      *int
	SteadyThroughput  *float64 // output tokens/s while all sequences decoded; nil: at no time did all sequences decode
	SteadyWindow      *float64 // s
	CacheHitRate      *float64 // nil: the server exposes no metrics
	ProfileDir        string   // directory of the traces of the recorded pass
	// Steps are the durations of the decode steps as a client sees them, in seconds. A step ends when every sequence
	// has received its next token. Steps is nil if an event carried several tokens of a sequence.
	Steps []float64
}

// reference returns the batch's decode step times measured without a profiler. They are the reference for a profiling
// window of the same batch. If they are unknown, reference returns nil.
func (s *Served) reference() *trace.Reference {
	if s.AccLength > 0 {
		return nil
	}
	var took []int64
	for _, t := range s.Steps {
		if t > 0 { // t is 0 if one read returned both this token and the previous token
			took = append(took, int64(math.Round(t*1e9)))
		}
	}
	p, ok := torch.NewStepTime(s.BatchSize, took)
	if !ok {
		return nil
	}
	return &trace.Reference{From: trace.FromTokens, Batch: s.BatchSize, Paces: []trace.StepTime{p}}
}

// MarshalJSON writes a row with the keys, the order and the rounding of SGLang's tool.
func (s *Served) MarshalJSON() ([]byte, error) {
	round := func(v float64, decimals int) float64 {
		p := math.Pow10(decimals)
		return math.Round(v*p) / p
	}
	given := func(v *float64, decimals int) *float64 {
		if v == nil {
			return nil
		}
		return new(round(*v, decimals))
	}
	return json.Marshal(struct {
		RunName           string   `json:"run_name"`
		BatchSize         int      `json:"batch_size"`
		InputLen          int      `json:"input_len"`
		OutputLen         int      `json:"output_len"`
		Latency           float64  `json:"latency"`
		InputThroughput   float64  `json:"input_throughput"`
		OutputThroughput  float64  `json:"output_throughput"`
		OverallThroughput float64  `json:"overall_throughput"`
		LastTTFT          float64  `json:"last_ttft"`
		LastGenThroughput float64  `json:"last_gen_throughput"`
		AccLength         float64  `json:"acc_length"`
		OutputTokens      *int     `json:"total_output_tokens"`
		EarlyStopped      *int     `json:"num_early_stopped"`
		SteadyThroughput  *float64 `json:"steady_state_output_throughput"`
		SteadyWindow      *float64 `json:"steady_state_window_s"`
		CacheHitRate      *float64 `json:"cache_hit_rate"`
	}{
		s.RunName, s.BatchSize, s.InputLen, s.OutputLen, round(s.Latency, 4), round(s.InputThroughput, 2), round(s.OutputThroughput, 2),
		round(s.OverallThroughput, 2), round(s.LastTTFT, 4), round(s.LastGenThroughput, 2), round(s.AccLength, 2),
		s.OutputTokens, s.EarlyStopped, given(s.SteadyThroughput, 2), given(s.SteadyWindow, 4), given(s.CacheHitRate, 4),
	})
}

// flight is a request in progress. It holds, for each sequence, the time of the first token and the number of tokens.
type flight struct {
	first   []time.Time
	tokens  []int
	stopped []bool        // the model ended the sequence
	merged  bool          // the first chunk of some sequence had more than one token
	nth     map[int]*came // key n: when sequences reached n tokens
	steady  steady
}

// came holds the number of sequences that have reached a given number of tokens, and the time at which the latest of
// these sequences reached that number.
type came struct {
	sequences int
	last      time.Time
}

func newFlight(batch int) *flight {
	return &flight{first: make([]time.Time, batch), tokens: make([]int, batch), stopped: make([]bool, batch), nth: map[int]*came{}, steady: steady{last: make([]seen, batch)}}
}

// event records an event of one sequence: the number of tokens that the sequence has, and whether the sequence ended.
func (f *flight) event(index, tokens int, ended bool, at time.Time) error {
	if index < 0 || index >= len(f.first) {
		return fmt.Errorf("the server sent sequence %d of %d", index, len(f.first))
	}
	if tokens > 0 && f.first[index].IsZero() {
		f.first[index] = at
		f.merged = f.merged || tokens > 1
	}
	if tokens > f.tokens[index] {
		n := f.nth[tokens]
		if n == nil {
			n = &came{}
			f.nth[tokens] = n
		}
		n.sequences, n.last = n.sequences+1, at
	}
	f.tokens[index] = tokens
	f.steady.event(index, tokens, ended, at)
	return nil
}

// steps returns the durations of the decode steps in seconds. Step n ends when all sequences have n+1 tokens. steps
// returns nil if an event carried more than one token of a sequence.
func (f *flight) steps(output int) (out []float64) {
	for n := 1; n <= output; n++ {
		here := f.nth[n]
		if here == nil || here.sequences != len(f.first) {
			return nil
		}
		if n > 1 {
			out = append(out, here.last.Sub(f.nth[n-1].last).Seconds())
		}
	}
	return out
}

// lastFirst returns the time when the last sequence received its first token.
func (f *flight) lastFirst() (last time.Time, err error) {
	for i, at := range f.first {
		if at.IsZero() {
			return last, fmt.Errorf("sequence %d of %d got no token", i, len(f.first))
		}
		if at.After(last) {
			last = at
		}
	}
	return last, nil
}

// output returns the number of tokens of all sequences together, and the number of sequences that stopped before their
// requested length.
func (f *flight) output(length int) (tokens, stopped int, err error) {
	for i, n := range f.tokens {
		tokens += n
		switch {
		case f.stopped[i]:
			stopped++
		case n != length:
			return 0, 0, fmt.Errorf("sequence %d ended after %d tokens of %d", i, n, length)
		}
	}
	return tokens, stopped, nil
}

// Run sends a batch and prints its result. If before is set, Run calls before immediately before the batch is sent. The
// function before starts a profiler.
func (s *Server) Run(ctx context.Context, name string, p *Prompts, h How, before func() error) (*Served, error) {
	if err := s.flush(ctx, h); err != nil {
		return nil, err
	}
	if err := s.fillCache(ctx, p, h); err != nil {
		return nil, err
	}
	if before != nil {
		if err := before(); err != nil {
			return nil, err
		}
	}
	counted := s.metrics(ctx)
	f := newFlight(p.Batch)
	send := s.generate
	if s.VLLM {
		send = s.complete
	}
	start := time.Now()
	if err := send(ctx, p, h, f); err != nil {
		return nil, err
	}
	latency := time.Since(start).Seconds()
	last, err := f.lastFirst()
	if err != nil {
		return nil, err
	}
	tokens, stopped, err := f.output(p.Output)
	if err != nil {
		return nil, err
	}
	ttft := last.Sub(start).Seconds()
	r := &Served{
		RunName: name, BatchSize: p.Batch, InputLen: p.Input, OutputLen: p.Output, Latency: latency, LastTTFT: ttft,
		InputThroughput: perSecond(float64(p.Tokens), ttft), OverallThroughput: perSecond(float64(p.Tokens+tokens), latency),
		LastGenThroughput: -1, AccLength: -1, StopAtEOS: h.StopAtEOS, Steps: f.steps(p.Output),
	}
	decoded := float64(tokens)
	if h.StopAtEOS { // SGLang's tool then counts only the tokens after f.steady.begin
		decoded -= f.steady.begin.tokens()
	}
	if p.Output > 1 {
		r.OutputThroughput = perSecond(decoded, latency-ttft)
	}
	if !s.VLLM {
		r.OutputTokens, r.EarlyStopped = &tokens, &stopped
		r.SteadyThroughput, r.SteadyWindow = f.steady.figures()
		if err := s.told(ctx, r); err != nil {
			return nil, err
		}
	}
	r.CacheHitRate = hitRate(counted, s.metrics(ctx))
	s.print(r, f.merged)
	return r, nil
}

// perSecond returns n/seconds, or 0 if no time passed.
func perSecond(n, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return n / seconds
}

// told adds the figures that the server reports to r.
func (s *Server) told(ctx context.Context, r *Served) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	info, err := s.Info(ctx)
	if err != nil {
		return err
	}
	for _, state := range statesOf(info) {
		if v, _ := state["avg_spec_accept_length"].(float64); v != 0 {
			r.AccLength = v
		}
		if v, _ := state["last_gen_throughput"].(float64); v != 0 {
			r.LastGenThroughput = v
		}
	}
	return nil
}

func (s *Server) print(r *Served, merged bool) {
	line := func(format string, args ...any) { fmt.Fprintf(s.Out, format+"\n", args...) }
	line("batch size: %d", r.BatchSize)
	line("input_len: %d", r.InputLen)
	line("output_len: %d", r.OutputLen)
	line("latency: %.2f s", r.Latency)
	line("input throughput: %.2f tok/s", r.InputThroughput)
	if r.OutputLen != 1 {
		line("output throughput: %.2f tok/s", r.OutputThroughput)
	}
	line("last_ttft: %.4f s", r.LastTTFT)
	if merged {
		line("  (first chunks had several tokens: last_ttft is when they came, later than the first tokens were there)")
	}
	line("last generation throughput: %.2f tok/s", r.LastGenThroughput)
	if r.AccLength > 0 {
		line("acc_length: %.2f", r.AccLength)
	}
	if r.CacheHitRate != nil {
		line("cache hit rate: %.4f", *r.CacheHitRate)
	}
	if !r.StopAtEOS {
		return
	}
	line("total output tokens: %d (requested %d)", *r.OutputTokens, r.BatchSize*r.OutputLen)
	line("early-stopped requests: %d/%d", *r.EarlyStopped, r.BatchSize)
	if r.SteadyWindow != nil {
		line("steady-state output throughput: %.2f tok/s over a %.2f s full-batch window", *r.SteadyThroughput, *r.SteadyWindow)
	} else {
		line("WARNING: no steady-state full-batch window (a request finished before the last one started decoding); steady-state metrics are n/a.")
	}
}

// fillCache sends the first part of each prompt, so that the server caches that part.
func (s *Server) fillCache(ctx context.Context, p *Prompts, h How) error {
	n := int(float64(p.Input) * h.CacheHitRate)
	if n <= 0 {
		return nil
	}
	fmt.Fprintf(s.Out, "Warming up cache with %.1f%% hit rate (%d tokens per request)\n", 100*h.CacheHitRate, n)
	part := &Prompts{Case: Case{p.Batch, n, 1}, LoRA: p.LoRA}
	for _, ids := range p.IDs {
		part.IDs = append(part.IDs, ids[:min(n, len(ids))])
	}
	send := s.generate
	if s.VLLM {
		send = s.complete
	}
	if err := send(ctx, part, How{StreamInterval: 1, FakePrefill: h.FakePrefill}, newFlight(p.Batch)); err != nil {
		return fmt.Errorf("fill the cache: %w", err)
	}
	fmt.Fprintln(s.Out, "Cache warmup completed")
	return nil
}

// errSilent is the cancellation cause of a request to which the server has sent nothing for too long.
var errSilent = errors.New("the server has said nothing for 10 minutes")

// generate sends the batch to /generate.
func (s *Server) generate(ctx context.Context, p *Prompts, h How, f *flight) error {
	body := map[string]any{
		"input_ids": p.IDs, "return_logprob": h.ReturnLogprob, "stream": true,
		"sampling_params": map[string]any{
			"temperature": h.Temperature, "max_new_tokens": p.Output, "ignore_eos": !h.StopAtEOS, "json_schema": nil, "stream_interval": h.StreamInterval,
		},
	}
	if h.ParallelBatch {
		body["parallel_batch"] = true
	}
	if h.FakePrefill {
		body["bootstrap_host"], body["bootstrap_room"] = api.FakeHost, 0
	}
	if len(p.LoRA) > 0 {
		body["lora_path"] = p.LoRA
	}
	ctx, heard, stop := listen(ctx)
	defer stop()
	var wrong error
	err := s.Generate(ctx, body, func(ev *client.Event) {
		heard()
		if wrong != nil {
			return
		}
		if wrong = finished(ev, h); wrong == nil {
			wrong = f.event(ev.Index, ev.Meta.CompletionTokens, ev.Meta.Finish() != "", ev.At)
		}
		if wrong == nil && ev.Meta.Finish() == "stop" {
			f.stopped[ev.Index] = true
		}
		if wrong != nil {
			stop() // the rest of the stream is not needed
		}
	})
	if wrong != nil {
		return fmt.Errorf("POST %s/generate: %w", s.URL, wrong)
	}
	return silent(ctx, err)
}

// finished returns an error if the event's finish reason invalidates the figures of the batch.
func finished(ev *client.Event, h How) error {
	reason := bytes.TrimSpace(ev.Meta.FinishReason)
	switch kind := ev.Meta.Finish(); {
	case len(reason) == 0, string(reason) == "null", kind == "length":
		return nil
	case kind == "stop" && h.StopAtEOS:
		var stop struct{ Matched any }
		if json.Unmarshal(reason, &stop) == nil && stop.Matched != "NaN happened" { // SGLang's mark of NaN logits
			return nil
		}
		return fmt.Errorf("sequence %d ended with finish reason %s", ev.Index, reason)
	}
	return fmt.Errorf("sequence %d ended with finish reason %s, not length", ev.Index, reason)
}

// listen returns a context that is cancelled when heard has not been called for the duration patience.
func listen(parent context.Context) (ctx context.Context, heard func(), stop context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	t := time.AfterFunc(patience, func() { cancel(errSilent) })
	return ctx, func() { t.Reset(patience) }, func() { t.Stop(); cancel(nil) }
}

// silent replaces err by errSilent if the request ended because the server was silent.
func silent(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}
