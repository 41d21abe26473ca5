package diffusion

import (
	"github.com/stepscope/stepscope/internal/engine/op"
	"github.com/stepscope/stepscope/internal/engine/tensor"
)

// attend launches the attention of a block for rows of the sequence; h is read and written.
func (p *ditPass) attend(b *block, h []float32, rows op.Span) {
	d, dim, n := p.d, p.d.cfg.Dim, rows.Len()
	a, hd := p.att, p.d.cfg.HeadDim()
	width := a.Heads * hd
	p.linear(p.qkv, 3*width, b.qkv, h, dim, n, b.name, ".attention.to_qkv")
	eps := float32(headEps)
	a.Store(&d.Launcher, "fused_qk_rmsnorm_rope_kernel", "sgl_kernel::fused_qk_norm_rope", p.qkv, n, func(i int, heads []float32) {
		at := (rows.Lo + i) * hd / 2
		cos, sin := p.cos[at:][:hd/2], p.sin[at:][:hd/2]
		for j := range 2 * a.Heads {
			head := heads[j*hd:][:hd]
			if b.normQ != nil {
				weight := b.normQ
				if j >= a.Heads {
					weight = b.normK
				}
				tensor.RMSNorm(head, head, weight, eps)
			}
			tensor.Rope(head, cos, sin)
		}
	})
	a.Run(&d.Launcher, p.attn, p.qkv, n)
	p.linear(h, dim, b.o, p.attn, width, n, b.name, ".attention.to_out.0")
	d.reduce(h)
}

// headEps is the epsilon of the norms of heads, whatever the configuration says of the others.
const headEps = 1e-5
