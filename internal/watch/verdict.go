package watch

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/explain/answer"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Kinds of verdicts.
const (
	// MoreWork means that a rank has more requests, more tokens or longer sequences, and that its steps take
	// proportionally longer.
	MoreWork = "more work"
	Slower   = "slower"   // a rank takes longer than the other ranks for the same work
	Overload = "overload" // requests arrive faster than the server can serve them
	Stalled  = "stalled"  // the process of a server does not run at regular intervals: it is stopped, held by a quota, or busy
	Unclear  = "unclear"  // the data show none of the conditions above
)

// Verdict combines the evidence of signals and kernels.
type Verdict struct {
	Kind  string    `json:"kind"`
	Rank  string    `json:"rank,omitempty"`
	Since time.Time `json:"since"`
	// Cause depends on Kind. For Slower, it is a cause of a straggler. For MoreWork, it is requests, tokens, contexts
	// or load.
	Cause string `json:"cause,omitempty"`
	Says  string `json:"says"` // one sentence

	Rules []string `json:"rules"` // rules that raised an alarm, the earliest first

	// Load holds the signals of the rank and the medians over the other ranks. Each figure has one value for the period
	// since the change and one value for the minute before the change.
	Load     []Figure `json:"load"`
	Evidence []string `json:"evidence"` // evidence from kernels
	Next     []string `json:"next"`     // recommended actions
	// ByLoad reports whether the verdict relies on the signals alone, because the kernels are inconclusive.
	ByLoad bool `json:"by_load_alone"`

	Findings []string        `json:"findings"` // findings of the window
	Replica  *result.Replica `json:"replica,omitempty"`
	Stalls   *Stalls         `json:"stalls,omitempty"`  // when the server answered nothing, before the window
	Changed  string          `json:"changed,omitempty"` // change since the flight recorder's last window, in words
	// Recording is the profiler's overhead in words; "": unknown or negligible.
	Recording string   `json:"recording,omitempty"`
	Missing   []string `json:"missing,omitempty"`  // ranks without a trace
	Problems  []string `json:"problems,omitempty"` // reasons why windows could not be explained
}

// verdict combines the evidence of the signals with the evidence of the windows.
func (s *shot) verdict() *Verdict {
	first := s.why[0]
	v := &Verdict{Kind: Unclear, Since: first.Onset, Rules: []string{}, Evidence: []string{}, Next: []string{}, Findings: []string{}, Load: []Figure{}, Changed: s.changed}
	for _, a := range s.why {
		v.Rules = append(v.Rules, a.Rule.Name)
		if a.Onset.Before(v.Since) {
			v.Since = a.Onset
		}
	}
	if who := s.who(); who >= 0 {
		v.Rank = s.of.rank(who)
		v.Load = figures(s.past, who, v.Since, s.at)
	}
	if v.Stalls = s.stalls; v.Stalls != nil {
		if s.who() >= 0 && len(s.of.of) == 1 { // a stopped process makes no rank of its own stand out
			v.Evidence = append(v.Evidence, s.servers[0].name+" "+v.Stalls.says())
		} else { // all its ranks are slow, so the evidence below would blame one of them
			v.Kind, v.Rank = Stalled, s.servers[0].name
		}
	}
	answer := ""
	for i, x := range s.windows {
		if i < len(s.result.Servers) {
			v.Missing = append(v.Missing, s.result.Servers[i].Missing...)
		}
		if x.err != nil {
			v.Problems = append(v.Problems, fmt.Sprintf("%s: %v", x.server, x.err))
			continue
		}
		if says := report.Words(x.report.Recording.Says); says != "" {
			v.Recording = says
		}
		answer = report.Words(x.report.Verdict)
		for k := range x.report.Findings {
			if f := &x.report.Findings[k]; f.Severity != "info" && !f.Profilers {
				v.Findings = append(v.Findings, report.Words(f.Title))
			}
		}
		// If there are several servers, the first server is the outlier.
		if v.Kind == Unclear && (len(s.of.of) == 1 || s.who() < 0 || i == 0) {
			v.byFindings(x.report)
		}
	}
	v.Replica = s.replica
	if v.Kind == Unclear && s.replica != nil {
		v.byReplica(s.replica)
	}
	if v.Kind == Unclear {
		v.byLoad()
	}
	if v.Kind == Unclear && v.Rank == "" {
		v.byQueue(s.past)
	}
	v.Says = v.sentence(first.Rule.Name, answer)
	if len(v.Next) == 0 {
		v.next()
	}
	return v
}

// next sets the recommended actions if no finding of the window has provided any actions.
func (v *Verdict) next() {
	f := result.Finding{Kind: result.Straggler, Cause: v.Cause, Names: []string{v.Rank}}
	if v.Replica != nil && v.Replica.Held != nil {
		f.Reason = result.ReasonShared
	}
	todo := answer.Late(&f, false)
	switch v.Kind {
	case MoreWork:
		todo = answer.Uneven(v.Rank)
	case Overload:
		todo = answer.Overload()
	case Stalled:
		v.Next = append(v.Next, "look at the server's process: ps shows state T while it is stopped (SIGSTOP, a debugger)",
			"look at cpu.stat of its control group: nr_throttled grows if a CPU quota (cpu.max) holds it",
			"if it is neither stopped nor held, it is busy: look at its CPU time in top or py-spy")
		return
	case Unclear:
		return
	}
	for _, t := range todo {
		v.Next = append(v.Next, report.Words(t))
	}
}

// byFindings derives the verdict from findings about collectives. If ranks wait for each other in collectives, the
// findings show the late rank and the cause. If the signals show an outlier data-parallel rank, only findings about
// that rank count.
func (v *Verdict) byFindings(r *result.Report) {
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Kind != result.Straggler && f.Kind != result.UnevenAttention || f.Severity == "info" || len(f.Names) == 0 {
			continue
		}
		if strings.HasPrefix(v.Rank, "DP") && strings.Contains(f.Names[0], "DP") && !strings.Contains(f.Names[0], v.Rank) {
			continue
		}
		v.Kind, v.Rank, v.Cause = Slower, f.Names[0], f.Cause
		if f.Kind == result.UnevenAttention || f.Cause == result.CauseWork && slices.Contains([]string{"requests", "tokens", "contexts"}, f.Reason) {
			v.Kind, v.Cause = MoreWork, f.Reason
		}
		for k := range f.Evidence {
			v.Evidence = append(v.Evidence, report.Words(f.Evidence[k].Text))
		}
		for _, t := range f.Next {
			v.Next = append(v.Next, report.Words(t))
		}
		return
	}
}

// byReplica derives the verdict from the steps of replicas that do not wait for each other.
func (v *Verdict) byReplica(r *result.Replica) {
	switch r.Cause {
	case "":
		return
	case result.CauseLoad:
		v.Kind, v.Cause = MoreWork, result.CauseLoad
		if v.gathers() { // the rank has more running requests only because its steps take longer
			v.Kind, v.Cause = Slower, result.CauseUnknown
			if r.Held != nil || r.LikeSlower() && r.Like >= different*r.Busier() {
				v.Cause = result.CauseDevice
			}
		}
	default:
		v.Kind, v.Cause = Slower, r.Cause
	}
	v.Rank = cmp.Or(v.Rank, r.Name)
	a, b := &r.This, &r.Others
	if a.Batch >= 0 && b.Batch >= 0 {
		v.Evidence = append(v.Evidence, fmt.Sprintf("%s steps have %.0f requests (others: %.0f)", r.Kind, a.Batch, b.Batch))
	}
	step := fmt.Sprintf("a %s step takes %s (others: %s)", r.Kind, metric.Duration(a.Period), metric.Duration(b.Period))
	if a.Device > 0 || b.Device > 0 { // if both are 0, no GPU work was recorded
		step += fmt.Sprintf(", kernels %s (others: %s)", metric.Duration(a.Device), metric.Duration(b.Device))
	}
	v.Evidence = append(v.Evidence, step)
	if r.Like > 0 {
		v.Evidence = append(v.Evidence, fmt.Sprintf("kernels of the same kind take %.2f times as long as on the others (%d kinds)", r.Like, r.LikeKinds))
	}
	if r.Held != nil {
		v.Evidence = append(v.Evidence, report.Words(r.Held.Proof()))
	}
	for _, k := range r.Kernels {
		v.Evidence = append(v.Evidence, fmt.Sprintf("%s: %.0f per step in %s (others: %.0f in %s)", k.Short, k.Count, metric.Duration(k.NS), k.CountOthers, metric.Duration(k.NSOthers)))
	}
}

// Limits of the ratio of requests or tokens, for verdicts from signals alone. Two values count as different if their
// ratio is at least different, and as equal if their ratio is at most equal.
const (
	different = 1.25
	equal     = 1.1
)

// byLoad derives the verdict from the signals by Little's law: requests in a rank = tokens/s × time per token. A rank
// that runs more requests than the other ranks and produces more tokens is busy. A rank that runs more requests but
// does not produce more tokens is slow. A rank is fully loaded if it runs as many requests and produces as many tokens
// as the other ranks, while more requests wait for this rank.
func (v *Verdict) byLoad() {
	running, tokens := v.times("running"), v.times("tokens")
	if math.IsNaN(running) || math.IsNaN(tokens) {
		return
	}
	v.ByLoad = true
	switch waits := v.waits(); {
	case running >= different && tokens >= different, waits && tokens >= 1/equal && running <= different:
		v.Kind, v.Cause = MoreWork, result.CauseLoad
	case v.gathers():
		v.Kind, v.Cause = Slower, result.CauseUnknown
	default:
		v.ByLoad = false
	}
}

// gathers reports whether a rank runs more requests than the other ranks but does not produce more tokens.
func (v *Verdict) gathers() bool {
	running, tokens := v.times("running"), v.times("tokens")
	return tokens <= equal && running/tokens >= different
}

// waits reports whether more requests wait for this rank than for the other ranks. The difference must be at least
// overloaded and at least half the number of requests that the rank runs.
func (v *Verdict) waits() bool {
	queued, running := v.figure("queued"), v.figure("running")
	if queued == nil || running == nil || queued.This == nil || queued.Others == nil || running.This == nil {
		return false
	}
	return *queued.This-*queued.Others >= max(*running.This/2, overloaded)
}

// byQueue derives the verdict from the queue. If the queue grows while the token rate does not fall, the server is
// overloaded.
func (v *Verdict) byQueue(past []*signals.Live) {
	queued := func(l *signals.Live) float64 { return l.Sum(func(f *signals.Flow) float64 { return f.Queued }) }
	running := func(l *signals.Live) float64 { return l.Sum(func(f *signals.Flow) float64 { return f.Running }) }
	tokens := func(l *signals.Live) float64 { return l.Tokens }
	mean := func(of func(*signals.Live) float64, from, to time.Time) float64 {
		sum, n := 0.0, 0.0
		for _, l := range past {
			if x := of(l); signals.Known(x) && !l.At.Before(from) && l.At.Before(to) {
				sum, n = sum+x, n+1
			}
		}
		return sum / n // the quotient is Unknown (NaN) if there are no values
	}
	if len(past) == 0 {
		return
	}
	last := past[len(past)-1]
	had, made := mean(queued, v.Since.Add(-before), v.Since), mean(tokens, v.Since.Add(-before), v.Since)
	now := mean(tokens, v.Since, last.At.Add(1))
	if !(queued(last) >= overloaded && queued(last) > had*different) || now < made/different {
		return
	}
	v.Kind = Overload
	v.Evidence = append(v.Evidence, fmt.Sprintf("%.0f requests are waiting and %.0f are running; %.0f were waiting before", queued(last), running(last), had),
		fmt.Sprintf("throughput is %.0f tokens per second (%.0f before)", now, made))
}

// overloaded is the minimum number of waiting requests for the verdict Overload.
const overloaded = 8
