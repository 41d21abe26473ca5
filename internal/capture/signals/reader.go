package signals

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
)

// Reader takes samples of one server. It is for one goroutine.
type Reader struct {
	server *client.Server

	metrics route // /metrics
	loads   route // one of client.LoadRoutes
	at      int   // which
}

// NewReader reads a server at a URL, with a header that has its key.
func NewReader(url string, header http.Header) *Reader {
	return &Reader{server: &client.Server{URL: url, Header: header}}
}

// route is how it stands with one: SGLang 0.5.11 knows /v1/loads and fails at it, with a page of
// its log, so what does not work is not asked again, until the server was gone.
type route int

const (
	untried route = iota
	works
	dead
)

// Read takes a sample. The error is one line that says why there is none; [Answered] tells
// whether there is a server at all.
func (r *Reader) Read(ctx context.Context) (*Sample, error) {
	at := time.Now()
	s, err := r.readMetrics(ctx)
	if err != nil {
		return nil, err
	}
	list, err := r.readLoads(ctx)
	if err != nil {
		return nil, err
	}
	if s == nil && list == nil {
		r.Forget()
		return nil, fmt.Errorf("%s: %w", r.server.URL, ErrNothing)
	}
	if s == nil {
		s = &Sample{Generated: Unknown, Aborted: Unknown}
	}
	s.At = at
	s.join(list)
	return s, nil
}

// Forget has all routes tried again, for a server that may be another one now.
func (r *Reader) Forget() { r.metrics, r.loads, r.at = untried, untried, 0 }

// HasMetrics tells whether the last sample had /metrics.
func (r *Reader) HasMetrics() bool { return r.metrics == works }

// ErrNothing means that a server shows nothing.
var ErrNothing = errors.New("shows neither /metrics nor its loads: start SGLang (or stepscope serve) with --enable-metrics")

// Answered tells whether an error of Read is the answer of a server, which no waiting mends.
func Answered(err error) bool {
	refused, ok := errors.AsType[*client.Refused](err)
	return ok && refused.Status < 500 || errors.Is(err, ErrNothing)
}

// readMetrics is nil where there are none.
func (r *Reader) readMetrics(ctx context.Context) (*Sample, error) {
	if r.metrics == dead {
		return nil, nil
	}
	text, err := r.server.Text(ctx, http.MethodGet, "/metrics")
	refused, answered := errors.AsType[*client.Refused](err)
	switch {
	case answered && refused.Foreign == "" && (refused.Status == http.StatusNotFound || refused.Status == http.StatusMethodNotAllowed):
		r.metrics = dead
		return nil, nil
	case err != nil:
		return nil, err
	}
	s, ok := Parse(text)
	if !ok { // none yet: SGLang shows no family before its first sample
		return nil, nil
	}
	r.metrics = works
	return s, nil
}

// readLoads is nil where there are none.
func (r *Reader) readLoads(ctx context.Context) ([]client.Load, error) {
	for r.loads != dead {
		reply, err := r.server.Ask(ctx, http.MethodGet, client.LoadRoutes[r.at], nil)
		switch {
		case err != nil:
			return nil, fmt.Errorf("GET %s%s: %w", r.server.URL, client.LoadRoutes[r.at], err)
		case len(reply.Loads()) > 0:
			r.loads = works
			return reply.Loads(), nil
		case r.loads == works: // passing trouble
			return nil, nil
		case r.at+1 < len(client.LoadRoutes):
			r.at++
		default:
			r.loads = dead
		}
	}
	return nil, nil
}

// join takes what the ranks' loads say, which is of this moment, where /metrics may be older.
func (s *Sample) join(list []client.Load) {
	for i, l := range list {
		dp := i
		if l.DP != nil {
			dp = *l.DP
		}
		at, found := slices.BinarySearchFunc(s.Ranks, dp, func(r Rank, dp int) int { return r.DP - dp })
		if !found {
			s.Ranks = slices.Insert(s.Ranks, at, fresh(dp))
		}
		r := &s.Ranks[at]
		waiting := value(l.Waiting)
		r.Queued = or(waiting, r.Queued)
		r.Running = or(value(l.Running), value(l.Total)-waiting, value(l.Requests)-waiting, r.Running)
		r.Usage, r.Context, r.Rate = or(value(l.Usage), r.Usage), or(value(l.Context), r.Context), or(value(l.Rate), r.Rate)
	}
}

func value(v *float64) float64 {
	if v == nil {
		return Unknown
	}
	return *v
}

// Lacks says what a sample does not tell, and which setting of the server would make it.
func (r *Reader) Lacks(s *Sample) (out []string) {
	if r.metrics != works {
		return []string{"only requests, cache use and throughput are known, no latencies: /metrics is off; start the server with --enable-metrics"}
	}
	none := func(of func(*Rank) float64) bool {
		return !slices.ContainsFunc(s.Ranks, func(r Rank) bool { return Known(of(&r)) })
	}
	if none(func(r *Rank) float64 { return r.Running }) {
		out = append(out, "what each rank runs is not known yet")
	}
	if none(func(r *Rank) float64 { return r.Busy }) {
		out = append(out, "no host time of forward steps (scheduler_stage_seconds_total, since SGLang 0.5.23)")
	}
	if none(func(r *Rank) float64 { return r.Device }) {
		out = append(out, "no device time of forward steps (SGLANG_ENABLE_METRICS_DEVICE_TIMER=1 in the server's environment)")
	}
	return out
}
