package set

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/trace"
)

// IDError means that no window has the profile id.
type IDError struct{ ID, There string }

func (e *IDError) Error() string {
	return fmt.Sprintf("no trace files of profile id %q; ids found: %s", e.ID, e.There)
}

// Choose selects the window to work on: the newest window in the given files and directories, or the window with the
// given profile id. For inputs that do not exist Choose prints a warning and returns them as missing. If no input
// exists, it returns an error.
func Choose(say *progress.Console, paths []string, id string) (window Set, missing []string, err error) {
	var there []string
	onlyFiles := true
	for _, p := range paths {
		st, err := os.Stat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, p)
			continue
		case err == nil && st.IsDir():
			onlyFiles = false
		case err == nil && !st.Mode().IsRegular():
			return window, nil, fmt.Errorf("%s: not a file; a trace is read more than once; write it to a file first", p)
		}
		there = append(there, p)
	}
	if len(there) == 0 {
		return window, nil, fmt.Errorf("%s: no such file or directory", strings.Join(missing, ", "))
	}
	for _, p := range missing {
		say.Lack("%s: no such file or directory", p)
	}
	sets, err := Find(there)
	if errors.Is(err, ErrNone) {
		below := windowsBelow(there)
		one := newestBelow(below, id)
		if len(below) == 0 || one < 0 {
			return window, nil, hint(err, there, below)
		}
		sets, err = below[one].sets, nil
		if id == filepath.Base(below[one].dir) {
			id = ""
		}
		others := ""
		if len(below) > 1 {
			others = fmt.Sprintf(" (others: %s; choose with --profile-id)", names(below, one))
		}
		say.Warn("%s has no traces itself: using %s%s", strings.Join(there, ", "), below[one].dir, others)
	}
	if err != nil {
		return window, nil, err
	}
	if id != "" {
		at := slices.IndexFunc(sets, func(s Set) bool { return s.ID == id })
		if at < 0 {
			return window, nil, &IDError{id, ids(sets)}
		}
		window = sets[at]
	} else {
		// Files given by name belong together even if their names do not show that.
		if len(sets) > 1 && onlyFiles && slices.ContainsFunc(sets, unnamed) {
			sets = []Set{join(sets)}
		}
		window = sets[0]
		if len(sets) > 1 {
			say.Warn("%d profiling windows found, using the newest, %s (others: %s; choose with --profile-id)",
				len(sets), window.ID, ids(sets[1:]))
		}
	}
	for _, n := range window.Notes {
		switch n.Severity() {
		case trace.Loss:
			say.Lack("%v", n)
		case trace.Warning:
			say.Warn("%v", n)
		}
	}
	return window, missing, nil
}

// below is a subdirectory that contains windows. It is needed because users may give the folder of all profiles, in
// which each profile has a separate directory.
type below struct {
	dir  string
	sets []Set
}

// windowsBelow finds windows in the subdirectories of dirs, newest first.
func windowsBelow(dirs []string) (found []below) {
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, entry := range entries {
			b := below{dir: filepath.Join(dir, entry.Name())}
			if b.sets, err = Find([]string{b.dir}); entry.IsDir() && err == nil {
				found = append(found, b)
			}
		}
	}
	sorts.Stable(found, func(a, b below) int { return cmp.Compare(b.sets[0].at, a.sets[0].at) })
	return found
}

const atOnceNS = 1e9 // ns between windows that are recorded at the same time

// newestBelow returns the index of the newest directory, or of the directory with the given id. It returns -1 if the
// two newest were recorded at the same time, as happens with several servers.
func newestBelow(found []below, id string) int {
	if id != "" {
		return slices.IndexFunc(found, func(b below) bool {
			return filepath.Base(b.dir) == id || slices.ContainsFunc(b.sets, func(s Set) bool { return s.ID == id })
		})
	}
	if len(found) > 1 && found[0].sets[0].at-found[1].sets[0].at < atOnceNS {
		return -1
	}
	return 0
}

// hint extends the error about directories without traces: it names nearby directories in which traces were found.
func hint(err error, dirs []string, found []below) error {
	const most = 3
	var list []string
	for _, b := range found {
		list = append(list, b.dir)
	}
	if all := atOnceBelow(found); all != "" {
		return fmt.Errorf("%w; its subdirectories have traces that begin together: give all of them, %s", err, all)
	}
	for _, dir := range dirs {
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			in := filepath.Join(dir, entry.Name())
			if below := windowsBelow([]string{in}); len(list) < most && len(below) > 0 {
				list = append(list, cmp.Or(atOnceBelow(below), in))
			}
		}
	}
	if len(list) == 0 {
		return err
	}
	return fmt.Errorf("%w; subdirectories have some: give %s", err, strings.Join(list[:min(len(list), most)], " or "))
}

// atOnceBelow returns a pattern for the directories if each has one file, of a different rank, and all of these begin
// together, as when each rank wrote to its own directory.
func atOnceBelow(found []below) string {
	ranks := map[trace.Rank]bool{trace.NoRank: true}
	for _, b := range found {
		rank := rankOf(ReadHead(b.sets[0].Files[0], nil))
		again := ranks[rank]
		ranks[rank] = true
		if again || len(b.sets) != 1 || len(b.sets[0].Files) != 1 || found[0].sets[0].at-b.sets[0].at >= atOnceNS || filepath.Dir(b.dir) != filepath.Dir(found[0].dir) {
			return ""
		}
	}
	if len(found) < 2 {
		return ""
	}
	return filepath.Join(filepath.Dir(found[0].dir), "*")
}

// names lists all directories of found except the directory at index but.
func names(found []below, but int) string {
	const most = 4
	var list []string
	for i, b := range found {
		if i != but && len(list) < most {
			list = append(list, filepath.Base(b.dir))
		}
	}
	if len(found)-1 > most {
		list = append(list, fmt.Sprintf("and %d more", len(found)-1-most))
	}
	return strings.Join(list, ", ")
}

func unnamed(s Set) bool {
	return slices.ContainsFunc(s.Files, func(f File) bool { return !f.Named })
}

// join joins the files of all sets into one set, whose id is the smallest of their ids.
func join(sets []Set) Set {
	all := Set{ID: sets[0].ID, Notes: sets[0].Notes}
	for _, s := range sets {
		all.Files = append(all.Files, s.Files...)
		all.ID = min(all.ID, s.ID)
		for _, n := range s.Notes {
			if !slices.ContainsFunc(all.Notes, func(o trace.Note) bool { return o.Kind == n.Kind && o.Source == n.Source }) {
				all.Notes = append(all.Notes, n)
			}
		}
	}
	sorts.By(all.Files, func(a, b File) int {
		return cmp.Or(a.Name.Rank.Compare(b.Name.Rank), cmp.Compare(a.Path, b.Path))
	})
	return all
}

func ids(sets []Set) string {
	var list []string
	for _, s := range sets {
		list = append(list, s.ID)
	}
	return strings.Join(list, ", ")
}

// Bytes returns the total size of the set's files.
func (s *Set) Bytes() (n int64) {
	for _, f := range s.Files {
		n += f.Size
	}
	return n
}

// Reports reports whether any file of the set is an Nsight Systems report.
func (s *Set) Reports() bool {
	return slices.ContainsFunc(s.Files, func(f File) bool { return f.Report() })
}

// Missing returns the ranks that must exist according to file names or distributedInfo but have no file.
func (s *Set) Missing() []Missing {
	heads := make([]*Head, len(s.Files))
	for i, f := range s.Files {
		heads[i] = ReadHead(f, nil)
	}
	return FindMissing(*s, heads)
}
