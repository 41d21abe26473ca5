package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/watch/detect"
)

// These tests are of what goes on between samples and captures, in a time of their own (testing/synctest): servers are
// functions of the time, and a capture is 4.5 seconds, so that
// it does not end at the moment of a sample.

// server is one that never ran. Its ranks have eight requests each and make 100 tokens a second.
type server struct {
	name  string
	began time.Time
	last  time.Time
	made  []float64 // tokens
	ttft  signals.Histogram

	running func(rank int, at float64) float64 // nil: 8. at is in s
	tokens  func(rank int, at float64) float64 // a second; nil: 100
	ranks   func(at float64) int               // nil: 4
	error   func(at float64) error             // nil: it answers
	clock   func(at float64) time.Duration     // by how much its clock is ahead
	takes   time.Duration                      // to answer
	anew    float64                            // at this second its counters begin anew; 0: never
	log     bool                               // there is but its log
}

func (f *server) Read(context.Context) (*signals.Sample, error) {
	now := time.Now()
	if f.began.IsZero() {
		f.began, f.last = now, now
	}
	at, over := now.Sub(f.began).Seconds(), now.Sub(f.last).Seconds()
	if f.error != nil && f.error(at) != nil {
		return nil, f.error(at)
	}
	if f.anew > 0 && at >= f.anew {
		f.anew, f.made, f.ttft = 0, nil, signals.Histogram{}
	}
	f.last = now
	time.Sleep(f.takes)
	s := &signals.Sample{At: now, Generated: signals.Unknown, Aborted: signals.Unknown}
	if f.clock != nil {
		s.At = now.Round(0).Add(f.clock(at))
	}
	n := 4
	if f.ranks != nil {
		n = f.ranks(at)
	}
	for i := range n {
		r := signals.Rank{DP: i, Running: 8, Queued: 0, Context: signals.Unknown, Usage: 0.5, Rate: signals.Unknown, Computed: signals.Unknown, Passes: signals.Unknown, Busy: signals.Unknown, Device: signals.Unknown}
		if f.running != nil {
			r.Running = f.running(i, at)
		}
		rate := 100.
		if f.tokens != nil {
			rate = f.tokens(i, at)
		}
		if i == len(f.made) {
			f.made = append(f.made, 0)
		}
		f.made[i] += rate * over
		r.Generated = f.made[i]
		s.Ranks = append(s.Ranks, r)
	}
	h := signals.Histogram{Bounds: []float64{0.1, 0.2, math.Inf(1)}, Counts: []float64{0, 20, 20}, Sum: 3, Count: 20}
	f.ttft = f.ttft.Add(&h)
	s.TTFT = f.ttft
	return s, nil
}

func (f *server) Forget() {}

func (f *server) Lacks(*signals.Sample) []string { return nil }

// busy has a rank get four times the requests from one second on, up to another.
func busy(rank int, from, to float64) (running, tokens func(int, float64) float64) {
	of := func(usual float64) func(int, float64) float64 {
		return func(i int, at float64) float64 {
			if i == rank && at >= from && at < to {
				return 4 * usual
			}
			return usual
		}
	}
	return of(8), of(100)
}

// watching follows servers for so long, and gives the events, a line each.
func watching(t *testing.T, w *Watch, took time.Duration, servers ...*server) (said string, m *mind) {
	t.Helper()
	return watchingUntil(t, t.Context(), w, took, servers...)
}

func watchingUntil(t *testing.T, ctx context.Context, w *Watch, took time.Duration, servers ...*server) (said string, m *mind) {
	t.Helper()
	var log bytes.Buffer
	w.Log, w.Say, w.Tell, w.For, w.Every = &log, &progress.Console{W: io.Discard}, func(string) {}, took, time.Second
	if w.Rules == nil {
		w.Rules = detect.Defaults()
	}
	if w.Capture.MostBytes == 0 {
		w.Capture.MostBytes = math.MaxInt64
	}
	m = w.mind()
	m.capture = func(ctx context.Context, s *shot) { captured(context.WithoutCancel(ctx), s, 1000) }
	began := time.Now()
	for _, s := range servers {
		target := torch.Target{URL: "http://" + s.name, Name: s.name}
		f := newFollower(&torch.Reached{Target: target, Front: target, Base: target.URL}, []torch.Target{target}, w.Every)
		f.reader = s
		if s.log {
			f.server = nil
		}
		m.followers = append(m.followers, f)
	}
	if err := m.group(ctx); err != nil {
		t.Fatal(err)
	}
	if err := m.follow(ctx); err != nil && !errors.Is(err, context.Cause(ctx)) {
		t.Error(err)
	}
	return eventLines(t, log.Bytes(), began), m
}

// captured is a capture.
func captured(ctx context.Context, s *shot, bytes int64) {
	select {
	case <-time.After(4500 * time.Millisecond):
		s.bytes = bytes
		s.dir = filepath.Join(s.w.Dir, s.name)
		s.result = &torch.Result{Dir: s.dir, Servers: []torch.ServerResult{{URL: s.servers[0].url(), Dir: s.dir, Traces: []string{filepath.Join(s.dir, "trace")}}}}
		if s.w.Dir != "" {
			if s.err = os.Mkdir(s.dir, 0o777); s.err == nil {
				s.err = os.WriteFile(s.result.Servers[0].Traces[0], []byte(s.name), 0o666)
			}
		}
	case <-ctx.Done():
		s.err = ctx.Err()
	}
}

// eventLines writes events: when in seconds, and what of them matters.
func eventLines(t *testing.T, log []byte, began time.Time) string {
	t.Helper()
	var out strings.Builder
	for line := range bytes.Lines(log) {
		var e Event
		if err := json.Unmarshal(line, &e); err != nil || e.Format != 1 {
			t.Fatalf("%s: %v", line, err)
		}
		if e.Kind == KindBegin || e.Kind == KindEnd {
			continue
		}
		parts := []string{fmt.Sprintf("%.0f", math.Floor(e.At.Sub(began).Seconds())), e.Kind, e.Server}
		if e.Kind == KindCapture || e.Kind == KindVerdict || e.Kind == KindFailed {
			parts = append(parts, e.Capture)
		}
		if e.Verdict != nil {
			parts = append(parts, e.Verdict.Kind, e.Verdict.Rank)
		} else if e.Rule != "" {
			parts = append(parts, e.Rule, e.Rank)
		}
		if e.Kind == KindAlarm {
			parts = append(parts, fmt.Sprintf("since %.0f", e.Onset.Sub(began).Seconds()))
		}
		if e.Error != "" {
			parts = append(parts, strings.ReplaceAll(e.Error, began.Format("2006"), ""))
		}
		if e.Kind == KindBack {
			parts = append(parts, fmt.Sprintf("%.0f s", e.Seconds))
		}
		fmt.Fprintln(&out, strings.Join(strings.Fields(strings.Join(parts, " ")), " "))
	}
	return strings.TrimSpace(out.String())
}

// TestMind: what becomes of what servers tell.
func TestMind(t *testing.T) {
	gone := func(from, to float64, err error) func(float64) error {
		return func(at float64) error {
			if at >= from && at < to {
				return err
			}
			return nil
		}
	}
	five := Capture{Most: 5, Cooldown: 10 * time.Minute}
	for _, c := range []struct {
		name    string
		capture Capture
		server  server
		took    time.Duration
		want    string
	}{
		{"ten balanced minutes", five, server{}, 10 * time.Minute, ""},
		{"a busy rank", five, func() (f server) { f.running, f.tokens = busy(1, 100, 200); return f }(), 5 * time.Minute, `
104 alarm a uneven load DP01 since 100
104 capture a capture-1 uneven load
108 verdict a capture-1 more work DP01
204 over a uneven load`},
		{"a slow rank", five, server{tokens: func(i int, at float64) float64 {
			if i == 2 && at >= 100 {
				return 30
			}
			return 100
		}}, 140 * time.Second, `
106 alarm a uneven pace DP02 since 100
106 capture a capture-1 uneven pace
110 verdict a capture-1 slower DP02`},
		{"the same again is in the cooldown, another rank is not", five, server{
			running: func(i int, at float64) float64 {
				a, _ := busy(1, 100, 200)
				b, _ := busy(1, 300, 400)
				c, _ := busy(3, 500, 600)
				return max(a(i, at), b(i, at), c(i, at))
			}, tokens: func(i int, at float64) float64 {
				_, a := busy(1, 100, 200)
				_, b := busy(1, 300, 400)
				_, c := busy(3, 500, 600)
				return max(a(i, at), b(i, at), c(i, at))
			}}, 11 * time.Minute, `
104 alarm a uneven load DP01 since 100
104 capture a capture-1 uneven load
108 verdict a capture-1 more work DP01
204 over a uneven load
304 alarm a uneven load DP01 since 300
304 skipped a uneven load DP01 the last one for this began at 00:01:44, and --cooldown is 10m0s
404 over a uneven load
504 alarm a uneven load DP03 since 500
504 capture a capture-2 uneven load
508 verdict a capture-2 more work DP03
604 over a uneven load`},
		{"what a capture shows is not captured again before its cooldown is over", Capture{Most: 5, Cooldown: time.Minute}, func() (f server) { f.running, _ = busy(1, 100, 1000); return f }(), 200 * time.Second, `
104 alarm a uneven load DP01 since 100
104 capture a capture-1 uneven load
108 verdict a capture-1 slower DP01
111 alarm a uneven pace DP01 since 100
111 skipped a uneven pace DP01 it was so when capture-1 began at 00:01:44, which shows it, and --cooldown is 1m0s
164 capture a capture-2 uneven pace
168 verdict a capture-2 slower DP01`},
		{"a rank that says nothing any more", five, server{ranks: func(at float64) int {
			if at >= 100 {
				return 3
			}
			return 4
		}}, 2 * time.Minute, `
109 alarm a silent rank DP03 since 100
109 capture a capture-1 silent rank
113 verdict a capture-1 unclear DP03`},
		{"no captures are allowed", Capture{}, func() (f server) { f.running, f.tokens = busy(1, 100, 200); return f }(), 2 * time.Minute, `
104 alarm a uneven load DP01 since 100
104 skipped a uneven load DP01 0 captures made, and --max-captures allows no more`},
		{"it is gone for a while", five, server{error: gone(50, 80, errors.New("connection refused"))}, 2 * time.Minute, `
55 lost a no sample since 00:00:50: connection refused
80 back a 30 s`},
		{"it is gone for a moment", five, server{error: gone(50, 53, errors.New("connection refused"))}, 2 * time.Minute, ""},
		{"it refuses", five, server{error: gone(50, 60, &client.Refused{Status: 401})}, 2 * time.Minute, `
50 lost a no sample since 00:00:50: : 401 Unauthorized (give --api-key)
60 back a 10 s`},
		{"it starts again while it is gone", five, server{error: gone(50, 80, errors.New("connection refused")), anew: 80}, 2 * time.Minute, `
55 lost a no sample since 00:00:50: connection refused
80 back a 30 s
80 restarted a`},
		{"it starts again while an alarm waits for the cooldown", Capture{Most: 5, Cooldown: 2 * time.Minute}, server{anew: 215,
			running: func(i int, at float64) float64 {
				a, _ := busy(1, 100, 130)
				b, _ := busy(1, 200, 215)
				return max(a(i, at), b(i, at))
			}, tokens: func(i int, at float64) float64 {
				_, a := busy(1, 100, 130)
				_, b := busy(1, 200, 215)
				return max(a(i, at), b(i, at))
			}}, 5 * time.Minute, `
104 alarm a uneven load DP01 since 100
104 capture a capture-1 uneven load
108 verdict a capture-1 more work DP01
134 over a uneven load
204 alarm a uneven load DP01 since 200
204 skipped a uneven load DP01 the last one for this began at 00:01:44, and --cooldown is 2m0s
215 restarted a
215 over a uneven load`},
		{"it starts again, and is uneven as it warms up", five, func() (f server) { f.running, f.tokens = busy(1, 50, 75); f.anew = 50; return f }(), 2 * time.Minute, `
50 restarted a`},
		{"its clock goes back, and forth", five, server{clock: func(at float64) time.Duration {
			switch {
			case at >= 100 && at < 200:
				return -time.Hour
			case at >= 300:
				return time.Hour
			}
			return 0
		}}, 6 * time.Minute, `
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.server.name = "a"
				got, _ := watching(t, &Watch{Capture: c.capture}, c.took, &c.server)
				if want := strings.TrimSpace(c.want); got != want {
					t.Errorf("\n%s\nwant\n%s", got, want)
				}
			})
		})
	}
}

// sequence is a server with two busy ranks one after the other, half a minute from one to the next.
func sequence(name string) *server {
	f := &server{name: name}
	f.running, f.tokens = func(i int, at float64) float64 {
		a, _ := busy(1, 100, 130)
		b, _ := busy(2, 160, 190)
		return max(a(i, at), b(i, at))
	}, func(i int, at float64) float64 {
		_, a := busy(1, 100, 130)
		_, b := busy(2, 160, 190)
		return max(a(i, at), b(i, at))
	}
	return f
}

// TestBounds: --max-captures and --max-disk.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		name    string
		capture Capture
		want    string
	}{
		{"one capture", Capture{Most: 1}, "1 capture made, and --max-captures allows no more"},
		{"1000 bytes, which the first takes", Capture{Most: 5, MostBytes: 1000}, "captures take all that --max-disk allows, 1.00 kB"},
	} {
		synctest.Test(t, func(t *testing.T) {
			got, m := watching(t, &Watch{Capture: c.capture}, 4*time.Minute, sequence("a"))
			if !strings.Contains(got, "164 skipped a uneven load DP02 "+c.want) || m.budget.made != 1 {
				t.Errorf("%s:\n%s", c.name, got)
			}
		})
	}
}

// TestServers: servers are compared with each other, and the one that stands out is captured with its peers; while
// one is captured the others are judged, and what is found there is captured next.
func TestServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []*server
		for _, name := range []string{"a", "b", "c"} {
			f := &server{name: name}
			if name == "a" {
				f.takes = 100 * time.Millisecond // so that it is the last of each round
			}
			if name == "b" {
				f.running = func(_ int, at float64) float64 {
					if at >= 100 {
						return 32
					}
					return 8
				}
				f.tokens = func(_ int, at float64) float64 {
					if at >= 100 {
						return 400
					}
					return 100
				}
			}
			all = append(all, f)
		}
		got, _ := watching(t, &Watch{Capture: Capture{Most: 5, Cooldown: time.Hour}}, 3*time.Minute, all...)
		if want := `104 alarm all servers uneven load b since 100
104 capture all servers capture-1 uneven load
108 verdict all servers capture-1 more work b`; got != want {
			t.Errorf("\n%s\nwant\n%s", got, want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		a, b := &server{name: "a"}, &server{name: "b"}
		a.running, a.tokens = busy(1, 100, 200)
		b.running, b.tokens = busy(2, 102, 200)
		got, _ := watching(t, &Watch{Capture: Capture{Most: 5, Cooldown: time.Hour}}, 130*time.Second, a, b)
		if want := `104 alarm a uneven load DP01 since 100
104 capture a capture-1 uneven load
106 alarm b uneven load DP02 since 102
108 verdict a capture-1 more work DP01
109 capture b capture-2 uneven load
113 verdict b capture-2 more work DP02`; got != want {
			t.Errorf("\n%s\nwant\n%s", got, want)
		}
	})
}

// TestNobodyToCapture: a server that is down while something waits for a capture of it, and logs without a server.
func TestNobodyToCapture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &server{name: "a"}, &server{name: "b", takes: 100 * time.Millisecond} // the last of each round
		a.running, a.tokens = busy(1, 100, 1000)
		a.error = func(at float64) error {
			if at >= 200 && at < 220 || at >= 250 && at < 270 {
				return errors.New("connection refused")
			}
			return nil
		}
		got, _ := watching(t, &Watch{Rules: loadAlone(), Capture: Capture{}}, 5*time.Minute, b, a)
		if want := `104 alarm a uneven load DP01 since 100
104 skipped a uneven load DP01 0 captures made, and --max-captures allows no more
200 skipped a uneven load DP01 it does not answer
205 lost a no sample since 00:03:20: connection refused
220 back a 20 s
255 lost a no sample since 00:04:10: connection refused
270 back a 20 s`; got != want {
			t.Errorf("\n%s\nwant\n%s", got, want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		a, b := &server{name: "a", log: true}, &server{name: "b", log: true}
		a.running = func(int, float64) float64 { return 32 }
		got, m := watching(t, &Watch{Rules: loadAlone(), Capture: Capture{Most: 5}}, time.Minute, a, b)
		if !strings.Contains(got, "skipped all servers uneven load a there is no server to capture, only its log") || m.budget.made > 0 {
			t.Errorf("%s", got)
		}
	})
}

// loadAlone is one rule.
func loadAlone() []detect.Rule {
	return []detect.Rule{{Name: detect.UnevenLoad, Kind: detect.Imbalance, Signal: "load", Measure: detect.MaxOverMean, Above: 1.5, Least: 4, For: 5 * time.Second}}
}

// TestEndInCapture: an interrupt lets a capture that is under way end, and says what came of it.
func TestEndInCapture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &server{name: "a"}
		a.running, a.tokens = busy(1, 100, 200)
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(105500*time.Millisecond, interrupt)
		began := time.Now()
		got, m := watchingUntil(t, ctx, &Watch{Capture: Capture{Most: 5}}, time.Hour, a)
		if want := `104 alarm a uneven load DP01 since 100
104 capture a capture-1 uneven load
108 verdict a capture-1 more work DP01`; got != want {
			t.Errorf("\n%s\nwant\n%s", got, want)
		}
		if took := time.Since(began); m.shooting != nil || took != 108500*time.Millisecond {
			t.Errorf("ended after %v", took)
		}
	})
}

// TestRing: of the windows that are recorded now and then the last two are kept where a capture follows, by whether they are from
// before the change, and the first one after it; all others are gone at the end. An idle server is not recorded.
func TestRing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &server{name: "a"}
		a.running, a.tokens = busy(1, 100, 200)
		w := &Watch{Capture: Capture{Most: 5}, Ring: Ring{N: 2, Every: 20 * time.Second, Steps: 3}, Dir: t.TempDir()}
		got, m := watching(t, w, 4*time.Minute, a)
		if !strings.Contains(got, "109 capture a capture-1 uneven load") { // a window is recorded from 101 to 105, and nothing is judged up to 107
			t.Errorf("%s", got)
		}
		entries, err := os.ReadDir(w.Dir)
		if err != nil {
			t.Fatal(err)
		}
		var kept []string
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(w.Dir, e.Name(), "trace"))
			if err != nil {
				t.Error(err)
			}
			kept = append(kept, e.Name()+" of "+string(text))
		}
		want := "capture-1 of capture-1, capture-1-after of .ring-6, capture-1-before-1 of .ring-4, capture-1-since-1 of .ring-5"
		if got := strings.Join(kept, ", "); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		if m.blind != 11*4500*time.Millisecond {
			t.Errorf("windows were open for %v", m.blind)
		}
		if m.ring.made != 10 || m.budget.bytes != 6000 { // two more are in the ring
			t.Errorf("%d windows were made, and %d bytes are counted", m.ring.made, m.budget.bytes)
		}
	})
}

// TestRingOf: whose windows are recorded: neither a server that is idle, nor one that is down, nor a log without a server keeps the others from it.
func TestRingOf(t *testing.T) {
	idle := func() *server {
		return &server{name: "idle", running: func(int, float64) float64 { return 0 }, tokens: func(int, float64) float64 { return 0 }}
	}
	down := func() *server {
		return &server{name: "down", takes: 500 * time.Millisecond, error: func(at float64) error {
			if at > 10 {
				return errors.New("connection refused")
			}
			return nil
		}}
	}
	for _, c := range []struct {
		name    string
		servers func() []*server
		want    map[string]int
	}{
		{"idle alone", func() []*server { return []*server{idle()} }, map[string]int{}},
		{"a log alone", func() []*server { return []*server{{name: "log", log: true}} }, map[string]int{}},
		{"others", func() []*server { return []*server{idle(), {name: "a"}, down(), {name: "b"}, {name: "log", log: true}} }, map[string]int{"a": 5, "b": 5}},
	} {
		synctest.Test(t, func(t *testing.T) {
			got := map[string]int{}
			w := &Watch{Rules: []detect.Rule{}, Ring: Ring{N: 20, Every: 20 * time.Second, Steps: 3}}
			_, m := watching(t, w, 4*time.Minute, c.servers()...)
			for _, s := range m.ring.shots {
				got[s.servers[0].name]++
			}
			if !maps.Equal(got, c.want) {
				t.Errorf("%s: windows of %v, want %v", c.name, got, c.want)
			}
		})
	}
}

// TestRingLeavesTime: windows that take about as long as there is to be between them leave time to judge, and it is said
// that they come less often.
func TestRingLeavesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &server{name: "a"}
		a.running, a.tokens = busy(1, 100, 1000)
		w := &Watch{Rules: loadAlone(), Ring: Ring{N: 2, Every: 5 * time.Second, Steps: 3}}
		got, m := watching(t, w, 3*time.Minute, a)
		if !strings.Contains(got, "alarm a uneven load DP01 since 100") {
			t.Errorf("no alarm: %s", got)
		}
		if m.blind > time.Minute || !m.ring.slow {
			t.Errorf("%v of three minutes were not judged, and that it is slow is said: %v", m.blind, m.ring.slow)
		}
	})
}
