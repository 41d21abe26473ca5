// Package timeline displays the work of all ranks of a capture side by side in time.
//
// A Timeline is built once per capture, and its answers never change. It has a row for each GPU stream and thread. A row has lanes,
// so that nested spans are drawn below each other. A lane stores its spans as columns of numbers, sorted by time. The
// page requests a lane as tiles of 512 pixel columns, where the width of a column is a power of two nanoseconds. A tile
// holds a strip (the visible content of each column) and the spans that are wide enough to be drawn individually. A
// view therefore costs the same at any zoom and for any size of capture. There are separate requests for selection,
// comparison and search.
//
// Times are ns since the capture's origin (result.Source.StartNS), on the common clock of the ranks. A span is
// identified by its rank and its index in the rank's trace.
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

// Timeline is the timeline of all ranks of a capture. It is safe for concurrent use.
type Timeline struct {
	ranks                    []*rank
	lanes                    []*lane   // lanes of all rows
	sums                     []sumLane // lanes of groups, numbered after the lanes of rows
	groupings                []Grouping
	late                     []int64 // see lateness
	rows                     []Row
	names                    names
	coarse                   atomic.Pointer[map[Place]*Tile] // see keepCoarse
	a                        *match.Aligned
	report                   *result.Report
	from                     int64               // start of the first span
	to                       int64               // end of the last span
	pairs                    *match.Counterparts // created at the first selection
	pairing                  sync.Once
	meetings                 [][]meeting // meetings of each domain
	longestWait, longestRest int64       // longest time of any meeting before, and after, the last arrival
	counters                 []counter   // see Sampled
	epoch                    uint32      // identifies the capture; ids are valid only for this capture
}

// rank holds one rank's trace and the results of its analysis.
type rank struct {
	*match.Rank
	t      *trace.Trace
	laneOf []int32  // index in lanes of each span's lane; -1: not shown
	name   []uint32 // index in names, plus 1, of each string
	kernel []uint32 // like name, for GPU work
	opOf   []int32  // index in the rank's Ops of each of the trace's Ops
	callOf []spanAt // index in Calls of the spans that are launches, ordered by span
	knots  knots    // fixed positions on the stretched axis; see stretch
}

// spanAt maps a span to an index.
type spanAt struct{ span, at int32 }

// ErrNoTraces means that a capture has only summaries of its ranks, which contain no spans.
var ErrNoTraces = errors.New("the capture was read from summaries and has no spans to show: give the trace files themselves")

// New builds the timeline of a capture from its traces and the result of Analyze. If the trace of a rank was given
// twice, the rank appears once.
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
	all := make([]built, len(t.ranks))
	each(len(all), func(i int) { all[i] = t.build(i) })
	for i, b := range all {
		t.addRank(i, b)
	}
	if t.from > t.to {
		t.from, t.to = 0, 1
	}
	t.meet()
	t.stretch()
	t.group()
	t.late = t.lateness()
	t.epoch = t.fingerprint()
	t.coarse.Store(&map[Place]*Tile{})
	go t.keepCoarse() // a third of the work, of which the first picture needs little
	return t, nil
}

// fingerprint returns a number that identifies the capture to which indices refer.
func (t *Timeline) fingerprint() uint32 {
	h := fnv.New32a()
	for _, r := range t.ranks {
		h.Write([]byte(r.Label + "\x00" + r.Recording + "\x00" + r.Source.Path + "\x00"))
	}
	return h.Sum32()
}

// wall converts a time of a rank's own clock to the timeline's time.
func (t *Timeline) wall(r *rank, at int64) int64 { return r.Wall(at) - t.a.Origin }

// bounds returns the start and end of a span.
func (t *Timeline) bounds(r *rank, span int32) (start, end int64) {
	s := &r.t.Spans[span]
	return t.wall(r, s.Start), t.wall(r, s.End())
}

// op returns the index in the rank's Ops of a span of GPU work, or -1.
func (r *rank) op(span int32) int32 {
	if s := &r.t.Spans[span]; s.Cat.OnGPU() {
		return r.opOf[s.Detail]
	}
	return -1
}

// call returns the index in the rank's Calls of a span that is a launch. It returns -1 if the span is not a launch, or
// if the launched work was not recorded.
func (r *rank) call(span int32) int32 {
	i, ok := slices.BinarySearchFunc(r.callOf, span, func(c spanAt, span int32) int { return int(c.span - span) })
	if !ok {
		return -1
	}
	return r.callOf[i].at
}

// each calls do with each number from 0 to n-1, in parallel on all processors.
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
