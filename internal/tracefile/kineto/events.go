package kineto

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// ends records which ends of an arrow exist: the launching call, the GPU work, or both.
type ends uint8

const (
	launched ends = 1 << iota
	ran
)

// link finds the correlation ids that have both a call and GPU work. Only these get arrows.
func (k *writer) link() {
	k.linked = make(map[int64]ends, len(k.t.Ops))
	for i := range k.t.Spans {
		if s := &k.t.Spans[i]; s.Cat.OnGPU() && s.Corr != 0 {
			k.linked[s.Corr] = ran
		}
	}
	for i := range k.t.Spans {
		if s := &k.t.Spans[i]; s.Cat.Launch() && s.Corr != 0 && k.linked[s.Corr] != 0 {
			k.linked[s.Corr] |= launched
		}
	}
}

// span writes one span and, if the span is an end of an arrow, that end.
func (k *writer) span(s *trace.Span) {
	row := k.labels[s.Track].text
	k.next()
	cat := s.Cat.String()
	if s.Cat == trace.NoCore {
		cat = trace.Overhead.String()
	}
	k.str("{\n    \"ph\": \"X\", \"cat\": \"").str(cat).str("\", \"name\": \"").str(k.name(s.Name)).str("\"").str(row)
	k.str(",\n    \"ts\": ").micros(s.Start - k.base).str(", \"dur\": ").micros(s.Dur)
	k.args(s)
	k.str("\n  }")
	if k.linked[s.Corr] != launched|ran {
		return
	}
	switch {
	case s.Cat.Launch():
		k.flow("s", s.Corr, row, s.Start, "")
	case s.Cat.OnGPU():
		k.flow("f", s.Corr, row, s.Start, ", \"bp\": \"e\"")
	}
}

func (k *writer) flow(ph string, corr int64, row string, at int64, bind string) {
	k.next()
	k.str("{\n    \"ph\": \"").str(ph).str("\", \"id\": ").int(corr).str(row)
	k.str(", \"ts\": ").micros(at - k.base).str(",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"").str(bind).str("\n  }")
}

// args writes the known attributes of a span, if any.
func (k *writer) args(s *trace.Span) {
	a := members{k: k}
	switch s.Cat {
	case trace.Kernel, trace.Memcpy, trace.Memset:
		k.work(&a, s)
	case trace.Runtime, trace.Driver, trace.GPUAnnotation, trace.CPUOp, trace.UserAnnotation, trace.Sync:
		if s.Ext != 0 {
			a.int("External id", s.Ext)
		}
		if row := &k.t.Tracks[s.Track]; s.Cat == trace.Sync && row.GPU {
			a.int("device", int64(row.Device))
			a.int("stream", row.Stream)
		}
		if s.Corr != 0 {
			a.int("correlation", s.Corr)
		}
		switch {
		case s.Detail < 0:
		case s.Cat == trace.UserAnnotation:
			a.text("rids", k.name(trace.StringID(s.Detail)))
		case s.Cat == trace.CPUOp && int(s.Detail) < len(k.t.Shapes):
			sh := &k.t.Shapes[s.Detail]
			if v, ok := k.raw(sh.Types); ok {
				a.key("Input type").str(v)
			}
			if v, ok := k.raw(sh.Dims); ok {
				a.key("Input Dims").str(v)
			}
		}
	}
	a.close()
}

// work writes the attributes of a kernel, copy or memset.
func (k *writer) work(a *members, s *trace.Span) {
	row := &k.t.Tracks[s.Track]
	if s.Ext != 0 {
		a.int("External id", s.Ext)
	}
	a.int("device", int64(row.Device))
	a.int("stream", row.Stream)
	if s.Corr != 0 {
		a.int("correlation", s.Corr)
	}
	if s.Detail < 0 || int(s.Detail) >= len(k.t.Ops) {
		return
	}
	op := &k.t.Ops[s.Detail]
	if s.Cat != trace.Kernel || op.Bytes != 0 {
		a.int("bytes", op.Bytes)
	}
	if s.Cat == trace.Kernel || op.Grid != [3]int32{} || op.Block != [3]int32{} {
		a.key("grid").triple(op.Grid)
		a.key("block").triple(op.Block)
	}
	if op.Move > 0 && int(op.Move) <= len(k.t.Moves) {
		m := &k.t.Moves[op.Move-1]
		a.text("rids", k.name(m.Requests))
		a.int("room", m.Room)
	}
	if op.Comm < 0 || int(op.Comm) >= len(k.t.Comms) {
		return
	}
	c := &k.t.Comms[op.Comm]
	a.text("Collective name", k.name(c.Name))
	a.int("In msg nelems", c.In)
	a.int("Out msg nelems", c.Out)
	a.int("Group size", int64(c.GroupSize))
	a.text("dtype", k.name(c.DType))
	a.text("Process Group Name", k.name(c.Group))
	a.text("Process Group Ranks", k.name(c.Ranks))
	if c.Seq >= 0 {
		a.int("Seq", c.Seq)
	}
}

// memory writes the memory allocations and frees, as events of the row with the most launches.
func (k *writer) memory() {
	if len(k.t.Memory) == 0 {
		return
	}
	row := ", \"pid\": 0, \"tid\": 0"
	if at := k.hostRow(); at >= 0 {
		row = k.labels[at].text
	}
	for i := range k.t.Memory {
		p := &k.t.Memory[i]
		kind := int64(0)
		if p.GPU {
			kind = 1
		}
		k.next()
		k.str("{\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\"").str(row)
		k.str(",\n    \"ts\": ").micros(p.Time - k.base)
		a := members{k: k}
		a.int("Total Reserved", p.Reserved)
		a.int("Total Allocated", p.Allocated)
		a.int("Bytes", p.Bytes)
		a.int("Device Id", int64(p.Device))
		a.int("Device Type", kind)
		a.close()
		k.str("\n  }")
	}
}

// hostRow returns the CPU row with the most launches. Without launches it returns the first CPU row that has a span.
func (k *writer) hostRow() int {
	n := make([]int, len(k.t.Tracks))
	for i := range k.t.Spans {
		switch s := &k.t.Spans[i]; {
		case s.Cat.Launch():
			n[s.Track] += 2
		case !k.t.Tracks[s.Track].GPU && n[s.Track] == 0 && s.Cat != trace.Window:
			n[s.Track] = 1
		}
	}
	if len(n) == 0 || slices.Max(n) == 0 {
		return -1
	}
	return slices.Index(n, slices.Max(n))
}

// members writes the members of an event's args object.
type members struct {
	k    *writer
	open bool
}

func (a *members) key(key string) *writer {
	if a.open {
		a.k.str(", \"")
	} else {
		a.k.str(",\n    \"args\": {\n      \"")
		a.open = true
	}
	return a.k.str(key).str("\": ")
}

func (a *members) int(key string, n int64) { a.key(key).int(n) }

// text writes a string that is already escaped.
func (a *members) text(key, s string) { a.key(key).str("\"").str(s).str("\"") }

func (a *members) close() {
	if a.open {
		a.k.str("\n    }")
	}
}

func (k *writer) str(s string) *writer {
	k.buf = append(k.buf, s...)
	return k
}

func (k *writer) int(n int64) *writer {
	k.buf = strconv.AppendInt(k.buf, n, 10)
	return k
}

func (k *writer) micros(ns int64) *writer {
	k.buf = chromejson.AppendMicros(k.buf, ns)
	return k
}

func (k *writer) triple(v [3]int32) {
	k.str("[").int(int64(v[0])).str(", ").int(int64(v[1])).str(", ").int(int64(v[2])).str("]")
}

// id returns a pid or tid as JSON: a number if s is a number, otherwise a string. It removes rank labels of a merged
// file ("[TP00] 1528"), because the output has one rank.
func id(s string) string {
	if strings.HasPrefix(s, "[") {
		if _, rest, ok := strings.Cut(s, "] "); ok {
			s = rest
		}
	}
	if n, ok := chromejson.ParseInt([]byte(s)); ok && strconv.FormatInt(n, 10) == s {
		return s
	}
	if raw := `"` + s + `"`; strings.Contains(s, `\`) && json.Valid([]byte(raw)) {
		return raw // rows keep the escapes of the file they were read from
	}
	return `"` + chromejson.Escape(s) + `"`
}
