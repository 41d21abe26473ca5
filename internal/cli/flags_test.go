package cli

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestFlagsOfClients holds each flag of SGLang's clients against ours: a verb has it, by its whole name, or refuses it in
// one line that says why.
func TestFlagsOfClients(t *testing.T) {
	text, err := os.ReadFile("testdata/sglang/flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	var tree root
	parser, err := kong.New(&tree, kong.Name("stepscope"), kong.Vars{"version": ""})
	if err != nil {
		t.Fatal(err)
	}
	verbs := map[string]*kong.Node{}
	for _, n := range parser.Model.Leaves(false) {
		verbs[verbOf(n)] = n
	}
	verb, refused, seen := "", 0, 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if name, _, ok := strings.Cut(line, " = "); ok {
			if verb = name; verbs[verb] == nil {
				t.Fatalf("no verb %q", verb)
			}
			continue
		}
		for flag := range strings.FieldsSeq(line) {
			seen++
			name := strings.TrimPrefix(flag, "--")
			has := slices.ContainsFunc(flagsOf(verbs[verb]), func(f *kong.Flag) bool { return f.Name == name || slices.Contains(f.Aliases, name) })
			_, listed := habits[verb]["SGLang's client"][name]
			switch {
			case has == listed:
				t.Errorf("%s %s: there is one of it: %v, it is refused: %v; want one of both", verb, flag, has, listed)
			case listed:
				refused++
				var out, errs strings.Builder
				args := append(strings.Fields(verb), "--"+strings.ReplaceAll(name, "-", "_"))
				if status := Main(args, nil, &out, &errs); status != exitUsage || !strings.HasPrefix(errs.String(), "stepscope: "+flag+" is a flag of SGLang's client that is missing here: ") {
					t.Errorf("%s %s: status %d\n%s", verb, flag, status, &errs)
				}
			}
		}
	}
	if seen < 200 {
		t.Errorf("flags.txt has %d flags alone", seen)
	}
	for _, tools := range habits {
		refused -= len(tools["SGLang's client"])
	}
	if refused != 0 {
		t.Errorf("%d refused flags are none of SGLang's", -refused)
	}
}
