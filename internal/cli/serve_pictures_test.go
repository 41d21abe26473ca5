package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestServePictures is a diffusion server from start to end: a load, a window in it, and a request with a report of times.
func TestServePictures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url, log, stop := serving(t, "serve", "--model-path", "builtin:z-image-tiny", "--port", "0", "--tp-size", "2", "--warmup-steps", "2", "--output-path", filepath.Join(dir, "out"))
	if !strings.Contains(log.String(), "Warmed up with 2 denoising step(s)") {
		t.Error(log)
	}
	var load sync.WaitGroup
	load.Go(func() {
		status, out, errs := stepscope(t, "bench", "diffusion", "--base-url", url, "--dataset", "random", "--num-prompts", "30", "--width", "64", "--height", "64",
			"--num-inference-steps", "4", "--output-file", filepath.Join(dir, "load.json"), "--run-dir", filepath.Join(dir, "runs"))
		if status != 0 || !strings.Contains(out, "Successful requests:                          30/30") {
			t.Errorf("%d %s %s", status, out, errs)
		}
	})
	status, out, errs := stepscope(t, "profile", "--url", url, "--num-steps", "5", "--output-dir", filepath.Join(dir, "windows"), "-o", filepath.Join(dir, "traces"))
	if status != 0 || !strings.Contains(out, "2 ranks · 5 denoising steps") {
		t.Errorf("%d %s %s", status, out, errs)
	}
	load.Wait()
	var figures map[string]float64
	text, err := os.ReadFile(filepath.Join(dir, "load.json"))
	if err != nil || json.Unmarshal(text, &figures) != nil || figures["completed_outputs"] != 30 {
		t.Errorf("%s, %v", text, err)
	}
	if kept, err := filepath.Glob(filepath.Join(dir, "runs", "*", "figures.json")); err != nil || len(kept) != 1 {
		t.Errorf("runs: %q, %v", kept, err)
	}
	if pictures, err := filepath.Glob(filepath.Join(dir, "out", "*.png")); err != nil || len(pictures) != 31 { // a warm-up request, too
		t.Errorf("%d pictures, %v", len(pictures), err)
	}
	dump := filepath.Join(dir, "dump.json")
	if status, text := call(t, "POST", url+"/v1/images/generations", `{"prompt":"x","num_inference_steps":2,"perf_dump_path":"`+dump+`"}`); status != 200 {
		t.Errorf("%d %s", status, text)
	}
	if text, err := os.ReadFile(dump); err != nil || !strings.Contains(string(text), `"tag": "server_perf_dump"`) {
		t.Errorf("%s, %v", text, err)
	}
	if status := stop(); status != 0 && status != exitInterrupted {
		t.Errorf("status %d:\n%s", status, log)
	}
}
