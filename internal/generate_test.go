package internal_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestBundles: what pages bring along is what esbuild makes of its sources, as a go:generate line asks for it. Who sees
// a difference runs go generate in the package that is named.
func TestBundles(t *testing.T) {
	const generate, outdir = "//go:generate go tool esbuild ", "--outdir="
	bundles := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			line, ok := strings.CutPrefix(line, generate)
			if !ok {
				continue
			}
			bundles++
			made := t.TempDir()
			args, committed := strings.Fields(line), ""
			for i, arg := range args {
				if dir, ok := strings.CutPrefix(arg, outdir); ok {
					committed = filepath.Join(filepath.Dir(path), dir)
					args[i] = outdir + made
				}
			}
			cmd := exec.Command("go", append([]string{"tool", "esbuild", "--log-level=warning"}, args...)...)
			cmd.Dir = filepath.Dir(path)
			out, err := cmd.CombinedOutput()
			out = downloading.ReplaceAll(out, nil)
			if err != nil || len(out) > 0 {
				t.Errorf("%s: %v\n%s", path, err, out)
				continue
			}
			same(t, "./internal/"+filepath.ToSlash(filepath.Dir(path)), committed, made)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if bundles == 0 {
		t.Error("no go:generate line makes a bundle")
	}
}

// downloading matches a line that the go command writes when it builds a tool for the first time.
var downloading = regexp.MustCompile(`(?m)^go: downloading .*\n`)

// same holds that two directories have the same files.
func same(t *testing.T, pkg, committed, made string) {
	t.Helper()
	names := map[string]bool{}
	for _, dir := range []string{committed, made} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names[e.Name()] = true
		}
	}
	for name := range names {
		a, errA := os.ReadFile(filepath.Join(committed, name))
		b, errB := os.ReadFile(filepath.Join(made, name))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s/%s is not what its sources give: go generate %s", committed, name, pkg)
		}
	}
}
