package model

import (
	"math"
	"sync"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/op"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// attend launches the attention of a layer. It launches the projection to qkv, [n][heads+2·kvHeads][head_dim], the
// norms of the heads (if the model has them) and the rotation. Then it stores keys and values, computes attention and
// projects the result back to h. i is the layer's index in the stage.
func (p *pass) attend(y *layer, m *layerModules, h []float32, i int) {
	r, hidden := p.r, p.r.cfg.Hidden
	p.enter(&m.qkv)
	r.Linear(r.buf.qkv, r.qkvWidth, y.qkv, h, hidden, p.n)
	p.leave(&m.qkv)

	if y.qNorm != nil { // not a module call, because SGLang fuses the two norms
		p.headNorm(y)
	}
	p.enter(&m.rotary)
	p.rotate()
	p.leave(&m.rotary)

	p.enter(&m.attn)
	p.store(r.kv[i])
	if p.stored != nil {
		r.Stream.Notify(func() { p.stored(r.geo.layers.Lo + i) })
	}
	p.attention(r.kv[i])
	p.leave(&m.attn)

	p.enter(&m.o)
	r.Linear(h, hidden, y.o, r.buf.attn, r.headsWidth, p.n)
	p.reduce(h)
	p.leave(&m.o)
}

// headNorm normalizes each query and key head.
func (p *pass) headNorm(y *layer) {
	r, hd := p.r, p.r.cfg.HeadDim
	heads, kv, qkv, ld := r.geo.heads.Len(), r.geo.kv.Len(), r.buf.qkv, r.qkvWidth
	s := r.ByRows(p.n, 4*(heads+kv)*hd)
	eps := float32(r.cfg.NormEps)
	r.Launch(device.Kernel{
		Name: "qk_rmsnorm_kernel", Op: "sgl_kernel::rmsnorm", Grid: op.Grid(p.n, 1),
		Args: []device.Arg{op.Floats(p.n, heads+kv, hd), op.Floats(hd)},
	}, s.Chunks(), func(chunk int) {
		for i := s.Span(chunk).Lo; i < s.Span(chunk).Hi; i++ {
			for h := range heads + kv {
				weight := y.qNorm
				if h >= heads {
					weight = y.kNorm
				}
				head := qkv[i*ld+h*hd:][:hd]
				tensor.RMSNorm(head, head, weight, eps)
			}
		}
	})
}

// rotate rotates each query and key head by its position.
func (p *pass) rotate() {
	r, hd := p.r, p.r.cfg.HeadDim
	heads := r.geo.heads.Len() + r.geo.kv.Len()
	qkv, ld, pos := r.buf.qkv, r.qkvWidth, p.in.pos
	s := r.ByRows(p.n, 2*heads*hd)
	r.Launch(device.Kernel{
		Name: "rotary_embedding_kernel", Op: "sgl_kernel::apply_rope_pos_ids_cos_sin_cache", Grid: op.Grid(p.n, 1),
		Args: []device.Arg{op.Floats(p.n, heads, hd), op.Ints(p.n)},
	}, s.Chunks(), func(chunk int) {
		for i := s.Span(chunk).Lo; i < s.Span(chunk).Hi; i++ {
			cos, sin := r.rope.at(int(pos[i]))
			for h := range heads {
				tensor.Rope(qkv[i*ld+h*hd:][:hd], cos, sin)
			}
		}
	})
}

// store writes keys and values to the cache, except for padding (slot -1).
func (p *pass) store(cache *kvCache) {
	r, hd := p.r, p.r.cfg.HeadDim
	kv, qkv, ld, slot := r.geo.kv.Len(), r.buf.qkv, r.qkvWidth, p.in.slot
	keys := r.geo.heads.Len() * hd
	s := r.ByRows(p.n, 16*kv*hd) // stores are slow: each element of a key is in a different cache line
	r.Launch(device.Kernel{
		Name: "store_kvcache_kernel", Op: "sgl_kernel::store_kv_cache", Grid: op.Grid(p.n, 1),
		Args: []device.Arg{op.Floats(p.n, kv, hd), op.Floats(p.n, kv, hd), op.Ints(p.n)},
	}, s.Chunks(), func(chunk int) {
		for i := s.Span(chunk).Lo; i < s.Span(chunk).Hi; i++ {
			if slot[i] < 0 {
				continue
			}
			block, at := slot[i]/BlockLen, int(slot[i]%BlockLen)
			for h := range kv {
				k := qkv[i*ld+keys+h*hd:][:hd]
				tensor.StoreK(cache.key(block, h), at, k)
				tensor.StoreV(cache.value(block, h), at, qkv[i*ld+keys+(kv+h)*hd:][:hd])
			}
		}
	})
}

// attention launches softmax attention over the cache. The work is divided into one unit for each pair of a tile of
// tokens and a KV head. All tiles of one head come before the tiles of the next head.
func (p *pass) attention(cache *kvCache) {
	r, hd := p.r, p.r.cfg.HeadDim
	name, as := "paged_attention_prefill_kernel", "sgl_kernel::paged_attention_prefill"
	if p.mode == Decode {
		name, as = "paged_attention_decode_kernel", "sgl_kernel::paged_attention_decode"
	}
	tiles := len(p.in.tile) / 3
	s := op.Split{N: tiles * cache.heads, Step: max(tiles*cache.heads/(op.ChunksPerWorker*r.Workers), 1)}
	r.Launch(device.Kernel{
		Name: name, Op: as, Grid: op.Grid(tiles, cache.heads),
		Args: []device.Arg{op.Floats(p.n, r.geo.heads.Len(), hd), op.Ints(p.in.seqs, p.in.width), op.Ints(p.n)},
	}, s.Chunks(), func(chunk int) {
		for i := s.Span(chunk).Lo; i < s.Span(chunk).Hi; i++ {
			tile := i % tiles
			if p.mode == Extend { // start with a prompt's last tiles, which attend to the most positions
				tile = tiles - 1 - tile
			}
			p.attendTile(cache, p.in.tile[3*tile:][:3], i/tiles)
		}
	})
}

// attendScratch is the working memory of one tile.
type attendScratch struct {
	floats  []float32
	k, v    [][]float32
	lengths []int
}

var attendScratches = sync.Pool{New: func() any { return new(attendScratch) }}

// attendTile computes attention for the tokens of one tile and for the query heads that share KV head kv.
func (p *pass) attendTile(cache *kvCache, tile []int32, kv int) {
	r, hd := p.r, p.r.cfg.HeadDim
	seq, row, n := int(tile[0]), int(tile[1]), int(tile[2])
	group := r.geo.heads.Len() / cache.heads
	length := int(p.in.pos[row+n-1]) + 1
	s := attendScratches.Get().(*attendScratch)
	defer attendScratches.Put(s)
	s.k, s.v, s.lengths = s.k[:0], s.v[:0], s.lengths[:0]
	for _, block := range p.in.table[seq*p.in.width:][:blocksFor(length)] {
		s.k, s.v = append(s.k, cache.key(block, kv)), append(s.v, cache.value(block, kv))
	}
	scale := float32(1 / math.Sqrt(float64(hd)))
	q := r.buf.qkv[row*r.qkvWidth+kv*group*hd:]
	out := r.buf.attn[row*r.headsWidth+kv*group*hd:]
	if n == 1 { // the rows are the query heads of the group
		for range group {
			s.lengths = append(s.lengths, length)
		}
		tensor.AttendRows(out, hd, q, hd, hd, s.k, s.v, s.lengths, scale, s.grow(group, length))
		return
	}
	for i := range n {
		s.lengths = append(s.lengths, int(p.in.pos[row+i])+1)
	}
	floats := s.grow(n, length)
	for h := range group {
		tensor.AttendRows(out[h*hd:], r.headsWidth, q[h*hd:], r.qkvWidth, hd, s.k, s.v, s.lengths, scale, floats)
	}
}

// grow returns scratch memory for n rows of length positions each.
func (s *attendScratch) grow(n, length int) []float32 {
	if want := tensor.AttendScratch(n, length); len(s.floats) < want {
		s.floats = make([]float32, want+want/2)
	}
	return s.floats
}
