// Package sqlitefile reads whole tables of a SQLite database directly from its pages, in order of rowid, and writes
// databases sequentially (Writer). Reading whole tables this way is an order of magnitude faster than with SQL.
//
// The format is that of https://sqlite.org/fileformat2.html. The package does not support databases with pages in a
// write-ahead log, tables WITHOUT ROWID, or text other than UTF-8.
package sqlitefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// Magic is the start of every database file.
const Magic = "SQLite format 3\x00"

// File is an open database. Its tables may be scanned concurrently.
type File struct {
	Path   string
	Size   int64 // bytes
	r      io.ReaderAt
	closer io.Closer
	page   int   // page size, bytes
	usable int   // usable bytes of a page: its size less the reserved bytes
	pages  int64 // number of pages in the file
	tables map[string]*Table
}

// Table is one table of a database.
type Table struct {
	Name    string
	Columns []string
	file    *File
	root    uint32
	rowid   int // index of the column that aliases the rowid; -1: none
	err     error
}

// Open reads the schema of the database at path.
func Open(path string) (*File, error) {
	r, err := atomicfile.Open(path)
	if err != nil {
		return nil, err
	}
	st, err := r.Stat()
	if err != nil {
		r.Close()
		return nil, err
	}
	if wal, err := os.Stat(path + "-wal"); err == nil && wal.Size() > 0 {
		r.Close()
		return nil, fmt.Errorf("%s-wal still holds part of the database: close the program that writes it", path)
	}
	f, err := open(r, st.Size())
	if err != nil {
		r.Close()
		return nil, err
	}
	f.Path, f.closer = path, r
	return f, nil
}

// Close closes the file.
func (f *File) Close() error { return f.closer.Close() }

func open(r io.ReaderAt, size int64) (*File, error) {
	var h [100]byte
	if _, err := r.ReadAt(h[:], 0); err != nil {
		if err == io.EOF {
			return nil, errors.New("not a SQLite database: shorter than its header")
		}
		return nil, err
	}
	if string(h[:16]) != Magic {
		return nil, errors.New("not a SQLite database")
	}
	f := &File{r: r, Size: size, page: int(binary.BigEndian.Uint16(h[16:])), tables: map[string]*Table{}}
	if f.page == 1 {
		f.page = 1 << 16
	}
	f.usable = f.page - int(h[20])
	f.pages = size / int64(max(f.page, 1))
	if f.page < 512 || f.page&(f.page-1) != 0 || f.usable < 480 {
		return nil, fmt.Errorf("damaged SQLite header: pages of %d bytes", f.page)
	}
	// The encoding is 0 in an empty database.
	if enc := binary.BigEndian.Uint32(h[56:]); enc > 1 {
		return nil, errors.New("its text is UTF-16: only UTF-8 databases are supported")
	}
	if promised := int64(binary.BigEndian.Uint32(h[28:])); promised > f.pages {
		return nil, fmt.Errorf("the file is cut short: %d pages of %d", f.pages, promised)
	}
	return f, f.schema()
}

var schemaColumns = []string{"type", "name", "tbl_name", "rootpage", "sql"}

// schema reads the table sqlite_schema, whose root is page 1.
func (f *File) schema() error {
	master := &Table{Name: "sqlite_schema", Columns: schemaColumns, file: f, root: 1, rowid: -1}
	return master.Scan([]string{"type", "name", "rootpage", "sql"}, func(row *Row) error {
		if string(row.Text(0)) != "table" {
			return nil
		}
		root := row.Int(2)
		if root < 1 || root > f.pages {
			return fmt.Errorf("table %s: its first page %d is not in the file", row.Text(1), root)
		}
		t := &Table{Name: string(row.Text(1)), file: f, root: uint32(root)}
		t.Columns, t.rowid, t.err = columns(string(row.Text(3)))
		f.tables[strings.ToLower(t.Name)] = t
		return nil
	})
}

// Table returns a table by its case-insensitive name, or nil if there is none.
func (f *File) Table(name string) *Table { return f.tables[strings.ToLower(name)] }

// Tables returns the names of all tables but those of SQLite itself, sorted.
func (f *File) Tables() (names []string) {
	for _, t := range f.tables {
		if !strings.HasPrefix(t.Name, "sqlite_") {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return names
}

func (t *Table) index(column string) int {
	return slices.IndexFunc(t.Columns, func(c string) bool { return strings.EqualFold(c, column) })
}
