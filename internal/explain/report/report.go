// Package report renders a result.Report as text for a terminal, Markdown for a merge request, JSON, and one
// self-contained HTML page.
//
// Text, Markdown and HTML render the same tables (table.go), so a figure has the same form in all outputs. Only this
// package adds units to numbers, through package metric.
package report

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/result"
)

// Options controls the amount and the form of the output. The zero value is suitable for a log file.
type Options struct {
	Width int  // width of the terminal in columns; 0 means 100
	Color bool // ANSI colours (Text only)
	Top   int  // rows per table; 0 means 10
	All   bool // all rows, all evidence
	// Layers requests all rows of the layer-wise tables.
	Layers bool
	// Full requests all tables, Tables only the tables with these names (Text only). All implies Full.
	Full   bool
	Tables []string
}

// TableNames are the names of all tables, in order.
var TableNames = []string{
	"times", "idle", "stages", "steps", "ranks", "balance", "path", "collectives", "layer-wise", "layers", "modules", "light", "light-modules", "light-changes", "classes", "kernels",
	"gaps", "ops", "frames", "launches", "memory", "notes",
}

// choose returns the requested tables and the names of the other tables.
func (o Options) choose(all []*table) (shown []*table, other []string) {
	for _, t := range all {
		of := strings.HasPrefix(t.id, "layer") || t.id == "modules"
		if o.Full || o.All || o.Layers && of || slices.Contains(o.Tables, t.id) {
			shown = append(shown, t)
		} else {
			other = append(other, t.id)
		}
	}
	return shown, other
}

func (o Options) width() int {
	if o.Width <= 0 {
		return 100
	}
	return max(o.Width, 40)
}

// rows returns the maximum number of rows of a table; 0 means no limit.
func (o Options) rows() int {
	if o.All {
		return 0
	}
	if o.Top <= 0 {
		return 10
	}
	return o.Top
}

// allRanks is the label of rows that sum over all ranks, and the step kind of rows that cover all steps.
const allRanks = "all"

// sections returns the non-empty tables of a report, in order.
func sections(r *result.Report, limit int, layers bool) []*table {
	var out []*table
	layerLimit := limit
	if layers {
		layerLimit = 0
	}
	for _, t := range []*table{
		timesTable(r, limit),
		idleTable(r, limit),
		stagesTable(r, limit),
		stepsTable(r, limit),
		ranksTable(r, limit),
		balanceTable(r, limit),
		pathTable(r, limit),
		pathLayersTable(r, layerLimit),
		collectivesTable(r, limit),
		layerTotalsTable(r),
		layersTable(r, layerLimit),
		modulesTable(r, layerLimit),
		lightTable(r, limit),
		lightModulesTable(r, limit),
		lightChangesTable(r, limit),
		classesTable(r, limit),
		kernelsTable(r, limit),
		gapsTable(r, limit),
		opsTable(r.CPU.Ops, "ops", "CPU ops", limit),
		opsTable(r.CPU.Frames, "frames", "Python frames", limit),
		launchTable(r.CPU.Launch),
		memoryTable(r, limit),
		notesTable(r, limit),
	} {
		if len(t.rows) > 0 {
			t.prune()
			out = append(out, t)
		}
	}
	return out
}
