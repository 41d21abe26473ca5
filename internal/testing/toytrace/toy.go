// Package toytrace builds small traces by hand, for tests.
package toytrace

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/trace"
)

// Toy builds small traces by hand. Times are in ns. Thread 0 launches the work, and streams are numbered from 1.
type Toy struct {
	T    *trace.Trace
	corr int64
}

// AllReduce is the name of a kernel that all-reduces.
const AllReduce = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"

// New returns a trace of one thread, of an unknown rank.
func New() *Toy {
	t := &trace.Trace{Tracks: []trace.Track{{PID: "1", TID: "1", Device: -1, Stream: -1}}}
	t.Source = trace.Source{Rank: trace.NoRank, World: trace.World{Rank: -1}, Complete: true}
	return &Toy{T: t}
}

// Span records a span on a thread or a stream.
func (y *Toy) Span(cat trace.Category, track int, name string, start, end int64) *trace.Span {
	for len(y.T.Tracks) <= track {
		y.T.Tracks = append(y.T.Tracks, trace.Track{GPU: true, Device: 0, Stream: int64(len(y.T.Tracks))})
	}
	y.T.Spans = append(y.T.Spans, trace.Span{
		Cat: cat, Track: trace.TrackID(track), Name: y.T.Strings.Intern([]byte(name)), Start: start, Dur: end - start, Detail: -1,
	})
	return &y.T.Spans[len(y.T.Spans)-1]
}

// Step records a decode step of one request.
func (y *Toy) Step(start, end int64) *Toy {
	y.Span(trace.UserAnnotation, 0, "step[DECODE bs=1]", start, end)
	return y
}

// Launch records a call, and returns its correlation id.
func (y *Toy) Launch(name string, start, end int64) int64 {
	y.corr++
	y.Span(trace.Runtime, 0, name, start, end).Corr = y.corr
	return y.corr
}

// Op records GPU work on a stream. If corr is 0, the launch of the work was not recorded.
func (y *Toy) Op(cat trace.Category, name string, corr int64, stream int, start, end int64, grid int32) *Toy {
	s := y.Span(cat, stream, name, start, end)
	s.Corr = corr
	s.Detail = int32(len(y.T.Ops))
	y.T.Ops = append(y.T.Ops, trace.Op{Comm: -1, Grid: [3]int32{grid, 1, 1}})
	return y
}

// Run records a kernel and its launch. The launch call begins at asked and takes 10 ns.
func (y *Toy) Run(name string, asked, start, end int64, grid int32) *Toy {
	return y.Op(trace.Kernel, name, y.Launch("cudaLaunchKernel", asked, asked+10), 1, start, end, grid)
}

// Done returns the trace, with its spans in order.
func (y *Toy) Done() *trace.Trace {
	slices.SortStableFunc(y.T.Spans, func(a, b trace.Span) int {
		return cmp.Or(cmp.Compare(a.Track, b.Track), cmp.Compare(a.Start, b.Start), cmp.Compare(b.Dur, a.Dur))
	})
	return y.T
}
