// Package sqlitedb opens SQLite databases by SQLite itself, as a driver in pure
// Go. It is for tests and benchmarks: the driver takes as long to compile as a
// quarter of the program, which reads and writes databases by sqlitefile.
package sqlitedb

import (
	"database/sql"
	"net/url"

	_ "modernc.org/sqlite" // the driver "sqlite" of database/sql
)

// Open opens the database file at path; it is made when it is first written.
// The pragmas, as in "busy_timeout(5000)", are set on each connection.
func Open(path string, pragmas ...string) (*sql.DB, error) {
	// As an address, so that a question mark in the path stays part of it.
	address := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	if len(pragmas) > 0 {
		address.RawQuery = url.Values{"_pragma": pragmas}.Encode()
	}
	return sql.Open("sqlite", address.String())
}
