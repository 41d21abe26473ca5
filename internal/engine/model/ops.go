package model

import (
	"github.com/stepscope/stepscope/internal/engine/device"
	"github.com/stepscope/stepscope/internal/engine/tensor"
)

// split is how the work of a kernel over rows is cut into chunks of step rows.
type split struct{ n, step int }

func (s split) chunks() int { return max((s.n+s.step-1)/s.step, 1) }

func (s split) span(chunk int) span { return span{min(chunk*s.step, s.n), min((chunk+1)*s.step, s.n)} }

// Work below minChunk elementary operations is not worth handing to a second worker.
const minChunk = 1 << 15

// chunksPerWorker evens out what one worker does while another was descheduled.
const chunksPerWorker = 4

// byRows cuts n rows of about cost operations each.
func (r *Runner) byRows(n, cost int) split {
	pieces := min(n, chunksPerWorker*r.workers, n*cost/minChunk)
	if r.workers == 1 {
		pieces = 1
	}
	return split{n, max((n+max(pieces, 1)-1)/max(pieces, 1), 1)}
}

// linear launches y[i] = W·x[i] + bias for n rows: y is [n][ldy], x is [n][ldx].
func (r *Runner) linear(y []float32, ldy int, w linear, x []float32, ldx, n int) {
	want := chunksPerWorker * r.workers
	if work := n * w.Rows * w.Cols; r.workers == 1 || work < 2*minChunk {
		want = 1
	}
	// Many rows are cut before the panels are, since every chunk rounds the activations of its rows anew.
	const tile, enough = 6, 128 // rows that share the weights in registers and in a cache
	rows := split{n, max(n, 1)}
	cut := func(parts int) { rows.step = max((n/parts+tile-1)/tile*tile, 4*tile) }
	if parts := min(want, n/enough); parts > 1 {
		cut(parts)
	}
	panels := split{w.Panels(), max(w.Panels()*rows.chunks()/want, 1)}
	if n == 1 && w.Panels() >= 2*r.workers*tensor.Abreast {
		panels.step = (panels.step + tensor.Abreast - 1) / tensor.Abreast * tensor.Abreast
	}
	if parts := want / panels.chunks(); parts > rows.chunks() { // few panels
		cut(parts)
	}
	across := panels.chunks()
	args := []device.Arg{floats(n, w.Cols), matrix(w.Format, w.Rows, w.Cols)}
	if w.bias != nil {
		args = append(args, floats(w.Rows))
	}
	r.launch(device.Kernel{
		Name: gemmNames[w.Format], Op: "aten::linear", Grid: grid(w.Panels(), (n+5)/6), Args: args,
	}, across*rows.chunks(), func(chunk int) {
		p, i := panels.span(chunk%across), rows.span(chunk/across)
		w.apply(y[i.lo*ldy:], ldy, x[i.lo*ldx:], ldx, i.len(), p)
	})
}

var gemmNames = [...]string{
	tensor.F32: "gemm_f32_f32_f32_tn_64x6", tensor.BF16: "gemm_bf16_f32_f32_tn_64x6", tensor.BF16Dot: "gemm_bf16_bf16_f32_tn_64x6",
}

// apply computes the outputs of panels p for n rows, bias and all.
func (w linear) apply(y []float32, ldy int, x []float32, ldx, n int, p span) {
	w.Mul(y, ldy, x, ldx, n, p.lo, p.hi)
	if w.bias == nil {
		return
	}
	lo, hi := p.lo*tensor.PanelRows, min(p.hi*tensor.PanelRows, w.Rows)
	for i := range n {
		out := y[i*ldy+lo : i*ldy+hi]
		tensor.Add(out, out, w.bias[lo:hi])
	}
}

// embed looks up the tokens: x is [rows][hidden].
func (p *pass) embed(x []float32) {
	r, h := p.r, p.r.cfg.Hidden
	s := r.byRows(p.n, h)
	tokens := p.in.tokens
	r.launch(device.Kernel{
		Name: "vocab_parallel_embedding_kernel", Op: "aten::embedding", Grid: grid(p.n, 1),
		Args: []device.Arg{matrix(r.opt.Format, r.geo.vocab.len(), h), ints(p.n)},
	}, s.chunks(), func(chunk int) {
		for i := s.span(chunk).lo; i < s.span(chunk).hi; i++ {
			r.w.embed.row(int(tokens[i]), x[i*h:][:h])
		}
	})
}

// norm launches h = RMSNorm(x), after x += add unless add is nil; all are [n][hidden].
func (p *pass) norm(h, x, add, weight []float32) {
	r, width := p.r, p.r.cfg.Hidden
	s := r.byRows(p.n, 4*width)
	name, op := "FusedAddRMSNormKernel", "sgl_kernel::fused_add_rmsnorm"
	if add == nil {
		name, op = "RMSNormKernel", "sgl_kernel::rmsnorm"
	}
	eps := float32(r.cfg.NormEps)
	r.launch(device.Kernel{
		Name: name, Op: op, Grid: grid(p.n, 1),
		Args: []device.Arg{floats(p.n, width), floats(width)},
	}, s.chunks(), func(chunk int) {
		for i := s.span(chunk).lo; i < s.span(chunk).hi; i++ {
			row := x[i*width:][:width]
			if add != nil {
				tensor.Add(row, row, add[i*width:][:width])
			}
			tensor.RMSNorm(h[i*width:][:width], row, weight, eps)
		}
	})
}

// add launches x += y; both are [n][hidden].
func (p *pass) add(x, y []float32) {
	r, width := p.r, p.r.cfg.Hidden
	s := r.byRows(p.n, width)
	r.launch(device.Kernel{
		Name: "vectorized_elementwise_kernel_add", Op: "aten::add_", Grid: grid(p.n, 1),
		Args: []device.Arg{floats(p.n, width), floats(p.n, width)},
	}, s.chunks(), func(chunk int) {
		lo, hi := s.span(chunk).lo*width, s.span(chunk).hi*width
		tensor.Add(x[lo:hi], x[lo:hi], y[lo:hi])
	})
}

// siluMul launches out = silu(gate)·up: gateUp is [rows][2·width], out [rows][width]. rows is asked for when the
// kernel runs and is at most n.
func (r *Runner) siluMul(out, gateUp []float32, width, n int, rows func() int) {
	s := r.byRows(n, 8*width)
	r.launch(device.Kernel{
		Name: "act_and_mul_kernel_silu", Op: "sgl_kernel::silu_and_mul", Grid: grid(n, 1),
		Args: []device.Arg{floats(n, 2*width)},
	}, s.chunks(), func(chunk int) {
		have := rows()
		for i := s.span(chunk).lo; i < min(s.span(chunk).hi, have); i++ {
			row := gateUp[2*i*width:]
			tensor.SiLUMul(out[i*width:][:width], row[:width], row[width:2*width])
		}
	})
}

// gather launches dst[i] = x[pick[i]] for n rows of hidden elements.
func (p *pass) gather(dst, x []float32, pick []int32, n int) {
	r, width := p.r, p.r.cfg.Hidden
	s := r.byRows(n, width)
	r.launch(device.Kernel{
		Name: "index_select_kernel", Op: "aten::index_select", Grid: grid(n, 1),
		Args: []device.Arg{floats(p.n, width), ints(n)},
	}, s.chunks(), func(chunk int) {
		for i := s.span(chunk).lo; i < s.span(chunk).hi; i++ {
			copy(dst[i*width:][:width], x[int(pick[i])*width:])
		}
	})
}
