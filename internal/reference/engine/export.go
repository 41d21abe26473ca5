package engine

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/memsnap"
	"github.com/stepscope/stepscope/internal/tracefile/merge"
	"github.com/stepscope/stepscope/internal/tracefile/set"
)

// Rank describes one rank of a group for profiling.
type Rank struct {
	TP, DP, PP, EP int // coordinates of the rank
	Recorder       Recorder
	Meta           device.Meta // metadata of the rank's traces; Name is set when a trace is written
}

// Recorder records a rank's activity. Its methods are called between steps.
type Recorder interface {
	StartRecording(device.RecordOptions) error
	// StopRecording ends the window and returns the recording without waiting. It returns nil if nothing was recorded.
	StopRecording() Recording
	// PauseRecording excludes subsequent work from the window if its argument is true. If the argument is false, work
	// is included again.
	PauseRecording(bool)
}

// Recording is a rank's activity in a window.
type Recording interface {
	WriteKineto(io.Writer, device.Meta) error
	// DeviceMemory calls f with the allocations (bytes > 0) and frees of device memory in time order. Times are in ns
	// since 1970.
	DeviceMemory(f func(at int64, addr uint64, bytes int64)) error
	// Lost counts the records that did not fit in memory. Lost must be the last call on a Recording.
	Lost() int64
}

// Zipped is a Recording whose trace was compressed on the node that made the recording.
type Zipped interface {
	WriteZipped(io.Writer, device.Meta) error
}

// WriteTrace writes a recording as a compressed trace.
func WriteTrace(w io.Writer, rec Recording, meta device.Meta) error {
	z, err := gzip.NewWriterLevel(w, traceLevel)
	if err != nil {
		return err
	}
	if err := rec.WriteKineto(z, meta); err != nil {
		return err
	}
	return z.Close()
}

// rankFile is a rank's recording of a window, ready to be written.
type rankFile struct {
	rank     Rank
	rec      Recording
	stage    string
	stopped  time.Time
	reserved []memsnap.Block
}

// traceLevel is the gzip level of traces. It is the fastest level, because the engine continues to serve requests while
// files are written.
const traceLevel = gzip.BestSpeed

// export writes files in the background.
func (s *session) export(files []rankFile) {
	s.writing.Add(1)
	s.e.exports.Go(func() {
		defer s.writing.Done()
		for _, f := range files {
			if s.traces() {
				s.writeTrace(f)
			}
			if s.opts.Memory {
				s.writeMemory(f)
			}
			if n := f.rec.Lost(); n > 0 {
				s.problem(fmt.Sprintf("%s: %d records did not fit; record fewer steps", s.place(f.rank), n))
			}
		}
	})
}

// writeFile writes a file atomically. Only one file is written at a time.
func (s *session) writeFile(path, what string, fill func(io.Writer) error) bool {
	s.e.writing.Lock()
	defer s.e.writing.Unlock()
	if err := atomicfile.New(path, fill); err != nil {
		s.fail(fmt.Errorf("write the %s: %w", what, err))
		return false
	}
	return true
}

func (s *session) writeTrace(f rankFile) {
	path := filepath.Join(s.req.OutputDir, s.fileName(f.rank, f.stage))
	meta := f.rank.Meta
	meta.Name = path
	meta.Rest = s.pace.rest
	ok := s.writeFile(path, "trace of "+s.place(f.rank), func(w io.Writer) error {
		if z, ok := f.rec.(Zipped); ok {
			return z.WriteZipped(w, meta)
		}
		return WriteTrace(w, f.rec, meta)
	})
	if ok {
		s.mu.Lock()
		s.files = append(s.files, path)
		s.mu.Unlock()
	}
}

// fileName returns SGLang's name for the trace of a rank (section 1.6 of the contract). The name omits the coordinate
// of a dimension of size 1, except TP.
func (s *session) fileName(r Rank, stage string) string {
	name := s.req.Stem() + "-" + s.place(r)
	if stage != "" {
		name += "-" + stage
	}
	return name + traceSuffix
}

const traceSuffix = ".trace.json.gz"

// place returns the part of a file name that identifies the rank, such as "TP-0-DP-1".
func (s *session) place(r Rank) string {
	z := s.e.opt.Sizes
	name := fmt.Sprintf("TP-%d", r.TP)
	for _, c := range []struct {
		key      string
		at, size int
	}{{"DP", r.DP, z.DP}, {"PP", r.PP, z.PP}, {"EP", r.EP, z.EP}} {
		if c.size > 1 {
			name += fmt.Sprintf("-%s-%d", c.key, c.at)
		}
	}
	return name
}

// conclude merges the files if requested, and sets the session's result.
func (s *session) conclude() {
	slices.Sort(s.files)
	res := api.ProfileResult{Dir: s.req.OutputDir, ID: s.req.ID, Steps: s.steps}
	for _, f := range slices.Sorted(slices.Values(slices.Concat(s.files, s.snapshots))) {
		res.Files = append(res.Files, filepath.Base(f))
	}
	messages := s.problems
	if s.req.Merge && len(s.files) > 0 {
		merged, text := s.merge()
		res.Merged = merged
		messages = append([]string{text}, messages...)
	}
	if len(res.Files) == 0 && s.records() && len(messages) == 0 {
		messages = append(messages, "Nothing was recorded: the window ended before its first step.")
	}
	res.Message = strings.Join(messages, "; ")
	s.result = res
	text := "Profiling done. Traces are saved to: " + s.req.OutputDir
	if len(s.files) == 0 {
		text = "Profiling done. No file was written."
	}
	if res.Message != "" {
		text += " " + res.Message
	}
	s.e.opt.Log(text)
}

// merge merges exactly the files of the session.
func (s *session) merge() (path, message string) {
	s.e.writing.Lock()
	defer s.e.writing.Unlock()
	sets, err := set.Find(s.files)
	if err == nil && len(sets) != 1 {
		err = fmt.Errorf("the files form %d sets", len(sets))
	}
	if err != nil {
		return "", "Merge failed: " + err.Error()
	}
	// SGLang's name for the merged file has no prefix. If a file of another window already has that name, for example
	// because that window has the same id but another prefix, add the prefix.
	path = filepath.Join(s.req.OutputDir, set.OutputName(s.req.ID, traceSuffix))
	if _, err := os.Lstat(path); err == nil {
		path = filepath.Join(s.req.OutputDir, set.OutputName(sets[0].ID, traceSuffix))
		if _, err := os.Lstat(path); err == nil {
			return "", "Merge failed: " + path + " already exists and was not replaced"
		}
	}
	// The merge ignores cancellation, so that the merged file is not lost. Engine.Close waits for the merge.
	res, err := merge.File(context.Background(), sets[0], path, merge.Options{
		ProfileID: s.req.ID, Level: traceLevel, Rest: s.pace.rest,
	})
	if err != nil {
		return "", "Merge failed: " + err.Error()
	}
	message = fmt.Sprintf("Merged trace: %s (Events: %d, Files: %d)", path, res.Events, len(res.Files))
	if res.Incomplete() {
		message += ", which is incomplete: run trace check on the directory"
	}
	return path, message
}

// log writes a line about one data-parallel rank.
func (s *session) log(r *dpRank, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(s.e.ranks) > 1 {
		text = fmt.Sprintf("DP%d: %s", s.e.index(r), text)
	}
	s.e.opt.Log(text)
}
