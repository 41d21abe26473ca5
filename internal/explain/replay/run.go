package replay

import "math"

// Change is a list of nodes with new times, in the order of nodes. An empty Change leaves everything as recorded.
type Change []changed

type changed struct {
	node     int32
	dur, gap int64
}

// Node describes a node of the graph, by which callers choose the nodes that change.
type Node struct {
	What What
	Rank int // index in the domain's ranks
	Step int // step in the capture's numbering; -1: none
	Op   int // index in the rank's Ops; -1: none
	Call int // index in the rank's Calls; -1: none
	Key  int // kernel and grid that it runs or launches, as an index in Names.Keys; -1: none
}

func (g *Graph) node(n *node) Node {
	out := Node{What: n.what, Rank: int(n.rank), Step: int(n.step), Op: none, Call: none, Key: int(n.key)}
	switch n.what {
	case Work, Arrive, Leave:
		out.Op = int(n.ref)
	case Host:
		out.Call = int(n.ref)
	}
	return out
}

// Scale multiplies the time of each node, and the gap before it, by factor(n). Meetings take no time, and arrivals have
// only gaps.
func (g *Graph) Scale(factor func(n Node) float64) Change {
	return g.scale(func(_ int32, n *node) float64 { return factor(g.node(n)) })
}

// scale is like Scale, but factor also gets the index of the node.
func (g *Graph) scale(factor func(i int32, n *node) float64) (c Change) {
	for i := range g.nodes {
		n := &g.nodes[i]
		if n.what == Meet || n.dur == 0 && n.gap == 0 {
			continue
		}
		if f := factor(int32(i), n); f != 1 {
			c = append(c, changed{int32(i), int64(float64(n.dur) * f), int64(float64(n.gap) * f)})
		}
	}
	return c
}

// ScaleGaps multiplies only the unexplained gaps.
func (g *Graph) ScaleGaps(factor func(n Node) float64) (c Change) {
	for i := range g.nodes {
		n := &g.nodes[i]
		if n.gap == 0 || n.what == Meet {
			continue
		}
		if f := factor(g.node(n)); f != 1 {
			c = append(c, changed{int32(i), n.dur, int64(float64(n.gap) * f)})
		}
	}
	return c
}

// Set gives ops other times. An op with a time of 0 vanishes together with the gap and the lag after the op before it.
func (g *Graph) Set(time func(rank, op int) (ns int64, ok bool)) (c Change) {
	for i := range g.nodes {
		n := &g.nodes[i]
		if n.what != Work && n.what != Leave {
			continue
		}
		ns, ok := time(int(n.rank), int(n.ref))
		switch {
		case !ok:
		case ns == 0:
			c = append(c, changed{int32(i), 0, -g.after(n)})
		case n.what == Leave:
			c = append(c, changed{int32(i), min(ns, n.dur), n.gap})
		default:
			c = append(c, changed{int32(i), ns, n.gap})
		}
	}
	return c
}

// after returns the lag after the op before n, if n waited for this op last.
func (g *Graph) after(n *node) int64 {
	best, lag := int64(math.MinInt64), int64(0)
	for k, from := range n.from {
		if from == none {
			continue
		}
		if at := g.nodes[from].at + int64(n.lag[k]); at > best {
			if best, lag = at, 0; g.nodes[from].what == Work || g.nodes[from].what == Leave {
				lag = int64(n.lag[k])
			}
		}
	}
	return max(lag, 0)
}

// Both combines two changes. If both change the same node, the factors multiply.
func (g *Graph) Both(a, b Change) Change {
	out := make(Change, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		x, y := &a[0], &b[0]
		switch {
		case x.node < y.node:
			out, a = append(out, *x), a[1:]
		case y.node < x.node:
			out, b = append(out, *y), b[1:]
		default:
			n := &g.nodes[x.node]
			out = append(out, changed{x.node, upon(x.dur, y.dur, n.dur), upon(x.gap, y.gap, n.gap)})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// upon combines two changes of the same time: was is the recorded value, and a and b are the values after each change.
func upon(a, b, was int64) int64 {
	if was == 0 {
		return 0
	}
	return int64(float64(a) * float64(b) / float64(was))
}

// Run computes the times of all nodes and returns the end of each step, in ns on the common clock. A step ends with its
// last GPU work on any rank. The end of a step without GPU work is 0.
func (g *Graph) Run(change Change) (ends []int64) {
	times, _ := g.runs.Get().(*[]int64)
	if times == nil {
		times = new(make([]int64, len(g.nodes)))
	}
	defer g.runs.Put(times)
	at := *times // end of each node; gap + dur until it is computed
	for i := range g.nodes {
		at[i] = g.nodes[i].gap + g.nodes[i].dur
	}
	for _, c := range change {
		at[c.node] = c.gap + c.dur
	}
	ends = make([]int64, g.End)
	for _, i := range g.order {
		n := &g.nodes[i]
		ready := int64(math.MinInt64)
		for k, from := range n.from {
			if from != none {
				ready = max(ready, at[from]+int64(n.lag[k]))
			}
		}
		if n.what == Meet {
			for _, from := range g.meets[n.ref] {
				ready = max(ready, at[from])
			}
		}
		if ready == math.MinInt64 { // a node that waits for nothing keeps its time
			ready = n.start() - n.gap
		}
		at[i] += ready
		if n.ends() && int(n.step) < len(ends) {
			ends[n.step] = max(ends[n.step], at[i])
		}
	}
	return ends
}

// ends reports whether a node is GPU work of a step.
func (n *node) ends() bool { return (n.what == Work || n.what == Leave) && n.step >= 0 }

// Recorded returns the recorded end of each step, in the same form as Run.
func (g *Graph) Recorded() []int64 {
	ends := make([]int64, g.End)
	for i := range g.nodes {
		if n := &g.nodes[i]; n.ends() && int(n.step) < len(ends) {
			ends[n.step] = max(ends[n.step], n.at)
		}
	}
	return ends
}

// Times returns the length of each step, in ns, from the end of the previous step to the end of the step. The length is
// 0 for the first step of a stretch, and if either end is missing.
func (g *Graph) Times(ends []int64) []int64 {
	out := make([]int64, len(ends))
	for i := g.First + 1; i < len(ends); i++ {
		if ends[i] != 0 && ends[i-1] != 0 && !g.begins[i] {
			out[i] = ends[i] - ends[i-1]
		}
	}
	return out
}
