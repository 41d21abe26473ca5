package torch

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/api"
)

// TestAfter checks that each role has its own first step, number of steps and directory, counted from the steps that
// each server has run.
func TestAfter(t *testing.T) {
	const counted = `{"tp_size":1,"version":"0.5.23","internal_states":[{"forward_ct":%d}]}`
	for name, c := range map[string]struct {
		prefill, decode string // server_info
		counts          bool
		want            [2]string // first step and number of steps
	}{
		"counts":        {fmt.Sprintf(counted, 40), fmt.Sprintf(counted, 7), true, [2]string{"46 10", "108 20"}},
		"replicas":      {`{"tp_size":1,"dp_size":2,"version":"0.5.23","internal_states":[{"forward_ct":40},{"forward_ct":44}]}`, fmt.Sprintf(counted, 0), true, [2]string{"48 10", "101 20"}},
		"one has none":  {fmt.Sprintf(counted, 40), `{"tp_size":1,"version":"0.5.23"}`, false, [2]string{" 10", " 20"}},
		"none has any":  {`{"tp_size":1,"version":"0.5.23"}`, `{"tp_size":1,"version":"0.5.23"}`, false, [2]string{" 10", " 20"}},
		"older release": {`{"tp_size":1,"version":"0.5.6"}`, `{"tp_size":1,"version":"0.5.6"}`, false, [2]string{" 11", " 21"}},
	} {
		t.Run(name, func(t *testing.T) {
			fakes := []*fake{newFake(t, false, c.prefill), newFake(t, false, c.decode)}
			roles := []string{api.Prefill, api.Decode}
			dir := t.TempDir()
			var targets []Target
			for i, f := range fakes {
				targets = append(targets, Target{URL: f.url, Role: roles[i]})
			}
			s, err := Prepare(t.Context(), targets, Window{NumSteps: 20, OutputDir: filepath.Join(dir, "{role}", "{port}")}, patient(Options{LoadFollows: true}))
			if err != nil {
				t.Fatal(err)
			}
			s.SetPrefillSteps(10)
			ok, err := s.After(t.Context(), func(role string) int64 { return map[string]int64{api.Prefill: 5, api.Decode: 100}[role] })
			if err == nil {
				err = s.Arm(t.Context())
			}
			if err != nil || ok != c.counts {
				t.Fatalf("counted %v, %v", ok, err)
			}
			for i, f := range fakes {
				first, _ := f.body["start_step"].(string)
				if got := fmt.Sprintf("%s %v", first, f.body["num_steps"]); got != c.want[i] {
					t.Errorf("%s: %q, want %q", roles[i], got, c.want[i])
				}
				u, _ := url.Parse(f.url)
				if to, _ := f.body["output_dir"].(string); !strings.HasPrefix(to, filepath.Join(dir, roles[i], u.Port())+"/") {
					t.Errorf("%s writes to %s", roles[i], to)
				}
			}
			if err := s.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("vLLM", func(t *testing.T) {
		f := newFake(t, false, "")
		f.answer("GET /version", 200, `{"version":"0.20.0"}`)
		f.answer("GET /metrics", 200, "vllm:iteration_tokens_total_count{engine=\"0\"} 12\n")
		s, err := Prepare(t.Context(), []Target{{URL: f.url}}, Window{NumSteps: 20, OutputDir: t.TempDir()}, patient(Options{LoadFollows: true}))
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := s.After(t.Context(), func(string) int64 { return 5 }); ok || err != nil {
			t.Errorf("counted %v, %v: vLLM accepts no start step", ok, err)
		}
	})
}
