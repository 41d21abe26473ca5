package judge_test

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// TestRecording has real windows of an SGLang without stacks, one of a stopped host and one of a shared device, with
// references: the overhead of recording is subtracted from findings about hosts, and from no others. (The lateness of
// three steps of two ranks cannot be tested against chance, so its severity is low whatever the overhead.)
func TestRecording(t *testing.T) {
	const host, straggler = "host_bound-decode", "straggler-tp01-host"
	for _, c := range []struct {
		name, set string
		ref       *trace.Reference
		says      string // key and values of the fact about recording
		want      map[string]string
	}{
		{"no reference", "sglang_stops", nil, "recording_unknown", map[string]string{host: "medium", straggler: "low", "host_bound-prefill": "high"}},
		{"possibly shorter", "sglang_stops", explaintest.StepsOf(16, 3_900*us), "effect=recording_vague", map[string]string{host: "medium", straggler: "low", "host_bound-prefill": "medium"}},
		{"equal length", "sglang_stops", explaintest.StepsOf(16, 5_000*us), "effect=recording_none", map[string]string{host: "medium", straggler: "low", "host_bound-prefill": "high"}},
		{"shorter", "sglang_stops", explaintest.StepsOf(16, 2_600*us), "effect=recording_corrected", map[string]string{host: "low", straggler: "low", "host_bound-prefill": "medium"}},
		{"faster than outside", "sglang_stops", explaintest.StepsOf(16, 50_000*us), "recording_unlikely", map[string]string{host: "medium", straggler: "low", "host_bound-prefill": "high"}},
		{"uneven steps outside", "sglang_stops", uneven(explaintest.StepsOf(16, 2_600*us), 2.5), "recording_wide", map[string]string{host: "medium", straggler: "low", "host_bound-prefill": "medium"}},
		{"upper bound", "sglang_stops", atMost(explaintest.StepsOf(16, 5_000*us)), "recording_behind", map[string]string{host: "medium", "host_bound-prefill": "medium"}},
		{"a similar batch", "sglang_stops", explaintest.StepsOf(14, 2_600*us), "kind=decode batch=of_batch n=16", map[string]string{host: "low"}},
		{"another batch", "sglang_stops", explaintest.StepsOf(8, 2_600*us), "recording_unknown why=recording_unlike batch=of_batch n=16", map[string]string{host: "medium", straggler: "low"}},
		{"a late device", "sglang_shared", explaintest.StepsOf(16, 2_600*us), "corrected", map[string]string{"straggler-tp01-device": "high"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := explaintest.Referred(t, explaintest.RealSet(t, c.set), c.ref)
			if got := r.Recording.Says.String(); !strings.Contains(got, c.says) {
				t.Errorf("got fact %q, want %q in it", got, c.says)
			}
			for id, want := range c.want {
				if got := explaintest.SeverityOf(r, id); got != want {
					t.Errorf("severity of %s: got %q, want %q%s", id, got, want, explaintest.Describe(r))
				}
			}
		})
	}
}

// atMost returns a reference that includes some prefill.
func atMost(ref *trace.Reference) *trace.Reference {
	ref.Upper = true
	return ref
}

// uneven returns a reference whose bounds differ by a factor.
func uneven(ref *trace.Reference, factor float64) *trace.Reference {
	ref.Paces[0].High = int64(factor * float64(ref.Paces[0].Low))
	return ref
}

// TestRecordingRatio: the interval of the ratio follows from those of the medians.
func TestRecordingRatio(t *testing.T) {
	o := explaintest.Referred(t, explaintest.RealSet(t, "sglang_stops"), explaintest.StepsOf(16, 2_600*us)).Recording
	if !o.Known || o.Steps < 5 || o.RatioLow > o.Ratio || o.Ratio > o.RatioHigh || o.Added != o.Inside-o.Outside || o.Outside != 2_600*us {
		t.Errorf("got %+v, want a known ratio within its interval, 2.6 ms outside and at least 5 steps", o)
	}
}

// TestRecordingStacks: without a reference, findings about hosts recorded with Python stacks never have high severity,
// and the report recommends an action.
func TestRecordingStacks(t *testing.T) {
	r := explaintest.Referred(t, explaintest.RealSet(t, "stacks"), nil)
	if got := explaintest.SeverityOf(r, "host_bound-decode"); got != "medium" || !r.Recording.Stacks {
		t.Errorf("severity of host-bound: got %q, want medium, with stacks recorded%s", got, explaintest.Describe(r))
	}
	if got := report.Words(r.Recording.Says); !strings.Contains(got, "--no-with-stack, --lean") {
		t.Errorf("got recording %q, want advice to record without stacks", got)
	}
}

// TestRecordingOnset: a host that becomes late within the window is not due to the profiler, as the earlier steps show,
// however much it raises the median.
func TestRecordingOnset(t *testing.T) {
	ts := explaintest.Retimed(t, "graphs", func(m *retime.Model) { explaintest.Paused(1, 5, 4_000*us)(m) })
	plain := explaintest.Analyzed(t, explaintest.RealSet(t, "graphs"))
	ref := explaintest.StepsOf(plain.Steps[2].Batch, explaintest.DecodeMedian(plain))
	for name, ref := range map[string]*trace.Reference{"none": nil, "given": ref} {
		r := explaintest.Referred(t, ts, ref)
		if got := explaintest.SeverityOf(r, "straggler-tp01-host"); got != "high" {
			t.Errorf("reference %s: severity of the late host: got %q, want high%s\n%+v", name, got, explaintest.Describe(r), r.Recording)
		}
	}
}
