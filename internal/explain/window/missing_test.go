package window

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/packedtest"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/report"
)

// TestMissingCounted has one file of a larger world: the report counts all other ranks as missing, whether or not the
// file name gives the rank.
func TestMissingCounted(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "traces", "graph_work", "*-TP-0.trace.json.gz"))
	if len(paths) != 1 {
		t.Fatalf("got files %q of rank 0, want one", paths)
	}
	text := packedtest.Read(t, paths[0])
	for _, world := range []int{2, 8, 127} {
		for _, name := range []string{"7-TP-0.trace.json", "7.trace.json"} {
			t.Run(fmt.Sprintf("%s of %d", name, world), func(t *testing.T) {
				dir := t.TempDir()
				edited := bytes.Replace(text, []byte(`"world_size": 2`), fmt.Appendf(nil, `"world_size": %d`, world), 1)
				if err := os.WriteFile(filepath.Join(dir, name), edited, 0o666); err != nil {
					t.Fatal(err)
				}
				in := Input{Paths: []string{dir}}
				c, err := in.Open(context.Background(), &progress.Console{W: io.Discard}, "reading")
				if err != nil {
					t.Fatal(err)
				}
				r, err := explain.Analyze(c.Traces, c.Options())
				if err != nil {
					t.Fatal(err)
				}
				want := fmt.Sprintf("%d ranks are missing", world-1)
				if world == 2 {
					want = "1 rank"
				}
				for _, f := range r.Findings {
					if f.ID == "data-missing" {
						if title := report.Words(f.Title); !strings.HasPrefix(title, want) {
							t.Errorf("got title %q, want it to begin with %q", title, want)
						}
						return
					}
				}
				t.Error("the report lacks the finding data-missing")
			})
		}
	}
}
