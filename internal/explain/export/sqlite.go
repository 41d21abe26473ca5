package export

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/stepscope/stepscope/internal/base/sqlitedb"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// sqliteSink fills one database in one transaction.
type sqliteSink struct {
	db   *sql.DB
	conn *sql.Conn

	ranks, notes, tracks, steps, names, collectives, shapes *inserter
	cpuSpans, gpuSpans                                      *inserter

	nameIDs  map[nameKey]int64
	shapeIDs map[[2]string]int64
	lastName int64
}

// nameKey is one row of names.
type nameKey struct {
	name string
	cat  trace.Category
}

func newSQLiteSink(ctx context.Context, path string) (*sqliteSink, error) {
	s := &sqliteSink{nameIDs: map[nameKey]int64{}, shapeIDs: map[[2]string]int64{}}
	var err error
	if s.db, err = sqlitedb.Open(path); err != nil {
		return nil, err
	}
	if s.conn, err = s.db.Conn(ctx); err != nil {
		s.abandon()
		return nil, err
	}
	for _, stmt := range append(pragmas[:len(pragmas):len(pragmas)], "BEGIN", schema) {
		if _, err := s.conn.ExecContext(ctx, stmt); err != nil {
			s.abandon()
			return nil, err
		}
	}
	err = s.conn.Raw(func(dc any) error {
		c, ok := dc.(driver.ConnPrepareContext)
		if !ok {
			return errors.New("the SQLite driver cannot prepare statements")
		}
		s.ranks = newInserter(c, 1, "ranks", "id", "rank", "tp", "dp", "pp", "ep", "stage", "file", "host", "device_name",
			"world_rank", "world_size", "base_ns", "spans", "steps", "step_rule", "complete")
		s.notes = newInserter(c, 1, "notes", "rank_id", "file", "severity", "text", "count")
		s.tracks = newInserter(c, 16, "tracks", "id", "rank_id", "pid", "tid", "thread", "gpu", "device", "stream")
		s.steps = newInserter(c, 16, "steps", "id", "rank_id", "step", "kind", "mode", "name", "batch", "tokens",
			"start_ns", "dur_ns", "end_ns")
		s.names = newInserter(c, 1, "names", "id", "category", "name", "class", "class_group", "collective")
		s.collectives = newInserter(c, 32, "collectives", "id", "op", "dtype", "in_elems", "out_elems", "comm_group",
			"ranks", "group_size", "seq")
		s.shapes = newInserter(c, 1, "shapes", "id", "dims", "types")
		s.cpuSpans = newInserter(c, 64, "span_rows", "track_id", "step_id", "name_id", "start_ns", "dur_ns", "correlation",
			"external_id", "shape_id")
		s.gpuSpans = newInserter(c, 64, "span_rows", "track_id", "step_id", "name_id", "start_ns", "dur_ns", "correlation",
			"external_id", "bytes", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "collective_id")
		return nil
	})
	if err != nil {
		s.abandon()
		return nil, err
	}
	return s, nil
}

func (s *sqliteSink) inserters() []*inserter {
	return []*inserter{s.ranks, s.notes, s.tracks, s.steps, s.names, s.collectives, s.shapes, s.cpuSpans, s.gpuSpans}
}

// rank uses the connection below database/sql, which costs more per value
// than SQLite does.
func (s *sqliteSink) rank(ctx context.Context, r *rank) error {
	return s.conn.Raw(func(any) error { return s.rows(ctx, r) })
}

func (s *sqliteSink) rows(ctx context.Context, r *rank) error {
	t := r.t
	res := r.result()
	src := &t.Source
	id := s.ranks.total + 1
	var worldRank, worldSize any
	if src.World.Known {
		worldRank, worldSize = atLeast0(int64(src.World.Rank)), orNull(int64(src.World.Size))
	}
	if err := s.ranks.add(id, r.label, r.at.tp, r.at.dp, r.at.pp, r.at.ep, orNull(src.Stage),
		res.File, orNull(src.Host), orNull(src.Device), worldRank, worldSize, orNull(src.BaseNS), res.Spans,
		int64(res.Steps), res.StepRule, res.Complete); err != nil {
		return err
	}
	for _, n := range res.Notes {
		if err := s.notes.add(id, res.File, n.Severity().String(), n.Text(), n.Count); err != nil {
			return err
		}
	}
	firstTrack, firstStep, firstComm := s.tracks.total+1, s.steps.total+1, s.collectives.total+1
	for i := range t.Tracks {
		tr, extra := &t.Tracks[i], &r.tracks[i]
		if err := s.tracks.add(firstTrack+int64(i), id, extra.pid, tr.TID, orNull(tr.Name), tr.GPU,
			extra.device, extra.stream); err != nil {
			return err
		}
	}
	for i := range r.steps {
		st := &r.steps[i]
		if err := s.steps.add(firstStep+int64(i), id, int64(i), st.Step.Kind.String(), orNull(st.Step.Mode),
			t.Strings.Get(st.Name), st.batch, st.tokens, st.Start, st.End-st.Start, st.End); err != nil {
			return err
		}
	}
	for i := range t.Comms {
		c := &t.Comms[i]
		get := t.Strings.Get
		if err := s.collectives.add(firstComm+int64(i), r.commName[i], orNull(get(c.DType)), c.In, c.Out,
			orNull(get(c.Group)), orNull(get(c.Ranks)), orNull(int64(c.GroupSize)), atLeast0(c.Seq)); err != nil {
			return err
		}
	}
	nameOf := make([]int64, t.Strings.Len()) // of the category in catOf
	catOf := make([]trace.Category, t.Strings.Len())
	for i := range t.Spans {
		if i%batch == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		sp := &t.Spans[i]
		if nameOf[sp.Name] == 0 || catOf[sp.Name] != sp.Cat {
			name, err := s.nameID(r, sp)
			if err != nil {
				return err
			}
			nameOf[sp.Name], catOf[sp.Name] = name, sp.Cat
		}
		var step any
		if r.step[i] >= 0 {
			step = firstStep + int64(r.step[i])
		}
		track, name := firstTrack+int64(sp.Track), nameOf[sp.Name]
		var err error
		switch {
		case sp.Cat.OnGPU() && sp.Detail >= 0:
			op := &t.Ops[sp.Detail]
			var comm any
			if op.Comm >= 0 {
				comm = firstComm + int64(op.Comm)
			}
			err = s.gpuSpans.add(track, step, name, sp.Start, sp.Dur, orNull(sp.Corr), orNull(sp.Ext), orNull(op.Bytes),
				orNull(op.Grid[0]), orNull(op.Grid[1]), orNull(op.Grid[2]), orNull(op.Block[0]), orNull(op.Block[1]), orNull(op.Block[2]), comm)
		default:
			var shape any
			if sp.Cat == trace.CPUOp && sp.Detail >= 0 {
				if shape, err = s.shapeID(t, &t.Shapes[sp.Detail]); err != nil {
					return err
				}
			}
			err = s.cpuSpans.add(track, step, name, sp.Start, sp.Dur, orNull(sp.Corr), orNull(sp.Ext), shape)
		}
		if err != nil {
			return err
		}
	}
	for _, in := range s.inserters() {
		if err := in.flush(); err != nil {
			return err
		}
	}
	return nil
}

// nameID is the row of a span's name and category, over all ranks.
func (s *sqliteSink) nameID(r *rank, sp *trace.Span) (int64, error) {
	key := nameKey{r.t.Strings.Get(sp.Name), sp.Cat}
	if id := s.nameIDs[key]; id != 0 {
		return id, nil
	}
	s.lastName++
	s.nameIDs[key] = s.lastName
	var class, group, op any
	if sp.Cat.OnGPU() {
		c := r.classOf(sp)
		class, group = c.String(), string(c.Group())
		if c == kernel.Comm {
			name, _ := kernel.Collective(key.name)
			op = orNull(name)
		}
	}
	return s.lastName, s.names.add(s.lastName, sp.Cat.String(), key.name, class, group, op)
}

func (s *sqliteSink) shapeID(t *trace.Trace, sh *trace.Shape) (any, error) {
	key := [2]string{t.Strings.Get(sh.Dims), t.Strings.Get(sh.Types)}
	if id := s.shapeIDs[key]; id != 0 {
		return id, nil
	}
	id := int64(len(s.shapeIDs) + 1)
	s.shapeIDs[key] = id
	return id, s.shapes.add(id, key[0], orNull(key[1]))
}

func (s *sqliteSink) close(ctx context.Context, res *Result) error {
	err := s.conn.Raw(func(any) error {
		for _, f := range res.Failed {
			if err := s.notes.add(nil, f.File, trace.Loss.String(), f.Reason, int64(1)); err != nil {
				return err
			}
		}
		return s.notes.flush()
	})
	end := append([]string{`INSERT INTO about VALUES ('format', '1'), ('writer', 'stepscope')`}, indexes...)
	for _, stmt := range append(end, "ANALYZE", "COMMIT") {
		if err == nil {
			_, err = s.conn.ExecContext(ctx, stmt)
		}
	}
	return errors.Join(err, s.free())
}

func (s *sqliteSink) abandon() { _ = s.free() }

// free ends the statements before their connection.
func (s *sqliteSink) free() error {
	var errs []error
	if s.conn != nil {
		for _, in := range s.inserters() {
			if in != nil {
				errs = append(errs, in.close())
			}
		}
		errs = append(errs, s.conn.Close())
	}
	return errors.Join(append(errs, s.db.Close())...)
}

// inserter adds rows to a table, several with one statement.
type inserter struct {
	conn  driver.ConnPrepareContext
	head  string // INSERT INTO … VALUES
	tuple string // (?,?,…)
	width int
	most  int // rows a statement
	full  driver.Stmt
	args  []driver.NamedValue
	total int64 // rows added
}

func newInserter(c driver.ConnPrepareContext, most int, table string, columns ...string) *inserter {
	in := &inserter{conn: c, width: len(columns), most: most}
	in.head = fmt.Sprintf("INSERT INTO %s (", table)
	for i, col := range columns {
		if i > 0 {
			in.head, in.tuple = in.head+", ", in.tuple+","
		}
		in.head, in.tuple = in.head+col, in.tuple+"?"
	}
	in.head, in.tuple = in.head+") VALUES ", "("+in.tuple+")"
	return in
}

// add takes one row, see sqlValue.
func (in *inserter) add(values ...any) error {
	if len(values) != in.width {
		panic(fmt.Sprintf("%d values for %q", len(values), in.head))
	}
	for _, v := range values {
		in.args = append(in.args, driver.NamedValue{Ordinal: len(in.args) + 1, Value: sqlValue(v)})
	}
	in.total++
	if len(in.args) == in.most*in.width {
		return in.flush()
	}
	return nil
}

// flush writes the rows that wait.
func (in *inserter) flush() (err error) {
	if len(in.args) == 0 {
		return nil
	}
	n := len(in.args) / in.width
	stmt := in.full
	if n < in.most || stmt == nil {
		query := []byte(in.head + in.tuple)
		for range n - 1 {
			query = append(append(query, ','), in.tuple...)
		}
		// Without a context of its own: the driver would start a goroutine
		// for each statement to watch it.
		if stmt, err = in.conn.PrepareContext(context.Background(), string(query)); err != nil {
			return err
		}
		if n == in.most {
			in.full = stmt
		} else {
			defer stmt.Close()
		}
	}
	_, err = stmt.(driver.StmtExecContext).ExecContext(context.Background(), in.args)
	in.args = in.args[:0]
	return err
}

func (in *inserter) close() error {
	if in.full == nil {
		return nil
	}
	return in.full.Close()
}

// sqlValue is what the driver takes for a value; a nil pointer is NULL.
func sqlValue(v any) any {
	switch v := v.(type) {
	case int32:
		return int64(v)
	case *int32:
		if v == nil {
			return nil
		}
		return int64(*v)
	case *int64:
		if v == nil {
			return nil
		}
		return *v
	}
	return v
}

// orNull is NULL for what is not there.
func orNull[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

func atLeast0(n int64) any {
	if n < 0 {
		return nil
	}
	return n
}
