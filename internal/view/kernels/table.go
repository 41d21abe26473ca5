package kernels

import (
	"cmp"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/tables"
)

// Table is the result of a query, with the largest row first.
type Table struct {
	Rows   []Row `json:"rows"`
	Total  int64 `json:"total_ns"` // sum of all rows
	Steps  int   `json:"steps"`    // number of steps, over all ranks
	Total2 int64 `json:"other_total_ns"`
	Wait   int64 `json:"wait_ns"` // sum of the rows' waits, which Total does not include
	Wait2  int64 `json:"other_wait_ns"`
	Steps2 int   `json:"other_steps"` // 0: number of steps in the other capture; 0: there is none
}

// Row is one class, kernel, op, layer or frame.
type Row struct {
	Name  string `json:"name"` // for display
	Full  string `json:"full"` // full name; "": the same as Name
	Class string `json:"class"`
	Count int64  `json:"count"`    // number of kernels
	Total int64  `json:"total_ns"` // without Wait
	Wait  int64  `json:"wait_ns"`  // of a collective kernel: the time until the last rank arrived
	Self  int64  `json:"self_ns"`  // for ops, layers and frames: time launched directly, not by a nested one

	// The fields below are set for kernels only.
	Median int64   `json:"median_ns"`
	P99    int64   `json:"p99_ns"`
	Min    int64   `json:"min_ns"`
	Max    int64   `json:"max_ns"`
	TFLOPs float64 `json:"tflop_s"`
	GBs    float64 `json:"gb_s"`
	Spread float64 `json:"rank_spread"`
	Slow   string  `json:"slowest_rank"`
	Fast   string  `json:"fastest_rank"`
	Only   string  `json:"only_rank"` // the rank, if only one of several ranks runs it; otherwise ""

	// The fields below are known for some kernels of the shown capture: see Capture.explain of package view.
	Role    string `json:"role"`     // modules of the model whose main kernel this is
	Floor   int64  `json:"floor_ns"` // least time of these modules at the peaks of the device, in the selected steps
	Source  string `json:"source"`   // place in the program that launches it most often
	Sources string `json:"sources"`  // all of these places

	// The fields below are values of the other capture.
	Count2  int64 `json:"other_count"`
	Total2  int64 `json:"other_total_ns"`
	Self2   int64 `json:"other_self_ns"`
	Median2 int64 `json:"other_median_ns"`
	Wait2   int64 `json:"other_wait_ns"`

	same string // name that identifies the row in both captures
}

// Table evaluates a query as a table. If against is not nil, the rows also have the values of that other capture.
func (w *Work) Table(q Query, against *Work) *Table {
	out := &Table{Rows: w.rows(q), Steps: w.steps(q)}
	if against != nil {
		out.Steps2 = against.steps(q)
		out.Rows = beside(out.Rows, against.rows(q))
	}
	top := q.By == Class || q.By == Kernel
	for i := range out.Rows {
		r := &out.Rows[i]
		if top {
			r.Self, r.Self2 = r.Total, r.Total2
		}
		out.Wait += r.Wait
		out.Wait2 += r.Wait2
		out.Total += r.Self
		out.Total2 += r.Self2
	}
	per := func(r *Row) float64 {
		return max(float64(r.Total)/float64(max(out.Steps, 1)), float64(r.Total2)/float64(max(out.Steps2, 1)))
	}
	sorts.By(out.Rows, func(x, y Row) int { return cmp.Or(cmp.Compare(per(&y), per(&x)), cmp.Compare(x.Name, y.Name)) })
	return out
}

// rows evaluates a query for one capture.
func (w *Work) rows(q Query) []Row {
	switch q.By {
	case Class, Kernel:
		return w.kernelRows(q)
	}
	return w.nodeRows(q)
}

// kernelRows returns the rows for kernels, computed for the selected ranks as in the tables of analyze.
func (w *Work) kernelRows(q Query) []Row {
	classes, kernels := tables.Kernels(&match.Aligned{Ranks: w.ranks(q), Names: w.a.Names})
	kind := cmp.Or(q.Kind, "all")
	rows := []Row{}
	waits := w.waits(q)
	if q.By == Class {
		for i := range classes {
			if c := &classes[i]; c.Kind == kind {
				rows = append(rows, Row{Name: c.Class, Class: c.Class, Count: int64(c.Count), Total: c.Total - waits.ofClass[c.Class], same: c.Class})
			}
		}
		if waits.total > 0 {
			rows = append(rows, Row{Name: Waiting, Class: waitClass, Total: waits.total, same: Waiting})
		}
		return rows
	}
	for i := range kernels {
		if k := &kernels[i]; k.Kind == kind {
			row := kernelRow(k)
			if own := waits.ofKernel[k.Name]; own != nil {
				own.separate(&row)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func kernelRow(k *result.KernelRow) Row {
	r := Row{
		Name: columns.Clean(k.Short), Full: columns.Clean(k.Name), Class: k.Class, Count: int64(k.Count), Total: k.Total,
		Median: k.Median, P99: k.P99, Min: k.Min, Max: k.Max, TFLOPs: k.TFLOPs, GBs: k.GBs, Spread: k.Spread, Slow: columns.Clean(k.Slowest), Fast: columns.Clean(k.Fastest), Only: columns.Clean(k.Only), same: kernel.Normalize(k.Name),
	}
	if r.Full == r.Name {
		r.Full = ""
	}
	return r
}

// nodeRows sums up the nodes of each name, except kernels. The time of recursive calls counts once.
func (w *Work) nodeRows(q Query) []Row {
	t := w.tree(q.By)
	s := w.sum(t, q)
	rows, at := []Row{}, map[int32]int{}
	for n := int32(1); n < int32(len(t.parent)); n++ {
		name := t.name[n]
		if s.total[n] == 0 || t.kernel[n] {
			continue
		}
		i, ok := at[name]
		if !ok {
			i = len(rows)
			at[name] = i
			rows = append(rows, Row{Name: t.names[name], same: t.names[name]})
		}
		inside := false
		for p := t.parent[n]; p > 0 && !inside; p = t.parent[p] {
			inside = t.name[p] == name
		}
		if !inside {
			rows[i].Total += s.total[n]
			rows[i].Count += s.count[n]
		}
	}
	for n := int32(1); n < int32(len(t.parent)); n++ { // the kernels of a node are its children
		if s.self[n] > 0 {
			if i, ok := at[t.name[t.parent[n]]]; ok {
				rows[i].Self += s.self[n]
			}
		}
	}
	return rows
}

// beside joins the rows of two captures by name. A row that only b has gets zero values for a.
func beside(a, b []Row) []Row {
	at := make(map[string]int, len(a))
	for i := range a {
		if _, ok := at[a[i].same]; !ok {
			at[a[i].same] = i
		}
	}
	for i := range b {
		o := &b[i]
		k, ok := at[o.same]
		if !ok {
			k = len(a)
			at[o.same] = k
			a = append(a, Row{Name: o.Name, Full: o.Full, Class: o.Class, same: o.same})
		}
		a[k].Count2 += o.Count
		a[k].Total2 += o.Total
		a[k].Self2 += o.Self
		a[k].Wait2 += o.Wait
		a[k].Median2 = max(a[k].Median2, o.Median)
	}
	return a
}
