package cli

import (
	"context"
	"path/filepath"

	"github.com/stepscope/stepscope/internal/capture/nsys"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/measure/system"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/tracefile/kineto"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/read/nsysdb"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// inputFlags select the input of a verb.
type inputFlags struct {
	Paths     []string `arg:"" name:"path" help:"A directory of rank files or Nsight Systems reports, the files themselves, or a run (last)."`
	ProfileID string   `name:"profile-id" placeholder:"ID" help:"Which window to read, if there are several (default: the newest)."`
}

// reading has the options for reading files.
var reading = read.Options{Export: nsys.Exported}

// input returns the whole input. A run selects its traces, if they are those of one server.
func (in inputFlags) input() (*window.Input, error) { return in.below((&runPlace{}).root) }

// below is input with the runs in another place.
func (in inputFlags) below(place func() (string, error)) (*window.Input, error) {
	_, servers, err := in.servers(place)
	if err != nil {
		return nil, err
	}
	if len(servers) > 1 {
		one := servers[0].Paths[0]
		if filepath.Base(one) != servers[0].Name {
			one = filepath.Dir(one) // these are files of a run
		}
		return nil, usagef("%s has %d servers: give the traces of one, such as %s", in.Paths[0], len(servers), one)
	}
	in.Paths = servers[0].Paths
	return in.files(), nil
}

// servers returns the servers that the input selects; input that is not separated by server gives one without a name.
// If a run is selected, it is returned, too.
func (in inputFlags) servers(place func() (string, error)) (*runs.Run, []system.Server, error) {
	var run *runs.Run
	one := system.Server{Paths: in.Paths}
	if len(in.Paths) == 1 {
		root, _ := place() // without a home for runs, their directories can still be given
		of, servers, found, err := system.Find(root, in.Paths[0])
		switch {
		case err != nil:
			return nil, nil, notFound(err)
		case len(servers) > 1:
			return of, servers, nil
		case len(servers) == 1:
			one.Role = servers[0].Role
		}
		run, one.Paths = of, found
	}
	return run, []system.Server{one}, nil
}

// files returns the input if its paths are those of files and directories.
func (in inputFlags) files() *window.Input {
	return &window.Input{Paths: in.Paths, ID: in.ProfileID, Read: reading}
}

// rangeFlags select the part of long reports to read.
type rangeFlags struct {
	From float64 `placeholder:"SECONDS" help:"Nsight Systems reports: start reading here, counted from the beginning of the capture."`
	To   float64 `placeholder:"SECONDS" help:"Nsight Systems reports: stop reading here (default: as much as memory can hold)."`
}

// of returns the range of the input.
func (s rangeFlags) of(in inputFlags) (*window.Input, error) {
	w, err := in.input()
	if err != nil {
		return nil, err
	}
	return w, s.set(w)
}

// set limits an input to the range.
func (s rangeFlags) set(w *window.Input) error {
	if s.From < 0 || s.To < 0 || s.To != 0 && s.To <= s.From {
		return usagef("--from %g --to %g: give a range of time, in seconds from the beginning of the capture", s.From, s.To)
	}
	w.Read.Nsys = nsysdb.Options{From: int64(s.From * 1e9), To: int64(s.To * 1e9)}
	return nil
}

// text returns the window that the input selects, in the form of asText, and the missing ranks.
func (e *env) text(ctx context.Context, in inputFlags) (missing []string, text *kineto.Set, err error) {
	i, err := in.input()
	if err != nil {
		return nil, nil, err
	}
	window, missing, err := i.Choose(e.Console)
	if err == nil {
		text, err = e.asText(ctx, i.Read, window)
	}
	return missing, text, err
}

// asText converts reports of Nsight Systems in a window to text, for the verbs that work on the text of events. The
// caller closes the result.
func (e *env) asText(ctx context.Context, opt read.Options, window set.Set) (*kineto.Set, error) {
	readFile := e.report
	if readFile == nil {
		readFile = func(ctx context.Context, f set.File) ([]*trace.Trace, error) { return read.ReadFile(ctx, f, opt) }
	}
	return kineto.FromReports(ctx, e.Console, window, readFile)
}
