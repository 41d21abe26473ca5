package clock

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// run returns the collectives of n ranks: steps of uneven length, arrivals that differ by up to skew, ends that differ
// by about jitter.
func run(seed uint64, ranks, n int, step, skew, jitter int64) [][]Event {
	rng := rand.New(rand.NewPCG(seed, 1))
	out := make([][]Event, ranks)
	at := int64(1_790_857_026_000_000_000)
	for range n {
		at += step + rng.Int64N(step)
		last := at
		starts := make([]int64, ranks)
		for r := range starts {
			starts[r] = at + rng.Int64N(skew)
			last = max(last, starts[r])
		}
		for r := range starts {
			out[r] = append(out[r], Event{starts[r], last + 10_000 + rng.Int64N(jitter), 1})
		}
	}
	return out
}

func moved(events []Event, by int64, drift float64) []Event {
	out := slices.Clone(events)
	for i := range out {
		d := by + int64(drift*float64(out[i].End-out[0].End))
		out[i].Start += d
		out[i].End += d
	}
	return out
}

// TestLastAlwaysTheSame: if the same rank always arrives last, no collective shows how much later or earlier the other
// one leaves. The uncertainty allows for it: by the time the last takes to leave, and by the network latency where it
// is known.
func TestLastAlwaysTheSame(t *testing.T) {
	const by, way = 250_000_000, 60_000
	for _, c := range []struct {
		name        string
		last, other int64 // ns until they leave, after the last arrival
		rtt         int64
		most        int64 // uncertainty
	}{
		// A ring: the last rank's contribution returns to it only then.
		{"the last leaves last", 2 * way, way, 0, 3 * way},
		// The last rank has all data, and leaves once it has sent its own.
		{"the last leaves first", 5_000, way, 2*way + 20_000, 3 * way},
	} {
		rng := rand.New(rand.NewPCG(3, 3))
		var first, second []Event
		for i := range int64(300) {
			come := 1_790_857_026_000_000_000 + i*1_000_000 + rng.Int64N(500_000)
			first = append(first, Event{come - 400_000, come + c.other + rng.Int64N(5_000), 1})
			second = append(second, Event{come + by, come + c.last + rng.Int64N(5_000) + by, 1})
		}
		s := Align([]Rank{{Host: "a", Events: first}, {Host: "b", Events: second, RTT: c.rtt}})[1]
		if s.Err != nil {
			t.Fatal(s.Err)
		}
		if off := s.Offset + by; off > s.Uncertainty() || off < -s.Uncertainty() || s.Uncertainty() > c.most || s.Lo > -by || s.Hi < -by {
			t.Errorf("%s: %+v ± %d, want %d", c.name, s.Shift, s.Uncertainty(), -by)
		}
	}
}

// TestUncertainty: an offset is no more uncertain than the collectives allow, and is needed if they rule out zero.
func TestUncertainty(t *testing.T) {
	for _, c := range []struct {
		name string
		s    Shift
		want int64
		need bool
	}{
		{"no collectives", Shift{}, 0, false},
		{"spread and leaving", Shift{Offset: 100, Spread: 3, Leave: 4, Lo: -1000, Hi: 1000, N: 9}, 7, true},
		{"they allow less", Shift{Offset: 5, Spread: 3, Leave: 90, Lo: -4, Hi: 12, N: 9}, 9, false},
		{"they are together, which spread shows", Shift{Offset: 5, Spread: 30, Leave: 90, Lo: -4, Hi: 12, N: 9}, 30, false},
		{"small, but none is forbidden", Shift{Offset: 5, Spread: 30, Leave: 90, Lo: 2, Hi: 12, N: 9}, 30, true},
	} {
		if got := c.s.Uncertainty(); got != c.want || c.s.Significant() != c.need {
			t.Errorf("%s: ± %d, needed %v; want %d, %v", c.name, got, c.s.Significant(), c.want, c.need)
		}
	}
}

// TestLeavingVaries: the ends fluctuate by more than single collectives leave open; the offset is one that all of them
// allow.
func TestLeavingVaries(t *testing.T) {
	const by = 250_000_000
	rng := rand.New(rand.NewPCG(4, 4))
	var first, last []Event
	for i := range int64(300) {
		come := 1_790_857_026_000_000_000 + i*2_000_000 + rng.Int64N(500_000)
		took, woken := 5_000+rng.Int64N(5_000), 30_000+rng.Int64N(30_000)
		if i%5 < 2 {
			took, woken = 60_000, 6_000
		}
		first = append(first, Event{come - 1_900_000, come + woken, 1})
		last = append(last, Event{come + by, come + took + by, 1})
	}
	s, err := Estimate(first, last)
	if err != nil {
		t.Fatal(err)
	}
	if off := s.Offset + by; s.Odd > 0 || s.Lo > -by || s.Hi < -by || off > s.Uncertainty() || off < -s.Uncertainty() {
		t.Errorf("%+v, want %d", s, -by)
	}
}

func TestEstimate(t *testing.T) {
	tests := []struct {
		name   string
		by     int64
		n      int
		from   int // the other's window opens this many collectives later
		broken bool
	}{
		{"same clock", 0, 500, 0, false},
		{"ahead", 5_000_000, 500, 0, true},
		{"behind by an hour", -3600e9, 500, 0, true},
		{"below what shows", 8_000, 500, 0, false},
		{"other window", 3_000_000, 300, 17, true},
		{"few", 2_000_000, 9, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := run(7, 2, tt.n, 400_000, 300_000, 2_000)
			s, err := Estimate(r[0], moved(r[1], tt.by, 0)[tt.from:])
			if err != nil {
				t.Fatal(err)
			}
			if off := s.Offset + tt.by; off > s.Spread || off < -s.Spread {
				t.Errorf("offset %d ± %d, want %d", s.Offset, s.Spread, -tt.by)
			}
			if s.Spread > 5_000 || s.Lo > s.Offset || s.Hi < s.Offset || s.N != tt.n-tt.from || s.Moved != tt.from || s.Drift != 0 {
				t.Errorf("%+v", s)
			}
			if got := Plausible(r[0], moved(r[1], tt.by, 0)[tt.from:]); got == tt.broken {
				t.Errorf("plausible: %v", got)
			}
			if s.Disagree() != tt.broken || s.Odd != 0 {
				t.Errorf("impossible as they are: %d of %d, with the shift: %d", s.Broken, s.N, s.Odd)
			}
		})
	}
}

func TestEstimateDrift(t *testing.T) {
	r := run(3, 2, 3000, 1_000_000, 300_000, 2_000) // about 4.5 s
	const drift = 40e-6                             // 40 µs per second
	other := moved(r[1], 1_000_000, drift)
	s, err := Estimate(r[0], other)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(s.Drift+drift) > 2e-6 {
		t.Errorf("drift %g, want %g", s.Drift, -drift)
	}
	for _, i := range []int{0, 1500, 2999} {
		if d := other[i].End + s.At(other[i].End) - r[0][i].End; d > 5_000 || d < -5_000 {
			t.Errorf("collective %d: %d ns apart", i, d)
		}
	}
}

// Collectives that do not match must not give a shift.
func TestEstimateRefuses(t *testing.T) {
	a, b := run(1, 1, 400, 400_000, 1000, 2_000)[0], run(2, 1, 400, 400_000, 1000, 2_000)[0]
	if s, err := Estimate(a, b); !errors.Is(err, ErrMismatch) {
		t.Errorf("unrelated: %+v, %v", s, err)
	}
	if _, err := Estimate(a[:7], a[:7]); !errors.Is(err, ErrFew) {
		t.Errorf("seven: %v", err)
	}
	other := slices.Clone(a)
	for i := range other {
		other[i].Key = 9
	}
	if _, err := Estimate(a, other); !errors.Is(err, ErrFew) {
		t.Errorf("nothing in common: %v", err)
	}
	if _, err := Estimate(nil, nil); !errors.Is(err, ErrFew) {
		t.Errorf("no collectives: %v", err)
	}
}

// Ranks that share nothing with the first are aligned through those that do.
func TestAlign(t *testing.T) {
	const by1, by2 = 1_000_000, -4_000_000
	first := run(5, 3, 200, 400_000, 200_000, 1_000)  // ranks 0, 1, 2
	second := run(6, 2, 200, 400_000, 200_000, 1_000) // ranks 2, 3
	for i := range second {
		for j := range second[i] {
			second[i][j].Key = 2
		}
	}
	join := func(a, b []Event, by int64) []Event {
		all := append(slices.Clone(a), b...)
		slices.SortFunc(all, func(a, b Event) int { return int(a.Start - b.Start) })
		return moved(all, by, 0)
	}
	got := Align([]Rank{
		{Host: "a", Events: first[0]}, {Host: "a", Events: first[1]}, {Host: "b", Events: join(first[2], second[0], by1)}, {Host: "c", Events: moved(second[1], by2, 0)},
		{Host: "d"}, {Host: "c"},
	})
	want := []struct {
		method Method
		offset int64
	}{{Reference, 0}, {SameHost, 0}, {Collectives, -by1}, {Collectives, -by2}, {Unaligned, 0}, {SameHost, -by2}}
	for i, w := range want {
		off := got[i].Offset - w.offset
		if got[i].Method != w.method || off > got[i].Spread || off < -got[i].Spread || got[i].Lo > w.offset || got[i].Hi < w.offset {
			t.Errorf("rank %d: %s %d ± %d, want %s %d", i, got[i].Method, got[i].Offset, got[i].Spread, w.method, w.offset)
		}
	}
	if got[4].Err == nil {
		t.Error("rank 4: no reason given")
	}
}

func BenchmarkEstimate(b *testing.B) {
	r := run(1, 2, 5000, 400_000, 300_000, 2_000)
	for b.Loop() {
		if _, err := Estimate(r[0], r[1]); err != nil {
			b.Fatal(err)
		}
	}
}
