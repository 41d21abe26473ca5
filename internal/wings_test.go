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
	{{"cmd", "cli engine"}},
	{{"cli", "view watch measure serve job explain capture tracefile runs api trace bench docs base"}},
	{
		{"view", "measure serve explain capture runs bench trace base"},
		{"watch", "measure serve explain capture tracefile runs trace base"},
		{"measure", "serve job engine explain capture tracefile runs api trace bench base"},
		{"serve", "engine api base"},
		{"job", "runs base"},
	},
	{
		{"engine", "tracefile api base"},
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
