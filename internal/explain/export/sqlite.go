package export

import (
	"context"
	"os"

	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/tracefile/sqlitefile"
	"github.com/stepscope/stepscope/trace"
)

// sqliteSink fills all tables of one database.
type sqliteSink struct {
	w *sqlitefile.Writer

	about, ranks, notes, tracks, steps, names, collectives, shapes, spans *sqlitefile.Appender

	nameIDs  map[nameKey]int64
	shapeIDs map[[2]string]int64
}

// nameKey is one row of names.
type nameKey struct {
	name string
	cat  trace.Category
}

func newSQLiteSink(file *os.File) (*sqliteSink, error) {
	s := &sqliteSink{w: sqlitefile.NewWriter(file), nameIDs: map[nameKey]int64{}, shapeIDs: map[[2]string]int64{}}
	for _, t := range []struct {
		table **sqlitefile.Appender
		sql   string
	}{
		{&s.about, aboutTable}, {&s.ranks, ranksTable}, {&s.notes, notesTable}, {&s.tracks, tracksTable},
		{&s.steps, stepsTable}, {&s.names, namesTable}, {&s.collectives, collectivesTable}, {&s.shapes, shapesTable},
		{&s.spans, spanRowsTable},
	} {
		var err error
		if *t.table, err = s.w.Table(t.sql); err != nil {
			return nil, err
		}
	}
	s.w.View(spansView)
	return s, nil
}

func (s *sqliteSink) rank(ctx context.Context, r *rank) error {
	t := r.t
	res := r.result()
	src := &t.Source
	id := number(s.ranks.Rows + 1)
	worldRank, worldSize := null, null
	if src.World.Known {
		worldRank, worldSize = atLeast0(src.World.Rank), numberOrNull(src.World.Size)
	}
	if err := s.ranks.Add(id, text(r.label), pointed(r.at.tp), pointed(r.at.dp), pointed(r.at.pp), pointed(r.at.ep),
		textOrNull(src.Stage), text(res.File), textOrNull(src.Host), textOrNull(src.Device), worldRank, worldSize,
		numberOrNull(src.BaseNS), number(res.Spans), number(res.Steps), text(res.StepRule), truth(res.Complete)); err != nil {
		return err
	}
	for _, n := range res.Notes {
		if err := s.notes.Add(id, text(res.File), text(n.Severity().String()), text(n.Text()), number(n.Count)); err != nil {
			return err
		}
	}
	firstTrack, firstStep, firstComm := s.tracks.Rows+1, s.steps.Rows+1, s.collectives.Rows+1
	for i := range t.Tracks {
		tr, extra := &t.Tracks[i], &r.tracks[i]
		if err := s.tracks.Add(number(s.tracks.Rows+1), id, text(extra.pid), text(tr.TID), textOrNull(tr.Name), truth(tr.GPU),
			pointed(extra.device), pointed(extra.stream)); err != nil {
			return err
		}
	}
	for i := range r.steps {
		st := &r.steps[i]
		if err := s.steps.Add(number(s.steps.Rows+1), id, number(i), text(st.Step.Kind.String()), textOrNull(st.Step.Mode),
			text(t.Strings.Get(st.Name)), pointed(st.batch), pointed(st.tokens), number(st.Start), number(st.End-st.Start),
			number(st.End)); err != nil {
			return err
		}
	}
	for i := range t.Comms {
		c := &t.Comms[i]
		get := t.Strings.Get
		if err := s.collectives.Add(number(s.collectives.Rows+1), text(r.commName[i]), textOrNull(get(c.DType)), number(c.In),
			number(c.Out), textOrNull(get(c.Group)), textOrNull(get(c.Ranks)), numberOrNull(c.GroupSize), atLeast0(c.Seq)); err != nil {
			return err
		}
	}
	nameOf := make([]int64, t.Strings.Len()) // row of names for each StringID, valid for the category in catOf
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
		step, shape, comm := null, null, null
		if r.step[i] >= 0 {
			step = number(firstStep + int64(r.step[i]))
		}
		var op trace.Op
		switch {
		case sp.Detail < 0:
		case sp.Cat.OnGPU():
			op = t.Ops[sp.Detail]
			if op.Comm >= 0 {
				comm = number(firstComm + int64(op.Comm))
			}
		case sp.Cat == trace.CPUOp:
			var err error
			if shape, err = s.shapeID(t, &t.Shapes[sp.Detail]); err != nil {
				return err
			}
		}
		if err := s.spans.Add(number(s.spans.Rows+1), number(firstTrack+int64(sp.Track)), step, number(nameOf[sp.Name]),
			number(sp.Start), number(sp.Dur), numberOrNull(sp.Corr), numberOrNull(sp.Ext), shape, numberOrNull(op.Bytes),
			numberOrNull(op.Grid[0]), numberOrNull(op.Grid[1]), numberOrNull(op.Grid[2]),
			numberOrNull(op.Block[0]), numberOrNull(op.Block[1]), numberOrNull(op.Block[2]), comm); err != nil {
			return err
		}
	}
	return nil
}

// nameID returns the row in names of a span's name and category. All ranks use the same rows.
func (s *sqliteSink) nameID(r *rank, sp *trace.Span) (int64, error) {
	key := nameKey{r.t.Strings.Get(sp.Name), sp.Cat}
	if id := s.nameIDs[key]; id != 0 {
		return id, nil
	}
	id := s.names.Rows + 1
	s.nameIDs[key] = id
	class, group, op := null, null, null
	if sp.Cat.OnGPU() {
		c := r.classOf(sp)
		class, group = text(c.String()), text(string(c.Group()))
		if c == kernel.Comm {
			name, _ := kernel.Collective(key.name)
			op = textOrNull(name)
		}
	}
	return id, s.names.Add(number(id), text(sp.Cat.String()), text(key.name), class, group, op)
}

func (s *sqliteSink) shapeID(t *trace.Trace, sh *trace.Shape) (sqlitefile.Value, error) {
	key := [2]string{t.Strings.Get(sh.Dims), t.Strings.Get(sh.Types)}
	if id := s.shapeIDs[key]; id != 0 {
		return number(id), nil
	}
	id := s.shapes.Rows + 1
	s.shapeIDs[key] = id
	return number(id), s.shapes.Add(number(id), text(key[0]), textOrNull(key[1]))
}

func (s *sqliteSink) close(ctx context.Context, res *Result) error {
	for _, f := range res.Failed {
		if err := s.notes.Add(null, text(f.File), text(trace.Loss.String()), text(f.Reason), number(1)); err != nil {
			return err
		}
	}
	for _, about := range [][2]string{{"format", "1"}, {"writer", "stepscope"}} {
		if err := s.about.Add(text(about[0]), text(about[1])); err != nil {
			return err
		}
	}
	for _, sql := range indexes {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := s.w.Index(sql); err != nil {
			return err
		}
	}
	return s.w.Close()
}

// abandon frees nothing: the caller removes the incomplete file.
func (s *sqliteSink) abandon() {}

var null sqlitefile.Value

func text(s string) sqlitefile.Value { return sqlitefile.Text(s) }

// textOrNull returns s, or NULL if s is empty.
func textOrNull(s string) sqlitefile.Value {
	if s == "" {
		return null
	}
	return text(s)
}

func number[T int | int32 | int64](n T) sqlitefile.Value { return sqlitefile.Int(int64(n)) }

// numberOrNull returns n, or NULL if n is 0.
func numberOrNull[T int | int32 | int64](n T) sqlitefile.Value {
	if n == 0 {
		return null
	}
	return number(n)
}

// pointed returns the number to which n points, or NULL if n is nil.
func pointed[T int32 | int64](n *T) sqlitefile.Value {
	if n == nil {
		return null
	}
	return number(*n)
}

func atLeast0[T int | int32 | int64](n T) sqlitefile.Value {
	if n < 0 {
		return null
	}
	return number(n)
}

func truth(b bool) sqlitefile.Value {
	if b {
		return number(1)
	}
	return number(0)
}
