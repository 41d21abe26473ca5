package report

import (
	"cmp"
	"path"
	"slices"
	"strconv"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// rankName returns the label of the rank with index i. An index outside the report's ranks is returned as a number.
func rankName(r *result.Report, i int) string {
	if i >= 0 && i < len(r.Source.Ranks) {
		return r.Source.Ranks[i]
	}
	return "#" + strconv.Itoa(i)
}

func ranksTable(r *result.Report, limit int) *table {
	rows := slices.Clone(r.Ranks)
	if limit > 0 && len(rows) > limit {
		named := map[int]bool{}
		for _, f := range r.Findings {
			for _, i := range f.Ranks {
				named[i] = true
			}
		}
		sorts.Stable(rows, func(a, b result.RankRow) int {
			if named[a.Rank] != named[b.Rank] {
				if named[a.Rank] {
					return -1
				}
				return 1
			}
			return cmp.Compare(b.Caused, a.Caused)
		})
	}
	rows, omitted := cut(rows, limit, " ranks: those of findings, then by the waits they caused")
	t := &table{
		id: "ranks", title: "Ranks", omitted: omitted,
		lead: ranksLead(r),
		cols: []column{
			{name: "rank"}, {name: "stage", drop: 5}, {name: "steps", right: true, drop: 4}, {name: "per step", right: true},
			{name: "own work", right: true, help: "kernels and copies, without communication"}, {name: "wait", right: true, help: "waiting in collectives for the last rank"},
			{name: "made others wait", right: true, help: "time that the other ranks waited for it"},
			{name: "host gap", right: true, drop: 1, help: "idle because the host launched late"},
			{name: "kernels", right: true, drop: 2}, {name: "last", right: true, help: "share of the collectives at which it arrived last"},
			{name: "of", right: true, drop: 1, help: "matched collectives that it took part in"},
			{name: "clock", right: true, drop: 3, help: "shift added to its clock, with its error"},
			{name: "file", code: true, page: true},
		},
	}
	for i := range rows {
		row := &rows[i]
		name := cmp.Or(row.Name, rankName(r, row.Rank))
		t.rows = append(t.rows, []cell{
			{text: columns.Clean(name), num: float64(row.Rank)}, textCell(row.Stage), countCell(row.Steps), durCell(row.Period),
			durCell(row.Work), durCell(row.Wait), durCell(row.Caused), durCell(row.HostGap), countCell(row.Kernels),
			cellIf(row.Collectives != 0, shareCell(ratio(row.Last, row.Collectives))), countCell(row.Collectives),
			clockCell(row), nameCell(path.Base(row.File), row.File),
		})
		if row.File == "" {
			t.rows[i][12] = textCell(dash)
		}
	}
	return t
}

// ranksLead describes the table of ranks and the accuracy of the clock comparisons in the table.
func ranksLead(r *result.Report) string {
	lead := "Medians over steps. A late rank waits little itself and makes the others wait."
	if clocks := Words(r.Source.Clocks); clocks != "" && len(r.Ranks) > 1 {
		lead += " The ranks' clocks " + columns.Clean(clocks) + "."
	}
	return lead
}

func clockCell(row *result.RankRow) cell {
	off := row.ShiftError
	if c := &row.Clock; !c.Assumed && c.Low < c.High {
		off = max(-c.Low, c.High)
	}
	if row.ShiftNS == 0 && off == 0 {
		return cell{text: dash}
	}
	s := metric.Duration(row.ShiftNS)
	if row.ShiftNS > 0 {
		s = "+" + s
	}
	if off > 0 {
		s += " ± " + metric.Duration(off)
	}
	return cell{text: s, num: float64(row.ShiftNS)}
}

func peak(m *result.MemorySeries) float64 { return float64(m.Peak) }

func memoryTable(r *result.Report, limit int) *table {
	rows, omitted := ranked(r.Memory, limit, " series, by peak", peak)
	t := &table{
		id: "memory", title: "Memory", omitted: omitted,
		cols: []column{
			{name: "rank"}, {name: "device"}, {name: "peak", right: true}, {name: "at", right: true, help: "since the start of the capture"},
			{name: "allocations", right: true, drop: 1}, {name: "during", flex: true, code: true, help: "the CPU op that was running at the peak"},
		},
	}
	for i := range rows {
		m := &rows[i]
		t.rows = append(t.rows, []cell{
			{text: rankName(r, m.Rank), num: float64(m.Rank)}, textCell(m.Device), bytesCell(m.Peak),
			durCell(m.PeakAt), countCell(m.Allocs), textCell(m.PeakOp),
		})
	}
	return t
}

func notesTable(r *result.Report, limit int) *table {
	worth := map[string]int{"loss": 2, "warning": 1}
	rows := slices.Clone(r.Notes)
	sorts.Stable(rows, func(a, b result.Note) int { return worth[b.Severity] - worth[a.Severity] })
	rows, omitted := cut(rows, limit, " notes, the most important first")
	t := &table{
		id: "notes", title: "Notes", omitted: omitted, lead: "Limitations of the figures above.",
		cols: []column{{name: ""}, {name: "times", right: true, drop: 1}, {name: "note", flex: true, wrap: true, min: 30}, {name: "about", flex: true, code: true, drop: 1}},
	}
	for i := range rows {
		n := &rows[i]
		t.rows = append(t.rows, []cell{
			{text: n.Severity, num: float64(worth[n.Severity])}, countCell(n.Count), textCell(Words(n.Text)), nameCell(path.Base(n.Source), n.Source),
		})
		if n.Source == "" {
			t.rows[i][3] = cell{}
		}
	}
	return t
}
