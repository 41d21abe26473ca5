package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/capture/nsys"
	"github.com/stepscope/stepscope/internal/runs"
)

type nsysRunCmd struct {
	Command []string `arg:"" placeholder:"COMMAND" help:"The program and its arguments, after --."`

	StartLater   bool    `name:"start-later" without:"delay|duration|capture-range: stepscope nsys start opens all windows" help:"Collect nothing until stepscope nsys start."`
	Delay        seconds `name:"delay" placeholder:"TIME" help:"Start to collect this long after the start: 30 or 30s."`
	Duration     seconds `name:"duration" placeholder:"TIME" help:"Collect for this long; the program goes on."`
	CaptureRange string  `name:"capture-range" placeholder:"API" without:"delay|duration: the program opens the windows" help:"Collect in the ranges that the program marks, with one report per range: cudaProfilerApi (from cudaProfilerStart to cudaProfilerStop, as in a CUDA_PROFILER window) or nvtx (a range, see -p)."`
	NVTXCapture  string  `name:"nvtx-capture" short:"p" placeholder:"RANGE@DOMAIN" needs:"capture-range=nvtx" help:"The range of --capture-range nvtx (default: cudaProfilerApi@stepscope, that of stepscope serve)."`
	Output       string  `short:"o" placeholder:"NAME" help:"Name of the report, with nsys' %h, %p, %q{VARIABLE}; windows are NAME-window-N. Default: in the run's directory."`
	Overwrite    bool    `name:"force-overwrite" help:"Replace an existing report."`

	Trace   string   `short:"t" placeholder:"APIS" help:"What to trace (default: cuda,nvtx)."`
	Session string   `name:"session-new" placeholder:"NAME" help:"Name of the session (default: the program's name with the last four letters of the run's id)."`
	NsysArg []string `name:"nsys-arg" sep:"none" placeholder:"--OPTION=VALUE" help:"Any other option of nsys. Those that stepscope does not have may also be given directly: --cuda-memory-usage=true."`

	nsysTool
	runPlace
}

// Help returns the end of the verb's help text.
func (c *nsysRunCmd) Help() string {
	return `Runs nsys with options for servers: --trace=cuda,nvtx --trace-fork-before-exec=true --cuda-graph-trace=node, no sampling of the CPU
(--sample=process-tree, --cpuctxsw=process-tree turn it on). By default it collects from start to end. Signals go to the program once its
report is made; the exit status is the program's. See also docs/nsys.md.

Examples:
  stepscope nsys run --start-later -- python3 -m sglang.launch_server --model-path MODEL
  stepscope nsys run --delay 60 --duration 10 -o /data/serve -- vllm serve MODEL
  stepscope nsys run --capture-range cudaProfilerApi --gpu-metrics-devices=all -- python3 -m sglang.launch_server --model-path MODEL
  stepscope nsys run -o step -- stepscope serve --model-path builtin:llama-tiny`
}

// Run runs the program.
func (c *nsysRunCmd) Run(ctx context.Context, e *env) error {
	if err := c.check(); err != nil {
		return err
	}
	tool, err := nsys.Find(ctx, c.Nsys)
	if err != nil {
		return err
	}
	output, err := c.output()
	if err != nil {
		return err
	}
	root, err := c.root()
	if err != nil {
		return err
	}
	l := &nsys.Launch{
		Tool: tool, Range: c.CaptureRange, NVTX: c.NVTXCapture, Delay: time.Duration(c.Delay), Duration: time.Duration(c.Duration),
		Output: output, Options: c.options(), Mode: c.mode(), Session: c.Session, Command: c.Command,
		Stdin: e.stdin, Stdout: e.out, Stderr: e.errs, Log: func(line string) { e.Warn("%s", line) }, Patience: reportPatience,
	}
	if _, err := nsys.Program(c.Command[0]); err != nil {
		return err
	}
	// Report invalid options before a run is created.
	if _, err := l.Plan(ctx); err != nil {
		return usageError{err}
	}
	e.status, err = l.Store(ctx, e.Console, root, runs.About{
		Tool: "nsys run", Args: e.args, Versions: map[string]string{"stepscope": release()},
	})
	return err
}

// reportPatience is the time that nsys may take to write a report. A large trace takes minutes.
const reportPatience = time.Hour

func (c *nsysRunCmd) mode() nsys.Mode {
	end := slices.ContainsFunc(c.NsysArg, func(a string) bool { return strings.HasPrefix(a, "--capture-range-end") })
	switch {
	case c.CaptureRange != "" && end:
		return nsys.Own
	case c.CaptureRange != "":
		return nsys.Range
	case c.StartLater || c.Delay > 0:
		return nsys.Later
	}
	return nsys.Whole
}

func (c *nsysRunCmd) options() []string {
	var out []string
	if c.Trace != "" {
		out = append(out, "--trace="+c.Trace)
	}
	return append(out, c.NsysArg...)
}

func (c *nsysRunCmd) check() error {
	switch {
	case !slices.Contains([]string{"", "cudaProfilerApi", "nvtx"}, c.CaptureRange):
		return usagef("--capture-range %q: give cudaProfilerApi or nvtx", c.CaptureRange)
	case c.CaptureRange == "cudaProfilerApi" && ownServer(c.Command):
		return usagef("--capture-range cudaProfilerApi: %s: write --capture-range nvtx", noCUDARange)
	case c.Session != "" && !nsys.SessionName.MatchString(c.Session):
		return usagef("--session-new %q: begin with a letter, use letters, digits, - and _, at most 100", c.Session)
	}
	for _, a := range c.NsysArg {
		name, _, hasValue := strings.Cut(a, "=")
		switch {
		case !strings.HasPrefix(a, "--") || !hasValue:
			return usagef("option of nsys %q: write it as --OPTION=VALUE", a)
		case slices.Contains([]string{"--start-later", "--session", "--kill", "--stop-on-exit", "--output", "--command-file"}, name):
			return usagef("%s is set by stepscope", name)
		}
	}
	return nil
}

// output returns the absolute file name of the reports without the extension, or "" if the user has given no name.
func (c *nsysRunCmd) output() (string, error) {
	if c.Output == "" {
		return "", nil
	}
	path, err := reportPath(c.Output)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil && !c.Overwrite && (c.mode() == nsys.Whole || c.Delay > 0) {
		return "", fmt.Errorf("%s exists already: give another -o, or --force-overwrite", path)
	}
	return strings.TrimSuffix(path, nsys.Suffix), nil
}

// reportPath returns the path of a report for -o, after checking that it can be written.
func reportPath(name string) (string, error) {
	name, err := nsys.Expand(name, os.LookupEnv)
	if err != nil {
		return "", usagef("-o %v", err)
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if st, err := os.Stat(path); strings.HasSuffix(name, "/") || err == nil && st.IsDir() {
		return "", usagef("-o %s is a directory: give a name in it", name)
	}
	if !strings.HasSuffix(path, nsys.Suffix) {
		path += nsys.Suffix
	}
	// nsys itself would report a directory that is not writable only at the end.
	f, err := os.CreateTemp(filepath.Dir(path), ".stepscope-*")
	if err != nil {
		return "", fmt.Errorf("-o %s: a report cannot be written there: %w", name, errors.Unwrap(err))
	}
	return path, errors.Join(f.Close(), os.Remove(f.Name()))
}
