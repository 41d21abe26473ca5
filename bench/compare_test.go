package bench

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/gate"
)

// loadOf makes n requests with the times of one build, scaled.
func loadOf(id string, seed uint64, n, runs int, scale float64) Load {
	l := Load{ID: id}
	for run := range runs {
		r := rand.New(rand.NewPCG(seed, uint64(run)))
		var records []Record
		for i := range n {
			at := int64(i) * 20
			now := at + int64((50+30*r.ExpFloat64())*scale)
			var events []int64
			for range 20 {
				events = append(events, now, 1)
				now += int64((10 + 10*r.Float64()) * scale)
			}
			records = append(records, reply(at, 10, events...))
		}
		l.Runs = append(l.Runs, Measured{&Run{Backend: "sglang", Dataset: "random", Duration: records[n-1].Done, Health: Health{Verdict: "clean"}}, records})
	}
	return l
}

func row(t *testing.T, c *Comparison, name, figure string) Diff {
	t.Helper()
	for _, d := range c.Rows {
		if d.Metric == name && d.Figure == figure {
			return d
		}
	}
	t.Fatalf("no %s of %s", figure, name)
	return Diff{}
}

func TestCompare(t *testing.T) {
	base := loadOf("a", 1, 1200, 1, 1)
	tests := []struct {
		name    string
		b       Load
		metric  string
		figure  string
		verdict string
	}{
		{"slower", loadOf("b", 2, 1200, 1, 1.3), "tpot", "median", Worse},
		{"slower, in the tail", loadOf("b", 2, 1200, 1, 1.6), "ttft", "p99", Worse},
		{"faster", loadOf("b", 2, 500, 1, 0.7), "e2e", "median", Better},
		{"the same build", loadOf("b", 2, 500, 1, 1), "e2e", "median", Same},
		{"p99 of few requests", loadOf("b", 2, 500, 1, 3), "ttft", "p99", TooFew},
		{"one run says nothing of throughput", loadOf("b", 2, 500, 1, 3), "output_throughput", "mean", TooFew},
		{"no failures on either side", loadOf("b", 2, 500, 1, 3), "failed", "mean", Same},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := row(t, Compare(base, tt.b, CompareOptions{}), tt.metric, tt.figure)
			if d.Verdict != tt.verdict {
				t.Errorf("%s, want %s: %+v", d.Verdict, tt.verdict, d)
			}
		})
	}
}

// Neighbouring requests are correlated, here by their queue. Two runs of one build must still count as equal: if single
// requests were the samples, six in ten of these pairs would differ.
func TestCompareCorrelated(t *testing.T) {
	const trials = 100
	load := func(seed uint64) Load {
		r := rand.New(rand.NewPCG(seed, 9))
		records, queue := make([]Record, 1000), 0.0
		for i := range records {
			queue = 0.9*queue + r.NormFloat64()
			at := int64(i) * 20
			records[i] = reply(at, 10, at+int64(200+20*queue), 1)
		}
		return Load{Runs: []Measured{{&Run{Backend: "sglang", Duration: 20e9}, records}}}
	}
	different := map[string]int{}
	for i := range uint64(trials) {
		c := Compare(load(2*i), load(2*i+1), CompareOptions{})
		for _, figure := range []string{"median", "p99"} {
			if v := row(t, c, "ttft", figure).Verdict; v == Worse || v == Better {
				different[figure]++
			}
		}
	}
	for figure, n := range different {
		if n > trials/8 {
			t.Errorf("%s: %d of %d pairs of runs of one build differ", figure, n, trials)
		}
	}
}

func TestCompareFailOn(t *testing.T) {
	a, b := loadOf("a", 1, 500, 1, 1), loadOf("b", 2, 500, 1, 1.3)
	c := Compare(a, b, CompareOptions{Limits: gate.Limits{{By: 0.1}}})
	if !slices.ContainsFunc(c.Regressions, func(s string) bool { return strings.HasPrefix(s, "median of tpot: +3") }) {
		t.Errorf("regressions %q", c.Regressions)
	}
	for _, o := range []CompareOptions{{}, {Limits: gate.Limits{{By: 0.9}}}} {
		if c := Compare(a, b, o); len(c.Regressions) > 0 {
			t.Errorf("fail on %v: %q", o.Limits, c.Regressions)
		}
	}
	if c := Compare(b, a, CompareOptions{Limits: gate.Limits{{By: 0.1}}}); len(c.Regressions) > 0 {
		t.Errorf("with the sides swapped: %q", c.Regressions)
	}
	// A tenth of the requests fail: a regression, whatever the latencies of the others.
	for i := 0; i < 500; i += 10 {
		b.Runs[0].Records[i] = failed(int64(i)*20, Timeout, "no event within 1 s")
	}
	if c := Compare(a, b, CompareOptions{Limits: gate.Limits{{By: 0.05}}}); !slices.Contains(c.Regressions, "failed requests: +10.0 points") {
		t.Errorf("regressions %q", c.Regressions)
	}
}

// TestCompareInside: each change lies in its interval, whatever the samples are.
func TestCompareInside(t *testing.T) {
	for _, runs := range []int{1, 5} {
		for _, scale := range []float64{0.3, 1, 4} {
			a, b := loadOf("a", 1, 1200, runs, 1), loadOf("b", 2, 1200, runs, scale)
			for run := range runs { // a few requests of B stall, another number in each run
				for i := 0; i < 1200; i += 3 + 40*run {
					r := &b.Runs[run].Records[i]
					r.First, r.Last, r.Done = r.First+5_000, r.Last+90_000, r.Done+90_000
				}
			}
			for _, d := range Compare(a, b, CompareOptions{}).Rows {
				if (d.Lo != 0 || d.Hi != 0) && (d.Lo > d.Change || d.Change > d.Hi || d.Lo < -1) {
					t.Errorf("%d runs, times %v: %s: change %v outside %v to %v", runs, scale, d.Name(), d.Change, d.Lo, d.Hi)
				}
			}
		}
	}
}

// With repetitions on both sides, the runs are the samples, and throughput has a test.
func TestCompareRepeats(t *testing.T) {
	c := Compare(loadOf("a", 1, 100, 5, 1), loadOf("b", 2, 100, 5, 1.5), CompareOptions{Limits: gate.Limits{{By: 0.05}}})
	d := row(t, c, "tpot", "median")
	if d.Per != "run" || d.NA != 5 || d.Verdict != Worse {
		t.Errorf("%+v", d)
	}
	if d := row(t, c, "output_throughput", "mean"); d.Verdict != Worse || d.Change >= 0 || !d.Higher {
		t.Errorf("%+v", d)
	}
	if !slices.ContainsFunc(c.Regressions, func(s string) bool { return strings.HasPrefix(s, "output throughput: -") }) {
		t.Errorf("regressions %q", c.Regressions)
	}
}

// Loads that differ are compared, with notes on their differences.
func TestCompareNotes(t *testing.T) {
	a, b := loadOf("a", 1, 50, 1, 1), loadOf("b", 2, 50, 1, 1)
	b.Runs[0].Run.Rate, b.Runs[0].Run.Dataset, b.Runs[0].Run.Health.Verdict = 4, "sharegpt", "invalid"
	for i := range b.Runs[0].Records {
		b.Runs[0].Records[i].TextLen = 20
	}
	c := Compare(a, b, CompareOptions{})
	notes := strings.Join(c.Notes, "\n")
	for _, u := range c.Unlike {
		notes += "\n" + u.String()
	}
	for _, want := range []string{
		"data set: random against sharegpt", "request rate: inf against 4.0",
		"mean prompt tokens: 10.0 against 20.0", "b: the client's own timing is invalid in 1 of 1 runs",
		"--repeat 4 on both sides",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note %q in\n%s", want, notes)
		}
	}
	if c := Compare(Load{ID: "a"}, Load{ID: "b"}, CompareOptions{Limits: gate.Limits{{By: 0.1}}}); len(c.Regressions) > 0 {
		t.Errorf("no requests: %+v", c)
	}
}

func TestRepeated(t *testing.T) {
	var runs []*Summary
	for _, rate := range []float64{10, 12, 14} {
		runs = append(runs, &Summary{RequestRate: rate, Requests: 4, Completed: 3})
	}
	for _, e := range Repeated(runs) {
		switch e.Name {
		case "request_throughput":
			if e.Mean != 12 || len(e.Values) != 3 || e.Interval.Lo >= 8 || e.Interval.Lo < 7 {
				t.Errorf("%+v", e)
			}
		case "failed":
			if e.Mean != 0.25 || e.Interval.Hi != 0.25 {
				t.Errorf("%+v", e)
			}
		case "mean_ttft": // no run has SLOs
			t.Errorf("%+v", e)
		}
	}
}

// TestCompareUnlike: loads with different models or data sets get no verdict; other differences are only listed.
func TestCompareUnlike(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(r *Run)
		want    string
		refused bool
	}{
		{"nothing", func(*Run) {}, "", false},
		{"model", func(r *Run) { r.Model = "other" }, "model: m against other", true},
		{"model that an older run does not say", func(r *Run) { r.Model = "" }, "", false},
		{"data set", func(r *Run) { r.Dataset = "sharegpt" }, "data set: random against sharegpt", true},
		{"rate", func(r *Run) { r.Rate = 4 }, "request rate: inf against 4.0", false},
		{"concurrency", func(r *Run) { r.MaxConcurrency = 8 }, "maximum concurrency: none against 8", false},
		{"seed", func(r *Run) { r.Seed = 7 }, "seed: 0 against 7", false},
		{"engine", func(r *Run) { r.Backend = "vllm" }, "backend: sglang against vllm", false},
		{"asked for", func(r *Run) { r.Args = map[string]any{"num_prompts": 500.0} }, "num prompts: 400 against 500", false},
		{"flag of the server", func(r *Run) {
			r.ServerInfo = map[string]any{"attention_backend": "fa3", "port": 1.0, "internal_states": []any{1}, "chunked_prefill_size": 8192.0}
		}, "server's attention_backend: flashinfer against fa3", false},
		{"profiler", func(r *Run) { r.Profiled = []Span{{1, 2}} }, "profiler: off against on (--profile)", false},
		{"server that says nothing", func(r *Run) { r.ServerInfo = nil }, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			side := func(id string, scale float64, change func(*Run)) Load {
				l := loadOf(id, 1, 400, 1, scale)
				r := l.Runs[0].Run
				r.Model, r.Args = "m", map[string]any{"num_prompts": 400.0, "random_input_len": nil}
				r.ServerInfo = map[string]any{"attention_backend": "flashinfer", "port": 2.0, "internal_states": []any{2}, "chunked_prefill_size": 8192.0}
				change(r)
				return l
			}
			a, b := side("a", 1, func(*Run) {}), side("b", 1.5, c.change)
			got := Compare(a, b, CompareOptions{Limits: gate.Limits{{By: 0.05}, {Name: "e2e", By: 0.05}}})
			var said []string
			for _, u := range got.Unlike {
				said = append(said, u.String())
			}
			if text := strings.Join(said, "\n"); text != c.want || got.Refused != c.refused {
				t.Errorf("unlike %q, refused %v; want %q, %v", text, got.Refused, c.want, c.refused)
			}
			if strings.HasPrefix(got.Verdict, "no verdict") != c.refused || len(got.Regressions) > 0 == c.refused {
				t.Errorf("verdict %q, regressions %q", got.Verdict, got.Regressions)
			}
			for _, d := range got.Rows {
				if judged := d.Verdict == Worse || d.Verdict == Better || d.Verdict == Same || d.Verdict == NotClear; judged && c.refused || d.Verdict == NotJudged && !c.refused {
					t.Errorf("%s of %s is %s", d.Figure, d.Metric, d.Verdict)
				}
			}
			if forced := Compare(a, b, CompareOptions{Force: true}); forced.Refused || strings.HasPrefix(forced.Verdict, "no verdict") {
				t.Errorf("with Force: %q", forced.Verdict)
			}
		})
	}
}

// TestCompareLimits: a limit on one figure applies only to it, to rises or to falls, and is reported if it cannot be
// judged.
func TestCompareLimits(t *testing.T) {
	one := func(id string, seed uint64, scale float64) Load { return loadOf(id, seed, 500, 1, scale) }
	five := func(id string, seed uint64, scale float64) Load { return loadOf(id, seed, 100, 5, scale) }
	for _, c := range []struct {
		a, b             Load
		limit            string
		worse, undecided string // prefixes
	}{
		{one("a", 1, 1), one("b", 2, 1.3), "tpot>5%", "median of tpot: +", ""},
		{one("a", 1, 1), one("b", 2, 1.3), "tpot.median>5%", "median of tpot: +", ""},
		{one("a", 1, 1), one("b", 2, 1.3), "tpot>60%", "", ""},
		{one("a", 1, 1), one("b", 2, 1.01), "tpot>0.1%", "", ""}, // explained by chance
		{one("a", 1, 1), one("b", 2, 1.3), "tpot<-5%", "", ""},
		{one("a", 1, 1), one("b", 2, 1.04), "tpot>5%", "", ""},
		{one("a", 1, 1), one("b", 2, 1.3), "tpot>30.5%", "", "tpot>30.5%: not judged: TPOT, median changed by +30.9 %, between +30.1 % and +31.8 %; use more requests, or more runs (--repeat)"},
		{one("a", 1, 1.3), one("b", 2, 1), "tpot<-5%", "median of tpot: -", ""},
		{one("a", 1, 1), one("b", 2, 3), "ttft.p99>5%", "", "ttft.p99>5%: not judged: too few samples; a 99th percentile needs 1,000 requests per side (--num-prompts), or four runs (--repeat 4)"},
		{one("a", 1, 1), one("b", 2, 1.5), "throughput<-3%", "", "throughput<-3%: not judged: too few samples (1 and 1); use --repeat 4 on both sides"},
		{five("a", 1, 1), five("b", 2, 1.5), "throughput<-3%", "output throughput: -", ""},
		{one("a", 1, 1), one("b", 2, 1.5), "goodput<-3%", "", "goodput<-3%: not judged: only one of the runs has it"},
	} {
		limits, err := gate.Parse([]string{c.limit})
		if err != nil {
			t.Fatal(err)
		}
		if err := limits.Check(LimitNames(false)); err != nil {
			t.Fatal(err)
		}
		got := Compare(c.a, c.b, CompareOptions{Limits: limits})
		if s := strings.Join(got.Regressions, "\n"); !strings.HasPrefix(s, c.worse) || (s == "") != (c.worse == "") {
			t.Errorf("%s: regressions %q, want %q", c.limit, s, c.worse)
		}
		if s := strings.Join(got.Undecided, "\n"); s != c.undecided {
			t.Errorf("%s: undecided %q, want %q", c.limit, s, c.undecided)
		}
	}
}
