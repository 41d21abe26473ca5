package parquetfile

import (
	"encoding/binary"
	"math/bits"
)

// Numbers of the encodings in the format.
const (
	plain             = 0
	rle               = 3
	deltaBinaryPacked = 5
	rleDictionary     = 8
)

// appendHybrid writes values of width bits as runs of equal values and as packed groups of eight: RLE of
// https://parquet.apache.org/docs/file-format/data-pages/encodings.
func appendHybrid(b []byte, values []uint32, width int) []byte {
	for len(values) > 0 {
		if n := run(values); n >= 8 || n == len(values) {
			b = binary.AppendUvarint(b, uint64(n)<<1)
			for i := 0; i < width; i += 8 {
				b = append(b, byte(values[0]>>i))
			}
			values = values[n:]
			continue
		}
		// Pack groups up to the next long run. Only the last group of the column may be padded with zeros.
		groups := 0
		for at := 0; at < len(values) && run(values[at:]) < 8; at = 8 * groups {
			groups++
		}
		b = binary.AppendUvarint(b, uint64(groups)<<1|1)
		var p packer
		for i := range 8 * groups {
			if i < len(values) {
				b = p.append(b, uint64(values[i]), width)
			} else {
				b = p.append(b, 0, width)
			}
		}
		b = p.flush(b)
		values = values[min(8*groups, len(values)):]
	}
	return b
}

// run returns the number of values at the start of the list that equal the first value.
func run(values []uint32) int {
	n := 1
	for n < len(values) && values[n] == values[0] {
		n++
	}
	return n
}

const (
	block     = 128 // values that share a minimum difference
	miniblock = 32  // values that share a bit width
)

// appendDeltas appends values in the encoding DELTA_BINARY_PACKED. Differences wrap around, as the format requires.
func appendDeltas(b []byte, values []int64) []byte {
	b = binary.AppendUvarint(b, block)
	b = binary.AppendUvarint(b, block/miniblock)
	b = binary.AppendUvarint(b, uint64(len(values)))
	b = binary.AppendVarint(b, values[0]) // zigzag, like all signed numbers in this encoding
	var deltas [block]int64
	for at := 1; at < len(values); at += block {
		n := min(block, len(values)-at)
		least := values[at] - values[at-1]
		for i := range n {
			deltas[i] = values[at+i] - values[at+i-1]
			least = min(least, deltas[i])
		}
		b = binary.AppendVarint(b, least)
		for i := n; i < block; i++ {
			deltas[i] = least // pad with zeros beyond the last value
		}
		var widths [block / miniblock]int
		for i, d := range deltas {
			widths[i/miniblock] = max(widths[i/miniblock], bits.Len64(uint64(d-least)))
		}
		for _, w := range widths {
			b = append(b, byte(w))
		}
		for m, w := range widths {
			if m*miniblock >= n {
				break // miniblocks without values have no bytes
			}
			var p packer
			for _, d := range deltas[m*miniblock : (m+1)*miniblock] {
				b = p.append(b, uint64(d-least), w)
			}
			b = p.flush(b)
		}
	}
	return b
}

// packer packs numbers of any width without gaps, lowest bit first.
type packer struct {
	bits uint64
	n    int // pending bits, less than 64
}

func (p *packer) append(b []byte, v uint64, width int) []byte {
	p.bits |= v << p.n
	if p.n += width; p.n >= 64 {
		b = binary.LittleEndian.AppendUint64(b, p.bits)
		p.n -= 64
		p.bits = v >> (width - p.n) // if no bits are left, the shift is by 64 and yields 0
	}
	return b
}

// flush writes the pending bits as whole bytes.
func (p *packer) flush(b []byte) []byte {
	for ; p.n > 0; p.n -= 8 {
		b = append(b, byte(p.bits))
		p.bits >>= 8
	}
	return b
}
