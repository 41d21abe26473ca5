package bench

import (
	"fmt"
	"math"
	"slices"
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
// in SGLang's --goodput. A latency that exists but was not seen is neither met nor missed. A request that lacks a
// latency for another reason misses the limit on that latency.
var objectives = []latency{
	{"ttft", ttft, toFirst}, {"ttft_scheduled", ttftScheduled, toFirst}, {"ttft_visible", ttftVisible, toFirst},
	{"tpot", tpot, afterFirst}, {"itl", longestGap, afterFirst}, {"e2e", e2e, inAll}, {"e2e_scheduled", e2eScheduled, inAll},
}

// latency is a latency that can have a limit.
type latency struct {
	key  string
	of   value
	part part
}

// part is the part of a reply that a latency measures.
type part int

const (
	toFirst    part = iota // up to the first token
	afterFirst             // from the first token to the last
	inAll
)

// fate is the outcome of one objective for one request.
type fate int

const (
	missed fate = iota
	met
	unmeasured // the latency exists, but was not seen
)

// judge returns the outcome of an objective for a successful request, and the latency if there is one.
func (o Objective) judge(r *Record) (out fate, ns int64) {
	l, err := objective(o.Key)
	if err != nil {
		return missed, 0
	}
	v, ok := l.of.of(r)
	switch {
	case ok && v > float64(o.Limit):
		return missed, int64(v)
	case ok, l.part == afterFirst && (!r.decodes() || r.atMost(l) <= o.Limit):
		return met, int64(v)
	case l.part == afterFirst, l.part == toFirst && r.First != Never && !r.firstSeen():
		return unmeasured, 0
	}
	return missed, 0
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

func objective(key string) (latency, error) {
	known := make([]string, len(objectives))
	for i, o := range objectives {
		if o.key == key {
			return o, nil
		}
		known[i] = o.key
	}
	return latency{}, fmt.Errorf("unknown objective %q: give NAME:MILLISECONDS; known objectives: %s", key, strings.Join(known, ", "))
}

// String formats objectives in the syntax of ParseSLO.
func (s SLO) String() string {
	parts := make([]string, len(s))
	for i, o := range s {
		parts[i] = o.Key + ":" + strconv.FormatFloat(float64(o.Limit)/1e6, 'f', -1, 64)
	}
	return strings.Join(parts, ",")
}

// atMost returns an upper bound of a latency after the first token, for a reply whose events were read together. For all
// other replies the bound is infinite.
func (r *Record) atMost(l latency) int64 {
	s := r.arrivals()
	if r.Held || !s.allTogether() || r.OutputLen <= 1 {
		return math.MaxInt64
	}
	if l.key == "itl" {
		return r.Last - r.Sent
	}
	return (r.Last - r.Sent) / int64(r.OutputLen-1)
}

// Goodput describes the requests that met all objectives. Failed requests meet none.
type Goodput struct {
	SLO       SLO     `json:"slo"`
	Good      int     `json:"good"`
	Share     float64 `json:"share"` // share of the judged requests, failed ones included
	Rate      float64 `json:"requests_per_s"`
	TokenRate float64 `json:"output_tokens_per_s"` // output tokens/s of requests that met all objectives
	// Met is the share of requests that met each objective, in the order of SLO.
	Met    []float64 `json:"met"`
	Judged int       `json:"judged"` // number of requests judged
	// Unmeasured is the number of successful requests that are not judged: they missed no limit, and a latency with a
	// limit was not seen.
	Unmeasured int `json:"unmeasured"`
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

// mostUnmeasured is the maximum share of unmeasured requests at which the other requests are judged.
const mostUnmeasured = 0.01

// Measured reports whether enough requests were measured for a verdict on the objectives.
func (g *Goodput) Measured() bool {
	return float64(g.Unmeasured) <= mostUnmeasured*float64(g.Judged+g.Unmeasured)
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

// Meets reports whether a successful request met all of s. An objective that was not measured is not met.
func (s SLO) Meets(r *Record) bool {
	return !slices.ContainsFunc(s, func(o Objective) bool { out, _ := o.judge(r); return out != met })
}

// add counts a request that missed the objective. ns is its latency; 0: it has none.
func (m *Missed) add(r *Record, ns int64) {
	m.Requests++
	if len(m.First) < mostMissed {
		m.First = append(m.First, r.Index)
	}
	if ns > m.WorstNS {
		m.Worst, m.WorstNS = r.Index, ns
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
	tokens, unseen := 0, make([]int, len(s)) // unseen: judged requests whose latency was not seen, by objective
	for _, r := range ok {
		if t.request(r) {
			continue
		}
		g.Failed--
		fates := make([]fate, len(s))
		for i, o := range s {
			var ns int64
			if fates[i], ns = o.judge(r); fates[i] == missed {
				g.Missed[i].add(r, ns)
			}
		}
		bad := slices.Contains(fates, missed)
		if !bad && slices.Contains(fates, unmeasured) {
			g.Judged--
			g.Unmeasured++
			continue
		}
		for i := range fates {
			switch fates[i] {
			case met:
				g.Met[i]++
			case unmeasured:
				unseen[i]++
			}
		}
		if !bad {
			g.Good++
			tokens += r.OutputLen
		}
	}
	for i := range g.Met {
		g.Met[i] /= float64(max(g.Judged-unseen[i], 1))
	}
	g.Share = float64(g.Good) / float64(max(g.Judged, 1))
	if seconds *= float64(requests) / float64(ended); seconds > 0 {
		g.Rate, g.TokenRate = float64(g.Good)/seconds, float64(tokens)/seconds
	}
	return g
}
