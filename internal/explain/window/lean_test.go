package window

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain/report"
)

// TestLean: a window read without keeping its traces gives the same report.
func TestLean(t *testing.T) {
	for _, dir := range []string{"compute_skew", "graphs"} {
		said := func(lean bool) (text []byte) {
			in := Input{Paths: []string{"../../../testdata/traces/" + dir}, Lean: lean}
			c, err := in.Open(context.Background(), &progress.Console{W: io.Discard}, "reading")
			if err != nil {
				t.Fatal(err)
			}
			if lean != (c.Traces == nil) || lean != (c.Ranks != nil) {
				t.Errorf("%s, lean %v: got %d traces, %d ranks, want ranks only if lean, else traces only", dir, lean, len(c.Traces), len(c.Ranks))
			}
			r, err := c.Prepare(nil).Analyze(c.Options())
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := report.JSON(&b, r, nil); err != nil {
				t.Fatal(err)
			}
			return b.Bytes()
		}
		if !bytes.Equal(said(true), said(false)) {
			t.Errorf("%s: the lean report differs", dir)
		}
	}
}
