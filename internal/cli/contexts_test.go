package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// TestContexts takes a window in a load: the contexts around it are kept, and give attention a share of the peak.
func TestContexts(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(home, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	model := write("config.json", `{"model_type":"llama","hidden_size":256,"intermediate_size":768,"num_hidden_layers":4,"num_attention_heads":8,"num_key_value_heads":4,"vocab_size":512,"torch_dtype":"bfloat16"}`)
	device := write("device.json", `{"name":"CPU","bf16_tflops":100,"memory_gb_per_s":1000,"sms":8}`)
	url, log, stop := serving(t, "serve", "--model", "builtin:llama-tiny", "--port", "0", "--enable-metrics", "--max-total-tokens", "8192")
	defer func() {
		if status := stop(); status != exitOK {
			t.Errorf("the server ended with %d:\n%s", status, log)
		}
	}()
	status, out, errs := run(t, t.Context(), "bench", "serving", "--url", url, "--dataset-name", "random", "--random-input", "100", "--random-output", "300", "--random-range-ratio", "1", "--disable-tqdm",
		"--num-prompts", "6", "--max-concurrency", "2", "--profile", "--profile-num-steps", "8", "--output-file", filepath.Join(home, "out.jsonl"), "--run-dir", filepath.Join(home, "runs"))
	if status != exitOK {
		t.Fatalf("status %d:\n%s%s", status, errs, out)
	}
	dirs, err := filepath.Glob(filepath.Join(home, "runs", "*", "traces"))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	text, err := os.ReadFile(filepath.Join(dirs[0], trace.ContextsFile))
	var kept trace.Contexts
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil || kept.Pool != 8192 || kept.Longest == 0 {
		t.Fatalf("%v: %+v", err, kept)
	}
	from := map[string]int{}
	for _, s := range kept.Samples {
		if from[s.From]++; s.Running < 1 || s.Running > 2 || s.Low < int64(s.Running) || s.High < s.Low || s.High > int64(s.Running*(100+300+10)) {
			t.Errorf("%+v", s)
		}
	}
	if from[trace.ContextsLoad] == 0 || from[trace.ContextsBlocks] > 0 {
		t.Errorf("samples: %v", from)
	}
	analyze := func(args ...string) string {
		status, out, errs := run(t, t.Context(), append([]string{"analyze", dirs[0], "--model-config", model, "--device", device}, args...)...)
		if status != exitOK {
			t.Fatalf("status %d:\n%s", status, errs)
		}
		return out
	}
	attention := func() (of []result.LightModule, says string) {
		var r result.Report
		if err := json.Unmarshal([]byte(analyze("--json")), &r); err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(r.Light.Modules, func(m result.LightModule) bool { return m.Module != "attention" || m.Kind != "decode" }), r.Light.Contexts.Text
	}
	of, says := attention()
	if len(of) != 1 || of[0].Why.Text != "" || of[0].OfPeak <= 0 || of[0].OfPeakMost < of[0].OfPeak || !strings.Contains(says, "by the prompts and tokens of the load") {
		t.Errorf("%s: %+v", says, of)
	}
	if text := analyze("--tables", "light-modules"); !strings.Contains(strings.Join(strings.Fields(text), " "), "The contexts of a decode step have") {
		t.Error(text)
	}
	// Without the file, only the format of the KV cache can be taken from the model.
	if err := os.Remove(filepath.Join(dirs[0], trace.ContextsFile)); err != nil {
		t.Fatal(err)
	}
	if of, says := attention(); len(of) != 1 || of[0].OfPeak != 0 || !of[0].AtLeast || says != "the lengths of the contexts are not known" {
		t.Errorf("%s: %+v", says, of)
	}
}
