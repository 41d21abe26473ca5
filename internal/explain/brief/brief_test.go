package brief

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// hostile is the end of a name that tries to break an answer: it is long, and moves the cursor, writes from right to
// left, ends a line, quotes, and is no valid UTF-8.
var hostile = "\x1b[2J\u202e\r\n`\"\\|<b>\xff" + strings.Repeat("é界", 4000)

// capture analyses a capture of testdata. rename changes its names.
func capture(t *testing.T, dir string, rename func(string) string) *result.Report {
	t.Helper()
	in := window.Input{Paths: []string{dir}}
	c, err := in.Open(context.Background(), &progress.Console{W: io.Discard}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range c.Traces {
		retime.Rename(tr, rename)
	}
	r, err := c.Prepare(nil).Analyze(c.Options())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func captures(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob("../../../testdata/traces/*")
	if err != nil || len(dirs) < 5 {
		t.Fatalf("%d captures: %v", len(dirs), err)
	}
	return dirs
}

// bounded holds an answer to its limit in all forms, and to text that is safe to show.
func bounded(t *testing.T, what string, limit int, a *Answer) {
	t.Helper()
	compact := a.JSON()
	for form, got := range map[string]string{"text": a.Text(), "JSON": string(compact)} {
		if len(got) > limit {
			t.Errorf("%s: %s has %d bytes, more than %d", what, form, len(got), limit)
		}
		if !utf8.ValidString(got) {
			t.Errorf("%s: %s is not valid UTF-8", what, form)
		}
		for _, r := range got {
			if r != '\n' && (unicode.IsControl(r) || r == '\u202e') {
				t.Fatalf("%s: %s contains %q", what, form, r)
			}
		}
		if strings.Contains(got, strings.Repeat("é界", nameBytes/5)) {
			t.Errorf("%s: %s contains a name of more than %d bytes", what, form, nameBytes)
		}
	}
	if !json.Valid(compact) || strings.Count(string(compact), "\n") != 1 {
		t.Errorf("%s: JSON is not one valid line: %s", what, compact)
	}
}

// TestBounds: no answer exceeds its limit, whatever the names of kernels are.
func TestBounds(t *testing.T) {
	for _, dir := range captures(t) {
		for _, names := range []string{"recorded", "hostile"} {
			r := capture(t, dir, func(s string) string {
				if names == "hostile" && !strings.Contains(s, "nccl") && !strings.HasPrefix(s, "Mem") {
					s += hostile
				}
				return s
			})
			r.Kernels = r.Kernels[:min(5, len(r.Kernels))] // only their number is shown
			c := &Capture{Args: Args{Input: dir, Flags: "--force"}, Servers: []Server{{Report: r}}}
			system := &Capture{Args: Args{Input: strings.Repeat("x", 5000)}}
			for i := range 12 {
				system.Servers = append(system.Servers, Server{Name: fmt.Sprint("server-", i, hostile), Role: "decode", Report: r})
			}
			for _, limit := range []int{Least, Default, Most} {
				what := fmt.Sprintf("%s, %s names, %d bytes", filepath.Base(dir), names, limit)
				bounded(t, what, limit, Analysis(c, limit))
				if names == "hostile" {
					bounded(t, what+", 12 servers", limit, Analysis(system, limit))
				}
				for _, f := range r.Findings {
					a, err := Finding(c, id("", &f), limit)
					if err != nil {
						t.Fatal(err)
					}
					bounded(t, what+", "+id("", &f), limit, a)
				}
			}
		}
	}
}

// TestComparisonBounds does the same for comparisons.
func TestComparisonBounds(t *testing.T) {
	sides := map[string][]*trace.Trace{}
	for _, set := range []string{"balanced", "compute_skew"} {
		in := window.Input{Paths: []string{"../../../testdata/traces/" + set}}
		c, err := in.Open(context.Background(), &progress.Console{W: io.Discard}, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, tr := range c.Traces {
			retime.Rename(tr, func(s string) string { return s + set + hostile })
		}
		sides[set] = c.Traces
	}
	r, err := explain.Compare(sides["balanced"], sides["compute_skew"], explain.CompareOptions{IDA: "A" + hostile, IDB: "B"})
	if err != nil {
		t.Fatal(err)
	}
	v := Compared(r)
	loads := report.BenchCompared(&bench.Comparison{A: bench.Side{ID: hostile, Model: hostile}, Verdict: hostile, Notes: []string{hostile, hostile}}, report.Options{})
	loads.WithCaptures(v)
	for _, limit := range []int{Least, Default, Most} {
		bounded(t, fmt.Sprint("captures, ", limit), limit, Comparison(v, Args{Input: "a b"}, limit))
		bounded(t, fmt.Sprint("loads, ", limit), limit, Comparison(loads, Args{Input: "a b"}, limit))
	}
	if len(r.Causes) == 0 {
		t.Error("got no cause, want some to bound")
	}
}

// TestRunsBounds: a list of many runs is cut, and says how many it leaves out.
func TestRunsBounds(t *testing.T) {
	var all []Run
	for i := range 200 {
		all = append(all, Run{ID: fmt.Sprint("run-", i), What: "bench" + hostile, Created: time.Unix(int64(i), 5), Model: hostile, Numbers: hostile})
	}
	for _, limit := range []int{Least, Default, Most} {
		a := Runs("/runs", all, 300, "stepscope runs list --limit 0", limit)
		bounded(t, fmt.Sprint("runs, ", limit), limit, a)
		var got runList
		if err := json.Unmarshal(a.JSON(), &got); err != nil {
			t.Fatal(err)
		}
		if n := len(got.Runs); n == 0 || got.Runs[0].ID != "run-0" || len(got.Omitted) != 1 || got.Omitted[0].N != 300-n {
			t.Errorf("%d bytes: got %d runs and %v, want the first ones, and the number of the others", limit, n, got.Omitted)
		}
	}
}

// TestAnswer: the answer about a capture with a late rank names it, its first step, the cause and the cost, and counts
// the facts that it leaves out. A capture without a late rank blames none.
func TestAnswer(t *testing.T) {
	get := func(set string) (a analysis, r *result.Report) {
		r = capture(t, "../../../testdata/traces/"+set, func(s string) string { return s })
		if err := json.Unmarshal(Analysis(&Capture{Args: Args{Input: "dir"}, Servers: []Server{{Report: r}}}, Default).JSON(), &a); err != nil {
			t.Fatal(err)
		}
		return a, r
	}
	a, r := get("graph_work")
	f := a.Servers[0].Findings[0]
	if f.ID != "straggler-tp01-work-6" || f.Ranks[0] != "TP01" || f.First != 6 || f.Cause != "work" || !strings.HasPrefix(f.Cost, "worth ") {
		t.Errorf("got %+v, want TP01 from step 6 on because of work, with its worth", f)
	}
	if len(f.Facts) != 3 || f.More != len(report.Digest(r).Findings[0].Evidence)-3 {
		t.Errorf("got %d facts and %d more, want 3 and the number of the others", len(f.Facts), f.More)
	}
	times := a.Servers[0].Times
	if k := times[len(times)-1]; k.Kind != "decode" || k.Steps == 0 || k.Batch == "" {
		t.Errorf("got %+v, want the steps and the batch of decode steps", k)
	}
	for _, k := range times {
		if sum := k.Compute + k.Exposed + k.Copy + k.Idle; sum < 0.99 || sum > 1.01 || k.Wait > k.Exposed {
			t.Errorf("%s: shares add up to %.3f, want 1: %+v", k.Kind, sum, k)
		}
	}
	if a, _ = get("graphs"); len(a.Servers[0].Findings) == 0 || a.Servers[0].Findings[0].ID != "balanced" {
		t.Errorf("graphs: got %+v, want balanced", a.Servers[0].Findings)
	}
}

// TestIDs: each finding has an id of its own, which is the same in each analysis and leads to the finding.
func TestIDs(t *testing.T) {
	for _, dir := range captures(t) {
		seen := map[string]bool{}
		again := capture(t, dir, func(s string) string { return s })
		c := &Capture{Servers: []Server{{Report: capture(t, dir, func(s string) string { return s })}}}
		for i, f := range c.Servers[0].Report.Findings {
			if seen[f.ID] || f.ID != again.Findings[i].ID {
				t.Errorf("%s: the id %q is there twice, or changed to %q", dir, f.ID, again.Findings[i].ID)
			}
			seen[f.ID] = true
			a, err := Finding(c, f.ID, Default)
			if err != nil {
				t.Fatal(err)
			}
			var got one
			if err := json.Unmarshal(a.JSON(), &got); err != nil {
				t.Fatal(err)
			}
			if got.ID != f.ID || got.Found == "" || strings.HasPrefix(got.Found, "how_") || got.More != 0 || len(got.Facts) < len(f.Evidence) {
				t.Errorf("%s: got %+v, want all %d facts of %s", dir, got, len(f.Evidence), f.ID)
			}
		}
	}
	_, err := Finding(&Capture{Servers: []Server{{Name: "decode-0", Report: &result.Report{Findings: []result.Finding{{ID: "balanced"}}}}}}, "x\ny", Default)
	if want := `no finding has the id "x y": there are decode-0/balanced`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestHow: there is a sentence about how each kind of finding is found.
func TestHow(t *testing.T) {
	for _, k := range result.Kinds {
		for _, id := range k.IDs {
			if s := report.How(&result.Finding{Kind: k.Name, ID: id + "-x"}); strings.HasPrefix(s, "how_") {
				t.Errorf("%s: no sentence", id)
			}
		}
	}
}

// TestCut: what is cut stays valid UTF-8, and shows its beginning and its end.
func TestCut(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"short", "short"}, {"a\nb\x1b[1m", "a b [1m"}, {"1234567890abcdef", "1234567…def"}, {"ééééééééé", "ééé…é"}, {"\xff", "?"},
	} {
		if got := Cut(c.in, 13); got != c.want || len(got) > 13 {
			t.Errorf("Cut(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}
