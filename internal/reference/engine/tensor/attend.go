package tensor

import (
	"fmt"
	"unsafe"
)

// BlockLen is the number of positions in one block of a paged KV cache.
const BlockLen = PanelRows

// attendRows is the number of query rows that share one pass over the blocks. These rows are four tiles, so three of
// four reads of a block hit the first-level cache.
const attendRows = 4 * tileRows

// StoreK writes the key of one position, hd = len(k) elements, into column pos (0 … 63) of a block [hd][64].
func StoreK(block []float32, pos int, k []float32) {
	if uint(pos) >= BlockLen {
		panic(fmt.Sprintf("tensor: position %d in a block of %d", pos, BlockLen))
	}
	block = block[:len(k)*BlockLen]
	for d, v := range k {
		block[d*BlockLen+pos] = v
	}
}

// StoreV writes v, the value vector of one position, into row pos (0 … 63) of a block of shape [64][hd], where hd =
// len(v).
func StoreV(block []float32, pos int, v []float32) {
	copy(block[pos*len(v):(pos+1)*len(v)], v)
}

// AttendScratch returns the length of the scratch that [AttendRows] needs for n rows of at most length positions.
func AttendScratch(n, length int) int {
	return min(n, attendRows) * roundUp(length)
}

// AttendRows computes attention for n = len(lengths) query rows that share keys and values. Row i is q[i*ldq:] and
// attends to the first lengths[i] ≥ 1 positions. Its result is out[i*ldo:]. Both have hd elements:
//
//	out = Σ_t softmax_t(q·K[t] · scale) · V[t]
//
// Position t lies in block t/64: its key is column t%64 of the key block [hd][64], and its value is row t%64 of the
// value block [64][hd]. The contents of a block beyond the largest length do not matter, but the values of all
// positions below the largest length must be finite. The rows may be the query heads of one KV head; then ldq = hd.
// They may also be the tokens of a prefill; then lengths rise by one and ldq = heads·hd. scratch needs at least
// AttendScratch(n, the largest length) elements. A row's result does not depend on the other rows.
func AttendRows(out []float32, ldo int, q []float32, ldq, hd int, kblocks, vblocks [][]float32, lengths []int, scale float32, scratch []float32) {
	n := len(lengths)
	if n == 0 {
		return
	}
	if hd < 1 {
		panic(fmt.Sprintf("tensor: attention heads of %d elements", hd))
	}
	checkRows("out", len(out), ldo, n, hd)
	checkRows("q", len(q), ldq, n, hd)
	level := Current()
	for i := 0; i < n; i += attendRows {
		ls := lengths[i:min(i+attendRows, n)]
		longest := checkLengths(ls, hd, kblocks, vblocks)
		ld := roundUp(longest)
		if len(scratch) < len(ls)*ld {
			panic(fmt.Sprintf("tensor: attention scratch of %d, need %d", len(scratch), len(ls)*ld))
		}
		s := scratch[:len(ls)*ld]
		scores(level, s, ld, q[i*ldq:], ldq, hd, kblocks, vblocks[0], len(ls), longest)
		for j, l := range ls {
			row := s[j*ld : j*ld+longest]
			softmax(level, row[:l], scale)
			clear(row[l:])
		}
		mix(level, out[i*ldo:], ldo, s, ld, hd, vblocks, len(ls), longest)
	}
}

// checkLengths panics unless the blocks cover all lengths, and returns the largest length.
func checkLengths(lengths []int, hd int, kblocks, vblocks [][]float32) int {
	longest := 0
	for _, l := range lengths {
		if l < 1 {
			panic(fmt.Sprintf("tensor: attention over %d positions", l))
		}
		longest = max(longest, l)
	}
	blocks := roundUp(longest) / BlockLen
	for b := range blocks {
		if len(kblocks[b]) < hd*BlockLen || len(vblocks[b]) < hd*BlockLen {
			panic(fmt.Sprintf("tensor: KV block %d has %d and %d elements, not %d", b, len(kblocks[b]), len(vblocks[b]), hd*BlockLen))
		}
	}
	return longest
}

// scores sets s[i][t] = q[i]·K[t] for at least length positions. It may also compute the remaining positions of the
// last block. next is the start of the data that will be read after the key blocks.
func scores(level Level, s []float32, ld int, q []float32, ldq, hd int, kblocks [][]float32, next []float32, n, length int) {
	for t := 0; t < length; t += BlockLen {
		kb, wanted := kblocks[t/BlockLen], length-t
		k := tile{
			y: &s[t], ldy: ld,
			x: unsafe.SliceData(q), ldx: ldq, n: n,
			w: &kb[0], ldw: BlockLen, k: hd,
		}
		if wanted <= BlockLen/2 && k.runStrips(level, wanted) {
			continue
		}
		if wanted > BlockLen+BlockLen/2 {
			k.ahead = distance(kb, kblocks[t/BlockLen+1])
		} else {
			k.ahead = distance(kb, next)
		}
		k.run(level, F32)
	}
}

// distance returns the number of bytes from the start of the slice one to the start of the slice other.
func distance(one, other []float32) int {
	return int(uintptr(unsafe.Pointer(&other[0])) - uintptr(unsafe.Pointer(&one[0])))
}

// mix sets out[i] = Σ_t p[i][t]·V[t] over length positions.
func mix(level Level, out []float32, ldo int, p []float32, ld, hd int, vblocks [][]float32, n, length int) {
	whole := hd / PanelRows * PanelRows
	for i := range n {
		clear(out[i*ldo+whole : i*ldo+hd])
	}
	for t := 0; t < length; t += BlockLen {
		vb := vblocks[t/BlockLen]
		k := min(BlockLen, length-t)
		ahead := 0
		if length-t > BlockLen+BlockLen/2 {
			ahead = distance(vb, vblocks[t/BlockLen+1])
		}
		for c := 0; c < whole; c += PanelRows {
			tile{
				y: &out[c], ldy: ldo,
				x: &p[t], ldx: ld, n: n,
				w: &vb[c], ldw: hd, k: k, add: t > 0, ahead: ahead,
			}.run(level, F32)
		}
		if whole == hd {
			continue
		}
		for i := range n { // compute the columns that do not fill a tile
			dst := out[i*ldo+whole : i*ldo+hd]
			for j, pt := range p[i*ld+t : i*ld+t+k] {
				axpy(level, dst, vb[j*hd+whole:(j+1)*hd], pt)
			}
		}
	}
}

func roundUp(n int) int { return (n + BlockLen - 1) / BlockLen * BlockLen }
