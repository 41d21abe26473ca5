package chromejson

import (
	"bytes"
	"slices"
)

// If the text is not JSON, the scanner guesses which quotes lack an escape. If no guess yields JSON, it skips to the
// next event.

// mend tries to repair the event at the current position.
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

// mendMember tries to repair the top-level member at the current position. If the repair fails, it skips the text up to
// traceEvents.
func (s *Scanner) mendMember() bool {
	head, _ := s.bounded(s.text()) // so that the result does not depend on the amount of buffered text
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

// Failed guesses may examine guesses bytes in total, plus guessShare bytes for each byte read.
const (
	guesses    = 16 << 20
	guessShare = 4
)

// guess calls read with the text from i on. As long as read returns more, guess calls it again with more text.
//
// The guess after a failed one may examine the same text again. The bytes examined by failed guesses are limited to a
// multiple of the bytes read, so the time stays linear even for a text that consists only of broken events. Beyond the
// limit, broken elements are skipped without a guess.
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
			s.wasted += int64(len(s.fixed)) // fixed has grown with the text examined
		}
		if n != more || len(b) == s.lim.guess || m == lenientAtEnd {
			return n
		}
		if !s.more() {
			m = lenientAtEnd
		}
	}
}

// replace parses the cleaned text of b as the current event.
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

// skip skips n bytes that are not an event.
func (s *Scanner) skip(n int) {
	if s.Stats.FirstSkip < 0 {
		s.Stats.FirstSkip = s.offset()
	}
	s.Stats.Skipped++
	s.Stats.SkippedBytes += int64(n)
	s.pos += n
}

// resync skips to the apparent start of the next event, or to the apparent end of all events.
func (s *Scanner) resync() { s.find(findEvent, "broken JSON up to the end of the file") }

// find skips at least one byte, up to the position that look finds. If look finds none, the scan ends with reason.
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

// reach is the number of bytes before and after a position that a finder examines to decide whether the position
// matches.
const reach = 128

// finder returns the first matching position at or after i. If there is none, it returns false and the position from
// which it needs more text. last means that there is no more text.
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
	// tailKeys are the keys that libkineto, or a tool that rewrites libkineto's files, writes after the events.
	tailKeys = [...]string{`"traceName"`, `"displayTimeUnit"`, `"baseTimeNanoseconds"`}
)

// findEvent looks for an opening brace between a comma and a key of events. It also accepts a closing bracket before
// one of tailKeys.
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
