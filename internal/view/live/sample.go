package live

import (
	"math"
	"time"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/capture/signals"
)

// Sample is the state of a server at one moment, with the rates since the previous sample. Unknown values are null.
type Sample struct {
	Server    int      `json:"server"`
	At        int64    `json:"at_ms"` // ms since the epoch
	Error     string   `json:"error"` // reason that there is no data; "": there is data
	Restarted bool     `json:"restarted"`
	Ranks     []Rank   `json:"ranks"`
	Reply     int64    `json:"reply_ns,omitempty"` // time of the request for the sample; 0: unknown
	Tokens    *float64 `json:"tokens"`             // tokens generated per second, over all ranks
	TTFT      *Latency `json:"ttft"`               // TTFT of requests with a first token since the previous sample
	ITL       *Latency `json:"itl"`
}

// Rank is a data-parallel rank.
type Rank struct {
	DP      int      `json:"dp"`
	Running *float64 `json:"running"` // number of running requests
	Queued  *float64 `json:"queued"`
	Tokens  *float64 `json:"tokens"`  // tokens generated per second
	Prefill *float64 `json:"prefill"` // prompt tokens computed per second
	Usage   *float64 `json:"usage"`   // share of the KV cache in use
}

// Latency describes a latency, in ns. The server reports only the sum and the number of latencies in each bucket, so the
// 99th percentile is known as the bucket that holds it.
type Latency struct {
	N       float64  `json:"n"`
	Mean    float64  `json:"mean_ns"`
	P99From float64  `json:"p99_from_ns"`
	P99To   *float64 `json:"p99_to_ns"` // nil: above the last bound
}

// sample converts a reading of the server to a Sample.
func (s *server) sample(now *signals.Sample, err error) *Sample {
	out := &Sample{Server: s.at, At: time.Now().UnixMilli(), Ranks: []Rank{}}
	if err != nil {
		s.reader.Forget() // a different server may answer the next time
		s.last, out.Error = nil, columns.Clean(err.Error())
		return out
	}
	was := s.last
	if s.last = now; was == nil {
		was = now // rates are unknown in the first sample
	}
	l := signals.Between(was, now)
	out.fill(l)
	return out
}

// fill sets the values that the server reported, including those since the previous sample.
func (x *Sample) fill(l *signals.Live) {
	for i := range l.Ranks {
		f := &l.Ranks[i]
		x.Ranks = append(x.Ranks, Rank{f.DP, known(f.Running), known(f.Queued), known(f.Tokens), known(f.Prefill), known(f.Usage)})
	}
	x.Restarted, x.Tokens, x.TTFT, x.ITL = l.Restarted, known(l.Tokens), latency(&l.TTFT), latency(&l.ITL)
}

// known returns nil for values that JSON cannot represent.
func known(v float64) *float64 {
	if !signals.Known(v) {
		return nil
	}
	return &v
}

func latency(h *signals.Histogram) *Latency {
	if h.Count <= 0 || len(h.Bounds) == 0 {
		return nil
	}
	from, to := h.Within(0.99)
	out := &Latency{N: h.Count, Mean: 1e9 * h.Mean(), P99From: 1e9 * from}
	if !math.IsInf(to, 1) {
		out.P99To = new(1e9 * to)
	}
	return out
}
