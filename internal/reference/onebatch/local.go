package onebatch

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/measure/batch"
	"github.com/stepscope/stepscope/internal/measure/experiment"
	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/trace"
)

// Local is a batch benchmark on the ranks of this process.
type Local struct {
	Model launch.ModelArgs
	batch.Grid
	Name          string   // name in each row of the results
	Texts         []string // prompts; nil: random prompts
	LogDecodeStep int      // same as Bench.LogDecodeStep
	Profile       *Profile

	Out io.Writer
	Say *progress.Console
}

// open loads the model and encodes the prompts. The caller must close the model.
func (l *Local) open() (m *launch.Model, prompts [][]int32, err error) {
	if m, err = launch.Open(l.Model, l.Say.Line); err != nil {
		return nil, nil, err
	}
	tok := m.PlainTokenizer()
	if tok == nil && len(l.Texts) > 0 {
		return nil, nil, errors.Join(errors.New("prompts need a tokenizer: omit --skip-tokenizer-init"), m.Close())
	}
	for _, t := range l.Texts {
		prompts = append(prompts, tok.Encode(t, true))
	}
	return m, prompts, nil
}

// Measure runs a warm-up and then all batches that fit. It stores the results of these batches in keep.
func (l *Local) Measure(ctx context.Context, keep *experiment.Batches) error {
	m, prompts, err := l.open()
	if err != nil {
		return err
	}
	defer m.Close()
	keep.Server(l.Model.Map())
	fmt.Fprintf(l.Out, "max_total_num_tokens=%d\n", m.Capacity)
	if len(prompts) > 0 {
		l.Inputs = []int{longest(prompts)}
	}
	var cases []batch.Case
	seqs, tokens := 0, 0 // sizes that the largest batch needs
	room := Room{Capacity: m.Capacity, ContextLen: m.ContextLen}
	for _, c := range l.Cases() {
		if why := room.Skip(c); why != "" {
			fmt.Fprintln(l.Out, why)
			keep.Note(why)
			l.Say.Incomplete()
			continue
		}
		cases = append(cases, c)
		seqs, tokens = max(seqs, c.Batch), max(tokens, c.Batch*c.Input)
	}
	if len(cases) == 0 {
		return errors.New("no batch fits: give shorter prompts, or raise --max-total-tokens")
	}
	ranks, err := m.Ranks(seqs, tokens)
	if err != nil {
		return err
	}
	defer ranks.Close()
	b := Bench{Ranks: ranks, Vocab: m.Vocab, Seed: uint64(l.Model.Seed), Out: l.Out, Warn: l.Say.Lack}
	fmt.Fprintln(l.Out, "Warmup ...")
	warm := cases[0]
	warm.Output = min(32, warm.Output)
	if _, err := b.Run(ctx, "", warm, fill(prompts, warm.Batch)); err != nil {
		return err
	}
	b.LogDecodeStep, b.Profile = l.LogDecodeStep, l.Profile
	b.Saved = func(c batch.Case, stage, path string) { keep.Trace(c.Name()+"_"+stage, path, firstRank(stage)) }
	fmt.Fprintln(l.Out, "Benchmark ...")
	for _, c := range cases {
		switch have := len(prompts); {
		case have == 0 || have == c.Batch:
		case have > c.Batch:
			fmt.Fprintf(l.Out, "Custom input size (%d) is larger than batch_size (%d). Using the first %d prompts.\n", have, c.Batch, c.Batch)
		default:
			fmt.Fprintf(l.Out, "Custom input size (%d) is smaller than batch_size (%d). Pad to the desired batch_size with the last prompt.\n", have, c.Batch)
		}
		r, err := b.Run(ctx, l.Name, c, fill(prompts, c.Batch))
		if err == nil {
			keep.Add(r.Batch(l.Profile != nil))
			err = keep.Rows.Add(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// firstRank describes the first rank's trace of one stage of a batch.
func firstRank(stage string) runs.File {
	r := trace.NoRank
	r.TP = 0
	return runs.File{Rank: runs.At(r), Stage: map[string]string{api.Prefill: "EXTEND", api.Decode: "DECODE"}[stage]}
}

func longest(prompts [][]int32) int {
	most := 0
	for _, p := range prompts {
		most = max(most, len(p))
	}
	return most
}

// fill returns n prompts. If there are fewer, it repeats the last prompt. If there are no prompts, fill returns nil.
func fill(prompts [][]int32, n int) [][]int32 {
	if len(prompts) == 0 {
		return nil
	}
	out := make([][]int32, n)
	for i := range out {
		out[i] = prompts[min(i, len(prompts)-1)]
	}
	return out
}

// Correct runs SGLang's --correctness-test, by default with SGLang's prompts. See [Correct].
func (l *Local) Correct(ctx context.Context, cutLen int) error {
	if l.Texts == nil {
		l.Texts = []string{"The capital of France is", "The capital of the United Kindom is", "Today is a sunny day and I like"}
	} else if n := l.Batches[0]; len(l.Texts) > n {
		l.Say.Warn("Custom input size (%d) is larger than batch_size (%d). Using the first %d prompts.", len(l.Texts), n, n)
		l.Texts = l.Texts[:n]
	}
	m, prompts, err := l.open()
	if err != nil {
		return err
	}
	defer m.Close()
	c := batch.Case{Batch: len(prompts), Input: longest(prompts), Output: l.Outputs[0]}
	if why := (Room{Capacity: m.Capacity, ContextLen: m.ContextLen}).Skip(c); why != "" {
		return errors.New(why)
	}
	fmt.Fprintf(l.Out, "max_total_num_tokens=%d\n", m.Capacity)
	ranks, err := m.Ranks(c.Batch, c.Tokens())
	if err != nil {
		return err
	}
	defer ranks.Close()
	b := Bench{Ranks: ranks, Vocab: m.Vocab, Out: l.Out, Warn: l.Say.Lack}
	tok := m.PlainTokenizer()
	return b.Check(ctx, Correct{
		Prompts: prompts, CutLen: cutLen, Output: c.Output, Text: func(ids []int32) string { return tok.Decode(ids, false) },
	})
}
