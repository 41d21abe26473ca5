// Package parquetfile writes flat tables as Parquet with zstd compression. It is small because it supports only text
// and integer columns, with optional NULLs.
//
// The format is described at https://parquet.apache.org/docs/file-format and in parquet.thrift of
// https://github.com/apache/parquet-format. Columns use encodings that all readers support: dictionaries, or deltas of
// integers. Each column of a row group has one data page (version 1).
package parquetfile

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Type is the type of a column's values.
type Type int32

// Numbers of the types in the format.
const (
	Int32 Type = 1
	Int64 Type = 2
	Text  Type = 6 // BYTE_ARRAY annotated as UTF-8
)

// Column describes one column.
type Column struct {
	Name     string
	Type     Type
	Optional bool // whether values may be NULL
	// Delta stores Int64 values as differences. It is meant for times and ids. All other columns use a dictionary per
	// row group.
	Delta bool
}

const magic = "PAR1"

// Writer writes one file. It is unusable after an error.
type Writer struct {
	w       io.Writer
	at      int64 // bytes written
	columns []*column
	rows    int // number of rows in the current row group
	total   int64
	groups  []group
	meta    [][2]string
	zstd    *zstd.Encoder
	err     error
	page    []byte
	packed  []byte
}

// NewWriter returns a Writer of a table with these columns to w.
func NewWriter(w io.Writer, columns []Column) *Writer {
	// NewWriter returns no error, because the options are valid.
	enc, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	p := &Writer{w: w, zstd: enc}
	for _, c := range columns {
		p.columns = append(p.columns, newColumn(c))
	}
	p.write([]byte(magic))
	return p
}

// Meta adds a key to the file's footer. It may be called any time before Close.
func (p *Writer) Meta(key, value string) { p.meta = append(p.meta, [2]string{key, value}) }

// Add adds a row. row has one element per column: a *string, *int32 or *int64, depending on the column's type. A nil
// pointer is NULL, and so is an empty text in an optional column.
func (p *Writer) Add(row []any) {
	if len(row) != len(p.columns) {
		panic(fmt.Sprintf("%d values for %d columns", len(row), len(p.columns)))
	}
	p.rows++
	for i, v := range row {
		p.columns[i].add(v)
	}
}

// Rows returns the number of rows added since the last Flush.
func (p *Writer) Rows() int { return p.rows }

// Flush writes the rows added since the last Flush as a row group.
func (p *Writer) Flush() error {
	if p.rows == 0 || p.err != nil {
		return p.err
	}
	g := group{rows: p.rows, at: p.at}
	for _, c := range p.columns {
		g.chunks = append(g.chunks, p.chunk(c))
		c.reset()
	}
	p.groups = append(p.groups, g)
	p.total += int64(p.rows)
	p.rows = 0
	return p.err
}

// Close writes the footer.
func (p *Writer) Close() error {
	if err := p.Flush(); err != nil {
		return err
	}
	footer := p.footer()
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(footer)))
	p.write(append(footer, magic...))
	return p.err
}

func (p *Writer) write(b []byte) {
	if p.err != nil {
		return
	}
	var n int
	n, p.err = p.w.Write(b)
	p.at += int64(n)
}

// group is the footer entry of a row group.
type group struct {
	rows   int
	at     int64
	chunks []chunk
}

// chunk is the footer entry of a column in a row group.
type chunk struct {
	dictionary   int64 // offset of the dictionary page; 0: none
	data         int64
	encoding     int
	raw, written int64 // bytes before and after compression, including page headers
	nulls        int
	least, most  []byte // smallest and largest value, encoded for the statistics; nil: none
}

// chunk writes a column of the row group: first the dictionary, then the data.
func (p *Writer) chunk(c *column) chunk {
	ch := chunk{nulls: p.rows - c.values, encoding: plain}
	start := p.at
	switch {
	case c.values == 0: // no data follows the levels
		p.packed = p.packed[:0]
	case c.Delta:
		ch.encoding = deltaBinaryPacked
		p.packed = appendDeltas(p.packed[:0], c.numbers)
	default:
		ch.encoding = rleDictionary
		ch.dictionary = p.at
		ch.raw += p.writePage(c.dictionary, pageHeader{kind: dictionaryPage, values: c.entries, encoding: plain})
		p.packed = append(p.packed[:0], byte(c.width()))
		p.packed = appendHybrid(p.packed, c.places, c.width())
	}
	p.page = p.page[:0]
	if c.Optional {
		p.page = append(p.page, 0, 0, 0, 0) // length of the levels
		p.page = appendHybrid(p.page, c.levels, 1)
		binary.LittleEndian.PutUint32(p.page, uint32(len(p.page)-4))
	}
	p.page = append(p.page, p.packed...)
	ch.data = p.at
	ch.raw += p.writePage(p.page, pageHeader{kind: dataPage, values: p.rows, encoding: ch.encoding})
	ch.written = p.at - start
	ch.least, ch.most = c.limits()
	return ch
}

// writePage writes a page and returns its uncompressed size in bytes.
func (p *Writer) writePage(body []byte, h pageHeader) int64 {
	packed := p.zstd.EncodeAll(body, nil)
	h.raw, h.written = len(body), len(packed)
	head := h.append(nil)
	p.write(head)
	p.write(packed)
	return int64(len(head) + len(body))
}
