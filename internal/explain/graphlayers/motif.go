package graphlayers

import (
	"slices"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// leastLayers is the minimum number of repetitions for a sequence to be a layer.
const leastLayers = 3

// motif finds layers as a repeating sequence of kernels. Each layer begins with a norm and has one attention, with the
// same kernels between norm and attention in every layer. The norm of the first layer may be a different kernel,
// because it normalises the output of the embedding, whereas the norms of other layers also add a residual.
//
// The first layer begins with the first norm of a forward pass; no matrix product precedes that norm. One more norm
// follows the last layer. Each layer except the first must equal another layer, apart from the norm at the beginning.
// Elementwise kernels directly before a layer's norm may be the end of the previous layer or the beginning of this one,
// since servers do both.
func motif(ops []op) *found {
	out := &found{known: make([]bool, len(ops)), by: result.GraphsMotif, template: &prep.Template{Of: make([]int32, len(ops))}}
	begin := slices.IndexFunc(ops, func(o op) bool { return product(o.class) || o.class == kernel.Norm })
	if begin < 0 || product(ops[begin].class) {
		return out.refuse(fact.Of("graph_layers_begin"))
	}
	anchors := attentions(ops, begin)
	if len(anchors) < leastLayers {
		return out.refuse(fact.Of("graph_layers_few"))
	}
	n, head := len(anchors), anchors[0]-begin
	starts := make([]int, n+1)
	for k, at := range anchors {
		if starts[k] = at - head; k > 0 && (starts[k] <= anchors[k-1] || !same(ops[starts[k]+1:at], ops[begin+1:anchors[0]])) {
			return out.refuse(fact.Of("graph_layers_repeat"))
		}
		if first := ops[starts[k]]; first.class != kernel.Norm || k > 1 && first.key != ops[starts[1]].key {
			return out.refuse(fact.Of("graph_layers_repeat"))
		}
	}
	layer := func(k int) []op { return ops[starts[k]:starts[k+1]] }
	starts[n] = starts[n-1] + len(layer(n-2))
	if starts[n] >= len(ops) || ops[starts[n]].class != kernel.Norm || !same(layer(n-1), layer(n-2)) {
		return out.refuse(fact.Of("graph_layers_repeat"))
	}
	for k := 1; k < n; k++ {
		alike := false
		for j := 0; j < n && !alike; j++ {
			alike = j != k && same(layer(j)[1:], layer(k)[1:])
		}
		if !alike {
			return out.refuse(fact.Of("graph_layers_repeat"))
		}
	}
	out.layers = n
	for i := range ops {
		out.known[i], out.template.Of[i] = true, -1
	}
	for k := range n {
		for i := starts[k]; i < starts[k+1]; i++ {
			out.template.Of[i] = int32(k)
		}
		for i := starts[k+1] - 1; i >= 0 && ops[i].class == kernel.Elementwise; i-- {
			out.known[i], out.template.Of[i] = false, -1
			out.unsure++
		}
	}
	return out
}

// same reports whether two sequences have the same kernels with the same grids.
func same(a, b []op) bool {
	return slices.EqualFunc(a, b, func(x, y op) bool { return x.key == y.key })
}

func (f *found) refuse(why fact.Fact) *found {
	f.why = why
	for i := range f.template.Of {
		f.template.Of[i] = -1
	}
	return f
}

// product reports whether a class is a matrix product.
func product(c kernel.Class) bool { return c == kernel.GEMM || c == kernel.MoEGEMM }

// attentions returns the indices of the kernels that begin an attention: each is the first attention kernel after a
// matrix product.
func attentions(ops []op, from int) (out []int) {
	fresh := true
	for i := from; i < len(ops); i++ {
		switch c := ops[i].class; {
		case product(c):
			fresh = true
		case (c == kernel.Attention || c == kernel.LinearAttention) && fresh:
			out = append(out, i)
			fresh = false
		}
	}
	return out
}
