package watch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/stepscope/stepscope/internal/capture/signals"
)

// A series is a recording of the samples of servers, one line of JSON per sample. --series writes a series, and
// --replay applies rules to a series (docs/formats/watch.md).

// seen is a line of a series.
type seen struct {
	Format    int       `json:"format"` // 1
	At        time.Time `json:"at"`
	Server    string    `json:"server"`
	Seconds   float64   `json:"seconds"` // time since the previous sample
	Restarted bool      `json:"restarted,omitempty"`
	// Blind is true if no rule was applied because the watch was capturing a window.
	Blind  bool     `json:"blind,omitempty"`
	Tokens *float64 `json:"tokens,omitempty"` // per second, all ranks

	Ranks []seenRank `json:"ranks"`
	TTFT  *seenHist  `json:"ttft,omitempty"`
	ITL   *seenHist  `json:"itl,omitempty"`
	E2E   *seenHist  `json:"e2e,omitempty"`
}

// seenRank holds the signals of a rank. Unknown signals are omitted.
type seenRank struct {
	DP      int      `json:"dp"`
	Running *float64 `json:"running,omitempty"`
	Queued  *float64 `json:"queued,omitempty"`
	Context *float64 `json:"context,omitempty"`
	Usage   *float64 `json:"usage,omitempty"`
	Tokens  *float64 `json:"tokens,omitempty"`
	Prefill *float64 `json:"prefill,omitempty"`
	Pace    *float64 `json:"pace,omitempty"`
	Step    *float64 `json:"step,omitempty"`
	Batch   *float64 `json:"batch,omitempty"`
	Device  *float64 `json:"device,omitempty"`
}

// seenHist is a histogram of the observations of a sample, with cumulative buckets.
type seenHist struct {
	Sum   float64 `json:"sum"`
	Count float64 `json:"count"`
	// Counts holds pairs of an upper bound in s and the number of observations up to this bound. All other observations
	// exceed the last bound.
	Counts [][2]float64 `json:"counts"`
}

func given(v float64) *float64 {
	if !signals.Known(v) {
		return nil
	}
	return &v
}

func known(v *float64) float64 {
	if v == nil {
		return signals.Unknown
	}
	return *v
}

// note writes a server's sample to the series.
func (m *coordinator) note(f *follower) {
	if m.w.Series == nil || m.err != nil {
		return
	}
	l := f.live
	s := seen{Format: 1, At: l.At, Server: f.name, Seconds: l.Over.Seconds(), Restarted: l.Restarted, Blind: m.engine.Blind(f.name, l), Tokens: given(l.Tokens), TTFT: histOf(&l.TTFT), ITL: histOf(&l.ITL), E2E: histOf(&l.E2E)}
	for i := range l.Ranks {
		r := &l.Ranks[i]
		s.Ranks = append(s.Ranks, seenRank{r.DP, given(r.Running), given(r.Queued), given(r.Context), given(r.Usage), given(r.Tokens), given(r.Prefill), given(r.Pace), given(r.Step), given(r.Batch), given(r.Device)})
	}
	text, err := json.Marshal(&s)
	if err != nil { // JSON cannot encode one of the figures: skip this sample
		return
	}
	_, m.err = m.w.Series.Write(append(text, '\n'))
}

func histOf(h *signals.Histogram) *seenHist {
	if h.Count <= 0 {
		return nil
	}
	out := &seenHist{Sum: h.Sum, Count: h.Count, Counts: [][2]float64{}}
	below, last := 0.0, 0.0
	for i, n := range h.Counts {
		if n != below && !math.IsInf(h.Bounds[i], 1) {
			if i > 0 && h.Bounds[i-1] != last { // lower bound of the bucket
				out.Counts = append(out.Counts, [2]float64{h.Bounds[i-1], below})
			}
			out.Counts = append(out.Counts, [2]float64{h.Bounds[i], n})
			last = h.Bounds[i]
		}
		below = n
	}
	return out
}

// live converts the line of a series back to a sample.
func (s *seen) live() *signals.Live {
	l := &signals.Live{At: s.At, Over: time.Duration(s.Seconds * 1e9), Restarted: s.Restarted, Tokens: known(s.Tokens), TTFT: s.TTFT.histogram(), ITL: s.ITL.histogram(), E2E: s.E2E.histogram()}
	for _, r := range s.Ranks {
		l.Ranks = append(l.Ranks, signals.Flow{
			DP: r.DP, Running: known(r.Running), Queued: known(r.Queued), Load: signals.Load(known(r.Running), known(r.Queued)), Context: known(r.Context), Usage: known(r.Usage), Tokens: known(r.Tokens),
			Prefill: known(r.Prefill), Pace: known(r.Pace), Step: known(r.Step), Batch: known(r.Batch), Device: known(r.Device),
		})
	}
	return l
}

func (h *seenHist) histogram() (out signals.Histogram) {
	if h == nil {
		return out
	}
	out.Sum, out.Count = h.Sum, h.Count
	for _, c := range h.Counts {
		out.Bounds, out.Counts = append(out.Bounds, c[0]), append(out.Counts, c[1])
	}
	return out
}

// Replay applies the rules to a series and reports the alarms. strange is the number of lines that are not samples.
func (w *Watch) Replay(r io.Reader) (samples, strange int, err error) {
	m := w.coordinator()
	groups := map[string]*group{}
	in := bufio.NewScanner(r)
	in.Buffer(nil, 8<<20)
	for in.Scan() {
		var s seen
		if text := bytes.TrimSpace(in.Bytes()); len(text) == 0 {
			continue
		} else if json.Unmarshal(text, &s) != nil || s.Format != 1 || s.At.IsZero() {
			strange++
			continue
		}
		samples++
		if s.Blind {
			continue
		}
		g := groups[s.Server]
		if g == nil {
			g = &group{name: s.Server, of: []*follower{{name: s.Server}}}
			groups[s.Server] = g
		}
		g.live = s.live()
		for _, ev := range m.engine.Take(g.name, g.live) {
			a := &alarm{of: g, Event: ev}
			m.tell(eventOf(a), ev.At.Format(time.DateTime)+"  "+a.text())
		}
	}
	if err = in.Err(); err == nil {
		err = m.err
	}
	if err == nil && samples == 0 {
		err = fmt.Errorf("it has no samples: give a file written by --series")
	}
	return samples, strange, err
}
