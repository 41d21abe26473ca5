package explaintest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// CheckIdentities checks a report's internal consistency.
func CheckIdentities(t testing.TB, r *result.Report) {
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

// CheckSentences checks that every text of a report is a whole sentence.
func CheckSentences(t *testing.T, r *result.Report) {
	t.Helper()
	whole := func(s string) {
		words := strings.Fields(s)
		if len(words) == 0 || slices.Contains([]string{"by", "of", "in", "for", "than", "against", "and", "with"}, strings.TrimRight(words[len(words)-1], ",:;")) ||
			strings.HasSuffix(s, ",") || strings.Contains(s, " , ") || strings.Contains(s, "  ") {
			t.Errorf("incomplete sentence: %q", s)
		}
	}
	for _, f := range r.Findings {
		whole(report.Words(f.Title))
		for _, e := range f.Evidence {
			whole(report.Words(e.Text))
		}
	}
}
