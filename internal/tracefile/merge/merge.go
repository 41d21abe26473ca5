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
// plausible. If they are not, it compares them.
const (
	Auto   Align = "auto"
	Always Align = "always"
	Never  Align = "never"
)

// Options are the options of a merge. The zero value is ready to use.
type Options struct {
	ProfileID string          // profile id to record in the metadata
	Level     int             // gzip level, 1 to 9; 0: DefaultLevel or PerfettoLevel
	Plain     bool            // whether to write uncompressed JSON
	Align     Align           // default Auto
	Missing   []string        // named inputs that do not exist, recorded as lost
	Meter     *progress.Meter // shows the progress of reading
	MostBytes int64           // maximum size of the output; 0: no limit
	// Keep returns the event filter of a file; nil keeps all events.
	Keep func(file int) func(*chromejson.Event) bool
	// AsIs is for cutting a single file: the file is passed on without labels.
	AsIs bool
	// Filter is a note about the events that Keep leaves out. It is recorded in the metadata.
	Filter trace.Note
	// Redact changes each kept event and each top-level member. It requires AsIs. nil: no changes.
	Redact Redactor
	// Extra holds members to write after the events.
	Extra []set.Member
	// Rest throttles a merge that runs beside urgent work. It is called after each short piece of work (a fraction of a
	// millisecond on one core) with the duration of the piece, and it may sleep. Any goroutine of the merge may call
	// Rest. If Rest is set, only one goroutine compresses.
	Rest func(worked time.Duration)
}

// Redactor changes the contents of a file during the merge.
type Redactor interface {
	// Event redacts the event in place.
	Event(e *chromejson.Event)
	// Member returns the value for a top-level member, or nil to leave it out.
	Member(key string, value []byte) []byte
}

// DefaultLevel is the default gzip level. For 360 MB of JSON the whole merge takes 1.1 s of CPU at level 1 (output 37.6
// MB), 1.3 s at level 5 (28.4 MB) and 1.4 s at level 6 (25.9 MB).
const DefaultLevel = 5

// PerfettoLevel is the default gzip level of Perfetto files, whose packets are already compact. For the same JSON the
// output has 26.4 MB at level 1. At level 5 it has 20.9 MB but takes a sixth more CPU.
const PerfettoLevel = 1

// Result is the result of a merge.
type Result struct {
	Format    int           `json:"format,omitempty"` // 1, if the Result is a separate document
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

// ErrNothing means that none of the inputs contained an event. No output was written.
var ErrNothing = errors.New("nothing could be read")

// File merges the set into the file at path, which appears only once it is complete. On an error, or if ctx ends, no
// file is left behind. With ErrNothing, File also returns a Result.
func File(ctx context.Context, set set.Set, path string, opt Options) (*Result, error) {
	return toFile(ctx, set, path, opt, (*merger).run)
}

// toFile calls write, and calls it again with shifted clocks if the first call shows that the clocks disagree.
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
		cw := &atomicfile.Counter{W: f, Most: opt.MostBytes}
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

// To merges the set into w. Because w cannot be rewound, clocks are compared only if Options.Align is Always or the
// files name several hosts.
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
