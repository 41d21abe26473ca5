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

// inputs is how every verb is told what to read.
type inputFlags struct {
	Paths     []string `arg:"" name:"path" help:"A directory of rank files or reports of Nsight Systems, the files, or a run (last)."`
	ProfileID string   `name:"profile-id" placeholder:"ID" help:"Which window, when there are several (default: the newest)."`
}

// reading is how files are read.
var reading = read.Options{Export: nsys.Exported}

// input is that, all of it. A run is meant by its traces, if they are those of one server.
func (in inputFlags) input() (*window.Input, error) { return in.below((&runPlace{}).root) }

// below is that with runs in another place.
func (in inputFlags) below(place func() (string, error)) (*window.Input, error) {
	_, servers, err := in.servers(place)
	if err != nil {
		return nil, err
	}
	if len(servers) > 1 {
		one := servers[0].Paths[0]
		if filepath.Base(one) != servers[0].Name {
			one = filepath.Dir(one) // of files of a run
		}
		return nil, usagef("%s has %d servers: give the traces of one, such as %s", in.Paths[0], len(servers), one)
	}
	in.Paths = servers[0].Paths
	return in.files(), nil
}

// servers are those whose files are meant; where these are not kept apart by server, one without a name. If a run is meant
// it comes, too.
func (in inputFlags) servers(place func() (string, error)) (*runs.Run, []system.Server, error) {
	var run *runs.Run
	one := system.Server{Paths: in.Paths}
	if len(in.Paths) == 1 {
		root, _ := place() // without a home for runs, their directories can still be named
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

// files is what inputs say if their paths are those of files and directories.
func (in inputFlags) files() *window.Input {
	return &window.Input{Paths: in.Paths, ID: in.ProfileID, Read: reading}
}

// stretch is the part of long reports that a verb reads.
type rangeFlags struct {
	From float64 `placeholder:"SECONDS" help:"Reports of Nsight Systems: read from here on, counted from the beginning of the capture."`
	To   float64 `placeholder:"SECONDS" help:"Reports of Nsight Systems: read up to here (default: as much as can be held)."`
}

// of is the stretch of inputs.
func (s rangeFlags) of(in inputFlags) (*window.Input, error) {
	w, err := in.input()
	if err != nil {
		return nil, err
	}
	return w, s.set(w)
}

// set has an input read no more than the stretch.
func (s rangeFlags) set(w *window.Input) error {
	if s.From < 0 || s.To < 0 || s.To != 0 && s.To <= s.From {
		return usagef("--from %g --to %g: give a stretch of time, in seconds from the begin of the capture", s.From, s.To)
	}
	w.Read.Nsys = nsysdb.Options{From: int64(s.From * 1e9), To: int64(s.To * 1e9)}
	return nil
}

// text gives the window that inputs name as asText does, and the ranks that it lacks.
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

// asText gives a window without reports of Nsight Systems, for the verbs that work on
// the text of events. The caller closes it.
func (e *env) asText(ctx context.Context, opt read.Options, window set.Set) (*kineto.Set, error) {
	readFile := e.report
	if readFile == nil {
		readFile = func(ctx context.Context, f set.File) ([]*trace.Trace, error) { return read.ReadFile(ctx, f, opt) }
	}
	return kineto.FromReports(ctx, e.Console, window, readFile)
}
