package inflate

import "math/bits"

// An entry of a table says what a code stands for:
//
//	bits 0–4    how long it is, with the extra bits behind it
//	bits 5–8    how long it is without them
//	bits 9–12   which kind it is of; none of them: a length or a distance
//	bits 16–31  the literal, the least length or distance, or a place in more
type entry uint32

const (
	isLiteral entry = 1 << (9 + iota)
	isEnd           // of the block
	isMore          // the code is longer than firstBits: look there
	isBad           // no such code, or one that must not be used
	valueAt   = 16
)

func (e entry) code() uint  { return uint(e >> 5 & 15) }
func (e entry) extra() uint { return uint(e&31) - e.code() }

const (
	maxBits   = 15 // of a code
	firstBits = 11 // found with one look
	maxLit    = 286
	maxDist   = 30
)

// table finds what the next bits stand for: in first by the first firstBits,
// and else in more by the others, which follow each other there.
type table struct {
	first [1 << firstBits]entry
	more  []entry
}

// build makes the table for codes of these lengths, 0 where a symbol has none;
// what[s] is the entry of symbol s but for the length of its code. It reports
// false if there are too many or too few codes; a single one of one bit may be
// alone, or none at all.
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

// What symbols stand for (RFC 1951, 3.2.5), as build wants it.
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

// fixed makes the tables of blocks that have none of their own (3.2.6).
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

// codes reads the lengths of a block's codes (3.2.7).
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

// lenOrder is in which order the lengths of the lengths' codes stand.
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
