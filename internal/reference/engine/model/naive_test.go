package model

import (
	"math"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/engine/hf"
)

// naive is a second implementation of the model, written like its definition: float64, one token at a time, no cache of
// blocks, no ranks, no packed weights. It shares the configuration and the tensor reader with the real one.
type naive struct {
	t    *testing.T
	c    *Config
	src  hf.Source
	mats map[string][]float64
}

func newNaive(t *testing.T, c *Config, src hf.Source) *naive {
	return &naive{t: t, c: c, src: src, mats: map[string][]float64{}}
}

// get returns a whole tensor, or nil if there is none.
func (n *naive) get(name string) []float64 {
	if m, ok := n.mats[name]; ok {
		return m
	}
	shape, ok := n.src.Shape(name)
	if !ok {
		return nil
	}
	size := 1
	for _, d := range shape {
		size *= d
	}
	raw := make([]float32, size)
	if err := n.src.Read(name, 0, raw); err != nil {
		n.t.Fatal(err)
	}
	m := make([]float64, size)
	for i, v := range raw {
		m[i] = float64(v)
	}
	n.mats[name] = m
	return m
}

// linear is W·x + b of a module.
func (n *naive) linear(module string, x []float64) []float64 {
	w, b := n.get(module+".weight"), n.get(module+".bias")
	y := make([]float64, len(w)/len(x))
	for r := range y {
		for c, v := range x {
			y[r] += w[r*len(x)+c] * v
		}
		if b != nil {
			y[r] += b[r]
		}
	}
	return y
}

func (n *naive) norm(module string, x []float64) []float64 {
	w := n.get(module + ".weight")
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	scale := 1 / math.Sqrt(sum/float64(len(x))+n.c.NormEps)
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v * scale * w[i]
	}
	return y
}

func softmax64(x []float64) {
	top, sum := slices.Max(x), 0.0
	for i := range x {
		x[i] = math.Exp(x[i] - top)
		sum += x[i]
	}
	for i := range x {
		x[i] /= sum
	}
}

// rope applies the rotary embedding for position pos to a head.
func (n *naive) rope(x []float64, pos int) {
	inv, scale := n.c.Rope.frequencies(len(x))
	for i, f := range inv {
		// The angle is float32 arithmetic in transformers; that is part of the definition.
		sin, cos := math.Sincos(float64(float32(pos) * float32(f)))
		a, b := x[i], x[i+len(inv)]
		x[i], x[i+len(inv)] = (a*cos-b*sin)*scale, (b*cos+a*sin)*scale
	}
}

// heads splits a row into heads, normalized if the model does so.
func (n *naive) heads(x []float64, normModule string) [][]float64 {
	var out [][]float64
	for h := range slices.Chunk(x, n.c.HeadDim) {
		if normModule != "" {
			h = n.norm(normModule, h)
		}
		out = append(out, slices.Clone(h))
	}
	return out
}

// mlp is one SwiGLU feed-forward.
func (n *naive) mlp(module string, x []float64) []float64 {
	gate, up := n.linear(module+".gate_proj", x), n.linear(module+".up_proj", x)
	for i, g := range gate {
		gate[i] = g / (1 + math.Exp(-g)) * up[i]
	}
	return n.linear(module+".down_proj", gate)
}

// experts is the weighted sum of the experts with the highest router scores.
func (n *naive) experts(layer int, x []float64) []float64 {
	p := n.linear(layerName(layer, "mlp.gate"), x)
	softmax64(p)
	y := make([]float64, len(x))
	var chosen []int
	sum := 0.0
	for range n.c.ExpertsPerToken {
		best := -1
		for e, v := range p {
			if !slices.Contains(chosen, e) && (best < 0 || v > p[best]) {
				best = e
			}
		}
		chosen = append(chosen, best)
		sum += p[best]
	}
	for _, e := range chosen {
		w := p[e]
		if n.c.NormTopK {
			w /= sum
		}
		for i, v := range n.mlp(layerName(layer, expertName(e)), x) {
			y[i] += w * v
		}
	}
	return y
}

// logits returns the logits after every token.
func (n *naive) logits(tokens []int32) [][]float64 {
	c := n.c
	embed := n.get("model.embed_tokens.weight")
	xs := make([][]float64, len(tokens))
	for i, id := range tokens {
		xs[i] = slices.Clone(embed[int(id)*c.Hidden:][:c.Hidden])
	}
	for l := range c.Layers {
		n.layer(l, xs)
	}
	head := "lm_head"
	if c.TiedEmbeddings {
		head = "model.embed_tokens"
	}
	out := make([][]float64, len(xs))
	for i, x := range xs {
		out[i] = n.linear(head, n.norm("model.norm", x))
	}
	return out
}

func (n *naive) layer(l int, xs [][]float64) {
	c := n.c
	name := func(m string) string { return layerName(l, m) }
	qNorm, kNorm := "", ""
	if c.QKNorm {
		qNorm, kNorm = name("self_attn.q_norm"), name("self_attn.k_norm")
	}
	var ks, vs [][][]float64
	add := func(x, y []float64) {
		for i := range x {
			x[i] += y[i]
		}
	}
	for pos, x := range xs {
		h := n.norm(name("input_layernorm"), x)
		q := n.heads(n.linear(name("self_attn.q_proj"), h), qNorm)
		k := n.heads(n.linear(name("self_attn.k_proj"), h), kNorm)
		vs = append(vs, n.heads(n.linear(name("self_attn.v_proj"), h), ""))
		for _, head := range slices.Concat(q, k) {
			n.rope(head, pos)
		}
		ks = append(ks, k)
		var out []float64
		for i, head := range q {
			kv := i / (c.Heads / c.KVHeads)
			score := make([]float64, pos+1)
			for t := range score {
				for d, v := range head {
					score[t] += v * ks[t][kv][d] / math.Sqrt(float64(c.HeadDim))
				}
			}
			softmax64(score)
			sum := make([]float64, c.HeadDim)
			for t, p := range score {
				for d := range sum {
					sum[d] += p * vs[t][kv][d]
				}
			}
			out = append(out, sum...)
		}
		add(x, n.linear(name("self_attn.o_proj"), out))
		h = n.norm(name("post_attention_layernorm"), x)
		if c.HasExperts(l) {
			add(x, n.experts(l, h))
		} else {
			add(x, n.mlp(name("mlp"), h))
		}
	}
}

// furthest returns the largest difference.
func furthest(got []float32, want []float64) float64 {
	worst := 0.0
	for i := range want {
		worst = max(worst, math.Abs(float64(got[i])-want[i]))
	}
	return worst
}

// TestNaive checks the definition itself against transformers, so that comparisons with it alone are valid.
func TestNaive(t *testing.T) {
	for _, name := range fixtures {
		t.Run(name, func(t *testing.T) {
			f := loadFixture(t, name)
			n := newNaive(t, f.cfg, f.src)
			check := func(what string, got []float64, want []float32) {
				d := furthest(want, got)
				t.Logf("%s %g", what, d)
				if d > tolerance {
					t.Errorf("%s: off by %g", what, d)
				}
			}
			for i, row := range n.logits(f.Prompts[f.All]) {
				check("a prompt's position", row, f.all[i])
			}
			for _, i := range []int{4, 7} {
				all := n.logits(slices.Concat(f.Prompts[i], f.Tokens[i]))
				at := len(f.Prompts[i]) - 1
				check("after a prompt", all[at], f.last[i])
				check("at the end", all[at+len(f.Tokens[i])-1], f.end[i])
			}
		})
	}
}
