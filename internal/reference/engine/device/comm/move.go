package comm

import "time"

// moved estimates the total number of bytes that a collective reads and writes.
func (h *hub) moved(c call) int {
	n := len(h.calls)
	if c.kind == allReduce {
		return 8 * len(c.sum) * n
	}
	return len(c.dst) * n
}

// move does rank's share of a collective. Together the shares of all ranks cover the whole collective, and no two ranks
// write the same memory.
func (h *hub) move(rank int) {
	n := len(h.calls)
	me := &h.calls[rank]
	if me.slow > 0 {
		time.Sleep(me.slow)
	}
	if me.kind == allReduce {
		h.reduceAll(share(len(me.sum), rank, n))
		return
	}
	for q := range n {
		src := h.calls[q].src
		to := me.dst[q*len(src):]
		if len(src) > 0 && &to[0] != &src[0] { // in place nothing is copied, and peers read src
			copy(to, src)
		}
	}
}

// share returns member i's range [lo, hi) of total elements that are divided among n members. Ranges begin at cache
// lines of 16 float32.
func share(total, i, n int) (lo, hi int) {
	part := (total/n + 15) &^ 15
	lo = min(i*part, total)
	hi = min(lo+part, total)
	if i == n-1 {
		hi = total
	}
	return lo, hi
}

// block is the number of elements summed at a time; they stay in the first-level cache.
const block = 1024

// reduceAll sums [lo, hi) of all buffers in rank order into the first buffer and copies the result to the other
// buffers.
func (h *hub) reduceAll(lo, hi int) {
	for ; lo < hi; lo += block {
		end := min(lo+block, hi)
		acc := h.calls[0].sum[lo:end]
		for q := 1; q < len(h.calls); q++ {
			h.opt.Add(acc, acc, h.calls[q].sum[lo:end])
		}
		for q := 1; q < len(h.calls); q++ {
			if h.calls[q].away == nil {
				copy(h.calls[q].sum[lo:end], acc)
			}
		}
	}
}

func add(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}
