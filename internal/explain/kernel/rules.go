package kernel

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Rules classify names: a user's table first, then ours.
type Rules struct {
	user []rule
}

var defaultRules = &Rules{}

// Default returns the rules without a user's table.
func Default() *Rules { return defaultRules }

// SyntaxError says which line of a rule file is wrong.
type SyntaxError struct {
	Line int // from 1
	Msg  string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// ParseRules reads a user's table: one rule a line, a class as Class.String writes it, white space, and a regular
// expression (RE2) that runs to the end of the line. It is searched in the whole name, case-insensitively; (?-i)
// inside it asks for case. The first matching line wins. Empty lines and lines that begin with # are skipped.
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
