package torch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestModelConfig checks that the configuration of the model is found in the directory that the server names, and in the
// cache of Hugging Face, and only for a server of this host.
func TestModelConfig(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	t.Setenv("HF_HOME", home)
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "good", "config.json"), `{"auths":{"secret":"1"},"model_type":"llama"}`)
	write(filepath.Join(dir, "docker", "config.json"), `{"auths":{"secret":"1"}}`)
	write(filepath.Join(home, "x", "config.json"), `{"model_type":"llama"}`)
	write(filepath.Join(home, "hub", "x", "config.json"), `{"model_type":"llama"}`)
	write(filepath.Join(dir, "bad", "config.json"), `[`)
	write(filepath.Join(home, "hub", "models--Org--Name", "refs", "main"), "abc\n")
	write(filepath.Join(home, "hub", "models--Org--Name", "snapshots", "abc", "config.json"), `{"model_type":"qwen3"}`)
	write(filepath.Join(home, "hub", "models--Org--Far", "refs", "main"), "../../../x\n") // from snapshots: hub/x, home/x
	for _, c := range []struct{ url, model, want string }{
		{"http://127.0.0.1:1", filepath.Join(dir, "good"), `{"model_type":"llama"}`},
		{"http://192.0.2.1:1", filepath.Join(dir, "good"), ""},
		{"http://127.0.0.1:1", filepath.Join(dir, "bad"), ""},
		{"http://127.0.0.1:1", filepath.Join(dir, "none"), ""},
		{"http://127.0.0.1:1", filepath.Join(dir, "docker"), ""},
		{"http://127.0.0.1:1", "good", ""},
		{"http://127.0.0.1:1", "Org/Name", `{"model_type":"qwen3"}`},
		{"http://127.0.0.1:1", "Org/Far", ""},
	} {
		raw, err := json.Marshal(map[string]string{"model_path": c.model})
		if err != nil {
			t.Fatal(err)
		}
		m := &member{raw: raw, o: &Options{}}
		m.URL = c.url
		if got := string(m.modelConfig(t.Context())); got != c.want {
			t.Errorf("%s, %s: got %q, want %q", c.url, c.model, got, c.want)
		}
	}
}
