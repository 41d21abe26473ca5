package internal_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wings lists, floor by floor from the top, which wings each may import. A wing
// is a folder of internal; what lies outside it (cmd, trace, bench) is a wing of
// its own. Arrows go to lower floors; one that stays on its floor is marked by
// the order of the lines: it goes to a later line.
var wings = [][]struct {
	wing string
	may  string
}{
	{{"cmd", "cli base"}},
	{{"cli", "reference mcp view watch measure job explain capture tracefile runs ci kube api trace bench docs base"}},
	{
		{"reference", "measure explain capture tracefile runs api trace bench base"},
		{"mcp", "measure explain tracefile runs trace bench docs base"},
		{"view", "explain capture runs bench trace base"},
		{"watch", "explain capture tracefile runs trace base"},
		{"measure", "job explain capture tracefile runs api trace bench base"},
		{"job", "runs base"},
	},
	{
		{"explain", "tracefile api trace bench base"},
		{"capture", "tracefile runs api trace base"},
	},
	{
		{"tracefile", "trace base"},
		{"runs", "trace bench base"},
	},
	{
		{"kube", "api base"},
		{"ci", "api"},
		{"api", ""},
		{"bench", "base"},
		{"trace", ""},
	},
	{{"base", ""}, {"docs", ""}},
}

// support is the wing of packages that only tests and scripts import. It may import anything.
const support = "testing"

// TestCore holds the core, which users point at real servers, apart from the reference server: of the product only the
// command line knows both.
func TestCore(t *testing.T) {
	for pkg, imports := range importsOf(t) {
		if slices.Contains([]string{"cmd", "cli", "reference", support}, wingOf(pkg)) {
			continue
		}
		for to := range imports {
			if wingOf(to) == "reference" {
				t.Errorf("%s is of the core and imports %s", pkg, to)
			}
		}
	}
}

// Limits of the map: floors, and imports between wings.
const (
	mostFloors = 7
	mostArrows = 81
)

// budgets limits each wing: lines of Go without tests and generated files, packages, and imports between its packages.
// They are 5 % above the size of November 2026. A change that needs more raises its budget and says why.
var budgets = map[string]struct{ lines, packages, imports int }{
	"api":       {4280, 4, 4},
	"base":      {8950, 25, 8},
	"bench":     {4560, 1, 0},
	"capture":   {9800, 5, 3},
	"ci":        {400, 1, 0},
	"cli":       {12900, 1, 0},
	"cmd":       {20, 1, 0},
	"docs":      {80, 2, 0},
	"explain":   {43400, 24, 76},
	"job":       {8900, 4, 4},
	"kube":      {1800, 1, 0},
	"mcp":       {2000, 1, 0},
	"measure":   {13400, 8, 10},
	"reference": {32490, 29, 70},
	"runs":      {2900, 1, 0},
	"testing":   {5700, 14, 3}, // with what the tests of explain share, on captures of retime and toytrace
	"trace":     {2450, 1, 0},
	"tracefile": {18900, 16, 36},
	"view":      {8400, 5, 5}, // with evidence, args, counters, notes, queries, groups of ranks and exported columns
	"watch":     {4300, 2, 2}, // with alerts for Alertmanager
}

// TestBudgets holds each wing against its budget.
func TestBudgets(t *testing.T) {
	lines, packages, imports := map[string]int{}, map[string]int{}, map[string]int{}
	for pkg, to := range importsOf(t) {
		wing := wingOf(pkg)
		packages[wing]++
		for other := range to {
			if wingOf(other) == wing {
				imports[wing]++
			}
		}
		files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(pkg), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(text, []byte("// Code generated")) {
				lines[wing] += bytes.Count(text, []byte("\n"))
			}
		}
	}
	core, reference := 0, lines["reference"]
	for _, wing := range slices.Sorted(maps.Keys(packages)) {
		b, ok := budgets[wing]
		if !ok {
			t.Errorf("%s has no budget", wing)
		}
		for _, c := range []struct {
			what      string
			has, most int
		}{{"lines", lines[wing], b.lines}, {"packages", packages[wing], b.packages}, {"imports between its packages", imports[wing], b.imports}} {
			if c.has > c.most {
				t.Errorf("%s has %d %s; its budget is %d", wing, c.has, c.what, c.most)
			}
		}
		if !slices.Contains([]string{"cmd", "cli", "reference", "docs", support}, wing) {
			core += lines[wing]
		}
		t.Logf("%-10s %6d lines %3d packages %3d imports", wing, lines[wing], packages[wing], imports[wing])
	}
	if core > mostCore || reference > mostReference {
		t.Errorf("%d lines in the core and %d in the reference server; at most %d and %d", core, reference, mostCore, mostReference)
	}
	t.Logf("core %d lines, reference server %d", core, reference)
}

// Limits of the two halves, lines of Go without tests and generated files.
const (
	mostCore      = 133_400 // 107,000, the rules of 0.5 (lost work, window edges, throughput, equal ranks), what loads measure, clocks of GPUs, files of other tools, today's job files, the speed of light with what to change, bounded answers, pods of Kubernetes, the server for agents, alerts, and evidence, counters, notes, queries and groups of ranks in the viewer, tables and live frames instead of two libraries
	mostReference = 32_000
)

// wingOf is the wing of a package, given by its path in the module.
func wingOf(pkg string) string {
	parts := strings.Split(pkg, "/")
	if parts[0] == "internal" {
		return parts[1]
	}
	return parts[0]
}

// TestWings holds the arrows between wings against the table.
func TestWings(t *testing.T) {
	place, floor := map[string]int{}, map[string]int{}
	for f, row := range wings {
		for _, w := range row {
			place[w.wing], floor[w.wing] = len(place), f
		}
	}
	used := map[string]map[string]bool{}
	for pkg, imports := range importsOf(t) {
		from := wingOf(pkg)
		for to := range imports {
			if from != support && wingOf(to) == support {
				t.Errorf("%s imports %s outside its tests", pkg, to)
			}
		}
		if from == support {
			continue
		}
		if _, ok := place[from]; !ok {
			t.Errorf("%s is in no wing of the table", pkg)
			continue
		}
		if used[from] == nil {
			used[from] = map[string]bool{}
		}
		for to := range imports {
			if to := wingOf(to); to != from {
				used[from][to] = true
			}
		}
	}
	arrows := 0
	for _, row := range wings {
		for _, w := range row {
			may := strings.Fields(w.may)
			arrows += len(may)
			for _, to := range slices.Sorted(maps.Keys(used[w.wing])) {
				switch {
				case floor[to] < floor[w.wing]:
					t.Errorf("%s imports %s, which is on a higher floor", w.wing, to)
				case place[to] < place[w.wing]:
					t.Errorf("%s imports %s: on one floor, arrows go to later lines of the table", w.wing, to)
				case !slices.Contains(may, to):
					t.Errorf("%s imports %s, which its line in the table does not allow", w.wing, to)
				}
			}
			for _, to := range may {
				if !used[w.wing][to] {
					t.Errorf("the table allows %s to import %s, but it does not: remove the arrow", w.wing, to)
				}
			}
		}
	}
	if len(wings) > mostFloors || arrows > mostArrows {
		t.Errorf("%d floors and %d arrows between wings; at most %d and %d", len(wings), arrows, mostFloors, mostArrows)
	}
}
