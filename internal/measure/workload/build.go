package workload

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/stepscope/stepscope/internal/base/pyrand"
)

// Build makes the requests of a data set. The same Spec and tokenizer give byte-identical requests, except for the
// routing keys. A nil tokenizer means [Estimate].
func Build(ctx context.Context, spec Spec, tok Tokenizer) ([]Request, error) {
	requests, _, err := Plan(ctx, spec, Arrivals{Rate: math.Inf(1)}, tok)
	return requests, err
}

// Plan makes the requests of a data set and their send times. With the process Trace, the send times are those recorded
// in the requests.
func Plan(ctx context.Context, spec Spec, arrivals Arrivals, tok Tokenizer) ([]Request, []time.Duration, error) {
	if err := spec.check(); err != nil {
		return nil, nil, err
	}
	if tok == nil {
		tok = Estimate{}
	}
	b := &builder{Spec: &spec, tok: tok, py: pyrand.New(uint64(spec.Seed)), np: pyrand.NewState(uint32(spec.Seed))}
	requests, err := b.build(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("data set %s: %w", spec.Dataset, err)
	}
	if len(requests) == 0 {
		return nil, nil, fmt.Errorf("data set %s: no request is left: %s has no row that fits: give %s", spec.Dataset, spec.Path, b.wanted)
	}
	for i := range requests {
		if r := &requests[i]; len(r.Rounds) > 1 && !spec.chatBackend() {
			return nil, nil, fmt.Errorf("data set %s: conversations of several turns need a chat backend, not %s: give --backend sglang-oai-chat or another that ends in -chat", spec.Dataset, spec.Backend)
		} else if r.Messages != nil && !spec.chatBackend() {
			return nil, nil, fmt.Errorf("data set %s: messages need a chat backend, not %s: give --backend sglang-oai-chat or another that ends in -chat", spec.Dataset, spec.Backend)
		}
	}
	if _, ok := tok.(Estimate); ok && spec.Dataset != "plan" { // the lengths of a plan are given in its file
		spec.note(estimated)
	}
	adapter := b.adapters()
	arrivals.Trace = nil
	if arrivals.Process == Trace {
		for i := range requests {
			arrivals.Trace = append(arrivals.Trace, requests[i].At)
		}
	}
	times, err := arrivals.schedule(len(requests), b.np, func(i int) { adapter(i, &requests[i]) })
	return requests, times, err
}

const estimated = "lengths are estimates of one token per 4 characters: there is no tokenizer"

// builder is the state of one call of Plan. It has the same random generators, with the same seeds, as SGLang's client.
// The draws must be in the same order as in SGLang's client, because an additional, missing or reordered draw gives a
// different load.
type builder struct {
	*Spec
	tok Tokenizer
	py  pyrand.Random
	np  *pyrand.State

	wanted string // description of the file of the data set
}

func (b *builder) build(ctx context.Context) ([]Request, error) {
	switch b.Dataset {
	case "sharegpt", "custom":
		return b.sharegpt(ctx)
	case "random", "random-ids":
		return b.random(ctx)
	case "generated-shared-prefix":
		return b.sharedPrefix(ctx)
	case "image":
		return b.images(ctx)
	case "openai":
		return b.openai(ctx)
	case "agentic-trace":
		return b.agentic(ctx)
	case "mooncake":
		return b.mooncake(ctx)
	case TimedTrace:
		return b.timedTrace(ctx)
	case "longbench_v2":
		return b.longbench(ctx)
	case "speed-bench":
		return b.speedBench(ctx)
	case "plan":
		return b.plan(ctx)
	}
	return nil, fmt.Errorf("not supported: MMMU is published as Parquet files with images inside; " +
		"write the rows as JSON lines with image_data and use --dataset-name plan, or use image")
}

// lengths draws n lengths uniformly from the range [max(int(full*ratio), 1), full], both ends included. With ratio 0
// the range is 1 to full.
func (b *builder) lengths(full int, ratio float64, n int) []int {
	low := max(int(float64(full)*ratio), 1)
	out := make([]int, n)
	for i := range out {
		if full > 0 { // full is 0 for requests without output
			out[i] = b.np.Int(low, full+1)
		}
	}
	return out
}

// order returns the order in which Python's shuffle puts n rows.
func (b *builder) order(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	b.py.Shuffle(n, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows
}

// adapters returns a function that assigns LoRA adapters to successive requests. "skewed" is the distribution that
// SGLang calls Zipf: the weight of adapter i is alpha^-i.
func (b *builder) adapters() func(i int, r *Request) {
	names := b.LoRANames
	if len(names) == 0 {
		return func(int, *Request) {}
	}
	skewed := pyrand.NewWeights(len(names), func(i int) float64 { return math.Pow(b.LoRAAlpha, -float64(i)) })
	return func(i int, r *Request) {
		switch b.LoRADistribution {
		case "distinct":
			r.LoRA = names[i%len(names)]
		case "skewed":
			r.LoRA = names[skewed.At(b.np.Float())]
		default:
			r.LoRA = names[b.py.Below(len(names))]
		}
	}
}
