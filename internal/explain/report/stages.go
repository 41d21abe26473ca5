package report

import (
	"github.com/stepscope/stepscope/internal/explain/result"
)

// stagesTable shows the stages of a diffusion pipeline, as they come.
func stagesTable(r *result.Report, limit int) *table {
	if limit > 0 {
		limit = max(limit, 2*pipelineStages) // two ranks of a whole pipeline
	}
	rows, omitted := cut(r.Stages, limit, " rows, as they come")
	t := &table{
		id: "stages", title: "Stages", omitted: omitted,
		lead: "Time on the host, from a stage's begin to its end; what it launched may run on the device later than that. Beyond fastest: how much longer a rank took than the fastest one, waiting for others left out.",
		cols: []column{
			{name: "stage", flex: true, min: 16, code: true}, {name: "rank"}, {name: "times", right: true, drop: 5, help: "that it ran"},
			{name: "time", right: true, help: "on the host"}, {name: "share", right: true, help: "of the time of all stages of the rank"},
			{name: "", bar: true, drop: 4},
			{name: "GPU busy", right: true, help: "the device ran what the stage launched"},
			{name: "wait", right: true, drop: 2, help: "waiting in its collectives for the last rank"},
			{name: "idle", right: true, drop: 1, help: "of its time: the device did nothing"},
			{name: "beyond fastest", right: true, help: "its time without waits, beyond that of the fastest rank"},
			{name: "made others wait", right: true, drop: 3, help: "in collectives at which it arrived last"},
		},
	}
	gpu, several := overall(r) != nil, len(r.Source.Ranks) > 1
	for i := range rows {
		row := &rows[i]
		t.rows = append(t.rows, []cell{
			textCell(row.Stage), textCell(rankName(r, row.Rank)), countCell(row.Count),
			durCell(row.Host), shareCell(row.Share), barCell(segment{"compute", row.Share}),
			cellIf(gpu, durCell(row.Busy)), cellIf(gpu && several, durCell(row.Wait)),
			cellIf(gpu, shareCell(ratio(row.Idle, row.Host))),
			cellIf(gpu && several, durCell(row.Beyond)), cellIf(gpu && several, durCell(row.Caused)),
		})
	}
	return t
}

// pipelineStages is how many stages a pipeline that makes pictures of text has.
const pipelineStages = 6
