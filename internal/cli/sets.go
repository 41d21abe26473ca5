package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/merge"
	"github.com/stepscope/stepscope/internal/traceset"
	"github.com/stepscope/stepscope/trace"
)

// findSet picks the window that a verb works on: the newest, or the one of
// the given profile id. Inputs that do not exist come back as missing; it is
// an error if nothing else is left.
func (e *env) findSet(paths []string, profileID string) (set traceset.Set, missing []string, err error) {
	var there []string
	onlyFiles := true
	for _, p := range paths {
		st, err := os.Stat(p)
		if errors.Is(err, os.ErrNotExist) {
			missing = append(missing, p)
			continue
		}
		if err == nil && st.IsDir() {
			onlyFiles = false
		}
		there = append(there, p)
	}
	if len(there) == 0 {
		return set, missing, fmt.Errorf("%s: no such file or directory", strings.Join(missing, ", "))
	}
	sets, err := traceset.Find(there)
	if err != nil {
		return set, missing, err
	}
	notes := sets[0].Notes
	if profileID != "" {
		at := slices.IndexFunc(sets, func(s traceset.Set) bool { return s.ID == profileID })
		if at < 0 {
			return set, missing, usagef("no trace files of profile id %q, there are: %s", profileID, ids(sets))
		}
		set = sets[at]
	} else {
		// Files given by name belong together even if their names do not say so.
		if len(sets) > 1 && (onlyFiles && slices.ContainsFunc(sets, unnamed) || oneWorld(sets)) {
			sets = []traceset.Set{join(sets)}
		}
		set = sets[0]
		if len(sets) > 1 {
			e.warn("%d profiling windows found, taking the newest, %s (others: %s; choose with --profile-id)",
				len(sets), set.ID, ids(sets[1:]))
		}
	}
	for _, n := range notes {
		if n.Severity >= trace.Warning || strings.Contains(n.Text, "twice") || strings.Contains(n.Text, "not a readable") {
			e.warn("%s: %s", n.Source, n.Text)
		}
	}
	return set, missing, nil
}

func unnamed(s traceset.Set) bool {
	return slices.ContainsFunc(s.Files, func(f traceset.File) bool { return !f.Named })
}

// oneWorld tells whether files whose names say nothing (torch's HOST_PID.TIME)
// are the ranks of one window: by distributedInfo, all of one world, no rank twice.
func oneWorld(sets []traceset.Set) bool {
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
func join(sets []traceset.Set) traceset.Set {
	all := traceset.Set{ID: sets[0].ID, Notes: sets[0].Notes}
	for _, s := range sets {
		all.Files = append(all.Files, s.Files...)
		all.ID = min(all.ID, s.ID)
	}
	slices.SortFunc(all.Files, func(a, b traceset.File) int {
		if c := a.Name.Rank.Compare(b.Name.Rank); c != 0 {
			return c
		}
		return strings.Compare(a.Path, b.Path)
	})
	return all
}

func ids(sets []traceset.Set) string {
	var list []string
	for _, s := range sets {
		list = append(list, s.ID)
	}
	return strings.Join(list, ", ")
}

// inputBytes is the size of a set's files.
func inputBytes(set traceset.Set) (n int64) {
	for _, f := range set.Files {
		n += f.Size
	}
	return n
}
