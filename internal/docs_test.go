package internal_test

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Lines of the docs end at 120 columns, so that a diff shows what changed in a
// paragraph. Code may be longer, and so may rows of tables and images, which
// Markdown cannot wrap.
func TestDocsWrap(t *testing.T) {
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "dist") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fenced := false
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			}
			unwrappable := fenced || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "![") ||
				d.Name() == "SKILL.md" && i < 8 // some readers of its frontmatter know no folded lines
			if n := utf8.RuneCountInString(line); n > 120 && !unwrappable {
				t.Errorf("%s:%d has %d columns: wrap it at 120", path, i+1, n)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestDocsFiles: the files of the project that its docs name are there. Docs leave
// out directories that are clear, such as internal.
func TestDocsFiles(t *testing.T) {
	var paths []string
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		paths = append(paths, filepath.ToSlash(path))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([\\w./-]+\\.go)`|\\]\\(([^):#]+)[)#]")
	for _, doc := range []string{"../*.md", "../docs/*.md", "../docs/*/*.md"} {
		docs, err := filepath.Glob(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range docs {
			text, err := os.ReadFile(doc)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range named.FindAllStringSubmatch(string(text), -1) {
				file := m[1]
				if m[2] != "" {
					file = path.Join(path.Dir(filepath.ToSlash(doc)), m[2])
				}
				if !slices.ContainsFunc(paths, func(p string) bool { return p == file || m[1] != "" && strings.HasSuffix(p, "/"+file) }) {
					t.Errorf("%s names %s, which is not there", doc, cmp.Or(m[1], m[2]))
				}
			}
		}
	}
}

// TestDocsVariables: docs/sglang.md lists the variables of SGLang that the code reads, and no other.
func TestDocsVariables(t *testing.T) {
	text, err := os.ReadFile("../docs/sglang.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(SGLANG_\\w+)`").FindAllStringSubmatch(string(text), -1) {
		listed[m[1]] = true
	}
	read := map[string]bool{}
	quoted := regexp.MustCompile(`"(SGLANG_\w+)[="]`)
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
			if read[m[1]] = true; !listed[m[1]] {
				t.Errorf("%s reads %s, which docs/sglang.md lacks", path, m[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range listed {
		if !read[name] {
			t.Errorf("docs/sglang.md has %s, which nothing reads", name)
		}
	}
}
