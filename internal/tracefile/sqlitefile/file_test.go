package sqlitefile

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/sqlitedb"
)

// database creates a database by SQL.
func database(t testing.TB, pragma string, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.sqlite")
	db, err := sqlitedb.Open(path, pragma)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return path
}

// rows reads a table through Scan as lines of text.
func rows(t testing.TB, path, table string, columns ...string) (lines []string) {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = f.Table(table).Scan(columns, func(r *Row) error {
		var b strings.Builder
		for i := range columns {
			switch {
			case r.Null(i):
				b.WriteString("- ")
			case r.Text(i) != nil:
				fmt.Fprintf(&b, "%q ", r.Text(i))
			default:
				fmt.Fprintf(&b, "%d ", r.Int(i))
			}
		}
		lines = append(lines, strings.TrimSpace(b.String()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// Values of every size, rows that fill several pages and missing columns read as in SQLite.
func TestScan(t *testing.T) {
	path := database(t, "page_size(512)",
		`CREATE TABLE "Kernel" ( -- one, kernel (of many)
			start INTEGER NOT NULL, "end" INTEGER, /* ns, since */ name TEXT, load REAL)`,
		`INSERT INTO Kernel VALUES
			(0, 1, 'a', 0.5), (-1, 127, '', -2.75), (128, -128, NULL, 3), (32767, 32768, 'ü', NULL),
			(8388607, -8388608, 'x', 1e300), (2147483647, 2147483648, 'x', 0),
			(140737488355327, 140737488355328, 'x', 0), (9223372036854775807, -9223372036854775808, 'x', 0)`,
		`INSERT INTO Kernel VALUES (5, 6, '`+strings.Repeat("long ", 1000)+`', 7)`,
		`CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT)`,
		`INSERT INTO StringIds VALUES (7, 'seven'), (1, 'one')`,
		`ALTER TABLE StringIds ADD COLUMN later TEXT`,
		`INSERT INTO StringIds VALUES (9, 'nine', 'new')`,
		`CREATE TABLE byKey (a INTEGER, b TEXT, PRIMARY KEY (a))`, `INSERT INTO byKey VALUES (40, 'x')`,
		`CREATE TABLE empty (a)`,
	)
	long := fmt.Sprintf("%q", strings.Repeat("long ", 1000))
	for _, c := range []struct {
		table   string
		columns []string
		want    []string
	}{
		{"kernel", []string{"start", "end", "name"}, []string{
			`0 1 "a"`, `-1 127 ""`, `128 -128 -`, `32767 32768 "ü"`, `8388607 -8388608 "x"`, `2147483647 2147483648 "x"`,
			`140737488355327 140737488355328 "x"`, `9223372036854775807 -9223372036854775808 "x"`, `5 6 ` + long,
		}},
		{"Kernel", []string{"load", "nosuch", "start"}, []string{
			"0 - 0", "-2 - -1", "3 - 128", "- - 32767", "0 - 8388607", "0 - 2147483647", "0 - 140737488355327", "0 - 9223372036854775807", "7 - 5",
		}},
		{"StringIds", []string{"id", "value", "later"}, []string{`1 "one" -`, `7 "seven" -`, `9 "nine" "new"`}},
		{"byKey", []string{"b", "a"}, []string{`"x" 40`}},
		{"empty", []string{"a"}, nil},
	} {
		got := rows(t, path, c.table, c.columns...)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %v:\n got %s\nwant %s", c.table, c.columns, strings.Join(got, " | "), strings.Join(c.want, " | "))
		}
	}
}

// Tables of several levels of pages, written in any order, give the same rows as the driver.
func TestManyPages(t *testing.T) {
	for _, size := range []int{512, 4096, 65536} {
		path := database(t, fmt.Sprintf("page_size(%d)", size), `CREATE TABLE t (a INTEGER, b TEXT, c INTEGER)`)
		db, err := sqlitedb.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		fill(t, db, 20000)
		var want []string
		q, err := db.Query(`SELECT a, b, c FROM t ORDER BY rowid`)
		if err != nil {
			t.Fatal(err)
		}
		for q.Next() {
			var a, c int64
			var b string
			if err := q.Scan(&a, &b, &c); err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprintf("%d %q %d", a, b, c))
		}
		q.Close()
		if got := rows(t, path, "t", "a", "b", "c"); !slices.Equal(got, want) {
			t.Errorf("pages of %d bytes: %d rows, want %d, or another order", size, len(got), len(want))
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := f.Table("t").Rows(); err != nil || n < int64(len(want))*8/10 || n > int64(len(want))*12/10 {
			t.Errorf("pages of %d bytes: about %d rows of %d, %v", size, n, len(want), err)
		}
		f.Close()
	}
}

func fill(t *testing.T, db *sql.DB, n int) {
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		_, err := tx.Exec(`INSERT INTO t (rowid, a, b, c) VALUES (?, ?, ?, ?)`, (i*7919)%n+1, rng.Int64()>>rng.IntN(64), strings.Repeat("x", rng.IntN(90)), -i)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// Unreadable files and tables give a reason.
func TestRefused(t *testing.T) {
	whole, err := os.ReadFile(database(t, "page_size(512)", `CREATE TABLE t (a)`, `INSERT INTO t VALUES (1)`, `CREATE TABLE u (a PRIMARY KEY) WITHOUT ROWID`))
	if err != nil {
		t.Fatal(err)
	}
	changed := func(at int, to ...byte) []byte {
		b := bytes.Clone(whole)
		copy(b[at:], to)
		return b
	}
	reserved := changed(20, 32) // 480 usable bytes of 512
	copy(reserved[108:], []byte{0x01, 0xf0})
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"a row in the reserved part of a page", reserved, "table sqlite_schema: damaged: row 0 of page 1"},
		{"no database", []byte(strings.Repeat("GIF89a", 50)), "not a SQLite database"},
		{"empty", nil, "not a SQLite database: shorter than its header"},
		{"cut", whole[:1024], "the file is cut short: 2 pages of"},
		{"UTF-16", changed(56, 0, 0, 0, 2), "its text is UTF-16"},
		{"page size 3", changed(16, 0, 3), "damaged SQLite header"},
		{"schema's page", changed(100, 0x0a), "table sqlite_schema: damaged: page 1 is of kind 0xa"},
	} {
		f, err := open(bytes.NewReader(c.file), int64(len(c.file)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		_ = f
	}
	f, err := open(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Table("u").Scan([]string{"a"}, nil); err == nil || !strings.Contains(err.Error(), "WITHOUT ROWID") {
		t.Errorf("WITHOUT ROWID: %v", err)
	}
	if f.Table("nosuch") != nil {
		t.Error("a missing table was found")
	}
	stop := errors.New("enough")
	if err := f.Table("t").Scan([]string{"a"}, func(*Row) error { return stop }); err != stop {
		t.Errorf("the visitor's error came back as %v", err)
	}
	path := database(t, "journal_mode(wal)", `CREATE TABLE t (a)`)
	if err := os.WriteFile(path+"-wal", []byte("pages"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "-wal still holds") {
		t.Errorf("with a write-ahead log: %v", err)
	}
}

// Each page of an overflowing row is read once; otherwise rows that share a page linked to itself would take quadratic
// time.
func TestOverflowsThatMeet(t *testing.T) {
	const rows, head = 40, 3 // bytes of a record before its text
	whole, err := os.ReadFile(database(t, "page_size(512)", `CREATE TABLE t (a TEXT)`,
		fmt.Sprintf(`INSERT INTO t WITH RECURSIVE k(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM k WHERE n < %d) SELECT printf('row%%03d%%0*d', n, 6000, 0) FROM k`, rows)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := open(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	read := func() (n int, err error) {
		return n, f.Table("t").Scan([]string{"a"}, func(*Row) error { n++; return nil })
	}
	if n, err := read(); n != rows || err != nil {
		t.Fatalf("%d rows, %v", n, err)
	}
	// The overflow page of the first row. The last match: the root may still contain its old content as a leaf.
	first := bytes.LastIndex(whole, []byte("row001")) - head
	page := bytes.Clone(whole[first+f.local(head+6006):][:4])
	copy(whole[(int(page[3])-1)*512:], page)
	for n := 1; n <= rows; n++ {
		at := bytes.LastIndex(whole, fmt.Appendf(nil, "row%03d", n)) - head
		copy(whole[at-3:], []byte{0xff, 0x7f}) // its length becomes 16383
		copy(whole[at+f.local(16383):], page)
	}
	if n, err := read(); err == nil || !strings.Contains(err.Error(), "form a cycle") {
		t.Errorf("%d rows, %v", n, err)
	}
}

// FuzzScan reads damaged databases: errors, but no panic and no endless loop.
func FuzzScan(f *testing.F) {
	whole, err := os.ReadFile(database(f, "page_size(512)", `CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)`,
		`INSERT INTO t WITH RECURSIVE k(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM k WHERE n < 60) SELECT n, printf('%0*d', n*12, n) FROM k`))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:700])
	f.Fuzz(func(t *testing.T, data []byte) {
		db, err := open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for _, table := range db.tables {
			seen := 0
			_ = table.Scan(append([]string{"b"}, table.Columns...), func(r *Row) error {
				for i := range r.values {
					_, _, _ = r.Int(i), r.Text(i), r.Null(i)
				}
				if seen++; seen > 100_000 {
					return io.EOF
				}
				return nil
			})
			_, _ = table.Rows()
		}
	})
}

// BenchmarkScan reads the columns that a timeline needs; compare with BenchmarkDriver, which does the same by SQL.
func BenchmarkScan(b *testing.B) {
	path := timeline(b)
	for b.Loop() {
		f, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		var sum int64
		if err := f.Table("t").Scan([]string{"start", "end", "nameId"}, func(r *Row) error { sum += r.Int(1) - r.Int(0); return nil }); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
	b.ReportMetric(float64(timelineRows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

func BenchmarkDriver(b *testing.B) {
	path := timeline(b)
	for b.Loop() {
		db, err := sqlitedb.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		q, err := db.Query(`SELECT start, "end", nameId FROM t`)
		if err != nil {
			b.Fatal(err)
		}
		var sum, start, end, name int64
		for q.Next() {
			if err := q.Scan(&start, &end, &name); err != nil {
				b.Fatal(err)
			}
			sum += end - start
		}
		q.Close()
		db.Close()
	}
	b.ReportMetric(float64(timelineRows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

const timelineRows = 200_000

func timeline(b *testing.B) string {
	return database(b, "synchronous(off)",
		`CREATE TABLE t (start INTEGER NOT NULL, "end" INTEGER NOT NULL, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER)`,
		fmt.Sprintf(`INSERT INTO t WITH RECURSIVE k(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM k WHERE n < %d)
			SELECT 1000000000+n*9000, 1000000000+n*9000+4000+n%%977, n%%2, 281491015730108, n, 40+n%%17, 0 FROM k`, timelineRows))
}
