package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// moduleKey is a module's kind in steps of one bucket.
type moduleKey struct {
	bucket
	name string
}

// addModules adds an op to the modules that it was launched in: took is its share
// of the n-th sample of its bucket, which has of samples.
func (h *half) addModules(r *rank, o *op, b bucket, n, of int, took float64) {
	for at := r.rangeAt(o); at >= 0; at = r.ranges[at].parent {
		g := &r.ranges[at]
		if !g.firstGroup {
			continue
		}
		key := moduleKey{b, h.a.marks.groups[h.a.marks.modules[g.module].group].Name()}
		if h.modules[key] == nil {
			h.modules[key] = make([]float64, of)
		}
		h.modules[key][n] += took
	}
}

// modules compares modules, if both sides have layer-wise markers.
func (c *Comparison) modules(a, b *half) {
	switch {
	case a.a.marks == nil && b.a.marks == nil:
		return
	case a.a.marks == nil || b.a.marks == nil:
		with := b
		if b.a.marks == nil {
			with = a
		}
		c.Notes = append(c.Notes, fmt.Sprintf("only %s has layer-wise markers: modules are not compared, and the markers themselves take time on the host", with.a.report.Source.ID))
		return
	}
	keys := map[moduleKey]bool{}
	for _, h := range []*half{a, b} {
		for k := range h.modules {
			keys[k] = true
		}
	}
	for k := range keys {
		if a.steps[k.bucket] == nil || b.steps[k.bucket] == nil {
			continue
		}
		d := ModuleDiff{Kind: k.kind, Mode: k.mode, Batch: k.batch, Module: k.name, Change: change(a.modules[k], b.modules[k])}
		if total := a.total[k.bucket]; total > 0 {
			d.Effect = (orZero(d.B) - orZero(d.A)) / total
		}
		c.Modules = append(c.Modules, d)
	}
	slices.SortFunc(c.Modules, func(x, y ModuleDiff) int {
		return cmp.Or(cmp.Compare(math.Abs(y.Effect), math.Abs(x.Effect)), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Mode, y.Mode),
			cmp.Compare(x.Batch, y.Batch), cmp.Compare(x.Module, y.Module))
	})
	rows := make([]*Change, len(c.Modules))
	for i := range c.Modules {
		rows[i] = &c.Modules[i].Change
	}
	adjust(rows)
	for i := range c.Modules {
		c.Modules[i].Verdict = c.Modules[i].verdict()
		c.Modules[i].clean()
	}
}
