package live

import (
	"time"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/capture/signals"
)

// Sample is how a server stood at one moment, and what went on since the one before. What it does not tell is null.
type Sample struct {
	Server    int        `json:"server"`
	At        int64      `json:"at_ms"` // since the epoch
	Error     string     `json:"error"` // why nothing is known; ""
	Restarted bool       `json:"restarted"`
	Ranks     []Rank     `json:"ranks"`
	Tokens    *float64   `json:"tokens"` // generated a second, of all ranks
	TTFT      *Quantiles `json:"ttft"`   // of the requests that had it since the sample before
	ITL       *Quantiles `json:"itl"`
}

// Rank is a data-parallel rank.
type Rank struct {
	DP      int      `json:"dp"`
	Running *float64 `json:"running"` // requests
	Queued  *float64 `json:"queued"`
	Tokens  *float64 `json:"tokens"`  // generated a second
	Prefill *float64 `json:"prefill"` // prompt tokens computed a second
	Usage   *float64 `json:"usage"`   // part of the KV cache
}

// Quantiles are those of a latency, in ns.
type Quantiles struct {
	N   float64 `json:"n"`
	P50 float64 `json:"p50_ns"`
	P99 float64 `json:"p99_ns"`
}

// sample makes one of what the server's reader gave.
func (s *server) sample(now *signals.Sample, err error) *Sample {
	out := &Sample{Server: s.at, At: time.Now().UnixMilli(), Ranks: []Rank{}}
	if err != nil {
		s.reader.Forget() // it may be another one when it is back
		s.last, out.Error = nil, columns.Clean(err.Error())
		return out
	}
	was := s.last
	if s.last = now; was == nil {
		was = now // nothing but gauges is known of the first
	}
	l := signals.Between(was, now)
	out.fill(l)
	return out
}

// fill takes what went on since the sample before.
func (x *Sample) fill(l *signals.Live) {
	for i := range l.Ranks {
		f := &l.Ranks[i]
		x.Ranks = append(x.Ranks, Rank{f.DP, known(f.Running), known(f.Queued), known(f.Tokens), known(f.Prefill), known(f.Usage)})
	}
	x.Restarted, x.Tokens, x.TTFT, x.ITL = l.Restarted, known(l.Tokens), quantiles(&l.TTFT), quantiles(&l.ITL)
}

// known is a value that JSON can have.
func known(v float64) *float64 {
	if !signals.Known(v) {
		return nil
	}
	return &v
}

func quantiles(h *signals.Histogram) *Quantiles {
	if h.Count <= 0 || len(h.Bounds) == 0 {
		return nil
	}
	return &Quantiles{h.Count, 1e9 * h.Quantile(0.5), 1e9 * h.Quantile(0.99)}
}
