package replay

// Piece is a section of the critical path of a step.
type Piece struct {
	Step  int // step to which the path belongs
	Rank  int // index in the domain's ranks
	Node  Node
	Lag   bool // the piece is the time between a node of kind After and this node
	After What
	Gap   bool // the piece is the unexplained part of that time
	NS    int64
}

// Path walks the critical path of each step for which Times has a length, by recorded times. It goes from the end of
// the step back to the end of the previous step, from each node to the node that determined its begin. It visits the
// pieces of a step from last to first; their lengths add up to the length of the step. For each collective on the path,
// Path calls second with the rank that arrived last, the rank that arrived before it, and the time between the two
// arrivals, in ns.
func (g *Graph) Path(visit func(p *Piece), second func(step, rank, before int, ns int64)) {
	ends := g.Recorded()
	last := make([]int32, len(ends))
	for _, i := range g.order {
		if n := &g.nodes[i]; n.ends() && int(n.step) < len(ends) && n.at == ends[n.step] {
			last[n.step] = i
		}
	}
	for step, ns := range g.Times(ends) {
		if ns > 0 {
			w := walk{Graph: g, step: step, until: ends[step] - ns, visit: visit, second: second}
			w.back(last[step])
		}
	}
}

// walk holds the state of the walk back through one step.
type walk struct {
	*Graph
	step   int
	until  int64
	now    Piece // the piece being visited
	visit  func(p *Piece)
	second func(step, rank, before int, ns int64)
}

func (w *walk) back(at int32) {
	for n := &w.nodes[at]; n.at > w.until; n = &w.nodes[at] {
		before := w.before(n)
		if before == none { // the walk has reached the start of the window
			w.piece(n, n.start(), n.at, Piece{})
			w.piece(n, w.until, n.start(), Piece{Lag: true, Gap: true})
			return
		}
		b := &w.nodes[before]
		gap := max(min(n.gap, n.start()-b.at), 0)
		w.piece(n, max(n.start(), b.at), n.at, Piece{}) // n may begin before b has ended
		w.piece(n, n.start()-gap, n.start(), Piece{Lag: true, Gap: true, After: b.what})
		w.piece(n, b.at, n.start()-gap, Piece{Lag: true, After: b.what})
		at = before
	}
}

func (w *walk) piece(n *node, from, to int64, p Piece) {
	if p.NS = to - max(from, w.until); p.NS > 0 {
		p.Step, p.Rank, p.Node = w.step, int(n.rank), w.node(n)
		w.now = p
		w.visit(&w.now)
	}
}

// before returns the node that determined when n could begin. This may be a launch that ended before the previous op,
// if the lag of the launch is longer.
func (w *walk) before(n *node) int32 {
	if n.what == Meet {
		return w.lastToCome(n)
	}
	best, latest := int32(none), int64(0)
	for i, from := range n.from {
		if from == none {
			continue
		}
		if at := w.nodes[from].at + int64(n.lag[i]); best == none || at > latest {
			best, latest = from, at
		}
	}
	return best
}

// lastToCome returns the last arrival at a meeting.
func (w *walk) lastToCome(n *node) int32 {
	best, second := int32(none), int32(none)
	for _, from := range w.meets[n.ref] {
		switch {
		case best == none || w.nodes[from].at > w.nodes[best].at:
			best, second = from, best
		case second == none || w.nodes[from].at > w.nodes[second].at:
			second = from
		}
	}
	if second != none {
		w.second(w.step, int(w.nodes[best].rank), int(w.nodes[second].rank), w.nodes[best].at-w.nodes[second].at)
	}
	return best
}

// Total returns the total length, in ns, and the number of the steps that Path walks.
func (g *Graph) Total() (ns int64, steps int) {
	for _, t := range g.Times(g.Recorded()) {
		if t > 0 {
			ns += t
			steps++
		}
	}
	return ns, steps
}
