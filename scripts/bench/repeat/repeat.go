package main

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// extent is what one pass over a file learns: how far apart two copies must lie in time and in ids.
type extent struct {
	first, last int64 // µs, whole, last not included; of all events but metadata
	maxID       int64
	seen        bool
}

// maxID bounds the ids that are moved. Addresses and other 64-bit handles lie above, and would overflow.
const maxID = 1 << 48

// repeat writes the trace that open gives with its events copied. Each copy is a pass of its own over the input, so
// that no copy has to be kept in memory.
func repeat(open func() (io.ReadCloser, error), w io.Writer, copies int) error {
	var ext extent
	err := pass(open, func(s *splitter) error { return s.events(ext.add) })
	if err != nil {
		return err
	}
	var tail []byte
	wrote := false
	for k := range copies {
		c := copier{w: w, k: int64(k), copies: int64(copies), wrote: wrote, idStride: ext.maxID + 1, span: ext.last - ext.first}
		err := pass(open, func(s *splitter) error {
			if k == 0 {
				if _, err := w.Write(s.head); err != nil {
					return err
				}
			}
			if err := s.events(c.event); err != nil {
				return err
			}
			tail, err = s.rest()
			return err
		})
		if err != nil {
			return err
		}
		wrote = c.wrote
	}
	_, err = w.Write(tail)
	return err
}

// pass opens the input, finds its events and hands them to use.
func pass(open func() (io.ReadCloser, error), use func(*splitter) error) error {
	in, err := open()
	if err != nil {
		return err
	}
	defer in.Close()
	s, err := newSplitter(in)
	if err != nil {
		return err
	}
	return use(s)
}

func (x *extent) add(event []byte) error {
	f := scan(event)
	for _, field := range f.ids {
		if id, ok := wholePart(field.of(event)); ok && id > x.maxID && id < maxID {
			x.maxID = id
		}
	}
	if f.ph == "M" || f.ts.none() {
		return nil
	}
	start, ok := wholePart(f.ts.of(event))
	if !ok {
		return fmt.Errorf("ts %q is not a number of µs", f.ts.of(event))
	}
	end := start + 1
	if !f.dur.none() {
		length, _ := wholePart(f.dur.of(event))
		end += length + 1
	}
	if !x.seen || start < x.first {
		x.first = start
	}
	if !x.seen || end > x.last {
		x.last = end
	}
	x.seen = true
	return nil
}

// copier writes the events of copy k, k×span µs later than in the input.
type copier struct {
	w              io.Writer
	k, copies      int64
	span, idStride int64 // span in µs
	wrote          bool  // an event stands before the next one
	out            []byte
}

func (c *copier) event(event []byte) error {
	f := scan(event)
	switch {
	case f.ph == "M" && c.k > 0:
		return nil // rows are named once
	case f.cat == "Trace" || f.pid == "Traces":
		// The recording window stays one window: it begins where it began and is as long as all copies.
		if c.k > 0 {
			return nil
		}
		f = fields{stretch: f.dur}
	case f.name == "Record Window End" && c.k < c.copies-1:
		return nil
	}
	c.out = c.out[:0]
	if c.wrote {
		c.out = append(c.out, ",\n  "...)
	}
	c.out = c.edit(c.out, event, f)
	c.wrote = true
	_, err := c.w.Write(c.out)
	return err
}

// edit appends the event with its time, its ids and, for the recording window, its length moved.
func (c *copier) edit(out, event []byte, f fields) []byte {
	at := 0
	for _, e := range f.edits() {
		add := c.k * c.span
		switch e.what {
		case editID:
			add = c.k * c.idStride
		case editLength:
			add = (c.copies - 1) * c.span
		}
		old, ok := wholePart(e.of(event))
		if !ok || e.what == editID && (old <= 0 || old >= maxID) { // null, or 0 and −1 for "none"
			continue
		}
		digits := bytes.IndexByte(e.of(event), '.')
		if digits < 0 {
			digits = e.end - e.start
		}
		out = append(out, event[at:e.start]...)
		out = strconv.AppendInt(out, old+add, 10)
		at = e.start + digits
	}
	return append(out, event[at:]...)
}

// wholePart returns the digits of a number before its point.
func wholePart(number []byte) (int64, bool) {
	whole, _, _ := bytes.Cut(number, []byte{'.'})
	n, err := strconv.ParseInt(string(whole), 10, 64)
	return n, err == nil
}
