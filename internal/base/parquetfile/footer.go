package parquetfile

// Kinds of pages.
const (
	dataPage       = 0
	dictionaryPage = 2
)

// pageHeader precedes each page.
type pageHeader struct {
	kind         int
	values       int // including NULLs
	encoding     int
	raw, written int // bytes of the page's body before and after compression
}

func (h *pageHeader) append(b []byte) []byte {
	t := thrift{b: b}
	t.element(func() {
		t.int32(1, h.kind)
		t.int32(2, h.raw)
		t.int32(3, h.written)
		if h.kind == dictionaryPage {
			t.structure(7, func() {
				t.int32(1, h.values)
				t.int32(2, h.encoding)
			})
			return
		}
		t.structure(5, func() {
			t.int32(1, h.values)
			t.int32(2, h.encoding)
			t.int32(3, rle) // encoding of the definition levels, which mark NULLs
			t.int32(4, rle) // encoding of the repetition levels, which are absent
		})
	})
	return t.b
}

const (
	zstdCodec = 6
	utf8      = 0 // ConvertedType for older readers
	asString  = 1 // LogicalType
	asTyped   = 1 // ColumnOrder
)

// footer returns the FileMetaData of parquet.thrift.
func (p *Writer) footer() []byte {
	var t thrift
	t.element(func() {
		t.int32(1, 2) // version
		t.list(2, 1+len(p.columns))
		t.element(func() { // root of all columns
			t.text(4, "row")
			t.int32(5, len(p.columns))
		})
		for _, c := range p.columns {
			t.element(func() { c.schema(&t) })
		}
		t.int64(3, p.total)
		t.list(4, len(p.groups))
		for i := range p.groups {
			t.element(func() { p.group(&t, i) })
		}
		t.list(5, len(p.meta))
		for _, m := range p.meta {
			t.element(func() {
				t.text(1, m[0])
				t.text(2, m[1])
			})
		}
		t.text(6, "stepscope")
		t.list(7, len(p.columns)) // minimum and maximum use the order of the column's type
		for range p.columns {
			t.element(func() { t.structure(asTyped, func() {}) })
		}
	})
	return t.b
}

// schema writes the SchemaElement of a column.
func (c *column) schema(t *thrift) {
	t.int32(1, int(c.Type))
	if c.Optional {
		t.int32(3, 1)
	} else {
		t.int32(3, 0)
	}
	t.text(4, c.Name)
	if c.Type == Text {
		t.int32(6, utf8)
		t.structure(10, func() { t.structure(asString, func() {}) })
	}
}

// group writes the RowGroup of a row group.
func (p *Writer) group(t *thrift, i int) {
	g := &p.groups[i]
	var raw, written int64
	t.list(1, len(g.chunks))
	for j := range g.chunks {
		ch := &g.chunks[j]
		raw, written = raw+ch.raw, written+ch.written
		t.element(func() {
			t.int64(2, 0) // there is no metadata after the column's data
			t.structure(3, func() { ch.metadata(t, p.columns[j], g.rows) })
		})
	}
	t.int64(2, raw)
	t.int64(3, int64(g.rows))
	t.int64(5, g.at)
	t.int64(6, written)
}

// metadata writes the ColumnMetaData of a chunk.
func (ch *chunk) metadata(t *thrift, c *column, rows int) {
	t.int32(1, int(c.Type))
	t.int32List(2, plain, rle, ch.encoding)
	t.textList(3, c.Name)
	t.int32(4, zstdCodec)
	t.int64(5, int64(rows))
	t.int64(6, ch.raw)
	t.int64(7, ch.written)
	t.int64(9, ch.data)
	if ch.dictionary > 0 {
		t.int64(11, ch.dictionary)
	}
	t.structure(12, func() {
		t.int64(3, int64(ch.nulls))
		if ch.least != nil {
			t.text(5, string(ch.most))
			t.text(6, string(ch.least))
		}
	})
}
