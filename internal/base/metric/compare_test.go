package metric

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// lattice returns n distinct, shuffled values: base + (i·step mod mod)/10.
func lattice(n int, base float64, step, mod int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = base + float64(i*step%mod)*0.1
	}
	return x
}

// p: scipy.stats.mannwhitneyu(b, a, method='exact' without ties, else 'asymptotic').pvalue.
// shift: numpy.median(numpy.subtract.outer(b, a)); its interval: the sorted differences cut where the counted
// distribution of U over all itertools.combinations leaves at most 2.5 % on each side. Lo and Hi: the ratios
// numpy.divide.outer(b, a), cut at the same places.
func TestCompare(t *testing.T) {
	tests := []struct {
		name string
		a, b []float64
		want Comparison
	}{
		{"no overlap", []float64{1.1, 2.2, 3.3, 4.4}, []float64{5.5, 6.6, 7.7, 8.8}, Comparison{
			NA: 4, NB: 4, MedianA: 2.75, MedianB: 7.15, Shift: 4.4, ShiftLo: 1.1, ShiftHi: 7.7,
			Relative: true, Change: 1.6, Lo: 5.5/4.4 - 1, Hi: 8.8/1.1 - 1, P: 0.02857142857142857, Enough: true}},
		{"three a side are not enough", []float64{1, 2, 3}, []float64{4, 5, 6}, Comparison{
			NA: 3, NB: 3, MedianA: 2, MedianB: 5, Shift: 3, ShiftLo: 1, ShiftHi: 5,
			Relative: true, Change: 1.5, Lo: 4.0/3 - 1, Hi: 5, P: 0.1, Enough: false}},
		{"overlap", []float64{19.8, 22.1, 20.3, 21.7, 18.9}, []float64{23.5, 20.9, 24.1, 22.8, 25.3, 21.2, 23}, Comparison{
			NA: 5, NB: 7, MedianA: 20.3, MedianB: 23, Shift: 2.4, ShiftLo: 0.7, ShiftHi: 4.3, Relative: true,
			Change: 2.7 / 20.3, Lo: 22.8/22.1 - 1, Hi: 24.1/19.8 - 1, P: 0.030303030303030304, Enough: true}},
		{"equal", []float64{5, 5, 5, 5}, []float64{5, 5, 5, 5}, Comparison{
			NA: 4, NB: 4, MedianA: 5, MedianB: 5, Relative: true, P: 1, Enough: true}},
		{"nan dropped", []float64{1, math.NaN(), 3}, []float64{2, math.Inf(1)}, Comparison{
			NA: 2, NB: 1, MedianA: 2, MedianB: 2, ShiftLo: -1, ShiftHi: 1, Relative: true, Lo: 2.0/3 - 1, Hi: 1, P: 1}},
		{"no base", nil, []float64{1, 2}, Comparison{NB: 2, MedianB: 1.5, P: 1}},
		{"zero base", []float64{0, 0, 0, 0}, []float64{1, 2, 3, 4}, Comparison{
			NA: 4, NB: 4, MedianB: 2.5, Shift: 2.5, ShiftLo: 1, ShiftHi: 4, P: 0.021070570134378658, Enough: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Compare(tt.a, tt.b)
			for _, f := range []struct{ got, want *float64 }{
				{&got.MedianA, &tt.want.MedianA}, {&got.MedianB, &tt.want.MedianB},
				{&got.Shift, &tt.want.Shift}, {&got.ShiftLo, &tt.want.ShiftLo}, {&got.ShiftHi, &tt.want.ShiftHi},
				{&got.Change, &tt.want.Change}, {&got.Lo, &tt.want.Lo}, {&got.Hi, &tt.want.Hi}, {&got.P, &tt.want.P},
			} {
				if math.Abs(*f.got-*f.want) < 1e-7 {
					*f.got = *f.want
				}
			}
			if got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestMannWhitney(t *testing.T) {
	tests := []struct {
		name string
		a, b []float64
		want float64 // scipy.stats.mannwhitneyu(b, a, method=…).pvalue
	}{
		{"25 a side, exact", lattice(25, 100, 37, 41), lattice(25, 100.65, 29, 43), 0.34484058657034933},
		{"40 a side, asymptotic", lattice(40, 100, 37, 41), lattice(40, 101.005, 29, 43), 0.0006940145128506958},
		{"ties, asymptotic", []float64{1, 2, 2, 3, 3, 3, 4}, []float64{2, 3, 4, 4, 5, 5, 6, 6}, 0.025144761173357368},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Compare(tt.a, tt.b).P; math.Abs(got-tt.want) > 1e-9 {
				t.Errorf("P = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestCompareIsSymmetricAndAgreesWithItself(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	decided := 0
	for range 300 {
		a := make([]float64, 4+r.IntN(60))
		b := make([]float64, 4+r.IntN(60))
		for i := range a {
			a[i] = 100 + 10*r.NormFloat64()
		}
		for i := range b {
			b[i] = 100 + 10*r.NormFloat64() + 8*float64(r.IntN(2))
		}
		ab, ba := Compare(a, b), Compare(b, a)
		if ab.P != ba.P || ab.Shift != -ba.Shift || ab.ShiftLo != -ba.ShiftHi || ab.ShiftHi != -ba.ShiftLo {
			t.Fatalf("not symmetric:\n%+v\n%+v", ab, ba)
		}
		if ab.ShiftLo > ab.Shift || ab.Shift > ab.ShiftHi {
			t.Fatalf("estimate outside its interval: %+v", ab)
		}
		excludes := ab.ShiftLo > 0 || ab.ShiftHi < 0
		if excludes != (ab.P <= 0.05) {
			t.Fatalf("interval and test disagree: %+v", ab)
		}
		if excludes {
			decided++
		}
	}
	if decided < 20 || decided > 280 {
		t.Errorf("%d of 300 decided: the property was tested on one side only", decided)
	}
}

// TestCompareInside: the change lies in its interval, and nothing falls by more than 100 %, whatever the shapes of the
// samples.
func TestCompareInside(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	shapes := map[string]func() float64{
		"normal":         func() float64 { return 100 + 10*r.NormFloat64() },
		"exponential":    r.ExpFloat64,
		"heavy tail":     func() float64 { return math.Exp(2 * r.NormFloat64()) },
		"two modes":      func() float64 { return float64(1+9*r.IntN(2)) + 0.1*r.Float64() },
		"mostly zero":    func() float64 { return max(0, r.NormFloat64()) },
		"some negative":  r.NormFloat64,
		"equal":          func() float64 { return 5 },
		"few values":     func() float64 { return float64(r.IntN(3)) },
		"two scales":     func() float64 { return math.Pow(1000, float64(r.IntN(2))) * r.Float64() },
		"narrow outlier": func() float64 { return 5 + 1e-12*r.Float64() },
	}
	draw := func(of func() float64) []float64 {
		x := make([]float64, 1+r.IntN(40))
		for i := range x {
			x[i] = of()
		}
		return x
	}
	for nameA, of := range shapes {
		for nameB, and := range shapes {
			for range 100 {
				a, b := draw(of), draw(and)
				c := Compare(a, b)
				if c.Relative && !(c.Lo <= c.Change && c.Change <= c.Hi) {
					t.Fatalf("%s against %s: change %v outside %v to %v", nameA, nameB, c.Change, c.Lo, c.Hi)
				}
				if c.Relative && slices.Min(a) >= 0 && slices.Min(b) >= 0 && c.Lo < -1 {
					t.Fatalf("%s against %s: falls by %v", nameA, nameB, c.Lo)
				}
			}
		}
	}
}

// The interval must keep its level at the sample sizes of a short capture.
func TestCompareCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const trials, shift = 2000, 3.0
	held := 0
	for range trials {
		a, b := make([]float64, 6), make([]float64, 8)
		for i := range a {
			a[i] = r.ExpFloat64()
		}
		for i := range b {
			b[i] = r.ExpFloat64() + shift
		}
		if c := Compare(a, b); c.ShiftLo <= shift && shift <= c.ShiftHi {
			held++
		}
	}
	if share := float64(held) / trials; share < 0.94 {
		t.Errorf("a 95 %% interval contained the true value in %.3f of trials", share)
	}
}

func TestNthDifferenceAgainstAll(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 100 {
		a, b := make([]float64, 1+r.IntN(9)), make([]float64, 1+r.IntN(9))
		for i := range a {
			a[i] = float64(r.IntN(7)) - 3.5
		}
		for i := range b {
			b[i] = r.NormFloat64() * 4
		}
		slices.Sort(a)
		slices.Sort(b)
		var all []float64
		for _, v := range a {
			for _, w := range b {
				all = append(all, w-v)
			}
		}
		slices.Sort(all)
		for k := range all {
			if got := nthDifference(a, b, k+1); got != all[k] {
				t.Fatalf("difference %d of %v - %v: %v, want %v", k+1, b, a, got, all[k])
			}
		}
	}
}

func TestAdjustFDR(t *testing.T) {
	// scipy.stats.false_discovery_control([0.01, 0.04, 0.03, 0.005, 0.5, 0.04])
	got := AdjustFDR([]float64{0.01, 0.04, 0.03, 0.005, 0.5, 0.04})
	want := []float64{0.03, 0.048, 0.048, 0.03, 0.5, 0.048}
	if !slices.EqualFunc(got, want, near) {
		t.Errorf("got %v, want %v", got, want)
	}
}
