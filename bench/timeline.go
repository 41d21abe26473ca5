package bench

import "math"

// Timeline is a run in equal bins of time, for plots.
type Timeline struct {
	Bin     int64     `json:"bin_ns"`  // length of a bin; the first begins at 0
	Tokens  []float64 `json:"tokens"`  // that came in it
	Busiest []float64 `json:"busiest"` // the most that came in any one second that ended in it
	Running []float64 `json:"running"`
	Most    []int     `json:"most"`   // requests under way at one moment of it
	Decode  []float64 `json:"decode"` // mean number of requests between first and last token
	Ended   []int     `json:"ended"`  // successes
	Failed  []int     `json:"failed"`
}

// NewTimeline cuts a run into at most n bins of a round length, 1, 2 or 5 times
// a power of ten, and at least 1 ms.
func NewTimeline(records []Record, run *Run, n int) *Timeline {
	end := int64(0)
	for i := range records {
		end = max(end, records[i].Done)
	}
	t := &Timeline{Bin: 1_000_000}
	for k := 0; end/t.Bin >= int64(max(n, 1)) && t.Bin < 1<<59; k++ {
		t.Bin = t.Bin * []int64{2, 5, 2}[k%3] / []int64{1, 2, 1}[k%3]
	}
	bins := int(end/t.Bin) + 1
	t.Tokens, t.Running, t.Decode = make([]float64, bins), make([]float64, bins), make([]float64, bins)
	t.Busiest, t.Most, t.Ended, t.Failed = make([]float64, bins), make([]int, bins), make([]int, bins), make([]int, bins)
	embedding := run.Embedding()
	for i := range records {
		r := &records[i]
		if r.Done < 0 {
			continue
		}
		if r.failure(embedding) != "" {
			t.Failed[r.Done/t.Bin]++
		} else {
			t.Ended[r.Done/t.Bin]++
		}
		if r.Sent >= 0 {
			t.cover(t.Running, r.Sent, r.Done)
		}
		if r.First >= 0 {
			t.cover(t.Decode, r.First, r.Last)
		}
		eachToken(r, func(at int64, n float64) {
			if k := at / t.Bin; at >= 0 && k < int64(bins) {
				t.Tokens[k] += n
			}
		})
	}
	// The peaks of the summary, bin by bin.
	spans, from, to := underWay(records)
	at := func(ns int64) int { return min(max(int(ns/t.Bin), 0), bins-1) }
	changes := running(spans)
	for i, c := range changes {
		end := c.at
		if i+1 < len(changes) {
			end = changes[i+1].at - 1
		}
		for k := at(c.at); k <= at(end); k++ {
			t.Most[k] = max(t.Most[k], c.running)
		}
	}
	ok, _ := successes(records, embedding)
	eachSecond(ok, from, to, func(_, end int64, tokens float64) {
		k := at(end - 1)
		t.Busiest[k] = max(t.Busiest[k], tokens)
	})
	return t
}

// cover adds the part of each bin that the stretch covers. Long stretches over
// many bins are the rule, so this costs requests × bins; bins are few.
func (t *Timeline) cover(into []float64, from, to int64) {
	for k := from / t.Bin; k < int64(len(into)) && k*t.Bin < to; k++ {
		into[k] += float64(min(to, (k+1)*t.Bin)-max(from, k*t.Bin)) / float64(t.Bin)
	}
}

// Distribution is a latency as its quantiles, for plots.
type Distribution struct {
	Name   string    `json:"name"` // ttft, tpot, itl, e2e
	N      int64     `json:"n"`
	Shares []float64 `json:"shares"` // rising, the last 1
	Values []float64 `json:"values"` // ns, of each share
}

// Distributions are those of SGLang's four latencies, without what profiling windows
// touched. Shares are dense where
// values are rare: each further nine is cut into as many parts, down to one
// sample.
func Distributions(records []Record, run *Run) []Distribution {
	ok, _ := successes(records, run.Embedding())
	itl := make(sample, 0, len(ok))
	divides, t := run.dividesGaps(), run.touched()
	for _, r := range ok {
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
		const parts = 45 // of each nine
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
