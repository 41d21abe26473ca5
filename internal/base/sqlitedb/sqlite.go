// Package sqlitedb opens SQLite databases, by the pure Go driver that is linked
// here and nowhere else.
package sqlitedb

import (
	"database/sql"
	"errors"
	"net/url"

	driver "modernc.org/sqlite" // and the driver "sqlite" of database/sql
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

// The primary result codes of https://sqlite.org/rescode.html that Busy knows.
const (
	codeBusy   = 5
	codeLocked = 6
)

// Busy tells that an operation failed only since somebody else is using the
// database now.
func Busy(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && (e.Code()&0xff == codeBusy || e.Code()&0xff == codeLocked)
}
