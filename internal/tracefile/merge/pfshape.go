package merge

import (
	"bytes"
	"encoding/binary"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/pftrace"
)

// pfShape is the part that many slices of a file have in common: everything except the times and a few numbers in args.
// For a slice of a known shape, only the times and these numbers are stored until the slice is written. Only the times
// and these numbers are encoded anew in the slice's packet.
type pfShape struct {
	name, cat []byte // as in the file
	text      []byte // args of the first slice
	holes     []hole // positions of the varying numbers
	event     pftrace.Event
	args      pftrace.Args
	odd       bool // whether the shape is unusable because its numbers cannot be distinguished
}

// hole is a varying number at text[lo:hi] of a shape, which is argument number arg.
type hole struct{ lo, hi, arg int }

// newShape creates the shape of a slice.
func newShape(e *chromejson.Event) *pfShape {
	s := &pfShape{
		name: bytes.Clone(e.Text(e.Name)), cat: bytes.Clone(e.Text(e.Cat)), text: bytes.Clone(e.Value(e.Args)),
	}
	for i := range e.Known {
		if k := &e.Known[i]; k.Key.Counts() {
			s.holes = append(s.holes, hole{lo: int(k.At.Lo - e.Args.Lo), hi: int(k.At.Hi - e.Args.Lo)})
		}
	}
	last := len(bytes.TrimRight(s.text, "} \t\r\n"))
	lo := last
	for lo > 1 && s.text[lo-1]-'0' <= 9 {
		lo--
	}
	if n := len(s.holes); lo < last && (s.text[lo-1] == ' ' || s.text[lo-1] == ':') && (n == 0 || s.holes[n-1].hi <= lo) {
		s.holes = append(s.holes, hole{lo: lo, hi: last})
	}
	found := 0
	addArgs(&s.args, s.text, func(lo, hi int) {
		if found < len(s.holes) && s.holes[found].lo == lo && s.holes[found].hi == hi {
			s.holes[found].arg = s.args.Len() - 1
			found++
		}
	})
	for i := range s.holes {
		s.odd = s.odd || found < len(s.holes) || !s.args.Set(s.holes[i].arg, 0)
	}
	s.args.Keep()
	s.event = pftrace.Event{Name: chromejson.Unescape(s.name), Cat: chromejson.Unescape(s.cat), Args: &s.args}
	return s
}

// numbers appends the varying numbers of a slice's args as varints. It returns false if the slice has a different
// shape.
func (s *pfShape) numbers(dst, args []byte) ([]byte, bool) {
	at, from := 0, 0
	for _, h := range s.holes {
		fixed := s.text[from:h.lo]
		if !bytes.HasPrefix(args[at:], fixed) {
			return dst, false
		}
		at += len(fixed)
		end := at
		for end < len(args) && (args[end]-'0' <= 9 || args[end] == '-') {
			end++
		}
		n, ok := chromejson.ParseInt(args[at:end])
		if !ok {
			return dst, false
		}
		dst = binary.AppendVarint(dst, n)
		at, from = end, h.hi
	}
	return dst, bytes.Equal(args[at:], s.text[from:])
}

// fill sets the name, category and args of ev from the shape and a slice's numbers.
func (s *pfShape) fill(ev *pftrace.Event, numbers []byte) {
	for _, h := range s.holes {
		v, n := binary.Varint(numbers)
		numbers = numbers[n:]
		s.args.Set(h.arg, v)
	}
	ev.Name, ev.Cat, ev.Args = s.event.Name, s.event.Cat, s.event.Args
}

// shaped reduces a slice's record to its shape and numbers, if possible. The scanner's shape is only a hint, so the
// texts are compared.
func (p *pfRank) shaped(e *chromejson.Event, r *record) {
	if e.Shape == 0 || !e.Args.Present() {
		return
	}
	at := p.shape + e.Shape
	if at >= len(p.shapes) {
		p.shapes = append(p.shapes, make([]*pfShape, at+1-len(p.shapes))...)
	}
	s := p.shapes[at]
	if s == nil {
		s = newShape(e)
		p.shapes[at] = s
	}
	if s.odd || !bytes.Equal(s.name, r.name) || !bytes.Equal(s.cat, r.cat) {
		return
	}
	numbers, ok := s.numbers(p.numbers[:0], r.args)
	if p.numbers = numbers; ok {
		r.name, r.cat, r.args, r.value = nil, nil, numbers, int64(at)
	}
}
