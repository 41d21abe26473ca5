package bench

import "slices"

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

// Lacks tells whether a figure has no value, since too little was left of the run
// without its profiling window.
func (s *Summary) Lacks(figure string) bool {
	return s.Window != nil && slices.Contains(s.Window.Lacks, figure)
}

// Within is how much of a stretch was touched.
func (w *Window) Within(s Span) int64 { return s.To - s.From - touched(w.Spans).left(s.From, s.To) }

// enough tells whether what is left of all may stand for it.
func enough[T int | int64](left, all T) bool { return 2*left >= all }

// touched are the stretches of a run that say nothing of the server as it is, in order
// and apart from each other.
type touched []Span

func (r *Run) touched() (t touched) {
	spans := slices.Clone(r.Profiled)
	slices.SortFunc(spans, func(a, b Span) int { return int(max(-1, min(a.From-b.From, 1))) })
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

// over tells whether any of a stretch was touched. A moment is a stretch of no length.
func (t touched) over(from, to int64) bool {
	return slices.ContainsFunc(t, func(s Span) bool { return from < s.To && to > s.From })
}

// rest is what of a stretch was not touched.
func (t touched) rest(from, to int64) (out []Span) {
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
func (t touched) left(from, to int64) (n int64) {
	if len(t) == 0 {
		return max(to-from, 0)
	}
	for _, s := range t.rest(from, to) {
		n += s.To - s.From
	}
	return n
}

// request tells whether a request was touched, failed ones too.
func (t touched) request(r *Record) bool {
	from := r.Sent
	if from == Never {
		from = r.Released
	}
	return t.over(from, max(r.Done, from))
}

// without takes the figures of s that too little is left of away, and names them. whole
// is s with everything in it.
func (s *Summary) without(t touched, records []Record, untouched int64, whole *Summary) {
	w := &Window{Spans: t, Untouched: untouched, Lacks: []string{}, Whole: whole}
	for i := range records {
		if t.request(&records[i]) {
			w.Touched++
		}
	}
	s.Window = w
	if !enough(untouched, s.Duration) {
		w.Lacks = append(w.Lacks, Rates)
		s.RequestRate, s.InputRate, s.OutputRate, s.TotalRate, s.Concurrency, s.MaxOutputRate, s.MaxConcurrent = 0, 0, 0, 0, 0, 0, 0
		s.PeakRunning, s.PeakOutputRate, s.Steady, s.Goodput = 0, 0, nil, nil
	}
	of := whole.times()
	for i, f := range s.times() {
		if f.to.N < of[i].to.N && !enough(f.to.N, of[i].to.N) {
			*f.to = Stats{}
			w.Lacks = append(w.Lacks, f.name)
		}
	}
}
