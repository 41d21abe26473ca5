package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/waits"
)

// Waits writes the causes of slow requests. It writes nothing if the causes are unknown.
func Waits(w io.Writer, j *waits.Result, o Options) error {
	if j == nil {
		return nil
	}
	limit := o.rows()
	if text := SlowCauses(j); text != "" {
		fmt.Fprintln(w)
		for _, line := range columns.Wrap(text, o.width()) {
			if _, err := fmt.Fprintln(w, columns.Clean(line)); err != nil {
				return err
			}
		}
	}
	by := "by request id"
	if j.By == waits.ByTime {
		by = "by time"
	}
	for _, t := range []struct {
		name string
		tail *waits.Tail
	}{{"TTFT", &j.TTFT}, {"ITL", &j.ITL}} {
		tail := t.tail
		title := fmt.Sprintf("Waits behind slow %ss (%s; p99 of %s: %s)", t.name, by, metric.Count(tail.N), metric.Duration(tail.P99))
		window := "--profile " + profileAt(tail.Sent)
		if j.Steps > 0 && j.Steps <= wholeSteps {
			window = recordWhole
		}
		again := "\nto record the slowest, repeat the load with --flush-cache " + window
		switch {
		case tail.Sent == bench.Never:
			again = "\narming and export of the window overlap all of them and may have made them slow: repeat with more --num-prompts"
		case tail.Touched:
			again = "\narming and export of the window overlap all of those at or above p99 and may have made them slow; to record the slowest of the others, repeat the load with --flush-cache " + window
		}
		if len(tail.Cases) == 0 {
			if _, err := fmt.Fprintf(w, "\n%s\nnone in the recorded window%s\n", title, again); err != nil {
				return err
			}
			continue
		}
		if tail.Below {
			title += "\nnone at or above p99 is in the recorded window; this is the slowest one in it" + again
		}
		if most := mainWait(&tail.Sum); most != "" {
			title += "\n" + most
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
			rows = append(rows, []string{name, metric.Duration(c.NS), ServedBy(c), stepsText(c.Steps), waitText(&c.Wait)})
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

// smallCause is the share of a wait below which a cause is not mentioned.
const smallCause = 0.03

// SlowCauses states the causes of the slowest first tokens with their shares, and the part of the load that was recorded.
// It returns "" if the load has no first tokens.
func SlowCauses(j *waits.Result) string {
	if j == nil || j.Causes == nil {
		return ""
	}
	c := j.Causes
	slowest, none := fmt.Sprintf("the %d slowest first tokens", c.Slowest), "holds none of them"
	if c.Slowest == 1 {
		slowest, none = "the slowest first token", "does not hold it"
	}
	var covered []string
	for _, s := range c.Covered {
		covered = append(covered, metric.Duration(s.From)+" … "+metric.Duration(s.To))
	}
	where := fmt.Sprintf("the recorded part of the load (%s)", strings.Join(covered, ", "))
	if c.Held+c.Others == 0 {
		text := fmt.Sprintf("What %s waited for on the server cannot be told: %s %s", slowest, where, none)
		if c.Overload.Key != "" {
			text += ". Requests queue, because " + Words(c.Overload)
		}
		return text + ". To record all requests of a short load: --profile-unbounded"
	}
	var parts []string
	for i, p := range c.Causes {
		if i == 0 || p.Share >= smallCause {
			parts = append(parts, fmt.Sprintf("%s (%.0f %%) %s", metric.Duration(p.NS), 100*p.Share, Words(p.Title)))
		}
	}
	if c.Held == 0 {
		return fmt.Sprintf("%s waited %s; %s %s. The slowest in it (%d) waited %s: %s", capital(slowest), metric.Duration(c.All), where, none, c.Others, metric.Duration(c.NS), strings.Join(parts, "; "))
	}
	return fmt.Sprintf("Of the %s that %s waited: %s. These are the means of the %d of them in %s", metric.Duration(c.NS), slowest, strings.Join(parts, "; "), c.Held, where)
}

// causeRemedies returns the recommended actions for the causes of a large part of a wait.
func causeRemedies(c *waits.Causes) (out []string) {
	for _, p := range c.Causes {
		if p.Share < largePart {
			continue
		}
		switch p.Kind {
		case "other_prefill":
			out = append(out, "for prefill of other requests: "+prefillRemedy)
		case "own_prefill", "cache_miss":
			out = append(out, "for their own prefill: "+ownRemedy)
		case "queue", "at_once", "queue_not_recorded":
			out = append(out, "for the queue: "+queueRemedy)
		case "slow_rank":
			out = append(out, "for the late rank: stepscope guide late-rank")
		case "stall":
			out = append(out, "for the stall: stepscope guide slow-steps")
		}
	}
	return out
}

// Recommended actions.
const (
	queueRemedy   = "more concurrent requests (--max-running-requests), more KV memory (--mem-fraction-static), another replica, or a lower rate"
	ownRemedy     = "more prefix cache hits (--cache-report shows the hit rate); if prefill steps are host-bound: stepscope guide host-bound"
	prefillRemedy = "smaller chunks, which let decode steps and short prompts in between (SGLang's --chunked-prefill-size)"
)

// ServedBy returns the ranks that served a request.
func ServedBy(c *waits.Case) string {
	rank := c.Server
	if c.DP >= 0 {
		rank = strings.TrimSpace(fmt.Sprintf("%s DP%02d", rank, c.DP))
	}
	if c.Decode != "" {
		rank += ", " + c.Decode
	}
	return rank
}

// stepsText returns the steps of a request: "7", "3–12", or "4 of 3–12".
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

// WaitPart is one part of a wait.
type WaitPart struct {
	Name   string `json:"name"`
	Of     string `json:"of"` // queue, prefill, decode, wait, reply or unknown; selects the colour
	NS     int64  `json:"ns"`
	More   string `json:"more"` // details
	remedy string // recommended action if this part is most of the wait
}

// WaitParts returns the parts of a wait that are not 0, approximately in the order in which they occur.
func WaitParts(w *waits.Wait) []WaitPart {
	parts := []WaitPart{}
	for _, p := range []WaitPart{
		{"not recorded", "unknown", w.NotRecorded, "", ""},
		{"way to the server", "queue", w.Way, "", ""},
		{"a place on a decode server", "queue", w.Place, "", "more decode servers, or more KV memory there (--mem-fraction-static)"},
		{"queue", "queue", w.Queue, queueText(w), queueRemedy},
		{"its own prefill", "prefill", w.Prefill, "", ownRemedy},
		{"transfer", "wait", w.Transfer, "", ""},
		{"its decode batch", "queue", w.Join, "", ""},
		{"prefill of others", "wait", w.OtherPrefill, "", prefillRemedy},
		{"other steps of others", "wait", w.OtherSteps, "", ""},
		{"a late rank", "wait", w.SlowRank, "", "stepscope guide late-rank"},
		{"no step ran", "wait", w.Stall, "", "stepscope guide slow-steps"},
		{"its own decode", "decode", w.Decode, "", ""},
		{"reply to the client", "reply", w.Reply, "", ""},
	} {
		if p.NS > 0 {
			parts = append(parts, p)
		}
	}
	return parts
}

// queueText describes the steps that ran while a request was queued.
func queueText(w *waits.Wait) string {
	var out []string
	if w.QueuePrefill*20 > w.Queue {
		out = append(out, fmt.Sprintf("%.1f ms of it during prefill of others", float64(w.QueuePrefill)/1e6))
	}
	if w.QueueIdle*20 > w.Queue {
		out = append(out, fmt.Sprintf("%.1f ms of it while no step ran", float64(w.QueueIdle)/1e6))
	}
	return strings.Join(out, ", ")
}

// largestFirst returns the parts of a wait in descending order of length.
func largestFirst(w *waits.Wait) []WaitPart {
	parts := WaitParts(w)
	sorts.Stable(parts, func(a, b WaitPart) int { return cmp.Compare(b.NS, a.NS) })
	return parts
}

// waitText lists the parts of a wait, the largest part first. It omits parts below 3 %.
func waitText(w *waits.Wait) string {
	total := w.Total()
	var out []string
	for _, p := range largestFirst(w) {
		if p.NS*33 < total {
			continue
		}
		text := fmt.Sprintf("%s %.1f ms (%.0f %%)", p.Name, float64(p.NS)/1e6, 100*float64(p.NS)/float64(total))
		if p.More != "" {
			text += ", " + p.More
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// largePart is the minimum share of a wait at which the sentence about the wait mentions a part.
const largePart = 0.25

// mainWait returns a sentence about the main parts of a wait, with the recommended actions.
func mainWait(w *waits.Wait) string {
	var of, try []string
	for _, p := range largestFirst(w) {
		if float64(p.NS) < largePart*float64(w.Total()) {
			continue
		}
		name := p.Name
		if p.Name == "queue" && 2*w.QueuePrefill > w.Queue {
			name += " behind the prefill of others"
			p.remedy = "smaller chunks (SGLang's --chunked-prefill-size) and --schedule-policy for the order of prefills; " + p.remedy
		}
		of = append(of, fmt.Sprintf("%s (%.0f %%)", name, 100*metric.Share(p.NS, w.Total())))
		if p.remedy != "" {
			try = append(try, "\n→ "+p.Name+": "+p.remedy)
		}
	}
	if len(of) == 0 {
		return ""
	}
	return "\nmostly: " + strings.Join(of, ", ") + strings.Join(try, "")
}
