package merge

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/tracefile/set"
)

// longSet creates files whose events repeat: consecutive gzip members, so that a long file is cheap to create.
func longSet(t *testing.T, files, members int) set.Set {
	t.Helper()
	member := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, text)
		z.Close()
		return b.Bytes()
	}
	var events strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&events, "{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce\", \"pid\": 0, \"tid\": 7,\n    \"ts\": %d.500, \"dur\": 2.000,\n    \"args\": {\n      \"External id\": %d,\"correlation\": %d, \"grid\": [%d, 1, 1]\n    }\n  },\n", i, i+1, i+1, i)
	}
	head, body := member(`{"baseTimeNanoseconds": 1, "traceEvents": [`), member(events.String())
	dir := t.TempDir()
	for i := range files {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("long-TP-%d.trace.json.gz", i)))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.Write(head)
		for range members {
			_, _ = f.Write(body)
		}
		_, _ = f.Write(member(fmt.Sprintf(`{"ph": "i", "pid": %d, "ts": 1}]}`, i+1))) // identical files would count as copies
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return find(t, dir)
}

// heapOf returns the heap that the runtime holds from the system after f, in bytes.
func heapOf(f func()) uint64 {
	runtime.GC()
	f()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapSys - m.HeapReleased
}

// Memory depends neither on the length of the files nor on their number.
func TestMemoryBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: merges 500 MB")
	}
	merge := func(files, members int) uint64 {
		set := longSet(t, files, members)
		return heapOf(func() {
			res, err := To(context.Background(), set, io.Discard, Options{Level: 1})
			if err != nil || res.Events != int64(files*(members*4000+1)) {
				t.Fatal(err, res.Events)
			}
		})
	}
	for _, tt := range []struct{ files, members int }{{4, 20}, {4, 100}, {64, 5}} {
		if got := merge(tt.files, tt.members); got > 100<<20 {
			t.Errorf("%d files of %d members: %d MB of heap", tt.files, tt.members, got>>20)
		}
	}
}

func TestPerfettoMemoryBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: sorts 180 MB")
	}
	set := longSet(t, 4, 60)
	got := heapOf(func() {
		if _, err := Perfetto(context.Background(), set, filepath.Join(t.TempDir(), "x.pftrace"), Options{Level: 1}); err != nil {
			t.Fatal(err)
		}
	})
	if got > 100<<20 {
		t.Errorf("%d MB of heap", got>>20)
	}
}

// A spool returns its records sorted, whether they fit in memory or not.
func TestSpool(t *testing.T) {
	for _, n := range []int{0, 1000, 200_000} { // the last is larger than a run
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		s := spool{path: filepath.Join(t.TempDir(), "out")}
		pad := bytes.Repeat([]byte("x"), 100)
		sum := int64(0)
		for i := range n {
			r := record{
				track: rng.Uint32N(5), what: recordKind(rng.IntN(4)), start: rng.Int64N(1000) - 500, dur: rng.Int64N(50),
				flow: rng.Uint64(), value: int64(i), name: pad[:rng.IntN(100)], cat: []byte("c"), args: nil,
			}
			sum += r.value
			if err := s.add(&r); err != nil {
				t.Fatal(err)
			}
		}
		if (len(s.runs) > 0) != (n == 200_000) {
			t.Fatalf("%d records made %d runs", n, len(s.runs))
		}
		var last indexed
		var lastValue int64
		got := 0
		err := s.each(t.Context(), func(r *record) error {
			key := indexed{track: r.track, what: r.what, start: r.start, dur: r.dur}
			if got > 0 {
				switch c := before(&last, &key); {
				case c > 0:
					t.Fatalf("%+v before %+v", last, key)
				case c == 0 && lastValue > r.value:
					t.Fatal("equal records changed places")
				}
			}
			if string(r.cat) != "c" || len(r.name) > 100 {
				t.Fatalf("%+v", r)
			}
			last, lastValue = key, r.value
			sum -= r.value
			got++
			return nil
		})
		s.close()
		if err != nil || got != n || sum != 0 {
			t.Errorf("%d records in, %d out, %v", n, got, err)
		}
	}
}
