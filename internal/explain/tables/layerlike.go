package tables

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// layerTime is a layer's own GPU time a step on one rank: the median over steps.
type LayerTime struct {
	Layer int32
	Ns    float64
}

// ofKind gives the layers' own time a step of one kind on one rank, by what they
// have in common. Step 0 of a capture, in which the profilers start, is left out
// if there are others.
func (w *LayerWork) OfKind(r *match.Rank, k trace.StepKind) (like map[string][]LayerTime, steps int) {
	like = map[string][]LayerTime{}
	var use []int
	for i := range r.Steps {
		if r.Steps[i].Info.Kind == k {
			use = append(use, i)
		}
	}
	if len(use) > 1 && use[0]+r.First == 0 {
		use = use[1:]
	}
	for layer, by := range w.Steps[r.Index] {
		var ns []int64
		for _, i := range use {
			ns = append(ns, by[i])
		}
		if len(ns) > 0 {
			key := w.marks.Layers[layer].Like
			like[key] = append(like[key], LayerTime{layer, metric.MedianInPlace(ns)})
		}
	}
	for _, l := range like {
		slices.SortFunc(l, func(x, y LayerTime) int { return cmp.Compare(x.Layer, y.Layer) })
	}
	return like, len(use)
}

func OwnTimes(l []LayerTime) []float64 {
	out := make([]float64, len(l))
	for i := range l {
		out[i] = l[i].Ns
	}
	return out
}

// ofLike fills in how layers compare with those like them, on the rank on which
// they compare worst.
func (w *LayerWork) ofLike(rows []result.LayerRow, ranks []*match.Rank) {
	type key struct {
		kind, stack string
		layer       int
	}
	at := map[key]*result.LayerRow{}
	for i := range rows {
		at[key{rows[i].Kind, rows[i].Stack, rows[i].Layer}] = &rows[i]
	}
	for _, r := range ranks {
		for k := range w.Ranks[r.Index] {
			if k == prep.OutsideSteps {
				continue
			}
			like, _ := w.OfKind(r, k)
			for _, l := range like {
				mid := metric.Median(OwnTimes(l))
				if len(l) < 2 || mid <= 0 {
					continue
				}
				for _, x := range l {
					of := &w.marks.Layers[x.Layer]
					if row := at[key{prep.KindName(k), of.Stack, of.N}]; row != nil {
						row.OfLike = max(row.OfLike, x.Ns/mid)
					}
				}
			}
		}
	}
}
