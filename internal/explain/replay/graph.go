// Package replay replays a window from recorded durations and dependencies. Replays predict how changes affect the
// length of steps, and show the critical path of steps.
//
// A Graph connects each moment of a domain's ranks to the moments for which it waits. A host thread goes from call to
// call. An op begins when it has been launched, the previous op on its stream has ended, and any op of another stream
// for which it waits has ended. The ops of a collective end when the collective has begun on all ranks and its transfer
// is done. A blocking call returns when the work for which it waits is done.
//
// Traces do not record which stream waits for which event. Waits between streams are inferred by two rules. Streams of
// a rank that never run concurrently form one queue. An op that begins just after the end of an op of another stream
// waits for that op.
//
// Between the end of one moment and the begin of a moment that waits for it, there is a lag. The replay uses the rank's
// median for this kind of lag, not the recorded value. If the recorded begin is later than the median lag explains, the
// remaining time is an unexplained gap, which the replay keeps. Times are int64 ns.
package replay

import (
	"cmp"
	"slices"
	"sync"

	"github.com/stepscope/stepscope/internal/base/parallel"
	"github.com/stepscope/stepscope/internal/base/runsort"
	"github.com/stepscope/stepscope/internal/explain/match"
)

// What is the kind of a node: a type of moment.
type What uint8

const (
	Host   What = iota // host time before a call
	Return             // a host thread returns from a call that waited for the device
	Work               // a kernel, copy or memset
	Arrive             // an op of a collective has begun
	Meet               // all ranks have begun a collective
	Leave              // an op of a collective ends, after the transfer that follows the meeting
)

// none means no node, op or name.
const none = -1

// node is a moment of a replay. The node begins gap after the last of the nodes for which it waits, where each of these
// nodes counts with its lag. The node ends dur after it begins.
type node struct {
	at       int64    // recorded end, on the common clock
	dur, gap int64    //
	from     [3]int32 // nodes for which it waits; none: unused
	lag      [3]int32 // lag after the end of each node in from, ns
	rank     int32    // index in the domain's ranks; none for a meeting
	step     int32    // step in the capture's numbering, or none
	ref      int32    // index of the op or call; for a meeting, index in meets
	key      int32    // kernel and grid that it runs or launches, as an index in Names.Keys, or none
	what     What
}

func (n *node) start() int64 { return n.at - n.dur }

// Graph is the dependency graph of the ranks of one domain.
type Graph struct {
	domain *match.Domain
	nodes  []node    // for each rank, the nodes of each thread, then the nodes of the device
	order  []int32   // indices of nodes, ordered so that each node follows the nodes for which it waits
	meets  [][]int32 // arrivals at each meeting of a GPU or host collective
	// First and End bound the steps that all ranks have in full: [First, End).
	First, End int
	begins     map[int]bool    // first steps of stretches, except the first stretch
	runs       sync.Pool       // *[]int64: times of the nodes, reused by calls of Run
	to         []int32         // step to which each node counts; see towards
	place      []int32         // number of collectives before each node in its step; see passed
	last       places[int32]   // number of collectives of each rank and step
	sums       places[tallies] // totals by rank and step, computed on first use
	placed     places[tallies] // the same, with work divided by place
	met        []int32         // nodes at which threads arrive at host collectives, in ascending order
	part       []int32         // number of host collectives before each node between steps; see parts
	parted     places[tallies] // totals with the time between steps divided by part
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
	for _, list := range b.hosts {
		for i := range list {
			if at := list[i].arrives; at != none {
				b.met = append(b.met, at)
			}
		}
	}
	slices.Sort(b.met)
	b.addMeets()
	b.addHostMeets()
	b.addTurns()
	b.inOrder()
	return g
}

// Loose returns the number of steps, after the first, with a node that waits for nothing recorded. Such a node keeps
// its recorded time under any change, so the nodes that depend on it are delayed as in the recording.
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

// sizeOf returns the maximum number of nodes for the calls, waits and ops of a rank.
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
	leave [][]int32    // by rank and op: node at which the op ends
	hosts [][]hostPart // by rank: parts of host collectives, ordered by start
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

// await makes n wait for the node from, which ends at ends. It returns false, and adds no wait, if the recorded times
// contradict it.
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

// ready returns the earliest time at which the node could have begun in the recording. ok is false if the node waits
// for nothing.
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

// addRanks makes the nodes of all ranks. It handles several ranks in parallel, each in its own part of the list.
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
		b.nodes = append(b.nodes, nodes...) // overwrites only parts that have already been copied
	}
}

// shift converts an index among the nodes of a rank to an index among the nodes of all ranks. It leaves none unchanged.
func shift(node *int32, first int32) {
	if *node != none {
		*node += first
	}
}

// addMeets makes the ops of each collective depend on each other. It skips collectives with impossible times.
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

// afterAll handles an op that began before the previous op had ended (programmatic dependent launch). The op arrives at
// the collective when that previous op has ended, since it waits for the previous op internally. latest is the earliest
// end of the collective's ops: no op ends before all have arrived.
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

// inOrder sorts the indices of the nodes by time, so that each node follows the nodes for which it waits. The nodes
// themselves stay in place, so going through them in this order reads the nodes of each thread and device from front to
// back.
func (b *builder) inOrder() {
	// Store the times beside the indices, so that sorting reads few nodes.
	type timed struct {
		at   int64
		node int32
	}
	order := make([]timed, len(b.nodes))
	for i := range order {
		order[i] = timed{b.nodes[i].at, int32(i)}
	}
	runsort.Stable(order, func(x, y timed) bool { // the nodes of each thread and device are sorted already
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
			if f != none && place[f] >= place[i] { // possible for ops of length 0
				n.from[k] = none
			}
		}
	}
}

// turn returns the order of moments that have the same time.
func turn(w What) int {
	if w == Host {
		return 0
	}
	return int(w)
}
