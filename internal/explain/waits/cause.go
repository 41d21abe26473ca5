package waits

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
)

// Causes divides the time that the slowest tenth of a run's requests waited for their first token by cause. In an open
// loop the time counts from the time at which a request was due, otherwise from sending.
type Causes struct {
	Slowest int   `json:"requests"`   // number of requests in the slowest tenth
	Held    int   `json:"recorded"`   // number of those whose first token a window holds
	All     int64 `json:"slowest_ns"` // mean time of the slowest tenth
	// Others is the number of recorded requests that waited nearly as long, if Held is 0. If there are none either, it is
	// the number of those that waited longer than the median. The causes are those of the Held requests or of these.
	Others  int          `json:"others"`
	NS      int64        `json:"ns"`      // their mean time
	Causes  []Cause      `json:"causes"`  // largest first; they add up to NS
	Covered []bench.Span `json:"covered"` // recorded parts of the load, in the run's time
	// Overload describes a server that is over its capacity or at its limit, even if no window holds a slow request. It is
	// empty if the server keeps up, or if this is not known.
	Overload fact.Fact `json:"overload"`
}

// Cause is one cause of waits.
type Cause struct {
	Kind  string    `json:"kind"`
	NS    int64     `json:"ns"` // mean time of a request
	Share float64   `json:"share"`
	Title fact.Fact `json:"title"`
}

// Kinds of causes.
const (
	byClientLimit  = "client_limit" // waiting in the client for the limit of requests in flight
	byClient       = "client"       // sending late for other reasons
	byOverload     = "overload"     // queue of a server that is over its capacity
	byLimit        = "at_limit"     // queue of a server that is at its limit
	byBurst        = "at_once"      // queue of a load whose requests are all sent at once
	byQueue        = "queue"        // other queue, during steps of other requests
	byUnseenQueue  = "queue_not_recorded"
	byOtherPrefill = "other_prefill" // prefill of other requests, in the queue too unless the queue has a cause above
	byOwnPrefill   = "own_prefill"
	byCacheMiss    = "cache_miss" // own prefill of tokens that are usually cached
	bySlowRank     = "slow_rank"
	byStall        = "stall" // the server made no progress
	byOtherSteps   = "other_steps"
	byLaterText    = "text_later" // own decode steps until a token had text
	byGaps         = "gaps"       // short times between steps
	byWay          = "way"
	byPlace        = "place"
	byTransfer     = "transfer"
	byJoin         = "join"
	byReply        = "reply"
	notRecorded    = "not_recorded"
)

// slowTenth is the quantile of TTFT from which a request belongs to the slowest tenth.
const slowTenth = 0.9

// nearly is the share of the shortest wait of the slowest tenth from which a request waited nearly as long.
const nearly = 0.9

// A prompt misses the cache if the requests of the load find at least usualHits of their prompt tokens in the cache, and
// the prompt less than half of that share.
const usualHits = 0.2

// causes returns nil if the run has no TTFT.
func (j *Joined) causes() *Causes {
	all := j.ttfts()
	if len(all) == 0 || j.run == nil {
		return nil
	}
	open := j.run.Rate > 0 || j.run.Traced
	due := func(s *slow) int64 {
		if open && s.r.Turn == 0 && s.r.Scheduled >= 0 {
			return min(s.r.Scheduled, s.from)
		}
		return s.from
	}
	took := make([]int64, len(all))
	for i := range all {
		took[i] = all[i].to - due(&all[i])
	}
	sorted := slices.Sorted(slices.Values(took))
	from := metric.Quantile(sorted, slowTenth)
	pace := bench.Summarize(j.records, j.run, bench.Options{}).Pace
	b := &blame{j: j, pace: pace, hits: min(hitRate(j.records), 1), ns: map[string]int64{}}
	c := &Causes{Causes: []Cause{}, Covered: []bench.Span{}, Overload: overload(pace)}
	explain := func(from, to float64) (n, held int) {
		for i := range all {
			s := &all[i]
			if float64(took[i]) < from || float64(took[i]) >= to {
				continue
			}
			n++
			if one, ok := j.explain(s); ok {
				held++
				b.add(s, &one.Wait, due(s))
			}
		}
		return n, held
	}
	if c.Slowest, c.Held = explain(from, math.Inf(1)); c.Held == 0 {
		if _, c.Others = explain(nearly*from, from); c.Others == 0 {
			_, c.Others = explain(metric.Quantile(sorted, 0.5), from)
		}
	}
	c.All = int64(metric.Mean(sorted[len(sorted)-c.Slowest:]))
	for _, l := range j.lanes {
		for _, w := range l.windows {
			c.Covered = append(c.Covered, bench.Span{From: j.at(w.from), To: j.at(w.to)})
		}
	}
	sorts.By(c.Covered, func(a, b bench.Span) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	c.Covered = slices.Compact(c.Covered)
	n := int64(c.Held + c.Others)
	if n == 0 {
		return c
	}
	var total int64
	for _, ns := range b.ns {
		total += ns
	}
	for kind, ns := range b.ns {
		if ns > 0 {
			c.Causes = append(c.Causes, Cause{Kind: kind, NS: ns / n, Share: metric.Share(ns, total), Title: b.title(kind)})
		}
	}
	sorts.By(c.Causes, func(a, b Cause) int { return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Kind, b.Kind)) })
	c.NS = total / n
	return c
}

// overload describes a server that does not keep up.
func overload(p *bench.Pace) (f fact.Fact) {
	if p != nil && p.Verdict == bench.Overload {
		f = fact.Of("waits_over_capacity", "offered", p.Offered, "completed", p.Sustained)
	} else if p != nil && p.Verdict == bench.AtLimit {
		f = fact.Of("waits_at_limit", "offered", p.Offered, "completed", p.Sustained)
	}
	return f
}

// hitRate returns the share of the prompt tokens of a load that were in the server's cache. Requests whose cached tokens
// are not known do not count.
func hitRate(records []bench.Record) float64 {
	cached, all := 0, 0
	for i := range records {
		if r := &records[i]; r.OK() && r.CachedTokens >= 0 {
			cached, all = cached+r.CachedTokens, all+r.PromptLen
		}
	}
	return metric.Share(cached, all)
}

// blame adds up causes.
type blame struct {
	j    *Joined
	pace *bench.Pace
	hits float64
	ns   map[string]int64

	queue, queueSlow        int64 // sums of recorded queue, and of its part that waited for a late rank
	missPrompts, missCached int   // prompt tokens of requests that missed the cache
}

// add adds the waits of a request that was due at the given time.
func (b *blame) add(s *slow, w *Wait, due int64) {
	gate := max(min(s.r.Released, s.from)-due, 0)
	b.ns[byClientLimit] += gate
	b.ns[byClient] += s.from - due - gate
	queue := w.Queue
	take := func(kind string, from *int64, n int64) {
		n = max(min(n, *from), 0)
		*from -= n
		b.ns[kind] += n
	}
	b.queue, b.queueSlow = b.queue+w.Queue-w.QueueUnseen, b.queueSlow+w.QueueSlow
	if kind := b.queueKind(); kind != byQueue {
		take(kind, &queue, queue)
	} else {
		take(bySlowRank, &queue, w.QueueSlow)
		take(byStall, &queue, w.QueuePaused-w.QueueSlow) // a pause within a step may be the wait for a late rank
		take(byOtherPrefill, &queue, w.QueuePrefill)
		take(byUnseenQueue, &queue, w.QueueUnseen)
		take(byQueue, &queue, queue)
	}
	gaps, others, own := w.Stall, w.OtherSteps, w.Decode
	paused := max(w.Paused-w.QueuePaused-w.SlowRank, 0)
	for _, part := range []*int64{&gaps, &others, &own} {
		n := min(paused, *part)
		take(byStall, part, n)
		paused -= max(n, 0)
	}
	missed := b.missed(s.r, w.Prefill)
	for kind, n := range map[string]int64{
		byGaps: gaps, byOtherSteps: others, byLaterText: own, bySlowRank: w.SlowRank, byOtherPrefill: w.OtherPrefill, byCacheMiss: missed, byOwnPrefill: w.Prefill - missed,
		byWay: w.Way, byPlace: w.Place, byTransfer: w.Transfer, byJoin: w.Join, byReply: w.Reply, notRecorded: w.NotRecorded,
	} {
		b.ns[kind] += n
	}
}

// queueKind returns the cause of the queue, as far as the whole load shows it.
func (b *blame) queueKind() string {
	switch run := b.j.run; {
	case b.pace != nil && b.pace.Verdict == bench.Overload:
		return byOverload
	case b.pace != nil && b.pace.Verdict == bench.AtLimit:
		return byLimit
	case run.Rate <= 0 && !run.Traced && run.MaxConcurrency == 0 && len(b.j.records) > 1:
		return byBurst
	}
	return byQueue
}

// missed returns the part of a request's own prefill that was spent on tokens that are usually cached.
func (b *blame) missed(r *bench.Record, prefill int64) int64 {
	usual := b.hits * float64(r.PromptLen)
	if b.hits < usualHits || r.CachedTokens < 0 || 2*float64(r.CachedTokens) >= usual {
		return 0
	}
	b.missPrompts, b.missCached = b.missPrompts+r.PromptLen, b.missCached+r.CachedTokens
	return int64(float64(prefill) * (usual - float64(r.CachedTokens)) / float64(r.PromptLen-r.CachedTokens))
}

// title describes a cause and its evidence.
func (b *blame) title(kind string) fact.Fact {
	late := fact.Fact{}
	if 10*b.queueSlow >= b.queue && b.queueSlow > 0 {
		late = fact.Of("waits_queue_late", "share", metric.Share(b.queueSlow, b.queue))
	}
	switch kind {
	case byOverload, byLimit:
		return fact.Of("waits_cause_capacity", "why", overload(b.pace), "late", late)
	case byBurst:
		return fact.Of("waits_cause_at_once", "late", late)
	case byClientLimit:
		return fact.Of("waits_cause_client_limit", "limit", b.j.run.MaxConcurrency)
	case byCacheMiss:
		return fact.Of("waits_cause_cache_miss", "share", metric.Share(b.missCached, b.missPrompts), "usual", b.hits)
	}
	return fact.Of("waits_cause_" + kind)
}
