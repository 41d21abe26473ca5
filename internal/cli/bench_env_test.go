package cli

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBenchProfileEnv: SGLang's variables leave stacks and shapes out of the windows of benchmarks, too.
func TestBenchProfileEnv(t *testing.T) {
	for _, args := range []string{
		"bench offline --dataset-name random --num-prompts 1 --random-input-len 4 --random-output-len 4 --skip-warmup --result-filename RES",
		"bench one-batch --input-len 4 --output-len 2 --profile-record-shapes --result-filename RES",
	} {
		for _, on := range []string{"true", "false"} {
			dir := t.TempDir()
			t.Setenv("SGLANG_TORCH_PROFILER_DIR", dir)
			t.Setenv("SGLANG_PROFILE_WITH_STACK", on)
			t.Setenv("SGLANG_PROFILE_RECORD_SHAPES", on)
			line := strings.Replace(args, "RES", filepath.Join(t.TempDir(), "r.jsonl"), 1)
			if status, _, errs := run(t, t.Context(), append(strings.Fields(line), "--model-path", "builtin:llama-tiny", "--profile")...); status != exitOK {
				t.Fatalf("%s: %d %s", args, status, errs)
			}
			var text []byte
			filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
				if f, err := os.Open(path); err == nil {
					defer f.Close()
					if z, err := gzip.NewReader(f); err == nil {
						b, _ := io.ReadAll(z)
						text = append(text, b...)
					}
				}
				return nil
			})
			for _, part := range []string{"python_function", "Input Dims"} {
				if got := bytes.Contains(text, []byte(part)); got != (on == "true") || len(text) == 0 {
					t.Errorf("%s, variables %s: %s %v in %d bytes", args, on, part, got, len(text))
				}
			}
		}
	}
}
