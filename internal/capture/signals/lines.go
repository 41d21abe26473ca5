package signals

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/memory"
)

// Line is a batch line in a log of SGLang or stepscope. It describes a prefill batch, or the decode batches since the
// previous line. Missing values are Unknown.
type Line struct {
	At      time.Time // time on the server's clock in whole seconds, parsed in the local time zone
	DP      int
	Prefill bool

	Running, Queued, Context, Usage float64
	Rate                            float64 // decode: tokens/s
	New                             float64 // prefill: tokens computed
}

// longest is larger than the length of any batch line.
const longest = 4 << 10

// ParseLine parses a line of a log; ok is false if it is not a batch line. Releases differ in the fields and in the
// punctuation after the title, so fields are found by name. See section 7.5 of the contract and SGLang's
// metrics_reporter.py.
func ParseLine(text string) (l Line, ok bool) {
	head, rest, found := strings.Cut(strings.TrimSpace(text[:min(len(text), longest)]), "] ")
	if !found || len(head) < 1+len(time.DateTime) || head[0] != '[' {
		return l, false
	}
	at, err := time.ParseInLocation(time.DateTime, head[1:1+len(time.DateTime)], time.Local)
	if err != nil {
		return l, false
	}
	l = Line{At: at, Running: Unknown, Queued: Unknown, Context: Unknown, Usage: Unknown, Rate: Unknown, New: Unknown}
	for _, part := range strings.Fields(head[1+len(time.DateTime):]) {
		if n, is := digits(strings.TrimPrefix(part, "DP")); is && strings.HasPrefix(part, "DP") {
			l.DP = n
		}
	}
	for title, prefill := range map[string]bool{"Prefill batch": true, "Decode batch": false} {
		if after, is := strings.CutPrefix(rest, title); is {
			l.Prefill, rest, ok = prefill, after, true
		}
	}
	if !ok {
		return l, false
	}
	said := false
	for field := range strings.SplitSeq(rest, ", ") {
		key, value, _ := strings.Cut(field, ": ")
		// A title may be followed by ". " or " [12], " before the first field.
		key = strings.TrimLeft(key, ".,[]0123456789 ")
		v, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimRight(value, ", "), "%"), 64)
		if err != nil || !(v >= 0) {
			continue
		}
		said = true
		switch key {
		case "#running-req":
			l.Running = v
		case "#queue-req":
			l.Queued = v
		case "#token", "#full token":
			l.Context = v
		case "token usage", "full token usage":
			l.Usage = v
		case "gen throughput (token/s)":
			l.Rate = v
		case "#new-token":
			l.New = v
		}
	}
	return l, said
}

// Log accumulates batch lines into the state of ranks. The zero value is ready to use.
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
func (g *Log) Add(l *Line, at time.Time) {
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
	for _, r := range slices.SortedFunc(maps.Values(g.ranks), func(a, b *logged) int { return cmp.Compare(a.DP, b.DP) }) {
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
	s := &Sample{At: at, Generated: Unknown, Aborted: Unknown}
	s.Fill(ranks)
	return s
}
