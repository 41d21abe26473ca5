// Package system explains what one or several servers recorded: each by itself,
// prefill and decode servers as the one system that they are, and what the requests of
// a load waited for in them.
package system

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// Server is what there is of one of those that were recorded.
type Server struct {
	Name   string // of its directory
	Window string // of several that were recorded one after the other
	Role   string // prefill, decode, or nothing
	URL    string // "": not known
	Lines  []string
	Paths  []string // traces of its ranks
	Loads  []trace.Load
	Queue  string // file of Loads, not read yet; ""
}

// Label tells a server from the others of its run, in few words.
func (s *Server) Label() string {
	if s.Window != "" && s.Window != s.Name {
		return s.Window + "-" + s.Name
	}
	return s.Name
}

// title is what a server is called above what is said of it.
func (s *Server) title() string {
	name := cmp.Or(s.URL, s.Name)
	switch {
	case s.Window == s.Name:
		name = s.Window
	case s.Window != "":
		name = s.Window + " " + name
	}
	return strings.TrimSpace(s.Role + " " + name)
}

// captured are the servers of a session.
func captured(res *torch.Result) (out []Server) {
	for i := range res.Servers {
		r := &res.Servers[i]
		out = append(out, Server{Name: r.Name, Role: r.Role, URL: r.URL, Lines: r.Lines(), Paths: r.Traces, Loads: r.Loads})
	}
	return out
}

// Find tells what is meant by a path or, below root, a run: its servers where files
// are kept apart by server, and the paths of its traces, or its only report.
func Find(root, ref string) (run *runs.Run, servers []Server, paths []string, err error) {
	if run, err = runs.Named(root, ref); err != nil {
		return nil, nil, nil, err
	}
	if run == nil {
		return nil, below(ref), []string{ref}, nil
	}
	if paths = run.Traces(); len(paths) == 0 {
		switch reports := run.Reports(); len(reports) {
		case 0:
			return nil, nil, nil, fmt.Errorf("run %s has no traces: record some with --profile; what it measured is shown by: stepscope runs show %s", run.ID(), run.ID())
		case 1:
			return run, nil, reports, nil
		default:
			return nil, nil, nil, fmt.Errorf("run %s has %d reports, each of a window of its own: give one, such as %s", run.ID(), len(reports), reports[0])
		}
	}
	return run, ofRun(run), paths, nil
}

// ofRun are the servers of a run, as its manifest keeps them apart.
func ofRun(run *runs.Run) (out []Server) {
	at := func(f *runs.File) int {
		return slices.IndexFunc(out, func(s Server) bool { return s.Role == f.Role && s.URL == f.Host && s.Window == f.Window })
	}
	for _, f := range run.Files(runs.KindTrace) {
		i := at(&f)
		if i < 0 {
			i = len(out)
			out = append(out, Server{Name: filepath.Base(filepath.Dir(run.Path(f.Path))), Role: f.Role, URL: f.Host, Window: f.Window})
		}
		out[i].Paths = append(out[i].Paths, run.Path(f.Path))
	}
	for _, f := range run.Files(runs.KindMetrics) {
		if i := at(&f); i >= 0 && filepath.Base(f.Path) == torch.LoadsFile {
			out[i].Queue = run.Path(f.Path)
		}
	}
	return out
}

// roleDir is the name of a prefill or decode server's directory.
var roleDir = regexp.MustCompile(`^(prefill|decode)([-_.]?[0-9].*|[-_.].*)?$`)

// below finds servers of both roles in the directories of a directory that has no
// traces itself: what profile writes, and what people make by hand.
func below(dir string) []Server {
	out := slices.DeleteFunc(Apart(dir), func(s Server) bool { return s.Role == "" })
	if len(out) == 0 || out[0].Role == out[len(out)-1].Role {
		return nil
	}
	return out
}

// Apart finds the servers of a window in the directories of one that has no traces
// itself, those that prefill first, as requests go.
func Apart(dir string) (out []Server) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // a file, or it is said later what is wrong
	}
	if _, err := set.Find([]string{dir}); !errors.Is(err, set.ErrNone) {
		return nil
	}
	for _, entry := range entries {
		path, role := filepath.Join(dir, entry.Name()), ""
		if _, err := set.Find([]string{path}); !entry.IsDir() || err != nil {
			continue
		}
		if m := roleDir.FindStringSubmatch(entry.Name()); m != nil {
			role = m[1]
		}
		out = append(out, Server{Name: entry.Name(), Role: role, Paths: []string{path}, Queue: filepath.Join(path, torch.LoadsFile)})
	}
	slices.SortStableFunc(out, func(a, b Server) int { return strings.Compare(b.Role, a.Role) })
	return out
}

// readLoads reads the looks at a server's queues, if they were kept.
func readLoads(path string) (loads []trace.Load, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &loads)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return loads, nil
}
