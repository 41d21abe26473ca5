package parquetfile

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// all are columns of every kind.
var all = []Column{
	{Name: "id", Type: Int64, Delta: true}, {Name: "at", Type: Int64, Delta: true, Optional: true},
	{Name: "small", Type: Int32}, {Name: "few", Type: Int32, Optional: true}, {Name: "big", Type: Int64, Optional: true},
	{Name: "kind", Type: Text}, {Name: "name", Type: Text, Optional: true}, {Name: "never", Type: Text, Optional: true},
	{Name: "neverAt", Type: Int64, Delta: true, Optional: true}, {Name: "always", Type: Int32, Optional: true},
}

// table returns a table of all columns. Values come in runs of any length, with differences of any size.
func table(rng *rand.Rand, n int) (rows [][]any) {
	at := rng.Int64()
	texts := []string{"", "a", "kernel \x00 of ü", strings.Repeat("long ", 30), "z"}
	var few *int32
	var name *string
	for i := range n {
		id := int64(i) * 7
		if rng.IntN(3) == 0 {
			at += int64(rng.Uint64() >> rng.IntN(64)) // may wrap around
		}
		if rng.IntN(1+rng.IntN(40)) == 0 {
			few, name = nil, nil
			if rng.IntN(3) > 0 {
				few, name = new(rng.Int32N(20)-10), &texts[rng.IntN(len(texts))]
			}
		}
		var atOrNull, big *int64
		if i%5 != 0 {
			atOrNull = new(at)
		}
		if i%40 > 20 {
			big = new([]int64{math.MinInt64, math.MaxInt64, 0, -1}[rng.IntN(4)])
		}
		rows = append(rows, []any{&id, atOrNull, new(int32(rng.Uint32())), few, big, new(fmt.Sprint("k", rng.IntN(1+i))), name,
			(*string)(nil), (*int64)(nil), new(int32(3))})
	}
	return rows
}

// text formats a value as read shows it.
func text(column Column, v any) string {
	switch v := v.(type) {
	case *string:
		if v == nil || column.Optional && *v == "" {
			return "NULL"
		}
		return *v
	case *int32:
		if v != nil {
			return fmt.Sprint(*v)
		}
	case *int64:
		if v != nil {
			return fmt.Sprint(*v)
		}
	}
	return "NULL"
}

// write writes rows of all columns, in row groups of a given size.
func write(t testing.TB, rows [][]any, group int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, all)
	for _, row := range rows {
		w.Add(row)
		if w.Rows() == group {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.Meta("rows", fmt.Sprint(len(rows)))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func open(t testing.TB, file []byte) *parquet.File {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// read reads a file with the Parquet project's Go library.
func read(t testing.TB, f *parquet.File) (rows [][]string) {
	t.Helper()
	for _, g := range f.RowGroups() {
		r := g.Rows()
		buf := make([]parquet.Row, 100)
		for {
			n, err := r.ReadRows(buf)
			for _, row := range buf[:n] {
				var line []string
				for _, v := range row {
					if v.IsNull() {
						line = append(line, "NULL")
					} else {
						line = append(line, v.String())
					}
				}
				rows = append(rows, line)
			}
			if n == 0 {
				if err.Error() != "EOF" {
					t.Fatal(err)
				}
				break
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// Tables of any number of rows, in one row group and in several, read as they were written.
func TestWriter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 7, 8, 9, 31, 32, 33, 34, 127, 128, 129, 130, 257, 1000, 20000} {
		for _, group := range []int{1 << 30, 129, 1000} {
			rows := table(rng, n)
			f := open(t, write(t, rows, group))
			name := fmt.Sprintf("%d rows in groups of %d", n, group)
			var want [][]string
			for _, row := range rows {
				var line []string
				for i, v := range row {
					line = append(line, text(all[i], v))
				}
				want = append(want, line)
			}
			got := read(t, f)
			if len(got) != len(want) {
				t.Fatalf("%s: %d read", name, len(got))
			}
			for i := range got {
				if !slices.Equal(got[i], want[i]) {
					t.Fatalf("%s: row %d\n got %q\nwant %q", name, i, got[i], want[i])
				}
			}
			if rows, _ := f.Lookup("rows"); rows != fmt.Sprint(n) || f.NumRows() != int64(n) || len(f.RowGroups()) != (n+group-1)/group {
				t.Errorf("%s: %s, %d rows, %d groups", name, rows, f.NumRows(), len(f.RowGroups()))
			}
		}
	}
}

// The footer describes the columns and the content of each row group, so that readers may skip it.
func TestFooter(t *testing.T) {
	row := func(id int64, few *int32, kind, name string) []any {
		return []any{&id, &id, new(int32(id)), few, &id, &kind, &name, (*string)(nil), (*int64)(nil), new(int32(3))}
	}
	f := open(t, write(t, [][]any{
		row(5, nil, "b", ""), row(-2, new(int32(-7)), "ü", strings.Repeat("y", 100)), row(3, new(int32(300)), "a", "x"),
	}, 100))
	const want = `message row {
	required int64 id (INT(64,true));
	optional int64 at (INT(64,true));
	required int32 small (INT(32,true));
	optional int32 few (INT(32,true));
	optional int64 big (INT(64,true));
	required binary kind (STRING);
	optional binary name (STRING);
	optional binary never (STRING);
	optional int64 neverAt (INT(64,true));
	optional int32 always (INT(32,true));
}`
	if got := f.Schema().String(); got != want {
		t.Errorf("schema:\n%s\nwant:\n%s", got, want)
	}
	meta := f.Metadata()
	if len(meta.ColumnOrders) != len(all) || meta.ColumnOrders[0].Value == nil {
		t.Errorf("orders of columns: %v", meta.ColumnOrders)
	}
	var got []string
	for i := range meta.RowGroups[0].Columns {
		c := &meta.RowGroups[0].Columns[i].MetaData
		s := &c.Statistics
		got = append(got, fmt.Sprintf("%s %v: %d NULL, %q to %q", c.PathInSchema, c.Codec, s.NullCount, s.MinValue, s.MaxValue))
	}
	wantStats := []string{
		`[id] ZSTD: 0 NULL, "\xfe\xff\xff\xff\xff\xff\xff\xff" to "\x05\x00\x00\x00\x00\x00\x00\x00"`,
		`[at] ZSTD: 0 NULL, "\xfe\xff\xff\xff\xff\xff\xff\xff" to "\x05\x00\x00\x00\x00\x00\x00\x00"`,
		`[small] ZSTD: 0 NULL, "\xfe\xff\xff\xff" to "\x05\x00\x00\x00"`,
		`[few] ZSTD: 1 NULL, "\xf9\xff\xff\xff" to ",\x01\x00\x00"`,
		`[big] ZSTD: 0 NULL, "\xfe\xff\xff\xff\xff\xff\xff\xff" to "\x05\x00\x00\x00\x00\x00\x00\x00"`,
		`[kind] ZSTD: 0 NULL, "a" to "ü"`,
		`[name] ZSTD: 1 NULL, "" to ""`, // too long to be stored
		`[never] ZSTD: 3 NULL, "" to ""`,
		`[neverAt] ZSTD: 3 NULL, "" to ""`,
		`[always] ZSTD: 0 NULL, "\x03\x00\x00\x00" to "\x03\x00\x00\x00"`,
	}
	if !slices.Equal(got, wantStats) {
		t.Errorf("statistics:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(wantStats, "\n"))
	}
	// Sizes and offsets match the file: its pages are consecutive.
	at := int64(len(magic))
	g := &meta.RowGroups[0]
	for i := range g.Columns {
		c := &g.Columns[i].MetaData
		first := c.DataPageOffset
		if c.DictionaryPageOffset > 0 {
			first = c.DictionaryPageOffset
		}
		if first != at {
			t.Errorf("%s begins at %d, the column before it ends at %d", c.PathInSchema, first, at)
		}
		at += c.TotalCompressedSize
	}
	if g.TotalCompressedSize != at-int64(len(magic)) {
		t.Errorf("the row group has %d bytes of %d", g.TotalCompressedSize, at-int64(len(magic)))
	}
}

var errFull = errors.New("no space left")

// full accepts a limited number of bytes.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestErrors(t *testing.T) {
	rows := table(rand.New(rand.NewPCG(3, 4)), 300)
	size := len(write(t, rows, 100))
	for left := 0; left < size; left += 1 + size/20 {
		w := NewWriter(&full{left}, all)
		for i, row := range rows {
			w.Add(row)
			if i%100 == 99 {
				_ = w.Flush() // the error comes again
			}
		}
		if err := w.Close(); !errors.Is(err, errFull) {
			t.Errorf("on %d of %d bytes: %v", left, size, err)
		}
	}
}

// FuzzWriter writes a column of every encoding with values of any bytes.
func FuzzWriter(f *testing.F) {
	f.Add([]byte("aaaaaaaaaaaabaaaaaaaacccccccccd"), uint8(3))
	f.Add(bytes.Repeat([]byte{0, 255, 128}, 100), uint8(40))
	f.Fuzz(func(t *testing.T, values []byte, shift uint8) {
		columns := []Column{
			{Name: "dict", Type: Int64, Optional: true}, {Name: "delta", Type: Int64, Delta: true}, {Name: "text", Type: Text},
		}
		var out bytes.Buffer
		w := NewWriter(&out, columns)
		var want [][]string
		for _, b := range values {
			n := int64(b) << (shift % 64)
			text := strings.Repeat(string(rune(b)), int(b%3))
			row := []any{&n, &n, &text}
			line := []string{fmt.Sprint(n), fmt.Sprint(n), text}
			if b%7 == 0 {
				row[0], line[0] = (*int64)(nil), "NULL"
			}
			w.Add(row)
			want = append(want, line)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got := read(t, open(t, out.Bytes()))
		if !slices.EqualFunc(got, want, slices.Equal[[]string]) {
			t.Errorf("%q, read as %q", want, got)
		}
	})
}
