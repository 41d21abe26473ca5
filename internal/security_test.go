package internal

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPromises checks that each promise of SECURITY.md names its tests, and that these exist: functions of Go tests,
// scripts of TestScript, and families of attacks.
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
	_, promises, _ := strings.Cut(string(text), "## Security properties")
	test := regexp.MustCompile("`((?:Test|Fuzz)[\\w/]+|attack [^`]+)`")
	items := regexp.MustCompile(`(?m)^ *- `).Split(promises, -1)[1:]
	for _, item := range items {
		found := test.FindAllStringSubmatch(strings.Join(strings.Fields(item), " "), -1)
		if len(found) == 0 {
			t.Errorf("this promise of SECURITY.md names no test:\n%s", item)
		}
		for _, m := range found {
			attack, isAttack := strings.CutPrefix(m[1], "attack ")
			script, isScript := strings.CutPrefix(m[1], "TestScript/")
			there := exists[m[1]]
			if isAttack {
				there = strings.Contains(string(families), `{"`+attack+`",`)
			} else if isScript {
				_, err := os.Stat("cli/testdata/script/" + script + ".txtar")
				there = err == nil
			}
			if !there {
				t.Errorf("SECURITY.md names the test %q, which does not exist", m[1])
			}
		}
	}
	if len(items) < 20 {
		t.Errorf("SECURITY.md has only %d promises", len(items))
	}
}

// knownHosts are the public hosts that product code and pages may name: this host, Perfetto's page, which trace open
// opens, the APIs of ci comment, and identifiers and links that nothing fetches.
var knownHosts = map[string]bool{"127.0.0.1": true, "api.github.com": true, "gitlab.com": true, "ui.perfetto.dev": true, "json-schema.org": true, "github.com": true, "www.w3.org": true}

// TestHosts checks that product code names no other public host to which it could send, and pages none from which they could
// fetch.
func TestHosts(t *testing.T) {
	comment := regexp.MustCompile(`(?m)^\s*//.*$|\s// .*$`)
	address := regexp.MustCompile(`https?://([\w-]+(?:\.[\w-]+)+)`)
	files := 0
	for _, root := range []string{".", "../cmd", "../bench", "../trace"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() && (d.Name() == "testdata" || path == "testing") {
				return fs.SkipDir
			}
			ext := filepath.Ext(path)
			if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") || ext != ".go" && ext != ".js" && ext != ".css" && ext != ".html" {
				return err
			}
			source, err := os.ReadFile(path)
			if ext == ".go" {
				source = comment.ReplaceAll(source, nil)
			}
			files++
			for _, m := range address.FindAllSubmatch(source, -1) {
				if !knownHosts[string(m[1])] {
					t.Errorf("%s names the host %s", path, m[1])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 500 {
		t.Errorf("only %d files were checked", files)
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
