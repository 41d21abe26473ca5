package retime

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/stepscope/stepscope/trace"
)

// Wide extends a capture of one tensor-parallel group to n ranks. It copies the ranks in turn; all copies take part in
// the same collectives. Resample makes the copies differ.
func Wide(ts []*trace.Trace, n int) []*trace.Trace {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprint(i))
	}
	group := []byte("[" + strings.Join(list, ", ") + "]")
	out := make([]*trace.Trace, n)
	for i := range out {
		t := clone(ts[i%len(ts) : i%len(ts)+1])[0]
		s := &t.Source
		s.Rank = trace.Rank{TP: i, DP: -1, PP: -1, EP: -1}
		s.World = trace.World{Known: true, Rank: i, Size: n}
		s.Path = trace.FileName{ID: "wide", Rank: s.Rank}.String()
		s.TraceID = fmt.Sprintf("%032x", i)
		all := t.Strings.Intern(group)
		for k := range t.Comms {
			if c := &t.Comms[k]; int(c.GroupSize) == len(ts) {
				c.GroupSize, c.Ranks = int32(n), all
			}
		}
		out[i] = t
	}
	return out
}

// Straggler returns a capture with n different ranks. From step number from onwards, the host of rank late is delayed
// by ns in each step.
func Straggler(ts []*trace.Trace, n, late, from int, ns int64) ([]*trace.Trace, error) {
	m := New(Wide(ts, n))
	m.Resample(rand.New(rand.NewPCG(uint64(n), 1)))
	for step := from; step < m.Steps; step++ {
		m.Pause(late, step, ns)
	}
	return m.Run()
}

// Groups copies a capture of one tensor-parallel group n times. The copies are data-parallel groups that share no
// collectives.
func Groups(ts []*trace.Trace, n int) (out []*trace.Trace) {
	for g := range n {
		for i, t := range clone(ts) {
			s := &t.Source
			s.Rank = trace.Rank{TP: i, DP: g, PP: -1, EP: -1}
			s.World = trace.World{Known: true, Rank: i, Size: len(ts)}
			s.Path = trace.FileName{ID: "groups", Rank: s.Rank}.String()
			s.TraceID = fmt.Sprintf("%032x", len(out))
			out = append(out, t)
		}
	}
	return out
}
