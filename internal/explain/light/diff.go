package light

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// alikeRows is the largest relative difference between the rows of the steps of two windows that are compared.
const alikeRows = 0.1

// Diff compares two windows of one model by the roles of their kernels, so kernels may have any names. It returns a reason
// if no kind of steps can be compared: the device, the layout or the batch differs, or kernels have no known role.
func Diff(a, b *result.Light) (out []result.LightDiff, why fact.Fact) {
	switch {
	case a.Why.Key != "":
		return nil, a.Why
	case b.Why.Key != "":
		return nil, b.Why
	case a.Device != b.Device:
		return nil, fact.Of("light_devices", "one", a.Device, "other", b.Device)
	case a.Layout != b.Layout:
		return nil, fact.Of("light_layouts", "one", a.Layout, "other", b.Layout)
	}
	why = fact.Of("light_kinds")
	var found []string
	for i := range a.Steps {
		kind := a.Steps[i].Kind
		if slices.Contains(found, kind) {
			continue
		}
		found = append(found, kind)
		refused := map[string]bool{} // on either side
		for _, l := range []*result.Light{a, b} {
			for _, m := range l.Modules {
				if m.Kind == kind && m.Why.Key != "" {
					refused[m.Module] = true
				}
			}
		}
		ma, mb := meanOf(a, kind, refused), meanOf(b, kind, refused)
		switch {
		case mb.ranks == 0:
		case ma.why.Key != "":
			why = ma.why
		case mb.why.Key != "":
			why = mb.why
		case math.Abs(ma.rows-mb.rows) > alikeRows*max(ma.rows, mb.rows):
			why = fact.Of("light_rows", "one", ma.rows, "other", mb.rows, "kind", kind)
		default:
			out = append(out, ma.diff(mb, kind)...)
		}
	}
	if len(out) > 0 {
		why = fact.Fact{}
	}
	return out, why
}

// mean holds the means of a kind of steps over steps and ranks, in ns.
type mean struct {
	ranks  int
	rows   float64
	parts  map[string]float64
	floors map[string]float64
	kernel map[string]string
	order  []string // parts, in the order of execution
	why    fact.Fact
}

// Parts that are no modules.
const (
	otherKernels = "other kernels"
	wholeStep    = "step"
)

// meanOf returns the means of a kind of steps. The time of refused modules counts as that of other kernels.
func meanOf(l *result.Light, kind string, refused map[string]bool) *mean {
	m := &mean{parts: map[string]float64{}, floors: map[string]float64{}, kernel: map[string]string{}}
	steps := map[string]float64{}
	for i := range l.Steps {
		if s := &l.Steps[i]; s.Kind == kind {
			m.ranks++
			steps[s.Rank] = float64(s.Steps)
			m.rows += float64(s.Rows) / float64(max(s.Told, 1))
			if s.Told < s.Steps {
				m.why = s.Why
			}
		}
	}
	m.rows /= float64(max(m.ranks, 1))
	add := func(rank, part string, ns int64) {
		if _, ok := m.parts[part]; !ok {
			m.order = append(m.order, part)
		}
		m.parts[part] += float64(ns) / steps[rank] / float64(m.ranks)
	}
	for i := range l.Modules {
		x := &l.Modules[i]
		switch {
		case x.Kind != kind || x.Why.Key != "": // its time is already among other kernels
		case refused[x.Module]:
			add(x.Rank, otherKernels, x.Time)
		default:
			add(x.Rank, x.Module, x.Time)
			m.floors[x.Module] += float64(x.Floor) / steps[x.Rank] / float64(m.ranks)
			m.kernel[x.Module] = cmp.Or(m.kernel[x.Module], x.Kernel)
		}
	}
	for i := range l.Steps {
		if s := &l.Steps[i]; s.Kind == kind {
			for _, p := range []struct {
				name string
				ns   int64
			}{{otherKernels, s.Unpriced}, {"transfer", s.Transfer}, {"wait", s.Wait}, {"unrecorded", s.Unknown}, {"copy", s.Copy}, {"idle", s.Idle}, {wholeStep, s.Total}} {
				add(s.Rank, p.name, p.ns)
			}
		}
	}
	return m
}

// diff returns one row for each part of either side, in the order of a, with the whole step last.
func (m *mean) diff(b *mean, kind string) (out []result.LightDiff) {
	names := slices.Clone(m.order)
	for _, n := range b.order {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	slices.SortStableFunc(names, func(x, y string) int { return result.First(y == wholeStep, x == wholeStep) })
	for _, n := range names {
		d := result.LightDiff{Kind: kind, Part: n, A: int64(math.Round(m.parts[n])), B: int64(math.Round(b.parts[n])), Floor: int64(m.floors[n]), FloorB: int64(b.floors[n]),
			KernelA: m.kernel[n], KernelB: b.kernel[n]}
		if d.A != 0 || d.B != 0 {
			out = append(out, d)
		}
	}
	return out
}
