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

// benchAnswer returns the verdict on a load and the recommended actions. The verdict begins with doubts about the
// figures, if there are any.
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
			return fmt.Sprintf("All %s failed%s, so there are no figures.", plural(n, "request"), why), next
		}
		say("%s of %s failed%s", metric.Count(n), plural(s.Requests, "request"), why)
	}
	if s.Completed == 0 {
		return "No request was sent, so there are no figures.", next
	}
	if s.Health.Verdict == "invalid" {
		say("the client was too busy to time this load: its latencies are invalid")
		do("send the load from a less busy machine, or at a lower rate; stepscope bench selftest measures how much load this machine can time")
	}
	if s.Health.Verdict == "suspect" {
		say("the client's own timing is suspect")
	}
	f, pace := s.Firsts, s.Pace
	offered := b.Run.Rate > 0 || b.Run.Traced
	atOnce := !offered && b.Run.MaxConcurrency == 0 && s.Requests > 1
	switch {
	case pace != nil && s.Health.Verdict != "invalid":
		say("%s", keeping(b.Run, pace))
		if pace.Verdict == bench.KeepsUp {
			break
		}
		if pace.Verdict == bench.ClientLimit {
			do("raise --max-concurrency, or lower --request-rate")
			break
		}
		do("find the highest rate that holds: the same command with --flush-cache --find-max-rate --slo ttft:MS; for more, add a replica or, where memory allows, enlarge the batch (--max-running-requests, --mem-fraction-static)")
	case atOnce:
		say("all %s were sent at once, so later first tokens waited for earlier requests", plural(s.Requests, "request"))
		do("for the latencies that users see, send at a rate (--request-rate) or limit concurrency (--max-concurrency)")
	}
	figures := benchFigures(b, !offered || s.Embedding)
	if figures != "" {
		say("%s", figures)
	}
	switch {
	case s.Window == nil:
	case s.Nothing():
		say("no figures are left: the profiler touched %s of %s", metric.Count(s.Window.Touched), plural(s.Requests, "request"))
		again := repeat(b, s.Duration-s.Window.Untouched)
		do("%s", strings.ToLower(again[:1])+again[1:])
		do("stepscope analyze of the run shows the waits of the recorded requests")
	case s.Lacks("ttft"):
		say("no %s figures: the profiler touched %s of %s", lacking(s), metric.Count(s.Window.Touched), plural(s.Requests, "request"))
		say("%s", repeat(b, s.Duration-s.Window.Untouched))
		do("stepscope analyze of the run shows the waits of the recorded requests")
	case s.Window.Whole.TTFT.P99 > standsOut*s.TTFT.P99:
		say("including the profiling window, TTFT p99 is %s", metric.Duration(s.Window.Whole.TTFT.P99))
	}
	if c := s.Cache; c != nil && c.HitRate > warm {
		say("%s of the prompt tokens came from the server's cache", share(c.HitRate))
	}
	if u := s.Unseen; u != nil && 2*u.Requests > s.Completed {
		say("%s", unseen(s))
	}
	if g := s.Goodput; g != nil {
		if g.Measured() {
			say("%s of requests meet all objectives", share(g.Share))
		} else {
			say("whether requests meet %s ms was not measured in %s of %s", g.SLO, metric.Count(g.Unmeasured), metric.Count(g.Judged+g.Unmeasured))
		}
	}
	causes := SlowCauses(b.Requests)
	if causes != "" {
		say("%s", causes)
	}
	switch {
	case causes != "" && len(b.Requests.Causes.Causes) > 0:
		next = append(next, causeRemedies(b.Requests.Causes)...)
		do("the waits of each recorded request: stepscope analyze last")
	case f != nil && f.Slow != nil && s.Health.Verdict != "invalid":
		say("%s", slowFirsts(b, f.Slow))
		do("record them to see what they waited for: the same command with %s", record(b))
	}
	if pace != nil && pace.Verdict != bench.KeepsUp || f != nil && f.Slow != nil {
		do("stepscope guide ttft")
	}
	if s.NotSent > 0 {
		say("the load was interrupted")
	}
	for i := range parts {
		parts[i] = capital(parts[i])
	}
	return strings.Join(parts, ". ") + ".", next
}

// lacking names the latencies for which no samples remain outside the profiling window.
func lacking(s *bench.Summary) string {
	if s.Lacks("itl") && s.Lacks("e2e") {
		return "latency"
	}
	return "TTFT"
}

// asked describes the requested rate in words.
func asked(r *bench.Run) string {
	if r.Traced {
		return "the rate of the trace"
	}
	return r.RateText() + " requests/s"
}

// keeping states whether the server keeps up with the load.
func keeping(r *bench.Run, p *bench.Pace) string {
	grew := fmt.Sprintf("up to %s were in flight, and the server was done %s after the last was due", plural(p.Most, "request"), metric.Duration(p.Drain))
	switch p.Verdict {
	case bench.Overload:
		return fmt.Sprintf("the server does not keep up with %s: while requests queue, it completes about %s/s; %s", asked(r), three(p.Sustained), grew)
	case bench.ClientLimit:
		return fmt.Sprintf("requests could not be sent at %s: the limit of %s in flight (--max-concurrency) holds them back, and %s/s complete; whether the server could do more is not known",
			asked(r), plural(r.MaxConcurrency, "request"), three(p.Sustained))
	case bench.AtLimit:
		return fmt.Sprintf("the server is at its limit with %s: it completes about %s/s; %s", asked(r), three(p.Sustained), grew)
	}
	return "the server keeps up with " + asked(r)
}

// unseen states that latencies are missing because tokens were not seen one by one.
func unseen(s *bench.Summary) string {
	return fmt.Sprintf("the tokens of %s of %s were not seen one by one, so these have no TPOT and ITL%s: %s",
		metric.Count(s.Unseen.Requests), plural(s.Completed, "request"), map[bool]string{true: ", and not all have a TTFT"}[s.TTFT.N < int64(s.Completed) && s.Window == nil], s.Unseen.Why)
}

// benchFigures describes the main figures of a load in words. If rate is set, they include the achieved request rate,
// because no rate was requested.
func benchFigures(b *Bench, rate bool) string {
	s := b.Summary
	var parts []string
	if !s.Lacks(bench.Rates) && s.RequestRate > 0 {
		if rate {
			parts = append(parts, three(s.RequestRate)+" requests/s")
		}
		if !s.Embedding {
			parts = append(parts, three(s.OutputRate)+" output tok/s")
		}
	}
	for _, l := range []struct {
		name string
		of   *bench.Stats
	}{{"TTFT", &s.TTFT}, {"ITL", &s.ITL}, {"E2E", &s.E2E}} {
		if l.of.N == 0 || l.name == "E2E" && !s.Embedding {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s p50 %s p99 %s", l.name, metric.Duration(l.of.Median), metric.Duration(l.of.P99)))
	}
	return strings.Join(parts, ", ")
}

// warm is the share of cached prompt tokens above which the server's cache was not empty at the start.
const warm = 0.2

// standsOut is the ratio above which a figure of the slowest requests is mentioned. The ratio compares the figure with
// that of all requests.
const standsOut = 1.5

// early is the maximum ratio of the first event with a token to the first text at which the decode steps between the two
// are mentioned.
const early = 0.7

// slowFirsts describes the differences between the requests with the slowest first tokens and all other requests.
func slowFirsts(b *Bench, f *bench.SlowFirsts) string {
	which := plural(f.Requests, "request")
	if f.Requests == 1 {
		which = "request"
	}
	text := fmt.Sprintf("the %s with the slowest first token (up to %s)", which, metric.Duration(f.TTFT))
	switch to := f.To - f.From; {
	case f.Requests == 1:
		text += fmt.Sprintf(" was sent %s into the load", metric.Duration(f.At))
	case to < b.Run.Duration/100:
		text += fmt.Sprintf(" were all sent about %s into the load", metric.Duration(f.At))
	case to < b.Run.Duration/10:
		text += fmt.Sprintf(" were all sent between %s and %s into the load", metric.Duration(f.From), metric.Duration(f.To))
	default:
		text += fmt.Sprintf(" were sent throughout the load, the slowest %s into it", metric.Duration(f.At))
	}
	switch with := standing(f); {
	case len(with) > 0:
		text += ", " + strings.Join(with, " and ")
	case f.EventOf >= early:
		text += "; their records do not show why: their prompts were no longer and no more requests waited than usual"
	}
	if f.EventOf < early {
		text += fmt.Sprintf("; their first token came after %s (median), but had no text until later decode steps", metric.Duration(f.Event))
	}
	return text
}

// standing lists the differences between the requests with the slowest first tokens and all requests.
func standing(f *bench.SlowFirsts) (with []string) {
	if f.Waiting >= 1 && f.Waiting > standsOut*f.WaitingAll {
		with = append(with, fmt.Sprintf("while %s waited for a first token (usually %s)", plural(int(f.Waiting), "other request"), metric.Count(int(f.WaitingAll))))
	}
	if f.Prompt > standsOut*f.PromptAll {
		with = append(with, fmt.Sprintf("with prompts of %s tokens (usually %s)", metric.Count(int(f.Prompt)), metric.Count(int(f.PromptAll))))
	}
	return with
}

// wholeSteps is the largest number of steps of a load that should be recorded as a whole. The traces of longer loads
// are large, and the server takes long to write them.
const wholeSteps = 1000

// recordWhole are the flags of a window that covers a whole load.
const recordWhole = "--profile --profile-unbounded"

// record returns the flags of a window that contains the request with the slowest first token. A short load is recorded
// as a whole, since another request may be the slowest in the next run. In a longer load, the windows open when requests
// wait longer than before; if that has failed, the window covers at most mostSteps steps around that request.
func record(b *Bench) string {
	s, f := b.Summary, b.Summary.Firsts.Slow
	steps := func(ns int64) int { // number of steps in a duration
		if s.ITL.N == 0 || s.ITL.Median <= 0 {
			return 0
		}
		return int(math.Ceil(float64(ns) / s.ITL.Median))
	}
	window := "--profile"
	if whole := steps(b.Run.Duration); whole > 0 && whole <= wholeSteps {
		window = recordWhole
	} else if n := steps(f.TTFT + armLead); n > 0 && s.Window != nil {
		window += fmt.Sprintf(" %s --profile-num-steps %d", profileAt(f.At), min(max(n, fewestSteps), mostSteps))
	}
	if s.Cache != nil && s.Cache.HitRate < warm {
		return "--flush-cache " + window // without a flush, these prompts would be cached
	}
	return window
}

// A window opens armLead before the request that it should contain. armLead is the time that arming the profilers
// takes.
const (
	armLead     = 300_000_000 // ns
	fewestSteps = 20
	mostSteps   = 100
)

// profileAt returns the flag for a window that contains the requests sent ns nanoseconds after the start of the load.
func profileAt(ns int64) string {
	return "--profile-at " + time.Duration(max(ns-armLead, 0)).Truncate(10*time.Millisecond).String()
}
