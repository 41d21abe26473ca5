package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/live"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/measure/experiment"
)

// printRequests writes one line per request.
func printRequests(w io.Writer, records []bench.Record) {
	fmt.Fprintln(w)
	for i := range records {
		r := &records[i]
		state := "ok"
		if !r.OK() {
			state = string(r.Failure) + ": " + r.Error
		}
		ttft, e2e := "-", "-"
		if v, ok := r.TTFT(); ok {
			ttft = metric.Duration(v)
		}
		if v, ok := r.E2E(); ok {
			e2e = metric.Duration(v)
		}
		text := strings.Join(strings.Fields(r.Text), " ")
		if cut := []rune(text); len(cut) > 60 {
			text = string(cut[:60]) + "…"
		}
		fmt.Fprintf(w, "%s  prompt %d, output %d, TTFT %s, E2E %s, %s  %s\n", r.ID, r.PromptLen, r.OutputLen, ttft, e2e, state, text)
	}
}

// plotThroughput draws output tokens per second as bars, at most 60 of them.
func plotThroughput(w io.Writer, m *experiment.Measured) {
	t := bench.NewTimeline(m.Records, m.Run, 60)
	if len(t.Tokens) == 0 {
		return
	}
	most := slices.Max(t.Tokens)
	fmt.Fprintf(w, "\noutput tokens/s, up to %s, a bar for %s\n%s\n", metric.Count(int64(most*1e9/float64(t.Bin))), metric.Duration(t.Bin), live.Spark(t.Tokens))
}
