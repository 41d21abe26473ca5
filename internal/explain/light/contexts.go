package light

import (
	"cmp"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/explain/fact"
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

// sampled sets the bounds of a decode step's keys from the samples before and after it. With about, the step has at
// most as many requests as the batch. It returns the source, or "" if there are no such samples.
func (c *comparer) sampled(b *Batch, dp int, at int64, about bool) (from string, far int64) {
	if c.contexts == nil {
		return "", 0
	}
	for _, from := range sources {
		for _, same := range []bool{true, false} { // samples with as many requests come first
			before, after := c.around(from, dp, at, func(s *trace.ContextSample) bool { return !same || s.Running == b.Requests })
			low, high, far := int64(-1), int64(0), int64(0)
			least, most := int64(0), int64(0)
			for _, s := range []*trace.ContextSample{before, after} {
				if s == nil {
					continue
				}
				l, h, ok := keysOf(s, int64(b.Requests), about)
				if l = c.clip(from, l, s); !ok {
					continue
				}
				if low < 0 {
					low, least = l, s.Least
				}
				low, high, far = min(low, l), max(high, h), max(far, max(at-s.At, s.At-at))
				least, most = min(least, s.Least), max(most, s.Most)
			}
			if high = c.most(high, b.Requests); low >= 0 && high >= low {
				b.Keys, b.Pairs, b.KeysMost, b.Least, b.Most = low, low, high, least, most
				return from, far
			}
		}
	}
	return "", 0
}

// clip returns the lower bound of a sample. The blocks of layers with a window count too, so blocks only bound the
// contexts of such models from above.
func (c *comparer) clip(from string, low int64, s *trace.ContextSample) int64 {
	if from == trace.ContextsBlocks && c.m.windowed() {
		return int64(s.Running)
	}
	return low
}

// around returns the nearest samples of a source and a data-parallel rank before and after a moment; nil: none.
func (c *comparer) around(from string, dp int, at int64, is func(*trace.ContextSample) bool) (before, after *trace.ContextSample) {
	for i := range c.contexts.Samples {
		s := &c.contexts.Samples[i]
		if s.From != from || s.DP >= 0 && s.DP != max(dp, 0) || !is(s) {
			continue
		}
		if s.At <= at && at-s.At <= sampleReach {
			before = s
		} else if s.At > at {
			if s.At-at <= sampleReach {
				after = s
			}
			break
		}
	}
	return before, after
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
	with := []any{"low", low, "high", high, "far", best.far}
	switch from {
	case fromNames:
		return fact.Of("light_contexts_names")
	case trace.ContextsLoad:
		return fact.Of("light_contexts_load", with...)
	case trace.ContextsGauge:
		return fact.Of("light_contexts_gauge", with...)
	case trace.ContextsBlocks:
		return fact.Of("light_contexts_blocks", with...)
	case trace.ContextsUsed:
		return fact.Of("light_contexts_used", with...)
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
