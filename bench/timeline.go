package bench

import "math"

// Timeline holds figures of a run, or of a part of a run, in equal time bins, for plots.
type Timeline struct {
	From    int64     `json:"from_ns"` // start of the first bin, in the run's time
	Bin     int64     `json:"bin_ns"`  // length of a bin
	Tokens  []float64 `json:"tokens"`  // tokens received in the bin
	Busiest []float64 `json:"busiest"` // maximum number of tokens in any sliding second that ended in the bin
	Running []float64 `json:"running"`
	Most    []int     `json:"most"`   // maximum number of requests in progress
	Decode  []float64 `json:"decode"` // mean number of requests between first and last token
	Ended   []int     `json:"ended"`  // number of requests that ended successfully
	Failed  []int     `json:"failed"`
}

// NewTimeline divides a run into at most n bins of a round length: 1, 2 or 5 times a power of ten, and at least 1 ms.
func NewTimeline(records []Record, run *Run, n int) *Timeline {
	end := int64(0)
	for i := range records {
		end = max(end, records[i].Done)
	}
	return PartTimeline(records, run, Span{0, end}, n)
}

// PartTimeline divides a part of a run in the same way as NewTimeline. The bins begin at multiples of their length.
func PartTimeline(records []Record, run *Run, part Span, n int) *Timeline {
	t := &Timeline{Bin: 1_000_000}
	part.To = max(part.From, part.To)
	for k := 0; part.To/t.Bin-part.From/t.Bin >= int64(max(n, 1)) && t.Bin < 1<<59; k++ {
		t.Bin = t.Bin * []int64{2, 5, 2}[k%3] / []int64{1, 2, 1}[k%3]
	}
	t.From = part.From / t.Bin * t.Bin
	bins := int((part.To-t.From)/t.Bin) + 1
	t.Tokens, t.Running, t.Decode = make([]float64, bins), make([]float64, bins), make([]float64, bins)
	t.Busiest, t.Most, t.Ended, t.Failed = make([]float64, bins), make([]int, bins), make([]int, bins), make([]int, bins)
	embedding := run.Embedding()
	for i := range records {
		r := &records[i]
		if r.Done < 0 {
			continue
		}
		if k, ok := t.bin(r.Done); ok && r.failure(embedding) != "" {
			t.Failed[k]++
		} else if ok {
			t.Ended[k]++
		}
		if r.Sent >= 0 {
			t.cover(t.Running, r.Sent, r.Done)
		}
		if r.First >= 0 {
			t.cover(t.Decode, r.First, r.Last)
		}
		eachToken(r, func(at int64, n float64) {
			if k, ok := t.bin(at); ok {
				t.Tokens[k] += n
			}
		})
	}
	// Compute the peaks of the summary for each bin.
	spans, from, to := underWay(records)
	end := t.From + int64(bins)*t.Bin
	changes := running(spans)
	for i, c := range changes {
		until := end - 1
		if i+1 < len(changes) {
			until = min(until, changes[i+1].at-1)
		}
		if until = max(until, c.at); until < t.From || c.at >= end { // a change may have no duration
			continue
		}
		for k := (max(c.at, t.From) - t.From) / t.Bin; k <= (until-t.From)/t.Bin; k++ {
			t.Most[k] = max(t.Most[k], c.running)
		}
	}
	ok, _ := successes(records, embedding)
	eachSecond(ok, from, to, func(_, end int64, tokens float64) {
		last := min(end-1, to) // the last sliding seconds end after the run
		since := last
		if t.Bin < secondStep { // a bin in which no sliding second ends takes the value of the next second that ends
			since = min(end-secondStep, last)
		}
		for k := max(since-t.From, 0) / t.Bin; last >= t.From && k <= (last-t.From)/t.Bin && k < int64(bins); k++ {
			t.Busiest[k] = max(t.Busiest[k], tokens)
		}
	})
	return t
}

// bin returns the bin of a moment; ok is false outside all bins.
func (t *Timeline) bin(at int64) (k int64, ok bool) {
	k = (at - t.From) / t.Bin
	return k, at >= t.From && k < int64(len(t.Tokens))
}

// cover adds to each bin the share of the bin that the span covers. Over all requests the cost is at most requests ×
// bins. This is acceptable because the number of bins is small.
func (t *Timeline) cover(into []float64, from, to int64) {
	from, to = from-t.From, to-t.From
	for k := max(from, 0) / t.Bin; k < int64(len(into)) && k*t.Bin < to; k++ {
		into[k] += float64(min(to, (k+1)*t.Bin)-max(from, k*t.Bin)) / float64(t.Bin)
	}
}

// Distribution describes the distribution of a latency by quantiles, for plots.
type Distribution struct {
	Name   string    `json:"name"` // ttft, tpot, itl, e2e
	N      int64     `json:"n"`
	Shares []float64 `json:"shares"` // ascending; the last share is 1
	Values []float64 `json:"values"` // value at each share, ns
}

// Distributions returns SGLang's four latencies, excluding the time touched by profiling windows. Shares are dense in
// the tail: each of the intervals from 0 to 90 %, from 90 to 99 %, and so on is divided into the same number of parts.
// The tail ends at a single sample.
func Distributions(records []Record, run *Run) []Distribution {
	ok, _ := successes(records, run.Embedding())
	itl := make(sample, 0, len(ok))
	divides, t := run.dividesGaps(), run.overlap()
	for _, r := range paced(ok) {
		if divides {
			r.tokenGaps(1, func(from, to, n int64) {
				if !t.over(from, to) {
					itl.add(float64(to-from)/float64(n), n)
				}
			})
			continue
		}
		r.gaps(func(a, b *Chunk, gap int64, _ int) {
			if !t.over(a.At, b.At) {
				itl.add(float64(gap), 1)
			}
		})
	}
	out := []Distribution{}
	for _, d := range []struct {
		name string
		of   sample
	}{{"ttft", each(ttft.values(ok, t))}, {"itl", itl}, {"tpot", each(tpot.values(ok, t))}, {"e2e", each(e2e.values(ok, t))}} {
		if len(d.of) == 0 {
			continue
		}
		d.of.sort()
		dist := Distribution{Name: d.name, Shares: []float64{}}
		for _, x := range d.of {
			dist.N += x.n
		}
		const parts = 45 // number of shares from 0 to 0.9, from 0.9 to 0.99, and so on
		for k := 0; ; k++ {
			rest := math.Pow(10, -float64(k)/parts)
			if rest < 1/float64(dist.N) {
				break
			}
			dist.Shares = append(dist.Shares, 1-rest)
		}
		dist.Shares = append(dist.Shares, 1)
		dist.Values = d.of.quantiles(dist.N, dist.Shares...)
		out = append(out, dist)
	}
	return out
}
