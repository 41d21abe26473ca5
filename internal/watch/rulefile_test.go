package watch

import (
	"strings"
	"testing"
)

// TestParseRules checks valid rule files and the errors for invalid ones.
func TestParseRules(t *testing.T) {
	rules, err := ParseRules([]byte("rules:\n  - kind: imbalance\n    signal: load\n    above: 1.5\n  - name: users wait\n    kind: latency\n    signal: ttft.p95\n    above: 2s\n    for: 3s\n"))
	if err != nil || len(rules) != 2 || rules[0].Name != "imbalance load" || rules[0].Measure != "max/mean" || rules[1].Above != 2 || rules[1].For.Seconds() != 3 {
		t.Errorf("%+v, %v", rules, err)
	}
	for text, want := range map[string]string{
		"":                                      "give a list of rules under the key rules",
		"rules: []":                             "it has no rules",
		"rules:\n  - 3":                         "line 2: a rule is a map of keys",
		"rules:\n  - kind: silent\n    abov: 3": `line 3: unknown key "abov": did you mean above?`,
		"rules:\n  - kind: silent\n    for: 5":  "line 3: for: 5: give a time, such as 5s",
		"rules:\n  - kind: [a]":                 "line 2: kind: : give a word",
		"rules:\n  - kind: silent\n  - kind: silent":                "line 3: rule \"silent\": the name is used twice",
		"rules:\n  - kind: latency\n    signal: itl\n    above: 1s": "its mean or a percentile",
		"rules: {": "",
	} {
		if _, err := ParseRules([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzParseRules(f *testing.F) {
	f.Add("rules:\n  - kind: imbalance\n    signal: load\n    above: 1.5\n    for: 5s\n    least: 4\n    factor: 2\n")
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := ParseRules([]byte(text))
		for _, r := range rules {
			if err == nil && r.Check() != nil {
				t.Errorf("%+v: %v", r, r.Check())
			}
		}
	})
}
