package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stepscope/stepscope/docs"
	"github.com/stepscope/stepscope/internal/base/sorts"
)

type explainIn struct {
	Word string `json:"word" jsonschema:"a figure, a column, or the kind of a finding"`
}

// mostWord limits a definition, in bytes.
const mostWord = 3000

// passage is a paragraph or a list item of docs/metrics.md.
type passage struct {
	heading string
	text    string
	score   int
}

// passages splits the text of docs/metrics.md.
func passages(text string) (all []passage) {
	heading := ""
	for block := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(block, "#") {
			heading = strings.TrimLeft(block, "# ")
			continue
		}
		var item []string
		flush := func() {
			if len(item) > 0 {
				all = append(all, passage{heading: heading, text: strings.Join(item, "\n")})
			}
			item = nil
		}
		for line := range strings.SplitSeq(block, "\n") {
			if strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "| ") {
				flush()
			}
			if !strings.HasPrefix(line, "| ---") {
				item = append(item, line)
			}
		}
		flush()
	}
	return all
}

// loose makes names of columns, JSON keys and words of a text comparable.
func loose(s string) string {
	return strings.NewReplacer("_", " ", "-", " ", "`", "", "*", "", "\n", " ").Replace(strings.ToLower(s))
}

// rate returns how closely a passage belongs to a word. 0: not at all.
func (p *passage) rate(word string, words []string) int {
	text, heading := loose(p.text), loose(p.heading)
	switch {
	case heading == word:
		return 5
	case strings.HasPrefix(strings.TrimLeft(text, " |"), word):
		return 4
	case strings.Contains(heading, word):
		return 3
	case strings.Contains(text, word):
		return 2
	}
	for _, w := range words {
		if !strings.Contains(text, w) && !strings.Contains(heading, w) {
			return 0
		}
	}
	return 1
}

// explain gives the definition of a figure from docs/metrics.md.
func (s *Server) explain(_ context.Context, in explainIn) (reply, error) {
	word := strings.TrimSpace(loose(in.Word))
	if word == "" {
		return nil, errors.New("give a word, such as wait, idle, worth, floor, TPOT")
	}
	words := strings.Fields(strings.TrimSuffix(word, " ns"))
	var found []passage
	for _, p := range passages(docs.Metrics) {
		if p.score = p.rate(word, words); p.score > 0 {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("docs/metrics.md does not use the word %q: give the name of a column, a figure or a kind of finding", clean(in.Word))
	}
	sorts.Stable(found, func(a, b passage) int { return cmp.Compare(b.score, a.score) })
	out, heading, size := &answer{}, "", 0
	for i, p := range found {
		if size += len(p.text) + len(p.heading) + 6; i > 0 && size > mostWord {
			out.line("omitted: %d more passages of docs/metrics.md that use the word; give a longer name", len(found)-i)
			break
		}
		if p.heading != heading {
			heading = p.heading
			out.line("## %s", heading)
		}
		out.line("%s", cut(p.text, mostWord))
	}
	return out, nil
}
