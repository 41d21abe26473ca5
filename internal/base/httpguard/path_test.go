package httpguard

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

func TestPath(t *testing.T) {
	tmp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, outside := filepath.Join(tmp, "root"), filepath.Join(tmp, "outside")
	for _, d := range []string{filepath.Join(root, "a"), outside} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out": outside, "in": filepath.Join(root, "a"), "broken": filepath.Join(tmp, "nowhere")} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		public bool
		dir    string
		want   string
		status int
	}{
		{"loopback takes any", false, outside, outside, 0},
		{"loopback: relative to the process", false, "x", filepath.Join(cwd, "x"), 0},
		{"home", false, "~/x", "/home/me/x", 0},
		{"home itself", false, "~", "/home/me", 0},
		{"not home", false, "/~x", "/~x", 0},
		{"under the root", true, filepath.Join(root, "a", "new", "er"), filepath.Join(root, "a", "new", "er"), 0},
		{"the root", true, root, root, 0},
		{"relative to the root", true, "b", filepath.Join(root, "b"), 0},
		{"outside", true, outside, "", http.StatusForbidden},
		{"dots", true, filepath.Join(root, "a") + "/../../outside", "", http.StatusForbidden},
		{"relative dots", true, "../outside", "", http.StatusForbidden},
		{"same beginning", true, root + "er", "", http.StatusForbidden},
		{"link that leaves", true, filepath.Join(root, "out", "x"), "", http.StatusForbidden},
		{"link that stays", true, filepath.Join(root, "in", "x"), filepath.Join(root, "a", "x"), 0},
		{"broken link", true, filepath.Join(root, "broken", "x"), "", http.StatusForbidden},
		{"zero byte", false, "a\x00b", "", http.StatusBadRequest},
	} {
		f := &Front{}
		f.Public.Store(c.public)
		got, err := f.Path("output_dir", c.dir, root, func(name string) string {
			return map[string]string{"HOME": "/home/me"}[name]
		})
		status := 0
		if refused, ok := errors.AsType[*Error](err); ok {
			status = refused.Status
		}
		if got != c.want || status != c.status {
			t.Errorf("%s: %s: got %q, %d (%v), want %q, %d", c.name, c.dir, got, status, err, c.want, c.status)
		}
	}
}
