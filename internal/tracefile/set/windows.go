package set

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// Grouping of files into windows: SGLang writes the id of the window into each file name, so the id decides. Other
// names (vLLM's, torch's) give at best the rank and the time of writing. For such files the beginnings of the contents
// decide: each rank occurs once per window, and the ranks of a window begin at about the same time.

// candidate is a file whose name does not identify its window.
type candidate struct {
	dated
	head  *Head
	begin int64 // time of the file's first event, ns since the epoch; 0: unknown
}

// look reads the beginning of a file.
func look(f dated) candidate {
	c := candidate{dated: f, head: ReadHead(f.File, nil), begin: f.Name.Wrote}
	if at := c.head.begin(); at > 0 {
		c.begin = at
	}
	return c
}

// begin returns the time of the file's first event, or 0 if unknown.
func (h *Head) begin() int64 {
	if at := h.BaseNS + h.FirstTS; at > epoch {
		return at
	}
	return 0
}

// epoch is a time in the year 2001, in ns. Larger times count from 1970; smaller times count from an arbitrary start.
const epoch = 1_000_000_000_000_000_000

// rank returns a key for the file's rank and stage. ok is false if the rank is unknown.
func (c *candidate) rank() (key string, ok bool) {
	if c.Named {
		return c.Name.Rank.String() + c.Name.Stage, true
	}
	return strconv.Itoa(c.head.World.Rank), c.head.World.Known && c.head.World.Rank >= 0
}

// program returns a key that the ranks of one program share: the common start of their file names, or the size of their
// world. A rank whose world has size 1 has a key of its own.
func (c *candidate) program() string {
	switch size := c.head.World.Size; {
	case c.Named:
		return "named " + c.Name.ID
	case size < 2:
		return "alone " + c.process()
	default:
		return fmt.Sprint("of ", size)
	}
}

// process returns the HOST_PID prefix of a file name written by torch.
func (c *candidate) process() string {
	host, _, _ := strings.Cut(filepath.Base(c.Path), ".")
	return host
}

// window is the files of one window and its start time.
type window struct {
	Set
	begin int64 // ns since the epoch; 0: not known
	mod   int64
	timed bool             // whether the id of the window is its start time
	heads map[string]*Head // by path
}

func (w *window) add(f dated, begin int64) {
	w.Files = append(w.Files, f.File)
	w.mod = max(w.mod, f.mod)
	if begin > 0 && (w.begin == 0 || begin < w.begin) {
		w.begin = begin
	}
}

// at returns the start time of the window. If the start time is unknown, at returns the last modification time.
func (w *window) at() int64 { return cmp.Or(w.begin, w.mod) }

// windows groups the files into windows, newest first. It adds notes to each window.
func windows(found []dated, notes []trace.Note) []Set {
	byID := map[string]*window{}
	var all []*window
	var unknown []candidate
	for _, f := range found {
		if !f.Report() && !f.Name.Merged && (!f.Named || f.Name.Wrote > 0 || f.Name.ID == "") {
			c := look(f)
			if f.given || !c.head.merged() || len(found) == 1 {
				unknown = append(unknown, c)
			} else {
				notes = append(notes, trace.Note{Kind: trace.NoteMergedFile, Source: c.Path, Count: 1})
			}
			continue
		}
		w := byID[f.Name.ID]
		if w == nil {
			w = &window{Set: Set{ID: f.Name.ID}}
			byID[f.Name.ID] = w
			all = append(all, w)
		}
		w.add(f, 0)
	}
	all = append(all, byContent(unknown)...)
	for _, w := range all {
		if w.begin == 0 && !w.Files[0].Report() {
			w.begin = w.head(w.Files[0]).begin()
		}
		sorts.Stable(w.Files, func(a, b File) int {
			return cmp.Or(a.Name.Rank.Compare(b.Name.Rank), cmp.Compare(a.Name.Stage, b.Name.Stage), cmp.Compare(a.Path, b.Path))
		})
		w.dropCopies()
	}
	all = joinCopies(all)
	for _, w := range all {
		if len(w.Files) > 1 {
			w.swapped()
		}
	}
	nameTimed(all)
	sorts.Stable(all, func(a, b *window) int {
		return cmp.Or(cmp.Compare(b.at(), a.at()), cmp.Compare(b.mod, a.mod), cmp.Compare(b.ID, a.ID))
	})
	sets := make([]Set, len(all))
	for i, w := range all {
		sets[i] = w.Set
		sets[i].at = w.at()
		sets[i].Notes = append(w.Notes, notes...)
	}
	return sets
}

// byContent groups files into windows by the beginnings of their contents.
func byContent(files []candidate) (all []*window) {
	sorts.Stable(files, func(a, b candidate) int { return cmp.Compare(a.begin, b.begin) })
	programs := map[string][]candidate{}
	var others []candidate
	for _, c := range files {
		if _, ok := c.rank(); ok {
			programs[c.program()] = append(programs[c.program()], c)
		} else {
			others = append(others, c)
		}
	}
	for _, of := range slices.Sorted(maps.Keys(programs)) {
		files, again := repeated(programs[of])
		for _, ranks := range onceEach(files) {
			for i := range ranks {
				ranks = append(ranks[:len(ranks):len(ranks)], again[ranks[i].Path]...)
			}
			all = append(all, windowOf(ranks))
		}
	}
	ranked := all
	others = slices.DeleteFunc(others, func(c candidate) bool {
		w := nearest(ranked, c.begin)
		if w == nil || c.head.merged() || c.head.Problem != nil || works(c.Path) {
			return false
		}
		w.Notes = append(w.Notes, trace.Note{Kind: trace.NoteNoRank, Source: c.Path, Count: 1})
		return true
	})
	for len(others) > 0 {
		n := atOnce(others)
		w := windowOf(others[:n])
		if n > 1 {
			w.Notes = append(w.Notes, trace.Note{Kind: trace.NoteTogether, Count: int64(n)})
		}
		all, others = append(all, w), others[n:]
	}
	return all
}

// repeated separates the files that repeat an earlier file of the same rank. It returns them by the path of that file.
func repeated(files []candidate) (once []candidate, again map[string][]candidate) {
	again = map[string][]candidate{}
	for _, c := range files {
		i := slices.IndexFunc(once, func(o candidate) bool {
			return c.head.Print != 0 && rankOf(o.head) == rankOf(c.head) && repeats(o.head, c.head)
		})
		if i < 0 {
			once = append(once, c)
		} else {
			again[once[i].Path] = append(again[once[i].Path], c)
		}
	}
	return once, again
}

// windowOf returns a window of the given files.
func windowOf(files []candidate) *window {
	w := &window{Set: Set{ID: files[0].Name.ID}, timed: files[0].Named, heads: map[string]*Head{}}
	for _, c := range files {
		w.heads[c.Path] = c.head
		w.ID = min(w.ID, c.Name.ID)
		w.add(c.dated, c.begin)
	}
	return w
}

// onceEach splits files, which are in order of time, into windows with at most one file per rank. It splits repeatedly
// at the largest time gap. Files of one rank that begin at the same time are copies and stay in one window.
func onceEach(files []candidate) [][]candidate {
	seen := map[string]bool{}
	twice := slices.ContainsFunc(files, func(c candidate) bool {
		key, _ := c.rank()
		again := seen[key]
		seen[key] = true
		return again
	})
	at, most := 0, int64(0)
	for i := 1; i < len(files); i++ {
		if d := files[i].begin - files[i-1].begin; d > most {
			at, most = i, d
		}
	}
	if !twice || at == 0 {
		return [][]candidate{files}
	}
	return append(onceEach(files[:at]), onceEach(files[at:])...)
}

// nearest returns the window whose begin is closest to at, or nil if all is empty.
func nearest(all []*window, at int64) (best *window) {
	away := func(w *window) int64 { return max(w.begin-at, at-w.begin) }
	for _, w := range all {
		if best == nil || away(w) < away(best) {
			best = w
		}
	}
	return best
}

// atOnce returns the number of files at the start of the list that begin within a second of the first, as the ranks of
// one window do. The files are in order of time. atOnce stops at a second file of the same process (torch's
// HOST_PID.TIME).
func atOnce(files []candidate) int {
	const near = 1e9
	processes := map[string]bool{}
	for i := range files {
		c := &files[i]
		if c.head.merged() || c.head.Problem != nil || c.begin == 0 || processes[c.process()] || c.begin-files[0].begin >= near {
			return max(i, 1)
		}
		processes[c.process()] = true
	}
	return len(files)
}

// nameTimed names windows without an id by their start time, in seconds since the epoch as in SGLang's ids, or in
// nanoseconds if two windows began in the same second.
func nameTimed(all []*window) {
	short := func(w *window) string { return strings.Trim(fmt.Sprintf("%s-%d", w.ID, w.at()/1e9), "-") }
	n := map[string]int{}
	for _, w := range all {
		if w.timed = w.timed || w.ID == ""; w.timed {
			n[short(w)]++
		}
	}
	for _, w := range all {
		if !w.timed {
			continue
		}
		id := short(w)
		if n[id] > 1 {
			id += fmt.Sprintf(".%09d", w.at()%1e9)
		}
		w.ID = id
	}
}

// works reports whether a trace has steps or GPU work. The trace of a process that only forwards requests, such as
// vLLM's API process, has neither.
func works(path string) bool {
	src, err := chromejson.Open(path)
	if err != nil {
		return false
	}
	defer src.Close()
	s := chromejson.NewScanner(src)
	defer s.Close()
	for {
		kind, err := s.Next()
		if err != nil {
			return false
		}
		if kind != chromejson.EventToken {
			continue
		}
		switch e := &s.Event; string(e.Text(e.Cat)) {
		case trace.Kernel.String(), trace.Memcpy.String(), trace.Memset.String():
			return true
		case trace.UserAnnotation.String():
			if _, ok := trace.ParseStep(string(chromejson.Unescape(e.Text(e.Name)))); ok {
				return true
			}
		}
	}
}
