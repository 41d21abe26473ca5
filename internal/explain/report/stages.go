package report

import (
	"github.com/stepscope/stepscope/internal/explain/result"
)

// stagesTable returns the table of the stages of a diffusion pipeline, in the order in which the stages run.
func stagesTable(r *result.Report, limit int) *table {
	if limit > 0 {
		limit = max(limit, 2*pipelineStages) // show at least two ranks with all stages of a pipeline
	}
	rows, omitted := cut(r.Stages, limit, " rows, in order")
	t := &table{
		id: "stages", title: "Stages", omitted: omitted,
		lead: "Host time from the start of a stage to its end; work it launched may run on the GPU after that. Beyond fastest: excess over the fastest rank, without waits.",
		cols: []column{
			{name: "stage", flex: true, min: 16, code: true}, {name: "rank"}, {name: "times", right: true, drop: 5, help: "number of runs"},
			{name: "time", right: true, help: "on the host"}, {name: "share", right: true, help: "of the time of all stages of the rank"},
			{name: "", bar: true, drop: 4},
			{name: "GPU busy", right: true, help: "the GPU ran work launched by the stage"},
			{name: "wait", right: true, drop: 2, help: "waiting in its collectives for the last rank"},
			{name: "idle", right: true, drop: 1, help: "share of its time without GPU work"},
			{name: "beyond fastest", right: true, help: "excess of its time without waits over the fastest rank's"},
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

// pipelineStages is the number of stages of a text-to-image pipeline.
const pipelineStages = 6
