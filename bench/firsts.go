package bench

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
)

// Firsts is what a load's own records tell of its times to first token, without any trace: whether they grew while the
// load went on, and what sets the slowest apart. Times are ns; moments are in the run's time. Requests that a profiling
// window touched are left out.
type Firsts struct {
	// Early and Late are the medians of the first and the last quarter of the requests by the time of sending, and Queue
	// is the median number of others that the late ones found waiting for a first token. Grew: the late ones took at
	// least twice as long, which chance explains in fewer than one of a hundred loads (Mann-Whitney), and found a queue.
	Early float64 `json:"early_ns"`
	Late  float64 `json:"late_ns"`
	Queue float64 `json:"queue"`
	Grew  bool    `json:"grew"`
	// Slow is about the slowest hundredth of them; nil: they are no more than three times as long as the median.
	Slow *SlowFirsts `json:"slow,omitempty"`
}

// SlowFirsts are the requests whose first token took at least the 99th percentile.
type SlowFirsts struct {
	Requests int   `json:"requests"`
	Slowest  int   `json:"slowest"` // index of the slowest
	At       int64 `json:"at_ns"`   // when that was sent
	TTFT     int64 `json:"ttft_ns"` // what it took
	From     int64 `json:"from_ns"` // the first of them was sent
	To       int64 `json:"to_ns"`   // the last of them was sent
	// Medians of them, and of all: requests that were waiting for a first token when they were sent, themselves left out,
	// and tokens of their prompts that came from no cache.
	Waiting    float64 `json:"waiting"`
	WaitingAll float64 `json:"waiting_all"`
	Prompt     float64 `json:"prompt"`
	PromptAll  float64 `json:"prompt_all"`
}

const (
	fewestFirsts = 20   // requests, for anything to be said
	grownBy      = 2.0  // of Late over Early
	queued       = 2.0  // of Queue
	growthChance = 0.01 // of Grew, two-sided
	slowBy       = 3.0  // of the 99th percentile over the median
)

// firsts is nil if there are too few.
func firsts(ok []*Record, t overlap) *Firsts {
	var sent []*Record
	for _, r := range ok {
		if ns, known := r.TTFT(); known && ns >= 0 && !t.over(r.Sent, r.First) {
			sent = append(sent, r)
		}
	}
	if len(sent) < fewestFirsts {
		return nil
	}
	slices.SortStableFunc(sent, func(a, b *Record) int { return cmp.Compare(a.Sent, b.Sent) })
	all := make([]float64, len(sent))
	for i, r := range sent {
		all[i] = float64(r.First - r.Sent)
	}
	quarter := len(all) / 4
	early, late := all[:quarter], all[len(all)-quarter:]
	waiting := waitingFirsts(sent)
	f := &Firsts{Early: metric.Median(early), Late: metric.Median(late), Queue: metric.Median(waiting[len(all)-quarter:])}
	f.Grew = f.Late >= grownBy*f.Early && f.Queue >= queued && metric.Compare(early, late).P < growthChance
	f.Slow = slowFirsts(sent, all, waiting)
	return f
}

// waitingFirsts is for each request, which are by the time of sending, how many others waited for a first token when it
// was sent: those that were sent by then, less those that had theirs.
func waitingFirsts(sent []*Record) []float64 {
	came := make([]int64, len(sent))
	for i, r := range sent {
		came[i] = r.First
	}
	slices.Sort(came)
	out := make([]float64, len(sent))
	for i, r := range sent {
		have, _ := slices.BinarySearch(came, r.Sent+1)
		// What was sent in the same moment waits, too.
		before, _ := slices.BinarySearchFunc(sent, r.Sent+1, func(o *Record, at int64) int { return cmp.Compare(o.Sent, at) })
		out[i] = float64(before - 1 - have)
	}
	return out
}

// slowFirsts looks at the slow end; sent is by the time of sending, took what each took, queue what each found waiting.
func slowFirsts(sent []*Record, took, queue []float64) *SlowFirsts {
	sorted := slices.Sorted(slices.Values(took))
	p99 := metric.Quantile(sorted, 0.99)
	if p99 < slowBy*metric.Quantile(sorted, 0.5) {
		return nil
	}
	var s SlowFirsts
	var waiting, prompt, promptAll []float64
	slowest := math.Inf(-1)
	for i, r := range sent {
		tokens := float64(r.inputLen() - max(r.CachedTokens, 0))
		promptAll = append(promptAll, tokens)
		if took[i] < p99 {
			continue
		}
		if s.Requests == 0 {
			s.From = r.Sent
		}
		s.To = r.Sent
		s.Requests++
		waiting, prompt = append(waiting, queue[i]), append(prompt, tokens)
		if took[i] > slowest {
			slowest, s.Slowest, s.At, s.TTFT = took[i], r.Index, r.Sent, int64(took[i])
		}
	}
	s.Waiting, s.WaitingAll = metric.Median(waiting), metric.Median(queue)
	s.Prompt, s.PromptAll = metric.Median(prompt), metric.Median(promptAll)
	return &s
}
