package timeline

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/trace"
)

// brute computes a tile directly from the spans of the trace, all of them for each column.
func brute(t *Timeline, p Place) *Tile {
	l := t.lanes[p.Lane]
	r := t.ranks[l.rank]
	out := &Tile{Place: p, Empty: true}
	var x axis
	if p.Stretched {
		x.knots = r.knots
	}
	type bar struct {
		start, end, wait int64
		span             int32
	}
	var bars []bar
	for i := range r.t.Spans {
		if r.laneOf[i] != int32(p.Lane) {
			continue
		}
		start, end := t.bounds(r, int32(i))
		b := bar{start: start, end: end, span: int32(i)}
		if op := r.op(int32(i)); op >= 0 {
			b.wait = min(r.Wait[op], end-start)
		}
		bars = append(bars, b)
	}
	slices.SortStableFunc(bars, func(a, b bar) int { return int(a.start - b.start) })
	overlap := func(a, b, c, d int64) int64 { return max(0, min(b, d)-max(a, c)) }
	left := int64(p.Index) * Columns << p.Level
	for c := range Columns {
		from := x.own(left + int64(c)<<p.Level)
		to := max(x.own(left+int64(c+1)<<p.Level), from+1)
		best := -1
		var covered, waited int64
		for i, b := range bars {
			if b.start >= to || b.end <= from && !(b.start == b.end && b.start >= from) && !(b.start >= from) {
				continue
			}
			covered += overlap(b.start, b.end, from, to)
			waited += overlap(b.start, b.start+b.wait, from, to)
			if best < 0 || b.end-b.start > bars[best].end-bars[best].start {
				best = i
			}
		}
		if best >= 0 {
			out.Empty = false
			out.Class[c] = r.class(bars[best].span)
			out.Covered[c] = uint8((covered*255 + to - from - 1) / (to - from))
			out.Waited[c] = uint8((waited*255 + to - from - 1) / (to - from))
		}
	}
	right, parts := left+Columns<<p.Level, 0
	for _, b := range bars {
		start, end := x.shown(b.start), x.shown(b.end)
		if start < right && (end > left || start >= left) {
			parts++
		}
		if end-start < 3<<p.Level || end <= left || start >= right {
			continue
		}
		s := &r.t.Spans[b.span]
		piece := Piece{Span: b.span, Class: r.class(b.span), Name: t.names.of[named{r.t.Strings.Get(s.Name), s.Cat.OnGPU()}]}
		if start < left {
			piece.Flags |= BeginsBefore
		}
		if end > right {
			piece.Flags |= EndsAfter
		}
		if op := r.op(b.span); op >= 0 && r.InGraph(&r.Ops[op]) {
			piece.Flags |= InGraph
		}
		if op := r.op(b.span); op >= 0 && r.Match[op] >= 0 {
			piece.Flags |= Matched
		}
		start, end = max(start, left), min(end, right)
		piece.Start, piece.Width = uint32((start-left)/unit(p.Level)), uint32((end-start)/unit(p.Level))
		out.Spans = append(out.Spans, piece)
	}
	out.Whole = !p.Stretched && parts == len(out.Spans)
	return out
}

// TestTilesBrute compares a thousand random tiles, at all zooms and on both axes, with a brute-force computation.
func TestTilesBrute(t *testing.T) {
	rng := rand.New(rand.NewPCG(18, 0))
	timelines := []*Timeline{open(t, "compute_skew"), open(t, "graphs"), open(t, "stacks"), of(t, []*trace.Trace{crowded(rng), crowded(rng)})}
	pieces, waits, whole := 0, 0, 0
	for n := range 1000 {
		tl := timelines[n%len(timelines)]
		p := Place{Lane: rng.IntN(len(tl.lanes)), Level: rng.IntN(30), Stretched: rng.IntN(2) == 0}
		// At or near a place where a lane has a span.
		l := tl.lanes[p.Lane]
		at := l.start[rng.IntN(len(l.start))] + int64(rng.IntN(3)-1)*Columns<<p.Level
		p.Index = int32(at >> p.Level / Columns)
		got, want := tl.Tile(p), brute(tl, p)
		pieces += len(got.Spans)
		for _, w := range got.Waited {
			waits += int(w)
		}
		if got.Whole && !got.Empty {
			whole++
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v: %s", p, differences(got, want))
		}
		if len(got.Spans) > MostSpans {
			t.Errorf("%+v: %d pieces", p, len(got.Spans))
		}
	}
	if pieces < 1000 || waits == 0 || whole < 10 {
		t.Errorf("the tiles had %d pieces and %d of waiting, %d were whole: they show nothing", pieces, waits, whole)
	}
}

// differences describes where two tiles differ.
func differences(got, want *Tile) string {
	s := fmt.Sprintf("empty %v, want %v; whole %v, want %v; %d pieces, want %d", got.Empty, want.Empty, got.Whole, want.Whole, len(got.Spans), len(want.Spans))
	shown := 0
	for i := range min(len(got.Spans), len(want.Spans)) {
		if got.Spans[i] != want.Spans[i] && shown < 3 {
			s += fmt.Sprintf("\npiece %d is %+v, want %+v", i, got.Spans[i], want.Spans[i])
			shown++
		}
	}
	for c := range Columns {
		if g, w := [3]uint8{got.Class[c], got.Covered[c], got.Waited[c]}, [3]uint8{want.Class[c], want.Covered[c], want.Waited[c]}; g != w && shown < 6 {
			s += fmt.Sprintf("\ncolumn %d is %v, want %v", c, g, w)
			shown++
		}
	}
	return s
}

// crowded returns a trace with spans of all lengths: empty, overlapping and touching.
func crowded(rng *rand.Rand) *trace.Trace {
	t := &trace.Trace{}
	t.Source.Complete = true
	t.Source.Rank = trace.Rank{TP: rng.IntN(1 << 20), DP: -1, PP: -1, EP: -1}
	thread, stream := trace.TrackID(0), trace.TrackID(1)
	t.Tracks = []trace.Track{{PID: "1", TID: "1", Device: -1, Stream: -1}, {PID: "0", TID: "7", GPU: true, Stream: 7}}
	name := func(s string) trace.StringID { return t.Strings.Intern([]byte(s)) }
	at := int64(1_700_000_000_000_000_000)
	for i := range 4000 {
		long := int64(rng.ExpFloat64() * 3000)
		if rng.IntN(10) == 0 {
			long = 0
		}
		t.Spans = append(t.Spans, trace.Span{Start: at, Dur: 2, Corr: int64(i + 1), Name: name("cudaLaunchKernel"), Track: thread, Detail: -1, Cat: trace.Runtime})
		t.Ops = append(t.Ops, trace.Op{Comm: -1})
		t.Spans = append(t.Spans, trace.Span{Start: at + 3, Dur: long, Corr: int64(i + 1), Name: name(fmt.Sprintf("kernel_%d", rng.IntN(20))), Track: stream, Detail: int32(i), Cat: trace.Kernel})
		at += 3
		if rng.IntN(3) > 0 {
			at += long
		}
		if rng.IntN(200) == 0 {
			at += int64(rng.IntN(1_000_000))
		}
	}
	slices.SortStableFunc(t.Spans, func(a, b trace.Span) int {
		switch {
		case a.Track != b.Track:
			return int(a.Track) - int(b.Track)
		case a.Start != b.Start:
			return int(a.Start - b.Start)
		}
		return int(b.Dur - a.Dur)
	})
	return t
}

// BenchmarkTile computes tiles of a large capture at a zoom with a thousand spans per column, and at one with a single
// span.
func BenchmarkTile(b *testing.B) {
	tl := large(b)
	for _, stretched := range []bool{false, true} {
		for _, level := range []int{8, 13, 18, 23} {
			b.Run(fmt.Sprintf("level%d,stretched=%v", level, stretched), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, uint64(level)))
				n := int32(max(1, (tl.to-tl.from)>>level/Columns))
				for b.Loop() {
					tl.Tile(Place{Lane: rng.IntN(len(tl.lanes)), Level: level, Index: rng.Int32N(n), Stretched: stretched})
				}
			})
		}
	}
}
