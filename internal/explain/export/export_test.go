package export

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/stepscope/stepscope/internal/testing/sqlitedb"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// outputs are file names, one for each format and compression.
var outputs = []string{"t.parquet", "t.csv", "t.csv.gz", "t?a=b%20 #.sqlite"}

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]Format{
		"a.parquet": Parquet, "d/A.PQ": Parquet, "a.csv": CSV, "a.csv.gz": CSV, "a.sqlite": SQLite, "a.sqlite3": SQLite,
		"a.db": SQLite, "a.json": "", "csv": "", "-": "", "": "", "a.csv/b": "", "a.gz": "",
	} {
		if f, ok := FormatOf(name); f != want || ok != (want != "") {
			t.Errorf("FormatOf(%q) = %q, %v, want %q", name, f, ok, want)
		}
	}
}

// total holds the sums of a category or class of one rank.
type total struct {
	Spans, DurNS, Starts, Ends int64
}

// TestTotals compares each format with sums taken from the trace tables.
func TestTotals(t *testing.T) {
	for _, name := range []string{"graphs", "graph_work"} {
		set := realSet(t, name)
		traces, failed, err := read.ReadSet(t.Context(), set, read.Options{})
		if err != nil || len(failed) > 0 {
			t.Fatal(err, failed)
		}
		want := map[string]total{}
		for _, tr := range traces {
			for i := range tr.Spans {
				s := &tr.Spans[i]
				for _, key := range []string{s.Cat.String(), "all"} {
					key = tr.Source.Rank.String() + " " + key
					sum := want[key]
					sum.Spans, sum.DurNS = sum.Spans+1, sum.DurNS+s.Dur
					// Sums of times since 1970 would overflow.
					sum.Starts, sum.Ends = sum.Starts+s.Start%1e9, sum.Ends+s.End()%1e9
					want[key] = sum
				}
			}
		}
		for _, out := range outputs {
			t.Run(name+"/"+out, func(t *testing.T) {
				got := map[string]total{}
				for _, rec := range exported(t, set, out) {
					for _, key := range []string{rec["category"], "all"} {
						key = rec["rank"] + " " + key
						sum := got[key]
						sum.Spans, sum.DurNS = sum.Spans+1, sum.DurNS+parsed(t, rec["dur_ns"])
						sum.Starts, sum.Ends = sum.Starts+parsed(t, rec["start_ns"])%1e9, sum.Ends+parsed(t, rec["end_ns"])%1e9
						got[key] = sum
					}
				}
				if fmt.Sprint(got) != fmt.Sprint(want) { // maps print in order
					t.Errorf("got  %v\nwant %v", got, want)
				}
			})
		}
	}
}

// TestFormatsAgree compares all columns of all rows of all formats.
func TestFormatsAgree(t *testing.T) {
	odd := writeSet(t, map[string]string{
		"w-TP-0.trace.json": `{"baseTimeNanoseconds":1000,"traceEvents":[
			{"ph":"X","cat":"cpu_op","name":"a \"b\", c\n\u00fc\u0000\ud83d\ude00","pid":1,"tid":2,"ts":1.001,"dur":0.5},
			{"ph":"X","cat":"cpu_op","name":"","pid":"","tid":"","ts":2,"dur":0},
			{"ph":"X","cat":"never heard of","name":"'; drop table spans; --","pid":-1,"tid":0,"ts":-5,"dur":9007199254740993}]}`,
		"w-TP-1-DP-2-PP-3-EP-4-EXTEND.trace.json": kinetoJSON,
	})
	for name, set := range map[string]set.Set{"odd": odd, "graph_work": realSet(t, "graph_work")} {
		var want [][]string
		for _, out := range outputs {
			var rows [][]string
			for _, rec := range exported(t, set, out) {
				row := make([]string, len(Columns))
				for i, c := range Columns {
					row[i] = rec[c]
				}
				rows = append(rows, row)
			}
			slices.SortFunc(rows, slices.Compare)
			if want == nil {
				want = rows
			}
			if len(rows) != len(want) {
				t.Fatalf("%s: %s has %d rows, %s has %d", name, out, len(rows), outputs[0], len(want))
			}
			for i := range rows {
				if !slices.Equal(rows[i], want[i]) {
					t.Fatalf("%s: %s row %d: got\n%q\n%s has\n%q", name, out, i, rows[i], outputs[0], want[i])
				}
			}
		}
	}
}

// TestMergedFile reads several ranks from one file.
func TestMergedFile(t *testing.T) {
	set := writeSet(t, map[string]string{"merged-w.trace.json": `{"traceEvents":[
		{"ph":"X","cat":"cpu_op","name":"a","pid":"[TP00-DP01] 70","tid":7,"ts":1,"dur":1},
		{"ph":"X","cat":"cpu_op","name":"b","pid":"[TP01-DP01] 71","tid":8,"ts":2,"dur":1}]}`})
	var got []string
	for _, rec := range exported(t, set, "t.csv") {
		got = append(got, strings.Join([]string{rec["rank"], rec["tp"], rec["dp"], rec["pp"], rec["pid"], rec["tid"], rec["name"]}, " "))
	}
	if want := []string{"TP00-DP01 0 1  70 7 a", "TP01-DP01 1 1  71 8 b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLabels: labels of ranks are unique, whatever the names of their files.
func TestLabels(t *testing.T) {
	known := func(n int) trace.World { return trace.World{Known: true, Rank: n} }
	n := newNamer()
	var got []string
	for _, s := range []trace.Source{
		{Rank: trace.Rank{TP: 0, DP: -1, PP: -1, EP: -1}},
		{Rank: trace.Rank{TP: 0, DP: -1, PP: -1, EP: -1}, Stage: "DECODE"},
		{Rank: trace.Rank{TP: 0, DP: -1, PP: -1, EP: -1}},
		{Rank: trace.NoRank, World: known(3)}, {Rank: trace.NoRank, World: known(3)},
		{Rank: trace.NoRank}, {Rank: trace.NoRank, World: known(-1)},
	} {
		got = append(got, n.label(&s))
	}
	want := []string{"TP00", "TP00", "TP00 (2)", "R03", "R03 (2)", "Unknown", "Unknown (2)"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestParquetMetadata: the footer describes the files of the table.
func TestParquetMetadata(t *testing.T) {
	set := realSet(t, "graphs")
	path := filepath.Join(t.TempDir(), "t.parquet")
	if _, err := File(t.Context(), set, path, Parquet, Options{}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := f.Lookup(metadataKey)
	var about struct {
		Format int
		Ranks  []RankResult
	}
	if err := json.Unmarshal([]byte(text), &about); err != nil {
		t.Fatal(err)
	}
	if about.Format != 1 || len(about.Ranks) != 4 || about.Ranks[3].Label != "TP03" || !about.Ranks[3].Complete {
		t.Errorf("got metadata %s, want format 1 and 4 complete ranks", text)
	}
	if n := len(f.RowGroups()); n != 4 {
		t.Errorf("got %d row groups for 4 small ranks, want 4", n)
	}
}

// exported writes the set and reads it back as records by column, NULL as "".
func exported(t *testing.T, set set.Set, name string) []map[string]string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, _ := FormatOf(name)
	res, err := File(t.Context(), set, path, f, Options{})
	if err != nil {
		t.Fatal(err)
	}
	recs := readBack(t, path, f)
	if res.Spans != int64(len(recs)) || res.BytesOut == 0 || res.Output != path {
		t.Errorf("got %d rows back of result %+v", len(recs), res)
	}
	return recs
}

func readBack(t *testing.T, path string, f Format) []map[string]string {
	t.Helper()
	switch f {
	case Parquet:
		return parquetRecords(t, path)
	case CSV:
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if !strings.HasSuffix(path, ".gz") {
			return records(t, file)
		}
		zr, err := gzip.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		return records(t, zr)
	}
	return query(t, path, "SELECT * FROM spans")
}

// parquetRecords reads a file with the Parquet library for Go.
func parquetRecords(t *testing.T, path string) (recs []map[string]string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]parquet.Row, 100)
	for _, g := range f.RowGroups() {
		r := g.Rows()
		for {
			n, err := r.ReadRows(rows)
			for _, row := range rows[:n] {
				rec := map[string]string{}
				for i, v := range row {
					if rec[Columns[i]] = ""; !v.IsNull() {
						rec[Columns[i]] = v.String()
					}
				}
				recs = append(recs, rec)
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		r.Close()
	}
	return recs
}

func records(t *testing.T, r io.Reader) []map[string]string {
	t.Helper()
	all, err := csv.NewReader(r).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(all[0], Columns) {
		t.Fatalf("got header %q, want %q", all[0], Columns)
	}
	var recs []map[string]string
	for _, fields := range all[1:] {
		rec := map[string]string{}
		for i, c := range Columns {
			rec[c] = fields[i]
		}
		recs = append(recs, rec)
	}
	return recs
}

// query runs SQL on a database and returns its rows as text.
func query(t *testing.T, path, text string) []map[string]string {
	t.Helper()
	db, err := sqlitedb.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(text)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(text, "FROM spans") && !slices.Equal(cols, Columns) {
		t.Fatalf("got columns %q, want %q", cols, Columns)
	}
	var recs []map[string]string
	for rows.Next() {
		vals := make([]sql.NullString, len(cols))
		ptrs := make([]any, len(cols))
		for i := range vals {
			ptrs[i] = &vals[i]
		}
		if err := rows.Scan(ptrs...); err != nil {
			t.Fatal(err)
		}
		rec := map[string]string{}
		for i, c := range cols {
			rec[c] = vals[i].String
		}
		recs = append(recs, rec)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return recs
}

func parsed(t *testing.T, s string) int64 {
	t.Helper()
	var n int64
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatalf("parsing %q: %v", s, err)
	}
	return n
}

func realSet(t testing.TB, name string) set.Set {
	t.Helper()
	return find(t, filepath.Join("..", "..", "..", "testdata", "traces", name))
}

func find(t testing.TB, paths ...string) set.Set {
	t.Helper()
	sets, err := set.Find(paths)
	if err != nil {
		t.Fatal(err)
	}
	return sets[0]
}

// writeSet writes files into a new directory and returns their set.
func writeSet(t testing.TB, files map[string]string) set.Set {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return find(t, dir)
}

// entries lists the names in a directory.
func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// scratch returns an empty file.
func scratch(t testing.TB) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "scratch"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

var errDisk = errors.New("no space left")

// fullDisk accepts a number of bytes and then fails.
type fullDisk struct{ left int }

func (d *fullDisk) Write(p []byte) (int, error) {
	n := min(len(p), d.left)
	d.left -= n
	if n < len(p) {
		return n, errDisk
	}
	return n, nil
}
