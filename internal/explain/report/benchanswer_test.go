package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/bench"
)

// TestBenchAnswer: the first sentence of a load, and what it says to do.
func TestBenchAnswer(t *testing.T) {
	const ms = 1_000_000
	// load is n requests, every ms of them one, of two tokens; ttft in ms.
	load := func(n int, every int64, ttft func(i int) int64) (out []bench.Record) {
		for i := range n {
			sent := int64(i) * every * ms
			first := sent + ttft(i)*ms
			out = append(out, bench.Record{
				Index: i, Scheduled: sent, Released: sent, Connected: sent, Sent: sent, Headers: sent, FirstAny: first, First: first, Visible: first,
				Last: first + 5*ms, Done: first + 5*ms, PromptLen: 8, TextLen: 8, OutputLen: 2, OutputFrom: bench.FromServer, Retokenized: -1, CachedTokens: -1, Status: 200, DPRank: -1,
				Chunks: []bench.Chunk{{At: first, Tokens: 1, Text: true}, {At: first + 5*ms, Tokens: 1, Text: true}},
			})
		}
		return out
	}
	slowAt100 := func(i int) int64 {
		if i >= 100 && i < 104 {
			return 250
		}
		return 10
	}
	for _, tt := range []struct {
		name    string
		run     bench.Run
		records []bench.Record
		want    string
		next    []string
	}{
		{"kept up", bench.Run{Rate: 100}, load(200, 10, func(int) int64 { return 10 }), "The server keeps up with 100.0 requests/s. 200 output tok/s, TTFT p50 10.0 ms p99 10.0 ms, ITL p50 5.00 ms p99 5.00 ms.", nil},
		{"overload", bench.Run{Rate: 100}, load(200, 10, func(i int) int64 { return 10 + int64(i) }), "The server does not keep up with 100.0 requests/s: while requests queue, it completes about 90.9/s; up to 20 requests were in flight, and the server was done 214 ms after the last was due. ", []string{"--find-max-rate --slo", "stepscope guide ttft"}},
		{"closed loop", bench.Run{MaxConcurrency: 8}, load(200, 10, func(int) int64 { return 10 }), "99.8 requests/s, 200 output tok/s, TTFT p50 10.0 ms", nil},
		{"at once", bench.Run{}, load(200, 0, func(i int) int64 { return int64(i) }), "All 200 requests were sent at once, so later first tokens waited for earlier requests. ", []string{"--request-rate"}},
		{"slow ones", bench.Run{MaxConcurrency: 8}, load(300, 10, slowAt100), "The 4 requests with the slowest first token (up to 250 ms) were all sent about 1.00 s into the load, while 1 other request waited for a first token (usually 0)", []string{"--profile --profile-unbounded", "stepscope guide ttft"}},
		{"busy client", bench.Run{MaxConcurrency: 8, Health: bench.Health{Verdict: "invalid"}}, load(300, 10, slowAt100), "The client was too busy to time this load: its latencies are invalid. ", []string{"bench selftest"}},
		{"nothing", bench.Run{}, nil, "No request was sent, so there are no figures.", nil},
	} {
		run := tt.run
		run.Backend = "sglang"
		for i := range tt.records {
			run.Duration = max(run.Duration, tt.records[i].Done)
		}
		verdict, next := benchAnswer(&Bench{Run: &run, Summary: bench.Summarize(tt.records, &run, bench.Options{}), Records: tt.records})
		if !strings.Contains(verdict, tt.want) {
			t.Errorf("%s: %s\nwant %s", tt.name, verdict, tt.want)
		}
		if all := fmt.Sprint(next); len(tt.next) == 0 && len(next) > 0 {
			t.Errorf("%s: next %s", tt.name, all)
		} else {
			for _, want := range tt.next {
				if !strings.Contains(all, want) {
					t.Errorf("%s: next %s\nwant %s", tt.name, all, want)
				}
			}
		}
	}
}
