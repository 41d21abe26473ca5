package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/tables"
	"github.com/stepscope/stepscope/trace"
)

// Layers of a rank are compared with similar layers on the same rank, by medians over the steps of a kind. A layer
// stands out if three conditions hold. It takes more than layerFactor times the median of these layers. It exceeds the
// median by more than slowSpread times the spread of these layers. It exceeds the median by more than layerShare of a
// step. If more than layerPattern of the layers stand out, the reason is the architecture, such as full attention in
// every sixth layer.
const (
	layerFactor  = 1.25
	layerShare   = 0.01
	layerHigh    = 0.05 // share of a step above which severity is medium
	layerPattern = 0.1
)

// slowLayer is a layer that stands out in steps of one kind on at least one rank.
type slowLayer struct {
	layer    int32
	kind     trace.StepKind
	ranks    []int32
	ns, like float64 // time of the layer, and median of similar layers, on the worst rank
	worst    *match.Rank
	peers    int
	steps    int
}

type slowKey struct {
	kind  trace.StepKind
	layer int32
}

var layerRules = []rule{{[]string{result.SlowLayer}, slowLayers}}

// slowLayers finds the layers that take longer than similar layers.
func slowLayers(c *capture) []result.Finding {
	a, w := c.Aligned, c.layers
	if w == nil {
		return nil
	}
	found := map[slowKey]*slowLayer{}
	for _, r := range a.Ranks {
		for _, k := range w.Kinds(r) {
			likes, steps := w.OfKind(r, k)
			period := float64(a.KindPeriods[k])
			for _, like := range likes {
				if len(like) < slowLeast || steps < stayingSteps {
					continue
				}
				times := tables.OwnTimes(like)
				mid, spread := metric.Median(times), metric.MAD(times)
				var out []tables.LayerTime
				for _, l := range like {
					if excess := l.NS - mid; l.NS > layerFactor*mid && excess > slowSpread*spread && excess > layerShare*period {
						out = append(out, l)
					}
				}
				if len(out) > max(1, int(layerPattern*float64(len(like)))) {
					continue
				}
				for _, l := range out {
					key := slowKey{k, l.Layer}
					f := found[key]
					if f == nil {
						f = &slowLayer{layer: l.Layer, kind: k}
						found[key] = f
					}
					f.ranks = append(f.ranks, int32(r.Index))
					if l.NS-mid > f.ns-f.like {
						f.ns, f.like, f.worst, f.peers, f.steps = l.NS, mid, r, len(like)-1, steps
					}
				}
			}
		}
	}
	var out []result.Finding
	for _, f := range found {
		out = append(out, slowLayerFinding(c, f))
	}
	sorts.By(out, func(x, y result.Finding) int {
		return cmp.Or(cmp.Compare(y.CostNSPerStep, x.CostNSPerStep), cmp.Compare(x.ID, y.ID))
	})
	return out[:min(len(out), 5)]
}

func slowLayerFinding(c *capture, s *slowLayer) result.Finding {
	a, w := c.Aligned, c.layers
	l := &a.Marks.Layers[s.layer]
	name, kind := fmt.Sprintf("%s.%d", l.Stack, l.N), prep.KindName(s.kind)
	cost := s.ns - s.like
	f := whole(result.SlowLayer, "", id(result.SlowLayer, name, kind), fact.Fact{},
		proof("ns", s.ns, s.like, fact.Of("layer_time", "mine", s.ns, "like", s.like, "layers", s.peers, "steps", s.steps)))
	f.CostNSPerStep = int64(cost)
	if cost > layerHigh*float64(a.KindPeriods[s.kind]) {
		f.Severity = "medium"
	}
	var where fact.Fact
	have := 0
	for _, r := range a.Ranks {
		if w.Has(r, s.layer) {
			have++
		}
	}
	for _, r := range s.ranks {
		f.Ranks = append(f.Ranks, int(r))
	}
	if have > 1 {
		switch len(s.ranks) {
		case have:
			where = fact.Of("on_all_ranks")
		case 1:
			where = fact.Of("on_one_rank", "rank", s.worst.Label)
		default:
			where = fact.Of("on_some_ranks", "n", len(s.ranks), "of", have)
		}
	}
	f.Title = fact.Of("slow_layer", "layer", name, "factor", s.ns/s.like, "where", where, "kind", c.rep.Said(kind))
	if len(s.ranks) < have {
		var others []float64
		for _, r := range a.Ranks {
			if w.Has(r, s.layer) && !slices.Contains(s.ranks, int32(r.Index)) {
				likes, _ := w.OfKind(r, s.kind)
				for _, t := range likes[l.Like] {
					if t.Layer == s.layer {
						others = append(others, t.NS)
					}
				}
			}
		}
		if len(others) > 0 {
			mid := metric.Median(others)
			f.Evidence = append(f.Evidence, proof("ns", s.ns, mid, fact.Of("layer_other_ranks", "ns", mid)))
		}
	}
	f.Evidence = append(f.Evidence, grownModules(a, s)...)
	return f
}

// grownModules states the modules and kernels that explain the difference. It compares the own time of each in the
// layer, as the median over steps, with the median of similar layers, on the worst rank.
func grownModules(a *match.Aligned, s *slowLayer) []result.Evidence {
	type part struct {
		group, name int32
	}
	r, like := s.worst, a.Marks.Layers[s.layer].Like
	by := map[part]map[int32][]int64{} // own time of each part, by layer and step
	layers := map[int32]bool{}
	for i := range r.Ops {
		o := &r.Ops[i]
		in := r.RangeAt(i)
		if in < 0 || o.Step < 0 || r.Steps[o.Step].Info.Kind != s.kind {
			continue
		}
		mod := &a.Marks.Modules[r.Ranges[in].Module]
		if mod.Layer < 0 || a.Marks.Layers[mod.Layer].Like != like {
			continue
		}
		layers[mod.Layer] = true
		for _, p := range [...]part{{mod.Group, -1}, {mod.Group, o.Name}} {
			if by[p] == nil {
				by[p] = map[int32][]int64{}
			}
			if by[p][mod.Layer] == nil {
				by[p][mod.Layer] = make([]int64, len(r.Steps))
			}
			by[p][mod.Layer][o.Step] += r.Own(i)
		}
	}
	var steps []int
	for i := range r.Steps {
		if r.Steps[i].Info.Kind == s.kind {
			steps = append(steps, i)
		}
	}
	usual := func(ns []int64) float64 {
		if ns == nil {
			return 0
		}
		return metric.MedianInPlace(pick(ns, steps))
	}
	var out []result.Evidence
	for p, ns := range by {
		var peers []float64
		for l := range layers {
			if l != s.layer {
				peers = append(peers, usual(ns[l]))
			}
		}
		mine, theirs := usual(ns[s.layer]), metric.Median(peers)
		if mine-theirs < 0.2*(s.ns-s.like) {
			continue
		}
		what := or(fact.Name(a.Marks.Groups[p.group].Kind), fact.Of("layer_itself"))
		if p.name >= 0 {
			what = fact.Of("kernel_of", "what", what)
		}
		e := proof("ns", mine, theirs, fact.Of("module_more", "what", what, "mine", mine, "like", theirs))
		if p.name >= 0 {
			e.Name = fact.Name(a.Names.List[p.name])
		}
		out = append(out, e)
	}
	sorts.By(out, func(x, y result.Evidence) int {
		return cmp.Or(result.First(x.Name.Text == "", y.Name.Text == ""), cmp.Compare(y.Value-y.Peers, x.Value-x.Peers),
			cmp.Compare(x.Text.String(), y.Text.String()), cmp.Compare(x.Name.Text, y.Name.Text))
	})
	return out[:min(len(out), 4)]
}
