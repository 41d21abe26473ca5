package prep

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/trace"
)

// HostCollective is a rank's part of a collective between hosts, such as the gloo broadcast in which SGLang's
// schedulers meet before each step.
type HostCollective struct {
	Interval          // from the rank's arrival to the end of the rank's part
	Op       string   // name, such as gloo:broadcast
	Blocked  Interval // wait of the launching thread in Interval; empty if the thread was active for half of Interval
	Step     int32    // the step that contains or follows the collective; -1: none
}

// hostCollective matches the names of host collectives. Annotations of PyTorch's CPU backends (c10d,
// ProcessGroupGloo.cpp) are on a thread of the backend. Annotations of vLLM's shared-memory collectives
// (csrc/cpu/shm.cpp) are on the calling thread. hostCollective does not match sends.
var hostCollective = regexp.MustCompile(`^(?:(?:gloo|mpi|ucc):[a-z_0-9]*(?:reduce|gather|scatter|broadcast|all_?to_?all|barrier)[a-z_0-9]*|(?:_C|vllm|sgl_kernel|torch\.ops\._C)(?:::|\.)shm_(?:allreduce|all_gather|gather|broadcast|reduce_scatter)[a-z_]*)$`)

// findHostCollectives sets the rank's host collectives, in time order, and the waits of the launching thread in these
// collectives. It needs the rank's calls and steps.
func (r *Rank) findHostCollectives(t *trace.Trace) {
	const unknown, other, collective = 0, 1, 2
	kind := make([]uint8, t.Strings.Len())
	for i := range t.Spans {
		s := &t.Spans[i]
		if s.Cat != trace.UserAnnotation && s.Cat != trace.CPUOp {
			continue
		}
		if kind[s.Name] == unknown {
			kind[s.Name] = other
			if hostCollective.MatchString(t.Strings.Get(s.Name)) {
				kind[s.Name] = collective
			}
		}
		if kind[s.Name] == collective && s.Dur > 0 {
			r.HostColls = append(r.HostColls, HostCollective{Interval: Interval{s.Start, s.End()}, Op: t.Strings.Get(s.Name), Step: r.stepFrom(s.End())})
		}
	}
	if r.HostColls == nil {
		return
	}
	sorts.Stable(r.HostColls, func(a, b HostCollective) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	turns := r.turnsOf(t, kind)
	reach := int64(0) // if collectives overlap, their common time counts as one wait
	for i := range r.HostColls {
		c := &r.HostColls[i]
		at, _ := slices.BinarySearch(turns, c.End)
		from := c.Start
		if at > 0 {
			from = max(from, turns[at-1])
		}
		if from = max(from, reach); 2*max(c.End-from, 0) > c.End-c.Start {
			c.Blocked = Interval{from, c.End}
			r.Waits = append(r.Waits, c.Blocked)
			reach = c.End
		}
	}
}

// turnsOf returns, in order, the times at which spans of the main thread begin or end, except the spans of host
// collectives.
func (r *Rank) turnsOf(t *trace.Trace, kind []uint8) (turns []int64) {
	spans := r.mainThread(t)
	for i := range spans {
		if s := &spans[i]; kind[s.Name] < 2 {
			turns = append(turns, s.Start, s.End())
		}
	}
	slices.Sort(turns)
	return turns
}

// WaitsOf returns, in time order, the waits of a thread for the device. For the main thread, the result includes the
// waits in host collectives.
func (r *Rank) WaitsOf(track trace.TrackID) []Interval {
	if track != r.Main || len(r.Waits) == 0 {
		return r.Blocked[track]
	}
	all := slices.Concat(r.Blocked[track], r.Waits)
	sorts.By(all, func(x, y Interval) int { return cmp.Compare(x.Start, y.Start) })
	return Union(all)
}
