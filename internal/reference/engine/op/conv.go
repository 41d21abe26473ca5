package op

import (
	"fmt"
	"sync"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// Plane is a stack of images, [h][w][c].
type Plane struct {
	H, W, C int
	Data    []float32
}

// NewPlane returns a plane of zeros.
func NewPlane(h, w, c int) Plane { return Plane{h, w, c, make([]float32, h*w*c)} }

// Rows is the number of pixels.
func (p Plane) Rows() int { return p.H * p.W }

// As returns a plane with the given sizes that uses the same memory.
func (p Plane) As(h, w, c int) Plane { return Plane{h, w, c, p.Data[:h*w*c]} }

// Conv is a convolution with stride 1 and an odd side length. The output has the same size as the input.
type Conv struct {
	Linear
	In, Out int
	Side    int
}

// Conv reads a convolution and packs its weights, [out][in][side][side], as a matrix of out × (side·side·in).
func (l *Loader) Conv(name string) Conv {
	shape, ok := l.Src.Shape(name + ".weight")
	if !ok || len(shape) != 4 || l.Err != nil {
		if l.Err == nil {
			l.Err = fmt.Errorf("no convolution %q", name+".weight")
		}
		return Conv{}
	}
	c := Conv{Out: shape[0], In: shape[1], Side: shape[2]}
	area := c.Side * c.Side
	row := make([]float32, c.In*area)
	c.Matrix = tensor.Pack(c.Out, c.In*area, l.Format, func(r int, dst []float32) {
		l.Read(name+".weight", r*len(row), row)
		for i := range c.In {
			for a := range area {
				dst[a*c.In+i] = row[i*area+a]
			}
		}
	})
	c.Bias = l.Vector(name+".bias", c.Out)
	return c
}

// convRows is the number of pixels whose neighbourhoods are gathered for one product. The gathered values fit in the
// second-level cache.
const convRows = 96

var convScratches = sync.Pool{New: func() any { return new([]float32) }}

// Conv launches a convolution: y is the convolution of x after each pixel of x has been repeated up×up times.
func (l *Launcher) Conv(c *Conv, y, x Plane, up int) Plane {
	y = y.As(x.H*up, x.W*up, c.Out)
	n, cols := y.Rows(), c.Cols
	s := l.ByRows(n, 2*cols*c.Out)
	s.Step = (s.Step + convRows - 1) / convRows * convRows
	l.Launch(device.Kernel{
		Name: fmt.Sprintf("conv2d_implicit_gemm_f32_nhwc_%dx%d", c.Side, c.Side), Op: "aten::convolution",
		Grid: Grid((c.Out+tensor.PanelRows-1)/tensor.PanelRows, (n+convRows-1)/convRows),
		Args: []device.Arg{Floats(1, x.C, x.H, x.W), Floats(c.Out, c.In, c.Side, c.Side), Floats(c.Out)},
	}, s.Chunks(), func(chunk int) {
		panels := Span{Hi: c.Panels()}
		if c.Side == 1 && up == 1 {
			rows := s.Span(chunk)
			c.Apply(y.Data[rows.Lo*c.Out:], c.Out, x.Data[rows.Lo*x.C:], x.C, rows.Len(), panels)
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
				c.gather((*buf)[i*cols:][:cols], x, (at+i)/y.W, (at+i)%y.W, up)
			}
			c.Apply(y.Data[at*c.Out:], c.Out, *buf, cols, m, panels)
		}
	})
	return y
}

// gather copies the neighbourhood of pixel (row, col) of the enlarged image. Pixels outside the image are zero.
func (c *Conv) gather(dst []float32, x Plane, row, col, up int) {
	reach, width := c.Side/2, c.Side*x.C
	if up == 1 && col >= reach && col+reach < x.W { // the pixels of a row are adjacent in x
		for dy := range c.Side {
			from, to := row+dy-reach, dst[dy*width:][:width]
			if from < 0 || from >= x.H {
				clear(to)
				continue
			}
			copy(to, x.Data[(from*x.W+col-reach)*x.C:])
		}
		return
	}
	for dy := range c.Side {
		for dx := range c.Side {
			y, z := row+dy-reach, col+dx-reach
			to := dst[dy*width+dx*x.C:][:x.C]
			if y < 0 || z < 0 || y >= x.H*up || z >= x.W*up {
				clear(to)
				continue
			}
			copy(to, x.Data[(y/up*x.W+z/up)*x.C:])
		}
	}
}
