package inflate

import "math/bits"

// entry is a table entry that describes a code:
//
//	bits 0–4    length of the code with its extra bits
//	bits 5–8    length of the code without them
//	bits 9–12   kind; none set: a length or a distance
//	bits 16–31  the literal, the base length or distance, or an index in more
type entry uint32

const (
	isLiteral entry = 1 << (9 + iota)
	isEnd           // end of block
	isMore          // code longer than firstBits; its entry is in more
	isBad           // no such code, or a forbidden one
	valueAt   = 16
)

func (e entry) code() uint  { return uint(e >> 5 & 15) }
func (e entry) extra() uint { return uint(e&31) - e.code() }

const (
	maxBits   = 15 // maximum code length, bits
	firstBits = 11 // number of bits of the first lookup
	maxLit    = 286
	maxDist   = 30
)

// table decodes the next bits: the first firstBits are an index in first. For a longer code, the entry in first gives
// the start of a part of more, and the remaining bits of the code are an index in that part.
type table struct {
	first [1 << firstBits]entry
	more  []entry
}

// build builds the table for codes of the given lengths, where 0 means that the symbol has no code. what[s] is the
// entry of symbol s without the code length. build returns false if the set of codes is over- or under-subscribed. A
// single code of one bit and an empty set of codes are valid.
func (t *table) build(lens []uint8, what []entry) bool {
	var count, next [maxBits + 1]uint
	for _, l := range lens {
		count[l]++
	}
	count[0] = 0
	code, longest := uint(0), 0
	for l := 1; l <= maxBits; l++ {
		code = (code + count[l-1]) << 1
		next[l] = code
		if count[l] > 0 {
			longest = l
		}
	}
	if full := next[longest] + count[longest]; longest > 0 && full != 1<<longest && (longest != 1 || full != 1) {
		return false
	}
	for i := range t.first {
		t.first[i] = isBad | 1<<5 | 1
	}
	t.more = t.more[:0]
	for s, l := range lens {
		if l == 0 {
			continue
		}
		code := uint(bits.Reverse16(uint16(next[l]))) >> (16 - l)
		next[l]++
		e := what[s] + entry(l)
		if l <= firstBits {
			e |= entry(l) << 5
			for ; code < 1<<firstBits; code += 1 << l {
				t.first[code] = e
			}
			continue
		}
		head := &t.first[code&(1<<firstBits-1)]
		if *head&isMore == 0 {
			*head = entry(len(t.more))<<valueAt | isMore
			for range 1 << (maxBits - firstBits) {
				t.more = append(t.more, isBad)
			}
		}
		l -= firstBits
		e += entry(l)<<5 - firstBits
		for code >>= firstBits; code < 1<<(maxBits-firstBits); code += 1 << l {
			t.more[uint(*head>>valueAt)+code] = e
		}
	}
	return true
}

// Entries of the symbols (RFC 1951, 3.2.5), in the form that build expects.
var litKinds [maxLit + 2]entry
var distKinds [maxDist + 2]entry

func init() {
	for s := range 256 {
		litKinds[s] = entry(s)<<valueAt | isLiteral
	}
	litKinds[256] = isEnd
	base := 3
	for s := 257; s < 285; s++ {
		extra := max(0, (s-261)/4)
		litKinds[s] = entry(base)<<valueAt + entry(extra)
		base += 1 << extra
	}
	litKinds[285] = maxMatch << valueAt
	litKinds[286], litKinds[287] = isBad, isBad
	base = 1
	for s := range maxDist {
		extra := max(0, s/2-1)
		distKinds[s] = entry(base)<<valueAt + entry(extra)
		base += 1 << extra
	}
	distKinds[30], distKinds[31] = isBad, isBad
}

// fixed builds the tables of blocks with fixed codes (3.2.6).
func (z *Reader) fixed() {
	var lens [maxLit + 2]uint8
	for s := range lens {
		switch {
		case s < 144:
			lens[s] = 8
		case s < 256:
			lens[s] = 9
		case s < 280:
			lens[s] = 7
		default:
			lens[s] = 8
		}
	}
	z.lit.build(lens[:], litKinds[:])
	for s := range maxDist + 2 {
		lens[s] = 5
	}
	z.dst.build(lens[:maxDist+2], distKinds[:])
}

// codes reads the code lengths of a block with dynamic codes (3.2.7).
func (z *Reader) codes() error {
	v, err := z.take(14)
	if err != nil {
		return err
	}
	nlit, ndist, n := int(v&31)+257, int(v>>5&31)+1, int(v>>10)+4
	if nlit > maxLit || ndist > maxDist {
		return ErrCorrupt
	}
	var lens [19]uint8
	for _, s := range lenOrder[:n] {
		l, err := z.take(3)
		if err != nil {
			return err
		}
		lens[s] = uint8(l)
	}
	if !z.dst.build(lens[:], lenKinds[:]) {
		return ErrCorrupt
	}
	all := z.lens[:nlit+ndist]
	for i := 0; i < len(all); {
		e, err := z.symbol(&z.dst)
		if err != nil {
			return err
		}
		s := uint8(e >> valueAt)
		if s < 16 {
			all[i] = s
			i++
			continue
		}
		extra, err := z.take(e.extra())
		if err != nil {
			return err
		}
		again, l := 3+int(extra), uint8(0)
		switch {
		case s == 18:
			again += 8
		case s == 16 && i == 0:
			return ErrCorrupt
		case s == 16:
			l = all[i-1]
		}
		if again > len(all)-i {
			return ErrCorrupt
		}
		for range again {
			all[i] = l
			i++
		}
	}
	if !z.lit.build(all[:nlit], litKinds[:]) || !z.dst.build(all[nlit:], distKinds[:]) {
		return ErrCorrupt
	}
	return nil
}

// lenOrder is the order in which a block lists the lengths of the codes for code lengths.
var lenOrder = [...]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

var lenKinds = func() (kinds [19]entry) {
	for s := range kinds {
		kinds[s] = entry(s) << valueAt
	}
	kinds[16] += 2
	kinds[17] += 3
	kinds[18] += 7
	return kinds
}()
