package timeline

import (
	"encoding/binary"
	"reflect"
	"testing"
)

// decode reads an answer as the page does: each column in place, as a typed array.
func decode(t *testing.T, b []byte) (tiles []*Tile) {
	t.Helper()
	le := binary.LittleEndian
	if string(b[:4]) != "SSTL" || le.Uint16(b[4:]) != wireVersion || len(b)%8 != 0 {
		t.Fatalf("the head is % x, and the length %d", b[:headBytes], len(b))
	}
	level := int(le.Uint32(b[16:]))
	for i := range le.Uint32(b[12:]) {
		entry := b[headBytes+entryBytes*i:]
		tile := &Tile{Place: Place{Lane: int(le.Uint32(entry)), Index: int32(le.Uint32(entry[4:])), Level: level}}
		tiles = append(tiles, tile)
		at, n := le.Uint32(entry[8:]), le.Uint32(entry[12:])&^wholeBit
		tile.Whole = le.Uint32(entry[12:])&wholeBit != 0
		if tile.Empty = at == 0; tile.Empty {
			continue
		}
		if at%8 != 0 {
			t.Fatalf("tile %d lies at %d", i, at)
		}
		body := b[at:]
		copy(tile.Class[:], body)
		copy(tile.Covered[:], body[Columns:])
		copy(tile.Waited[:], body[2*Columns:])
		body = body[stripBytes:]
		for k := range n {
			word := func(column uint32) uint32 { return le.Uint32(body[4*(column*n+k):]) }
			tile.Spans = append(tile.Spans, Piece{word(0), word(1), int32(word(2)), word(3), body[16*n+k], body[17*n+k]})
		}
	}
	return tiles
}

// TestWire: tiles read back as drawn, empty ones included.
func TestWire(t *testing.T) {
	tl := open(t, "graphs")
	for _, level := range []int{6, 12, 16, 20} {
		q := Query{Level: level, Parts: []Part{{0, 5, -1, 3}, {8, 8, 2, 2}}}
		var want []*Tile
		q.Each(func(p Place) { want = append(want, tl.Tile(p)) })
		got := decode(t, tl.Encode(&q))
		if len(got) != 31 || !reflect.DeepEqual(got, want) {
			t.Errorf("level %d: %d tiles are not what was drawn", level, len(got))
		}
	}
}

// TestMostBytes: the largest possible answer stays below 2.1 MB.
func TestMostBytes(t *testing.T) {
	if MostBytes > 2_100_000 {
		t.Errorf("a view has up to %d bytes", MostBytes)
	}
}
