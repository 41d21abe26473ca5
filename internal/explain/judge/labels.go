package judge

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/match"
)

// Whether chance makes a rank late so often. If no rank is to blame, it might have been any
// of them in each step: the labels of ranks can be permuted. Lateness of one step may last
// into the next, so steps that follow each other keep their labels together, in blocks.
// What is counted is the clearest stretch of any rank, as the one that was found is.

const (
	// falseShare of the findings on late ranks may be false.
	falseShare = 0.05
	// mostLabels is how many permutations are drawn where there are more.
	mostLabels = 1999
)

// score says how a rank's stretch stands out over some steps: a step in which it is late
// counts 1, another -1.
type score struct {
	sum, best, front, back int // of all steps; of any stretch, any from the first on, any to the last
}

func (s *score) add(x int) {
	s.sum += x
	s.front = max(s.front, s.sum)
	s.back = max(s.back+x, 0)
	s.best = max(s.best, s.back)
}

// labels are the scores of the ranks, block by block.
type labels struct {
	ranks, named int       // named is how many ranks are called late
	common       []int     // what a rank scores that is late in no step of the block
	odd          [][]score // of the other ranks; which of them is which does not matter
	own          [][]int   // whose they are
}

// blockLength is how many steps keep their labels together: the fourth root of their
// number (Hall, Horowitz and Jing 1995, for one-sided probabilities).
func blockLength(steps int) int {
	return max(1, int(math.Sqrt(math.Sqrt(float64(steps)))))
}

// labelled divides steps into blocks of a length. what is the score of a rank in a step, no that of a
// rank that is not late.
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

// statistic is how clear the stretches of the clearest ranks are, if the scores are those
// of these ranks.
func (l *labels) statistic(of [][]int, now []running) int {
	clear(now)
	passed := 0 // the sum of what was common
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
	slices.SortFunc(now, func(x, y running) int { return y.best - x.best })
	sum := 0
	for _, r := range now[:l.named] {
		sum += r.best
	}
	return sum
}

// running is the clearest stretch of a rank so far, and the one that goes on.
type running struct{ best, sum, seen int }

// atLeast is the probability of a statistic of so much or more if labels mean nothing:
// counted over all permutations if there are few, else over some drawn at random.
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
	random := rand.New(rand.NewPCG(1, 2)) // the same capture has the same report
	order := make([]int, l.ranks)
	for i := range order {
		order[i] = i
	}
	of := make([][]int, len(l.own))
	for b := range of {
		of[b] = make([]int, len(l.own[b]))
	}
	hits := 1 // as recorded
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

// permutations is how many there are that differ, the first labels kept: which rank is
// which does not matter.
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

// each visits all of them.
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

// tellable tells whether a lateness of some ranks, in so many blocks, could be told from
// chance: the probability that the labels of all blocks agree is low enough.
func tellable(ranks, named, blocks int) bool {
	ways := 1.0
	for k := range named {
		ways *= float64(ranks-k) / float64(k+1)
	}
	return math.Pow(ways, float64(1-blocks)) <= falseShare
}

// byStills is the probability that chance gives one rank so many of all standstills: each might have been any rank's.
// 0: they are too few to tell, even if all were this rank's.
func byStills(s *standstills, ranks int) float64 {
	mine := times(s.list)
	if mostOf(ranks, mine, 0) > falseShare {
		return 0
	}
	return mostOf(ranks, mine, s.others)
}

// mostOf is the probability that chance gives one of some ranks so many events or more, if the others together have
// some.
func mostOf(ranks, mine, others int) float64 {
	return min(1, float64(ranks)*metric.AtLeast(mine, mine+others, 1/float64(ranks)))
}

// byLabels is the probability that chance makes some ranks late as a run says of one of
// them; 0: that cannot be tested. all are the verdicts on all ranks.
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
	// Steps that cost far less than those of the finding are late by something else.
	var costs []int64
	for _, r := range ranks {
		for _, n := range run.steps {
			if all[r].yes[run.cause][n] {
				costs = append(costs, all[r].split[n][run.cause])
			}
		}
	}
	least := int64(levelShare * metric.MedianInPlace(costs))
	latest := make([]int64, end) // what the rank costs that costs most, by step
	for _, n := range steps {
		for r := range all {
			if all[r].yes[run.cause][n] {
				latest[n] = max(latest[n], all[r].split[n][run.cause])
			}
		}
	}
	late := func(r, n int) bool {
		ns := all[r].split[n][run.cause]
		return all[r].yes[run.cause][n] && ns >= least && 2*ns >= latest[n] && (!run.recurring || worthNaming(a, all[r].split, []int{n}, run.cause))
	}
	no := -1
	if run.recurring {
		no = 0 // single steps: how many there are is what counts
	}
	scoreOf := func(r, n int) int {
		if late(r, n) {
			return 1
		}
		return no
	}
	found, own, others := 0, 0, 0
	var lateIn []int // steps
	ofRun := map[int]bool{}
	for _, n := range run.steps {
		ofRun[n] = true
	}
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
	length := blockLength(len(steps))
	if !tellable(len(all), len(ranks), blocksOf(steps, lateIn, length)) && (run.stays || alone(lateIn)) {
		length = 1 // what comes and goes does not last into the next step
	}
	if tellable(len(all), len(ranks), blocksOf(steps, lateIn, length)) || others >= own {
		return labelled(len(all), len(ranks), steps, length, no, scoreOf).atLeast(found)
	}
	// What is too short to be told from chance by the rank alone may be so by its regularity.
	if p := byPeriod(len(all), others, steps, lateIn); len(ranks) == 1 && p <= falseShare {
		return p
	}
	return 0
}

// blocksOf is in how many blocks of steps some of them lie.
func blocksOf(steps, some []int, length int) (n int) {
	for block := range slices.Chunk(steps, length) {
		if slices.ContainsFunc(block, func(s int) bool { return slices.Contains(some, s) }) {
			n++
		}
	}
	return n
}

// alone tells that no two of some steps follow each other.
func alone(steps []int) bool {
	for i := 1; i < len(steps); i++ {
		if steps[i] == steps[i-1]+1 {
			return false
		}
	}
	return true
}

// byPeriod is the probability that chance makes one of some ranks late in as many steps, where others are in some, and
// these as regular, as some are; 1 if they are not.
func byPeriod(ranks, others int, steps, late []int) float64 {
	if period(late) == 0 {
		return 1
	}
	random := rand.New(rand.NewPCG(1, 2))
	regular := 1 // as recorded
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
	return min(1, 2*mostOf(ranks, len(late), others)*float64(regular)/(mostLabels+1)) // this or the test by ranks alone
}

// period is by how many steps, two or more, some follow each other regularly; 0: they do not.
// Where steps of a regular sequence are missing, at least three in four are there. Steps that
// follow each other directly prove nothing: lateness of one may last into the next.
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

// runMore tells whether some ranks run more kernels than any other in each of these steps: that is how their program is,
// and no chance.
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
