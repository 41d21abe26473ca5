package cli

import (
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// parsed is the tree of verbs, and the parser that has it.
func parsed(t *testing.T) (*kong.Kong, *kong.Node) {
	t.Helper()
	parser, err := kong.New(new(root), kong.Name("stepscope"), values, kong.Vars{"version": ""}, kong.Exit(func(int) {}), kong.Bind(newEnv(nil, io.Discard, io.Discard)))
	if err != nil {
		t.Fatal(err)
	}
	return parser, parser.Model.Node
}

// TestHelpOfFlags: each flag that is shown has a sentence, verbs with many flags show their common ones alone, on a
// screen, and --help-all shows all.
func TestHelpOfFlags(t *testing.T) {
	const screen, many = 75, 27
	_, tree := parsed(t)
	for _, verb := range append(tree.Leaves(true), tree) {
		name := verbOf(verb)
		shown := slices.DeleteFunc(slices.Clone(verb.Flags), func(f *kong.Flag) bool { return f.Hidden })
		names := map[string]bool{}
		for _, f := range shown {
			names[f.Name] = true
			if !strings.HasSuffix(f.Help, ".") {
				t.Errorf("%s --%s: the help %q is no sentence", name, f.Name, f.Help)
			}
		}
		if verb == tree {
			continue
		}
		for _, s := range common[name] {
			for flag := range strings.FieldsSeq(s.flags) {
				if !names[flag] {
					t.Errorf("%s: the common flag --%s is none of its flags, or is there twice", name, flag)
				}
				delete(names, flag)
			}
		}
		if len(common[name]) == 0 && len(shown) > many {
			t.Errorf("%s has %d flags: say in the table common which come first", name, len(shown))
		}
		var some, all strings.Builder
		Main(append(strings.Fields(name), "--help"), nil, &some, &some)
		Main(append(strings.Fields(name), "--help-all"), nil, &all, &all)
		if n := strings.Count(some.String(), "\n"); n > screen {
			t.Errorf("%s --help has %d lines, more than the %d of a screen", name, n, screen)
		}
		for _, f := range shown {
			if !strings.Contains(all.String(), "--"+f.Name) {
				t.Errorf("%s --help-all lacks --%s", name, f.Name)
			}
			if f.Target.Kind() == reflect.Bool || f.Default == "" {
				continue
			}
			if row := flagHelp(verb, f); !strings.Contains(row, "efault") {
				t.Errorf("%s --%s does not say its default: %s", name, f.Name, row)
			}
		}
	}
	for verb := range common {
		if !slices.Contains(verbsOf(tree), verb) {
			t.Errorf("the table common has %q, which is no verb", verb)
		}
	}
	for _, verb := range tree.Leaves(true) {
		if tasks[groupOf(verb)] == "" {
			t.Errorf("%s stands under the heading %q, which has no example", verbOf(verb), groupOf(verb))
		}
	}
}

// TestURLOfVerbs: every verb that talks to a server takes --url, and names it first in its help; view does more often without.
func TestURLOfVerbs(t *testing.T) {
	_, tree := parsed(t)
	var with []string
	for _, verb := range tree.Leaves(true) {
		for _, f := range verb.Flags {
			if f.Name == "base-url" && verbOf(verb) != "ci gate" || f.Hidden && f.Name == "url" {
				t.Errorf("%s: --%s is not the name that verbs have for it", verbOf(verb), f.Name)
			}
			if f.Name == "url" {
				with = append(with, verbOf(verb))
			}
		}
		if sections := common[verbOf(verb)]; slices.Contains(with, verbOf(verb)) && verbOf(verb) != "view" && len(sections) > 0 && !strings.HasPrefix(sections[0].flags, "url ") {
			t.Errorf("%s does not name --url first", verbOf(verb))
		}
	}
	if want := strings.Fields("bench-serving bench-one-batch-server bench-diffusion send profile watch nsys-start view ci-gate"); len(with) != len(want) {
		t.Errorf("verbs with --url: %q", with)
	}
}

// TestExamplesParse: what help tells people to type has flags that there are, with values that they take.
func TestExamplesParse(t *testing.T) {
	_, tree := parsed(t)
	words := regexp.MustCompile(`'[^']*'|"[^"]*"|[^ ]+`)
	seen := 0
	for _, verb := range tree.Leaves(true) {
		lines := strings.Split(verb.Detail, "\n")
		if tree.Leaves(true)[0] == verb {
			for _, line := range tasks {
				lines = append(lines, "  "+line)
			}
		}
		for _, line := range lines {
			line, ok := strings.CutPrefix(line, "  stepscope ")
			if !ok {
				continue
			}
			seen++
			line = strings.TrimRight(regexp.MustCompile(` [>|].*`).ReplaceAllString(line, ""), " ")
			var args []string
			for _, word := range words.FindAllString(line, -1) {
				args = append(args, strings.Trim(word, `'"`))
			}
			parser, tree := parsed(t)
			args, _, err := expand(tree, args)
			if err == nil {
				_, err = parser.Parse(args)
			}
			if err != nil {
				t.Errorf("stepscope %s: %v", line, err)
			}
		}
	}
	if seen < 80 {
		t.Errorf("help has %d examples alone", seen)
	}
}
