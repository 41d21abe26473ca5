package torch

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/api"
)

// TestCollectLeavesNoDirectories checks that neither an abandoned window nor a server without files leaves an empty
// directory, and that existing ones stay.
func TestCollectLeavesNoDirectories(t *testing.T) {
	for name, c := range map[string]struct {
		cancel bool
		there  []string // existed before
		want   []string
	}{
		"interrupted":                         {cancel: true},
		"interrupted, into a given directory": {cancel: true, there: []string{"a"}, want: []string{"a"}},
		"interrupted, for one server":         {cancel: true, there: []string{"a/new/prefill-n0"}, want: []string{"a", "a/new", "a/new/prefill-n0"}},
		"one without files":                   {want: []string{"a", "a/new", "a/new/prefill-n0", "a/new/prefill-n0/9-TP-0.trace.json.gz"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for _, d := range c.there {
				if err := os.MkdirAll(filepath.Join(root, d), 0o777); err != nil {
					t.Fatal(err)
				}
			}
			good, bad := newFake(t, false, `{"tp_size":1}`), newFake(t, false, `{"tp_size":1}`)
			good.begin = func(d string) {
				good.write(d, "9-TP-0.trace.json.gz")
				good.open = false
			}
			bad.begin = func(string) { bad.open = false }
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s, err := Start(ctx, []Target{{URL: good.url, Role: api.Prefill, Name: "n0"}, {URL: bad.url, Role: api.Decode, Name: "n1"}}, Window{OutputDir: t.TempDir(), NumSteps: 2}, quick(Options{}))
			if err != nil {
				t.Fatal(err)
			}
			if c.cancel {
				cancel()
			}
			if _, err := s.Collect(ctx, filepath.Join(root, "a", "new")); (err != nil) != c.cancel {
				t.Error(err)
			}
			var got []string
			filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				if rel, _ := filepath.Rel(root, path); rel != "." && filepath.Base(rel) != "server_args.json" {
					got = append(got, filepath.ToSlash(rel))
				}
				return err
			})
			if !slices.Equal(got, c.want) {
				t.Errorf("left %q, want %q", got, c.want)
			}
		})
	}
}
