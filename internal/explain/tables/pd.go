package tables

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// This file analyses prefill and decode on separate servers: the work of each side, the transfers between the sides,
// and the side that limits the throughput. docs/metrics.md defines the figures.

// Side sums up the servers of one side. other is the kind of step that these servers should not make.
func Side(servers []*Server, other trace.StepKind) result.PDSide {
	s := result.PDSide{Servers: []result.PDServer{}}
	ranks := 0
	for _, ps := range servers {
		row := result.PDServer{Name: ps.name, Ranks: len(ps.ranks)}
		var periods []int64
		requests, batches := 0, 0
		for _, r := range ps.ranks {
			row.Stepping, row.Busy, row.NoCore = row.Stepping+r.stepping, row.Busy+r.busy, row.NoCore+r.noCore
			row.WindowNS += r.to - r.from
			if row.FromNS == 0 || r.from < row.FromNS {
				row.FromNS = r.from
			}
			if !r.lead {
				continue
			}
			tokens := 0
			for i := range r.steps {
				st := &r.steps[i]
				if st.Kind == trace.IdleStep {
					continue
				}
				row.Steps++
				if st.Kind == other || st.Kind == trace.Mixed {
					row.OtherSteps++
				}
				tokens += max(st.Tokens, 0)
				if st.Batch > 0 {
					requests, batches = requests+st.Batch, batches+1
					row.BatchMax = max(row.BatchMax, st.Batch)
				}
				if i < len(r.periods) {
					periods = append(periods, r.periods[i])
				}
			}
			row.TokensPerS += 1e9 * metric.Share(int64(tokens), r.to-r.from)
		}
		s.Steps += row.Steps
		s.Stepping, s.Busy = s.Stepping+row.Stepping, s.Busy+row.Busy
		s.TokensPerS += row.TokensPerS
		ranks += row.Ranks
		if n := float64(row.Ranks); n > 0 {
			row.Stepping, row.Busy, row.NoCore = row.Stepping/n, row.Busy/n, row.NoCore/n
			row.WindowNS /= int64(row.Ranks)
		}
		if batches > 0 {
			row.Batch = float64(requests) / float64(batches)
		}
		if len(periods) > 0 {
			row.Period = int64(metric.MedianInPlace(periods))
		}
		s.Servers = append(s.Servers, row)
	}
	if ranks > 0 {
		s.Stepping, s.Busy = s.Stepping/float64(ranks), s.Busy/float64(ranks)
	}
	return s
}

// AddQueues sets the mean queue lengths. It averages the samples from the begin of the first window to the end of the
// last one.
func AddQueues(pd *result.PD, prefill, decode []*Server) {
	from, to := int64(1<<63-1), int64(0)
	for _, s := range slices.Concat(pd.Prefill.Servers, pd.Decode.Servers) {
		if s.Ranks > 0 {
			from, to = min(from, s.FromNS), max(to, s.FromNS+s.WindowNS)
		}
	}
	sum := func(side *result.PDSide, servers []*Server) {
		for i := range servers {
			q := queueOf(servers[i].loads, from, to)
			side.Servers[i].Queue = q
			if i == 0 {
				side.Queue = q
				continue
			}
			all := &side.Queue
			all.Samples = min(all.Samples, q.Samples)
			all.MostRunning += q.MostRunning
			all.KVUsage = max(all.KVUsage, q.KVUsage)
			of := means(&q)
			for i, mean := range means(all) {
				*mean += *of[i]
			}
		}
	}
	sum(&pd.Prefill, prefill)
	sum(&pd.Decode, decode)
}

func queueOf(loads []trace.Load, from, to int64) (q result.Queue) {
	for _, l := range loads {
		if l.At < from || l.At > to {
			continue
		}
		q.Samples++
		q.MostRunning = max(q.MostRunning, l.MostRunning)
		q.KVUsage = max(q.KVUsage, l.KVUsage)
		of := []int{l.Running, l.Waiting, l.Bootstrap, l.Inflight, l.Prealloc, l.Transfer, l.Retracted}
		for i, mean := range means(&q) {
			*mean += float64(of[i])
		}
	}
	for _, mean := range means(&q) {
		*mean /= float64(max(q.Samples, 1))
	}
	return q
}

// means returns pointers to the fields of a queue that are means over samples.
func means(q *result.Queue) []*float64 {
	return []*float64{&q.Running, &q.Waiting, &q.Bootstrap, &q.Inflight, &q.Prealloc, &q.Transfer, &q.Retracted}
}
