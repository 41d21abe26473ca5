// Package export writes the spans of many ranks as one table, for tools that read Parquet, CSV or SQLite: DuckDB,
// Spark, pandas, a spreadsheet.
//
// All formats have the same rows and columns (Row); docs/formats/export.md is the reference. Times are int64
// nanoseconds. Ranks are written one after the other, so only one file's trace is in memory at a time.
package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// Format is the file format of an export.
type Format string

// Formats of an export.
const (
	Parquet Format = "parquet"
	CSV     Format = "csv"
	SQLite  Format = "sqlite"
)

// FormatOf returns the format for a file name's ending.
func FormatOf(path string) (Format, bool) {
	base := strings.ToLower(filepath.Base(path))
	for _, e := range [...]struct {
		ending string
		format Format
	}{
		{".parquet", Parquet}, {".pq", Parquet}, {".csv", CSV}, {".csv.gz", CSV},
		{".sqlite", SQLite}, {".sqlite3", SQLite}, {".db", SQLite},
	} {
		if strings.HasSuffix(base, e.ending) {
			return e.format, true
		}
	}
	return "", false
}

// OutputName returns the default file name of an export.
func OutputName(id string, f Format) string {
	id = strings.NewReplacer("/", "_", string(filepath.Separator), "_").Replace(id)
	return "spans-" + id + "." + string(f)
}

// Options configure an export. The zero value is ready to use.
type Options struct {
	Read read.Options // options for reading the inputs
}

// Result describes a finished export.
type Result struct {
	Version  int          `json:"format"` // 1
	Output   string       `json:"output"`
	Format   Format       `json:"table"`
	Spans    int64        `json:"spans"` // rows written
	BytesIn  int64        `json:"bytes_in"`
	BytesOut int64        `json:"bytes_out"`
	Ranks    []RankResult `json:"ranks"`
	Failed   []Failure    `json:"failed"`  // files without rows
	Seconds  float64      `json:"seconds"` // duration
}

// RankResult is one rank in the table.
type RankResult struct {
	Label    string `json:"rank"` // label, as in the column rank
	Stage    string `json:"stage"`
	File     string `json:"file"` // base name of the file
	Host     string `json:"host"`
	Device   string `json:"device"` // name of the GPU
	Spans    int64  `json:"spans"`
	Steps    int    `json:"steps"`
	StepRule string `json:"step_rule"`
	Complete bool   `json:"complete"`
	Notes    []Note `json:"notes"`
}

// Note is a trace.Note that is encoded in JSON as an object instead of a line of text.
type Note struct{ trace.Note }

// MarshalJSON encodes the note with its text.
func (n Note) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Severity     trace.Severity
		Source, Text string
		Count        int64
	}{n.Severity(), n.Source, n.Text(), n.Count})
}

// Failure describes a file that has no row in the table.
type Failure struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// Incomplete reports whether part of the input is missing from the table.
func (r *Result) Incomplete() bool {
	for i := range r.Ranks {
		if !r.Ranks[i].Complete {
			return true
		}
	}
	return len(r.Failed) > 0
}

// ErrNothing means that no file could be read; nothing was written.
var ErrNothing = errors.New("nothing could be read")

// errStream is returned for a format that cannot be written sequentially.
var errStream = errors.New("a SQLite database cannot be written to a stream: give a file with -o")

// sink writes one format. rank is called once for each rank, and then close is called. close also completes the table
// after an error.
type sink interface {
	rank(ctx context.Context, r *rank) error
	close(ctx context.Context, res *Result) error
	// abandon is called instead of close. It frees the same resources, but does not complete the table.
	abandon()
}

// File exports the set into the file at path. The file appears at path only when it is complete; after an error, or if
// ctx ends, no file remains. Even with ErrNothing, File returns a result.
func File(ctx context.Context, set set.Set, path string, f Format, opt Options) (*Result, error) {
	if err := set.NotAnInput(path); err != nil {
		return nil, err
	}
	var res *Result
	err := atomicfile.File(path, func(out *os.File) (err error) {
		res, err = toFile(ctx, set, out, f, strings.HasSuffix(strings.ToLower(path), ".gz"), opt)
		if err != nil {
			return err
		}
		if st, statErr := os.Stat(out.Name()); statErr == nil {
			res.BytesOut = st.Size()
		}
		return nil
	})
	if err == nil {
		res.Output = path
	}
	return res, err
}

// toFile fills the temporary file.
func toFile(ctx context.Context, set set.Set, out *os.File, f Format, compress bool, opt Options) (*Result, error) {
	if f != SQLite {
		return to(ctx, set, out, f, compress, opt)
	}
	s, err := newSQLiteSink(out)
	if err != nil {
		return nil, err
	}
	return run(ctx, set, s, f, opt)
}

// Database writes traces that are in memory as a SQLite database into an empty file. The ids of span_rows count the spans
// of the traces one trace after the other.
func Database(ctx context.Context, traces []*trace.Trace, out *os.File) error {
	s, err := newSQLiteSink(out)
	if err != nil {
		return err
	}
	res, names := &Result{Format: SQLite}, newNamer()
	for _, t := range traces {
		if err := s.rank(ctx, prepare(t, names)); err != nil {
			s.abandon()
			return err
		}
	}
	return s.close(ctx, res)
}

// To exports the set into w, as Parquet or CSV.
func To(ctx context.Context, set set.Set, w io.Writer, f Format, opt Options) (*Result, error) {
	return to(ctx, set, w, f, false, opt)
}

func to(ctx context.Context, set set.Set, w io.Writer, f Format, compress bool, opt Options) (*Result, error) {
	cw := &atomicfile.Counter{W: w}
	var s sink
	switch f {
	case Parquet:
		s = newParquetSink(cw)
	case CSV:
		s = newCSVSink(cw, compress)
	case SQLite:
		return nil, errStream
	default:
		return nil, fmt.Errorf("no such format: %q", f)
	}
	res, err := run(ctx, set, s, f, opt)
	if res != nil {
		res.BytesOut = cw.N
	}
	return res, err
}

// run reads file after file and gives each rank to the sink.
func run(ctx context.Context, window set.Set, s sink, f Format, opt Options) (*Result, error) {
	res := &Result{Format: f, Ranks: []RankResult{}, Failed: []Failure{}}
	names := newNamer()
	var work []set.Work
	for _, file := range window.Files {
		traces, err := read.ReadFile(ctx, file, opt.Read)
		if ctx.Err() != nil {
			s.abandon()
			return res, ctx.Err()
		}
		res.BytesIn += file.Size
		if err != nil {
			res.Failed = append(res.Failed, Failure{file.Path, reason(err)})
			continue
		}
		for i, t := range traces {
			traces[i] = nil // a merged file has many ranks, so free each one after writing it
			r := prepare(t, names)
			if err := s.rank(ctx, r); err != nil {
				s.abandon()
				return res, err
			}
			res.Spans += int64(len(t.Spans))
			res.Ranks = append(res.Ranks, r.result())
			work = append(work, set.Work{Path: strconv.Itoa(len(work)), Rank: t.Source.Rank, Stage: t.Source.Stage, GPU: slices.ContainsFunc(t.Spans, func(s trace.Span) bool { return s.Cat.OnGPU() })})
		}
	}
	if len(res.Ranks) == 0 {
		s.abandon()
		return res, ErrNothing
	}
	for _, n := range set.WithoutWork(work) {
		i, _ := strconv.Atoi(n.Source) // the index of the rank
		r := &res.Ranks[i]
		n.Source, r.Complete = r.File, false
		r.Notes = append(r.Notes, Note{n})
	}
	if err := ctx.Err(); err != nil {
		s.abandon()
		return res, err
	}
	return res, s.close(ctx, res)
}

// reason returns an error's text without the path of the file, since the path is shown beside the text.
func reason(err error) string {
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		return pathErr.Err.Error()
	}
	return err.Error()
}
