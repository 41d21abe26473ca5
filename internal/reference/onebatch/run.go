// Package onebatch measures one batch of sequences of equal lengths on the ranks of this process, like SGLang's
// bench_one_batch. It uses neither a scheduler nor a server. It measures the latency of the batch's prefill and of each
// decode step.
//
// Printed lines, result keys and trace names match bench_one_batch (section 5.1 of SGLang's contract). Lengths are in
// tokens, and latencies are in seconds. Package measure/batch measures batches on a running server.
package onebatch

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/measure/batch"
	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
	"github.com/stepscope/stepscope/internal/reference/engine/sample"
	"github.com/stepscope/stepscope/internal/reference/engine/sched"
)

// Room limits the size of a batch.
type Room struct {
	Capacity   int // positions of the KV cache, max_total_num_tokens
	ContextLen int // positions of a sequence
}

// Skip returns the reason for which a case cannot run, in SGLang's words. It returns "" if the case can run.
func (r Room) Skip(c batch.Case) string {
	what := fmt.Sprintf("skipping (%d, %d, %d) due to ", c.Batch, c.Input, c.Output)
	switch n := c.Input + c.Output; {
	case n > r.ContextLen:
		return what + fmt.Sprintf("the context length: %d tokens exceed %d", n, r.ContextLen)
	case c.Batch > r.Capacity/n:
		return what + "max batch size limit"
	case c.Batch > r.Capacity/model.BlockLen/blocks(c):
		return what + fmt.Sprintf("max batch size limit: each sequence takes whole blocks of %d tokens", model.BlockLen)
	}
	return ""
}

// blocks returns the number of cache blocks that a sequence needs. The last token of a sequence needs no space, because
// its keys and values are never computed.
func blocks(c batch.Case) int {
	return (c.Input+c.Output-2)/model.BlockLen + 1
}

// Ranks are the ranks of one replica. See engine.Ranks.
type Ranks interface {
	Forward(sched.Step) ([][]float32, error) // returns when all ranks have finished the step
	Ranks() []engine.Rank
}

// Bench runs batches on the ranks.
type Bench struct {
	Ranks         Ranks
	Vocab         int
	Seed          uint64
	LogDecodeStep int      // print every LogDecodeStep-th decode step after the first few; 0: print only the first few
	Profile       *Profile // nil: none
	Out           io.Writer
	Warn          func(format string, args ...any)
	Saved         func(c batch.Case, stage, path string) // called for each trace; may be nil

	count   int64 // number of steps so far
	sampler sample.Sampler
}

// Result is one row of the results file.
type Result struct {
	RunName                string   `json:"run_name"`
	BatchSize              int      `json:"batch_size"`
	InputLen               int      `json:"input_len"`
	OutputLen              int      `json:"output_len"`
	PrefillLatency         float64  `json:"prefill_latency"`
	PrefillThroughput      float64  `json:"prefill_throughput"`
	MedianDecodeLatency    *float64 `json:"median_decode_latency,omitempty"` // absent without decode steps
	MedianDecodeThroughput *float64 `json:"median_decode_throughput,omitempty"`
	TotalLatency           float64  `json:"total_latency"`
	OverallThroughput      float64  `json:"overall_throughput"`

	Tokens [][]int32 `json:"-"` // generated tokens of each sequence
	Steps  []float64 `json:"-"` // latencies of the decode steps, s
}

// someIDs is the upper bound of random token ids, as in SGLang's tool.
const someIDs = 10000

// Random creates random prompts for a case. Equal seeds give equal prompts.
func (b *Bench) Random(c batch.Case) [][]int32 {
	rnd := rand.New(rand.NewPCG(b.Seed, uint64(c.Input)))
	out := make([][]int32, c.Batch)
	for i := range out {
		for range c.Input {
			out[i] = append(out[i], rnd.Int32N(int32(min(someIDs, b.Vocab))))
		}
	}
	return out
}

// batch is a case in progress.
type running struct {
	*Bench
	batch.Case
	prompts [][]int32
	tokens  [][]int32 // generated
	blocks  [][]int32 // cache blocks of each sequence
}

func (b *Bench) start(c batch.Case, prompts [][]int32) *running {
	u := &running{Bench: b, Case: c, prompts: prompts, tokens: make([][]int32, c.Batch), blocks: make([][]int32, c.Batch)}
	each := blocks(c)
	for i := range u.blocks {
		for j := range each {
			u.blocks[i] = append(u.blocks[i], int32(i*each+j))
		}
	}
	return u
}

// forward runs a step. next returns the new tokens of a sequence and their position.
func (u *running) forward(mode model.Mode, next func(i int) (tokens []int32, at int)) ([][]float32, error) {
	b := &model.Batch{Mode: mode, Seqs: make([]model.Seq, u.Batch)}
	for i := range b.Seqs {
		tokens, at := next(i)
		b.Seqs[i] = model.Seq{Tokens: tokens, Start: at, Blocks: u.blocks[i]}
	}
	return u.run(b)
}

func (b *Bench) run(batch *model.Batch) ([][]float32, error) {
	b.count++
	return b.Ranks.Forward(sched.Step{Count: b.count, Batch: batch})
}

// take appends the most probable token of each row to the output.
func (u *running) take(rows [][]float32) error {
	for i, row := range rows {
		c, err := u.sampler.Choose(sample.NewState(api.Sampling{}), row, sample.Want{})
		if err != nil {
			return fmt.Errorf("sequence %d: %w", i, err)
		}
		u.tokens[i] = append(u.tokens[i], c.ID)
	}
	return nil
}

// prefill computes each prompt beginning at position from, using the cached keys and values of the earlier positions.
// It appends the first output token.
func (u *running) prefill(from int) (rows [][]float32, err error) {
	rows, err = u.forward(model.Extend, func(i int) ([]int32, int) { return u.prompts[i][from:], from })
	if err == nil {
		err = u.take(rows)
	}
	return rows, err
}

// decode computes the last token of each sequence and appends the next token.
func (u *running) decode() (rows [][]float32, err error) {
	rows, err = u.forward(model.Decode, func(i int) ([]int32, int) {
		n := len(u.tokens[i])
		return u.tokens[i][n-1:], len(u.prompts[i]) + n - 1
	})
	if err == nil {
		err = u.take(rows)
	}
	return rows, err
}

// printed is the number of decode steps printed at the start of each case.
const printed = 5

// Run measures a case that fits. If prompts is nil, Run uses random prompts. All devices are idle at the beginning and
// the end of each phase, because a step returns only after all ranks have finished the step. If ctx ends, Run still
// prints the figures that have been measured.
func (b *Bench) Run(ctx context.Context, name string, c batch.Case, prompts [][]int32) (*Result, error) {
	if prompts == nil {
		prompts = b.Random(c)
	}
	inputs := 0 // total number of input tokens; prompts from a file differ in length
	for _, p := range prompts {
		inputs += len(p)
	}
	u := b.start(c, prompts)
	res := &Result{RunName: name, BatchSize: c.Batch, InputLen: c.Input, OutputLen: c.Output}

	w, err := b.Profile.begin(ctx, b, c, api.Prefill)
	if err != nil {
		return nil, err
	}
	res.PrefillLatency, err = timed(func() error { _, err := u.prefill(0); return err })
	if err := w.end(err); err != nil {
		return nil, err
	}
	res.PrefillThroughput = float64(inputs) / res.PrefillLatency
	fmt.Fprintf(b.Out, "Prefill. latency: %6.5f s, throughput: %9.2f token/s\n", res.PrefillLatency, res.PrefillThroughput)

	latencies, err := u.decodes(ctx)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	res.TotalLatency, res.Steps = res.PrefillLatency, latencies
	for _, l := range latencies {
		res.TotalLatency += l
	}
	if len(latencies) > 0 {
		median := metric.Median(latencies)
		rate := float64(c.Batch) / median
		res.MedianDecodeLatency, res.MedianDecodeThroughput = &median, &rate
		fmt.Fprintf(b.Out, "Decode.  median latency: %6.5f s, median throughput: %9.2f token/s\n", median, rate)
	}
	if err != nil {
		fmt.Fprintf(b.Out, "Interrupted after %d of %d decode steps\n", len(latencies), c.Output-1)
		return nil, err
	}
	res.OverallThroughput = float64(inputs+c.Batch*c.Output) / res.TotalLatency
	fmt.Fprintf(b.Out, "Total. latency: %6.3f s, throughput: %9.2f token/s\n", res.TotalLatency, res.OverallThroughput)
	res.Tokens = u.tokens
	return res, nil
}

// decodes runs all decode steps. If there is an error, it also returns the latencies of the finished steps.
func (u *running) decodes(ctx context.Context) (latencies []float64, err error) {
	steps := u.Output - 1
	from, to := u.Profile.steps(u.Case)
	if u.Profile.has(api.Decode) && to > steps {
		u.Warn("cannot profile decode steps %d to %d: the batch of output length %d has %d, counted from 0", from, to-1, u.Output, steps)
	}
	var w *window
	defer func() { err = w.end(err) }() // because the batch may end before the window does
	for i := range steps {
		if ctx.Err() != nil {
			return latencies, ctx.Err()
		}
		if i == from {
			if w, err = u.Profile.begin(ctx, u.Bench, u.Case, api.Decode); err != nil {
				return latencies, err
			}
		}
		latency, err := timed(func() error { _, err := u.decode(); return err })
		if err != nil {
			return latencies, err
		}
		latencies = append(latencies, latency)
		if i == to-1 {
			done := w
			w = nil
			if err := done.end(nil); err != nil {
				return latencies, err
			}
		}
		if i < printed || u.LogDecodeStep > 0 && i%u.LogDecodeStep == 0 {
			fmt.Fprintf(u.Out, "Decode %d. Batch size: %d, latency: %6.5f s, throughput: %9.2f token/s\n", i, u.Batch, latency, float64(u.Batch)/latency)
		}
	}
	return latencies, nil
}

// timed returns the duration of f in seconds.
func timed(f func() error) (float64, error) {
	start := time.Now()
	err := f()
	return time.Since(start).Seconds(), err
}
