package clock

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// meetings returns collectives of two ranks on one clock: each rank is late by up to skew, alternately or always the
// second, and both leave once a transfer of least to least+jitter is done.
func meetings(seed uint64, n int, step, skew, least, jitter int64, turns bool) (a, b []Event) {
	rng := rand.New(rand.NewPCG(seed, 5))
	for i := range int64(n) {
		come := 1_790_857_026_000_000_000 + i*step
		first, second := come, come+rng.Int64N(skew)
		if turns && i%2 == 1 {
			first, second = second, first
		}
		end := max(first, second) + least
		a = append(a, Event{Start: first, End: end + rng.Int64N(jitter)})
		b = append(b, Event{Start: second, End: end + rng.Int64N(jitter)})
	}
	return a, b
}

// TestBoundKnown: the second clock is offset and drifts. The bounds contain the truth everywhere and are as narrow as
// theory predicts: if each rank is last in turn, the duration of a collective after all have arrived, on either side;
// on the side of a rank that is always last, its least lateness more.
func TestBoundKnown(t *testing.T) {
	const least = 12_000
	for _, c := range []struct {
		name   string
		offset int64
		drift  float64
		turns  bool
	}{
		{name: "agree", turns: true},
		{name: "set off", offset: 3_600_000_000_000, turns: true},
		{name: "drifts", drift: 50e-6, turns: true},
		{name: "both", offset: -7_000_000, drift: -120e-6, turns: true},
		{name: "always the second", offset: 5_000, drift: 20e-6},
	} {
		a, b := meetings(1, 4_000, 1_000_000, 300_000, least, 1, c.turns)
		off := slices.Clone(b)
		for i := range off {
			set := func(at int64) int64 { return at + c.offset + int64(math.Round(c.drift*float64(at-b[0].End))) }
			off[i].Start, off[i].End = set(b[i].Start), set(b[i].End)
		}
		truth := func(at int64) int64 { // correction of the second clock
			x := float64(at - b[0].End - c.offset)
			return -c.offset - int64(math.Round(c.drift*x/(1+c.drift)))
		}
		got, ok := Bound(a, off)
		if !ok {
			t.Errorf("%s: no shift is allowed", c.name)
			continue
		}
		want := int64(least)
		if !c.turns {
			want += 300_000 / 100 // among so many, some are hardly late
		}
		for _, i := range []int{50, 1_000, 2_000, 3_950} {
			at := off[i].Start
			lo, hi := got.At(at)
			if below, above := truth(at)-lo, hi-truth(at); below < 0 || above < 0 || below > want+3 || above > least+3 {
				t.Errorf("%s: at %d %d below the truth and %d above, want at most %d and %d", c.name, i, below, above, want, least)
			}
		}
		lo, hi := got.Drift()
		if d := -c.drift / (1 + c.drift); d < lo || d > hi || hi-lo > 1.01*4*float64(want)/4e9 {
			t.Errorf("%s: drift %g to %g, is %g", c.name, lo, hi, d)
		}
	}
}

// TestBoundBrute compares with all corners of the allowed region, each at the intersection of two limits, and with
// random lines.
func TestBoundBrute(t *testing.T) {
	feasible, narrowed := 0, 0
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 9))
		a, b := meetings(seed, 2+rng.IntN(12), 1_000_000_000, 400_000, 1+rng.Int64N(200_000), 1+rng.Int64N(100_000), seed%2 == 0)
		for i := range b { // wandering clocks: often no line is allowed
			by := int64(float64(rng.Int64N(600_000)) * float64(seed%5) / 4)
			b[i].Start, b[i].End = b[i].Start+by, b[i].End+by
		}
		b = moved(b, 1_000_000, 0)
		got, ok := Bound(a, b)

		type limit struct{ x, y float64 } // whether y is above or below the line at x
		base := b[0].End
		var above, below []limit
		for i := range b {
			above = append(above, limit{float64(b[i].End - base), float64(a[i].Start - b[i].End)})
			below = append(below, limit{float64(b[i].Start - base), float64(a[i].End - b[i].Start)})
		}
		allowed := func(o, d, slack float64) bool {
			return math.Abs(d) <= mostDrift+1e-15 &&
				!slices.ContainsFunc(above, func(l limit) bool { return o+d*l.x < l.y-slack }) &&
				!slices.ContainsFunc(below, func(l limit) bool { return o+d*l.x > l.y+slack })
		}
		type line struct{ o, d float64 }
		var corners []line
		all := slices.Concat(above, below)
		for i, p := range all {
			slopes := []float64{-mostDrift, mostDrift}
			for _, q := range all[i+1:] {
				if q.x != p.x {
					slopes = append(slopes, (q.y-p.y)/(q.x-p.x))
				}
			}
			for _, d := range slopes {
				if o := p.y - d*p.x; allowed(o, d, 1e-3) {
					corners = append(corners, line{o, d})
				}
			}
		}
		if ok != (len(corners) > 0) {
			t.Errorf("%d: allowed %v, corners %v", seed, ok, corners)
		}
		if !ok || len(corners) == 0 {
			continue
		}
		feasible++
		least, most := got.Drift()
		for _, at := range []int64{a[0].Start, b[len(b)/2].End, b[len(b)-1].End + 5_000_000} {
			lo, hi := got.At(at)
			x := float64(at - base)
			wantLo, wantHi, dLo, dHi := math.Inf(1), math.Inf(-1), 1.0, -1.0
			for _, c := range corners {
				wantLo, wantHi = min(wantLo, c.o+c.d*x), max(wantHi, c.o+c.d*x)
				dLo, dHi = min(dLo, c.d), max(dHi, c.d)
			}
			if math.Abs(float64(lo)-wantLo) > 2 || math.Abs(float64(hi)-wantHi) > 2 {
				t.Errorf("%d at %.0f: %d to %d, want %.1f to %.1f", seed, x, lo, hi, wantLo, wantHi)
			}
			if math.Abs(least-dLo) > 1e-11 || math.Abs(most-dHi) > 1e-11 {
				t.Errorf("%d: drift %g to %g, want %g to %g", seed, least, most, dLo, dHi)
			}
			for range 200 {
				d := (2*rng.Float64() - 1) * mostDrift
				o := -1_000_000 + (2*rng.Float64()-1)*600_000
				if allowed(o, d, 0) {
					narrowed++
					if y := o + d*x; y < float64(lo)-1 || y > float64(hi)+1 {
						t.Errorf("%d: a line is allowed that is at %.1f, beyond %d to %d", seed, y, lo, hi)
					}
				}
			}
		}
	}
	if feasible < 200 || feasible > 550 || narrowed < 100 {
		t.Errorf("%d of 600 are allowed by some line, %d lines at random were", feasible, narrowed)
	}
}

// TestBoundNone: no line fits a clock that jumps or collectives that do not match; without collectives every line fits.
func TestBoundNone(t *testing.T) {
	a, b := meetings(2, 400, 1_000_000, 100_000, 12_000, 3_000, true)
	jumped := slices.Concat(b[:200], moved(b[200:], 40_000, 0))
	if _, ok := Bound(a, jumped); ok {
		t.Error("a clock that jumps by 40 µs is allowed")
	}
	if _, ok := Bound(a, slices.Concat(b[:200], moved(b[200:], 10_000, 0))); !ok {
		t.Error("a jump of 10 µs, less than a collective takes, is not allowed")
	}
	if _, ok := Bound(a[:399], b[1:]); ok {
		t.Error("collectives matched with the next ones are allowed")
	}
	b1, ok := Bound(nil, nil)
	if lo, hi := b1.At(0); !ok || lo != math.MinInt64 || hi != math.MaxInt64 {
		t.Error("bounds without collectives")
	}
}

func BenchmarkBound(b *testing.B) {
	x, y := meetings(1, 20_000, 1_000_000, 300_000, 12_000, 5_000, true)
	for b.Loop() {
		Bound(x, y)
	}
}
