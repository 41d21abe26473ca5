package report

import (
	"testing"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/waits"
)

// TestSlowCauses checks the sentences about the slowest first tokens, with and without recorded ones.
func TestSlowCauses(t *testing.T) {
	over := fact.Of("waits_over_capacity", "offered", 100.0, "completed", 56.7)
	causes := []waits.Cause{
		{Kind: "overload", NS: 1_600_000_000, Share: 0.76, Title: fact.Of("waits_cause_capacity", "why", over, "late", fact.Fact{})},
		{Kind: "other_prefill", NS: 400_000_000, Share: 0.19, Title: fact.Of("waits_cause_other_prefill")},
		{Kind: "reply", NS: 40_000_000, Share: 0.02, Title: fact.Of("waits_cause_reply")},
	}
	covered := []bench.Span{{From: 22_000_000_000, To: 23_000_000_000}}
	for _, c := range []struct {
		name   string
		causes *waits.Causes
		want   string
		next   int // remedies
	}{
		{"none", nil, "", 0},
		{"recorded", &waits.Causes{Slowest: 150, Held: 14, NS: 2_100_000_000, Causes: causes, Covered: covered, Overload: over},
			"Of the 2.10 s that the 150 slowest first tokens waited: 1.60 s (76 %) queue, because the server is over its capacity: 100.0 requests/s are due, and it completes about 56.7/s; 400 ms (19 %) prefill of other requests. These are the means of the 14 of them in the recorded part of the load (22.0 s … 23.0 s)", 0},
		{"only others", &waits.Causes{Slowest: 150, All: 430_000_000, Others: 9, NS: 400_000_000, Causes: []waits.Cause{{Kind: "stall", NS: 400_000_000, Share: 1, Title: fact.Of("waits_cause_stall")}}, Covered: covered},
			"The 150 slowest first tokens waited 430 ms; the recorded part of the load (22.0 s … 23.0 s) holds none of them. The slowest in it (9) waited 400 ms: 400 ms (100 %) a stall of the server", 1},
		{"nothing", &waits.Causes{Slowest: 1, Covered: covered, Overload: over},
			"What the slowest first token waited for on the server cannot be told: the recorded part of the load (22.0 s … 23.0 s) does not hold it. Requests queue, because the server is over its capacity: 100.0 requests/s are due, and it completes about 56.7/s. To record all requests of a short load: --profile-unbounded", 0},
	} {
		if got := SlowCauses(&waits.Result{Causes: c.causes}); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
		if c.causes != nil {
			if got := causeRemedies(c.causes); len(got) != c.next {
				t.Errorf("%s: remedies %q", c.name, got)
			}
		}
	}
}
