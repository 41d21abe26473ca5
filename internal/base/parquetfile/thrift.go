package parquetfile

import "encoding/binary"

// thrift writes the parts of Thrift's compact protocol that Parquet's footer needs:
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
type thrift struct {
	b    []byte
	last int // number of the last field written in the structure
}

// Types of fields.
const (
	int32Type  = 5
	int64Type  = 6
	binaryType = 8
	listType   = 9
	structType = 12
)

// field begins a field. Field numbers must ascend, each by less than 16 from the previous one.
func (t *thrift) field(id, kind int) {
	t.b = append(t.b, byte((id-t.last)<<4|kind))
	t.last = id
}

func (t *thrift) int32(id, v int) {
	t.field(id, int32Type)
	t.b = binary.AppendVarint(t.b, int64(v))
}

func (t *thrift) int64(id int, v int64) {
	t.field(id, int64Type)
	t.b = binary.AppendVarint(t.b, v)
}

func (t *thrift) text(id int, s string) {
	t.field(id, binaryType)
	t.string(s)
}

func (t *thrift) string(s string) {
	t.b = append(binary.AppendUvarint(t.b, uint64(len(s))), s...)
}

func (t *thrift) structure(id int, fields func()) {
	t.field(id, structType)
	t.element(fields)
}

// element writes a structure that is a list element or stands alone.
func (t *thrift) element(fields func()) {
	last := t.last
	t.last = 0
	fields()
	t.b = append(t.b, 0)
	t.last = last
}

// list begins a list. The caller must then write n structures.
func (t *thrift) list(id, n int) { t.listOf(id, structType, n) }

func (t *thrift) listOf(id, kind, n int) {
	t.field(id, listType)
	if n < 15 {
		t.b = append(t.b, byte(n<<4|kind))
		return
	}
	t.b = binary.AppendUvarint(append(t.b, byte(0xf0|kind)), uint64(n))
}

func (t *thrift) int32List(id int, values ...int) {
	t.listOf(id, int32Type, len(values))
	for _, v := range values {
		t.b = binary.AppendVarint(t.b, int64(v))
	}
}

func (t *thrift) textList(id int, values ...string) {
	t.listOf(id, binaryType, len(values))
	for _, v := range values {
		t.string(v)
	}
}
