package cli

import (
	"encoding"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestValues gives each flag of each verb that takes a number or a time one that is none: one line of ours comes, with
// the flag, what was given, what is wanted, and an example.
func TestValues(t *testing.T) {
	_, tree := parsed(t)
	text := reflect.TypeFor[encoding.TextUnmarshaler]()
	ours := regexp.MustCompile(`^stepscope: --[a-z0-9-]+: .*"x".*(such as|give) .*|^stepscope: --[a-z0-9-]+: want .* not "x"`)
	seen := 0
	for _, verb := range tree.Leaves(true) {
		for _, f := range verb.Flags {
			of := f.Target.Type()
			if of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer {
				of = of.Elem()
			}
			if of.Kind() == reflect.String && !reflect.PointerTo(of).Implements(text) || f.IsBool() {
				continue
			}
			seen++
			var out, errs strings.Builder
			args := append(strings.Fields(verbOf(verb)), "--"+f.Name, "x")
			status := Main(args, nil, &out, &errs)
			line, hint, _ := strings.Cut(errs.String(), "\n")
			if status != exitUsage || !ours.MatchString(line) || !strings.HasPrefix(line, "stepscope: --"+f.Name+": ") || !strings.HasPrefix(hint, "  hint: ") {
				t.Errorf("%s: status %d\n%s%s", strings.Join(args, " "), status, &out, &errs)
			}
		}
	}
	if seen < 150 {
		t.Errorf("%d flags with numbers alone", seen)
	}
	for args, want := range map[string]string{
		"analyze x --top":                           "--top wants a value: --top N",
		"analyze x --html --json":                   "--html wants a value: --html FILE",
		"trace merge x -o":                          "-o wants a value: -o OUT",
		"profile --duration 5":                      `--duration: "5" has no unit: give a time such as 5s`,
		"send --temperature nan":                    `--temperature: "nan" is not a number: give one such as 0.5`,
		"bench one-batch --batch-size 1 many":       `--batch-size: "many" is not a whole number: give one such as 1`,
		"analyze x --max-memory x":                  `--max-memory "x": give a number of bytes, such as 8GB or 512MiB`,
		"trace cut x --from x":                      `--from "x": give a time as 1.5s, 250ms or 2026-01-02T15:04:05.6Z`,
		"serve --model-path x --dtype half-a-float": `--dtype must be one of "auto",`,
	} {
		var out, errs strings.Builder
		if status := Main(strings.Fields(args), nil, &out, &errs); status != exitUsage || !strings.HasPrefix(errs.String(), "stepscope: "+want) {
			t.Errorf("%s: status %d: %s\nwant %s", args, status, &errs, want)
		}
	}
}
