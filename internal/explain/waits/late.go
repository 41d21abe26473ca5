package waits

import (
	"slices"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// LateSteps returns the steps that a late rank made longer according to the findings in r. The cost of each is the time
// for which the other ranks waited in collectives. ranks are the traces that were analysed in r.
func LateSteps(r *result.Report, ranks []*trace.Trace) (out []Late) {
	dp := func(rank int) int { return ranks[rank].Source.Rank.DP }
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
				out = append(out, Late{DP: dp(who.Rank), From: from, To: from + max(who.Period, 1), Cost: cost, ID: f.ID, Title: f.Title})
			}
		}
	}
	return out
}

// Of returns a copy of l with the name of the server set, for one of several servers; "": the only server.
func (l Late) Of(server string) Late {
	if server != "" {
		l.Server, l.ID, l.Title = server, server+" "+l.ID, fact.Of("of_server", "server", server, "what", l.Title)
	}
	return l
}
