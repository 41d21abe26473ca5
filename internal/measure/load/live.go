package load

import (
	"math/bits"
	"sync/atomic"
)

// Live counts a run while it goes on. Any number of goroutines may look at it;
// nobody waits for anybody. The zero value is ready.
type Live struct {
	Released atomic.Int64 // requests whose time came
	Sent     atomic.Int64
	Done     atomic.Int64 // succeeded
	Failed   atomic.Int64
	Chunks   atomic.Int64 // events with tokens or text
	Tokens   atomic.Int64 // as far as the server says
	TTFT     Hist         // ns, from Sent to the first text
	ITL      Hist         // ns between events with text
}

// Running is the number of requests in the air. It is never negative.
func (l *Live) Running() int64 {
	ended := l.Done.Load() + l.Failed.Load()
	return max(l.Released.Load()-ended, 0)
}

// Hist is a histogram of times that many goroutines fill without locks. Its
// buckets are a sixteenth of their power of two wide, so a quantile is up to
// 6 % too high. The zero value is ready.
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
	exp := bits.Len64(v) - 5 // 16..31 is exponent 0
	return min((exp+1)*histSub+int(v>>exp)-histSub, 48*histSub-1)
}

// N is how many times were counted.
func (h *Hist) N() int64 { return h.n.Load() }

// Quantile gives the time that a part q of all does not pass; 0: there are none.
func (h *Hist) Quantile(q float64) int64 {
	want := int64(q * float64(h.n.Load()))
	var seen int64
	last := 0
	for i := range h.buckets {
		n := int64(h.buckets[i].Load())
		if n == 0 {
			continue
		}
		if seen += n; seen > want {
			return upper(i)
		}
		last = i
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
