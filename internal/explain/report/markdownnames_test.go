package report

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/explain/dumps"
)

// own matches the elements that Markdown outputs contain, and code spans, in which renderers show all text as it is.
var own = regexp.MustCompile("</?(details|summary)>|`[^`\n]*`|``[^\n]*``")

// TestMarkdownNames checks that hostile names are text in every Markdown output.
func TestMarkdownNames(t *testing.T) {
	outputs := map[string]func(io.Writer) error{"a comparison": Compared(comparison(), Options{Full: true}).Markdown}
	for name, r := range samples() {
		outputs[name] = func(w io.Writer) error { return Markdown(w, r, Options{All: true}) }
	}
	for _, names := range []string{"base new", "base new faster"} {
		var sides []dumps.Side
		for _, n := range strings.Fields(names) {
			text, err := os.ReadFile(filepath.Join("testdata", "dumps", n+".json"))
			if err != nil {
				t.Fatal(err)
			}
			hostile := strings.NewReplacer("Stage", "<img src=x onerror=alert(1)>|[a](http://b)`c", "commit_hash\": \"", "commit_hash\": \"`<img>`").Replace(string(text))
			d, err := api.ParsePerfDump([]byte(hostile))
			if err != nil {
				t.Fatal(err)
			}
			sides = append(sides, dumps.Side{Name: "<img>|" + n, Dumps: []*api.PerfDump{d}})
		}
		outputs["dumps "+names] = func(w io.Writer) error { return DumpsMarkdown(w, dumps.Compare(sides, 0), time.Unix(0, 0)) }
	}
	for what, write := range outputs {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		text := own.ReplaceAllString(b.String(), "")
		for _, bad := range []string{"<", "](", "x onerror=alert(1)>"} {
			if i := strings.Index(strings.ReplaceAll(text, `\](`, ""), bad); i >= 0 {
				t.Errorf("%s: has %q: %.120q", what, bad, text[max(0, i-40):])
			}
		}
	}
	if got := EscapeMarkdown("<img> [a](b) `c` |"); got != "&lt;img&gt; \\[a\\](b) \\`c\\` \\|" {
		t.Errorf("a heading: %s", got)
	}
}
