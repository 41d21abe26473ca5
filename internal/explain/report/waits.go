package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/waits"
)

// Waits writes what slow requests waited for; nothing where that is not known.
func Waits(w io.Writer, j *waits.Result, o Options) error {
	if j == nil {
		return nil
	}
	limit := o.rows()
	by := "by request id"
	if j.By == waits.ByTime {
		by = "by time"
	}
	for _, t := range []struct {
		name string
		tail *waits.Tail
	}{{"TTFT", &j.TTFT}, {"ITL", &j.ITL}} {
		tail := t.tail
		title := fmt.Sprintf("What the slow %ss waited for (%s; p99 of %s: %s)", t.name, by, metric.Count(tail.N), metric.Duration(tail.P99))
		if len(tail.Cases) == 0 {
			if _, err := fmt.Fprintf(w, "\n%s\nnone in the recorded window\n", title); err != nil {
				return err
			}
			continue
		}
		if tail.Below {
			title += "\nnone of those at or above p99 is in the recorded window: this is the slowest one in it"
		}
		cases := tail.Cases
		if limit > 0 && len(cases) > limit {
			title += fmt.Sprintf("\n%d of %d, the slowest", limit, len(cases))
			cases = cases[:limit]
		}
		var rows [][]string
		for i := range cases {
			c := &cases[i]
			name := c.Request
			if c.Event > 0 {
				name += fmt.Sprintf(" event %d", c.Event)
			}
			rank := c.Server
			if c.DP >= 0 {
				rank = strings.TrimSpace(fmt.Sprintf("%s DP%02d", rank, c.DP))
			}
			if c.Decode != "" {
				rank += ", " + c.Decode
			}
			rows = append(rows, []string{name, metric.Duration(c.NS), rank, stepsText(c.Steps), waitText(&c.Wait)})
		}
		if len(tail.Cases) > 1 {
			rows = append(rows, []string{"all " + metric.Count(len(tail.Cases)), metric.Duration(tail.Sum.Total()), "", "", waitText(&tail.Sum)})
		}
		if err := columns.Section(w, title, []string{"REQUEST", t.name, "SERVED BY", "STEPS", "WAITED FOR"}, rows); err != nil {
			return err
		}
	}
	for _, t := range []struct {
		lead  string
		lines []fact.Fact
	}{{"late rank: ", j.Late}, {"note: ", j.Notes}} {
		for _, l := range t.lines {
			if _, err := fmt.Fprintln(w, columns.Clean(t.lead+Words(l))); err != nil {
				return err
			}
		}
	}
	return nil
}

// stepsText tells which steps a request was in: "3–12 (10)".
func stepsText(steps []int) string {
	first, last := steps[0], steps[len(steps)-1]
	switch {
	case len(steps) == 1:
		return fmt.Sprint(first)
	case last-first+1 == len(steps):
		return fmt.Sprintf("%d–%d", first, last)
	}
	return fmt.Sprintf("%d of %d–%d", len(steps), first, last)
}

// waitText tells the parts of a wait, the largest first; those below 3 %
// are left out.
func waitText(w *waits.Wait) string {
	total := w.Total()
	type part struct {
		name string
		ns   int64
	}
	parts := []part{
		{"until the server had it", w.Way}, {"a place on a decode server", w.Place}, {"transfer", w.Transfer}, {"its decode batch", w.Join},
		{"queue", w.Queue}, {"prefill of others", w.OtherPrefill}, {"other steps of others", w.OtherSteps}, {"a late rank", w.SlowRank}, {"no step ran", w.Stall},
		{"its own prefill", w.Prefill}, {"its own decode", w.Decode}, {"reply to the client", w.Reply}, {"not recorded", w.NotRecorded},
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.ns, a.ns) })
	var out []string
	for _, p := range parts {
		if p.ns*33 < total || p.ns <= 0 {
			continue
		}
		text := fmt.Sprintf("%s %.1f ms (%.0f %%)", p.name, float64(p.ns)/1e6, 100*float64(p.ns)/float64(total))
		if p.name == "queue" {
			if w.QueuePrefill*20 > w.Queue {
				text += fmt.Sprintf(", %.1f ms of it during prefill of others", float64(w.QueuePrefill)/1e6)
			}
			if w.QueueIdle*20 > w.Queue {
				text += fmt.Sprintf(", %.1f ms of it while no step ran", float64(w.QueueIdle)/1e6)
			}
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}
