package sqlitedb

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Whatever is in a path, the file lies there.
func TestOpen(t *testing.T) {
	for _, name := range []string{"plain.sqlite", "t?a=b%20 #.sqlite", "ü:memory:.sqlite"} {
		path := filepath.Join(t.TempDir(), name)
		db, err := Open(path, "busy_timeout(7)", "foreign_keys(1)")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec("CREATE TABLE t (x)"); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
		var timeout, keys int
		if err := errors.Join(db.QueryRow("PRAGMA busy_timeout").Scan(&timeout), db.QueryRow("PRAGMA foreign_keys").Scan(&keys)); err != nil ||
			timeout != 7 || keys != 1 {
			t.Errorf("%q: busy_timeout %d, foreign_keys %d, %v; want 7 and 1", name, timeout, keys, err)
		}
	}
}

func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.sqlite")
	open := func() *sql.DB {
		db, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	a, b := open(), open()
	if _, err := a.Exec("CREATE TABLE t (x); BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Exec("INSERT INTO t VALUES (1)"); !Busy(err) {
		t.Errorf("while another writes: %v is not busy", err)
	}
	if _, err := b.Exec("no SQL"); err == nil || Busy(err) {
		t.Errorf("a wrong statement: %v is busy", err)
	}
	if Busy(nil) {
		t.Error("success is busy")
	}
}
