package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/metric"
)

// This file reports the effect of a profiling window on the figures of a load. The figures exclude the part of the load
// that overlapped the window.

// windowFigures are the figures that are shown twice, without and with the window.
var windowFigures = []struct {
	name, lacks string
	of          func(*bench.Summary) float64 // value in ns, or per second; NaN: none
	stats       func(*bench.Summary) *bench.Stats
}{
	{name: "requests/s", lacks: bench.Rates, of: func(s *bench.Summary) float64 { return s.RequestRate }},
	{name: "output tokens/s", lacks: bench.Rates, of: func(s *bench.Summary) float64 { return s.OutputRate }},
	{name: "good requests/s", lacks: bench.Good, of: func(s *bench.Summary) float64 {
		if s.Goodput == nil {
			return math.NaN()
		}
		return s.Goodput.Rate
	}},
	{name: "median E2E", lacks: "e2e", stats: func(s *bench.Summary) *bench.Stats { return &s.E2E }},
	{name: "median TTFT", lacks: "ttft", stats: func(s *bench.Summary) *bench.Stats { return &s.TTFT }},
	{name: "median TPOT", lacks: "tpot", stats: func(s *bench.Summary) *bench.Stats { return &s.TPOT }},
	{name: "median ITL", lacks: "itl", stats: func(s *bench.Summary) *bench.Stats { return &s.ITL }},
}

// windowFact describes the part of the load that the figures exclude, and lists the figures that have too few samples
// left.
func windowFact(b *Bench) benchFact {
	s := b.Summary
	w := s.Window
	var spans []string
	for _, x := range w.Spans {
		spans = append(spans, metric.Duration(x.From)+" … "+metric.Duration(x.To))
	}
	touched := s.Duration - w.Untouched
	f := benchFact{label: "profiling window", severity: "info", text: fmt.Sprintf(
		"touched %s, %s of the run, and %s, from arming the profiler to the end of its export. %s",
		strings.Join(spans, ", "), share(float64(touched)/max(float64(s.Duration), 1)), plural(w.Touched, "request"),
		map[bool]string{true: "The figures of the whole run, window included, are below", false: "All latencies and rates exclude it; those of the whole run are below"}[s.Nothing()])}
	var lacks []string
	for _, x := range windowFigures {
		name := strings.TrimPrefix(x.name, "median ")
		if x.stats == nil {
			name = x.lacks
		}
		if s.Lacks(x.lacks) && !slices.Contains(lacks, name) {
			lacks = append(lacks, name)
		}
	}
	if len(lacks) > 0 && !s.Nothing() {
		f.severity = "warning"
		f.text += fmt.Sprintf(". No figures for %s: less than half of their samples are left without the window. %s",
			strings.Join(lacks, ", "), repeat(b, touched))
	}
	return f
}

// repeat recommends a load that has enough samples outside the window. touched is the time of the load that the window
// affected, in ns.
func repeat(b *Bench, touched int64) string {
	if b.Summary.NotSent > 0 || slices.ContainsFunc(b.Summary.Failures, func(f bench.Failing) bool { return f.Reason == bench.Interrupted }) {
		return "Let the load run to its end"
	}
	if w := b.Summary.Window; w.Spans[len(w.Spans)-1].To >= b.Summary.Duration {
		return "The window lasted until the load ended: repeat with a shorter one (--profile-num-steps), or with more --num-prompts"
	}
	few := ""
	if r := b.Run; r.Rate <= 0 && !r.Traced && r.MaxConcurrency == 0 {
		few = ", not all at once (--max-concurrency)"
	}
	return fmt.Sprintf("Repeat with --num-prompts %d%s", enoughPrompts(b.Summary, touched), few)
}

// enoughPrompts returns the number of requests at which a window of the same length would leave two thirds of the load
// unaffected.
func enoughPrompts(s *bench.Summary, touched int64) int {
	n := 3 * max(float64(s.Window.Touched), float64(s.Requests)*float64(touched)/max(float64(s.Duration), 1))
	ten := math.Pow(10, max(math.Floor(math.Log10(max(n, 1)))-1, 0))
	return int(math.Ceil(n/ten) * ten)
}

// benchWindow returns the table of the figures without and with the window.
func benchWindow(b *Bench) *table {
	t := &table{id: "window", title: "Without and with the profiling window", cols: []column{
		{name: ""}, {name: "without", right: true}, {name: "p99", right: true}, {name: "max", right: true, drop: 1},
		{name: "with", right: true}, {name: "p99", right: true}, {name: "max", right: true, drop: 1},
	}}
	s := b.Summary
	if s.Window == nil {
		return t
	}
	shown := []*bench.Summary{s, s.Window.Whole}
	if s.Nothing() {
		t.title, t.cols, shown = "With the profiling window", append(t.cols[:1:1], t.cols[4:]...), shown[1:]
	}
	for _, f := range windowFigures {
		switch {
		case f.lacks == bench.Good && s.Window.Whole.Goodput == nil:
			continue
		case f.lacks != bench.Good && f.name != "requests/s" && f.name != "median E2E" && s.Embedding:
			continue
		}
		row := []cell{textCell(f.name)}
		for _, of := range shown {
			switch {
			case of == s && s.Lacks(f.lacks), f.of != nil && math.IsNaN(f.of(of)):
				row = append(row, textCell(none), textCell(dash), textCell(dash))
			case f.stats == nil:
				row = append(row, textCell(three(f.of(of))), textCell(dash), textCell(dash))
			case f.stats(of).N == 0:
				row = append(row, textCell(dash), textCell(dash), textCell(dash))
			default:
				x := f.stats(of)
				row = append(row, durCell(x.Median), durCell(x.P99), durCell(x.Max))
			}
		}
		t.rows = append(t.rows, row)
	}
	return t
}
