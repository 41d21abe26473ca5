// Package system explains the recordings of one or several servers. It explains each server individually, and explains
// prefill and decode servers as one system. It also explains why requests of a load waited.
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

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// Server holds the recorded data of a server.
type Server struct {
	Name   string // name of the server's directory
	Window string // name of the window, if several windows were recorded one after the other
	Role   string // prefill, decode, or ""
	URL    string // "": unknown
	Lines  []string
	Paths  []string // traces of the server's ranks
	Loads  []trace.Load
	Queue  string // file from which Loads will be read; ""
}

// Label returns a short name that is unique in the run.
func (s *Server) Label() string {
	if s.Window != "" && s.Window != s.Name {
		return s.Window + "-" + s.Name
	}
	return s.Name
}

// title returns the server's name in headings.
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

// captured returns the servers that a session recorded.
func captured(res *torch.Result) (out []Server) {
	for i := range res.Servers {
		r := &res.Servers[i]
		out = append(out, Server{Name: r.Name, Role: r.Role, URL: r.URL, Lines: r.Lines(), Paths: r.Traces, Loads: r.Loads})
	}
	return out
}

// Find resolves ref, which is a path or a run below root. If the files are separated by server, Find returns the
// servers. Otherwise it returns the paths of the traces or of the only report.
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
			return nil, nil, nil, fmt.Errorf("run %s has no traces: record some with --profile; to show its measurements: stepscope runs show %s", run.ID(), run.ID())
		case 1:
			return run, nil, reports, nil
		default:
			return nil, nil, nil, fmt.Errorf("run %s has %d reports, each of its own window: give one, such as %s", run.ID(), len(reports), reports[0])
		}
	}
	return run, ofRun(run), paths, nil
}

// ofRun returns the servers of a run according to its manifest.
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
		if i := at(&f); i >= 0 && filepath.Base(f.Path) == trace.LoadsFile {
			out[i].Queue = run.Path(f.Path)
		}
	}
	return out
}

// roleDir matches the directory name of a prefill or decode server.
var roleDir = regexp.MustCompile(`^(prefill|decode)([-_.]?[0-9].*|[-_.].*)?$`)

// below finds prefill and decode servers in the subdirectories of dir. dir must contain no traces itself. The profile
// command writes such directories, and users also make them by hand. Unless both roles are present, below returns nil.
func below(dir string) []Server {
	out := slices.DeleteFunc(Apart(dir), func(s Server) bool { return s.Role == "" })
	if len(out) == 0 || out[0].Role == out[len(out)-1].Role {
		return nil
	}
	return out
}

// Apart finds the servers of a window in the subdirectories of dir. dir must contain no traces itself. Prefill servers
// come before decode servers, which is the order in which a request visits them.
func Apart(dir string) (out []Server) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // dir is a file, or it cannot be read, which is reported later
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
		out = append(out, Server{Name: entry.Name(), Role: role, Paths: []string{path}, Queue: filepath.Join(path, trace.LoadsFile)})
	}
	sorts.Stable(out, func(a, b Server) int { return strings.Compare(b.Role, a.Role) })
	return out
}

// readLoads reads the samples of a server's queues, if they were stored.
func readLoads(path string) (loads []trace.Load, err error) {
	text, err := atomicfile.ReadFile(path)
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
