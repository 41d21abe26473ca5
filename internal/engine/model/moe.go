package model

import (
	"github.com/stepscope/stepscope/internal/engine/device"
	"github.com/stepscope/stepscope/internal/engine/tensor"
)

// A layer with experts runs in six launches. route picks K experts for each token; align sorts the (token, expert)
// pairs of this rank's experts by expert; permute gathers the tokens in that order; two grouped products with the
// activation between run each expert over its rows; combine adds up each token's outputs. Tokens of experts that other
// ranks hold add nothing here; the all-reduce after the layer brings their part.
//
// How many rows an expert has is known only on the device, so kernels are launched for the most there can be and look
// at the offsets when they run, as grouped kernels of GPUs do: a captured graph stays right for every routing.

// moeBuffers hold the pairs, at most rows·K of them.
type moeBuffers struct {
	logits  []float32 // [rows][experts]
	ids     []int32   // [rows·K]: expert
	weights []float32 // [rows·K]
	offsets []int32   // [local experts + 1]: rows of each expert in the sorted order
	next    []int32   // [local experts]: where align puts an expert's next pair
	source  []int32   // [rows·K]: token of a sorted row
	place   []int32   // [rows·K]: sorted row of a pair, -1: another rank's
	x       []float32 // [rows·K][hidden]
	gateUp  []float32 // [rows·K][2·width]
	act     []float32 // [rows·K][width]
	out     []float32 // [rows·K][hidden]
}

func newMoEBuffers(c *Config, g *geometry, rows int) *moeBuffers {
	pairs, width := rows*c.ExpertsPerToken, g.expertFFN.len()
	floats := func(n int) []float32 { return make([]float32, n) }
	return &moeBuffers{
		logits: floats(rows * c.Experts), ids: make([]int32, pairs), weights: floats(pairs),
		offsets: make([]int32, g.experts.len()+1), next: make([]int32, g.experts.len()), source: make([]int32, pairs), place: make([]int32, pairs),
		x: floats(pairs * c.Hidden), gateUp: floats(pairs * 2 * width), act: floats(pairs * width), out: floats(pairs * c.Hidden),
	}
}

// pairs is how many sorted rows there are; it is known when align has run.
func (m *moeBuffers) pairs() int { return int(m.offsets[len(m.offsets)-1]) }

// experts launches h = Σ weight·expert(h) over the chosen experts; h is [n][hidden].
func (p *pass) experts(y *layer, mod *layerModules, h []float32) {
	r, m, c := p.r, p.r.moe, p.r.cfg
	p.enter(&mod.gate)
	r.linear(m.logits, c.Experts, y.router, h, c.Hidden, p.n)
	p.leave(&mod.gate)

	p.enter(&mod.topK)
	p.route()
	p.leave(&mod.topK)

	p.enter(&mod.experts)
	p.align()
	p.permute(h)
	width := r.geo.expertFFN.len()
	p.grouped(m.gateUp, 2*width, m.x, c.Hidden, y.experts, func(e *expert) linear { return e.gateUp })
	r.siluMul(m.act, m.gateUp, width, p.n*c.ExpertsPerToken, m.pairs)
	p.grouped(m.out, c.Hidden, m.act, width, y.experts, func(e *expert) linear { return e.down })
	p.combine(h)
	p.leave(&mod.experts)
	p.reduce(h)
}

// route turns the router's logits into probabilities and picks the K largest, the first of equals.
func (p *pass) route() {
	r, m, c := p.r, p.r.moe, p.r.cfg
	k := c.ExpertsPerToken
	s := r.byRows(p.n, (8+k)*c.Experts)
	r.launch(device.Kernel{
		Name: "topk_softmax_kernel", Op: "sgl_kernel::topk_softmax", Grid: grid(p.n, 1),
		Args: []device.Arg{floats(p.n, c.Experts)},
	}, s.chunks(), func(chunk int) {
		for i := s.span(chunk).lo; i < s.span(chunk).hi; i++ {
			topK(m.logits[i*c.Experts:][:c.Experts], m.ids[i*k:][:k], m.weights[i*k:][:k], c.NormTopK)
		}
	})
}

// topK overwrites logits.
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

// align sorts the pairs of the real rows by expert, tokens in order.
func (p *pass) align() {
	r, m, k, mine := p.r, p.r.moe, p.r.cfg.ExpertsPerToken, p.r.geo.experts
	in := p.in
	r.launch(device.Kernel{
		Name: "moe_align_block_size_kernel", Op: "sgl_kernel::moe_align_block_size", Grid: grid(1, 1),
		Args: []device.Arg{ints(p.n, k)},
	}, 1, func(int) {
		clear(m.offsets)
		ids := m.ids[:int(in.n[0])*k]
		for _, e := range ids {
			if int(e) >= mine.lo && int(e) < mine.hi {
				m.offsets[int(e)-mine.lo+1]++
			}
		}
		for e := range mine.len() {
			m.offsets[e+1] += m.offsets[e]
		}
		next := m.next
		copy(next, m.offsets)
		for i, e := range ids {
			m.place[i] = -1
			if int(e) >= mine.lo && int(e) < mine.hi {
				at := next[int(e)-mine.lo]
				next[int(e)-mine.lo]++
				m.place[i], m.source[at] = at, int32(i/k)
			}
		}
	})
}

// permute gathers the rows of the pairs.
func (p *pass) permute(h []float32) {
	r, m, width := p.r, p.r.moe, p.r.cfg.Hidden
	n := p.n * r.cfg.ExpertsPerToken
	s := r.byRows(n, width)
	r.launch(device.Kernel{
		Name: "moe_permute_kernel", Op: "sgl_kernel::moe_permute", Grid: grid(p.n, 1),
		Args: []device.Arg{floats(p.n, width), ints(n)},
	}, s.chunks(), func(chunk int) {
		for i := s.span(chunk).lo; i < min(s.span(chunk).hi, m.pairs()); i++ {
			copy(m.x[i*width:][:width], h[int(m.source[i])*width:])
		}
	})
}

// grouped launches one product for each expert over its rows, in one kernel.
func (p *pass) grouped(y []float32, ldy int, x []float32, ldx int, experts []expert, of func(*expert) linear) {
	r, m := p.r, p.r.moe
	w := of(&experts[0])
	want := max(chunksPerWorker*r.workers/len(experts), 1)
	panels := split{w.Panels(), max(w.Panels()/want, 1)}
	across := panels.chunks()
	r.launch(device.Kernel{
		Name: "fused_moe_kernel", Op: "sgl_kernel::fused_moe", Grid: grid(w.Panels(), len(experts)),
		Args: []device.Arg{floats(p.n*r.cfg.ExpertsPerToken, w.Cols), matrix(w.Format, len(experts), w.Rows, w.Cols)},
	}, across*len(experts), func(chunk int) {
		e := chunk / across
		lo, hi := int(m.offsets[e]), int(m.offsets[e+1])
		if lo < hi {
			of(&experts[e]).apply(y[lo*ldy:], ldy, x[lo*ldx:], ldx, hi-lo, panels.span(chunk%across))
		}
	})
}

// combine launches h[i] = Σ weight·out over the token's pairs of this rank, in the order of its choice.
func (p *pass) combine(h []float32) {
	r, m, k, width := p.r, p.r.moe, p.r.cfg.ExpertsPerToken, p.r.cfg.Hidden
	s := r.byRows(p.n, 2*k*width)
	in := p.in
	r.launch(device.Kernel{
		Name: "moe_sum_reduce_kernel", Op: "sgl_kernel::moe_sum_reduce", Grid: grid(p.n, 1),
		Args: []device.Arg{floats(p.n, k, width)},
	}, s.chunks(), func(chunk int) {
		for i := s.span(chunk).lo; i < s.span(chunk).hi; i++ {
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
