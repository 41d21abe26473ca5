package experiment

import (
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/api/servers"
	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/runs"
)

// speculative returns the figures of speculative decoding during the samples; nil: the server counts none, or was
// restarted meanwhile.
func speculative(samples []runs.Sample) *bench.Speculative {
	if len(samples) < 2 {
		return nil
	}
	first, last := &samples[0], &samples[len(samples)-1]
	from, _ := signals.OfValues(first.Values)
	to, _ := signals.OfValues(last.Values)
	drafts, drafted, accepted := to.Drafts-from.Drafts, to.Drafted-from.Drafted, to.Accepted-from.Accepted
	if !(drafts > 0) || !(drafted > 0) || !(accepted >= 0) || accepted > drafted {
		return nil
	}
	s := &bench.Speculative{Drafts: int64(drafts), Drafted: int64(drafted), Accepted: int64(accepted), Positions: []float64{}}
	s.Length, s.Rate = 1+float64(s.Accepted)/float64(s.Drafts), float64(s.Accepted)/float64(s.Drafted)
	at, was := positions(last), positions(first)
	for i := range at {
		if i < len(was) {
			at[i] -= was[i]
		}
		s.Positions = append(s.Positions, at[i]/float64(s.Drafts))
	}
	return s
}

// mostPositions is a bound on the length of drafts.
const mostPositions = 1024

// positions returns the accepted tokens by position in a draft, summed over engines.
func positions(s *runs.Sample) (out []float64) {
	for key, v := range s.Values {
		name, labels, _ := strings.Cut(key, "{")
		if !strings.HasSuffix(strings.TrimSuffix(name, "_total"), ":"+servers.AcceptedPositions) {
			continue
		}
		m := client.Metric{Labels: "{" + labels}
		at, err := strconv.Atoi(m.Label("position"))
		if err != nil || at < 0 || at >= mostPositions {
			continue
		}
		for len(out) <= at {
			out = append(out, 0)
		}
		out[at] += v
	}
	return out
}
