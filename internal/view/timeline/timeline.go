// Package timeline shows what all ranks of a capture did, side by side in time.
//
// A Timeline is made once of a capture and never changes. It has rows (a GPU stream, a thread), a row has lanes (spans
// nested in each other lie below each other), and a lane is columns of numbers, sorted by time. What a page shows of it
// comes as tiles: 512 columns of pixels of a lane each, at widths of powers of two nanoseconds. A tile is a strip (what
// is seen in each column) and the spans that are wide enough to be drawn one by one, so a view costs the same at any
// zoom, of whatever capture. What is selected, compared and searched is asked for apart.
//
// Times are ns since the capture's origin (result.Source.StartNS), on the clock of all ranks; spans are known by their
// rank and their place in its trace.
package timeline

import (
	"errors"
	"hash/fnv"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// Timeline is all ranks of a capture, ready to be looked at from any number of goroutines.
type Timeline struct {
	ranks                    []*rank
	lanes                    []*lane // of all rows
	rows                     []Row
	names                    names
	coarse                   map[Place]*Tile
	a                        *match.Aligned
	report                   *result.Report
	from                     int64               // when the first span begins
	to                       int64               // and the last one ends
	pairs                    *match.Counterparts // once a span was selected
	pairing                  sync.Once
	meetings                 [][]meeting // of each domain
	longestWait, longestRest int64       // of all meetings, before the last arrival and after
	epoch                    uint32      // of what was asked for here: ids of another capture mean something else
}

// rank is one rank's trace with what explaining made of it.
type rank struct {
	*match.Rank
	t      *trace.Trace
	laneOf []int32  // of the lanes of all rows, by span; -1: it is shown nowhere
	name   []uint32 // in names, + 1, by string
	kernel []uint32 // and of GPU work
	opOf   []int32  // in Ops, by the trace's Ops
	callOf []spanAt // in Calls, by span
	knots  knots    // see stretch
}

// spanAt is where something lies that a span is of.
type spanAt struct{ span, at int32 }

// ErrNoTraces is that a capture has summaries of its ranks only, which have no spans.
var ErrNoTraces = errors.New("the capture was summarised beside its files, and has no spans to show: give the trace files themselves")

// New makes the timeline of a capture: its traces, and what Analyze came to. Ranks of which a trace was given twice are
// there once.
func New(traces []*trace.Trace, a *match.Aligned, rep *result.Report) (*Timeline, error) {
	t := &Timeline{a: a, report: rep, names: newNames(), from: math.MaxInt64, to: math.MinInt64}
	next := 0
	for _, r := range a.Ranks {
		at := slices.IndexFunc(traces[next:], func(t *trace.Trace) bool { return t.Source == r.Source })
		if at < 0 {
			return nil, ErrNoTraces
		}
		t.ranks = append(t.ranks, &rank{Rank: r, t: traces[next+at]})
		next += at + 1
	}
	for i := range t.ranks {
		t.addRank(i)
	}
	if t.from > t.to {
		t.from, t.to = 0, 1
	}
	t.meet()
	t.stretch()
	t.keepCoarse()
	t.epoch = t.fingerprint()
	return t, nil
}

// fingerprint tells one capture's numbers from another's.
func (t *Timeline) fingerprint() uint32 {
	h := fnv.New32a()
	for _, r := range t.ranks {
		h.Write([]byte(r.Label + "\x00" + r.Recording + "\x00" + r.Source.Path + "\x00"))
	}
	return h.Sum32()
}

// wall is a moment of a rank's own clock as the timeline has it.
func (t *Timeline) wall(r *rank, at int64) int64 { return r.Wall(at) - t.a.Origin }

// bounds are when a span begins and ends.
func (t *Timeline) bounds(r *rank, span int32) (start, end int64) {
	s := &r.t.Spans[span]
	return t.wall(r, s.Start), t.wall(r, s.End())
}

// op is the GPU work that a span is; -1: it is none.
func (r *rank) op(span int32) int32 {
	if s := &r.t.Spans[span]; s.Cat.OnGPU() {
		return r.opOf[s.Detail]
	}
	return -1
}

// call is the launch that a span is; -1: it is none, or what it launched was not recorded.
func (r *rank) call(span int32) int32 {
	i, ok := slices.BinarySearchFunc(r.callOf, span, func(c spanAt, span int32) int { return int(c.span - span) })
	if !ok {
		return -1
	}
	return r.callOf[i].at
}

// each calls do for 0 to before n, on all processors.
func each(n int, do func(int)) {
	var wait sync.WaitGroup
	var next atomic.Int64
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wait.Wait()
}
