package collect

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stepscope/stepscope/internal/api/wire"
)

// TestBudget checks that files of each source are counted as they arrive, and that a file that exceeds the budget is
// not left behind.
func TestBudget(t *testing.T) {
	from := t.TempDir()
	if err := os.WriteFile(filepath.Join(from, "a"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	sources := map[string]Source{
		"a directory": Dir(from),
		"a server": window(t, []wire.ProfileFile{{Name: "a", Size: 1 << 20}}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1048576")
			w.Write(make([]byte, 1<<20))
		}),
		"a command":          &Command{Template: &Template{read: []string{"cat", "{path}"}, list: []string{"ls", "{dir}"}}, Dir: from},
		"an endless command": &Command{Template: &Template{read: []string{"cat", "/dev/zero", "{path}"}, list: []string{"ls", "{dir}"}}, Dir: from},
	}
	for what, src := range sources {
		t.Run(what, func(t *testing.T) {
			if _, err := src.List(t.Context()); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			b := NewBudget(7 << 19) // three and a half files
			for i, name := range []string{"1", "2", "2", "3", "4"} {
				err := src.Bring(t.Context(), "a", filepath.Join(dir, name), b)
				if fits := name != "4" && what != "an endless command"; fits != (err == nil) || !fits && !errors.Is(err, ErrBudget) {
					t.Errorf("file %d: %v", i, err)
				}
			}
			var held int64
			filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if info, statErr := d.Info(); statErr == nil && !d.IsDir() {
					held += info.Size()
				}
				return err
			})
			if left := b.Left(); held+left != 7<<19 {
				t.Errorf("%d bytes are stored, %d are left", held, left)
			}
		})
	}
	// A file that replaces another one counts once, but both exist for a while.
	b := NewBudget(10)
	path := filepath.Join(t.TempDir(), "f")
	for i, c := range []struct {
		bytes int
		fits  bool
	}{{4, true}, {6, true}, {5, false}, {4, true}} {
		err := b.Write(path, func(w io.Writer) error {
			_, err := w.Write(make([]byte, c.bytes))
			return err
		})
		if c.fits != (err == nil) {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if b.Left() != 6 {
		t.Errorf("%d bytes are left", b.Left())
	}
}
