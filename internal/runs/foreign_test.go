package runs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/bench"
)

const (
	sglangLine = `{"tag": "x", "backend": "sglang", "dataset_name": "random", "request_rate": Infinity, "server_info": {"model_path": "m"}, "duration": 2.0, "completed": 2, "request_throughput": 1.0, "output_throughput": 20.0, "total_throughput": 30, "mean_e2e_latency_ms": 250, "mean_ttft_ms": 50.0, "median_ttft_ms": 49.0, "p99_ttft_ms": NaN, "concurrency": 0.5}`
	vllmLists  = `{"date": "d", "backend": "openai", "model_id": "m", "num_prompts": 3, "request_rate": "inf", "duration": 4.0, "completed": 2, "failed": 1, "request_throughput": 0.5, "total_token_throughput": 9, "mean_ttft_ms": 60, "input_lens": [8, 9, 0], "output_lens": [3, 2, 0], "ttfts": [0.05, 0.07, 0.0], "itls": [[0.01, 0.02], [0.03], []], "errors": ["", "", "Traceback:\n boom"]%s}`
	aiperfJSON = `{"schema_version": "1.4", "aiperf_version": "0.13", "request_latency": {"unit": "ms", "avg": 240, "p50": 230, "p99": 300}, "time_to_first_token": {"unit": "ms", "avg": 50, "p50": 49, "p99": 70}, "request_throughput": {"unit": "requests/sec", "avg": 3.5}, "request_count": {"unit": "requests", "avg": 9}, "error_request_count": {"unit": "requests", "avg": 1}}`
	aiperfLogs = `{"metadata": {"benchmark_phase": "warmup", "request_start_ns": 1763749990000000000, "request_end_ns": 1763749991000000000}, "metrics": {}, "error": null}
{"metadata": {"benchmark_phase": "profiling", "request_start_ns": 1763750000000000000, "request_end_ns": 1763750000090000000}, "metrics": {"time_to_first_token": {"value": 50.0, "unit": "ms"}, "inter_chunk_latency": {"value": [10, 20], "unit": "ms"}, "output_sequence_length": {"value": 3, "unit": "tokens"}, "input_sequence_length": {"value": 8, "unit": "tokens"}}, "error": null}
{"metadata": {"benchmark_phase": "profiling", "request_start_ns": 1763750000500000000, "request_end_ns": 1763750000600000000}, "metrics": {"time_to_first_token": {"value": 40.0, "unit": "ms"}, "inter_token_latency": {"value": 10, "unit": "ms"}, "output_sequence_length": {"value": 5, "unit": "tokens"}}, "error": null}
{"metadata": {"benchmark_phase": "profiling", "request_start_ns": 1763750000700000000, "request_end_ns": 1763750000800000000}, "metrics": {"request_latency": {"value": 100, "unit": "ms"}}, "error": null}
{"metadata": {"benchmark_phase": "profiling", "request_start_ns": 1763750000900000000, "request_end_ns": 1763750001000000000}, "metrics": {}, "error": {"code": 500, "type": "HTTP", "message": "no"}}
`
)

// total returns a figure of a result, or -1.
func (f *Foreign) total(metric, figure string) float64 {
	i := slices.IndexFunc(f.Totals.Totals, func(t bench.Total) bool { return t.Metric == metric && t.Figure == figure })
	if i < 0 {
		return -1
	}
	return f.Totals.Totals[i].Value
}

// TestForeign reads results of other clients.
func TestForeign(t *testing.T) {
	timed := strings.Replace(vllmLists, "%s", `, "start_times": [100.5, 101.0, 100.0]`, 1)
	untimed := strings.Replace(vllmLists, "%s", "", 1)
	for _, c := range []struct {
		name, text, tool   string
		requests, failed   int
		records            int
		timed              bool
		ttft, p99, percent float64 // mean and p99 of the totals; share of failed requests
	}{
		{"SGLang", sglangLine + "\n", ofSGLang, 2, 0, 0, false, 50e6, -1, 0},
		{"SGLang, two results", strings.Replace(sglangLine, "50.0", "70.0", 1) + "\n" + sglangLine + "\n", ofSGLang, 2, 0, 0, false, 50e6, -1, 0},
		{"vLLM with lists", untimed, ofVLLM, 3, 1, 3, false, 60e6, -1, 1.0 / 3},
		{"vLLM with send times", timed, ofVLLM, 3, 1, 3, true, 60e6, -1, 1.0 / 3},
		{"aiperf's summary", aiperfJSON, ofAIPerf, 10, 1, 0, false, 50e6, 70e6, 0.1},
		{"aiperf's requests", aiperfLogs, ofAIPerf, 4, 1, 4, true, -1, -1, 0.25},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "result.json")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if !IsForeign(path) {
				t.Error("the file is not recognised")
			}
			f, err := ReadForeign(path)
			if err != nil {
				t.Fatal(err)
			}
			s := f.Totals.Side
			if f.Tool != c.tool || s.Requests != c.requests || s.Failed != c.failed || len(f.Records) != c.records || f.Timed != c.timed {
				t.Errorf("got %s, %d requests, %d failed, %d records, timed %v", f.Tool, s.Requests, s.Failed, len(f.Records), f.Timed)
			}
			if a, b, d := f.total("ttft", "mean"), f.total("ttft", "p99"), f.total("failed", "mean"); a != c.ttft || b != c.p99 || d != c.percent {
				t.Errorf("got TTFT %v, p99 %v, failed %v", a, b, d)
			}
			run := newRun(t, f, path)
			if run.Loaded() != c.timed || len(run.Manifest().Numbers) == 0 || len(run.Files(KindFigures)) != 1 {
				t.Errorf("the run: %+v", run.Manifest())
			}
		})
	}
	f, err := parseForeign([]byte(timed))
	if err != nil {
		t.Fatal(err)
	}
	r := f.Records[0]
	if tpot, ok := r.TPOT(); r.Sent != 5e8 || r.First != 55e7 || r.Done != 58e7 || len(r.Chunks) != 3 || !ok || tpot != 15e6 || f.Records[2].Error != "Traceback:" {
		t.Errorf("got %+v, TPOT %v, error %q", r, tpot, f.Records[2].Error)
	}
	if f, err = parseForeign([]byte(aiperfLogs)); err != nil {
		t.Fatal(err)
	}
	a, b, c := f.Records[0], f.Records[1], f.Records[2]
	if len(a.Chunks) != 3 || a.Last != 8e7 || a.Done != 9e7 || b.First != 54e7 || b.Last != 58e7 || !c.Held || f.Run.Duration != 1e9 || !strings.Contains(f.Notes[0], "1 warm-up requests are left out") {
		t.Errorf("got %+v\n%+v\n%+v, %d, %q", a, b, c, f.Run.Duration, f.Notes)
	}
}

// newRun keeps a result as a run.
func newRun(t *testing.T, f *Foreign, path string) *Run {
	t.Helper()
	run, err := Create(t.TempDir(), About{Kind: "bench", Tool: f.Tool}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Keep(run, path); err != nil {
		t.Fatal(err)
	}
	if err := run.Finish(Complete, nil); err != nil {
		t.Fatal(err)
	}
	return run
}

// TestForeignErrors: malformed results give one clear line.
func TestForeignErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":               "it is empty",
		"{":              "result 1 is not a JSON object",
		"[1]":            "result 1 is not a JSON object",
		`{"a": 1}`:       "this is no result of",
		sglangLine + "x": "result 2 is not a JSON object",
		strings.Replace(sglangLine, `"duration": 2.0`, `"duration": "2"`, 1):               "duration is not a time",
		strings.Replace(strings.Replace(vllmLists, "[3, 2, 0]", "[3, 2]", 1), "%s", "", 1): "the lists do not fit: ttfts has 3 values, output_lens 2",
		strings.Replace(strings.Replace(vllmLists, "[8, 9, 0]", `"x"`, 1), "%s", "", 1):    "input_lens is not a list of values",
		strings.Replace(aiperfLogs, "1763750000090000000", "5", 1):                         "line 2: request_start_ns and request_end_ns are not times",
		`{"aiperf_version": "1"}`:                                "this is no summary of aiperf",
		`{"metadata": {"request_start_ns": "x"}, "metrics": {}}`: "line 1: json",
		aiperfLogs[:strings.Index(aiperfLogs, "\n")]:             "no line describes a request",
	} {
		if _, err := parseForeign([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60q: got error %v, want %q", text, err, want)
		}
	}
}

// FuzzForeign: any text gives a result that can be summarised, or one line of error.
func FuzzForeign(f *testing.F) {
	for _, text := range []string{sglangLine, strings.Replace(vllmLists, "%s", `, "start_times": [1, 2, 3]`, 1), aiperfJSON, aiperfLogs} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := parseForeign(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %q", err)
			}
			return
		}
		for i := range got.Records {
			if r := &got.Records[i]; r.Sent < 0 || r.Done < r.Sent || r.First != bench.Never && (r.First < r.Sent || r.Last < r.First || r.Done < r.Last) {
				t.Errorf("times out of order: %+v", r)
			}
		}
		if got.Run.Duration < 0 {
			t.Errorf("duration %d", got.Run.Duration)
		}
		got.numbers()
		got.Totals.Run = &got.Run
		bench.CompareTotals(&got.Totals, &got.Totals, bench.CompareOptions{})
	})
}
