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

// reading holds the options for reading files.
var reading = read.Options{Export: nsys.Exported}

// input returns the whole input. If the input is a run, input selects the run's traces, which must all be from one
// server.
func (in inputFlags) input() (*window.Input, error) { return in.below((&runPlace{}).root) }

// below does the same as input for runs in the directory that place returns.
func (in inputFlags) below(place func() (string, error)) (*window.Input, error) {
	_, servers, err := in.servers(place)
	if err != nil {
		return nil, err
	}
	if len(servers) > 1 {
		one := servers[0].Paths[0]
		if filepath.Base(one) != servers[0].Name {
			one = filepath.Dir(one) // the paths are files in a run's directory
		}
		return nil, usagef("%s has %d servers: give the traces of one, such as %s", in.Paths[0], len(servers), one)
	}
	in.Paths = servers[0].Paths
	return in.files(), nil
}

// servers returns the servers that the input selects. If the files of the input are not separated by server, servers
// returns one server without a name. If the input is a run, servers also returns the run.
func (in inputFlags) servers(place func() (string, error)) (*runs.Run, []system.Server, error) {
	var run *runs.Run
	one := system.Server{Paths: in.Paths}
	if len(in.Paths) == 1 {
		root, _ := place() // without a home for runs, a run can still be given by its directory
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

// files returns the input for paths of files and directories.
func (in inputFlags) files() *window.Input {
	return &window.Input{Paths: in.Paths, ID: in.ProfileID, Read: reading}
}

// rangeFlags select the part of a long report that is read.
type rangeFlags struct {
	From float64 `placeholder:"SECONDS" help:"Nsight Systems reports: start reading here, counted from the beginning of the capture."`
	To   float64 `placeholder:"SECONDS" help:"Nsight Systems reports: stop reading here (default: as much as memory can hold)."`
}

// of returns the input, limited to the range.
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

// text returns the window that the input selects, converted by asText, and the missing ranks.
func (e *env) text(ctx context.Context, in inputFlags, meaning bool) (missing []string, text *kineto.Set, err error) {
	i, err := in.input()
	if err != nil {
		return nil, nil, err
	}
	window, missing, err := i.Choose(e.Console)
	if err == nil {
		text, err = e.asText(ctx, i.Read, window, meaning)
	}
	return missing, text, err
}

// asText converts the reports in a window to text. It is for verbs that work on the text of events. If such a verb also
// needs the meaning of events, asText converts files with the vocabulary of other producers too. The caller closes the
// result.
func (e *env) asText(ctx context.Context, opt read.Options, window set.Set, meaning bool) (*kineto.Set, error) {
	readFile := e.report
	if readFile == nil {
		readFile = func(ctx context.Context, f set.File) ([]*trace.Trace, error) { return read.ReadFile(ctx, f, opt) }
	}
	return kineto.FromReports(ctx, e.Console, window, meaning, readFile)
}
