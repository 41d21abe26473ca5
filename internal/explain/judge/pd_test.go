package judge_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/trace"
)

// queued gives a server five samples of its queues.
func queued(s explaintest.Recording, l trace.Load) explaintest.Recording {
	for i := range 5 {
		l.At = int64(10+i) * ms
		s.Loads = append(s.Loads, l)
	}
	return s
}

// glanced gives a server a single sample, which proves little.
func glanced(s explaintest.Recording, l trace.Load) explaintest.Recording {
	s = queued(s, l)
	s.Loads = s.Loads[:1]
	return s
}

// TestUneven: a side is not at its limit if one of its servers has time to spare.
func TestUneven(t *testing.T) {
	prefill := func(waiting int) explaintest.Recording {
		return queued(explaintest.BusyFor("EXTEND", 60, 1), trace.Load{Waiting: waiting})
	}
	for _, c := range []struct {
		a, b explaintest.Recording
		want bool
	}{
		{prefill(9), prefill(1), true},
		{prefill(0), prefill(2), true},
		{prefill(9), prefill(5), false},
		{prefill(1), prefill(0), false},
		{prefill(9), explaintest.BusyFor("EXTEND", 60, 1), false}, // unknown
	} {
		pd, err := explaintest.PrefillDecode([]explaintest.Recording{c.a, c.b}, []explaintest.Recording{queued(explaintest.BusyFor("DECODE", 60, 4), trace.Load{})})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(fmt.Sprint(report.Plain(pd).Notes), "spread unevenly"); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: got note of uneven load %v, want %v: %v", c, got, c.want, pd.Notes)
		}
	}
}

// TestLimits checks the side that limits the throughput, and the reason.
func TestLimits(t *testing.T) {
	prefill, decode := func(n int) explaintest.Recording { return explaintest.BusyFor("EXTEND", n, 1) }, func(n int) explaintest.Recording { return explaintest.BusyFor("DECODE", n, 4) }
	none := trace.Load{}
	for _, c := range []struct {
		name            string
		prefill, decode explaintest.Recording
		want            string
		title           string // substring
	}{
		{"both idle", prefill(20), decode(30), result.LimitUnknown, "the load was too low"},
		{"both idle, no request waits", queued(prefill(20), none), queued(decode(30), none), result.LimitUnknown, "the load was too low"},
		{"both idle, one sample saw waiting requests", glanced(prefill(20), trace.Load{Waiting: 5}), glanced(decode(30), none), result.LimitUnknown, "yet 5.0 requests waited"},
		{"prefill has no time left", prefill(90), decode(60), result.LimitPrefill, "in forward steps 91"},
		{"prefill has no time left, decode is always in steps", prefill(90), decode(90), result.LimitPrefill, "in forward steps 91"},
		{"decode is busier", prefill(40), decode(80), result.LimitDecode, "busier side"},
		{"prefill is busier", prefill(80), decode(40), result.LimitPrefill, "busier side"},
		{"both equally busy", prefill(60), decode(60), result.LimitUnknown, "neither side"},
		{"busy, no request waits", queued(prefill(90), none), queued(decode(60), none), result.LimitLoad, "prefill servers are the busier"},
		{"requests wait for prefill", queued(prefill(60), trace.Load{Waiting: 5}), queued(decode(90), trace.Load{Running: 9, Prealloc: 1}), result.LimitPrefill, "5.0 requests wait for them, 1.0"},
		{"requests wait for a place on a decode server", queued(prefill(90), trace.Load{Waiting: 1}), queued(decode(60), trace.Load{Running: 9, Prealloc: 6, Retracted: 1}), result.LimitDecode, "7.0 requests wait"},
		{"requests wait for the decode batch", queued(prefill(90), none), queued(decode(60), trace.Load{Running: 9, Waiting: 3}), result.LimitDecode, "3.0 requests wait"},
		{"requests hold places while they wait for prefill", queued(prefill(60), trace.Load{Waiting: 20, Bootstrap: 40}), queued(decode(60), trace.Load{Running: 5, Transfer: 20, Prealloc: 40}),
			result.LimitPrefill, "20.0 wait for prefill"},
		{"requests hold places during prefill", queued(prefill(90), trace.Load{Bootstrap: 28}), queued(decode(10), trace.Load{Transfer: 4, Prealloc: 28}), result.LimitPrefill, "4.0 wait for prefill or are in it"},
		{"transferred requests hold places until the decode step ends", queued(prefill(10), trace.Load{Bootstrap: 20}), queued(decode(90), trace.Load{Running: 4, Transfer: 6, Prealloc: 20}), result.LimitDecode, "20.0 requests wait for a place"},
		{"requests hold places during their transfer", queued(prefill(10), trace.Load{Inflight: 7, Bootstrap: 20}), queued(decode(60), trace.Load{Running: 1, Transfer: 7, Prealloc: 20}), result.LimitTransfer, "7.0 are being sent and 1.0"},
		{"requests hold prefill memory during their transfer", queued(prefill(10), trace.Load{Inflight: 6, Waiting: 9, KVUsage: 0.95}), queued(decode(60), trace.Load{Running: 1, Transfer: 15}), result.LimitTransfer, "9.0 requests wait for it while those servers idle 89.0 %"},
		{"prefill has time and memory, few transfers", queued(prefill(10), trace.Load{Inflight: 1, Waiting: 2, KVUsage: 0.1}), queued(decode(60), trace.Load{Running: 1, Transfer: 3}), result.LimitPrefill, "2.0 requests wait for them"},
		{"requests hold prefill memory, but prefill is busy", queued(prefill(60), trace.Load{Inflight: 6, Waiting: 9, KVUsage: 0.95}), queued(decode(60), trace.Load{Running: 1, Transfer: 15}), result.LimitPrefill, "9.0 requests wait for them"},
		{"requests are in transfer", queued(prefill(60), trace.Load{Inflight: 8}), queued(decode(60), trace.Load{Transfer: 8}), result.LimitTransfer, "8.0 are prefilled"},
		{"samples on one side only", queued(prefill(60), trace.Load{Waiting: 5}), decode(90), result.LimitDecode, "busier side"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.title = strings.Replace(c.title, "8.0 are", "8.0 requests are", 1)
			pd, err := explaintest.PrefillDecode([]explaintest.Recording{c.prefill}, []explaintest.Recording{c.decode})
			if err != nil {
				t.Fatal(err)
			}
			if f := &pd.Findings[0]; pd.Limit != c.want || f.Cause != c.want || !strings.Contains(report.Words(f.Title), c.title) || len(f.Evidence) == 0 {
				t.Errorf("got limit %s: %q, want %s: %q", pd.Limit, f.Title, c.want, c.title)
			}
		})
	}
}
