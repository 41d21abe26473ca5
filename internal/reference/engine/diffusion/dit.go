package diffusion

import (
	"fmt"
	"math"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/hf"
	"github.com/stepscope/stepscope/internal/reference/engine/op"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// Sizes of the time embedding.
const (
	timeFreqs  = 256
	timeHidden = 1024
)

// multiple is the padding unit: the rows of the picture and the rows of the caption are each padded to a multiple of
// it.
const multiple = 32

func padded(n int) int { return (n + multiple - 1) / multiple * multiple }

// dit is one rank's part of the transformer.
type dit struct {
	op.Launcher
	cfg        *Transformer
	rank       int         // index in the group
	group      device.Comm // nil: single rank
	heads, ffn op.Span

	embed, final, finalMod op.Linear
	time0, time2, cap      op.Linear
	capNorm, xPad, capPad  []float32
	noise, context, main   []block
}

func newDiT(t *Transformer, src hf.Source, format tensor.Format, launch op.Launcher, group device.Comm) (*dit, error) {
	d := &dit{Launcher: launch, cfg: t, group: group}
	size := 1
	if group != nil {
		d.rank, size = group.Rank(), group.Size()
	}
	d.heads, d.ffn = op.Part(t.Heads, size, d.rank), op.Part(t.ffn(), size, d.rank)
	l := &op.Loader{Src: src, Format: format}
	patch := fmt.Sprintf(".%d-1", t.Patch)
	d.embed, d.cap = l.All("all_x_embedder"+patch), l.All("cap_embedder.1")
	d.final, d.finalMod = l.All("all_final_layer"+patch+".linear"), l.All("all_final_layer"+patch+".adaLN_modulation.1")
	l.Format = tensor.F32 // full precision: these matrices are small, and their results affect every value
	d.time0, d.time2 = l.All("t_embedder.mlp.0"), l.All("t_embedder.mlp.2")
	d.capNorm = l.Vector("cap_embedder.0.weight", t.CapDim)
	d.xPad, d.capPad = l.Vector("x_pad_token", t.Dim), l.Vector("cap_pad_token", t.Dim)
	if l.Err != nil {
		return nil, fmt.Errorf("load weights of the transformer: %w", l.Err)
	}
	d.noise, d.context, d.main = make([]block, t.Refiners), make([]block, t.Refiners), make([]block, t.Layers)
	var loads errgroup.Group
	loads.SetLimit(runtime.GOMAXPROCS(0))
	load := func(dst *block, name string, modulated bool) {
		loads.Go(func() error {
			own := &op.Loader{Src: src, Format: format}
			*dst = d.loadBlock(own, name, modulated)
			return own.Err
		})
	}
	for i := range d.noise {
		load(&d.noise[i], fmt.Sprintf("noise_refiner.%d", i), true)
		load(&d.context[i], fmt.Sprintf("context_refiner.%d", i), false)
	}
	for i := range d.main {
		load(&d.main[i], fmt.Sprintf("layers.%d", i), true)
	}
	if err := loads.Wait(); err != nil {
		return nil, fmt.Errorf("load weights of the transformer: %w", err)
	}
	return d, nil
}

// ditPass is the memory of passes over a picture and a caption of given sizes. The padded rows of the picture come
// first, followed by the padded rows of the caption.
type ditPass struct {
	d       *dit
	marker          // annotates calls of the modules
	patches op.Span // rows of the picture without padding
	picture op.Span // rows of the picture with padding
	caption op.Span // rows of the caption with padding
	words   int     // number of rows of the caption without padding
	across  int     // patches per row of the picture

	feats                  []float32 // [words][CapDim]
	in, out                []float32 // [patches][patchDim]
	x, h                   []float32 // [rows][Dim]
	qkv, attn, gateUp, act []float32
	cos, sin               []float32 // [rows][HeadDim/2]
	freqs, hidden, cond    []float32 // stages of the time embedding
	mod, norms             []float32 // [4][Dim]
	att                    *op.Attention
}

// newPass allocates the memory for latents of w×h and for a caption whose features are feats, [words][CapDim].
func (d *dit) newPass(w, h int, feats []float32, words int, m marker) *ditPass {
	t := d.cfg
	across, down := w/t.Patch, h/t.Patch
	nx, nc := padded(across*down), padded(words)
	rows, heads := nx+nc, d.heads.Len()
	zeros := func(n, width int) []float32 { return make([]float32, n*width) }
	p := &ditPass{
		d: d, marker: m, across: across, words: words,
		patches: op.Span{Hi: across * down}, picture: op.Span{Hi: nx}, caption: op.Span{Lo: nx, Hi: rows},
		feats: feats, in: zeros(across*down, t.patchDim()), out: zeros(across*down, t.patchDim()),
		x: zeros(rows, t.Dim), h: zeros(rows, max(t.Dim, t.CapDim)),
		qkv: zeros(rows, 3*heads*t.headDim()), attn: zeros(rows, heads*t.headDim()),
		gateUp: zeros(rows, 2*d.ffn.Len()), act: zeros(rows, d.ffn.Len()),
		cos: zeros(rows, t.headDim()/2), sin: zeros(rows, t.headDim()/2),
		freqs: zeros(1, timeFreqs), hidden: zeros(1, timeHidden), cond: zeros(1, t.condDim()),
		mod: zeros(4, t.Dim), norms: zeros(4, t.Dim),
		att: op.NewAttention(heads, t.headDim(), rows),
	}
	p.turns()
	return p
}

// turns computes the rotations: the angles of a patch depend on the patch's row and column, and the angles of a caption
// row depend on its position.
func (p *ditPass) turns() {
	t := p.d.cfg
	half := t.headDim() / 2
	set := func(row int, at [3]int) {
		j := row * half
		for axis, dim := range t.AxesDims {
			for k := range dim / 2 {
				// Compute frequencies in float64, and round the angle to float32 before taking the cosine.
				angle := float32(float64(at[axis]) / math.Pow(t.RopeTheta, float64(2*k)/float64(dim)))
				sin, cos := math.Sincos(float64(angle))
				p.cos[j], p.sin[j] = float32(cos), float32(sin)
				j++
			}
		}
	}
	for i := range p.picture.Len() {
		if i < p.patches.Hi {
			set(i, [3]int{p.caption.Len() + 1, i / p.across, i % p.across})
		} else {
			set(i, [3]int{})
		}
	}
	for i := range p.caption.Len() {
		set(p.caption.Lo+i, [3]int{1 + i, 0, 0})
	}
}

// forward launches a pass at time t (0: noise, 1: picture). It computes the velocities p.out from the patches p.in.
func (p *ditPass) forward(t float64) {
	d, c := p.d, p.d.cfg
	n := p.patches.Len()
	down := n / p.across
	p.enter("", []int{1, c.Channels, 1, down * c.Patch, p.across * c.Patch}, []int{1}, []int{1, p.words, c.CapDim})
	defer p.leave()
	p.call("t_embedder", func() { p.time(t) }, []int{1})
	p.call(fmt.Sprintf("all_x_embedder.%d-1", c.Patch), func() { d.Linear(p.x, c.Dim, d.embed, p.in, c.patchDim(), n) }, []int{1, n, c.patchDim()})
	p.pad(op.Span{Lo: p.patches.Hi, Hi: p.picture.Hi}, d.xPad)
	for i := range d.noise {
		p.run(&d.noise[i], p.picture)
	}
	words := []int{1, p.words, c.CapDim}
	p.call("cap_embedder", func() {
		p.call("cap_embedder.0", func() { d.RMSNorm(p.h, p.feats, nil, d.capNorm, c.CapDim, p.words, c.NormEps) }, words)
		p.call("cap_embedder.1", func() { d.Linear(p.x[p.caption.Lo*c.Dim:], c.Dim, d.cap, p.h, c.CapDim, p.words) }, words)
	}, words)
	p.pad(op.Span{Lo: p.caption.Lo + p.words, Hi: p.caption.Hi}, d.capPad)
	for i := range d.context {
		p.run(&d.context[i], p.caption)
	}
	for i := range d.main {
		p.run(&d.main[i], op.Span{Hi: p.caption.Hi})
	}
	p.finish()
}

// time launches the embedding of t, whose result is the condition.
func (p *ditPass) time(t float64) {
	d := p.d
	arg := float32(t) * float32(d.cfg.TScale)
	d.Launch(device.Kernel{Name: "timestep_embedding_kernel", Op: "aten::cos", Grid: op.Grid(1, 1), Args: []device.Arg{op.Floats(1)}}, 1, func(int) {
		const half = timeFreqs / 2
		for k := range half {
			sin, cos := math.Sincos(float64(arg * float32(math.Exp(-math.Log(10000)*float64(k)/half))))
			p.freqs[k], p.freqs[half+k] = float32(cos), float32(sin)
		}
	})
	hidden := []int{1, timeHidden}
	p.call("t_embedder.mlp.0", func() { d.Linear(p.hidden, timeHidden, d.time0, p.freqs, timeFreqs, 1) }, []int{1, timeFreqs})
	p.call("t_embedder.mlp.1", func() { p.silu(p.hidden, p.hidden) }, hidden)
	p.call("t_embedder.mlp.2", func() { d.Linear(p.cond, len(p.cond), d.time2, p.hidden, timeHidden, 1) }, hidden)
}

// silu launches dst = silu(x) as a single chunk, which suits a small number of values.
func (p *ditPass) silu(dst, x []float32) {
	p.d.Launch(device.Kernel{Name: "vectorized_elementwise_kernel_silu", Op: "aten::silu", Grid: op.Grid(1, 1), Args: []device.Arg{op.Floats(len(x))}}, 1, func(int) {
		for i, v := range x {
			dst[i] = silu(v)
		}
	})
}

func silu(v float32) float32 { return v / (1 + float32(math.Exp(-float64(v)))) }

// pad launches the filling of rows of x with a token.
func (p *ditPass) pad(rows op.Span, token []float32) {
	dim := p.d.cfg.Dim
	if rows.Len() == 0 {
		return
	}
	p.d.Launch(device.Kernel{Name: "index_put_kernel_pad", Op: "aten::index_put_", Grid: op.Grid(rows.Len(), 1), Args: []device.Arg{op.Floats(rows.Len(), dim)}}, 1, func(int) {
		for i := rows.Lo; i < rows.Hi; i++ {
			copy(p.x[i*dim:][:dim], token)
		}
	})
}

// finish launches the last layer: a LayerNorm scaled by the condition, and a matrix product that yields the patches.
func (p *ditPass) finish() {
	d, c := p.d, p.d.cfg
	n, dim, at := p.patches.Len(), c.Dim, fmt.Sprintf("all_final_layer.%d-1", c.Patch)
	rows, cond := []int{1, n, dim}, []int{1, len(p.cond)}
	p.call(at, func() {
		p.call(at+".adaLN_modulation", func() {
			p.call(at+".adaLN_modulation.0", func() { p.silu(p.freqs[:len(p.cond)], p.cond) }, cond)
			p.call(at+".adaLN_modulation.1", func() { d.Linear(p.mod, dim, d.finalMod, p.freqs, len(p.cond), 1) }, cond)
		}, cond)
		p.scaledNorm(at+".norm_final", n)
		p.call(at+".linear", func() { d.Linear(p.out, c.patchDim(), d.final, p.h, dim, n) }, rows)
	}, rows, cond)
}

// scaledNorm launches the norm of the last layer.
func (p *ditPass) scaledNorm(path string, n int) {
	d, dim := p.d, p.d.cfg.Dim
	scale := p.norms[:dim]
	d.Launch(device.Kernel{Name: "vectorized_elementwise_kernel_add", Op: "aten::add", Grid: op.Grid(1, 1), Args: []device.Arg{op.Floats(dim)}}, 1, func(int) {
		for i, m := range p.mod[:dim] {
			scale[i] = 1 + m
		}
	})
	p.call(path, func() {
		d.Each(device.Kernel{Name: "vectorized_layer_norm_kernel", Op: "aten::native_layer_norm", Args: []device.Arg{op.Floats(n, dim)}}, n, 8*dim, func(rows op.Span) {
			for i := rows.Lo; i < rows.Hi; i++ {
				layerNorm(p.h[i*dim:][:dim], p.x[i*dim:][:dim], scale)
			}
		})
	}, []int{1, n, dim})
}

// layerNorm sets dst = (x - mean) / sqrt(variance + 1e-6) · scale.
func layerNorm(dst, x, scale []float32) {
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	mean := float32(sum / float64(len(x)))
	for i, v := range x {
		dst[i] = v - mean
	}
	tensor.RMSNorm(dst, dst, scale, 1e-6)
}
