package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeyFiles: keys of files and of the environment are those of command lines, which everybody on a machine sees.
func TestKeyFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	right, wrong := file("right", "one\n"), file("wrong", "two\n")
	url, _, stop := serving(t, "serve", "--model-path", "builtin:llama-tiny", "--port", "0", "--api-key-file", right, "--admin-api-key-file", wrong)
	defer stop()
	router, _, stopRouter := serving(t, "route", "--worker-urls", url, "--port", "0", "--api-key-file", wrong, "--worker-api-key-file", right)
	defer stopRouter()
	for _, c := range []struct {
		name, env string
		args      []string
		status    int
	}{
		{"none", "", []string{"--url", url}, 1},
		{"a file", "", []string{"--url", url, "--api-key-file", right}, 0},
		{"the environment", "one", []string{"--url", url}, 0},
		{"a file over the environment", "one", []string{"--url", url, "--api-key-file", wrong}, 1},
		{"a flag over the environment", "two", []string{"--url", url, "--api-key", "one"}, 0},
		{"the router's", "two", []string{"--url", router}, 0},
		{"not the router's", "one", []string{"--url", router}, 1},
		{"no key", "one", []string{"--url", url, "--api-key-file", file("empty", "\n")}, 2},
		{"two keys", "one", []string{"--url", url, "--api-key-file", file("both", "one\ntwo\n")}, 2},
		{"no file", "one", []string{"--url", url, "--api-key-file", filepath.Join(dir, "none")}, 2},
	} {
		t.Setenv("STEPSCOPE_API_KEY", c.env)
		log := &syncBuffer{}
		args := append([]string{"send", "--prompt", "x", "--max-new-tokens", "1"}, c.args...)
		if got := newEnv(strings.NewReader(""), io.Discard, log).main(t.Context(), args); got != c.status {
			t.Errorf("%s: status %d, want %d: %s", c.name, got, c.status, log)
		}
	}
	if status, text := call(t, "POST", url+"/flush_cache", ""); status != 401 {
		t.Errorf("without the admin key: %d %s", status, text)
	}
}
