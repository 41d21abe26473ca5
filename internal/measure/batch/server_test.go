package batch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/testing/jsontest"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/measure/batch"
)

// fake is a server as far as a batch sees it.
type fake struct {
	busy    int      // flushes to refuse
	metrics []string // one text for each scrape; nil: there are none
	events  []string // of the stream, "[DONE]" follows them; "" is a pause
	cut     bool     // the stream has no end
	info    string
	body    map[string]any // of the last request with a stream
	bodies  int
	cleared int // storage tiers
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/flush_cache", "/reset_prefix_cache":
		if f.busy--; f.busy >= 0 {
			http.Error(w, "Flush cache failed.", http.StatusBadRequest)
		}
	case "/hicache/storage-backend/clear":
		f.cleared++
	case "/metrics":
		if len(f.metrics) == 0 {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, f.metrics[0])
		f.metrics = f.metrics[1:]
	case "/server_info":
		io.WriteString(w, f.info)
	case "/v1/models":
		io.WriteString(w, `{"data":[{"id":"the-model"}]}`)
	case "/generate", "/v1/completions":
		f.bodies++
		f.body = nil
		json.NewDecoder(r.Body).Decode(&f.body)
		for _, e := range f.events {
			if e == "" {
				time.Sleep(20 * time.Millisecond)
				continue
			}
			fmt.Fprintf(w, "data: %s\n\n", e)
			w.(http.Flusher).Flush()
		}
		if !f.cut {
			io.WriteString(w, "data: [DONE]\n\n")
		}
	default:
		http.NotFound(w, r)
	}
}

const info = `{"tp_size":4,"context_length":100,"internal_states":[
	{"dp_size":2,"effective_max_running_requests_per_dp":3,"memory_usage":{"token_capacity":200},"last_gen_throughput":12.345},
	{"dp_size":2,"effective_max_running_requests_per_dp":3,"memory_usage":{"token_capacity":100},"last_gen_throughput":0,"avg_spec_accept_length":2.5}]}`

// token is an event of SGLang's: sequence index has n tokens.
func token(index, n int, finish string) string {
	if finish != "null" {
		finish = fmt.Sprintf(`{"type":%q}`, finish)
	}
	return fmt.Sprintf(`{"index":%d,"meta_info":{"completion_tokens":%d,"finish_reason":%s}}`, index, n, finish)
}

// serve starts f.
func (f *fake) serve(t *testing.T, vllm bool) (*batch.Server, *bytes.Buffer) {
	t.Helper()
	if f.info == "" {
		f.info = info
	}
	hs := httptest.NewServer(f)
	t.Cleanup(hs.Close)
	var out bytes.Buffer
	return &batch.Server{Server: &client.Server{URL: hs.URL, Header: http.Header{}}, VLLM: vllm, Out: &out, Pause: time.Microsecond}, &out
}

func prompts(size, input, output int) *batch.Prompts {
	p := &batch.Prompts{Case: batch.Case{Batch: size, Input: input, Output: output}, Tokens: size * input}
	for range size {
		p.IDs = append(p.IDs, make([]int32, input))
	}
	return p
}

// whole is a batch of two with three tokens each; the second one starts late.
var whole = []string{token(0, 1, "null"), token(0, 2, "null"), "", token(1, 1, "null"), token(0, 3, "length"), "", token(1, 2, "null"), token(1, 3, "length")}

const printedServed = `batch size: 2
input_len: 10
output_len: 3
latency: N s
input throughput: N tok/s
output throughput: N tok/s
last_ttft: N s
last generation throughput: N tok/s
acc_length: N
cache hit rate: N
`

// TestServed is one batch that goes well: printed lines, row, and the times from
// what the server sent when.
func TestServed(t *testing.T) {
	f := &fake{busy: 2, events: whole, metrics: []string{
		"# HELP x\nsglang:cached_tokens_total{cache_source=\"device\"} 5\nsglang:prompt_tokens_total{m=\"a\"} 100\nsglang:prompt_tokens_total{m=\"b\"} 1\n",
		"sglang:cached_tokens_total{cache_source=\"device\"} 12\nsglang:cached_tokens_total{cache_source=\"host\"} 3\nsglang:prompt_tokens_total{m=\"a\"} 121\n",
	}}
	s, out := f.serve(t, false)
	if err := s.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := (batch.Limits{DP: 2, TP: 4, MaxRunning: 3, Capacity: 300, ContextLen: 100}); s.Limits != want {
		t.Errorf("limits %+v, want %+v", s.Limits, want)
	}
	r, err := s.Run(t.Context(), "x", prompts(2, 10, 3), batch.How{StreamInterval: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := masked(out.String()); got != printedServed {
		t.Errorf("printed\n%s\nwant\n%s", got, printedServed)
	}
	if got, err := jsontest.Keys(r); err != nil || got != "run_name batch_size input_len output_len latency input_throughput output_throughput overall_throughput last_ttft last_gen_throughput acc_length total_output_tokens num_early_stopped steady_state_output_throughput steady_state_window_s cache_hit_rate" {
		t.Errorf("keys %s, %v", got, err)
	}
	if r.LastTTFT < 0.02 || r.Latency < 0.04 || r.LastTTFT >= r.Latency {
		t.Errorf("last_ttft %v, latency %v: the second sequence began after 20 ms and ended after 40 ms, at the earliest", r.LastTTFT, r.Latency)
	}
	for name, got := range map[string][2]float64{
		"tokens in":  {r.InputThroughput * r.LastTTFT, 20},
		"tokens out": {r.OutputThroughput * (r.Latency - r.LastTTFT), 6},
		"all tokens": {r.OverallThroughput * r.Latency, 26},
		"hit rate":   {*r.CacheHitRate, 0.5}, // (15 - 5) of (121 - 101)
		"acc_length": {r.AccLength, 2.5},
		"last gen":   {r.LastGenThroughput, 12.345},
	} {
		if d := got[0] - got[1]; d > 1e-6 || d < -1e-6 {
			t.Errorf("%s: %v, want %v", name, got[0], got[1])
		}
	}
	text, _ := json.Marshal(r)
	if !strings.Contains(string(text), `"last_gen_throughput":12.35,"acc_length":2.5,"total_output_tokens":6,"num_early_stopped":0,"steady_state_output_throughput":`) || !strings.HasSuffix(string(text), `,"cache_hit_rate":0.5}`) {
		t.Errorf("row %s", text)
	}
	sampling := f.body["sampling_params"].(map[string]any)
	if fmt.Sprint(sampling) != "map[ignore_eos:true json_schema:<nil> max_new_tokens:3 stream_interval:1 temperature:0]" || len(f.body["input_ids"].([]any)) != 2 {
		t.Errorf("body %v", f.body)
	}
}

// TestStopAtEOS: sequences that end early count with the tokens that they have, and the steady state is until the first
// of them ends.
func TestStopAtEOS(t *testing.T) {
	f := &fake{events: []string{
		token(0, 1, "null"), token(1, 1, "null"), "", token(0, 2, "null"), token(1, 2, "null"), "", token(0, 3, "stop"), "", token(1, 5, "length"),
	}}
	s, out := f.serve(t, false)
	r, err := s.Run(t.Context(), "x", prompts(2, 10, 5), batch.How{StreamInterval: 1, StopAtEOS: true, FlushStorage: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if sampling := f.body["sampling_params"].(map[string]any); sampling["ignore_eos"] != false || f.cleared != 1 {
		t.Errorf("sampling %v, storage cleared %d times", sampling, f.cleared)
	}
	if *r.OutputTokens != 8 || *r.EarlyStopped != 1 || r.SteadyWindow == nil || *r.SteadyWindow < 0.04 || *r.SteadyWindow > r.Latency || len(r.Steps) != 0 {
		t.Errorf("%d tokens, %d stopped, steady %v of %v s, steps %v", *r.OutputTokens, *r.EarlyStopped, r.SteadyWindow, r.Latency, r.Steps)
	}
	// Between the last first token and the end came all but the first tokens.
	if n := r.OutputThroughput * (r.Latency - r.LastTTFT); n < 5.5 || n > 6 {
		t.Errorf("%v tokens counted after the first ones, want 6, less what is interpolated", n)
	}
	for _, want := range []string{"total output tokens: 8 (requested 10)\nearly-stopped requests: 1/2\nsteady-state output throughput: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("printed\n%s\nwant %q", out, want)
		}
	}
	got := batch.Report{StopAtEOS: true, HourlyCost: 2}.Text([]*batch.Served{r})
	if !strings.Contains(got, "| steady output throughput (tok/s) | steady ITL (ms) | early stops |\n") || !strings.HasSuffix(got, " | 1/2 |\n") {
		t.Errorf("report\n%s", got)
	}

	f = &fake{events: []string{token(0, 2, "stop"), token(1, 1, "null"), "", token(1, 5, "length")}}
	s, out = f.serve(t, false)
	if _, err := s.Run(t.Context(), "x", prompts(2, 10, 5), batch.How{StopAtEOS: true}, nil); err != nil || !strings.Contains(out.String(), "steady-state metrics are n/a") {
		t.Errorf("error %v, printed\n%s", err, out)
	}
	for _, c := range []struct{ event, want string }{
		{`{"index":0,"meta_info":{"completion_tokens":2,"finish_reason":{"type":"stop","matched":"NaN happened"}}}`, "NaN happened"},
		{token(0, 4, "length"), "sequence 0 ended after 4 tokens of 5"},
		{token(0, 4, "abort"), "not length"},
	} {
		s, _ := (&fake{events: []string{c.event}}).serve(t, false)
		if _, err := s.Run(t.Context(), "x", prompts(1, 10, 5), batch.How{StopAtEOS: true}, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.event, err, c.want)
		}
	}
}

// TestOdd are batches whose figures would be divisions by zero, or half known.
func TestOdd(t *testing.T) {
	for _, c := range []struct {
		name   string
		output int
		events []string
		says   string
		not    string
	}{
		{"one token", 1, []string{token(0, 1, "length")}, "last_ttft: ", "output throughput"},
		{"chunks of several tokens", 4, []string{"", token(0, 2, "null"), token(0, 4, "length")}, "(first chunks had several tokens", "NaN"},
		{"all in one chunk", 4, []string{"", token(0, 4, "length")}, "(first chunks had several tokens", "Inf"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, out := (&fake{events: c.events}).serve(t, false)
			r, err := s.Run(t.Context(), "x", prompts(1, 10, c.output), batch.How{StreamInterval: 1}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.LastTTFT <= 0 || r.CacheHitRate != nil || c.output == 1 && r.OutputThroughput != 0 {
				t.Errorf("%+v", r)
			}
			if _, err := json.Marshal(r); err != nil {
				t.Error(err)
			}
			if !strings.Contains(out.String(), c.says) || strings.Contains(out.String(), c.not) {
				t.Errorf("printed\n%s", out)
			}
		})
	}
}

// TestFaults: each way in which a server fails ends in an error that names it.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name string
		vllm bool
		f    fake
		want string
	}{
		{"not idle", false, fake{busy: 3}, "/flush_cache: 400 Bad Request: Flush cache failed."},
		{"stopped", false, fake{events: []string{token(0, 1, "stop")}}, `sequence 0 ended with finish reason {"type":"stop"}, not length`},
		{"too short", false, fake{events: []string{token(0, 1, "length"), token(1, 3, "length")}}, "sequence 0 ended after 1 tokens of 3"},
		{"one is missing", false, fake{events: []string{token(0, 3, "length")}}, "sequence 1 of 2 got no token"},
		{"one too many", false, fake{events: []string{token(2, 1, "null")}}, "the server sent sequence 2 of 2"},
		{"nothing", false, fake{}, "sequence 0 of 2 got no token"},
		{"an error in the stream", false, fake{events: []string{token(0, 1, "null"), `{"error":{"message":"out of memory"}}`}}, "out of memory"},
		{"cut off", false, fake{events: whole, cut: true}, "the stream broke off"},
		{"no JSON", false, fake{events: []string{"{"}}, "an event is not in SGLang's format"},
		{"vLLM: stopped", true, fake{events: []string{`{"choices":[{"index":1,"finish_reason":"stop"}]}`}}, "sequence 1 ended with finish reason stop, not length"},
		{"vLLM: an error", true, fake{events: []string{`{"error":"no"}`}}, "the server ended the stream: no"},
		{"vLLM: cut off", true, fake{cut: true}, "the stream broke off"},
		{"vLLM: too short", true, fake{events: []string{`{"choices":[{"index":0}]}`, `{"choices":[{"index":1}]}`}}, "sequence 0 ended after 1 tokens of 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := c.f.serve(t, c.vllm)
			r, err := s.Run(t.Context(), "x", prompts(2, 10, 3), batch.How{StreamInterval: 1}, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v, error %v, want %q", r, err, c.want)
			}
		})
	}
	for text, want := range map[string]string{
		`{}`: "has no internal_states", `{"internal_states":[{}]}`: "does not tell effective_max_running_requests_per_dp", `[`: "/server_info: unexpected reply: not JSON",
	} {
		s, _ := (&fake{info: text}).serve(t, false)
		if err := s.Look(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("server_info %s: error %v, want %q", text, err, want)
		}
	}
}

// TestVLLM: the same over /v1/completions.
func TestVLLM(t *testing.T) {
	f := &fake{events: []string{
		`{"choices":[{"index":0,"text":"a"}]}`, `{"choices":[{"index":1,"text":"b"}]}`, "", `{"choices":[{"index":0,"text":"cd","finish_reason":"length"}]}`,
		`{"choices":[{"index":1,"text":"e","finish_reason":"length"}]}`,
	}}
	s, out := f.serve(t, true)
	if err := s.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(t.Context(), "x", prompts(2, 10, 3), batch.How{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.LastGenThroughput != -1 || r.AccLength != -1 || r.LastTTFT <= 0 || r.Latency < 0.02 || r.LastTTFT >= r.Latency {
		t.Errorf("%+v", r)
	}
	if f.body["model"] != "the-model" || f.body["max_tokens"] != 3.0 || f.body["ignore_eos"] != true {
		t.Errorf("body %v", f.body)
	}
	if strings.Contains(out.String(), "acc_length") || s.Skip(batch.Case{Batch: 9999, Input: 9999, Output: 9999}, false) != "" {
		t.Errorf("vLLM shows no limits:\n%s", out)
	}
}

// TestServerSkip: the lines are those of SGLang's tool.
func TestServerSkip(t *testing.T) {
	s := &batch.Server{Limits: batch.Limits{DP: 2, MaxRunning: 3, Capacity: 300, ContextLen: 100}}
	for _, c := range []struct {
		batch.Case
		several bool
		want    string
	}{
		{batch.Case{Batch: 6, Input: 40, Output: 10}, false, ""},
		{batch.Case{Batch: 7, Input: 1, Output: 1}, false, "========Skip benchmark batch_size=7 > skip_max_running_requests_threshold=6 due to max running requests limit.========"},
		{batch.Case{Batch: 6, Input: 41, Output: 10}, false, "========Skip benchmark batch_size=6 * (input_len=41 + output_len=10) = 306 > skip_token_capacity_threshold=300 due to kv cache limit.========"},
		{batch.Case{Batch: 1, Input: 100, Output: 1}, false, "========Skip benchmark input_len=100 + output_len=1 = 101 > context_length=100.========"},
		// With several batches only six run at once.
		{batch.Case{Batch: 70, Input: 40, Output: 10}, true, ""},
		{batch.Case{Batch: 70, Input: 41, Output: 10}, true, "========Skip benchmark batch_size=6 * (input_len=41 + output_len=10) = 306 > skip_token_capacity_threshold=300 due to kv cache limit.========"},
	} {
		if got := s.Skip(c.Case, c.several); got != c.want {
			t.Errorf("%+v: %q, want %q", c.Case, got, c.want)
		}
	}
	// Prompts of 10, 60, 10, 60, 10: 150 tokens, and 10 generated by each.
	if got := s.Skip(batch.Case{Batch: 5, Input: 30, Output: 10}, false, 10, 60); got != "" {
		t.Error(got)
	}
	if got := s.Skip(batch.Case{Batch: 5, Input: 30, Output: 31}, false, 10, 60); got != "========Skip benchmark batch_size=5 input_len=30 output_len=31: resident_tokens=305 > skip_token_capacity_threshold=300 due to kv cache limit.========" {
		t.Error(got)
	}
	if got := s.Skip(batch.Case{Batch: 2, Input: 50, Output: 10}, false, 10, 91); got != "========Skip benchmark input_len=91 + output_len=10 = 101 > context_length=100.========" {
		t.Error(got)
	}
}

// TestCacheFill: the beginnings are sent before, and not while anything is counted.
func TestCacheFill(t *testing.T) {
	f := &fake{events: []string{token(0, 1, "length")}}
	s, out := f.serve(t, false)
	profiled := 0
	_, err := s.Run(t.Context(), "x", prompts(1, 10, 1), batch.How{StreamInterval: 1, CacheHitRate: 0.45}, func() error { profiled = f.bodies; return nil })
	if err != nil || f.bodies != 2 || profiled != 1 {
		t.Errorf("error %v, %d requests, the profiler started after %d", err, f.bodies, profiled)
	}
	if want := "Warming up cache with 45.0% hit rate (4 tokens per request)\nCache warmup completed\nbatch size: 1\n"; !strings.HasPrefix(out.String(), want) {
		t.Errorf("printed\n%s", out)
	}
}

// TestReport is SGLang's table; figures that are not known are n/a.
func TestReport(t *testing.T) {
	half := 0.5
	got := batch.Report{Inputs: []int{20, 10}, Outputs: []int{3}, CacheHitRate: 0.5, HourlyCost: 4, Profile: true}.Text([]*batch.Served{
		{BatchSize: 2, InputLen: 20, Latency: 1.234, InputThroughput: 1000, OutputThroughput: 50, AccLength: 2.5, CacheHitRate: &half, ProfileDir: "/d"},
		{BatchSize: 1, InputLen: 10, Latency: 0.5, InputThroughput: 100, AccLength: -1},
	})
	want := `
Input lens: [20 10]. Output lens: [3]. Cache hit rate: 50.0%.
| batch size | input len | latency (s) | input throughput (tok/s) | output throughput (tok/s) | acc length | ITL (ms) | input cost ($/1M) | output cost ($/1M) | cache hit rate | profile |
| ---:| ---:| ---:| ---:| ---:| ---:| ---:| ---:| ---:| ---:| --- |
| 1 | 10 | 0.50 | 100.00 | 0.00 | n/a | n/a | 15.87 | n/a | n/a | n/a |
| 2 | 20 | 1.23 | 1000.00 | 50.00 | 2.50 | 40.00 | 1.59 | 22.22 | 0.5000 | [Profile](/d) |
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestServedSteps: decode steps as a client sees them are there when each event
// brought one token of each sequence.
func TestServedSteps(t *testing.T) {
	one := []string{token(0, 1, "null"), token(1, 1, "null"), "", token(0, 2, "null"), token(1, 2, "null"), "", "", token(1, 3, "length"), token(0, 3, "length")}
	several := []string{token(0, 1, "null"), token(1, 1, "null"), token(0, 3, "length"), token(1, 2, "null"), token(1, 3, "length")}
	p := &batch.Prompts{Case: batch.Case{Batch: 2, Input: 2, Output: 3}, IDs: [][]int32{{1, 2}, {3, 4}}, Tokens: 4}
	for _, c := range []struct {
		events []string
		steps  int
	}{{one, 2}, {several, 0}} {
		f := &fake{info: info, events: c.events}
		s, _ := f.serve(t, false)
		r, err := s.Run(t.Context(), "x", p, batch.How{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Steps) != c.steps || c.steps > 0 && (r.Steps[0] < 0.02 || r.Steps[1] < 0.04) { // each "" is 20 ms
			t.Errorf("steps %v", r.Steps)
		}
		b, err := r.Batch(false)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := b.Figure("decode_latency"); ok != (c.steps > 0) || len(got.Samples) != c.steps {
			t.Errorf("decode %+v", got)
		}
		if got, _ := b.Figure("decode_throughput"); got.Value != r.OutputThroughput || b.Size() != "2 × 2 + 3" {
			t.Errorf("%+v", b)
		}
	}
}

var (
	numbers = regexp.MustCompile(`\d+\.\d+`)
	spaces  = regexp.MustCompile(` +`)
)

// masked returns a text without the figures that differ from run to run.
func masked(s string) string { return spaces.ReplaceAllString(numbers.ReplaceAllString(s, "N"), " ") }
