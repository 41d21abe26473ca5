package judge

import (
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

const (
	// sideFull is the share of time in forward steps above which a side has no spare capacity.
	sideFull = 0.85
	// sideIdle is the share of time in forward steps below which a side counts as idle. If both sides are idle, the
	// load is too low to decide by shares.
	sideIdle = 0.5
	// sideAlike is the difference below which two shares count as equal.
	sideAlike = 0.1
	// leastSamples is the minimum number of queue samples for any conclusion.
	leastSamples = 3
)

// Limits decides which side limits the throughput. Waiting requests are the best evidence. Without samples of the
// queues, it uses the shares of time in steps. These shares mean less for decode servers: a server that runs a single
// request is also in steps all the time, but can add more requests to its batch. A request gets its place on a decode
// server (memory, and a slot among the running requests) before its prefill begins, and keeps it from then on. Requests
// without a place are therefore held up by the stage for which requests with a place wait: prefill, transfer or decode.
// Likewise, prefill servers that have time but no free memory are held up by transfers.
func Limits(pd *result.PD) (what string, f result.Finding) {
	p, d, t := &pd.Prefill, &pd.Decode, &pd.Transfer
	f = whole(result.Limits, "", result.Limits, fact.Fact{})
	busier := "prefill"
	if d.Stepping > p.Stepping {
		busier = "decode"
	}
	looks := min(p.Queue.Samples, d.Queue.Samples)
	queues := looks >= leastSamples
	inflight := p.Queue.Inflight
	waiting, placeless := p.Queue.Waiting, waits(&d.Queue)
	most := max(waiting, placeless, inflight)
	unready, decoding := waiting, d.Queue.Running+d.Queue.Waiting // requests with a place: before decode, and in decode
	if p.Stepping >= sideIdle {                                   // else requests may have come during a long step
		unready = max(waiting, d.Queue.Transfer-inflight)
	}
	limit := func(by, severity string, title fact.Fact) {
		what, f.Cause, f.Severity, f.Title = by, by, severity, title
	}
	waited := queues && most >= 1
	switch {
	case waited && waiting == most && inflight >= 1 && p.Stepping < sideIdle && p.Queue.KVUsage > sideFull:
		limit(result.LimitTransfer, "medium", fact.Of("pd_limit.transfer_memory", "sent", inflight, "waiting", waiting, "idle", 1-p.Stepping))
	case waited && waiting == most:
		limit(result.LimitPrefill, "medium", fact.Of("pd_limit.prefill_queue", "waiting", waiting, "places", placeless))
	case waited && placeless == most && unready > max(inflight, decoding):
		limit(result.LimitPrefill, "medium", fact.Of("pd_limit.prefill_places", "unready", unready, "running", d.Queue.Running, "places", placeless))
	case waited && placeless == most && inflight > decoding:
		limit(result.LimitTransfer, "medium", fact.Of("pd_limit.transfer_places", "sent", inflight, "running", d.Queue.Running, "places", placeless))
	case waited && placeless == most:
		limit(result.LimitDecode, "medium", fact.Of("pd_limit.decode_queue", "places", placeless, "waiting", waiting))
	case waited:
		limit(result.LimitTransfer, "medium", fact.Of("pd_limit.transfer_queue", "sent", inflight, "waiting", waiting, "places", placeless))
	case max(p.Stepping, d.Stepping) < sideIdle && most >= 1:
		limit(result.LimitUnknown, "info", fact.Of("pd_limit.idle_waiting", "prefill", 1-p.Stepping, "decode", 1-d.Stepping, "waiting", most))
	case max(p.Stepping, d.Stepping) < sideIdle && t.Sending < sideIdle:
		limit(result.LimitUnknown, "info", fact.Of("pd_limit.idle", "prefill", 1-p.Stepping, "decode", 1-d.Stepping))
	case queues:
		limit(result.LimitLoad, "info", fact.Of("pd_limit.load", "busier", busier))
	case t.Sending > sideFull && t.Sending > p.Stepping+sideAlike:
		limit(result.LimitTransfer, "medium", fact.Of("pd_limit.transfer_busy", "sending", t.Sending))
	case p.Stepping >= sideFull:
		limit(result.LimitPrefill, "medium", fact.Of("pd_limit.prefill_busy", "prefill", p.Stepping))
	case d.Stepping > p.Stepping+sideAlike:
		limit(result.LimitDecode, "low", fact.Of("pd_limit.decode_busier", "prefill", p.Stepping, "decode", d.Stepping))
	case p.Stepping > d.Stepping+sideAlike:
		limit(result.LimitPrefill, "low", fact.Of("pd_limit.prefill_busier", "prefill", p.Stepping, "decode", d.Stepping))
	default:
		limit(result.LimitUnknown, "info", fact.Of("pd_limit.neither", "prefill", p.Stepping, "decode", d.Stepping))
	}
	f.Evidence = pdEvidence(pd, looks)
	f.Ranks, f.Names = []int{}, []string{}
	return what, f
}

func pdEvidence(pd *result.PD, looks int) (out []result.Evidence) {
	p, d, t := &pd.Prefill, &pd.Decode, &pd.Transfer
	add := func(unit string, value, against float64, text fact.Fact) {
		out = append(out, proof(unit, value, against, text))
	}
	add("ratio", p.Stepping, d.Stepping, fact.Of("pd_stepping", "prefill", p.Stepping, "decode", d.Stepping, "prefill_busy", p.Busy, "decode_busy", d.Busy))
	if looks >= leastSamples {
		var of fact.Fact
		if n := d.Queue.MostRunning; n > 0 {
			of = fact.Of("pd_most", "n", n)
		}
		add("count", p.Queue.Waiting, waits(&d.Queue), fact.Of("pd_queues", "waiting", p.Queue.Waiting, "sent", p.Queue.Inflight,
			"places", places(&d.Queue), "batch", d.Queue.Waiting, "running", d.Queue.Running, "most", of, "looks", looks))
	} else {
		batch, most := 0.0, 0
		for i := range d.Servers {
			batch, most = max(batch, d.Servers[i].Batch), max(most, d.Servers[i].BatchMax)
		}
		add("count", batch, float64(most), fact.Of("pd_no_queues", "looks", looks, "least", leastSamples, "batch", batch, "most", most))
	}
	if x := &t.Exposed; x.N > 0 {
		when := fact.Of("pd_after", "ns", x.Median)
		if x.Median == 0 {
			when = fact.Of("pd_by_end")
		}
		add("ns", float64(x.Median), float64(t.Took.Median), fact.Of("pd_exposed", "when", when, "n", x.N, "p99", x.P99, "gbs", t.GBs))
	}
	if x := &t.Joined; x.N > 0 {
		add("ns", float64(x.Median), 0, fact.Of("pd_joined", "ns", x.Median, "n", x.N, "p99", x.P99))
	}
	return out
}

// Caveats returns notes on the limitations of the figures.
func Caveats(pd *result.PD) (out []result.Note) {
	note := func(severity string, text fact.Fact) {
		out = append(out, result.Note{Severity: severity, Text: text, Count: 1})
	}
	for _, side := range []*result.PDSide{&pd.Prefill, &pd.Decode} {
		for i := range side.Servers {
			switch s := &side.Servers[i]; {
			case s.Ranks == 0:
				note("warning", fact.Of("pd_no_steps", "server", s.Name))
			case s.NoCore > sideAlike:
				note("warning", fact.Of("pd_no_core", "server", s.Name, "share", s.NoCore))
			case s.OtherSteps > 0:
				note("warning", fact.Of("pd_other_steps", "server", s.Name, "n", s.OtherSteps, "of", s.Steps))
			}
		}
	}
	for _, side := range []*result.PDSide{&pd.Prefill, &pd.Decode} {
		if more, less := uneven(side.Servers); more != nil {
			note("warning", fact.Of("pd_uneven", "more", waits(&more.Queue), "more_at", more.Name, "less", waits(&less.Queue), "less_at", less.Name))
		}
	}
	switch t := &pd.Transfer; {
	case t.Seen == 0:
		note("info", fact.Of("pd_no_transfers"))
	case t.Whole == 0:
		note("info", fact.Of("pd_none_whole"))
	case t.Took.N == 0:
		note("info", fact.Of("pd_one_sided"))
	}
	if recordedApart(pd) {
		note("info", fact.Of("pd_apart"))
	}
	return out
}

// places returns the number of requests that wait for a place on a decode server.
func places(q *result.Queue) float64 { return q.Prealloc + q.Retracted }

// waits returns the number of requests that wait for a place on a server or for a batch.
func waits(q *result.Queue) float64 { return q.Waiting + places(q) }

// uneven returns the servers of a side with the most and the fewest waiting requests, if these numbers differ much. It
// returns nil if the numbers do not differ much, or if they are unknown.
func uneven(servers []result.PDServer) (more, less *result.PDServer) {
	for i := range servers {
		s := &servers[i]
		if s.Queue.Samples < leastSamples {
			return nil, nil
		}
		if more == nil || waits(&s.Queue) > waits(&more.Queue) {
			more = s
		}
		if less == nil || waits(&s.Queue) < waits(&less.Queue) {
			less = s
		}
	}
	if more == nil || waits(&more.Queue) < 2 || 4*waits(&less.Queue) > waits(&more.Queue) {
		return nil, nil
	}
	return more, less
}

// recordedApart reports whether the two sides were recorded at different times. They were if no window of a prefill
// server overlaps a window of a decode server enough. An overlap is enough if it is at least half of the shorter window
// and at least a quarter of the longer window.
func recordedApart(pd *result.PD) bool {
	for i := range pd.Prefill.Servers {
		p := &pd.Prefill.Servers[i]
		for j := range pd.Decode.Servers {
			d := &pd.Decode.Servers[j]
			both := min(p.FromNS+p.WindowNS, d.FromNS+d.WindowNS) - max(p.FromNS, d.FromNS)
			if 2*both >= min(p.WindowNS, d.WindowNS) && 4*both >= max(p.WindowNS, d.WindowNS) {
				return false
			}
		}
	}
	return true
}
