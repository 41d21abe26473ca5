package signals

import (
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api/servers"
)

// TestParseLine parses log lines of several releases.
func TestParseLine(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{
			"SGLang 0.5.11, decode", "[2026-11-22 10:15:32 DP1 TP1 EP0] Decode batch, #running-req: 5, #token: 1280, token usage: 0.02, cuda graph: True, gen throughput (token/s): 2112.24, #queue-req: 3",
			"DP1 5 3 1280 0.02 2112.24 - - - - - -",
		},
		{
			"prefill, with an iteration", "[2026-11-22 10:15:32 DP0] Prefill batch [42], #new-seq: 1, #new-token: 20, #cached-token: 0, token usage: 0.10, #running-req: 2, #queue-req: 0, #pending-token: 0, cuda graph: False, input throughput (token/s): 10765.32",
			"DP0 2 0 - 0.1 - - 20 - - - -",
		},
		{
			"older, with a period", "[2025-01-02 03:04:05 TP0] Decode batch. #running-req: 5, #token: 77, token usage: 0.02, gen throughput (token/s): 12.5, #queue-req: 0, ",
			"DP0 5 0 77 0.02 12.5 - - - - - -",
		},
		{
			"a hybrid model", "[2026-11-22 10:15:32] Decode batch, #running-req: 5, #full token: 9, full token usage: 0.25, swa token usage: 0.90, gen throughput (token/s): 1.00, #queue-req: 0, fwd occupancy: 55.00%",
			"DP0 5 0 9 0.25 1 - - - - - -",
		},
		{"cut off in the middle", "[2026-11-22 10:15:32 DP1] Decode batch, #running-req: 5, #tok", "DP1 5 - - - - - - - - - -"},
		{"vLLM, engine 1", "(APIServer pid=7) INFO 09-11 10:11:22 [loggers.py:123] Engine 001: Avg prompt throughput: 12.3 tokens/s, Avg generation throughput: 712.9 tokens/s, Running: 2 reqs, Waiting: 3 reqs, GPU KV cache usage: 25.0%, Prefix cache hit rate: 45.6%", "DP1 2 3 - 0.25 712.9 - - - - - -"},
		{"vLLM on a CPU", "(APIServer pid=14930) INFO 11-28 02:18:14 [loggers.py:335] Engine 000: Avg prompt throughput: 230.3 tokens/s, Avg generation throughput: 95.7 tokens/s, Running: 12 reqs, Waiting: 0 reqs, CPU KV cache usage: 5.0%, Prefix cache hit rate: 0.0%", "DP0 12 0 - 0.05 95.7 - - - - - -"},
		{"vLLM before 0.8", "INFO 01-02 03:04:05 metrics.py:455] Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 12.9 tokens/s, Running: 2 reqs, Swapped: 0 reqs, Pending: 4 reqs, GPU KV cache usage: 50.0%, CPU KV cache usage: 1.0%", "DP0 2 4 - 0.5 12.9 - - - - - -"},
		{"vLLM, another line", "INFO 09-11 10:11:22 [core.py:58] Initializing a V1 LLM engine (v0.26.0) with config: Running: 2 reqs", "none"},
		{"another line", "[2026-11-22 10:15:32 DP1] Load weight end. type=LlamaForCausalLM", "none"},
		{"no time", "Decode batch, #running-req: 5", "none"},
		{"only a title", "[2026-11-22 10:15:32] Decode batch", "none"},
		{"no figures", "[2026-11-22 10:15:32] Decode batch, #running-req: x, token usage: nan", "none"},
	} {
		got := "none"
		if l, ok := servers.ParseLine(c.line); ok {
			var g Log
			g.Add(&l, l.At)
			got = show(&g.Ranks(l.At)[0])
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestLog checks that a rank that stops logging counts as idle, unless it never logs often.
func TestLog(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(1000+s), 0) }
	var g Log
	line := func(s int, text string) {
		l, ok := servers.ParseLine("[2026-11-22 10:15:32 " + text)
		if !ok {
			t.Fatal(text)
		}
		g.Add(&l, at(s))
	}
	line(0, "DP0] Decode batch, #running-req: 5, #queue-req: 1")
	line(1, "DP0] Decode batch, #running-req: 6, #queue-req: 1")
	line(0, "DP1] Decode batch, #running-req: 7, #queue-req: 1")
	line(5, "DP1] Decode batch, #running-req: 8, #queue-req: 1")
	line(1, "DP1] Prefill batch, #new-token: 20, #running-req: 8")
	line(5, "DP1] Prefill batch, #new-token: 30, #running-req: 8")
	for s, want := range map[int]string{
		6:  "DP0 6 1 - - - - - - - - -; DP1 8 1 - - - - 50 - - - -",
		14: "DP0 0 0 - - 0 - - - - - -; DP1 8 1 - - - - 50 - - - -",
		30: "DP0 0 0 - - 0 - - - - - -; DP1 0 0 - - 0 - 50 - - - -",
	} {
		var got []string
		for _, r := range g.Ranks(at(s)) {
			got = append(got, show(&r))
		}
		if text := strings.Join(got, "; "); text != want {
			t.Errorf("after %d s: %s, want %s", s, text, want)
		}
	}
	// The server's own data takes precedence.
	s, _ := Parse(`sglang:num_running_reqs{dp_rank="1"} 3`)
	s.Fill(g.Ranks(at(6)))
	if got := show(&s.Ranks[1]); len(s.Ranks) != 2 || got != "DP1 3 1 - - - - 50 - - - -" {
		t.Errorf("%s", got)
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add("[2026-11-22 10:15:32 DP1 TP1 EP0] Decode batch, #running-req: 5, #token: 1280, token usage: 0.02, gen throughput (token/s): 2112.24, #queue-req: 3")
	f.Add("[2026-11-22 10:15:32 DP99999999999999999999] Prefill batch. #new-token: 1e999")
	f.Add("INFO 09-11 10:11:22 [loggers.py:123] Engine 001: Avg prompt throughput: 12.3 tokens/s, Running: 2 reqs, GPU KV cache usage: 25.0%")
	f.Fuzz(func(t *testing.T, text string) {
		if l, ok := servers.ParseLine(text); ok {
			var g Log
			g.Add(&l, l.At)
			if l.DP < 0 || l.Running < 0 || len(g.Ranks(l.At)) != 1 {
				t.Errorf("%+v", l)
			}
		}
	})
}
