package chromejson

import (
	"bytes"
	"slices"
)

// What the scanner does where the text is not JSON: it guesses which quotes
// should have been escaped and reads on, or else looks for the next event.

// mend tries to read the event at the current position.
func (s *Scanner) mend() bool {
	if b := s.text(); b[0] != '{' {
		return false
	}
	off := s.offset()
	n := s.guess(0, func(b []byte, m mode) int { return s.replace(b, m) })
	if n <= 0 {
		return false
	}
	s.Event.Off = off
	s.take(n)
	s.Stats.Repaired++
	return true
}

// mendMember does the same for the top-level member at the current position,
// and skips what cannot be read up to traceEvents.
func (s *Scanner) mendMember() bool {
	head, _ := s.bounded(s.text()) // how much more there is of the text must not matter
	if at := s.g.key(head, 0); at > 0 {
		n := s.guess(at, func(b []byte, m mode) (n int) {
			s.fixed, n = clean(s.fixed[:0], b, m, object)
			return n
		})
		if n > 0 {
			b := s.text()
			s.fixedKey, _ = clean(s.fixedKey[:0], b[:bytes.LastIndexByte(b[:at], '"')+1], strict, object)
			s.Key, s.Value = s.fixedKey[1:len(s.fixedKey)-1], bytes.TrimSpace(s.fixed)
			s.take(at + n)
			s.Stats.Repaired++
			return true
		}
	}
	s.find(findEvents, "broken JSON in the metadata")
	return false
}

// Guesses may look in vain at so many bytes, and so many more for each that was read.
const (
	guesses    = 16 << 20
	guessShare = 4
)

// guess calls read with the text from i on, and with more of it as long as
// read asks for more.
//
// A guess that fails has looked at text that the next one may look at again. What failed ones have looked at is bounded
// by a multiple of what was read, so that a text of nothing but broken events takes no longer than its length allows;
// beyond that broken elements are skipped as they are.
func (s *Scanner) guess(i int, read func([]byte, mode) int) int {
	if s.wasted > guesses+guessShare*s.offset() {
		s.Stats.Unmended++
		return bad
	}
	for m := lenient; ; {
		b := s.text()[i:]
		if len(b) > s.lim.guess {
			b = b[:s.lim.guess]
		}
		n := read(b, m)
		if n < 0 {
			s.wasted += int64(len(s.fixed)) // which grew as far as it looked
		}
		if n != more || len(b) == s.lim.guess || m == lenientAtEnd {
			return n
		}
		if !s.more() {
			m = lenientAtEnd
		}
	}
}

// replace makes the current event out of the cleaned text of b.
func (s *Scanner) replace(b []byte, m mode) int {
	var n int
	if s.fixed, n = clean(s.fixed[:0], b, m, events); n < 0 {
		return n
	}
	if s.g.event(s.fixed, &s.Event) != len(s.fixed) {
		return bad
	}
	return n
}

// skip passes over n bytes that are no event.
func (s *Scanner) skip(n int) {
	if s.Stats.FirstSkip < 0 {
		s.Stats.FirstSkip = s.offset()
	}
	s.Stats.Skipped++
	s.Stats.SkippedBytes += int64(n)
	s.pos += n
}

// resync skips to what looks like the beginning of the next event, or like
// the end of all events.
func (s *Scanner) resync() { s.find(findEvent, "broken JSON up to the end of the file") }

// find skips at least a byte, and all up to where look says. The scan ends
// with the reason when it finds nothing.
func (s *Scanner) find(look finder, reason string) {
	s.skip(0)
	for from, last := 1, false; ; {
		b := s.text()
		at, ok := look(b, from, last)
		if ok || last {
			s.Stats.SkippedBytes += int64(at)
			s.pos += at
			if !ok {
				s.finish(reason)
			}
			return
		}
		cut := max(at-reach, 0)
		s.Stats.SkippedBytes += int64(cut)
		s.pos += cut
		from = at - cut
		last = !s.more()
	}
}

// reach is how many bytes before and after a place decide what it is.
const reach = 128

// A finder gives the first place at or after i that is what it looks for. If
// there is none it reports false, and where it cannot tell without more text;
// with last there is no more.
type finder func(b []byte, i int, last bool) (at int, ok bool)

func findEvents(b []byte, i int, last bool) (int, bool) {
	const mark = `"traceEvents"`
	if n := bytes.Index(b[min(i, len(b)):], []byte(mark)); n >= 0 {
		return i + n, true
	}
	if last {
		return len(b), false
	}
	return max(i, len(b)-len(mark)), false
}

var (
	eventKeys = [...]string{`"ph"`, `"name"`, `"cat"`, `"pid"`, `"ts"`}
	// What libkineto and those who rewrite its files have after the events.
	tailKeys = [...]string{`"traceName"`, `"displayTimeUnit"`, `"baseTimeNanoseconds"`}
)

// findEvent looks for an opening brace after a comma and before a key that
// events have, and for a closing bracket before a key known to follow events.
func findEvent(b []byte, i int, last bool) (int, bool) {
	for i < len(b) {
		n := bytes.IndexAny(b[i:], "{]")
		if n < 0 {
			break
		}
		i += n
		if !last && len(b)-i < reach {
			return i, false
		}
		near := b[i+1 : min(i+reach, len(b))]
		near = near[space(near, 0):]
		if b[i] == '{' {
			before := bytes.TrimRight(b[max(0, i-reach):i], " \n\r\t")
			if bytes.HasSuffix(before, []byte(",")) && begins(near, eventKeys[:]) {
				return i, true
			}
		} else if len(near) > 0 && near[0] == ',' && begins(near[space(near, 1):], tailKeys[:]) {
			return i, true
		}
		i++
	}
	return max(i, len(b)), false
}

func begins(b []byte, keys []string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return bytes.HasPrefix(b, []byte(k)) })
}
