package diffusion

import (
	"github.com/stepscope/stepscope/internal/reference/engine/op"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// attend launches the attention of a block for rows of the sequence. It reads its input from h and overwrites h with
// the result.
func (p *ditPass) attend(b *block, h []float32, rows op.Span) {
	d, dim, n := p.d, p.d.cfg.Dim, rows.Len()
	a, hd := p.att, p.d.cfg.headDim()
	width := a.Heads * hd
	at := b.name + ".attention"
	p.call(at+".to_qkv", func() { d.Linear(p.qkv, 3*width, b.qkv, h, dim, n) }, []int{1, n, dim})
	eps := float32(headEps)
	a.Store(&d.Launcher, "fused_qk_rmsnorm_rope_kernel", "sgl_kernel::fused_qk_norm_rope", p.qkv, n, func(i int, heads []float32) {
		place := (rows.Lo + i) * hd / 2
		cos, sin := p.cos[place:][:hd/2], p.sin[place:][:hd/2]
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
	heads := []int{1, n, a.Heads, hd}
	p.call(at+".attn", func() { a.Run(&d.Launcher, p.attn, p.qkv, n) }, heads, heads, heads)
	p.call(at+".to_out.0", func() {
		d.Linear(h, dim, b.o, p.attn, width, n)
		d.reduce(h)
	}, []int{1, n, width})
}

// headEps is the epsilon of the head norms. It does not depend on the configured epsilon of the other norms.
const headEps = 1e-5
