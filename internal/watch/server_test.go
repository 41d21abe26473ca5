package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/watch/detect"
)

// These tests cover the time between samples and captures, with a simulated clock (testing/synctest): servers are
// functions of the time, and a capture takes 4.5 seconds, so that it does not end at the time of a sample.

// server is a simulated server. Its ranks have eight requests each and produce 100 tokens per second.
type server struct {
	name  string
	began time.Time
	last  time.Time
	made  []float64 // tokens
	ttft  signals.Histogram

	running func(rank int, at float64) float64 // nil: 8. at is in s
	tokens  func(rank int, at float64) float64 // per second; nil: 100
	ranks   func(at float64) int               // nil: 4
	error   func(at float64) error             // nil: it answers
	clock   func(at float64) time.Duration     // lead of its clock
	takes   time.Duration                      // time to answer
	anew    float64                            // second at which its counters are reset; 0: never
	log     bool                               // there is only its log
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

// busy gives a rank four times the requests from one second to another.
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

// watching follows servers for a time and returns the events, one line each.
func watching(t *testing.T, w *Watch, took time.Duration, servers ...*server) (said string, m *coordinator) {
	t.Helper()
	return watchingUntil(t, t.Context(), w, took, servers...)
}

func watchingUntil(t *testing.T, ctx context.Context, w *Watch, took time.Duration, servers ...*server) (said string, m *coordinator) {
	t.Helper()
	var log bytes.Buffer
	w.Log, w.Say, w.Tell, w.For, w.Every = &log, &progress.Console{W: io.Discard}, func(string) {}, took, time.Second
	if w.Rules == nil {
		w.Rules = detect.Defaults()
	}
	if w.Capture.MostBytes == 0 {
		w.Capture.MostBytes = math.MaxInt64
	}
	m = w.coordinator()
	m.capture = func(ctx context.Context, s *shot) { captured(context.WithoutCancel(ctx), s, 1000) }
	began := time.Now()
	for _, s := range servers {
		target := torch.Target{URL: "http://" + s.name, Name: s.name}
		f := newFollower(&torch.Reached{Target: target, Front: target, Base: target.URL}, []torch.Target{target}, w.Every, nil)
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

// captured returns the result of a capture.
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
		s.err = s.fit(errors.Join(s.err, s.budget.Hold(s.dir, bytes)))
	case <-ctx.Done():
		s.err = ctx.Err()
	}
}

// eventLines formats events: the time in seconds and the relevant fields.
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
