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

// Align controls when the clocks of hosts are compared and shifted.
type Align string

// Auto compares clocks if the files name different hosts. Otherwise it checks during the merge whether the clocks are
// plausible, and compares them if not.
const (
	Auto   Align = "auto"
	Always Align = "always"
	Never  Align = "never"
)

// Options are the options of a merge. The zero value is ready to use.
type Options struct {
	ProfileID string          // for the metadata
	Level     int             // gzip level, 1 to 9; 0: DefaultLevel or PerfettoLevel
	Plain     bool            // uncompressed JSON
	Align     Align           // default Auto
	Missing   []string        // named inputs that do not exist, recorded as lost
	Meter     *progress.Meter // counts the input read
	// Keep returns the event filter of a file; nil keeps all events.
	Keep func(file int) func(*chromejson.Event) bool
	// AsIs passes one file on without labels, for cutting.
	AsIs bool
	// Filter describes the events that Keep leaves out, for the metadata.
	Filter trace.Note
	// Redact, with AsIs, changes each kept event and each top-level member. nil: no changes.
	Redact Redactor
	// Extra holds members to write after the events.
	Extra []set.Member
	// Rest throttles a merge that runs beside urgent work. It is called after each short piece of work, a fraction of a
	// millisecond of one core, with the duration of the piece, and may sleep. Any of the merge's goroutines calls it.
	// Only one goroutine compresses.
	Rest func(worked time.Duration)
}

// Redactor changes the contents of a file during the merge.
type Redactor interface {
	// Event replaces the text of the event.
	Event(e *chromejson.Event)
	// Member returns the value for a top-level member, or nil to leave it out.
	Member(key string, value []byte) []byte
}

// DefaultLevel is the default gzip level. Measured on 360 MB of JSON, all steps of the merge together: level 1 takes
// 1.1 s of CPU for 37.6 MB, level 5 1.3 s for 28.4 MB, level 6 1.4 s for 25.9 MB.
const DefaultLevel = 5

// PerfettoLevel is the default gzip level of Perfetto files, whose packets are already compact: for the same JSON level
// 1 gives 26.4 MB, and level 5 gives 20.9 MB for a sixth more CPU.
const PerfettoLevel = 1

// Result is the result of a merge.
type Result struct {
	Format    int           `json:"format,omitempty"` // 1, in a document of its own
	ProfileID string        `json:"profile_id"`
	Output    string        `json:"output"`
	Events    int64         `json:"events"`
	BytesIn   int64         `json:"bytes_in"`   // compressed size of the files
	TextBytes int64         `json:"json_bytes"` // decompressed bytes read
	BytesOut  int64         `json:"bytes_out"`
	Files     []set.Part    `json:"files"`
	Missing   []set.Missing `json:"missing"`
	Notes     []trace.Note  `json:"notes"`
	Seconds   float64       `json:"seconds,omitempty"` // duration
}

// Incomplete reports whether anything is missing or lost.
func (r *Result) Incomplete() bool {
	return len(r.Missing) > 0 || slices.ContainsFunc(r.Files, func(p set.Part) bool { return p.Problem != nil })
}

// ErrNothing means that no input held a single event. No output was written.
var ErrNothing = errors.New("nothing could be read")

// File merges the set into the file at path, which appears only once it is complete. On an error, or if ctx ends,
// nothing is left behind. ErrNothing also comes with a result.
func File(ctx context.Context, set set.Set, path string, opt Options) (*Result, error) {
	return toFile(ctx, set, path, opt, (*merger).run)
}

// toFile runs write, and runs it again if the clocks turn out to disagree.
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

// To merges the set into w. Because w cannot be rewound, clocks are compared only if Options.Align or the host names
// ask for it.
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

// Print writes a summary of the merge as text.
func (r *Result) Print(w io.Writer) error {
	read, partly := 0, ""
	for _, f := range r.Files {
		if f.Complete || f.Events > 0 {
			read++
		}
		if !f.Complete && f.Events > 0 {
			partly = ", some of them incomplete"
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
