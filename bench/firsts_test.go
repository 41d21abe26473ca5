package bench

import "testing"

// TestFirsts: findings about the times to first token of a load.
func TestFirsts(t *testing.T) {
	// load makes n requests, one every 10 ms, each with its prompt length and time to first token in ms.
	load := func(n int, of func(i int) (prompt int, ttft int64)) (out []Record) {
		for i := range n {
			prompt, ttft := of(i)
			sent := int64(i) * 10
			r := reply(sent, prompt, sent+ttft, 1)
			r.Index = i
			out = append(out, r)
		}
		return out
	}
	type want struct {
		none, grew, slow              bool
		requests, slowest             int
		waiting, all, prompt, prompt0 float64
	}
	for name, tt := range map[string]struct {
		records []Record
		touched []Span
		want    want
	}{
		"too few":  {records: load(19, func(i int) (int, int64) { return 8, int64(i) }), want: want{none: true}},
		"steady":   {records: load(200, func(i int) (int, int64) { return 8, 5 + int64(i%3) })},
		"overload": {records: load(200, func(i int) (int, int64) { return 8, 5 + 4*int64(i) }), want: want{grew: true}},
		// Longer, but nobody waits: no overload.
		"longer alone": {records: load(200, func(i int) (int, int64) { return 8, 3 + int64(i)/40 })},
		// Occasionally twice as long: no growth.
		"noisy": {records: load(200, func(i int) (int, int64) { return 8, []int64{5, 9, 14}[i%3] })},
		"long prompts": {
			records: load(200, func(i int) (int, int64) {
				if i%60 == 50 {
					return 4000, 80 - int64(i)/10
				}
				return 8, 9
			}),
			want: want{slow: true, requests: 2, slowest: 50, prompt: 4000, prompt0: 8},
		},
		// Three requests sent while the twenty before them still wait.
		"a queue": {
			records: load(300, func(i int) (int, int64) {
				if i >= 100 && i < 120 {
					return 8, int64(121-i)*10 + 5
				}
				if i >= 120 && i < 123 {
					return 8, 400
				}
				return 8, 9
			}),
			want: want{slow: true, requests: 3, slowest: 120, waiting: 20, prompt: 8, prompt0: 8},
		},
		"touched": {
			records: load(200, func(i int) (int, int64) { return 8, 5 + 200*int64(i/190) }), touched: []Span{{1900 * ms, 3000 * ms}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := Summarize(tt.records, &Run{Backend: "sglang", Duration: 6000 * ms, Profiled: tt.touched}, Options{})
			f := s.Firsts
			if (f == nil) != tt.want.none {
				t.Fatalf("got %+v", f)
			}
			if f == nil {
				return
			}
			if f.Grew != tt.want.grew || (f.Slow != nil) != tt.want.slow {
				t.Fatalf("grew %v from %v to %v, slow %+v", f.Grew, f.Early, f.Late, f.Slow)
			}
			if f.Slow == nil {
				return
			}
			got := want{false, f.Grew, true, f.Slow.Requests, f.Slow.Slowest, f.Slow.Waiting, f.Slow.WaitingAll, f.Slow.Prompt, f.Slow.PromptAll}
			if got != tt.want || f.Slow.At != int64(f.Slow.Slowest)*10*ms {
				t.Errorf("got %+v at %d\nwant %+v", got, f.Slow.At, tt.want)
			}
		})
	}
}

// TestCompareMistimed: loads whose client was too busy to time them get a verdict only with Force.
func TestCompareMistimed(t *testing.T) {
	side := func(id, verdict string) Load {
		records, run := byHand()
		run.Health.Verdict = verdict
		return Load{ID: id, Runs: []Measured{{run, records}}}
	}
	for _, tt := range []struct {
		a, b    string
		force   bool
		refused bool
		want    string
	}{
		{"clean", "clean", false, false, "no change: all figures are the same"},
		{"clean", "invalid", false, true, "no verdict: the client was too busy to time B"},
		{"invalid", "invalid", false, true, "no verdict: the client was too busy to time A and B"},
		{"invalid", "suspect", true, false, "no change: all figures are the same"},
	} {
		c := Compare(side("A", tt.a), side("B", tt.b), CompareOptions{Force: tt.force})
		if c.Refused != tt.refused || c.Verdict != tt.want {
			t.Errorf("%s and %s: refused %v, %q; want %q", tt.a, tt.b, c.Refused, c.Verdict, tt.want)
		}
	}
}

// TestFirstsWithoutText: a slow first text is distinguished from a slow first event.
func TestFirstsWithoutText(t *testing.T) {
	for _, tt := range []struct {
		name, backend string
		chunk         bool // the first event has a token without text
		any           int64
		want          float64
	}{
		{"a token without text", "sglang", true, 20, 20},
		{"an event without text", "sglang-oai", false, 20, 20},
		{"a role", "sglang-oai-chat", false, 20, 900},
		{"text at once", "sglang", false, 900, 900},
	} {
		var records []Record
		for i := range 200 {
			sent := int64(i) * 10
			r := reply(sent, 8, sent+9, 1, sent+20, 1)
			if i%60 == 50 {
				r = reply(sent, 8, sent+900, 1, sent+910, 1)
				if r.FirstAny = (sent + tt.any) * ms; tt.chunk {
					r.Chunks = append([]Chunk{{At: r.FirstAny, Tokens: 1}}, r.Chunks...)
				}
			}
			r.Index = i
			records = append(records, r)
		}
		f := Summarize(records, &Run{Backend: tt.backend, Duration: 6000 * ms}, Options{}).Firsts
		if f == nil || f.Slow == nil || f.Slow.Event != tt.want*ms {
			t.Errorf("%s: %+v", tt.name, f)
		}
	}
}
