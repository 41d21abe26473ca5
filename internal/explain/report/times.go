package report

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// parts splits a Time into parts, in ns, that sum up to the total of the Time. All waiting counts as exposed
// communication, since a rank that waits has no work.
type parts struct {
	compute, transfer, wait, unrecorded, copy, idle int64
}

func split(t *result.Time) parts {
	return parts{compute: t.Compute, transfer: t.Transfer(), wait: t.ExposedWait, unrecorded: t.Unrecorded, copy: t.ExposedCopy, idle: t.Idle}
}

func (p parts) segments(total int64) []segment {
	return []segment{
		{"compute", ratio(p.compute, total)},
		{"transfer", ratio(p.transfer, total)},
		{"wait", ratio(p.wait, total)},
		{"unrecorded", ratio(p.unrecorded, total)},
		{"copy", ratio(p.copy, total)},
		{"idle", ratio(p.idle, total)},
	}
}

// idleParts returns the parts of idle time by cause. The causes have the names of Gap.Cause.
func idleParts(i *result.Idle) []struct {
	name string
	ns   int64
} {
	return []struct {
		name string
		ns   int64
	}{
		{"host", i.Host}, {"sync", i.Sync}, {"launch", i.Launch},
		{"device", i.Device}, {"profiler", i.Profiler}, {"unknown", i.Unknown}, {"peers", i.Peers}, {"between", i.Between},
	}
}

func idleSegments(i *result.Idle, total int64) []segment {
	var out []segment
	for _, p := range idleParts(i) {
		out = append(out, segment{p.name, ratio(p.ns, total)})
	}
	return out
}

// mostly returns the largest cause of idle time with the cause's share of all idle time.
func mostly(t *result.Time) string {
	if t.Idle <= 0 {
		return ""
	}
	name, most := "", int64(0)
	for _, p := range idleParts(&t.IdleBy) {
		if p.ns > most {
			name, most = p.name, p.ns
		}
	}
	if name == "" {
		return ""
	}
	return name + " " + metric.Percent(ratio(most, t.Idle))
}

// pickTimes selects and orders the rows. First come the rows over all ranks, one per step kind; then the rows of each
// rank over all kinds; then the rest. If there is only one kind, the rows of kind "all" are dropped.
func pickTimes(r *result.Report, limit int) ([]result.TimeRow, string) {
	kinds := map[string]bool{}
	for _, t := range r.Times {
		if t.Kind != allRanks {
			kinds[t.Kind] = true
		}
	}
	single := len(kinds) == 1
	class := func(t *result.TimeRow) int {
		whole := t.Kind == allRanks || single
		switch {
		case t.Rank == allRanks:
			return 0
		case whole:
			return 1
		}
		return 2
	}
	ranks := map[string]bool{}
	var rows []result.TimeRow
	for _, t := range r.Times {
		if t.Rank != allRanks {
			ranks[t.Rank] = true
		}
		if !single || t.Kind != allRanks {
			rows = append(rows, t)
		}
	}
	sorts.Stable(rows, func(a, b result.TimeRow) int { return class(&a) - class(&b) })
	if len(ranks) == 1 { // with one rank, the sum over ranks equals the rank's row
		rows = slices.DeleteFunc(rows, func(t result.TimeRow) bool { return t.Rank == allRanks })
	}
	if limit > 0 && len(rows) > limit {
		short := slices.Clone(rows)
		short = slices.DeleteFunc(short, func(t result.TimeRow) bool { return class(&t) == 2 })
		if len(short) > limit+len(kinds)+1 {
			short = short[:limit+len(kinds)+1]
		}
		if len(short) < len(rows) {
			return short, leftOut(len(short), len(rows), " rows, without ranks by kind of step")
		}
	}
	return rows, ""
}

// perStep returns the mean length of a row's steps, in ns. The row for all ranks is the sum over the ranks, so perStep
// divides this row by the total number of steps of all ranks.
func perStep(r *result.Report, t *result.TimeRow) int64 {
	if t.Rank != allRanks {
		return int64(ratio(t.Total, t.Steps))
	}
	var total int64
	steps := 0
	for i := range r.Times {
		if o := &r.Times[i]; o.Rank != allRanks && o.Kind == t.Kind {
			total += o.Total
			steps += o.Steps
		}
	}
	if steps == 0 {
		return int64(ratio(t.Total, t.Steps))
	}
	return int64(ratio(total, steps))
}

var timeSegments = []string{"compute", "transfer", "wait", "unrecorded", "copy", "idle"}

const (
	unrecorded     = "unrecorded" // the part of communication in which another rank was not recorded
	unrecordedHelp = "communication while another rank was not recorded, at the start or end of the window"
)

// legend returns the parts of time that occur.
func legend(t *result.Time) []string {
	if t != nil && t.Unrecorded > 0 {
		return timeSegments
	}
	return slices.DeleteFunc(slices.Clone(timeSegments), func(s string) bool { return s == unrecorded })
}

func timesTable(r *result.Report, limit int) *table {
	rows, omitted := pickTimes(r, limit)
	t := &table{
		id: "times", title: "Where the time goes", omitted: omitted, legend: legend(overall(r)),
		lead: "Shares of step time on the GPU. Overlap counts once: communication and copies count only while nothing computes. Wait is the part of communication before the last rank arrives.",
		cols: []column{
			{name: "rank"}, {name: "kind", help: "of steps"}, {name: "steps", right: true, drop: 2},
			{name: "per step", right: true, help: "mean length of a step"},
			{name: "", bar: true, drop: 4},
			{name: "compute", right: true}, {name: "transfer", right: true, help: "exposed communication, without waiting"},
			{name: "wait", right: true}, {name: unrecorded, right: true, help: unrecordedHelp}, {name: "copy", right: true, drop: 1}, {name: "idle", right: true},
			{name: "main idle cause", drop: 5, help: "the largest cause of idle time, and its share of idle time"},
			{name: "hidden comm", right: true, page: true, help: "communication overlapped by compute"},
		},
	}
	if overall(r) == nil {
		rows = nil // no GPU work was recorded
	}
	for i := range rows {
		row := &rows[i]
		p := split(&row.Time)
		t.rows = append(t.rows, []cell{
			textCell(row.Rank), textCell(row.Kind), countCell(row.Steps), durCell(perStep(r, row)),
			barCell(p.segments(row.Total)...),
			shareCell(ratio(p.compute, row.Total)), shareCell(ratio(p.transfer, row.Total)), shareCell(ratio(p.wait, row.Total)),
			cellIf(p.unrecorded > 0, shareCell(ratio(p.unrecorded, row.Total))), shareCell(ratio(p.copy, row.Total)), shareCell(ratio(p.idle, row.Total)), textCell(mostly(&row.Time)),
			shareCell(ratio(row.HiddenComm, row.Total)),
		})
	}
	return t
}

// idleTable returns the table that splits idle time by cause. Bars show shares of a rank's whole time, so a longer bar
// means more idle time.
func idleTable(r *result.Report, limit int) *table {
	rows, omitted := pickTimes(r, limit)
	t := &table{
		id: "idle", title: "Why the GPUs idle", omitted: omitted,
		legend: []string{"host", "sync", "launch", "device", "profiler", "unknown"},
		lead:   "Shares of step time on the GPU. host: nothing launched yet; sync: the host was blocked in a synchronisation call; launch: in the launch call or on the way to the GPU; device: launched in time, started late.",
		cols:   []column{{name: "rank"}, {name: "kind", help: "of steps"}, {name: "idle per step", right: true}, {name: "", bar: true, drop: 3}},
	}
	if slices.ContainsFunc(r.Gaps, func(g result.Gap) bool { return g.Host.Key == "did_no_core" }) {
		t.lead += " Here host includes time in which no core ran a software device."
	}
	if slices.ContainsFunc(rows, func(t result.TimeRow) bool { return t.IdleBy.Peers > 0 }) {
		t.legend = append(t.legend, "peers")
		t.lead += " peers: the host waited for other ranks in a host collective (gloo)."
	}
	if slices.ContainsFunc(rows, func(t result.TimeRow) bool { return t.IdleBy.Between > 0 }) {
		t.legend = append(t.legend, "between")
		t.lead += " between: the trace shows no pending step."
	}
	for _, name := range t.legend {
		c := column{name: name, right: true}
		if slices.Contains([]string{"profiler", "unknown", "peers", "between"}, name) {
			c.drop = 2
		}
		t.cols = append(t.cols, c)
	}
	idle := false
	for i := range rows {
		row := &rows[i]
		idle = idle || row.Idle > 0
		cells := []cell{
			textCell(row.Rank), textCell(row.Kind),
			durCell(int64(float64(perStep(r, row)) * ratio(row.Idle, row.Total))),
			barCell(idleSegments(&row.IdleBy, row.Total)...),
		}
		for _, p := range idleParts(&row.IdleBy) {
			if slices.Contains(t.legend, p.name) {
				cells = append(cells, shareCell(ratio(p.ns, row.Total)))
			}
		}
		t.rows = append(t.rows, cells)
	}
	if !idle {
		t.rows = nil
	}
	return t
}
