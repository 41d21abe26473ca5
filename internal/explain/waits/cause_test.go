package waits

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/explain/fact"
)

// TestCauses checks the causes of the slowest first token, and that loads without a cause do not name it.
func TestCauses(t *testing.T) {
	fast := func(n int) (out []bench.Record) { // requests before the window
		for i := range n {
			r := request(fmt.Sprint("fast", i), -1000+int64(i), -995+int64(i), -990+int64(i))
			r.Index, r.Scheduled, r.Released, r.CachedTokens, r.PromptLen, r.OutputLen = i, r.Sent, r.Sent, -1, 10, 2
			out = append(out, r)
		}
		return out
	}
	slow := func(change func(*bench.Record)) bench.Record {
		r := request("c", 2, 141, 151)
		r.Scheduled, r.Released, r.CachedTokens, r.PromptLen, r.OutputLen = r.Sent, r.Sent, -1, 9, 2
		if change != nil {
			change(&r)
		}
		return r
	}
	cached := func(hits, mine int) []bench.Record {
		records := append(fast(9), slow(func(r *bench.Record) { r.CachedTokens = mine }))
		for i := range records[:9] {
			records[i].CachedTokens = hits
		}
		return records
	}
	overloaded := func(times int64) (out []bench.Record) { // 10/s are due; the server completes 10/times per second
		for i := range int64(100) {
			r := request(fmt.Sprint("r", i), -100*(100-i), 0)
			done := r.Sent + 50*ms + i*100*ms*(times-1)
			r.Index, r.Scheduled, r.Released, r.CachedTokens, r.PromptLen, r.OutputLen = int(i), r.Sent, r.Sent, -1, 9, 2
			if i == 99 {
				r.ID, done = "c", 150*ms
				r.Sent = map[bool]int64{true: -9900 * ms, false: 2 * ms}[times > 1]
				r.Scheduled, r.Released = r.Sent, r.Sent
			}
			r.First, r.Last, r.Done = done-10*ms, done, done
			r.Chunks = []bench.Chunk{{At: r.First, Tokens: 1, Text: true}, {At: r.Last, Tokens: 1, Text: true}}
			out = append(out, r)
		}
		return out
	}
	late := []Late{{DP: -1, From: start + 110*ms, To: start + 140*ms, Cost: 20 * ms, ID: "late", Title: fact.Name("TP01 is late")}}
	for _, c := range []struct {
		name    string
		run     bench.Run
		records []bench.Record
		late    []Late
		want    string // causes with their times in ms
	}{
		{"a stall, and the prefill of others", bench.Run{MaxConcurrency: 4}, append(fast(9), slow(nil)), nil,
			"stall 60, own_prefill 30, queue 30, other_prefill 18, reply 1"},
		{"all at once", bench.Run{}, append(fast(9), slow(nil)), nil, "at_once 108, own_prefill 30, reply 1"},
		{"a late rank", bench.Run{MaxConcurrency: 4}, append(fast(9), slow(nil)), late,
			"stall 60, queue 30, slow_rank 20, other_prefill 18, own_prefill 10, reply 1"},
		{"the client's limit", bench.Run{Rate: 1, MaxConcurrency: 4}, append(fast(9), slow(func(r *bench.Record) { r.Scheduled -= 500 * ms })), nil,
			"client_limit 500, stall 60, own_prefill 30, queue 30, other_prefill 18, reply 1"},
		{"the prefix cache", bench.Run{MaxConcurrency: 4}, cached(9, 0), nil,
			"stall 60, queue 30, cache_miss 25, other_prefill 18, own_prefill 5, reply 1"},
		{"a prompt with the usual cached tokens", bench.Run{MaxConcurrency: 4}, cached(9, 7), nil,
			"stall 60, own_prefill 30, queue 30, other_prefill 18, reply 1"},
		{"a cache that is seldom hit", bench.Run{MaxConcurrency: 4}, cached(1, 0), nil,
			"stall 60, own_prefill 30, queue 30, other_prefill 18, reply 1"},
	} {
		run := c.run
		r, err := analyze(earlier(&run, c.records), alone(one()), Options{Late: c.late})
		if err != nil {
			t.Fatal(err)
		}
		if got := causesText(r.Causes); r.Causes.Held != 1 || got != c.want {
			t.Errorf("%s: %d of %d held: %s, want %s", c.name, r.Causes.Held, r.Causes.Slowest, got, c.want)
		}
	}
	for times, want := range map[int64]string{2: "overload", 1: "stall"} {
		r, err := analyze(earlier(&bench.Run{Rate: 10}, overloaded(times)), alone(one()), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if c := r.Causes; c.Held != 1 || c.Causes[0].Kind != want || (c.Overload.Key != "") != (times > 1) {
			t.Errorf("%d times the capacity: %s, overload %v, want mostly %s", times, causesText(c), c.Overload, want)
		}
	}
}

// earlier lets a run begin 20 s before the trace, so that no time is negative.
func earlier(run *bench.Run, records []bench.Record) []bench.Measured {
	const by = 20_000 * ms
	run.StartWall = start - by
	for i := range records {
		r := &records[i]
		for _, at := range []*int64{&r.Scheduled, &r.Released, &r.Sent, &r.First, &r.Last, &r.Done} {
			*at += by
		}
		for k := range r.Chunks {
			r.Chunks[k].At += by
		}
	}
	return []bench.Measured{{Run: run, Records: records}}
}

// causesText lists causes of at least half a ms, and checks that they add up.
func causesText(c *Causes) string {
	var parts []string
	var sum int64
	for _, one := range c.Causes {
		sum += one.NS
		if one.NS >= ms/2 {
			parts = append(parts, fmt.Sprintf("%s %.0f", one.Kind, math.Round(float64(one.NS)/float64(ms))))
		}
	}
	if sum != c.NS {
		parts = append(parts, fmt.Sprintf("but the sum is %d of %d", sum, c.NS))
	}
	return strings.Join(parts, ", ")
}

// TestQueueBeforeWindow checks that time before the window is queue only if the recorded step is the request's first.
func TestQueueBeforeWindow(t *testing.T) {
	for _, c := range []struct {
		name   string
		id     string
		tokens int
		seen   bool
	}{
		{"the first prefill step of the window, in part", "b", 20, false},
		{"the first prefill step of the window, the whole prompt", "b", 7, true},
		{"a later prefill step", "c", 20, true},
	} {
		r := request(c.id, -5000, map[string]int64{"b": 31, "c": 141}[c.id])
		r.PromptLen, r.CachedTokens = c.tokens, -1
		got, err := analyze(load(r), alone(one()), Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := got.TTFT.Cases[0].Wait
		if unseen := 5000 * ms; (w.QueueUnseen == unseen) != c.seen || (w.NotRecorded == unseen) == c.seen || w.Total() != got.TTFT.Cases[0].NS {
			t.Errorf("%s: %+v", c.name, w)
		}
	}
}
