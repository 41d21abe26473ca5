// Package nsysdb reads the SQLite export of a Nsight Systems report into
// trace.Trace tables, one for each rank: a process and the GPU that it drives.
//
// The schema is that of the exports of nsys 2022.4 (3.0) to 2026 (3.30): a
// table is there only when it has rows, a column only since some version, so
// whatever is absent reads as not recorded. Ids of processes and threads are
// 64 bits, hardware:8 | vm:8 | pid:24 | tid:24; times are nanoseconds since
// the capture began, whose wall clock is utcEpochNs.
package nsysdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/stepscope/stepscope/internal/tracefile/sqlitefile"
	"github.com/stepscope/stepscope/trace"
)

// Options steer reading.
type Options struct {
	// From and To bound what is read, in ns since the capture began; To 0: to
	// its end. Work that overlaps the window is in.
	From, To int64
	// MaxSpans bounds the memory, about 200 bytes a span while it is analysed: of a longer capture the
	// beginning is read, and a note says how much. 0: DefaultSpans.
	MaxSpans int64
}

// DefaultSpans keeps the analysis of a capture of any size at about 2 GB of memory.
const DefaultSpans = 10 << 20

// Read gives the ranks in the export at path, in rank order.
func Read(ctx context.Context, path string, opt Options) ([]*trace.Trace, error) {
	db, err := sqlitefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	r := &reader{ctx: ctx, db: db, from: opt.From, to: opt.To, ranks: map[rankKey]*rank{}, odd: trace.Tally{}}
	r.to = cmp.Or(r.to, math.MaxInt64)
	if err := r.read(opt.MaxSpans); err != nil {
		return nil, err
	}
	return r.finish(), nil
}

// errNotNsys is for SQLite databases of other programs.
var errNotNsys = errors.New("a SQLite database, but no export of Nsight Systems: it has none of its tables (make one by: nsys export --type=sqlite REPORT.nsys-rep)")

// reader holds one export while it is read.
type reader struct {
	ctx      context.Context
	db       *sqlitefile.File
	from, to int64
	meta     meta
	ranks    map[rankKey]*rank
	byPID    map[int64][]*rank // of each process with GPU work
	last     int64             // the latest end of what was read
	odd      trace.Tally       // what could not be used
	notes    []trace.Note
	rows     int64
	spans    int64 // held so far
	most     int64 // spans that will be held, and ops among them, about
	mostOps  int64
}

func (r *reader) read(maxSpans int64) error {
	known := false
	for _, name := range []string{"META_DATA_EXPORT", "EXPORT_META_DATA", "StringIds", tableKernel, tableRuntime, tableNVTX} {
		known = known || r.db.Table(name) != nil
	}
	if !known {
		return errNotNsys
	}
	if err := r.readMeta(); err != nil {
		return err
	}
	if err := r.bound(maxSpans); err != nil {
		return err
	}
	for _, step := range []func() error{
		r.kernels, r.memcpys, r.memsets, r.graphs, r.foldDevices, r.syncs,
		r.nvtx, r.calls, r.osrt, r.overhead, r.memory,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if len(r.ranks) == 0 {
		return fmt.Errorf("the report holds neither GPU work nor NVTX ranges%s", r.window())
	}
	return nil
}

// scan reads a table, if it is there, giving up when the context ends.
func (r *reader) scan(table string, columns []string, visit func(*sqlitefile.Row)) error {
	t := r.db.Table(table)
	if t == nil {
		return nil
	}
	return t.Scan(columns, func(row *sqlitefile.Row) error {
		if r.rows++; r.rows&0xffff == 0 {
			if err := r.ctx.Err(); err != nil {
				return err
			}
		}
		visit(row)
		return nil
	})
}

// inside tells whether an interval is in the window that is read.
func (r *reader) inside(start, end int64) bool { return end >= r.from && start < r.to }

func (r *reader) window() string {
	if r.from == 0 && r.to == math.MaxInt64 {
		return ""
	}
	return " in the window asked for"
}

// timed are the tables whose rows become spans, and the first timedOps of them ops, too.
var timed = []string{tableKernel, tableMemcpy, tableMemset, tableRuntime, tableNVTX, tableOSRT, tableSync}

const timedOps = 3

// rowsOf is about how many rows tables have.
func (r *reader) rowsOf(tables []string) (rows int64, err error) {
	for _, name := range tables {
		if t := r.db.Table(name); t != nil {
			n, err := t.Rows()
			if err != nil {
				return 0, err
			}
			rows += n
		}
	}
	return rows, nil
}

// bound shortens the window when the export has more rows than may be held.
func (r *reader) bound(most int64) error {
	if most <= 0 {
		most = DefaultSpans
	}
	rows, err := r.rowsOf(timed)
	if err != nil {
		return err
	}
	ops, err := r.rowsOf(timed[:timedOps])
	if err != nil {
		return err
	}
	r.most, r.mostOps = rows, ops
	if rows <= most {
		return nil
	}
	r.most, r.mostOps = most, int64(float64(ops)*float64(most)/float64(rows))
	// How many rows begin in each stretch of the capture.
	const stretches = 4096
	length := int64(1)
	var count [stretches]int64
	for _, measure := range []bool{true, false} {
		for _, name := range timed {
			err := r.scan(name, []string{"start"}, func(row *sqlitefile.Row) {
				at := row.Int(0)
				switch {
				case at < r.from || at >= r.to || at > farthest:
				case measure:
					length = max(length, at+1)
				default:
					count[at/(length/stretches+1)]++
				}
			})
			if err != nil {
				return err
			}
		}
	}
	held := int64(0)
	for i, n := range count {
		if held += n; held > most {
			end := r.to
			r.to = max(int64(i), 1) * (length/stretches + 1)
			r.notes = append(r.notes, trace.Note{Kind: trace.NoteTooLong, Source: r.db.Path, Count: 1, From: r.from, To: r.to, End: min(end, length)})
			return nil
		}
	}
	return nil
}
