package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/tracefile/merge"
	"github.com/stepscope/stepscope/internal/tracefile/read/nsysdb"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// inputs is how every verb is told what to read.
type inputs struct {
	Paths     []string       `arg:"" name:"path" help:"A directory of rank files or reports of Nsight Systems, or the files."`
	ProfileID string         `name:"profile-id" placeholder:"ID" help:"Which window, when there are several (default: the newest)."`
	read      nsysdb.Options // what to read of reports of Nsight Systems
}

// stretch is the part of long reports that a verb reads.
type stretch struct {
	From float64 `placeholder:"SECONDS" help:"Reports of Nsight Systems: read from here on, counted from the begin of the capture."`
	To   float64 `placeholder:"SECONDS" help:"Reports of Nsight Systems: read up to here (default: as much as can be held)."`
}

// of puts the stretch into inputs.
func (s stretch) of(in inputs) (inputs, error) {
	if s.From < 0 || s.To < 0 || s.To != 0 && s.To <= s.From {
		return in, usagef("--from %g --to %g: give a stretch of time, in seconds from the begin of the capture", s.From, s.To)
	}
	in.read = nsysdb.Options{From: int64(s.From * 1e9), To: int64(s.To * 1e9)}
	return in, nil
}

// findSet picks the files that a verb works on: those of the newest window, or
// of the given profile id. Inputs that do not exist are named on stderr and come
// back as missing; it is an error if nothing else is left.
func (e *env) findSet(in inputs) (window set.Set, missing []string, err error) {
	var there []string
	onlyFiles := true
	for _, p := range in.Paths {
		st, err := os.Stat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, p)
			continue
		case err == nil && st.IsDir():
			onlyFiles = false
		case err == nil && !st.Mode().IsRegular():
			return window, nil, fmt.Errorf("%s: not a file; a trace is read more than once, so write it to a file first", p)
		}
		there = append(there, p)
	}
	if len(there) == 0 {
		return window, nil, fmt.Errorf("%s: no such file or directory", strings.Join(missing, ", "))
	}
	for _, p := range missing {
		e.warn("%s: no such file or directory", p)
		e.incomplete()
	}
	sets, err := set.Find(there)
	if errors.Is(err, set.ErrNone) {
		if below := tracesBelow(there); len(below) > 0 {
			err = fmt.Errorf("%w; there are some below: give %s", err, strings.Join(below, " or "))
		}
	}
	if err != nil {
		return window, nil, err
	}
	notes := sets[0].Notes
	if in.ProfileID != "" {
		at := slices.IndexFunc(sets, func(s set.Set) bool { return s.ID == in.ProfileID })
		if at < 0 {
			return window, nil, usagef("no trace files of profile id %q, there are: %s", in.ProfileID, ids(sets))
		}
		window = sets[at]
	} else {
		// Files given by name belong together even if their names do not say so.
		if len(sets) > 1 && (onlyFiles && slices.ContainsFunc(sets, unnamed) || oneWorld(sets)) {
			sets = []set.Set{join(sets)}
		}
		window = sets[0]
		if len(sets) > 1 {
			e.warn("%d profiling windows found, taking the newest, %s (others: %s; choose with --profile-id)",
				len(sets), window.ID, ids(sets[1:]))
		}
	}
	if in.read != (nsysdb.Options{}) && !slices.ContainsFunc(window.Files, func(f set.File) bool { return f.Report() }) {
		e.warn("%s: --from and --to are for reports of Nsight Systems: all of it is read; to take a part, use: stepscope trace cut --from --to", window.ID)
	}
	for _, n := range notes {
		if n.Severity >= trace.Warning || strings.Contains(n.Text, "twice") || strings.Contains(n.Text, "not a readable") {
			e.warn("%s: %s", n.Source, n.Text)
		}
	}
	return window, missing, nil
}

// tracesBelow names some directories one level down that hold traces: people
// point at the folder of all profiles.
func tracesBelow(dirs []string) (found []string) {
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, entry := range entries {
			below := filepath.Join(dir, entry.Name())
			if _, err := set.Find([]string{below}); entry.IsDir() && err == nil && len(found) < 3 {
				found = append(found, below)
			}
		}
	}
	return found
}

func unnamed(s set.Set) bool {
	return slices.ContainsFunc(s.Files, func(f set.File) bool { return !f.Named })
}

// oneWorld tells whether files whose names say nothing (torch's HOST_PID.TIME)
// are the ranks of one window: by distributedInfo, all of one world, no rank twice.
func oneWorld(sets []set.Set) bool {
	size, seen := 0, map[int]bool{}
	for _, s := range sets {
		if len(s.Files) != 1 || s.Files[0].Named {
			return false
		}
		w := merge.ReadHead(s.Files[0]).World
		if w.Rank < 0 || w.Size < 2 || seen[w.Rank] || size != 0 && w.Size != size {
			return false
		}
		size, seen[w.Rank] = w.Size, true
	}
	return true
}

// join puts the files of all sets into one, oldest window's name first.
func join(sets []set.Set) set.Set {
	all := set.Set{ID: sets[0].ID, Notes: sets[0].Notes}
	for _, s := range sets {
		all.Files = append(all.Files, s.Files...)
		all.ID = min(all.ID, s.ID)
	}
	slices.SortFunc(all.Files, func(a, b set.File) int {
		if c := a.Name.Rank.Compare(b.Name.Rank); c != 0 {
			return c
		}
		return strings.Compare(a.Path, b.Path)
	})
	return all
}

func ids(sets []set.Set) string {
	var list []string
	for _, s := range sets {
		list = append(list, s.ID)
	}
	return strings.Join(list, ", ")
}

// inputBytes is the size of a set's files.
func inputBytes(window set.Set) (n int64) {
	for _, f := range window.Files {
		n += f.Size
	}
	return n
}

// missingRanks are the ranks that names or distributedInfo promise.
func missingRanks(window set.Set) []merge.Missing {
	heads := make([]*merge.Head, len(window.Files))
	for i, f := range window.Files {
		heads[i] = merge.ReadHead(f)
	}
	return merge.FindMissing(window, heads)
}

// warnMissing names ranks without a file on stderr. Inputs that are broken or
// do not exist have had their line.
func (e *env) warnMissing(missing []merge.Missing) {
	for _, m := range missing {
		if m.File == "" {
			e.warn("missing %v", m)
			e.incomplete()
		}
	}
}

// warnProblems names the files of a result that were not read to their end.
func (e *env) warnProblems(results []merge.FileResult, files []set.File) {
	for _, f := range results {
		if f.Problem != nil {
			e.warn("%s: %v", pathOf(f.File, files), f.Problem)
			e.incomplete()
		}
	}
}

// warnNote says a note of the file at path on stderr.
func (e *env) warnNote(path string, n trace.Note) {
	if n.Count > 1 && n.Severity < trace.Loss { // what was lost has its count in the text
		e.warn("%s: %d %s", path, n.Count, n.Text)
	} else {
		e.warn("%s: %s", path, n.Text)
	}
}

// pathOf is where the file of a base name lies, for results have names only.
func pathOf(base string, files []set.File) string {
	for _, f := range files {
		if filepath.Base(f.Path) == base {
			return f.Path
		}
	}
	return base
}
