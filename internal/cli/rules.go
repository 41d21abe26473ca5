package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// rule is a relation between flags of a verb, from a tag of the flag to which it applies:
//
//	needs:"a|b: REASON"   needs one of these flags
//	without:"a|b: REASON" excludes each of these flags
//
// A tag may have several rules, with semicolons between them. In place of a flag, a=VALUE and a!=VALUE stand for its
// value. The reason is part of the message; needs may go without. Flags that a verb lacks are ignored, because verbs
// share flags.
type rule struct {
	flag  *kong.Flag
	needs bool
	parts []part
	why   string
}

// part is a flag, or with an operator the condition that the flag has a value, or has another value.
type part struct {
	flag      *kong.Flag
	op, value string // "", "=" or "!="
}

func (p part) String() string {
	if p.op == "=" {
		return "--" + p.flag.Name + " " + p.value
	}
	return "--" + p.flag.Name
}

// has reports whether the flag has the value of the part. With a=slurm, slurm:NODE is such a value, too.
func (p part) has() bool {
	text := fmt.Sprint(p.flag.Target.Interface())
	if list, ok := p.flag.Target.Interface().([]string); ok {
		text = strings.Join(list, ",")
	}
	return (text == p.value || strings.HasPrefix(text, p.value+":")) == (p.op == "=")
}

// error returns the usage error for a flag that lacks the flags it needs, or that is combined with the one of p.
func (r *rule) error(p part) error {
	if !r.needs {
		return usagef("--%s and %s: %s, leave one of them out", r.flag.Name, p, r.why)
	}
	text := ""
	for _, p := range r.parts {
		text += " or " + p.String()
	}
	if r.why != "" {
		text += ": " + r.why
	}
	return usagef("--%s needs %s", r.flag.Name, strings.TrimPrefix(text, " or "))
}

// ruleTexts returns the rules in a flag's tag of a kind.
func ruleTexts(f *kong.Flag, kind string) []string {
	if f.Tag.Get(kind) == "" {
		return nil
	}
	return strings.Split(f.Tag.Get(kind), "; ")
}

// rulesOf returns the rules of flags in the order of the flags.
func rulesOf(flags []*kong.Flag) (rules []rule) {
	byName := map[string]*kong.Flag{}
	for _, f := range flags {
		byName[f.Name] = f
	}
	for _, f := range flags {
		for _, kind := range []string{"needs", "without"} {
			for _, text := range ruleTexts(f, kind) {
				names, why, _ := strings.Cut(text, ": ")
				r := rule{flag: f, needs: kind == "needs", why: why}
				for _, name := range strings.Split(names, "|") {
					if name, op, value := cutPart(name); byName[name] != nil {
						r.parts = append(r.parts, part{byName[name], op, value})
					}
				}
				if len(r.parts) > 0 {
					rules = append(rules, r)
				}
			}
		}
	}
	return rules
}

// cutPart splits the text of a part.
func cutPart(text string) (name, op, value string) {
	for _, op := range []string{"!=", "="} {
		if name, value, ok := strings.Cut(text, op); ok {
			return name, op, value
		}
	}
	return text, "", ""
}

// checkRules checks the flags of a verb against their rules. A rule applies if the user gives its flag on the command
// line or in a file of flags, and it excludes flags that are given in this way: settings contradict nothing. A setting,
// an environment variable or a value other than the default also satisfies a need. Empty values, such as "" and false,
// count as not given.
func checkRules(k *kong.Context) error {
	given, set := map[*kong.Flag]bool{}, map[*kong.Flag]bool{}
	for _, p := range k.Path {
		if f := p.Flag; f != nil && !(f.Target.IsZero() && (f.Default == "" || f.Default == "0")) {
			set[f] = true
			given[f] = !p.Resolved || settingOf(k.Selected(), f.Name) == nil
		}
	}
	for _, r := range rulesOf(k.Flags()) {
		at := slices.IndexFunc(r.parts, func(p part) bool {
			switch {
			case p.op != "":
				return p.has()
			case r.needs:
				return set[p.flag] || !p.flag.HasDefault && !p.flag.Target.IsZero()
			}
			return given[p.flag]
		})
		switch {
		case !given[r.flag], r.needs == (at >= 0):
		case r.needs:
			return r.error(part{})
		default:
			return r.error(r.parts[at])
		}
	}
	return nil
}
