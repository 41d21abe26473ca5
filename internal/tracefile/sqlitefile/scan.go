package sqlitefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// readAhead is the maximum number of bytes of a table that one read requests.
const readAhead = 1 << 18

// Scan calls visit with each row of the table, in order of rowid. A wanted column that the table does not have is NULL.
// The row is valid only during the call of visit.
func (t *Table) Scan(want []string, visit func(*Row) error) error {
	if t.err != nil {
		return fmt.Errorf("table %s: %w", t.Name, t.err)
	}
	s := scanner{t: t, visit: visit}
	s.row.values = make([]value, len(want))
	for i, name := range want {
		at := t.index(name)
		if at < 0 {
			continue
		}
		if at == t.rowid {
			s.rowids = append(s.rowids, i)
			continue
		}
		for len(s.place) <= at {
			s.place = append(s.place, -1)
		}
		s.place[at] = int32(i)
	}
	leaves, err := t.leaves()
	if err != nil {
		return fmt.Errorf("table %s: %w", t.Name, err)
	}
	err = s.pages(leaves)
	if stop, ok := errors.AsType[stopped](err); ok {
		return stop.error
	}
	if err != nil {
		return fmt.Errorf("table %s: %w", t.Name, err)
	}
	return nil
}

// Rows estimates the number of rows from a sample of the table's pages, for allocation.
func (t *Table) Rows() (int64, error) {
	if t.err != nil {
		return 0, fmt.Errorf("table %s: %w", t.Name, t.err)
	}
	leaves, err := t.leaves()
	if err != nil || len(leaves) == 0 {
		return 0, err
	}
	// Sample the pages for the number of rows per page.
	buf := make([]byte, t.file.page)
	var cells int64
	step := max(1, len(leaves)/16)
	n := int64(0)
	for i := 0; i < len(leaves); i += step {
		if err := t.file.readPages(buf, leaves[i]); err != nil {
			return 0, err
		}
		cells += int64(binary.BigEndian.Uint16(header(buf, leaves[i])[3:]))
		n++
	}
	return cells * int64(len(leaves)) / n, nil
}

// stopped wraps an error returned by visit, to distinguish it from an error of the file.
type stopped struct{ error }

// Kinds of pages in the trees of tables and indexes.
const (
	interiorPage = 0x05
	leafPage     = 0x0d

	interiorIndexPage = 0x02
	leafIndexPage     = 0x0a
)

// header returns the tree header of a page. On page 1 it follows the file's header.
func header(page []byte, number uint32) []byte {
	if number == 1 {
		return page[100:]
	}
	return page
}

func (f *File) readPages(buf []byte, first uint32) error {
	if first < 1 || int64(first)+int64(len(buf)/f.page)-1 > f.pages {
		return fmt.Errorf("damaged: page %d is not in the file", first)
	}
	if _, err := f.r.ReadAt(buf, int64(first-1)*int64(f.page)); err != nil && err != io.EOF {
		return err
	} else if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// leaves lists the pages that contain the rows, in order.
func (t *Table) leaves() ([]uint32, error) {
	f := t.file
	var list []uint32
	buf := make([]byte, f.page)
	looked := int64(0)
	var walk func(number uint32, depth int) error
	walk = func(number uint32, depth int) error {
		// A tree of 20 levels can hold more rows than there are rowids.
		if looked++; depth > 20 || looked > f.pages || int64(len(list)) > f.pages {
			return fmt.Errorf("damaged: its pages form a cycle at page %d", number)
		}
		if err := f.readPages(buf, number); err != nil {
			return err
		}
		h := header(buf, number)
		switch h[0] {
		case leafPage:
			list = append(list, number)
			return nil
		case interiorPage:
		default:
			return fmt.Errorf("damaged: page %d is of kind %#x", number, h[0])
		}
		n := int(binary.BigEndian.Uint16(h[3:]))
		if 12+2*n > len(h) {
			return fmt.Errorf("damaged: page %d has %d children", number, n)
		}
		children := make([]uint32, 0, n+1)
		for i := range n {
			at := int(binary.BigEndian.Uint16(h[12+2*i:]))
			if at+4 > len(buf) {
				return fmt.Errorf("damaged: page %d", number)
			}
			children = append(children, binary.BigEndian.Uint32(buf[at:]))
		}
		children = append(children, binary.BigEndian.Uint32(h[8:]))
		// All children of a page are of the same kind: if the first child is a leaf, the other children need not be
		// read.
		for i, child := range children {
			before := len(list)
			if err := walk(child, depth+1); err != nil {
				return err
			}
			if i == 0 && len(list) == before+1 && list[before] == child {
				list = append(list, children[1:]...)
				return nil
			}
		}
		return nil
	}
	return list, walk(t.root, 0)
}

// scanner decodes the rows of one table.
type scanner struct {
	t       *Table
	visit   func(*Row) error
	place   []int32 // index of a table's column -> index of the row's value; -1: not needed
	rowids  []int   // indices of the row's values that are the rowid
	row     Row
	last    layout
	whole   []byte // payload of a row that overflows its page
	chained int64  // number of overflow pages read
}

// pages decodes the leaves. It reads leaves that are adjacent in the file with one read.
func (s *scanner) pages(leaves []uint32) error {
	f := s.t.file
	most := max(1, readAhead/f.page)
	buf := make([]byte, most*f.page)
	for len(leaves) > 0 {
		n := 1
		for n < most && n < len(leaves) && leaves[n] == leaves[0]+uint32(n) {
			n++
		}
		if err := f.readPages(buf[:n*f.page], leaves[0]); err != nil {
			return err
		}
		for i := range n {
			if err := s.leaf(buf[i*f.page:(i+1)*f.page], leaves[i]); err != nil {
				return err
			}
		}
		leaves = leaves[n:]
	}
	return nil
}

func (s *scanner) leaf(page []byte, number uint32) error {
	h := header(page, number)
	if h[0] != leafPage {
		return fmt.Errorf("damaged: page %d is of kind %#x among the rows", number, h[0])
	}
	n := int(binary.BigEndian.Uint16(h[3:]))
	if 8+2*n > len(h) {
		return fmt.Errorf("damaged: page %d has %d rows", number, n)
	}
	for i := range n {
		at := int(binary.BigEndian.Uint16(h[8+2*i:]))
		if at >= s.t.file.usable {
			return fmt.Errorf("damaged: row %d of page %d", i, number)
		}
		if err := s.cell(page[at:s.t.file.usable]); err != nil {
			if _, ok := err.(stopped); ok {
				return err
			}
			return fmt.Errorf("damaged: row %d of page %d: %w", i, number, err)
		}
	}
	return nil
}

var errShort = errors.New("it ends early")

func (s *scanner) cell(cell []byte) error {
	size, n := varint(cell)
	if n == 0 {
		return errShort
	}
	cell = cell[n:]
	rowid, n := varint(cell)
	if n == 0 {
		return errShort
	}
	cell = cell[n:]
	f := s.t.file
	local := f.local(size)
	if local < 0 || size > uint64(f.Size) {
		return fmt.Errorf("its length %d is larger than the file", size)
	}
	payload := cell
	if uint64(local) == size {
		if len(cell) < local {
			return errShort
		}
		payload = cell[:local]
	} else {
		if len(cell) < local+4 {
			return errShort
		}
		var err error
		if payload, err = s.overflow(cell[:local], binary.BigEndian.Uint32(cell[local:]), int(size)); err != nil {
			return err
		}
	}
	if err := s.record(payload); err != nil {
		return err
	}
	for _, i := range s.rowids {
		s.row.values[i] = value{kind: integer, n: int64(rowid)}
	}
	if err := s.visit(&s.row); err != nil {
		return stopped{err}
	}
	return nil
}

// local returns the number of payload bytes stored on the leaf itself (section 1.6 of the format).
func (f *File) local(size uint64) int {
	if size > math.MaxInt32 {
		return -1
	}
	return local(int(size), f.usable, f.usable-35)
}

// local returns the number of payload bytes stored on a page that can hold up to most bytes.
func local(size, usable, most int) int {
	if size <= most {
		return size
	}
	least := (usable-12)*32/255 - 23
	if k := least + (size-least)%(usable-4); k <= most {
		return k
	}
	return least
}

// overflow collects a payload that continues in a chain of pages.
func (s *scanner) overflow(first []byte, next uint32, size int) ([]byte, error) {
	f := s.t.file
	s.whole = append(s.whole[:0], first...)
	page := make([]byte, f.page)
	for len(s.whole) < size {
		if s.chained++; s.chained > f.pages {
			return nil, fmt.Errorf("its pages form a cycle at page %d", next)
		}
		if err := f.readPages(page, next); err != nil {
			return nil, err
		}
		s.whole = append(s.whole, page[4:4+min(f.usable-4, size-len(s.whole))]...)
		next = binary.BigEndian.Uint32(page)
	}
	return s.whole, nil
}

// layout holds the positions of a record's wanted values. Adjacent rows mostly have the same layout, so the scanner
// caches the last layout together with its record header.
type layout struct {
	header []byte
	cells  []cell
	size   int // total size of all examined values of the record, bytes
}

// cell is one wanted value of a record: its type, and its position relative to the end of the record's header.
type cell struct {
	value int32
	kind  valueKind
	at    uint32
	size  uint32
}

// record decodes the wanted columns of a payload.
func (s *scanner) record(p []byte) error {
	size, n := varint(p)
	if n == 0 || size > uint64(len(p)) || int(size) < n {
		return errShort
	}
	types, body := p[n:size], p[size:]
	if !bytes.Equal(types, s.last.header) {
		if err := s.measure(types, len(body)); err != nil {
			s.last.header = s.last.header[:0]
			return err
		}
	}
	if s.last.size > len(body) {
		return errShort
	}
	s.row.body = body
	for i := range s.last.cells {
		c := &s.last.cells[i]
		v := &s.row.values[c.value]
		v.kind = c.kind
		switch c.kind {
		case integer:
			if c.size == 0 { // value 0 or 1, implied by its type
				v.n = int64(c.at)
				continue
			}
			b := body[c.at:]
			switch c.size {
			case 1:
				v.n = int64(int8(b[0]))
			case 2:
				v.n = int64(int16(binary.BigEndian.Uint16(b)))
			case 3:
				v.n = int64(int8(b[0]))<<16 | int64(b[1])<<8 | int64(b[2])
			case 4:
				v.n = int64(int32(binary.BigEndian.Uint32(b)))
			case 6:
				v.n = int64(int16(binary.BigEndian.Uint16(b)))<<32 | int64(binary.BigEndian.Uint32(b[2:]))
			case 8:
				v.n = int64(binary.BigEndian.Uint64(b))
			}
		case real:
			v.n = int64(binary.BigEndian.Uint64(body[c.at:]))
		case text:
			v.at, v.size = c.at, c.size
		}
	}
	return nil
}

// measure reads a record's header: serial types, section 2.1 of the format.
func (s *scanner) measure(types []byte, body int) error {
	l := &s.last
	l.header, l.cells, l.size = append(l.header[:0], types...), l.cells[:0], 0
	for i := range s.row.values {
		s.row.values[i] = value{}
	}
	for column := 0; column < len(s.place) && len(types) > 0; column++ {
		kind := uint64(types[0])
		if kind < 0x80 {
			types = types[1:]
		} else {
			var n int
			if kind, n = varint(types); n == 0 {
				return errShort
			}
			types = types[n:]
		}
		c := cell{value: s.place[column], at: uint32(l.size)}
		switch {
		case kind == 0 || kind == 10 || kind == 11:
			c.kind = null
		case kind == 7:
			c.kind, c.size = real, 8
		case kind == 8 || kind == 9: // the integers 0 and 1, which take no space
			c.kind, c.at = integer, uint32(kind-8)
		case kind < 7:
			c.kind, c.size = integer, uint32(lengths[kind])
		case kind-12 > uint64(2*body+1):
			return errShort
		default:
			c.kind, c.size = text, uint32(kind-12)/2
		}
		if l.size += int(c.size); l.size > body {
			return errShort
		}
		if c.value >= 0 {
			l.cells = append(l.cells, c)
		}
	}
	return nil
}

// lengths of integers of serial types 0 to 6, in bytes.
var lengths = [7]uint8{0, 1, 2, 3, 4, 6, 8}

// varint reads a number of 1 to 9 bytes, most significant first. n is 0 if b ends within it.
func varint(b []byte) (v uint64, n int) {
	for i := range min(8, len(b)) {
		v = v<<7 | uint64(b[i]&0x7f)
		if b[i] < 0x80 {
			return v, i + 1
		}
	}
	if len(b) < 9 {
		return 0, 0
	}
	return v<<8 | uint64(b[8]), 9
}

// Row is one row. Its values are in the order of the columns passed to Scan.
type Row struct {
	values []value
	body   []byte
}

type value struct {
	n        int64 // an integer, or the bits of a real number
	at, size uint32
	kind     valueKind
}

type valueKind uint8

const (
	null valueKind = iota
	integer
	real
	text // a text or a blob
)

// Null reports whether the value is NULL.
func (r *Row) Null(i int) bool { return r.values[i].kind == null }

// Int returns the value as an integer, or 0 if it is NULL or not a number.
func (r *Row) Int(i int) int64 {
	v := &r.values[i]
	if v.kind == integer {
		return v.n
	}
	return r.other(v)
}

func (r *Row) other(v *value) int64 {
	switch v.kind {
	case real:
		if f := math.Float64frombits(uint64(v.n)); f >= math.MinInt64 && f < math.MaxInt64 {
			return int64(f)
		}
	case text:
		n, _ := strconv.ParseInt(string(r.body[v.at:v.at+v.size]), 10, 64)
		return n
	}
	return 0
}

// Text returns the value's bytes, or nil if it is NULL or a number.
func (r *Row) Text(i int) []byte {
	if v := &r.values[i]; v.kind == text {
		return r.body[v.at : v.at+v.size]
	}
	return nil
}
