package bench

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Firsts describes the times to first token of a load from its records alone, without a trace: whether they grew during
// the load, and how the slowest requests differ from the others. Durations are in ns; times are in ns from the start of
// the run. Requests touched by a profiling window are excluded.
type Firsts struct {
	// Early and Late are the median TTFTs of the first and the last quarter of requests by send time. Queue is the
	// median number of other requests waiting for a first token when the requests of the last quarter were sent. Grew
	// is true if three conditions hold: Late is at least twice Early; a Mann-Whitney test rejects chance at the 1 %
	// level; and Queue is at least 2.
	Early float64 `json:"early_ns"`
	Late  float64 `json:"late_ns"`
	Queue float64 `json:"queue"`
	Grew  bool    `json:"grew"`
	// Slow describes the slowest hundredth of requests. It is nil if the 99th percentile is less than three times the
	// median.
	Slow *SlowFirsts `json:"slow,omitempty"`
}

// SlowFirsts describes the requests whose TTFT is at least the 99th percentile.
type SlowFirsts struct {
	Requests int   `json:"requests"`
	Slowest  int   `json:"slowest"` // index of the slowest request
	At       int64 `json:"at_ns"`   // send time of the slowest request
	TTFT     int64 `json:"ttft_ns"` // TTFT of the slowest request
	From     int64 `json:"from_ns"` // send time of the first of the slow requests
	To       int64 `json:"to_ns"`   // send time of the last of the slow requests
	// The fields below are medians of two quantities: the number of other requests that were waiting for a first token
	// at the send time, and the number of uncached prompt tokens. Each quantity has one median over the slow requests
	// and one over all requests.
	Waiting    float64 `json:"waiting"`
	WaitingAll float64 `json:"waiting_all"`
	Prompt     float64 `json:"prompt"`
	PromptAll  float64 `json:"prompt_all"`
	// Event is the median time from sending to the first event with a token, whether or not the event has text.
	Event float64 `json:"first_event_ns"`
	// EventOf is the median of the ratio of this time to the TTFT of the same request.
	EventOf float64 `json:"first_event_of_ttft"`
}

const (
	fewestFirsts = 20   // minimum number of requests for a result
	grownBy      = 2.0  // minimum ratio of Late to Early
	queued       = 2.0  // minimum value of Queue
	growthChance = 0.01 // significance level of Grew, two-sided
	slowBy       = 3.0  // minimum ratio of the 99th percentile to the median
)

// firsts returns nil if there are too few requests.
func firsts(ok []*Record, run *Run, t overlap) *Firsts {
	var sent []*Record
	for _, r := range ok {
		if ns, known := r.TTFT(); known && ns >= 0 && !t.over(r.Sent, r.First) {
			sent = append(sent, r)
		}
	}
	if len(sent) < fewestFirsts {
		return nil
	}
	sorts.Stable(sent, func(a, b *Record) int { return cmp.Compare(a.Sent, b.Sent) })
	all := make([]float64, len(sent))
	for i, r := range sent {
		all[i] = float64(r.First - r.Sent)
	}
	quarter := len(all) / 4
	early, late := all[:quarter], all[len(all)-quarter:]
	waiting := waitingFirsts(sent)
	f := &Firsts{Early: metric.Median(early), Late: metric.Median(late), Queue: metric.Median(waiting[len(all)-quarter:])}
	f.Grew = f.Late >= grownBy*f.Early && f.Queue >= queued && metric.Compare(early, late).P < growthChance
	f.Slow = slowFirsts(sent, all, waiting, strings.HasSuffix(run.Backend, "-chat"))
	return f
}

// waitingFirsts returns, for each request, the number of other requests waiting for a first token at the send time of
// the request. This is the number of requests sent so far, minus the number of requests that already have a first
// token. sent is in order of send time.
func waitingFirsts(sent []*Record) []float64 {
	came := make([]int64, len(sent))
	for i, r := range sent {
		came[i] = r.First
	}
	slices.Sort(came)
	out := make([]float64, len(sent))
	for i, r := range sent {
		have, _ := slices.BinarySearch(came, r.Sent+1)
		// Requests sent at the same moment count as waiting.
		before, _ := slices.BinarySearchFunc(sent, r.Sent+1, func(o *Record, at int64) int { return cmp.Compare(o.Sent, at) })
		out[i] = float64(before - 1 - have)
	}
	return out
}

// slowFirsts describes the requests with the largest TTFTs. It returns nil if the largest TTFTs are not unusually
// large. sent is in order of send time. took holds each request's TTFT; queue holds, for each request, the number of
// other requests waiting at the send time of the request. chat means that the first event may have only a role.
func slowFirsts(sent []*Record, took, queue []float64, chat bool) *SlowFirsts {
	sorted := slices.Sorted(slices.Values(took))
	p99 := metric.Quantile(sorted, 0.99)
	if p99 < slowBy*metric.Quantile(sorted, 0.5) {
		return nil
	}
	var s SlowFirsts
	var waiting, prompt, promptAll, event, ratio []float64
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
		waiting, prompt, event = append(waiting, queue[i]), append(prompt, tokens), append(event, float64(r.firstToken(chat)-r.Sent))
		ratio = append(ratio, event[len(event)-1]/took[i])
		if took[i] > slowest {
			slowest, s.Slowest, s.At, s.TTFT = took[i], r.Index, r.Sent, int64(took[i])
		}
	}
	s.Waiting, s.WaitingAll = metric.Median(waiting), metric.Median(queue)
	s.Prompt, s.PromptAll = metric.Median(prompt), metric.Median(promptAll)
	s.Event, s.EventOf = metric.Median(event), metric.Median(ratio)
	return &s
}

// firstToken returns the time of the first event with a token. The token may have no text, such as the first bytes of a
// character. chat means that an event without a token count may have only a role.
func (r *Record) firstToken(chat bool) int64 {
	at := r.First
	if len(r.Chunks) > 0 {
		at = min(at, r.Chunks[0].At)
	}
	if !chat && r.FirstAny != Never {
		at = min(at, r.FirstAny)
	}
	return at
}
