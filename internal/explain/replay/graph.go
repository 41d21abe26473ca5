// Package replay replays a window from recorded durations and dependencies, to predict the length of steps under
// changes, and to find their critical path.
//
// A Graph connects each moment of a domain's ranks to the moments that it waits for. A host thread goes from call to
// call. An op begins once it is launched, the previous op on its stream has ended, and so has any op of another stream
// that it waits for. A collective's ops end once it has begun on all ranks, after its transfer. A blocking call returns
// once the work it waits for is done.
//
// Traces do not record which stream waits for which event. Waits between streams are inferred: streams of a rank that
// never run at once form one queue, and an op that begins just as an op of another stream has ended waits for it.
//
// Between an end and the moment that waits for it lies a lag: the rank's median for this kind of lag, not the recorded
// value. A later begin leaves an unexplained gap, which stays with its moment. Times are int64 ns.
package replay

import (
	"cmp"
	"sync"

	"github.com/stepscope/stepscope/internal/base/parallel"
	"github.com/stepscope/stepscope/internal/base/runsort"
	"github.com/stepscope/stepscope/internal/explain/match"
)

// What is the kind of a node: a type of moment.
type What uint8

const (
	Host   What = iota // a host thread before a call
	Return             // it returns from a call that waited for the device
	Work               // a kernel, copy or memset
	Arrive             // an op of a collective has begun
	Meet               // all ranks have begun a collective
	Leave              // an op of a collective ends, its transfer after the meeting
)

// none means no node, op or name.
const none = -1

// node is a moment: it begins gap after the last of the nodes it waits for, and ends dur later.
type node struct {
	at       int64    // its recorded end, on the common clock
	dur, gap int64    //
	from     [3]int32 // the nodes that it waits for; none
	lag      [3]int32 // after their ends, ns
	rank     int32    // in the domain's ranks; none for a meeting
	step     int32    // in the capture's numbering; none
	ref      int32    // the op or call; for a meeting its index in meets
	key      int32    // the kernel with its grid that it runs or launches; none
	what     What
}

func (n *node) start() int64 { return n.at - n.dur }

// Graph is the ranks of one domain.
type Graph struct {
	domain *match.Domain
	nodes  []node    // by rank, thread by thread and then the device
	order  []int32   // indices of nodes, each after those that it waits for
	meets  [][]int32 // arrivals at each meeting, of GPU and host collectives
	// First and End are the steps that all ranks have in full, from First to before End.
	First, End int
	begins     map[int]bool    // the first steps of stretches
	runs       sync.Pool       // *[]int64: times of the nodes, reused by runs
	to         []int32         // the step that each node is part of or precedes
	sums       places[tallies] // totals by rank and step, computed on first use
	tallied    sync.Once
}

// New builds the graph of a domain.
func New(d *match.Domain) *Graph {
	g := &Graph{domain: d, begins: map[int]bool{}}
	g.First, g.End = d.Common()
	for _, r := range d.Ranks {
		for i := range r.Steps {
			if i > 0 && r.Begins(i) {
				g.begins[i+r.First] = true
			}
		}
	}
	b := &builder{Graph: g, leave: make([][]int32, len(d.Ranks)), hosts: hostMoments(d), engine: findEngine(d)}
	b.addRanks()
	b.addMeets()
	b.addHostMeets()
	b.addTurns()
	b.inOrder()
	return g
}

// Loose counts the steps, after the first, with a node that waits for nothing recorded: it keeps its recorded time
// under any change, and holds up the rest.
func (g *Graph) Loose() (steps int) {
	of := make([]bool, g.End)
	for i := range g.nodes {
		n := &g.nodes[i]
		if n.what != Meet && n.from == [3]int32{none, none, none} && int(n.step) > g.First && int(n.step) < g.End && !of[n.step] {
			of[n.step] = true
			steps++
		}
	}
	return steps
}

// sizeOf returns the number of nodes that a rank may have: those of its calls, waits and ops.
func sizeOf(r *match.Rank, hosts []hostPart) int {
	n := len(r.Calls) + len(r.Ops) + 2*len(hosts)
	for _, list := range r.Blocked {
		n += 2 * len(list)
	}
	for i := range r.Calls {
		if r.Calls[i].Blocks {
			n += 2
		}
	}
	return n
}

// builder makes the nodes of a graph in any order and sorts them at the end.
type builder struct {
	*Graph
	leave [][]int32    // by rank and op: the node at which the op ends
	hosts [][]hostPart // by rank: its parts of host collectives, by start
	engine
}

func (b *builder) add(n node) int32 {
	b.nodes = append(b.nodes, n)
	return int32(len(b.nodes) - 1)
}

// newNode returns a node that waits for nothing yet.
func newNode(what What, rank int32, at, dur int64) node {
	return node{what: what, rank: rank, at: at, dur: dur, from: [3]int32{none, none, none}, step: none, ref: none, key: none}
}

// await makes a node wait for another. It reports false, and adds no wait, if that contradicts the times.
func (n *node) await(from int32, ends int64, lag int64) bool {
	if ends+min(lag, 0) > n.start() {
		return false
	}
	for i := range n.from {
		if n.from[i] == none {
			n.from[i], n.lag[i] = from, int32(min(lag, 1<<30))
			return true
		}
	}
	return false
}

// ready returns when the node could have begun in the recording; ok is false if it waits for nothing.
func (b *builder) ready(n *node) (at int64, ok bool) {
	for i, from := range n.from {
		if from != none {
			if t := b.nodes[from].at + int64(n.lag[i]); !ok || t > at {
				at, ok = t, true
			}
		}
	}
	return at, ok
}

// addRanks makes the nodes of all ranks, several ranks at once, each in its part of the list.
func (b *builder) addRanks() {
	ranks := b.domain.Ranks
	usual := usualLags(ranks)
	begin := make([]int, len(ranks)+1)
	for i, r := range ranks {
		begin[i+1] = begin[i] + sizeOf(r, b.hosts[i]) + 2*len(b.turns[i])
		if i == b.engine.rank {
			begin[i+1] += len(b.outputs)
		}
	}
	size := begin[len(ranks)]
	for i := range b.domain.Matches {
		size += 1 + len(b.domain.Matches[i].At)
	}
	for i := range b.domain.Hosts {
		size += len(b.domain.Hosts[i].At)
	}
	list := make([]node, size)
	of := make([][]node, len(ranks))
	parallel.Each(len(ranks), func(i int) {
		own := &builder{Graph: &Graph{domain: b.domain, nodes: list[begin[i]:begin[i]:begin[i+1]]}, leave: b.leave, hosts: b.hosts, engine: b.engine}
		own.addRank(int32(i), ranks[i], &usual[i])
		of[i] = own.nodes
	})
	b.nodes = list[:0]
	for i, nodes := range of {
		first := int32(len(b.nodes))
		for j := range nodes {
			for k := range nodes[j].from {
				shift(&nodes[j].from[k], first)
			}
		}
		for j := range b.leave[i] {
			b.leave[i][j] += first
		}
		for j := range b.hosts[i] {
			shift(&b.hosts[i][j].arrives, first)
			shift(&b.hosts[i][j].returns, first)
		}
		for j := range b.turns[i] {
			shift(&b.turns[i][j].returns, first)
		}
		for j := range b.outputs {
			if i == b.engine.rank {
				shift(&b.outputs[j].node, first)
			}
		}
		b.nodes = append(b.nodes, nodes...) // to the start of the part, or before it
	}
}

// shift converts a rank's node index, unless it is none, to one among the nodes of all ranks.
func shift(node *int32, first int32) {
	if *node != none {
		*node += first
	}
}

// addMeets connects the ops of collectives. It skips collectives whose times contradict each other.
func (b *builder) addMeets() {
	for i := range b.domain.Matches {
		m := &b.domain.Matches[i]
		if !m.Possible() {
			continue
		}
		earliest := m.At[0].End
		for _, p := range m.At {
			earliest = min(earliest, p.End)
		}
		meet := newNode(Meet, none, m.Last, 0)
		meet.step, meet.ref = int32(m.Step), int32(len(b.meets))
		at := b.add(meet)
		var arrivals []int32
		for _, p := range m.At {
			arrive := b.nodes[b.leave[p.Rank][p.Op]]
			arrive.what, arrive.at, arrive.dur = Arrive, p.Start, 0
			b.afterAll(&arrive, earliest)
			b.nodes[at].at = max(b.nodes[at].at, arrive.at)
			arrivals = append(arrivals, b.add(arrive))
		}
		for _, p := range m.At {
			n := &b.nodes[b.leave[p.Rank][p.Op]]
			n.what, n.at, n.dur, n.gap = Leave, p.End, p.End-b.nodes[at].at, 0
			n.from = [3]int32{at, none, none}
			n.lag = [3]int32{}
		}
		b.meets = append(b.meets, arrivals)
	}
}

// afterAll handles ops that began before the previous op had ended (programmatic dependent launch): they arrive once
// that op has ended, since they wait for it inside. No op ends before all have arrived.
func (b *builder) afterAll(n *node, latest int64) {
	for i, from := range n.from {
		if from != none && n.lag[i] < 0 && b.nodes[from].at <= latest {
			n.lag[i] = 0
			if at := b.nodes[from].at; at > n.at {
				n.at, n.gap = at, 0
			}
		}
	}
}

// inOrder sorts the nodes by time, so that each comes after those that it waits for. Nodes themselves are not moved, so
// reading them in this order reads each thread and device from front to back.
func (b *builder) inOrder() {
	// Keep the times beside the indices, so that sorting reads few nodes.
	type timed struct {
		at   int64
		node int32
	}
	order := make([]timed, len(b.nodes))
	for i := range order {
		order[i] = timed{b.nodes[i].at, int32(i)}
	}
	runsort.Stable(order, func(x, y timed) bool { // threads and devices are sorted already
		if x.at != y.at {
			return x.at < y.at
		}
		p, q := &b.nodes[x.node], &b.nodes[y.node]
		return cmp.Or(cmp.Compare(p.start(), q.start()), cmp.Compare(turn(p.what), turn(q.what))) < 0
	})
	b.order = make([]int32, len(order))
	place := make([]int32, len(order))
	for to, from := range order {
		b.order[to], place[from.node] = from.node, int32(to)
	}
	for i := range b.nodes {
		n := &b.nodes[i]
		for k, f := range n.from {
			if f != none && place[f] >= place[i] { // ops of length 0
				n.from[k] = none
			}
		}
	}
}

// turn orders moments at the same time.
func turn(w What) int {
	if w == Host {
		return 0
	}
	return int(w)
}
