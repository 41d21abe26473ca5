package workload

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
)

// Build makes the requests of a data set. The same Spec and the same tokenizer
// make the same requests, byte for byte but for the time in routing keys. A nil
// tokenizer is an [Estimate].
func Build(ctx context.Context, spec Spec, tok Tokenizer) ([]Request, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	if tok == nil {
		tok = Estimate{}
	}
	b := &builder{Spec: &spec, tok: tok}
	requests, err := b.build(ctx)
	if err != nil {
		return nil, fmt.Errorf("data set %s: %w", spec.Dataset, err)
	}
	if len(requests) == 0 {
		return nil, fmt.Errorf("data set %s: no request is left: %s has no row that fits", spec.Dataset, spec.Path)
	}
	for i := range requests {
		if r := &requests[i]; len(r.Rounds) > 1 && !spec.chatBackend() {
			return nil, fmt.Errorf("data set %s: conversations of several turns need a chat backend, not %s: give --backend sglang-oai-chat or another that ends in -chat", spec.Dataset, spec.Backend)
		} else if r.Messages != nil && !spec.chatBackend() {
			return nil, fmt.Errorf("data set %s: messages need a chat backend, not %s: give --backend sglang-oai-chat or another that ends in -chat", spec.Dataset, spec.Backend)
		}
	}
	b.adapters(requests)
	if _, ok := tok.(Estimate); ok && spec.Dataset != "plan" { // which has its own lengths
		spec.note(estimated)
	}
	return requests, nil
}

const estimated = "lengths are estimates, one token for 4 characters: there is no tokenizer"

// builder is one Build under way.
type builder struct {
	*Spec
	tok Tokenizer
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
	case "longbench_v2":
		return b.longbench(ctx)
	case "speed-bench":
		return b.speedBench(ctx)
	case "plan":
		return b.plan(ctx)
	}
	return nil, fmt.Errorf("not supported: MMMU is published as Parquet files with images inside; " +
		"write the rows as JSON lines with image_data and take --dataset-name plan, or take image")
}

// The draws of a plan come from streams of their own, so that an option that
// changes how much is drawn from one leaves the others as they were.
const (
	streamLengths = iota + 1
	streamText
	streamOrder
	streamGroups
	streamImages
	streamLoRA
	streamKeys
	streamArrivals
)

func (s *Spec) stream(n uint64) *rand.Rand { return rand.New(source(s.Seed, n)) }

// source sets streams far apart: PCG begins alike for seeds that are near.
func source(seed int64, n uint64) *rand.PCG { return rand.NewPCG(uint64(seed), n*0x9e3779b97f4a7c15) }

// lengths draws n lengths, uniform in [max(int(full*ratio), 1), full], both ends
// included. Ratio 0 is 1 to full.
func lengths(rng *rand.Rand, full int, ratio float64, n int) []int {
	low := max(int(float64(full)*ratio), 1)
	out := make([]int, n)
	for i := range out {
		if full > 0 { // 0 is right for an output that is not to be
			out[i] = low + rng.IntN(full-low+1)
		}
	}
	return out
}

// weighted draws indices with probabilities in proportion to weights.
type weighted struct{ sums []float64 }

func newWeighted(n int, weight func(i int) float64) weighted {
	w := weighted{make([]float64, n)}
	sum := 0.0
	for i := range n {
		sum += weight(i)
		w.sums[i] = sum
	}
	return w
}

func (w weighted) draw(rng *rand.Rand) int {
	n := len(w.sums)
	i := sort.SearchFloat64s(w.sums, rng.Float64()*w.sums[n-1])
	return min(i, n-1)
}

// zipf draws ranks 0 to n-1 with p(rank) in proportion to 1/(rank+1)^alpha.
func zipf(n int, alpha float64) weighted {
	return newWeighted(n, func(i int) float64 { return math.Pow(float64(i+1), -alpha) })
}

// adapters gives each request its LoRA adapter. "skewed" is what SGLang calls
// Zipf: the weight of adapter i is alpha^-i.
func (b *builder) adapters(requests []Request) {
	names := b.LoRANames
	if len(names) == 0 {
		return
	}
	rng := b.stream(streamLoRA)
	skewed := newWeighted(len(names), func(i int) float64 { return math.Pow(b.LoRAAlpha, -float64(i)) })
	for i := range requests {
		switch b.LoRADistribution {
		case "distinct":
			requests[i].LoRA = names[i%len(names)]
		case "skewed":
			requests[i].LoRA = names[skewed.draw(rng)]
		default:
			requests[i].LoRA = names[rng.IntN(len(names))]
		}
	}
}
