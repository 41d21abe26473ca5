package spec

import (
	"os"
	"strings"
	"testing"
)

// TestDocs checks that docs/formats/job.md has every key, each choice of a value, and a valid example.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../../docs/formats/job.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	has := func(word string) {
		t.Helper()
		if !strings.Contains(doc, "`"+word+"`") && !strings.Contains(doc, "."+word+"`") {
			t.Errorf("docs/formats/job.md lacks `%s`", word)
		}
	}
	var walk func(keys []key[Job])
	walk = func(keys []key[Job]) {
		for _, k := range keys {
			if k.keys == nil {
				has(k.name)
			}
			for _, c := range k.choices {
				has(c)
			}
			walk(k.keys)
		}
	}
	walk(jobKeys)
	for _, k := range clusterKeys {
		has(k.name)
	}
	_, example, _ := strings.Cut(doc, "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	if j, _, err := Parse("example", []byte(example)); err != nil || *j.Phase(Decode) != (Phase{1024, 128, 256, 0, 50}) {
		t.Errorf("the example: %v", err)
	}
}

// TestGuide checks that docs/guides/jobs.md begins with a valid job.
func TestGuide(t *testing.T) {
	text, err := os.ReadFile("../../../docs/guides/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	if j, _, err := Parse("example", []byte(example)); err != nil || *j.Phase(Decode) != (Phase{32, 32, 8, 10, 30}) {
		t.Errorf("the example: %v", err)
	}
}
