package bench

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// profiled are ten requests of 5 tokens, one a second, 100 ms from each token to the
// next, of which the window touched those from the middle of number 3 to number 5; these
// three stood still for 300 ms meanwhile.
//
//	3  sent at 3000, tokens at 3100 3200 3300 | 3700 3800
//	4  sent at 4000, tokens at 4400 4500 4600 4700 4800
//	5  sent at 5000, tokens at 5400 5500 5600 5700 5800
func profiledLoad(window Span) ([]Record, *Run) {
	var out []Record
	for i := range int64(10) {
		at := 1000 * i
		late := [5]int64{}
		switch i {
		case 3:
			late = [5]int64{0, 0, 0, 300, 300}
		case 4, 5:
			late = [5]int64{300, 300, 300, 300, 300}
		}
		out = append(out, reply(at, 10, at+100+late[0], 1, at+200+late[1], 1, at+300+late[2], 1, at+400+late[3], 1, at+500+late[4], 1))
	}
	return out, &Run{Backend: "sglang", Duration: 9501 * ms, Profiled: []Span{window}}
}

// TestWithoutWindow: the headline contains nothing that overlaps the affected time; the figures beside it cover
// everything.
func TestWithoutWindow(t *testing.T) {
	window := Span{3350 * ms, 5950 * ms}
	records, run := profiledLoad(window)
	objective := Options{SLO: SLO{{"e2e", 600 * ms}}}
	s := Summarize(records, run, objective)
	const untouched = 9.501 - 2.6
	for _, tt := range []struct {
		name      string
		got, want float64
	}{
		{"TTFTs", float64(s.TTFT.N), 8}, {"longest TTFT", s.TTFT.Max, 100 * ms}, // number 3 had its first token earlier
		{"E2Es", float64(s.E2E.N), 7}, {"longest E2E", s.E2E.Max, 501 * ms},
		{"TPOTs", float64(s.TPOT.N), 7}, {"longest TPOT", s.TPOT.Max, 100 * ms},
		{"ITLs", float64(s.ITL.N), 7*4 + 2}, {"longest ITL", s.ITL.Max, 100 * ms}, {"longest chunk gap", s.ChunkGap.Max, 100 * ms},
		{"requests/s", s.RequestRate, 7 / untouched}, {"input/s", s.InputRate, 70 / untouched}, {"output/s", s.OutputRate, 38 / untouched},
		{"concurrency", s.Concurrency, (7*0.501 + 0.35) / untouched},
		{"good share", s.Goodput.Share, 1}, {"good/s", s.Goodput.Rate, 7 / untouched},
		{"untouched", float64(s.Window.Untouched), untouched * 1e9}, {"touched requests", float64(s.Window.Touched), 3},
		{"of all requests", float64(s.Completed), 10}, {"of all tokens", float64(s.OutputTokens), 50}, {"duration", float64(s.Duration), 9501 * ms},
	} {
		if !near(tt.got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, tt.got, tt.want)
		}
	}
	if len(s.Window.Lacks) > 0 || !slices.Equal(s.Window.Spans, []Span{window}) {
		t.Errorf("lacks %v, spans %v", s.Window.Lacks, s.Window.Spans)
	}
	without := *run
	without.Profiled = nil
	if whole := Summarize(records, &without, objective); !reflect.DeepEqual(s.Window.Whole, whole) || whole.Window != nil || whole.E2E.Max != 801*ms {
		t.Errorf("the whole run is\n%+v, not\n%+v", s.Window.Whole, whole)
	}
	for _, d := range Distributions(records, run) {
		if want := map[string]int64{"ttft": 8, "e2e": 7, "tpot": 7, "itl": 30}[d.Name]; d.N != want || d.Values[len(d.Values)-1] > 501*ms {
			t.Errorf("distribution of %s: %d values up to %v", d.Name, d.N, d.Values[len(d.Values)-1])
		}
	}
}

// TestTooLittleLeft: a figure has no value if less than half of its samples are left.
func TestTooLittleLeft(t *testing.T) {
	for _, tt := range []struct {
		window Span
		lacks  []string
	}{
		{Span{1900 * ms, 5990 * ms}, nil},
		// 51 % of the time is left, five times to first token, and four whole requests.
		{Span{400 * ms, 5130 * ms}, []string{Good, "e2e"}},
		{Span{450 * ms, 9400 * ms}, []string{Rates, "e2e", "ttft", "tpot", "itl"}},
	} {
		records, run := profiledLoad(tt.window)
		s := Summarize(records, run, Options{SLO: SLO{{"e2e", 600 * ms}}})
		whole := s.Window.Whole
		for i, f := range s.times() {
			was := whole.times()[i].to
			if lacks := was.N > 0 && f.to.N == 0; lacks != s.Lacks(f.name) || was.N > 0 && !lacks && 2*f.to.N < was.N {
				t.Errorf("%v: %s has %d values of %d, lacks %v", tt.window, f.name, f.to.N, was.N, s.Window.Lacks)
			}
		}
		if none := s.RequestRate == 0 && s.OutputRate == 0 && s.Steady == nil && s.Goodput == nil; none != s.Lacks(Rates) || (s.Goodput == nil) != (s.Lacks(Rates) || s.Lacks(Good)) || whole.Goodput == nil {
			t.Errorf("%v: %v requests/s, steady %+v, goodput %+v, lacks %v", tt.window, s.RequestRate, s.Steady, s.Goodput, s.Window.Lacks)
		}
		for _, name := range []string{Rates, Good, "e2e", "ttft", "tpot", "itl"} { // goodput is listed once: it is one of the rates
			if s.Lacks(name) != slices.Contains(tt.lacks, name) {
				t.Errorf("%v: lacks %v, want %v", tt.window, s.Window.Lacks, tt.lacks)
			}
		}
	}
}

// TestWindowElsewhere: a window that affected no request leaves a run unchanged.
func TestWindowElsewhere(t *testing.T) {
	records, run := profiledLoad(Span{20_000 * ms, 21_000 * ms})
	if s := Summarize(records, run, Options{}); s.Window != nil || s.E2E.N != 10 {
		t.Errorf("%d values, %+v", s.E2E.N, s.Window)
	}
}

// TestWindowLine: SGLang's keys hold the unaffected samples, null if too few are left; our own keys hold all of it.
func TestWindowLine(t *testing.T) {
	for _, tt := range []struct {
		window       Span
		e2e, rate    any
		lacks        int
		wholeSlowest float64
	}{
		{Span{3350 * ms, 5950 * ms}, 501.0, 7 / 6.901, 0, 801},
		{Span{450 * ms, 9400 * ms}, nil, nil, 5, 801},
	} {
		records, run := profiledLoad(tt.window)
		var out bytes.Buffer
		if err := WriteJSONL(&out, Summarize(records, run, Options{}), run, records, LineOptions{}); err != nil {
			t.Fatal(err)
		}
		var got struct {
			P99       any     `json:"p99_e2e_latency_ms"`
			Rate      any     `json:"request_throughput"`
			Completed int     `json:"completed"`
			Duration  float64 `json:"duration"`
			Window    struct {
				Spans [][2]float64
				Lacks []string
				Whole struct {
					P99  float64 `json:"p99_e2e_latency_ms"`
					Rate float64 `json:"request_throughput"`
				} `json:"whole_run"`
			} `json:"profile_window"`
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%v in %s", err, out.String())
		}
		if !reflect.DeepEqual(got.P99, tt.e2e) || !reflect.DeepEqual(got.Rate, tt.rate) || got.Completed != 10 || got.Duration != 9.501 {
			t.Errorf("headline %+v", got)
		}
		w := got.Window
		if w.Whole.P99 != tt.wholeSlowest || !near(w.Whole.Rate, 10/9.501) || len(w.Spans) != 1 || w.Spans[0][1] != float64(tt.window.To)/1e9 || (len(w.Lacks) > 0) != (tt.lacks > 0) {
			t.Errorf("window %+v", w)
		}
	}
}

// TestGoodputLine: if too little is left of goodput alone, its keys are null in the headline and have values in the
// whole run.
func TestGoodputLine(t *testing.T) {
	records, run := profiledLoad(Span{400 * ms, 5130 * ms})
	s := Summarize(records, run, Options{SLO: SLO{{"e2e", 600 * ms}}})
	var out bytes.Buffer
	if err := WriteJSONL(&out, s, run, records, LineOptions{}); err != nil {
		t.Fatal(err)
	}
	type goodput struct {
		Limits map[string]float64  `json:"goodput_slos_ms"`
		Rate   *float64            `json:"request_goodput"`
		Share  *float64            `json:"slo_attainment"`
		Met    map[string]*float64 `json:"slo_attainment_by_metric"`
	}
	var got struct {
		goodput
		Throughput *float64 `json:"request_throughput"`
		Window     struct {
			Whole goodput `json:"whole_run"`
		} `json:"profile_window"`
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	met, there := got.Met["e2el"]
	if got.Throughput == nil || got.Limits["e2el"] != 600 || got.Rate != nil || got.Share != nil || !there || met != nil {
		t.Errorf("headline %+v", got)
	}
	if w := got.Window.Whole; w.Limits["e2el"] != 600 || w.Rate == nil || !near(*w.Rate, 7/9.501) || w.Share == nil || *w.Share != 0.7 || w.Met["e2el"] == nil || *w.Met["e2el"] != 0.7 {
		t.Errorf("whole run %+v", w)
	}
}

// TestSteadyWithoutWindow: the steady part begins after the affected time, counts nothing of it, and is not lower
// because of it.
func TestSteadyWithoutWindow(t *testing.T) {
	var records []Record
	for range 4 {
		var events []int64
		for at := int64(100); at <= 10_000; at += 100 {
			if at <= 1000 || at > 3000 { // the export
				events = append(events, at, 1)
			}
		}
		records = append(records, reply(0, 10, events...))
	}
	run := &Run{Backend: "sglang", Duration: 10_001 * ms, Profiled: []Span{{50 * ms, 3050 * ms}}}
	s := Summarize(records, run, Options{})
	if w := s.Steady; w == nil || w.From != 3050*ms || w.To != 10_000*ms || !near(w.OutputRate, 4*70/6.95) || w.Level != 4 || w.Running != 4 {
		t.Errorf("%+v", w)
	}
	run.Profiled = []Span{{4050 * ms, 5050 * ms}, {5000 * ms, 6050 * ms}} // one after the other
	s = Summarize(records, run, Options{})
	if w := s.Steady; w == nil || w.From != 100*ms || w.To != 10_000*ms || !near(w.Tokens, 4*(9+10+40)) || !near(w.OutputRate, w.Tokens/7.9) {
		t.Errorf("%+v", w)
	}
	if len(s.Window.Spans) != 1 || s.ITL.Max != 2100*ms {
		t.Errorf("spans %v, longest gap %v", s.Window.Spans, s.ITL.Max)
	}
}

// TestCompareWithoutWindow: a window on one side alone makes no difference between equal servers.
func TestCompareWithoutWindow(t *testing.T) {
	load := func(window bool) Load {
		l := Load{ID: "x"}
		for range enoughRuns {
			records, run := profiledLoad(Span{2990 * ms, 5950 * ms})
			if !window {
				for i := range records {
					at := 1000 * int64(i)
					records[i] = reply(at, 10, at+100, 1, at+200, 1, at+300, 1, at+400, 1, at+500, 1)
				}
				run.Profiled = nil
			}
			l.Runs = append(l.Runs, Measured{run, records})
		}
		return l
	}
	c := Compare(load(false), load(true), CompareOptions{})
	rows := 0
	for _, d := range c.Rows {
		if d.Unit != NS {
			continue
		}
		rows++
		if d.A != d.B || d.A == 0 || d.Figure == "median" && (d.NA != enoughRuns || d.NB != enoughRuns) {
			t.Errorf("%s: %v of %d, and with a window %v of %d", d.String(), d.A, d.NA, d.B, d.NB)
		}
	}
	if rows != 2*len(latencies) {
		t.Errorf("%d rows of latencies, want a median and a p99 of %d", rows, len(latencies))
	}
	if len(c.Notes) != 1 || c.Notes[0] != "B was profiled while it was measured: everything its window affected is left out" {
		t.Errorf("notes %q", c.Notes)
	}
}

// TestCompareWindowElsewhere: a window that affected no request gets no note; figures with too few samples left do.
func TestCompareWindowElsewhere(t *testing.T) {
	load := func(window Span) Load {
		records, run := profiledLoad(window)
		return Load{ID: "x", Runs: []Measured{{run, records}}}
	}
	c := Compare(load(Span{}), load(Span{20_000 * ms, 21_000 * ms}), CompareOptions{})
	for _, n := range c.Notes {
		if strings.Contains(n, "profiled") {
			t.Error(n)
		}
	}
	c = Compare(load(Span{}), load(Span{400 * ms, 5130 * ms}), CompareOptions{SLO: SLO{{"e2e", 600 * ms}}})
	if want := "B, run 1: without its window, less than half was left of goodput, e2e"; !slices.Contains(c.Notes, want) {
		t.Errorf("%q, want %s", c.Notes, want)
	}
}
