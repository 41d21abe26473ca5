package prep

import (
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// flopsOf returns the floating-point operations of each GPU op whose launching CPU op has recorded shapes. If an op
// runs as several kernels (split-K), its floating-point operations are divided among the kernels in proportion to their
// time.
func flopsOf(t *trace.Trace, ops []Op) map[int32]float64 {
	type costKey struct {
		name, dims, types trace.StringID
	}
	costs := map[costKey]float64{}
	type cost struct {
		of    trace.StringID // name of the op; 0: unknown
		flops float64
	}
	byShape := make([]cost, len(t.Shapes))
	byExt := map[int64]float64{}
	for i := range t.Spans {
		s := &t.Spans[i]
		if s.Cat != trace.CPUOp || s.Detail < 0 || s.Ext == 0 {
			continue
		}
		if c := &byShape[s.Detail]; c.of == s.Name && c.of != 0 {
			if c.flops > 0 {
				byExt[s.Ext] = c.flops
			}
			continue
		}
		sh := t.Shapes[s.Detail]
		key := costKey{s.Name, sh.Dims, sh.Types}
		flops, known := costs[key]
		if !known {
			dims, err := kernel.ParseDims(t.Strings.Get(sh.Dims))
			types, typesErr := kernel.ParseStrings(t.Strings.Get(sh.Types))
			if err == nil && typesErr == nil {
				if n, _, ok := kernel.OpCost(t.Strings.Get(s.Name), dims, types); ok {
					flops = float64(n)
				}
			}
			costs[key] = flops
		}
		byShape[s.Detail] = cost{s.Name, flops}
		if flops > 0 {
			byExt[s.Ext] = flops
		}
	}
	if len(byExt) == 0 {
		return nil
	}
	counts := func(o *Op) bool {
		return o.Cat == trace.Kernel && (o.Class == kernel.GEMM || o.Class == kernel.MoEGEMM || o.Class == kernel.Attention)
	}
	took := map[int64]int64{}
	for i := range ops {
		if o := &ops[i]; counts(o) {
			took[t.Spans[o.Span].Ext] += o.End - o.Start
		}
	}
	out := map[int32]float64{}
	for i := range ops {
		o := &ops[i]
		ext := t.Spans[o.Span].Ext
		if f, ok := byExt[ext]; ok && counts(o) && took[ext] > 0 {
			out[int32(i)] = f * float64(o.End-o.Start) / float64(took[ext])
		}
	}
	return out
}
