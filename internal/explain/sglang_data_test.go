package explain_test

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/trace"
)

// TestSGLangData checks captures of a real SGLang that are not in the repository against known facts: their steps, and
// late ranks with causes. A leading "~" marks text that must not occur.
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
			`TP00-DP00-EP00 is late from step 0 on: it does the same work in a slower configuration`, `triton_per_fused_copy__mul_sum_0.*49,152 blocks per launch, others 6,144`, `~does extra work`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := explaintest.Analyzed(t, explaintest.ReadDir(t, filepath.Join(data, "traces", c.name)))
			kinds := map[string]int{}
			for _, s := range r.Steps {
				kinds[s.Kind]++
			}
			if fmt.Sprint(kinds) != fmt.Sprint(c.kinds) {
				t.Errorf("got steps %v, want %v", kinds, c.kinds)
			}
			all := explaintest.AllWords(r)
			for _, want := range c.says {
				pattern, not := strings.CutPrefix(want, "~")
				if regexp.MustCompile(pattern).MatchString(all) == not {
					t.Errorf("text %q (~: must not occur) is not as expected%s", want, explaintest.Describe(r))
				}
			}
		})
	}
}

// TestSGLangPlain: a window of a real SGLang with Python stacks, whose steps take 6 to 8 ms, but 2.9 ms without stacks,
// has no finding of high severity about its hosts. With the length of unrecorded steps it has none above low.
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
		{explaintest.StepsOf(16, 2_900*us), "low", "corrected for it; without Python stacks a window costs less", 1.9},
	} {
		r := explaintest.Referred(t, explaintest.ReadDir(t, filepath.Join(data, "traces", "sglang_plain")), c.ref)
		if says := report.Words(r.Recording.Says); !strings.Contains(says, c.says) || r.Recording.Ratio < c.atLeast || r.Recording.Ratio > 2.6 {
			t.Errorf("got recording %q, %+v, want %q and a ratio of %g to 2.6", says, r.Recording, c.says, c.atLeast)
		}
		severities := []string{"info", "low", "medium", "high"}
		for _, f := range r.Findings {
			if f.Cause == result.CauseHost && slices.Index(severities, f.Severity) > slices.Index(severities, c.most) {
				t.Errorf("got severity %s, want %s at most: %s", f.Severity, c.most, report.Words(f.Title))
			}
		}
	}
}

// TestHeadlines: the first finding of windows with a known cause, of SGLang 0.5.17 and vLLM 0.26 on H100, blames the
// rank and the cause at medium or high severity, and no finding above low blames another rank.
func TestHeadlines(t *testing.T) {
	data := os.Getenv("STEPSCOPE_DATA")
	if data == "" {
		t.Skip("STEPSCOPE_DATA is not set: the directory of the shared captures")
	}
	for _, c := range []struct {
		name, rank, cause string
		from, to          int64 // length of a step without it, in µs; 0: not tested
	}{
		{"sglang17_sleep", "TP01", result.CauseHost, 5_000, 6_900},
		{"sglang17_dp_sleep", "TP00-DP01", result.CauseHost, 25_000, 31_500},
		{"sglang17_hog", "TP01", result.CauseDevice, 0, 0},
		{"vllm26_sleep", "TP01", result.CauseHost, 4_000, 5_500},
		{"vllm26_hog", "TP01", result.CauseDevice, 3_500, 4_500},
		{"vllm26_plain", "", "", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(data, "traces", c.name)
			if _, err := os.Stat(dir); err != nil {
				t.Skip(err)
			}
			r := explaintest.Analyzed(t, explaintest.ReadDir(t, dir))
			if f := r.Findings[0]; c.rank != "" {
				if f.Kind != result.Straggler || !slices.Equal(f.Names, []string{c.rank}) || f.Cause != c.cause || f.Severity == "low" {
					t.Fatalf("the first finding is %s: %s, want %s late by its %s%s", f.Severity, report.Words(f.Title), c.rank, c.cause, explaintest.Describe(r))
				}
				if c.to != 0 && (int64(f.Worth.Without) < c.from*us || int64(f.Worth.Without) > c.to*us) {
					t.Errorf("got worth %+v, want steps of %d to %d µs without it", f.Worth, c.from, c.to)
				}
			}
			for _, f := range r.Findings {
				if f.Kind == result.Straggler && f.Severity != "low" && !slices.Equal(f.Names, []string{c.rank}) {
					t.Errorf("got finding of severity %s on another rank: %s", f.Severity, report.Words(f.Title))
				}
			}
		})
	}
}

// TestSGLangBalance: the balance of a real SGLang with experts and data-parallel attention equals the one computed from
// the sequence of kernel names: all 16 layers have theirs in each of 8 decode steps.
func TestSGLangBalance(t *testing.T) {
	data := os.Getenv("STEPSCOPE_DATA")
	if data == "" {
		t.Skip("STEPSCOPE_DATA is not set: the directory of the shared captures")
	}
	ts := explaintest.ReadDir(t, filepath.Join(data, "traces", "sglang_moe"))
	r := explaintest.Analyzed(t, ts)
	const steps, layers = 8, 16
	for _, c := range []struct {
		work    string
		kernels map[string][]int32 // their grids; nil: all
		each    int                // per layer
		within  float64            // tolerance: kernels that prepare attention once per step have other names
	}{
		{result.Attention, map[string][]int32{"_fwd_grouped_kernel_stage1": nil, "_fwd_kernel_stage2": nil}, 2, 0.005},
		{result.Experts, map[string][]int32{"fused_moe_kernel": {2064, 2752}}, 2, 1e-9},
	} {
		var took [2][]int64
		for i, tr := range ts {
			var all []trace.Span
			for _, s := range tr.Spans {
				grids, is := c.kernels[tr.Strings.Get(s.Name)]
				if s.Cat == trace.Kernel && is && (grids == nil || slices.Contains(grids, tr.Ops[s.Detail].Grid[0])) {
					all = append(all, s)
				}
			}
			slices.SortFunc(all, func(x, y trace.Span) int { return cmp.Compare(x.Start, y.Start) })
			if len(all) != steps*layers*c.each {
				t.Fatalf("%s: got %d kernels, want %d", c.work, len(all), steps*layers*c.each)
			}
			for k := range steps * layers {
				var sum int64
				for _, s := range all[k*c.each : (k+1)*c.each] {
					sum += s.Dur
				}
				took[i] = append(took[i], sum)
			}
		}
		var ratios, lost []float64
		for n := 1; n < steps; n++ {
			var mean, most float64
			for k := n * layers; k < (n+1)*layers; k++ {
				mean += float64(took[0][k]+took[1][k]) / 2
				most += float64(max(took[0][k], took[1][k]))
			}
			ratios, lost = append(ratios, mean/most), append(lost, most-mean)
		}
		rows := slices.DeleteFunc(explaintest.BalanceRows(r, c.work), func(b result.BalanceRow) bool { return b.Kind != "decode" })
		if len(rows) != 1 {
			t.Fatalf("%s: got rows %+v, want one of decode", c.work, rows)
		}
		b := rows[0]
		wantRatio, wantLost := metric.Median(ratios), metric.Median(lost)
		if b.Steps != steps-1 || len(b.Layers) != layers || math.Abs(b.Ratio-wantRatio) > c.within || math.Abs(float64(b.Lost)-wantLost) > max(1, c.within*wantLost) {
			t.Errorf("%s: got balance %.4f, %d ns lost; want %.4f, %.0f", c.work, b.Ratio, b.Lost, wantRatio, wantLost)
		}
		for _, l := range b.Layers {
			if l.Slowest != 1 {
				t.Errorf("%s, layer %d: got slowest rank %d, want 1", c.work, l.Layer, l.Slowest)
			}
		}
	}
	if text := explaintest.AllFacts(r); strings.Contains(text, "uneven_") {
		t.Errorf("got a finding of uneven work, want none for waits of 0.3 %% of a step:\n%s", text)
	}
}
