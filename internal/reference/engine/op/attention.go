package op

import (
	"math"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// Attention is the working memory for attention of all rows over all rows.
type Attention struct {
	Heads, hd int
	k, v      []float32 // [heads][blocks] of hd·BlockLen
	blocks    int
}

// NewAttention allocates the memory for the given number of heads, elements per head, and rows.
func NewAttention(heads, hd, rows int) *Attention {
	blocks := (rows + tensor.BlockLen - 1) / tensor.BlockLen
	size := heads * blocks * hd * tensor.BlockLen
	return &Attention{Heads: heads, hd: hd, blocks: blocks, k: make([]float32, size), v: make([]float32, size)}
}

// at returns a block of a head.
func (a *Attention) at(kv []float32, head, block int) []float32 {
	size := a.hd * tensor.BlockLen
	return kv[(head*a.blocks+block)*size:][:size:size]
}

// tileRows is the maximum number of rows that share the reads of keys and values.
const tileRows = 48

// Store launches the copy of the queries, keys and values in qkv, n rows of [3·heads·hd], into the layout of attention.
// turn is called before a row is copied and modifies the row's heads.
func (a *Attention) Store(l *Launcher, name, as string, qkv []float32, n int, turn func(row int, heads []float32)) {
	width := a.Heads * a.hd
	l.Each(device.Kernel{Name: name, Op: as, Args: []device.Arg{Floats(n, 3*a.Heads, a.hd)}}, n, 20*width, func(rows Span) {
		for i := rows.Lo; i < rows.Hi; i++ {
			row := qkv[i*3*width:][:3*width]
			if turn != nil {
				turn(i, row[:2*width])
			}
			block, place := i/tensor.BlockLen, i%tensor.BlockLen
			for h := range a.Heads {
				tensor.StoreK(a.at(a.k, h, block), place, row[width+h*a.hd:][:a.hd])
				tensor.StoreV(a.at(a.v, h, block), place, row[2*width+h*a.hd:][:a.hd])
			}
		}
	})
}

// Run launches softmax attention: each of the n rows of qkv attends to all n rows. out is [n][heads·hd].
func (a *Attention) Run(l *Launcher, out, qkv []float32, n int) {
	width := a.Heads * a.hd
	tiles := (n + tileRows - 1) / tileRows
	scale := float32(1 / math.Sqrt(float64(a.hd)))
	s := Split{N: tiles * a.Heads, Step: max(tiles*a.Heads/(ChunksPerWorker*l.Workers), 1)}
	l.Launch(device.Kernel{
		Name: "flash_fwd_kernel", Op: "aten::scaled_dot_product_attention", Grid: Grid(tiles, a.Heads),
		Args: []device.Arg{Floats(n, a.Heads, a.hd), Floats(n, a.Heads, a.hd), Floats(n, a.Heads, a.hd)},
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
