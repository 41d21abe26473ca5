// Package chromejson reads Chrome JSON traces as Kineto, SGLang's merger and
// other tools write them: as a stream of events, in memory that does not grow
// with the file, at about the speed of inflating it.
//
// A Scanner hands out one event at a time with the places of its fields, so
// that a reader can decode the few it needs and a rewriter can change a few
// bytes and copy the rest. There are two ways through an event: one that knows
// the layout libkineto writes (fast.go) and a general one (parse.go), taken
// event by event where the text differs; a fuzz test holds them equal. What is
// not JSON but can be understood is mended and counted (clean.go).
//
// Times in the files are microseconds as decimal text; see ParseMicros.
package chromejson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
)

// Kind says what Next found.
type Kind uint8

// An event of traceEvents, or a top-level member beside it.
const (
	EventToken Kind = iota + 1
	MetaToken
)

// Stats counts what a Scanner read and what it had to do to the text.
type Stats struct {
	Events       int64
	Bytes        int64 // of decompressed text read
	Repaired     int64 // events whose unescaped quotes were escaped
	Cleaned      int64 // values with NaN, control characters or bad UTF-8 replaced
	Skipped      int64 // elements of traceEvents that were no event
	SkippedBytes int64
	FirstSkip    int64 // offset of the first skipped element, in decompressed text; -1: none
	End          End
}

// End says how a text ended.
type End struct {
	Complete bool
	Reason   string // why it is not complete
	Offset   int64  // where the last whole element ends, in bytes of decompressed text
	Lost     int64  // bytes after it that could not be used
}

// Scanner reads one trace file.
type Scanner struct {
	Event Event  // the event of the last EventToken
	Key   []byte // the last MetaToken: its name, still escaped, and its value as JSON text
	Value []byte
	Stats Stats

	ahead    *readAhead
	buf      []byte
	pos, end int   // unread text is buf[pos:end]
	base     int64 // offset of buf[0] in the text
	eof      bool
	readErr  error
	own      bool // buf is not one of readAhead's

	state   state
	array   bool // the document is a bare array of events
	general bool // never take the fast way: for tests
	g       grammar
	fixed   []byte // the mended copy of the current event or value
}

type state uint8

const (
	atStart state = iota
	inObject
	inEvents
	atEnd
)

// NewScanner reads the trace in r. The caller calls Close before it closes r.
func NewScanner(r io.Reader) *Scanner {
	return &Scanner{ahead: newReadAhead(r), Stats: Stats{FirstSkip: -1}}
}

// Close stops the reading of r. It must be called once.
func (s *Scanner) Close() { s.ahead.close() }

// Next finds the next event or top-level member. It returns io.EOF when the
// text has ended, well or not: Stats.End then says which.
func (s *Scanner) Next() (Kind, error) {
	for {
		switch s.state {
		case atStart:
			s.start()
		case inObject:
			if s.member() {
				return MetaToken, nil
			}
		case inEvents:
			if s.event() {
				s.Stats.Events++
				return EventToken, nil
			}
		case atEnd:
			return 0, io.EOF
		}
	}
}

// text is what is unread of the buffer.
func (s *Scanner) text() []byte { return s.buf[s.pos:s.end] }

// offset is where unread text begins in the file.
func (s *Scanner) offset() int64 { return s.base + int64(s.pos) }

// more reads on, keeping all unread text. It reports false at the end.
func (s *Scanner) more() bool {
	if s.eof {
		return false
	}
	blk, ok := <-s.ahead.full
	if !ok {
		s.eof = true
		return false
	}
	s.Stats.Bytes += int64(blk.n)
	if blk.err != nil {
		s.eof = true
		if blk.err != io.EOF {
			s.readErr = blk.err
		}
	}
	left := s.buf[s.pos:s.end]
	at := s.offset()
	if len(left) <= headroom {
		old, wasOwn := s.buf, s.own
		s.pos, s.end = headroom-len(left), headroom+blk.n
		copy(blk.buf[s.pos:], left)
		s.buf, s.own = blk.buf, false
		if old != nil && !wasOwn {
			s.recycle(old)
		}
	} else {
		// An element larger than the headroom: gather it in a buffer of our own.
		if s.own && s.pos == 0 {
			s.buf = append(s.buf[:s.end], blk.buf[headroom:headroom+blk.n]...)
		} else {
			joined := make([]byte, 0, 2*(len(left)+blk.n))
			joined = append(append(joined, left...), blk.buf[headroom:headroom+blk.n]...)
			if !s.own {
				s.recycle(s.buf)
			}
			s.buf, s.own = joined, true
		}
		s.pos, s.end = 0, len(s.buf)
		s.recycle(blk.buf)
	}
	s.base = at - int64(s.pos)
	return true
}

func (s *Scanner) recycle(buf []byte) {
	select {
	case s.ahead.free <- buf:
	default:
	}
}

// finish ends the scan; reason is empty when all is well.
func (s *Scanner) finish(reason string) {
	s.state = atEnd
	e := End{Complete: reason == "", Reason: reason, Offset: s.offset(), Lost: int64(s.end - s.pos)}
	if s.readErr != nil {
		e.Complete = false
		e.Reason = readReason(s.readErr)
	}
	if e.Complete {
		e.Lost = 0
	}
	s.Stats.End = e
}

// readReason says in plain words why a compressed file could not be read on.
func readReason(err error) string {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the compressed file is cut off"
	case errors.Is(err, gzip.ErrChecksum):
		return "the gzip checksum does not match"
	}
	return "the compressed file is broken (" + err.Error() + ")"
}

// start finds the beginning of the document.
func (s *Scanner) start() {
	b := s.text()
	i := space(b, 0)
	if len(b) >= 3 && string(b[:3]) == "\xef\xbb\xbf" { // byte order mark
		i = space(b, 3)
	}
	if i >= len(b) {
		if !s.more() {
			s.finish("there is no JSON in it")
		}
		return
	}
	s.pos += i + 1
	switch b[i] {
	case '{':
		s.state = inObject
	case '[':
		s.state, s.array = inEvents, true
	default:
		s.pos--
		s.finish(fmt.Sprintf("it is not a JSON object or array: it begins with %q", b[i]))
	}
}

// member reads one top-level member and reports whether it is one to hand
// out; traceEvents changes the state instead.
func (s *Scanner) member() bool {
	b := s.text()
	i := space(b, 0)
	for i < len(b) && b[i] == ',' {
		i = space(b, i+1)
	}
	if i < len(b) && b[i] == '}' {
		s.pos += i + 1
		s.tail()
		return false
	}
	key, end := i+1, more
	if i < len(b) {
		s.g.flags = 0
		end = s.g.key(b, i)
	}
	if end >= 0 {
		keyEnd := bytes.LastIndexByte(b[:end], '"')
		name := b[key:keyEnd]
		end = space(b, end)
		switch {
		case end >= len(b):
			end = more
		case string(name) == "traceEvents" && b[end] == '[':
			s.pos += end + 1
			s.state = inEvents
			return false
		default:
			at := end
			if end = s.g.value(b, at); end >= 0 {
				s.Key, s.Value = name, b[at:end]
				if s.unclean(s.Value, s.g.flags) {
					s.fixed, _ = clean(s.fixed[:0], s.Value, false)
					s.Value = s.fixed
					s.Stats.Cleaned++
				}
				s.pos += end
				return true
			}
		}
	}
	switch {
	case end == bad:
		s.finish("broken JSON in the metadata")
	case len(b) > maxElement:
		s.finish("a metadata value is larger than " + sizeText(maxElement))
	case !s.more():
		s.finish("the file ends in its metadata")
	}
	return false
}

// tail is reached after the document's last bracket. The stream is read to
// its end all the same, for the checksum stands there.
func (s *Scanner) tail() {
	at := s.pos
	for {
		if i := space(s.buf[:s.end], at); i < s.end {
			s.pos = at
			s.Stats.End.Lost = int64(s.end - i) // reported as garbage by readers
		}
		s.pos = s.end
		if !s.more() {
			break
		}
		at = s.pos
	}
	s.finish("")
}

// event reads one element of traceEvents and reports whether it is an event.
func (s *Scanner) event() bool {
	b := s.text()
	i := 0
	for i < len(b) && (b[i] <= ' ' || b[i] == ',') {
		i++
	}
	s.pos += i
	b = b[i:]
	if len(b) == 0 {
		if !s.more() {
			if s.array { // Chrome's format lets an array end anywhere
				s.finish("")
			} else {
				s.finish("the file ends before traceEvents does")
			}
		}
		return false
	}
	switch b[0] {
	case ']':
		s.pos++
		if s.array {
			s.tail()
		} else {
			s.state = inObject
		}
		return false
	case '{':
	default:
		s.resync(b)
		return false
	}
	s.Event.Off = s.offset()
	n := 0
	if !s.general {
		n = s.g.fast(b, &s.Event)
	}
	if n <= 0 {
		n = s.g.event(b, &s.Event)
	}
	if n == more {
		if len(b) <= maxElement && s.more() {
			return false
		}
		if !s.mend(b) {
			if len(b) > maxElement {
				s.resync(b)
			} else {
				s.finish("the file ends in the middle of an event")
			}
			return false
		}
		return true
	}
	if n == bad {
		if s.mend(b) {
			return true
		}
		if s.state == inEvents {
			s.resync(s.text())
		}
		return false
	}
	s.pos += n
	if s.unclean(s.Event.Raw, s.Event.flags) {
		s.replace(false, s.Event.Raw)
		s.Stats.Cleaned++
	}
	return true
}

func (s *Scanner) unclean(raw []byte, flags uint8) bool {
	return flags != 0 && (flags&needsClean != 0 || flags&flagHigh != 0 && !utf8.Valid(raw))
}

// mend tries to read the event at b by guessing where quotes went unescaped.
func (s *Scanner) mend(b []byte) bool {
	// The guess needs to see a little of what follows the event.
	const reach = 64 << 10
	for len(b) < reach && s.more() {
		b = s.text()
	}
	n := s.replace(true, b)
	if n < 0 {
		return false
	}
	s.pos += n
	s.Stats.Repaired++
	return true
}

// replace makes the current event out of the cleaned text of b.
func (s *Scanner) replace(lenient bool, b []byte) int {
	var n int
	off := s.offset()
	if !lenient {
		off = s.Event.Off
	}
	s.fixed, n = clean(s.fixed[:0], b, lenient)
	if n < 0 {
		return n
	}
	s.Event.Off = off
	if end := s.g.event(s.fixed, &s.Event); end < 0 {
		return bad
	}
	return n
}

// resync skips to what looks like the beginning of the next event.
func (s *Scanner) resync(b []byte) {
	if s.Stats.FirstSkip < 0 {
		s.Stats.FirstSkip = s.offset()
	}
	s.Stats.Skipped++
	i := 1
	for {
		next := nextEvent(b, i)
		if next >= 0 {
			s.Stats.SkippedBytes += int64(next)
			s.pos += next
			return
		}
		// Keep a few bytes: the mark may lie across the edge.
		keep := min(len(b), 64)
		s.Stats.SkippedBytes += int64(len(b) - keep)
		s.pos = s.end - keep
		if !s.more() {
			s.Stats.SkippedBytes += int64(s.end - s.pos)
			s.pos = s.end
			s.finish("broken JSON up to the end of the file")
			return
		}
		b, i = s.text(), 0
	}
}

// nextEvent finds an opening brace at or after i that stands where an event
// may begin and is followed by a key that events have. -1: none.
func nextEvent(b []byte, i int) int {
	for {
		n := bytes.IndexByte(b[i:], '{')
		if n < 0 {
			return -1
		}
		at := i + n
		j := space(b, at+1)
		for _, key := range [...]string{`"ph"`, `"name"`, `"cat"`, `"pid"`, `"ts"`} {
			if !bytes.HasPrefix(b[j:], []byte(key)) {
				continue
			}
			k := at - 1
			for k >= 0 && b[k] <= ' ' {
				k--
			}
			if k < 0 || b[k] == ',' {
				return at
			}
		}
		i = at + 1
	}
}

func sizeText(n int) string { return fmt.Sprintf("%d MiB", n>>20) }
