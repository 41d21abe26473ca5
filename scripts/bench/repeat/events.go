package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// A splitter hands out the events of a trace as they stand in the file.
type splitter struct {
	in   io.Reader
	head []byte // the document up to and with the bracket that opens traceEvents
	buf  []byte // unread bytes
	eof  bool
}

const readBytes = 256 << 10

// maxHead bounds what may stand before the events: device properties and the like, a few KB in practice.
const maxHead = 64 << 20

var errCut = errors.New("the document ends inside its events; give a whole file")

func newSplitter(in io.Reader) (*splitter, error) {
	s := &splitter{in: in}
	key := []byte(`"traceEvents"`)
	for {
		if at := bytes.Index(s.buf, key); at >= 0 {
			if bracket := bytes.IndexByte(s.buf[at:], '['); bracket >= 0 {
				end := at + bracket + 1
				s.head, s.buf = bytes.Clone(s.buf[:end]), s.buf[end:]
				return s, nil
			}
		}
		if s.eof || len(s.buf) > maxHead {
			return nil, errors.New(`no "traceEvents" array in it; give a Chrome trace`)
		}
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads on behind the unread bytes. Growing the slice leaves the consumed bytes before it to the collector.
func (s *splitter) fill() error {
	s.buf = slices.Grow(s.buf, readBytes)
	n, err := s.in.Read(s.buf[len(s.buf):cap(s.buf)])
	s.buf = s.buf[:len(s.buf)+n]
	if err == io.EOF {
		s.eof = true
		return nil
	}
	return err
}

// events calls use with each event; the bytes are valid during the call. It stops behind the last event, so that rest
// begins with the closing bracket.
func (s *splitter) events(use func([]byte) error) error {
	for {
		start := 0
		for start < len(s.buf) && bytes.IndexByte([]byte(" \t\r\n,"), s.buf[start]) >= 0 {
			start++
		}
		if start < len(s.buf) && s.buf[start] == ']' {
			s.buf = s.buf[start:]
			return nil
		}
		if start < len(s.buf) && s.buf[start] != '{' {
			return fmt.Errorf("found %q where an event must begin", s.buf[start])
		}
		end := objectEnd(s.buf[start:])
		if end < 0 {
			if s.eof {
				return errCut
			}
			if err := s.fill(); err != nil {
				return err
			}
			continue
		}
		if err := use(s.buf[start : start+end]); err != nil {
			return err
		}
		s.buf = s.buf[start+end:]
	}
}

// rest returns the document from the end of the events on.
func (s *splitter) rest() ([]byte, error) {
	rest, err := io.ReadAll(io.LimitReader(s.in, maxHead))
	return append(s.buf, rest...), err
}

// objectEnd returns the length of the object that b begins with, or −1 when b does not hold all of it.
func objectEnd(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			n := stringEnd(b[i:])
			if n < 0 {
				return -1
			}
			i += n - 1
		}
	}
	return -1
}

// stringEnd returns the length of the quoted string that b begins with, or −1 when b does not hold all of it.
func stringEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}
