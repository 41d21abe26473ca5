package detect

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/capture/signals"
)

var start = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// second returns the time of a second of a series.
func second(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }

// sample returns a second of a server whose ranks have these numbers of requests and tokens per second.
func sample(at float64, running, tokens []float64) *signals.Live {
	l := &signals.Live{At: second(at), Over: time.Second}
	for dp := range running {
		f := signals.Flow{DP: dp, Running: running[dp], Load: running[dp], Tokens: tokens[dp], Pace: signals.Unknown, Step: signals.Unknown, Prefill: signals.Unknown}
		if f.Running > 0 && f.Tokens > 0 {
			f.Pace = f.Running / f.Tokens
		}
		l.Tokens += f.Tokens
		l.Ranks = append(l.Ranks, f)
	}
	return l
}

// say formats events: the rule, the rank, and the times in seconds.
func say(events []Event) string {
	var out []string
	for _, e := range events {
		text := e.Rule.Name
		if e.Ended {
			text += " over"
		}
		if e.Who >= 0 {
			text += fmt.Sprintf(" DP%d", e.Who)
		}
		if !e.Ended {
			text += fmt.Sprintf(" onset %g–%g", e.After.Sub(start).Seconds(), e.Onset.Sub(start).Seconds())
		}
		out = append(out, fmt.Sprintf("%s at %g", text, e.At.Sub(start).Seconds()))
	}
	return strings.Join(out, "; ")
}

// play applies rules to a series. gives returns nil for a missing sample.
func play(rules []Rule, seconds int, gives func(second int) *signals.Live) string {
	e := &Engine{Rules: rules, Every: time.Second}
	var events []Event
	for s := range seconds {
		if l := gives(s); l != nil {
			events = append(events, e.Take("server", l)...)
		}
	}
	return say(events)
}

func only(name string) []Rule {
	for _, r := range Defaults() {
		if r.Name == name {
			return []Rule{r}
		}
	}
	panic(name)
}

var even, fast = []float64{8, 8, 8, 8}, []float64{100, 100, 100, 100}

// TestImbalance checks a rank that gets more requests or takes longer for the same number.
func TestImbalance(t *testing.T) {
	busy, busier := []float64{8, 32, 8, 8}, []float64{100, 400, 100, 100}
	after := func(n int, before, since *signals.Live) func(int) *signals.Live {
		return func(s int) *signals.Live {
			l := *before
			if s >= n {
				l = *since
			}
			l.At = second(float64(s))
			return &l
		}
	}
	for _, c := range []struct {
		name  string
		rule  string
		gives func(int) *signals.Live
		want  string
	}{
		{"more requests", UnevenLoad, after(60, sample(0, even, fast), sample(0, busy, busier)), "uneven load DP1 onset 59–60 at 64"},
		{"more requests, no more tokens", UnevenPace, after(60, sample(0, even, fast), sample(0, busy, fast)), "uneven pace DP1 onset 59–60 at 66"},
		{"more requests, half as many more tokens because of longer steps", UnevenPace, after(60, sample(0, even, fast), sample(0, busy, []float64{100, 200, 100, 100})), ""},
		{"more requests, as many more tokens", UnevenPace, after(60, sample(0, even, fast), sample(0, busy, busier)), ""},
		{"a burst of three seconds", UnevenLoad, func(s int) *signals.Live {
			if s/3 == 20 {
				return sample(float64(s), busy, busier)
			}
			return sample(float64(s), even, fast)
		}, ""},
		{"more requests, then even again", UnevenLoad, func(s int) *signals.Live {
			if s >= 60 && s < 100 {
				return sample(float64(s), busy, busier)
			}
			return sample(float64(s), even, fast)
		}, "uneven load DP1 onset 59–60 at 64; uneven load over at 104"},
		{"every other sample is missing", UnevenLoad, func(s int) *signals.Live {
			if s%2 == 1 {
				return nil
			}
			return after(60, sample(0, even, fast), sample(0, busy, busier))(s)
		}, "uneven load DP1 onset 58–60 at 64"},
		{"a minute is missing, then all is even again", UnevenLoad, func(s int) *signals.Live {
			switch {
			case s == 60:
				return sample(60, busy, busier)
			case s > 60 && s < 120:
				return nil
			}
			return sample(float64(s), even, fast)
		}, ""},
		{"few requests, distributed by chance", UnevenLoad, after(60, sample(0, []float64{2, 2, 2, 2}, fast), sample(0, []float64{1, 6, 2, 1}, fast)), ""},
		{"an idle rank", UnevenLoad, after(60, sample(0, even, fast), sample(0, []float64{8, 8, 0, 8}, fast)), ""},
		{"all ranks idle", UnevenLoad, after(60, sample(0, even, fast), sample(0, []float64{0, 0, 0, 0}, []float64{0, 0, 0, 0})), ""},
		{"one rank", UnevenLoad, after(60, sample(0, even[:1], fast[:1]), sample(0, busy[1:2], fast[:1])), ""},
	} {
		if got := play(only(c.rule), 200, c.gives); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestChanged checks the dating of changes of any form, and that too few samples give no date.
func TestChanged(t *testing.T) {
	noise := []float64{0.3, -0.2, 0.1, -0.4, 0.2, 0, -0.1} // of a rank, repeated
	for _, c := range []struct {
		name  string
		after func(since float64) float64 // requests of rank 1
		n     int                         // samples before the change
		want  string
	}{
		{"a step", func(float64) float64 { return 16 }, 40, "39–40"},
		{"requests gather", func(s float64) float64 { return 8 + 8*(1-math.Exp(-s/6)) }, 40, "39–40"},
		{"a slope", func(s float64) float64 { return 8 + s/2 }, 40, "41–42"},
		{"a step soon after the first samples", func(float64) float64 { return 16 }, 6, "5–6"},
		{"at most four samples before it", func(float64) float64 { return 16 }, 2, "4–5"},
		{"fewer than usual", func(float64) float64 { return 2 }, 40, "none"},
	} {
		var past []*signals.Live
		for s := range c.n + 20 {
			one := 8.
			if s >= c.n {
				one = c.after(float64(s-c.n) + 0.5)
			}
			past = append(past, sample(float64(s), []float64{8, one + noise[s%len(noise)], 8, 8}, fast))
		}
		got := "none"
		if after, onset, ok := changed(overOthers(past, signalOf("load").of, 1)); ok {
			got = fmt.Sprintf("%g–%g", after.Sub(start).Seconds(), onset.Sub(start).Seconds())
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestOnsetOfLongRules checks that a change that takes longer than a minute to be certain is dated to its beginning.
func TestOnsetOfLongRules(t *testing.T) {
	for _, c := range []struct {
		hold time.Duration
		want string
	}{
		{5 * time.Second, "uneven load DP1 onset 99–100 at 104"},
		{58 * time.Second, "uneven load DP1 onset 99–100 at 157"},
		{3 * time.Minute, "uneven load DP1 onset 99–100 at 279"},
	} {
		rules := only(UnevenLoad)
		rules[0].For = c.hold
		got := play(rules, 400, func(s int) *signals.Live {
			if s < 100 {
				return sample(float64(s), even, fast)
			}
			return sample(float64(s), []float64{8, 32 + 4*float64(s/10%2), 8, 8}, fast)
		})
		if got != c.want {
			t.Errorf("%v: %q, want %q", c.hold, got, c.want)
		}
	}
}

// requests returns a sample with requests of one latency, in s.
func requests(at, ttft, n float64) *signals.Live {
	l := sample(at, even, fast)
	l.TTFT = signals.Histogram{Bounds: []float64{ttft / 2, ttft, math.Inf(1)}, Counts: []float64{0, n, n}, Sum: n * ttft, Count: n}
	return l
}

// TestLatency checks latencies against a bound and against the baseline.
func TestLatency(t *testing.T) {
	bound := []Rule{{Name: "bound", Kind: Latency, Signal: "ttft.mean", Above: 1, Least: 10, For: 10 * time.Second}}
	for _, c := range []struct {
		name  string
		rules []Rule
		ttft  func(s int) (ttft, n float64)
		want  string
	}{
		{"above a bound", bound, func(s int) (float64, float64) {
			if s >= 100 {
				return 1.5, 10
			}
			return 0.2, 10
		}, "bound onset 99–100 at 109"},
		{"few requests combined into one point", bound, func(s int) (float64, float64) {
			if s >= 100 {
				return 1.5, 3
			}
			return 0.2, 3
		}, "bound onset 99–103 at 111"},
		{"too few requests to judge", bound, func(s int) (float64, float64) { return 1.5, 0.5 }, ""},
		{"twice the baseline", only(SlowFirst), func(s int) (float64, float64) {
			if s >= 400 {
				return 0.5, 20
			}
			return 0.2, 20
		}, "slow first tokens onset 399–400 at 409; slow first tokens over at 980"},
		{"1.5 times the baseline", only(SlowFirst), func(s int) (float64, float64) {
			if s >= 400 {
				return 0.3, 20
			}
			return 0.2, 20
		}, ""},
	} {
		got := play(c.rules, 1100, func(s int) *signals.Live { ttft, n := c.ttft(s); return requests(float64(s), ttft, n) })
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestOnsetWhileLearning checks that a change in the first half minute of a watch, while the baseline is learned, is
// dated correctly.
func TestOnsetWhileLearning(t *testing.T) {
	noise := []float64{1.05, 0.98, 1.01, 0.96, 1.02, 1, 0.99}
	for _, c := range []struct {
		rule   string
		change int
		sample func(s int, slower float64) *signals.Live
		want   string
	}{
		{SlowTokens, 20, itl, "slow tokens onset 19–20 at 40"},
		{SlowTokens, 25, itl, "slow tokens onset 24–25 at 40"},
		{SlowTokens, 40, itl, "slow tokens onset 39–40 at 49"},
		{LostThroughput, 40, slowdown, "lost throughput onset 39–40 at 49"},
	} {
		got := play(only(c.rule), 70, func(s int) *signals.Live {
			slower := noise[s%len(noise)]
			if s >= c.change {
				slower *= 2.1
			}
			return c.sample(s, slower)
		})
		if got != c.want {
			t.Errorf("%s, change at %d: %q, want %q", c.rule, c.change, got, c.want)
		}
	}
}

func itl(s int, slower float64) *signals.Live {
	l := sample(float64(s), even, fast)
	v := 0.005 * slower
	l.ITL = signals.Histogram{Bounds: []float64{v / 2, v, math.Inf(1)}, Counts: []float64{0, 100, 100}, Sum: 100 * v, Count: 100}
	return l
}

func slowdown(s int, slower float64) *signals.Live {
	t := 100 / slower
	return sample(float64(s), even, []float64{t, t, t, t})
}

// TestQueue, TestThroughput and TestSilent check the other rules.
func TestQueue(t *testing.T) {
	got := play(only(GrowingQueue), 200, func(s int) *signals.Live {
		l := sample(float64(s), even, fast)
		if s >= 100 && s < 150 {
			l.Ranks[0].Queued = float64(s-100) * 3
		}
		return l
	})
	if want := "growing queue onset 102–103 at 113; growing queue over at 159"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestThroughput(t *testing.T) {
	for name, c := range map[string]struct {
		running, tokens float64
		want            string
	}{
		"half the tokens of as many requests": {8, 50, "lost throughput onset 99–100 at 109"},
		"half the tokens of half of them":     {4, 50, ""},
		"a loss of a fifth":                   {8, 80, ""},
	} {
		got := play(only(LostThroughput), 200, func(s int) *signals.Live {
			if s < 100 {
				return sample(float64(s), even, fast)
			}
			return sample(float64(s), []float64{c.running, c.running, c.running, c.running}, []float64{c.tokens, c.tokens, c.tokens, c.tokens})
		})
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestSilent(t *testing.T) {
	for name, c := range map[string]struct {
		since func(l *signals.Live)
		want  string
	}{
		"a rank is missing":         {func(l *signals.Live) { l.Ranks = l.Ranks[:3] }, "silent rank DP3 onset 99–100 at 109"},
		"a rank produces no tokens": {func(l *signals.Live) { l.Ranks[2].Tokens = 0 }, "silent rank DP2 onset 99–100 at 109"},
		"a rank is idle":            {func(l *signals.Live) { l.Ranks[2].Tokens, l.Ranks[2].Running = 0, 0 }, ""},
	} {
		got := play(only(SilentRank), 200, func(s int) *signals.Live {
			l := sample(float64(s), even, fast)
			if s >= 100 {
				c.since(l)
			}
			return l
		})
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestRestart checks that a server is judged after a restart only when it has warmed up, and against a new baseline.
func TestRestart(t *testing.T) {
	got := play(only(UnevenLoad), 200, func(s int) *signals.Live {
		l := sample(float64(s), even, fast)
		if s >= 100 {
			l = sample(float64(s), []float64{8, 32, 8, 8}, fast)
		}
		l.Restarted = s == 100
		return l
	})
	if want := "uneven load DP1 onset 130–131 at 135"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPause checks that a server is not judged during its capture, while others are.
func TestPause(t *testing.T) {
	e := &Engine{Rules: only(UnevenLoad), Every: time.Second}
	e.Pause("server")
	var other []Event
	take := func(s int) []Event {
		other = append(other, e.Take("other", sample(float64(s), []float64{8, 32, 8, 8}, fast))...)
		return e.Take("server", sample(float64(s), []float64{8, 32, 8, 8}, fast))
	}
	for s := range 60 {
		if got := take(s); got != nil {
			t.Fatal(say(got))
		}
	}
	if len(other) != 1 {
		t.Errorf("the other server: %q", say(other))
	}
	e.Resume(second(60))
	var events []Event
	for s := 60; s < 75; s++ {
		events = append(events, take(s)...)
	}
	if got, want := say(events), "uneven load DP1 onset 62–63 at 67"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRestartInPause checks that a server that restarts during its capture also warms up, and that its active alarms
// end at once.
func TestRestartInPause(t *testing.T) {
	e := &Engine{Rules: only(UnevenLoad), Every: time.Second}
	var events []Event
	for s := range 200 {
		switch s {
		case 99:
			e.Pause("server")
		case 102:
			e.Resume(second(102))
		}
		running := even
		if s >= 60 {
			running = []float64{8, 32, 8, 8}
		}
		l := sample(float64(s), running, fast)
		l.Restarted = s == 100
		events = append(events, e.Take("server", l)...)
	}
	if got, want := say(events), "uneven load DP1 onset 59–60 at 64; uneven load over at 100; uneven load DP1 onset 130–131 at 135"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRules checks the errors for invalid rules.
func TestRules(t *testing.T) {
	for _, r := range Defaults() {
		if err := r.Check(); err != nil {
			t.Error(err)
		}
	}
	for want, r := range map[string]Rule{
		`rule "x": kind "y": give one of imbalance, latency, queue, throughput, silent`:      {Kind: "y"},
		`rule "x": signal "z": give one of load, running,`:                                   {Kind: Imbalance, Signal: "z"},
		`rule "x": above 1: max/mean is 1 if all ranks are equal`:                            {Kind: Imbalance, Signal: "load", Measure: MaxOverMean, Above: 1},
		`rule "x": signal "itl": give its mean or a percentile, such as itl.mean or itl.p95`: {Kind: Latency, Signal: "itl", Above: 1},
		`rule "x": signal "itl.p0": give its mean or a percentile`:                           {Kind: Latency, Signal: "itl.p0", Above: 1},
		`rule "x": above and factor: give only one of them`:                                  {Kind: Latency, Signal: "itl.p50", Above: 1, Factor: 2},
		`rule "x": above 1: give the lost share of throughput`:                               {Kind: Throughput, Above: 1},
	} {
		r.Name, r.For = "x", time.Second
		if err := r.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
