package bench

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

type recorded struct {
	Name    string
	Run     Run
	Records []Record
	Metrics map[string]float64
	SLO     string
	Goodput struct {
		Rate, Share float64
		By          map[string]float64
	}
	TTFTs      []float64
	ITLs       [][]float64
	OutputLens []int `json:"output_lens"`
}

func recordings(t *testing.T) []recorded {
	t.Helper()
	text, err := os.ReadFile("testdata/sglang.json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct{ Cases []recorded }
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	return f.Cases
}

func near(a, b float64) bool {
	return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) || math.Abs(a-b) < 1e-12
}

// SGLang's client read the same replies (scripts/fixtures/bench.py).
func TestCompatIsSGLang(t *testing.T) {
	names := map[string]string{ // values for its class, if they differ from those of its file
		"total_input": "total_input_tokens", "total_input_text": "total_input_text_tokens", "total_input_vision": "total_input_vision_tokens",
		"total_output": "total_output_tokens", "total_output_retokenized": "total_output_tokens_retokenized",
		"output_throughput_retokenized": "", "total_throughput_retokenized": "", // not in its file
	}
	for _, c := range recordings(t) {
		t.Run(c.Name, func(t *testing.T) {
			got, err := Compat("sglang", c.Records, &c.Run, Options{})
			if err != nil {
				t.Fatal(err)
			}
			have := map[string]float64{}
			for _, f := range got {
				have[f.Name] = f.Value
			}
			for name, want := range c.Metrics {
				if to, ok := names[name]; ok {
					name = to
				}
				if v, ok := have[name]; name != "" && (!ok || !near(v, want)) {
					t.Errorf("%s = %v, SGLang has %v", name, v, want)
				}
			}
		})
	}
}

// Without empty replies, the figures under SGLang's names equal SGLang's, as does the written line. TPOT differs, because
// it knows the size of the first event and ends with the last token, and the peak counts tokens; Compat has SGLang's.
func TestSummaryIsSGLang(t *testing.T) {
	for _, c := range recordings(t) {
		if c.Name == "native, empty replies" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			slo, err := ParseSLO(c.SLO)
			if err != nil {
				t.Fatal(err)
			}
			s := Summarize(c.Records, &c.Run, Options{SLO: slo})
			var b bytes.Buffer
			if err := WriteJSONL(&b, s, &c.Run, c.Records, LineOptions{Details: true}); err != nil {
				t.Fatal(err)
			}
			var line map[string]any
			if err := json.Unmarshal(b.Bytes(), &line); err != nil {
				t.Fatal(err)
			}
			compared := 0
			for name, want := range c.Metrics {
				got, ok := line[name].(float64)
				if !ok || strings.HasSuffix(name, "_tpot_ms") || name == "max_output_tokens_per_s" {
					continue
				}
				compared++
				if !near(got, want) {
					t.Errorf("%s = %v, SGLang has %v", name, got, want)
				}
			}
			if compared != 25 { // 4 rates, 3 × 6 latencies, concurrency, peak of requests, completed
				t.Errorf("%d figures are in the line, want 25", compared)
			}
			if !near(s.ITL.Max/1e6, c.Metrics["max_itl_ms"]) {
				t.Errorf("longest gap %v ms, SGLang has %v", s.ITL.Max/1e6, c.Metrics["max_itl_ms"])
			}
			g := Summarize(c.Records, &c.Run, Options{SLO: slices.DeleteFunc(slo, func(o Objective) bool { return o.Key == "tpot" })}).Goodput
			for i, o := range g.SLO {
				if share := c.Goodput.By[o.Metric()]; !near(g.Met[i], share) {
					t.Errorf("%s met by %v, SGLang has %v", o.Key, g.Met[i], share)
				}
			}
			for i, want := range c.TTFTs {
				got, ok := line["ttfts"].([]any)[i].(float64)
				if ok != (want > 0) || !near(got, want) {
					t.Errorf("TTFT of request %d: %v, SGLang has %v", i, got, want)
				}
				itls := line["itls"].([]any)[i].([]any)
				if len(itls) != len(c.ITLs[i]) {
					t.Fatalf("request %d has %d gaps, SGLang has %d", i, len(itls), len(c.ITLs[i]))
				}
				for k, v := range itls {
					if math.Abs(v.(float64)-c.ITLs[i][k]) > 1e-9 { // its clock is a float64 of seconds
						t.Errorf("gap %d of request %d: %v, SGLang has %v", k, i, v, c.ITLs[i][k])
					}
				}
			}
		})
	}
}

// A reply without a token is a failure; SGLang counts a TTFT of 0.
func TestEmptyReplies(t *testing.T) {
	c := recordings(t)[1]
	s := Summarize(c.Records, &c.Run, Options{})
	empty := 0
	for _, f := range s.Failures {
		if f.Reason == Empty {
			empty = f.Count
		}
	}
	if empty == 0 || s.Completed+empty != int(c.Metrics["completed"]) {
		t.Errorf("%d succeeded and %d were empty, of SGLang's %v", s.Completed, empty, c.Metrics["completed"])
	}
	if s.TTFT.Min <= 0 || s.TTFT.N != int64(s.Completed) {
		t.Errorf("TTFT of %d requests from %v ns on", s.TTFT.N, s.TTFT.Min)
	}
	// The loader may leave the classification to the summary.
	for i := range c.Records {
		if c.Records[i].Failure == Empty {
			c.Records[i].Failure = ""
		}
	}
	if again := Summarize(c.Records, &c.Run, Options{}); again.Completed != s.Completed {
		t.Errorf("unnamed, %d succeed", again.Completed)
	}
}
