package waits

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/trace"
)

const (
	ms    = int64(1_000_000)
	start = int64(1_763_750_000_000_000_000) // of the run and of the traces
)

// at is a step of a synthetic trace, in ms.
type at struct {
	from, to int64
	name     string
	ids      string
}

// server returns the trace of one rank with a window of from to to ms. The device works until the end of each step, while
// the launching thread continues after 1 ms.
func server(dp int, from, to int64, steps ...at) *trace.Trace {
	t := &trace.Trace{Source: trace.Source{Host: "here", Rank: trace.Rank{TP: 0, DP: dp, PP: -1, EP: -1}}, Tracks: make([]trace.Track, 3)}
	add := func(cat trace.Category, from, to int64, name string, track trace.TrackID, corr int64, detail int32) {
		t.Spans = append(t.Spans, trace.Span{Start: start + from*ms, Dur: (to - from) * ms, Cat: cat, Name: t.Strings.Intern([]byte(name)), Track: track, Corr: corr, Detail: detail})
	}
	add(trace.Window, from, to, "PyTorch Profiler (0)", 2, 0, -1)
	for i, s := range steps {
		add(trace.UserAnnotation, s.from, s.from+1, s.name, 0, 0, int32(t.Strings.Intern([]byte(s.ids))))
		add(trace.Runtime, s.from, s.from+1, "cudaGraphLaunch", 0, int64(i+1), -1)
		add(trace.Kernel, s.from, s.to, "kernel", 1, int64(i+1), -1)
	}
	return t
}

// one returns the server of most tests, with TTFTs and gaps between tokens that are easy to read off.
func one() *trace.Trace {
	return server(-1, 0, 200,
		at{0, 10, "step[DECODE bs=1]", "a"},
		at{12, 30, "step[EXTEND bs=1 toks=7]", "b"},
		at{30, 40, "step[DECODE bs=2]", "a,b"},
		at{100, 110, "step[DECODE bs=2]", "a,b"},
		at{110, 140, "step[EXTEND bs=1 toks=9]", "c"},
		at{140, 150, "step[DECODE bs=3]", "a,b,c"},
	)
}

// request returns a record of a request with the times of its sending and its events with text, in ms.
func request(id string, sent int64, events ...int64) bench.Record {
	r := bench.Record{ID: id, Sent: sent * ms, First: events[0] * ms, Done: events[len(events)-1] * ms, DPRank: -1}
	for _, e := range events {
		r.Chunks = append(r.Chunks, bench.Chunk{At: e * ms, Tokens: 1, Text: true})
	}
	return r
}

// firstWithoutText changes a record so that its first token is part of a character and has no text.
func firstWithoutText(r bench.Record) bench.Record {
	r.Chunks[0].Text, r.First = false, r.Chunks[1].At
	return r
}

func load(records ...bench.Record) []bench.Measured {
	return []bench.Measured{{Run: &bench.Run{StartWall: start}, Records: records}}
}

// recording is a server and its traces.
type recording struct {
	Name, Role string
	Traces     []*trace.Trace
}

func analyze(runs []bench.Measured, recorded []recording, o Options) (*Result, error) {
	var servers []*Server
	for _, r := range recorded {
		servers = append(servers, NewServer(r.Name, r.Role, r.Traces))
	}
	return Analyze(runs, servers, o)
}

// alone returns a single server with these traces.
func alone(traces ...*trace.Trace) []recording { return []recording{{Traces: traces}} }

func wait(w Wait) Wait {
	for _, p := range append(w.parts(), w.details()...) {
		*p *= ms
	}
	return w
}

// nameless removes the request ids from a trace.
func nameless(t *trace.Trace) *trace.Trace {
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Cat == trace.UserAnnotation {
			s.Detail = -1
		}
	}
	return t
}

func TestWaits(t *testing.T) {
	late := []Late{{DP: -1, From: start + 100*ms, To: start + 110*ms, Cost: 6 * ms, ID: "late", Title: fact.Name("TP01 is late")}}
	for _, c := range []struct {
		name  string
		r     bench.Record
		itl   bool
		late  []Late
		steps []int
		want  Wait // ms
	}{
		{"TTFT: queue behind a step, prefill, reply", request("b", 2, 31), false, nil, []int{1},
			Wait{Queue: 10, QueueIdle: 2, Prefill: 18, Reply: 1}},
		{"TTFT: sent before the window", request("b", -5, 31), false, nil, []int{1}, Wait{NotRecorded: 5, Queue: 12, QueueIdle: 2, Prefill: 18, Reply: 1}},
		{"TTFT: the first token has no text", firstWithoutText(request("c", 105, 141, 151)), false, nil, []int{4, 5},
			Wait{Queue: 5, Prefill: 30, Decode: 10, Reply: 1}},
		{"ITL: prefill of others", request("a", -50, 11, 41), true, nil, []int{2}, Wait{Stall: 1, OtherPrefill: 18, Decode: 10, Reply: 1}},
		{"ITL: nothing ran", request("a", -50, 41, 111), true, nil, []int{3}, Wait{Stall: 59, Paused: 59, Decode: 10, Reply: 1}},
		{"ITL: nothing ran, then a slow rank", request("a", -50, 41, 111), true, late, []int{3}, Wait{Stall: 59, Paused: 59, SlowRank: 6, Decode: 4, Reply: 1}},
		{"ITL: a late reply", request("a", -50, 41, 109), true, nil, []int{3}, Wait{Stall: 59, Paused: 59, Decode: 9}},
	} {
		for _, by := range []string{ByID, ByTime} {
			t.Run(c.name+", by "+by, func(t *testing.T) {
				tr := one()
				if by == ByTime {
					tr = nameless(tr)
				}
				r, err := analyze(load(c.r), alone(tr), Options{Host: "here", Late: c.late})
				if err != nil {
					t.Fatal(err)
				}
				tail := r.TTFT
				if c.itl {
					tail = r.ITL
				}
				if r.By != by || len(tail.Cases) != 1 {
					t.Fatalf("got requests by %s, tail %+v, want by %s and one case", r.By, tail, by)
				}
				if got := tail.Cases[0]; got.Wait != wait(c.want) || !slices.Equal(got.Steps, c.steps) || got.Wait.Total() != got.NS {
					t.Errorf("got %+v\nwant %+v in %v", got, wait(c.want), c.steps)
				}
				if len(r.Late) != len(c.late) || len(r.Notes) != map[string]int{ByID: 0, ByTime: 1}[by] {
					t.Errorf("got late %q, notes %q, want %d late, and a note only by time", r.Late, r.Notes, len(c.late))
				}
			})
		}
	}
}

// TestRanks finds the data-parallel rank that served a request: as the server reports it, else by id, else by the steps
// that fit.
func TestRanks(t *testing.T) {
	other := func() *trace.Trace {
		return server(1, 0, 200, at{0, 5, "step[EXTEND bs=1 toks=3]", "x"}, at{5, 26, "step[DECODE bs=1]", "x"})
	}
	first := func() *trace.Trace {
		tr := one()
		tr.Source.Rank.DP = 0
		return tr
	}
	r := request("x", 0, 6, 27)
	for _, c := range []struct {
		name   string
		traces []*trace.Trace
		said   int
		want   string
	}{
		{"the server reports it", []*trace.Trace{nameless(first()), nameless(other())}, 1, "server"},
		{"by id", []*trace.Trace{first(), other()}, -1, ByID},
		{"by time", []*trace.Trace{nameless(first()), nameless(other())}, -1, ByTime},
	} {
		r.DPRank = c.said
		got, err := analyze(load(r), alone(c.traces...), Options{Host: "here"})
		if err != nil || len(got.ITL.Cases) != 1 {
			t.Fatalf("%s: got error %v, result %+v, want one ITL case", c.name, err, got)
		}
		if k := got.ITL.Cases[0]; k.DP != 1 || k.DPFrom != c.want || k.Wait != wait(Wait{Decode: 20, Reply: 1}) {
			t.Errorf("%s: got case %+v, want DP 1 by %s, 20 ms of decode", c.name, k, c.want)
		}
		if guessed := strings.Contains(fmt.Sprint(got.Notes), "waits_guessed_"); guessed != (c.want == ByTime) {
			t.Errorf("%s: got notes %q, want a note on a guess only by time", c.name, got.Notes)
		}
	}
	// A request on a rank that recorded nothing at the time has no case.
	r.DPRank, r.ID = 1, ""
	empty := server(1, 500, 600, at{510, 520, "step[DECODE bs=1]", ""})
	if got, err := analyze(load(r), alone(nameless(first()), empty), Options{Host: "here"}); err != nil || len(got.ITL.Cases) != 0 {
		t.Errorf("rank without records: got error %v, result %+v, want no ITL case", err, got)
	}
}

// TestTail: the tail is that of the whole run. Below reports that the window has no request of the tail.
func TestTail(t *testing.T) {
	records := []bench.Record{request("b", 2, 31)}
	for i := range 150 {
		records = append(records, request("", int64(1000+10*i), int64(1000+10*i+1)))
	}
	r, err := analyze(load(records...), alone(one()), Options{})
	if err != nil || r.TTFT.Below || len(r.TTFT.Cases) != 1 || r.TTFT.Cases[0].Request != "b" {
		t.Errorf("got error %v, result %+v, want request b in the tail", err, r)
	}
	for i := range 150 {
		records = append(records, request("", int64(1000+10*i), int64(2000+10*i)))
	}
	r, err = analyze(load(records...), alone(one()), Options{})
	if err != nil || !r.TTFT.Below || len(r.TTFT.Cases) != 1 || r.TTFT.N != 301 || r.TTFT.P99 < 900*ms {
		t.Errorf("got error %v, result %+v, want one case below the tail of 301 requests", err, r)
	}
	// Of several repetitions, the recorded one counts; ids may repeat.
	apart := load(request("b", 2, 31))[0]
	apart.Run = &bench.Run{StartWall: start - 3600e9}
	r, err = analyze([]bench.Measured{apart, load(request("b", 2, 31))[0]}, alone(one()), Options{})
	if err != nil || r.Run != 1 || len(r.TTFT.Cases) != 1 {
		t.Errorf("got error %v, result %+v, want run 1 with one case", err, r)
	}
}

// TestIDs: an id may contain the separator of ids.
func TestIDs(t *testing.T) {
	tr := server(-1, 0, 50, at{0, 10, "step[EXTEND bs=2 toks=7]", "100%25%2Csure,b"})
	r, err := analyze(load(request("100%,sure", 0, 11)), alone(tr), Options{Host: "here"})
	if err != nil || r.By != ByID || len(r.TTFT.Cases) != 1 {
		t.Errorf("got error %v, result %+v, want one case by id", err, r)
	}
}

// TestClocks: requests bound the clock difference of a server on another host, an hour ahead.
func TestClocks(t *testing.T) {
	const hour = 3600 * int64(1e9)
	tr := one()
	for i := range tr.Spans {
		tr.Spans[i].Start += hour
	}
	records := []bench.Record{request("b", 2, 31), request("c", 105, 141, 151)}
	r, err := analyze(load(records...), alone(tr), Options{Host: "elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	// c waited at most 5 ms before its prefill, and got its token 1 ms after.
	if r.Clock.Lo != hour-ms || r.Clock.Hi != hour+5*ms || r.Clock.Shift != hour+2*ms || len(r.Notes) != 1 || r.Notes[0].Key != "waits_clocks_moved" || r.Notes[0].Get("within") != int64(3*ms) {
		t.Errorf("got clock %+v, notes %q, want a shift of an hour and 2 ± 3 ms", r.Clock, r.Notes)
	}
	if k := r.TTFT.Cases; len(k) != 1 || k[0].Request != "c" || k[0].Wait != wait(Wait{Queue: 3, Prefill: 30, Reply: 3}) {
		t.Errorf("got cases %+v, want one of c: queue 3, prefill 30, reply 3 ms", k)
	}
	// One host has one clock, so nothing is shifted and nothing joins.
	if _, err := analyze(load(records...), alone(tr), Options{Host: "here"}); !errors.Is(err, ErrApart) {
		t.Errorf("the same host, an hour apart: got error %v, want %v", err, ErrApart)
	}
	if _, err := analyze(load(records...), alone(server(-1, 0, 100)), Options{}); !errors.Is(err, errNoSteps) {
		t.Errorf("no steps: got error %v, want %v", err, errNoSteps)
	}
}

// TestSums: the parts of a wait sum to the whole, whatever the steps.
func TestSums(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	explained := 0
	for range 300 {
		var steps []at
		for now := int64(0); now < 500; {
			n := 1 + rnd.Int64N(40)
			s := at{now, now + n, []string{"step[EXTEND bs=1 toks=7]", "step[DECODE bs=1]", "step[IDLE bs=0]"}[rnd.IntN(3)], []string{"r", "s", ""}[rnd.IntN(3)]}
			steps = append(steps, s)
			now += n + rnd.Int64N(30) - 5 // may begin before the previous one ends
		}
		tr := server(-1, rnd.Int64N(100), 300+rnd.Int64N(200), steps...)
		if rnd.IntN(2) == 0 {
			tr = nameless(tr)
		}
		sent := rnd.Int64N(300) - 50
		var events []int64
		for e := sent; len(events) < 5; events = append(events, e) {
			e += rnd.Int64N(100)
		}
		r, err := analyze(load(request("r", sent, events...)), alone(tr), Options{Late: []Late{{DP: -1, From: start, To: start + 200*ms, Cost: 3 * ms}}})
		if errors.Is(err, ErrApart) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range slices.Concat(r.TTFT.Cases, r.ITL.Cases) {
			explained++
			negative := slices.ContainsFunc(c.Wait.parts(), func(p *int64) bool { return *p < 0 })
			if c.Wait.Total() != c.NS || negative || c.Wait.QueueIdle > c.Wait.Queue {
				t.Errorf("case %+v: want parts of at least 0 that sum to the whole, steps %+v", c, steps)
			}
		}
	}
	if explained < 200 {
		t.Errorf("got %d cases, want at least 200", explained)
	}
}
