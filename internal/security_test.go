package internal

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPromises checks that each test that SECURITY.md names exists: functions of Go tests, and families of attacks.
func TestPromises(t *testing.T) {
	text, err := os.ReadFile("../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	families, err := os.ReadFile("../scripts/attacks/main.go")
	if err != nil {
		t.Fatal(err)
	}
	exists := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range function.FindAllSubmatch(source, -1) {
			exists[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range regexp.MustCompile("`((?:Test|Fuzz)\\w+|attack [^`]+)`").FindAllStringSubmatch(strings.ReplaceAll(string(text), "\n  ", " "), -1) {
		name, attack := strings.CutPrefix(m[1], "attack ")
		if attack && name == "NAME" {
			continue
		}
		n++
		if attack && !strings.Contains(string(families), `{"`+name+`",`) || !attack && !exists[name] {
			t.Errorf("SECURITY.md names the test %q, which does not exist", m[1])
		}
	}
	if n < 20 {
		t.Errorf("SECURITY.md names only %d tests", n)
	}
}

// TestWorkflow checks that the actions of the public workflow are pinned by commit, and that only a job that runs for
// tags alone may write.
func TestWorkflow(t *testing.T) {
	text, err := os.ReadFile("../.github/workflows/ci.yml")
	if err != nil {
		t.Fatal(err)
	}
	pinned := regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40} # v[0-9.]+$`)
	for _, m := range regexp.MustCompile(`(?m)uses: (.*)$`).FindAllStringSubmatch(string(text), -1) {
		if !pinned.MatchString(m[1]) {
			t.Errorf("%s is not pinned by its commit", m[1])
		}
	}
	for job := range strings.SplitSeq(string(text), "\n\n") {
		if strings.Contains(job, ": write") && !strings.Contains(job, "if: startsWith(github.ref, 'refs/tags/v')") {
			t.Errorf("a job that does not depend on a tag may write:\n%s", job)
		}
	}
	if !strings.Contains(string(text), "permissions:\n  contents: read\n") {
		t.Error("the jobs have more than the permission to read")
	}
}
