// Package chromejson reads Chrome JSON traces of Kineto, SGLang's merger and other tools as a stream of events. Memory
// does not grow with the file, and scanning is about as fast as decompression.
//
// A Scanner returns one event at a time with the positions of its fields. A reader can decode the few fields it needs;
// a rewriter can change a few bytes and copy the rest. Each event takes one of two paths: a fast parser for the layout
// of libkineto (fast.go) and a general one (parse.go) for any other text. A fuzz test compares the two parsers. Text
// that is not JSON but can be understood is repaired and counted (clean.go, mend.go).
//
// Times in the files are decimal microseconds; see ParseMicros.
package chromejson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Kind is the kind of item that Next found.
type Kind uint8

// EventToken is an event of traceEvents. MetaToken is any other top-level member.
const (
	EventToken Kind = iota + 1
	MetaToken
)

// Stats counts the items that a Scanner read and the repairs that it made.
type Stats struct {
	Events       int64
	Bytes        int64 // decompressed bytes read
	Repaired     int64 // events and metadata values in which unescaped quotes were repaired
	Cleaned      int64 // events and metadata values in which NaN, control characters, bad UTF-8 or commas were replaced
	Skipped      int64 // unreadable metadata, and elements of traceEvents that are not events
	Unmended     int64 // skipped without a repair attempt, because too much text before them was broken
	SkippedBytes int64
	FirstSkip    int64 // offset of the first skipped element in the decompressed text; -1: none
	End          End
}

// End describes the end of a text.
type End struct {
	Complete bool
	Reason   string // reason why the text is incomplete
	Offset   int64  // end of the last complete element, bytes of decompressed text
	// Lost counts the unusable bytes after Offset. If Complete is set, these bytes follow the document and are not part
	// of it.
	Lost int64
}

// Scanner reads one trace file.
type Scanner struct {
	Event Event  // event of the last EventToken
	Key   []byte // name (still escaped) and value (JSON text) of the last MetaToken
	Value []byte
	Stats Stats

	window
	state    state
	array    bool  // whether the document is a bare array of events
	general  bool  // whether the fast parser is never used; for tests
	whole    int64 // end of the last complete element
	g        grammar
	shapes   shapes
	wasted   int64  // bytes examined by failed guesses
	fixed    []byte // repaired copy of the current event or value
	fixedKey []byte
}

type state uint8

const (
	atStart state = iota
	inObject
	inEvents
	atEnd
)

// NewScanner returns a Scanner of the trace in r. Close the Scanner before r.
func NewScanner(r io.Reader) *Scanner { return newScanner(r, defaultLimits) }

func newScanner(r io.Reader, lim limits) *Scanner {
	return &Scanner{
		window: window{ahead: newReadAhead(r, lim), lim: lim},
		Stats:  Stats{FirstSkip: -1},
	}
}

// Close stops reading from r. It waits until a Read in progress has returned. It must be called exactly once.
func (s *Scanner) Close() { s.ahead.close() }

// Next finds the next event or top-level member. It returns io.EOF at the end of the text; Stats.End reports whether
// the text is complete.
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

// more appends the next text to the unread text. It returns false at the end of the text.
func (s *Scanner) more() bool {
	ok := s.window.more()
	s.Stats.Bytes = s.total()
	return ok
}

// take consumes a complete element of n bytes.
func (s *Scanner) take(n int) {
	s.pos += n
	s.whole = s.offset()
}

// bounded limits b to the maximum size of one element.
func (s *Scanner) bounded(b []byte) (_ []byte, tooLarge bool) {
	if len(b) > s.lim.element {
		return b[:s.lim.element], true
	}
	return b, false
}

// finish ends the scan. An empty reason means that the text is complete.
func (s *Scanner) finish(reason string) {
	s.state = atEnd
	if s.readErr != nil {
		reason = readReason(s.readErr)
	}
	s.Stats.End = End{Complete: reason == "", Reason: reason, Offset: s.whole}
	if reason != "" {
		s.Stats.End.Lost = s.total() - s.whole
	}
}

// readReason describes a read error of a compressed file.
func readReason(err error) string {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the compressed file is cut off"
	case errors.Is(err, errChecksum):
		return err.Error()
	}
	return "the rest of the file cannot be read (" + err.Error() + ")"
}

// start finds the beginning of the document.
func (s *Scanner) start() {
	const bom = "\xef\xbb\xbf" // byte order mark
	b := s.text()
	if s.offset() == 0 {
		if len(b) < len(bom) && s.more() {
			return
		}
		if bytes.HasPrefix(b, []byte(bom)) {
			s.pos += len(bom)
			b = s.text()
		}
	}
	i := space(b, 0)
	s.pos += i
	if i == len(b) {
		if !s.more() {
			s.finish("it contains no JSON")
		}
		return
	}
	switch b[i] {
	case '{':
		s.state = inObject
	case '[':
		s.state, s.array = inEvents, true
	default:
		s.finish(fmt.Sprintf("it is not a JSON object or array: it begins with %q", b[i]))
		return
	}
	s.take(1)
}

// member reads one top-level member and reports whether Next should return it. If the member is traceEvents, member
// changes the state of the scan and returns false.
func (s *Scanner) member() bool {
	b := s.text()
	i := space(b, 0)
	for i < len(b) && b[i] == ',' {
		i = space(b, i+1)
	}
	s.pos += i
	b, tooLarge := s.bounded(b[i:])
	if len(b) > 0 && b[0] == '}' {
		s.take(1)
		s.tail()
		return false
	}
	s.g.flags = 0
	keyEnd, at, end := 0, more, more
	if len(b) > 0 {
		at = s.g.key(b, 0)
		end = at
	}
	if at > 0 {
		keyEnd = bytes.LastIndexByte(b[:at], '"') + 1
		at = space(b, at)
		if at < len(b) && b[at] == '[' && string(b[:keyEnd]) == `"traceEvents"` {
			s.take(at + 1)
			s.state = inEvents
			return false
		}
		end = s.g.value(b, at)
	}
	if end > 0 {
		switch next := space(b, end); {
		case next == len(b) && !tooLarge:
			if s.more() {
				return false
			}
		case next == len(b) || b[next] != ',' && b[next] != '}':
			end = bad // a string with an unescaped quote
		}
	}
	if end > 0 {
		s.Key, s.Value = b[1:keyEnd-1], b[at:end]
		if s.unclean(b[:end], s.g.flags) {
			s.fixedKey, _ = clean(s.fixedKey[:0], b[:keyEnd], strict, object)
			s.fixed, _ = clean(s.fixed[:0], b[at:], strict, object)
			s.Key, s.Value = s.fixedKey[1:len(s.fixedKey)-1], s.fixed
			s.Stats.Cleaned++
		}
		s.take(end)
		return true
	}
	if end == more && !tooLarge {
		if !s.more() {
			s.finish("the file ends in its metadata")
		}
		return false
	}
	return s.mendMember()
}

// tail handles the text after the document's last bracket. It reads the stream to the end, because the checksum is
// there.
func (s *Scanner) tail() {
	var garbage int64
	for {
		b := s.text()
		if garbage == 0 {
			b = b[space(b, 0):]
		}
		garbage += int64(len(b))
		s.pos = s.end
		if !s.more() {
			break
		}
	}
	s.finish("")
	if s.Stats.End.Complete {
		s.Stats.End.Lost = garbage
	}
}

// event reads one element of traceEvents and reports whether it is an event.
func (s *Scanner) event() bool {
	b := s.text()
	i := 0
	for i < len(b) && (b[i] <= ' ' || b[i] == ',') {
		i++
	}
	s.pos += i
	b, tooLarge := s.bounded(b[i:])
	n := more
	switch {
	case len(b) == 0:
		if !s.more() {
			if s.array { // Chrome's format allows an array to end anywhere
				s.finish("")
			} else {
				s.finish("the file ends before traceEvents does")
			}
		}
		return false
	case b[0] == ']':
		s.take(1)
		if s.array {
			s.tail()
		} else {
			s.state = inObject
		}
		return false
	case b[0] != '{':
		if n = s.g.value(b, 0); n > 0 {
			s.skip(n)
			return false
		}
	default:
		s.Event.Off = s.offset()
		if n = s.parse(b); n > 0 {
			s.take(n)
			if s.unclean(s.Event.Raw, s.Event.flags) {
				s.replace(s.Event.Raw, strict)
				s.Stats.Cleaned++
			}
			return true
		}
	}
	if n == more && !tooLarge && s.more() {
		return false
	}
	if s.mend() {
		return true
	}
	if n == more && !tooLarge {
		s.finish("the file ends in the middle of an event")
	} else {
		s.resync()
	}
	return false
}

// parse reads the event at the start of b with the fastest parser that accepts it.
func (s *Scanner) parse(b []byte) int {
	if !s.general {
		n, key := s.shapes.find(b, &s.Event)
		if n > 0 {
			return n
		}
		if n = s.g.fast(b, &s.Event); n > 0 {
			s.shapes.note(key, &s.Event)
			return n
		}
	}
	return s.g.event(b, &s.Event)
}

func (s *Scanner) unclean(raw []byte, flags uint8) bool {
	return flags != 0 && (flags&needsClean != 0 || flags&flagHigh != 0 && !utf8.Valid(raw))
}
