// Package graphlayers assigns the kernels of replayed graphs to layers. A replay is a single launch, so ranges on the
// host do not show the layers of its kernels.
//
// Kernels that were launched individually, in another window of the same server or elsewhere in this window, have known
// layers. The kernels of a replay are aligned with these kernels by name and grid (align.go). If there are no such
// kernels, a repeating sequence of kernels is taken for a layer, provided that the end of the sequence is unambiguous
// (motif.go). A node of a graph is in the same layer in all replays.
//
// Kernels with an uncertain layer stay unassigned. If more than a twentieth of the kernels in steps of one kind are
// uncertain, all kernels in steps of that kind stay unassigned. Otherwise, a part of a layer's time would be mistaken
// for the whole time of the layer.
package graphlayers

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

const (
	// Enough is the share of the kernels in steps of one kind for which the place must be known.
	Enough = 0.95
	// surely is the share of known kernels at which no further reference is tried.
	surely = 0.995
)

// Window holds the ranks of one server's window.
type Window struct {
	Ranks []*prep.Rank
	Names *prep.Names
	Name  string // name of the window, as in the report
}

// op is a kernel, reduced to the properties by which it is matched.
type op struct {
	name, key int32 // indices in the explained window's Names; -1: not in that window
	site      int32 // index in Names.Sites of the op's own window; -1: unknown
	class     kernel.Class
}

// unit consists of the ops of a step, up to the last op that is wanted.
type unit struct {
	rank *prep.Rank
	step int32
	ops  []int32
}

// found is the placement of the ops of a unit.
type found struct {
	template *prep.Template
	sites    []int32 // per op: site of the same op of the reference; -1: unknown; nil: no reference
	known    []bool  // whether the place of each op is known; it may be outside all layers
	unsure   int     // number of ops that may be in several layers
	layers   int     // number of layers of a motif
	by       string  // method, as in result.GraphLayers
	why      fact.Fact
}

func (f *found) covered() (n int) {
	for _, k := range f.known {
		if k {
			n++
		}
	}
	return n
}

// Find assigns the kernels of replays to layers, and reports the result for each kind of step. marks are the markers of
// the ranks of both windows. from is another window of the same server, or nil.
func Find(own Window, from *Window, marks *prep.Markers) (out []result.GraphLayers) {
	f := finder{own: own, marks: marks, seen: map[string]*found{}}
	f.motif = from == nil && !slices.ContainsFunc(own.Ranks, func(r *prep.Rank) bool { return r.Source.Rank.PP > 0 })
	if from != nil {
		f.references(*from)
	} else {
		f.references(own)
	}
	byKind := f.place((*prep.Rank).InGraph)
	sure := alike(byKind)
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		k := byKind[kind]
		row := k.row(kind)
		if row.Known && !sure {
			row.Known, row.Why = false, fact.Of("graph_layers_differ")
		}
		if row.Known {
			for i := range k.units {
				u := &k.units[i]
				u.rank.Replay(marks, u.step, u.ops, k.found[i].template)
			}
		}
		out = append(out, row)
	}
	return out
}

// Carry gives kernels the places from which the same kernels were launched in another window of the same server: the
// kernels of replays and, on ranks recorded without Python stacks, all others. It reports the result for each kind of
// step. marks are the markers of the other window's ranks.
func Carry(own, from Window, marks *prep.Markers) (out []result.GraphLayers) {
	f := finder{own: own, marks: marks, seen: map[string]*found{}}
	f.references(from)
	byKind := f.place(siteless)
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		k := byKind[kind]
		row := k.row(kind)
		if row.Known {
			for i := range k.units {
				k.units[i].carry(k.found[i], own.Names, from.Names)
			}
		}
		out = append(out, row)
	}
	return out
}

// siteless reports whether the rank's own recording cannot show the place from which an op was launched.
func siteless(r *prep.Rank, o *prep.Op) bool { return !r.Stacks || r.InGraph(o) }

// carry gives the ops of a unit the sites that were found.
func (u *unit) carry(found *found, own, from *prep.Names) {
	for i, site := range found.sites {
		if site >= 0 && siteless(u.rank, &u.rank.Ops[u.ops[i]]) {
			u.rank.Carry(u.ops[i], own.Site(from.Sites[site]))
		}
	}
}

// place finds the placement of the ops of all steps with wanted ops, by kind of step.
func (f *finder) place(wanted func(*prep.Rank, *prep.Op) bool) map[trace.StepKind]*kindOf {
	byKind := map[trace.StepKind]*kindOf{}
	for _, r := range f.own.Ranks {
		for _, u := range unitsOf(r, wanted) {
			kind := r.KindAt(u.step)
			k := byKind[kind]
			if k == nil {
				k = &kindOf{}
				byKind[kind] = k
			}
			k.add(u, f.find(&u))
		}
	}
	return byKind
}

// kindOf holds the steps with wanted ops of one kind.
type kindOf struct {
	units []unit
	found []*found
}

func (k *kindOf) add(u unit, f *found) {
	k.units, k.found = append(k.units, u), append(k.found, f)
}

func (k *kindOf) row(kind trace.StepKind) result.GraphLayers {
	row := result.GraphLayers{Kind: prep.KindName(kind), Steps: len(k.units)}
	var covered, unsure int
	by := map[string]int{}
	for i, f := range k.found {
		row.Kernels += len(k.units[i].ops)
		covered += f.covered()
		unsure += f.unsure
		if by[f.by] += f.covered(); f.covered() > 0 && by[f.by] > by[row.By] || row.By == "" {
			row.By = f.by
		}
		if row.Why.Key == "" {
			row.Why = f.why
		}
	}
	row.Covered, row.Unsure = metric.Share(int64(covered), int64(row.Kernels)), metric.Share(int64(unsure), int64(row.Kernels))
	if row.Known = row.Covered >= Enough; row.Known {
		row.Why = fact.Fact{}
	}
	return row
}

type finder struct {
	own   Window
	marks *prep.Markers
	refs  []*reference
	motif bool
	seen  map[string]*found // results by sequence of kernels
}

// unitsOf returns the steps of a rank with wanted ops.
func unitsOf(r *prep.Rank, wanted func(*prep.Rank, *prep.Op) bool) (out []unit) {
	last := map[int32]int{} // per step: index in the unit of the last wanted op, plus 1
	at := map[int32]int{}
	for i := range r.Ops {
		o := &r.Ops[i]
		if o.Step < 0 {
			continue
		}
		n, ok := at[o.Step]
		if !ok {
			if !wanted(r, o) {
				continue
			}
			n = len(out)
			at[o.Step] = n
			out = append(out, unit{rank: r, step: o.Step})
		}
		out[n].ops = append(out[n].ops, int32(i))
		if wanted(r, o) {
			last[o.Step] = len(out[n].ops)
		}
	}
	for i := range out {
		out[i].ops = out[i].ops[:last[out[i].step]]
	}
	return out
}

// opsOf returns the ops of a unit of the explained window.
func (f *finder) opsOf(u *unit) []op {
	out := make([]op, len(u.ops))
	for i, at := range u.ops {
		o := &u.rank.Ops[at]
		out[i] = op{o.Name, o.Key, -1, o.Class}
	}
	return out
}

// find returns the placement of a unit's ops. Units with equal ops have the same placement, which is computed only
// once.
func (f *finder) find(u *unit) *found {
	ops := f.opsOf(u)
	of := hash(ops)
	if f.seen[of] == nil {
		f.seen[of] = f.search(u, ops)
	}
	return f.seen[of]
}

func hash(ops []op) string {
	b := make([]byte, 0, 4*len(ops))
	for _, o := range ops {
		b = binary.LittleEndian.AppendUint32(b, uint32(o.key))
	}
	return string(b)
}

func (f *finder) search(u *unit, ops []op) *found {
	best := &found{known: make([]bool, len(ops)), why: fact.Of("graph_layers_nothing")}
	for _, ref := range f.nearest(u) {
		if x := align(ops, ref); x.covered() > best.covered() || best.by == "" {
			best = x
		}
		if float64(best.covered()) >= surely*float64(len(ops)) {
			return best
		}
	}
	if f.motif && float64(best.covered()) < Enough*float64(len(ops)) {
		if x := motif(ops); x.covered() > best.covered() || len(f.refs) == 0 {
			best = x
			if x.layers > 0 {
				x.template = f.marks.Nameless("layers", x.template.Of)
			}
		}
	}
	return best
}

// alike reports whether all motifs have the same number of layers. If not, the same layer has different numbers in
// different steps.
func alike(byKind map[trace.StepKind]*kindOf) bool {
	layers := 0
	for _, k := range byKind {
		for _, f := range k.found {
			if f.layers > 0 && layers > 0 && f.layers != layers {
				return false
			}
			layers = max(layers, f.layers)
		}
	}
	return true
}
