package signals

import (
	"cmp"
	"iter"
	"math"
	"strings"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/api/servers"
	"github.com/stepscope/stepscope/internal/base/sorts"
)

// ranked and whole return the place of a figure of a rank and of the server.
var (
	ranked = map[servers.Figure]func(*Rank) *float64{
		servers.Running: func(r *Rank) *float64 { return &r.Running }, servers.Queued: func(r *Rank) *float64 { return &r.Queued },
		servers.Context: func(r *Rank) *float64 { return &r.Context }, servers.Used: func(r *Rank) *float64 { return &r.Used }, servers.Usage: func(r *Rank) *float64 { return &r.Usage },
		servers.Rate: func(r *Rank) *float64 { return &r.Rate }, servers.Generated: func(r *Rank) *float64 { return &r.Generated },
		servers.Computed: func(r *Rank) *float64 { return &r.Computed }, servers.Passes: func(r *Rank) *float64 { return &r.Passes },
		servers.Busy: func(r *Rank) *float64 { return &r.Busy }, servers.Device: func(r *Rank) *float64 { return &r.Device },
	}
	whole = map[servers.Figure]func(*Sample) *float64{
		servers.AllGenerated: func(s *Sample) *float64 { return &s.Generated }, servers.Prompt: func(s *Sample) *float64 { return &s.Prompt },
		servers.Cached: func(s *Sample) *float64 { return &s.Cached }, servers.Received: func(s *Sample) *float64 { return &s.Received },
		servers.Served: func(s *Sample) *float64 { return &s.Served }, servers.Aborted: func(s *Sample) *float64 { return &s.Aborted },
		servers.Retracted: func(s *Sample) *float64 { return &s.Retracted }, servers.Drafts: func(s *Sample) *float64 { return &s.Drafts },
		servers.Drafted: func(s *Sample) *float64 { return &s.Drafted }, servers.Accepted: func(s *Sample) *float64 { return &s.Accepted },
	}
	latencies = map[string]func(*Sample) *Histogram{
		servers.TTFT: func(s *Sample) *Histogram { return &s.TTFT }, servers.ITL: func(s *Sample) *Histogram { return &s.ITL },
		servers.E2E: func(s *Sample) *Histogram { return &s.E2E },
	}
)

// index is the table of servers by the names of metrics.
type index struct {
	kind      servers.Kind
	cache     servers.Cache
	metrics   map[string][]servers.Metric
	latencies map[string]preferred
}

// preferred is a histogram of latencies. A lower rank is preferred if a server exports several names.
type preferred struct {
	latency string
	rank    int
}

var byPrefix = func() map[string]*index {
	out := map[string]*index{}
	for i := range servers.Table {
		row := &servers.Table[i]
		if row.Prefix == "" || out[row.Prefix] != nil {
			continue
		}
		at := &index{kind: row.Kind, cache: row.Cache, metrics: map[string][]servers.Metric{}, latencies: map[string]preferred{}}
		for _, m := range row.Metrics {
			at.metrics[m.Name] = append(at.metrics[m.Name], m)
		}
		for latency, names := range row.Latency {
			for rank, name := range names {
				at.latencies[name] = preferred{latency, rank}
			}
		}
		out[row.Prefix] = at
	}
	return out
}()

// scheduler identifies the scheduler that reports a metric. All schedulers of a data-parallel rank may report, and all
// of them report the same values.
type scheduler struct{ dp, pp, tp int }

func (a scheduler) compare(b scheduler) int {
	return cmp.Or(a.dp-b.dp, a.pp-b.pp, a.tp-b.tp)
}

// Parse parses the text of /metrics; ok is false if it has no metrics of an LLM server.
func Parse(text string) (s *Sample, ok bool) { return gather(client.Metrics(text)) }

// OfValues returns the sample of values that were stored with a run. A key is the name and the labels of a metric.
func OfValues(values map[string]float64) (s *Sample, ok bool) {
	return gather(func(yield func(client.Metric) bool) {
		for key, v := range values {
			m := client.Metric{Name: key, Value: v}
			if at := strings.IndexByte(key, '{'); at >= 0 {
				m.Name, m.Labels = key[:at], key[at:]
			}
			if !yield(m) {
				return
			}
		}
	})
}

func gather(metrics iter.Seq[client.Metric]) (s *Sample, ok bool) {
	s = blank()
	by := map[scheduler]*Rank{}
	found := map[string]map[int]*Histogram{} // by latency and rank of the name
	for m := range metrics {
		if math.IsNaN(m.Value) || math.IsInf(m.Value, 0) { // the value carries no information
			continue
		}
		prefix, name, _ := strings.Cut(m.Name, ":")
		if prefix == "process_start_time_seconds" {
			s.Started = m.Value
		}
		of := byPrefix[prefix]
		if of == nil {
			continue
		}
		if name == of.cache.Name {
			s.Blocks.Count, _ = servers.Number(m.Label(of.cache.Blocks))
			s.Blocks.Size, _ = servers.Number(m.Label(of.cache.Size))
			s.Blocks.DType = m.Label(of.cache.DType)
		}
		for _, one := range of.metrics[name] {
			v := m.Value
			if one.Less {
				v = -v
			}
			if one.Only[0] != "" && m.Label(one.Only[0]) != one.Only[1] || one.But[0] != "" && m.Label(one.But[0]) == one.But[1] {
				continue
			}
			if at := whole[one.Figure]; at != nil {
				add(at(s), v)
			} else if at := ranked[one.Figure]; at != nil {
				who := reporter(&m)
				if by[who] == nil {
					by[who] = new(fresh(who.dp))
				}
				add(at(by[who]), v)
			}
		}
		if of.metrics[name] != nil {
			s.Values[m.Name+m.Labels] = m.Value
			ok, s.Kind = true, of.kind
		} else if of.latency(name, &m, found) {
			ok, s.Kind = true, of.kind
		}
	}
	for latency, names := range found {
		for rank := 0; len(names) > 0; rank++ {
			if h := names[rank]; h != nil {
				*latencies[latency](s) = *h
				break
			}
		}
	}
	all := make([]scheduler, 0, len(by))
	for who := range by {
		all = append(all, who)
	}
	sorts.By(all, scheduler.compare)
	for _, who := range all {
		if n := len(s.Ranks); n == 0 || s.Ranks[n-1].DP != who.dp {
			s.Ranks = append(s.Ranks, *by[who])
		}
	}
	return s, ok
}

// latency adds a metric of a histogram of request latencies to found. It reports whether m is such a metric. Requests
// without streaming do not count for TTFT, because such a request receives its first token together with its last token.
func (x *index) latency(name string, m *client.Metric, found map[string]map[int]*Histogram) bool {
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		base, is := strings.CutSuffix(name, part)
		if !is {
			continue
		}
		of, known := x.latencies[base]
		if !known {
			continue
		}
		if of.latency == servers.TTFT && strings.EqualFold(m.Label("is_streaming"), "false") {
			return true
		}
		if found[of.latency] == nil {
			found[of.latency] = map[int]*Histogram{}
		}
		h := found[of.latency][of.rank]
		if h == nil {
			h = &Histogram{}
			found[of.latency][of.rank] = h
		}
		switch part {
		case "_sum":
			h.Sum += m.Value
		case "_count":
			h.Count += m.Value
		default:
			h.observe(m.Label("le"), m.Value)
		}
		return true
	}
	return false
}

// reporter returns the scheduler that the labels of a metric name. It knows the labels of SGLang and of vLLM.
func reporter(m *client.Metric) scheduler {
	number := func(names ...string) int {
		for _, name := range names {
			if n, ok := servers.Number(m.Label(name)); ok {
				return n
			}
		}
		return 0
	}
	return scheduler{number("dp_rank", "engine"), number("pp_rank"), number("tp_rank")}
}

func add(to *float64, v float64) {
	if Known(*to) {
		v += *to
	}
	*to = v
}
