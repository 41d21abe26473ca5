package experiment

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/runs"
)

// Counters of vLLM's speculative decoding. Exporters of Prometheus add _total to the name of a counter.
const (
	specDrafts    = "vllm:spec_decode_num_drafts"
	specDrafted   = "vllm:spec_decode_num_draft_tokens"
	specAccepted  = "vllm:spec_decode_num_accepted_tokens"
	specPositions = "vllm:spec_decode_num_accepted_tokens_per_pos"
)

// isSpeculative reports whether a metric is one of these counters.
func isSpeculative(name string) bool {
	return slices.Contains([]string{specDrafts, specDrafted, specAccepted, specPositions}, strings.TrimSuffix(name, "_total"))
}

// speculative returns the figures of speculative decoding during the samples; nil: the server counts none, or was
// restarted meanwhile.
func speculative(samples []runs.Sample) *bench.Speculative {
	if len(samples) < 2 {
		return nil
	}
	first, last := &samples[0], &samples[len(samples)-1]
	grown := func(name string) int64 {
		from, _ := first.Sum(name, name+"_total")
		to, _ := last.Sum(name, name+"_total")
		return int64(to - from)
	}
	s := &bench.Speculative{Drafts: grown(specDrafts), Drafted: grown(specDrafted), Accepted: grown(specAccepted), Positions: []float64{}}
	if s.Drafts <= 0 || s.Drafted <= 0 || s.Accepted < 0 || s.Accepted > s.Drafted {
		return nil
	}
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
		if strings.TrimSuffix(name, "_total") != specPositions {
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
