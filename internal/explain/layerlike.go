package explain

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/trace"
)

// layerTime is a layer's own GPU time a step on one rank: the median over steps.
type layerTime struct {
	layer int32
	ns    float64
}

// ofKind gives the layers' own time a step of one kind on one rank, by what they
// have in common. Step 0 of a capture, in which the profilers start, is left out
// if there are others.
func (w *layerWork) ofKind(r *ranked, k trace.StepKind) (like map[string][]layerTime, steps int) {
	like = map[string][]layerTime{}
	var use []int
	for i := range r.steps {
		if r.steps[i].info.Kind == k {
			use = append(use, i)
		}
	}
	if len(use) > 1 && use[0]+r.first == 0 {
		use = use[1:]
	}
	for layer, by := range w.steps[r.index] {
		var ns []int64
		for _, i := range use {
			ns = append(ns, by[i])
		}
		if len(ns) > 0 {
			key := w.marks.layers[layer].like
			like[key] = append(like[key], layerTime{layer, metric.MedianInPlace(ns)})
		}
	}
	for _, l := range like {
		slices.SortFunc(l, func(x, y layerTime) int { return cmp.Compare(x.layer, y.layer) })
	}
	return like, len(use)
}

func ownTimes(l []layerTime) []float64 {
	out := make([]float64, len(l))
	for i := range l {
		out[i] = l[i].ns
	}
	return out
}

// ofLike fills in how layers compare with those like them, on the rank on which
// they compare worst.
func (w *layerWork) ofLike(rows []LayerRow, ranks []*ranked) {
	type key struct {
		kind, stack string
		layer       int
	}
	at := map[key]*LayerRow{}
	for i := range rows {
		at[key{rows[i].Kind, rows[i].Stack, rows[i].Layer}] = &rows[i]
	}
	for _, r := range ranks {
		for k := range w.ranks[r.index] {
			if k == outsideSteps {
				continue
			}
			like, _ := w.ofKind(r, k)
			for _, l := range like {
				mid := metric.Median(ownTimes(l))
				if len(l) < 2 || mid <= 0 {
					continue
				}
				for _, x := range l {
					of := &w.marks.layers[x.layer]
					if row := at[key{kindName(k), of.stack, of.n}]; row != nil {
						row.OfLike = max(row.OfLike, x.ns/mid)
					}
				}
			}
		}
	}
}
