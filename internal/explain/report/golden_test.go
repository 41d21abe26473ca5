package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/explain/result"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with testdata/name, and shows the first line that differs.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if bytes.Equal(got, want) {
		return
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		a, b := "(end)", "(end)"
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Fatalf("%s:%d differs (go test -update writes it anew)\n got %q\nwant %q", path, i+1, a, b)
		}
	}
}

func TestGolden(t *testing.T) {
	forms := []struct {
		suffix string
		write  func(io.Writer, *result.Report) error
	}{
		{".txt", func(w io.Writer, r *result.Report) error { return Text(w, r, Options{Full: true}) }},
		{"-answer.txt", func(w io.Writer, r *result.Report) error { return Text(w, r, Options{}) }},
		{"-wide-all.txt", func(w io.Writer, r *result.Report) error { return Text(w, r, Options{Width: 180, All: true}) }},
		{"-narrow-color.txt", func(w io.Writer, r *result.Report) error {
			return Text(w, r, Options{Width: 72, Top: 3, Full: true, Color: true})
		}},
		{".md", func(w io.Writer, r *result.Report) error { return Markdown(w, r, Options{}) }},
		{".json", func(w io.Writer, r *result.Report) error { return JSON(w, r, nil) }},
		{"-page.json", func(w io.Writer, r *result.Report) error {
			e := json.NewEncoder(w)
			e.SetIndent("", " ")
			return e.Encode(newPageData(Plain(r), pageLimits))
		}},
	}
	for name, r := range samples() {
		for _, f := range forms {
			if name != "straggler" && strings.HasPrefix(f.suffix, "-") {
				continue
			}
			t.Run(name+f.suffix, func(t *testing.T) {
				var b bytes.Buffer
				if err := f.write(&b, r); err != nil {
					t.Fatal(err)
				}
				golden(t, name+f.suffix, b.Bytes())
			})
		}
	}
}

// Lines must not be wider than the terminal, or tables fall apart.
func TestTextWidth(t *testing.T) {
	for name, r := range samples() {
		for _, width := range []int{60, 80, 100, 140, 200} {
			var b bytes.Buffer
			if err := Text(&b, r, Options{Width: width, Full: true, Color: true}); err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(b.String(), "\n") {
				if w := columns.Width(line); w > width {
					t.Errorf("%s at %d columns: line %d is %d wide: %q", name, width, i+1, w, line)
				}
			}
		}
	}
}

// Without Color nothing but text is written: it goes to files and pipes.
func TestTextPlain(t *testing.T) {
	var b bytes.Buffer
	if err := Text(&b, straggler(), Options{}); err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsRune(b.Bytes(), '\x1b') {
		t.Error("an escape sequence without Color")
	}
	lines := strings.Split(b.String(), "\n")
	if !strings.HasPrefix(lines[1], "TP02 does extra work from step 7 on (201 kernels a step") {
		t.Errorf("the answer is not directly below the title: %q", lines[1])
	}
	head := strings.Join(lines[:15], "\n")
	for _, want := range []string{"TP02 is late from step 7 on", "worth 500 µs a step", "201 kernels a step, others 117", "TP04, TP05"} {
		if !strings.Contains(head, want) {
			t.Errorf("the first 15 lines lack %q:\n%s", want, head)
		}
	}
}
