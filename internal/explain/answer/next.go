package answer

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Guides that tell more: the names of files in docs/guides.
const (
	lateGuide  = "late-rank"
	hostGuide  = "host-bound"
	spreadsDP  = "moe-and-dp"
	slowGuide  = "slow-steps"
	apartGuide = "disaggregation"
)

// next says what to do about a finding, beside what its rule says itself, and the guide to read.
func next(rep *result.Report, f *result.Finding) {
	do := func(todo fact.Fact) { f.Next = append(f.Next, todo) }
	rank := strings.Join(f.Names, ", ")
	switch f.Kind {
	case result.Straggler:
		f.Guide = lateGuide
		switch {
		case f.Starved:
			do(fact.Of("next_cores"))
		case f.Still:
			do(fact.Of("next_still"))
		case f.Cause == result.CauseWork && f.Reason == result.Experts:
			f.Guide = spreadsDP
			do(fact.Of("next_experts"))
		case f.Cause == result.CauseWork && (f.Reason != "" || given(f)):
			f.Guide = spreadsDP
			do(fact.Of("next_spread"))
		case f.Cause == result.CauseWork:
			do(fact.Of("next_work", "rank", rank))
		case f.Cause == result.CauseDevice && f.Reason == result.ReasonShared:
			do(fact.Of("next_shared", "rank", rank))
		case f.Cause == result.CauseDevice:
			do(fact.Of("next_device", "rank", rank))
		case f.Cause == result.CauseHost:
			if len(f.Names) == 1 {
				do(fact.Of("next_host", "rank", rank))
			} else {
				do(fact.Of("next_hosts"))
			}
			if !rep.Recording.Stacks {
				do(fact.Of("next_stacks"))
			}
		case f.Cause == result.CauseCommunication:
			do(fact.Of("next_link", "rank", rank))
		case f.Cause == result.CauseUnknown:
			do(fact.Of("next_launches"))
		}
	case result.UnevenAttention:
		f.Guide = spreadsDP
		do(fact.Of("next_spread"))
	case result.UnevenExperts:
		f.Guide = spreadsDP
		do(fact.Of("next_experts"))
	case result.SlowLink:
		do(fact.Of("next_links"))
		f.Guide = lateGuide
	case result.HostBound:
		f.Guide = hostGuide
		launches, graphs, batch, kind := launched(rep, f)
		switch {
		case launches == 0:
		case graphs > 0:
			do(fact.Of("next_between_graphs", "kind", kind))
		case kind == "prefill":
			do(fact.Of("next_prefill"))
		case rep.CPU.Launch.GraphCalls > 0:
			do(fact.Of("next_larger_graphs", "kind", kind, "batch", batch))
		default:
			do(fact.Of("next_graphs"))
		}
		if f.Profilers {
			do(fact.Of("next_lean"))
		}
	case result.LaunchBound:
		do(fact.Of("next_graphs"))
		f.Guide = hostGuide
	case result.CommBound:
		f.Guide = slowGuide
		if len(f.Ranks) == 0 {
			do(fact.Of("next_communication"))
		}
	case result.SlowSince, result.SlowStep:
		do(fact.Of("next_since", "step", f.FirstStep))
		f.Guide = slowGuide
	case result.SlowLayer:
		do(fact.Of("next_layer"))
	case result.ColdStart:
		f.Guide = slowGuide
	case result.Limits:
		f.Guide = apartGuide
	}
}

// given tells a rank that was given more: requests, tokens or longer contexts.
func given(f *result.Finding) bool {
	return slices.ContainsFunc(f.Evidence, func(e result.Evidence) bool { return e.Text.Key == "input" && e.Value > e.Peers })
}

// launched counts the launches of the steps that a finding is about, and those of graphs, and gives their kind and
// their largest batch.
func launched(rep *result.Report, f *result.Finding) (launches, graphs, batch int, kind string) {
	for i := range rep.Steps {
		s := &rep.Steps[i]
		if !slices.Contains(f.Steps, s.Step) {
			continue
		}
		kind, batch = s.Kind, max(batch, s.Batch)
		for j := range s.Ranks {
			launches, graphs = launches+s.Ranks[j].Launches, graphs+s.Ranks[j].Graphs
		}
	}
	return launches, graphs, batch, kind
}
