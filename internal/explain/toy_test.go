package explain

import (
	"cmp"
	"fmt"
	"slices"

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

// forward is a step with one kernel, that runs from start to end, of some requests.
func (y *toy) forward(kind string, start, end int64, batch, tokens int, rids string) *toy {
	name := fmt.Sprintf("step[%s bs=%d toks=%d]", kind, batch, tokens)
	if kind == "DECODE" {
		name = fmt.Sprintf("step[DECODE bs=%d]", batch)
	}
	s := y.span(trace.UserAnnotation, 0, name, start, start+20)
	s.Detail = int32(y.t.Strings.Intern([]byte(rids)))
	return y.run("gemm", start, start+10, end, 1)
}

// move is a copy of keys and values.
func (y *toy) move(name string, start, end, bytes int64, rids string, room int64) *toy {
	y.op(trace.Memcpy, name, 0, 9, start, end, 0)
	y.t.Moves = append(y.t.Moves, trace.Move{Requests: y.t.Strings.Intern([]byte(rids)), Room: room})
	o := &y.t.Ops[len(y.t.Ops)-1]
	o.Bytes, o.Move = bytes, int32(len(y.t.Moves))
	return y
}

func (y *toy) done() *trace.Trace {
	slices.SortStableFunc(y.t.Spans, func(a, b trace.Span) int {
		return cmp.Or(cmp.Compare(a.Track, b.Track), cmp.Compare(a.Start, b.Start), cmp.Compare(b.Dur, a.Dur))
	})
	return y.t
}
