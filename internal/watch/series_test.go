package watch

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/watch/detect"
)

// TestReplay checks the alarms of the default rules in series of a real server: SGLang 0.5.11 with two data-parallel
// ranks on two H100 (2026-11-25), each with 8 concurrent requests. The second rank had 24 more from 23:15:19.4 to
// 23:15:59.5. Its GPU was shared with another process, which began to compute some seconds after its start, from
// 23:16:39.5 to 23:17:23.5, and in the second series from 23:19:03.0 to 23:19:53.0. In the third series, from the day
// after, windows were recorded every 20 s, each followed by a short stall of the ranks, and the second rank had 24 more
// requests from 01:11:18.6 to 01:11:59.4.
func TestReplay(t *testing.T) {
	for _, c := range []struct {
		file string
		want []string
	}{
		{"busy_then_shared", []string{
			"2026-11-25 23:15:24  sglang: DP01: uneven load since 23:15:20: the largest load is 1.62 times the mean (1.00 before)",
			"2026-11-25 23:16:06  sglang: uneven load is over",
			"2026-11-25 23:16:49  sglang: DP01: uneven pace since 23:16:44: the largest pace is 1.98 times the median of the others (1.00 before)",
			"2026-11-25 23:17:31  sglang: uneven pace is over",
		}},
		{"shared", []string{
			"2026-11-25 23:19:14  sglang: DP01: uneven pace since 23:19:08: the largest pace is 3.93 times the median of the others (1.01 before)",
			"2026-11-25 23:19:17  sglang: lost throughput since 23:19:08: throughput fell to 60.9 % of what this many requests got before",
			"2026-11-25 23:19:57  sglang: lost throughput is over",
			"2026-11-25 23:20:00  sglang: uneven pace is over",
		}},
		{"ring", []string{
			"2026-11-26 01:11:26  sglang: DP01: uneven load since 01:11:19: the largest load is 1.56 times the mean (1.00 before)",
		}},
	} {
		f, err := os.Open("testdata/" + c.file + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var said []string
		w := &Watch{Rules: detect.Defaults(), Every: time.Second, Tell: func(line string) { said = append(said, line) }}
		samples, strange, err := w.Replay(f)
		if err != nil || strange != 0 || samples < 100 {
			t.Errorf("%s: %d samples, %d strange lines, %v", c.file, samples, strange, err)
		}
		if got, want := strings.Join(said, "\n"), strings.Join(c.want, "\n"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.file, got, want)
		}
	}
}

// TestSeries checks that a saved sample gives the same figures when it is read again.
func TestSeries(t *testing.T) {
	h := signals.Histogram{Bounds: []float64{0.1, 0.2, 0.4, 0.6, math.Inf(1)}, Counts: []float64{0, 0, 4, 10, 11}, Sum: 5, Count: 11}
	l := &signals.Live{
		At: time.Unix(1000, 0), Over: time.Second, Tokens: 100, TTFT: h,
		Ranks: []signals.Flow{{DP: 2, Running: 3, Queued: 1, Load: 4, Tokens: 100, Pace: 0.03, Context: signals.Unknown, Usage: signals.Unknown, Prefill: signals.Unknown, Step: signals.Unknown, Batch: signals.Unknown, Device: signals.Unknown}},
	}
	var out bytes.Buffer
	m := (&Watch{Series: &out}).coordinator()
	m.note(&follower{name: "a", live: l})
	var s seen
	if err := json.Unmarshal(out.Bytes(), &s); err != nil || m.err != nil {
		t.Fatal(err, m.err)
	}
	back := s.live()
	for p := 0.05; p < 1; p += 0.05 {
		if a, b := h.Quantile(p), back.TTFT.Quantile(p); math.Abs(a-b) > 1e-9 {
			t.Errorf("the %.2f-quantile is %g, and was %g", p, b, a)
		}
	}
	if r := back.Ranks[0]; r.Load != 4 || r.Pace != 0.03 || r.DP != 2 || signals.Known(r.Usage) || back.TTFT.Mean() != h.Mean() {
		t.Errorf("%+v", back)
	}
	if _, strange, err := (&Watch{Every: time.Second}).Replay(strings.NewReader("{}\nno\n")); err == nil || strange != 2 {
		t.Errorf("%d, %v", strange, err)
	}
}
