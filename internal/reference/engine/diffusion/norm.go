package diffusion

import (
	"math"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/op"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// groupNorm is a GroupNorm module (Wu and He, arXiv:1803.08494) with an epsilon that is the same for all norms of the
// decoder.
type groupNorm struct {
	name         string
	weight, bias []float32
	flat         bool // annotations show the pixels as one dimension
}

const groupEps = 1e-6

func loadNorm(l *op.Loader, name string, n int) groupNorm {
	return groupNorm{name, l.Vector(name+".weight", n), l.Vector(name+".bias", n), false}
}

// momentRows is the number of pixels in a partial sum. It is constant, so that the result does not depend on the number
// of workers.
const momentRows = 256

// norm launches y = GroupNorm(x), followed by SiLU if act is set.
func (v *vae) norm(g *groupNorm, y, x op.Plane, act bool) op.Plane {
	y = y.As(x.H, x.W, x.C)
	in := sizes(x)
	if g.flat {
		in = []int{1, x.C, x.Rows()}
	}
	v.enter(g.name, in)
	defer v.leave()
	groups, n := v.cfg.Groups, x.Rows()
	width := x.C / groups
	blocks := (n + momentRows - 1) / momentRows
	sums := make([]float64, blocks*groups*2) // per block and group: Σx and Σx²
	v.Launch(device.Kernel{
		Name: "RowwiseMomentsKernel", Op: "aten::native_group_norm", Grid: op.Grid(blocks, groups),
		Args: []device.Arg{op.Floats(1, x.C, x.H, x.W)},
	}, blocks, func(b int) {
		mine := sums[b*groups*2:][:groups*2]
		for i := b * momentRows; i < min((b+1)*momentRows, n); i++ {
			for g := range groups {
				var sum, squares float32
				for _, v := range x.Data[i*x.C+g*width:][:width] {
					sum += v
					squares += v * v
				}
				mine[2*g] += float64(sum)
				mine[2*g+1] += float64(squares)
			}
		}
	})
	name, as := "group_norm_kernel", "aten::native_group_norm"
	if act {
		name = "group_norm_silu_kernel"
	}
	v.Each(device.Kernel{Name: name, Op: as, Args: []device.Arg{op.Floats(1, x.C, x.H, x.W), op.Floats(x.C), op.Floats(x.C)}}, n, 10*x.C, func(rows op.Span) {
		scale, shift, ones := make([]float32, x.C), make([]float32, x.C), make([]float32, x.C)
		for group := range groups {
			var sum, squares float64
			for b := range blocks {
				sum += sums[(b*groups+group)*2]
				squares += sums[(b*groups+group)*2+1]
			}
			count := float64(n * width)
			mean := sum / count
			inv := 1 / math.Sqrt(max(squares/count-mean*mean, 0)+groupEps)
			for c := group * width; c < (group+1)*width; c++ {
				scale[c], ones[c] = g.weight[c]*float32(inv), 1
				shift[c] = g.bias[c] - float32(mean)*scale[c]
			}
		}
		for i := rows.Lo; i < rows.Hi; i++ {
			from, to := x.Data[i*x.C:][:x.C], y.Data[i*x.C:][:x.C]
			for c, v := range from {
				to[c] = v*scale[c] + shift[c]
			}
			if act {
				tensor.SiLUMul(to, to, ones)
			}
		}
	})
	return y
}
