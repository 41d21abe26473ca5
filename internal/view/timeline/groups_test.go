package timeline

import (
	"slices"
	"testing"
)

// TestGroups: ranks are divided by what is known of their layout. The lane of a group shows the mean of its ranks.
func TestGroups(t *testing.T) {
	tl := open(t, "compute_skew")
	if len(tl.groupings) != 0 {
		t.Errorf("groupings of ranks with nothing known: %+v", tl.groupings)
	}
	for i, r := range tl.ranks {
		r.Source.Host, r.Source.Rank.PP = []string{"a", "a", "b", ""}[i], i/2
	}
	tl.group()
	if len(tl.groupings) != 2 {
		t.Fatalf("groupings: %+v", tl.groupings)
	}
	node, stage := tl.groupings[0], tl.groupings[1]
	if !slices.Equal(node.Groups, []string{"a", "b", "unknown node"}) || !slices.Equal(node.Of, []int{0, 0, 1, 2}) {
		t.Errorf("by node: %+v", node)
	}
	if stage.ID != ByStage || !slices.Equal(stage.Groups, []string{"PP00", "PP01"}) {
		t.Errorf("by stage: %+v", stage)
	}
	p := Place{Lane: stage.Lanes[0][0], Index: 1, Level: 18}
	sum, members := tl.Tile(p), tl.sums[p.Lane-len(tl.lanes)].members
	if len(members) != 2 || sum.Empty {
		t.Fatalf("members %v, empty %t", members, sum.Empty)
	}
	for c := range Columns {
		covered, classes := 0, map[uint8]bool{}
		for _, lane := range members {
			tile := tl.Tile(Place{Lane: lane, Index: p.Index, Level: p.Level})
			covered += int(tile.Covered[c])
			classes[tile.Class[c]] = true
		}
		if int(sum.Covered[c]) != (covered+1)/2 || !classes[sum.Class[c]] {
			t.Fatalf("column %d: covered %d of %d, class %d of %v", c, sum.Covered[c], covered, sum.Class[c], classes)
		}
	}
}

// TestLateness: the rank that computes more arrives later than the others.
func TestLateness(t *testing.T) {
	tl := open(t, "compute_skew")
	if at := slices.Index(tl.late, slices.Max(tl.late)); at != 2 || tl.late[at] < 100_000 {
		t.Errorf("lateness %v: want rank 2", tl.late)
	}
	if b := tl.blamed(); len(b) == 0 || !slices.Equal(b[0].Ranks, []int{2}) {
		t.Errorf("blamed: %+v", b)
	}
}
