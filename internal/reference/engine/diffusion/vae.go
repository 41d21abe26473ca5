package diffusion

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/hf"
	"github.com/stepscope/stepscope/internal/reference/engine/op"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// vae is the decoder, in float32 throughout (force_upcast).
type vae struct {
	op.Launcher
	marker
	cfg *VAE

	post, convIn, convOut conv // post has no matrix if the checkpoint lacks it
	mid                   [2]resnet
	attention             *midAttention // nil: none
	ups                   []upBlock
	normOut               groupNorm
}

type resnet struct {
	name         string
	norm1, norm2 groupNorm
	conv1, conv2 conv
	shortcut     conv // has no matrix if input and output have equal sizes
}

type midAttention struct {
	norm   groupNorm
	qkv, o op.Linear
}

type upBlock struct {
	resnets []resnet
	up      conv // has no matrix in the last block
}

func newVAE(c *VAE, src hf.Source, launch op.Launcher) (*vae, error) {
	l := &op.Loader{Src: src, Format: tensor.F32}
	v := &vae{Launcher: launch, cfg: c}
	if c.PostQuant {
		v.post = loadConv(l, "post_quant_conv")
	}
	in := c.Channels[len(c.Channels)-1]
	v.convIn = loadConv(l, "decoder.conv_in")
	for i := range v.mid {
		v.mid[i] = loadResnet(l, fmt.Sprintf("decoder.mid_block.resnets.%d", i), in, in)
	}
	if c.MidAttention {
		const at = "decoder.mid_block.attentions.0"
		all := op.Span{Hi: in}
		v.attention = &midAttention{
			norm: groupNorm{at + ".group_norm", l.Vector(at+".group_norm.weight", in), l.Vector(at+".group_norm.bias", in), true},
			qkv: l.Rows(op.RowsOf{Module: at + ".to_q", Rows: all}, op.RowsOf{Module: at + ".to_k", Rows: all},
				op.RowsOf{Module: at + ".to_v", Rows: all}),
			o: l.All(at + ".to_out.0"),
		}
	}
	for i := range c.Channels {
		out := c.Channels[len(c.Channels)-1-i]
		var u upBlock
		for j := range c.Layers + 1 {
			u.resnets = append(u.resnets, loadResnet(l, fmt.Sprintf("decoder.up_blocks.%d.resnets.%d", i, j), in, out))
			in = out
		}
		if i < len(c.Channels)-1 {
			u.up = loadConv(l, fmt.Sprintf("decoder.up_blocks.%d.upsamplers.0.conv", i))
		}
		v.ups = append(v.ups, u)
	}
	v.normOut, v.convOut = loadNorm(l, "decoder.conv_norm_out", in), loadConv(l, "decoder.conv_out")
	if l.Err != nil {
		return nil, fmt.Errorf("load weights of the autoencoder: %w", l.Err)
	}
	return v, nil
}

func loadResnet(l *op.Loader, name string, in, out int) resnet {
	r := resnet{
		name:  name,
		norm1: loadNorm(l, name+".norm1", in), conv1: loadConv(l, name+".conv1"),
		norm2: loadNorm(l, name+".norm2", out), conv2: loadConv(l, name+".conv2"),
	}
	if in != out {
		r.shortcut = loadConv(l, name+".conv_shortcut")
	}
	return r
}

// elements returns the maximum number of values that one layer of the decoder passes to the next, for latents of w×h.
func (c *VAE) elements(w, h int) int {
	most := w * h * max(c.Latent, c.Channels[len(c.Channels)-1])
	in := c.Channels[len(c.Channels)-1]
	for i := range c.Channels {
		out := c.Channels[len(c.Channels)-1-i]
		most = max(most, w*h*max(in, out))
		in = out
		if i < len(c.Channels)-1 {
			w, h = 2*w, 2*h
			most = max(most, w*h*out)
		}
	}
	return max(most, w*h*c.Out)
}

// decode launches the decoding of latents, [h][w][Latent], into pixels, [h·f][w·f][Out]. The pixel values are about −1
// … 1. The result is valid once the stream has finished.
func (v *vae) decode(latents op.Plane) op.Plane {
	size := v.cfg.elements(latents.W, latents.H)
	x, a, b := op.Plane{Data: make([]float32, size)}, op.Plane{Data: make([]float32, size)}, op.Plane{Data: make([]float32, size)}
	from := latents
	if v.post.Matrix != nil {
		from = v.conv(&v.post, a, latents, 1)
	}
	v.enter("decoder", sizes(from))
	defer v.leave()
	x = v.conv(&v.convIn, x, from, 1)
	v.call("decoder.mid_block", func() {
		x = v.resnet(&v.mid[0], x, a, b)
		if v.attention != nil {
			v.attend(x, a)
		}
		x = v.resnet(&v.mid[1], x, a, b)
	}, sizes(x))
	for i := range v.ups {
		at := fmt.Sprintf("decoder.up_blocks.%d", i)
		v.call(at, func() {
			for j := range v.ups[i].resnets {
				x = v.resnet(&v.ups[i].resnets[j], x, a, b)
			}
			if up := &v.ups[i].up; up.Matrix != nil {
				v.call(at+".upsamplers.0", func() {
					y := v.conv(up, a, x, 2)
					a.Data, x = x.Data[:cap(x.Data)], y
				}, sizes(x))
			}
		}, sizes(x))
	}
	y := v.norm(&v.normOut, a, x, true)
	return v.conv(&v.convOut, b, y, 1)
}

// resnet launches x = shortcut(x) + conv(act(norm(conv(act(norm(x)))))). It uses a and b as working memory.
func (v *vae) resnet(r *resnet, x, a, b op.Plane) op.Plane {
	v.enter(r.name, sizes(x))
	defer v.leave()
	h := v.conv(&r.conv1, b, v.norm(&r.norm1, a, x, true), 1)
	h = v.conv(&r.conv2, b, v.norm(&r.norm2, a, h, true), 1)
	sum := x
	if r.shortcut.Matrix != nil {
		sum = v.conv(&r.shortcut, a, x, 1)
	}
	x = op.Plane{Data: x.Data[:cap(x.Data)]}.As(h.H, h.W, h.C)
	v.add(x.Data, sum.Data, h.Data)
	return x
}

// add launches dst = p + q.
func (v *vae) add(dst, p, q []float32) {
	const width = 1024
	n := (len(dst) + width - 1) / width
	v.Each(device.Kernel{Name: "vectorized_elementwise_kernel_add", Op: "aten::add", Args: []device.Arg{op.Floats(len(dst)), op.Floats(len(dst))}}, n, width, func(rows op.Span) {
		lo, hi := rows.Lo*width, min(rows.Hi*width, len(dst))
		tensor.Add(dst[lo:hi], p[lo:hi], q[lo:hi])
	})
}

// attend launches x += attention of all pixels over all pixels, with a single head whose width is the number of
// channels.
func (v *vae) attend(x, a op.Plane) {
	const at = "decoder.mid_block.attentions.0"
	v.enter(at, sizes(x))
	defer v.leave()
	n, c := x.Rows(), x.C
	h := v.norm(&v.attention.norm, a, x, false)
	qkv, out := make([]float32, n*3*c), make([]float32, n*c)
	v.Linear(qkv, 3*c, v.attention.qkv, h.Data, c, n)
	att := op.NewAttention(1, c, n)
	att.Store(&v.Launcher, "transpose_qkv_kernel", "aten::transpose", qkv, n, nil)
	att.Run(&v.Launcher, out, qkv, n)
	v.call(at+".to_out.0", func() { v.Linear(h.Data, c, v.attention.o, out, c, n) }, []int{1, n, c})
	v.add(x.Data, x.Data, h.Data)
}

// conv is a convolution module.
type conv struct {
	op.Conv
	name string
}

func loadConv(l *op.Loader, name string) conv { return conv{l.Conv(name), name} }

// conv launches a convolution: y is the convolution of x after each pixel of x has been repeated up×up times.
func (v *vae) conv(c *conv, y, x op.Plane, up int) op.Plane {
	v.enter(c.name, []int{1, x.C, x.H * up, x.W * up})
	defer v.leave()
	return v.Conv(&c.Conv, y, x, up)
}

// sizes returns the dimensions of a plane in tensor order.
func sizes(x op.Plane) []int { return []int{1, x.C, x.H, x.W} }
