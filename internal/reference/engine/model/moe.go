package model

import (
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/op"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// The feed-forward of a layer with experts runs in six launches. route picks K experts for each token. align sorts the
// (token, expert) pairs of this rank's experts by expert. permute copies the tokens' rows in this order. Two grouped
// products, with the activation between them, apply each expert to its rows. combine sums the outputs for each token.
// This sum excludes experts on other ranks, whose outputs are added by the all-reduce after the layer.
//
// The number of rows of an expert is known only on the device. Therefore kernels are launched for the maximum number of
// rows and read the offsets when they run, like grouped kernels on GPUs. As a result, a captured graph is valid for
// every routing.

// moeBuffers hold at most rows·K pairs.
type moeBuffers struct {
	logits  []float32 // [rows][experts]
	ids     []int32   // [rows·K]: expert
	weights []float32 // [rows·K]
	offsets []int32   // [local experts + 1]: rows of each expert in the sorted order
	next    []int32   // [local experts]: sorted row of the expert's next pair; used by align
	source  []int32   // [rows·K]: index of the token that each sorted row belongs to
	place   []int32   // [rows·K]: sorted row of each pair; -1: expert is on another rank
	x       []float32 // [rows·K][hidden]
	gateUp  []float32 // [rows·K][2·width]
	act     []float32 // [rows·K][width]
	out     []float32 // [rows·K][hidden]
}

func newMoEBuffers(c *Config, g *geometry, rows int) *moeBuffers {
	pairs, width := rows*c.ExpertsPerToken, g.expertFFN.Len()
	floats := func(n int) []float32 { return make([]float32, n) }
	return &moeBuffers{
		logits: floats(rows * c.Experts), ids: make([]int32, pairs), weights: floats(pairs),
		offsets: make([]int32, g.experts.Len()+1), next: make([]int32, g.experts.Len()), source: make([]int32, pairs), place: make([]int32, pairs),
		x: floats(pairs * c.Hidden), gateUp: floats(pairs * 2 * width), act: floats(pairs * width), out: floats(pairs * c.Hidden),
	}
}

// pairs returns the number of sorted rows, which is known only after align has run.
func (m *moeBuffers) pairs() int { return int(m.offsets[len(m.offsets)-1]) }

// experts launches h = Σ weight·expert(h) over the chosen experts; h is [n][hidden].
func (p *pass) experts(y *layer, mod *layerModules, h []float32) {
	r, m, c := p.r, p.r.moe, p.r.cfg
	p.enter(&mod.gate)
	r.Linear(m.logits, c.Experts, y.router, h, c.Hidden, p.n)
	p.leave(&mod.gate)

	p.enter(&mod.topK)
	p.route()
	p.leave(&mod.topK)

	p.enter(&mod.experts)
	p.align()
	p.permute(h)
	width := r.geo.expertFFN.Len()
	p.grouped(m.gateUp, 2*width, m.x, c.Hidden, y.experts, func(e *expert) op.Linear { return e.gateUp })
	r.SiLUMul(m.act, m.gateUp, width, p.n*c.ExpertsPerToken, m.pairs)
	p.grouped(m.out, c.Hidden, m.act, width, y.experts, func(e *expert) op.Linear { return e.down })
	p.combine(h)
	p.leave(&mod.experts)
	p.reduce(h)
}

// route turns the router's logits into probabilities and picks the K largest. Among equal probabilities, it picks the
// expert with the lowest index.
func (p *pass) route() {
	r, m, c := p.r, p.r.moe, p.r.cfg
	k := c.ExpertsPerToken
	s := r.ByRows(p.n, (8+k)*c.Experts)
	r.Launch(device.Kernel{
		Name: "topk_softmax_kernel", Op: "sgl_kernel::topk_softmax", Grid: op.Grid(p.n, 1),
		Args: []device.Arg{op.Floats(p.n, c.Experts)},
	}, s.Chunks(), func(chunk int) {
		for i := s.Span(chunk).Lo; i < s.Span(chunk).Hi; i++ {
			topK(m.logits[i*c.Experts:][:c.Experts], m.ids[i*k:][:k], m.weights[i*k:][:k], c.NormTopK)
		}
	})
}

// topK picks the largest probabilities. It overwrites logits.
func topK(logits []float32, ids []int32, weights []float32, norm bool) {
	tensor.Softmax(logits)
	var sum float32
	for j := range ids {
		best := tensor.MaxIdx(logits)
		ids[j], weights[j] = int32(best), logits[best]
		sum += logits[best]
		logits[best] = -1
	}
	if norm {
		for j := range weights {
			weights[j] /= sum
		}
	}
}

// align sorts the pairs by expert, and the pairs of one expert by token. It omits padding rows.
func (p *pass) align() {
	r, m, k, mine := p.r, p.r.moe, p.r.cfg.ExpertsPerToken, p.r.geo.experts
	in := p.in
	r.Launch(device.Kernel{
		Name: "moe_align_block_size_kernel", Op: "sgl_kernel::moe_align_block_size", Grid: op.Grid(1, 1),
		Args: []device.Arg{op.Ints(p.n, k)},
	}, 1, func(int) {
		clear(m.offsets)
		ids := m.ids[:int(in.n[0])*k]
		for _, e := range ids {
			if int(e) >= mine.Lo && int(e) < mine.Hi {
				m.offsets[int(e)-mine.Lo+1]++
			}
		}
		for e := range mine.Len() {
			m.offsets[e+1] += m.offsets[e]
		}
		next := m.next
		copy(next, m.offsets)
		for i, e := range ids {
			m.place[i] = -1
			if int(e) >= mine.Lo && int(e) < mine.Hi {
				at := next[int(e)-mine.Lo]
				next[int(e)-mine.Lo]++
				m.place[i], m.source[at] = at, int32(i/k)
			}
		}
	})
}

// permute copies, for each sorted pair, the row of the pair's token.
func (p *pass) permute(h []float32) {
	r, m, width := p.r, p.r.moe, p.r.cfg.Hidden
	n := p.n * r.cfg.ExpertsPerToken
	s := r.ByRows(n, width)
	r.Launch(device.Kernel{
		Name: "moe_permute_kernel", Op: "sgl_kernel::moe_permute", Grid: op.Grid(p.n, 1),
		Args: []device.Arg{op.Floats(p.n, width), op.Ints(n)},
	}, s.Chunks(), func(chunk int) {
		for i := s.Span(chunk).Lo; i < min(s.Span(chunk).Hi, m.pairs()); i++ {
			copy(m.x[i*width:][:width], h[int(m.source[i])*width:])
		}
	})
}

// grouped launches one kernel that computes, for each local expert, the product with the expert's rows.
func (p *pass) grouped(y []float32, ldy int, x []float32, ldx int, experts []expert, of func(*expert) op.Linear) {
	r, m := p.r, p.r.moe
	w := of(&experts[0])
	want := max(op.ChunksPerWorker*r.Workers/len(experts), 1)
	panels := op.Split{N: w.Panels(), Step: max(w.Panels()/want, 1)}
	across := panels.Chunks()
	r.Launch(device.Kernel{
		Name: "fused_moe_kernel", Op: "sgl_kernel::fused_moe", Grid: op.Grid(w.Panels(), len(experts)),
		Args: []device.Arg{op.Floats(p.n*r.cfg.ExpertsPerToken, w.Cols), op.Weights(w.Format, len(experts), w.Rows, w.Cols)},
	}, across*len(experts), func(chunk int) {
		e := chunk / across
		lo, hi := int(m.offsets[e]), int(m.offsets[e+1])
		if lo < hi {
			of(&experts[e]).Apply(y[lo*ldy:], ldy, x[lo*ldx:], ldx, hi-lo, panels.Span(chunk%across))
		}
	})
}

// combine launches h[i] = Σ weight·out. For each token it sums over the pairs on this rank, in the order in which route
// chose them.
func (p *pass) combine(h []float32) {
	r, m, k, width := p.r, p.r.moe, p.r.cfg.ExpertsPerToken, p.r.cfg.Hidden
	s := r.ByRows(p.n, 2*k*width)
	in := p.in
	r.Launch(device.Kernel{
		Name: "moe_sum_reduce_kernel", Op: "sgl_kernel::moe_sum_reduce", Grid: op.Grid(p.n, 1),
		Args: []device.Arg{op.Floats(p.n, k, width)},
	}, s.Chunks(), func(chunk int) {
		for i := s.Span(chunk).Lo; i < s.Span(chunk).Hi; i++ {
			row := h[i*width:][:width]
			clear(row)
			if i >= int(in.n[0]) {
				continue
			}
			for j, at := range m.place[i*k:][:k] {
				if at >= 0 {
					tensor.Axpy(row, m.weights[i*k+j], m.out[int(at)*width:][:width])
				}
			}
		}
	})
}
