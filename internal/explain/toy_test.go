package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// toy builds small traces by hand. Times are ns; thread 0 launches, streams
// are 1 and up.
type toy struct {
	t    *trace.Trace
	corr int64
}

const allReduce = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"

func newToy() *toy {
	t := &trace.Trace{Tracks: []trace.Track{{PID: "1", TID: "1", Device: -1, Stream: -1}}}
	t.Source = trace.Source{Rank: trace.NoRank, World: trace.World{Rank: -1}, Complete: true}
	return &toy{t: t}
}

func (y *toy) span(cat trace.Category, track int, name string, start, end int64) *trace.Span {
	for len(y.t.Tracks) <= track {
		y.t.Tracks = append(y.t.Tracks, trace.Track{GPU: true, Device: 0, Stream: int64(len(y.t.Tracks))})
	}
	y.t.Spans = append(y.t.Spans, trace.Span{
		Cat: cat, Track: trace.TrackID(track), Name: y.t.Strings.Intern([]byte(name)), Start: start, Dur: end - start, Detail: -1,
	})
	return &y.t.Spans[len(y.t.Spans)-1]
}

func (y *toy) step(start, end int64) *toy {
	y.span(trace.UserAnnotation, 0, "step[DECODE bs=1]", start, end)
	return y
}

// launch records a call, and gives its correlation.
func (y *toy) launch(name string, start, end int64) int64 {
	y.corr++
	y.span(trace.Runtime, 0, name, start, end).Corr = y.corr
	return y.corr
}

// op records GPU work on a stream; corr 0: its launch was not recorded.
func (y *toy) op(cat trace.Category, name string, corr int64, stream int, start, end int64, grid int32) *toy {
	s := y.span(cat, stream, name, start, end)
	s.Corr = corr
	s.Detail = int32(len(y.t.Ops))
	y.t.Ops = append(y.t.Ops, trace.Op{Comm: -1, Grid: [3]int32{grid, 1, 1}})
	return y
}

// run is a kernel with its launch: the call begins at asked and takes 10 ns.
func (y *toy) run(name string, asked, start, end int64, grid int32) *toy {
	return y.op(trace.Kernel, name, y.launch("cudaLaunchKernel", asked, asked+10), 1, start, end, grid)
}

func (y *toy) done() *trace.Trace {
	slices.SortStableFunc(y.t.Spans, func(a, b trace.Span) int {
		return cmp.Or(cmp.Compare(a.Track, b.Track), cmp.Compare(a.Start, b.Start), cmp.Compare(b.Dur, a.Dur))
	})
	return y.t
}

// prepared gives the ranks of hand-made traces, matched.
func prepared(ts ...*trace.Trace) *analyzer {
	a := &analyzer{names: newNames(kernel.Default()), report: &Report{}}
	for i, t := range ts {
		t.Source.Rank.TP = i
		t.Source.Path = fmt.Sprintf("rank%d", i)
		a.ranks = append(a.ranks, prepare(i, t, a.names))
	}
	a.label()
	a.source(Options{})
	a.match()
	a.span()
	a.number()
	return a
}
