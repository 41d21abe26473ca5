package system

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadReference reads a time, and a file of SGLang's bench_serving, whose steps count once and not once per
// request.
func TestReadReference(t *testing.T) {
	dir := t.TempDir()
	gaps := "[" + strings.Repeat("0.002, ", 9) + "0.020]"
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	line := `{"itls": [` + gaps + `, ` + gaps + `], "concurrency": 1.98, "accept_length": null}` + "\n"
	for _, c := range []struct {
		given, fails string
		median       int64
		n            int
	}{
		{"2.55ms", "", 2_550_000, 1},
		{write("bench.jsonl", `{"itls": []}`+"\n"+line), "", 2_000_000, 10},
		{"0s", "give the time of a step", 0, 0},
		{write("few.jsonl", `{"itls": [[0.002]], "concurrency": 1}`), "too few", 0, 0},
		{write("spec.jsonl", `{"itls": [[0.002]], "accept_length": 3.1}`), "speculated", 0, 0},
		{write("other.txt", "no JSON"), "was not written by bench serving", 0, 0},
		{filepath.Join(dir, "absent"), "give a time such as 2.55ms, a run", 0, 0},
	} {
		ref, err := ReadReference(filepath.Join(dir, "runs"), c.given, nil)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v, want %q", c.given, err, c.fails)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.given, err)
		} else if p := ref.Paces[0]; p.Median != c.median || p.N != c.n || p.Low > p.Median || p.High < p.Median {
			t.Errorf("%s: %+v", c.given, p)
		}
	}
}
