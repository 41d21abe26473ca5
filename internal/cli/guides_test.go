package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/stepscope/stepscope/docs/guides"
)

// TestDocumentedCommands: what README, docs and guides tell people to type is a command line
// of ours, with flags that exist.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell")
	}
	top := filepath.Join("..", "..")
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/guides/*.md", "docs/formats/*.md", "docs/skill/*.md"} {
		found, err := filepath.Glob(filepath.Join(top, pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	typed := regexp.MustCompile(`(?m)^    (?:\$ )?(?:[A-Z_]+=\S* )*(?:go run \./cmd/|bin/)?stepscope ((?:.*\\\n)*.*)`)
	lines := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range typed.FindAllStringSubmatch(string(text), -1) {
			lines++
			line, _, _ := strings.Cut(m[1], "  # ")
			line, _, _ = strings.Cut(line, " | ")
			line, _, _ = strings.Cut(line, " > ")
			words, err := exec.Command("sh", "-c", "set -f; set -- "+strings.TrimSpace(line)+`; printf '%s\n' "$@"`).Output()
			if err != nil {
				t.Errorf("%s: %s: %v", page, line, err)
				continue
			}
			args := strings.Split(strings.TrimRight(string(words), "\n"), "\n")
			var tree root
			parser, err := kong.New(&tree, kong.Name("stepscope"), kong.Vars{"version": ""}, kong.Exit(func(int) {}))
			if err != nil {
				t.Fatal(err)
			}
			args, _, err = expand(parser.Model.Node, args)
			if err == nil {
				_, err = parser.Parse(args)
			}
			if err != nil {
				t.Errorf("%s: stepscope %s: %v", page, line, err)
			}
		}
	}
	if lines < 50 {
		t.Errorf("%d command lines were found", lines)
	}
}

// TestGuides: commands with a "$" print what the guides show of them. Times and other numbers
// are not the same each time, and "…" stands for anything; all else is.
func TestGuides(t *testing.T) {
	traces, err := filepath.Abs(filepath.Dir(captures))
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string][]example{}
	for _, g := range guides.All() {
		if found := examplesIn(g.Text); len(found) > 0 {
			shown[g.Name] = found
		}
	}
	if len(shown) < 2 {
		t.Fatalf("%d guides show what commands print", len(shown))
	}
	t.Setenv("XDG_DATA_HOME", t.TempDir()) // "last" is the last of this test
	_, log := program(t, strings.Fields("serve --model-path builtin:llama-tiny --tp-size 2 --port 0 --enable-metrics")...)
	url := awaits(t, log, `(http://[\d.]+:\d+)`)
	for name, examples := range shown {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Symlink(traces, filepath.Join(dir, "testdata")); err != nil {
				t.Fatal(err)
			}
			for _, e := range examples {
				cmd := exec.Command("sh", "-c", strings.ReplaceAll(e.line, "http://localhost:30000", url))
				cmd.Dir = dir
				printed, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v\n%s", e.line, err, printed)
				}
				if missing := e.missing(string(printed)); missing != "" {
					t.Errorf("%s does not print\n%s\nbut\n%s", e.line, missing, printed)
				}
			}
		})
	}
}

// TestGuidesIndex: each guide is in the index once, and nothing else is.
func TestGuidesIndex(t *testing.T) {
	t.Parallel()
	listed := map[string]int{}
	for _, s := range guides.Symptoms() {
		listed[s.Guide]++
	}
	for _, g := range guides.All() {
		if listed[g.Name] != 1 {
			t.Errorf("%s is %d times in the index", g.Name, listed[g.Name])
		}
		delete(listed, g.Name)
	}
	if len(listed) > 0 {
		t.Errorf("the index names what is not there: %v", listed)
	}
}

// example is a command of a guide, and what the guide shows of its output.
type example struct {
	line string
	out  []string
}

// examplesIn finds the commands of a page that begin with "$".
func examplesIn(page string) (all []example) {
	open := false
	for line := range strings.Lines(page) {
		line, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		command, begins := strings.CutPrefix(line, "$ ")
		switch {
		case !indented:
			open = open && line == ""
		case begins:
			all, open = append(all, example{line: command}), true
		case open:
			last := &all[len(all)-1]
			last.out = append(last.out, line)
		}
	}
	return all
}

// word is a part of a line: a number, with its unit of time if it has one, or anything else.
var word = regexp.MustCompile(`\d[\d,.:]*(?:\s+(?:ns|µs|ms|s)\b)?|…|\s+|[^\d…\s]+`)

// alike makes a pattern of a line that is shown.
func alike(line string) *regexp.Regexp {
	var p strings.Builder
	for _, w := range word.FindAllString(strings.TrimSpace(line), -1) {
		switch {
		case w == "…":
			p.WriteString(`.*`)
		case strings.TrimSpace(w) == "":
			p.WriteString(`\s+`)
		case w[0] < '0' || w[0] > '9':
			p.WriteString(regexp.QuoteMeta(w))
		case strings.ContainsAny(w, " \t"):
			p.WriteString(`[\d,.:]+\s+(?:ns|µs|ms|s)`)
		default:
			p.WriteString(`[\d,.:]+`)
		}
	}
	return regexp.MustCompile(`^\s*` + p.String() + `\s*$`)
}

// missing is the first line that is not printed after those before it.
func (e example) missing(printed string) string {
	lines := strings.Split(printed, "\n")
	free := true // "…": lines may lie between
	for _, want := range e.out {
		if strings.TrimSpace(want) == "…" {
			free = true
			continue
		}
		re := alike(want)
		at := -1
		for i, l := range lines {
			if re.MatchString(l) {
				at = i
				break
			}
			if !free {
				break
			}
		}
		if at < 0 {
			return fmt.Sprintf("%s\n(%s)", want, re)
		}
		lines, free = lines[at+1:], false
	}
	return ""
}
