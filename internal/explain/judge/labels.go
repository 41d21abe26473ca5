package judge

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/match"
)

// This file contains a permutation test for late ranks. If no rank is to blame, any rank might have been late in each
// step, so the labels of ranks can be permuted. Lateness in one step may last into the next step, so labels are
// permuted in blocks of consecutive steps. The statistic is the score of the clearest stretch of any rank, because the
// stretch under test was selected in the same way.

const (
	// falseShare is the accepted share of false findings among the findings on late ranks.
	falseShare = 0.05
	// mostLabels is the number of permutations up to which all are counted. If there are more, mostLabels random
	// permutations are drawn.
	mostLabels = 1999
)

// score describes how clearly a rank is late over some steps. A late step counts 1, any other step -1.
type score struct {
	sum, best, front, back int // sum of all steps; largest sum of any stretch, of an initial one, of a final one
}

func (s *score) add(x int) {
	s.sum += x
	s.front = max(s.front, s.sum)
	s.back = max(s.back+x, 0)
	s.best = max(s.best, s.back)
}

// labels holds the scores of the ranks, block by block.
type labels struct {
	ranks, named int       // named: number of ranks found late
	common       []int     // per block, score of a rank that is late in no step of the block
	odd          [][]score // per block, scores of the other ranks, in any order
	own          [][]int   // per block, the ranks with the scores in odd
}

// blockLength returns the number of steps in a block: the fourth root of the number of all steps (Hall, Horowitz and
// Jing 1995, for one-sided probabilities).
func blockLength(steps int) int {
	return max(1, int(math.Sqrt(math.Sqrt(float64(steps)))))
}

// labelled divides steps into blocks of the given length and computes the scores. what returns the score of a rank in a
// step; no is the score of a rank that is not late.
func labelled(ranks, named int, steps []int, length, no int, what func(rank, step int) int) *labels {
	l := &labels{ranks: ranks, named: named}
	for block := range slices.Chunk(steps, length) {
		var odd []score
		var own []int
		for r := range ranks {
			var s score
			differs := false
			for _, n := range block {
				x := what(r, n)
				differs = differs || x != no
				s.add(x)
			}
			if differs {
				odd, own = append(odd, s), append(own, r)
			}
		}
		l.common, l.odd, l.own = append(l.common, no*len(block)), append(l.odd, odd), append(l.own, own)
	}
	return l
}

// statistic returns the sum of the scores of the clearest stretches of the l.named clearest ranks, if the scores in odd
// belong to the ranks in of. now is a buffer.
func (l *labels) statistic(of [][]int, now []running) int {
	clear(now)
	passed := 0 // sum of the common scores so far
	for b, odd := range l.odd {
		for k := range odd {
			s, r := &odd[k], &now[of[b][k]]
			r.sum = max(0, r.sum+passed-r.seen)
			r.best = max(r.best, s.best, r.sum+s.front)
			r.sum = max(0, r.sum+s.sum, s.back)
			r.seen = passed + l.common[b]
		}
		passed += l.common[b]
	}
	if l.named == 1 {
		best := 0
		for i := range now {
			best = max(best, now[i].best)
		}
		return best
	}
	sorts.By(now, func(x, y running) int { return y.best - x.best })
	sum := 0
	for _, r := range now[:l.named] {
		sum += r.best
	}
	return sum
}

// running holds the score of the clearest stretch of a rank so far, and of the current stretch.
type running struct{ best, sum, seen int }

// atLeast returns the probability that the statistic is at least least if labels are arbitrary. It counts over all
// permutations if there are few. If there are many, it counts over a random sample.
func (l *labels) atLeast(least int) float64 {
	now := make([]running, l.ranks)
	if all := l.permutations(); all <= mostLabels {
		hits, total := 0, 0
		l.each(func(of [][]int) {
			total++
			if l.statistic(of, now) >= least {
				hits++
			}
		})
		return float64(hits) / float64(total)
	}
	random := rand.New(rand.NewPCG(1, 2)) // fixed seed: the same capture gives the same report
	order := make([]int, l.ranks)
	for i := range order {
		order[i] = i
	}
	of := make([][]int, len(l.own))
	for b := range of {
		of[b] = make([]int, len(l.own[b]))
	}
	hits := 1 // 1 for the recorded labels
	for range mostLabels {
		for b := range of {
			for k := range of[b] {
				j := k + random.IntN(l.ranks-k)
				order[k], order[j] = order[j], order[k]
				of[b][k] = order[k]
			}
		}
		if l.statistic(of, now) >= least {
			hits++
		}
	}
	return float64(hits) / (mostLabels + 1)
}

// permutations returns the number of distinct labellings. The labels of the first block are fixed, since ranks are
// interchangeable.
func (l *labels) permutations() float64 {
	all, first := 1.0, true
	for _, own := range l.own {
		if len(own) == 0 {
			continue
		}
		for k := range own {
			if !first {
				all *= float64(l.ranks - k)
			}
		}
		first = false
	}
	return all
}

// each calls visit for all permutations.
func (l *labels) each(visit func(of [][]int)) {
	of := make([][]int, len(l.own))
	first := slices.IndexFunc(l.own, func(own []int) bool { return len(own) > 0 })
	var from func(b int)
	from = func(b int) {
		switch {
		case b == len(of):
			visit(of)
		case b == first, len(l.own[b]) == 0:
			of[b] = l.own[b]
			from(b + 1)
		case len(of[b]) == len(l.own[b]):
			from(b + 1)
		default:
			had := of[b]
			for r := range l.ranks {
				if !slices.Contains(had, r) {
					of[b] = append(slices.Clone(had), r)
					from(b)
				}
			}
			of[b] = had
		}
	}
	from(0)
}

// tellable reports whether a lateness of named ranks over the given number of blocks can be distinguished from chance.
// It can if the probability that the labels of all blocks agree by chance is low enough.
func tellable(ranks, named, blocks int) bool {
	ways := 1.0
	for k := range named {
		ways *= float64(ranks-k) / float64(k+1)
	}
	return math.Pow(ways, float64(1-blocks)) <= falseShare
}

// byStills returns the probability that one rank has this share of all stalls by chance, if each stall could have hit
// any rank. It returns 0 if there are too few stalls for a test: even if this rank had all of them, the result would
// not be significant.
func byStills(s *standstills, ranks int) float64 {
	mine := times(s.list)
	if mostOf(ranks, mine, 0) > falseShare {
		return 0
	}
	return mostOf(ranks, mine, s.others)
}

// mostOf returns an upper bound of the probability that, by chance, any one rank has at least mine events. The total
// number of events is mine + others.
func mostOf(ranks, mine, others int) float64 {
	return min(1, float64(ranks)*metric.AtLeast(mine, mine+others, 1/float64(ranks)))
}

// byLabels returns the probability that the given ranks are, by chance, as late as in run. It returns 0 if the lateness
// cannot be tested. run is a run of one of these ranks, and all holds the verdicts on all ranks.
func byLabels(a *match.Aligned, d *Domain, all []verdict, run *lateRun, ranks ...int) float64 {
	if run.cause == byWork && d.runMore(ranks, run.steps) {
		return 0
	}
	if run.still != nil {
		return byStills(run.still, len(all))
	}
	begin, end := d.Common()
	var steps []int
	for n := begin; n < end; n++ {
		if run.kind == "" || a.KindOf[n].String() == run.kind {
			steps = append(steps, n)
		}
	}
	// Steps that cost far less than the steps of the finding have another cause.
	var costs []int64
	for _, r := range ranks {
		for _, n := range run.steps {
			if all[r].yes[run.cause][n] {
				costs = append(costs, all[r].split[n][run.cause])
			}
		}
	}
	lowest := int64(run.least() * metric.MedianInPlace(costs))
	latest := make([]int64, end) // per step, the cost of the rank that costs most
	for _, n := range steps {
		for r := range all {
			if all[r].yes[run.cause][n] {
				latest[n] = max(latest[n], all[r].split[n][run.cause])
			}
		}
	}
	carried := run.stays && run.cause == byHost && len(ranks) == 1 && len(all) > 2 && d.carried(a, ranks[0], run.steps, int64(metric.Median(costs)))
	late := func(r, n int) bool {
		ns := all[r].split[n][run.cause]
		return all[r].yes[run.cause][n] && ns >= lowest && 2*ns >= latest[n] && (!run.recurring || worthNaming(a, all[r].split, []int{n}, run.cause)) &&
			(!carried || d.ownTime(r, n) > lateLimit(a, n))
	}
	no := -1
	if run.recurring {
		no = 0 // if lateness is intermittent, only the number of late steps counts
	}
	scoreOf := func(r, n int) int {
		if late(r, n) {
			return 1
		}
		return no
	}
	found, own, others := 0, 0, 0
	var lateIn []int // steps of run in which one of ranks is late
	ofRun := setOf(run.steps)
	for _, n := range steps {
		if !ofRun[n] {
			for r := range all {
				if !slices.Contains(ranks, r) && late(r, n) {
					others++
				}
			}
			continue
		}
		in := false
		for _, r := range ranks {
			found += scoreOf(r, n)
			if late(r, n) {
				own, in = own+1, true
			}
		}
		if in {
			lateIn = append(lateIn, n)
		}
	}
	if len(ranks) >= len(all) {
		return 0
	}
	least, length := 1, blockLength(len(steps))
	if carried {
		least = d.hostMemory(a, ranks, steps)
		length = max(length, least)
	}
	if !tellable(len(all), len(ranks), blocksOf(steps, lateIn, length)) && (run.stays || alone(lateIn)) {
		length = least // intermittent lateness does not last into the next step
	}
	if tellable(len(all), len(ranks), blocksOf(steps, lateIn, length)) || others >= own {
		return labelled(len(all), len(ranks), steps, length, no, scoreOf).atLeast(found)
	}
	// A lateness that is too short for this test may still be significant because it is regular.
	if p := byPeriod(len(all), others, steps, lateIn); len(ranks) == 1 && p <= falseShare {
		return p
	}
	return 0
}

// blocksOf divides steps into blocks and returns the number of blocks that contain at least one of the steps in some.
func blocksOf(steps, some []int, length int) (n int) {
	in := setOf(some)
	for block := range slices.Chunk(steps, length) {
		if slices.ContainsFunc(block, func(s int) bool { return in[s] }) {
			n++
		}
	}
	return n
}

func setOf(steps []int) map[int]bool {
	set := make(map[int]bool, len(steps))
	for _, n := range steps {
		set[n] = true
	}
	return set
}

// alone reports whether no two of the steps are consecutive.
func alone(steps []int) bool {
	for i := 1; i < len(steps); i++ {
		if steps[i] == steps[i-1]+1 {
			return false
		}
	}
	return true
}

// byPeriod returns the probability that one rank is late by chance in as many steps as late contains, and in an equally
// regular pattern. others is the number of steps in which other ranks are late. byPeriod returns 1 if the steps in late
// are not regular.
func byPeriod(ranks, others int, steps, late []int) float64 {
	if period(late) == 0 {
		return 1
	}
	random := rand.New(rand.NewPCG(1, 2))
	regular := 1 // 1 for the recorded steps
	drawn := slices.Clone(steps)
	for range mostLabels {
		for k := range late {
			j := k + random.IntN(len(drawn)-k)
			drawn[k], drawn[j] = drawn[j], drawn[k]
		}
		some := slices.Clone(drawn[:len(late)])
		slices.Sort(some)
		if period(some) > 0 {
			regular++
		}
	}
	return min(1, 2*mostOf(ranks, len(late), others)*float64(regular)/(mostLabels+1)) // doubled: one of two tests
}

// period returns the interval, of at least two steps, at which the late steps recur, or 0 if they do not recur
// regularly. At least three in four steps of a regular sequence must be late. Consecutive late steps prove nothing,
// since lateness may last into the next step.
func period(late []int) int {
	if len(late) < leastRecurring {
		return 0
	}
	every := 0
	for i := 1; i < len(late); i++ {
		every = gcd(every, late[i]-late[i-1])
	}
	if places := (late[len(late)-1]-late[0])/every + 1; every < 2 || 4*len(late) < 3*places {
		return 0
	}
	return every
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// runMore reports whether the given ranks run more kernels than every other rank in each of these steps. Ranks that run
// more kernels run a different program, so chance plays no part.
func (d *Domain) runMore(ranks, steps []int) bool {
	for _, n := range steps {
		least, most := math.MaxInt, 0
		for i, r := range d.Ranks {
			if n < r.First || n >= r.First+len(r.Steps) {
				continue
			}
			if k := r.Steps[n-r.First].Kernels; slices.Contains(ranks, i) {
				least = min(least, k)
			} else {
				most = max(most, k)
			}
		}
		if least <= most {
			return false
		}
	}
	return true
}
