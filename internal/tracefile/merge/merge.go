package merge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// Align says when the clocks of hosts are compared and moved.
type Align string

// Auto compares clocks when the files name different hosts, and else checks
// on the way that the clocks can be right, and compares when they cannot.
const (
	Auto   Align = "auto"
	Always Align = "always"
	Never  Align = "never"
)

// Options of a merge. The zero value is ready to use.
type Options struct {
	ProfileID string          // into the metadata
	Level     int             // of gzip, 1 to 9; 0: DefaultLevel, PerfettoLevel
	Plain     bool            // JSON as it is, not compressed
	Align     Align           // default Auto
	Missing   []string        // named inputs that do not exist: recorded as lost
	Meter     *progress.Meter // told of input read
	// Keep chooses events, one function for each file; nil keeps all.
	Keep func(file int) func(*chromejson.Event) bool
	// AsIs passes one file on without labels, for cutting.
	AsIs bool
	// Filter says what Keep leaves out, for the metadata.
	Filter trace.Note
	// Redact changes what the files say, with AsIs: each event that is kept, and
	// each member beside them. nil: nothing is changed.
	Redact Redactor
	// Extra members are written after the events.
	Extra []set.Member
	// Rest is for merging beside work that must not wait. It is called after
	// each short piece, a fraction of a millisecond of one core, with the time
	// that took, and may sleep. Any of the merge's goroutines calls it, and one
	// of them compresses.
	Rest func(worked time.Duration)
}

// Redactor changes the contents of a file on their way.
type Redactor interface {
	// Event gives the event another text.
	Event(e *chromejson.Event)
	// Member gives the value of a top-level member; nil: it is left out.
	Member(key string, value []byte) []byte
}

// DefaultLevel of gzip. Measured on 360 MB of JSON, all steps of the merge
// together: level 1 takes 1.1 s of CPU for 37.6 MB, level 5 1.3 s for 28.4 MB,
// level 6 1.4 s for 25.9 MB.
const DefaultLevel = 5

// PerfettoLevel is that of Perfetto files, whose packets have little left to find: of
// the same JSON level 1 makes 26.4 MB, level 5 20.9 MB in a sixth more CPU.
const PerfettoLevel = 1

// Result is what became of a merge.
type Result struct {
	Format    int           `json:"format,omitempty"` // 1, where it is all that is said
	ProfileID string        `json:"profile_id"`
	Output    string        `json:"output"`
	Events    int64         `json:"events"`
	BytesIn   int64         `json:"bytes_in"`   // of the files, as they lie on disk
	TextBytes int64         `json:"json_bytes"` // decompressed, read
	BytesOut  int64         `json:"bytes_out"`
	Files     []set.Part    `json:"files"`
	Missing   []set.Missing `json:"missing"`
	Notes     []trace.Note  `json:"notes"`
	Seconds   float64       `json:"seconds,omitempty"` // that it took
}

// Incomplete tells whether anything is missing or lost.
func (r *Result) Incomplete() bool {
	return len(r.Missing) > 0 || slices.ContainsFunc(r.Files, func(p set.Part) bool { return p.Problem != nil })
}

// ErrNothing means that no input held a single event; no output was written.
var ErrNothing = errors.New("nothing could be read")

// File merges the set into the file at path, which gets its name when all is
// written. On error, or when ctx ends, nothing is left behind. The result
// comes with ErrNothing too.
func File(ctx context.Context, set set.Set, path string, opt Options) (*Result, error) {
	return toFile(ctx, set, path, opt, (*merger).run)
}

// toFile lets write do the merging, once more where clocks turn out to disagree.
func toFile(ctx context.Context, set set.Set, path string, opt Options, write func(*merger, context.Context, io.Writer) error) (*Result, error) {
	if err := set.NotAnInput(path); err != nil {
		return nil, err
	}
	m, err := plan(ctx, set, opt)
	if err != nil {
		return nil, err
	}
	var size int64
	err = atomicfile.File(path, func(f *os.File) error {
		cw := &atomicfile.Counter{W: f}
		err := write(m, ctx, cw)
		if err == nil && m.disagree() {
			m.again()
			if _, err = f.Seek(0, io.SeekStart); err == nil {
				err = f.Truncate(0)
			}
			cw.N = 0
			if err == nil {
				err = write(m, ctx, cw)
			}
		}
		size = cw.N
		return err
	})
	res := m.result()
	res.Output, res.BytesOut = path, size
	return res, err
}

// To merges the set into w, which cannot be rewound: clocks are compared only
// if Options.Align or the names of the hosts ask for it.
func To(ctx context.Context, set set.Set, w io.Writer, opt Options) (*Result, error) {
	m, err := plan(ctx, set, opt)
	if err != nil {
		return nil, err
	}
	cw := &atomicfile.Counter{W: w}
	err = m.run(ctx, cw)
	if err == nil && m.disagree() {
		m.note(trace.NoteDisagree, "")
	}
	res := m.result()
	res.BytesOut = cw.N
	return res, err
}

// Print says what became of a merge, for people.
func (r *Result) Print(w io.Writer) error {
	read, partly := 0, ""
	for _, f := range r.Files {
		if f.Complete || f.Events > 0 {
			read++
		}
		if !f.Complete && f.Events > 0 {
			partly = ", not all of them whole"
		}
		if f.ShiftNS != 0 {
			fmt.Fprintf(w, "%s: clock moved by %+.3f ms (± %.3f ms, %d collectives)\n",
				columns.Clean(f.Label), float64(f.ShiftNS)/1e6, float64(f.Uncertainty)/1e6, f.Collectives)
		}
	}
	fmt.Fprintf(w, "merged %d of %d files%s, %d events, %.1f MB of JSON in %.2f s (%.0f MB/s)\n",
		read, len(r.Files), partly, r.Events, float64(r.TextBytes)/1e6, r.Seconds, float64(r.TextBytes)/1e6/max(r.Seconds, 1e-9))
	_, err := fmt.Fprintf(w, "%s (%.1f MB from %.1f MB)\n", columns.Clean(r.Output), float64(r.BytesOut)/1e6, float64(r.BytesIn)/1e6)
	return err
}
