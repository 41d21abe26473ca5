package chromejson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"
)

// shapes stores the texts of events without their varying numbers. Apart from a few numbers, nearly every event of a
// trace repeats the text of an earlier event: a quarter of a million events have about a thousand distinct texts. find
// reads such an event by comparing it with the stored text instead of examining each byte:
//
//	{
//	  "ph": "X", "cat": "kernel", "name": "…", "pid": 0, "tid": 7,
//	  "ts": #, "dur": #,
//	  "args": {
//	    "External id": #,      "queued": 0, …"correlation": #, …
//	  }
//	}
//
// Only an event that fast has read without any deviation gets a shape, so an event that matches a shape is well-formed
// too.
type shapes struct {
	table *[1 << shapeBits]shapeSlot // nil before the first event
	all   []shape                    // all[0] means none
	bytes int                        // bytes of stored text
}

const (
	shapeBits = 13
	probes    = 4 // slots in the table per key
	// If a trace has more shapes than this, only the first maxShapes are kept.
	maxShapes     = 1 << 12
	maxShapeBytes = 2 << 20
	maxShape      = 8 << 10 // maximum event size, bytes
	maxNumbers    = 4       // maximum varying numbers in args

	layoutLine = layoutArgs + "\n      "
	layoutLast = "\n    }" + layoutEnd
)

type shapeSlot struct {
	hash  uint32
	shape uint16 // 0: the key was seen once, or the slot is free
}

type shape struct {
	line   string                 // text up to the time
	args   [maxNumbers + 1]string // the line of args, split at its varying numbers
	n      int                    // number of pieces in args
	number bool                   // whether a number follows the last piece
	cat    Field                  // positions in the event; all of these lie in line
	name   Field
	pid    Field
	tid    Field
	known  []shapedArg
}

// shapedArg is a member of args in a shape: it lies in a piece of text, or it is the number after that piece.
type shapedArg struct {
	key    ArgKey
	number bool
	piece  uint8
	lo, hi uint16 // relative to the start of the piece
}

// find reads the event at the start of b if it has a known shape, and returns its length. Otherwise it returns 0 and
// the key to pass to note. The key is 0 if the event cannot have a shape.
func (s *shapes) find(b []byte, e *Event) (n int, key uint64) {
	if !has(b, 0, layoutHead+"X") {
		return 0, 0
	}
	i := bytes.IndexByte(b[len(layoutHead):], '\n') + len(layoutHead) - 1
	line := b[:max(i, 0)]
	if !has(b, i, layoutTS) {
		return 0, 0
	}
	i += len(layoutTS)
	ts := Field{Lo: uint32(i)}
	if i = decimal(b, i); i == 0 || !has(b, i, layoutDur) {
		return 0, 0
	}
	ts.Hi = uint32(i)
	i += len(layoutDur)
	dur := Field{Lo: uint32(i)}
	if i = decimal(b, i); i == 0 || !has(b, i, layoutLine) {
		return 0, 0
	}
	dur.Hi = uint32(i)
	i += len(layoutLine)
	size := bytes.IndexByte(b[i:], '\n')
	if size < 0 || !has(b, i+size, layoutLast) {
		return 0, 0
	}
	args := b[i : i+size]
	key = shapeKey(line, args)
	if s.table == nil {
		return 0, key
	}
	for k := range uint64(probes) {
		slot := &s.table[(key>>32+k)%(1<<shapeBits)]
		if slot.hash != uint32(key) || slot.shape == 0 {
			continue
		}
		if s.all[slot.shape].fits(line, b[i:], size, e, i) {
			end := i + size + len(layoutLast)
			e.Raw, e.Ph, e.TS, e.Dur, e.flags = b[:end], 'X', ts, dur, 0
			e.Args = Field{dur.Hi + uint32(len(layoutArgs)) - 1, uint32(end - len(layoutEnd))}
			e.ID, e.Shape = Field{}, int(slot.shape)
			return end, key
		}
	}
	return 0, key
}

// fits reports whether an event matches the shape. line is the event's first line. The event's args are the first size
// bytes of b and begin at offset i of the event. On a match fits sets the fields of e that lie in the line and the
// args.
func (f *shape) fits(line, b []byte, size int, e *Event, i int) bool {
	if string(line) != f.line {
		return false
	}
	var at [maxNumbers + 2]int // start of each piece of args
	p := 0
	for k, piece := range f.args[:f.n] {
		at[k] = p
		if !has(b, p, piece) {
			return false
		}
		p += len(piece)
		if k < f.n-1 || f.number {
			if p = integer(b, p); p == 0 {
				return false
			}
		}
	}
	if p != size {
		return false
	}
	at[f.n] = p
	e.Cat, e.Name, e.PID, e.TID, e.Known = f.cat, f.name, f.pid, f.tid, e.Known[:0]
	for _, a := range f.known {
		from := i + at[a.piece]
		where := Field{uint32(from + int(a.lo)), uint32(from + int(a.hi))}
		if a.number {
			where.Hi = uint32(i + at[a.piece+1])
		}
		e.Known = append(e.Known, Arg{a.key, where})
	}
	return true
}

// note stores the event's shape when its key occurs for the second time.
func (s *shapes) note(key uint64, e *Event) {
	if key == 0 || e.flags != 0 || len(e.Raw) > maxShape {
		return
	}
	if s.table == nil {
		s.table = new([1 << shapeBits]shapeSlot)
		s.all = make([]shape, 1, 256)
	}
	var free *shapeSlot
	seen := false
	for k := range uint64(probes) {
		slot := &s.table[(key>>32+k)%(1<<shapeBits)]
		seen = seen || slot.hash == uint32(key)
		if slot.shape == 0 && (free == nil || slot.hash == uint32(key)) {
			free = slot
		}
	}
	if free == nil {
		return
	}
	free.hash = uint32(key)
	if seen && len(s.all) < maxShapes && s.bytes < maxShapeBytes {
		free.shape = s.add(e)
	}
}

// Counts reports whether the number in this member differs from event to event, such as a correlation id.
func (k ArgKey) Counts() bool {
	return k == ArgExternalID || k == ArgCorrelation || k == ArgConnection || k == ArgSeq || k == ArgPythonID || k == ArgPythonParent
}

// add stores the event's text, split at its varying numbers, and returns the shape's number. It returns 0 if there are
// too many numbers.
func (s *shapes) add(e *Event) uint16 {
	raw := string(e.Raw)
	piece := int(e.Dur.Hi) + len(layoutLine) // start of the current piece
	end := len(raw) - len(layoutLast)
	if end < piece || raw[end:] != layoutLast || strings.Contains(raw[piece:end], "\n") {
		return 0 // find would look for the end of args elsewhere
	}
	f := shape{line: raw[:int(e.TS.Lo)-len(layoutTS)], cat: e.Cat, name: e.Name, pid: e.PID, tid: e.TID}
	cut := func(lo, hi int) {
		f.args[f.n] = raw[piece:lo]
		f.n++
		piece = hi
	}
	for i := range e.Known {
		a := &e.Known[i]
		lo, hi := int(a.At.Lo), int(a.At.Hi)
		number := a.Key.Counts() && integer(e.Raw, lo) == hi
		f.known = append(f.known, shapedArg{a.Key, number, uint8(f.n), uint16(lo - piece), uint16(hi - piece)})
		if number {
			if f.n == maxNumbers {
				return 0
			}
			cut(lo, hi)
		}
	}
	// A number at the end of args also varies if its key is unknown, such as "Ev Idx" of an operator. A last number
	// whose key is known, such as the bytes of a copy, distinguishes shapes like any other text.
	last := end
	for last > piece && raw[last-1]-'0' <= 9 {
		last--
	}
	known := len(e.Known) > 0 && int(e.Known[len(e.Known)-1].At.Hi) == end
	switch {
	case f.n > 0 && piece == end: // already split above
		f.number = true
	case !known && f.n < maxNumbers && piece < last && last < end && raw[last-1] == ' ' && integer(e.Raw, last) == end:
		cut(last, end)
		f.number = true
	default:
		cut(end, end)
	}
	s.bytes += len(raw)
	s.all = append(s.all, f)
	return uint16(len(s.all) - 1)
}

// shapeKey hashes the parts of an event that distinguish shapes and contain no varying number. These are the first line
// and three parts of args: the text before the first number, the text after that number, and the end. The correlation
// of a kernel lies between the last two parts, so the text between them is left out. For an operator everything after
// the first number is hashed, because operators have no correlation and may differ anywhere. If that text is short in
// another event, it is left out, because the event's name determines it.
func shapeKey(line, args []byte) uint64 {
	h := mix(uint64(len(line)), line)
	i := bytes.IndexByte(args, ':')
	h = mix(h, args[:i+1])
	if i++; i < len(args) && args[i] == ' ' {
		i = max(i+1, integer(args, i+1))
	}
	end := len(args)
	for end > i && args[end-1]-'0' <= 9 {
		end--
	}
	const head, tail, short = 64, 128, 96
	switch {
	case has(line, len(layoutHead), `X", "cat": "cpu_op"`):
		h = mix(h, args[i:end])
	case end-i > short:
		h = mix(h^uint64(end-i), args[i:i+head])
		h = mix(h, args[max(i+head, end-tail):end])
	}
	return h | 1
}

// mix hashes h and b, 32 bytes at a time in four independent lanes.
func mix(h uint64, b []byte) uint64 {
	const k = 0x9e3779b97f4a7c15
	if len(b) < 8 {
		for _, c := range b {
			h = (h ^ uint64(c)) * k
		}
		return h ^ h>>32
	}
	last := binary.LittleEndian.Uint64(b[len(b)-8:])
	h0, h1, h2, h3 := h, h+1, h+2, h+3
	for len(b) > 32 {
		h0 = (h0 ^ binary.LittleEndian.Uint64(b)) * k
		h1 = (h1 ^ binary.LittleEndian.Uint64(b[8:])) * k
		h2 = (h2 ^ binary.LittleEndian.Uint64(b[16:])) * k
		h3 = (h3 ^ binary.LittleEndian.Uint64(b[24:])) * k
		b = b[32:]
	}
	for len(b) > 8 {
		h0 = (bits.RotateLeft64(h0, 23) ^ binary.LittleEndian.Uint64(b)) * k
		b = b[8:]
	}
	h0 ^= bits.RotateLeft64(h1, 17) ^ bits.RotateLeft64(h2, 31) ^ bits.RotateLeft64(h3, 47)
	h0 = (h0 ^ last) * k
	return (h0 ^ h0>>32) * k
}
