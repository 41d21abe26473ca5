package light

import (
	"strings"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/trace"
)

// assigned holds a step with the tasks of its kernels.
type assigned struct {
	key    stepKey
	m      *Model
	ops    []int32
	list   []Kernel
	places []Place // nil: they are not known
	why    fact.Fact
	batch  Batch
	known  bool   // whether the batch is known
	graph  bool   // whether the batch is that of the graph
	rows   int    // that the kernels computed
	from   string // source of the contexts; "": only bounds
	far    int64  // ns between the step and the sample of the contexts
}

// assign assigns a task to each of the given kernels of a step.
func (c *comparer) assign(r *match.Rank, i int, ops []int32) *assigned {
	kind := r.Steps[i].Info.Kind
	x := &assigned{key: stepKey{rank: r.Label, kind: kind.String()}, m: c.m.stage(max(r.Source.Rank.PP, 0), c.l.PP), ops: ops, list: make([]Kernel, len(ops))}
	for k, at := range ops {
		o := &r.Ops[at]
		x.list[k] = Kernel{Name: c.a.Names.List[o.Name], Grid: c.a.Names.Keys[o.Key].Grid, Class: o.Class, Track: o.Track}
	}
	if x.m == nil {
		x.why = fact.Of("light_pipeline", "layers", c.m.Layers, "stages", c.l.PP)
	} else if x.places, x.why = x.m.Places(x.list, kind); x.places != nil {
		c.input(x, r, i)
	}
	if c.beside != nil {
		if x.key.rows = -1; x.known {
			x.key.rows = x.rows
		}
	}
	return x
}

// input sets the batch of a step and the source of its contexts.
func (c *comparer) input(x *assigned, r *match.Rank, i int) {
	decode := r.Steps[i].Info.Kind == trace.Decode
	x.rows = rowsOf(x.list, x.places)
	x.batch, x.known = c.batch(r, i)
	x.from = fromNames
	if !x.known && x.rows > 0 && decode { // one token a request
		x.batch, x.known, x.graph = Batch{Tokens: x.rows, Requests: x.rows, Keys: -1, Pairs: -1}, true, true
		if c.routed != nil {
			x.batch.Routed = x.rows * (c.l.TP / c.l.AttnTP)
		}
	}
	b := &x.batch
	if b.KVBytes = c.cache; b.Keys < 0 {
		x.from = ""
		if decode && b.Tokens == b.Requests {
			if x.from, x.far = c.sampled(b, r.Source.Rank.DP, r.Wall(r.Steps[i].Start), c.pace, x.graph); x.from == "" {
				b.KeysMost = c.most(0, b.Requests)
			}
		}
	}
	x.rows = max(x.rows, b.Tokens)
}

// batch returns the input of a step, as far as its name contains it.
func (c *comparer) batch(r *match.Rank, i int) (Batch, bool) {
	s := &r.Steps[i].Info
	b := Batch{Tokens: s.Tokens, Requests: s.Batch, Keys: -1, Pairs: -1, Prefill: s.Kind == trace.Prefill}
	if s.Kind == trace.Decode && s.Tokens < 0 {
		b.Tokens = s.Batch
	}
	if b.Tokens < 1 || b.Requests < 1 {
		return b, false
	}
	if q := s.Context.Q + s.Generation.Q; q > 0 && s.Context.K+s.Generation.K > 0 {
		b.Keys = int64(s.Context.K + s.Generation.K)
		b.Pairs = int64(s.Context.QK+s.Generation.QK) - (int64(s.Context.QQ+s.Generation.QQ)-int64(q))/2
	}
	if c.routed != nil {
		b.Routed = c.routed[i+r.First]
	}
	return b, true
}

// rowsOf returns the number of rows that the kernels of a step computed: the blocks of its norms, which compute one row
// each. It returns 0 if the step has no such norms, or if they differ.
func rowsOf(list []Kernel, places []Place) (rows int) {
	for i, k := range list {
		if (places[i].Role == NormIn || places[i].Role == NormPost) && strings.Contains(k.Name, "RMSNormKernel") {
			if n := int(k.Grid[0]); rows == 0 {
				rows = n
			} else if n != rows {
				return 0
			}
		}
	}
	return rows
}
