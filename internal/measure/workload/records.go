package workload

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/stepscope/stepscope/internal/api/wire"
)

// The file of a data set may be far larger than the part that is used. ShareGPT, for example, has 600 MB, but a load
// may use only a thousand prompts. For this reason only the positions of the records are kept in memory. One pass over
// the file finds the positions without decoding the records. A record is decoded when it is drawn. Invalid JSON inside
// a record is detected only at that time. An error in the structure of the list is detected in the first pass.

// records are the rows of a file: the items of a JSON list, or the lines of JSONL.
type records struct {
	path string
	file *os.File
	at   []place
	text []byte // text of the last row read

	looked   int // number of rows read
	bad      int // number of unusable rows
	badLine  int // line of the first unusable row
	badCause string
}

type place struct {
	off  int64
	n    int32
	line int32 // from 1
}

// orCSV is a key for records.open.
const orCSV = ","

// maxRecord limits the memory of one row.
const maxRecord = 1 << 28

// open indexes the rows of the data set's file. If the file is a JSON object, key is the key of the list in the object.
// If key is "", the file is a list or JSONL. If key is orCSV, it may also have lines of other text. The argument wanted is used in error messages and describes the required
// file and its source.
func (b *builder) open(key, wanted string) (*records, error) {
	b.wanted = wanted
	if b.Path == "" {
		return nil, fmt.Errorf("--dataset-path is not set: give %s (nothing is downloaded), or use --dataset-name random-ids, which needs none", wanted)
	}
	file, err := os.Open(b.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--dataset-path %s: no such file: give %s (nothing is downloaded)", b.Path, wanted)
	}
	if err != nil {
		return nil, err
	}
	r := &records{path: b.Path, file: file}
	info, err := file.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = fmt.Errorf("is a directory: give %s in it", wanted)
	case !info.Mode().IsRegular():
		err = errors.New("is not a regular file, so its rows cannot be read in random order")
	default:
		err = r.index(io.NewSectionReader(file, 0, info.Size()), key)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", b.Path, err)
	}
	return r, nil
}

func (r *records) Close() error { return r.file.Close() }

// index fills r.at with the positions of the rows.
func (r *records) index(in io.ReadSeeker, key string) error {
	s := &placer{in: bufio.NewReaderSize(in, 1<<18), line: 1}
	c, err := s.firstByte()
	if err != nil {
		return err
	}
	switch {
	case c == 0:
		return errors.New("is empty")
	case key == orCSV && c != '[' && c != '{':
		return s.lines(r)
	case key != "" && key != orCSV:
		if s, err = listUnder(in, key); err != nil {
			return err
		}
		return s.items(r)
	case c == '[':
		s.next()
		return s.items(r)
	case c == '{':
		return s.lines(r)
	}
	return fmt.Errorf("is neither a JSON list nor JSON lines: it begins with %q", c)
}

// listUnder seeks to the list under a top-level key of an object.
func listUnder(in io.ReadSeeker, key string) (*placer, error) {
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(in)
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("is not a JSON object with the list %q", key)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("is not JSON: byte %d: %w", dec.InputOffset(), err)
		}
		if name == key {
			if t, err := dec.Token(); err != nil || t != json.Delim('[') {
				return nil, fmt.Errorf("%q is not a list", key)
			}
			at := dec.InputOffset()
			if _, err := in.Seek(0, io.SeekStart); err != nil {
				return nil, err
			}
			s := &placer{in: bufio.NewReaderSize(in, 1<<18), line: 1}
			for s.off < at {
				if _, err := s.next(); err != nil {
					return nil, err
				}
			}
			return s, nil
		}
		var skipped json.RawMessage
		if err := dec.Decode(&skipped); err != nil {
			return nil, fmt.Errorf("is not JSON: byte %d: %w", dec.InputOffset(), err)
		}
	}
	return nil, fmt.Errorf("has no %q", key)
}

// placer scans a file byte by byte.
type placer struct {
	in   *bufio.Reader
	off  int64
	line int32
}

func (s *placer) next() (byte, error) {
	c, err := s.in.ReadByte()
	if err == nil {
		s.off++
		if c == '\n' {
			s.line++
		}
	}
	return c, err
}

// firstByte skips white space and a byte order mark, and returns the next byte. It returns 0 at the end of the file.
func (s *placer) firstByte() (byte, error) {
	if mark, _ := s.in.Peek(3); string(mark) == "\uFEFF" {
		s.in.Discard(3)
		s.off += 3
	}
	for {
		c, err := s.in.Peek(1)
		switch {
		case err == io.EOF:
			return 0, nil
		case err != nil:
			return 0, err
		case !isSpace(c[0]):
			return c[0], nil
		}
		s.next()
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// items finds the items of a list. The opening '[' has already been read.
func (s *placer) items(r *records) error {
	depth, inString := 0, false
	var start int64 = -1
	var line int32
	end := func(at int64) error {
		err := r.add(start, at, line)
		start = -1
		return err
	}
	for {
		c, err := s.next()
		if err == io.EOF {
			return fmt.Errorf("the list is not closed: the file ends at line %d", s.line)
		}
		if err != nil {
			return err
		}
		if inString {
			switch c {
			case '\\':
				s.next()
			case '"':
				inString = false
			}
			continue
		}
		if start < 0 && !isSpace(c) && c != ',' && c != ']' && c != '}' {
			start, line = s.off-1, s.line
		}
		switch c {
		case '"':
			inString = true
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				if c == '}' {
					return fmt.Errorf("line %d: '}' where an item or ']' is expected", s.line)
				}
				if start >= 0 {
					return end(s.off - 1)
				}
				return nil
			}
			if depth--; depth == 0 {
				if err := end(s.off); err != nil {
					return err
				}
			}
		case ',':
			if depth == 0 && start >= 0 {
				if err := end(s.off - 1); err != nil {
					return err
				}
			}
		}
	}
}

// lines finds the lines that are not blank.
func (s *placer) lines(r *records) error {
	for {
		start, blank, ended := s.off, true, false
		for !ended {
			part, err := s.in.ReadSlice('\n')
			blank = blank && len(bytes.TrimSpace(part)) == 0
			s.off += int64(len(part))
			switch {
			case err == nil:
				ended = true
			case err == io.EOF:
				if !blank {
					return r.add(start, s.off, s.line)
				}
				return nil
			case err != bufio.ErrBufferFull:
				return err
			}
		}
		if !blank {
			if err := r.add(start, s.off, s.line); err != nil {
				return err
			}
		}
		s.line++
	}
}

func (r *records) add(from, to int64, line int32) error {
	if to-from > maxRecord {
		return fmt.Errorf("line %d: one row of %d MiB: the limit is %d MiB", line, (to-from)>>20, maxRecord>>20)
	}
	r.at = append(r.at, place{from, int32(to - from), line})
	return nil
}

// read decodes row i into into. If the row is invalid, read counts it as unusable and returns false.
func (r *records) read(i int, into any) (bool, error) {
	r.looked = min(r.looked+1, len(r.at)) // a second pass must not count the rows again
	raw, err := r.raw(i)
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		r.skip(i, "%s", wire.JSONCause(err))
		return false, nil
	}
	return true, nil
}

// raw returns the text of row i, valid until the next call.
func (r *records) raw(i int) ([]byte, error) {
	p := r.at[i]
	r.text = slices.Grow(r.text[:0], int(p.n))[:p.n]
	if _, err := r.file.ReadAt(r.text, p.off); err != nil {
		return nil, fmt.Errorf("%s: line %d: %w", r.path, p.line, err)
	}
	return bytes.TrimSpace(r.text), nil
}

// skip counts row i as unusable.
func (r *records) skip(i int, format string, args ...any) {
	if line := int(r.at[i].line); r.bad == 0 || line < r.badLine {
		r.badLine, r.badCause = line, fmt.Sprintf(format, args...)
	}
	r.bad++
}

// finish adds a note about the skipped rows. It returns an error if no row was usable.
func (r *records) finish(b *builder, got int) error {
	if r.bad == 0 {
		return nil
	}
	if got == 0 {
		return fmt.Errorf("%s: no row can be used: line %d: %s; give %s", r.path, r.badLine, r.badCause, b.wanted)
	}
	b.note("%s: %d of the %d rows read are unusable and were skipped, first line %d: %s", r.path, r.bad, r.looked, r.badLine, r.badCause)
	return nil
}

// shorter adds a note if the file had fewer rows than requested.
func (b *builder) shorter(got int) {
	if got > 0 && got < b.N {
		b.note("%s has rows for only %d requests, not for %d", b.Path, got, b.N)
	}
}

// limit returns the number of rows to use from a file with n rows.
func (b *builder) limit(n int) int {
	if b.N == 0 {
		return n
	}
	return min(b.N, n)
}
