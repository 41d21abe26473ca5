package bench

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
)

// SLO is a list of objectives; a request must meet all of them.
type SLO []Objective

// Objective is an upper limit on one latency of a request.
type Objective struct {
	Key   string `json:"key"`
	Limit int64  `json:"limit_ns"`
}

// Metric returns SGLang's name for the latency that the objective limits.
func (o Objective) Metric() string {
	if o.Key == "e2e" {
		return "e2el"
	}
	return o.Key
}

// objectives are the latencies that can have a limit. A reply of one token has no TPOT and meets every TPOT limit, as
// in SGLang's --goodput. A request that lacks any other latency misses the limit on that latency.
var objectives = []struct {
	key string
	of  value
}{
	{"ttft", ttft}, {"ttft_scheduled", ttftScheduled}, {"ttft_visible", ttftVisible}, {"tpot", tpot},
	{"itl", longestGap}, {"e2e", e2e}, {"e2e_scheduled", e2eScheduled},
}

// ParseSLO parses objectives such as "ttft:500,tpot:50,e2e:2s". A number without a unit is in milliseconds. e2el,
// SGLang's name for e2e, is accepted as well.
func ParseSLO(text string) (SLO, error) {
	var out SLO
	for _, pair := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		key, value, _ := strings.Cut(pair, ":")
		if key == "e2el" {
			key = "e2e"
		}
		if _, err := objective(key); err != nil {
			return nil, err
		}
		for _, o := range out {
			if o.Key == key {
				return nil, fmt.Errorf("objective %q is given twice", key)
			}
		}
		limit, err := time.ParseDuration(value)
		if err != nil {
			ms, err := strconv.ParseFloat(value, 64)
			if err != nil || !(ms < 1e12) { // NaN, infinite, or too large for int64
				return nil, fmt.Errorf("objective %q: want %s:MILLISECONDS, such as %s:500, or a duration such as %s:1.5s", pair, key, key, key)
			}
			limit = time.Duration(ms * 1e6)
		}
		if limit <= 0 {
			return nil, fmt.Errorf("objective %q: the limit must be above 0", pair)
		}
		out = append(out, Objective{key, int64(limit)})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no objectives in %q: give some, such as ttft:500,tpot:50 (milliseconds)", text)
	}
	return out, nil
}

func objective(key string) (value, error) {
	known := make([]string, len(objectives))
	for i, o := range objectives {
		if o.key == key {
			return o.of, nil
		}
		known[i] = o.key
	}
	return value{}, fmt.Errorf("unknown objective %q: give NAME:MILLISECONDS; known objectives: %s", key, strings.Join(known, ", "))
}

// String formats objectives in the syntax of ParseSLO.
func (s SLO) String() string {
	parts := make([]string, len(s))
	for i, o := range s {
		parts[i] = o.Key + ":" + strconv.FormatFloat(float64(o.Limit)/1e6, 'f', -1, 64)
	}
	return strings.Join(parts, ",")
}

// Goodput describes the requests that met all objectives. Failed requests meet none.
type Goodput struct {
	SLO       SLO     `json:"slo"`
	Good      int     `json:"good"`
	Share     float64 `json:"share"` // share of all requests, failed ones included
	Rate      float64 `json:"requests_per_s"`
	TokenRate float64 `json:"output_tokens_per_s"` // output tokens/s of requests that met all objectives
	// Met is the share of requests that met each objective, in the order of SLO.
	Met    []float64 `json:"met"`
	Judged int       `json:"judged"` // number of requests judged
	// Failed is the number of failed requests. They are included in Judged, and each counts as missing every objective.
	Failed int      `json:"failed"`
	Missed []Missed `json:"missed"` // misses by successful requests, in the order of SLO
}

// Missed describes the successful requests that missed one objective.
type Missed struct {
	Requests int   `json:"requests"`
	First    []int `json:"first"`    // indices of the first few requests that missed
	Worst    int   `json:"worst"`    // index of the request with the largest latency
	WorstNS  int64 `json:"worst_ns"` // latency of that request
}

// mostMissed is the maximum length of Missed.First.
const mostMissed = 5

// Short describes the missed objectives in one line. It returns "" if at least the given share of requests met all
// objectives.
func (g *Goodput) Short(share float64) string {
	if g.Share >= share {
		return ""
	}
	var parts []string
	for i, m := range g.Missed {
		if m.Requests == 0 {
			continue
		}
		which := strings.Trim(fmt.Sprint(m.First), "[]")
		if which = strings.ReplaceAll(which, " ", ", "); m.Requests > len(m.First) {
			which += ", …"
		}
		o := g.SLO[i]
		parts = append(parts, fmt.Sprintf("%s over %s in %s of them (%s; request %d worst, %s)", o.Key, metric.Duration(o.Limit), metric.Count(m.Requests), which, m.Worst, metric.Duration(m.WorstNS)))
	}
	if g.Failed > 0 {
		parts = append(parts, metric.Count(g.Failed)+" failed")
	}
	return fmt.Sprintf("%s of %s requests met %s ms, below the required %s: %s", metric.Percent(g.Share), metric.Count(g.Judged), g.SLO, metric.Percent(share), strings.Join(parts, ", "))
}

// Meets reports whether a successful request met all of s.
func (s SLO) Meets(r *Record) bool {
	return s.each(r, func(int) {})
}

func (s SLO) each(r *Record, met func(i int)) bool {
	all := true
	for i, o := range s {
		of, err := objective(o.Key)
		if err != nil {
			all = false
			continue
		}
		if v, ok := of.of(r); ok && v <= float64(o.Limit) || !ok && (o.Key == "tpot" || o.Key == "itl") {
			met(i)
		} else {
			all = false
		}
	}
	return all
}

// add counts the request if it misses one, which holds a single objective.
func (m *Missed) add(r *Record, one SLO) {
	if one.Meets(r) {
		return
	}
	m.Requests++
	if len(m.First) < mostMissed {
		m.First = append(m.First, r.Index)
	}
	of, err := objective(one[0].Key)
	if err != nil {
		return
	}
	if v, ok := of.of(r); ok && int64(v) > m.WorstNS {
		m.Worst, m.WorstNS = r.Index, int64(v)
	}
}

// goodput judges the untouched requests. If some requests were touched, the rate of good requests is a product of two
// factors: the share of good requests among the untouched requests, and the rate at which requests ended during the
// untouched time.
func goodput(s SLO, records []Record, ok []*Record, seconds float64, t overlap) *Goodput {
	requests, ended := 0, 0
	for i := range records {
		if !t.request(&records[i]) {
			requests++
		}
		if !t.over(records[i].Done, records[i].Done) {
			ended++
		}
	}
	if len(s) == 0 || requests == 0 || !enough(requests, len(records)) {
		return nil
	}
	g := &Goodput{SLO: s, Met: make([]float64, len(s)), Judged: requests, Failed: requests, Missed: make([]Missed, len(s))}
	for i := range g.Missed {
		g.Missed[i].First = []int{}
	}
	tokens := 0
	for _, r := range ok {
		if t.request(r) {
			continue
		}
		g.Failed--
		for i := range s {
			g.Missed[i].add(r, s[i:i+1])
		}
		if s.each(r, func(i int) { g.Met[i]++ }) {
			g.Good++
			tokens += r.OutputLen
		}
	}
	for i := range g.Met {
		g.Met[i] /= float64(requests)
	}
	g.Share = float64(g.Good) / float64(requests)
	if seconds *= float64(requests) / float64(ended); seconds > 0 {
		g.Rate, g.TokenRate = float64(g.Good)/seconds, float64(tokens)/seconds
	}
	return g
}
