package waits

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/trace"
)

// moved is a copy of KV cache in a synthetic trace, or a mark; times in ms.
type moved struct {
	from, to int64
	name     string
	id       string
	room     int64
}

// moving adds copies and marks to a trace, as stepscope's prefill and decode servers write them.
func moving(t *trace.Trace, copies ...moved) *trace.Trace {
	for _, m := range copies {
		t.Moves = append(t.Moves, trace.Move{Requests: t.Strings.Intern([]byte(m.id)), Room: m.room})
		t.Ops = append(t.Ops, trace.Op{Comm: -1, Move: int32(len(t.Moves))})
		t.Spans = append(t.Spans, trace.Span{
			Start: start + m.from*ms, Dur: (m.to - m.from) * ms, Cat: trace.Memcpy, Name: t.Strings.Intern([]byte(m.name)), Track: 1, Detail: int32(len(t.Ops) - 1),
		})
	}
	return t
}

// prefillServer runs request x, then a in two chunks with idle time between them, then b. Request a arrives at 4 ms and
// gets a place at 9 ms; b got its place before the window. before lists moves that come first in the trace.
func prefillServer(before ...moved) recording {
	return recording{"prefill-0", api.Prefill, []*trace.Trace{moving(moving(server(-1, 0, 200,
		at{2, 12, "step[EXTEND bs=1 toks=7]", "x"},
		at{14, 24, "step[EXTEND bs=1 toks=7]", "a"},
		at{26, 36, "step[EXTEND bs=1 toks=7]", "a"},
		at{36, 46, "step[EXTEND bs=1 toks=7]", "b"},
	), before...),
		moved{4, 4, "kv_wait", "a", 7}, moved{9, 9, "kv_open", "", 7},
		moved{18, 20, "kv_send layer=0", "a", 7}, moved{30, 38, "kv_send layer=1", "a", 7},
		moved{42, 47, "kv_send layer=1", "b", 8},
	)}}
}

// decodeServer runs request y in all of its steps, and a from the third on.
func decodeServer() recording {
	return recording{"decode-0", api.Decode, []*trace.Trace{moving(server(-1, 0, 200,
		at{30, 45, "step[DECODE bs=1]", "y"},
		at{45, 55, "step[DECODE bs=1]", "y"},
		at{57, 67, "step[DECODE bs=2]", "y,a"},
		at{67, 77, "step[DECODE bs=2]", "y,a"},
	),
		moved{19, 21, "kv_recv layer=0", "a", 7}, moved{31, 40, "kv_recv layer=1", "a", 7},
	)}}
}

// silent removes request ids and copies from a server's traces, which those of SGLang lack.
func silent(s recording) recording {
	for _, t := range s.Traces {
		nameless(t)
		t.Spans = slices.DeleteFunc(t.Spans, func(s trace.Span) bool { return s.Cat == trace.Memcpy })
	}
	return s
}

func TestApart(t *testing.T) {
	const noPlaces, noArrival = "waits_no_places", "waits_none_met"
	for _, c := range []struct {
		name    string
		r       bench.Record
		servers []recording
		ttft    Wait // ms; zero: no case
		itl     Wait // of the first gap between tokens, ms
		decode  string
		notes   []string
	}{
		{"both sides", request("a", 1, 42, 68, 78), []recording{prefillServer(), decodeServer()},
			Wait{Way: 3, Place: 5, Queue: 5, QueuePrefill: 3, QueueIdle: 2, Prefill: 20, Stall: 2, Transfer: 4, Reply: 2},
			Wait{Join: 15, Decode: 10, Reply: 1}, "decode-0", nil},
		{"the first token has no text", firstWithoutText(request("a", 1, 42, 68, 78)), []recording{prefillServer(), decodeServer()},
			Wait{Way: 3, Place: 5, Queue: 5, QueuePrefill: 3, QueueIdle: 2, Prefill: 20, Stall: 2, Transfer: 4, Join: 17, Decode: 10, Reply: 1},
			Wait{Decode: 9, Reply: 1}, "decode-0", nil},
		{"a place before the window, unknown decode server", request("b", -5, 50), []recording{prefillServer(), decodeServer()},
			Wait{NotRecorded: 5, Queue: 36, QueuePrefill: 30, QueueIdle: 6, Prefill: 10, Transfer: 1, Reply: 3}, Wait{}, "", []string{noArrival}},
		{"the prefill side only", request("a", 1, 42, 68), []recording{prefillServer()},
			Wait{Way: 3, Place: 5, Queue: 5, QueuePrefill: 3, QueueIdle: 2, Prefill: 20, Stall: 2, Transfer: 2, Reply: 4}, Wait{}, "",
			[]string{noArrival, "waits_no_decode"}},
		{"the decode side only", request("a", 1, 42, 68), []recording{decodeServer()},
			Wait{}, Wait{Join: 15, Decode: 10, Reply: 1}, "", []string{"waits_no_prefill"}},
		{"the decode window begins during its decode", request("a", 1, 42, 78),
			[]recording{prefillServer(), {"decode-0", api.Decode, []*trace.Trace{server(-1, 64, 200, at{67, 77, "step[DECODE bs=2]", "y,a"})}}},
			Wait{Way: 3, Place: 5, Queue: 5, QueuePrefill: 3, QueueIdle: 2, Prefill: 20, Stall: 2, Transfer: 2, Reply: 4},
			Wait{NotRecorded: 22, Stall: 3, Decode: 10, Reply: 1}, "", []string{noArrival}},
		{"traces without ids and transfers", request("a", 1, 42, 68), []recording{silent(prefillServer()), silent(decodeServer())},
			Wait{Queue: 25, QueuePrefill: 20, QueueIdle: 5, Prefill: 10, Reply: 6}, Wait{Decode: 23, Stall: 2, Reply: 1}, "",
			[]string{"waits_by_time", noPlaces, noArrival}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := analyze(load(c.r), c.servers, Options{Host: "here"})
			if err != nil {
				t.Fatal(err)
			}
			check := func(what string, tail *Tail, event int, want Wait) (decode string) {
				i := slices.IndexFunc(tail.Cases, func(k Case) bool { return k.Event == event })
				switch {
				case i < 0 && want == Wait{}:
					return ""
				case i < 0:
					t.Errorf("%s: got no case, want %+v", what, wait(want))
					return ""
				}
				if k := tail.Cases[i]; k.Wait != wait(want) || k.Wait.Total() != k.NS {
					t.Errorf("%s: got %+v\nwant %+v", what, k, wait(want))
				}
				return tail.Cases[i].Decode
			}
			if to := check("TTFT", &r.TTFT, 0, c.ttft); to != c.decode {
				t.Errorf("got decode server %q, want %q", to, c.decode)
			}
			check("ITL", &r.ITL, 1, c.itl)
			if len(r.Notes) != len(c.notes) {
				t.Errorf("got notes %q, want %d", r.Notes, len(c.notes))
			}
			for _, n := range c.notes {
				if !strings.Contains(fmt.Sprint(r.Notes), n) {
					t.Errorf("got notes %q, want one with %q", r.Notes, n)
				}
			}
		})
	}
}

// TestSecondPair: a request that failed on one pair of servers is explained by the pair that served it.
func TestSecondPair(t *testing.T) {
	before := []moved{{2, 2, "kv_wait", "a", 5}, {3, 3, "kv_open", "", 5}}
	failed := recording{"prefill-1", api.Prefill, []*trace.Trace{moving(server(-1, 0, 200, at{4, 9, "step[EXTEND bs=1 toks=7]", "a"}), before...)}}
	// The decode server of the first pair failed, so the prefill server saw the request twice.
	twice, again := prefillServer(before...), prefillServer()
	moving(again.Traces[0], before...)
	for _, servers := range [][]recording{{failed, prefillServer(), decodeServer()}, {prefillServer(), failed, decodeServer()}, {twice, decodeServer()}, {again, decodeServer()}} {
		r, err := analyze(load(request("a", 1, 42, 68)), servers, Options{Host: "here"})
		if err != nil {
			t.Fatal(err)
		}
		if k := r.TTFT.Cases; len(k) != 1 || k[0].Server != "prefill-0" || k[0].Wait.Place != 5*ms {
			t.Errorf("got cases %+v, want one on prefill-0 that waits 5 ms for a place", k)
		}
	}
}

// TestAlike: behind a router with equal servers, each request belongs to the steps of one.
func TestAlike(t *testing.T) {
	other := func() *trace.Trace {
		return server(-1, 0, 200, at{0, 5, "step[EXTEND bs=1 toks=3]", "x"}, at{5, 26, "step[DECODE bs=1]", "x"})
	}
	late := []Late{{Server: "worker-0", DP: -1, From: start, To: start + 200*ms, Cost: 2 * ms, ID: "not its", Title: fact.Name("not its")}, {Server: "worker-1", DP: -1, From: start, To: start + 20*ms, Cost: 3 * ms, ID: "its", Title: fact.Name("its")}}
	for _, c := range []struct {
		by, how string
		traces  [2]*trace.Trace
	}{
		{ByID, ByID, [2]*trace.Trace{one(), other()}},
		{ByTime, ByTime, [2]*trace.Trace{nameless(one()), nameless(other())}},
	} {
		servers := []recording{{"worker-0", "", c.traces[:1]}, {"worker-1", "", c.traces[1:]}}
		r, err := analyze(load(request("x", 0, 6, 27)), servers, Options{Host: "here", Late: late})
		if err != nil || len(r.ITL.Cases) != 1 {
			t.Fatalf("by %s: got error %v, result %+v, want one ITL case", c.by, err, r)
		}
		if k := r.ITL.Cases[0]; k.Server != "worker-1" || k.DPFrom != c.how || k.Wait != wait(Wait{Decode: 17, SlowRank: 3, Reply: 1}) || fmt.Sprint(r.Late) != "[its]" {
			t.Errorf("by %s: got case %+v, late %q, want worker-1 by %s with a slow rank of 3 ms, late its", c.by, k, r.Late, c.how)
		}
	}
}

// TestPrefillByTime: without ids, a request belongs to the prefill server whose step ends last before the first token.
// Later steps do not count.
func TestPrefillByTime(t *testing.T) {
	busy := recording{"prefill-1", api.Prefill, []*trace.Trace{server(-1, 0, 200, at{0, 39, "step[EXTEND bs=1 toks=7]", ""}, at{39, 67, "step[EXTEND bs=1 toks=7]", ""}, at{67, 77, "step[EXTEND bs=1 toks=7]", ""})}}
	right := recording{"prefill-0", api.Prefill, []*trace.Trace{server(-1, 0, 200, at{14, 40, "step[EXTEND bs=1 toks=7]", ""})}}
	for _, servers := range [][]recording{{busy, right}, {right, busy}} {
		r, err := analyze(load(request("a", 1, 42, 68, 78)), append(servers, silent(decodeServer())), Options{Host: "here"})
		if err != nil {
			t.Fatal(err)
		}
		if k := r.TTFT.Cases; len(k) != 1 || k[0].Server != "prefill-0" || k[0].DPFrom != ByTime || r.Notes[1].Key != "waits_guessed_server" {
			t.Errorf("got cases %+v, notes %q, want one on prefill-0 by time, and a note on the guess", k, r.Notes)
		}
	}
}

// TestHosts: the clock of each server's host is compared separately.
func TestHosts(t *testing.T) {
	const hour = 3600 * int64(1e9)
	p, d := prefillServer(), decodeServer()
	p.Traces[0].Source.Host, d.Traces[0].Source.Host = "p", "d"
	for i := range d.Traces[0].Spans {
		d.Traces[0].Spans[i].Start -= hour
	}
	late := []Late{{Server: "decode-0", DP: -1, From: start - hour + 57*ms, To: start - hour + 67*ms, Cost: 4 * ms, ID: "first", Title: fact.Name("of a's first step")}}
	r, err := analyze(load(request("a", 1, 42, 68, 78)), []recording{p, d}, Options{Host: "here", Late: late})
	if err != nil || len(r.Clocks) != 2 || len(r.TTFT.Cases) != 1 {
		t.Fatalf("got error %v, result %+v, want two clocks and one TTFT", err, r)
	}
	// On host d the KV cache of a arrived at 40 ms, between the sending of a and its first token.
	if p, d := r.Clocks[0], r.Clocks[1]; p.Shift != 0 || p.Host != "p" || !p.Bounded || d.Hi != -hour+39*ms || d.Lo != -hour-2*ms || d.Shift != d.Lo+(d.Hi-d.Lo)/2 {
		t.Errorf("got clocks %+v, want p bounded and not shifted, d an hour behind", r.Clocks)
	}
	if fmt.Sprint(r.Late) != "[of a's first step]" {
		t.Errorf("got late %q, want that of the first step of a", r.Late)
	}
	notes := fmt.Sprint(r.Notes)
	if !strings.Contains(notes, "waits_clocks_moved server=waits_server_on host=d ") || !strings.Contains(notes, "waits_clocks_bounded server=waits_server_on host=p ") {
		t.Errorf("got notes %q, want that the clock of d was shifted and that of p bounded", r.Notes)
	}
	if k := r.TTFT.Cases[0]; k.Wait.Total() != k.NS || k.Wait.Place != 5*ms {
		t.Errorf("got case %+v, want parts that sum to the TTFT and 5 ms for a place", k)
	}
}

// TestApartSums: the parts of a TTFT sum to it, whatever was recorded.
func TestApartSums(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	explained := 0
	for range 300 {
		sent := rnd.Int64N(60) - 20
		var marks, gets []moved
		for _, name := range []string{"kv_wait", "kv_open", "kv_send layer=0", "kv_send layer=1"} {
			if at := rnd.Int64N(120) - 10; rnd.IntN(5) > 0 {
				marks = append(marks, moved{at, at + rnd.Int64N(9), name, "a", 7})
			}
		}
		if at := rnd.Int64N(120); rnd.IntN(5) > 0 {
			gets = append(gets, moved{at, at + rnd.Int64N(9), "kv_recv layer=0", "a", 7})
		}
		p, d := prefillServer(), decodeServer()
		p.Traces[0].Spans[0].Start += rnd.Int64N(30) * ms // of the window
		p.Traces[0].Spans = slices.DeleteFunc(p.Traces[0].Spans, func(s trace.Span) bool { return s.Cat == trace.Memcpy })
		d.Traces[0].Spans = slices.DeleteFunc(d.Traces[0].Spans, func(s trace.Span) bool { return s.Cat == trace.Memcpy })
		moving(p.Traces[0], marks...)
		moving(d.Traces[0], gets...)
		first := sent + rnd.Int64N(90)
		r := request("a", sent, first, first+rnd.Int64N(60))
		if rnd.IntN(2) == 0 {
			r = firstWithoutText(r)
		}
		got, err := analyze(load(r), []recording{p, d}, Options{Host: "here"})
		if errors.Is(err, ErrApart) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range slices.Concat(got.TTFT.Cases, got.ITL.Cases) {
			explained++
			if c.Wait.Total() != c.NS || slices.ContainsFunc(c.Wait.parts(), func(p *int64) bool { return *p < 0 }) || c.Wait.QueueIdle+c.Wait.QueuePrefill > c.Wait.Queue {
				t.Errorf("case %+v of request %+v: want parts that sum to the whole, moves %v, %v", c, r, marks, gets)
			}
		}
	}
	if explained < 200 {
		t.Errorf("got %d cases, want at least 200", explained)
	}
}
