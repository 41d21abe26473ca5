package judge

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// This file determines the overhead of recording, by comparing decode steps of the window with unrecorded decode steps.

const (
	// medianLevel is the confidence level for each of the two medians. The interval of their ratio then has a level of
	// at least 95 % (Bonferroni).
	medianLevel = 0.975
	leastTimed  = 3    // minimum number of steps for a median
	likeBatch   = 5    // batches are similar if they differ by at most a fifth, or by one
	costlyRatio = 1.1  // ratio above which recording is assumed to slow other kinds of steps, too
	skewShare   = 0.25 // share of a step up to which recording may make one rank late; a healthy SGLang had 13 %
	// naturalShare is the lateness of a host, as a share of a step, below which severity is low if recording may be the
	// cause. A healthy SGLang had up to 13 %.
	naturalShare = 0.15
	vagueRatio   = 1.2 // if the interval contains 1 and ends below this, recording cost nothing
	mostWide     = 2.0 // the overhead is unknown if the bounds of the interval differ by more than this factor
)

// Recording measures the overhead of recording, if there is a reference for its steps.
func Recording(a *match.Aligned, rep *result.Report, ref *trace.Reference) (o result.Recording) {
	o.Stacks = slices.ContainsFunc(a.Ranks, func(r *match.Rank) bool { return r.Stacks })
	if ref == nil {
		return o
	}
	o.From = ref.From
	batch := cmp.Or(decodeBatch(a), ref.Batch)
	pace, like := paceFor(ref, batch)
	times := decodeTimes(a, rep, pace.Batch, func(int) bool { return true })
	switch {
	case a.HostOnly || len(times) < leastTimed:
		o.Why = fact.Of("recording_no_steps", "n", len(times), "least", leastTimed)
		return o
	case slices.ContainsFunc(a.Ranks, func(r *match.Rank) bool { return r.Source.Rank.PP > 0 }):
		o.Why = fact.Of("recording_stages") // a pipeline has several batches in flight
		return o
	case !like:
		o.Why = fact.Of("recording_unlike", "batch", batchOf(batch))
		return o
	}
	inside := int64(metric.MedianInPlace(times))
	low, high := ratioInterval(times, &pace)
	if why := unlikely(low, high, ref.Upper); why.Key != "" {
		o.Why = fact.Of("recording_unlikely", "kind", trace.Decode.String(), "batch", batchOf(batch), "inside", inside, "outside", outside(&pace, ref.Upper),
			"low", low, "high", high, "from", fact.Of("recording_from_"+o.From), "why", why)
		o.Vague = why.Key == "recording_wide"
		return o
	}
	o.Known, o.Kind, o.Batch, o.Steps = true, trace.Decode.String(), batch, len(times)
	o.Inside, o.Outside = inside, pace.Median
	o.Ratio = float64(o.Inside) / float64(pace.Median)
	o.RatioLow, o.RatioHigh = low, high
	o.Upper = ref.Upper
	if o.RatioLow > 1 {
		o.Added = o.Inside - o.Outside
	} else {
		o.Vague = o.Upper || o.RatioHigh > vagueRatio
	}
	return o
}

// unlikely returns the reason why a ratio does not show the overhead of recording; "": it may. upper means that the
// time outside is an upper bound, so a ratio below 1 says nothing.
func unlikely(low, high float64, upper bool) fact.Fact {
	switch {
	case high < 1 && !upper:
		return fact.Of("recording_faster")
	case high > mostWide*low:
		return fact.Of("recording_wide")
	}
	return fact.Fact{}
}

// outside formats the time of unrecorded steps.
func outside(p *trace.StepTime, upper bool) fact.Fact {
	if upper {
		return fact.Of("recording_upper", "ns", p.Median)
	}
	return fact.Of("recording_outside", "ns", p.Median)
}

// ratioInterval returns the confidence interval of the median of times divided by the median of p.
func ratioInterval(times []int64, p *trace.StepTime) (low, high float64) {
	slices.Sort(times)
	lo, hi := metric.MedianInterval(times, medianLevel)
	return float64(lo) / float64(p.High), float64(hi) / float64(p.Low)
}

// batchOf formats a number of requests.
func batchOf(n int) fact.Fact {
	if n == 0 {
		return fact.Fact{}
	}
	return fact.Of("of_batch", "n", n)
}

// decodeBatch returns the usual number of requests in decode steps; 0: unknown.
func decodeBatch(a *match.Aligned) int {
	var all []int
	for n, kind := range a.KindOf {
		if had := requestsIn(a, n); kind == trace.Decode && had > 0 {
			all = append(all, had)
		}
	}
	return int(metric.MedianInPlace(all))
}

// paceFor returns the step time of the reference for the most similar number of requests. ok is false if the reference
// has no similar number.
func paceFor(ref *trace.Reference, batch int) (best trace.StepTime, ok bool) {
	for _, p := range ref.Paces {
		apart := int(math.Abs(float64(p.Batch - batch)))
		switch {
		case p.Median <= 0 || p.Low <= 0 || p.High < p.Low:
		case p.Batch == 0: // given by the user for the same load
			return p, true
		case batch > 0 && alike(p.Batch, batch) && (!ok || apart < int(math.Abs(float64(best.Batch-batch)))):
			best, ok = p, true
		}
	}
	return best, ok
}

// alike reports whether two numbers of requests are similar.
func alike(a, b int) bool {
	return max(a-b, b-a) <= max(1, b/likeBatch)
}

// requestsIn returns the number of requests in a step, over all data-parallel ranks; 0: unknown.
func requestsIn(a *match.Aligned, n int) (sum int) {
	seen := map[int]bool{}
	for _, r := range a.Ranks {
		if i, dp := n-r.First, r.Source.Rank.DP; i >= 0 && i < len(r.Steps) && !seen[dp] {
			seen[dp] = true
			sum += max(r.Steps[i].Info.Batch, 0)
		}
	}
	return sum
}

// decodeTimes returns the lengths of decode steps that have about the given batch size (0: any) and are followed by
// decode steps. It leaves out the first step, in which profilers start, and the last step of a rank, whose end is
// unknown.
func decodeTimes(a *match.Aligned, rep *result.Report, batch int, those func(step int) bool) (out []int64) {
	for n := 1; n+1 < len(rep.Steps); n++ {
		s, next := &rep.Steps[n], &rep.Steps[n+1]
		if had := requestsIn(a, n); !those(n) || batch > 0 && had > 0 && !alike(had, batch) {
			continue
		}
		if a.KindOf[n] == trace.Decode && a.KindOf[n+1] == trace.Decode && len(s.Ranks) > 0 && len(next.Ranks) == len(s.Ranks) && a.Whole(n) {
			out = append(out, int64(took(a, s)))
		}
	}
	return out
}

// profilers marks findings that the profiler may have caused: late hosts, and hosts that do not keep the devices busy.
// It subtracts the known overhead of recording from the cost, and sets severities according to the remaining cost.
func (c *capture) profilers() {
	o := &c.rep.Recording
	corrected := false
	for i := range c.found {
		f := &c.found[i]
		if f.Cause != result.CauseHost || f.Starved || f.Still || // recording affects all steps, so it is not the cause
			!slices.Contains([]string{result.HostBound, result.LaunchBound, result.Straggler}, f.Kind) {
			continue
		}
		o.Matters = true
		most := "" // highest severity
		var why fact.Fact
		switch decode := c.ofKind(f, o.Kind); {
		case !o.Known && o.Stacks && !c.spares(f):
			most, why = "medium", fact.Of("profilers_stacks")
		case !o.Known && c.nsys():
			most, why = "medium", fact.Of("profilers_nsys")
		case o.Vague && !c.spares(f), !o.Known && c.skewed(f) && !c.spares(f):
			most, why = "medium", fact.Of("profilers_vague")
		case !o.Known || o.Added == 0:
			continue
		case f.Kind == result.HostBound && decode:
			rest := max(f.CostNSPerStep-o.Added, 0)
			most, why = "low", fact.Of("profilers_part", "added", o.Added, "rest", rest)
			switch share := metric.Share(rest, o.Outside); {
			case rest == 0:
				why = fact.Of("profilers_all", "added", o.Added)
			case share > hostShareHigh:
				most = "high"
			case share > hostShare:
				most = "medium"
			}
			f.CostNSPerStep = rest
		case !decode && o.Ratio > costlyRatio:
			most, why = "medium", fact.Of("profilers_other", "kind", c.rep.Said(o.Kind), "ratio", o.Ratio)
		case decode && f.CostNSPerStep <= c.addedBeside(f):
			most, why = "low", fact.Of("profilers_all", "added", c.addedBeside(f))
		default:
			continue
		}
		if most == "medium" && c.below(f, naturalShare) && !c.spares(f) {
			most = "low"
		}
		if slices.Index(severities, f.Severity) < slices.Index(severities, most) {
			f.Severity = most
		}
		corrected = true
		f.Profilers, f.Title = true, fact.Of("profilers", "what", f.Title, "why", why)
	}
	o.Says = recordingSays(o, corrected)
}

// nsys reports whether Nsight Systems recorded the capture. With layer-wise markers, Nsight Systems makes hosts many
// times slower, on changing ranks.
func (c *capture) nsys() bool {
	return slices.ContainsFunc(c.Ranks, func(r *match.Rank) bool { return trace.ReportSuffix(r.Source.Path) != "" })
}

// skewed reports whether a rank's lateness is small enough to be caused by recording, which slows ranks by different
// amounts.
func (c *capture) skewed(f *result.Finding) bool { return c.below(f, skewShare) }

// below reports whether a rank's lateness costs less than the given share of a step.
func (c *capture) below(f *result.Finding, share float64) bool {
	return f.Kind == result.Straggler && len(f.Steps) > 0 && float64(f.CostNSPerStep) < share*float64(usualPeriod(c.Aligned, f.Steps))
}

// spares reports whether recording cannot have made the rank late. Recording is ruled out if there are enough other
// decode steps in which the rank was not late, although those steps were recorded in the same way.
func (c *capture) spares(f *result.Finding) bool {
	if f.Kind != result.Straggler || !c.ofKind(f, trace.Decode.String()) {
		return false
	}
	return len(c.besides(f)) >= leastTimed
}

// besides returns the lengths of the decode steps that do not belong to a finding.
func (c *capture) besides(f *result.Finding) []int64 {
	return decodeTimes(c.Aligned, c.rep, c.rep.Recording.Batch, func(n int) bool { return n < f.FirstStep || n > f.LastStep })
}

// ofKind reports whether a finding is about all steps, or mostly about steps of the given kind.
func (c *capture) ofKind(f *result.Finding, kind string) bool {
	switch {
	case f.Kind == result.HostBound:
		return f.ID == id(result.HostBound, kind)
	case f.Kind == result.Straggler && len(f.Steps) > 0:
		of := 0
		for _, n := range f.Steps {
			if c.KindOf[n].String() == kind {
				of++
			}
		}
		return 2*of >= len(f.Steps)
	}
	return true
}

// addedBeside returns the overhead of recording per step. If possible, it is measured outside the finding's steps,
// since these may be longer for another reason.
func (c *capture) addedBeside(f *result.Finding) int64 {
	o := &c.rep.Recording
	times := c.besides(f)
	if len(times) < leastTimed {
		return o.Added
	}
	return max(0, int64(metric.MedianInPlace(times))-o.Outside)
}

// recordingSays summarises the overhead of recording. If the overhead is unknown, it states the reason, provided that
// the overhead matters.
func recordingSays(o *result.Recording, corrected bool) fact.Fact {
	switch {
	case o.Why.Key == "recording_unlikely":
		return o.Why
	case o.Vague && !o.Matters:
		return fact.Fact{} // unknown, and not needed
	case o.Vague && o.Upper:
		return fact.Of("recording_behind", "kind", o.Kind, "batch", batchOf(o.Batch), "inside", o.Inside, "outside", o.Outside,
			"from", fact.Of("recording_from_"+o.From))
	case o.Known:
		effect := fact.Of("recording_none")
		switch {
		case corrected && o.Added > 0:
			effect = fact.Of("recording_corrected")
		case o.Added > 0:
			effect = fact.Of("recording_slower")
		case o.Vague:
			effect = fact.Of("recording_vague")
		}
		return fact.Of("recording_known", "kind", o.Kind, "batch", batchOf(o.Batch), "inside", o.Inside, "outside", outside(&trace.StepTime{Median: o.Outside}, o.Upper),
			"ratio", o.Ratio, "low", o.RatioLow, "high", o.RatioHigh, "from", fact.Of("recording_from_"+o.From), "effect", effect, "stacks", stacksOf(o))
	case !o.Matters:
		return fact.Fact{}
	case o.Stacks:
		return fact.Of("recording_unknown_stacks", "why", o.Why)
	}
	return fact.Of("recording_unknown", "why", o.Why)
}

// stacksOf advises against Python stacks if recording with stacks added time.
func stacksOf(o *result.Recording) (f fact.Fact) {
	if o.Stacks && o.Added > 0 {
		f = fact.Of("recording_stacks")
	}
	return f
}
