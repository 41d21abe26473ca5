package explain

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// TestSGLangData holds captures of a real SGLang that are not in the repository against
// what is known of them: their steps, and who is late why. "~" stands before what must
// not be said.
func TestSGLangData(t *testing.T) {
	data := os.Getenv("STEPSCOPE_DATA")
	if data == "" {
		t.Skip("STEPSCOPE_DATA is not set: the directory of the shared captures")
	}
	for _, c := range []struct {
		name  string
		kinds map[string]int // steps
		says  []string       // in titles and evidence
	}{
		{"sglang_plain", map[string]int{"decode": 7}, []string{`TP01 is late`, `its host launches`, `~CUDA graphs would save`}},
		{"sglang_stage", map[string]int{"prefill": 1}, []string{`only 1 of the 3 steps`, `~is late`}},
		{"sglang_stack", map[string]int{"decode": 1, "prefill": 1}, []string{`only 2 of the 3 steps`, `~is late`}},
		{"sglang_moe", map[string]int{"decode": 8, "prefill": 1}, []string{
			`TP00-DP00-EP00 is late from step 0 on: it runs more or larger kernels`, `triton_per_fused_copy__mul_sum_0.*49,152 blocks per launch against 6,144`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := analyzed(t, readDir(t, filepath.Join(data, "traces", c.name)))
			kinds := map[string]int{}
			for _, s := range r.Steps {
				kinds[s.Kind]++
			}
			if fmt.Sprint(kinds) != fmt.Sprint(c.kinds) {
				t.Errorf("steps %v, want %v", kinds, c.kinds)
			}
			all := allWords(r)
			for _, want := range c.says {
				pattern, not := strings.CutPrefix(want, "~")
				if regexp.MustCompile(pattern).MatchString(all) == not {
					t.Errorf("%q%s", want, describe(r))
				}
			}
		})
	}
}

// TestSGLangPlain: a window of a real SGLang with Python stacks, whose steps of 6 to 8 ms
// take 2.9 ms without, has no finding of high severity about its hosts. Beside what they
// take it has none above low.
func TestSGLangPlain(t *testing.T) {
	data := os.Getenv("STEPSCOPE_DATA")
	if data == "" {
		t.Skip("STEPSCOPE_DATA is not set: the directory of the shared captures")
	}
	for _, c := range []struct {
		ref     *trace.Reference
		most    string
		says    string
		atLeast float64
	}{
		{nil, "medium", "Python stacks slow the host", 0},
		{stepsOf(16, 2_900*us), "low", "corrected by it; a window without Python stacks costs less", 1.9},
	} {
		r := referred(t, readDir(t, filepath.Join(data, "traces", "sglang_plain")), c.ref)
		if says := report.Words(r.Recording.Says); !strings.Contains(says, c.says) || r.Recording.Ratio < c.atLeast || r.Recording.Ratio > 2.6 {
			t.Errorf("%q: %+v", says, r.Recording)
		}
		severities := []string{"info", "low", "medium", "high"}
		for _, f := range r.Findings {
			if f.Cause == result.CauseHost && slices.Index(severities, f.Severity) > slices.Index(severities, c.most) {
				t.Errorf("%s: %s", f.Severity, report.Words(f.Title))
			}
		}
	}
}

// allWords is what a report says in findings and their evidence, a line each.
func allWords(r *result.Report) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintln(&b, report.Words(f.Title))
		for _, e := range f.Evidence {
			fmt.Fprintln(&b, report.Words(e.Text))
		}
	}
	return b.String()
}

// TestReasonsOfWork: a larger batch of the late rank stands in the evidence.
func TestReasonsOfWork(t *testing.T) {
	ts := clone(realSet(t, "graph_work"))
	for i := range ts[1].Spans {
		s := &ts[1].Spans[i]
		if step, ok := trace.ParseStep(ts[1].Strings.Get(s.Name)); ok && step.Kind == trace.Decode {
			s.Name = ts[1].Strings.Intern([]byte("step[DECODE bs=64]"))
		}
	}
	r := analyzed(t, ts)
	at := slices.IndexFunc(r.Findings, func(f result.Finding) bool { return f.Cause == result.CauseWork })
	if at < 0 || !strings.Contains(allWords(r), "its steps have 64 requests, against ") {
		t.Errorf("the batch is not named%s\n%s", describe(r), allWords(r))
	}
}
