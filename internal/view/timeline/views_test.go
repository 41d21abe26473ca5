package timeline

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// TestRows: the computing stream and the launching thread of each rank are pinned, and every span of the capture is on
// some row.
func TestRows(t *testing.T) {
	for _, c := range []struct {
		capture string
		pinned  string
	}{
		{"compute_skew", "compute stream 7, launches thread 1214 (python3)"},
		{"stacks", "compute stream 7, launches thread 1528 (python3)"},
		{"sglang_shared", "compute stream 70, launches thread 846 (sglang::schedul)"},
	} {
		tl := open(t, c.capture)
		var pinned []string
		spans := 0
		for i := range tl.rows {
			r := &tl.rows[i]
			spans += r.Spans
			if r.Pinned && r.Rank == 0 {
				pinned = append(pinned, r.Role+" "+r.Name)
			}
			if r.Deeper > 0 {
				t.Errorf("%s: %d spans of %s are too deep", c.capture, r.Deeper, r.Name)
			}
		}
		if got := strings.Join(pinned, ", "); got != c.pinned {
			t.Errorf("%s: pinned are %s", c.capture, got)
		}
		all := 0
		for _, r := range tl.ranks {
			all += len(r.t.Spans)
		}
		if spans != all {
			t.Errorf("%s: rows have %d spans of %d", c.capture, spans, all)
		}
	}
}

// TestAlign: a step begins, or a collective is entered, at the same moment on all ranks; the median rank does not move.
func TestAlign(t *testing.T) {
	tl := open(t, "compute_skew")
	a, err := tl.Align(ByStep, 9, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range tl.ranks {
		if at := tl.wall(r, r.Steps[9-r.First].Start) + a.Moved[i]; at != a.At || !a.Known[i] {
			t.Errorf("step 9 of rank %d is at %d, not at %d", i, at, a.At)
		}
	}
	if !slices.Contains(a.Moved, 0) || slices.Max(a.Moved) < 0 || slices.Min(a.Moved) > 0 {
		t.Errorf("moved by %v: not to the one in the middle", a.Moved)
	}
	if _, err := tl.Align(ByStep, 99, 0); err == nil {
		t.Error("there is no step 99")
	}
	m := &tl.a.Domains[0].Matches[80]
	a, err = tl.Align(ByCollective, 0, m.Last-tl.a.Origin)
	if err != nil || a.What != m.Op || a.Step != m.Step {
		t.Fatalf("aligned at %+v: %v", a, err)
	}
	for _, p := range m.At {
		if at := p.Start - tl.a.Origin + a.Moved[p.Rank]; at != a.At {
			t.Errorf("rank %d comes at %d, not at %d", p.Rank, at, a.At)
		}
	}
}

// TestStretch: on the stretched axis all ranks enter a collective when the last one does, and leave it together; time
// never runs backwards; and converting there and back is exact within a ns of each side's width.
func TestStretch(t *testing.T) {
	tl := open(t, "compute_skew")
	at, apart := 0, int64(0)
	for i := range tl.a.Domains[0].Matches {
		m := &tl.a.Domains[0].Matches[i]
		for _, p := range m.At {
			x := axis{knots: tl.ranks[p.Rank].knots}
			shown := x.shown(p.Start - tl.a.Origin)
			if shown == m.Last-tl.a.Origin {
				at++
			}
			apart = max(apart, shown-(p.Start-tl.a.Origin))
		}
	}
	if all := 4 * len(tl.a.Domains[0].Matches); at < all*95/100 {
		t.Errorf("%d of %d arrivals are where the last one is", at, all)
	}
	if apart < 1e6 {
		t.Errorf("nothing was moved by more than %d ns: the test proves nothing", apart)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for _, r := range tl.ranks {
		x, back := axis{knots: r.knots}, axis{knots: r.knots}
		last := int64(math.MinInt64)
		for range 2000 {
			v := tl.from - 1000 + rng.Int64N(tl.to-tl.from+2000)
			shown := x.shown(v)
			again := back.own(shown)
			slope := int64(1)
			own, at := r.knots.own, r.knots.shown
			if i, _ := slices.BinarySearch(own, v); i > 0 && i < len(own) {
				slope = max((own[i]-own[i-1])/(at[i]-at[i-1]), 0) + 2
			}
			if again-v > slope || v-again > slope {
				t.Fatalf("%d is shown at %d, where %d is", v, shown, again)
			}
		}
		for v := tl.from; v < tl.to; v += (tl.to - tl.from) / 5000 {
			if shown := x.shown(v); shown < last {
				t.Fatalf("time turns around at %d", v)
			} else {
				last = shown
			}
		}
	}
	// The reported cut is at least the shift at any moment.
	moved := tl.Moved([]int{0, 1, 2, 3}, tl.from, tl.to, 50)
	for rank, of := range moved {
		x := axis{knots: tl.ranks[rank].knots}
		for c, most := range of {
			v := tl.from + (tl.to-tl.from)/50*int64(c) + 1000
			if got := v - x.own(v); got > most+2000 {
				t.Errorf("rank %d, part %d: moved by %d, said to be %d at most", rank, c, got, most)
			}
		}
	}
}

// TestRibbons: the ribbons of an interval are all collectives that overlap it, and the late rank is the last to arrive.
func TestRibbons(t *testing.T) {
	tl := open(t, "compute_skew")
	d := tl.a.Domains[0]
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		from := tl.from + rng.Int64N(tl.to-tl.from)
		to := from + 1 + rng.Int64N(40e6)
		want := 0
		for i := range d.Matches {
			first, left := int64(math.MaxInt64), int64(0)
			for _, p := range d.Matches[i].At {
				first, left = min(first, p.Start-tl.a.Origin), max(left, p.End-tl.a.Origin)
			}
			if d.Matches[i].Possible() && first < to && left > from {
				want++
			}
		}
		got := tl.Ribbons(from, to, 1000)
		if got.All != want || len(got.Ribbons) != min(want, mostRibbons) {
			t.Fatalf("%d of %d ribbons in [%d, %d), want %d", len(got.Ribbons), got.All, from, to, want)
		}
		for _, r := range got.Ribbons {
			if r.Late.Start != r.Last || r.First != r.Arrivals[0] || r.Last != r.Arrivals[len(r.Arrivals)-1] || r.Last > r.End {
				t.Fatalf("a ribbon: %+v", r)
			}
			parts := tl.Parts(r.Domain, r.Index)
			if len(parts) != r.Ranks || !slices.ContainsFunc(parts, func(l Link) bool { return l.Rank == r.Late.Rank && l.Span == r.Late.Span }) {
				t.Fatalf("its parts: %+v", parts)
			}
		}
	}
	late := 0
	all := tl.Ribbons(tl.from, tl.to, mostRibbons).Ribbons
	for _, r := range all {
		if r.Step >= 7 && tl.ranks[r.Late.Rank].Label == "TP02" {
			late++
		}
	}
	if late < len(all)*2/5 { // seven of 14 steps are slow
		t.Errorf("at %d of %d collectives the slow rank comes last", late, len(all))
	}
}

// TestRange: a range contains the sum over all spans in it, added one by one; self times exclude nested spans.
func TestRange(t *testing.T) {
	tl := open(t, "stacks")
	var rows []int
	for i := range tl.rows {
		if tl.rows[i].Role == RoleLaunch || tl.rows[i].Role == RoleCompute {
			rows = append(rows, i)
		}
	}
	rng := rand.New(rand.NewPCG(7, 8))
	for range 20 {
		from := tl.from + rng.Int64N(tl.to-tl.from)
		in := Interval{from, from + 1 + rng.Int64N(20e6)}
		got := tl.Range(rows, func(int) Interval { return in })
		type sum struct {
			count       int
			total, self int64
		}
		want := map[string]*sum{}
		clip := func(start, end int64) int64 { return max(0, min(end, in.To)-max(start, in.From)) }
		for _, at := range rows {
			row := &tl.rows[at]
			r := tl.ranks[row.Rank]
			var open []int32
			for i := range r.t.Spans {
				s := &r.t.Spans[i]
				if r.laneOf[i] < int32(row.Lane) || r.laneOf[i] >= int32(row.Lane+row.Lanes) {
					continue
				}
				start, end := tl.bounds(r, int32(i))
				for len(open) > 0 {
					if _, e := tl.bounds(r, open[len(open)-1]); e > start {
						break
					}
					open = open[:len(open)-1]
				}
				name := func(i int32) string {
					return Classes[r.class(i)] + " " + tl.link(row.Rank, i).Label
				}
				if len(open) > 0 && !s.Cat.OnGPU() && want[name(open[len(open)-1])] != nil {
					want[name(open[len(open)-1])].self -= clip(start, end)
				}
				open = append(open, int32(i))
				if start >= in.To || end <= in.From && !(start == end && start >= in.From) {
					continue
				}
				w := want[name(int32(i))]
				if w == nil {
					w = &sum{}
					want[name(int32(i))] = w
				}
				w.count++
				w.total += clip(start, end)
				w.self += clip(start, end)
			}
		}
		if got.All != len(want) {
			t.Fatalf("[%d, %d): %d names, want %d", in.From, in.To, got.All, len(want))
		}
		for i := range got.Sums {
			s := &got.Sums[i]
			w := want[Classes[s.Class]+" "+s.Name]
			if w == nil || w.count != s.Count || w.total != s.Total || w.self != s.Self {
				t.Fatalf("[%d, %d): %s has %d, %d, %d ns, want %+v", in.From, in.To, s.Name, s.Count, s.Total, s.Self, w)
			}
		}
	}
}

// TestSearch finds all spans with a name, in any case, forward and backward.
func TestSearch(t *testing.T) {
	tl := open(t, "compute_skew")
	var rows []int
	for i := range tl.rows {
		rows = append(rows, i)
	}
	var starts []int64
	for _, r := range tl.ranks {
		for i := range r.t.Spans {
			if strings.Contains(strings.ToLower(r.t.Strings.Get(r.t.Spans[i].Name)), "allreduce") && r.laneOf[i] >= 0 {
				start, _ := tl.bounds(r, int32(i))
				starts = append(starts, start)
			}
		}
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	got := tl.Search("ALLREDUCE", rows, tl.from-1, false)
	if got.All == 0 || got.Spans < len(starts) || got.Next == nil || got.Next.Start != starts[0] {
		t.Fatalf("%d spans, first %+v, want %d from %d on", got.Spans, got.Next, len(starts), starts[0])
	}
	at := starts[0]
	for _, want := range starts[1:50] {
		if got := tl.Search("AllReduce", rows, at, false); got.Next == nil || got.Next.Start != want {
			t.Fatalf("after %d comes %+v, want %d", at, got.Next, want)
		}
		if got := tl.Search("AllReduce", rows, want, true); got.Next == nil || got.Next.Start != at {
			t.Fatalf("before %d comes %+v, want %d", want, got.Next, at)
		}
		at = want
	}
	if got := tl.Search("no such kernel", rows, 0, false); got.All != 0 || got.Next != nil || got.IDs == nil {
		t.Errorf("found %+v", got)
	}
}

// TestSelect: a kernel leads to its launch and back, to its enclosing spans, and to its counterparts, with the right
// differences.
func TestSelect(t *testing.T) {
	tl := open(t, "compute_skew")
	r := tl.ranks[0]
	seen := 0
	for op := range r.Ops {
		o := &r.Ops[op]
		if int(o.Step) != 9 || o.Cat != trace.Kernel || o.Call < 0 {
			continue
		}
		s, err := tl.Select(0, o.Span)
		if err != nil {
			t.Fatal(err)
		}
		launch, err := tl.Select(0, s.Launch.Span)
		if err != nil || len(launch.Launched) != 1 || launch.Launched[0].Span != o.Span || launch.Delay != s.Delay {
			t.Fatalf("op %d is launched by %+v: %v", op, launch, err)
		}
		if s.Step != 9 || len(s.Around) == 0 || !strings.HasPrefix(s.Around[len(s.Around)-1].Label, "step[DECODE") || len(s.Counterparts) != 3 {
			t.Fatalf("op %d: %+v", op, s)
		}
		for _, c := range s.Counterparts {
			other, err := tl.Select(c.Rank, c.Span)
			if err != nil || other.Name != s.Name || c.Longer != other.Dur-s.Dur || c.Later != other.Start-s.Start || c.Delayed != other.Delay-s.Delay || !c.Delays {
				t.Fatalf("op %d has %+v on rank %d: %v", op, c, c.Rank, err)
			}
		}
		if o.Comm() && (s.Last != 2 || s.Wait == 0) {
			t.Errorf("of collective %d the last is %d, the wait %d", op, s.Last, s.Wait)
		}
		seen++
	}
	if seen < 100 {
		t.Errorf("%d kernels", seen)
	}
	// A kernel that only the slow rank runs.
	alone := 0
	for op := range tl.ranks[2].Ops {
		if o := &tl.ranks[2].Ops[op]; int(o.Step) == 9 {
			s, err := tl.Select(2, o.Span)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(s.Counterparts, func(c Counterpart) bool { return c.Why == match.NoSuch && c.Span == -1 }) {
				alone++
			}
		}
	}
	if alone < 50 {
		t.Errorf("%d ops of the slow rank have no counterpart", alone)
	}
}

// TestBeside goes along each lane from its first span to its last and back, and finds each by its position.
func TestBeside(t *testing.T) {
	tl := open(t, "graphs")
	for at, l := range tl.lanes {
		for i, span := range l.span {
			next, err := tl.Beside(l.rank, span, false)
			if err != nil || (next == nil) != (i+1 == len(l.span)) || next != nil && next.Span != l.span[i+1] {
				t.Fatalf("lane %d: after %d comes %+v: %v", at, span, next, err)
			}
			before, err := tl.Beside(l.rank, span, true)
			if err != nil || (before == nil) != (i == 0) || before != nil && before.Span != l.span[i-1] {
				t.Fatalf("lane %d: before %d comes %+v: %v", at, span, before, err)
			}
			if hit := tl.Hit(at, l.start[i], max(l.end[i], l.start[i]+1)); hit == nil || hit.Span != span && l.end[i] > l.start[i] {
				t.Fatalf("lane %d: at %d is %+v", at, l.start[i], hit)
			}
		}
	}
}

// TestHeat: the measures match the report, the medians are over the ranks that have the step, and from step 7 on no
// rank has more work than the slow one.
func TestHeat(t *testing.T) {
	tl := open(t, "compute_skew")
	ranks, steps := len(tl.ranks), len(tl.report.Steps)
	for _, m := range Measures {
		b, err := tl.Heat(m.ID)
		if err != nil || len(b) != 8*(ranks+1)*steps {
			t.Fatalf("%s: %d bytes: %v", m.ID, len(b), err)
		}
		cell := func(rank, step int) float64 {
			return math.Float64frombits(binary.LittleEndian.Uint64(b[8*(rank*steps+step):]))
		}
		for n := range steps {
			for _, r := range tl.report.Steps[n].Ranks {
				if m.of != nil && cell(r.Rank, n) != m.of(&tl.report.Steps[n], &r) {
					t.Errorf("%s of rank %d in step %d is %g", m.ID, r.Rank, n, cell(r.Rank, n))
				}
			}
			below := 0
			for rank := range ranks {
				if cell(rank, n) <= cell(ranks, n) {
					below++
				}
				if m.ID == "work" && n >= 7 && rank != 2 && cell(rank, n) >= cell(2, n) {
					t.Errorf("in step %d rank %d has as much work as the slow one", n, rank)
				}
			}
			if below < ranks/2 {
				t.Errorf("%s: the median of step %d is %g", m.ID, n, cell(ranks, n))
			}
		}
	}
	if _, err := tl.Heat("beauty"); err == nil || err.Error() != "measure=beauty: want one of work, host, wait, tokens, length" {
		t.Errorf("unknown measure: %v", err)
	}
}

// TestTelling: the map begins with the measure in which the late rank stands out.
func TestTelling(t *testing.T) {
	for capture, want := range map[string]string{"compute_skew": "work", "graphs": "work", "balanced": "host"} {
		if got := open(t, capture).Head().Measure; got != want {
			t.Errorf("%s begins with %s, want %s", capture, got, want)
		}
	}
	for _, cause := range []string{result.CauseWork, result.CauseDevice, result.CauseHost, result.CauseCommunication, result.CauseUnknown, ""} {
		id := (&result.Finding{Cause: cause}).Measure()
		if !slices.ContainsFunc(Measures, func(m Measure) bool { return m.ID == id }) {
			t.Errorf("the map has no measure %s for the cause %q", id, cause)
		}
	}
}

// TestSummarised: a capture without its traces has no timeline, and says how to get one.
func TestSummarised(t *testing.T) {
	tl := open(t, "graphs")
	if _, err := New(nil, tl.a, tl.report); err != ErrNoTraces {
		t.Errorf("error %v", err)
	}
}
