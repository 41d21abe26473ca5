package bench

// figure is a number computed for a run, which can be compared with the same number of another run.
type figure struct {
	name   string
	unit   Unit
	higher bool // higher is better
	of     func(*Summary) (float64, bool)
}

// Unit is the unit of a figure.
type Unit string

// Units of figures.
const (
	NS        Unit = "ns"
	PerSecond Unit = "1/s"
	Share     Unit = "share"
)

// rates have one value per run.
var rates = []figure{
	{"request_throughput", PerSecond, true, func(s *Summary) (float64, bool) { return s.RequestRate, !s.Lacks(Rates) }},
	{"output_throughput", PerSecond, true, func(s *Summary) (float64, bool) { return s.OutputRate, !s.Embedding && !s.Lacks(Rates) }},
	{"steady_output_throughput", PerSecond, true, func(s *Summary) (float64, bool) {
		if s.Steady == nil || s.Embedding {
			return 0, false
		}
		return s.Steady.OutputRate, true
	}},
	{"goodput", PerSecond, true, func(s *Summary) (float64, bool) {
		if s.Goodput == nil {
			return 0, false
		}
		return s.Goodput.Rate, true
	}},
}

// latencies have one value per request.
var latencies = []struct {
	name  string
	of    value
	stats func(*Summary) *Stats
}{
	{"ttft", ttft, func(s *Summary) *Stats { return &s.TTFT }},
	{"ttft_scheduled", ttftScheduled, func(s *Summary) *Stats { return &s.TTFTScheduled }},
	{"tpot", tpot, func(s *Summary) *Stats { return &s.TPOT }},
	{"longest_gap", longestGap, nil},
	{"e2e", e2e, func(s *Summary) *Stats { return &s.E2E }},
}

// Estimate is a figure over the runs of --repeat: the mean over the runs, with Student's confidence interval.
type Estimate struct {
	Name     string    `json:"name"`
	Unit     Unit      `json:"unit"`
	Values   []float64 `json:"values"` // one per run that has a value
	Mean     float64   `json:"mean"`
	Interval Interval  `json:"interval"`
}

// Repeated summarises the runs of one load. The spread over the runs is the run-to-run variation, which a single run
// cannot show.
func Repeated(runs []*Summary) []Estimate {
	all := rates[:len(rates):len(rates)]
	for _, l := range latencies {
		if l.stats == nil {
			continue
		}
		for _, q := range []struct {
			name string
			of   func(*Stats) float64
		}{
			{"mean", func(s *Stats) float64 { return s.Mean }},
			{"median", func(s *Stats) float64 { return s.Median }},
			{"p99", func(s *Stats) float64 { return s.P99 }},
		} {
			all = append(all, figure{q.name + "_" + l.name, NS, false, func(s *Summary) (float64, bool) {
				x := l.stats(s)
				return q.of(x), x.N > 0
			}})
		}
	}
	all = append(all, figure{"failed", Share, false, failedShare})
	out := []Estimate{}
	for _, f := range all {
		e := Estimate{Name: f.name, Unit: f.unit, Values: []float64{}}
		for _, s := range runs {
			if v, ok := f.of(s); ok {
				e.Values = append(e.Values, v)
			}
		}
		if len(e.Values) > 0 {
			e.Mean, e.Interval = meanInterval(e.Values)
			out = append(out, e)
		}
	}
	return out
}

func failedShare(s *Summary) (float64, bool) {
	if s.Requests == 0 {
		return 0, false
	}
	return float64(s.Requests-s.Completed) / float64(s.Requests), true
}
