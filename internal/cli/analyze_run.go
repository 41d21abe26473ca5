package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/waits"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/trace"
)

// run finds the run that analyze is given, and reads its traces instead; nil if
// it is given files, or a run that has no load. servers are those that were recorded,
// where files are kept apart by server.
func (c *analyzeCmd) run() (run *runs.Run, servers []recorded, err error) {
	if len(c.Paths) != 1 {
		return nil, nil, nil
	}
	if run, err = c.named(c.Paths[0]); err != nil {
		return nil, nil, err
	}
	if run == nil {
		return nil, serversBelow(c.Paths[0]), nil
	}
	if c.Paths = tracesOf(run); len(c.Paths) == 0 {
		if reports := reportsOf(run); len(reports) == 1 {
			c.Paths = reports
			return nil, nil, nil
		} else if len(reports) > 1 {
			return nil, nil, fmt.Errorf("run %s has %d reports, each of a window of its own: give one, such as %s", run.ID(), len(reports), reports[0])
		}
		return nil, nil, fmt.Errorf("run %s has no traces: record some with --profile; what it measured is shown by: stepscope runs show %s", run.ID(), run.ID())
	}
	servers = serversOf(run)
	if !hasRecords(run) {
		run = nil
	}
	return run, servers, nil
}

// reportsOf lists the reports that nsys run left.
func reportsOf(r *runs.Run) (paths []string) {
	for _, f := range r.Files(nsysKind) {
		if f.Format == "nsys-rep" {
			paths = append(paths, r.Path(f.Path))
		}
	}
	return paths
}

// join says what the slow requests of a run waited for.
func (e *env) join(run *runs.Run, servers []*waits.Server, late []waits.Late) (*waits.Result, error) {
	load, err := e.readLoad(run)
	if err != nil {
		return nil, err
	}
	m := run.Manifest()
	return waits.Analyze(load.Runs, servers, waits.Options{Host: m.Machine.Host, Late: late})
}

// lateSteps are the steps that findings say were made longer by a late rank, and
// by how much: what the ranks that are not late waited in collectives.
func lateSteps(r *result.Report) (late []waits.Late) {
	dp := func(rank int) int {
		at, ok := trace.ParseRank(strings.Fields(r.Source.Ranks[rank] + " ")[0])
		if !ok {
			return -1
		}
		return at.DP
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if len(f.Ranks) == 0 || f.Kind != result.Straggler && f.Kind != result.SlowStep {
			continue
		}
		for k := range r.Steps {
			s := &r.Steps[k]
			if s.Step < f.FirstStep || s.Step > f.LastStep {
				continue
			}
			for _, who := range s.Ranks {
				if !slices.Contains(f.Ranks, who.Rank) {
					continue
				}
				var waited, n int64
				for _, other := range s.Ranks {
					if !slices.Contains(f.Ranks, other.Rank) && dp(other.Rank) == dp(who.Rank) {
						waited, n = waited+other.CommWait, n+1
					}
				}
				cost := f.CostNSPerStep
				if n > 0 {
					cost = waited / n
				}
				from := r.Source.StartNS + who.Start
				late = append(late, waits.Late{DP: dp(who.Rank), From: from, To: from + max(who.Period, 1), Cost: cost, Title: f.Title})
			}
		}
	}
	return late
}

// joinJSON writes a report with one more member.
func joinJSON(w io.Writer, r *result.Report, j *waits.Result) error {
	var b bytes.Buffer
	if err := report.JSON(&b, r); err != nil {
		return err
	}
	requests, err := json.MarshalIndent(j, "  ", "  ")
	if err != nil {
		return err
	}
	b.Truncate(bytes.LastIndex(b.Bytes(), []byte("\n}")))
	_, err = fmt.Fprintf(w, "%s,\n  \"requests\": %s\n}\n", b.Bytes(), requests)
	return err
}

// showJoin prints what slow requests waited for.
func (e *env) showJoin(j *waits.Result, limit int) error {
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
			if _, err := fmt.Fprintf(e.stdout, "\n%s\nnone in the recorded window\n", title); err != nil {
				return err
			}
			continue
		}
		if tail.Below {
			title += "\nnone of those at or above p99 lies in the recorded window: this is the slowest in it"
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
		if err := e.section(title, []string{"REQUEST", t.name, "SERVED BY", "STEPS", "WAITED FOR"}, rows); err != nil {
			return err
		}
	}
	for _, n := range slices.Concat(prefixed("slow rank: ", j.Late), prefixed("note: ", j.Notes)) {
		if _, err := fmt.Fprintln(e.stdout, columns.Clean(n)); err != nil {
			return err
		}
	}
	return nil
}

func prefixed(with string, list []string) (out []string) {
	for _, s := range list {
		out = append(out, with+s)
	}
	return out
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
	parts := []struct {
		name string
		ns   int64
	}{
		{"until the server had it", w.Way}, {"a place on a decode server", w.Place}, {"transfer", w.Transfer}, {"its decode batch", w.Join},
		{"queue", w.Queue}, {"prefill of others", w.OtherPrefill}, {"other steps of others", w.OtherSteps}, {"a slow rank", w.SlowRank}, {"no step ran", w.Stall},
		{"its own prefill", w.Prefill}, {"its own decode", w.Decode}, {"reply on its way", w.Reply}, {"not recorded", w.NotRecorded},
	}
	slices.SortStableFunc(parts, func(a, b struct {
		name string
		ns   int64
	}) int {
		return cmp.Compare(b.ns, a.ns)
	})
	var out []string
	for _, p := range parts {
		if p.ns*33 < total || p.ns <= 0 {
			continue
		}
		text := fmt.Sprintf("%s %.1f ms (%.0f %%)", p.name, float64(p.ns)/1e6, 100*float64(p.ns)/float64(total))
		if p.name == "queue" {
			if w.QueuePrefill*20 > w.Queue {
				text += fmt.Sprintf(", for %.1f ms of it prefill of others", float64(w.QueuePrefill)/1e6)
			}
			if w.QueueIdle*20 > w.Queue {
				text += fmt.Sprintf(", for %.1f ms of it no step ran", float64(w.QueueIdle)/1e6)
			}
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}
