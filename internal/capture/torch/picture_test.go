package torch

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api/servers"
)

// diffusionServer imitates SGLang's diffusion server: it has no profile routes; since 0.5.23 a request can have its own
// denoising steps recorded, one more than requested.
func diffusionServer(t *testing.T, version, traces string) (f *fake, asked *map[string]any) {
	f = newFake(t, false, fmt.Sprintf(`{"version": %q, "num_gpus": 2, "tp_size": 2, "model_path": "Tongyi-MAI/Z-Image-Turbo"}`, version))
	delete(f.routes, "POST /start_profile")
	delete(f.routes, "POST /stop_profile")
	f.answer("GET /v1/models", 200, `{"object": "list", "data": [{"id": "z", "num_gpus": 2, "task_type": "T2I", "pipeline_class": "ZImagePipeline"}]}`)
	asked = &map[string]any{}
	f.routes["POST /v1/images/generations"] = func(w http.ResponseWriter, r *http.Request) {
		json.NewDecoder(r.Body).Decode(asked)
		const id = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
		if n, ok := (*asked)["num_profiled_timesteps"].(float64); ok && traces != "" {
			var events []string
			for k := 1; k <= int(n)+1; k++ {
				events = append(events, fmt.Sprintf(`{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "pid": 1, "tid": 1, "ts": %d, "dur": 90}`, k, 100*k))
			}
			out, err := os.Create(filepath.Join(traces, fmt.Sprintf("%s-%d_steps-global-rank0.trace.json.gz", id, int(n))))
			if err != nil {
				t.Error(err)
				return
			}
			z := gzip.NewWriter(out)
			fmt.Fprintf(z, `{"schemaVersion": 1, "traceEvents": [%s]}`, strings.Join(events, ","))
			z.Close()
			out.Close()
		}
		fmt.Fprintf(w, `{"id": %q, "created": 1, "data": [{"b64_json": ""}], "peak_memory_mb": 1.0, "inference_time_s": 1.0}`, id)
	}
	return f, asked
}

// TestPicture checks a window of one request, on servers that record it and on those that do not.
func TestPicture(t *testing.T) {
	find := func(url, dir string) *Picture {
		t.Helper()
		p, err := FindPicture(context.Background(), []Target{{URL: url}}, Window{OutputDir: dir, NumSteps: 4}, Options{Stall: time.Millisecond})
		if err != nil || p == nil {
			t.Fatalf("%v, %v", p, err)
		}
		return p
	}
	traces, home := t.TempDir(), t.TempDir()
	f, asked := diffusionServer(t, "0.5.23", traces)
	res, err := find(f.url, traces).Run(context.Background(), "a cat", home)
	if err != nil {
		t.Fatal(err)
	}
	if a := *asked; a["profile"] != true || a["num_profiled_timesteps"] != 3.0 || a["prompt"] != "a cat" || a["model"] != "z" {
		t.Errorf("%v", a)
	}
	r := res.Servers[0]
	if len(r.Traces) != 1 || filepath.Dir(r.Traces[0]) != home || r.Kind != servers.SGLang || r.Steps == nil || r.Steps.Fewest == nil || *r.Steps.Fewest != 4 {
		t.Errorf("%+v", r)
	}
	if lines := strings.Join(r.Lines(), "\n"); !strings.Contains(lines, "4 steps recorded, as wanted; 3 requested from the server: it records one denoising step more than requested") ||
		!strings.Contains(lines, "only the trace of rank 0") {
		t.Error(lines)
	}
	if err := find(f.url, traces).NoRoutes(); !strings.Contains(err.Error(), "no /start_profile") {
		t.Error(err)
	}

	old, _ := diffusionServer(t, "0.5.11", "")
	if _, err := find(old.url, traces).Run(context.Background(), "a cat", home); err == nil || !strings.Contains(err.Error(), "diffusion server of SGLang 0.5.11 ignores profile") {
		t.Error(err)
	}
	empty := filepath.Join(t.TempDir(), "new")
	silent, _ := diffusionServer(t, "0.5.20", "")
	if _, err := find(silent.url, t.TempDir()).Run(context.Background(), "a cat", empty); err == nil || !strings.Contains(err.Error(), "no complete trace 3f2504e0-") {
		t.Error(err)
	}
	if _, err := os.Stat(empty); err == nil {
		t.Error("an empty directory was left behind")
	}
	silent.answer("POST /v1/images/generations", 400, `{"detail": "no such size"}`)
	if _, err := find(silent.url, traces).Run(context.Background(), "a cat", home); err == nil || !strings.Contains(err.Error(), "no such size") {
		t.Error(err)
	}

	// Servers that are not diffusion servers or have profile routes are excluded.
	f.answer("GET /profile_files", 200, `{"windows": []}`)
	llm := newFake(t, false, `{"version": "0.5.23", "tp_size": 1}`)
	llm.answer("GET /v1/models", 200, `{"data": [{"id": "llama", "max_model_len": 8192}]}`)
	for _, url := range []string{f.url, llm.url, newFake(t, false, "").url, "http://127.0.0.1:1"} {
		if p, err := FindPicture(context.Background(), []Target{{URL: url}}, Window{OutputDir: traces, NumSteps: 4}, Options{}); p != nil || err != nil {
			t.Errorf("%s: %v, %v", url, p, err)
		}
	}
}
