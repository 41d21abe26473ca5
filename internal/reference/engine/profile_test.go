package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
)

// waitOver waits until the session has closed by itself and its files are written.
func waitOver(t *testing.T, s *session) api.ProfileResult {
	t.Helper()
	select {
	case <-s.done:
		return s.result
	case <-soon(t).Done():
		t.Fatal("the window stays open")
	}
	return api.ProfileResult{}
}

// TestWindows runs traffic, opens a window, and runs more traffic. A request for n tokens is one prefill step and n-1
// decode steps. Steps count from 1.
func TestWindows(t *testing.T) {
	stages := func(r api.ProfileRequest) api.ProfileRequest {
		r.ByStage, r.Prefill, r.Decode = true, true, true
		return r
	}
	type want map[string][]string // by stage
	tests := []struct {
		name   string
		before []int
		req    api.ProfileRequest
		after  []int
		want   want
		open   bool // it must be stopped
	}{
		{"now", []int{3}, api.ProfileRequest{NumSteps: 2}, []int{4}, want{"": {"4:EXTEND", "5:DECODE"}}, false},
		{"exactly to the end of the traffic", nil, api.ProfileRequest{NumSteps: 3}, []int{3}, want{"": {"1:EXTEND", "2:DECODE", "3:DECODE"}}, false},
		{"one step", []int{1}, api.ProfileRequest{NumSteps: 1}, []int{3}, want{"": {"2:EXTEND"}}, false},
		{"over several requests", nil, api.ProfileRequest{NumSteps: 3}, []int{2, 2, 2}, want{"": {"1:EXTEND", "2:DECODE", "3:EXTEND"}}, false},
		{"until stopped", []int{1}, api.ProfileRequest{}, []int{2, 1}, want{"": {"2:EXTEND", "3:DECODE", "4:EXTEND"}}, true},
		{"traffic too short", nil, api.ProfileRequest{NumSteps: 9}, []int{2}, want{"": {"1:EXTEND", "2:DECODE"}}, true},
		{"from a step on", []int{2}, api.ProfileRequest{StartStep: 4, NumSteps: 2}, []int{5}, want{"": {"4:DECODE", "5:DECODE"}}, false},
		{"from the next step on", []int{2}, api.ProfileRequest{StartStep: 3, NumSteps: 1}, []int{5}, want{"": {"3:EXTEND"}}, false},
		{"from a step that is over", []int{5}, api.ProfileRequest{StartStep: 2, NumSteps: 2}, []int{5}, want{"": {"6:EXTEND", "7:DECODE"}}, false},
		{"from a step on until stopped", nil, api.ProfileRequest{StartStep: 2}, []int{3}, want{"": {"2:DECODE", "3:DECODE"}}, true},
		{"from a step that never comes", nil, api.ProfileRequest{StartStep: 20, NumSteps: 2}, []int{3}, want{}, true},
		{"no traffic", nil, api.ProfileRequest{NumSteps: 2}, nil, want{"": nil}, true},
		{"stages", nil, stages(api.ProfileRequest{NumSteps: 1}), []int{3}, want{"EXTEND": {"1:EXTEND"}, "DECODE": {"2:DECODE"}}, false},
		{"a decode step ends the prefill window", nil, stages(api.ProfileRequest{NumSteps: 2}), []int{2, 1, 3},
			want{"EXTEND": {"1:EXTEND"}, "DECODE": {"2:DECODE", "5:DECODE"}}, false},
		{"several prefill steps", nil, stages(api.ProfileRequest{NumSteps: 2}), []int{1, 1, 1, 3},
			want{"EXTEND": {"1:EXTEND", "2:EXTEND"}, "DECODE": {"5:DECODE", "6:DECODE"}}, false},
		{"each stage once", nil, stages(api.ProfileRequest{NumSteps: 1}), []int{2, 2, 2}, want{"EXTEND": {"1:EXTEND"}, "DECODE": {"2:DECODE"}}, false},
		{"prefill alone", nil, api.ProfileRequest{NumSteps: 2, ByStage: true, Prefill: true}, []int{1, 1, 2}, want{"EXTEND": {"1:EXTEND", "2:EXTEND"}}, false},
		{"decode alone", nil, api.ProfileRequest{NumSteps: 2, ByStage: true, Decode: true}, []int{1, 4}, want{"DECODE": {"3:DECODE", "4:DECODE"}}, false},
		{"names of stages", nil, api.ProfileRequest{NumSteps: 1, ByStage: true, Prefill: true, Decode: true, StageNames: true}, []int{2},
			want{"prefill": {"1:EXTEND"}, "decode": {"2:DECODE"}}, false},
		{"decode batches are too small", nil, api.ProfileRequest{NumSteps: 1, ByStage: true, Prefill: true, Decode: true, DecodeMinBS: 2}, []int{3},
			want{"EXTEND": {"1:EXTEND"}}, true},
		{"a stage without traffic", nil, stages(api.ProfileRequest{NumSteps: 2}), []int{1}, want{"EXTEND": {"1:EXTEND"}}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, 1, 2, Options{})
			for _, n := range tt.before {
				r.generate(t, 0, n)
			}
			dir := filepath.Join(t.TempDir(), "new", "dir")
			req := profileIn(dir)
			req.StartStep, req.NumSteps, req.DecodeMinBS = tt.req.StartStep, tt.req.NumSteps, tt.req.DecodeMinBS
			req.ByStage, req.Prefill, req.Decode, req.StageNames = tt.req.ByStage, tt.req.Prefill, tt.req.Decode, tt.req.StageNames
			if err := r.StartProfile(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			s := r.session.Load()
			for _, n := range tt.after {
				r.generate(t, 0, n)
			}
			if r.Profiling() != tt.open {
				t.Errorf("open is %v, want %v", !tt.open, tt.open)
			}
			if tt.open {
				if _, err := r.StopProfile(soon(t)); err != nil {
					t.Fatal(err)
				}
			} else if _, err := r.StopProfile(soon(t)); !errors.Is(err, api.ErrProfileIdle) {
				t.Errorf("stop of a window that has ended: %v", err)
			}
			res := waitOver(t, s)
			var names []string
			for stage, steps := range tt.want {
				for _, rank := range []string{"TP-0", "TP-1"} {
					name := "1700000000.5-" + rank
					if stage != "" {
						name += "-" + stage
					}
					name += ".trace.json.gz"
					names = append(names, name)
					if got := readSteps(t, filepath.Join(dir, name)); !slices.Equal(got, steps) {
						t.Errorf("%s has steps %v, want %v", name, got, steps)
					}
				}
			}
			slices.Sort(names)
			if got := files(t, dir); !slices.Equal(got, names) || !slices.Equal(res.Files, names) {
				t.Errorf("files %v, reported %v, want %v", got, res.Files, names)
			}
		})
	}
}

func TestProfileRefusals(t *testing.T) {
	r := newRig(t, 1, 1, Options{})
	dir := t.TempDir()
	if _, err := r.StopProfile(t.Context()); !errors.Is(err, api.ErrProfileIdle) {
		t.Errorf("stop while idle: %v", err)
	}
	for _, tt := range []struct {
		text string
		bend func(*api.ProfileRequest)
	}{
		{"needs an id", func(p *api.ProfileRequest) { p.ID = "" }},
		{"profile_id", func(p *api.ProfileRequest) { p.ID = "../x" }},
		{"profile_prefix", func(p *api.ProfileRequest) { p.Prefix = ".." + string(filepath.Separator) }},
		{"no known activity", func(p *api.ProfileRequest) { p.Activities = 0 }},
		{"negative", func(p *api.ProfileRequest) { p.NumSteps = -1 }},
		{"needs num_steps", func(p *api.ProfileRequest) { p.ByStage, p.Prefill = true, true }},
		{"without a stage", func(p *api.ProfileRequest) { p.ByStage, p.NumSteps = true, 3 }},
		{"output_dir: mkdir profile_test.go", func(p *api.ProfileRequest) { p.OutputDir = "profile_test.go/x" }},
		{"output_dir: open " + readOnly(t), func(p *api.ProfileRequest) { p.OutputDir = readOnly(t) }},
		{"memory history depth -1", func(p *api.ProfileRequest) { p.MemEntries = -1 }},
	} {
		req := profileIn(dir)
		tt.bend(&req)
		if err := r.StartProfile(t.Context(), req); err == nil || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("want %q, got %v", tt.text, err)
		}
		if r.Profiling() {
			t.Fatalf("%s: a refused window is armed", tt.text)
		}
	}
	for _, start := range []int64{0, 50} { // recording, armed
		req := profileIn(dir)
		req.ID, req.StartStep = fmt.Sprint("w", start), start
		if err := r.StartProfile(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if err := r.StartProfile(t.Context(), req); !errors.Is(err, api.ErrProfileRunning) {
			t.Errorf("second start, from %d: %v", start, err)
		}
		if _, err := r.StopProfile(soon(t)); err != nil {
			t.Errorf("stop, from %d: %v", start, err)
		}
	}
	again := profileIn(dir)
	again.ID = "w0"
	if err := r.StartProfile(t.Context(), again); !errors.Is(err, api.ErrInvalid) || !strings.Contains(err.Error(), "output_dir already has traces of profile_id w0, such as w0-TP-0.trace.json.gz") {
		t.Errorf("a name that another window used: %v", err)
	}
	r.groups[0].fail = errors.New("no memory")
	if err := r.StartProfile(t.Context(), profileIn(dir)); err == nil || !strings.Contains(err.Error(), "start recording on TP-0: no memory") {
		t.Errorf("recorder that fails: %v", err)
	}
	r.groups[0].fail = nil
	if err := r.StartProfile(t.Context(), profileIn(dir)); err != nil {
		t.Errorf("after a failed one: %v", err)
	}
}

// readOnly returns a directory in which nobody can write, not even root.
func readOnly(t *testing.T) string {
	t.Helper()
	const dir = "/proc/self/task"
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if os.Getuid() <= 0 { // no such user, or one to whom permissions do not apply
		t.Skip("no directory is read-only here")
	}
	ro := t.TempDir()
	if err := os.Chmod(ro, 0o555); err != nil {
		t.Fatal(err)
	}
	return ro
}

// A window that cannot start at its step ends with an error.
func TestRecorderFailsLate(t *testing.T) {
	r := newRig(t, 1, 1, Options{})
	req := profileIn(t.TempDir())
	req.StartStep = 2
	if err := r.StartProfile(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	s := r.session.Load()
	r.groups[0].fail = errors.New("no memory")
	r.generate(t, 0, 4)
	if res := waitOver(t, s); !strings.Contains(res.Message, "no memory") || len(res.Files) > 0 {
		t.Errorf("%+v", res)
	}
}

func TestRecordOptions(t *testing.T) {
	for _, tt := range []struct {
		activities   api.Activity
		stack        bool
		shapes       bool
		want         device.RecordOptions
		cudaProfiler int
	}{
		{api.ActivityCPU | api.ActivityGPU, true, true, device.RecordOptions{CPU: true, GPU: true, Stack: true, Shapes: true}, 0},
		{api.ActivityGPU, false, false, device.RecordOptions{GPU: true}, 0},
		{api.ActivityCPU | api.ActivityMem, false, true, device.RecordOptions{CPU: true, Memory: true, Shapes: true}, 0},
		{api.ActivityGPU | api.ActivityMem, false, true, device.RecordOptions{GPU: true, Memory: true, Shapes: true}, 0},
		{api.ActivityMem, false, false, device.RecordOptions{Memory: true}, 0},
		{api.ActivityCUDAProfiler | api.ActivityCPU, false, false, device.RecordOptions{CPU: true}, 2},
		{api.ActivityCUDAProfiler, false, false, device.RecordOptions{}, 2},
	} {
		var switched []bool
		r := newRig(t, 2, 1, Options{CUDAProfiler: func(on bool) { switched = append(switched, on) }})
		req := profileIn(filepath.Join(t.TempDir(), "made"))
		req.Activities, req.WithStack, req.RecordShapes = tt.activities, tt.stack, tt.shapes
		if err := r.StartProfile(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		r.generate(t, 0, 2)
		res, err := r.StopProfile(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.groups[0].ranks[0].Recorder.(*fakeRecorder).opt; got != tt.want {
			t.Errorf("%b: %+v, want %+v", tt.activities, got, tt.want)
		}
		if len(switched) != tt.cudaProfiler || (len(switched) == 2 && (!switched[0] || switched[1])) {
			t.Errorf("%b: the outer profiler was switched %v", tt.activities, switched)
		}
		want := 0 // a trace and a snapshot of each rank
		if tt.want.CPU || tt.want.GPU {
			want += 2
		}
		if tt.want.Memory {
			want += 2
		}
		if _, err := os.Stat(req.OutputDir); (err == nil) != (want > 0) {
			t.Errorf("%b: output_dir: %v, with %d files in it", tt.activities, err, want)
		}
		if len(res.Files) != want || res.Message != "" || res.Steps != 2 {
			t.Errorf("%b: %+v", tt.activities, res)
		}
	}
}
