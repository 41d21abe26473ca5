package report

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/judge"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/tables"
)

// TestKinds holds each entry of the table of kinds to its rule, words, docs, severity, advice, guide, figure and links.
func TestKinds(t *testing.T) {
	docs, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range judge.Kinds {
		if result.KindOf(name).Name == "" {
			t.Errorf("a rule finds %s, which is not in the table of kinds", name)
		}
	}
	var pages []string // tables of the page
	for _, r := range samples() {
		for _, tb := range sections(r, 0, true) {
			pages = append(pages, tb.id)
		}
	}
	names, ids := map[string]bool{}, map[string]bool{}
	for _, k := range result.Kinds {
		fail := func(format string, args ...any) { t.Helper(); t.Errorf(k.Name+": "+format, args...) }
		if names[k.Name] {
			fail("the table of kinds has two entries")
		}
		names[k.Name] = true
		if !slices.Contains(judge.Kinds, k.Name) {
			fail("no rule finds this kind")
		}
		if k.Class < result.Fault || k.Class >= result.Classes {
			fail("class %d", k.Class)
		}
		if k.Severity != "" && !slices.Contains([]string{"high", "medium", "low", "info"}, k.Severity) {
			fail("severity %q", k.Severity)
		}
		if k.Removal < result.RemoveNothing || k.Removal > result.RemoveTransfers {
			fail("removal %d", k.Removal)
		}
		if k.Removal == result.RemoveNothing != !strings.Contains(worthOf(string(docs)), "`"+k.Name+"`") {
			fail("removal %d contradicts the list of kinds with a worth in docs/metrics.md", k.Removal)
		}
		if k.Next.Key != "" && wordings[k.Next.Key] == "" {
			fail("no words for the action %s", k.Next.Key)
		}
		if k.Guide != "" {
			if _, err := os.Stat("../../../docs/guides/" + k.Guide + ".md"); err != nil {
				fail("guide: %v", err)
			}
		}
		if k.Figure != "" && !slices.Contains(tables.FigureNames[:], k.Figure) {
			fail("comparisons have no figure %s, only %s", k.Figure, tables.FigureNames)
		}
		for _, l := range k.Links {
			if !slices.Contains(pages, l.Table) {
				fail("the page has no table %s, only %s", l.Table, pages)
			}
		}
		for _, id := range k.IDs {
			if ids[id] {
				fail("two kinds have the ID %s", id)
			}
			ids[id] = true
			worded := false
			for key := range wordings {
				worded = worded || key == id || strings.HasPrefix(key, id+".")
			}
			if !worded {
				fail("no words for %s", id)
			}
			if !strings.Contains(string(docs), "\n- `"+id+"`") {
				fail("docs/metrics.md has no line on %s", id)
			}
		}
	}
}

// worthOf returns the section of docs/metrics.md that lists the kinds with a worth.
func worthOf(docs string) string {
	_, section, _ := strings.Cut(docs, "\n## What a finding is worth\n")
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}
