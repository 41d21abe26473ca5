package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/explain/dumps"
)

// readDumps makes sides of testdata/dumps, one dump each.
func readDumps(t *testing.T, names ...string) (sides []dumps.Side) {
	t.Helper()
	for _, n := range names {
		text, err := os.ReadFile(filepath.Join("testdata", "dumps", n+".json"))
		if err != nil {
			t.Fatal(err)
		}
		d, err := api.ParsePerfDump(text)
		if err != nil {
			t.Fatal(err)
		}
		sides = append(sides, dumps.Side{Name: n + ".json", Dumps: []*api.PerfDump{d}})
	}
	return sides
}

// TestDumpsMarkdown: to the letter what SGLang 0.5.23's script prints of the same dumps, but for the time. The files were
// made by python sglang/multimodal_gen/benchmarks/compare_perf.py of that release, and are not to be made by -update. What
// SGLang cannot tell stands before it.
func TestDumpsMarkdown(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)
	for _, c := range []struct{ sides, before string }{
		{"base new", ""},
		{"new base", ""},
		{"base new faster", ""},
		{"older older4", ""},
		{"base older", "> MISMATCH in denoising steps: A 9, B 5\n\n"},
	} {
		names := strings.Fields(c.sides)
		var b bytes.Buffer
		if err := DumpsMarkdown(&b, dumps.Compare(readDumps(t, names...), 0), at); err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("testdata", "dumps", strings.Join(names, "-")+".md"))
		if err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != c.before+string(want) {
			t.Errorf("%s\n%s\nwant\n%s", c.sides, got, want)
		}
	}
}

// TestDumpsText compares the text of comparisons of two and three sides with golden files.
func TestDumpsText(t *testing.T) {
	for name, sides := range map[string][]dumps.Side{
		"dumps-pair.txt":  readDumps(t, "base", "new"),
		"dumps-three.txt": readDumps(t, "base", "new", "faster"),
		"dumps-old.txt":   readDumps(t, "base", "older"),
	} {
		var b bytes.Buffer
		if err := DumpsCompared(dumps.Compare(sides, 0), Options{}).Text(&b, Options{}); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}
