package sqlitedb

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestOpen checks that the file is created at the given path, whatever characters the path contains.
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
