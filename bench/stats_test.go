package bench

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/base/metric"
)

// A weighted value equals that many equal values.
func TestWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var s sample
		var all []float64
		for range 1 + r.IntN(30) {
			v, n := float64(r.IntN(20)), 1+r.IntN(4)
			s.add(v, int64(n))
			for range n {
				all = append(all, v)
			}
		}
		slices.Sort(all)
		got := s.stats(25, 99.9)
		want := Stats{
			N: int64(len(all)), Mean: metric.Mean(all), Min: all[0], Max: all[len(all)-1], Median: metric.Quantile(all, 0.5),
			P90: metric.Quantile(all, 0.9), P95: metric.Quantile(all, 0.95), P99: metric.Quantile(all, 0.99),
			More: []Percentile{{25, metric.Quantile(all, 0.25)}, {99.9, metric.Quantile(all, 0.999)}},
		}
		for _, v := range all {
			want.Std += (v - want.Mean) * (v - want.Mean) / float64(len(all))
		}
		want.Std = math.Sqrt(want.Std)
		for _, f := range []struct{ got, want *float64 }{
			{&got.Mean, &want.Mean}, {&got.Std, &want.Std}, {&got.Median, &want.Median}, {&got.P90, &want.P90}, {&got.P95, &want.P95}, {&got.P99, &want.P99},
			{&got.More[0].V, &want.More[0].V}, {&got.More[1].V, &want.More[1].V},
		} {
			if near(*f.got, *f.want) {
				*f.got = *f.want
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: got %+v, want %+v", s, got, want)
		}
	}
}

// The binomial table gives the indices of the order statistics: for the median of ten the second and the ninth (David
// and Nagaraja, Order Statistics, table 7.1).
func TestQuantileInterval(t *testing.T) {
	tests := []struct {
		n      int
		p      float64
		lo, hi float64 // of the samples 1 … n; 0: there is none
	}{
		{5, 0.5, 0, 0}, {6, 0.5, 1, 6}, {10, 0.5, 2, 9}, {20, 0.5, 6, 15}, {100, 0.5, 40, 61},
		{367, 0.99, 0, 0}, {368, 0.99, 360, 368}, {1000, 0.99, 983, 997},
	}
	for _, tt := range tests {
		x := make([]float64, tt.n)
		for i := range x {
			x[i] = float64(i + 1)
		}
		got := quantileInterval(x, tt.p)
		if got.Lo != tt.lo || got.Hi != tt.hi || (got.Level > 0) != (tt.hi > 0) {
			t.Errorf("%v of %d: %+v, want %v … %v", tt.p, tt.n, got, tt.lo, tt.hi)
		}
	}
	if got := quantileInterval(make([]float64, 1_000_000), 0.99); got.Level == 0 {
		t.Error("none of a million")
	}
}

// The interval must contain the true value as often as it claims.
func TestQuantileIntervalCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const trials, n = 1000, 500
	truth := -math.Log(0.01) // of the exponential distribution
	held := 0
	x := make([]float64, n)
	for range trials {
		for i := range x {
			x[i] = r.ExpFloat64()
		}
		slices.Sort(x)
		if in := quantileInterval(x, 0.99); in.Lo <= truth && truth <= in.Hi {
			held++
		}
	}
	if share := float64(held) / trials; share < 0.94 {
		t.Errorf("a 95 %% interval of the 99th percentile held it in %.3f of trials", share)
	}
}

func TestStudentT(t *testing.T) {
	for df, want := range map[int]float64{ // scipy.stats.t.ppf(0.975, df)
		1: 12.706204736432095, 2: 4.302652729911275, 3: 3.182446305284263, 4: 2.7764451051977987,
		9: 2.2621571627409915, 30: 2.042272456301238, 200: 1.971896223633909,
	} {
		if got := metric.StudentT(df); math.Abs(got-want) > 1e-5 {
			t.Errorf("t of %d: %v, want %v", df, got, want)
		}
	}
	mean, in := meanInterval([]float64{10, 12, 14})
	// s = 2, t(2) = 4.30265, so ± 4.30265 · 2 / √3
	if !near(mean, 12) || math.Abs(in.Hi-12-4.96828) > 1e-4 || math.Abs(in.Lo+in.Hi-24) > 1e-9 {
		t.Errorf("%v in %+v", mean, in)
	}
	if _, in := meanInterval([]float64{1}); in.Level != 0 {
		t.Errorf("one run has an interval: %+v", in)
	}
}

// A million chunks are summarised in well under a second.
func BenchmarkSummarize(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	records := make([]Record, 5000)
	for i := range records {
		at := int64(i) * 3
		events := make([]int64, 0, 400)
		for range 200 {
			at += 5 + r.Int64N(30)
			events = append(events, at, 1+r.Int64N(2))
		}
		records[i] = reply(int64(i)*3, 100, events...)
	}
	run := &Run{Backend: "sglang", Duration: 20e9}
	slo, _ := ParseSLO("ttft:100,tpot:20,itl:30")
	for b.Loop() {
		Summarize(records, run, Options{SLO: slo})
	}
	b.ReportMetric(1e6*float64(b.N)/b.Elapsed().Seconds(), "chunks/s")
}
