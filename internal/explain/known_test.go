package explain

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// testTraces is the directory of the real captures in the repository.
var testTraces = filepath.Join("..", "..", "testdata", "traces")

// readDir reads the newest window of directories, files, or a mixture.
func readDir(t testing.TB, paths ...string) []*trace.Trace {
	t.Helper()
	sets, err := set.Find(paths)
	if err != nil {
		t.Fatal(err)
	}
	ts, failures, err := read.ReadSet(context.Background(), sets[0], read.Options{})
	if err != nil || len(failures) > 0 {
		t.Fatal(err, failures)
	}
	return ts
}

// analyzed analyses traces and checks the guarantees of every report.
func analyzed(t testing.TB, ts []*trace.Trace) *result.Report {
	t.Helper()
	r, err := Analyze(ts, Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkIdentities(t, r)
	return r
}

// checkIdentities checks a report's internal consistency.
func checkIdentities(t testing.TB, r *result.Report) {
	t.Helper()
	var path int64
	for _, row := range r.Path.Rows {
		path += row.NS
	}
	if path != r.Path.NS {
		t.Errorf("the critical path takes %d ns, but its parts sum to %d", r.Path.NS, path)
	}
	path = 0
	for _, row := range r.Path.Layers {
		path += row.NS
	}
	if len(r.Path.Layers) > 0 && path != r.Path.NS {
		t.Errorf("the critical path takes %d ns, but its layers sum to %d", r.Path.NS, path)
	}
	check := func(what string, x *result.Time) {
		if x.Compute+x.ExposedComm+x.ExposedCopy+x.Idle != x.Total {
			t.Errorf("%s: the parts do not sum to the total: %+v", what, *x)
		}
		i := &x.IdleBy
		if i.Host+i.Sync+i.Peers+i.Launch+i.Device+i.Profiler+i.Unknown+i.Between != x.Idle {
			t.Errorf("%s: the parts of idle do not sum to idle: %+v", what, *x)
		}
		for _, v := range []int64{x.Compute, x.ExposedComm, x.ExposedCopy, x.Idle, x.HiddenComm, x.CommWait, x.Unrecorded, x.Transfer(), i.Host, i.Sync, i.Launch, i.Device, i.Profiler, i.Unknown, i.Between, i.None, x.Waiting} {
			if v < 0 {
				t.Errorf("%s: a part is negative: %+v", what, *x)
			}
		}
	}
	sums := map[[2]string]*result.Time{}
	add := func(rank, kind string, x *result.Time) {
		s := sums[[2]string{rank, kind}]
		if s == nil {
			s = &result.Time{}
			sums[[2]string{rank, kind}] = s
		}
		s.Add(x)
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Step != i {
			t.Errorf("step %d is at index %d", s.Step, i)
		}
		for j := range s.Ranks {
			p := &s.Ranks[j]
			check(fmt.Sprintf("step %d rank %d", s.Step, p.Rank), &p.Time)
			add(r.Source.Ranks[p.Rank], "all", &p.Time)
			add("all", "all", &p.Time)
		}
	}
	for i := range r.Times {
		row := &r.Times[i]
		check("times of "+row.Rank+" "+row.Kind, &row.Time)
		if row.Kind != "all" {
			add(row.Rank, "kinds", &row.Time)
			continue
		}
		if s := sums[[2]string{row.Rank, row.Kind}]; s == nil || *s != row.Time {
			t.Errorf("times of %s are not the sum of its steps: %+v, %+v", row.Rank, row.Time, s)
		}
	}
	for key, s := range sums {
		if kinds := sums[[2]string{key[0], "kinds"}]; kinds == nil || *kinds != *s {
			t.Errorf("times of %s are not the sum over kinds: %+v, %+v", key[0], *s, kinds)
		}
	}
	for _, f := range r.Findings {
		if f.FirstStep > f.LastStep || f.LastStep >= len(r.Steps) || len(f.Ranks) != len(f.Names) || f.Severity == "" || f.ID == "" || report.Words(f.Title) == "" {
			t.Errorf("inconsistent finding: %+v", f)
		}
		if kind := result.KindOf(f.Kind); !slices.ContainsFunc(kind.IDs, func(begin string) bool { return f.ID == begin || strings.HasPrefix(f.ID, begin+"-") }) {
			t.Errorf("finding %s is not in the table of kinds as one of kind %q", f.ID, f.Kind)
		}
		if f.CostNSPerStep < 0 {
			t.Errorf("finding with a negative cost: %+v", f)
		}
	}
	for _, l := range r.Layers.Totals {
		if l.Steps <= 0 || l.InModule < 0 || l.InModule > l.GPU || l.Graphs > l.GPU || l.InRange < 0 {
			t.Errorf("layer totals: parts exceed the whole: %+v", l)
		}
	}
	for _, m := range r.Layers.Modules {
		if m.Self < 0 || m.Self > m.GPU || m.Wait > m.GPU || m.HostSelf < 0 || m.Modules <= 0 || m.GPU > 0 && m.Share > 1 {
			t.Errorf("module: parts exceed the whole: %+v", m)
		}
	}
	for _, l := range r.Layers.Layers {
		if l.Wait > l.GPU || l.GPU > 0 && l.Share > 1 || l.OfLike < 0 || l.Spread < 0 {
			t.Errorf("layer: parts exceed the whole: %+v", l)
		}
	}
	if _, err := json.Marshal(r); err != nil {
		t.Errorf("json.Marshal of the report: %v", err) // fails for NaN and Inf
	}
}

// brief formats one finding as a line: "rank cause first-last".
func brief(f result.Finding) string {
	s := fmt.Sprintf("%s %d-%d", f.Cause, f.FirstStep, f.LastStep)
	if len(f.Ranks) == 1 {
		s = fmt.Sprintf("rank %d %s", f.Ranks[0], s)
	}
	if f.Passing {
		s += " passing"
	}
	return s
}

// stragglersOf lists the straggler findings of the given causes in brief form.
func stragglersOf(r *result.Report, causes ...string) []string {
	var out []string
	for _, f := range r.Findings {
		if f.Kind == result.Straggler && (len(causes) == 0 || slices.Contains(causes, f.Cause)) {
			out = append(out, brief(f))
		}
	}
	return out
}

func describe(r *result.Report) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "\n  %s %s %s, cost %s: %s", f.Severity, f.Kind, brief(f), metric.Duration(f.CostNSPerStep), report.Words(f.Title))
	}
	return b.String() + "\n  clocks " + report.Words(r.Source.Clocks)
}

func has(r *result.Report, kind string) bool {
	return slices.ContainsFunc(r.Findings, func(f result.Finding) bool { return f.Kind == kind })
}

// known is a real capture with its expected findings.
type known struct {
	set string
	// all lists every straggler of the causes work and device, and of host if the capture has no natural lateness; in
	// brief form.
	all []string
	// causes covered by all; nil: every cause
	causes []string
	// also must be among the findings; rank and cause only
	natural  string
	balanced bool
}

var knownSets = []known{
	{set: "graphs", balanced: true},
	{set: "stacks", balanced: true},
	{set: "graph_work", all: []string{"rank 1 work 6-14"}},
	{set: "compute_skew", all: []string{"rank 2 work 7-13"}, causes: []string{result.CauseWork, result.CauseDevice, result.CauseCommunication}},
	{set: "balanced", all: []string{"rank 1 host 5-8 passing"}},
	{set: "g_mixed", all: []string{"rank 0 host 4-19", "rank 1 work 10-19"}},
	{set: "g_device_r1", all: []string{"rank 1 device 6-15"}},
}

func TestKnownTruth(t *testing.T) {
	for _, k := range knownSets {
		t.Run(k.set, func(t *testing.T) { k.check(t, filepath.Join(testTraces, k.set)) })
	}
}

// TestKnownLarge checks the large set of the shared data, which is not in the repository.
func TestKnownLarge(t *testing.T) {
	root := os.Getenv("STEPSCOPE_DATA")
	if root == "" {
		t.Skip("STEPSCOPE_DATA is not set: the directory with traces/large")
	}
	k := known{set: "large", causes: []string{result.CauseWork, result.CauseDevice, result.CauseCommunication}, natural: "rank 0 host"}
	k.check(t, filepath.Join(root, "traces", k.set))
}

func (k known) check(t *testing.T, dir string) {
	r := analyzed(t, readDir(t, dir))
	if got := stragglersOf(r, k.causes...); !slices.Equal(got, k.all) {
		t.Errorf("got stragglers %q, want %q%s", got, k.all, describe(r))
	}
	if k.balanced != has(r, result.Balanced) {
		t.Errorf("got balanced %v, want %v%s", !k.balanced, k.balanced, describe(r))
	}
	if k.natural != "" && !slices.ContainsFunc(stragglersOf(r), func(s string) bool { return strings.HasPrefix(s, k.natural) }) {
		t.Errorf("the report lacks finding %s%s", k.natural, describe(r))
	}
	checkCosts(t, r, readSlow(t, dir))
}

// checkCosts checks that the cost of every straggler is within 10 % of the wait of the other ranks in its steps. Where
// ranks are late in turn within one step, one rank causes only part of the others' wait: its cost then lies between
// their wait where it came last and their total wait.
func checkCosts(t *testing.T, r *result.Report, ranks []*slowRank) {
	t.Helper()
	for _, f := range r.Findings {
		if f.Kind != result.Straggler {
			continue
		}
		wait := func(lastOnly bool) float64 {
			w, _ := othersWait(t, ranks, f.Ranks[0], lastOnly)
			return slowMedian(w[f.FirstStep : f.LastStep+1])
		}
		lo, hi := wait(false), wait(false)
		if slices.ContainsFunc(r.Findings, func(o result.Finding) bool {
			return o.Kind == result.Straggler && o.Ranks[0] != f.Ranks[0] && o.FirstStep <= f.LastStep && f.FirstStep <= o.LastStep
		}) {
			lo = wait(true)
		}
		if slices.ContainsFunc(r.Findings, func(o result.Finding) bool {
			return o.ID != f.ID && o.Kind == result.Straggler && o.Ranks[0] == f.Ranks[0] && o.FirstStep <= f.LastStep && f.FirstStep <= o.LastStep
		}) {
			lo = 0 // the cost is split over several causes
		}
		if c := float64(f.CostNSPerStep); c < 0.9*lo || c > 1.1*hi {
			t.Errorf("%s costs %s a step, want between %s and %s, the wait of the others%s", brief(f), metric.Duration(c), metric.Duration(lo), metric.Duration(hi), describe(r))
		}
	}
}
