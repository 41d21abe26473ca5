package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/tables"
	"github.com/stepscope/stepscope/trace"
)

// A layer stands out if on some rank it takes layerFactor of the median of the
// layers like it on that rank, more than slowSpread times their spread above it,
// and layerShare of a step, by medians over the steps of a kind. If more than
// layerPattern of them do, that is how the model is made: full attention in every
// sixth layer, say.
const (
	layerFactor  = 1.25
	layerShare   = 0.01
	layerHigh    = 0.05 // of a step: a finding of some weight
	layerPattern = 0.1
)

// slowLayer is a layer that stands out in steps of a kind on some ranks.
type slowLayer struct {
	layer    int32
	kind     trace.StepKind
	ranks    []int32
	ns, like float64 // on the rank where it is worst
	worst    *match.Rank
	peers    int
	steps    int
}

type slowKey struct {
	kind  trace.StepKind
	layer int32
}

// slowLayers finds the layers that take longer than their like.
func slowLayers(a *match.Aligned, w *tables.LayerWork) []result.Finding {
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
		out = append(out, slowLayerFinding(a, w, f))
	}
	slices.SortFunc(out, func(x, y result.Finding) int {
		return cmp.Or(cmp.Compare(y.CostNSPerStep, x.CostNSPerStep), cmp.Compare(x.ID, y.ID))
	})
	return out[:min(len(out), 5)]
}

func slowLayerFinding(a *match.Aligned, w *tables.LayerWork, s *slowLayer) result.Finding {
	l := &a.Marks.Layers[s.layer]
	name := fmt.Sprintf("%s.%d", l.Stack, l.N)
	cost := s.ns - s.like
	f := result.Finding{
		Kind: result.SlowLayer, Severity: "low", FirstStep: -1, LastStep: -1, CostNSPerStep: int64(cost),
		ID: fmt.Sprintf("%s-%s-%s", result.SlowLayer, name, prep.KindName(s.kind)),
	}
	if cost > layerHigh*float64(a.KindPeriods[s.kind]) {
		f.Severity = "medium"
	}
	where := ""
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
			where = " on all ranks"
		case 1:
			where = " on " + s.worst.Label
		default:
			where = fmt.Sprintf(" on %d of %d ranks", len(s.ranks), have)
		}
	}
	f.Title = fmt.Sprintf("%s takes %.2g × the time of layers like it%s in %s steps", name, s.ns/s.like, where, prep.KindName(s.kind))
	f.Evidence = append(f.Evidence, result.Evidence{
		Text: fmt.Sprintf("%s of GPU time a step, waiting left out, against %s of %d layers with the same modules (medians over %d steps)",
			metric.Duration(s.ns), metric.Duration(s.like), s.peers, s.steps),
		Value: s.ns, Peers: s.like, Unit: "ns", Step: -1,
	})
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
			f.Evidence = append(f.Evidence, result.Evidence{
				Text:  fmt.Sprintf("%s on the other ranks", metric.Duration(metric.Median(others))),
				Value: s.ns, Peers: metric.Median(others), Unit: "ns", Step: -1,
			})
		}
	}
	f.Evidence = append(f.Evidence, grownModules(a, s)...)
	return f
}

// grownModules says which modules and kernels make the difference: their own
// time in the layer against the median of the layers like it, on the rank where
// it is worst.
func grownModules(a *match.Aligned, s *slowLayer) []result.Evidence {
	type part struct {
		group, name int32
	}
	r, like := s.worst, a.Marks.Layers[s.layer].Like
	by := map[part]map[int32]int64{} // by layer
	layers := map[int32]bool{}
	for i := range r.Ops {
		o := &r.Ops[i]
		in := r.RangeAt(o)
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
				by[p] = map[int32]int64{}
			}
			by[p][mod.Layer] += o.End - o.Start - r.Wait[i]
		}
	}
	var steps int64
	for i := range r.Steps {
		if r.Steps[i].Info.Kind == s.kind {
			steps++
		}
	}
	var out []result.Evidence
	for p, ns := range by {
		var peers []int64
		for l := range layers {
			if l != s.layer {
				peers = append(peers, ns[l])
			}
		}
		mine, theirs := float64(ns[s.layer])/float64(steps), metric.Median(peers)/float64(steps)
		if mine-theirs < 0.2*(s.ns-s.like) {
			continue
		}
		e := result.Evidence{Value: mine, Peers: theirs, Unit: "ns", Step: -1}
		what := cmp.Or(a.Marks.Groups[p.group].Kind, "the layer itself")
		if p.name >= 0 {
			e.Name = a.Names.List[p.name]
			what = "a kernel of " + what
		}
		e.Text = fmt.Sprintf("%s takes %s a step against %s", what, metric.Duration(mine), metric.Duration(theirs))
		out = append(out, e)
	}
	slices.SortFunc(out, func(x, y result.Evidence) int {
		return cmp.Or(result.First(x.Name == "", y.Name == ""), cmp.Compare(y.Value-y.Peers, x.Value-x.Peers), cmp.Compare(x.Text, y.Text), cmp.Compare(x.Name, y.Name))
	})
	return out[:min(len(out), 4)]
}
