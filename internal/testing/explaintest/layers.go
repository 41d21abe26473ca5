package explaintest

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// DictOf returns a marker as SGLang's language models print it.
func DictOf(module, rest string) string {
	return fmt.Sprintf("{'Module': '%s'%s}", module, rest)
}

// Rest of the markers of projections.
const (
	downProj = `, 'TrainableParams': {'weight': [64, 256]}, 'Inputs': [[4, 256]]`
	upProj   = `, 'TrainableParams': {'weight': [256, 64]}, 'Inputs': [[4, 64]]`
)

// ModelStep is a step of a model with the given number of layers: an embedding, per layer two projections with one
// kernel each and an all-reduce in the second, a head outside any module. took returns the length of a layer's second
// kernel.
func ModelStep(y *toytrace.Toy, at int64, name string, layers int, took func(layer int) int64) int64 {
	begin := at
	gpu := at + 50
	run := func(kernel string, ns int64) {
		y.Run(kernel, at, gpu, gpu+ns, 1)
		at += 20
		gpu += ns + 10
	}
	in := func(text string, body func()) {
		from := at
		at += 5
		body()
		at += 5
		y.Span(trace.UserAnnotation, 0, text, from, at)
	}
	in(DictOf("model", ""), func() {
		in(DictOf("model.model.embed_tokens", `, 'TrainableParams': {'weight': [1000, 64]}, 'Inputs': [[4]]`), func() { run("indexSelect", 100) })
		for l := range layers {
			path := fmt.Sprintf("model.model.layers.%d", l)
			in(DictOf(path, `, 'Inputs': [[4], [4, 64]]`), func() {
				in(DictOf(path+".mlp.up_proj", upProj), func() { run("nvjet_tst_64x8", 200) })
				run("silu_and_mul_kernel", 50)
				in(DictOf(path+".mlp.down_proj", downProj), func() {
					run("nvjet_tst_64x8", took(l))
					run(toytrace.AllReduce, 80)
				})
			})
		}
	})
	run("softmax_sampling", 300)
	at = max(at, gpu)
	y.Span(trace.UserAnnotation, 0, name, begin, at)
	return at + 100
}

// Twelve makes ranks of a model of twelve layers; took returns the length of a layer's second kernel on a rank in a
// step.
func Twelve(ranks, steps int, took func(rank, step, layer int) int64) []*trace.Trace {
	var ts []*trace.Trace
	for rank := range ranks {
		y := toytrace.New()
		at := int64(0)
		for n := range steps {
			at = ModelStep(y, at, "step[DECODE bs=4]", 12, func(l int) int64 { return took(rank, n, l) })
		}
		y.T.Source.Rank.TP = rank
		ts = append(ts, y.Done())
	}
	return ts
}
