package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
)

// benchAnswer is what a load comes to: a verdict, and what to do next. What puts its figures into doubt comes first.
func benchAnswer(b *Bench) (verdict string, next []string) {
	next = []string{}
	var parts []string
	s := b.Summary
	say := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	do := func(format string, args ...any) { next = append(next, fmt.Sprintf(format, args...)) }

	if n := s.Requests - s.Completed; n > 0 {
		why := ""
		if len(s.Failures) > 0 {
			why = " (" + columns.Clean(string(s.Failures[0].Reason)) + ")"
		}
		if s.Completed == 0 {
			return fmt.Sprintf("All %s failed%s: there is nothing to measure.", plural(n, "request"), why), next
		}
		say("%s of %s failed%s", metric.Count(n), plural(s.Requests, "request"), why)
	}
	if s.Completed == 0 {
		return "No request was sent: there is nothing to measure.", next
	}
	if s.Health.Verdict == "invalid" {
		say("the client was too busy to time this load, so no latency of it counts")
		do("send it from a machine that does less, or less of it at a time; stepscope bench selftest says what this one can time")
	}
	if s.Health.Verdict == "suspect" {
		say("the client's own timing is suspect")
	}
	f := s.Firsts
	offered := b.Run.Rate > 0 || b.Run.Traced
	atOnce := !offered && b.Run.MaxConcurrency == 0 && s.Requests > 1
	switch {
	case offered && f != nil && f.Grew:
		held := ""
		if !s.Lacks(bench.Rates) {
			held = fmt.Sprintf(" (it served %s/s)", three(s.RequestRate))
		}
		say("the server does not keep up with %s%s: first tokens came ever later, after %s in the first quarter of the load and %s in the last", asked(b.Run), held, metric.Duration(f.Early), metric.Duration(f.Late))
		do("the same command with --flush-cache --find-max-rate --slo ttft:MS looks for the highest rate that holds; for more: another replica, or a larger batch where memory allows it (--max-running-requests, --mem-fraction-static)")
	case offered && f != nil && f.Late < keptUp*f.Early && s.Health.Verdict != "invalid":
		say("the server keeps up with %s", asked(b.Run))
	case atOnce:
		say("all %s were sent at once, so the later first tokens waited for the earlier requests", plural(s.Requests, "request"))
		do("for latencies as users have them, send at a rate (--request-rate) or so many at a time (--max-concurrency)")
	}
	figures := benchFigures(b, !offered || s.Embedding)
	if figures != "" {
		say("%s", figures)
	}
	switch {
	case s.Window == nil:
	case s.Lacks("ttft"):
		say("the profiling window touched too many requests for a time to first token")
		do("stepscope analyze of the run says what the recorded requests waited for; for the figures send the same load without --profile, or a longer one (--num-prompts)")
	case s.Window.Whole.TTFT.P99 > standsOut*s.TTFT.P99:
		say("with what the profiling window touched the p99 of TTFT is %s", metric.Duration(s.Window.Whole.TTFT.P99))
	}
	if c := s.Cache; c != nil && c.HitRate > warm {
		say("%s of the prompt tokens came from the server's cache", share(c.HitRate))
	}
	if g := s.Goodput; g != nil {
		say("%s of requests meet all objectives", share(g.Share))
	}
	if f != nil && f.Slow != nil && s.Health.Verdict != "invalid" {
		say("%s", slowFirsts(b, f.Slow))
		do("to see what they waited for, record them: the same command with %s, then stepscope analyze last", record(b))
	}
	if f != nil && (f.Grew && offered || f.Slow != nil) {
		do("stepscope guide ttft")
	}
	if s.NotSent > 0 {
		say("the load was interrupted")
	}
	text := strings.Join(parts, "; ")
	return strings.ToUpper(text[:1]) + text[1:] + ".", next
}

// asked is the rate that was.
func asked(r *bench.Run) string {
	if r.Traced {
		return "the rate of the trace"
	}
	return r.RateText() + " requests/s"
}

// keptUp is how much longer late first tokens may take than early ones where a server is said to keep up.
const keptUp = 1.25

// benchFigures are those by which a load is judged; the rate is told where nobody asked for one.
func benchFigures(b *Bench, rate bool) string {
	s := b.Summary
	var parts []string
	if !s.Lacks(bench.Rates) && s.RequestRate > 0 {
		if rate {
			parts = append(parts, three(s.RequestRate)+" requests/s")
		}
		if !s.Embedding {
			parts = append(parts, three(s.OutputRate)+" output tokens/s")
		}
	}
	for _, l := range []struct {
		name string
		of   *bench.Stats
	}{{"TTFT", &s.TTFT}, {"ITL", &s.ITL}, {"E2E", &s.E2E}} {
		if l.of.N == 0 || l.name == "E2E" && !s.Embedding {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s p50 %s, p99 %s", l.name, metric.Duration(l.of.Median), metric.Duration(l.of.P99)))
	}
	return strings.Join(parts, "; ")
}

// warm is the share of prompt tokens from the server's cache above which a load is not as on a fresh server.
const warm = 0.2

// standsOut is by how much a median must be above that of all to be named.
const standsOut = 1.5

// slowFirsts says what sets the slowest first tokens apart from the others.
func slowFirsts(b *Bench, f *bench.SlowFirsts) string {
	text := fmt.Sprintf("the slowest %s to a first token (up to %s)", plural(f.Requests, "request"), metric.Duration(f.TTFT))
	switch to := f.To - f.From; {
	case f.Requests == 1:
		text += fmt.Sprintf(" was sent %s into the load", metric.Duration(f.At))
	case to < b.Run.Duration/100:
		text += fmt.Sprintf(" were all sent some %s into the load", metric.Duration(f.At))
	case to < b.Run.Duration/10:
		text += fmt.Sprintf(" were all sent between %s and %s into the load", metric.Duration(f.From), metric.Duration(f.To))
	default:
		text += fmt.Sprintf(" were sent all over the load, the slowest %s into it", metric.Duration(f.At))
	}
	with := standing(f)
	if len(with) == 0 {
		return text + ", with prompts and a queue like those of others"
	}
	return text + ", " + strings.Join(with, " and ")
}

// standing is in what the slowest differ from the others.
func standing(f *bench.SlowFirsts) (with []string) {
	if f.Waiting >= 1 && f.Waiting > standsOut*f.WaitingAll {
		with = append(with, fmt.Sprintf("while %s waited for a first token (usually %s)", plural(int(f.Waiting), "other request"), metric.Count(int(f.WaitingAll))))
	}
	if f.Prompt > standsOut*f.PromptAll {
		with = append(with, fmt.Sprintf("with prompts of %s tokens (usually %s)", metric.Count(int(f.Prompt)), metric.Count(int(f.PromptAll))))
	}
	return with
}

// wholeSteps is the longest load of which all of it is advised to be recorded: traces of more are large, and take the server
// long to write.
const wholeSteps = 1000

// recordWhole are the flags of a window that holds a load of so many forward steps.
func recordWhole(steps int) string {
	return fmt.Sprintf("--profile --profile-at 0s --profile-num-steps %d", max(steps, fewestSteps))
}

// record are the flags of a window that holds the slowest request to its first token: of the whole load, if that is short
// enough, since another one may be the slowest next time; else of its time, as far as that takes no more than mostSteps.
func record(b *Bench) string {
	s, f := b.Summary, b.Summary.Firsts.Slow
	steps := func(ns int64) int { // that a time holds
		if s.ITL.N == 0 || s.ITL.Median <= 0 {
			return 0
		}
		return int(math.Ceil(float64(ns) / s.ITL.Median))
	}
	window := "--profile " + profileAt(f.At)
	if whole := steps(b.Run.Duration); whole > 0 && whole <= wholeSteps {
		window = recordWhole(whole)
	} else if n := steps(f.TTFT + armLead); n > 0 {
		window += fmt.Sprintf(" --profile-num-steps %d", min(max(n, fewestSteps), mostSteps))
	}
	if s.Cache != nil && s.Cache.HitRate < warm {
		return "--flush-cache " + window // else it has seen these prompts
	}
	return window
}

// A window is opened before what it is to hold, since arming the profilers takes that long; it has so many steps.
const (
	armLead     = 300_000_000 // ns
	fewestSteps = 20
	mostSteps   = 100
)

// profileAt is the flag that has a window hold what was sent at a moment of the load.
func profileAt(ns int64) string {
	return "--profile-at " + time.Duration(max(ns-armLead, 0)).Truncate(10*time.Millisecond).String()
}
