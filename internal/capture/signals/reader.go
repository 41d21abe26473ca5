package signals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/api/servers"
	"github.com/stepscope/stepscope/internal/base/memory"
	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Reader samples one server. It is not safe for concurrent use.
type Reader struct {
	server *client.Server
	Kind   servers.Kind // for advice; "": unknown
	Loads  When         // when to read the load routes

	metrics route // /metrics
	loads   route // state of the current one of client.LoadRoutes
	at      int   // index of the current route
}

// When states when a Reader reads the load routes of a server.
type When int

// Values of When.
const (
	Always         When = iota
	WithoutMetrics      // only if the server has no /metrics
	Never
)

// NewReader returns a Reader of the server at url. header is sent with each request and contains the server's key. over
// sends the requests; nil: the client of package client.
func NewReader(url string, header http.Header, over *http.Client) *Reader {
	return ReaderOf(&client.Server{URL: url, Header: header, HTTP: over})
}

// ReaderOf returns a Reader of a server.
func ReaderOf(server *client.Server) *Reader { return &Reader{server: server} }

// route is the state of a route. SGLang 0.5.11 has /v1/loads, but each request to this route fails and writes a page of
// log output. A failed route is therefore not requested again until the server has been unreachable.
type route int

const (
	untried route = iota
	works
	dead
)

// Read takes a sample. The text of an error is one line. [Answered] reports whether the error comes from an answer of
// the server.
func (r *Reader) Read(ctx context.Context) (*Sample, error) {
	at := time.Now()
	s, err := r.readMetrics(ctx)
	if err != nil {
		return nil, err
	}
	var list []client.Load
	if r.Loads == Always || r.Loads == WithoutMetrics && s == nil {
		if list, err = r.ReadLoads(ctx); err != nil {
			return nil, err
		}
	}
	if s == nil && list == nil && (r.metrics == dead || r.Loads != Never) {
		r.Forget()
		return nil, fmt.Errorf("%s: %w: %s", r.server.URL, ErrNothing, r.metricsAdvice())
	}
	if s == nil {
		s = blank()
	}
	s.At = at
	s.join(list)
	return s, nil
}

// Forget resets all routes, for a server that may have been replaced.
func (r *Reader) Forget() { r.metrics, r.loads, r.at = untried, untried, 0 }

// HasMetrics reports whether the last sample had /metrics.
func (r *Reader) HasMetrics() bool { return r.metrics == works }

// ErrNothing means that a server exports neither metrics nor loads.
var ErrNothing = errors.New("provides neither /metrics nor its loads")

// metricsAdvice says how to start the server with metrics.
func (r *Reader) metricsAdvice() string {
	return cmp.Or(r.Kind.Row().Advice.Metrics, "start SGLang (or stepscope serve) with --enable-metrics")
}

// Answered reports whether an error of Read comes from an answer of the server. In that case waiting does not help.
func Answered(err error) bool {
	refused, ok := errors.AsType[*client.Refused](err)
	return ok && refused.Status < 500 || errors.Is(err, ErrNothing)
}

// readMetrics reads /metrics. It returns nil if the server has no metrics.
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
	if !ok { // SGLang exports a family only after the first sample of the family
		return nil, nil
	}
	r.metrics = works
	return s, tooMany(r.server.URL+"/metrics", len(s.Ranks))
}

// ReadLoads reads the loads of the ranks. If the server does not report loads, it returns nil.
func (r *Reader) ReadLoads(ctx context.Context) ([]client.Load, error) {
	for r.loads != dead {
		reply, err := r.server.Ask(ctx, http.MethodGet, client.LoadRoutes[r.at], nil)
		switch {
		case err != nil:
			return nil, fmt.Errorf("GET %s%s: %w", r.server.URL, client.LoadRoutes[r.at], err)
		case len(reply.Loads()) > 0:
			r.loads = works
			list := reply.Loads()
			return list, tooMany(r.server.URL+client.LoadRoutes[r.at], len(list))
		case r.loads == works: // the failure is temporary
			return nil, nil
		case r.at+1 < len(client.LoadRoutes):
			r.at++
		default:
			r.loads = dead
		}
	}
	return nil, nil
}

// tooMany returns an error if a reply reports more than memory.MostRanks ranks.
func tooMany(url string, ranks int) error {
	if ranks > memory.MostRanks {
		return fmt.Errorf("GET %s: reports %d ranks; the most is %d", url, ranks, memory.MostRanks)
	}
	return nil
}

// hold adds the DP ranks that the sample lacks.
func (s *Sample) hold(dps []int) {
	held := map[int]bool{}
	for i := range s.Ranks {
		held[s.Ranks[i].DP] = true
	}
	for _, dp := range dps {
		if !held[dp] {
			held[dp], s.Ranks = true, append(s.Ranks, fresh(dp))
		}
	}
	sorts.By(s.Ranks, func(a, b Rank) int { return cmp.Compare(a.DP, b.DP) })
}

// join replaces gauges from /metrics by the loads in list. The gauges may be out of date, whereas the loads are
// current.
func (s *Sample) join(list []client.Load) {
	dps := make([]int, len(list))
	for i, l := range list {
		if dps[i] = i; l.DP != nil {
			dps[i] = *l.DP
		}
	}
	s.hold(dps)
	for i, l := range list {
		r := s.of(dps[i])
		waiting := value(l.Waiting)
		r.Queued = or(waiting, r.Queued)
		r.Running = or(value(l.Running), value(l.Total)-waiting, value(l.Requests)-waiting, r.Running)
		r.Usage, r.Context, r.Rate = or(value(l.Usage), r.Usage), or(value(l.Context), r.Context), or(value(l.Rate), r.Rate)
		r.Used = or(value(l.Used), r.Used)
	}
}

func value(v *float64) float64 {
	if v == nil {
		return Unknown
	}
	return *v
}

// Lacks lists the data that a sample lacks, with the server settings that provide these data.
func (r *Reader) Lacks(s *Sample) (out []string) {
	advice := s.Kind.Row().Advice
	if r.metrics != works {
		return []string{"only requests, cache use and throughput are known, no latencies: /metrics is off; " + servers.SGLang.Row().Advice.Metrics}
	}
	none := func(of func(*Rank) float64) bool {
		return !slices.ContainsFunc(s.Ranks, func(r Rank) bool { return Known(of(&r)) })
	}
	if none(func(r *Rank) float64 { return r.Running }) {
		out = append(out, "the requests of each rank are not known yet")
	}
	for _, one := range []struct {
		what, from string
		of         func(*Rank) float64
	}{{"host", advice.Host, func(r *Rank) float64 { return r.Busy }}, {"device", advice.Device, func(r *Rank) float64 { return r.Device }}} {
		if text := "no " + one.what + " time per forward step"; none(one.of) && one.from != "" {
			out = append(out, text+" ("+one.from+")")
		} else if none(one.of) {
			out = append(out, fmt.Sprintf("%s: %s does not report it", text, s.Kind))
		}
	}
	return out
}
