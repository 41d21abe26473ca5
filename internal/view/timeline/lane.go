package timeline

// lane holds the spans of one row at one depth as columns, in time order. The spans do not overlap. Times are ns since
// the capture's origin, on the common clock of the ranks.
//
// The time to look up a pixel column is nearly independent of the number of spans in the column. Spans at a given time
// are located by a table of equal intervals. The covered part of an interval follows from sums up to every 16th span.
// The visible span is found by a pyramid with the longest of every 16, 256, 4096, … spans. The index takes 2 bytes per
// span in addition to the columns.
type lane struct {
	rank       int
	start, end []int64
	span       []int32 // index of each span in the rank's trace
	class      []uint8
	wait       []int64 // for collectives, ns from the start to the last rank's arrival; nil: no collectives

	covered, waited []int64  // sums up to each fan-th span
	longest         [][]node // level k: the longest of each fan^(k+1) spans; of equal spans, the first
	counts          []int32  // number of spans that begin before each interval of 2^width ns
	width           uint
}

// node is a span of the lane and its duration, so that lookups need not read the columns.
type node struct {
	dur  int64
	span int32
}

var none = node{-1, -1}

// fan is the number of children of a node in the pyramid.
const fan = 16

// index builds the index of the lane. The columns must be complete.
func (l *lane) index() {
	n := len(l.start)
	blocks := (n + fan - 1) / fan
	l.covered = make([]int64, 0, blocks)
	if l.wait != nil {
		l.waited = make([]int64, 0, blocks)
	}
	var covered, waited int64
	for i := range n {
		if i%fan == 0 {
			l.covered = append(l.covered, covered)
			if l.wait != nil {
				l.waited = append(l.waited, waited)
			}
		}
		covered += l.end[i] - l.start[i]
		if l.wait != nil {
			waited += l.wait[i]
		}
	}
	for below := n; below > fan; {
		nodes := make([]node, 0, (below+fan-1)/fan)
		for from := 0; from < below; from += fan {
			best := none
			for k := from; k < min(from+fan, below); k++ {
				best = longer(best, l.node(len(l.longest)-1, k))
			}
			nodes = append(nodes, best)
		}
		l.longest = append(l.longest, nodes)
		below = len(nodes)
	}
	l.count()
}

// count builds the table of intervals, with one interval per fan/2 spans.
func (l *lane) count() {
	n := len(l.start)
	if n == 0 {
		return
	}
	length := l.start[n-1] - l.start[0]
	for length>>l.width > int64(2*n/fan) {
		l.width++
	}
	l.counts = make([]int32, length>>l.width+2)
	i := 0
	for k := range l.counts {
		for i < n && l.start[i] < l.start[0]+int64(k)<<l.width {
			i++
		}
		l.counts[k] = int32(i)
	}
}

// node returns the longest span below the k-th node of a level. Level -1 contains the spans themselves.
func (l *lane) node(level, k int) node {
	if level < 0 {
		return node{l.end[k] - l.start[k], int32(k)}
	}
	return l.longest[level][k]
}

// longer returns the longer of two spans, or a if both have the same length.
func longer(a, b node) node {
	if b.dur > a.dur {
		return b
	}
	return a
}

// longestOf returns the longest span in [i, j); of equal spans, the first.
func (l *lane) longestOf(i, j int) node {
	left, right := none, none
	for level := -1; i < j; level++ {
		if level == len(l.longest)-1 || j-i <= 2 {
			for ; i < j; i++ {
				left = longer(left, l.node(level, i))
			}
			break
		}
		for ; i%fan != 0 && i < j; i++ {
			left = longer(left, l.node(level, i))
		}
		for ; j%fan != 0 && i < j; j-- {
			right = longer(l.node(level, j-1), right)
		}
		i, j = i/fan, j/fan
	}
	return longer(left, right)
}

// before returns the number of spans that begin before a time.
func (l *lane) before(at int64) int {
	n := len(l.start)
	if n == 0 || at <= l.start[0] {
		return 0
	}
	if at > l.start[n-1] {
		return n
	}
	k := (at - l.start[0]) >> l.width
	from, end := int(l.counts[k]), int(l.counts[k+1])
	for from < end {
		if mid := int(uint(from+end) >> 1); l.start[mid] < at {
			from = mid + 1
		} else {
			end = mid
		}
	}
	return from
}

// coveredTo returns how much of the time before at is covered by spans. i is the number of spans that begin before at.
func (l *lane) coveredTo(at int64, i int) (sum int64) {
	if i == 0 {
		return 0
	}
	block := (i - 1) / fan
	sum = l.covered[block]
	for k := block * fan; k < i-1; k++ {
		sum += l.end[k] - l.start[k]
	}
	return sum + min(l.end[i-1], at) - l.start[i-1]
}

// waitedTo returns how much of the time before at spans spent waiting for other ranks. i is the number of spans that
// begin before at.
func (l *lane) waitedTo(at int64, i int) (sum int64) {
	if i == 0 || l.wait == nil {
		return 0
	}
	block := (i - 1) / fan
	sum = l.waited[block]
	for k := block * fan; k < i-1; k++ {
		sum += l.wait[k]
	}
	return sum + min(l.wait[i-1], at-l.start[i-1])
}

// overlapping returns the range [i, j) of spans that overlap the interval [from, to). A span of length 0 belongs to the
// interval in which it begins.
func (l *lane) overlapping(from, to int64) (i, j int) {
	i, j = l.before(from), l.before(to)
	if i > 0 && l.end[i-1] > from {
		i--
	}
	return i, j
}

// coveredIn returns how much of [from, to) spans cover.
func (l *lane) coveredIn(from, to int64) int64 {
	return l.coveredTo(to, l.before(to)) - l.coveredTo(from, l.before(from))
}
