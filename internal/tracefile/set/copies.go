package set

import (
	"cmp"
	"hash/maphash"
	"io"
	"path/filepath"
	"slices"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/parallel"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// dropCopies drops files that repeat another file of the window, and adds a note about each. The copy of another rank's
// file keeps the ranks from being compared. Of two such files, dropCopies keeps the file whose name agrees with the rank
// in distributedInfo, or the first.
func (w *window) dropCopies() {
	heads := make([]*Head, len(w.Files))
	for i, f := range w.Files {
		if len(w.Files) > 1 && !f.Report() {
			heads[i] = w.head(f)
		}
	}
	byPrint := map[uint64][]*Head{}
	for _, h := range heads {
		if h != nil && h.Print != 0 && !slices.Contains(byPrint[h.Print], h) {
			byPrint[h.Print] = append(byPrint[h.Print], h)
		}
	}
	for _, alike := range byPrint {
		if len(alike) > 1 {
			parallel.Each(len(alike), func(i int) { alike[i].events() })
		}
	}
	copies := map[int]bool{}
	for i := range w.Files {
		for j := i + 1; j < len(w.Files); j++ {
			if heads[i] == nil || heads[j] == nil || copies[i] || copies[j] || !repeats(heads[i], heads[j]) {
				continue
			}
			of, copied := i, j
			if h := heads[j]; h.World.Known && h.World.Rank == h.File.Name.Rank.TP {
				if h = heads[i]; h.World.Rank != h.File.Name.Rank.TP {
					of, copied = j, i
				}
			}
			kind := trace.NoteCopy
			if rankOf(heads[i]) == rankOf(heads[j]) {
				kind = trace.NoteRepeat
				if len(w.Files[j].Path) < len(w.Files[i].Path) { // "trace copy.json" comes before "trace.json"
					of, copied = j, i
				}
			}
			copies[copied] = true
			w.Notes = append(w.Notes, trace.Note{Kind: kind, Source: w.Files[copied].Path, Count: 1, Names: []string{filepath.Base(w.Files[of].Path)}})
		}
	}
	var kept []File
	for i, f := range w.Files {
		if !copies[i] {
			kept = append(kept, f)
		}
	}
	w.Files = kept
}

// head returns the head of a file of the window.
func (w *window) head(f File) *Head {
	if w.heads == nil {
		w.heads = map[string]*Head{}
	}
	h := w.heads[f.Path]
	if h == nil {
		h = ReadHead(f, nil)
		w.heads[f.Path] = h
	}
	return h
}

// rankOf returns the rank that a file's name gives or, if it gives none, the rank in distributedInfo.
func rankOf(h *Head) trace.Rank {
	r := h.File.Name.Rank
	if r == trace.NoRank && h.World.Known {
		r.TP = h.World.Rank
	}
	return r
}

// repeats reports whether two files of the same stage have the same events. If the events are too few to tell, the two
// files must be the same bytes and give the same rank of the same replica under two names.
func repeats(a, b *Head) bool {
	x, y := a.File.Name, b.File.Name
	switch {
	case x.Stage != y.Stage:
		return false
	case a.Print != 0 || b.Print != 0:
		return a.Print == b.Print && a.events() == b.events()
	}
	return a.File.Size > 0 && a.File.Size == b.File.Size && x.Rank != y.Rank && x.Rank.DP == y.Rank.DP && b.World.Known && a.content() != 0 && a.content() == b.content()
}

// printSeed is the seed of prints.
var printSeed = maphash.MakeSeed()

// leastPrint is the number of different durations below which the beginning of a file has no print.
const leastPrint = 32

// fingerprint returns a hash of durations, or 0 if they are too few. A shift of the clock does not change it.
func fingerprint(durations []int64) uint64 {
	distinct := map[int64]bool{}
	for _, d := range durations {
		distinct[d] = true
	}
	if len(distinct) < leastPrint {
		return 0
	}
	var h maphash.Hash
	h.SetSeed(printSeed)
	for _, d := range durations {
		maphash.WriteComparable(&h, d)
	}
	return h.Sum64()
}

// events returns a hash of the names and durations of all spans of the file. It reads the file once.
func (h *Head) events() uint64 {
	if h.whole == nil {
		h.whole = new(hashEvents(h.File.Path))
	}
	return *h.whole
}

func hashEvents(path string) uint64 {
	src, err := chromejson.Open(path)
	if err != nil {
		return 0
	}
	defer src.Close()
	s := chromejson.NewScanner(src)
	defer s.Close()
	var h maphash.Hash
	h.SetSeed(printSeed)
	for {
		kind, err := s.Next()
		if err != nil {
			return h.Sum64()
		}
		if e := &s.Event; kind == chromejson.EventToken && e.Ph == 'X' {
			h.Write(e.Text(e.Name))
			ns, _ := chromejson.ParseMicros(e.Text(e.Dur))
			maphash.WriteComparable(&h, ns)
		}
	}
}

// content returns a hash of the bytes of the file, or 0 if it cannot be read. It reads the file once.
func (h *Head) content() uint64 {
	if h.bytes == nil {
		h.bytes = new(hashBytes(h.File.Path))
	}
	return *h.bytes
}

func hashBytes(path string) uint64 {
	f, err := atomicfile.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	var h maphash.Hash
	h.SetSeed(printSeed)
	if _, err := io.Copy(&h, f); err != nil {
		return 0
	}
	return h.Sum64()
}

// joinCopies drops windows whose files all repeat files of one window with more files, as when a file of a window was
// copied under another name beside it.
func joinCopies(all []*window) []*window {
	if len(all) < 2 {
		return all
	}
	heads := map[*window][]*Head{}
	for _, w := range all {
		for _, f := range w.Files {
			if !f.Report() {
				heads[w] = append(heads[w], w.head(f))
			}
		}
	}
	var kept []*window
	copies := func(w *window) bool {
		for _, other := range kept {
			if len(other.Files) <= len(w.Files) || len(heads[w]) < len(w.Files) {
				continue
			}
			var notes []trace.Note
			for _, h := range heads[w] {
				if i := slices.IndexFunc(heads[other], func(o *Head) bool { return h.Print != 0 && repeats(h, o) }); i >= 0 {
					notes = append(notes, trace.Note{Kind: trace.NoteRepeat, Source: h.File.Path, Count: 1, Names: []string{filepath.Base(heads[other][i].File.Path)}})
				}
			}
			if len(notes) == len(w.Files) {
				other.Notes = append(other.Notes, notes...)
				return true
			}
		}
		return false
	}
	byFiles := slices.Clone(all)
	sorts.Stable(byFiles, func(a, b *window) int { return cmp.Compare(len(b.Files), len(a.Files)) })
	for _, w := range byFiles {
		if !copies(w) {
			kept = append(kept, w)
		}
	}
	return kept
}

// swapped adds a note about each file whose name gives another rank than its distributedInfo, if the files' ranks are
// the same set by both, so that the names were mixed up.
func (w *window) swapped() {
	var byName, byWorld []int
	var wrong []trace.Note
	for _, f := range w.Files {
		h := w.head(f)
		r := f.Name.Rank
		if f.Report() || !f.Named || !h.World.Known || h.World.Rank < 0 || r.TP < 0 || r.PP > 0 || r.DP >= 0 {
			return
		}
		byName, byWorld = append(byName, r.TP), append(byWorld, h.World.Rank)
		if r.TP != h.World.Rank {
			wrong = append(wrong, trace.Note{Kind: trace.NoteOtherRank, Source: f.Path, Count: int64(h.World.Rank), Names: []string{r.String()}})
		}
	}
	slices.Sort(byName)
	slices.Sort(byWorld)
	if slices.Equal(byName, byWorld) {
		w.Notes = append(w.Notes, wrong...)
	}
}
