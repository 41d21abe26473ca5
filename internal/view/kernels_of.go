package view

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/view/kernels"
)

// explain adds figures of the report to the rows of kernels: the places in the program that launch them, and the modules
// of the model whose main kernels they are. Floors are those of these modules.
func (c *Capture) explain(q kernels.Query, rows []kernels.Row) {
	at := make(map[string]*kernels.Row, len(rows))
	for i := range rows {
		r := &rows[i]
		if name := r.Full; name != "" {
			at[name] = r
		} else {
			at[r.Name] = r
		}
	}
	for i := range c.Report.Kernels {
		k := &c.Report.Kernels[i]
		if r := at[columns.Clean(k.Name)]; r != nil && k.Kind == "all" {
			r.Source, r.Sources = report.Source(k)
		}
	}
	for i := range c.Report.Light.Modules {
		m := &c.Report.Light.Modules[i]
		r := at[columns.Clean(m.Kernel)]
		if r == nil || m.Floor == 0 || q.Kind != "" && m.Kind != q.Kind || q.Rank >= 0 && m.Rank != c.Report.Source.Ranks[q.Rank] {
			continue
		}
		if roles := strings.Split(r.Role, ", "); r.Role == "" {
			r.Role = columns.Clean(m.Module)
		} else if name := columns.Clean(m.Module); !slices.Contains(roles, name) {
			r.Role += ", " + name
		}
		r.Floor += m.Floor
	}
}
