package export

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stepscope/stepscope/internal/tracefile/set"
)

// TestBroken: readable files are exported, and unreadable ones are named.
func TestBroken(t *testing.T) {
	cut := kinetoJSON[:strings.Index(kinetoJSON, `{"ph":"X","cat":"gpu_memcpy"`)+30]
	set := writeSet(t, map[string]string{"w-TP-0.trace.json": kinetoJSON, "w-TP-1.trace.json": cut, "w-TP-2.trace.json": "", "w-TP-3.trace.json": "hello"})
	for _, out := range outputs {
		t.Run(out, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), out)
			f, _ := FormatOf(out)
			res, err := File(t.Context(), set, path, f, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !res.Incomplete() || len(res.Failed) != 2 || len(res.Ranks) != 2 || !res.Ranks[0].Complete || res.Ranks[1].Complete || len(res.Ranks[1].Notes) == 0 {
				t.Errorf("got result %+v, want it incomplete, with 2 failed files, a complete rank and a cut one", res)
			}
			count := map[string]int{}
			for _, rec := range readBack(t, path, f) {
				count[rec["rank"]]++
			}
			if count["TP00"] != 15 || count["TP01"] != 12 || len(count) != 2 {
				t.Errorf("got rows %v, want 15 of TP00 and 12 of TP01", count)
			}
			if f == SQLite {
				notes := query(t, path, "SELECT rank_id, severity FROM notes ORDER BY rank_id IS NULL, rank_id")
				if len(notes) != 3 || notes[0]["rank_id"] != "2" || notes[0]["severity"] != "loss" || notes[2]["rank_id"] != "" {
					t.Errorf("got notes %v, want 3, the first a loss of rank 2", notes)
				}
			}
		})
	}
}

// TestNothing: without a readable file nothing is written, and an existing output stays.
func TestNothing(t *testing.T) {
	set := writeSet(t, map[string]string{"w-TP-0.trace.json": "", "w-TP-1.trace.json": `{"traceEvents":[]}`})
	for _, out := range outputs {
		dir := t.TempDir()
		path := filepath.Join(dir, out)
		if err := os.WriteFile(path, []byte("before"), 0o666); err != nil {
			t.Fatal(err)
		}
		f, _ := FormatOf(out)
		res, err := File(t.Context(), set, path, f, Options{})
		if !errors.Is(err, ErrNothing) || len(res.Failed) != 2 {
			t.Errorf("%s: got error %v, result %+v, want ErrNothing and 2 failed files", out, err, res)
		}
		if got, _ := os.ReadFile(path); string(got) != "before" || len(entries(t, dir)) != 1 {
			t.Errorf("%s: got content %q, entries %v, want the old file alone", out, got, entries(t, dir))
		}
	}
}

func TestNotAnInput(t *testing.T) {
	set := writeSet(t, map[string]string{"w-TP-0.trace.json": kinetoJSON})
	for _, path := range []string{set.Files[0].Path, filepath.Dir(set.Files[0].Path)} {
		if _, err := File(t.Context(), set, path, CSV, Options{}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("output %s: got error %v, want one that names it", path, err)
		}
	}
	if got, _ := os.ReadFile(set.Files[0].Path); string(got) != kinetoJSON {
		t.Error("the export changed its input")
	}
}

func TestStream(t *testing.T) {
	set := writeSet(t, map[string]string{"w-TP-0.trace.json": kinetoJSON})
	if _, err := To(t.Context(), set, io.Discard, SQLite, Options{}); !errors.Is(err, errStream) {
		t.Errorf("SQLite to a stream: got error %v, want %v", err, errStream)
	}
	for _, f := range []Format{CSV, Parquet} {
		for _, left := range []int{0, 100, 1000} {
			if _, err := To(t.Context(), set, &fullDisk{left}, f, Options{}); !errors.Is(err, errDisk) {
				t.Errorf("%s, disk full after %d bytes: got error %v, want %v", f, left, err, errDisk)
			}
		}
	}
}

// fuse is a context that is cancelled after a number of calls of Err.
type fuse struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int64
}

func (f *fuse) Err() error {
	if f.left.Add(-1) < 0 {
		f.cancel()
	}
	return f.Context.Err()
}

// TestInterrupted cancels an export at many of its checks of the context.
func TestInterrupted(t *testing.T) {
	set := realSet(t, "graph_work")
	for _, out := range outputs {
		f, _ := FormatOf(out)
		stops := 0
		for n := int64(0); ; n += 1 + n/4 {
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			lit := &fuse{Context: ctx, cancel: cancel}
			lit.left.Store(n)
			_, err := File(lit, set, filepath.Join(dir, out), f, Options{})
			left := entries(t, dir)
			cancel()
			if err == nil {
				if !slices.Equal(left, []string{out}) {
					t.Errorf("%s: got entries %v, want the output alone", out, left)
				}
				break
			}
			stops++
			if !errors.Is(err, context.Canceled) || len(left) != 0 {
				t.Fatalf("%s, cancelled at check %d: got error %v, entries %v, want Canceled and none", out, n, err, left)
			}
		}
		if stops < 5 {
			t.Errorf("%s: the export checked the context %d times, want at least 5", out, stops)
		}
	}
}

// heapProbe records the heap in use after each rank.
type heapProbe struct {
	sink
	live []int64
}

func (p *heapProbe) rank(ctx context.Context, r *rank) error {
	err := p.sink.rank(ctx, r)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p.live = append(p.live, int64(m.HeapAlloc))
	return err
}

// TestMemory: memory in use does not grow with the number of ranks.
func TestMemory(t *testing.T) {
	one := realSet(t, "compute_skew").Files[0]
	var set set.Set
	for i := range 7 {
		one.Name.Rank.TP = i
		set.Files = append(set.Files, one)
	}
	for f, open := range map[Format]func() (sink, error){
		CSV:     func() (sink, error) { return newCSVSink(io.Discard, true), nil },
		Parquet: func() (sink, error) { return newParquetSink(io.Discard), nil },
		SQLite: func() (sink, error) {
			return newSQLiteSink(scratch(t))
		},
	} {
		s, err := open()
		if err != nil {
			t.Fatal(err)
		}
		p := &heapProbe{sink: s}
		if _, err := run(t.Context(), set, p, f, Options{}); err != nil {
			t.Fatal(err)
		}
		// Each trace takes more than 1 MB, so five retained traces would show.
		if grown := p.live[len(p.live)-1] - p.live[1]; grown > 2<<20 {
			t.Errorf("%s: the heap grew by %d bytes from rank 2 to rank 7, want at most 2 MiB", f, grown)
		}
	}
}
