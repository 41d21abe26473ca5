package clock

import "slices"

// Rank is one recording to align.
type Rank struct {
	Host   string  // ranks of a host share a clock; "": unknown, assume a separate clock
	Events []Event // sorted by start
	// RTT is the measured round-trip time of a message to the first rank's host, in ns; 0: unknown. A rank that waits
	// for the last rank to arrive may leave a collective later than that rank by up to RTT.
	RTT int64
}

// Method is the way in which a rank's Result was found.
type Method string

// Methods of alignment.
const (
	Reference   Method = "reference"   // the clock with which all other clocks are compared
	SameHost    Method = "same host"   // shares the clock of an aligned rank
	Collectives Method = "collectives" // found from the ends of common collectives
	Unaligned   Method = "none"        // no common collectives: the wall clock is used unchanged
)

// Result is a rank's shift and the method by which it was found.
type Result struct {
	Shift
	Method Method
	Err    error // why there is no shift, if Method is Unaligned
}

// Align compares all ranks with the first: directly if the two have common collectives, otherwise through a chain of
// other ranks. The offsets and spreads along a chain add up.
func Align(ranks []Rank) []Result {
	out := make([]Result, len(ranks))
	if len(ranks) == 0 {
		return out
	}
	done := make([]bool, len(ranks))
	settle := func(i int, r Result) {
		out[i], done[i] = r, true
		if ranks[i].Host == "" {
			return
		}
		for j := range ranks {
			if !done[j] && ranks[j].Host == ranks[i].Host {
				same := r
				same.Method = SameHost
				out[j], done[j] = same, true
			}
		}
	}
	settle(0, Result{Method: Reference})
	// Align ranks in rounds: in each round a rank can be compared with any rank aligned in an earlier round.
	for again := true; again; {
		again = false
		known := slices.Clone(done)
		for i := range ranks {
			if done[i] {
				continue
			}
			for from := range ranks {
				if !known[from] {
					continue
				}
				s, err := Estimate(ranks[from].Events, ranks[i].Events)
				if err != nil {
					out[i].Err = err
					continue
				}
				base := out[from].At(s.Since + s.Offset)
				s.Offset, s.Lo, s.Hi = s.Offset+base, s.Lo+base, s.Hi+base
				if wide := out[from]; wide.N > 0 {
					s.Lo, s.Hi = s.Lo+wide.Lo-wide.Offset, s.Hi+wide.Hi-wide.Offset
				}
				s.Spread += out[from].Spread
				s.Leave = max(s.Leave, ranks[i].RTT, ranks[from].RTT) + out[from].Leave
				s.Drift += out[from].Drift
				settle(i, Result{Shift: s, Method: Collectives})
				again = true
				break
			}
		}
	}
	for i := range ranks {
		if !done[i] {
			out[i].Method = Unaligned
			if out[i].Err == nil {
				out[i].Err = ErrFew
			}
		}
	}
	return out
}
