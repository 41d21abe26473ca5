package window

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/summary"
)

// said returns the messages and all reports of a capture.
func said(t *testing.T, c *Capture, says string) string {
	t.Helper()
	r, err := c.Prepare(nil).Analyze(c.Options())
	if err != nil {
		return says + err.Error()
	}
	var out bytes.Buffer
	for _, write := range []func() error{
		func() error { return report.JSON(&out, r, nil) },
		func() error {
			return report.Text(&out, r, report.Options{Top: 1000, All: true, Layers: true, Width: 200})
		},
		func() error { return report.Markdown(&out, r, report.Options{Top: 10}) },
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	return says + out.String()
}

// captures returns the paths of the sets and reports in the repository and in STEPSCOPE_DATA.
func captures(t *testing.T) (paths []string) {
	t.Helper()
	for _, root := range []string{filepath.Join("..", "..", "..", "testdata"), os.Getenv("STEPSCOPE_DATA")} {
		for _, pattern := range []string{"traces/*", "nsys/*.sqlite"} {
			found, err := filepath.Glob(filepath.Join(root, pattern))
			if err != nil {
				t.Fatal(err)
			}
			if root != "" {
				paths = append(paths, found...)
			}
		}
	}
	if len(paths) < 5 {
		t.Fatalf("got captures %q, want at least 5", paths)
	}
	return paths
}

// TestSummaries: messages and reports of summaries equal those of the files, byte for byte.
func TestSummaries(t *testing.T) {
	for _, path := range captures(t) {
		t.Run(filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path), func(t *testing.T) {
			var says, saysToo bytes.Buffer
			in := Input{Paths: []string{path}}
			c, err := in.Open(context.Background(), &progress.Console{W: &says}, "reading")
			if err != nil {
				t.Skip(err)
			}
			want := said(t, c, says.String())
			var stream bytes.Buffer
			if err := in.Summarize(t.Context(), &progress.Console{W: &saysToo}, &stream, nil); err != nil {
				t.Fatal(err)
			}
			size := stream.Len()
			p, err := ReadPart("here", &stream)
			if err != nil {
				t.Fatal(err)
			}
			joined, err := JoinParts(&progress.Console{W: &saysToo}, []*Part{p})
			if err != nil {
				t.Fatal(err)
			}
			if got := said(t, joined, saysToo.String()); got != want {
				t.Errorf("from summaries: %s", difference(got, want))
			}
			t.Logf("%d bytes of summaries for %d bytes of traces", size, c.Set.Bytes())
		})
	}
}

// difference returns the first line that differs.
func difference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return a[i] + "\nfrom files: " + b[min(i, len(b)-1)]
		}
	}
	return "the text is shorter"
}

// TestSummaryFiles: Open accepts files of summaries in place of traces.
func TestSummaryFiles(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "testdata", "traces", "graph_work")
	in := Input{Paths: []string{dir}}
	c, err := in.Open(t.Context(), &progress.Console{W: &bytes.Buffer{}}, "reading")
	if err != nil {
		t.Fatal(err)
	}
	want := said(t, c, "")
	var paths []string
	for i, f := range c.Set.Files { // one host per file
		var stream bytes.Buffer
		if err := (&Input{Paths: []string{f.Path}}).Summarize(t.Context(), &progress.Console{W: &bytes.Buffer{}}, &stream, nil); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, filepath.Join(t.TempDir(), "ranks"))
		if err := os.WriteFile(paths[i], stream.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	paths = append(paths, paths[0]) // two hosts share a directory
	var says bytes.Buffer
	joined, err := (&Input{Paths: paths}).Open(t.Context(), &progress.Console{W: &says}, "reading")
	if err != nil {
		t.Fatal(err)
	}
	if got := said(t, joined, says.String()); got != want {
		t.Errorf("from files of summaries: %s", difference(got, want))
	}
	// One file is missing, and one is truncated.
	joined, err = (&Input{Paths: paths[:1]}).Open(t.Context(), &progress.Console{W: &says}, "reading")
	if err != nil || len(joined.Missing) != 1 || !strings.Contains(says.String(), "missing") {
		t.Errorf("one file missing: got error %v, missing %q, messages %q, want one missing rank reported", err, joined.Missing, says.String())
	}
	whole, err := os.ReadFile(paths[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(paths[1], whole[:len(whole)-1], 0o666); err != nil {
		t.Fatal(err)
	}
	says.Reset()
	say := &progress.Console{W: &says}
	if joined, err = (&Input{Paths: paths[:2]}).Open(t.Context(), say, "reading"); err != nil || len(joined.Ranks) != 2 || !strings.Contains(says.String(), "the summaries break off") || !say.Lacks() {
		t.Errorf("truncated file: got error %v, messages %q, want 2 ranks and a message", err, says.String())
	}
	other := bytes.Replace(whole, []byte("ranks 2 "), []byte("ranks 2 x"), 1)
	if _, err := ReadPart("x", bytes.NewReader(other)); err != summary.ErrVersion {
		t.Errorf("summaries of another version: got error %v, want %v", err, summary.ErrVersion)
	}
}
