package job

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/job/spec"
	"github.com/stepscope/stepscope/internal/runs"
)

// longWindow is the number of steps above which a window counts as long. srtctl's profiling document calls 30 to 100
// steps typical.
const longWindow = 100

// finish checks that the expected files exist, and merges and explains the windows. When ctx ends, the remaining
// windows are not explained.
func (r *Run) finish(ctx context.Context) {
	for i := range r.plan.Phases {
		if !r.loading {
			break // no window was opened: the failure itself has been reported
		}
		ph := &r.plan.Phases[i]
		var from []string
		if r.plan.Job.Profiling.Type == spec.Nsys {
			from = r.reports(ph)
		} else {
			from = r.traces(ctx, ph)
		}
		if len(from) == 0 {
			continue
		}
		r.analyze(ctx, ph, from)
	}
	if r.loading && r.plan.joint() {
		r.together(ctx)
	}
	if r.RunDir != "" && (r.Token == "" || Shared(r.dir, r.Token)) {
		if err := r.state.Keep(r.plan, r.RunDir); err != nil {
			r.lack("%v", err)
		}
	}
}

// present reports whether a file exists and is not empty. If it does not exist or is empty, present records it as
// missing.
func (r *Run) present(name string) bool {
	info, err := os.Stat(filepath.Join(r.dir, name))
	switch {
	case err != nil:
		r.lack("%s is missing", name)
	case info.Size() == 0:
		r.lack("%s is empty", name)
	default:
		return true
	}
	return false
}

// reports returns the existing Nsight Systems reports of a phase. There should be one report per node of the worker.
func (r *Run) reports(ph *Phase) (there []string) {
	w := &r.plan.Workers[ph.Worker]
	for rank, node := range w.Nodes {
		if name := r.plan.report(w, rank, "", r.nodeName(node)); r.present(name) {
			there = append(there, filepath.Join(r.dir, name))
		}
	}
	if len(there) == 0 {
		r.empty(ph)
	}
	return there
}

// traces merges the traces of a phase's window and returns the paths to analyze. If the phase's load has a run, the
// path is that of the run, because its request records help to explain slow requests. Otherwise the paths are those of
// the trace files that the server wrote.
func (r *Run) traces(ctx context.Context, ph *Phase) []string {
	dir := r.plan.traces(r.dir, ph)
	if err := r.settle(ph, dir); err != nil && !os.IsNotExist(err) {
		r.lack("%v", err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.json*"))
	whole := files[:0]
	for _, f := range files {
		if rel, _ := filepath.Rel(r.dir, f); r.present(rel) {
			whole = append(whole, f)
		}
	}
	if len(whole) == 0 {
		r.empty(ph)
		return nil
	}
	if n, want := tensorRanks(whole), r.plan.Job.TP(ph.Role); n > 0 && n < want {
		r.lack("the window of %s has traces for only %d of %d ranks", ph.Name, n, want)
	}
	if out, err := r.program(ctx, "trace", "merge", dir, "-o", filepath.Join(r.dir, "merged_"+ph.Name+".trace.json.gz")); err != nil {
		r.lack("merge the traces of %s: %s", ph.Name, lastLine(string(out)))
	}
	if run := r.run(ph.Name); run != "" {
		return []string{run}
	}
	return []string{dir}
}

// run returns the directory of the run of a load, or "" if the load has no run with traces.
func (r *Run) run(load string) string {
	root := filepath.Join(r.dir, "runs", load)
	if all, err := runs.List(root); err == nil && len(all) == 1 {
		if run, err := runs.Open(root, all[0].ID); err == nil && len(run.Traces()) > 0 {
			return run.Dir()
		}
	}
	return ""
}

// settle moves the traces of a phase to dir. Behind a router, each server has written to a directory that is named by
// its address or, if it is vLLM, by its port.
func (r *Run) settle(ph *Phase, dir string) error {
	if r.plan.Router == 0 {
		return flatten(dir)
	}
	w := &r.plan.Workers[ph.Worker]
	of := r.plan.profiles(r.dir, ph.Role)
	windows, _ := filepath.Glob(filepath.Join(of, "*", fmt.Sprintf("*%s-%d", r.addr(w.Nodes[0]), w.Port)))
	if r.plan.Job.Backend.Type == spec.VLLM {
		windows = []string{filepath.Join(of, strconv.Itoa(w.Port))}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, from := range windows {
		if err := moveTraces(from, dir); err != nil {
			return err
		}
		os.Remove(filepath.Dir(from)) // succeeds only if the directory is empty
	}
	return nil
}

// together explains the windows of prefill and decode workers in one report.
func (r *Run) together(ctx context.Context) {
	const lacking = "analysis_all.html is missing: %s"
	run := r.run("all")
	switch {
	case ctx.Err() != nil:
		r.lack(lacking, "the job was told to stop")
		return
	case r.apart():
		r.lack(lacking, r.unshared())
		return
	case run == "":
		r.lack(lacking, "the load has no run with traces")
		return
	}
	base := filepath.Join(r.dir, "analysis_all")
	if text, err := r.program(ctx, "analyze", "--html", base+".html", run); err != nil {
		r.lack("explain the windows of all workers together: %s", lastLine(string(text)))
	} else {
		os.WriteFile(base+".txt", text, 0o644)
		r.Log("all workers together: analysis_all.txt, .html")
	}
}

var tensorRank = regexp.MustCompile(`-TP-([0-9]+)`)

// tensorRanks returns the number of tensor-parallel ranks in the names of trace files.
func tensorRanks(files []string) int {
	seen := map[string]bool{}
	for _, f := range files {
		if m := tensorRank.FindStringSubmatch(filepath.Base(f)); m != nil {
			seen[m[1]] = true
		}
	}
	return len(seen)
}

// empty records that a window has no files, and adds the advice of srtctl's profiling document.
func (r *Run) empty(ph *Phase) {
	r.lack("the window of %s has no file", ph.Name)
	r.advise("Empty profile output: ensure %s are set and keep the server busy until stop_step; see %s.out", r.loadKeys(ph), r.plan.loadOf(ph).task())
}

// loadKeys names the keys of the job file that have the load of a phase.
func (r *Run) loadKeys(ph *Phase) string {
	switch r.plan.Job.Dialect() {
	case spec.DialectH:
		return "`isl`, `osl` and `concurrencies` of benchmark"
	case spec.DialectM:
		return "`isl`, `osl` and `concurrency` of profiling"
	}
	return "`isl`, `osl` and `concurrency` of profiling." + string(ph.Role)
}

// advise adds advice to the state. If the job failed, advise adds nothing, because the failure must be fixed first.
func (r *Run) advise(format string, args ...any) {
	if r.state.Failure != nil {
		return
	}
	r.state.Advice = append(r.state.Advice, fmt.Sprintf(format, args...))
}

// program runs a stepscope command on this machine and returns its output.
func (r *Run) program(ctx context.Context, args ...string) ([]byte, error) {
	var both bytes.Buffer
	cmd := exec.CommandContext(ctx, r.plan.Program, args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = &both, &both, r.dir
	err := cmd.Run()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 3 {
		// The command has finished, but data are missing. The command itself and the check of the files report this.
		err = nil
	}
	return both.Bytes(), err
}

// analyze explains a window as text, JSON and HTML, and checks the number of steps in the window.
func (r *Run) analyze(ctx context.Context, ph *Phase, from []string) {
	base := filepath.Join(r.dir, "analysis_"+ph.Name)
	text, err := r.program(ctx, append([]string{"analyze", "--html", base + ".html"}, from...)...)
	if ctx.Err() != nil {
		r.lack("the window of %s is not explained: the job was told to stop", ph.Name)
		return
	}
	if err != nil {
		r.lack("explain the window of %s: %s", ph.Name, lastLine(string(text)))
		return
	}
	os.WriteFile(base+".txt", text, 0o644)
	cmd := exec.CommandContext(ctx, r.plan.Program, append([]string{"analyze", "--json"}, from...)...)
	out, _ := cmd.Output() // the exit status is not 0 if data are missing
	if len(out) == 0 {
		r.lack("explain the window of %s as JSON: no output", ph.Name)
		return
	}
	os.WriteFile(base+".json", out, 0o644)
	var report struct {
		Steps []json.RawMessage `json:"steps"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		r.lack("explain the window of %s as JSON: %v", ph.Name, err)
		return
	}
	want := ph.StopStep - ph.StartStep
	switch n := len(report.Steps); {
	case n == 0:
		r.lack("the window of %s has no steps", ph.Name)
		r.advise("Empty profile output: ensure %s are set and keep the server busy until stop_step", r.loadKeys(ph))
	case n < want:
		r.lack("the window of %s has %d of %d steps", ph.Name, n, want)
		r.advise("Profile too short: adjust `start_step` and `stop_step` of profiling.%s; a typical profiling run uses 30-100 steps", ph.Role)
	}
	if want > longWindow {
		r.advise("Profile too long: profiling.%s has %d steps; adjust `start_step` and `stop_step`; a typical profiling run uses 30-100 steps", ph.Role, want)
	}
	r.Log(fmt.Sprintf("%s: %d steps; analysis_%s.txt, .json, .html", ph.Name, len(report.Steps), ph.Name))
}

// Keep copies the runs of the job's loads to root, the directory of the user's runs.
func (s *State) Keep(p *Plan, root string) error {
	for _, l := range p.Loads() {
		all, err := runs.List(filepath.Join(s.Dir, l.dir()))
		if err != nil {
			continue // the load has not begun
		}
		for _, e := range all {
			to, err := runs.Import(root, filepath.Join(s.Dir, l.dir(), e.ID))
			if err != nil {
				s.Lacks = append(s.Lacks, fmt.Sprintf("the run of %s could not be kept in %s: %v", l.name, root, err))
				continue
			}
			s.Runs = append(s.Runs, to)
		}
	}
	return s.write()
}

// Summary describes the outcome of a job.
func (s *State) Summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s", s.Job, s.Name, s.Stage)
	if s.Slurm != "" && !s.Stage.Ended() {
		fmt.Fprintf(&b, ": %s", s.Slurm)
	}
	if s.Failure != nil {
		fmt.Fprintf(&b, ": %s", s.Failure.What)
		for _, line := range s.Failure.Lines {
			fmt.Fprintf(&b, "\n    | %s", line)
		}
	}
	fmt.Fprintf(&b, "\n  %s\n", s.Dir)
	for _, l := range s.Lacks {
		fmt.Fprintf(&b, "  missing: %s\n", l)
	}
	for _, a := range s.Advice {
		fmt.Fprintf(&b, "  advice:  %s\n", a)
	}
	pages, _ := filepath.Glob(filepath.Join(s.Dir, "analysis_*.html"))
	for _, p := range pages {
		if !strings.HasPrefix(filepath.Base(p), "analysis_all-") { // analysis_all.html leads to these
			fmt.Fprintf(&b, "  report:  %s\n", p)
		}
	}
	for _, d := range s.Runs {
		fmt.Fprintf(&b, "  run:     %s\n", d)
	}
	return b.String()
}
