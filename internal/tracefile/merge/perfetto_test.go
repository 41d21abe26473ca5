package merge

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/packedtest"
)

// packet holds the fields of a Perfetto TracePacket that this test reads.
type packet struct {
	ts, track, kind uint64
	flows           []uint64
}

// fields calls f for each field of a protobuf message.
func fields(b []byte, f func(n int, v uint64, sub []byte)) {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		b = b[n:]
		switch tag & 7 {
		case 0:
			v, n := binary.Uvarint(b)
			b = b[n:]
			f(int(tag>>3), v, nil)
		case 1:
			f(int(tag>>3), binary.LittleEndian.Uint64(b), nil)
			b = b[8:]
		case 2:
			size, n := binary.Uvarint(b)
			f(int(tag>>3), 0, b[n:n+int(size)])
			b = b[n+int(size):]
		}
	}
}

func packets(t *testing.T, path string) (list []packet, names map[string]bool) {
	names = map[string]bool{}
	fields(packedtest.Read(t, path), func(_ int, _ uint64, msg []byte) {
		var p packet
		fields(msg, func(n int, v uint64, sub []byte) {
			switch n {
			case 8:
				p.ts = v
			case 60: // track descriptor
				fields(sub, func(n int, _ uint64, s []byte) {
					if n == 2 {
						names[string(s)] = true
					}
				})
			case 11: // track event
				fields(sub, func(n int, v uint64, _ []byte) {
					switch n {
					case 9:
						p.kind = v
					case 11:
						p.track = v
					case 47:
						p.flows = append(p.flows, v)
					}
				})
			}
		})
		if p.kind != 0 {
			list = append(list, p)
		}
	})
	return list, names
}

func TestPerfetto(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"graphs", "stacks"} {
		t.Run(name, func(t *testing.T) {
			set := testSet(t, name)
			path := filepath.Join(t.TempDir(), "out.pftrace")
			if _, err := Perfetto(context.Background(), set, path, Options{}); err != nil {
				t.Fatal(err)
			}
			want := map[any]int{}
			arrows := 0 // kernels with a recorded launch
			for _, f := range set.Files {
				launches := map[string]bool{}
				events := parse(t, packedtest.Read(t, f.Path)).Events
				for _, e := range events {
					want[e["ph"]]++
					if e["cat"] == "cuda_runtime" || e["cat"] == "cuda_driver" {
						launches[fmt.Sprint(e["args"].(map[string]any)["correlation"])] = true
					}
				}
				for _, e := range events {
					if e["cat"] == "kernel" && launches[fmt.Sprint(e["args"].(map[string]any)["correlation"])] {
						arrows++
					}
				}
			}
			list, names := packets(t, path)
			got := map[uint64]int{}
			ends := map[uint64]int{}
			for _, p := range list {
				got[p.kind]++
				for _, f := range p.flows {
					ends[f]++
				}
			}
			if got[1] != want["X"] || got[2] != want["X"] || got[3] != want["i"] {
				t.Errorf("%v begins, ends, instants; the files have %v", got, want)
			}
			if name == "stacks" && got[4] == 0 {
				t.Error("no memory counters")
			}
			joined := 0
			for _, n := range ends {
				if n > 1 {
					joined += n - 1
				}
			}
			if joined < arrows {
				t.Errorf("%d arrows, want %d", joined, arrows)
			}
			checkNesting(t, list)
			for _, n := range []string{"TP00", "TP03", "GPU 0 stream 7"} {
				if !names[n] {
					t.Errorf("no track %q in %v", n, names)
				}
			}
		})
	}
}

// checkNesting reads the events as Perfetto does: by time, then by position. No track may end a slice that did not
// begin.
func checkNesting(t *testing.T, list []packet) {
	t.Helper()
	slices.SortStableFunc(list, func(a, b packet) int { return cmp.Compare(a.ts, b.ts) })
	depth := map[uint64]int{}
	for _, p := range list {
		switch p.kind {
		case 1:
			depth[p.track]++
		case 2:
			if depth[p.track]--; depth[p.track] < 0 {
				t.Fatalf("track %x ends more than it began at %d", p.track, p.ts)
			}
		}
	}
	for track, n := range depth {
		if n != 0 {
			t.Errorf("track %x: %d slices without end", track, n)
		}
	}
}

func TestPerfettoOddEvents(t *testing.T) {
	dir, _ := write(t, "id-TP-0.trace.json", traceOf(`"baseTimeNanoseconds": 5, `,
		`{"ph": "B", "name": "b", "pid": 1, "tid": 1, "ts": 1}`, `{"ph": "E", "pid": 1, "tid": 1, "ts": 3}`,
		`{"ph": "E", "pid": 1, "tid": 1, "ts": 4}`,
		`{"ph": "C", "name": "c", "pid": 1, "tid": 1, "ts": 4, "args": {"x": 1.5, "y": 2}}`,
		`{"ph": "X", "name": "no dur", "pid": 1, "tid": 1, "ts": 5, "args": {"a": {"b": ["\"", "}"]}, "n": null, "u": 18446744073709551615, "e": "\u0041"}}`,
		`{"ph": "X", "name": "before", "pid": 1, "tid": 1, "ts": -5, "dur": 1}`,
		`{"ph": "s", "cat": "fwdbwd", "id": 1, "pid": 1, "tid": 1, "ts": 5}`, `{"ph": "f", "cat": "fwdbwd", "id": 1, "pid": 1, "tid": 2, "ts": 9}`,
		`{"ph": "X", "name": "no ts", "pid": 1, "tid": 1}`))
	path := filepath.Join(t.TempDir(), "out.pftrace")
	res, err := Perfetto(context.Background(), find(t, dir), path, Options{Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	list, _ := packets(t, path)
	got := map[uint64]int{}
	var flows []uint64
	for _, p := range list {
		got[p.kind]++
		flows = append(flows, p.flows...)
	}
	// Slices: b, no dur, before. An instant for the arrow's end, where no slice begins.
	if got[1] != 3 || got[2] != 3 || got[3] != 1 || got[4] != 2 {
		t.Errorf("%v", got)
	}
	if len(flows) != 2 || flows[0] != flows[1] {
		t.Errorf("flows %v", flows)
	}
	if res.Files[0].OddTimes != 1 || len(res.Notes) != 3 { // clamped, no dur, no ts
		t.Errorf("%+v", res)
	}
}
