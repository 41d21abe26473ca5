package bench

import (
	"math"
	"reflect"
	"testing"
)

const ms = 1_000_000

// reply returns a successful request: sent at a time, with one event for each pair of time and tokens, and the last
// byte 1 ms after the last event; all in ms.
func reply(sent int64, prompt int, events ...int64) Record {
	r := Record{
		Scheduled: sent * ms, Released: sent * ms, Connected: sent * ms, Sent: sent * ms, Headers: sent*ms + 1, Status: 200,
		FirstAny: Never, First: Never, Visible: Never, Last: Never,
		PromptLen: prompt, TextLen: prompt, Retokenized: -1, CachedTokens: -1, DPRank: -1, OutputFrom: FromServer,
	}
	for i := 0; i < len(events); i += 2 {
		at, tokens := events[i]*ms, int(events[i+1])
		r.Chunks = append(r.Chunks, Chunk{At: at, Tokens: tokens, Text: true})
		if r.First == Never {
			r.FirstAny, r.First, r.Visible = at, at, at
		}
		r.Last, r.Done = at, at+ms
		r.OutputLen += tokens
	}
	return r
}

func failed(sent int64, why Failure, text string) Record {
	r := reply(sent, 5)
	r.Failure, r.Error, r.Done = why, text, (sent+1)*ms
	return r
}

// Computed by hand, in ms:
//
//	        sent  events               done  TTFT   E2E  tokens  TPOT             chunk gaps  token gaps
//	a          0  100:1 120:1 160:2     161   100   161       4  61/3 = 20.3333   20 40       20 20 20
//	b         10  130:1 230:1           231   120   221       2  101              100         100
//	c         50  90:1                   91    40    41       1  none             none        none
//	d         60  failed with HTTP 500
func byHand() ([]Record, *Run) {
	return []Record{
		reply(0, 10, 100, 1, 120, 1, 160, 2),
		reply(10, 20, 130, 1, 230, 1),
		reply(50, 30, 90, 1),
		failed(60, "http_500", "Internal Server Error: out of memory"),
	}, &Run{Backend: "sglang", Duration: 500 * ms}
}

func TestByHand(t *testing.T) {
	records, run := byHand()
	s := Summarize(records, run, Options{SLO: SLO{{"ttft", 110 * ms}, {"tpot", 50 * ms}}})
	tests := []struct {
		name      string
		got, want float64
	}{
		{"requests", float64(s.Requests), 4}, {"completed", float64(s.Completed), 3},
		{"input", float64(s.InputTokens), 60}, {"output", float64(s.OutputTokens), 7},
		{"requests/s", s.RequestRate, 6}, {"input/s", s.InputRate, 120}, {"output/s", s.OutputRate, 14}, {"total/s", s.TotalRate, 134},
		{"concurrency", s.Concurrency, (161 + 221 + 41) / 500.0},
		{"mean TTFT", s.TTFT.Mean, 260.0 / 3 * ms}, {"median TTFT", s.TTFT.Median, 100 * ms},
		{"std TTFT", s.TTFT.Std, math.Sqrt((40*40+100*100+140*140)/9.0/3) * ms}, // 13⅓, 33⅓ and −46⅔ from the mean
		{"p90 TTFT", s.TTFT.P90, 116 * ms}, {"p95 TTFT", s.TTFT.P95, 118 * ms}, {"p99 TTFT", s.TTFT.P99, 119.6 * ms},
		{"min TTFT", s.TTFT.Min, 40 * ms}, {"max TTFT", s.TTFT.Max, 120 * ms},
		{"mean E2E", s.E2E.Mean, 141 * ms}, {"std E2E", s.E2E.Std, math.Sqrt((20*20+80*80+100*100)/3.0) * ms},
		{"number of TPOT", float64(s.TPOT.N), 2}, {"mean TPOT", s.TPOT.Mean, (20.0 + 100) / 2 * ms},
		{"number of ITL", float64(s.ITL.N), 4}, {"mean ITL", s.ITL.Mean, 40 * ms}, {"median ITL", s.ITL.Median, 20 * ms},
		{"p90 ITL", s.ITL.P90, (20 + 0.7*80) * ms}, {"longest gap", s.ITL.Max, 100 * ms},
		{"number of chunk gaps", float64(s.ChunkGap.N), 3}, {"median chunk gap", s.ChunkGap.Median, 40 * ms},
		{"tokens an event", s.TokensPerEvent, 7.0 / 6},
		{"close", s.StreamClose.Mean, 1 * ms},
		{"tokens in the first second", s.MaxOutputRate, 7}, {"requests in it", float64(s.MaxConcurrent), 3},
		{"running at once", float64(s.PeakRunning), 4}, {"tokens in any second", s.PeakOutputRate, 7},
		{"good requests", float64(s.Goodput.Good), 2}, {"good share", s.Goodput.Share, 0.5}, {"good tokens/s", s.Goodput.TokenRate, 10},
		{"TTFT met", s.Goodput.Met[0], 0.5}, {"TPOT met", s.Goodput.Met[1], 0.5},
	}
	for _, tt := range tests {
		if !near(tt.got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, tt.got, tt.want)
		}
	}
	want := []Failing{{"http_500", 1, "Internal Server Error: out of memory"}}
	if !reflect.DeepEqual(s.Failures, want) {
		t.Errorf("failures %+v, want %+v", s.Failures, want)
	}
}

// The same events as each tool reports them: one reply of 8 tokens, 4 every 20 ms, after a role at 50 ms.
func TestToolsDiffer(t *testing.T) {
	r := reply(0, 10, 60, 2, 80, 2, 100, 4)
	r.FirstAny = 50 * ms
	run := &Run{Backend: "sglang-oai-chat", Duration: 200 * ms}
	tests := []struct {
		tool, figure string
		want         float64
	}{
		{"sglang", "mean_ttft_ms", 60}, {"sglang", "median_itl_ms", 20}, {"sglang", "mean_tpot_ms", 41.0 / 7}, {"sglang", "mean_e2e_latency_ms", 101},
		{"vllm", "mean_ttft_ms", 50}, {"vllm", "mean_itl_ms", 50.0 / 3}, {"vllm", "mean_tpot_ms", 50.0 / 7}, {"vllm", "mean_e2el_ms", 100},
		{"aiperf", "time_to_first_token (ms) avg", 60}, {"aiperf", "inter_token_latency (ms) avg", 40.0 / 7}, {"aiperf", "inter_chunk_latency (ms) p50", 20},
		{"aiperf", "request_latency (ms) avg", 100}, {"aiperf", "output_token_throughput (tokens/sec)", 40}, {"aiperf", "time_to_second_token (ms) avg", 20},
	}
	for _, tt := range tests {
		figures, err := Compat(tt.tool, []Record{r}, run, Options{})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range figures {
			if f.Name == tt.figure {
				if found = true; !near(f.Value, tt.want) {
					t.Errorf("%s: %s = %v, want %v", tt.tool, f.Name, f.Value, tt.want)
				}
			}
		}
		if !found {
			t.Errorf("%s has no %s", tt.tool, tt.figure)
		}
	}
	if _, err := Compat("wrk", nil, run, Options{}); err == nil || err.Error() != `unknown tool "wrk"; known tools: sglang, vllm, aiperf` {
		t.Errorf("wrk: %v", err)
	}
	for _, tool := range Tools { // without requests they report little, and no error
		if figures, err := Compat(tool, nil, &Run{}, Options{}); err != nil || len(figures) == 0 {
			t.Errorf("%s of no requests: %v, %v", tool, figures, err)
		}
	}
}

// How an event's tokens become gaps, per API.
func TestGaps(t *testing.T) {
	unknown := reply(0, 1, 10, -1, 30, -1, 60, -1)
	unknown.OutputLen = 6
	tests := []struct {
		name    string
		backend string
		accept  float64
		r       Record
		itl     []float64 // ms, sorted
		tokens  int64     // gaps between tokens
	}{
		{"native divides by tokens", "sglang", 0, reply(0, 1, 10, 1, 30, 4), []float64{5, 5, 5, 5}, 4},
		{"events of OpenAI's APIs are not divided", "sglang-oai", 0, reply(0, 1, 10, 1, 30, 4), []float64{20}, 4},
		{"unless the server speculates", "sglang-oai", 2.5, reply(0, 1, 10, 1, 30, 4), []float64{5, 5, 5, 5}, 4},
		{"an accept length of others is not asked for", "vllm", 2.5, reply(0, 1, 10, 1, 30, 4), []float64{20}, 4},
		{"no new token: the next event has the whole time", "sglang", 0, reply(0, 1, 10, 1, 20, 0, 30, 1), []float64{20}, 1},
		{"unknown sizes count as one token, but not as known ones", "sglang", 0, unknown, []float64{20, 30}, 0},
		{"a billion tokens cost no memory", "sglang", 0, reply(0, 1, 10, 1, 20, 1_000_000_000), nil, 1_000_000_000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run := &Run{Backend: tt.backend, Duration: 1e9}
			if tt.accept > 0 {
				run.ServerInfo = map[string]any{"internal_states": []any{map[string]any{"avg_spec_accept_length": tt.accept}}}
			}
			s := Summarize([]Record{tt.r}, run, Options{})
			if s.TokenGap.N != tt.tokens {
				t.Errorf("%d gaps between tokens, want %d", s.TokenGap.N, tt.tokens)
			}
			if tt.itl == nil {
				return
			}
			n := int64(len(tt.itl))
			if s.ITL.N != n || !near(s.ITL.Min, tt.itl[0]*ms) || !near(s.ITL.Max, tt.itl[n-1]*ms) {
				t.Errorf("ITL %+v, want %v", s.ITL, tt.itl)
			}
		})
	}
}

func TestAcceptLength(t *testing.T) {
	state := []any{map[string]any{"avg_spec_accept_length": 1.5}}
	tests := []struct {
		name    string
		backend string
		info    map[string]any
		want    float64
	}{
		{"server", "sglang", map[string]any{"internal_states": state}, 1.5},
		{"PD balancer", "sglang-oai", map[string]any{"decode": []any{map[string]any{"internal_states": state}}}, 1.5},
		{"another server", "vllm", map[string]any{"internal_states": state}, 0},
		{"no speculation", "sglang", map[string]any{"internal_states": []any{map[string]any{}}}, 0},
		{"not a list", "sglang", map[string]any{"internal_states": "x", "decode": []any{}}, 0},
		{"nothing", "sglang", nil, 0},
	}
	for _, tt := range tests {
		if got := (&Run{Backend: tt.backend, ServerInfo: tt.info}).AcceptLength(); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Embeddings generate nothing, which is not a failure.
func TestEmbedding(t *testing.T) {
	r := reply(0, 7)
	r.Done, r.OutputFrom = 30*ms, ""
	s := Summarize([]Record{r, r}, &Run{Backend: "sglang-embedding", Duration: 1e9}, Options{})
	if s.Completed != 2 || s.TTFT.N != 0 || s.E2E.Mean != 30*ms || s.InputRate != 14 || s.MaxOutputRate != 0 {
		t.Errorf("%+v", s)
	}
	if s.Steady == nil || s.Steady.Decode || s.Steady.Level != 2 {
		t.Errorf("steady %+v, want two requests in progress", s.Steady)
	}
}

func TestOfNothing(t *testing.T) {
	for _, records := range [][]Record{nil, {failed(0, Refused, "connection refused")}} {
		s := Summarize(records, &Run{Backend: "sglang"}, Options{SLO: SLO{{"ttft", 1}}})
		if s.Completed != 0 || s.TTFT.N != 0 || s.Steady != nil || s.RequestRate != 0 || s.MaxConcurrent != 0 {
			t.Errorf("%+v", s)
		}
	}
	if m := Repeated(nil); len(m) != 0 {
		t.Errorf("of no runs: %v", m)
	}
}

// Broken times must cost neither memory nor the figures of other requests.
func TestAbsurdTimes(t *testing.T) {
	far := reply(0, 1, 10, 1, 20, 1)
	far.Done = math.MaxInt64 - 1
	back := reply(100, 1, 10, 1, 5, 1) // events before the send time
	s := Summarize([]Record{far, back, reply(0, 1, 10, 1)}, &Run{Backend: "sglang", Duration: 1}, Options{})
	if want := []Failing{{Reason: Malformed, Count: 1}}; s.Completed != 2 || !reflect.DeepEqual(s.Failures, want) {
		t.Errorf("%d completed, failures %+v, want 2 and %+v", s.Completed, s.Failures, want)
	}
	if s.TTFT.Min != 10*ms || s.TTFT.Max != 10*ms || s.E2E.Min != 11*ms || s.E2E.Max != math.MaxInt64 || s.MaxConcurrent != 0 || s.PeakRunning != 2 {
		t.Errorf("%+v", s)
	}
	line := NewTimeline([]Record{far, back}, &Run{}, 100)
	if n := len(line.Running); n > 100 || len(line.Ended) != n || line.Tokens[0] != 4 || line.Ended[0]+line.Failed[0] != 1 || line.Ended[n-1] != 1 {
		t.Errorf("%+v", line)
	}
	for i, n := range line.Running {
		if !(n > 0.99 && n <= 1) {
			t.Errorf("%v requests in progress in bin %d, want 1", n, i)
		}
	}
}
