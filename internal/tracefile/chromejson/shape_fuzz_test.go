package chromejson

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// shapedEvents are consecutive events of traces, for tests that modify them.
var shapedEvents = []string{
	span(gemmLine, "1.123", "5.5", `"External id": 7,      "queued": 0, "device": 0, "context": 1,      "stream": 7, "correlation": 20,      "grid": [1, 64, 1],      "block": [384, 1, 1],      "est. achieved occupancy %": 0`),
	span(addLine, "1.5", "2.25", `"External id": 12,"Record function id": 0, "Input type": ["a\"b", "c\\"], "Input Dims": [[4, [1]], []], "Ev Idx": 34`),
	span(addLine, "1.5", "2.25", `"External id": 12, "bytes": 1408`),
	span(`"cat": "gpu_memcpy", "name": "Memcpy DtoD", "pid": 0, "tid": 7`, "1", "2", `"External id": 3, "device": 0, "correlation": 45, "bytes": 1408, "memory bandwidth (GB/s)": 0.5`),
	span(`"cat": "kernel", "name": "ncclDevKernel", "pid": 0, "tid": 7`, "1", "2", `"Collective name": "allreduce", "In msg nelems": 128, "Seq": 9, "correlation": 46, "Group size": 2`),
	span(`"cat": "python_function", "name": "a.py(1): f", "pid": 9, "tid": 9`, "1.5", "2.25", `"Python parent id": 1, "Python id": 22, "Ev Idx": 333`),
	span(`"cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9`, "1.5", "2.25", `"External id": 1, "cbid": 211, "correlation": -4`),
	span(`"cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9`, "1.5", "2.25", `"correlation": 1`),
	span(addLine, "1.5", "2.25", `"x": {"bytes": 5, "y": [1, {"correlation": 6}]}, "correlation": "7", "External id": 1e3, "bytes": 1.5`),
}

// numberForms are texts that may replace a number.
var numberForms = []string{
	"", "0", "1", "-1", "00", "01", "-0", "12345678901234567890", "1.5", "1.", ".5", "1e3", "1E+3", "-", "null", "true", `"1"`, `"a\"1"`,
	"NaN", "[1]", "[1, 2]", `{"bytes": 3}`, " 1", "1 ", "1\n", "1,", `1, "bytes": 2`, `1, "correlation": 22`, "1}", "1]", "é", "\x01", "\\",
}

// TestShapesWithOtherNumbers: after the event's shape is known, each of its numbers is replaced by every valid form,
// and each byte by others; the result must match the general path.
func TestShapesWithOtherNumbers(t *testing.T) {
	for _, event := range shapedEvents {
		var all []string
		for i := 0; i < len(event); i++ {
			end := i
			for end < len(event) && event[end]-'0' <= 9 {
				end++
			}
			if end > i && event[i-1]-'0' > 9 {
				for _, form := range numberForms {
					all = append(all, event[:i]+form+event[end:])
				}
				for n := 1; n <= 4; n++ { // of other lengths
					all = append(all, event[:i]+"98765"[:n]+event[end:])
				}
			}
			all = append(all, event[:i]+[]string{"", "7" + event[i:i+1], " "}[i%3]+event[i+1:])
		}
		for _, other := range all {
			sameAsGeneral(t, strings.Join([]string{"[" + event, event, other, other + "]"}, ","))
		}
		for i := range event {
			sameAsGeneral(t, "["+strings.Repeat(event+",", 3)+event[:i])
		}
	}
}

func sameAsGeneral(t *testing.T, text string) {
	t.Helper()
	want := collect(t, strings.NewReader(text), defaultLimits, true)
	if got := collect(t, strings.NewReader(text), defaultLimits, false); !reflect.DeepEqual(got, want) {
		t.Fatalf("%q:\n got %+v\nwant %+v", text, got, want)
	}
}

// FuzzShapes: an event, then the same with a few bytes changed, repeatedly; the result must match the general path.
// edits are triples: place, operation, byte.
func FuzzShapes(f *testing.F) {
	for _, e := range shapedEvents {
		f.Add([]byte(e), []byte{200, 0, '7', 180, 1, '5', 255, 2, 0, 130, 3, 7, 150, 3, 20})
	}
	f.Fuzz(func(t *testing.T, event, edits []byte) {
		if len(event) == 0 || len(event) > 2<<10 || len(edits) > 60 {
			return
		}
		var text bytes.Buffer
		text.WriteByte('[')
		add := func(e []byte) {
			for range 2 {
				text.Write(e)
				text.WriteByte(',')
			}
		}
		add(event)
		add(event)
		for ; len(edits) >= 3; edits = edits[3:] {
			at := int(edits[0]) * len(event) / 256
			add(edited(event, at, edits[1], edits[2]))
			if edits[1]&0x80 != 0 { // further edits apply to the edited one
				event = edited(event, at, edits[1], edits[2])
			}
			if len(event) == 0 {
				break
			}
		}
		add(event)
		sameAsGeneral(t, text.String())
	})
}

// edited returns the event with one operation applied at a place.
func edited(event []byte, at int, what, with byte) []byte {
	put := func(to int, s string) []byte {
		return append(append(bytes.Clone(event[:at]), s...), event[to:]...)
	}
	switch what & 0x7f % 4 {
	case 0:
		return put(at, string(with))
	case 1:
		return put(at+1, string([]byte{with}))
	case 2:
		return put(at+1, "")
	}
	// The number there, or the next one.
	for at < len(event) && event[at]-'0' > 9 {
		at++
	}
	to := at
	for to < len(event) && event[to]-'0' <= 9 {
		to++
	}
	return put(to, numberForms[int(with)%len(numberForms)])
}
