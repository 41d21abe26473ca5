package tables

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// siteSum sums up the kernels of one name in steps of one kind that were launched from one place.
type siteSum struct {
	result.KernelSource
	layers map[int32]bool
}

// Sources adds to each row the places in the program that launched the kernel.
func Sources(a *match.Aligned, rows []result.KernelRow) (out result.Sites) {
	type row struct{ kind, name string }
	type use struct {
		kind string
		name int32
		site int32
	}
	uses := map[use]*siteSum{}
	for _, r := range a.Ranks {
		out.Stacks = out.Stacks || r.Stacks
		out.Kernels += len(r.Ops)
		for i := range r.Ops {
			o := &r.Ops[i]
			site := r.SiteOf(i)
			switch {
			case site < 0 && r.InGraph(o):
				out.InGraphs++
				continue
			case site < 0:
				continue
			case r.Carried(i):
				out.Carried++
			}
			out.Told++
			u := at(uses, use{prep.KindName(r.KindAt(o.Step)), o.Name, site})
			u.Count++
			u.Total += o.End - o.Start
		}
	}
	if out.Told == 0 {
		return out
	}
	sums := map[row]map[result.KernelSource]*siteSum{}
	for u, x := range uses {
		s := &a.Names.Sites[u.site]
		place := result.KernelSource{Frame: s.Frame, Module: s.Module, Op: s.Op}
		for _, kind := range []string{u.kind, "all"} {
			of := row{kind, a.Names.List[u.name]}
			if sums[of] == nil {
				sums[of] = map[result.KernelSource]*siteSum{}
			}
			sum := at(sums[of], place)
			sum.KernelSource.Count += x.Count
			sum.Total += x.Total
			if sum.layers == nil {
				sum.layers = map[int32]bool{}
			}
			if s.Layer >= 0 {
				sum.layers[s.Layer] = true
			}
		}
	}
	for i := range rows {
		for place, x := range sums[row{rows[i].Kind, rows[i].Name}] {
			place.Count, place.Total, place.Layers = x.Count, x.Total, ranges(x.layers)
			rows[i].Sources = append(rows[i].Sources, place)
		}
		slices.SortFunc(rows[i].Sources, func(x, y result.KernelSource) int {
			return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(y.Total, x.Total), cmp.Compare(x.Frame, y.Frame), cmp.Compare(x.Module, y.Module), cmp.Compare(x.Op, y.Op))
		})
	}
	return out
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
