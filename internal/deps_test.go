package internal_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDependencies holds the list of docs/ARCHITECTURE.md against go.mod and the
// imports: each module that go.mod requires directly, with the packages that
// import it ("tests of" where only tests do), and nothing else.
func TestDependencies(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	direct, tests := map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(?:require )?\t?([^\s/]+\.[^\s/]+/\S+) v\S+$`).FindAllStringSubmatch(read("../go.mod"), -1) {
		direct[m[1]], tests[m[1]] = map[string]bool{}, map[string]bool{}
	}
	eachFile(t, func(pkg string, test bool, paths []string) {
		into := direct
		if test {
			into = tests
		}
		for _, path := range paths {
			for m := range direct {
				if path == m || strings.HasPrefix(path, m+"/") {
					into[m][strings.TrimPrefix(pkg, "internal/")] = true
				}
			}
		}
	})

	_, section, ok := strings.Cut(read("../docs/ARCHITECTURE.md"), "\n## Dependencies\n")
	if !ok {
		t.Fatal("docs/ARCHITECTURE.md has no section on dependencies")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	listed := map[string]string{}
	code := regexp.MustCompile("`([^`]+)`")
	for _, item := range regexp.MustCompile("(?s)\n- `([^`]+)` \\(([^)]*)\\):").FindAllStringSubmatch(section, -1) {
		var in []string
		for _, p := range code.FindAllStringSubmatch(item[2], -1) {
			in = append(in, p[1])
		}
		listed[item[1]] = strings.Join(in, ", ")
		if strings.Contains(item[2], "tests of") {
			listed[item[1]] = "tests of " + listed[item[1]]
		}
	}
	for _, m := range slices.Sorted(maps.Keys(direct)) {
		want := strings.Join(slices.Sorted(maps.Keys(direct[m])), ", ")
		if len(direct[m]) == 0 {
			want = "tests of " + strings.Join(slices.Sorted(maps.Keys(tests[m])), ", ")
		}
		if have, ok := listed[m]; !ok {
			t.Errorf("docs/ARCHITECTURE.md does not list %s, which is imported by %s", m, want)
		} else if have != want {
			t.Errorf("docs/ARCHITECTURE.md lists %s in %s; it is imported by %s", m, have, want)
		}
		delete(listed, m)
	}
	for m := range listed {
		t.Errorf("docs/ARCHITECTURE.md lists %s, which go.mod does not require directly", m)
	}
}
