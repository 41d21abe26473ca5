package watch

import (
	"fmt"
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/capture/signals"
)

// keep is the length of the history that is kept for verdicts.
const keep = 3 * time.Minute

// group is a set of ranks that are compared with each other. The ranks are the data-parallel ranks of one server, or
// several servers of the same role, each of which counts as a rank.
type group struct {
	name string
	of   []*follower
	live *signals.Live
	past []*signals.Live
}

// takes reports whether a reading of the follower triggers a new sample of the group. Only readings of the group's
// first follower trigger a sample.
func (g *group) takes(f *follower) bool { return g.of[0] == f }

// look computes the group's sample from the last readings. It returns false if there is no new sample.
func (g *group) look() bool {
	if g.live = g.of[0].live; len(g.of) > 1 {
		g.live = g.together()
	}
	if g.live == nil {
		return false
	}
	g.past = append(g.past, g.live)
	for len(g.past) > 1 && g.live.At.Sub(g.past[0].At).Abs() > keep { // clocks may be set back
		g.past = g.past[1:]
	}
	return true
}

// together merges the samples of the servers into one sample in which each server is a rank.
func (g *group) together() *signals.Live {
	first := g.of[0].live
	if first == nil {
		return nil
	}
	all := &signals.Live{At: first.At, Over: first.Over}
	for i, f := range g.of {
		if f.live == nil || first.At.Sub(f.live.At).Abs() > 3*f.every+time.Second {
			continue // the server has no recent sample
		}
		all.Restarted = all.Restarted || f.live.Restarted
		all.Ranks = append(all.Ranks, f.live.Whole(i))
		all.Tokens += f.live.Tokens
		all.TTFT, all.ITL, all.E2E = all.TTFT.Add(&f.live.TTFT), all.ITL.Add(&f.live.ITL), all.E2E.Add(&f.live.E2E)
	}
	return all
}

// rank returns the name of a rank or server.
func (g *group) rank(who int) string {
	switch {
	case who < 0:
		return ""
	case len(g.of) > 1:
		return g.of[who].name
	}
	return rankName(who)
}

// rankName returns the name that reports use for a data-parallel rank.
func rankName(dp int) string { return fmt.Sprintf("DP%02d", dp) }

// mostServers is the maximum number of servers that are captured together. They are the outlier and its peers for
// comparison.
const mostServers = 4

// concerned returns the servers to capture, or the reason why no server can be captured.
func (g *group) concerned(who int) (out []*follower, why string) {
	order := g.of
	if len(g.of) > 1 && who >= 0 { // the outlier comes first
		order = append([]*follower{g.of[who]}, slices.Delete(slices.Clone(g.of), who, who+1)...)
	}
	for i, f := range order {
		switch {
		case f.server == nil:
			why = "there is only a log, no server to capture"
		case !f.missing.IsZero():
			why = "it does not answer"
		case len(out) < mostServers:
			out = append(out, f)
		}
		if i == 0 && who >= 0 && len(out) == 0 {
			return nil, why // a capture of the other servers alone would show nothing
		}
	}
	if len(out) > 0 {
		why = ""
	}
	return out, why
}
