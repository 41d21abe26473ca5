package report

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// This file has the three tables of the layer-wise view, for captures with layer-wise markers.

// onDevice reports whether the report has GPU work. If it has none, the tables show host time.
func onDevice(r *result.Report) bool {
	return slices.ContainsFunc(r.Layers.Totals, func(t result.LayerTotal) bool { return t.GPU > 0 })
}

const layersOnHost = "No GPU work was recorded: these are lengths of markers on the host, per step and rank, including nested ones."

// cellIf returns c if shown is set, and a dash otherwise.
func cellIf(shown bool, c cell) cell {
	if !shown {
		return cell{text: dash, num: -1}
	}
	return c
}

func layerTotalsTable(r *result.Report) *table {
	t := &table{
		id: "layer-wise", title: "Coverage of layer-wise markers",
		lead: "Summed time of kernels and copies, the mean over steps and ranks; time outside steps covers the entire window. Kernels of replayed CUDA graphs have no markers of their own.",
		cols: []column{
			{name: "kind", help: "of steps"}, {name: "steps", right: true, help: "over all ranks", drop: 2}, {name: "GPU per step", right: true},
			{name: "in modules", right: true, help: "launched inside the marker of a module"}, {name: "elsewhere", right: true},
			{name: "in graphs", right: true, help: "of all, replayed by graph launches"},
			{name: "host per step", right: true, help: "length of the step on the host", drop: 1}, {name: "host in modules", right: true, drop: 1},
		},
	}
	gpu := onDevice(r)
	if !gpu {
		t.lead = layersOnHost
	}
	for _, g := range r.Layers.Graphs {
		if g.Known {
			t.lead += " In " + g.Kind + " steps " + share(g.Covered) + " of their kernels were assigned to layers " + graphWays[g.By] + "."
		}
	}
	for i := range r.Layers.Totals {
		l := &r.Layers.Totals[i]
		in := cellIf(l.Host > 0, shareCell(ratio(l.InRange, l.Host)))
		t.rows = append(t.rows, []cell{
			textCell(l.Kind), countCell(l.Steps), cellIf(gpu, durCell(l.GPU)), cellIf(gpu, shareCell(ratio(l.InModule, l.GPU))),
			cellIf(gpu, shareCell(ratio(l.GPU-l.InModule, l.GPU))), cellIf(gpu, shareCell(ratio(l.Graphs, l.GPU))),
			cellIf(l.Host > 0, durCell(l.Host)), in,
		})
	}
	return t
}

// graphWays describes the methods by which the layers of replayed graphs are found.
var graphWays = map[string]string{
	result.GraphsAligned: "by alignment with steps launched kernel by kernel",
	result.GraphsMotif:   "by the repeated block, numbered from the first",
	result.GraphsNode:    "by the numbers of nodes, as in other replays",
}

// cutEach keeps the rows with the longest times of each step kind, in their original order.
func cutEach[T any](rows []T, limit int, of func(*T) (kind string, share float64), noun string) ([]T, string) {
	if limit <= 0 || len(rows) <= limit {
		return rows, ""
	}
	by := map[string][]float64{}
	for i := range rows {
		k, s := of(&rows[i])
		by[k] = append(by[k], finite(s))
	}
	for _, s := range by {
		sorts.By(s, func(a, b float64) int { return cmp.Compare(b, a) })
	}
	var out []T
	taken := map[string]int{}
	for i := range rows {
		k, s := of(&rows[i])
		if n := min(limit, len(by[k])); finite(s) >= by[k][n-1] && taken[k] < limit {
			taken[k]++
			out = append(out, rows[i])
		}
	}
	if len(out) == len(rows) {
		return rows, ""
	}
	return out, leftOut(len(out), len(rows), noun)
}

func layersTable(r *result.Report, limit int) *table {
	rows, omitted := cutEach(r.Layers.Layers, limit, func(l *result.LayerRow) (string, float64) { return l.Kind, l.Share }, " layers: the longest of each kind of step; --layers shows all")
	t := &table{
		id: "layers", title: "Layers", omitted: omitted,
		lead: "Each with all modules in it: GPU time by the marker in which it was launched, per step and rank. × median: ratio to the median of the layers with the same modules, on the rank where it is largest.",
		cols: []column{
			{name: "kind", help: "of steps"}, {name: "layer", flex: true, min: 18, tail: true, code: true}, {name: "share", right: true, help: "of the GPU time of the step"},
			{name: "", bar: true, drop: 8}, {name: "GPU", right: true}, {name: "wait", right: true, drop: 4, help: "of it, waiting in collectives"},
			{name: "× median", right: true, drop: 1}, {name: "host", right: true, drop: 2, help: "length of its markers on the host"}, {name: "kernels", right: true, drop: 3},
			{name: "calls", right: true, page: true}, {name: "parameters", right: true, drop: 6, help: "elements, one rank's part"},
			{name: "spread", right: true, drop: 5, help: "own time of the slowest rank over the fastest's, minus 1"}, {name: "slowest", drop: 7, help: "rank"},
		},
	}
	longest := largest(rows, func(l *result.LayerRow) float64 { return l.Share })
	gpu := onDevice(r)
	if !gpu {
		t.lead = layersOnHost
	}
	for i := range rows {
		l := &rows[i]
		like := cell{text: dash, num: -1}
		if of := finite(l.OfLike); of > 0 {
			like = cell{text: strconv.FormatFloat(of, 'f', 2, 64), num: of}
		}
		t.rows = append(t.rows, []cell{
			textCell(l.Kind), textCell(l.Stack + "." + strconv.Itoa(l.Layer)), shareIf(l.Share), barCell(segment{"compute", ratio(finite(l.Share), longest)}),
			cellIf(gpu, durCell(l.GPU)), cellIf(gpu && l.Wait > 0, durCell(l.Wait)), like, durCell(l.Host), cellIf(gpu, meanCell(l.Kernels)), meanCell(l.Calls),
			elementsCell(l.Elements), spreadCell(l.Slowest, l.Spread), slowestCell(r, l.Slowest, l.Spread),
		})
	}
	return t
}

func modulesTable(r *result.Report, limit int) *table {
	rows, omitted := cutEach(r.Layers.Modules, limit, func(m *result.ModuleRow) (string, float64) { return m.Kind, m.Share }, " modules: the longest of each kind of step; --layers shows all")
	t := &table{
		id: "modules", title: "Modules by kind", omitted: omitted,
		lead: "Sums over layers, per step and rank. GPU includes nested modules, self does not. Parameters are elements (types are not recorded) of all layers on one rank.",
		cols: []column{
			{name: "kind", help: "of steps"}, {name: "module", flex: true, min: 24, tail: true, code: true}, {name: "share", right: true, help: "of the GPU time of the step"},
			{name: "", bar: true, page: true}, {name: "GPU", right: true}, {name: "self", right: true, help: "launched in no marker inside it"},
			{name: "wait", right: true, page: true, help: "of it, waiting in collectives"},
			{name: "calls", right: true, drop: 3}, {name: "each", right: true, drop: 1, help: "of one call"}, {name: "kernels", right: true, drop: 6},
			{name: "main class", drop: 7, help: "class of kernels with the most time in it"}, {name: "host", right: true, drop: 2, help: "length of its markers on the host"},
			{name: "host self", right: true, page: true}, {name: "parameters", right: true, drop: 4}, {name: "inputs", drop: 5, help: "sizes, the most frequent"},
			{name: "variants", right: true, page: true, help: "of inputs"}, {name: "TFLOP/s", right: true, drop: 8, help: "of linear layers, over their matrix products"},
			{name: "spread", right: true, drop: 9, help: "own time of the slowest rank over the fastest's, minus 1"}, {name: "slowest", page: true, help: "rank"},
			{name: "settings", page: true, code: true},
		},
	}
	longest := largest(rows, func(m *result.ModuleRow) float64 { return m.Share })
	gpu := onDevice(r)
	if !gpu {
		t.lead = layersOnHost
	}
	for i := range rows {
		m := &rows[i]
		inputs := cmp.Or(m.Inputs, dash)
		if m.Varied > 1 {
			inputs += " …"
		}
		t.rows = append(t.rows, []cell{
			textCell(m.Kind), textCell(m.Name), shareIf(m.Share), barCell(segment{"compute", ratio(finite(m.Share), longest)}),
			cellIf(gpu, durCell(m.GPU)), cellIf(gpu, durCell(m.Self)), cellIf(gpu && m.Wait > 0, durCell(m.Wait)),
			meanCell(m.Calls), durCell(m.Each), cellIf(gpu, meanCell(m.Kernels)), textCell(cmp.Or(m.Class, dash)), durCell(m.Host), durCell(m.HostSelf),
			elementsCell(m.Elements), nameCell(shortenName(columns.Clean(inputs), 28), inputs), countCell(m.Varied), rateCell(m.TFLOPs),
			spreadCell(m.Slowest, m.Spread), slowestCell(r, m.Slowest, m.Spread), longCell(m.Static),
		})
	}
	return t
}

// meanCell shows a count per step, with decimals only if it is not a whole number.
func meanCell(v float64) cell {
	v = finite(v)
	if v == float64(int64(v)) {
		return countCell(int64(v))
	}
	return cell{text: three(v), num: v}
}

// elementsCell shows a number of elements in the form 58.7 M.
func elementsCell(n int64) cell {
	if n <= 0 {
		return cell{text: dash, num: -1}
	}
	for _, u := range []struct {
		name string
		size float64
	}{{" G", 1e9}, {" M", 1e6}, {" k", 1e3}} {
		if float64(n) >= u.size {
			return cell{text: three(float64(n)/u.size) + u.name, num: float64(n)}
		}
	}
	return countCell(n)
}

// shareIf shows a share, or a dash if the share is 0. A share is 0 if there is no total, as for host time outside
// steps.
func shareIf(f float64) cell { return cellIf(finite(f) > 0, shareCell(f)) }

func spreadCell(slowest int, spread float64) cell { return cellIf(slowest >= 0, excessCell(spread)) }

// slowestCell names the slowest rank only if its time differs from the times of the other ranks.
func slowestCell(r *result.Report, slowest int, spread float64) cell {
	if slowest < 0 || finite(spread) < 0.02 {
		return cell{text: dash, num: -1}
	}
	return cell{text: rankName(r, slowest), num: float64(slowest)}
}
