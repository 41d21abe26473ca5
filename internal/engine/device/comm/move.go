package comm

// moved estimates the bytes that a collective reads and writes in all.
func (h *hub) moved(c call) int {
	n := len(h.calls)
	switch c.kind {
	case allReduce:
		return 8 * len(c.fdst) * n
	case reduceScatter:
		return 4 * len(c.fsrc) * n
	}
	return max(len(c.dst), len(c.src)) * n
}

// move does rank's share of a collective: the shares of all ranks together are
// the whole, and no two write the same place.
func (h *hub) move(rank int) {
	n := len(h.calls)
	me := &h.calls[rank]
	switch me.kind {
	case allReduce:
		lo, hi := share(len(me.fdst), rank, n)
		h.reduceAll(lo, hi, me.reduction)
	case reduceScatter:
		h.reduceScatter(rank)
	case allGather:
		for q := range n {
			src := h.calls[q].src
			to := me.dst[q*len(src):]
			if len(src) > 0 && &to[0] != &src[0] { // peers read it meanwhile, if it is in place
				copy(to, src)
			}
		}
	case allToAll:
		at := 0
		for q := range n {
			peer := &h.calls[q]
			from := 0
			for _, c := range peer.srcCounts[:rank] {
				from += c
			}
			count := peer.srcCounts[rank]
			copy(me.dst[at*me.unit:], peer.src[from*me.unit:(from+count)*me.unit])
			me.dstCounts[q] = count
			at += count
		}
	case broadcast:
		if rank != me.root {
			copy(me.dst, h.calls[me.root].dst)
		}
	case barrier:
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

// reduceAll combines [lo, hi) of all buffers in rank order into the first and
// copies the result to the others.
func (h *hub) reduceAll(lo, hi int, r Reduction) {
	for ; lo < hi; lo += block {
		end := min(lo+block, hi)
		acc := h.calls[0].fdst[lo:end]
		for q := 1; q < len(h.calls); q++ {
			h.combine(acc, h.calls[q].fdst[lo:end], r)
		}
		for q := 1; q < len(h.calls); q++ {
			if h.calls[q].away == nil {
				copy(h.calls[q].fdst[lo:end], acc)
			}
		}
	}
}

// reduceScatter combines rank's part in a buffer of its own first: dst may be
// a part of src.
func (h *hub) reduceScatter(rank int) {
	me := &h.calls[rank]
	var buf [block]float32
	part := len(me.fdst)
	for at := 0; at < part; at += block {
		n := min(block, part-at)
		acc, from := buf[:n], rank*part+at
		copy(acc, h.calls[0].fsrc[from:])
		for q := 1; q < len(h.calls); q++ {
			h.combine(acc, h.calls[q].fsrc[from:from+n], me.reduction)
		}
		copy(me.fdst[at:], acc)
	}
}

func (h *hub) combine(acc, x []float32, r Reduction) {
	if r == Max {
		for i, v := range x {
			acc[i] = max(acc[i], v)
		}
		return
	}
	h.opt.Add(acc, acc, x)
}

func add(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}
