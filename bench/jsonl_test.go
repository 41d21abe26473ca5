package bench

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

func oneLine(t *testing.T, o LineOptions) string {
	t.Helper()
	records, run := byHand()
	run.Dataset, run.Args = "random", map[string]any{"random_input_len": 64, "random-output-len": 8}
	run.ServerInfo = map[string]any{"version": "0.5.23"}
	records[0].Text, records[0].CachedTokens = `he said "NaN"`, 4
	records[0].CachedDetails = map[string]any{"device": 3.0, "host": 1.0}
	for i := range records { // in the order of the plan; they ended in another order
		records[i].Index = i
	}
	records[0], records[2] = records[2], records[0]
	s := Summarize(records, run, Options{SLO: SLO{{"ttft", 110 * ms}, {"e2e", 200 * ms}}})
	var b bytes.Buffer
	if err := WriteJSONL(&b, s, run, records, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The whole line, with every member it can have.
func TestLine(t *testing.T) {
	got := oneLine(t, LineOptions{Details: true, Cache: true})
	if !json.Valid([]byte(got)) {
		t.Error("no JSON")
	}
	if *update {
		if err := os.WriteFile("testdata/line.jsonl", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/line.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("(go test -update writes testdata/line.jsonl anew)\n got %s\nwant %s", got, want)
	}
}

// Keys are in the order of SGLang's result and result_details.
func TestLineKeys(t *testing.T) {
	want := strings.Fields(`tag backend dataset_name request_rate max_concurrency sharegpt_output_len random_input_len random_output_len
		random_range_ratio server_info duration completed total_input_tokens total_input_text_tokens total_input_vision_tokens
		total_output_tokens total_output_tokens_retokenized request_throughput input_throughput output_throughput total_throughput
		mean_e2e_latency_ms median_e2e_latency_ms std_e2e_latency_ms p90_e2e_latency_ms p95_e2e_latency_ms p99_e2e_latency_ms
		mean_ttft_ms median_ttft_ms std_ttft_ms p90_ttft_ms p95_ttft_ms p99_ttft_ms mean_tpot_ms median_tpot_ms std_tpot_ms p90_tpot_ms
		p95_tpot_ms p99_tpot_ms mean_itl_ms median_itl_ms std_itl_ms p90_itl_ms p95_itl_ms p99_itl_ms concurrency accept_length
		max_output_tokens_per_s max_concurrent_requests goodput_slos_ms request_goodput slo_attainment slo_attainment_by_metric
		cache_report input_lens output_lens ttfts itls generated_texts errors cached_tokens cached_tokens_details`)
	d := json.NewDecoder(strings.NewReader(oneLine(t, LineOptions{Details: true, Cache: true})))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for i := 0; d.More(); i++ {
		key, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		if i >= len(want) || key != want[i] {
			t.Fatalf("key %d is %v", i, key)
		}
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
	}
}

// Python's words (NaN, Infinity) appear where Python writes them, if requested; the rest is JSON.
func TestPythonJSON(t *testing.T) {
	text := oneLine(t, LineOptions{Python: true, Details: true})
	for _, want := range []string{`"request_rate": Infinity`, `"ttfts": [0.1, 0.12, 0.04, NaN]`, `"he said \"NaN\""`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	rest := strings.NewReplacer(": Infinity", ": 0", ", NaN", ", 0").Replace(text)
	if !json.Valid([]byte(rest)) {
		t.Errorf("no JSON: %s", rest)
	}
	if text := oneLine(t, LineOptions{}); !strings.Contains(text, `"request_rate": "inf"`) {
		t.Errorf("the rate is not a text in %s", text)
	}
}

func TestFileName(t *testing.T) {
	now := time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC)
	args := map[string]any{"num-prompts": 50, "random_input_len": 256, "random_output_len": 32, "image_count": 2, "image_resolution": "720p"}
	tests := []struct {
		dataset string
		args    map[string]any
		want    string
	}{
		{"random", args, "sglang_0307_50_256_32.jsonl"},
		{"random-ids", args, "sglang_0307_50_256_32.jsonl"},
		{"image", args, "sglang_0307_50_256_32_2imgs_720p.jsonl"},
		{"sharegpt", args, "sglang_0307_50_sharegpt.jsonl"},
		{"random", nil, "sglang_0307_1000_1024_1024.jsonl"},
	}
	for _, tt := range tests {
		if got := FileName(&Run{Backend: "sglang", Dataset: tt.dataset, Args: tt.args}, now); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.dataset, got, tt.want)
		}
	}
}
