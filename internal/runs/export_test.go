package runs

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/progress"
)

// TestExport checks that an unpacked export is the run, and that nothing from outside the run gets into it.
func TestExport(t *testing.T) {
	root := t.TempDir()
	r := mustCreate(t, root)
	check(t, r.WriteJSON(File{Path: "summary.json", Kind: KindSummary}, 7))
	var out, said bytes.Buffer
	say := &progress.Console{W: &said}
	if err := r.Export(&out, say); !errors.Is(err, ErrRunning) || out.Len() > 0 {
		t.Errorf("a run being written: %v, %d bytes", err, out.Len())
	}
	check(t, r.Finish(Complete, nil))
	r, err := Open(root, r.ID())
	check(t, err)

	check(t, r.Export(&out, say))
	if said.Len() > 0 || say.Lacks() {
		t.Errorf("a whole run lacks: %s", &said)
	}
	copied := t.TempDir()
	names := unpack(t, copied, &out)
	if want := []string{r.ID() + "/manifest.json", r.ID() + "/summary.json"}; !slices.Equal(names, want) {
		t.Errorf("the files are %q, not %q", names, want)
	}
	again, err := Open(copied, r.ID())
	check(t, err)
	var summary int
	if check(t, again.ReadJSON(KindSummary, &summary)); summary != 7 || again.Status() != Complete {
		t.Errorf("the copy has the summary %d and the status %s", summary, again.Status())
	}

	secret := filepath.Join(t.TempDir(), "secret")
	check(t, os.WriteFile(secret, []byte("secret"), 0o600))
	check(t, os.Symlink(secret, r.Path("link.log")))
	check(t, os.Mkdir(r.Path("sub"), 0o777))
	check(t, os.Symlink("/", r.Path("sub/all")))
	check(t, os.WriteFile(r.Path("server.log"), []byte("ready"), 0o666))
	out.Reset()
	check(t, r.Export(&out, say))
	if !say.Lacks() || strings.Count(said.String(), "is left out") != 2 || bytes.Contains(out.Bytes(), []byte("secret")) {
		t.Errorf("links out of the run: %s", &said)
	}
	if names := unpack(t, t.TempDir(), &out); !slices.Equal(names, []string{r.ID() + "/manifest.json", r.ID() + "/server.log", r.ID() + "/summary.json"}) {
		t.Errorf("the files are %q", names)
	}
}

// unpack writes the files of a tar file into a directory, and returns their names.
func unpack(t *testing.T, dir string, from io.Reader) (names []string) {
	t.Helper()
	r := tar.NewReader(from)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		check(t, err)
		data, err := io.ReadAll(r)
		check(t, err)
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		check(t, os.MkdirAll(filepath.Dir(path), 0o777))
		check(t, os.WriteFile(path, data, 0o666))
		names = append(names, h.Name)
	}
}
