package runs

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/columns"
)

// Listing is a selection of the runs below a root, newest first.
type Listing struct {
	Format int     `json:"format"`
	Dir    string  `json:"dir"`
	Total  int     `json:"total"` // number of runs, including those left out of the selection
	Runs   []Entry `json:"runs"`
}

// Row is a run of a list as text.
type Row struct {
	ID      string
	What    string // tool or kind, with tags
	Created time.Time
	Model   string
	Status  string
	Numbers string // the most important figures
}

// Rows returns the runs as text.
func (l *Listing) Rows() (rows []Row) {
	for _, r := range l.Runs {
		what := cmp.Or(r.Tool, r.Kind)
		if len(r.Tags) > 0 {
			what += " [" + strings.Join(r.Tags, ", ") + "]"
		}
		var numbers []string
		for _, n := range r.Numbers[:min(3, len(r.Numbers))] {
			numbers = append(numbers, n.Name+" "+figure(n))
		}
		rows = append(rows, Row{r.ID, what, r.Created, r.Model, string(r.Status), strings.Join(numbers, ", ")})
	}
	return rows
}

// Print writes the list for people.
func (l *Listing) Print(w io.Writer) error {
	rows := [][]string{{"ID", "WHEN", "WHAT", "MODEL", "STATUS", "KEY NUMBERS"}}
	for _, r := range l.Rows() {
		rows = append(rows, []string{r.ID, when(r.Created), r.What, tail(r.Model, 32), r.Status, r.Numbers})
	}
	err := columns.Left(w, rows)
	if older := l.Total - len(l.Runs); older > 0 && err == nil {
		_, err = fmt.Fprintf(w, "%d older runs; --limit 0 lists all\n", older)
	}
	return err
}

// tail shortens a path by cutting off its beginning, because the end of a path is more informative.
func tail(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return "…" + string(r[len(r)-most+1:])
	}
	return s
}

func when(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// figure formats a number with its unit to about four digits. Counts are formatted without decimals.
func figure(n Number) string {
	decimals := 3
	if (n.Unit == "" || n.Unit == "req") && n.Value == math.Trunc(n.Value) {
		decimals = 0
	}
	for v := max(n.Value, -n.Value); v >= 10 && decimals > 0; v /= 10 {
		decimals--
	}
	return strings.TrimSpace(strconv.FormatFloat(n.Value, 'f', decimals, 64) + " " + n.Unit)
}
