package memsnap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"reflect"
	"testing"
)

func written(t *testing.T, s *Snapshot) any {
	t.Helper()
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	return unpickle(b.Bytes())
}

// TestValues checks that pickled values are read back, in short and in long forms.
func TestValues(t *testing.T) {
	ints := []int64{0, 1, 255, 256, 65535, 1 << 16, math.MaxInt32, math.MaxInt32 + 1, 1 << 39, 1 << 40, math.MaxInt64,
		-1, -256, math.MinInt32, math.MinInt32 - 1, -1 << 39, -1<<39 - 1, math.MinInt64}
	var b bytes.Buffer
	p := newPickler(&b)
	p.dict(func() {
		p.key("ints").list(len(ints), func(i int) { p.int(ints[i]) })
		p.key("many").list(3*listBatch, func(i int) { p.str(fmt.Sprint(i % 400)) })
		p.key("pair").pair(0, -3)
		p.key("x").float(-1.5)
		p.key("yes").bool(true)
		p.key("ß").dict(func() {})
	})
	if err := p.done(); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"pair": []any{0, -3}, "x": -1.5, "yes": true, "ß": map[string]any{}}
	var list, many []any
	for _, n := range ints {
		list = append(list, int(n))
	}
	for i := range 3 * listBatch {
		many = append(many, fmt.Sprint(i%400))
	}
	want["ints"], want["many"] = list, many
	if got := unpickle(b.Bytes()); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	asPython(t, b.Bytes(), want)
}

// asPython reads a pickle with Python, if it is installed.
func asPython(t *testing.T, pickled []byte, want any) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Log("without Python, only this test's own reader checks the pickle")
		return
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", "import json,pickle,sys; json.dump(pickle.load(sys.stdin.buffer), sys.stdout)")
	cmd.Stdin = bytes.NewReader(pickled)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	for data, into := range map[*[]byte]*any{&out: &a, &text: &b} {
		d := json.NewDecoder(bytes.NewReader(*data))
		d.UseNumber() // otherwise large numbers would be rounded
		if err := d.Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("Python reads %s", out)
	}
}

// TestSegments checks segments, written as "address+size: blocks", with a block written as "size" or, if free,
// "(size)".
func TestSegments(t *testing.T) {
	for _, tt := range []struct {
		name    string
		before  []Block
		history []Event
		want    string
	}{
		{"nothing", nil, nil, ""},
		{"what was there", []Block{{Addr: 4096, Size: 100}, {Addr: 512, Size: 7}}, nil, "512+7: 7; 4096+100: 100; "},
		{"allocated", nil, []Event{{Addr: 64, Size: 10}}, "64+10: 10; "},
		{"allocated and freed", nil, []Event{{Addr: 64, Size: 10}, {Addr: 64, Size: -10}}, "64+10: (10); "},
		{"freed, allocated before", []Block{{Addr: 64, Size: 10}}, []Event{{Addr: 64, Size: -10}}, "64+10: (10); "},
		{"freed, never seen", nil, []Event{{Addr: 64, Size: -10}}, "64+10: (10); "},
		{"an address used again, larger", nil, []Event{{Addr: 64, Size: 10}, {Addr: 64, Size: -10}, {Addr: 64, Size: 12}}, "64+12: 12; "},
		{"smaller ones where a large one was", nil, []Event{{Addr: 64, Size: 100}, {Addr: 64, Size: -100}, {Addr: 80, Size: 10}, {Addr: 100, Size: 4}}, "64+100: (16) 10 (10) 4 (60); "},
		{"side by side", nil, []Event{{Addr: 64, Size: 10}, {Addr: 74, Size: 10}}, "64+10: 10; 74+10: 10; "},
		{"overlapping, which is impossible", nil, []Event{{Addr: 64, Size: 10}, {Addr: 70, Size: 10}, {Addr: 65, Size: 2}}, "64+16: 10 6; "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			snap := written(t, &Snapshot{Before: tt.before, History: tt.history}).(map[string]any)
			for _, s := range snap["segments"].([]any) {
				s := s.(map[string]any)
				got += fmt.Sprintf("%d+%d:", s["address"], s["total_size"])
				used := 0
				for _, b := range s["blocks"].([]any) {
					b := b.(map[string]any)
					if b["state"] == "inactive" {
						got += fmt.Sprintf(" (%d)", b["size"])
						continue
					}
					got += fmt.Sprintf(" %d", b["size"])
					used += b["requested_size"].(int)
				}
				if s["allocated_size"] != used || s["active_size"] != used {
					t.Errorf("%v in use, %v active; blocks have %d", s["allocated_size"], s["active_size"], used)
				}
				got += "; "
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestSnapshot checks the full content of a snapshot.
func TestSnapshot(t *testing.T) {
	type d = map[string]any
	s := &Snapshot{
		Device: 1, Before: []Block{{Addr: 1 << 44, Size: 3 << 20, Name: "weights"}},
		History:    []Event{{5, 512, 16}, {1_700_000_000_000_000, 512, -16}, {1_700_000_000_000_001, 512, 8}},
		MaxEntries: 3,
	}
	none := []any{}
	want := d{
		"segments": []any{
			d{
				"device": 1, "address": 512, "total_size": 16, "allocated_size": 8, "active_size": 8, "requested_size": 8, "stream": 0,
				"segment_type": "small", "segment_pool_id": []any{0, 0}, "is_expandable": false, "frames": none,
				"blocks": []any{
					d{"address": 512, "size": 8, "requested_size": 8, "state": "active_allocated", "frames": none},
					d{"address": 520, "size": 8, "requested_size": 0, "state": "inactive", "frames": none},
				},
			},
			d{
				"device": 1, "address": 1 << 44, "total_size": 3 << 20, "allocated_size": 3 << 20, "active_size": 3 << 20,
				"requested_size": 3 << 20, "stream": 0,
				"segment_type": "large", "segment_pool_id": []any{0, 0}, "is_expandable": false, "frames": none,
				"blocks": []any{d{
					"address": 1 << 44, "size": 3 << 20, "requested_size": 3 << 20, "state": "active_allocated",
					"frames": []any{d{"name": "weights", "filename": "stepscope", "line": 0}},
				}},
			},
		},
		"device_traces": []any{none, []any{ // the oldest entry did not fit
			d{"action": "free_requested", "addr": 512, "size": 16, "stream": 0, "time_us": 1_700_000_000_000_000, "frames": none},
			d{"action": "free_completed", "addr": 512, "size": 16, "stream": 0, "time_us": 1_700_000_000_000_000, "frames": none},
			d{"action": "alloc", "addr": 512, "size": 8, "stream": 0, "time_us": 1_700_000_000_000_001, "frames": none},
		}},
		"allocator_settings": d{
			"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0, "expandable_segments": false,
			"pinned_num_register_threads": 1, "release_lock_on_cudamalloc": false, "pinned_use_cuda_host_register": false,
			"roundup_power2_divisions": d{},
		},
		"external_annotations": none,
	}
	if got := written(t, s); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteError(t *testing.T) {
	if err := (&Snapshot{}).Write(fullDisk{}); err == nil || err.Error() != "disk full" {
		t.Error(err)
	}
}
