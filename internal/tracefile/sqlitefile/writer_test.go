package sqlitefile

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/sqlitedb"
)

// written returns the database that fill creates, opened by SQLite.
func written(t testing.TB, page int, fill func(w *Writer)) (db *sql.DB, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "w.sqlite")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := newWriter(f, page)
	fill(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	db, err = sqlitedb.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, path
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// lines returns the rows of a query as text.
func lines(t testing.TB, db *sql.DB, query string) (list []string) {
	t.Helper()
	rows := must[*sql.Rows](t)(db.Query(query))
	defer rows.Close()
	columns := must[[]string](t)(rows.Columns())
	for rows.Next() {
		values := make([]any, len(columns))
		to := make([]any, len(columns))
		for i := range values {
			to[i] = &values[i]
		}
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprint(values...))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// sample returns rows with values of all kinds and sizes, some of which need pages of their own.
func sample(n, page int) (rows [][]Value) {
	rng := rand.New(rand.NewPCG(7, uint64(page)))
	for i := range n {
		long := ""
		switch rng.IntN(100) {
		case 0: // around the maximum that fits
			long = strings.Repeat("s", max(0, page-35+rng.IntN(20)-10))
		case 1:
			long = strings.Repeat("m", rng.IntN(5*page))
		default:
			long = strings.Repeat("x", rng.IntN(40))
		}
		row := []Value{Int(int64(i + 1)), Int(rng.Int64() >> rng.IntN(64)), Text(fmt.Sprintf("%d%s", rng.IntN(n), long)), Int(int64(rng.IntN(50))), {}}
		if rng.IntN(2) == 0 {
			row[1].n = -row[1].n
		}
		if rng.IntN(3) == 0 {
			row[3] = Value{}
		}
		rows = append(rows, row)
	}
	for i, n := range []int64{math.MinInt64, math.MaxInt64, 127, 128, -128, -129, 32767, 32768, -32768, -32769, 8388607, 8388608, -8388608,
		-8388609, math.MaxInt32, math.MaxInt32 + 1, math.MinInt32, math.MinInt32 - 1, 1<<47 - 1, 1 << 47, -1 << 47, -1<<47 - 1, 0, 1, -1} {
		if i < len(rows) {
			rows[i][1] = Int(n)
		}
	}
	return rows
}

const sampleTable = `CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, name TEXT NOT NULL, few INTEGER, absent TEXT)`

var sampleIndexes = []string{
	`CREATE INDEX t_n ON t (n)`, `CREATE INDEX t_name ON t (name)`, `CREATE INDEX t_few ON t (few)`,
	`CREATE INDEX t_some ON t (few) WHERE few IS NOT NULL`, `CREATE INDEX t_none ON t (absent) WHERE absent IS NOT NULL`,
}

// SQLite finds the database intact, with all page sizes and with indexes sorted in one or many passes, reads the same
// rows, and ANALYZE adds nothing to its statistics.
func TestWriter(t *testing.T) {
	for _, c := range []struct{ page, rows, keys int }{
		{512, 0, 100}, {512, 1, 100}, {512, 3000, 1 << 20}, {512, 2000, 100}, {1024, 700, 10}, {8192, 8000, 3000}, {65536, 2000, 100_000},
	} {
		rows := sample(c.rows, c.page)
		db, path := written(t, c.page, func(w *Writer) {
			w.mostKeys = c.keys
			table := must[*Appender](t)(w.Table(sampleTable))
			other := must[*Appender](t)(w.Table(`CREATE TABLE other (a INTEGER, b TEXT)`))
			must[*Appender](t)(w.Table(`CREATE TABLE "empty" (a INTEGER, b TEXT)`))
			w.View(`CREATE VIEW v AS SELECT n + 1 AS more FROM t`)
			for i, row := range rows {
				if err := table.Add(slices.Clone(row)...); err != nil {
					t.Fatal(err)
				}
				if i%3 == 0 {
					if err := other.Add(Int(int64(i)), row[2]); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, sql := range sampleIndexes {
				if err := w.Index(sql); err != nil {
					t.Fatal(err)
				}
			}
		})
		name := fmt.Sprintf("%d rows on pages of %d, %d keys at once", c.rows, c.page, c.keys)
		if got := lines(t, db, `PRAGMA integrity_check`); !slices.Equal(got, []string{"ok"}) {
			t.Fatalf("%s: %s", name, got)
		}
		var want, wantOther []string
		for i, row := range rows {
			values := []any{row[0].n, row[1].n, row[2].text, any(row[3].n), nil}
			if row[3].kind == null {
				values[3] = nil
			}
			want = append(want, fmt.Sprint(values...))
			if i%3 == 0 {
				wantOther = append(wantOther, fmt.Sprint(int64(i), row[2].text))
			}
		}
		if got := lines(t, db, `SELECT * FROM t NOT INDEXED ORDER BY id`); !slices.Equal(got, want) {
			t.Errorf("%s: the rows differ from those written", name)
		}
		if got := lines(t, db, `SELECT * FROM other`); !slices.Equal(got, wantOther) {
			t.Errorf("%s: other rows than were written in the other table", name)
		}
		if got := lines(t, db, `SELECT count(*) FROM v, "empty"`); !slices.Equal(got, []string{"0"}) {
			t.Errorf("%s: %s", name, got)
		}
		for _, q := range []string{"SELECT id FROM t %s ORDER BY n, id", "SELECT id FROM t %s ORDER BY few, id", "SELECT id FROM t %s WHERE few IS NOT NULL ORDER BY few, id"} {
			index := []string{"INDEXED BY t_n", "INDEXED BY t_few", "INDEXED BY t_some"}[strings.Count(q, "few")]
			if got, want := lines(t, db, fmt.Sprintf(q, index)), lines(t, db, fmt.Sprintf(q, "NOT INDEXED")); !slices.Equal(got, want) {
				t.Errorf("%s: %s %s gives a different order", name, q, index)
			}
		}
		// Our own reader.
		i := 0
		f := must[*File](t)(Open(path))
		if err := f.Table("t").Scan([]string{"id", "n", "name", "few"}, func(r *Row) error {
			if row := rows[i]; r.Int(0) != row[0].n || r.Int(1) != row[1].n || string(r.Text(2)) != row[2].text || r.Int(3) != row[3].n || r.Null(3) != (row[3].kind == null) {
				return fmt.Errorf("row %d differs", i)
			}
			i++
			return nil
		}); err != nil || i != len(rows) {
			t.Errorf("%s: %d rows read: %v", name, i, err)
		}
		f.Close()
		const stats = `SELECT tbl, idx, stat FROM sqlite_stat1 ORDER BY 1, 2`
		before := lines(t, db, stats)
		must[sql.Result](t)(db.Exec("ANALYZE"))
		if after := lines(t, db, stats); !slices.Equal(before, after) {
			t.Errorf("%s: statistics\n%s\nANALYZE makes of them\n%s", name, before, after)
		}
		// It can be modified.
		must[sql.Result](t)(db.Exec(`INSERT INTO t (n, name, few) SELECT n / 2, name || 'x', few FROM t; DELETE FROM t WHERE n % 3 = 0; VACUUM`))
		if got := lines(t, db, `PRAGMA integrity_check`); !slices.Equal(got, []string{"ok"}) {
			t.Errorf("%s, after changes: %s", name, got)
		}
	}
}

// The page that SQLite uses for locking is left unused.
func TestLockPage(t *testing.T) {
	for _, before := range []uint32{1, 2, 3, 4, 5, 6, 20} {
		db, path := written(t, pageSize, func(w *Writer) {
			w.pages = 1<<30/pageSize + 1 - before
			w.at = int64(w.pages) * pageSize
			table := must[*Appender](t)(w.Table(`CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)`))
			for i := range 30 {
				// Every row continues on two pages, before or after it.
				if err := table.Add(Int(int64(i+1)), Text(fmt.Sprint(i, strings.Repeat("y", 2*pageSize)))); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Index(`CREATE INDEX t_name ON t (name)`); err != nil {
				t.Fatal(err)
			}
		})
		if got := lines(t, db, fmt.Sprintf(`SELECT count(*), sum(name = (id - 1) || '%s') FROM t WHERE name > ''`, strings.Repeat("y", 2*pageSize))); !slices.Equal(got, []string{"30 30"}) {
			t.Errorf("%d pages before it: %s", before, got)
		}
		// Nothing refers to the pages before it, an error that comes after those of the trees.
		if got := lines(t, db, `PRAGMA integrity_check(1)`); !strings.Contains(got[0], "never used") {
			t.Errorf("%d pages before it: %s", before, got)
		}
		st := must[os.FileInfo](t)(os.Stat(path))
		if want := lines(t, db, `PRAGMA page_count`); fmt.Sprint(st.Size()/pageSize) != want[0] {
			t.Errorf("%d pages before it: %d bytes are not %s pages", before, st.Size(), want)
		}
	}
}

// full is a disk that accepts a limited number of bytes.
type full struct {
	*os.File
	left int
}

var errFull = errors.New("no space left")

func (f *full) WriteAt(p []byte, at int64) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return f.File.WriteAt(p, at)
}

func TestWriterErrors(t *testing.T) {
	dir := t.TempDir()
	fill := func(left int) error {
		f := must[*os.File](t)(os.Create(filepath.Join(dir, "full")))
		defer f.Close()
		w := newWriter(&full{f, left}, 512)
		table := must[*Appender](t)(w.Table(sampleTable))
		for _, row := range sample(5000, 512) {
			if err := table.Add(row...); err != nil {
				return err
			}
		}
		for _, sql := range sampleIndexes {
			if err := w.Index(sql); err != nil {
				return err
			}
		}
		return w.Close()
	}
	if err := fill(1 << 30); err != nil {
		t.Fatal(err)
	}
	size := int(must[os.FileInfo](t)(os.Stat(filepath.Join(dir, "full"))).Size())
	for part := range 16 {
		if err := fill(size * part / 16); !errors.Is(err, errFull) {
			t.Errorf("on %d/16 of the place: %v", part, err)
		}
	}

	w := newWriter(nil, 512)
	for sql, want := range map[string]string{
		"CREATE VIEW v AS SELECT 1":                       "not a CREATE TABLE statement",
		"CREATE TABLE t (a PRIMARY KEY, b) WITHOUT ROWID": "WITHOUT ROWID",
	} {
		if _, err := w.Table(sql); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", sql, err, want)
		}
	}
	must[*Appender](t)(w.Table("CREATE TABLE t (a INTEGER)"))
	for sql, want := range map[string]string{
		"CREATE INDEX i ON t (a, b)": "not a CREATE INDEX statement of one column",
		"CREATE INDEX i ON t (a)":    "there is no table t with an INTEGER PRIMARY KEY",
		"CREATE INDEX i ON u (a)":    "there is no table u",
	} {
		if err := w.Index(sql); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", sql, err, want)
		}
	}
}

// TestVarint: varint reads the output of appendVarint, with the format's number of bytes.
func TestVarint(t *testing.T) {
	for bits := range 65 {
		for _, v := range []uint64{1<<bits - 1, 1 << bits, 1<<bits + 1} {
			b := appendVarint(nil, v)
			got, n := varint(append(b, 0xaa))
			want := 1
			for ; want < 9 && v>>(7*want) > 0; want++ {
			}
			if got != v || n != len(b) || n != want {
				t.Errorf("%x: % x, read as %x of %d bytes, want %d", v, b, got, n, want)
			}
		}
	}
}

// FuzzWriter reads rows back through Scan.
func FuzzWriter(f *testing.F) {
	f.Add(int64(0), "", uint16(3), true)
	f.Add(int64(-300), "text", uint16(700), false)
	f.Fuzz(func(t *testing.T, n int64, text string, times uint16, empty bool) {
		file := must[*os.File](t)(os.Create(filepath.Join(t.TempDir(), "w")))
		defer file.Close()
		w := newWriter(file, 512)
		table := must[*Appender](t)(w.Table(`CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, text TEXT)`))
		var want [][2]any
		for i := range int64(times % 999) {
			row := [2]any{n * i, strings.Repeat(text, int(i%40))}
			value := Int(n * i)
			if empty && i%2 == 0 {
				row[0], value = nil, Value{}
			}
			want = append(want, row)
			if err := table.Add(Int(i+1), value, Text(row[1].(string))); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Index(`CREATE INDEX i ON t (n)`), w.Index(`CREATE INDEX j ON t (text)`), w.Close()); err != nil {
			t.Fatal(err)
		}
		db := must[*File](t)(Open(file.Name()))
		defer db.Close()
		var got [][2]any
		if err := db.Table("t").Scan([]string{"n", "text"}, func(r *Row) error {
			row := [2]any{r.Int(0), string(r.Text(1))}
			if r.Null(0) {
				row[0] = nil
			}
			got = append(got, row)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("read %v, want %v", got, want)
		}
	})
}
