package export

import (
	"reflect"
	"strings"

	"github.com/stepscope/stepscope/internal/base/parquetfile"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// Row is one span with all its data. The fields are the columns of every format, in order. NULL means that a value was
// not recorded or has no meaning for the category; it is represented by a nil pointer, or by a zero in a column marked
// optional.
//
// Times are plain INT64 rather than TIMESTAMP(NANOS). Spark rejects a whole file if it has a TIMESTAMP(NANOS) column,
// and all tools subtract integers exactly.
type Row struct {
	Rank  string `parquet:"rank,dict"` // label, such as "TP00-DP01"
	TP    *int32 `parquet:"tp,optional,dict"`
	DP    *int32 `parquet:"dp,optional,dict"`
	PP    *int32 `parquet:"pp,optional,dict"`
	EP    *int32 `parquet:"ep,optional,dict"`
	Stage string `parquet:"stage,optional,dict"` // EXTEND or DECODE, if the window was split by stage

	Step       *int32 `parquet:"step,optional,dict"` // index, from 0, of the step that launched the work
	StepKind   string `parquet:"step_kind,optional,dict"`
	StepMode   string `parquet:"step_mode,optional,dict"`
	StepBatch  *int32 `parquet:"step_batch,optional,dict"`  // number of requests
	StepTokens *int32 `parquet:"step_tokens,optional,dict"` // number of new tokens

	Category   string `parquet:"category,dict"`             // kernel, cpu_op, …
	Class      string `parquet:"class,optional,dict"`       // kernel.Class of GPU work
	ClassGroup string `parquet:"class_group,optional,dict"` // kernel.Group of GPU work
	Name       string `parquet:"name,dict"`

	PID    string `parquet:"pid,dict"`
	TID    string `parquet:"tid,dict"`
	Thread string `parquet:"thread,optional,dict"`
	Device *int32 `parquet:"device,optional,dict"`
	Stream *int64 `parquet:"stream,optional,dict"`

	StartNS int64 `parquet:"start_ns,delta"` // ns since the Unix epoch, on the clock of the rank's host
	DurNS   int64 `parquet:"dur_ns,delta"`
	EndNS   int64 `parquet:"end_ns,delta"` // StartNS + DurNS

	Correlation int64 `parquet:"correlation,optional,delta"` // equal for a launch and the GPU work that it started
	ExternalID  int64 `parquet:"external_id,optional,delta"` // External id, which identifies the innermost open op
	Bytes       int64 `parquet:"bytes,optional,dict"`        // size of a copy or fill
	GridX       int32 `parquet:"grid_x,optional,dict"`       // grid size, in blocks
	GridY       int32 `parquet:"grid_y,optional,dict"`
	GridZ       int32 `parquet:"grid_z,optional,dict"`
	BlockX      int32 `parquet:"block_x,optional,dict"` // block size, in threads
	BlockY      int32 `parquet:"block_y,optional,dict"`
	BlockZ      int32 `parquet:"block_z,optional,dict"`

	Collective    string `parquet:"collective,optional,dict"` // AllReduce, …; recorded, or from the kernel's name
	CollDType     string `parquet:"coll_dtype,optional,dict"`
	CollInElems   *int64 `parquet:"coll_in_elems,optional,dict"` // number of elements on this rank
	CollOutElems  *int64 `parquet:"coll_out_elems,optional,dict"`
	CollGroup     string `parquet:"coll_group,optional,dict"`
	CollRanks     string `parquet:"coll_ranks,optional,dict"` // ranks of the group, such as "[0, 1, 2, 3]"
	CollGroupSize int32  `parquet:"coll_group_size,optional,dict"`
	CollSeq       *int64 `parquet:"coll_seq,optional,dict"`

	InputDims  string `parquet:"input_dims,optional,dict"` // shapes of a CPU op's inputs as JSON, if recorded
	InputTypes string `parquet:"input_types,optional,dict"`
}

// rowColumns describes the columns, as derived from Row.
var rowColumns = describe()

// Columns names the columns of every format, in order.
var Columns = columnNames()

func describe() []parquetfile.Column {
	row := reflect.TypeFor[Row]()
	list := make([]parquetfile.Column, row.NumField())
	for i := range list {
		f := row.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		c := parquetfile.Column{Name: name, Optional: strings.Contains(options, "optional"), Delta: strings.Contains(options, "delta")}
		kind := f.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		switch kind.Kind() {
		case reflect.String:
			c.Type = parquetfile.Text
		case reflect.Int32:
			c.Type = parquetfile.Int32
		case reflect.Int64:
			c.Type = parquetfile.Int64
		}
		list[i] = c
	}
	return list
}

func columnNames() []string {
	names := make([]string, len(rowColumns))
	for i, c := range rowColumns {
		names[i] = c.Name
	}
	return names
}

// values returns pointers to the values of the columns, or nil for NULL. A test verifies that the order is that of the
// columns.
func (r *Row) values() [42]any {
	return [...]any{
		&r.Rank, r.TP, r.DP, r.PP, r.EP, &r.Stage, r.Step, &r.StepKind, &r.StepMode, r.StepBatch, r.StepTokens,
		&r.Category, &r.Class, &r.ClassGroup, &r.Name, &r.PID, &r.TID, &r.Thread, r.Device, r.Stream,
		&r.StartNS, &r.DurNS, &r.EndNS, nonzero(&r.Correlation), nonzero(&r.ExternalID), nonzero(&r.Bytes),
		nonzero(&r.GridX), nonzero(&r.GridY), nonzero(&r.GridZ), nonzero(&r.BlockX), nonzero(&r.BlockY), nonzero(&r.BlockZ),
		&r.Collective, &r.CollDType, r.CollInElems, r.CollOutElems, &r.CollGroup, &r.CollRanks, nonzero(&r.CollGroupSize), r.CollSeq,
		&r.InputDims, &r.InputTypes,
	}
}

// nonzero returns nil if the number is 0, otherwise n.
func nonzero[T int32 | int64](n *T) *T {
	if *n == 0 {
		return nil
	}
	return n
}

// fill sets row to the row of span i. The pointers in row refer to data of the rank, so the rank must outlive row.
func (r *rank) fill(row *Row, i int) {
	t := r.t
	s := &t.Spans[i]
	tr, extra := &t.Tracks[s.Track], &r.tracks[s.Track]
	*row = Row{
		Rank: r.label, TP: r.at.tp, DP: r.at.dp, PP: r.at.pp, EP: r.at.ep, Stage: t.Source.Stage,
		Category: s.Cat.String(), Name: t.Strings.Get(s.Name),
		PID: extra.pid, TID: tr.TID, Thread: tr.Name, Device: extra.device, Stream: extra.stream,
		StartNS: s.Start, DurNS: s.Dur, EndNS: s.End(),
		Correlation: s.Corr, ExternalID: s.Ext,
	}
	if n := r.step[i]; n >= 0 {
		st := &r.steps[n]
		row.Step, row.StepKind, row.StepMode = st.number, st.Step.Kind.String(), st.Step.Mode
		row.StepBatch, row.StepTokens = st.batch, st.tokens
	}
	switch {
	case s.Cat.OnGPU():
		r.fillGPU(row, s)
	case s.Cat == trace.CPUOp && s.Detail >= 0:
		sh := &t.Shapes[s.Detail]
		row.InputDims, row.InputTypes = t.Strings.Get(sh.Dims), t.Strings.Get(sh.Types)
	}
}

func (r *rank) fillGPU(row *Row, s *trace.Span) {
	class := r.classOf(s)
	row.Class, row.ClassGroup = class.String(), string(class.Group())
	if s.Detail < 0 {
		if class == kernel.Comm {
			row.Collective = r.collective(s, &trace.Op{Comm: -1}, class)
		}
		return
	}
	op := &r.t.Ops[s.Detail]
	row.Bytes = op.Bytes
	row.GridX, row.GridY, row.GridZ = op.Grid[0], op.Grid[1], op.Grid[2]
	row.BlockX, row.BlockY, row.BlockZ = op.Block[0], op.Block[1], op.Block[2]
	row.Collective = r.collective(s, op, class)
	if op.Comm < 0 {
		return
	}
	c := &r.t.Comms[op.Comm]
	get := r.t.Strings.Get
	row.CollDType, row.CollGroup, row.CollRanks = get(c.DType), get(c.Group), get(c.Ranks)
	row.CollInElems, row.CollOutElems, row.CollGroupSize = &c.In, &c.Out, c.GroupSize
	if c.Seq >= 0 {
		row.CollSeq = &c.Seq
	}
}
