package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/runs"
)

// keepLoad makes a run of so many repetitions whose requests take about so long,
// in ms, with a capture.
func keepLoad(t *testing.T, root string, repeats int, took int64, traces ...string) *runs.Run {
	t.Helper()
	r, err := runs.Create(root, runs.About{Kind: "bench", Tool: "bench serving"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	w, err := r.WriteRecords()
	if err != nil {
		t.Fatal(err)
	}
	var measured []*bench.Run
	for n := range repeats {
		measured = append(measured, &bench.Run{Backend: "sglang", Dataset: "random", Duration: 60e9})
		for i := range 50 {
			sent := int64(i) * 1e9
			done := sent + took*1e6 + int64((7*i+n)%11)*1e5
			rec := bench.Record{Index: i, Sent: sent, Scheduled: sent, Released: sent, First: done - 1e6, Last: done, Done: done, PromptLen: 9, OutputLen: 2, DPRank: -1,
				Chunks: []bench.Chunk{{At: done - 1e6, Tokens: 1, Text: true}, {At: done, Tokens: 1, Text: true}}}
			if err := w.Add(&rec); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteJSON(runs.File{Path: "run.json", Kind: runs.KindRun}, measured); err != nil {
		t.Fatal(err)
	}
	for _, path := range traces {
		if err := r.AddFile(runs.File{Path: "traces/" + filepath.Base(path), Kind: runs.KindTrace}, path); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Finish(runs.Complete, nil); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCompareRuns: what got slower between two benchmarks, and what cannot be
// compared.
func TestCompareRuns(t *testing.T) {
	homes(t)
	root, err := runs.DefaultRoot()
	if err != nil {
		t.Fatal(err)
	}
	a, b := keepLoad(t, root, 4, 100), keepLoad(t, root, 4, 130)
	status, out, errs := run(t, t.Context(), "compare", a.ID(), b.Dir(), "--fail-on", "10%")
	if status != exitRegression || !strings.Contains(out, "REGRESSION") || !strings.Contains(out, "4 runs, 200 requests") {
		t.Errorf("status %d:\n%s%s", status, out, errs)
	}
	if status, out, errs := run(t, t.Context(), "compare", b.ID(), a.ID(), "--fail-on", "10%"); status != exitOK || !strings.Contains(out, "no regression above 10") {
		t.Errorf("the other way round: status %d:\n%s%s", status, out, errs)
	}
	status, out, _ = run(t, t.Context(), "compare", a.ID(), a.ID(), "--json", "--run-dir", root)
	var c bench.Comparison
	if err := json.Unmarshal([]byte(out), &c); err != nil || status != exitOK || c.A.Runs != 4 || c.A.Requests != 200 || c.Rows[0].Per != "run" || c.Rows[0].A != 99.5e6 {
		t.Errorf("status %d, %v, %+v", status, err, c)
	}

	capture := filepath.Join(captures, "graph_work")
	traced, err := runs.Create(root, runs.About{Kind: "profile", Tool: "profile"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for rank := range 2 {
		name := fmt.Sprintf("1763750000.graph_work-TP-%d.trace.json.gz", rank)
		if err := traced.AddFile(runs.File{Path: "traces/" + name, Kind: runs.KindTrace}, filepath.Join(capture, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := traced.Finish(runs.Complete, nil); err != nil {
		t.Fatal(err)
	}
	writing, err := runs.Create(root, runs.About{Kind: "bench", Tool: "bench serving"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writing.Finish(runs.Complete, nil)
	damaged := keepLoad(t, root, 1, 100)
	if err := os.WriteFile(damaged.Path("run.json"), []byte("[]"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{a.ID() + " " + capture, exitUsage, a.ID() + " is a benchmark run and " + capture + " a capture: give two of a kind (it has no traces)"},
		{capture + " " + a.ID(), exitUsage, "is a benchmark run and " + capture + " a capture"},
		{traced.ID() + " " + a.ID(), exitUsage, "give two of a kind"},
		{a.ID() + " " + writing.ID(), exitFailed, "run " + writing.ID() + " has no results to compare: it is running"},
		{a.ID(), exitUsage, "nothing to compare with: give a second run"},
		{a.ID() + " --ranks TP00,TP01", exitUsage, "is a benchmark run: to compare its ranks: compare "},
		{a.ID() + " " + b.ID() + " --markdown", exitOK, ""},
		{a.ID() + " " + b.ID() + " --rules x", exitUsage, "--rules is for captures, and these are benchmark runs"},
		{a.ID() + " " + b.ID() + " --fail-on tpto>5%", exitUsage, "--fail-on tpto>5%: unknown figure tpto, did you mean tpot? known figures: ttft, "},
		{a.ID() + " " + b.ID() + " --fail-on ttft>20%,throughput<-3%", exitRegression, ""},
		{a.ID() + " " + b.ID() + " --fail-on ttft>40% --fail-on tpot>5%", exitOK, ""},
		{a.ID() + " nowhere", exitFailed, "nowhere: no such run, file or directory; see: stepscope runs list"},
		{"last " + a.ID(), exitFailed, "run.json lists 0 repetitions, but the records contain more"},
		{"20 " + a.ID(), exitFailed, `"20" could be any of`},
		{traced.ID() + " " + capture, exitOK, ""}, // a run of traces alone is a capture
		{traced.ID() + " --ranks TP00,TP01", exitOK, ""},
	} {
		status, out, errs := run(t, t.Context(), append([]string{"compare"}, strings.Fields(c.args)...)...)
		if status != c.status || !strings.Contains(errs, c.want) {
			t.Errorf("%s: status %d, want %d with %q:\n%s%s", c.args, status, c.status, c.want, errs, out)
		}
	}
}

// TestCompareUnlikeRuns: loads of two models have no verdict, and a gate that would judge them fails.
func TestCompareUnlikeRuns(t *testing.T) {
	homes(t)
	root, err := runs.DefaultRoot()
	if err != nil {
		t.Fatal(err)
	}
	a, b := keepLoad(t, root, 4, 100), keepLoad(t, root, 4, 130)
	retell(t, a, func(r *bench.Run) { r.Model = "m" })
	retell(t, b, func(r *bench.Run) { r.Model, r.Rate = "other", 4 })
	for _, c := range []struct {
		flags  string
		status int
		want   string
	}{
		{"", exitOK, "mismatch: request rate: inf against 4.0\nNo verdict: the loads differ in their model: m against other.\n"},
		{"--fail-on 10%", exitFailed, "--fail-on 10%: not judged, see the verdict (--force judges anyway)"},
		{"--fail-on 10% --force", exitRegression, "mismatch: model: m against other"},
	} {
		status, out, errs := run(t, t.Context(), append([]string{"compare", a.ID(), b.ID()}, strings.Fields(c.flags)...)...)
		if status != c.status || !strings.Contains(out+errs, c.want) || !strings.Contains(out, "TTFT, median") {
			t.Errorf("%s: status %d, want %d with %q:\n%s%s", c.flags, status, c.status, c.want, out, errs)
		}
	}
}

// retell changes what a run says of its load.
func retell(t *testing.T, r *runs.Run, change func(*bench.Run)) {
	t.Helper()
	var all []*bench.Run
	if err := r.ReadJSON(runs.KindRun, &all); err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		change(one)
	}
	text, err := json.Marshal(all)
	if err == nil {
		err = os.WriteFile(r.Path("run.json"), text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestCompareRunsWithCaptures: of runs that both have traces the captures say what is behind the change.
func TestCompareRunsWithCaptures(t *testing.T) {
	homes(t)
	root, err := runs.DefaultRoot()
	if err != nil {
		t.Fatal(err)
	}
	var both []string
	for i, set := range []string{"balanced", "compute_skew"} {
		files, err := filepath.Glob(filepath.Join(captures, set, "*"))
		if err != nil || len(files) == 0 {
			t.Fatal(len(files), err)
		}
		both = append(both, keepLoad(t, root, 4, 100+int64(i)*10, files...).ID())
	}
	status, out, errs := run(t, t.Context(), "compare", both[0], both[1])
	for _, want := range []string{"Worse: median TTFT 110 ms instead of 99.5 ms", "Their captures", "Why: TP02 runs 84 more kernels a step", "117 → 201 kernels a step"} {
		if status != exitOK || !strings.Contains(out, want) {
			t.Errorf("status %d, no %q:\n%s%s", status, want, out, errs)
		}
	}
	status, out, _ = run(t, t.Context(), "compare", both[0], both[1], "--json")
	var c struct {
		Verdict  string
		Causes   []string
		Captures struct {
			Verdict string
			Causes  []struct{ Change, Kind string }
		}
	}
	if err := json.Unmarshal([]byte(out), &c); err != nil || status != exitOK || len(c.Causes) == 0 || !strings.Contains(c.Causes[0], "TP02") || c.Captures.Causes[0].Change != "new" {
		t.Errorf("status %d, %v, %+v", status, err, c)
	}
}
