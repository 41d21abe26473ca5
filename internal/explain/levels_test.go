package explain_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// levels are the recording levels of a window, by the table in docs/servers.md, with functions that reduce a fuller
// trace to each level.
var levels = []struct {
	name  string
	strip func(t *trace.Trace)
}{
	{"`--lean`", func(t *trace.Trace) {
		nameless([]*trace.Trace{t})
		for i := range t.Ops { // the arguments of collectives come with the CPU ops
			t.Ops[i].Comm = -1
		}
	}},
	{"`--no-with-stack --no-record-shapes`", func(t *trace.Trace) {
		explaintest.WithoutFrames(t)
		for i := range t.Spans {
			if t.Spans[i].Cat == trace.CPUOp {
				t.Spans[i].Detail = -1
			}
		}
	}},
	{"`--no-with-stack`", explaintest.WithoutFrames},
	{"`--with-stack`", func(*trace.Trace) {}},
}

// straggling returns a function that reports whether a report has a finding of this late rank and cause.
func straggling(rank int, cause string) func(r *result.Report) bool {
	return func(r *result.Report) bool {
		return slices.ContainsFunc(r.Findings, func(f result.Finding) bool {
			return f.Kind == result.Straggler && f.Cause == cause && slices.Equal(f.Ranks, []int{rank}) && f.Severity != "low"
		})
	}
}

// verdicts are the rows of the table: a capture with the fault, and whether a report of it shows the fault.
var verdicts = map[string]struct {
	of   func(t *testing.T) []*trace.Trace
	told func(r *result.Report) bool
}{
	"a late rank: its device":          {captured("g_device_r1"), straggling(1, result.CauseDevice)},
	"a late rank: its work":            {captured("graph_work"), straggling(1, result.CauseWork)},
	"a late rank: its host":            {captured("g_mixed"), straggling(0, result.CauseHost)},
	"that nobody is late":              {captured("graphs"), func(r *result.Report) bool { return explaintest.Has(r, result.Balanced) }},
	"hosts that keep no device busy":   {captured("sglang_stops"), func(r *result.Report) bool { return explaintest.SeverityOf(r, "host_bound-decode") != "" }},
	"collectives matched across ranks": {captured("graphs"), func(r *result.Report) bool { return len(r.Collectives) > 0 && r.Collectives[0].Matched > 0 }},
	"which steps are prefill or decode": {captured("sglang_stops"), func(r *result.Report) bool {
		return len(r.Steps) == 11 && kindsOf(r)["prefill"] == 1 && kindsOf(r)["decode"] == 10
	}},
	"the name and batch of a step": {captured("sglang_stops"), func(r *result.Report) bool { return r.Steps[2].Batch == 16 && r.Steps[2].Name != "" }},
	"bandwidth of collectives": {captured("balanced"), func(r *result.Report) bool {
		return slices.ContainsFunc(r.Collectives, func(c result.CollectiveRow) bool { return c.BusGBs > 0 })
	}},
	"what a host did meanwhile": {captured("balanced"), func(r *result.Report) bool {
		return slices.ContainsFunc(r.Gaps, func(g result.Gap) bool { return strings.Contains(g.Host.String(), "aten::") })
	}},
	"a host that stands still now and again": {func(t *testing.T) []*trace.Trace {
		return explaintest.Retimed(t, "sglang_stops", func(m *retime.Model) {
			const every, ns = 9 * ms, 6 * ms
			first, last := m.Recorded(0)
			for at := first + every/2; at < last; at += every - ns {
				m.PauseAt(0, at, ns)
			}
		})
	}, func(r *result.Report) bool { return len(explaintest.Standing(r)) > 0 }},
	"rates of kernels (TFLOP/s)": {captured("balanced"), func(r *result.Report) bool {
		return slices.ContainsFunc(r.Kernels, func(k result.KernelRow) bool { return k.TFLOPs > 0 })
	}},
	"in which Python function": {captured("stacks"), func(r *result.Report) bool { return len(r.CPU.Frames) > 0 }},
	"what Triton compiled": {func(t *testing.T) []*trace.Trace {
		ts, _ := explaintest.Compiled(t, "balanced", 6, 440*ms, true, 2)
		return ts
	}, func(r *result.Report) bool {
		return slices.ContainsFunc(explaintest.Said(r, result.ColdStart), func(f result.Finding) bool { return strings.Contains(f.Title.String(), "cold_triton") })
	}},
}

func captured(set string) func(t *testing.T) []*trace.Trace {
	return func(t *testing.T) []*trace.Trace { return explaintest.RealSet(t, set) }
}

func kindsOf(r *result.Report) map[string]int {
	kinds := map[string]int{}
	for _, s := range r.Steps {
		kinds[s.Kind]++
	}
	return kinds
}

// TestLevels checks the table in docs/servers.md of faults that a window shows at each recording level: real captures
// are reduced to each level.
func TestLevels(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "servers.md"))
	if err != nil {
		t.Fatal(err)
	}
	head := "| told | " + levels[0].name
	for _, l := range levels[1:] {
		head += " | " + l.name
	}
	_, table, ok := strings.Cut(string(text), head+" |\n")
	if !ok {
		t.Fatalf("docs/servers.md has no table with the header %q", head)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	seen := map[string]bool{}
	for _, line := range strings.Split(table, "\n")[1:] {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		v, ok := verdicts[cells[0]]
		if !ok || len(cells) != 1+len(levels) {
			t.Errorf("docs/servers.md: no verdict tests this row: %s", line)
			continue
		}
		seen[cells[0]] = true
		for i, l := range levels {
			ts := v.of(t)
			for _, x := range ts {
				l.strip(x)
			}
			r := explaintest.Analyzed(t, ts)
			if got := map[bool]string{true: "yes", false: "–"}[v.told(r)]; got != cells[1+i] {
				t.Errorf("%s with %s: docs/servers.md states %s, got %s%s", cells[0], l.name, cells[1+i], got, explaintest.Describe(r))
			}
		}
	}
	for name := range verdicts {
		if !seen[name] {
			t.Errorf("the table in docs/servers.md lacks %q", name)
		}
	}
}

// TestLeanFindsNothingMore: unrecorded data causes no findings.
func TestLeanFindsNothingMore(t *testing.T) {
	for _, set := range []string{"balanced", "compute_skew", "g_device_r1", "g_mixed", "graph_work", "graphs", "sglang_shared", "stacks"} {
		ts := explaintest.RealSet(t, set)
		full := explaintest.Analyzed(t, ts)
		for _, x := range ts {
			levels[0].strip(x)
		}
		for _, f := range explaintest.Analyzed(t, ts).Findings {
			if f.Kind != result.Data && !explaintest.Has(full, f.Kind) {
				t.Errorf("%s: got finding %q only without the host's records, want none", set, f.Title)
			}
		}
	}
}
