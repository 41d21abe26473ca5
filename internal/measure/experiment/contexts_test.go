package experiment

import (
	"testing"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/trace"
)

// TestContexts checks the contexts of a load at one moment: of a request in decode, of one that waits for its first token,
// and of one that has ended.
func TestContexts(t *testing.T) {
	const ms = int64(1e6)
	record := func(dp, prompt int, sent, first, each int64, tokens ...int) bench.Record {
		r := bench.Record{PromptLen: prompt, DPRank: dp, Sent: sent * ms, First: first * ms}
		for i, n := range tokens {
			r.Last = (first + int64(i)*each) * ms
			r.Chunks = append(r.Chunks, bench.Chunk{At: r.Last, Tokens: n})
			r.OutputLen += max(n, 0)
		}
		r.Done = r.Last + 1
		return r
	}
	ends := record(-1, 100, 0, 5, 10, 1, 1)
	waits := record(-1, 50, 10, 90, 10, 1, 1)
	runs := record(-1, 200, 0, 5, 10, 1, 1, 1, 1, 1, 1, 1)
	untold := record(-1, 300, 0, 5, 10, -1, -1, -1, -1, -1, -1, -1)
	untold.OutputLen = 12
	held := runs
	held.Held = true
	on := func(dp int, r bench.Record) bench.Record { r.DPRank = dp; return r }
	at := func(dp, running int, low, high, least, most int64) trace.ContextSample {
		return trace.ContextSample{At: 1000*ms + 40*ms, From: trace.ContextsLoad, DP: dp, Running: running, Low: low, High: high, Least: least, Most: most}
	}
	for _, c := range []struct {
		name    string
		records []bench.Record
		want    []trace.ContextSample
	}{
		{"one", []bench.Record{runs, ends}, []trace.ContextSample{at(-1, 1, 204, 206, 204, 206)}},
		{"one waits", []bench.Record{waits, runs}, []trace.ContextSample{at(-1, 1, 204, 206, 50, 206)}},
		{"events of several tokens", []bench.Record{untold}, []trace.ContextSample{at(-1, 1, 304, 311, 304, 311)}},
		{"ranks", []bench.Record{on(0, runs), on(1, runs), on(1, runs)}, []trace.ContextSample{at(0, 1, 204, 206, 204, 206), at(1, 2, 408, 412, 204, 206)}},
		{"some ranks are not known", []bench.Record{on(0, runs), runs}, []trace.ContextSample{at(-1, 2, 408, 412, 204, 206)}},
		{"only waiting", []bench.Record{waits}, nil},
		{"tokens without times", []bench.Record{runs, held}, nil},
	} {
		got := contexts(c.records, &bench.Run{StartWall: 1000 * ms, Profiled: []bench.Span{{From: 40 * ms, To: 40*ms + 1}}})
		if len(got) != len(c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %+v, want %+v", c.name, got[i], c.want[i])
			}
		}
	}
	long := contexts([]bench.Record{record(-1, 10, 0, 5, 1000, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)}, &bench.Run{Profiled: []bench.Span{{From: 10 * ms, To: 30_000 * ms}}})
	if len(long) > mostContexts+1 || len(long) < mostContexts/2 {
		t.Errorf("%d samples of a long window", len(long))
	}
}
