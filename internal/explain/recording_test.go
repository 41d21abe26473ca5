package explain

import (
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// referred explains traces beside a reference.
func referred(t *testing.T, ts []*trace.Trace, ref *trace.Reference) *result.Report {
	t.Helper()
	r, err := Analyze(ts, Options{Reference: ref})
	if err != nil {
		t.Fatal(err)
	}
	checkIdentities(t, r)
	checkSentences(t, r)
	return r
}

// stepsOf are decode steps of a batch that took so long where nothing recorded them.
func stepsOf(batch int, ns int64) *trace.Reference {
	return &trace.Reference{From: trace.FromTokens, Paces: []trace.StepTime{{Batch: batch, N: 100, Median: ns, Low: ns - ns/50, High: ns + ns/50}}}
}

// severityOf is that of a finding whose ID begins so; "": there is none.
func severityOf(r *result.Report, begins string) string {
	for _, f := range r.Findings {
		if strings.HasPrefix(f.ID, begins) {
			return f.Severity
		}
	}
	return ""
}

// TestRecording has real windows of an SGLang without stacks, one of a stopped host and
// one of a shared device, beside references: what recording added is taken off what is
// said of hosts, and of nothing else. (The lateness of three steps of two ranks cannot be tested
// against chance, so it is low whatever recording cost.)
func TestRecording(t *testing.T) {
	const host, straggler = "host_bound-decode", "straggler-tp01-host"
	for _, c := range []struct {
		name, set string
		ref       *trace.Reference
		says      string // of recording
		want      map[string]string
	}{
		{"none", "sglang_stops", nil, "its cost is not known, and", map[string]string{host: "medium", straggler: "low", "host_bound-prefill": "high"}},
		{"perhaps shorter", "sglang_stops", stepsOf(16, 3_900*us), "whether it slowed them cannot be told", map[string]string{host: "medium", straggler: "low", "host_bound-prefill": "medium"}},
		{"as long", "sglang_stops", stepsOf(16, 5_000*us), "did not slow them measurably", map[string]string{host: "medium", straggler: "low", "host_bound-prefill": "high"}},
		{"shorter", "sglang_stops", stepsOf(16, 2_600*us), "what is said of hosts is corrected by it", map[string]string{host: "low", straggler: "low", "host_bound-prefill": "medium"}},
		{"at most", "sglang_stops", atMost(stepsOf(16, 5_000*us)), "they took less than 5.00 ms, with prefill between: what recording added is not known", map[string]string{host: "medium", "host_bound-prefill": "medium"}},
		{"about the batch", "sglang_stops", stepsOf(14, 2_600*us), "decode steps of 16 took", map[string]string{host: "low"}},
		{"other batch", "sglang_stops", stepsOf(8, 2_600*us), "not known (nothing is known of other decode steps of 16)", map[string]string{host: "medium", straggler: "low"}},
		{"device", "sglang_shared", stepsOf(16, 2_600*us), "corrected", map[string]string{"straggler-tp01-device": "high"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := referred(t, realSet(t, c.set), c.ref)
			if got := report.Words(r.Recording.Says); !strings.Contains(got, c.says) {
				t.Errorf("%q, want %q", got, c.says)
			}
			for id, want := range c.want {
				if got := severityOf(r, id); got != want {
					t.Errorf("%s is %q, want %q%s", id, got, want, describe(r))
				}
			}
		})
	}
}

// atMost is a reference that prefill has a part in.
func atMost(ref *trace.Reference) *trace.Reference {
	ref.Upper = true
	return ref
}

// TestRecordingRatio: the interval of the ratio is that of the medians.
func TestRecordingRatio(t *testing.T) {
	o := referred(t, realSet(t, "sglang_stops"), stepsOf(16, 2_600*us)).Recording
	if !o.Known || o.Steps < 5 || o.RatioLow > o.Ratio || o.Ratio > o.RatioHigh || o.Added != o.Inside-o.Outside || o.Outside != 2_600*us {
		t.Errorf("%+v", o)
	}
}

// TestRecordingStacks: without a reference hosts recorded with Python stacks are never a
// finding of high severity, and the report says what to do.
func TestRecordingStacks(t *testing.T) {
	r := referred(t, realSet(t, "stacks"), nil)
	if got := severityOf(r, "host_bound-decode"); got != "medium" || !r.Recording.Stacks {
		t.Errorf("host-bound is %q%s", got, describe(r))
	}
	if got := report.Words(r.Recording.Says); !strings.Contains(got, "--no-with-stack, --lean") {
		t.Errorf("recording: %q", got)
	}
}

// TestRecordingOnset: a host that becomes late within the window is not the profiler's
// doing, which the steps before show, however much longer than others they make the
// median.
func TestRecordingOnset(t *testing.T) {
	ts := retimed(t, "graphs", func(m *retime.Model) { paused(1, 5, 4_000*us)(m) })
	plain := analyzed(t, realSet(t, "graphs"))
	ref := stepsOf(plain.Steps[2].Batch, decodeMedian(plain))
	for name, ref := range map[string]*trace.Reference{"none": nil, "given": ref} {
		r := referred(t, ts, ref)
		if got := severityOf(r, "straggler-tp01-host"); got != "high" {
			t.Errorf("%s: the late host is %q%s\n%+v", name, got, describe(r), r.Recording)
		}
	}
}

// decodeMedian is the median length of a report's decode steps.
func decodeMedian(r *result.Report) int64 {
	var all []int64
	for _, s := range r.Steps[1 : len(r.Steps)-1] {
		if s.Kind == "decode" {
			all = append(all, s.Ranks[0].Total)
		}
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// TestCompareStacks: that one side alone was recorded with stacks is said.
func TestCompareStacks(t *testing.T) {
	for _, stripped := range []bool{true, false} {
		a, b := realSet(t, "stacks"), realSet(t, "stacks")
		for _, x := range a {
			if stripped {
				withoutFrames(x)
			}
		}
		c, err := Compare(a, b, CompareOptions{IDA: "a", IDB: "b"})
		if err != nil {
			t.Fatal(err)
		}
		said := slices.ContainsFunc(c.Unlike, func(f fact.Fact) bool {
			return strings.HasPrefix(report.Words(f), "only b was recorded with Python stacks")
		})
		if said != stripped {
			t.Errorf("stripped %v: %v", stripped, c.Unlike)
		}
	}
}
