package torch

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newVLLM imitates vLLM: no /server_info, routes without a body, one directory for all windows, and a step count in
// /metrics.
func newVLLM(t *testing.T, dir string) *fake {
	f := newFake(t, false, "")
	f.answer("GET /version", 200, `{"version":"0.15.0"}`)
	steps := 100
	f.routes["GET /metrics"] = func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		fmt.Fprintf(w, "vllm:iteration_tokens_total_bucket{engine=\"0\",le=\"1.0\"} 7\nvllm:iteration_tokens_total_count{engine=\"0\"} %d.0\n", steps)
		if f.open {
			steps++
		}
	}
	f.write(dir, "dp0_pp0_tp0_dcp0_ep0_rank0.1700000000000000001.pt.trace.json.gz", "profiler_out_0.txt")
	return f
}

// TestVLLM checks that the new traces belong to the window, that the front end is not a rank, and that the profiler is
// stopped after the requested steps.
func TestVLLM(t *testing.T) {
	for name, c := range map[string]struct {
		files         []string
		traces, other string
		merged        bool
	}{
		"by ranks": {
			[]string{
				"dp0_pp0_tp0_dcp0_ep0_rank0.1800000000000000001.pt.trace.json.gz", "dp0_pp0_tp1_dcp0_ep0_rank1.1800000000000000002.pt.trace.json.gz",
				"host_77.async_llm.1800000000000000003.pt.trace.json.gz", "profiler_out_1.txt",
			},
			"dp0_pp0_tp0_dcp0_ep0_rank0.1800000000000000001.pt.trace.json.gz dp0_pp0_tp1_dcp0_ep0_rank1.1800000000000000002.pt.trace.json.gz",
			"host_77.async_llm.1800000000000000003.pt.trace.json.gz", true,
		},
		"older, by processes": {
			[]string{"host_70.1800000000000000001.pt.trace.json.gz", "host_71.1800000000000000002.pt.trace.json.gz"},
			"host_70.1800000000000000001.pt.trace.json.gz host_71.1800000000000000002.pt.trace.json.gz", "", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, local := t.TempDir(), t.TempDir()
			f := newVLLM(t, dir)
			f.end = func(string) { f.write(dir, c.files...) }
			s, err := Start(t.Context(), []Target{{URL: f.url}}, Window{OutputDir: dir, NumSteps: 4}, quick(Options{Timeout: 1 << 40}))
			if err != nil {
				t.Fatal(err)
			}
			if len(f.body) != 0 {
				t.Errorf("vLLM takes no body, it got %v", f.body)
			}
			res, err := s.Collect(t.Context(), local)
			if err != nil {
				t.Fatal(err)
			}
			r := res.Servers[0]
			if bases(r.Traces) != c.traces || bases(r.Other) != c.other || (r.Merged != "") != c.merged {
				t.Errorf("%+v", r)
			}
			if f.called() != "start stop" || len(r.Missing) > 0 {
				t.Errorf("calls %s, %+v", f.called(), r)
			}
			for _, path := range r.Traces {
				if _, err := os.Stat(path); err != nil || filepath.Dir(path) != local {
					t.Error(path, err)
				}
			}
		})
	}
}

// TestVLLMUncounted checks that a window without a step histogram has a fixed length, and that the result says so.
func TestVLLMUncounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newVLLM(t, dir)
	delete(f.routes, "GET /metrics")
	f.end = func(string) { f.write(dir, "rank0.1800000000000000001.pt.trace.json.gz") }
	res, err := run(t, Window{OutputDir: dir, NumSteps: 4}, quick(Options{}), f)
	if err != nil || len(res.Servers[0].Traces) != 1 || !strings.Contains(strings.Join(res.Servers[0].Notes, ""), "recorded for 2s instead of for 4 steps") {
		t.Errorf("%v, %+v", err, res)
	}
}
