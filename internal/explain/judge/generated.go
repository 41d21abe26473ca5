package judge

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// This file handles generated kernels. A compiler such as Triton or Inductor chooses how many outputs each block
// computes, and may choose differently on each rank. The number of blocks is then no measure of work.

// grids describes the launches of one kernel name in a step.
type grids struct {
	keys [][]int32 // per rank, the kernel keys
	busy int64     // time over all ranks, ns
}

// differ reports whether ranks run the kernel with different grids.
func (g *grids) differ() bool {
	var first []int32
	for _, keys := range g.keys {
		if slices.Sort(keys); first == nil {
			first = keys
		}
		if keys != nil && !slices.Equal(keys, first) {
			return true
		}
	}
	return false
}

// configured returns the generated kernels that do the same work on all ranks in step n although their grids differ.
// If inputs differ, the grids of most generated kernels or of other kernels differ too, and configured returns nil.
func (d *Domain) configured(n int, names *prep.Names, generated []bool) map[int32]bool {
	all := map[int32]*grids{}
	for i := range d.Ranks {
		w := d.work[i][n]
		if w == nil {
			continue
		}
		for _, k := range w.keys {
			g := all[k.name]
			if g == nil {
				g = &grids{keys: make([][]int32, len(d.Ranks))}
				all[k.name] = g
			}
			g.keys[i] = append(g.keys[i], k.key)
			g.busy += k.busy
		}
	}
	out, same := map[int32]bool{}, 0
	var others, differing int64 // time of other kernels
	for name, g := range all {
		differ := g.differ()
		switch {
		case generated[name] && differ:
			out[name] = true
		case generated[name]:
			same++
		case !kernel.DataDependent(names.Class[name]):
			others += g.busy
			if differ {
				differing += g.busy
			}
		}
	}
	if len(out) > same && (others == 0 || len(out) > 1) || float64(differing) > workShare*float64(others) || d.moreInput(n) {
		return nil
	}
	return out
}

// moreInput reports whether the rank that computes longest in step n has more requests or tokens than other ranks,
// according to the names of the steps.
func (d *Domain) moreInput(n int) bool {
	longest := -1
	for i := range d.Ranks {
		if w := d.work[i][n]; w != nil && (longest < 0 || w.total > d.work[longest][n].total) {
			longest = i
		}
	}
	return longest >= 0 && slices.ContainsFunc(inputs, func(in input) bool {
		mine, others := d.said(longest, []int{n}, in.of)
		return in.reason != reasonContexts && len(others) > 0 && mine > metric.Median(others)
	})
}

// slowConfigurations reports whether slower configurations of generated kernels account for more than half of the
// excess of a rank's device.
func slowConfigurations(names *prep.Names, late []lateness, steps []int) bool {
	var all, slow int64
	for _, n := range steps {
		for key, e := range late[n].extra {
			all += e.slow + e.late
			if late[n].configured[names.Keys[key].Name] {
				slow += e.slow
			}
		}
	}
	return slow > 0 && 2*slow > all
}

// withConfiguration adds to evidence about a slower generated kernel that its grid differs although the work is the
// same.
func (d *Domain) withConfiguration(names *prep.Names, i int, steps []int, e result.Evidence) fact.Fact {
	mine, others, _ := d.blocks(names, i, steps, e)
	if len(others) == 0 || mine == metric.Median(others) {
		return e.Text
	}
	return fact.Of("kernel_configured", "what", e.Text, "mine", mine, "others", metric.Median(others))
}
