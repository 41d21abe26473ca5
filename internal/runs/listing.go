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

// Print writes the list for people.
func (l *Listing) Print(w io.Writer) error {
	rows := [][]string{{"ID", "WHEN", "WHAT", "MODEL", "STATUS", "KEY NUMBERS"}}
	for _, r := range l.Runs {
		what := cmp.Or(r.Tool, r.Kind)
		if len(r.Tags) > 0 {
			what += " [" + strings.Join(r.Tags, ", ") + "]"
		}
		rows = append(rows, []string{r.ID, when(r.Created), what, tail(r.Model, 32), string(r.Status), r.Figures()})
	}
	err := columns.Left(w, rows)
	if older := l.Total - len(l.Runs); older > 0 && err == nil {
		_, err = fmt.Fprintf(w, "%d older runs; --limit 0 lists all\n", older)
	}
	return err
}

// Figures returns the three most important numbers of the run in one line.
func (e *Entry) Figures() string {
	var numbers []string
	for _, n := range e.Numbers[:min(3, len(e.Numbers))] {
		numbers = append(numbers, n.Name+" "+figure(n))
	}
	return strings.Join(numbers, ", ")
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
