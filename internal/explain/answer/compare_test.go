package answer

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// TestCauses: what one capture alone has is a cause, unless it is the same in both. It is new for sure only if the other
// one would have shown it, and fits if steps changed in its direction.
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
		{"new, and steps are faster", report(1e6), report(1e6, late("straggler-tp02-host-2", "TP02", 2)), result.Faster, "new"},
		{"new, and no step changed for sure", report(1e6), report(1e6, late("straggler-tp02-host-2", "TP02", 2)), result.NotClear, "new"},
		{"the other would have shown none", report(0), report(1e6, late("straggler-tp02-host-2", "TP02", 2)), result.Slower, "new fits unseen"},
		{"the other would have shown larger ones", report(6e6), report(1e6, late("straggler-tp02-host-2", "TP02", 2)), result.Slower, "new fits unseen"},
		{"the same, since another step", report(1e6, late("straggler-tp02-host-4", "TP02", 4)), report(1e6, late("straggler-tp02-host-2", "TP02", 2)), result.Slower, ""},
		{"of another rank", report(1e6, late("straggler-tp01-host-2", "TP01", 2)), report(1e6, late("straggler-tp02-host-2", "TP02", 2)), result.Slower, "new fits, gone"},
		{"that passes", report(1e6), report(1e6, short), result.Slower, "new"},
		{"of no weight", report(1e6), report(1e6, little), result.Slower, ""},
		{"of captures that are not alike", nil, nil, result.Slower, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := 1.1e6
			if c.verdict == result.Faster {
				b = 0.9e6
			}
			x := &result.Comparison{Refused: c.a == nil, Steps: []result.StepDiff{{Kind: "decode", Figure: "step", Verdict: c.verdict, Change: result.Change{A: 1e6, B: b, NA: 20, NB: 20, Enough: true}}}}
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
				t.Errorf("%s, want %s", text, c.want)
			}
			sure := strings.Contains(c.want, "fits") && !strings.Contains(c.want, "unseen")
			if says := x.Verdict.String(); strings.Contains(says, "compared_why_") != sure {
				t.Errorf("the verdict: %s", says)
			}
		})
	}
}
