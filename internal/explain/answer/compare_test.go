package answer

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// TestCauses: a finding of one capture only is a cause, unless both have the same one. It is certainly new only if the
// other capture would have shown it, and it fits if steps changed in its direction.
func TestCauses(t *testing.T) {
	late := func(id, rank string, first int) result.Finding {
		return result.Finding{ID: id, Kind: result.Straggler, Severity: "high", Names: []string{rank}, Cause: result.CauseHost, FirstStep: first, LastStep: 19, CostNSPerStep: 5e6,
			Title: fact.Of("straggler", "rank", rank)}
	}
	report := func(seen int64, found ...result.Finding) *result.Report {
		r := &result.Report{Findings: found, Steps: make([]result.Step, 20)}
		if seen > 0 {
			r.Chance.Seen = []result.Seen{{Kind: "decode", Steps: 20, NS: seen, Least: 4}}
		}
		return r
	}
	short := late("straggler-tp02-host-2", "TP02", 2)
	short.Passing, short.LastStep = true, 5
	small := late("straggler-tp02-host-2", "TP02", 2)
	small.CostNSPerStep = 1.2e6
	little := late("straggler-tp02-host-2", "TP02", 2)
	little.Severity = "low"
	for _, c := range []struct {
		name    string
		a, b    *result.Report
		verdict string // of the steps
		want    string // change, fits, unseen of each cause
	}{
		{"new", report(1e6), report(1e6, late("straggler-tp02-host-2", "TP02", 2)), result.Slower, "new fits"},
		{"gone", report(1e6, late("straggler-tp02-host-2", "TP02", 2)), report(1e6), result.Faster, "gone fits"},
		{"new, but steps are faster", report(1e6), report(1e6, late("straggler-tp02-host-2", "TP02", 2)), result.Faster, "new"},
		{"new, but no step changed significantly", report(1e6), report(1e6, late("straggler-tp02-host-2", "TP02", 2)), result.NotClear, "new"},
		{"new, but A could not have shown any", report(0), report(1e6, late("straggler-tp02-host-2", "TP02", 2)), result.Slower, "new fits unseen"},
		{"new, but A could have shown only larger ones", report(6e6), report(1e6, late("straggler-tp02-host-2", "TP02", 2)), result.Slower, "new fits unseen"},
		{"the same finding from another step on", report(1e6, late("straggler-tp02-host-4", "TP02", 4)), report(1e6, late("straggler-tp02-host-2", "TP02", 2)), result.Slower, ""},
		{"the same finding on another rank", report(1e6, late("straggler-tp01-host-2", "TP01", 2)), report(1e6, late("straggler-tp02-host-2", "TP02", 2)), result.Slower, "new fits, gone"},
		{"new, but a small part of the change", report(1e6), report(1e6, small), result.Slower, "new"},
		{"new, but passing", report(1e6), report(1e6, short), result.Slower, "new"},
		{"new, but of low severity", report(1e6), report(1e6, little), result.Slower, ""},
		{"captures too different to compare", nil, nil, result.Slower, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := 50e6
			if c.verdict == result.Faster {
				b = 40e6
			}
			x := &result.Comparison{Refused: c.a == nil, Steps: []result.StepDiff{{Kind: "decode", Figure: "step", Verdict: c.verdict, Change: result.Change{A: 45e6, B: b, NA: 20, NB: 20, Enough: true}}}}
			if x.Refused {
				x.Unlike = []fact.Fact{fact.Of("compare_nothing")}
			}
			Causes(x, c.a, c.b, "", "")
			Compared(x)
			var got []string
			for _, cause := range x.Causes {
				said := cause.Change
				if cause.Fits {
					said += " fits"
				}
				if cause.Unseen {
					said += " unseen"
				}
				got = append(got, said)
			}
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("got causes %q, want %q", text, c.want)
			}
			sure := strings.Contains(c.want, "fits") && !strings.Contains(c.want, "unseen")
			if says := x.Verdict.String(); strings.Contains(says, "compared_why_") != sure {
				t.Errorf("verdict %s: names a cause: want %v", says, sure)
			}
		})
	}
}

// TestParts: if no finding explains a change, and kernels explain little of it, the cause is a part of the steps.
func TestParts(t *testing.T) {
	row := func(figure string, a, b float64) result.StepDiff {
		return result.StepDiff{Kind: "decode", Figure: figure, Verdict: result.Slower, Change: result.Change{A: a, B: b, NA: 20, NB: 20, Enough: true, Change: b/a - 1}}
	}
	kernel := result.KernelDiff{Kind: "decode", Name: "gemm", Short: "gemm", Verdict: result.Slower, Effect: 0.2, Change: result.Change{A: 300, B: 600, NA: 20, NB: 20}}
	for _, c := range []struct {
		name string
		rows []result.StepDiff
		want string
	}{
		{"hosts", []result.StepDiff{row("step", 1400, 5900), row("compute", 400, 700), row("host_gap", 500, 3700)}, "cause_host_gap"},
		{"kernels", []result.StepDiff{row("step", 1400, 1800), row("compute", 400, 700), row("host_gap", 500, 550)}, "cause_kernels"},
		{"neither", []result.StepDiff{row("step", 1400, 5900), row("compute", 400, 700), row("host_gap", 500, 900)}, ""},
	} {
		x := &result.Comparison{Steps: c.rows, Kernels: []result.KernelDiff{kernel}}
		Compared(x)
		got := ""
		if x.Causes[0].Fits {
			got = x.Causes[0].Text.Key
		}
		if got != c.want || strings.Contains(x.Verdict.String(), "compared_unexplained") != (c.want == "") {
			t.Errorf("%s: got cause %q, want %q; verdict %s", c.name, got, c.want, x.Verdict)
		}
	}
}

// TestKernelsOfTwoGrids: a kernel whose grid changed counts as changed, not as gone and new.
func TestKernelsOfTwoGrids(t *testing.T) {
	row := func(name, verdict string, countA, countB, a, b, effect float64) result.KernelDiff {
		return result.KernelDiff{Kind: "other", Batch: -1, Name: name, Short: name, Verdict: verdict, CountA: countA, CountB: countB, Effect: effect, Change: result.Change{A: a, B: b}}
	}
	c := &result.Comparison{
		Steps: []result.StepDiff{{Kind: "other", Batch: -1, Figure: "step", Verdict: result.Slower, Change: result.Change{A: 100e6, B: 120e6, NA: 5, NB: 5, Enough: true}}},
		Kernels: []result.KernelDiff{
			row("sends", result.Appeared, 0, 7, 0, 25e6, 0.25), row("copies", result.Slower, 3, 9, 1e6, 16e6, 0.15),
			row("sends", result.Vanished, 3, 0, 20e6, 0, -0.2), row("moved", result.Appeared, 0, 2, 0, 5e6, 0.05), row("moved", result.Vanished, 2, 0, 5e6, 0, -0.05),
		},
	}
	kernels(c)
	if len(c.Causes) != 1 || len(c.Causes[0].Kernels) != 2 {
		t.Fatalf("got causes %+v, want one with two kernels", c.Causes)
	}
	k, x := c.Causes[0].Kernels[0], c.Causes[0]
	if k.Name != "sends" || k.CountA != 3 || k.CountB != 7 || k.A != 20e6 || k.B != 25e6 || x.A != 21e6 || x.B != 41e6 || x.Text.Get("kind") != "" {
		t.Errorf("got kernel %+v of cause %+v, want sends: 3 → 7 launches, 20 → 25 ms; cause 21 → 41 ms of all kinds", k, x)
	}
}
