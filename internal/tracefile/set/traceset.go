// Package set finds trace files that belong together: the ranks of one profiling window. It groups files by the id in
// their names. If the names have no id, it groups them by the beginnings of their contents. Files are profiler traces
// (Chrome JSON) and Nsight Systems reports.
package set

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/parallel"
	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/format"
	"github.com/stepscope/stepscope/trace"
)

// File is the file of one rank.
type File struct {
	Path  string
	Name  trace.FileName
	Named bool // whether the file's name gives the rank
	Size  int64
	// Format is the format of the contents. Unknown: not looked at yet.
	Format format.Format
}

// Set is the files of one profiling window, in rank order. Each stage of a rank has a separate file.
type Set struct {
	ID    string
	Files []File
	Notes []trace.Note // omitted files, with reasons
	at    int64        // time of the window, ns since the epoch; 0: unknown
}

// ErrNone means that no trace file was found.
var ErrNone = errors.New("no trace files found")

// Find returns the sets in the given files and directories, newest window first. It searches no subdirectories but
// those of torch_npu. A file given by path is accepted regardless of its name. In a directory Find omits merged files,
// which duplicate the files of the ranks, and CUDA graph captures, which do not belong to a window. It adds a note about
// each omitted file. If both a report and its export exist, Find takes the newer of the two files.
func Find(paths []string) ([]Set, error) {
	var found []dated
	var notes []trace.Note
	named := map[string]bool{}
	for _, p := range paths {
		st, err := os.Stat(p)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("%s: no such file or directory", p)
			}
			return nil, err
		}
		if !st.IsDir() {
			key, err := filepath.Abs(p)
			if err == nil && named[key] {
				notes = append(notes, trace.Note{Kind: trace.NoteGivenTwice, Source: p, Count: 1})
				continue
			}
			named[key] = true
			d := newDated(p, st)
			d.given = true
			found = append(found, d)
			continue
		}
		if files := ascendFiles(p); files != nil {
			for _, f := range files {
				if st, err := os.Stat(f); err == nil && st.Mode().IsRegular() {
					found = append(found, newDated(f, st))
				}
			}
			continue
		}
		inDir, left, err := scanDir(p)
		if err != nil {
			return nil, err
		}
		found = append(found, inDir...)
		notes = append(notes, left...)
	}
	found, left := twins(found)
	notes = append(notes, left...)
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: %w (looked for names that end in .json, .json.gz, .json.zst, .nsys-rep, .qdrep, .sqlite or .db)",
			strings.Join(paths, ", "), ErrNone)
	}
	processes(found)
	together(found)
	return windows(found, notes), nil
}

// dated is a file and its modification time. Windows whose start is unknown are ordered by modification time.
type dated struct {
	File
	mod   int64
	given bool // whether the file was given by name rather than found in a directory
}

func newDated(path string, st fs.FileInfo) dated {
	name, ok := trace.ParseFileName(filepath.Base(path))
	if own, is := ascendName(path); is {
		name, ok = own, true
	}
	f := File{Path: path, Name: name, Named: ok, Size: st.Size(), Format: format.Of(path)}
	return dated{File: f, mod: st.ModTime().UnixNano()}
}

func scanDir(dir string) (found []dated, notes []trace.Note, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	var plain []dated // JSON files whose name shows neither a rank nor a trace: the content decides
	leave := func(path string, why trace.NoteKind) {
		notes = append(notes, trace.Note{Kind: why, Source: path, Count: 1})
	}
	database := func(base string) bool { return strings.HasSuffix(base, ".sqlite") || strings.HasSuffix(base, ".db") }
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		base := e.Name()
		return e.IsDir() || trace.TraceSuffix(base) == "" && !trace.IsReport(base) && !database(base)
	})
	all := make([]*dated, len(entries)) // nil: not readable
	parallel.Each(len(entries), func(i int) {
		path := filepath.Join(dir, entries[i].Name())
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			all[i] = new(newDated(path, st))
		}
	})
	for i, e := range entries {
		base := e.Name()
		path := filepath.Join(dir, base)
		if all[i] == nil {
			leave(path, trace.NoteNotReadable)
			continue
		}
		d := *all[i]
		switch {
		case d.Name.Merged:
			leave(path, trace.NoteMergedFile)
		case strings.HasPrefix(base, "cuda_graph_capture-") || strings.HasPrefix(base, "graph_capture_rank"):
			leave(path, trace.NoteGraphCapture)
		case database(base) && !d.Report():
			// A directory of traces may also contain other databases.
		case !d.Report() && !d.Named && !strings.Contains(trace.TraceSuffix(base), "trace"):
			plain = append(plain, d)
		default:
			found = append(found, d)
		}
	}
	for _, d := range plain {
		switch {
		case !d.Report() && !isTrace(d.Path): // other JSON files in the directory, such as truth.json or manifest.json
		case len(found) > 0 && found[0].Named:
			leave(d.Path, trace.NotePlainName)
		default:
			found = append(found, d)
		}
	}
	if len(found) == 0 {
		// If there are only merged files, the user wants these merged files.
		for i := len(notes) - 1; i >= 0; i-- {
			if notes[i].Kind == trace.NoteMergedFile {
				st, err := os.Stat(notes[i].Source)
				if err == nil {
					found = append(found, newDated(notes[i].Source, st))
					notes = slices.Delete(notes, i, i+1)
				}
			}
		}
	}
	return found, notes, nil
}

// mostHead is the maximum number of bytes that isTrace reads.
const mostHead = 16 << 20

// isTrace reports whether a JSON file has an event with a phase and a time near its beginning.
func isTrace(path string) bool {
	src, err := chromejson.Open(path)
	if err != nil {
		return false
	}
	defer src.Close()
	s := chromejson.NewScanner(io.LimitReader(src, mostHead))
	defer s.Close()
	for {
		kind, err := s.Next()
		if err != nil {
			return false
		}
		if e := &s.Event; kind == chromejson.EventToken && e.Ph != 0 && e.TS.Present() {
			return true
		}
	}
}

// ByRank returns the files of the set grouped by rank. A window by stage has one file per rank and stage. In Nsight
// Systems reports a stage is a group of servers (prefill or decode), so each report forms a separate group.
func (s *Set) ByRank() (out [][]File) {
	of := map[trace.Rank]int{}
	for _, f := range s.Files {
		staged := f.Named && f.Name.Stage != "" && f.Name.Rank != trace.NoRank && !f.Report()
		i, ok := of[f.Name.Rank]
		if staged && ok && !slices.ContainsFunc(out[i], func(o File) bool { return o.Name.Stage == f.Name.Stage }) {
			out[i] = append(out[i], f)
			continue
		}
		if staged && !ok {
			of[f.Name.Rank] = len(out)
		}
		out = append(out, []File{f})
	}
	return out
}

// ByStage reports whether any rank of the window has several stages.
func (s *Set) ByStage() bool {
	return slices.ContainsFunc(s.ByRank(), func(files []File) bool { return len(files) > 1 })
}

// NotAnInput refuses an output path that is a directory or one of the set's
// own files.
func (s *Set) NotAnInput(path string) error {
	out, err := os.Stat(path)
	if err != nil {
		return nil // missing or unreadable; the error is reported later
	}
	if out.IsDir() {
		return fmt.Errorf("%s: is a directory", path)
	}
	for _, f := range s.Files {
		if in, err := os.Stat(f.Path); err == nil && os.SameFile(in, out) {
			return fmt.Errorf("%s: is one of the inputs, give another name", path)
		}
	}
	return nil
}

// Holes lists the ranks that must exist according to the file names but have no file. Each coordinate runs from 0 to
// the largest one present, in each stage that any rank has.
func (s *Set) Holes() []trace.FileName {
	top := trace.NoRank
	type place struct {
		trace.Rank
		stage string
	}
	stages := map[string]bool{}
	have := map[place]bool{}
	for _, f := range s.Files {
		// If there is only one report, the number in its name may be a node number.
		if !f.Named || f.Name.Merged || f.Report() && len(s.Files) == 1 {
			continue
		}
		r := f.Name.Rank
		top = trace.Rank{TP: max(top.TP, r.TP), DP: max(top.DP, r.DP), PP: max(top.PP, r.PP), EP: max(top.EP, r.EP)}
		stages[f.Name.Stage] = true
		have[place{f.Name.Rank, f.Name.Stage}] = true
	}
	// With expert parallelism, EP numbers the same processes again, so the EP coordinate follows from the other
	// coordinates.
	if top.EP >= 0 {
		return nil
	}
	// A file name can contain any number. A grid of ranks far larger than the set cannot be a real layout.
	if (top.TP+2)*(top.DP+2)*(top.PP+2) > 64*(len(s.Files)+64) || max(top.TP, top.DP, top.PP) > 1<<16 {
		return nil
	}
	// Attention may be data-parallel within the tensor-parallel group. In that case TP counts all ranks, and DP follows
	// from TP.
	perDP := 0
	if top.DP > 0 {
		perDP = s.ranksPerDP(top.TP)
		if perDP > 0 {
			top.TP = perDP*(top.DP+1) - 1
		}
	}
	var holes []trace.FileName
	for _, stage := range slices.Sorted(maps.Keys(stages)) {
		for dp := min(top.DP, 0); dp <= top.DP; dp++ {
			for pp := min(top.PP, 0); pp <= top.PP; pp++ {
				for tp := min(top.TP, 0); tp <= top.TP; tp++ {
					if perDP > 0 && tp/perDP != dp {
						continue
					}
					n := trace.FileName{ID: s.ID, Rank: trace.Rank{TP: tp, DP: dp, PP: pp, EP: -1}, Stage: stage}
					if !have[place{n.Rank, n.Stage}] {
						holes = append(holes, n)
					}
				}
			}
		}
	}
	return holes
}

// ranksPerDP returns n, the number of TP ranks per DP coordinate, if DP = TP/n in all file names. It returns 0 if there
// is no such n.
func (s *Set) ranksPerDP(most int) int {
	for n := 1; n <= most+1; n++ {
		if !slices.ContainsFunc(s.Files, func(f File) bool { return f.Named && !f.Name.Merged && f.Name.Rank.TP/n != f.Name.Rank.DP }) {
			return n
		}
	}
	return 0
}
