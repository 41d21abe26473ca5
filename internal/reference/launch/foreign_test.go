package launch

import (
	"os"
	"strings"
	"testing"
)

// TestForeignDocs checks that the table of refused flags in docs/sglang.md agrees with foreign.txt.
func TestForeignDocs(t *testing.T) {
	text, err := os.ReadFile("../../../docs/sglang.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Launch flags\n")
	section, _, _ = strings.Cut(section, "\n## ")
	listed := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 || !strings.Contains(cells[2], "`--") {
			continue
		}
		for _, item := range strings.Split(cells[2], ", ") {
			name, same, _ := strings.Cut(strings.TrimSpace(item), " (but ")
			name, same = strings.Trim(name, "`-"), strings.Trim(same, "`)")
			f, ok := ForeignFlag(name)
			if !ok || f.Refused != strings.TrimSpace(cells[1]) || f.Same != same {
				t.Errorf("docs/sglang.md: --%s: %q, not refused with %q: the table has %+v", name, cells[1], same, f)
			}
			listed++
		}
	}
	for name, f := range foreignFlags() {
		if f.Refused != "" {
			listed--
			if !strings.Contains(section, "`--"+name+"`") {
				t.Errorf("docs/sglang.md lacks --%s, refused: %s", name, f.Refused)
			}
		}
	}
	if listed != 0 {
		t.Errorf("docs/sglang.md lists %d flags more than the table refuses", listed)
	}
}
