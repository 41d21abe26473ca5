package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/suggest"
	"github.com/stepscope/stepscope/internal/base/yamltree"
	"github.com/stepscope/stepscope/internal/watch/detect"
)

// ruleKeys are the keys of a rule in a file: docs/formats/watch.md.
var ruleKeys = map[string]func(r *detect.Rule, n *yamltree.Node) error{
	"name": text(func(r *detect.Rule) *string { return &r.Name }),
	"kind": func(r *detect.Rule, n *yamltree.Node) error {
		r.Kind = detect.Kind(n.Source)
		return wants(n, yamltree.Text, "a word")
	},
	"signal":  text(func(r *detect.Rule) *string { return &r.Signal }),
	"measure": text(func(r *detect.Rule) *string { return &r.Measure }),
	"above": func(r *detect.Rule, n *yamltree.Node) (err error) {
		if n.Kind != yamltree.Text {
			return number(func(r *detect.Rule) *float64 { return &r.Above })(r, n)
		}
		d, err := duration(n)
		r.Above = d.Seconds()
		return err
	},
	"factor": number(func(r *detect.Rule) *float64 { return &r.Factor }),
	"least":  number(func(r *detect.Rule) *float64 { return &r.Least }),
	"for": func(r *detect.Rule, n *yamltree.Node) (err error) {
		r.For, err = duration(n)
		return err
	},
}

func wants(n *yamltree.Node, kind yamltree.Kind, what string) error {
	if n.Kind != kind {
		return fmt.Errorf("%s: give %s", n.Source, what)
	}
	return nil
}

func text(of func(*detect.Rule) *string) func(*detect.Rule, *yamltree.Node) error {
	return func(r *detect.Rule, n *yamltree.Node) error {
		*of(r) = n.Source
		return wants(n, yamltree.Text, "text")
	}
}

func number(of func(*detect.Rule) *float64) func(*detect.Rule, *yamltree.Node) error {
	return func(r *detect.Rule, n *yamltree.Node) error {
		if n.Kind != yamltree.Int && n.Kind != yamltree.Float {
			return fmt.Errorf("%s: give a number", n.Source)
		}
		*of(r) = n.Float
		return nil
	}
}

func duration(n *yamltree.Node) (time.Duration, error) {
	d, err := time.ParseDuration(n.Source)
	if err != nil || n.Kind != yamltree.Text {
		return 0, fmt.Errorf("%s: give a time, such as 5s", n.Source)
	}
	return d, nil
}

// ParseRules parses a rule file: a list under the key rules. Errors give the line.
func ParseRules(data []byte) ([]detect.Rule, error) {
	tree, problems := yamltree.Parse(data)
	if len(problems) > 0 {
		return nil, fmt.Errorf("line %d: %s", problems[0].Line, problems[0].Text)
	}
	at := func(n *yamltree.Node, err error) error { return fmt.Errorf("line %d: %w", n.Line, err) }
	if tree.Kind != yamltree.Map || len(tree.Entries) != 1 || tree.Entries[0].Key != "rules" || tree.Entries[0].Value.Kind != yamltree.List {
		return nil, fmt.Errorf("give a list of rules under the key rules")
	}
	var out []detect.Rule
	for _, item := range tree.Entries[0].Value.Items {
		if item.Kind != yamltree.Map {
			return nil, at(item, fmt.Errorf("a rule is a map of keys, such as kind: imbalance"))
		}
		r := detect.Rule{For: 10 * time.Second, Asked: true}
		for _, e := range item.Entries {
			set := ruleKeys[e.Key]
			if set == nil {
				var keys []string
				for k := range ruleKeys {
					keys = append(keys, k)
				}
				slices.Sort(keys)
				hint := "give any of " + strings.Join(keys, ", ")
				if near := suggest.Closest(e.Key, keys); near != "" {
					hint = "did you mean " + near + "?"
				}
				return nil, fmt.Errorf("line %d: unknown key %q: %s", e.Line, e.Key, hint)
			}
			if err := set(&r, e.Value); err != nil {
				return nil, at(e.Value, fmt.Errorf("%s: %w", e.Key, err))
			}
		}
		if r.Kind == detect.Imbalance && r.Measure == "" {
			r.Measure = detect.MaxOverMean
		}
		if r.Name == "" {
			r.Name = strings.TrimSpace(string(r.Kind) + " " + r.Signal)
		}
		if err := r.Check(); err != nil {
			return nil, fmt.Errorf("the rule in line %d: %w", item.Line, err)
		}
		if slices.ContainsFunc(out, func(o detect.Rule) bool { return o.Name == r.Name }) {
			return nil, at(item, fmt.Errorf("rule %q: the name is used twice", r.Name))
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("it has no rules")
	}
	return out, nil
}
