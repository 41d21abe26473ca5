package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Rows is a file of JSON lines to which results are appended. A nil *Rows means that there is no such file.
type Rows struct {
	f    *os.File
	made bool // OpenRows created the file
	rows int  // number of writes; each write consists of whole rows
}

// OpenRows opens the file that a flag names. It is called before anything is measured.
func OpenRows(flag, path string) (*Rows, error) {
	if path == "" {
		return nil, nil
	}
	_, err := os.Stat(path)
	r := &Rows{made: errors.Is(err, fs.ErrNotExist)}
	if r.f, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666); err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return r, nil
}

// Name returns the path of the file.
func (r *Rows) Name() string { return r.f.Name() }

// Add appends a row.
func (r *Rows) Add(row any) error {
	if r == nil {
		return nil
	}
	text, err := json.Marshal(row)
	if err != nil {
		return err
	}
	_, err = r.Write(append(text, '\n'))
	return err
}

// Write appends rows, which must be complete lines.
func (r *Rows) Write(rows []byte) (int, error) {
	r.rows++
	return r.f.Write(rows)
}

// Close closes the file. It removes the file if OpenRows created it and no rows were written. Close may be called more
// than once.
func (r *Rows) Close() error {
	if r == nil || r.f == nil {
		return nil
	}
	err := r.f.Close()
	if r.made && r.rows == 0 {
		os.Remove(r.f.Name())
	}
	r.f = nil
	return err
}
