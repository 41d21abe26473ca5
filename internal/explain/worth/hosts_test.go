package worth_test

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// TestHostsWaitForHosts: the worth of a late host for which the hosts of the other ranks wait in gloo, in windows of
// SGLang with a known cause.
func TestHostsWaitForHosts(t *testing.T) {
	for _, c := range []struct {
		dir         string
		rank, cause string
		from, to    time // length of a step without it
	}{
		// Rank 1's host is 2.52 ms later from step 3 on; steps took 6.4 ms before.
		{filepath.Join("testdata", "gloo_late_host"), "TP01", result.CauseHost, 6_000 * us, 6_700 * us},
	} {
		r := explaintest.Analyzed(t, explaintest.ReadDir(t, c.dir))
		f := r.Findings[0]
		if f.Kind != result.Straggler || !slices.Equal(f.Names, []string{c.rank}) || f.Cause != c.cause || f.Severity == "low" {
			t.Errorf("%s: the first finding is %s, want %s late by its %s%s", c.dir, f.ID, c.rank, c.cause, explaintest.Describe(r))
			continue
		}
		if w := time(f.Worth.Without); w < c.from || w > c.to {
			t.Errorf("%s: without the late rank steps take %d ns, want %d to %d", c.dir, w, c.from, c.to)
		}
		peers := int64(0)
		for _, row := range r.Times {
			if row.Rank == "TP00" && row.Kind == "decode" {
				peers = row.IdleBy.Peers
			}
		}
		if peers < 10_000*us {
			t.Errorf("%s: TP00 idles for %d ns while its host waits for that of TP01, want at least 10 ms", c.dir, peers)
		}
	}
}

type time = int64

// pausedInLaunch makes a rank's host stall inside a launch call of each step, beginning with step from.
func pausedInLaunch(t *testing.T, rank, from int, ns int64) []*trace.Trace {
	ts := explaintest.Retimed(t, "graphs", explaintest.Paused(rank, from, ns))
	// The graph launch now begins together with the pause.
	r := prep.Traces(ts, nil)[rank]
	longer := map[int32]bool{}
	for i := range r.Calls {
		c := &r.Calls[i]
		if c.Step >= int32(from) && !longer[c.Step] && c.Host > ns {
			longer[c.Step] = true
			s := &ts[rank].Spans[c.Span]
			s.Start, s.Dur = s.Start-ns+100_000, s.Dur+ns-100_000
		}
	}
	if len(longer) < 3 {
		t.Fatalf("got %d lengthened launches, want at least 3", len(longer))
	}
	return ts
}

// TestPauseAnywhere: a pause of the launching thread has the same worth wherever it falls: between launches, inside a
// launch call, or before a synchronisation.
func TestPauseAnywhere(t *testing.T) {
	const pause = 2_000 * us
	for name, ts := range map[string][]*trace.Trace{
		"between launches":         explaintest.Retimed(t, "graphs", explaintest.Paused(1, 5, pause)),
		"inside a launch call":     pausedInLaunch(t, 1, 5, pause),
		"before a synchronisation": explaintest.Retimed(t, "graphs", func(m *retime.Model) { pausedBeforeSync(m, 1, 5, pause) }),
	} {
		r := explaintest.Analyzed(t, ts)
		f := r.Findings[0]
		if f.Kind != result.Straggler || f.Cause != result.CauseHost || !slices.Equal(f.Ranks, []int{1}) {
			t.Errorf("%s: the first finding is %s, want rank 1 late by its host%s", name, f.ID, explaintest.Describe(r))
			continue
		}
		gain := float64(f.Worth.Step - f.Worth.Without)
		if off := math.Abs(gain-float64(pause)) / float64(f.Worth.Step); off > 0.05 {
			t.Errorf("%s: the worth is %.2f ms, want %.2f (off by %.1f %% of a step)", name, gain/1e6, float64(pause)/1e6, 100*off)
		}
	}
}

// pausedBeforeSync makes a host stall in each step before its last wait for the device.
func pausedBeforeSync(m *retime.Model, rank, from int, ns int64) {
	for n := from; n < m.Steps; n++ {
		var last *retime.Moment
		for _, p := range m.Moments {
			if p.Rank == rank && p.Step == n && p.Name == retime.Blocks {
				last = p
			}
		}
		if last != nil {
			last.Gap += ns
		}
	}
}
