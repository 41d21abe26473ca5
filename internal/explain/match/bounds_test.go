package match

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/internal/tracefile/clock"
	"github.com/stepscope/stepscope/trace"
)

// TestDoubt checks lateness against the truth: clocks of hosts differ by an offset and drift that contradict no
// collective, and the true lateness of a rank is at least the apparent one minus the doubt, for every pair of ranks.
// The doubt is no larger than their collectives require.
func TestDoubt(t *testing.T) {
	const transfer, steps = 500_000, 12
	everyone := func(ranks int) (out []int) {
		for i := range ranks {
			out = append(out, i)
		}
		return out
	}
	for _, c := range []struct {
		name   string
		ranks  int
		groups [][]int // ranks that share a collective of each step, by operation
		each   int64   // lead of each clock over the previous one, ns
		most   int64   // upper bound of the doubt, ns
	}{
		{"two clocks", 2, [][]int{everyone(2)}, 0, 2 * transfer},
		{"five clocks, each against each", 5, [][]int{everyone(5)}, 0, 2 * transfer},
		{"compared through other clocks", 4, [][]int{{0, 1}, {1, 2}, {2, 3}}, 350_000, 2 * transfer},
		{"many clocks, compared through the first", directPairs + 4, [][]int{everyone(directPairs + 4)}, 0, 4 * transfer},
		{"many clocks, compared through several others", directPairs + 4, [][]int{everyone(10), everyone(directPairs + 4)[9:]}, 0, 8 * transfer},
	} {
		operations := []string{toytrace.AllReduce, "ncclDevKernel_AllGather_RING_LL", "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL"}
		rng := rand.New(rand.NewPCG(7, uint64(c.ranks)))
		var toys []*toytrace.Toy
		var wall []func(at int64) int64
		truth := make([]map[int64]int64, c.ranks) // true time by clock reading
		for i := range c.ranks {
			spread := 220_000 - c.each/2
			offset, drift := int64(i)*c.each+rng.Int64N(2*spread)-spread, (rng.Float64()-0.5)*200e-6
			wall = append(wall, func(at int64) int64 { return 1e9 + at + offset + int64(drift*float64(at)) })
			y := toytrace.New()
			y.T.Source.Rank.TP, y.T.Source.Host = i, fmt.Sprint("host", i)
			toys, truth[i] = append(toys, y), map[int64]int64{}
		}
		for n := range int64(steps) {
			begin := n * 10_000_000
			corr := make([]int64, c.ranks)
			for i, y := range toys {
				y.Step(wall[i](begin), wall[i](begin+9_000_000))
				corr[i] = y.Launch("cudaGraphLaunch", wall[i](begin+10), wall[i](begin+1000))
			}
			for g, members := range c.groups {
				come, last := map[int]int64{}, int64(0)
				for _, i := range members {
					come[i] = begin + int64(g+1)*2_000_000 + rng.Int64N(400_000)
					last = max(last, come[i])
				}
				for _, i := range members {
					at := wall[i](come[i])
					truth[i][at] = come[i]
					toys[i].Op(trace.Kernel, operations[g], corr[i], 1, at, wall[i](last+transfer), 1)
				}
			}
		}
		var ranks []*prep.Rank
		for _, y := range toys {
			ranks = append(ranks, prep.Trace(y.Done(), nil))
		}
		a := Align(ranks, prep.Join(ranks), nil)
		if len(a.Domains) != 1 || len(a.Domains[0].Matches) != steps*len(c.groups) || a.Broken > 0 {
			t.Errorf("%s: got %d domains, %d broken collectives, want 1 and 0", c.name, len(a.Domains), a.Broken)
			continue
		}
		d := a.Domains[0]
		for i, r := range d.Ranks {
			for n := range int64(steps) {
				at := n*10_000_000 + 4_000_000
				if add := wall[0](at) - r.Wall(wall[i](at)); add < r.Clock.Low || add > r.Clock.High {
					t.Errorf("%s: clock offset %d ns of rank %d in step %d is outside its bounds %d to %d", c.name, add, i, n, r.Clock.Low, r.Clock.High)
				}
			}
		}
		direct := map[[2]int32]*clock.Bounds{}
		bounds := func(late, other int32) *clock.Bounds {
			key := [2]int32{late, other}
			if direct[key] == nil {
				var ref, own []clock.Event
				for i := range d.Matches {
					var p, q *Part
					for j := range d.Matches[i].At {
						switch at := &d.Matches[i].At[j]; at.Rank {
						case late:
							p = at
						case other:
							q = at
						}
					}
					if p != nil && q != nil {
						ref, own = append(ref, clock.Event{Start: q.Start, End: q.End}), append(own, clock.Event{Start: p.Start, End: p.End})
					}
				}
				direct[key], _ = clock.Bound(ref, own)
			}
			return direct[key]
		}
		pairs, feigned := 0, 0
		for i := range d.Matches {
			at := d.Matches[i].At
			for _, p := range at {
				for _, q := range at {
					real := truth[p.Rank][d.Ranks[p.Rank].Ops[p.Op].Start] - truth[q.Rank][d.Ranks[q.Rank].Ops[q.Op].Start]
					seems, doubt := p.Start-q.Start, d.Doubt(p.Rank, q.Rank, p.Start)
					if seems-doubt > real+100 {
						t.Errorf("%s, step %d: rank %d arrives %d ns after rank %d, but the apparent %d ns minus a doubt of %d exceed that", c.name, d.Matches[i].Step, p.Rank, real, q.Rank, seems, doubt)
					}
					least := int64(0)
					if p.Rank != q.Rank {
						lo, _ := bounds(p.Rank, q.Rank).At(p.Start)
						least = max(0, -lo-1000) // drift between the two
					}
					if doubt < least || doubt > c.most || p.Rank == q.Rank && doubt != 0 {
						t.Errorf("%s: got a doubt between ranks %d and %d of %d ns, want %d to %d", c.name, p.Rank, q.Rank, doubt, least, c.most)
					}
					pairs++
					if seems > real+20_000 {
						feigned++
					}
				}
			}
		}
		if feigned*8 < pairs {
			t.Errorf("%s: of %d pairs only %d have feigned lateness, want at least an eighth", c.name, pairs, feigned)
		}
	}
}

// TestFewCollectives: collectives too few to show a drift by their ends still bound it, for any number of clocks.
func TestFewCollectives(t *testing.T) {
	for _, n := range []int{2, directPairs + 4} {
		var toys []*toytrace.Toy
		for i := range n {
			toys = append(toys, toytrace.New())
			toys[i].T.Source.Rank.TP, toys[i].T.Source.Host = i, fmt.Sprint("host", i)
		}
		rng := rand.New(rand.NewPCG(3, 4))
		for step := range int64(12) {
			begin, last, come := step*500_000_000, int64(0), make([]int64, n)
			for i := range come {
				come[i] = begin + 2_000_000 + rng.Int64N(40_000)
				last = max(last, come[i])
			}
			last += step / 6 * 40_000_000 // steps are long from step 6 on
			for i, y := range toys {
				wall := func(at int64) int64 { return 1e9 + at + int64(i)*5_000 + int64(float64(i%3)*60e-6*float64(at)) }
				y.Step(wall(begin), wall(begin+400_000_000))
				corr := y.Launch("cudaGraphLaunch", wall(begin+10), wall(begin+1000))
				y.Op(trace.Kernel, toytrace.AllReduce, corr, 1, wall(come[i]), wall(last+12_000), 1)
			}
		}
		var ranks []*prep.Rank
		for _, y := range toys {
			ranks = append(ranks, prep.Trace(y.Done(), nil))
		}
		if a := Align(ranks, prep.Join(ranks), nil); len(a.Domains) != 1 || len(a.Domains[0].Matches) != 12 || a.Broken > 0 {
			t.Errorf("%d clocks: got %d domains, %d broken collectives, clocks %v; want one domain with 12 matches", n, len(a.Domains), a.Broken, a.Clocks)
		}
	}
}
