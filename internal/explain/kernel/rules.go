package kernel

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Rules classify names, first by a user's table and then by the built-in table.
type Rules struct {
	user []rule
}

var defaultRules = &Rules{}

// Default returns the rules without a user's table.
func Default() *Rules { return defaultRules }

// SyntaxError is an error in a line of a rule file.
type SyntaxError struct {
	Line int // line number, from 1
	Msg  string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// ParseRules parses a user's table with one rule per line: a class as written by Class.String, white space, and a
// regular expression (RE2) up to the end of the line. The expression matches anywhere in the whole name, and ignores
// case unless it contains (?-i). The first matching line wins. Empty lines and lines that begin with # are skipped.
//
//	# our fused kernels
//	moe_gemm   ^my_expert_
//	attention  lean_attn|tree_mask
func ParseRules(r io.Reader) (*Rules, error) {
	rules := &Rules{}
	sc := bufio.NewScanner(r)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		word, pattern := line, ""
		if i := strings.IndexAny(line, " \t"); i >= 0 {
			word, pattern = line[:i], strings.TrimSpace(line[i:])
		}
		class, ok := ParseClass(word)
		if !ok {
			return nil, &SyntaxError{n, fmt.Sprintf("no class %q; the classes are %s", word, strings.Join(classNames[:], ", "))}
		}
		if pattern == "" {
			return nil, &SyntaxError{n, fmt.Sprintf("no pattern after %q; write the class, a space and a regular expression", word)}
		}
		re, err := regexp.Compile("(?i:" + pattern + ")")
		if err != nil {
			return nil, &SyntaxError{n, err.Error()}
		}
		rules.user = append(rules.user, rule{class, re})
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	return rules, nil
}
