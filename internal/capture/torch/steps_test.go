package torch

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/api/servers"
)

// writeSteps writes the trace of a rank with a number of steps of each mode.
func (f *fake) writeSteps(dir, name string, modes ...string) {
	var events []string
	for i, mode := range modes {
		events = append(events, fmt.Sprintf(`{"ph":"X","cat":"user_annotation","name":"step[%s bs=1]","pid":9,"tid":1,"ts":%d,"dur":5.0}`, mode, 10*i+1))
	}
	text := `{"schemaVersion":1,"traceEvents":[` + strings.Join(events, ",") + `]}`
	if err := os.MkdirAll(dir, 0o755); err != nil {
		f.t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		f.t.Error(err)
	}
}

// TestSteps checks that N steps are recorded although SGLang releases count differently, and that a deviation is
// reported.
func TestSteps(t *testing.T) {
	const env = `{"tp_size":1,"version":"0.5.23","internal_states":[{"env_vars":{"SGLANG_PROFILE_V2":"true"}}]}`
	for _, c := range []struct {
		name, info string
		w          Window
		more       int // steps that the server records beyond the request
		v2         bool
		told       string
		line       string
	}{
		{"0.5.11", `{"tp_size":1,"version":"0.5.11"}`, Window{NumSteps: 8}, -1, false, "9",
			"8 steps recorded, as wanted; 9 requested from the server: it records one step fewer than requested"},
		{"0.5.11, one step", `{"tp_size":1,"version":"0.5.11.post1"}`, Window{NumSteps: 1}, -1, false, "2", "1 steps recorded, as wanted; 2 requested from the server"},
		{"0.5.11 from a step on", `{"tp_size":1,"version":"0.5.11"}`, Window{NumSteps: 8, StartStep: 30}, 0, false, "8", ""},
		{"0.5.11 by stage", `{"tp_size":1,"version":"0.5.11"}`, Window{NumSteps: 4, ByStage: true}, 0, false, "4", ""},
		{"0.5.23", `{"tp_size":1,"version":"0.5.23"}`, Window{NumSteps: 8}, 0, false, "8", ""},
		{"0.5.23 by stage", `{"tp_size":1,"version":"0.5.23"}`, Window{NumSteps: 4, ByStage: true}, 0, false, "4", ""},
		{"reported V2", env, Window{NumSteps: 4, ByStage: true}, 1, true, "3", "4 steps recorded, as wanted; 3 requested from the server: its profiler is V2, which records one more step"},
		{"unreported V2", `{"tp_size":1,"version":"0.5.23"}`, Window{NumSteps: 4, ByStage: true}, 1, true, "4",
			"4 steps wanted, 5 recorded: its profiler is V2, which records one more step of each stage than requested"},
		{"between", `{"tp_size":1,"version":"0.5.15"}`, Window{NumSteps: 8}, 0, false, "9",
			"8 steps wanted, 9 recorded (9 requested from the server): releases between 0.5.11 and 0.5.23 record the requested number"},
		{"no version", `{"tp_size":1}`, Window{NumSteps: 8}, -1, false, "8", "8 steps wanted, 7 recorded"},
		{"a tree", `{"tp_size":1,"version":"0.0.0.dev1+g12"}`, Window{NumSteps: 8}, 0, false, "8", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, false, c.info)
			f.begin = func(dir string) {
				n, _ := strconv.Atoi(f.body["num_steps"].(string))
				stages := map[string]string{"": "DECODE"}
				switch {
				case c.w.ByStage && c.v2:
					stages = map[string]string{"-prefill": "EXTEND", "-decode": "DECODE"}
				case c.w.ByStage:
					stages = map[string]string{"-EXTEND": "EXTEND", "-DECODE": "DECODE"}
				}
				for stage, mode := range stages {
					var modes []string
					for range n + c.more {
						modes = append(modes, mode)
					}
					f.writeSteps(dir, "9-TP-0"+stage+".trace.json", modes...)
				}
				f.open = false
			}
			res, err := run(t, c.w, patient(Options{}), f)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.body["num_steps"]; got != c.told {
				t.Errorf("requested %v, want %s", got, c.told)
			}
			s := res.Servers[0].Steps
			if s == nil || s.Fewest == nil || s.Asked != c.w.NumSteps {
				t.Fatalf("%+v", s)
			}
			if line := s.line(); !strings.HasPrefix(line, c.line) || c.line == "" && line != "" {
				t.Errorf("%q, want %q", line, c.line)
			}
			if said := strings.Join(res.Servers[0].Lines(), "\n"); !strings.Contains(said, c.line) {
				t.Errorf("%q", said)
			}
		})
	}
}

// TestStepsOfRealFiles checks that files are counted by their steps rather than their names.
func TestStepsOfRealFiles(t *testing.T) {
	m := &member{kind: servers.SGLang, info: Info{Version: "0.5.11", TP: 2}, w: Window{NumSteps: 5, ByStage: true}}
	for name, want := range map[string]string{
		"DECODE": "5 steps wanted, 1 recorded",
		"EXTEND": "5 steps wanted, 1 recorded",
	} {
		f := &fake{t: t}
		dir := t.TempDir()
		f.writeSteps(dir, "9-TP-0-"+name+".trace.json", "EXTEND")
		r := &ServerResult{Traces: []string{filepath.Join(dir, "9-TP-0-"+name+".trace.json")}}
		if m.count(t.Context(), r); r.Steps.line() != want {
			t.Errorf("%s: %q, want %q", name, r.Steps.line(), want)
		}
		said := strings.Join(append(r.Notes, r.Missing...), "; ")
		if wrong := "9-TP-0-DECODE.trace.json: its name says DECODE, but it holds 1 prefill: the content decides; TP00 decode"; said != wrong && name == "DECODE" || said != "" && name != "DECODE" {
			t.Errorf("%s: said %q", name, said)
		}
	}
}
