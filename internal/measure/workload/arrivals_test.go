package workload

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/stepscope/stepscope/internal/base/pyrand"
)

// seconds returns the gaps of a schedule, on the clock of expected requests.
func gapsOf(times []time.Duration, expected func(t float64) float64) []float64 {
	gaps := make([]float64, len(times)-1)
	for i := range gaps {
		gaps[i] = expected(times[i+1].Seconds()) - expected(times[i].Seconds())
	}
	return gaps
}

// kolmogorov returns the distance of a sample from a distribution, times the square root of its size; 1.95 is exceeded
// once in a thousand samples.
func kolmogorov(sample []float64, cdf func(float64) float64) float64 {
	sample = slices.Sorted(slices.Values(sample))
	d, n := 0.0, float64(len(sample))
	for i, x := range sample {
		d = max(d, cdf(x)-float64(i)/n, float64(i+1)/n-cdf(x))
	}
	return d * math.Sqrt(n)
}

// TestArrivals checks distribution, mean and variance of the gaps; those of ramps on the clock of expected requests,
// which is the exact process.
func TestArrivals(t *testing.T) {
	steady := func(rate float64) func(float64) float64 { return func(t float64) float64 { return rate * t } }
	linear := func(from, to, over float64) func(float64) float64 {
		return func(t float64) float64 {
			in := min(t, over)
			return from*in + (to-from)/over*in*in/2 + to*(t-in)
		}
	}
	exponential := func(from, to, over float64) func(float64) float64 {
		k := math.Log(to/from) / over
		return func(t float64) float64 {
			in := min(t, over)
			return from/k*(math.Exp(k*in)-1) + to*(t-in)
		}
	}
	const n = 20000
	for k, c := range []struct {
		name     string
		arrivals Arrivals
		expected func(float64) float64
		shape    float64 // of the gamma; 0: constant
	}{
		{"poisson", Arrivals{Rate: 50}, steady(50), 1},
		{"poisson, another seed", Arrivals{Rate: 0.2, Process: Poisson}, steady(0.2), 1},
		{"bursty", Arrivals{Rate: 10, Process: Gamma, Burstiness: 0.3}, steady(10), 0.3},
		{"smooth", Arrivals{Rate: 10, Process: Gamma, Burstiness: 4}, steady(10), 4},
		{"constant", Arrivals{Rate: 8, Process: Constant}, steady(8), 0},
		{"gamma, endless", Arrivals{Rate: 8, Process: Gamma, Burstiness: math.Inf(1)}, steady(8), 0},
		{"linear ramp", Arrivals{Ramp: &Ramp{From: 2, To: 100, Over: 300 * time.Second}}, linear(2, 100, 300), 1},
		{"linear ramp from 0", Arrivals{Ramp: &Ramp{To: 100, Over: 300 * time.Second}}, linear(0, 100, 300), 1},
		{"linear ramp down", Arrivals{Ramp: &Ramp{From: 100, To: 1, Over: 300 * time.Second}}, linear(100, 1, 300), 1},
		{"linear ramp over 1000 requests", Arrivals{Ramp: &Ramp{From: 10, To: 30, Requests: 1000}}, linear(10, 30, 50), 1},
		{"exponential ramp", Arrivals{Ramp: &Ramp{From: 1, To: 64, Exponential: true, Over: 600 * time.Second}}, exponential(1, 64, 600), 1},
		{"exponential ramp over requests", Arrivals{Ramp: &Ramp{From: 64, To: 1, Exponential: true, Requests: 3000}},
			exponential(64, 1, 3000*math.Log(64)/63), 1},
		{"bursty ramp", Arrivals{Process: Gamma, Burstiness: 0.5, Ramp: &Ramp{From: 5, To: 50, Over: 100 * time.Second}}, linear(5, 50, 100), 0.5},
		{"constant ramp", Arrivals{Process: Constant, Ramp: &Ramp{From: 5, To: 50, Over: 100 * time.Second}}, linear(5, 50, 100), 0},
		{"a flat ramp", Arrivals{Ramp: &Ramp{From: 5, To: 5, Exponential: true, Over: time.Second}}, steady(5), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			seeded := func(seed uint32) *pyrand.State { return pyrand.NewState(seed + uint32(k)) }
			times, err := Schedule(n, c.arrivals, seeded(0))
			if err != nil {
				t.Fatal(err)
			}
			if times[0] != 0 || !slices.IsSorted(times) {
				t.Errorf("begins at %v, sorted: %v", times[0], slices.IsSorted(times))
			}
			gaps := gapsOf(times, c.expected)
			if c.shape == 0 {
				for i, g := range gaps {
					if math.Abs(g-1) > 1e-5 {
						t.Fatalf("gap %d is %g", i, g)
					}
				}
				return
			}
			mean, variance := stat.MeanVariance(gaps, nil)
			// gaps have mean 1 and variance 1/shape; the variance of their variance needs the fourth moment of the
			// gamma, 3+6/shape times variance²
			if z := (mean - 1) / math.Sqrt(1/c.shape/n); math.Abs(z) > 4 {
				t.Errorf("mean %g is %.1f standard errors off", mean, z)
			}
			if z := (variance*c.shape - 1) / math.Sqrt((2+6/c.shape)/n); math.Abs(z) > 4 {
				t.Errorf("variance %g is %.1f standard errors from %g", variance, z, 1/c.shape)
			}
			if k := kolmogorov(gaps, distuv.Gamma{Alpha: c.shape, Beta: c.shape}.CDF); k > 1.95 {
				t.Errorf("Kolmogorov-Smirnov %.2f", k)
			}
			again, _ := Schedule(n, c.arrivals, seeded(0))
			if !slices.Equal(times, again) {
				t.Error("not the same with the same seed")
			}
			if again, _ = Schedule(n, c.arrivals, seeded(100)); slices.Equal(times, again) {
				t.Error("the same with another seed")
			}
		})
	}
}

// A longer plan begins like the shorter one.
func TestSchedulePrefix(t *testing.T) {
	a := Arrivals{Rate: 3}
	short, _ := Schedule(10, a, pyrand.NewState(42))
	long, _ := Schedule(1000, a, pyrand.NewState(42))
	if !slices.Equal(short, long[:10]) {
		t.Errorf("%v\n%v", short, long[:10])
	}
}

func TestScheduleTable(t *testing.T) {
	ms := func(list ...int) []time.Duration {
		out := make([]time.Duration, len(list))
		for i, v := range list {
			out[i] = time.Duration(v) * time.Millisecond
		}
		return out
	}
	for _, c := range []struct {
		name     string
		n        int
		arrivals Arrivals
		want     []time.Duration
		err      string
	}{
		{"all at once", 3, Arrivals{Rate: math.Inf(1)}, ms(0, 0, 0), ""},
		{"none", 0, Arrivals{Rate: 1}, ms(), ""},
		{"constant", 4, Arrivals{Rate: 4, Process: Constant}, ms(0, 250, 500, 750), ""},
		{"a trace", 3, Arrivals{Process: Trace, Trace: ms(0, 500, 3535)}, ms(0, 500, 3535), ""},
		{"a trace at half speed", 3, Arrivals{Process: Trace, Trace: ms(0, 500, 3535), Slowdown: 2}, ms(0, 1000, 7070), ""},
		{"no rate", 2, Arrivals{}, nil, "--request-rate 0 must be greater than 0 (inf sends all at once)"},
		{"not a number", 2, Arrivals{Rate: math.NaN()}, nil, "--request-rate NaN must be greater than 0"},
		{"negative", 2, Arrivals{Rate: -1}, nil, "--request-rate -1 must be greater than 0"},
		{"centuries", 5, Arrivals{Rate: 1e-10, Process: Constant}, nil, "request 2 of 5: it would be sent only after 1e+10 s"},
		{"burstiness", 2, Arrivals{Rate: 1, Process: Gamma}, nil, "--burstiness 0 must be greater than 0"},
		{"an unknown process", 2, Arrivals{Rate: 1, Process: "pareto"}, nil, `unknown arrivals "pareto"`},
		{"a ramp to 0", 2, Arrivals{Ramp: &Ramp{From: 1}}, nil, "a ramp from 1 to 0 requests/s"},
		{"an exponential ramp from 0", 2, Arrivals{Ramp: &Ramp{To: 1, Exponential: true, Requests: 1}}, nil, "a ramp from 0 to 1 requests/s"},
		{"an endless ramp", 2, Arrivals{Ramp: &Ramp{From: 1, To: 2}}, nil, "a ramp needs a duration or a number of requests"},
		{"a trace of another length", 2, Arrivals{Process: Trace}, nil, "the trace has 0 times for 2 requests"},
		{"a trace out of order", 2, Arrivals{Process: Trace, Trace: ms(5, 4)}, nil, "request 2 of 2: the times of the trace are not in order"},
		{"an invalid slowdown", 1, Arrivals{Process: Trace, Trace: ms(0), Slowdown: -1}, nil, "--mooncake-slowdown-factor -1 must be greater than 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Schedule(c.n, c.arrivals, pyrand.NewState(1))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want %s", err, c.err)
				}
			} else if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %v, %v, want %v", got, err, c.want)
			}
		})
	}
}
