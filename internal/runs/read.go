package runs

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// Records iterates over the records of a run. For a killed run it yields the records that were written, and then
// [ErrCut].
func (r *Run) Records() iter.Seq2[*bench.Record, error] {
	return func(yield func(*bench.Record, error) bool) {
		f, count, err := r.openRecords()
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		name := filepath.Base(f.Name())
		n := int64(0)
		for rec, err := range readRecords(f) {
			if err != nil {
				yield(nil, fmt.Errorf("run %s: %s: after %d records: %w", r.ID(), name, n, err))
				return
			}
			n++
			if !yield(rec, nil) {
				return
			}
		}
		switch {
		case strings.HasSuffix(name, partSuffix):
			yield(nil, fmt.Errorf("run %s: %s: %w, after %d", r.ID(), name, ErrCut, n))
		case n < count:
			yield(nil, fmt.Errorf("run %s: %s: %w, after %d of %d", r.ID(), name, ErrCut, n, count))
		}
	}
}

// openRecords opens the file of records. The result count is the minimum number of records that the file should have.
func (r *Run) openRecords() (f *os.File, count int64, err error) {
	if files := r.Files(KindRecords); len(files) > 0 {
		f, err = atomicfile.Open(r.Path(files[0].Path))
		return f, files[0].Count, err
	}
	// RecordsFile exists without an entry in the manifest if the run was killed after the records were complete and
	// before the manifest was written.
	for _, name := range []string{RecordsFile + partSuffix, RecordsFile} {
		if f, err = atomicfile.Open(r.Path(name)); !errors.Is(err, fs.ErrNotExist) {
			return f, 0, err
		}
	}
	return nil, 0, fmt.Errorf("run %s has no records: %w", r.ID(), fs.ErrNotExist)
}

// readRecords reads the output of a RecordWriter. It holds only one record in memory at a time.
func readRecords(r io.Reader) iter.Seq2[*bench.Record, error] {
	return func(yield func(*bench.Record, error) bool) {
		zr, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
		if err != nil {
			yield(nil, err)
			return
		}
		defer zr.Close()
		lines := bufio.NewReaderSize(zr, 64<<10)
		var line []byte
		for {
			if line, err = wholeLine(lines, line[:0]); err != nil {
				break
			}
			rec := new(bench.Record)
			if err := json.Unmarshal(line, rec); err != nil {
				yield(nil, err)
				return
			}
			if !yield(rec, nil) {
				return
			}
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = ErrCut
		}
		if err != io.EOF {
			yield(nil, err)
		}
	}
}

// wholeLine appends the next line to buf. The error is ErrCut if the last line has no newline. A bufio.Scanner would
// search a long line from its beginning after each read.
func wholeLine(r *bufio.Reader, buf []byte) ([]byte, error) {
	for {
		part, err := r.ReadSlice('\n')
		buf = append(buf, part...)
		switch {
		case len(buf) > maxLine:
			return nil, fmt.Errorf("a line is longer than %d MB", maxLine>>20)
		case err == nil:
			return buf[:len(buf)-1], nil
		case err == io.EOF && len(buf) > 0:
			return nil, ErrCut
		case err != bufio.ErrBufferFull:
			return nil, err
		}
	}
}
