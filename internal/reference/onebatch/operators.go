package onebatch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// Operator sums the calls of one operation with inputs of the same shapes, like torch.profiler's key_averages. Times
// are nanoseconds. A kernel and the operation that launched it have separate rows.
type Operator struct {
	Name    string
	Shapes  string // JSON; "": not recorded
	Device  bool   // whether the row is a kernel, a copy or a memset
	Calls   int
	SelfCPU int64 // excludes nested operations
	CPU     int64
	SelfGPU int64 // time of the kernels that the operation launched itself
	GPU     int64
}

// OperatorTable contains the sums of a trace by operation.
type OperatorTable struct {
	Rows     []Operator // sorted by self time, longest first
	CPU, GPU int64      // sums of self times; GPU sums kernels only
}

// Operators sums a trace by operation. Rows are sorted by self time on the device, or, if byDevice is false, by self
// time on the CPU.
func Operators(t *trace.Trace, byDevice bool) *OperatorTable {
	o := &operators{t: t, rows: map[operatorKey]*Operator{}, device: map[int64]int64{}}
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Cat.OnGPU() {
			row := o.row(s)
			row.Device = true
			row.Calls++
			row.SelfGPU += s.Dur
			row.GPU += s.Dur
			o.device[s.Corr] += s.Dur
		}
	}
	o.host()
	out := &OperatorTable{}
	for _, row := range o.rows {
		out.Rows = append(out.Rows, *row)
		out.CPU += row.SelfCPU
		if row.Device {
			out.GPU += row.SelfGPU
		}
	}
	sorts.By(out.Rows, func(a, b Operator) int {
		gpu, cpu := cmp.Compare(b.SelfGPU, a.SelfGPU), cmp.Compare(b.SelfCPU, a.SelfCPU)
		if !byDevice {
			gpu, cpu = cpu, gpu
		}
		return cmp.Or(gpu, cpu, cmp.Compare(a.Name, b.Name), cmp.Compare(a.Shapes, b.Shapes))
	})
	return out
}

type operatorKey struct {
	name, shapes trace.StringID
	device       bool
}

type operators struct {
	t      *trace.Trace
	rows   map[operatorKey]*Operator
	device map[int64]int64 // device time, by correlation id of the launch
}

func (o *operators) row(s *trace.Span) *Operator {
	key := operatorKey{name: s.Name, device: s.Cat.OnGPU()}
	if s.Cat == trace.CPUOp && s.Detail >= 0 {
		key.shapes = o.t.Shapes[s.Detail].Dims
	}
	row := o.rows[key]
	if row == nil {
		row = &Operator{Name: kernel.Short(o.t.Strings.Get(s.Name)), Shapes: o.t.Strings.Get(key.shapes)}
		o.rows[key] = row
	}
	return row
}

// host walks through the host threads. Spans are sorted by track, then by start, then by length with the longest first.
// Therefore the next span always lies within the spans that are open.
func (o *operators) host() {
	type open struct {
		row *Operator
		end int64
	}
	var stack []open
	track := trace.TrackID(0)
	for i := range o.t.Spans {
		s := &o.t.Spans[i]
		call := s.Cat.Launch()
		if !call && s.Cat != trace.CPUOp && s.Cat != trace.UserAnnotation {
			continue
		}
		if s.Track != track {
			track, stack = s.Track, stack[:0]
		}
		for len(stack) > 0 && s.Start >= stack[len(stack)-1].end {
			stack = stack[:len(stack)-1]
		}
		end := s.End()
		if n := len(stack); n > 0 { // shorten a span that ends a few ns after the enclosing span
			end = min(end, stack[n-1].end)
			stack[n-1].row.SelfCPU -= end - s.Start
			if gpu := o.device[s.Corr]; call && s.Corr != 0 && gpu > 0 {
				stack[n-1].row.SelfGPU += gpu
				for _, outer := range stack {
					outer.row.GPU += gpu
				}
			}
		}
		row := o.row(s)
		row.Calls++
		row.CPU += end - s.Start
		row.SelfCPU += end - s.Start
		stack = append(stack, open{row, end})
	}
}

// Limits in torch's tables: the number of rows, and the number of characters of a name and of shapes.
const mostRows, mostName, mostShapes = 100, 55, 80

// String formats the table in the same way as torch.profiler.
func (t *OperatorTable) String() string {
	header := []string{"Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "Self CUDA", "Self CUDA %", "CUDA total", "CUDA time avg", "# of Calls"}
	shapes := slices.ContainsFunc(t.Rows, func(o Operator) bool { return o.Shapes != "" })
	if shapes {
		header = append(header, "Input Shapes")
	}
	var rows [][]string
	for _, o := range t.Rows[:min(len(t.Rows), mostRows)] {
		row := []string{
			short(o.Name, mostName), percent(o.SelfCPU, t.CPU), torchTime(o.SelfCPU), percent(o.CPU, t.CPU), torchTime(o.CPU), torchTime(o.CPU / int64(o.Calls)),
			torchTime(o.SelfGPU), percent(o.SelfGPU, t.GPU), torchTime(o.GPU), torchTime(o.GPU / int64(o.Calls)), strconv.Itoa(o.Calls),
		}
		if shapes {
			row = append(row, short(o.Shapes, mostShapes))
		}
		rows = append(rows, row)
	}
	lines := columns.Table(columns.ASCII, columns.All(columns.AlignRight, header...), rows)
	if n := len(t.Rows) - mostRows; n > 0 {
		lines = append(lines, fmt.Sprintf("(%d rows more)", n))
	}
	return strings.Join(append(lines, "Self CPU time total: "+torchTime(t.CPU), "Self CUDA time total: "+torchTime(t.GPU), ""), "\n")
}

func short(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most-3] + "..."
}

func percent(part, all int64) string {
	if all == 0 {
		return "0.00%"
	}
	return fmt.Sprintf("%.2f%%", 100*float64(part)/float64(all))
}

// torchTime formats a time in the same way as torch.profiler.
func torchTime(ns int64) string {
	switch us := float64(ns) / 1e3; {
	case us >= 1e6:
		return fmt.Sprintf("%.3fs", us/1e6)
	case us >= 1e3:
		return fmt.Sprintf("%.3fms", us/1e3)
	default:
		return fmt.Sprintf("%.3fus", us)
	}
}
