package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// mean is the time of a step: the mean over the step's ranks, and the period of the slowest rank.
type mean struct {
	period, cpu, total, hostGap int64
	kernels                     int
	parts
}

func meanOf(s *result.Step) mean {
	var m mean
	n := int64(len(s.Ranks))
	if n == 0 {
		return m
	}
	for i := range s.Ranks {
		sr := &s.Ranks[i]
		p := split(&sr.Time)
		m.period = max(m.period, sr.Period)
		m.cpu += sr.CPU
		m.total += sr.Total
		m.hostGap += sr.HostGap
		m.kernels += sr.Kernels
		m.compute += p.compute
		m.transfer += p.transfer
		m.wait += p.wait
		m.unrecorded += p.unrecorded
		m.copy += p.copy
		m.idle += p.idle
	}
	for _, v := range []*int64{&m.cpu, &m.total, &m.hostGap, &m.compute, &m.transfer, &m.wait, &m.unrecorded, &m.copy, &m.idle} {
		*v /= n
	}
	m.kernels /= int(n)
	return m
}

// excerpt returns the indices of at most 2×limit steps, in ascending order: the first and last steps, the first steps
// of findings, and the slowest steps.
func excerpt(r *result.Report, limit int) []int {
	n := len(r.Steps)
	if limit <= 0 || n <= 2*limit {
		return seq(n)
	}
	picked := map[int]bool{}
	add := func(i int) {
		if i >= 0 && i < n && len(picked) < 2*limit {
			picked[i] = true
		}
	}
	at := make(map[int]int, n)
	for i := range r.Steps {
		at[r.Steps[i].Step] = i
	}
	for _, i := range []int{0, n - 1} {
		add(i)
	}
	for _, f := range r.Findings {
		if i, ok := at[f.FirstStep]; ok && f.FirstStep > 0 && len(picked) < limit {
			add(i - 1)
			add(i)
		}
	}
	slow := slices.DeleteFunc(seq(n), func(i int) bool { return !r.Steps[i].Slow })
	slow, _ = ranked(slow, limit, "", func(i *int) float64 { return finite(r.Steps[*i].SlowBy) })
	for _, i := range slow {
		add(i)
	}
	for i := 1; len(picked) < limit && i < n; i++ {
		add(i)
	}
	return slices.Sorted(maps.Keys(picked))
}

func seq(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func stepsTable(r *result.Report, limit int) *table {
	t := &table{
		id: "steps", title: "Steps",
		lead: "Means over ranks. length: from the start of a step to that of the next, on the slowest rank. slow: its length over the median of similar steps (same kind and batch size, tokens alike).",
		cols: []column{
			{name: "step", right: true}, {name: "stage", drop: 6}, {name: "kind"},
			{name: "batch", right: true, drop: 3}, {name: "tokens", right: true, drop: 4}, {name: "ranks", right: true, page: true},
			{name: "length", right: true}, {name: "host", right: true, page: overall(r) != nil, help: "length of the step on the host"}, {name: "busy", right: true, help: "share of the time in which the GPU did anything"},
			{name: "compute", right: true}, {name: "transfer", right: true, drop: 2}, {name: "wait", right: true},
			{name: unrecorded, right: true, drop: 3, help: unrecordedHelp},
			{name: "host gap", right: true, drop: 5, help: "idle because the host launched late"},
			{name: "kernels", right: true, drop: 7}, {name: "slow", right: true}, {name: "why", flex: true, min: 24, wrap: true, drop: 1},
			{name: "name", code: true, page: true},
		},
	}
	idx := excerpt(r, limit)
	slow := 0
	for i := range r.Steps {
		if r.Steps[i].Slow {
			slow++
		}
	}
	shown, last := 0, -1
	device := overall(r) != nil
	gpu := func(c cell) cell { return cellIf(device, c) }
	for _, i := range idx {
		s := &r.Steps[i]
		if limit > 0 && limit < pageRows && i > last+1 && last >= 0 { // the excerpt omits the steps between last and i
			hole := make([]cell, len(t.cols))
			hole[0] = cell{text: "⋮"}
			t.rows = append(t.rows, hole)
		}
		last = i
		m := meanOf(s)
		by := ""
		if s.Slow {
			shown++
			by = "×" + strconv.FormatFloat(1+finite(s.SlowBy), 'f', 2, 64)
		}
		t.rows = append(t.rows, []cell{
			{text: strconv.Itoa(s.Step), num: float64(s.Step)}, textCell(s.Stage), textCell(s.Kind),
			countCell(s.Batch), countCell(s.Tokens), countCell(len(s.Ranks)),
			durCell(m.period), durCell(m.cpu), gpu(shareCell(ratio(m.total-m.idle, m.total))),
			gpu(durCell(m.compute)), gpu(durCell(m.transfer)), gpu(durCell(m.wait)), cellIf(device && m.unrecorded > 0, durCell(m.unrecorded)), gpu(durCell(m.hostGap)),
			gpu(countCell(m.kernels)), {text: by, num: finite(s.SlowBy)}, textCell(Words(s.Why)), textCell(s.Name),
		})
	}
	if len(idx) < len(r.Steps) {
		t.omitted = leftOut(len(idx), len(r.Steps), " steps: the first and last, starts of findings, slow ones")
		if slow > shown {
			t.omitted += fmt.Sprintf(" (%s more slow)", metric.Count(slow-shown))
		}
	}
	return t
}
