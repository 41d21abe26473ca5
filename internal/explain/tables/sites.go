package tables

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// siteSum sums up the kernels of one name in steps of one kind that were launched from one place.
type siteSum struct {
	result.KernelSource
	layers map[int32]bool
}

// siteUse identifies kernels of one name that were launched from one place in steps of one kind.
type siteUse struct {
	kind string
	name int32
	site int32 // -1: unknown, in a graph
}

// Sources adds to each row the places in the program that launched the kernel.
func Sources(a *match.Aligned, rows []result.KernelRow) (out result.Sites) {
	uses := map[siteUse]*siteSum{}
	for _, r := range a.Ranks {
		out.Stacks = out.Stacks || r.Stacks
		out.Kernels += len(r.Ops)
		for i := range r.Ops {
			o := &r.Ops[i]
			site := r.SiteOf(i)
			switch {
			case site >= 0:
				out.Told++
			case r.InGraph(o):
				out.InGraphs++
			default:
				continue
			}
			if r.Carried(i) {
				out.Carried++
			}
			if len(a.Names.Sites) > 0 {
				u := at(uses, siteUse{prep.KindName(r.KindAt(o.Step)), o.Name, site})
				u.Count++
				u.Total += o.End - o.Start
			}
		}
	}
	type key struct{ kind, name string }
	sums := map[key]map[result.KernelSource]*siteSum{}
	graphs := map[key]int{}
	for u, x := range uses {
		for _, kind := range []string{u.kind, "all"} {
			of := key{kind, a.Names.List[u.name]}
			if u.site < 0 {
				graphs[of] += x.Count
				continue
			}
			if sums[of] == nil {
				sums[of] = map[result.KernelSource]*siteSum{}
			}
			s := &a.Names.Sites[u.site]
			at(sums[of], result.KernelSource{Frame: s.Frame, Module: s.Module, Op: s.Op}).add(x, s.Layer)
		}
	}
	for i := range rows {
		of := key{rows[i].Kind, rows[i].Name}
		rows[i].InGraphs = graphs[of]
		for place, x := range sums[of] {
			place.Count, place.Total, place.Layers = x.Count, x.Total, ranges(x.layers)
			rows[i].Sources = append(rows[i].Sources, place)
		}
		sorts.By(rows[i].Sources, func(x, y result.KernelSource) int {
			return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(y.Total, x.Total), cmp.Compare(x.Frame, y.Frame), cmp.Compare(x.Module, y.Module), cmp.Compare(x.Op, y.Op))
		})
	}
	return out
}

// add adds the kernels of one layer; -1: of none.
func (s *siteSum) add(x *siteSum, layer int32) {
	s.Count += x.Count
	s.Total += x.Total
	if layer >= 0 {
		if s.layers == nil {
			s.layers = map[int32]bool{}
		}
		s.layers[layer] = true
	}
}

// ranges returns numbers as ranges, as in "0-3, 5".
func ranges(set map[int32]bool) string {
	var parts []string
	numbers := slices.Sorted(maps.Keys(set))
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		part := fmt.Sprint(numbers[i])
		if j > i {
			part += fmt.Sprintf("-%d", numbers[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ", ")
}
