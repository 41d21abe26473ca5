package tables_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

func on(y explaintest.Server, host string) *trace.Trace {
	y.T.Source.Host = host
	return y.Done()
}

// TestSides checks the figures of two servers of a side, one with two ranks.
func TestSides(t *testing.T) {
	rank := func(tp int, y explaintest.Server) *trace.Trace {
		tr := y.Done()
		tr.Source.Rank = trace.Rank{TP: tp, DP: -1, PP: -1, EP: -1}
		return tr
	}
	two := explaintest.Recording{Name: "two", Traces: []*trace.Trace{
		rank(0, explaintest.NewServer().Forward("EXTEND", 0, 50*ms, 2, 100, "").Forward("EXTEND", 80*ms, 100*ms, 4, 300, "")),
		rank(1, explaintest.NewServer().Forward("EXTEND", 0, 30*ms, 2, 100, "").Forward("EXTEND", 80*ms, 100*ms, 4, 300, "")),
	}}
	one := explaintest.Recording{Name: "one", Traces: []*trace.Trace{rank(0, explaintest.NewServer().Forward("EXTEND", 0, 100*ms, 1, 50, ""))}}
	pd, err := explaintest.PrefillDecode([]explaintest.Recording{two, one}, []explaintest.Recording{explaintest.BusyFor("DECODE", 90, 4)})
	if err != nil {
		t.Fatal(err)
	}
	p := &pd.Prefill
	a := p.Servers[0]
	near := func(got, want float64) bool { return math.Abs(got-want) < 0.001*max(1, want) }
	if p.Steps != 3 || !near(p.Stepping, (0.7+0.5+1)/3) || !near(p.Busy, (0.7+0.5+1)/3) || !near(p.TokensPerS, 4500) {
		t.Errorf("got prefill side %+v, want 3 steps, 73.3 %% busy, 4500 tokens a second", p)
	}
	// Both ranks run the same steps, which count once.
	if a.Ranks != 2 || a.Steps != 2 || a.OtherSteps != 0 || a.WindowNS != 100*ms || a.Period != 80*ms || a.Batch != 3 || a.BatchMax != 4 || !near(a.TokensPerS, 4000) || !near(a.Stepping, 0.6) {
		t.Errorf("server of two ranks: got %+v, want 2 steps of 80 ms, batch 3 (at most 4), 60 %% busy, 4000 tokens a second", a)
	}
	if len(pd.Notes) != 1 || !strings.Contains(report.Words(pd.Notes[0].Text), "do not show KV transfers") {
		t.Errorf("got notes %+v, want one: the traces do not show KV transfers", pd.Notes)
	}
	if pd.Transfer.Seen != 0 || !strings.HasPrefix(report.Words(pd.Transfer.Clocks), "not compared") {
		t.Errorf("got transfers %+v, want none, clocks not compared", pd.Transfer)
	}
}

// TestIdleServers: the window is the recorded time, not the time from first to last step, and a server without steps
// was idle if that can be known.
func TestIdleServers(t *testing.T) {
	recorded := func(y explaintest.Server) explaintest.Server {
		y.Span(trace.Window, 0, "PyTorch Profiler (0)", 0, 1000*ms)
		return y
	}
	served := recorded(explaintest.NewServer().Forward("EXTEND", 100*ms, 200*ms, 1, 50, "")).Done()
	idle := recorded(explaintest.NewServer().Move("kv_recv layer=0", 100*ms, 150*ms, 10, "a", 7)).Done()
	cut := recorded(explaintest.NewServer().Forward("EXTEND", 100*ms, 200*ms, 1, 50, "").Forward("EXTEND", 300*ms, 400*ms, 1, 50, "")).Done()
	cut.Source.Complete = false
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-4 }
	alone := func(t *trace.Trace) []explaintest.Recording {
		return []explaintest.Recording{{Name: "s", Traces: []*trace.Trace{t}}}
	}

	pd, err := explaintest.PrefillDecode(append(alone(served), alone(idle)...), alone(idle))
	if err != nil {
		t.Fatal(err)
	}
	p, d := &pd.Prefill, &pd.Decode
	if p.Steps != 1 || !near(p.Stepping, 0.05) || p.Servers[0].FromNS != 0 || p.Servers[0].WindowNS != 1000*ms || !near(p.Servers[0].TokensPerS, 50) {
		t.Errorf("got prefill %+v, want one step, 5 %% of a window of 1 s", p)
	}
	if s := &d.Servers[0]; s.Ranks != 1 || s.Steps != 0 || s.Stepping != 0 || s.WindowNS != 1000*ms || d.Stepping != 0 || pd.Transfer.Seen != 1 {
		t.Errorf("got decode %+v, transfer %+v, want an idle server with a window of 1 s and one transfer", d, pd.Transfer)
	}
	for _, n := range pd.Notes {
		if !strings.Contains(report.Words(n.Text), "both sides") {
			t.Errorf("got note %+v, want only notes about both sides", n)
		}
	}
	// The missing end of a cut file is not idle time.
	if pd, err = explaintest.PrefillDecode(alone(cut), alone(idle)); err != nil || !near(pd.Prefill.Stepping, 1) {
		t.Errorf("cut file: got %+v, error %v, want prefill always in steps", pd, err)
	}
	// No server names steps, or the file does not give the recorded time.
	for name, unknown := range map[string]*trace.Trace{
		"no step names": recorded(explaintest.Server{Toy: toytrace.New().Run("k", 0, 10, 20, 1)}).Done(),
		"no window":     toytrace.New().Run("k", 0, 10, 20, 1).Done(),
	} {
		other := alone(served)
		if name == "no step names" {
			other = alone(unknown)
		}
		if pd, err = explaintest.PrefillDecode(other, alone(unknown)); err == nil {
			t.Errorf("%s: got %+v, want an error", name, pd)
		}
	}
}

// TestTransfers checks transfers from a prefill to a decode server whose clocks may differ.
func TestTransfers(t *testing.T) {
	// Request a of room 7 is prefilled from 0 to 20 ms and sent layer by layer; the last byte arrives 4 ms after its
	// last kernel, and its first decode step begins 6 ms later.
	servers := func(host string, ahead int64, room int64, decodeID string, layers ...string) (p, d explaintest.Recording) {
		y := explaintest.NewServer().Forward("EXTEND", 0, 20*ms, 1, 100, "a").Forward("EXTEND", 40*ms, 41*ms, 1, 100, "b")
		z := explaintest.NewServer()
		for i, l := range layers {
			at := 10*ms + int64(i)*10*ms
			y.Move("kv_send layer="+l, at, at+2*ms, 1000, "a", room)
			z.Move("kv_recv layer="+l, at+1*ms+ahead, at+4*ms+ahead, 1000, decodeID, room)
		}
		z.Forward("DECODE", 30*ms+ahead, 35*ms+ahead, 1, 1, decodeID).Forward("DECODE", 35*ms+ahead, 40*ms+ahead, 1, 1, decodeID)
		return explaintest.Recording{Name: "p", Traces: []*trace.Trace{on(y, "h1")}}, explaintest.Recording{Name: "d", Traces: []*trace.Trace{on(z, host)}}
	}
	spread := func(v int64) result.Spread { return result.Spread{N: 1, Median: v, P99: v, Max: v} }
	for _, c := range []struct {
		name     string
		host     string
		ahead    int64
		room     int64
		decodeID string
		want     result.Transfers
	}{
		{"one host, different ids", "h1", 0, 7, "x",
			result.Transfers{Seen: 1, Whole: 1, Copies: 2, By: "rooms", Bytes: 2000, GBs: 2000 / 6e6, Took: spread(14 * ms), Exposed: spread(4 * ms), Joined: spread(6 * ms), Clocks: fact.Name("agree")}},
		{"no rooms, the client's ids", "h1", 0, 0, "a",
			result.Transfers{Seen: 1, Whole: 1, Copies: 2, By: "request ids", Bytes: 2000, GBs: 2000 / 6e6, Took: spread(14 * ms), Exposed: spread(4 * ms), Joined: spread(6 * ms), Clocks: fact.Name("agree")}},
		{"no rooms or ids in common", "h1", 0, 0, "x",
			result.Transfers{Seen: 2, Whole: 2, Copies: 4, Bytes: 4000, GBs: 4000 / 10e6, Joined: spread(6 * ms), Clocks: fact.Name("not compared")}},
		{"another host", "h2", 1 * ms, 7, "x",
			result.Transfers{Seen: 1, Whole: 1, Copies: 2, By: "rooms", Bytes: 2000, GBs: 2000 / 6e6, Took: spread(15 * ms), Exposed: spread(5 * ms), Joined: spread(6 * ms), Clocks: fact.Name("may differ")}},
		// A copy that arrived before it was sent arrived when it was sent, at the earliest.
		{"a clock behind", "h2", -1000 * ms, 7, "x",
			result.Transfers{Seen: 1, Whole: 1, Copies: 2, By: "rooms", Bytes: 2000, GBs: 2000 / 6e6, Took: spread(10 * ms), Exposed: spread(0), Joined: spread(6 * ms), ShiftNS: 996 * ms, Clocks: fact.Name("differ")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, d := servers(c.host, c.ahead, c.room, c.decodeID, "0", "1")
			pd, err := explaintest.PrefillDecode([]explaintest.Recording{p}, []explaintest.Recording{d})
			if err != nil {
				t.Fatal(err)
			}
			got := pd.Transfer
			if math.Abs(got.Sending-4.0/41) > 0.001 || !strings.HasPrefix(report.Words(got.Clocks), c.want.Clocks.Text) {
				t.Errorf("got %.4f of the time in sends, want %.4f; got clocks %s, want %s", got.Sending, 4.0/41, got.Clocks, c.want.Clocks.Text)
			}
			got.Sending, got.Clocks = 0, c.want.Clocks
			if math.Abs(got.GBs-c.want.GBs) > 1e-9 {
				t.Errorf("got %v GB/s, want %v", got.GBs, c.want.GBs)
			}
			if got.GBs = c.want.GBs; !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
	t.Run("one host, impossible times", func(t *testing.T) {
		p, d := servers("h1", -1000*ms, 7, "x", "0", "1")
		pd, err := explaintest.PrefillDecode([]explaintest.Recording{p}, []explaintest.Recording{d})
		if x := &pd.Transfer; err != nil || x.Whole != 1 || x.Took.N != 0 || x.Exposed.N != 0 || x.ShiftNS != 0 || !strings.HasPrefix(report.Words(x.Clocks), "contradict each other: both sides name the same host") {
			t.Errorf("got transfers %+v, error %v, want one without times and clocks that contradict each other", x, err)
		}
	})
	// A second chunk, missing in the decode server's window, does not indicate different clocks.
	t.Run("a chunk cut off", func(t *testing.T) {
		p, d := servers("h2", 0, 7, "x", "0", "1")
		y := explaintest.Server{Toy: &toytrace.Toy{T: p.Traces[0]}}
		y.Move("kv_send layer=0", 60*ms, 61*ms, 500, "a", 7).Done()
		pd, err := explaintest.PrefillDecode([]explaintest.Recording{p}, []explaintest.Recording{d})
		if x := &pd.Transfer; err != nil || x.Seen != 1 || x.Whole != 0 || x.ShiftNS != 0 {
			t.Errorf("got transfers %+v, error %v, want one seen, none whole, no clock shift", x, err)
		}
	})
	// A request retried with another pair has its ID in both, and the first try has an end on one side only.
	t.Run("tried again", func(t *testing.T) {
		p, d := servers("h1", 0, 7, "a", "0")
		y := explaintest.Server{Toy: &toytrace.Toy{T: p.Traces[0]}}
		y.Move("kv_send layer=0", 1*ms, 2*ms, 1000, "a", 6).Done()
		pd, err := explaintest.PrefillDecode([]explaintest.Recording{p}, []explaintest.Recording{d})
		if x := &pd.Transfer; err != nil || x.Seen != 2 || x.By != "rooms" || x.Took != spread(4*ms) {
			t.Errorf("got transfers %+v, error %v, want two by rooms, 4 ms each", x, err)
		}
	})
	t.Run("cut by the window", func(t *testing.T) {
		p, d := servers("h1", 0, 7, "x", "0", "1", "2")
		_, late := servers("h1", 0, 7, "x", "1", "2")
		late.Traces[0].Moves = append(late.Traces[0].Moves, d.Traces[0].Moves...)
		pd, err := explaintest.PrefillDecode([]explaintest.Recording{p}, []explaintest.Recording{late})
		if err != nil || pd.Transfer.Seen != 1 || pd.Transfer.Whole != 0 || !strings.Contains(fmt.Sprint(report.Plain(pd).Notes), "record for longer") {
			t.Errorf("got transfers %+v, notes %+v, error %v, want one seen, none whole, and the advice to record longer", pd.Transfer, pd.Notes, err)
		}
	})
}

// TestNoSteps: servers without usable traces are an error that names them.
func TestNoSteps(t *testing.T) {
	idle := explaintest.Recording{Name: "d", Traces: []*trace.Trace{toytrace.New().Run("k", 0, 10, 20, 1).Done()}}
	if _, err := explaintest.PrefillDecode([]explaintest.Recording{explaintest.BusyFor("EXTEND", 50, 1)}, []explaintest.Recording{idle}); err == nil || !strings.Contains(err.Error(), "decode servers") {
		t.Errorf("got error %v, want one that names the decode servers", err)
	}
}
