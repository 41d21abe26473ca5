package diffusion

import (
	"fmt"
	"sync"

	"github.com/stepscope/stepscope/internal/engine/device"
	"github.com/stepscope/stepscope/internal/engine/op"
	"github.com/stepscope/stepscope/internal/engine/tensor"
)

// plane is a stack of pictures, [h][w][c].
type plane struct {
	h, w, c int
	data    []float32
}

func (p plane) rows() int { return p.h * p.w }

// as is the same memory with other sizes.
func (p plane) as(h, w, c int) plane { return plane{h, w, c, p.data[:h*w*c]} }

// conv is a convolution with stride 1 that keeps the size: its sides are odd.
type conv struct {
	op.Linear
	name    string
	in, out int
	side    int
}

// loadConv packs the weights [out][in][side][side] as a matrix of out × (side·side·in).
func loadConv(l *op.Loader, name string) conv {
	shape, ok := l.Src.Shape(name + ".weight")
	if !ok || len(shape) != 4 || l.Err != nil {
		if l.Err == nil {
			l.Err = fmt.Errorf("no convolution %q", name+".weight")
		}
		return conv{}
	}
	c := conv{name: name, out: shape[0], in: shape[1], side: shape[2]}
	area := c.side * c.side
	row := make([]float32, c.in*area)
	c.Matrix = tensor.Pack(c.out, c.in*area, l.Format, func(r int, dst []float32) {
		l.Read(name+".weight", r*len(row), row)
		for i := range c.in {
			for a := range area {
				dst[a*c.in+i] = row[i*area+a]
			}
		}
	})
	c.Bias = l.Vector(name+".bias", c.out)
	return c
}

// convRows is the number of pixels that are gathered before they are multiplied: what is gathered stays in the second
// level cache.
const convRows = 96

var convScratches = sync.Pool{New: func() any { return new([]float32) }}

// conv launches y = the convolution of x, each of whose pixels stands for up×up.
func (v *vae) conv(c *conv, y, x plane, up int) plane {
	y = y.as(x.h*up, x.w*up, c.out)
	v.enter(c.name, x.c, y.h, y.w)
	defer v.leave()
	n, cols := y.rows(), c.Cols
	s := v.ByRows(n, 2*cols*c.out)
	s.Step = (s.Step + convRows - 1) / convRows * convRows
	v.Launch(device.Kernel{
		Name: fmt.Sprintf("conv2d_implicit_gemm_f32_nhwc_%dx%d", c.side, c.side), Op: "aten::convolution",
		Grid: op.Grid((c.out+tensor.PanelRows-1)/tensor.PanelRows, (n+convRows-1)/convRows),
		Args: []device.Arg{op.Floats(1, x.c, x.h, x.w), op.Floats(c.out, c.in, c.side, c.side), op.Floats(c.out)},
	}, s.Chunks(), func(chunk int) {
		panels := op.Span{Hi: c.Panels()}
		if c.side == 1 && up == 1 {
			rows := s.Span(chunk)
			c.Apply(y.data[rows.Lo*c.out:], c.out, x.data[rows.Lo*x.c:], x.c, rows.Len(), panels)
			return
		}
		buf := convScratches.Get().(*[]float32)
		defer convScratches.Put(buf)
		if len(*buf) < convRows*cols {
			*buf = make([]float32, convRows*cols)
		}
		for at := s.Span(chunk).Lo; at < s.Span(chunk).Hi; at += convRows {
			m := min(convRows, s.Span(chunk).Hi-at)
			for i := range m {
				c.gather((*buf)[i*cols:][:cols], x, (at+i)/y.w, (at+i)%y.w, up)
			}
			c.Apply(y.data[at*c.out:], c.out, *buf, cols, m, panels)
		}
	})
	return y
}

// gather copies what the pixel (row, col) of the enlarged picture sees; zeros lie around it.
func (c *conv) gather(dst []float32, x plane, row, col, up int) {
	reach, width := c.side/2, c.side*x.c
	if up == 1 && col >= reach && col+reach < x.w { // the pixels of a row lie side by side
		for dy := range c.side {
			from, to := row+dy-reach, dst[dy*width:][:width]
			if from < 0 || from >= x.h {
				clear(to)
				continue
			}
			copy(to, x.data[(from*x.w+col-reach)*x.c:])
		}
		return
	}
	for dy := range c.side {
		for dx := range c.side {
			y, z := row+dy-reach, col+dx-reach
			to := dst[dy*width+dx*x.c:][:x.c]
			if y < 0 || z < 0 || y >= x.h*up || z >= x.w*up {
				clear(to)
				continue
			}
			copy(to, x.data[(y/up*x.w+z/up)*x.c:])
		}
	}
}
