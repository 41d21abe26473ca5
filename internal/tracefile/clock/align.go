package clock

import "slices"

// Rank is one recording to be aligned.
type Rank struct {
	Host   string  // ranks of one host share a clock; "": unknown, a clock of its own
	Events []Event // sorted by start
	// RTT, in ns, is how long a message to the first rank's host and back was seen to
	// take; 0: not known. So much later than the one that comes last may a rank leave
	// that waits for it.
	RTT int64
}

// Method says how a rank's Result came about.
type Method string

// The methods.
const (
	Reference   Method = "reference"   // the clock all others are compared with
	SameHost    Method = "same host"   // shares the clock of a rank that was compared
	Collectives Method = "collectives" // compared by the ends of common collectives
	Unaligned   Method = "none"        // no collectives in common: the wall clock is all there is
)

// Result is a rank's shift and where it comes from.
type Result struct {
	Shift
	Method Method
	Err    error // why Method is Unaligned
}

// Align compares all ranks with the first, directly where they have
// collectives in common, else over other ranks. Offsets and spreads then add up.
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
	// From the settled ranks outward, nearest first.
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
