package rocprof

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/stepscope/stepscope/internal/tracefile/sqlitefile"
	"github.com/stepscope/stepscope/trace"
)

// A rocpd database has one set of tables for each process. The names of a set end in the UUID of its process. In schema
// 2 a row has its own times and places; in schema 3 it refers to the tables of tracks and timestamps. Columns that a
// schema lacks are NULL.

// ReadRocpd returns the ranks in a rocpd database.
func ReadRocpd(ctx context.Context, path string) ([]*trace.Trace, error) {
	db, err := sqlitefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var all []*trace.Trace
	for _, name := range db.Tables() {
		suffix, ok := strings.CutPrefix(name, "rocpd_kernel_dispatch")
		if !ok {
			continue
		}
		r := &rocpd{
			process: newProcess(), ctx: ctx, db: db, suffix: suffix,
			strings: map[int64]string{}, symbols: map[int64]string{}, tracks: map[int64]track{}, times: map[int64]int64{}, events: map[int64]event{},
		}
		if err := r.read(); err != nil {
			return nil, err
		}
		all = append(all, r.ranks()...)
	}
	if len(all) == 0 {
		return nil, errNothing
	}
	return all, nil
}

// rocpd is the state of reading the tables of one process.
type rocpd struct {
	*process
	ctx     context.Context
	db      *sqlitefile.File
	suffix  string
	rows    int
	strings map[int64]string
	symbols map[int64]string // names of kernels
	tracks  map[int64]track
	times   map[int64]int64
	events  map[int64]event
}

// track is the place of a row.
type track struct{ thread, agent, queue, stream int64 }

// event has the fields that a row shares with its launch.
type event struct {
	corr    int64
	kind    int64  // id of a string
	message string // of a marker
}

// scan reads a table of the process, if there is one.
func (r *rocpd) scan(table string, columns []string, visit func(*sqlitefile.Row)) error {
	t := r.db.Table("rocpd_" + table + r.suffix)
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

func (r *rocpd) read() error {
	for _, step := range []struct {
		table   string
		columns []string
		visit   func(*sqlitefile.Row)
	}{
		{"string", []string{"id", "string"}, func(row *sqlitefile.Row) { r.strings[row.Int(0)] = string(row.Text(1)) }},
		{"info_node", []string{"hostname"}, func(row *sqlitefile.Row) { r.host = string(row.Text(0)) }},
		{"info_process", []string{"pid"}, func(row *sqlitefile.Row) { r.pid = row.Int(0) }},
		{"info_agent", []string{"id", "type", "type_index", "product_name", "name", "extdata"}, r.readAgent},
		{"info_kernel_symbol", []string{"id", "display_name", "kernel_name"}, func(row *sqlitefile.Row) {
			r.symbols[row.Int(0)] = kernelName(string(row.Text(1)), string(row.Text(2)))
		}},
		{"track", []string{"id", "tid", "agent_id", "queue_id", "stream_id"}, func(row *sqlitefile.Row) {
			r.tracks[row.Int(0)] = track{row.Int(1), row.Int(2), row.Int(3), row.Int(4)}
		}},
		{"timestamp", []string{"id", "value"}, func(row *sqlitefile.Row) { r.times[row.Int(0)] = row.Int(1) }},
		{"event", []string{"id", "stack_id", "category_id", "extdata"}, r.readEvent},
		{"kernel_dispatch", append(place[:len(place):len(place)], "kernel_id", "grid_size_x", "grid_size_y", "grid_size_z",
			"workgroup_size_x", "workgroup_size_y", "workgroup_size_z"), r.readKernel},
		{"memory_copy", append(place[:len(place):len(place)], "name_id", "dst_agent_id", "src_agent_id", "size"), r.readCopy},
		{"region", append(place[:len(place):len(place)], "name_id"), r.readRegion},
	} {
		if err := r.scan(step.table, step.columns, step.visit); err != nil {
			return err
		}
	}
	return nil
}

func (r *rocpd) readAgent(row *sqlitefile.Row) {
	a := &agent{}
	_ = json.Unmarshal(row.Text(5), a) // an agent as in rocprofv3's JSON
	a.Index, a.Product, a.Name = int32(row.Int(2)), string(row.Text(3)), string(row.Text(4))
	if a.Type = 0; string(row.Text(1)) == "GPU" {
		a.Type = gpuType
	}
	r.agents[row.Int(0)] = a
}

func (r *rocpd) readEvent(row *sqlitefile.Row) {
	e := event{corr: row.Int(1), kind: row.Int(2)}
	if text := row.Text(3); len(text) > len("{}") {
		var ext struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(text, &ext) // other rows have other members
		e.message = ext.Message
	}
	r.events[row.Int(0)] = e
}

// place lists the columns with which every query for rows with times begins.
var place = []string{"start", "end", "start_id", "end_id", "track_id", "tid", "agent_id", "queue_id", "stream_id", "event_id"}

// at reads the columns of place.
func (r *rocpd) at(row *sqlitefile.Row) (start, end int64, on track, of event) {
	start, end, on = row.Int(0), row.Int(1), track{row.Int(5), row.Int(6), row.Int(7), row.Int(8)}
	if !row.Null(2) {
		start, end, on = r.times[row.Int(2)], r.times[row.Int(3)], r.tracks[row.Int(4)]
	}
	return start, end, on, r.events[row.Int(9)]
}

func (r *rocpd) readKernel(row *sqlitefile.Row) {
	start, end, on, of := r.at(row)
	n := len(place)
	dims := func(i int) size { return size{int32(row.Int(i)), int32(row.Int(i + 1)), int32(row.Int(i + 2))} }
	group := dims(n + 4)
	name := r.symbols[row.Int(n)]
	r.addOp(op{
		start: start, end: end, agent: on.agent, queue: on.queue, stream: on.stream, thread: on.thread, corr: of.corr,
		name: name, cat: trace.BlitCategory(name), grid: blocks(dims(n+1), group), block: [3]int32{group.X, group.Y, group.Z},
	})
}

func (r *rocpd) readCopy(row *sqlitefile.Row) {
	start, end, on, of := r.at(row)
	n := len(place)
	r.addOp(op{
		start: start, end: end, agent: r.gpuOf(row.Int(n+1), row.Int(n+2)), stream: on.stream, thread: on.thread, corr: of.corr,
		name: copyName(r.strings[row.Int(n)]), cat: trace.Memcpy, bytes: row.Int(n + 3),
	})
}

func (r *rocpd) readRegion(row *sqlitefile.Row) {
	start, end, on, of := r.at(row)
	name := r.strings[row.Int(len(place))]
	if of.message == "" && !strings.HasPrefix(name, "roctx") {
		of.message = name
	}
	r.api(r.strings[of.kind], of.message, call{start: start, end: end, thread: on.thread, corr: of.corr, name: name})
}
