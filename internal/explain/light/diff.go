package light

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"sort"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

const (
	leastSteps    = 3   // steps of each side
	alikeContexts = 0.2 // largest relative difference between the lengths of contexts
	mostUntold    = 0.1 // share of the steps without known modules; the others may not be typical
	inGraphs      = 0.5 // share of the kernels in graphs from which steps count as graphs
)

// alikeRows is the largest relative difference between the rows of steps that are compared. The time of prefill steps grows
// with their rows.
var alikeRows = map[string]float64{trace.Decode.String(): 0.1, trace.Prefill.String(): 0.02}

// Diff compares two windows of one model by the roles of their kernels, so kernels may have any names. It compares steps of
// like kind and rows. why lists the reasons if nothing can be compared; notes lists those of single kinds of steps.
func Diff(a, b *Side) (out []result.LightDiff, why, notes []fact.Fact) {
	for _, s := range []*Side{a, b} {
		if s.why.Key != "" {
			why = append(why, fact.Of("light_side", "side", s.Name, "why", s.why))
		}
	}
	if a.model != nil && b.model != nil && !reflect.DeepEqual(a.model, b.model) {
		why = append(why, fact.Of("light_models", "one", a.model.sizes(), "other", b.model.sizes()))
	}
	if a.device != b.device && a.device != "" && b.device != "" {
		why = append(why, fact.Of("light_sides_devices", "one", a.device, "other", b.device))
	}
	if a.layout != b.layout && a.layout != "" && b.layout != "" {
		why = append(why, fact.Of("light_layouts", "one", a.layout, "other", b.layout))
	}
	if a.stacks != b.stacks {
		with := a
		if b.stacks {
			with = b
		}
		why = append(why, fact.Of("light_stacks", "side", with.Name))
	}
	if len(why) > 0 {
		return nil, why, nil
	}
	for _, kind := range []string{trace.Decode.String(), trace.Prefill.String()} {
		rows, not, said := diffKind(a, b, kind)
		out, notes = append(out, rows...), append(notes, said...)
		if not.Key != "" {
			why = append(why, not)
		}
	}
	switch {
	case len(out) > 0:
		return out, nil, append(notes, why...)
	case len(why) == 0:
		why = []fact.Fact{fact.Of("light_kinds")}
	}
	return nil, why, nil
}

// diffKind compares the steps of a kind. It returns no rows and a reason if they cannot be compared, and neither if a side
// has no such steps.
func diffKind(a, b *Side, kind string) (out []result.LightDiff, why fact.Fact, notes []fact.Fact) {
	ga, whyA := a.of(kind)
	gb, whyB := b.of(kind)
	switch {
	case len(ga) == 0 && whyA.Key == "", len(gb) == 0 && whyB.Key == "":
		return nil, fact.Fact{}, nil
	case whyA.Key != "":
		return nil, fact.Of("light_untold", "kind", kind, "side", a.Name, "why", whyA), nil
	case whyB.Key != "":
		return nil, fact.Of("light_untold", "kind", kind, "side", b.Name, "why", whyB), nil
	}
	for {
		la, lb := alike(ga, gb, alikeRows[kind])
		x, y := add(la), add(lb)
		switch {
		case len(out) > 0 && min(x.steps, y.steps) < leastSteps:
			return out, fact.Fact{}, notes
		case x.steps == 0 || y.steps == 0:
			return nil, fact.Of("light_rows", "kind", kind, "one", rowsIn(ga), "other", rowsIn(gb)), nil
		case min(x.steps, y.steps) < leastSteps:
			return nil, fact.Of("light_few", "kind", kind, "one", x.steps, "other", y.steps, "least", leastSteps), nil
		case x.eager() != y.eager():
			eager, graphs := a.Name, b.Name
			if y.eager() {
				eager, graphs = graphs, eager
			}
			return nil, fact.Of("light_graphs", "kind", kind, "eager", eager, "graphs", graphs), nil
		}
		switch k, l := float64(x.keys)/float64(x.n), float64(y.keys)/float64(y.n); {
		case x.keys < 0 || y.keys < 0:
			if note := fact.Of("light_no_contexts"); !slices.ContainsFunc(notes, func(f fact.Fact) bool { return f.Key == note.Key }) {
				notes = append(notes, note)
			}
		case math.Abs(k-l) <= alikeContexts*max(k, l):
		case kind == trace.Prefill.String():
			return nil, fact.Of("light_contexts", "kind", kind, "one", k, "other", l), nil
		default:
			notes = append(notes, fact.Of("light_contexts", "kind", kind, "one", k, "other", l))
		}
		out = append(out, x.diff(y, kind, func(part string) int { return a.model.layersWith(part) / max(a.stages, 1) })...)
		taken := func(list []*group) func(g *group) bool {
			return func(g *group) bool { return slices.Contains(list, g) }
		}
		ga, gb = slices.DeleteFunc(ga, taken(la)), slices.DeleteFunc(gb, taken(lb))
	}
}

// of returns the groups of a kind of steps with known modules, sorted by rows, and a reason if too many other steps have none.
func (s *Side) of(kind string) (out []*group, why fact.Fact) {
	steps, untold := 0, 0
	for i := range s.groups {
		g := &s.groups[i]
		switch {
		case g.kind != kind:
			continue
		case g.rows > 0:
			out = append(out, g)
		default:
			why, untold = g.Why, untold+g.Steps
		}
		steps += g.Steps
	}
	if float64(untold) <= mostUntold*float64(steps) {
		why = fact.Fact{}
	}
	sorts.Stable(out, func(x, y *group) int { return cmp.Compare(x.rows, y.rows) })
	return out, why
}

// alike returns the groups of both sides whose rows differ by at most the given share: those with the most steps on the side
// with fewer steps. The groups of each side are sorted by rows.
func alike(a, b []*group, within float64) (la, lb []*group) {
	most := [2]int{-1, -1}
	for _, from := range slices.Concat(a, b) {
		x, y := rowsFrom(a, from.rows, within), rowsFrom(b, from.rows, within)
		nx, ny := add(x).steps, add(y).steps
		if n := [2]int{min(nx, ny), nx + ny}; slices.Compare(n[:], most[:]) > 0 {
			most, la, lb = n, x, y
		}
	}
	return slices.Clone(la), slices.Clone(lb)
}

// rowsFrom returns the part of a sorted list that begins with the given rows and in which none has more by a larger share
// than within.
func rowsFrom(list []*group, rows int, within float64) []*group {
	from, _ := slices.BinarySearchFunc(list, rows, func(g *group, rows int) int { return cmp.Compare(g.rows, rows) })
	n := sort.Search(len(list)-from, func(i int) bool { g := list[from+i]; return float64(g.rows-rows) > within*float64(g.rows) })
	return list[from : from+n]
}

// total holds the sums over the steps of groups, on all ranks.
type total struct {
	groups          []*group
	steps           int // of the rank with the most
	n               int // steps, summed over ranks
	rows            int
	keys            int64 // -1: not known
	kernels, graphs int
}

func add(groups []*group) *total {
	t := &total{groups: groups}
	of := map[string]int{}
	for _, g := range groups {
		of[g.rank] += g.Steps
		t.steps = max(t.steps, of[g.rank])
		t.n, t.rows = t.n+g.Steps, t.rows+g.Rows
		t.kernels, t.graphs = t.kernels+g.kernels, t.graphs+g.graphs
		t.keys = addKeys(t.keys, g.keys)
	}
	return t
}

// mean returns the mean number of rows of a step.
func (t *total) mean() float64 { return float64(t.rows) / float64(max(t.n, 1)) }

// eager reports whether most kernels are launched one by one, not in graphs.
func (t *total) eager() bool { return float64(t.graphs) < inGraphs*float64(t.kernels) }

// rowsIn returns the least and the largest number of rows of groups, once if they are the same.
func rowsIn(groups []*group) fact.Fact {
	by := func(x, y *group) int { return cmp.Compare(x.rows, y.rows) }
	low, high := slices.MinFunc(groups, by).rows, slices.MaxFunc(groups, by).rows
	if low == high {
		return fact.Of("light_rows_one", "rows", low)
	}
	return fact.Of("light_rows_range", "low", low, "high", high)
}

// refused adds the modules that cannot be told in some group.
func (t *total) refused(out map[string]bool) {
	for _, g := range t.groups {
		for _, m := range g.modules {
			if m.Why.Key != "" {
				out[m.Module] = true
			}
		}
	}
}

// portions returns the parts of the steps, the modules in the order of execution. The modules in refused count as other
// kernels, without a floor.
func (t *total) portions(refused map[string]bool) *beside {
	out := &beside{parts: map[string]*portion{}}
	compute := int64(0)
	for _, g := range t.groups {
		for _, name := range g.order {
			x := *g.parts[name]
			switch {
			case refused[name] || name == otherKernels: // the rest of the compute
				x.ns, x.floor = 0, 0
				out.part(otherKernels).add(&x)
			default:
				out.part(name).add(&x)
				compute -= x.ns
			}
		}
		s, i := &g.LightStep, &g.IdleBy
		compute += s.Floor + s.Padding + s.Start + s.Slow + s.Unpriced
		for _, p := range []struct {
			name string
			ns   int64
		}{{transfer, s.Transfer}, {"wait", s.Wait}, {"unrecorded", s.Unknown}, {"copy", s.Copy}, {"idle for the host", i.Host}, {"idle in synchronisations", i.Sync}, {"idle for other ranks' hosts", i.Peers},
			{"idle for launches", i.Launch}, {"idle inside graphs or for dependencies", i.Device}, {"idle for the profiler", i.Profiler}, {"idle for unknown reasons", i.Unknown},
			{"idle between steps", i.Between}, {wholeStep, s.Total}} {
			out.part(p.name).ns += p.ns
		}
		out.part(transfer).floor += s.TransferLeast
		out.part(wholeStep).floor += s.Least + s.TransferLeast
	}
	out.part(otherKernels).ns += compute
	for _, p := range out.parts {
		out.part(wholeStep).experts = out.part(wholeStep).experts || p.experts
	}
	return out
}

// diff returns one row for each part of either side, with the whole step last. Means are rounded so that the rows add up to
// the whole step.
func (t *total) diff(other *total, kind string, layers func(part string) int) (out []result.LightDiff) {
	refused := map[string]bool{}
	t.refused(refused)
	other.refused(refused)
	a, b := t.portions(refused), other.portions(refused)
	if len(a.part(string(Head)).names) == 0 != (len(b.part(string(Head)).names) == 0) { // recorded on one side only
		refused[string(Head)] = true
		a, b = t.portions(refused), other.portions(refused)
	}
	names := a.order
	for _, n := range b.order {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	sorts.Stable(names, func(x, y string) int { return cmp.Compare(place(x), place(y)) })
	var sumA, sumB int64
	for _, name := range names {
		x, y := a.part(name), b.part(name)
		d := result.LightDiff{Kind: kind, Part: name, RowsA: t.mean(), RowsB: other.mean(), StepsA: t.steps, StepsB: other.steps,
			Floor: x.floor / int64(t.n), FloorB: y.floor / int64(other.n), Experts: x.experts || y.experts,
			KernelsA: largest(x.names), KernelsB: largest(y.names), SourcesA: largest(x.sites), SourcesB: largest(y.sites)}
		d.Layers = layers(name)
		d.KernelA, d.KernelB = first(d.KernelsA), first(d.KernelsB)
		if name == wholeStep {
			d.A, d.B = rounded(x.ns, t.n), rounded(y.ns, other.n)
		} else {
			d.A, d.B = rounded(sumA+x.ns, t.n)-rounded(sumA, t.n), rounded(sumB+y.ns, other.n)-rounded(sumB, other.n)
			sumA, sumB = sumA+x.ns, sumB+y.ns
		}
		if d.A != 0 || d.B != 0 {
			out = append(out, d)
		}
	}
	return out
}

// layersWith returns the number of layers with a part of a step.
func (m *Model) layersWith(part string) int {
	switch r := Role(part); r {
	case QKV, QKVDown, QUp, KVUp, QAbsorb, VAbsorb, prepares, Attention, O, NormIn, NormPost, Act:
		return m.Layers
	case GateUp, Down, Router, Routing, ExpertsIn, ExpertsOut, ExpertsSum, SharedIn, SharedOut:
		n := 0
		for _, sparse := range m.Sparse {
			if sparse == (r != GateUp && r != Down) {
				n++
			}
		}
		return n
	}
	return 0
}

// place returns the position of a part: modules in their order, then the other kernels, and the parts that are no kernels.
func place(part string) int {
	return 1 + slices.Index([]string{after, otherKernels, transfer, "wait", "unrecorded", "copy", "idle for the host", "idle in synchronisations", "idle for other ranks' hosts",
		"idle for launches", "idle inside graphs or for dependencies", "idle for the profiler", "idle for unknown reasons", "idle between steps", wholeStep}, part)
}

// rounded returns sum/n, rounded to the nearest integer.
func rounded(sum int64, n int) int64 { return int64(math.Round(float64(sum) / float64(n))) }

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}
