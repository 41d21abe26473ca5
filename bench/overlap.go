package bench

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Window describes the time of a run that profiling windows touched (Run.Profiled). It also holds the figures of the
// whole run, which include the touched time. The figures of the Summary that contains the Window exclude the touched
// time. docs/metrics.md has the rules.
type Window struct {
	Spans     []Span   `json:"spans"`            // touched time, in order, without overlaps
	Touched   int      `json:"touched_requests"` // number of requests in progress during Spans
	Untouched int64    `json:"untouched_ns"`     // length of the run outside Spans
	Lacks     []string `json:"lacks"`            // figures with too little untouched data: "rates", "e2e", …
	Whole     *Summary `json:"whole"`            // the figures of the whole run, touched time included
}

// Rates in Window.Lacks means all figures per unit of time: rates, concurrency, peaks, the steady part and goodput.
const Rates = "rates"

// Good in Window.Lacks means that goodput is missing because too few requests were untouched, although rates have
// values.
const Good = "goodput"

// Lacks reports whether a figure has no value because too little of the run lies outside its profiling window.
func (s *Summary) Lacks(figure string) bool {
	return s.Window != nil && slices.Contains(s.Window.Lacks, figure)
}

// Nothing reports whether the profiling window left neither rates nor latencies.
func (s *Summary) Nothing() bool {
	return s.Lacks(Rates) && s.Lacks("e2e") && (s.Embedding || s.Lacks("ttft"))
}

// Objectives returns the objectives of the run's goodput, or nil if it has none.
func (s *Summary) Objectives() SLO {
	if s.Goodput == nil && s.Window != nil && s.Window.Whole != nil { // too little of the run lies outside the window
		s = s.Window.Whole
	}
	if s.Goodput == nil {
		return nil
	}
	return s.Goodput.SLO
}

// Within returns the length of the touched part of s.
func (w *Window) Within(s Span) int64 { return s.To - s.From - overlap(w.Spans).left(s.From, s.To) }

// enough reports whether left, the untouched part of all, is at least half of all. A smaller part would not be
// representative.
func enough[T int | int64](left, all T) bool { return 2*left >= all }

// overlap is the touched time of a run, during which profiling disturbed the server. The spans are in order and
// disjoint.
type overlap []Span

func (r *Run) overlap() (t overlap) {
	spans := slices.Clone(r.Profiled)
	sorts.By(spans, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	for _, s := range spans {
		switch n := len(t); {
		case s.To <= s.From:
		case n > 0 && s.From <= t[n-1].To:
			t[n-1].To = max(t[n-1].To, s.To)
		default:
			t = append(t, s)
		}
	}
	return t
}

// Overlaps reports whether a profiling window touched any part of the period [from, to). Both times count from the
// start of the run.
func (r *Run) Overlaps(from, to int64) bool { return r.overlap().over(from, to) }

// Touches reports whether profiling windows touched more than a slight part of a latency. They lengthened the latency by
// at most the touched part.
func (r *Run) Touches(from, to int64) bool { return r.overlap().touches(from, to) }

// slightly is the touched share from which a latency counts as more than slightly touched.
const slightly = 0.1

func (t overlap) touches(from, to int64) bool {
	return t.over(from, to) && float64(to-from-t.left(from, to)) >= slightly*float64(to-from)
}

// over reports whether any part of the span was touched. The span may be a single moment (from = to).
func (t overlap) over(from, to int64) bool {
	return slices.ContainsFunc(t, func(s Span) bool { return from < s.To && to > s.From })
}

// rest returns the untouched parts of the span.
func (t overlap) rest(from, to int64) (out []Span) {
	for _, s := range t {
		if s.To <= from || s.From >= to {
			continue
		}
		if s.From > from {
			out = append(out, Span{from, s.From})
		}
		from = s.To
	}
	if from < to {
		out = append(out, Span{from, to})
	}
	return out
}

// left returns the total length of the untouched parts of the span.
func (t overlap) left(from, to int64) (n int64) {
	if len(t) == 0 {
		return max(to-from, 0)
	}
	for _, s := range t.rest(from, to) {
		n += s.To - s.From
	}
	return n
}

// request reports whether a request, successful or not, was touched.
func (t overlap) request(r *Record) bool {
	from := r.Sent
	if from == Never {
		from = r.Released
	}
	return t.over(from, max(r.Done, from))
}

// requests returns the number of touched requests.
func (t overlap) requests(records []Record) (n int) {
	for i := range records {
		if t.request(&records[i]) {
			n++
		}
	}
	return n
}

// without removes the figures of s for which too little untouched data remains, and lists them in w.Lacks. On entry, w
// describes the touched time, and w.Whole holds the figures of the whole run.
func (s *Summary) without(w *Window) {
	s.Window = w
	if !enough(w.Untouched, s.Duration) {
		w.Lacks = append(w.Lacks, Rates)
		s.RequestRate, s.InputRate, s.OutputRate, s.TotalRate, s.Concurrency, s.MaxOutputRate, s.MaxConcurrent = 0, 0, 0, 0, 0, 0, 0
		s.PeakRunning, s.PeakOutputRate, s.Steady, s.Goodput = 0, 0, nil, nil
	} else if s.Goodput == nil && w.Whole.Goodput != nil {
		w.Lacks = append(w.Lacks, Good)
	}
	of := w.Whole.times()
	for i, f := range s.times() {
		if f.to.N < of[i].to.N && !enough(f.to.N, of[i].to.N) {
			*f.to = Stats{}
			if f.name == "ttft" {
				s.Firsts = nil
			}
			w.Lacks = append(w.Lacks, f.name)
		}
	}
}
