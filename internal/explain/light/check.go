package light

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

const (
	overPeak  = 1.02 // a kernel that seems to exceed the peak of the memory by more cannot do this work
	overClock = 1.09 // the same for FLOPs, which depend on the clock: the fastest clock is 1.08 times that of data sheets
	large     = 20e6 // bytes of products whose times must have the order of their bytes
	ties      = 0.95 // times that differ by less have no order
	kinds     = 0.05 // share of the grids of a module that may differ
)

// check refuses the modules whose kernels contradict the sizes. If a product contradicts them by its grid or its rate, the
// configuration, the layout or the device is not that of the window. check then refuses everything and returns the reason.
func (c *comparer) check() fact.Fact {
	var wrong fact.Fact
	for _, k := range c.order {
		s := c.sums[k]
		w := &s.calls[0].work
		peak := c.d.rate(w.Compute)
		switch {
		case float64(s.differs) > kinds*float64(s.agrees+s.differs):
			s.refused = fact.Of("light_grid", "kernels", s.differs, "of", s.agrees+s.differs)
		case s.fromMemory() > overPeak*c.d.Memory:
			s.refused = fact.Of("light_too_fast", "rate", s.fromMemory()/1e9, "peak", c.d.Memory/1e9)
		case w.N > 0 && s.rate(flops, 0.5) > overClock*peak:
			s.refused = fact.Of("light_too_fast_flops", "rate", s.rate(flops, 0.5), "peak", peak)
		}
		// Attention may also be faster because requests share the keys of a prefix.
		if s.refused.Key != "" && wrong.Key == "" && k.role != Attention {
			wrong = fact.Of("light_wrong", "module", string(k.role), "why", s.refused)
		}
		if s.refused.Key == "" && s.mixed() {
			s.refused = fact.Of("light_mixed")
		}
	}
	c.checkOrder()
	if c.beside != nil { // groups of few steps: the whole window decides
		return fact.Fact{}
	}
	if wrong.Key != "" {
		for _, k := range c.order {
			if s := c.sums[k]; s.refused.Key == "" {
				s.refused = fact.Of("light_other")
			}
		}
	}
	return wrong
}

// fromMemory returns the 90th percentile of the rate at which calls with large weights or caches read and write, per
// second; 0: there are none. Other tensors may be in the L2 cache.
func (s *sum) fromMemory() float64 {
	big := sum{calls: slices.DeleteFunc(slices.Clone(s.calls), func(x call) bool { return max(x.work.Weights, x.work.KV) <= large })}
	if len(big.calls) == 0 {
		return 0
	}
	return big.rate(leastBytes, 0.9)
}

// leastBytes returns the bytes that are read and written whatever experts the tokens choose.
func leastBytes(w *Work) float64 {
	if w.High > 0 {
		return w.Low + w.Acts + w.KV
	}
	return w.Bytes()
}

func flops(w *Work) float64 { return w.FLOPs }

// quantile returns a quantile of a figure of the calls.
func (s *sum) quantile(of func(x *call) float64, p float64) float64 {
	out := make([]float64, len(s.calls))
	for i := range s.calls {
		out[i] = of(&s.calls[i])
	}
	slices.Sort(out)
	return metric.Quantile(out, p)
}

// rate returns a quantile of the rate at which the main kernels do their work, per second.
func (s *sum) rate(of func(w *Work) float64, p float64) float64 {
	return s.quantile(func(x *call) float64 { return of(&x.work) / float64(max(x.main, 1)) * 1e9 }, p)
}

// share sets the shares that a module with lower and upper bounds of its work reaches.
func (s *sum) share(row *result.LightModule) {
	of := func(of func(x *call) float64) float64 {
		return s.quantile(func(x *call) float64 { return of(x) / float64(max(x.main, 1)) }, 0.5)
	}
	guessed := slices.ContainsFunc(s.calls, func(x call) bool { return x.guessed })
	if !guessed {
		row.OfPeak, row.OfAttainable = of(func(x *call) float64 { return x.floor }), of(func(x *call) float64 { return x.attain })
	}
	row.OfPeakMost, row.OfAttainableMost = of(func(x *call) float64 { return x.most }), of(func(x *call) float64 { return x.attainMost })
	if guessed && row.OfPeakMost >= 1 { // no kernel reaches more anyway
		row.OfPeakMost, row.OfAttainableMost = 0, 0
	}
}

// median returns the median time of the main kernels, in ns.
func (s *sum) median() float64 {
	return s.quantile(func(x *call) float64 { return float64(x.main) }, 0.5)
}

// mixed reports whether layers of steps with the same number of rows run different kernels for the module.
func (s *sum) mixed() bool {
	for _, seen := range s.keys {
		if len(seen) > 1 {
			return true
		}
	}
	return false
}

// checkOrder refuses all products of a rank's steps of one kind if the larger of two takes less time. Their roles may
// then be wrong.
func (c *comparer) checkOrder() {
	products := map[stepKey][]sumKey{}
	for _, k := range c.order {
		s := c.sums[k]
		if w := &s.calls[0].work; w.N > 0 && w.High == 0 && w.Bytes() > large && c.memoryBound(s) {
			products[k.stepKey] = append(products[k.stepKey], k)
		}
	}
	for _, of := range products {
		sorts.Stable(of, func(x, y sumKey) int {
			return cmp.Compare(c.sums[x].calls[0].work.Bytes(), c.sums[y].calls[0].work.Bytes())
		})
		for i := 1; i < len(of); i++ {
			small, big := c.sums[of[i-1]], c.sums[of[i]]
			if big.median() < ties*small.median() && big.refused.Key == "" {
				for _, k := range of {
					c.sums[k].refused = fact.Of("light_times", "small", string(of[i-1].role), "big", string(of[i].role))
				}
				break
			}
		}
	}
}

func (c *comparer) memoryBound(s *sum) bool {
	w := &s.calls[0].work
	return w.Bytes()/c.d.Memory >= w.FLOPs/c.d.rate(w.Compute)
}
