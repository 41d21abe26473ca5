package timeline

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Grouping divides the ranks into groups, which the page shows as one row each until they are opened.
type Grouping struct {
	ID     string   `json:"id"`     // one of the constants below
	Groups []string `json:"groups"` // names, in the order of the groups' first ranks
	Of     []int    `json:"of"`     // index in Groups for each rank
	// Lanes holds the lanes of each group that show the sum of its ranks: that of the compute rows, then that of the
	// communication rows. -1: the ranks have no such rows.
	Lanes [][2]int `json:"lanes"`
}

// Ways to group ranks.
const (
	ByNode    = "node"    // host name in the traces
	ByReplica = "replica" // data-parallel rank
	ByStage   = "stage"   // pipeline stage
	ByBlock   = "block"   // consecutive ranks
)

// manyRanks is the number of ranks from which on consecutive ranks can be grouped. A block has about as many ranks as
// there are blocks, at most mostBlock.
const (
	manyRanks = 64
	mostBlock = 64
)

// sumLane is a lane of a group. It shows the mean of the lanes of its members.
type sumLane struct{ members []int }

// group computes the groupings that divide the ranks, and the lanes of their groups.
func (t *Timeline) group() {
	t.groupings = []Grouping{}
	if len(t.ranks) < 2 {
		return
	}
	t.divide(ByNode, func(i int) string { return columns.Clean(t.ranks[i].Source.Host) })
	coordinate := func(name string, of func(i int) int) func(i int) string {
		return func(i int) string {
			if n := of(i); n >= 0 {
				return fmt.Sprintf("%s%02d", name, n)
			}
			return ""
		}
	}
	t.divide(ByReplica, coordinate("DP", func(i int) int { return t.ranks[i].Source.Rank.DP }))
	t.divide(ByStage, coordinate("PP", func(i int) int { return t.ranks[i].Source.Rank.PP }))
	if n := len(t.ranks); n >= manyRanks {
		size := 8
		for size < mostBlock && size*size < n {
			size *= 2
		}
		t.divide(ByBlock, func(i int) string {
			first := i / size * size
			return columns.Clean(t.ranks[first].Label + "–" + t.ranks[min(first+size, n)-1].Label)
		})
	}
}

// divide adds a grouping by the name of each rank's group, if it makes several groups and any of them has several
// ranks. Ranks with the name "" have no known place and form a group.
func (t *Timeline) divide(id string, name func(rank int) string) {
	g := Grouping{ID: id, Of: make([]int, len(t.ranks))}
	at := map[string]int{}
	for i := range t.ranks {
		k, ok := at[name(i)]
		if !ok {
			k = len(g.Groups)
			at[name(i)] = k
			g.Groups = append(g.Groups, cmp.Or(name(i), "unknown "+id))
		}
		g.Of[i] = k
	}
	if len(g.Groups) < 2 || len(g.Groups) == len(t.ranks) {
		return
	}
	members := make([][2][]int, len(g.Groups))
	for i := range t.rows {
		if r := &t.rows[i]; r.Pinned && r.Lanes > 0 {
			if k := slices.Index([]string{RoleCompute, RoleComm}, r.Role); k >= 0 {
				members[g.Of[r.Rank]][k] = append(members[g.Of[r.Rank]][k], r.Lane)
			}
		}
	}
	for _, of := range members {
		lanes := [2]int{-1, -1}
		for k, list := range of {
			if len(list) > 0 {
				lanes[k] = len(t.lanes) + len(t.sums)
				t.sums = append(t.sums, sumLane{list})
			}
		}
		g.Lanes = append(g.Lanes, lanes)
	}
	t.groupings = append(t.groupings, g)
}

// drawSum draws a tile of a group. In each column, the parts are the means over the members. The class is the one that
// covers most.
func (t *Timeline) drawSum(p Place, of sumLane) *Tile {
	out := &Tile{Place: p, Empty: true}
	var covered, waited [Columns]int
	var by [Columns][]int32 // covered part by class
	weights := make([]int32, Columns*len(Classes))
	for c := range by {
		by[c] = weights[c*len(Classes) : (c+1)*len(Classes)]
	}
	for _, lane := range of.members {
		p.Lane = lane
		tile := t.Tile(p)
		if tile.Empty {
			continue
		}
		out.Empty = false
		for c, class := range tile.Class {
			if class != 0 {
				covered[c] += int(tile.Covered[c])
				waited[c] += int(tile.Waited[c])
				by[c][class] += int32(tile.Covered[c])
			}
		}
	}
	n := len(of.members)
	for c := range covered {
		for class, weight := range by[c] {
			if weight > by[c][out.Class[c]] {
				out.Class[c] = uint8(class)
			}
		}
		out.Covered[c], out.Waited[c] = uint8((covered[c]+n-1)/n), uint8((waited[c]+n-1)/n)
	}
	return out
}

// lateness returns, for each rank, how much later than the median rank it arrives at collectives. The value is a mean
// over steps, in ns. It is negative for a rank that arrives earlier.
func (t *Timeline) lateness() []int64 {
	late := make([]int64, len(t.ranks))
	var starts []int64
	for _, d := range t.a.Domains {
		for i := range d.Matches {
			m := &d.Matches[i]
			if m.First || !m.Possible() {
				continue
			}
			starts = starts[:0]
			for _, p := range m.At {
				starts = append(starts, p.Start-t.a.Origin)
			}
			median := int64(metric.MedianInPlace(starts))
			for _, p := range m.At {
				late[d.Ranks[p.Rank].Index] += p.Start - t.a.Origin - median
			}
		}
	}
	for i := range late {
		late[i] /= int64(max(len(t.report.Steps), 1))
	}
	return late
}

// Blame is a finding about late ranks.
type Blame struct {
	Title string `json:"title"`
	Ranks []int  `json:"ranks"`
}

func (t *Timeline) blamed() []Blame {
	out := []Blame{}
	for i := range t.report.Findings {
		if f := &t.report.Findings[i]; f.Kind == result.Straggler {
			out = append(out, Blame{columns.Clean(report.Words(f.Title)), append([]int{}, f.Ranks...)})
		}
	}
	return out
}
