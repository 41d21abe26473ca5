package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/brief"
)

// Limits of one answer, in bytes. text is what the model reads; facts are the same answer's figures as JSON.
const (
	mostText  = 6200
	mostFacts = 1600
	mostName  = 200
	mostLine  = 1000
)

// clean makes a text from a file or a server safe: one line without control characters, at most mostName bytes.
func clean(s string) string { return brief.Cut(s, mostName) }

// cut shortens a text of this program to most bytes.
func cut(s string, most int) string { return strings.ToValidUTF8(s[:min(len(s), most)], "") }

// answer is the text of a result, which grows line by line up to a limit.
type answer struct {
	text    strings.Builder
	omitted int // number of lines that did not fit
	facts   map[string]any
}

// line appends a line, or counts it as omitted if it does not fit.
func (a *answer) line(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if a.omitted > 0 || a.text.Len()+len(line)+1 > mostText {
		a.omitted++
		return
	}
	a.text.WriteString(line)
	a.text.WriteByte('\n')
}

// rows appends a table with a heading and at most limit of n rows, and says how many rows are left out. more says how to
// get them.
func (a *answer) rows(head string, n, limit int, more string, row func(i int) string) {
	if n == 0 {
		a.line("no rows")
		return
	}
	a.line("%s", head)
	shown := 0
	for shown < min(n, limit) {
		line := row(shown)
		if a.text.Len()+len(line)+1 > mostText {
			break
		}
		a.line("%s", line)
		shown++
	}
	if left := n - shown; left > 0 {
		a.fact("omitted", left)
		fmt.Fprintf(&a.text, "omitted: %d rows; %s\n", left, more)
	}
}

// fact adds a figure to the facts of the answer.
func (a *answer) fact(name string, value any) {
	if a.facts == nil {
		a.facts = map[string]any{}
	}
	a.facts[name] = value
}

// Both implements reply. Facts that are too long are left out.
func (a *answer) Both() (text string, facts []byte) {
	if len(a.facts) > 0 {
		facts, _ = json.Marshal(a.facts) // facts are numbers and truth values
	}
	if len(facts) > mostFacts {
		facts = nil
	}
	return a.String(), facts
}

// String returns the text.
func (a *answer) String() string {
	if a.omitted > 0 {
		return fmt.Sprintf("%somitted: %d lines\n", a.text.String(), a.omitted)
	}
	return a.text.String()
}
