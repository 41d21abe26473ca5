package graphlayers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/kernel"
)

// written converts letters to ops: E embedding, N and n norms, Q rope, G, g and H matrix products, A attention, X experts,
// C a collective, + an addition. Each letter is a kernel of its own.
func written(text string) (out []op) {
	classes := map[rune]kernel.Class{
		'E': kernel.Embedding, 'N': kernel.Norm, 'n': kernel.Norm, 'Q': kernel.Rope, 'G': kernel.GEMM, 'g': kernel.GEMM,
		'H': kernel.GEMM, 'A': kernel.Attention, 'X': kernel.MoEGEMM, 'C': kernel.Comm, '+': kernel.Elementwise,
	}
	for _, c := range strings.ReplaceAll(text, " ", "") {
		out = append(out, op{name: c, key: c, class: classes[c]})
	}
	return out
}

// TestMotif finds the layer of each kernel by the repeated pattern; -: no layer, ?: unknown.
func TestMotif(t *testing.T) {
	for _, c := range []struct{ name, ops, want string }{
		{"norms fused with the residual", "EC NGQAgCnGgC nGQAgCnGgC nGQAgCnGgC nH", "-- 0000000000 1111111111 2222222222 --"},
		{"norms of queries and keys", "E NGnQAgnGg nGnQAgnGg nGnQAgnGg nH", "- 000000000 111111111 222222222 --"},
		{"the first layers have no experts", "E NGQAgnGg nGQAgnGg nGQAgnXX nGQAgnXX nH", "- 00000000 11111111 22222222 33333333 --"},
		{"a kernel that only the first layer has", "E NGQAg+nGg nGQAgnGg nGQAgnGg nH", "- 000000000 11111111 22222222 --"},
		{"additions of either layer", "E NGAgnGg+ NGAgnGg+ NGAgnGg+ NH", "- 0000000? 1111111? 2222222? --"},

		{"no norm before the first product", "E GAgN GAgN GAgN GAgN H", "graph_layers_begin"},
		{"two layers", "E NGAgG nGAgG nH", "graph_layers_few"},
		{"no attention", "E NGgC nGgC nGgC nH", "graph_layers_few"},
		{"low-rank queries: the norm before attention does not begin the layer", "E NGnGAg nGnGAg nGnGAg H", "graph_layers_repeat"},
		{"no norm after the last layer", "E NGAgC nGAgC nGAgC H", "graph_layers_repeat"},
		{"two batches interleaved", "E NNGGAAgg nnGGAAgg nnGGAAgg nnHH", "graph_layers_repeat"},
		{"a layer unlike the others", "E NGAgC nGAgC nGAgX nGAgC nGAgC nH", "graph_layers_repeat"},
		{"kernels lost", "E NGAgC nGAgC nAgC nGAgC nH", "graph_layers_repeat"},
	} {
		f := motif(written(c.ops))
		got := f.why.Key
		if f.layers > 0 {
			got = ""
			i := 0
			for _, x := range c.ops {
				switch {
				case x == ' ':
					got += " "
					continue
				case !f.known[i]:
					got += "?"
				case f.template.Of[i] < 0:
					got += "-"
				default:
					got += fmt.Sprint(f.template.Of[i])
				}
				i++
			}
		}
		if got != c.want {
			t.Errorf("%s\n got %s\nwant %s\n  of %s", c.name, got, c.want, c.ops)
		}
	}
}
