package comm

import "time"

// moved estimates the bytes that a collective reads and writes in all.
func (h *hub) moved(c call) int {
	n := len(h.calls)
	if c.kind == allReduce {
		return 8 * len(c.sum) * n
	}
	return len(c.dst) * n
}

// move does rank's share of a collective: the shares of all ranks together are
// the whole, and no two write the same place.
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
		if len(src) > 0 && &to[0] != &src[0] { // peers read it meanwhile, if it is in place
			copy(to, src)
		}
	}
}

// share is the part [lo, hi) of total that falls to one of n, cut at cache
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

// block is what stays in the nearest cache while it is summed, in elements.
const block = 1024

// reduceAll adds up [lo, hi) of all buffers in rank order in the first and
// copies the result to the others.
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
