package runs

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/stepscope/stepscope/internal/base/sqlitedb"
)

// The index keeps what List says of runs that have ended, so that a list of
// thousands need not open thousands of files. It holds nothing that is not in
// the run directories: whatever is wrong with it, it is deleted and made again.
const (
	indexFile   = "index.sqlite"
	indexLock   = ".index.lock"
	indexFormat = 1 // PRAGMA user_version; another one: made again
)

// The columns are for people with a SQLite shell too.
const indexSchema = `
CREATE TABLE runs (
  id TEXT PRIMARY KEY, stamp TEXT NOT NULL, -- of the directory that the row was read from
  kind TEXT NOT NULL, tool TEXT NOT NULL, status TEXT NOT NULL,
  created_ns INTEGER NOT NULL, ended_ns INTEGER NOT NULL, -- Unix; 0: did not end
  model TEXT NOT NULL, backend TEXT NOT NULL, url TEXT NOT NULL,
  tags TEXT NOT NULL, numbers TEXT NOT NULL, -- JSON, as in the manifest
  size INTEGER NOT NULL, problem TEXT NOT NULL
);
CREATE VIEW numbers AS SELECT r.id AS run, n.value ->> 'name' AS name, n.value ->> 'value' AS value, n.value ->> 'unit' AS unit
  FROM runs r, json_each(r.numbers) n;
CREATE VIEW tags AS SELECT r.id AS run, t.value AS tag FROM runs r, json_each(r.tags) t;
`

type row struct {
	stamp string
	Entry
}

// index is an open index; nil is one that cannot be used, and does nothing.
type index struct {
	db   *sql.DB
	lock io.Closer // one process at a time: SQLite's own locks do not cover the deletion of a damaged file
	puts []row
	gone []string
	path string
}

// openIndex reads the index, or makes a new one.
func openIndex(root string) (known map[string]row, ix *index) {
	l, err := waitLock(filepath.Join(root, indexLock))
	if err != nil {
		return nil, nil
	}
	ix = &index{lock: l, path: filepath.Join(root, indexFile)}
	for range 2 {
		if known, err = ix.load(); err == nil {
			return known, ix
		}
		if !ix.discard(err) {
			break
		}
	}
	l.Close()
	return nil, nil
}

// discard deletes an index that gave an error, unless only somebody else is
// using it. It tells whether another try makes sense.
func (ix *index) discard(err error) bool {
	if ix.db != nil {
		ix.db.Close()
		ix.db = nil
	}
	if sqlitedb.Busy(err) {
		return false
	}
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
		if err := os.Remove(ix.path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return false
		}
	}
	return true
}

func (ix *index) load() (known map[string]row, err error) {
	if ix.db, err = sqlitedb.Open(ix.path, "busy_timeout(2000)", "synchronous(normal)"); err != nil {
		return nil, err
	}
	ix.db.SetMaxOpenConns(1)
	format := 0
	if err := ix.db.QueryRow("PRAGMA user_version").Scan(&format); err != nil {
		return nil, err
	}
	if format != indexFormat {
		if format != 0 {
			return nil, fmt.Errorf("index of format %d", format)
		}
		if _, err := ix.db.Exec(fmt.Sprintf("BEGIN IMMEDIATE; %s PRAGMA user_version = %d; COMMIT", indexSchema, indexFormat)); err != nil {
			return nil, err
		}
	}
	rows, err := ix.db.Query(`SELECT id, stamp, kind, tool, status, created_ns, ended_ns, model, backend, url, tags, numbers, size, problem FROM runs`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known = map[string]row{}
	for rows.Next() {
		var r row
		var created, ended int64
		var tags, numbers []byte
		err := rows.Scan(&r.ID, &r.stamp, &r.Kind, &r.Tool, &r.Status, &created, &ended, &r.Model, &r.Backend, &r.URL,
			&tags, &numbers, &r.Size, &r.Problem)
		if err == nil {
			err = errors.Join(json.Unmarshal(tags, &r.Tags), json.Unmarshal(numbers, &r.Numbers))
		}
		if err != nil {
			return nil, err
		}
		r.Created = time.Unix(0, created).UTC()
		if ended != 0 {
			r.Ended = time.Unix(0, ended).UTC()
		}
		known[r.ID] = r
	}
	return known, rows.Err()
}

func (ix *index) put(r row) {
	if ix != nil {
		ix.puts = append(ix.puts, r)
	}
}

func (ix *index) drop(id string) {
	if ix != nil {
		ix.gone = append(ix.gone, id)
	}
}

// close writes the changes. What cannot be written is read again next time.
func (ix *index) close() {
	if ix == nil {
		return
	}
	if err := ix.save(); err != nil {
		ix.discard(err)
	}
	if ix.db != nil {
		ix.db.Close()
	}
	ix.lock.Close()
}

func (ix *index) save() error {
	if len(ix.puts)+len(ix.gone) == 0 {
		return nil
	}
	tx, err := ix.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() // nothing after Commit
	for _, id := range ix.gone {
		if _, err := tx.Exec("DELETE FROM runs WHERE id = ?", id); err != nil {
			return err
		}
	}
	stmt, err := tx.Prepare("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	defer stmt.Close()
	for _, r := range ix.puts {
		tags, err := json.Marshal(r.Tags)
		if err != nil {
			return err
		}
		numbers, err := json.Marshal(r.Numbers)
		if err != nil {
			return err
		}
		ended := int64(0)
		if !r.Ended.IsZero() {
			ended = r.Ended.UnixNano()
		}
		if _, err := stmt.Exec(r.ID, r.stamp, r.Kind, r.Tool, r.Status, r.Created.UnixNano(), ended, r.Model, r.Backend, r.URL,
			string(tags), string(numbers), r.Size, r.Problem); err != nil {
			return err
		}
	}
	return tx.Commit()
}
