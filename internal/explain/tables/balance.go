package tables

import (
	"cmp"
	"maps"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

type sharing struct {
	work string
	of   func(trace.Rank) int
	is   func(kernel.Class) bool
}

// spreads lists the kinds of work that is divided among ranks by requests or by experts.
var spreads = []sharing{
	{result.Attention, func(r trace.Rank) int { return r.DP }, func(c kernel.Class) bool { return c == kernel.Attention || c == kernel.LinearAttention }},
	{result.Experts, func(r trace.Rank) int { return r.EP }, func(c kernel.Class) bool { return c == kernel.MoEGEMM }},
}

// Balance measures how evenly attention is spread over data-parallel ranks that step together, and the experts' matrix
// products over the ranks that share the experts.
func Balance(a *match.Aligned) (out []result.BalanceRow) {
	for _, d := range a.Domains {
		for _, s := range spreads {
			parts := Coordinates(d, s.of)
			if len(parts) < 2 {
				continue
			}
			of := make([][]placed, len(d.Ranks))
			for i := range d.Ranks {
				of[i] = placesOf(a, d, i, s.is)
			}
			byKind := map[trace.StepKind][]balanced{}
			first, end := d.Common()
			for n := first; n < end; n++ {
				if b := balanceOf(d, n, of, parts); b.times != nil && (n > 0 || a.Steps == 1) {
					byKind[a.KindOf[n]] = append(byKind[a.KindOf[n]], b)
				}
			}
			for _, k := range slices.Sorted(maps.Keys(byKind)) {
				out = append(out, rowOf(a, d, parts, k, s.work, byKind[k]))
			}
		}
	}
	return out
}

// Coordinate is the set of ranks that have the same coordinate.
type Coordinate struct {
	At    int
	Ranks []int // indices in the domain
}

// Coordinates groups the ranks of a domain by the coordinate that of returns. It returns nil if a rank does not have
// that coordinate.
func Coordinates(d *match.Domain, of func(trace.Rank) int) (out []Coordinate) {
	for i, r := range d.Ranks {
		at := of(r.Source.Rank)
		if at < 0 {
			return nil
		}
		k := slices.IndexFunc(out, func(c Coordinate) bool { return c.At == at })
		if k < 0 {
			k, out = len(out), append(out, Coordinate{At: at})
		}
		out[k].Ranks = append(out[k].Ranks, i)
	}
	sorts.By(out, func(x, y Coordinate) int { return cmp.Compare(x.At, y.At) })
	return out
}

// placed is one kind of work of a rank in a step, by place. A place is the time between one collective of all ranks and
// the next.
type placed struct {
	met   []int32 // collectives of all ranks, in order
	until []int   // index of each collective among the rank's ops
	ns    []int64 // time of the work before the first collective, between collectives, and after the last
	n     []int   // number of kernels in each place
	layer []int32 // layer according to the markers, noLayer or someLayers
	wait  int64   // total wait in collectives
}

const (
	noLayer    = -1
	someLayers = -2
)

func placesOf(a *match.Aligned, d *match.Domain, i int, is func(kernel.Class) bool) []placed {
	r := d.Ranks[i]
	out := make([]placed, a.Steps)
	for j := range r.Ops {
		o := &r.Ops[j]
		if o.Step < 0 {
			continue
		}
		p := &out[int(o.Step)+r.First]
		if p.ns == nil {
			p.ns, p.n, p.layer = make([]int64, 1), make([]int, 1), []int32{noLayer}
		}
		p.wait += r.Wait[j]
		at := len(p.ns) - 1
		switch {
		case o.Comm():
			if m := r.Match[j]; m >= 0 && len(d.Matches[m].At) == len(d.Ranks) {
				p.met, p.until = append(p.met, m), append(p.until, j)
				p.ns, p.n, p.layer = append(p.ns, 0), append(p.n, 0), append(p.layer, noLayer)
			}
		case is(o.Class):
			layer := a.Marks.LayerAt(r.Rank, r.RangeAt(j))
			if p.n[at] > 0 && layer != p.layer[at] {
				layer = someLayers
			}
			p.ns[at], p.n[at], p.layer[at] = p.ns[at]+o.End-o.Start, p.n[at]+1, layer
		}
	}
	return out
}

// balanced holds the times of a step by place and coordinate.
type balanced struct {
	step  int
	times [][]float64
	place []int   // place of each element of times; -1: the whole step
	layer []int32 // layer of each element of times
	// waited is the mean wait of ranks for the slowest coordinate, counting in each place at most its excess over the
	// mean.
	waited float64
	whole  bool // the step counts as one place, because places differ between ranks
}

// balanceOf combines the places of a step over ranks. Ranks without such work are ignored. If the other ranks do not
// all have the same number of kernels in the same places, the whole step counts as one place.
func balanceOf(d *match.Domain, n int, of [][]placed, parts []Coordinate) (b balanced) {
	b.step = n
	var ref *placed
	var wait float64
	for i := range of {
		p := &of[i][n]
		wait += float64(p.wait) / float64(len(of))
		any := slices.Max(append([]int{0}, p.n...)) > 0
		switch {
		case p.ns == nil:
			return balanced{}
		case !slices.Equal(p.met, of[0][n].met) || any && ref != nil && !slices.Equal(p.n, ref.n):
			b.whole = true
		}
		if any && ref == nil {
			ref = p
		}
	}
	if ref == nil {
		return balanced{}
	}
	at := func(place int, in func(p *placed) []int64) (slowest int, lost float64) {
		sums := make([]float64, len(parts))
		for k, c := range parts {
			for _, i := range c.Ranks {
				for _, ns := range in(&of[i][n]) {
					sums[k] += float64(ns) / float64(len(c.Ranks))
				}
			}
		}
		layer := int32(noLayer)
		if place >= 0 {
			layer = ref.layer[place]
		}
		b.times, b.place, b.layer = append(b.times, sums), append(b.place, place), append(b.layer, layer)
		slowest, most, mean := beyond(sums)
		return slowest, most - mean
	}
	if b.whole {
		_, lost := at(-1, func(p *placed) []int64 { return p.ns })
		b.waited = min(lost, wait)
		return b
	}
	for place, kernels := range ref.n {
		if kernels == 0 {
			continue
		}
		slowest, lost := at(place, func(p *placed) []int64 { return p.ns[place : place+1] })
		if place < len(ref.met) {
			b.waited += min(lost, waitedFor(&d.Matches[ref.met[place]], parts[slowest].Ranks))
		}
	}
	return b
}

// Evened computes the effect of spreading the given kind of work evenly in the given steps, so that every coordinate
// takes the mean time in each place. The returned function gives the factor by which the time of an op would change.
// Evened returns nil if ranks do not have at least two different coordinates.
func Evened(a *match.Aligned, d *match.Domain, work string, steps []int) func(rank, op int) float64 {
	at := slices.IndexFunc(spreads, func(s sharing) bool { return s.work == work })
	parts := Coordinates(d, spreads[at].of)
	if len(parts) < 2 {
		return nil
	}
	of := make([][]placed, len(d.Ranks))
	for i := range d.Ranks {
		of[i] = placesOf(a, d, i, spreads[at].is)
	}
	type cell struct{ rank, step, place int }
	factors := map[cell]float64{}
	whole := map[int]bool{}
	for _, n := range steps {
		b := balanceOf(d, n, of, parts)
		whole[n] = b.whole
		for p, times := range b.times {
			_, _, mean := beyond(times)
			for k, ns := range times {
				for _, i := range parts[k].Ranks {
					if ns > 0 {
						factors[cell{i, n, b.place[p]}] = mean / ns
					}
				}
			}
		}
	}
	return func(rank, op int) float64 {
		r := d.Ranks[rank]
		o := &r.Ops[op]
		if o.Step < 0 || o.Comm() || !spreads[at].is(o.Class) {
			return 1
		}
		c := cell{rank, int(o.Step) + r.First, -1}
		if !whole[c.step] {
			c.place, _ = slices.BinarySearch(of[rank][c.step].until, op)
		}
		if f, known := factors[c]; known {
			return f
		}
		return 1
	}
}

// waitedFor returns the mean wait of ranks in a collective in which a rank in late arrives last. It returns 0 if
// another rank arrives last.
func waitedFor(m *match.Match, late []int) (wait float64) {
	if !m.Possible() {
		return 0
	}
	came := false
	for _, p := range m.At {
		wait += float64(p.Wait) / float64(len(m.At))
		came = came || p.Start == m.Last && slices.Contains(late, int(p.Rank))
	}
	if !came {
		return 0
	}
	return wait
}

// beyond returns the index and the time of the slowest coordinate, and the mean time.
func beyond(times []float64) (slowest int, most, mean float64) {
	for k, ns := range times {
		if ns > most {
			slowest, most = k, ns
		}
		mean += ns / float64(len(times))
	}
	return slowest, most, mean
}

// leastHalves is the minimum number of steps to distinguish lasting from changing imbalance.
const leastHalves = 6

func rowOf(a *match.Aligned, d *match.Domain, parts []Coordinate, kind trace.StepKind, work string, steps []balanced) result.BalanceRow {
	row := result.BalanceRow{Work: work, Kind: kind.String(), Steps: len(steps), Halves: len(steps) >= leastHalves}
	var ratio []float64
	var lost, waited, period []int64
	credit, all := make([]float64, len(parts)), 0.0
	own := make([][]int64, len(parts))
	places := map[int]int{}
	for i := range steps {
		b := &steps[i]
		var more, sum, most float64
		mine := make([]float64, len(parts))
		for _, times := range b.times {
			k, top, mean := beyond(times)
			more, sum, most = more+top-mean, sum+mean, most+top
			credit[k] += top - mean
			for k, ns := range times {
				mine[k] += ns
			}
		}
		all += more
		for k := range mine {
			own[k] = append(own[k], int64(mine[k]))
		}
		ratio, lost = append(ratio, sum/most), append(lost, int64(more))
		waited, period = append(waited, int64(b.waited)), append(period, a.StepPeriod(b.step))
		row.Of = append(row.Of, b.step)
		if !b.whole {
			places[len(b.times)]++
		}
	}
	row.Ratio, row.Lost = metric.Median(ratio), int64(metric.MedianInPlace(lost))
	row.Waited, row.Period = int64(metric.MedianInPlace(waited)), int64(metric.MedianInPlace(period))
	for k, c := range parts {
		p := result.BalancePart{Coordinate: c.At, Time: int64(metric.MedianInPlace(own[k]))}
		if all > 0 {
			p.Share = credit[k] / all
		}
		for _, i := range c.Ranks {
			p.Ranks = append(p.Ranks, d.Ranks[i].Index)
		}
		row.Parts = append(row.Parts, p)
	}
	// Find the most frequent number of places in a step of this kind.
	usual := 0
	for n, of := range places {
		if of > places[usual] || of == places[usual] && n > usual {
			usual = n
		}
	}
	alike := slices.DeleteFunc(slices.Clone(steps), func(b balanced) bool { return b.whole || len(b.times) != usual })
	if 2*len(alike) < len(steps) {
		alike = steps // places cannot be compared
		for i := range alike {
			alike[i] = alike[i].sum()
		}
		usual = 0
	}
	var stays, lose float64
	for place := range alike[0].times {
		l, same, of := layerOf(a, parts, alike, place)
		stays, lose = stays+same, lose+of
		if usual > 0 {
			row.Layers = append(row.Layers, l)
		}
	}
	if row.Halves = len(alike) >= leastHalves; row.Halves && lose > 0 {
		row.Same = max(stays/lose, 0)
	}
	return row
}

// sum merges all places into one.
func (b balanced) sum() balanced {
	sums := make([]float64, len(b.times[0]))
	for _, times := range b.times {
		for k, ns := range times {
			sums[k] += ns
		}
	}
	b.times, b.layer = [][]float64{sums}, []int32{noLayer}
	return b
}

// layerOf sums up one place over steps that have the same places. lost is the time lost in that place over all steps.
// same is the lasting part of lost. To cancel out chance, the coordinate that is slowest in one half of the steps is
// measured in the other half.
func layerOf(a *match.Aligned, parts []Coordinate, steps []balanced, place int) (l result.BalanceLayer, same, lost float64) {
	l.Layer = place
	layer := steps[0].layer[place]
	var ratio []float64
	var more []int64
	for i := range steps {
		_, most, mean := beyond(steps[i].times[place])
		lost += most - mean
		more = append(more, int64(most-mean))
		if most > 0 {
			ratio = append(ratio, mean/most)
		}
		if steps[i].layer[place] != layer {
			layer = noLayer
		}
	}
	if l.Lost = int64(metric.MedianInPlace(more)); len(ratio) > 0 {
		l.Ratio = metric.Median(ratio)
	}
	if layer >= 0 {
		l.Stack, l.Layer = a.Marks.Layers[layer].Stack, a.Marks.Layers[layer].N
	}
	half := len(steps) / 2
	over := func(steps []balanced) []float64 {
		sums := make([]float64, len(parts))
		for i := range steps {
			for k, ns := range steps[i].times[place] {
				sums[k] += ns
			}
		}
		return sums
	}
	early, late, whole := over(steps[:half]), over(steps[half:]), over(steps)
	slowest, _, _ := beyond(whole)
	l.Slowest = parts[slowest].At
	for _, x := range [][2][]float64{{early, late}, {late, early}} {
		leader, _, _ := beyond(x[0])
		_, _, mean := beyond(x[1])
		same += x[1][leader] - mean
	}
	if len(steps) >= leastHalves && lost > 0 {
		l.Same = min(max(same/lost, 0), 1)
	}
	return l, same, lost
}
