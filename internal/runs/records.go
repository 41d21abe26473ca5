package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/stepscope/stepscope/bench"
)

// Records are stored as JSON, one per line, in zstd frames. Each frame holds whole lines and is written in one call. If
// the process is killed or the disk is full, the frames written until then therefore form a valid file.

const (
	frameSize = 1 << 20         // bytes of JSON per frame
	frameTime = 2 * time.Second // maximum time for which a record is buffered while further records arrive
	// maxLine limits the size of one record, in bytes: about one million events of a stream.
	maxLine = 64 << 20
)

// RecordWriter writes the records of a run. It is safe for concurrent use. Encoding and writing happen inside Add and
// take a few milliseconds per megabyte, so do not call Add on a timing-critical path.
type RecordWriter struct {
	run *Run
	now func() time.Time

	mu    sync.Mutex
	f     recordFile
	zw    *zstd.Encoder
	line  *json.Encoder
	lines bytes.Buffer
	frame []byte
	due   time.Time // time at which the buffered lines must be written
	whole int64     // number of bytes of the complete frames written
	count int64     // number of records, including buffered records
	err   error     // first write error; no data is written after it
	done  bool
}

// recordFile is the part of *os.File that RecordWriter uses.
type recordFile interface {
	io.WriteCloser
	Truncate(size int64) error
	Sync() error
}

// WriteRecords begins the records of the run. Close of the returned RecordWriter ends them.
func (r *Run) WriteRecords() (*RecordWriter, error) {
	if _, err := r.place(&File{Path: RecordsFile, Kind: KindRecords}); err != nil {
		return nil, err
	}
	for _, name := range []string{RecordsFile, RecordsFile + partSuffix} {
		if err := r.fresh(&File{Path: name}, r.Path(name)); err != nil {
			return nil, fmt.Errorf("run %s: %w", r.ID(), err)
		}
	}
	f, err := os.OpenFile(r.Path(RecordsFile+partSuffix), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	w := newRecordWriter(f, r.now)
	w.run = r
	r.mu.Lock()
	r.records = w
	r.mu.Unlock()
	return w, nil
}

func newRecordWriter(f recordFile, now func() time.Time) *RecordWriter {
	// Do not use encoder goroutines: they would take cores from the load.
	zw, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		panic(err) // happens only if the options are invalid
	}
	w := &RecordWriter{f: f, zw: zw, now: now}
	w.line = json.NewEncoder(&w.lines)
	w.line.SetEscapeHTML(false)
	return w
}

// Add writes one record. It does not retain rec.
func (w *RecordWriter) Add(rec *bench.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done && w.err == nil {
		return fmt.Errorf("record %d: the records are closed", rec.Index)
	}
	if w.err != nil {
		return w.err
	}
	before := w.lines.Len()
	if err := w.line.Encode(rec); err != nil { // an error leaves the buffer unchanged
		return fmt.Errorf("record %d: %w", rec.Index, err)
	}
	if n := w.lines.Len() - before; n > maxLine {
		w.lines.Truncate(before)
		return fmt.Errorf("record %d: %d MB is more than the %d MB that can be read back", rec.Index, n>>20, maxLine>>20)
	}
	w.count++
	if before == 0 {
		w.due = w.now().Add(frameTime)
	}
	if w.lines.Len() >= frameSize || !w.now().Before(w.due) {
		w.flush()
	}
	return w.err
}

// Flush writes the buffered lines as a frame.
func (w *RecordWriter) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush()
	return w.err
}

func (w *RecordWriter) flush() {
	if w.err != nil || w.lines.Len() == 0 {
		return
	}
	w.frame = w.zw.EncodeAll(w.lines.Bytes(), w.frame[:0])
	if _, err := w.f.Write(w.frame); err != nil {
		w.err = fmt.Errorf("write records: %w", err)
		// Remove the partial frame. If the removal fails, readers stop before that frame.
		_ = w.f.Truncate(w.whole)
		return
	}
	w.whole += int64(len(w.frame))
	w.lines.Reset()
	if w.lines.Cap() > 4*frameSize { // release the memory of one huge record
		w.lines = bytes.Buffer{}
	}
}

// Close ends the records and lists them in the manifest. After a write error the file keeps its temporary name, and
// Records reads the frames before the error from it.
func (w *RecordWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return w.err
	}
	w.done = true
	w.flush()
	w.zw.Close()
	if err := errors.Join(w.f.Sync(), w.f.Close()); err != nil && w.err == nil {
		w.err = fmt.Errorf("write records: %w", err)
	}
	if w.err == nil && w.run != nil {
		w.err = w.run.endRecords(w.count)
	}
	return w.err
}

func (r *Run) endRecords(count int64) error {
	if err := os.Rename(r.Path(RecordsFile+partSuffix), r.Path(RecordsFile)); err != nil {
		return err
	}
	return r.AddFile(File{Path: RecordsFile, Kind: KindRecords, Format: "jsonl.zst", Count: count}, "")
}
