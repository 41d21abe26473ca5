package set

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// Which files are one window: SGLang writes an id of the window into each name, and
// that counts. Other names (vLLM's, torch's) tell the rank and the time of writing at
// best, so the beginnings of the files count there: each rank is in a window once, and
// the ranks of a window begin together.

// candidate is a file whose name does not tell its window.
type candidate struct {
	dated
	head  *Head
	begin int64 // ns since the epoch, of its first event; 0: not known
}

// look reads the beginning of a file.
func look(f dated) candidate {
	c := candidate{dated: f, head: ReadHead(f.File, nil), begin: f.Name.Wrote}
	if at := c.head.begin(); at > 0 {
		c.begin = at
	}
	return c
}

// begin is when the first event of the file was; 0: the file does not say.
func (h *Head) begin() int64 {
	if at := h.BaseNS + h.FirstTS; at > epoch {
		return at
	}
	return 0
}

// epoch tells times since 1970 from times since some start: the year 2001, ns.
const epoch = 1_000_000_000_000_000_000

// rank is which of a window's files this is; ok is false if nothing tells.
func (c *candidate) rank() (key string, ok bool) {
	if c.Named {
		return c.Name.Rank.String() + c.Name.Stage, true
	}
	return strconv.Itoa(c.head.World.Rank), c.head.World.Known && c.head.World.Rank >= 0
}

// program is what the ranks of one window share: how their names begin, or else the size
// of their world. Of a world of one nobody else is.
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

// process is what torch's names begin with, HOST_PID.
func (c *candidate) process() string {
	host, _, _ := strings.Cut(filepath.Base(c.Path), ".")
	return host
}

// window is the files of one window, and when it began.
type window struct {
	Set
	begin int64 // ns since the epoch; 0: not known
	mod   int64
	timed bool // its id is the time that it began
}

func (w *window) add(f dated, begin int64) {
	w.Files = append(w.Files, f.File)
	w.mod = max(w.mod, f.mod)
	if begin > 0 && (w.begin == 0 || begin < w.begin) {
		w.begin = begin
	}
}

// at is when the window was: when it began, or was written at last.
func (w *window) at() int64 { return cmp.Or(w.begin, w.mod) }

// windows makes windows of the files, the newest first. Each has the notes.
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
			w.begin = ReadHead(w.Files[0], nil).begin()
		}
		slices.SortStableFunc(w.Files, func(a, b File) int {
			return cmp.Or(a.Name.Rank.Compare(b.Name.Rank), cmp.Compare(a.Name.Stage, b.Name.Stage), cmp.Compare(a.Path, b.Path))
		})
	}
	nameTimed(all)
	slices.SortStableFunc(all, func(a, b *window) int {
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

// byContent makes windows of files by their beginnings.
func byContent(files []candidate) (all []*window) {
	slices.SortStableFunc(files, func(a, b candidate) int { return cmp.Compare(a.begin, b.begin) })
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
		for _, ranks := range onceEach(programs[of]) {
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

// windowOf is the window of some files.
func windowOf(files []candidate) *window {
	w := &window{Set: Set{ID: files[0].Name.ID}, timed: files[0].Named}
	for _, c := range files {
		w.ID = min(w.ID, c.Name.ID)
		w.add(c.dated, c.begin)
	}
	return w
}

// onceEach cuts files, in order of their times, into windows that have each rank once,
// where most time lies between two files. Files of one rank that begin at the same time
// are copies, and stay together.
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

// nearest is the window that began nearest to a time; nil: there is none.
func nearest(all []*window, at int64) (best *window) {
	away := func(w *window) int64 { return max(w.begin-at, at-w.begin) }
	for _, w := range all {
		if best == nil || away(w) < away(best) {
			best = w
		}
	}
	return best
}

// atOnce is how many of the first files, in order of their times, begin within a second
// of each other, as the ranks of one window do. Windows of one process (torch's
// HOST_PID.TIME) are not taken for that.
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

// nameTimed gives windows whose files' names have no id of theirs the time that they
// began, in seconds since the epoch as in SGLang's ids, or to the nanosecond where two
// began in one second.
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

// works tells whether a trace has steps or work of a GPU: that of a process that only
// hands requests on, as vLLM's API process, has not.
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
