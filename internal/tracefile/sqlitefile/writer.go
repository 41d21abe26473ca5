package sqlitefile

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
)

const (
	// pageSize is the page size of a Writer, in bytes.
	pageSize = 8192
	// lockByte is the file offset of the byte that SQLite uses to lock a database. The page that contains it is never
	// used (section 1.3).
	lockByte = 1 << 30
	// writeBuffer is the number of bytes written at once.
	writeBuffer = 1 << 18
)

// Writer writes a database: first the tables, then the indexes. Rows of several tables may be added in any order. Pages
// are written sequentially, and memory does not grow with the output.
type Writer struct {
	file   file
	page   int    // page size, bytes
	pages  uint32 // number of pages so far
	at     int64  // offset of buffer in the file
	buffer []byte
	first  []byte // page 1, written last
	cell   []byte // cell of the row being added
	record []byte
	tables []*Appender
	views  []entry
	trees  []entry   // tables and indexes, in order of creation
	stats  [][]Value // rows of sqlite_stat1

	mostKeys int // see the constant mostKeys
}

type file interface {
	io.ReaderAt
	io.WriterAt
}

// entry is a row of sqlite_schema.
type entry struct {
	kind, name, table string
	root              uint32
	sql               string
}

// NewWriter returns a Writer to an empty file. Close does not close the file.
func NewWriter(f *os.File) *Writer {
	return newWriter(f, pageSize)
}

func newWriter(f file, page int) *Writer {
	return &Writer{file: f, page: page, pages: 1, at: int64(page), buffer: make([]byte, 0, writeBuffer), mostKeys: mostKeys}
}

// Appender adds rows to one table.
type Appender struct {
	Rows    int64 // rows added so far; also the rowid of the last row
	w       *Writer
	name    string
	sql     string
	columns []string
	rowid   int // index of the column that is the rowid; -1: none
	tree    tree
	root    uint32 // 0 until all rows are written
	indexed bool
}

// Table creates the table of a CREATE TABLE statement. The table must have rowids and no UNIQUE constraints, because
// such constraints would need an index.
func (w *Writer) Table(sql string) (*Appender, error) {
	words := lex(sql)
	if len(words) < 3 || words[1].text != "TABLE" {
		return nil, fmt.Errorf("not a CREATE TABLE statement: %s", sql)
	}
	columns, rowid, err := columns(sql)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", words[2].text, err)
	}
	t := &Appender{w: w, name: words[2].text, sql: sql, columns: columns, rowid: rowid, tree: tree{w: w}}
	w.tables = append(w.tables, t)
	return t, nil
}

// View adds the view of a CREATE VIEW statement.
func (w *Writer) View(sql string) {
	name := lex(sql)[2].text
	w.views = append(w.views, entry{"view", name, name, 0, sql})
}

// Value is the value of one column of a row: Int, Text or, as the zero value, NULL.
type Value struct {
	kind valueKind
	n    int64
	text string
}

// Int returns an integer value.
func Int(n int64) Value { return Value{kind: integer, n: n} }

// Text returns a UTF-8 text value.
func Text(s string) Value { return Value{kind: text, text: s} }

// Add adds a row. The new row's rowid is the last row's rowid plus 1. If the table has a rowid column, the value of
// that column must be the new row's rowid.
func (t *Appender) Add(values ...Value) error {
	if len(values) != len(t.columns) {
		panic(fmt.Sprintf("%d values for the %d columns of %s", len(values), len(t.columns), t.name))
	}
	t.Rows++
	if t.rowid >= 0 {
		if v := values[t.rowid]; v != Int(t.Rows) {
			panic(fmt.Sprintf("row %d of %s has number %d", t.Rows, t.name, v.n))
		}
		values[t.rowid] = Value{} // as section 2.3 requires
	}
	w := t.w
	w.record = appendRecord(w.record[:0], values)
	w.cell = appendVarint(w.cell[:0], uint64(len(w.record)))
	w.cell = appendVarint(w.cell, uint64(t.Rows))
	if err := w.payload(local(len(w.record), w.page, w.page-35)); err != nil {
		return err
	}
	return t.tree.leaf(w.cell, t.Rows)
}

// payload adds the record to the cell. Bytes beyond the first local bytes go to overflow pages.
func (w *Writer) payload(local int) error {
	w.cell = append(w.cell, w.record[:local]...)
	rest := w.record[local:]
	if len(rest) == 0 {
		return nil
	}
	w.cell = binary.BigEndian.AppendUint32(w.cell, w.next())
	page := make([]byte, w.page)
	for len(rest) > 0 {
		clear(page)
		n := copy(page[4:], rest)
		if rest = rest[n:]; len(rest) > 0 {
			binary.BigEndian.PutUint32(page, w.after(w.next()))
		}
		if _, err := w.write(page); err != nil {
			return err
		}
	}
	return nil
}

// next returns the number of the next page to write.
func (w *Writer) next() uint32 { return w.after(w.pages) }

func (w *Writer) after(page uint32) uint32 {
	if page+1 == w.lockPage() {
		return page + 2
	}
	return page + 1
}

func (w *Writer) lockPage() uint32 { return uint32(lockByte/w.page) + 1 }

// write appends a page to the file and returns its number.
func (w *Writer) write(page []byte) (uint32, error) {
	if w.pages == math.MaxUint32-2 {
		return 0, fmt.Errorf("the database has too many pages")
	}
	number := w.next()
	if number == w.pages+2 {
		w.buffer = append(w.buffer, make([]byte, w.page)...)
	}
	w.pages = number
	w.buffer = append(w.buffer, page...)
	if len(w.buffer) >= writeBuffer {
		return number, w.flush()
	}
	return number, nil
}

func (w *Writer) flush() error {
	n, err := w.file.WriteAt(w.buffer, w.at)
	w.at += int64(n)
	w.buffer = w.buffer[:0]
	return err
}

// finish finishes the tables that have no root yet. No rows can be added after finish.
func (w *Writer) finish() (err error) {
	for _, t := range w.tables {
		if t.root != 0 {
			continue
		}
		if t.root, err = t.tree.finish(); err != nil {
			return err
		}
		w.trees = append(w.trees, entry{"table", t.name, t.name, t.root, t.sql})
	}
	return w.flush()
}

// Close writes the statistics, as ANALYZE does, and the schema.
func (w *Writer) Close() error {
	if err := w.finish(); err != nil {
		return err
	}
	if err := w.analyze(); err != nil {
		return err
	}
	// The root of sqlite_schema is page 1, where it follows the file's header.
	schema := Appender{w: w, name: "sqlite_schema", columns: schemaColumns, rowid: -1, tree: tree{w: w, base: 100}}
	for _, e := range append(w.trees, w.views...) {
		err := schema.Add(Text(e.kind), Text(e.name), Text(e.table), Int(int64(e.root)), Text(strings.TrimSpace(e.sql)))
		if err != nil {
			return err
		}
	}
	if _, err := schema.tree.finish(); err != nil {
		return err
	}
	if err := w.flush(); err != nil {
		return err
	}
	h := w.first
	copy(h, Magic)
	binary.BigEndian.PutUint16(h[16:], uint16(w.page%65535)) // 65536 is written as 1
	copy(h[18:], []byte{1, 1, 0, 64, 32, 32})                // no write-ahead log, no reserved bytes; others fixed
	const changes = 1
	binary.BigEndian.PutUint32(h[24:], changes)
	binary.BigEndian.PutUint32(h[28:], w.pages)
	binary.BigEndian.PutUint32(h[40:], 1) // schema version
	binary.BigEndian.PutUint32(h[44:], 4) // schema format: the integers 0 and 1 take no space in a record
	binary.BigEndian.PutUint32(h[56:], 1) // UTF-8
	binary.BigEndian.PutUint32(h[92:], changes)
	binary.BigEndian.PutUint32(h[96:], 3_046_000) // version of SQLite that defines this format
	_, err := w.file.WriteAt(h, 0)
	return err
}

// analyze writes the statistics for the query planner.
func (w *Writer) analyze() error {
	stats, err := w.Table("CREATE TABLE sqlite_stat1(tbl,idx,stat)")
	if err != nil {
		return err
	}
	for _, t := range w.tables {
		if t.Rows > 0 && !t.indexed {
			w.stats = append(w.stats, []Value{Text(t.name), {}, Text(fmt.Sprint(t.Rows))})
		}
	}
	for _, row := range w.stats {
		if err := stats.Add(row...); err != nil {
			return err
		}
	}
	return w.finish()
}

// appendRecord appends values as a record, section 2.1 of the format.
func appendRecord(b []byte, values []Value) []byte {
	var space [64]byte
	types := space[:0]
	for i := range values {
		types = appendVarint(types, values[i].serialType())
	}
	// The header's length includes the bytes of the length itself.
	size := len(types) + 1
	if size > 127 {
		size++
	}
	b = append(appendVarint(b, uint64(size)), types...)
	for i := range values {
		switch v := &values[i]; v.kind {
		case text:
			b = append(b, v.text...)
		case integer:
			if kind := v.serialType(); kind < 8 {
				for n := 8 * int(lengths[kind]); n > 0; n -= 8 {
					b = append(b, byte(v.n>>(n-8)))
				}
			}
		}
	}
	return b
}

// serialType returns the storage type of a value. 8 and 9 are the integers 0 and 1, which take no space.
func (v *Value) serialType() uint64 {
	switch v.kind {
	case null:
		return 0
	case text:
		return 13 + 2*uint64(len(v.text))
	}
	if v.n == 0 || v.n == 1 {
		return 8 + uint64(v.n)
	}
	for kind := uint64(1); kind < 6; kind++ {
		if bits := 8*int(lengths[kind]) - 1; v.n>>bits == 0 || v.n>>bits == -1 {
			return kind
		}
	}
	return 6
}

// appendVarint appends a number in the format that varint reads.
func appendVarint(b []byte, v uint64) []byte {
	if v < 0x80 {
		return append(b, byte(v))
	}
	if v >= 1<<56 {
		for shift := 57; shift >= 8; shift -= 7 {
			b = append(b, byte(v>>shift)|0x80)
		}
		return append(b, byte(v))
	}
	shift := 7
	for v>>(shift+7) > 0 {
		shift += 7
	}
	for ; shift > 0; shift -= 7 {
		b = append(b, byte(v>>shift)|0x80)
	}
	return append(b, byte(v)&0x7f)
}
