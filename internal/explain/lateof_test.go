package explain

import (
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// TestLateOf: a comparison by role names the late rank of a side only if its lateness surely makes steps longer.
func TestLateOf(t *testing.T) {
	late := result.Finding{Kind: result.Straggler, Severity: "high", Names: []string{"TP01"},
		Worth: result.Worth{Known: true, Kind: "decode", Steps: 12, Step: 9e6, Without: 7e6}}
	for name, c := range map[string]struct {
		change func(f *result.Finding)
		only   string
		want   string
	}{
		"late":             {want: ". A has a late rank, TP01: without its lateness, its decode steps would take 2.00 ms less"},
		"low":              {change: func(f *result.Finding) { f.Severity = "low" }},
		"no gain":          {change: func(f *result.Finding) { f.Worth.Without = f.Worth.Step }},
		"only a bound":     {change: func(f *result.Finding) { f.Worth.AtMost = true }},
		"few steps":        {change: func(f *result.Finding) { f.Worth.Steps = 2 }},
		"host-bound":       {change: func(f *result.Finding) { f.Kind = result.HostBound }},
		"one rank of many": {only: "TP01"},
	} {
		f := late
		if c.change != nil {
			c.change(&f)
		}
		if got := report.Words(lateOf("A", &result.Report{Findings: []result.Finding{f}}, c.only)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
