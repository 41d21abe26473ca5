package export

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/columns"
)

// FuzzCSVField: any text is read back unchanged, except the escaped beginning of a formula.
func FuzzCSVField(f *testing.F) {
	for _, s := range []string{"", "a", `"`, `""`, ",", "\n", "\r", "\r\n", `a"b,c` + "\n", " a ", "ü\x00\xff", `"a`, "#", "=1+1", "-5", "@x,y", "\t\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		line := append(appendText(append(appendText(nil, "x"), ','), s), "\r\n"...)
		rec, err := csv.NewReader(strings.NewReader(string(line))).Read()
		if err != nil {
			t.Fatalf("reading %q: %v", line, err)
		}
		// encoding/csv reads a line end in quotes as a bare line feed.
		if want := strings.ReplaceAll(columns.Cell(s), "\r\n", "\n"); len(rec) != 2 || rec[1] != want {
			t.Errorf("line %q: got fields %q, want x and %q", line, rec, want)
		}
	})
}
