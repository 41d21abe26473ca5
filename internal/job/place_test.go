package job_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/job"
	"github.com/stepscope/stepscope/internal/testing/slurmtest"
)

// program is stepscope itself, built once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "stepscope-job-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "stepscope")
	out, err := exec.Command("go", "build", "-o", path, "../../cmd/stepscope").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

func TestMain(m *testing.M) {
	status := m.Run()
	if path, err := program(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(status)
}

// place is an environment in which jobs of a test run.
type place struct {
	t    *testing.T
	c    *slurmtest.Cluster // nil: this machine
	logs string             // on Slurm each node has its own file system there
	path string             // of programs, before all others
}

// ended is the outcome of a job.
type ended struct {
	state  *job.State
	dir    string
	status int
	out    string // both streams
}

// watcher calls do once when a text is written.
type watcher struct {
	mu   sync.Mutex
	all  bytes.Buffer
	text string
	do   func()
}

func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all.Write(p)
	if w.do != nil && strings.Contains(w.all.String(), w.text) {
		go w.do()
		w.do = nil
	}
	return len(p), nil
}

// apply runs a job file to its end; during is called with the job's id when all loads have begun.
func (p *place) apply(file string, during func(id string), flags ...string) *ended {
	p.t.Helper()
	bin, err := program()
	if err != nil {
		p.t.Fatal(err)
	}
	text := filepath.Join(p.t.TempDir(), "job.yaml")
	if err := os.WriteFile(text, []byte(file), 0o644); err != nil {
		p.t.Fatal(err)
	}
	before := p.jobs()
	args := append([]string{"job", "apply", text, "-o", p.logs, "--run-dir", filepath.Join(p.t.TempDir(), "runs")}, flags...)
	cmd := exec.Command(bin, args...)
	if p.c != nil {
		cmd = p.c.Command(bin, args...)
	} else {
		cmd.Args = append(cmd.Args, "--on=local")
		cmd.Env = os.Environ()
	}
	if p.path != "" {
		cmd.Env = append(cmd.Env, "PATH="+p.path+":"+os.Getenv("PATH")+":/usr/sbin:/sbin")
	}
	w := &watcher{text: "their windows begin"}
	if during != nil {
		w.do = func() { during(p.newest(before).Job) }
	}
	cmd.Stdout, cmd.Stderr = w, w
	ctx, done := context.WithTimeout(p.t.Context(), 3*time.Minute)
	defer done()
	go func() {
		<-ctx.Done()
		if ctx.Err() == context.DeadlineExceeded && cmd.Process != nil {
			cmd.Process.Kill()
		}
	}()
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	e := &ended{status: cmd.ProcessState.ExitCode(), out: w.all.String()}
	if e.state = p.newest(before); e.state == nil {
		p.t.Fatalf("no job was started: %s", e.out)
	}
	e.dir = e.state.Dir
	p.clean(e)
	return e
}

func (p *place) jobs() []*job.State {
	all, err := job.Jobs(p.logs)
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// newest returns the job that did not exist before.
func (p *place) newest(before []*job.State) *job.State {
	for _, s := range p.jobs() {
		if !slices.ContainsFunc(before, func(b *job.State) bool { return b.Dir == s.Dir }) {
			return s
		}
	}
	return nil
}

// clean fails if a process of the job is left.
func (p *place) clean(e *ended) {
	p.t.Helper()
	left := []string{}
	for range 100 {
		left = left[:0]
		all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, path := range all {
			text, _ := os.ReadFile(path)
			if line := strings.ReplaceAll(string(text), "\x00", " "); strings.Contains(line, e.dir) {
				left = append(left, line)
			}
		}
		if len(left) == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.t.Errorf("left behind: %q", left)
}

// tree lists the files of a job, with stars for the parts that vary.
func (e *ended) tree(t *testing.T) string {
	var out []string
	runs := regexp.MustCompile(`^(runs/[a-z]+/)[^/]+`)
	filepath.WalkDir(e.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			t.Error(err)
			return nil
		}
		name, _ := filepath.Rel(e.dir, path)
		if d.IsDir() || strings.HasPrefix(name, ".") {
			return nil
		}
		if name == e.state.Job+".json" {
			name = "JOB.json"
		}
		name = runs.ReplaceAllString(name, "$1*")
		name = regexp.MustCompile(`[0-9]+\.[0-9]+`).ReplaceAllString(name, "*")
		if !strings.HasPrefix(name, "runs/") {
			out = append(out, name)
		}
		return nil
	})
	slices.Sort(out)
	return strings.Join(slices.Compact(out), "\n")
}

// steps returns the number of steps in the analysis of a role's window.
func (e *ended) steps(t *testing.T, role string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(e.dir, "analysis_"+role+".json"))
	if err != nil {
		t.Error(err)
		return 0
	}
	var r struct {
		Steps []json.RawMessage `json:"steps"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Error(err)
	}
	return len(r.Steps)
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// standIn returns a directory with a python3 that is a shell script.
func standIn(t *testing.T, lines string) string {
	t.Helper()
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := "#!/bin/sh\n" + strings.ReplaceAll(lines, "PROGRAM", bin) + "\n"
	if err := os.WriteFile(filepath.Join(dir, "python3"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// nsys returns the directory of a real nsys.
func nsys(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("STEPSCOPE_NSYS"); path != "" {
		return filepath.Dir(path)
	}
	path, err := exec.LookPath("nsys")
	if err != nil {
		t.Skip("no nsys here (STEPSCOPE_NSYS names one)")
	}
	return filepath.Dir(path)
}
