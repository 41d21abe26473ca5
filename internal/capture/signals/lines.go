package signals

import (
	"cmp"
	"maps"
	"time"

	"github.com/stepscope/stepscope/internal/api/servers"
	"github.com/stepscope/stepscope/internal/base/memory"
	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Log accumulates the lines of a log into the state of ranks. The zero value is ready to use.
type Log struct{ ranks map[int]*logged }

type logged struct {
	Rank
	at  time.Time
	gap time.Duration // time between the rank's last two lines
}

// An idle rank logs nothing. A rank therefore counts as idle after a certain time without a line. This time is the
// longer of quiet and rarely times the interval between the rank's last two lines.
const (
	quiet  = 10 * time.Second
	rarely = 4
)

// Add adds a line. at is the time at which the line arrived.
func (g *Log) Add(l *servers.Line, at time.Time) {
	if g.ranks == nil {
		g.ranks = map[int]*logged{}
	}
	r := g.ranks[l.DP]
	if r == nil {
		if len(g.ranks) == memory.MostRanks {
			return
		}
		r = &logged{Rank: fresh(l.DP), at: at}
		g.ranks[l.DP] = r
	}
	r.gap, r.at = at.Sub(r.at), at
	r.Running, r.Queued, r.Usage = or(l.Running, r.Running), or(l.Queued, r.Queued), or(l.Usage, r.Usage)
	if l.Prefill {
		if Known(l.New) {
			add(&r.Computed, l.New)
		}
		return
	}
	r.Context, r.Rate = or(l.Context, r.Context), or(l.Rate, r.Rate)
}

// Ranks returns the state of the ranks at a given time, or nil before the first line.
func (g *Log) Ranks(now time.Time) (out []Rank) {
	for _, r := range sorts.Sorted(maps.Values(g.ranks), func(a, b *logged) int { return cmp.Compare(a.DP, b.DP) }) {
		rank := r.Rank
		if now.Sub(r.at) > max(quiet, rarely*r.gap) {
			rank.Running, rank.Queued, rank.Rate = 0, 0, 0
		}
		out = append(out, rank)
	}
	return out
}

// Fill sets all values of the sample's ranks that are Unknown to the values in from.
func (s *Sample) Fill(from []Rank) {
	dps := make([]int, len(from))
	for i := range from {
		dps[i] = from[i].DP
	}
	s.hold(dps)
	for _, f := range from {
		own, other := s.of(f.DP).values(), f.values()
		for i := range own {
			*own[i] = or(*own[i], *other[i])
		}
	}
}

// OfLog returns a sample that is based only on a log.
func OfLog(ranks []Rank, at time.Time) *Sample {
	s := blank()
	s.At = at
	s.Fill(ranks)
	return s
}
