package check

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/tracefile/set"
)

// Print writes the report as text.
func (r *Report) Print(w io.Writer) error {
	files := "files"
	if len(r.Files) == 1 {
		files = "file"
	}
	if r.ranks < len(r.Files) {
		files += fmt.Sprintf(" of %d ranks, by stage", r.ranks)
	}
	fmt.Fprintf(w, "%s: %d %s\n\n", columns.Clean(r.ProfileID), len(r.Files), files)
	rows := [][]string{{"rank", "world", "events", "JSON MB", "begins (UTC)", "span s", "steps", "state"}}
	for i := range r.Files {
		rows = append(rows, r.Files[i].row())
	}
	if err := columns.Left(w, rows); err != nil {
		return err
	}
	r.printCategories(w)
	r.printOdd(w)
	r.printClocks(w)
	if len(r.Missing) > 0 {
		fmt.Fprintln(w, "\nmissing")
		for _, m := range set.Together(r.Missing) {
			fmt.Fprintln(w, "  "+columns.Clean(m.String()))
		}
	}
	for i, n := range r.Notes {
		if i == 0 {
			fmt.Fprintln(w, "\nnotes")
		}
		fmt.Fprintln(w, "  "+columns.Clean(n.String()))
	}
	return nil
}

func (f *File) row() []string {
	world := "not said"
	if f.Rank != nil {
		world = fmt.Sprintf("%d of %d", *f.Rank, f.World)
	}
	if f.Parts != nil {
		world = fmt.Sprintf("%d files", len(f.Parts))
	}
	begins := "-"
	if f.timed {
		begins = time.Unix(0, f.StartNS).UTC().Format("2006-01-02 15:04:05.000000")
		if f.BaseNS == nil && f.StartNS < int64(1e18) {
			begins = "no wall time"
		}
	}
	var steps []string
	for _, k := range slices.Sorted(maps.Keys(f.Steps)) {
		steps = append(steps, fmt.Sprintf("%d %s", f.Steps[k], k))
	}
	switch {
	case f.processes > 1 && f.fewest == f.most:
		steps = []string{fmt.Sprintf("%d in each of %d parts", f.most, f.processes)}
	case f.processes > 1:
		steps = []string{fmt.Sprintf("%d to %d in each of %d parts", f.fewest, f.most, f.processes)}
	}
	state := cmp.Or(f.state, "complete")
	switch n := f.Impossible(); {
	case f.Problem != nil:
		state = f.Problem.String()
	case n == 1:
		state = "1 impossible event"
	case n > 1:
		state = fmt.Sprintf("%d impossible events", n)
	}
	return []string{
		f.Label, world, strconv.FormatInt(f.Events, 10), fmt.Sprintf("%.1f", float64(f.Text)/1e6), begins,
		fmt.Sprintf("%.3f", float64(f.EndNS-f.StartNS)/1e9), cmp.Or(strings.Join(steps, ", "), "none"), state,
	}
}

// printCategories prints the events by category, with a column for the sum. If there are at most eight files, it adds a
// column for each file.
func (r *Report) printCategories(w io.Writer) {
	total := map[string]int64{}
	for _, f := range r.Files {
		for c, n := range f.Category {
			total[c] += n
		}
	}
	names := sorts.Sorted(maps.Keys(total), func(a, b string) int {
		return cmp.Or(cmp.Compare(total[b], total[a]), cmp.Compare(a, b))
	})
	files := r.Files
	if len(files) > 8 {
		files = nil
	}
	head := []string{"all"}
	for _, f := range files {
		head = append(head, f.Label)
	}
	rows := [][]string{append(head, "category")}
	for _, c := range names {
		row := []string{strconv.FormatInt(total[c], 10)}
		for _, f := range files {
			row = append(row, strconv.FormatInt(f.Category[c], 10))
		}
		rows = append(rows, append(row, c))
	}
	fmt.Fprintln(w)
	columns.Right(w, rows)
}

func (r *Report) printOdd(w io.Writer) {
	var list []Odd
	for _, f := range r.Files {
		for _, o := range f.Odd {
			i := slices.IndexFunc(list, func(x Odd) bool { return x.Kind == o.Kind })
			if i < 0 {
				list = append(list, o)
			} else {
				list[i].Count += o.Count
			}
		}
	}
	if len(list) == 0 {
		return
	}
	sorts.Stable(list, func(a, b Odd) int {
		switch {
		case a.Harmless == b.Harmless:
			return 0
		case b.Harmless:
			return -1
		}
		return 1
	})
	fmt.Fprintln(w, "\nodd")
	for _, o := range list {
		fmt.Fprintf(w, "  %d × %s", o.Count, columns.Clean(o.Kind))
		if o.Harmless {
			fmt.Fprint(w, " (usual)")
		} else if o.First >= 0 {
			fmt.Fprintf(w, ", the first at byte %d of the text", o.First)
		}
		fmt.Fprintln(w)
	}
}

func (r *Report) printClocks(w io.Writer) {
	if len(r.Bases) > 0 {
		var bases []string
		for _, b := range r.Bases {
			bases = append(bases, time.Unix(0, b).UTC().Format(time.RFC3339))
		}
		fmt.Fprintf(w, "\nclock base  %s\n", strings.Join(bases, ", "))
	}
	for _, c := range r.Clocks {
		fmt.Fprintf(w, "clock of %s against %s: %s", columns.Clean(c.Label), columns.Clean(c.Against), c.Verdict)
		if c.Why != "" {
			fmt.Fprintf(w, " (%s)\n", columns.Clean(c.Why))
			continue
		}
		if c.SpreadNS == 0 {
			fmt.Fprintf(w, ", judging by %d collectives\n", c.N)
			continue
		}
		fmt.Fprintf(w, ", %+.1f µs ± %.1f µs by %d collectives\n", float64(c.OffsetNS)/1e3, float64(c.SpreadNS)/1e3, c.N)
	}
}
