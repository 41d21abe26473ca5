package judge

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/result"
)

const (
	// A side that is in forward steps for so much of the time has none left.
	sideFull = 0.85
	// Below this on both sides there is too little load to tell by shares.
	sideIdle = 0.5
	// Shares that differ by less are alike.
	sideAlike = 0.1
	// Fewer samples of queues prove nothing.
	leastSamples = 3
)

// Limits says which side limits the throughput. Who waits says it best; without
// samples of queues the shares of time in steps must do. They say less of decode
// servers: one that runs a single request is in steps all the time, too, and takes
// more into its batch. A place on a decode server (memory, and one of its running
// requests) is taken before prefill begins and held meanwhile, so who waits for one
// waits for what those that have one wait for: prefill, what is being sent, or decode.
// Likewise prefill servers that have time but no memory wait for what is being sent.
func Limits(pd *result.PD) (what string, f result.Finding) {
	p, d, t := &pd.Prefill, &pd.Decode, &pd.Transfer
	f = result.Finding{ID: result.Limits, Kind: result.Limits, Severity: "medium", FirstStep: -1, LastStep: -1}
	busier := "prefill"
	if d.Stepping > p.Stepping {
		busier = "decode"
	}
	looks := min(p.Queue.Samples, d.Queue.Samples)
	queues := looks >= leastSamples
	inflight := p.Queue.Inflight
	waiting, placeless := p.Queue.Waiting, waits(&d.Queue)
	most := max(waiting, placeless, inflight)
	unready, decoding := waiting, d.Queue.Running+d.Queue.Waiting // that have a place
	if p.Stepping >= sideIdle {                                   // else they may have arrived, and a long decode step has not seen it
		unready = max(waiting, d.Queue.Transfer-inflight)
	}
	limit := func(by, title string, args ...any) {
		what, f.Cause, f.Title = by, by, fmt.Sprintf(title, args...)
	}
	switch {
	case queues && most >= 1 && waiting == most && inflight >= 1 && p.Stepping < sideIdle && p.Queue.KVUsage > sideFull:
		limit(result.LimitTransfer, "the transfer of keys and values limits the throughput: %.1f requests are computed and being sent, and hold the prefill servers' memory, for which %.1f wait while the servers are idle %s of the time",
			inflight, waiting, metric.Percent(1-p.Stepping))
	case queues && most >= 1 && waiting == most:
		limit(result.LimitPrefill, "the prefill servers limit the throughput: %.1f requests wait for them, %.1f for the decode servers", waiting, placeless)
	case queues && most >= 1 && placeless == most && unready > max(inflight, decoding):
		limit(result.LimitPrefill, "the prefill servers limit the throughput: of the requests that have a place on a decode server %.1f wait for them or are in their steps and %.1f decode; %.1f more wait for a place",
			unready, d.Queue.Running, placeless)
	case queues && most >= 1 && placeless == most && inflight > decoding:
		limit(result.LimitTransfer, "the transfer of keys and values limits the throughput: of the requests that have a place on a decode server %.1f are being sent and %.1f decode; %.1f more wait for a place",
			inflight, d.Queue.Running, placeless)
	case queues && most >= 1 && placeless == most:
		limit(result.LimitDecode, "the decode servers limit the throughput: %.1f requests wait for a place there or a batch, %.1f for the prefill servers", placeless, waiting)
	case queues && most >= 1:
		limit(result.LimitTransfer, "the transfer of keys and values limits the throughput: %.1f requests are computed and being sent, %.1f wait for prefill, %.1f for decode", inflight, waiting, placeless)
	case max(p.Stepping, d.Stepping) < sideIdle && most >= 1:
		f.Severity = "info"
		limit(result.LimitUnknown, "which side limits the throughput cannot be told: both were idle for most of the time (prefill %s, decode %s), and yet %.1f requests waited: record for longer",
			metric.Percent(1-p.Stepping), metric.Percent(1-d.Stepping), most)
	case max(p.Stepping, d.Stepping) < sideIdle && t.Sending < sideIdle:
		f.Severity = "info"
		limit(result.LimitUnknown, "which side limits the throughput cannot be told: there was too little load, both idle (prefill %s of the time, decode %s)",
			metric.Percent(1-p.Stepping), metric.Percent(1-d.Stepping))
	case queues:
		f.Severity = "info"
		limit(result.LimitLoad, "the load limits the throughput: hardly any request waits on either side; the %s servers are the busier ones", busier)
	case t.Sending > sideFull && t.Sending > p.Stepping+sideAlike:
		limit(result.LimitTransfer, "the transfer of keys and values limits the throughput: the prefill servers send %s of the time", metric.Percent(t.Sending))
	case p.Stepping >= sideFull:
		limit(result.LimitPrefill, "the prefill servers limit the throughput: they are in forward steps %s of the time", metric.Percent(p.Stepping))
	case d.Stepping > p.Stepping+sideAlike:
		f.Severity = "low"
		limit(result.LimitDecode, "the decode servers are the busier side: in forward steps %s of the time, prefill %s", metric.Percent(d.Stepping), metric.Percent(p.Stepping))
	case p.Stepping > d.Stepping+sideAlike:
		f.Severity = "low"
		limit(result.LimitPrefill, "the prefill servers are the busier side: in forward steps %s of the time, decode %s", metric.Percent(p.Stepping), metric.Percent(d.Stepping))
	default:
		f.Severity = "info"
		limit(result.LimitUnknown, "neither side stands out: in forward steps prefill servers are %s of the time, decode servers %s", metric.Percent(p.Stepping), metric.Percent(d.Stepping))
	}
	f.Evidence = pdEvidence(pd, looks)
	f.Ranks, f.Names = []int{}, []string{}
	return what, f
}

func pdEvidence(pd *result.PD, looks int) (out []result.Evidence) {
	p, d, t := &pd.Prefill, &pd.Decode, &pd.Transfer
	add := func(value, peers float64, unit, text string, args ...any) {
		out = append(out, result.Evidence{Text: fmt.Sprintf(text, args...), Value: value, Peers: peers, Unit: unit, Step: -1})
	}
	add(p.Stepping, d.Stepping, "ratio", "time in forward steps: prefill %s, decode %s; with kernels running: prefill %s, decode %s",
		metric.Percent(p.Stepping), metric.Percent(d.Stepping), metric.Percent(p.Busy), metric.Percent(d.Busy))
	if looks >= leastSamples {
		add(p.Queue.Waiting, waits(&d.Queue), "count",
			"requests on average: prefill %.1f waiting, %.1f being sent; decode %.1f waiting for a place, %.1f for their batch, %.1f running%s (%d looks at /v1/loads)",
			p.Queue.Waiting, p.Queue.Inflight, places(&d.Queue), d.Queue.Waiting, d.Queue.Running, mostOf(d.Queue.MostRunning), looks)
	} else {
		batch, most := 0.0, 0
		for i := range d.Servers {
			batch, most = max(batch, d.Servers[i].Batch), max(most, d.Servers[i].BatchMax)
		}
		add(batch, float64(most), "count", "who waits is not known: the recorded time has %d looks at /v1/loads on both sides, %d are needed. Decode batches of %.1f requests on average, %d at most: a server that could take more is not full, however busy",
			looks, leastSamples, batch, most)
	}
	if t.Exposed.N > 0 {
		when := metric.Duration(t.Exposed.Median) + " after"
		if t.Exposed.Median == 0 {
			when = "by the end of"
		}
		add(float64(t.Exposed.Median), float64(t.Took.Median), "ns", "a request's keys and values have arrived %s its last prefill kernel (median of %s; p99 %s after it); %s while they move",
			when, metric.Count(t.Exposed.N), metric.Duration(t.Exposed.P99), metric.Rate(t.GBs*1e9))
	}
	if t.Joined.N > 0 {
		add(float64(t.Joined.Median), 0, "ns", "from then it waits %s for its first decode step (median of %s; p99 %s)",
			metric.Duration(t.Joined.Median), metric.Count(t.Joined.N), metric.Duration(t.Joined.P99))
	}
	return out
}

func mostOf(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" of at most %s", metric.Count(n))
}

// Caveats says what the figures lack.
func Caveats(pd *result.PD) (out []result.Note) {
	note := func(severity, text string, args ...any) {
		out = append(out, result.Note{Severity: severity, Text: fmt.Sprintf(text, args...), Count: 1})
	}
	for _, side := range []*result.PDSide{&pd.Prefill, &pd.Decode} {
		for i := range side.Servers {
			switch s := &side.Servers[i]; {
			case s.Ranks == 0:
				note("warning", "%s: its traces name no forward steps, it is left out", s.Name)
			case s.NoCore > sideAlike:
				note("warning", "%s: its software device had no core for %s of the time; its kernels would have run on", s.Name, metric.Percent(s.NoCore))
			case s.OtherSteps > 0:
				note("warning", "%s: %s of its %s steps are of the other side's kind", s.Name, metric.Count(s.OtherSteps), metric.Count(s.Steps))
			}
		}
	}
	for _, side := range []*result.PDSide{&pd.Prefill, &pd.Decode} {
		if more, less := uneven(side.Servers); more != nil {
			note("warning", "requests are spread unevenly: %.1f wait at %s, %.1f at %s, which its router's policy decides; a side that seems to limit may have a server with time to spare",
				waits(&more.Queue), more.Name, waits(&less.Queue), less.Name)
		}
	}
	switch t := &pd.Transfer; {
	case t.Seen == 0:
		note("info", "the traces do not show transfers of keys and values (SGLang's do not)")
	case t.Whole == 0:
		note("info", "no transfer lies whole in the recorded time: record for longer")
	case t.Took.N == 0:
		note("info", "no transfer was recorded on both sides, so how long they took is not known: windows of so many steps are of different length on the two sides; record both for the same time")
	}
	if recordedApart(pd) {
		note("info", "the two sides were recorded at different times, or by clocks that differ: windows of so many steps are of different length on them. To record both for the same time, give profile a --duration")
	}
	return out
}

// places is how many wait for a place on a decode server.
func places(q *result.Queue) float64 { return q.Prealloc + q.Retracted }

// waits is how many wait for a server: for a place on it, or a batch.
func waits(q *result.Queue) float64 { return q.Waiting + places(q) }

// uneven gives the servers of a side at which most and fewest requests wait, if those
// are far from as many; nil: they are not, or it is not known.
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

// recordedApart tells whether no server of one side was recorded while one of the other was,
// for half of the shorter window.
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
