package job

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/job/spec"
)

// sweepFile is the name of the file, in a sweep's directory, that holds the jobs of the sweep and their results.
const sweepFile = "sweep.json"

// Sweep is the set of jobs that a job file with parameters describes, with the results of the jobs.
type Sweep struct {
	Format     int       `json:"format"`
	Name       string    `json:"name"`
	Dir        string    `json:"dir"`
	Began      time.Time `json:"began"`
	Parameters []string  `json:"parameters"`
	Jobs       []Variant `json:"jobs"`
}

// Variant is a job of a sweep.
type Variant struct {
	Name    string   `json:"name"` // name of the job's directory inside the sweep's directory
	Values  []string `json:"values"`
	Job     string   `json:"job"`   // id
	Stage   Stage    `json:"stage"` // "": the job has not begun
	Failure *Failure `json:"failure,omitempty"`
	Lacks   []string `json:"lacks,omitempty"`
	Status  int      `json:"status"`
	Roles   []Result `json:"roles"`
}

// Result holds the figures of a load and a window, by name. Unknown figures are absent. Role is "all" for the load of
// several workers, and a worker such as prefill_w0 for the window of one of several workers of its role.
type Result struct {
	Role    spec.Role          `json:"role"`
	Figures map[string]float64 `json:"figures"`
}

// Figure is a figure by which jobs are compared.
type Figure struct {
	Name  string // name in sweep.json
	Title string
	Unit  string  // ns, 1/s, share or count
	key   string  // key in the load's output
	scale float64 // factor that converts the load's value to Unit
	// of holds time fields, for figures from the analysis. The sum of these fields over all ranks is divided by the
	// total time.
	of []string
}

// Figures are the figures by which the jobs of a sweep are compared. The figures of the loads are read from SGLang's
// output file by their keys. All other figures are read from the analyses of the windows.
var Figures = []Figure{
	{Name: "output_tokens_per_s", Title: "output tokens", Unit: "1/s", key: "output_throughput", scale: 1},
	{Name: "ttft_median_ns", Title: "TTFT", Unit: "ns", key: "median_ttft_ms", scale: 1e6},
	{Name: "ttft_p99_ns", Title: "TTFT p99", Unit: "ns", key: "p99_ttft_ms", scale: 1e6},
	{Name: "tpot_median_ns", Title: "TPOT", Unit: "ns", key: "median_tpot_ms", scale: 1e6},
	{Name: "itl_median_ns", Title: "ITL", Unit: "ns", key: "median_itl_ms", scale: 1e6},
	{Name: "steps", Title: "steps", Unit: "count"},
	{Name: "step_median_ns", Title: "step", Unit: "ns"},
	{Name: "compute", Title: "compute", Unit: "share", of: []string{"compute_ns"}},
	{Name: "wait", Title: "wait", Unit: "share", of: []string{"exposed_wait_ns"}},
	{Name: "idle", Title: "idle", Unit: "share", of: []string{"idle_ns"}},
}

// NewSweep returns a sweep that has not begun, and makes the directory of the sweep in root.
func NewSweep(name, root string, variants []spec.Variant, at time.Time) (*Sweep, error) {
	s := &Sweep{Format: 1, Name: name, Dir: filepath.Join(root, SweepDir(name, at)), Began: at}
	for _, p := range variants[0].Parameters {
		s.Parameters = append(s.Parameters, p.Name)
	}
	for _, v := range variants {
		values := make([]string, len(v.Parameters))
		for i, p := range v.Parameters {
			values[i] = p.Value
		}
		s.Jobs = append(s.Jobs, Variant{Name: v.Name, Values: values, Roles: []Result{}})
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, err
	}
	return s, s.Write()
}

// SweepDir returns the name of a sweep's directory.
func SweepDir(name string, at time.Time) string {
	return fmt.Sprintf("%s_sweep_%s", (&spec.Job{Name: name}).FileName(), at.Format("20060102_150405"))
}

// ReadSweep reads the sweep in a directory, with the current results of its jobs.
func ReadSweep(dir string) (*Sweep, error) {
	text, err := atomicfile.ReadFile(filepath.Join(dir, sweepFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s is not a sweep directory: it has no %s", dir, sweepFile)
	}
	if err != nil {
		return nil, err
	}
	s := &Sweep{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, sweepFile), err)
	}
	s.Dir = dir
	s.Look()
	return s, nil
}

// Look reads the results of the jobs from their directories.
func (s *Sweep) Look() {
	for i := range s.Jobs {
		v := &s.Jobs[i]
		dir := filepath.Join(s.Dir, v.Name)
		if state, err := Read(dir); err == nil {
			v.Take(state)
		}
		v.Roles = []Result{}
		for _, name := range measured(dir) {
			of := map[string]float64{}
			load(filepath.Join(dir, "bench_"+name+".jsonl"), of)
			window(filepath.Join(dir, "analysis_"+name+".json"), of)
			if len(of) > 0 {
				v.Roles = append(v.Roles, Result{spec.Role(name), of})
			}
		}
	}
}

// measured returns the names of a job's loads and windows: all, roles, or workers.
func measured(dir string) (names []string) {
	for _, part := range []string{"bench_", "analysis_"} {
		files, _ := filepath.Glob(filepath.Join(dir, part+"*.json*"))
		for _, f := range files {
			name, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(f), part), ".")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	order := []string{"all", "prefill", "decode", "agg"}
	sorts.By(names, func(a, b string) int {
		place := func(name string) int {
			return slices.IndexFunc(order, func(first string) bool { return strings.HasPrefix(name, first) })
		}
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
	})
	return names
}

// Take copies a job's state.
func (v *Variant) Take(s *State) {
	v.Job, v.Stage, v.Failure, v.Lacks, v.Status = s.Job, s.Stage, s.Failure, s.Lacks, s.Status
}

// Fail records the error of a job that has no state.
func (v *Variant) Fail(err error) {
	v.Stage, v.Failure, v.Status = Failed, &Failure{Cause: ByJob, What: err.Error()}, statuses[ByJob]
}

// Outcome describes the outcome of a job in one or two words.
func (v *Variant) Outcome() string {
	switch {
	case v.Stage == "":
		return "not started"
	case v.Failure != nil:
		return fmt.Sprintf("%s (%s)", v.Stage, v.Failure.Cause)
	case len(v.Lacks) > 0:
		return fmt.Sprintf("%s, %d missing", v.Stage, len(v.Lacks))
	}
	return string(v.Stage)
}

// Status returns the exit status of the sweep. If a job has failed, it is the status of the first failed job. Otherwise
// it is 3 if anything is missing.
func (s *Sweep) Status() int {
	missing := 0
	for _, v := range s.Jobs {
		switch v.Status {
		case 0:
		case 3:
			missing = 3
		default:
			return v.Status
		}
	}
	return missing
}

// Write writes the sweep to its directory.
func (s *Sweep) Write() error { return atomicfile.JSON(filepath.Join(s.Dir, sweepFile), s) }

// load reads the figures from the last line of a load's output.
func load(path string, into map[string]float64) {
	text, err := atomicfile.ReadFile(path)
	if err != nil {
		return
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	var line map[string]any
	if json.Unmarshal(lines[len(lines)-1], &line) != nil {
		return
	}
	for _, f := range Figures {
		if v, ok := line[f.key].(float64); ok {
			into[f.Name] = v * f.scale
		}
	}
}

// window reads the figures of an analysis. The step time is the step time of the slowest rank.
func window(path string, into map[string]float64) {
	text, err := atomicfile.ReadFile(path)
	if err != nil {
		return
	}
	var report struct {
		Times []map[string]any `json:"times"`
		Steps []struct {
			Ranks []struct {
				Period float64 `json:"period_ns"`
			} `json:"ranks"`
		} `json:"steps"`
	}
	if json.Unmarshal(text, &report) != nil {
		return
	}
	into["steps"] = float64(len(report.Steps))
	var periods []float64
	for _, s := range report.Steps {
		longest := 0.0
		for _, r := range s.Ranks {
			longest = max(longest, r.Period)
		}
		if longest > 0 {
			periods = append(periods, longest)
		}
	}
	if n := len(periods); n > 0 {
		slices.Sort(periods)
		into["step_median_ns"] = (periods[(n-1)/2] + periods[n/2]) / 2
	}
	for _, t := range report.Times {
		total, _ := t["total_ns"].(float64)
		if t["rank"] != "all" || t["kind"] != "all" || total <= 0 {
			continue
		}
		for _, f := range Figures {
			for _, name := range f.of {
				if v, ok := t[name].(float64); ok {
					into[f.Name] = v / total
				}
			}
		}
	}
}

// ArrayScript returns one batch script for all jobs of a sweep. At most parallel jobs run at a time. All tasks of an
// array have the same directives. If the directives of the jobs differ, ArrayScript returns an error.
func ArrayScript(name string, plans []*Plan, orders []Slurm, parallel int) (string, error) {
	head := plans[0].directives(&orders[0], name)
	var b strings.Builder
	fmt.Fprintf(&b, "%s#SBATCH --array=0-%d%%%d\n", head, len(plans)-1, parallel)
	b.WriteString("case $SLURM_ARRAY_TASK_ID in\n")
	for i, p := range plans {
		if p.directives(&orders[i], name) != head {
			return "", errors.New("the jobs of the sweep need different sbatch directives (nodes, time limit), so they cannot form an array; without --detach each is its own job")
		}
		fmt.Fprintf(&b, "%d)\n%s;;\n", i, p.body(&orders[i]))
	}
	b.WriteString("esac\n")
	return b.String(), nil
}
