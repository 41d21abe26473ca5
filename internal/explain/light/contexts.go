package light

import (
	"cmp"
	"sort"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/trace"
)

// sampleReach is the maximum time between a step and a sample of the contexts.
const sampleReach = int64(30 * time.Second)

// fromNames is the source of contexts that the names of the steps tell.
const fromNames = "names"

// sources lists the sources of samples, the best first.
var sources = []string{trace.ContextsLoad, trace.ContextsGauge, trace.ContextsBlocks, trace.ContextsUsed}

// told collects the contexts of the steps from one source.
type told struct {
	steps     int64
	low, high int64 // sums over the steps
	far       int64 // largest time to a sample, ns
}

// sampled sets the bounds of a decode step's keys from the nearest sample: until then, each request got at most one token
// in each step. The nearest sample on the other side of the step narrows the bounds, unless it contradicts them: then
// other requests run there. With about, the step has at most as many requests as the batch. pace is the shortest time of
// a step. sampled returns the source, or "" if there is no sample, and the time to the nearest one.
func (c *comparer) sampled(b *Batch, dp int, at, pace int64, about bool) (from string, far int64) {
	if c.contexts == nil {
		return "", 0
	}
	for _, from := range sources {
		for _, same := range []bool{true, false} { // samples with as many requests come first
			near, other := c.around(from, dp, at, func(s *trace.ContextSample) bool { return !same || s.Running == b.Requests })
			if near == nil || other != nil && max(at-near.At, near.At-at) > max(at-other.At, other.At-at) {
				near, other = other, near
			}
			x, ok := c.bound(near, b, at, pace, about)
			if !ok {
				continue
			}
			if y, ok := c.bound(other, b, at, pace, about); ok && max(x.KeysMost, y.Keys) == x.KeysMost && max(y.KeysMost, x.Keys) == y.KeysMost {
				x.Keys, x.KeysMost = max(x.Keys, y.Keys), min(x.KeysMost, y.KeysMost)
			}
			if x.KeysMost = c.most(x.KeysMost, b.Requests); x.KeysMost >= x.Keys {
				x.Pairs = x.Keys
				*b = x
				return from, max(at-near.At, near.At-at)
			}
		}
	}
	return "", 0
}

// bound returns the batch with the bounds of its keys, and of those of each request, by one sample.
func (c *comparer) bound(s *trace.ContextSample, b *Batch, at, pace int64, about bool) (out Batch, ok bool) {
	if s == nil {
		return out, false
	}
	out = *b
	if out.Keys, out.KeysMost, ok = keysOf(s, int64(b.Requests), about); !ok {
		return out, false
	}
	if s.From == trace.ContextsBlocks && c.m.windowed() { // blocks of layers with a window count too
		out.Keys = int64(b.Requests)
	}
	out.Least, out.Most = s.Least, s.Most
	if steps := (at-s.At)/max(pace, 1) + 1; s.At <= at {
		out.KeysMost += steps * int64(b.Requests)
		if s.Most > 0 {
			out.Most += steps
		}
	} else {
		steps = (s.At-at)/max(pace, 1) + 1
		out.Keys = max(out.Keys-steps*int64(b.Requests), int64(b.Requests))
		if s.Least > 0 {
			out.Least = max(s.Least-steps, 1)
		}
	}
	return out, true
}

// around returns the nearest samples of a source and a data-parallel rank before and after a moment; nil: none. It looks at
// no more than mostSamples in each direction.
func (c *comparer) around(from string, dp int, at int64, is func(*trace.ContextSample) bool) (before, after *trace.ContextSample) {
	if c.samples == nil {
		c.samples = samplesOf(c.contexts)
	}
	for _, dp := range []int{max(dp, 0), -1} {
		list := c.samples[samplesKey{from, dp}]
		next := sort.Search(len(list), func(i int) bool { return list[i].At > at })
		for i := next - 1; i >= max(next-mostSamples, 0) && at-list[i].At <= sampleReach; i-- {
			if s := list[i]; is(s) {
				if before == nil || s.At > before.At {
					before = s
				}
				break
			}
		}
		for i := next; i < min(next+mostSamples, len(list)) && list[i].At-at <= sampleReach; i++ {
			if s := list[i]; is(s) {
				if after == nil || s.At < after.At {
					after = s
				}
				break
			}
		}
	}
	return before, after
}

// mostSamples limits the samples on each side of a step among which one with the requests of the step is searched.
const mostSamples = 200

// samplesKey is the source and the data-parallel rank of samples; -1: of all ranks together.
type samplesKey struct {
	from string
	dp   int
}

// samplesOf returns the samples of each source and rank, in the order of their times.
func samplesOf(contexts *trace.Contexts) map[samplesKey][]*trace.ContextSample {
	out := map[samplesKey][]*trace.ContextSample{}
	for i := range contexts.Samples {
		s := &contexts.Samples[i]
		key := samplesKey{s.From, max(s.DP, -1)}
		out[key] = append(out[key], s)
	}
	for _, list := range out {
		sorts.Stable(list, func(a, b *trace.ContextSample) int { return cmp.Compare(a.At, b.At) })
	}
	return out
}

// keysOf bounds the sum of the contexts of n requests, by a sample of more or fewer requests.
func keysOf(s *trace.ContextSample, n int64, about bool) (low, high int64, ok bool) {
	running := int64(s.Running)
	switch more := running - n; {
	case more == 0 || about && more < 0:
		return s.Low, s.High, true
	case s.Most > 0 && more > 0:
		return max(n*s.Least, s.Low-more*s.Most), min(n*s.Most, s.High-more*s.Least), true
	case s.Most > 0:
		return s.Low - more*s.Least, s.High - more*s.Most, true
	case more > 0: // each request has at least one token
		return n, s.High - more, true
	}
	return 0, 0, false
}

// most bounds the keys of a number of requests by the size of the KV cache and the longest context; high is another
// bound. 0: none.
func (c *comparer) most(high int64, requests int) int64 {
	if c.contexts == nil {
		return high
	}
	for _, bound := range []int64{c.contexts.Pool, c.contexts.Longest * int64(requests)} {
		if bound > 0 && (high == 0 || bound < high) {
			high = bound
		}
	}
	return high
}

// paceOf returns the shortest time between the beginnings of two decode steps of a rank, or the time of the only one, ns.
func paceOf(r *match.Rank) (least int64) {
	before := -1
	for i := range r.Steps {
		if r.Steps[i].Info.Kind != trace.Decode {
			continue
		}
		if before >= 0 {
			if d := r.Steps[i].Start - r.Steps[before].Start; d > 0 && (least == 0 || d < least) {
				least = d
			}
		}
		before = i
	}
	if least == 0 && before >= 0 {
		return r.Steps[before].End - r.Steps[before].Start
	}
	return least
}

// windowed reports whether a query of some layer sees only the latest keys.
func (m *Model) windowed() bool {
	for _, n := range m.Windows {
		if n > 0 {
			return true
		}
	}
	return false
}

// toldBy counts a step whose contexts are known from a source; "": they are not known.
func (c *comparer) toldBy(from string, b *Batch, far int64) {
	t := c.told[from]
	if t == nil {
		t = &told{}
		c.told[from] = t
	}
	t.steps++
	t.low, t.high, t.far = t.low+b.Keys, t.high+max(b.KeysMost, b.Keys), max(t.far, far)
}

// contextsFact states the source of the contexts of most decode steps.
func (c *comparer) contextsFact() fact.Fact {
	from, best := "", &told{}
	for _, name := range append([]string{fromNames, ""}, sources...) {
		if t := c.told[name]; t != nil && t.steps > best.steps {
			from, best = name, t
		}
	}
	if best.steps == 0 {
		return fact.Fact{}
	}
	low, high := best.low/best.steps, best.high/best.steps
	switch from {
	case fromNames:
		return fact.Of("light_contexts_names")
	case trace.ContextsLoad:
		return fact.Of("light_contexts_load", "low", low, "high", high, "far", best.far)
	case trace.ContextsGauge:
		return fact.Of("light_contexts_gauge", "low", low, "high", high, "far", best.far)
	case trace.ContextsBlocks:
		return fact.Of("light_contexts_blocks", "low", low, "high", high, "far", best.far)
	case trace.ContextsUsed:
		return fact.Of("light_contexts_used", "high", high, "far", best.far)
	}
	if high > 0 {
		return fact.Of("light_contexts_most", "high", high)
	}
	return fact.Of("light_contexts_unknown")
}

// cacheBytes returns the bytes of an element of the KV cache, and says where they come from; 0: unknown.
func (o *Options) cacheBytes() (int, fact.Fact) {
	is, _ := o.Flags["kv_cache_dtype"].(string)
	if o.Contexts != nil {
		is = cmp.Or(o.Contexts.Cache, is)
	}
	auto := is == "" || is == "auto"
	switch {
	case auto && o.Model.CacheScaled:
		return 0, fact.Of("light_cache_scaled")
	case is == "":
		return actBytes, fact.Of("light_cache_model")
	case auto:
		return actBytes, fact.Of("light_cache_auto")
	case is == "bfloat16" || is == "bf16" || is == "float16" || is == "fp16" || is == "half":
		return 2, fact.Of("light_cache", "is", is)
	case strings.HasPrefix(is, "fp8") || is == "int8":
		return 1, fact.Of("light_cache", "is", is)
	}
	return 0, fact.Of("light_cache_unknown", "is", is)
}
