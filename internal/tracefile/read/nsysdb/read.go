// Package nsysdb reads the SQLite export of an Nsight Systems report into values of trace.Trace, one per rank. A rank is
// a process and the GPU that it drives.
//
// The package supports the export schemas of nsys 2022.4 (3.0) to 2026 (3.30). A table exists only if it has rows, and
// some columns exist only in newer versions. So an absent table or column counts as not recorded. Ids of processes and
// threads have 64 bits: hardware:8 | vm:8 | pid:24 | tid:24. Times are nanoseconds since the start of the capture,
// whose wall clock time is utcEpochNs.
package nsysdb

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/stepscope/stepscope/internal/tracefile/sqlitefile"
	"github.com/stepscope/stepscope/trace"
)

// Options control reading.
type Options struct {
	// From and To limit the window to read, in ns since the start of the capture. If To is 0, the window ends with the
	// capture. Work that overlaps the window is included.
	From, To int64
	// MaxSpans limits the number of spans, and thereby the memory: a span takes about 200 bytes during analysis. If a
	// capture has more spans, only its beginning is read, and a note gives the part read and the length of the capture.
	// 0: DefaultSpans.
	MaxSpans int64
}

// DefaultSpans limits the analysis of any capture to about 2 GB of memory.
const DefaultSpans = 10 << 20

// Read returns the ranks in the export at path, in rank order.
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

// reader is the state of reading one export.
type reader struct {
	ctx      context.Context
	db       *sqlitefile.File
	from, to int64
	meta     meta
	ranks    map[rankKey]*rank
	byPID    map[int64][]*rank // ranks of each process with GPU work
	last     int64             // latest end of all rows read
	odd      trace.Tally       // unusable rows
	notes    []trace.Note
	rows     int64
	spans    int64 // number of spans so far
	most     int64 // expected number of spans, and of ops among them
	mostOps  int64
}

func (r *reader) read(maxSpans int64) error {
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

// scan reads a table if it exists. It stops when the context ends.
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

// inside reports whether an interval overlaps the window.
func (r *reader) inside(start, end int64) bool { return end >= r.from && start < r.to }

func (r *reader) window() string {
	if r.from == 0 && r.to == math.MaxInt64 {
		return ""
	}
	return " in the requested window"
}

// timed lists the tables whose rows become spans. The rows of the first timedOps tables also become ops.
var timed = []string{tableKernel, tableMemcpy, tableMemset, tableRuntime, tableNVTX, tableOSRT, tableSync}

const timedOps = 3

// rowsOf returns the approximate number of rows in the tables.
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

// bound shortens the window if the export has more rows than the limit.
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
	// stretches is the number of equal parts of the capture. count holds the number of rows that begin in each part.
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
