package internal_test

import (
	"maps"
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
	{{"cli", "reference view watch measure job explain capture tracefile runs api trace bench docs base"}},
	{
		{"reference", "measure explain capture tracefile runs api trace bench base"},
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

// The house stays one that can be kept in mind.
const (
	mostFloors = 7
	mostArrows = 67
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
