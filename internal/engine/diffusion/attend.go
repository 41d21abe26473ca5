package diffusion

import (
	"math"

	"github.com/stepscope/stepscope/internal/engine/device"
	"github.com/stepscope/stepscope/internal/engine/op"
	"github.com/stepscope/stepscope/internal/engine/tensor"
)

// attention is the working memory of attention in which every row looks at all.
type attention struct {
	heads, hd int
	k, v      []float32 // [heads][blocks] of hd·BlockLen
	blocks    int
}

func newAttention(heads, hd, rows int) *attention {
	blocks := (rows + tensor.BlockLen - 1) / tensor.BlockLen
	size := heads * blocks * hd * tensor.BlockLen
	return &attention{heads: heads, hd: hd, blocks: blocks, k: make([]float32, size), v: make([]float32, size)}
}

// at is a block of a head.
func (a *attention) at(kv []float32, head, block int) []float32 {
	size := a.hd * tensor.BlockLen
	return kv[(head*a.blocks+block)*size:][:size:size]
}

// tileRows is the number of rows that attend together.
const tileRows = 48

// store launches what brings queries, keys and values of n rows of qkv, [n][3·heads·hd], into place: turn changes the
// heads of a row beforehand.
func (a *attention) store(l *op.Launcher, name, as string, qkv []float32, n int, turn func(row int, heads []float32)) {
	width := a.heads * a.hd
	l.Each(device.Kernel{Name: name, Op: as, Args: []device.Arg{op.Floats(n, 3*a.heads, a.hd)}}, n, 20*width, func(rows op.Span) {
		for i := rows.Lo; i < rows.Hi; i++ {
			row := qkv[i*3*width:][:3*width]
			if turn != nil {
				turn(i, row[:2*width])
			}
			block, place := i/tensor.BlockLen, i%tensor.BlockLen
			for h := range a.heads {
				tensor.StoreK(a.at(a.k, h, block), place, row[width+h*a.hd:][:a.hd])
				tensor.StoreV(a.at(a.v, h, block), place, row[2*width+h*a.hd:][:a.hd])
			}
		}
	})
}

// attend launches softmax attention of n rows of qkv over all of them: out is [n][heads·hd].
func (a *attention) attend(l *op.Launcher, out, qkv []float32, n int) {
	width := a.heads * a.hd
	tiles := (n + tileRows - 1) / tileRows
	scale := float32(1 / math.Sqrt(float64(a.hd)))
	s := op.Split{N: tiles * a.heads, Step: max(tiles*a.heads/(op.ChunksPerWorker*l.Workers), 1)}
	l.Launch(device.Kernel{
		Name: "flash_fwd_kernel", Op: "aten::scaled_dot_product_attention", Grid: op.Grid(tiles, a.heads),
		Args: []device.Arg{op.Floats(n, a.heads, a.hd), op.Floats(n, a.heads, a.hd), op.Floats(n, a.heads, a.hd)},
	}, s.Chunks(), func(chunk int) {
		scratch := make([]float32, tensor.AttendScratch(tileRows, n))
		lengths := make([]int, tileRows)
		for i := range lengths {
			lengths[i] = n
		}
		blocks := (n + tensor.BlockLen - 1) / tensor.BlockLen
		k, v := make([][]float32, blocks), make([][]float32, blocks)
		for i := s.Span(chunk).Lo; i < s.Span(chunk).Hi; i++ {
			head, lo := i/tiles, i%tiles*tileRows
			for b := range blocks {
				k[b], v[b] = a.at(a.k, head, b), a.at(a.v, head, b)
			}
			tensor.AttendRows(out[lo*width+head*a.hd:], width, qkv[lo*3*width+head*a.hd:], 3*width, a.hd, k, v,
				lengths[:min(tileRows, n-lo)], scale, scratch)
		}
	})
}

// attend launches the attention of a block for rows of the sequence; h is read and written.
func (p *ditPass) attend(b *block, h []float32, rows op.Span) {
	d, dim, n := p.d, p.d.cfg.Dim, rows.Len()
	a, hd := p.att, p.d.cfg.HeadDim()
	width := a.heads * hd
	p.linear(p.qkv, 3*width, b.qkv, h, dim, n, b.name, ".attention.to_qkv")
	eps := float32(headEps)
	a.store(&d.Launcher, "fused_qk_rmsnorm_rope_kernel", "sgl_kernel::fused_qk_norm_rope", p.qkv, n, func(i int, heads []float32) {
		at := (rows.Lo + i) * hd / 2
		cos, sin := p.cos[at:][:hd/2], p.sin[at:][:hd/2]
		for j := range 2 * a.heads {
			head := heads[j*hd:][:hd]
			if b.normQ != nil {
				weight := b.normQ
				if j >= a.heads {
					weight = b.normK
				}
				tensor.RMSNorm(head, head, weight, eps)
			}
			tensor.Rope(head, cos, sin)
		}
	})
	a.attend(&d.Launcher, p.attn, p.qkv, n)
	p.linear(h, dim, b.o, p.attn, width, n, b.name, ".attention.to_out.0")
	d.reduce(h)
}

// headEps is the epsilon of the norms of heads, whatever the configuration says of the others.
const headEps = 1e-5
