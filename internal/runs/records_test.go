package runs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/stepscope/stepscope/bench"
)

func sample(i, chunks int) *bench.Record {
	r := &bench.Record{
		ID: fmt.Sprint("r", i), Index: i, Sent: int64(i) * 1e6, First: bench.Never, OutputLen: chunks, OutputFrom: bench.FromServer,
		Failure: bench.Cut, Error: "<line>\none & two", Text: "ünï\u2028", CachedDetails: map[string]any{"device": 3.0},
	}
	at := int64(i) * 1e9
	for k := range chunks {
		at += 20e6 + int64(i*7919+k*104729)%977_003 // deterministic jitter
		r.Chunks = append(r.Chunks, bench.Chunk{At: at, Tokens: 1, Text: true, Merged: k%50 == 0})
	}
	return r
}

func readAll(r *Run) (records []*bench.Record, err error) {
	for rec, err := range r.Records() {
		if err != nil {
			return records, err
		}
		records = append(records, rec)
	}
	return records, nil
}

func TestRecords(t *testing.T) {
	for _, n := range []int{0, 1, 3000} {
		root := t.TempDir()
		r := mustCreate(t, root)
		w, err := r.WriteRecords()
		check(t, err)
		for i := range n {
			check(t, w.Add(sample(i, i%20)))
		}
		check(t, w.Close())
		check(t, w.Close())
		wantError(t, w.Add(sample(n, 0)), "the records are closed")
		check(t, r.Finish(Complete, nil))

		back := mustOpen(t, root, "last")
		got, err := readAll(back)
		check(t, err)
		if len(got) != n {
			t.Fatalf("%d records of %d", len(got), n)
		}
		for i, rec := range got {
			if want := sample(i, i%20); !reflect.DeepEqual(rec, want) {
				t.Fatalf("record %d is\n%+v, want\n%+v", i, rec, want)
			}
		}
		f := back.Files(KindRecords)[0]
		if f.Count != int64(n) || f.Size != stat(t, back.Path(f.Path)).Size() {
			t.Errorf("the manifest says %+v", f)
		}
		for range back.Records() {
			break // reading stops, and nothing leaks
		}
	}
}

// Finish closes records that are still being written, as after Ctrl-C.
func TestFinishClosesRecords(t *testing.T) {
	root := t.TempDir()
	r := mustCreate(t, root)
	w, err := r.WriteRecords()
	check(t, err)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for w.Add(sample(i, 1)) == nil {
			}
		})
	}
	for { // until some are written
		if _, err := os.Stat(r.Path(RecordsFile + partSuffix)); err == nil && w.Flush() == nil && w.size() > 0 {
			break
		}
	}
	check(t, r.Finish(Interrupted, errors.New("interrupted by the user")))
	wg.Wait()
	back := mustOpen(t, root, "last")
	if back.Status() != Interrupted || back.Manifest().Error == "" {
		t.Errorf("%s: %q", back.Status(), back.Manifest().Error)
	}
	if got, err := readAll(back); err != nil || len(got) == 0 {
		t.Errorf("%d records, %v", len(got), err)
	}
}

func (w *RecordWriter) size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.whole
}

// fullDisk accepts a number of bytes; the write that exceeds it is short, as the kernel's is.
type fullDisk struct {
	bytes.Buffer
	space int
}

func (d *fullDisk) Write(p []byte) (int, error) {
	n := min(len(p), d.space-d.Len())
	d.Buffer.Write(p[:n])
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}
func (d *fullDisk) Truncate(size int64) error { d.Buffer.Truncate(int(size)); return nil }
func (d *fullDisk) Sync() error               { return nil }
func (d *fullDisk) Close() error              { return nil }

// On a full disk the frames before the failure are whole, and each call reports the error.
func TestFullDisk(t *testing.T) {
	for _, space := range []int{0, 1, 100, 1000, 1250, 1500, 3000} {
		disk := &fullDisk{space: space}
		w := newRecordWriter(disk, time.Now)
		var failed error
		added := 0
		for i := range 10_000 {
			if failed = w.Add(sample(i, 10)); failed != nil {
				break
			}
			if failed = w.Flush(); failed != nil {
				break
			}
			added++
		}
		for what, err := range map[string]error{"the write": failed, "Add": w.Add(sample(0, 0)), "Flush": w.Flush(), "Close": w.Close()} {
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%d bytes: %s gives %v, want ENOSPC", space, what, err)
			}
		}
		n := 0
		for rec, err := range readRecords(&disk.Buffer) {
			if err != nil || rec.Index != n {
				t.Fatalf("%d bytes: record %d: %v %+v", space, n, err, rec)
			}
			n++
		}
		if n != added {
			t.Errorf("%d bytes: %d records, %d were written", space, n, added)
		}
	}
}

// The same in a run: the records are not in the manifest, but can be read.
func TestFullDiskInRun(t *testing.T) {
	root := t.TempDir()
	r := mustCreate(t, root)
	w, err := r.WriteRecords()
	check(t, err)
	file := w.f
	for i := range 10 {
		check(t, w.Add(sample(i, 3)))
	}
	check(t, w.Flush())
	w.mu.Lock()
	w.f = shortFile{file}
	w.mu.Unlock()
	check(t, w.Add(sample(10, 3)))
	if err := w.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Close gives %v", err)
	}
	if err := r.Finish(Failed, w.Close()); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Finish gives %v", err)
	}
	back := mustOpen(t, root, "last")
	got, err := readAll(back)
	if len(got) != 10 || !errors.Is(err, ErrCut) {
		t.Errorf("%d records, then %v", len(got), err)
	}
	wantError(t, errors.New(back.Manifest().Error), "write records: no space left on device")
}

// shortFile writes half of its input.
type shortFile struct{ recordFile }

func (f shortFile) Write(p []byte) (int, error) {
	n, _ := f.recordFile.Write(p[:len(p)/2])
	return n, syscall.ENOSPC
}

// A file truncated anywhere gives the records before that and an error; a damaged one gives no wrong record.
func TestDamagedRecords(t *testing.T) {
	var whole bytes.Buffer
	w := newRecordWriter(&fullDisk{space: 1 << 30}, time.Now)
	disk := w.f.(*fullDisk)
	var frames []int // ends
	for i := range 30 {
		check(t, w.Add(sample(i, 2)))
		if i%10 == 9 {
			check(t, w.Flush())
			frames = append(frames, disk.Len())
		}
	}
	whole.Write(disk.Bytes())
	read := func(text []byte) (n int, err error) {
		for rec, err := range readRecords(bytes.NewReader(text)) {
			if err != nil {
				return n, err
			}
			if !reflect.DeepEqual(rec, sample(n, 2)) {
				t.Fatalf("record %d is wrong: %+v", n, rec)
			}
			n++
		}
		return n, nil
	}
	for cut := range whole.Len() {
		least, between := 0, cut == 0
		for i, end := range frames {
			if cut >= end {
				least = 10 * (i + 1)
			}
			between = between || cut == end
		}
		n, err := read(whole.Bytes()[:cut])
		if n < least || between != (err == nil) || err != nil && !errors.Is(err, ErrCut) {
			t.Fatalf("cut at byte %d: %d records, then %v; want %d or more", cut, n, err, least)
		}
	}
	for at := range whole.Len() {
		text := bytes.Clone(whole.Bytes())
		text[at] ^= 0x55
		if n, err := read(text); err == nil && n == 30 {
			t.Logf("byte %d does not matter", at)
		} else if err == nil {
			t.Errorf("byte %d damaged: %d records and no error", at, n)
		}
	}
}

// FuzzRecords: reading any file ends, with an error or with lines of JSON.
func FuzzRecords(f *testing.F) {
	zw, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{"", "{}\n", `{"index": 1, "chunks": [{"at": 5}]}` + "\n{", "null\n", "[]\n"} {
		f.Add(zw.EncodeAll([]byte(text), nil))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var end error
		for rec, err := range readRecords(bytes.NewReader(text)) {
			if end != nil {
				t.Fatalf("more records after the error %v", end)
			}
			if (rec == nil) != (err != nil) {
				t.Fatalf("record %v, error %v", rec, err)
			}
			end = err
		}
	})
}

// Memory does not grow with the number of records, written or read.
func TestBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: writes 50 MB of JSON")
	}
	r := mustCreate(t, t.TempDir())
	w, err := r.WriteRecords()
	check(t, err)
	rec := sample(1, 1000)
	const n = 1500 // 30 KB each, as text and as a value
	var peak uint64
	look := func(i int) {
		if i%500 == 0 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
	}
	for i := range n {
		check(t, w.Add(rec))
		look(i)
	}
	check(t, w.Close())
	got := 0
	for _, err := range r.Records() {
		check(t, err)
		look(got)
		got++
	}
	if got != n || peak > 32<<20 {
		t.Errorf("%d records of %d, with up to %d MB", got, n, peak>>20)
	}
}

func BenchmarkRecords(b *testing.B) {
	recs := make([]*bench.Record, 200)
	for i := range recs {
		recs[i] = sample(i, 500)
	}
	var disk fullDisk
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			disk = fullDisk{space: 1 << 30}
			w := newRecordWriter(&disk, time.Now)
			for _, r := range recs {
				if err := w.Add(r); err != nil {
					b.Fatal(err)
				}
			}
			check(b, w.Close())
		}
		b.ReportMetric(float64(b.N*len(recs)*500)/b.Elapsed().Seconds(), "events/s")
		b.ReportMetric(float64(disk.Len())/float64(len(recs)*500), "B/event")
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			for _, err := range readRecords(io.Reader(bytes.NewReader(disk.Bytes()))) {
				check(b, err)
			}
		}
		b.ReportMetric(float64(b.N*len(recs)*500)/b.Elapsed().Seconds(), "events/s")
	})
}
