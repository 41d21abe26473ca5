// Package graphlayers tells in which layers kernels of replayed graphs are. A replay is one
// launch, so no range on the host says it.
//
// What was launched one by one, in a window of the same server or elsewhere in this one,
// has layers: a step's kernels are aligned with it by names and grids (align.go). Without
// that, kernels that repeat are layers if it is sure where one ends (motif.go). A node of a
// graph is the same in all replays of it.
//
// What is not sure is left open, and where more than a twentieth of the kernels is, all of
// it: half a layer's time looks like a layer's.
package graphlayers

import (
	"encoding/binary"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

const (
	// Enough is the share of a kind's kernels whose place must be known.
	Enough = 0.95
	// surely is the share from which on no other reference is tried.
	surely = 0.995
)

// Window is the ranks of one server's window.
type Window struct {
	Ranks []*prep.Rank
	Names *prep.Names
	Name  string // as the report calls it
}

// op is a kernel by what it can be known again by.
type op struct {
	name, key int32 // in the window's Names; -1: it has none like it
	class     kernel.Class
}

// unit is the ops of a step that replays graphs, from the first to the last of a replay.
type unit struct {
	rank *prep.Rank
	step int32
	ops  []int32
}

// found is where the ops of a unit are.
type found struct {
	template *prep.Template
	known    []bool // an op's place, which may be in no layer
	unsure   int    // ops that may be in several layers
	layers   int    // of a motif
	by       string // of result.GraphLayers
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

// Find puts the kernels of replays into layers, kind of steps by kind. marks are those of
// the ranks of both windows; from may be nil.
func Find(own Window, from *Window, marks *prep.Markers) (out []result.GraphLayers) {
	f := finder{own: own, marks: marks, seen: map[string]*found{}}
	f.motif = from == nil && !slices.ContainsFunc(own.Ranks, func(r *prep.Rank) bool { return r.Source.Rank.PP > 0 })
	if from != nil {
		f.references(*from)
	} else {
		f.references(own)
	}
	byKind := map[trace.StepKind]*kindOf{}
	var kinds []trace.StepKind
	for _, r := range own.Ranks {
		for _, u := range unitsOf(r) {
			kind := r.KindAt(u.step)
			k := byKind[kind]
			if k == nil {
				k = &kindOf{}
				byKind[kind] = k
				kinds = append(kinds, kind)
			}
			k.add(u, f.find(&u))
		}
	}
	slices.Sort(kinds)
	sure := alike(byKind)
	for _, kind := range kinds {
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

// kindOf is the steps of one kind that replay graphs.
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
	seen  map[string]*found // by what runs
}

// unitsOf are the steps of a rank that replay graphs.
func unitsOf(r *prep.Rank) (out []unit) {
	last := map[int32]int{} // of steps: place of the last op of a replay in the unit, + 1
	at := map[int32]int{}
	for i := range r.Ops {
		o := &r.Ops[i]
		if o.Step < 0 {
			continue
		}
		n, ok := at[o.Step]
		if !ok {
			if !r.InGraph(o) {
				continue
			}
			n = len(out)
			at[o.Step] = n
			out = append(out, unit{rank: r, step: o.Step})
		}
		out[n].ops = append(out[n].ops, int32(i))
		if r.InGraph(o) {
			last[o.Step] = len(out[n].ops)
		}
	}
	for i := range out {
		out[i].ops = out[i].ops[:last[out[i].step]]
	}
	return out
}

// opsOf are the ops of a unit of the window.
func (f *finder) opsOf(u *unit) []op {
	out := make([]op, len(u.ops))
	for i, at := range u.ops {
		o := &u.rank.Ops[at]
		out[i] = op{o.Name, o.Key, o.Class}
	}
	return out
}

// find says where the ops of a unit are: units of the same ops are alike.
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

// alike tells that all motifs repeat as often: otherwise some layers have another number
// in one step than in another.
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
