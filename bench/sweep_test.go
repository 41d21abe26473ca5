package bench

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// stream returns a request sent at a time, with its first token after prefill and then n tokens, one per gap; all in
// ms.
func stream(sent, prefill, gap int64, n int) Record {
	events := make([]int64, 0, 2*n)
	for i := range n {
		events = append(events, sent+prefill+int64(i)*gap, 1)
	}
	return reply(sent, 10, events...)
}

func TestSteady(t *testing.T) {
	tests := []struct {
		name     string
		records  func() []Record
		from, to int64 // ms
		level    int
	}{
		{"one request: from its first token to its last", func() []Record {
			return []Record{stream(0, 100, 10, 11)}
		}, 100, 200, 1},
		// Prefills end one after the other, 10 ms apart; all have 100 tokens.
		{"all at once: while the batch is full", func() (all []Record) {
			for i := range int64(10) {
				all = append(all, stream(0, 100+10*i, 10, 100))
			}
			return all
		}, 180, 1100, 10}, // 9 of 10 decode from the 9th first token to the 2nd last token
		{"one long reply does not pull the level down", func() (all []Record) {
			for range 10 {
				all = append(all, stream(0, 100, 10, 101))
			}
			return append(all, stream(0, 100, 10, 601))
		}, 100, 1100, 11},
		{"closed loop: two at a time", func() (all []Record) {
			for i := range int64(10) {
				all = append(all, stream(i*550, 50, 10, 51), stream(i*550, 50, 10, 51))
			}
			return all
		}, 50, 5500, 2},
		{"no streaming: requests in progress", func() (all []Record) {
			for i := range int64(8) {
				all = append(all, stream(i*10, 100, 0, 1))
			}
			return all
		}, 50, 121, 6}, // at most 8, but half of the request-time is at 6 or below
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Summarize(tt.records(), &Run{Backend: "sglang", Duration: 1e9}, Options{}).Steady
			if s == nil {
				t.Fatal("no window")
			}
			if s.From != tt.from*ms || s.To != tt.to*ms || s.Level != tt.level {
				t.Errorf("%d … %d ms at %d, want %d … %d at %d", s.From/ms, s.To/ms, s.Level, tt.from, tt.to, tt.level)
			}
		})
	}
}

// An open loop has ramps at both ends; between them the rate is the server's.
func TestSteadyOpenLoop(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var all []Record
	at := 0.0
	for range 3000 {
		at += r.ExpFloat64() * 10 // 100 requests/s
		all = append(all, stream(int64(at), 200, 20, 100))
	}
	end := all[len(all)-1].Done
	s := Summarize(all, &Run{Backend: "sglang", Duration: end}, Options{})
	w := s.Steady
	if w == nil {
		t.Fatal("no window")
	}
	if w.Level < 180 || w.Level > 220 { // 100/s × 1.98 s of decode
		t.Errorf("level %d", w.Level)
	}
	if w.From < 1000*ms || w.To > end-500*ms || w.To-w.From < 25_000*ms {
		t.Errorf("window %d … %d ms of %d", w.From/ms, w.To/ms, end/ms)
	}
	if math.Abs(w.OutputRate-10_000) > 500 || w.OutputRate <= s.OutputRate {
		t.Errorf("%v tokens/s in the window, %v over the run, want 10,000 and less", w.OutputRate, s.OutputRate)
	}
}

func TestRunning(t *testing.T) {
	got := running([]Span{{0, 10}, {10, 20}, {5, 10}, {10, 15}})
	want := []change{{0, 1}, {5, 2}, {10, 2}, {15, 1}, {20, 0}} // at 10 two end before two begin
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// The seconds over which an event's tokens are spread, compared with a plain loop.
func TestSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		a, n := 3*r.Float64(), int64(1+r.IntN(40))
		b := a + 4*r.Float64()
		got, want := map[int]float64{}, map[int]float64{}
		spread(a, b, n, func(s int, n float64) { got[s] += n })
		for k := int64(1); k <= n; k++ {
			at := a + float64(k)*(b-a)/float64(n)
			if k == n {
				at = b
			}
			want[int(at)]++
		}
		for s := range 8 {
			if got[s] != want[s] {
				t.Fatalf("%d tokens in %v … %v: second %d has %v, want %v", n, a, b, s, got[s], want[s])
			}
		}
	}
}

func TestTimeline(t *testing.T) {
	records, run := byHand()
	tl := NewTimeline(records, run, 30) // 232 ms in bins of 10
	sum := func(v []float64) (s float64) {
		for _, x := range v {
			s += x
		}
		return s
	}
	if tl.Bin != 10*ms || len(tl.Tokens) != 24 {
		t.Fatalf("%d bins of %d ms", len(tl.Tokens), tl.Bin/ms)
	}
	if sum(tl.Tokens) != 7 || tl.Tokens[16] != 2 || tl.Ended[23] != 1 || tl.Failed[6] != 1 {
		t.Errorf("%+v", tl)
	}
	// Request-time is the sum over requests: E2E 161 + 221 + 41 and 1 of the failed one.
	if got := sum(tl.Running) * 10; !near(got, 424) {
		t.Errorf("%v ms in progress, want 424", got)
	}
	if got := sum(tl.Decode) * 10; !near(got, 60+100) {
		t.Errorf("%v ms in decode, want 160", got)
	}
}

// The plots' peaks equal the figures beside them.
func TestTimelinePeaks(t *testing.T) {
	records, run := byHand()
	for _, bins := range []int{1, 5, 30, 1000} {
		s, tl := Summarize(records, run, Options{}), NewTimeline(records, run, bins)
		if got := slices.Max(tl.Most); got != s.PeakRunning {
			t.Errorf("%d bins: at most %d requests in progress, the summary says %d", bins, got, s.PeakRunning)
		}
		if got := slices.Max(tl.Busiest); got != s.PeakOutputRate {
			t.Errorf("%d bins: at most %v tokens in a second, the summary says %v", bins, got, s.PeakOutputRate)
		}
	}
}

// Part of a run has the same bins as the whole run has there.
func TestPartTimeline(t *testing.T) {
	records, run := byHand()
	all := NewTimeline(records, run, 1000) // bins of 1 ms
	for _, part := range []Span{{0, 20 * ms}, {33*ms + 7, 90 * ms}, {150 * ms, 231 * ms}, {400 * ms, 500 * ms}} {
		tl := PartTimeline(records, run, part, 1000)
		if tl.Bin != all.Bin || tl.From > part.From || tl.From <= part.From-tl.Bin || len(tl.Most) != int((part.To-tl.From)/tl.Bin)+1 {
			t.Fatalf("%v: %d bins of %d from %d", part, len(tl.Most), tl.Bin, tl.From)
		}
		for k := range tl.Most {
			at := int(tl.From/tl.Bin) + k
			if at >= len(all.Most) {
				if tl.Tokens[k] != 0 || tl.Most[k] != 0 || tl.Running[k] != 0 {
					t.Fatalf("%v: bin %d is after the run but not empty", part, k)
				}
				continue
			}
			if tl.Tokens[k] != all.Tokens[at] || tl.Busiest[k] != all.Busiest[at] || !near(tl.Running[k], all.Running[at]) || tl.Most[k] != all.Most[at] ||
				!near(tl.Decode[k], all.Decode[at]) || tl.Ended[k] != all.Ended[at] || tl.Failed[k] != all.Failed[at] {
				t.Fatalf("%v: bin %d differs from bin %d of the whole run", part, k, at)
			}
		}
	}
}
