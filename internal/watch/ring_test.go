package watch

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepscope/stepscope/internal/watch/detect"
)

// TestRing checks that a capture keeps the last two windows of the flight recorder, named by whether they are from
// before the change, and the first one after it; all others are deleted at the end. An idle server is not recorded.
func TestRing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &server{name: "a"}
		a.running, a.tokens = busy(1, 100, 200)
		w := &Watch{Capture: Capture{Most: 5}, Ring: Ring{N: 2, Every: 20 * time.Second, Steps: 3}, Dir: t.TempDir()}
		got, m := watching(t, w, 4*time.Minute, a)
		if !strings.Contains(got, "109 capture a capture-1 uneven load") { // a window is recorded from 101 to 105, and nothing is judged until 107
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
			t.Errorf("%d windows were recorded, and %d bytes are counted", m.ring.made, m.budget.bytes)
		}
	})
}

// TestRingOf checks which servers are recorded: one that is idle or down, or a log without a server, does not keep the
// others from it.
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
		{"only an idle server", func() []*server { return []*server{idle()} }, map[string]int{}},
		{"only a log", func() []*server { return []*server{{name: "log", log: true}} }, map[string]int{}},
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

// TestRingLeavesTime checks that windows that take about as long as the interval leave time to judge, with a message
// that they come less often.
func TestRingLeavesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &server{name: "a"}
		a.running, a.tokens = busy(1, 100, 1000)
		w := &Watch{Rules: detect.Defaults()[:1], Ring: Ring{N: 2, Every: 5 * time.Second, Steps: 3}}
		got, m := watching(t, w, 3*time.Minute, a)
		if !strings.Contains(got, "alarm a uneven load DP01 since 100") {
			t.Errorf("no alarm: %s", got)
		}
		if m.blind > time.Minute || !m.ring.slow {
			t.Errorf("%v of three minutes were not judged; warned that it is slow: %v", m.blind, m.ring.slow)
		}
	})
}
