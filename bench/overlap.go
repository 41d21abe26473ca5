package bench

import (
	"cmp"
	"slices"
)

// Window is what is left of a run's figures without the time that profiling windows
// touched (Run.Profiled), and what they are with it. docs/metrics.md has the rules.
type Window struct {
	Spans     []Span   `json:"spans"`            // touched, in order, none overlaps another
	Touched   int      `json:"touched_requests"` // under way in them
	Untouched int64    `json:"untouched_ns"`     // of the duration
	Lacks     []string `json:"lacks"`            // figures of which less than half was untouched, so that they have no value: "rates", "e2e", …
	Whole     *Summary `json:"whole"`            // the same figures with everything in them
}

// Rates is the name in Window.Lacks of all that is counted per time: rates, concurrency,
// peaks, the steady part, goodput.
const Rates = "rates"

// Good is the name in Window.Lacks of goodput alone, where too few requests were
// untouched although there are rates.
const Good = "goodput"

// Lacks tells whether a figure has no value, since too little was left of the run
// without its profiling window.
func (s *Summary) Lacks(figure string) bool {
	return s.Window != nil && slices.Contains(s.Window.Lacks, figure)
}

// Objectives are those that requests were held to; nil: none.
func (s *Summary) Objectives() SLO {
	if s.Goodput == nil && s.Window != nil && s.Window.Whole != nil { // the window left too little
		s = s.Window.Whole
	}
	if s.Goodput == nil {
		return nil
	}
	return s.Goodput.SLO
}

// Within is how much of a stretch was touched.
func (w *Window) Within(s Span) int64 { return s.To - s.From - overlap(w.Spans).left(s.From, s.To) }

// enough tells whether what is left of all may stand for it.
func enough[T int | int64](left, all T) bool { return 2*left >= all }

// touched are the stretches of a run that say nothing of the server as it is, in order
// and apart from each other.
type overlap []Span

func (r *Run) overlap() (t overlap) {
	spans := slices.Clone(r.Profiled)
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
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

// Touched tells whether a profiling window touched any of a stretch of the run.
func (r *Run) Overlaps(from, to int64) bool { return r.overlap().over(from, to) }

// over tells whether any of a stretch was touched. A moment is a stretch of no length.
func (t overlap) over(from, to int64) bool {
	return slices.ContainsFunc(t, func(s Span) bool { return from < s.To && to > s.From })
}

// rest is what of a stretch was not touched.
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

// left is the length of the rest.
func (t overlap) left(from, to int64) (n int64) {
	if len(t) == 0 {
		return max(to-from, 0)
	}
	for _, s := range t.rest(from, to) {
		n += s.To - s.From
	}
	return n
}

// request tells whether a request was touched, failed ones too.
func (t overlap) request(r *Record) bool {
	from := r.Sent
	if from == Never {
		from = r.Released
	}
	return t.over(from, max(r.Done, from))
}

// requests is how many requests were touched.
func (t overlap) requests(records []Record) (n int) {
	for i := range records {
		if t.request(&records[i]) {
			n++
		}
	}
	return n
}

// without takes the figures of s that too little is left of away, and names them. w says
// what was touched, and has s with everything in it.
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
