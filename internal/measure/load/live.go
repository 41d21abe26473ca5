package load

import (
	"cmp"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Live holds the counters of a run in progress. Any number of goroutines may read them without blocking. The zero value
// is ready.
type Live struct {
	Released atomic.Int64 // requests whose send time has passed
	Sent     atomic.Int64
	Done     atomic.Int64 // succeeded
	Failed   atomic.Int64
	Chunks   atomic.Int64 // events with tokens or text
	Tokens   atomic.Int64 // tokens, if the server reports them
	TTFT     Hist         // ns, from Sent to the first text
	ITL      Hist         // ns between events with text

	failures sync.Map // Failed by reason: a *failing
	run      atomic.Pointer[run]
}

// Oldest returns how long the request in flight without text that was sent first has waited so far, or 0 if there is
// none.
func (l *Live) Oldest() time.Duration {
	r := l.run.Load()
	if r == nil {
		return 0
	}
	now := r.clock.now()
	oldest := now
	r.air.mu.Lock()
	defer r.air.mu.Unlock()
	for _, f := range r.air.flights {
		if !f.texted.Load() {
			oldest = min(oldest, f.airborne.Load())
		}
	}
	return time.Duration(now - oldest)
}

// failing counts the requests that failed for one reason.
type failing struct {
	n    atomic.Int64
	last atomic.Pointer[string] // message of the last of these failures
}

// fail counts a failed request.
func (l *Live) fail(why bench.Failure, text string) {
	l.Failed.Add(1)
	f, _ := l.failures.LoadOrStore(why, &failing{})
	f.(*failing).n.Add(1)
	f.(*failing).last.Store(&text)
}

// reasons returns the reasons of the failures so far, the most frequent reason first.
func (l *Live) reasons() (out []bench.Failing) {
	for why, f := range l.failures.Range {
		f := f.(*failing)
		one := bench.Failing{Reason: why.(bench.Failure), Count: int(f.n.Load())}
		if text := f.last.Load(); text != nil {
			one.Example = *text
		}
		out = append(out, one)
	}
	sorts.By(out, func(a, b bench.Failing) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Reason, b.Reason)) })
	return out
}

// Running returns the number of requests in flight. It is never negative.
func (l *Live) Running() int64 {
	ended := l.Done.Load() + l.Failed.Load()
	return max(l.Released.Load()-ended, 0)
}

// Hist is a lock-free histogram of times. Each power of two is divided into 16 buckets, so a quantile is at most 6 %
// too high. The zero value is ready.
type Hist struct {
	n       atomic.Int64
	buckets [48 * histSub]atomic.Int32
}

const histSub = 16

// Add counts one time, in ns.
func (h *Hist) Add(ns int64) {
	h.n.Add(1)
	h.buckets[bucket(ns)].Add(1)
}

func bucket(ns int64) int {
	v := uint64(max(ns, 0))
	if v < histSub {
		return int(v)
	}
	exp := bits.Len64(v) - 5 // values 16 to 31 have exponent 0
	return min((exp+1)*histSub+int(v>>exp)-histSub, 48*histSub-1)
}

// N returns the number of times counted.
func (h *Hist) N() int64 { return h.n.Load() }

// Quantile returns the q-quantile of the counted times. If no times were counted, it returns 0.
func (h *Hist) Quantile(q float64) int64 {
	var c counts
	h.read(&c)
	return c.quantile(q)
}

// counts holds the bucket counts of a histogram at one time, or the increase of the bucket counts between two times.
type counts [48 * histSub]int32

func (h *Hist) read(c *counts) {
	for i := range h.buckets {
		c[i] = h.buckets[i].Load()
	}
}

// since subtracts the counts of an earlier time.
func (c *counts) since(before *counts) {
	for i := range c {
		c[i] -= before[i]
	}
}

func (c *counts) quantile(q float64) int64 {
	var all, seen int64
	for _, n := range c {
		all += int64(n)
	}
	want := int64(q * float64(all))
	last := -1
	for i, n := range c {
		if n == 0 {
			continue
		}
		if seen += int64(n); seen > want {
			return upper(i)
		}
		last = i
	}
	if last < 0 {
		return 0
	}
	return upper(last)
}

func upper(i int) int64 {
	if i < histSub {
		return int64(i)
	}
	exp := i/histSub - 1
	return int64(i%histSub+histSub+1)<<exp - 1
}
