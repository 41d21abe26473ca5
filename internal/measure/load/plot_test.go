package load

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/capture/signals"
)

var update = flag.Bool("update", false, "write testdata/frames.txt again")

// TestFrames draws loads from fixed counts at the widths of terminals; testdata/frames.txt shows the result.
func TestFrames(t *testing.T) {
	full := func() (*plot, *Live) {
		live := &Live{}
		server := signals.State{}
		p := newPlot(&Shown{Live: live, Title: "Llama-3.1-8B at http://127.0.0.1:30000", Total: 1000, Server: func() (signals.State, bool) { return server, true }})
		for second := range 40 { // a server with more load from second twenty on
			late := int64(max(second-20, 0))
			live.Released.Add(12)
			live.Done.Add(10)
			live.Tokens.Add(1000 - 10*late)
			for i := range int64(10) {
				live.TTFT.Add((80 + 10*i + 20*late) * 1e6)
				live.ITL.Add((10 + i + late) * 1e6)
			}
			server = signals.State{Running: 64, Queued: float64(late * 3), KV: 0.43}
			p.frame(time.Duration(second+1)*time.Second, 79, 24)
		}
		return p, live
	}
	var out strings.Builder
	for _, c := range []struct {
		what string
		draw func(width int) []string
	}{
		{"a load that is getting slower, and has failures", func(width int) []string {
			p, live := full()
			for range 3 {
				live.fail("http_503", "503 Service Unavailable: The request queue is full.")
			}
			live.fail(bench.Reset, "read tcp: connection reset by peer\x1b[2J")
			return p.frame(40250*time.Millisecond, width, 24)
		}},
		{"at a rate, before anything came", func(width int) []string {
			p := newPlot(&Shown{Live: &Live{}, Title: "Llama-3.1-8B at http://127.0.0.1:30000", Total: 300, Last: 20 * time.Second})
			return p.frame(250*time.Millisecond, width, 24)
		}},
		{"with a window on it, on a server that does not say how it stands", func(width int) []string {
			p, _ := full()
			p.Server = func() (signals.State, bool) { return signals.State{}, false }
			p.More = func(width int) []string { return []string{"http://127.0.0.1:30000  recording 10 steps"} }
			return p.frame(41*time.Second, width, 24)
		}},
		{"on a terminal of few lines", func(width int) []string {
			p, _ := full()
			return p.frame(41*time.Second, width, 8)
		}},
	} {
		for _, width := range []int{79, 199, 30} {
			lines := c.draw(width)
			fmt.Fprintf(&out, "== %s, %d columns\n%s\n\n", c.what, width+1, strings.Join(lines, "\n"))
			for _, l := range lines {
				if columns.Width(l) > width || strings.ContainsRune(l, '\x1b') {
					t.Errorf("%s, %d columns: %q", c.what, width, l)
				}
			}
		}
	}
	if *update {
		if err := os.WriteFile("testdata/frames.txt", []byte(out.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/frames.txt")
	if err != nil || out.String() != string(want) {
		t.Errorf("got (-update writes it)\n%s\nwant %s\n%v", out.String(), want, err)
	}
}

// TestReasons checks that the most frequent failure is first, with the last message of each.
func TestReasons(t *testing.T) {
	live := &Live{}
	live.fail(bench.Reset, "a")
	live.fail("http_503", "b")
	live.fail("http_503", "c")
	want := []bench.Failing{{Reason: "http_503", Count: 2, Example: "c"}, {Reason: bench.Reset, Count: 1, Example: "a"}}
	if got := live.reasons(); !slices.Equal(got, want) || live.Failed.Load() != 3 {
		t.Errorf("got %v, %d failed", got, live.Failed.Load())
	}
}

// TestQueue checks that the column of a second is the longest queue in it, not the last one.
func TestQueue(t *testing.T) {
	queue := 0.0
	p := newPlot(&Shown{Live: &Live{}, Total: 1, Server: func() (signals.State, bool) { return signals.State{Queued: queue, KV: -1}, true }})
	for i, n := range []float64{0, 9, 0, 0, 0, 3, 0, 0} {
		queue = n
		p.frame(time.Duration(i+1)*250*time.Millisecond, 79, 24)
	}
	if want := []float64{9, 3}; !slices.Equal(p.queued, want) {
		t.Errorf("got %v, want %v", p.queued, want)
	}
}
