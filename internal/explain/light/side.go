package light

import (
	"cmp"
	"maps"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Parts of a step that are no single module.
const (
	prepares     = "q/k norm, rope, KV write" // all kernels between qkv_proj and attention
	before       = "before the layers"
	after        = "after the layers"
	otherKernels = "other kernels"
	transfer     = "transfer"
	wholeStep    = "step"
)

// Side is one side of a comparison by roles.
type Side struct {
	Name   string // "A" or "B"
	Engine string // SGLang or vLLM; "": not known
	model  *Model
	device string
	layout string
	stacks bool
	stages int       // of a pipeline
	why    fact.Fact // reason if nothing can be compared
	groups []group
}

// group holds the steps of a kind on a rank, the kernels of which computed the same number of rows.
type group struct {
	stepKey
	result.LightStep
	*beside
	modules []result.LightModule
}

// beside holds what a comparison needs of a group's steps in addition to their times.
type beside struct {
	parts           map[string]*portion
	order           []string
	keys            int64 // keys that the queries see, summed over steps; -1: not known
	kernels, graphs int   // kernels with a known launch, and those in graphs
}

// portion holds the kernels of a part of the steps.
type portion struct {
	ns      int64            // in which no earlier kernel computes
	names   map[string]int64 // time by kernel
	sites   map[string]int64 // time by the place of the launch
	floor   int64
	experts bool // whether the floor depends on the choice of experts
}

// part returns a part of the steps, which it adds if there is none yet.
func (b *beside) part(name string) *portion {
	p := b.parts[name]
	if p == nil {
		p = &portion{names: map[string]int64{}, sites: map[string]int64{}}
		b.parts[name], b.order = p, append(b.order, name)
	}
	return p
}

// add adds another portion.
func (p *portion) add(x *portion) {
	p.ns, p.floor, p.experts = p.ns+x.ns, p.floor+x.floor, p.experts || x.experts
	for k, ns := range x.names {
		p.names[k] += ns
	}
	for k, ns := range x.sites {
		p.sites[k] += ns
	}
}

// SideOf returns a window as a side of a comparison; only, if set, is the label of the rank that counts. borrowed means that
// the model is that of the other side. The window must then confirm the model by the grids of its products.
func SideOf(name string, a *match.Aligned, steps []result.Step, opt Options, only string, borrowed bool) *Side {
	s := &Side{Name: name, Engine: [...]string{"", "SGLang", "vLLM"}[engineOf(a.Ranks)], model: opt.Model}
	for _, r := range a.Ranks {
		s.stacks = s.stacks || r.Stacks
	}
	layout, why := opt.complete(a.Ranks)
	if s.why = why; why.Key != "" {
		return s
	}
	s.device, s.layout, s.stages = opt.Device.Name, layout.String(), layout.PP
	_, whole := compare(a, steps, opt, layout, false)
	switch s.why = whole.Why; {
	case s.why.Key != "":
		return s
	case borrowed && len(whole.Modules) > 0 && !slices.ContainsFunc(whole.Modules, func(m result.LightModule) bool { return m.Grid }):
		s.why = fact.Of("light_borrowed")
		return s
	}
	c, all := compare(a, steps, opt, layout, true)
	at := map[stepKey]int{}
	for i, k := range c.kinds {
		if only == "" || k.rank == only {
			at[k] = len(s.groups)
			s.groups = append(s.groups, group{stepKey: k, LightStep: all.Steps[i], beside: c.beside[k]})
		}
	}
	for i, k := range c.order {
		if g, ok := at[k.stepKey]; ok {
			s.groups[g].modules = append(s.groups[g].modules, all.Modules[i])
		}
	}
	return s
}

// comparable reports whether a step can be compared with those of another window: not the first one, in which the profilers
// start, nor one that some rank lacks.
func (c *comparer) comparable(r *match.Rank, i int) bool {
	n := i + r.First
	return (n > 0 || c.a.Steps == 1) && c.a.Made(n) && !r.Lacks(n)
}

// head reports whether the kernels of a step include the head.
func (x *assigned) head() bool {
	return x != nil && slices.ContainsFunc(x.places, func(p Place) bool { return p.Role == Head })
}

// keep adds the kernels of a step to its group.
func (c *comparer) keep(r *match.Rank, x *assigned, exposed []int64) {
	b := c.beside[x.key]
	if b == nil {
		b = &beside{parts: map[string]*portion{}}
		c.beside[x.key] = b
	}
	b.keys = addKeys(b.keys, x.batch.surely())
	var last Role // of the latest heavy kernel
	for i, p := range x.places {
		o := &r.Ops[x.ops[i]]
		if o.Class == kernel.Copy {
			continue
		}
		if o.Call >= 0 {
			b.kernels++
			if r.InGraph(o) {
				b.graphs++
			}
		}
		if heavy(x.list[i]) && p.Role != Unknown {
			last = p.Role
		}
		t := b.part(x.m.partOf(p, last, o.Class))
		t.ns += exposed[x.ops[i]]
		t.names[x.list[i].Name] += o.End - o.Start
		if site := r.SiteOf(int(x.ops[i])); site >= 0 {
			s := &c.a.Names.Sites[site]
			t.sites[cmp.Or(s.Frame, s.Op)] += o.End - o.Start
		}
	}
}

// addKeys adds numbers of keys; -1: not known.
func addKeys(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// surely returns the keys, or -1 if their bounds differ too much for a comparison.
func (b *Batch) surely() int64 {
	if b.KeysMost > 0 && float64(b.KeysMost) > (1+alikeContexts)*float64(b.Keys) {
		return -1
	}
	return b.Keys
}

// partOf returns the part of a step to which a kernel after the heavy kernel last belongs.
func (m *Model) partOf(p Place, last Role, class kernel.Class) string {
	switch {
	case class == kernel.Comm:
		return transfer
	case p.Role == QKNorm, p.Role == Rope, p.Role == KVWrite, p.Role == Unknown && last == QKV:
		return prepares
	case p.Role != Unknown:
		return string(p.Role)
	case p.Layer < 0:
		return before
	case p.Layer == m.Layers:
		return after
	}
	return otherKernels
}

// largest returns the keys of sums, the largest first, without those below a tenth of the whole.
func largest(sums map[string]int64) (out []string) {
	whole := int64(0)
	for _, ns := range sums {
		whole += ns
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if name != "" && sums[name]*10 >= whole {
			out = append(out, name)
		}
	}
	sorts.Stable(out, func(x, y string) int { return cmp.Compare(sums[y], sums[x]) })
	return out
}
