package internal_test

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
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

// TestModules: the viewer and the pages of reports import only their own modules and those that they share, in web; and
// no modules import each other in a circle, not even for their types.
func TestModules(t *testing.T) {
	imported := regexp.MustCompile(`(?m)^@?(?:import|export)\s(?:[^;"]*\sfrom\s)?"(\.[^"]+)"`)
	imports := map[string][]string{}
	for _, root := range []string{"web/", "view/ui/src/", "explain/report/"} {
		err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
			file = filepath.ToSlash(file)
			if ext := path.Ext(file); err != nil || ext != ".ts" && ext != ".css" {
				return err
			}
			text, err := os.ReadFile(file)
			for _, m := range imported.FindAllSubmatch(text, -1) {
				to := path.Join(path.Dir(file), string(m[1]))
				if !strings.HasPrefix(to, root) && !strings.HasPrefix(to, "web/") {
					t.Errorf("%s imports %s: what both need belongs in web", file, to)
				}
				if path.Ext(to) == "" {
					to += ".ts"
				}
				imports[file] = append(imports[file], to)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(imports["web/heat.ts"]) == 0 || len(imports["view/ui/src/main.ts"]) == 0 {
		t.Fatal("no imports found")
	}
	done := map[string]bool{}
	var follow func(file string, way []string)
	follow = func(file string, way []string) {
		if i := slices.Index(way, file); i >= 0 {
			t.Errorf("modules import each other in a circle: %s -> %s", strings.Join(way[i:], " -> "), file)
		} else if !done[file] {
			for _, to := range imports[file] {
				follow(to, append(way, file))
			}
			done[file] = true
		}
	}
	for _, file := range slices.Sorted(maps.Keys(imports)) {
		follow(file, nil)
	}
}
