package workload

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHubShareGPT checks that the default data set, without a file, is read from the cache of the hub, at the location
// of its variables, in the revision of main.
func TestHubShareGPT(t *testing.T) {
	put := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	const row = `[{"conversations":[{"value":"What is the capital of NAME, and since when?"},{"value":"It has been the same for long."}]}]`
	for _, c := range []struct{ name, variable, hub string }{
		{"hub cache", "HF_HUB_CACHE", ""},
		{"Hugging Face home", "HF_HOME", "hub"},
		{"cache", "XDG_CACHE_HOME", "huggingface/hub"},
		{"home", "HOME", ".cache/huggingface/hub"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range []string{"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "HOME"} {
				t.Setenv(name, "")
			}
			t.Setenv(c.variable, dir)
			set := filepath.Join(dir, c.hub, "datasets--anon8231489123--ShareGPT_Vicuna_unfiltered")
			spec := of("sharegpt", "", func(s *Spec) { s.N = 1 })
			if _, _, err := tryBuild(spec, bytesOnly(t)); err == nil || !strings.Contains(err.Error(), "--dataset-name random-ids") {
				t.Errorf("nothing there: %v", err)
			}
			put(filepath.Join(set, "snapshots", "a", shareGPTFile), strings.Replace(row, "NAME", "Alba", 1))
			put(filepath.Join(set, "snapshots", "b", shareGPTFile), strings.Replace(row, "NAME", "Brae", 1))
			for _, want := range []string{"Alba", "Brae"} {
				requests, notes, err := tryBuild(spec, bytesOnly(t))
				if err != nil || len(requests) != 1 || !strings.Contains(requests[0].Prompt, want) || !strings.Contains(strings.Join(notes, ""), set) {
					t.Errorf("want %s: %+v %q %v", want, requests, notes, err)
				}
				put(filepath.Join(set, "refs", "main"), "b")
			}
		})
	}
}
