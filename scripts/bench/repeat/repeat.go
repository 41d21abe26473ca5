package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
)

// extent is the result of one pass over a file. It contains the distance between two copies in time and in ids, and the
// text before and after the events.
type extent struct {
	first, last int64 // range of all events except metadata, in whole µs; last is exclusive
	maxID       int64
	head, tail  []byte
}

// maxID is the upper limit of the numbers that are treated as ids and therefore changed. Addresses and other 64-bit
// handles are larger and would overflow.
const maxID = 1 << 48

// extentOf reads the extent of the trace that open returns.
func extentOf(open func() (io.ReadCloser, error)) (*extent, error) {
	x := &extent{first: math.MaxInt64, last: math.MinInt64}
	if err := pass(open, x.add); err != nil {
		return nil, err
	}
	if x.first > x.last && !contains(open, `"traceEvents"`) {
		return nil, errors.New(`no "traceEvents" array in it; give a Chrome trace`)
	}
	return x, nil
}

// repeat writes the trace that open returns, with its events copied. Each copy is a separate pass over the input, so
// that the events need not be kept in memory. x is the extent of the trace, and span the distance between copies in µs.
func repeat(open func() (io.ReadCloser, error), w io.Writer, copies int, x *extent, span int64) error {
	if _, err := fmt.Fprintf(w, "{%s\n  \"traceEvents\": [", x.head); err != nil {
		return err
	}
	c := copier{w: w, copies: int64(copies), idStride: x.maxID + 1, span: span}
	for ; c.k < c.copies; c.k++ {
		if err := pass(open, c.event); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "\n  ]%s\n}\n", x.tail)
	return err
}

// pass calls use with the events of the input and with the members before and after the events. It rejects invalid JSON
// and never repairs it.
func pass(open func() (io.ReadCloser, error), use func(chromejson.Kind, *chromejson.Scanner) error) error {
	in, err := open()
	if err != nil {
		return err
	}
	defer in.Close()
	src, err := chromejson.NewSource(in)
	if err != nil {
		return err
	}
	defer src.Close()
	s := chromejson.NewScanner(src)
	defer s.Close()
	for {
		kind, err := s.Next()
		if err == io.EOF {
			break
		}
		if err := use(kind, s); err != nil {
			return err
		}
	}
	switch st := &s.Stats; {
	case !st.End.Complete:
		return fmt.Errorf("the document ends inside its events (%s); give a whole file", st.End.Reason)
	case st.Skipped > 0:
		return fmt.Errorf("no event at byte %d of the text, where one must begin", st.FirstSkip)
	case st.Repaired+st.Cleaned > 0:
		return errors.New("some of it is no valid JSON; give another file")
	}
	return nil
}

// contains reports whether a small input contains the text.
func contains(open func() (io.ReadCloser, error), text string) bool {
	in, err := open()
	if err != nil {
		return false
	}
	defer in.Close()
	all, err := io.ReadAll(io.LimitReader(in, 64<<20))
	return err == nil && bytes.Contains(all, []byte(text))
}

func (x *extent) add(kind chromejson.Kind, s *chromejson.Scanner) error {
	if kind == chromejson.MetaToken {
		if s.Stats.Events == 0 {
			x.head = fmt.Appendf(x.head, "\n  \"%s\": %s,", s.Key, s.Value)
		} else {
			x.tail = fmt.Appendf(x.tail, ",\n  \"%s\": %s", s.Key, s.Value)
		}
		return nil
	}
	e := &s.Event
	for _, at := range ids(e) {
		if id, ok := wholePart(e.Value(at)); ok && id < maxID {
			x.maxID = max(x.maxID, id)
		}
	}
	if e.Ph == 'M' || !e.TS.Present() {
		return nil
	}
	start, ok := wholePart(e.Value(e.TS))
	if !ok {
		return fmt.Errorf("ts %s is not a number of µs", e.Value(e.TS))
	}
	end := start + 1
	if e.Dur.Present() {
		length, _ := wholePart(e.Value(e.Dur))
		end += length + 1
	}
	x.first, x.last = min(x.first, start), max(x.last, end)
	return nil
}

// copier writes the events of copy k. The events of copy k are k×span µs later than in the input.
type copier struct {
	w              io.Writer
	k, copies      int64
	span, idStride int64 // span in µs
	wrote          bool  // whether an event has been written, so that the next event needs a comma
	edits          []edit
	out            []byte
}

// edit is a change of one number in an event.
type edit struct {
	chromejson.Field
	add int64
}

func (c *copier) event(kind chromejson.Kind, s *chromejson.Scanner) error {
	if kind == chromejson.MetaToken {
		return nil
	}
	e := &s.Event
	c.edits = c.edits[:0]
	switch {
	case e.Ph == 'M' && c.k > 0:
		return nil // rows are named only once
	case string(e.Text(e.Cat)) == "Trace" || string(e.Text(e.PID)) == "Traces":
		// There is only one recording window. The window keeps its start and is extended to cover all copies.
		if c.k > 0 {
			return nil
		}
		c.edits = append(c.edits, edit{e.Dur, (c.copies - 1) * c.span})
	case string(e.Text(e.Name)) == "Record Window End" && c.k < c.copies-1:
		return nil
	default:
		c.edits = append(c.edits, edit{e.TS, c.k * c.span})
		for _, at := range ids(e) {
			if id, ok := wholePart(e.Value(at)); ok && id > 0 && id < maxID { // 0 and −1 mean "none"
				c.edits = append(c.edits, edit{at, c.k * c.idStride})
			}
		}
	}
	c.out = c.out[:0]
	if c.wrote {
		c.out = append(c.out, ',')
	}
	c.out = c.apply(append(c.out, "\n  "...), e)
	c.wrote = true
	_, err := c.w.Write(c.out)
	return err
}

// apply appends the event with the edits applied to its numbers. Digits after the decimal point are unchanged.
func (c *copier) apply(out []byte, e *chromejson.Event) []byte {
	slices.SortFunc(c.edits, func(a, b edit) int { return cmp.Compare(a.Lo, b.Lo) })
	rest := uint32(0)
	for _, at := range c.edits {
		old, ok := wholePart(e.Value(at.Field))
		if !ok {
			continue
		}
		out = strconv.AppendInt(append(out, e.Raw[rest:at.Lo]...), old+at.add, 10)
		whole, _, _ := bytes.Cut(e.Value(at.Field), []byte{'.'})
		rest = at.Lo + uint32(len(whole))
	}
	return append(out, e.Raw[rest:]...)
}

// wholePart returns the part of a number before its decimal point.
func wholePart(number []byte) (int64, bool) {
	whole, _, _ := bytes.Cut(number, []byte{'.'})
	n, err := strconv.ParseInt(string(whole), 10, 64)
	return n, err == nil
}

// furtherIDs lists args that link events of one rank and that the scanner does not know. Only their names distinguish
// these args from sizes and counts.
var furtherIDs = [][]byte{[]byte(`"Ev Idx":`), []byte(`"Python id":`), []byte(`"Python parent id":`), []byte(`"wait_on_cuda_event_record_corr_id":`)}

// ids returns the numbers by which other events refer to this event, and the id of the event's arrow.
func ids(e *chromejson.Event) []chromejson.Field {
	list := make([]chromejson.Field, 0, 8)
	if e.ID.Present() {
		list = append(list, e.ID)
	}
	for _, a := range e.Known {
		if a.Key == chromejson.ArgCorrelation || a.Key == chromejson.ArgExternalID {
			list = append(list, a.At)
		}
	}
	args := e.Value(e.Args)
	for _, key := range furtherIDs {
		if at := bytes.Index(args, key); at >= 0 {
			lo := at + len(key)
			for args[lo] == ' ' {
				lo++
			}
			digits := bytes.IndexAny(args[lo:], ",} \n")
			list = append(list, chromejson.Field{Lo: e.Args.Lo + uint32(lo), Hi: e.Args.Lo + uint32(lo+digits)})
		}
	}
	return list
}
