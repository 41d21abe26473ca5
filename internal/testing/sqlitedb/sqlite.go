// Package sqlitedb opens SQLite databases with SQLite itself, through a pure Go driver. It is meant for tests and
// benchmarks, because compiling the driver takes as long as compiling a quarter of the program. The program itself
// reads and writes databases with sqlitefile.
package sqlitedb

import (
	"database/sql"
	"net/url"

	_ "modernc.org/sqlite" // the driver "sqlite" of database/sql
)

// Open opens the database file at path. The file is created at the first write. The pragmas, such as
// "busy_timeout(5000)", are set on each connection.
func Open(path string, pragmas ...string) (*sql.DB, error) {
	// Pass the path as a URL, so that a question mark in the path remains part of the path.
	address := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	if len(pragmas) > 0 {
		address.RawQuery = url.Values{"_pragma": pragmas}.Encode()
	}
	return sql.Open("sqlite", address.String())
}
