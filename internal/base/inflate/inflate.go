// Package inflate decompresses deflate streams (RFC 1951) directly into the caller's memory. In trace text nearly all
// bytes belong to long matches. This reader copies each byte once. Other readers copy each byte into a window, out of
// the window, and out of a buffer. BenchmarkInflate compares this reader with klauspost's reader, which takes twice as
// long.
package inflate

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// ErrCorrupt is the error for an invalid deflate stream.
var ErrCorrupt = errors.New("the deflate stream is corrupt")

const (
	window   = 32 << 10 // maximum match distance
	maxMatch = 258
	// A match is copied in pieces of this size, possibly past the end of the match. The fast path requires that many
	// free bytes in p.
	piece = 32
)

// Reader decompresses one stream after another. It is meant for reads of about 64 kB and more, because each Read keeps
// a copy of up to 32 kB of text for the next Read.
type Reader struct {
	src *bufio.Reader
	in  []byte // buffer of src
	at  int    // in[:at] has been read into bits

	bits uint64 // bits read from in but not used yet, lowest first
	n    uint   // number of valid bits

	past [2 * window]byte // past[:end] ends with at least one window of the preceding text
	end  int

	step  func(z *Reader, p []byte, o int) (int, error) // function that decodes the current state
	final bool                                          // whether the block is the last one
	left  int                                           // bytes not yet copied of a stored block or a match
	dist  int                                           // distance of that match
	err   error

	lit, dst table
	lens     [maxLit + maxDist]uint8
}

// NewReader returns a Reader of the stream that starts at the next byte of src.
func NewReader(src *bufio.Reader) *Reader {
	z := &Reader{}
	z.Reset(src)
	return z
}

// Reset starts a new stream at the next byte of src.
func (z *Reader) Reset(src *bufio.Reader) {
	z.src, z.in, z.at, z.bits, z.n = src, nil, 0, 0, 0
	z.end, z.left, z.final, z.err = 0, 0, false, nil
	z.step = (*Reader).header
}

// Read decompresses until p is full or the stream ends. After io.EOF, src is positioned behind the stream. On an error
// Read also returns the bytes before the error. The error is ErrCorrupt, io.ErrUnexpectedEOF if src ends too early, or
// src's own error.
func (z *Reader) Read(p []byte) (int, error) {
	o := 0
	for z.err == nil && o < len(p) {
		o, z.err = z.step(z, p, o)
	}
	z.keep(p[:o])
	if o > 0 && z.err == io.EOF {
		return o, nil
	}
	return o, z.err
}

// keep saves the end of the text, because matches in the next Read may refer to it.
func (z *Reader) keep(text []byte) {
	text = text[max(0, len(text)-window):]
	if z.end+len(text) > len(z.past) {
		z.end = copy(z.past[:], z.past[z.end-window:z.end])
	}
	z.end += copy(z.past[z.end:], text)
}

// fill makes at least want bits available, want ≤ 32.
func (z *Reader) fill(want uint) error {
	for z.n < want {
		if z.at == len(z.in) {
			if err := z.more(); err != nil {
				return err
			}
		}
		z.bits |= uint64(z.in[z.at]) << z.n
		z.at++
		z.n += 8
	}
	return nil
}

// more refills in from src. Whole bytes in bits are not consumed from src, because the stream may end before them.
func (z *Reader) more() error {
	ahead := int(z.n / 8)
	_, _ = z.src.Discard(z.at - ahead)
	z.in, z.at = nil, 0
	_, err := z.src.Peek(ahead + 1)
	z.in, _ = z.src.Peek(z.src.Buffered())
	z.at = min(ahead, len(z.in))
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// take consumes want bits, want ≤ 32.
func (z *Reader) take(want uint) (uint, error) {
	if err := z.fill(want); err != nil {
		return 0, err
	}
	v := uint(z.bits & (1<<want - 1))
	z.bits >>= want
	z.n -= want
	return v, nil
}

// header reads a block header, or detects the end of the stream.
func (z *Reader) header(_ []byte, o int) (int, error) {
	if z.final {
		_, _ = z.src.Discard(z.at - int(z.n/8))
		z.in, z.at, z.bits, z.n = nil, 0, 0, 0
		return o, io.EOF
	}
	v, err := z.take(3)
	if err != nil {
		return o, err
	}
	z.final = v&1 != 0
	switch v >> 1 {
	case 0:
		if _, err := z.take(z.n & 7); err != nil { // skip to the next byte boundary
			return o, err
		}
		size, err := z.take(32)
		if err != nil {
			return o, err
		}
		if uint16(size) != ^uint16(size>>16) {
			return o, ErrCorrupt
		}
		z.left, z.step = int(size&0xffff), (*Reader).stored
		return o, nil
	case 1:
		z.fixed()
	case 2:
		if err := z.codes(); err != nil {
			return o, err
		}
	default:
		return o, ErrCorrupt
	}
	z.left, z.step = 0, (*Reader).block
	return o, nil
}

// stored copies an uncompressed block.
func (z *Reader) stored(p []byte, o int) (int, error) {
	for z.left > 0 && o < len(p) {
		switch {
		case z.n > 0: // first use the whole bytes that are already in bits
			p[o] = byte(z.bits)
			z.bits >>= 8
			z.n -= 8
			o++
			z.left--
		case z.at == len(z.in):
			if err := z.more(); err != nil {
				return o, err
			}
		default:
			k := copy(p[o:min(len(p), o+z.left)], z.in[z.at:])
			o += k
			z.at += k
			z.left -= k
		}
	}
	if z.left == 0 {
		z.step = (*Reader).header
	}
	return o, nil
}

// block reads symbols until p is full or the block ends.
func (z *Reader) block(p []byte, o int) (int, error) {
	for {
		if z.left > 0 { // rest of a match that did not fit in the last Read
			o = z.copy(p, o)
		}
		var err error
		if o, err = z.fast(p, o); err != nil || o == len(p) {
			return o, err
		}
		e, err := z.symbol(&z.lit)
		switch {
		case err != nil:
			return o, err
		case e&isLiteral != 0:
			p[o] = byte(e >> valueAt)
			o++
			continue
		case e&isEnd != 0:
			z.step = (*Reader).header
			return o, nil
		}
		extra, err := z.take(e.extra())
		if err != nil {
			return o, err
		}
		z.left = int(e>>valueAt) + int(extra)
		if e, err = z.symbol(&z.dst); err != nil {
			return o, err
		}
		if extra, err = z.take(e.extra()); err != nil {
			return o, err
		}
		z.dist = int(e>>valueAt) + int(extra)
		if z.dist > o+z.end {
			z.left = 0
			return o, ErrCorrupt
		}
	}
}

// copy copies as much of the match as fits in p.
func (z *Reader) copy(p []byte, o int) int {
	end := min(o+z.left, len(p))
	z.left -= end - o
	if from := o - z.dist; from < 0 {
		o += copy(p[o:end], z.past[z.end+from:z.end])
	}
	for ; o < end; o++ {
		p[o] = p[o-z.dist]
	}
	return o
}

// symbol reads and consumes one code of t, without the extra bits of the code.
func (z *Reader) symbol(t *table) (entry, error) {
	for {
		e := t.first[z.bits&(1<<firstBits-1)]
		used := uint(0)
		if e&isMore != 0 {
			used = firstBits
			e = t.more[uint64(e>>valueAt)+z.bits>>firstBits&(1<<(maxBits-firstBits)-1)]
		}
		if used += e.code(); used <= z.n {
			if e&isBad != 0 {
				return 0, ErrCorrupt
			}
			z.bits >>= used
			z.n -= used
			return e, nil
		}
		if err := z.fill(z.n + 1); err != nil {
			return 0, err
		}
	}
}

// fast is the fast path of block. It needs enough preceding output, remaining input and space in p, which is nearly
// always the case. It stops before any symbol that it cannot handle.
func (z *Reader) fast(p []byte, o int) (int, error) {
	in, at, bits, n := z.in, z.at, z.bits, z.n
	lit, dst := &z.lit, &z.dst
	var err error
	for len(p)-o >= maxMatch+piece && len(in)-at >= 16 {
		bits |= binary.LittleEndian.Uint64(in[at:]) << (n & 63)
		at += int((63 - n) >> 3)
		n |= 56
		e := lit.first[bits&(1<<firstBits-1)]
		if e&isLiteral != 0 {
			bits >>= e & 31
			n -= uint(e & 31)
			p[o] = byte(e >> valueAt)
			o++
			e = lit.first[bits&(1<<firstBits-1)]
			if e&isLiteral != 0 {
				bits >>= e & 31
				n -= uint(e & 31)
				p[o] = byte(e >> valueAt)
				o++
				continue
			}
			bits |= binary.LittleEndian.Uint64(in[at:]) << (n & 63)
			at += int((63 - n) >> 3)
			n |= 56
		}
		before, had := bits, n
		if e&isMore != 0 {
			bits >>= firstBits
			n -= firstBits
			e = lit.more[uint64(e>>valueAt)+bits&(1<<(maxBits-firstBits)-1)]
			if e&isLiteral != 0 {
				bits >>= e & 31
				n -= uint(e & 31)
				p[o] = byte(e >> valueAt)
				o++
				continue
			}
		}
		if e&(isEnd|isBad) != 0 {
			bits, n = before, had
			break // symbol handles it
		}
		length := int(e>>valueAt) + int(bits&(1<<(e&31)-1)>>e.code())
		bits >>= e & 31
		n -= uint(e & 31)
		e = dst.first[bits&(1<<firstBits-1)]
		if e&isMore != 0 {
			bits >>= firstBits
			n -= firstBits
			e = dst.more[uint64(e>>valueAt)+bits&(1<<(maxBits-firstBits)-1)]
		}
		if e&isBad != 0 {
			err = ErrCorrupt
			break
		}
		dist := int(e>>valueAt) + int(bits&(1<<(e&31)-1)>>e.code())
		bits >>= e & 31
		n -= uint(e & 31)
		from := o - dist
		end := o + length
		switch {
		case from < 0:
			if dist > o+z.end {
				err = ErrCorrupt
				goto done
			}
			z.left, z.dist = length, dist
			z.copy(p, o)
		case dist >= piece:
			for ; o < end; o, from = o+piece, from+piece {
				to, what := p[o:o+piece:o+piece], p[from:from+piece:from+piece]
				*(*[piece / 2]byte)(to) = *(*[piece / 2]byte)(what) // one load, one store
				*(*[piece / 2]byte)(to[piece/2:]) = *(*[piece / 2]byte)(what[piece/2:])
			}
		default:
			for ; o < end; o, from = o+1, from+1 {
				p[o] = p[from]
			}
		}
		o = end
	}
done:
	z.at, z.bits, z.n = at, bits&(1<<n-1), n
	return o, err
}
