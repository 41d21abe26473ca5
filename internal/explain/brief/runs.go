package brief

import (
	"fmt"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/columns"
)

// Run is one run of a list, as text.
type Run struct {
	ID      string    `json:"id"`
	What    string    `json:"what"` // tool or kind, with tags
	Created time.Time `json:"created"`
	Model   string    `json:"model"`
	Status  string    `json:"status"`
	Numbers string    `json:"numbers"`           // the most important figures
	Problem string    `json:"problem,omitempty"` // why the run failed or is unreadable
}

// list of runs.
type runList struct {
	Format  int       `json:"format"`
	Dir     string    `json:"dir"`
	Total   int       `json:"total"`
	Runs    []Run     `json:"runs"`
	Omitted []Omitted `json:"omitted"`
}

// Runs answers with a list of runs, newest first, in at most limit bytes. total is the number of runs including those
// that the caller has left out, and more is the command that lists all.
func Runs(dir string, runs []Run, total int, more string, limit int) *Answer {
	all := append([]Run{}, runs...)
	for i := range all {
		r := &all[i]
		r.ID, r.What, r.Model, r.Status, r.Numbers, r.Problem = name(r.ID), name(r.What), name(r.Model), name(r.Status), name(r.Numbers), name(r.Problem)
		r.Created = r.Created.UTC().Truncate(time.Second)
	}
	a := &Answer{limit: limit, build: func(m amount) content {
		l := &runList{Format: 1, Dir: Cut(dir, nameBytes), Total: total, Runs: all[:m.findings], Omitted: []Omitted{}}
		l.Omitted = omit(l.Omitted, total-len(l.Runs), "older runs", columns.Clean(more))
		return l
	}}
	for n := len(all); n >= 0; n -= max(n/16, 1) {
		a.amounts = append(a.amounts, amount{findings: n})
	}
	return a
}

func (l *runList) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s in %s, newest first\n", plural(l.Total, "run"), l.Dir)
	var rows [][]string
	for _, r := range l.Runs {
		rows = append(rows, []string{r.ID, r.Created.Format(time.RFC3339), r.What, r.Model, r.Status, strings.Trim(r.Numbers+"; "+r.Problem, "; ")})
	}
	if len(rows) > 0 {
		table(&b, []string{"id", "when", "what", "model", "status", "key numbers"}, rows)
	}
	omittedText(&b, l.Omitted)
	return b.String()
}
