package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/prep"
)

// lateIn returns the scores of ranks shown in a picture, one rank per line: x late, . not.
func lateIn(picture ...string) func(rank, step int) int {
	return func(rank, step int) int {
		return map[byte]int{'x': 1, '.': -1}[picture[rank][step]]
	}
}

func stepsTo(n int) (steps []int) {
	for i := range n {
		steps = append(steps, i)
	}
	return steps
}

// TestLabels checks probabilities counted by hand.
func TestLabels(t *testing.T) {
	for _, c := range []struct {
		what  string
		ranks []string
		least int
		want  float64
	}{
		{"one of two in all six steps", []string{"xxxxxx", "......"}, 6, 2.0 / 64},
		{"one of four in all four", []string{"xxxx", "....", "....", "...."}, 4, 4.0 / 256},
		{"both ranks late", []string{"xxxxxx", "xxxxxx"}, 6, 1},
		{"steps without a late rank do not count", []string{"..xxxxxx..", ".........."}, 6, 2.0 / 64},
		{"a stretch of two steps, of two ranks: any order but strict turns", []string{"xx.x", "..x."}, 2, 1 - 2.0/16},
	} {
		l := labelled(len(c.ranks), 1, stepsTo(len(c.ranks[0])), blockLength(len(c.ranks[0])), -1, lateIn(c.ranks...))
		if got := l.atLeast(c.least); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: got probability %v, want %v", c.what, got, c.want)
		}
	}
}

// TestLabelsBlocks: from sixteen steps on, labels of pairs of steps stay together.
func TestLabelsBlocks(t *testing.T) {
	for _, c := range []struct{ steps, block int }{{1, 1}, {15, 1}, {16, 2}, {80, 2}, {81, 3}, {256, 4}, {10_000, 10}} {
		if got := blockLength(c.steps); got != c.block {
			t.Errorf("%d steps: got blocks of %d, want %d", c.steps, got, c.block)
		}
	}
	late := lateIn(strings.Repeat("x", 16), strings.Repeat(".", 16))
	if got, want := labelled(2, 1, stepsTo(16), blockLength(16), -1, late).atLeast(16), 2.0/256; got != want {
		t.Errorf("late in 8 blocks of 8: got probability %v, want %v", got, want)
	}
}

// TestLabelsNaive checks both ways of counting against the simplest one: all permutations of all blocks, step by step.
func TestLabelsNaive(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for n := range 60 {
		const ranks = 3
		length, named := 3+n%4, 1+n%2
		score := make([][]int, ranks)
		for r := range score {
			for range length {
				score[r] = append(score[r], random.IntN(3)-1)
			}
		}
		what := func(r, step int) int { return score[r][step] }
		l := labelled(ranks, named, stepsTo(length), blockLength(length), -1, what)
		for least := 1; least <= length; least++ {
			want := naive(score, named, least)
			if got := l.atLeast(least); math.Abs(got-want) > 0.04 { // 2000 are drawn, few are counted exactly
				t.Errorf("scores %v, %d named ranks, score of at least %d: got probability %v, want %v", score, named, least, got, want)
			}
		}
	}
}

func naive(score [][]int, named, least int) float64 {
	orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	hits, total := 0, 0
	rows := make([][]int, len(score))
	var from func(step int)
	from = func(step int) {
		if step == len(score[0]) {
			total++
			var best []int
			for _, row := range rows {
				most := 0
				for i := range row {
					sum := 0
					for _, x := range row[i:] {
						sum += x
						most = max(most, sum)
					}
				}
				best = append(best, most)
			}
			sum := max(best[0], best[1], best[2])
			if named == 2 {
				sum = best[0] + best[1] + best[2] - min(best[0], best[1], best[2])
			}
			if sum >= least {
				hits++
			}
			return
		}
		for _, order := range orders {
			for r := range rows {
				rows[r] = append(rows[r], score[order[r]][step])
			}
			from(step + 1)
			for r := range rows {
				rows[r] = rows[r][:step]
			}
		}
	}
	from(0)
	return float64(hits) / float64(total)
}

// TestLabelsFalse: where in each step every rank is late with the same probability, a probability of at most 5 % occurs
// at most 5 % of the time.
func TestLabelsFalse(t *testing.T) {
	for _, c := range []struct {
		ranks, steps int
		late         float64
	}{{2, 12, 0.5}, {2, 60, 0.4}, {4, 30, 0.3}, {8, 40, 0.1}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			const windows = 400
			random := rand.New(rand.NewPCG(5, 6))
			wrong := 0
			for range windows {
				late := make([][]bool, c.ranks)
				for r := range late {
					for range c.steps {
						late[r] = append(late[r], random.Float64() < c.late)
					}
				}
				l := labelled(c.ranks, 1, stepsTo(c.steps), blockLength(c.steps), -1, func(r, n int) int {
					if late[r][n] {
						return 1
					}
					return -1
				})
				if l.atLeast(l.statistic(l.own, make([]running, c.ranks))) <= falseShare {
					wrong++
				}
			}
			if wrong > windows*7/100 { // 5 %, plus the error of 400 windows
				t.Errorf("got p of at most 5 %% in %d of %d windows, want at most 7 %%", wrong, windows)
			}
		})
	}
}

// TestTellable: the number of blocks too small for separating a late rank from chance.
func TestTellable(t *testing.T) {
	for _, c := range []struct{ ranks, named, least int }{{2, 1, 6}, {3, 1, 4}, {4, 1, 4}, {8, 1, 3}, {64, 1, 2}, {4, 3, 4}, {5, 3, 3}} {
		if tellable(c.ranks, c.named, c.least-1) || !tellable(c.ranks, c.named, c.least) {
			t.Errorf("tellable: %d of %d ranks: want %d as the least number of blocks", c.named, c.ranks, c.least)
		}
	}
}

// TestStandstillsOfOneRank: the probability that all stalls hit the same rank; a span in the middle of a stall does not
// make it two.
func TestStandstillsOfOneRank(t *testing.T) {
	stills := func(starts ...int64) (list []prep.Still) {
		for _, at := range starts {
			list = append(list, prep.Still{Interval: prep.Interval{Start: at * 1e6, End: (at + 4) * 1e6}})
		}
		return list
	}
	for _, c := range []struct {
		what   string
		starts []int64 // ms; each lasts 4 ms
		ranks  int
		others int
		want   float64 // 0: too few to test
	}{
		{"6 of 6, of 2 ranks", []int64{0, 14, 28, 42, 56, 70}, 2, 0, 1. / 32},
		{"4 of 4, of 4 ranks", []int64{0, 14, 28, 42}, 4, 0, 1. / 64},
		{"4 of 4, of 2 ranks", []int64{0, 14, 28, 42}, 2, 0, 0},
		{"one of four pieces, of 4 ranks", []int64{0, 4, 9, 13}, 4, 0, 0},
		{"6 of 12, of 2 ranks", []int64{0, 14, 28, 42, 56, 70}, 2, 6, 1},
	} {
		if p := byStills(&standstills{list: stills(c.starts...), others: c.others}, c.ranks); math.Abs(p-c.want) > 1e-9 {
			t.Errorf("%s: got probability %g, want %g", c.what, p, c.want)
		}
	}
}

// TestRegularSteps finds the period of late steps. Lateness of other ranks makes chance more likely.
func TestRegularSteps(t *testing.T) {
	for _, c := range []struct {
		late  []int
		every int
	}{
		{[]int{5, 11, 17}, 6},
		{[]int{8, 16, 32}, 8}, // one is missing
		{[]int{5, 6, 7}, 0},
		{[]int{1, 4, 9}, 0},
	} {
		if got := period(c.late); got != c.every {
			t.Errorf("late steps %v: got period %d, want %d", c.late, got, c.every)
		}
	}
	late := []int{5, 11, 17, 23}
	if alone, beside := byPeriod(2, 0, stepsTo(25), late), byPeriod(2, 2, stepsTo(25), late); alone > falseShare || beside < 2*alone {
		t.Errorf("got p %.3f if no other rank is late, %.3f if others are late in two steps, want it significant and at least doubled", alone, beside)
	}
}
