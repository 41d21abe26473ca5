package cli

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestRulesOfFlags: the tags needs and without name flags of the same verb, flags can be given with what they need, and
// whoever breaks a rule reads its error.
func TestRulesOfFlags(t *testing.T) {
	parser, tree := parsed(t)
	known, broken := map[string]bool{}, 0
	for _, verb := range tree.Leaves(false) {
		check := func(args []string) error {
			for _, f := range verb.Flags {
				f.Set = false // kong keeps it from the last command line
				if f.Required {
					args = append(args, "--"+f.Name+"=2")
				}
			}
			for _, p := range verb.Positional {
				if p.Required {
					args = append(args, "2")
				}
			}
			k, err := parser.Parse(append(strings.Fields(verbOf(verb)), args...))
			if err != nil {
				t.Errorf("%s %q: %v", verbOf(verb), args, err)
				return nil
			}
			return checkRules(k)
		}
		flags := flagsOf(verb)
		for _, f := range flags {
			for _, text := range slices.Concat(ruleTexts(f, "needs"), ruleTexts(f, "without")) {
				names, why, _ := strings.Cut(text, ": ")
				if why == "" && !slices.Contains(ruleTexts(f, "needs"), text) {
					t.Errorf("%s --%s: the rule without %s gives no reason", verbOf(verb), f.Name, names)
				}
				for _, name := range strings.Split(names, "|") {
					name, _, _ := cutPart(name)
					// Another verb with the same field may be the one that has the flag.
					tag := fmt.Sprintf("--%s %q: --%s", f.Name, text, name)
					known[tag] = known[tag] || slices.ContainsFunc(flags, func(f *kong.Flag) bool { return f.Name == name })
				}
			}
		}
		rules := rulesOf(flags)
		for _, r := range rules {
			if err := check(together(nil, rules, part{flag: r.flag}, nil)); err != nil {
				t.Errorf("%s: what --%s needs contradicts a rule: %v", verbOf(verb), r.flag.Name, err)
			}
			for i, p := range r.parts {
				args := together(nil, rules, part{flag: r.flag}, &r)
				if !r.needs {
					args = together(args, rules, p, &r)
				} else if i > 0 {
					break // all parts at once
				}
				for _, p := range r.parts {
					if r.needs && p.op != "" {
						args = append(args, "--"+p.flag.Name+"="+valueOf(p, false))
					}
				}
				broken++
				err, want := check(args), r.error(p)
				if err == nil || err.Error() != want.Error() || newEnv(nil, io.Discard, io.Discard).exit(t.Context(), err) != exitUsage {
					t.Errorf("%s %q: %v, want %v", verbOf(verb), args, err, want)
				}
			}
		}
	}
	for tag, ok := range known {
		if !ok {
			t.Errorf("%s is no flag of the verb", tag)
		}
	}
	if broken < 200 {
		t.Errorf("only %d combinations were tried", broken)
	}
}

// together adds a flag for which the part holds to a command line, and the flags that it needs by rules other than except.
func together(args []string, rules []rule, p part, except *rule) []string {
	arg := "--" + p.flag.Name
	if !p.flag.IsBool() {
		arg += "=" + valueOf(p, true)
	}
	if slices.Contains(args, arg) {
		return args
	}
	args = append(args, arg)
	for _, r := range rules {
		if r.flag == p.flag && r.needs && (except == nil || !reflect.DeepEqual(r, *except)) {
			args = together(args, rules, r.parts[0], except)
		}
	}
	return args
}

// valueOf returns a value of the flag with which the part holds, or does not hold.
func valueOf(p part, holds bool) string {
	if p.op != "" && holds == (p.op == "=") {
		return p.value
	}
	values := append(strings.Split(p.flag.Enum, ","), "2", "3", "2s")
	slices.Reverse(values[:len(values)-3]) // values that are alike come first
	i := slices.IndexFunc(values, func(text string) bool {
		scan, to := kong.Scan().PushTyped(text, kong.FlagValueToken), reflect.New(p.flag.Target.Type()).Elem()
		return text != "" && text != p.value && text != p.flag.Default && p.flag.Parse(scan, to) == nil
	})
	return values[i]
}
