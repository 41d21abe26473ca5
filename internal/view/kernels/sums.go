package kernels

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
)

// sums holds the results of a query for each node of a tree.
type sums struct {
	self  []int64 // time of the node itself, ns
	total []int64 // time including descendants, ns
	count []int64 // number of kernels, including descendants
	steps int
}

// sum evaluates a query.
func (w *Work) sum(t *tree, q Query) *sums {
	s := &sums{self: make([]int64, len(t.parent)), count: make([]int64, len(t.parent)), steps: w.steps(q)}
	for _, r := range w.ranks(q) {
		of := t.of[r.Index]
		for k := range r.Ops {
			if o := &r.Ops[k]; q.takes(r, o.Step) {
				wait := waitOf(r, k)
				s.self[of[k]] += o.End - o.Start - wait
				if wait > 0 {
					s.self[t.wait[int32(o.Name)]] += wait
				}
				s.count[of[k]]++
			}
		}
	}
	s.total = slices.Clone(s.self)
	for n := len(t.parent) - 1; n > 0; n-- { // a child comes after its parent
		s.total[t.parent[n]] += s.total[n]
		s.count[t.parent[n]] += s.count[n]
	}
	return s
}

// Flame is a flame graph. The root is the first node, every parent precedes its children, and larger siblings precede
// smaller ones. Total and Other are in ns over all Steps; Other is the total in the other capture.
type Flame struct {
	Names   []string `json:"names"`
	Full    []string `json:"full"`   // full names, "" if the same as Names
	Class   []string `json:"class"`  // class of the kernels with the name; "": not a kernel name
	Kernel  []bool   `json:"kernel"` // whether the node is a kernel
	Parent  []int32  `json:"parent"` // -1: the root
	Name    []int32  `json:"name"`   // index in Names
	Total   []int64  `json:"total"`
	Count   []int64  `json:"count"`
	Steps   int      `json:"steps"` // number of steps, over all ranks
	Other   []int64  `json:"other"` // total in the other capture; empty if there is none
	Steps2  int      `json:"other_steps"`
	LeftOut int      `json:"left_out"` // number of nodes too small to show
}

// leastShare is the size of the smallest node that is sent, as a share of the whole. mostNodes is the maximum number of
// nodes. Smaller nodes could neither be seen nor clicked. Zooming in shows only nodes that were sent.
const (
	leastShare = 5e-5
	mostNodes  = 20_000
)

// merged is a node that one or both captures have.
type merged struct {
	name         string // name in both captures
	a, b         int32  // the larger of the totals in both captures, per step
	total, other int64
	count        int64
	weight       float64 // the larger total of both, per step
	children     []*merged
}

// Flame evaluates a query as a flame graph. If against is not nil, the result also has the values of that other
// capture.
func (w *Work) Flame(q Query, against *Work) *Flame {
	t := w.tree(q.By)
	s := w.sum(t, q)
	f := &Flame{Names: []string{}, Full: []string{}, Class: []string{}, Kernel: []bool{}, Other: []int64{}, Steps: s.steps}
	var t2 *tree
	var s2 *sums
	if against != nil {
		t2 = against.tree(q.By)
		s2 = against.sum(t2, q)
		f.Steps2 = s2.steps
	}
	root := join(t, s, t2, s2)
	names := map[string]int32{}
	whole := root.weight
	type item struct {
		node   *merged
		parent int32
	}
	queue := []item{{root, -1}}
	for len(queue) > 0 { // breadth first, so that mostNodes removes the deepest nodes
		x := queue[0]
		queue = queue[1:]
		if len(f.Parent) >= mostNodes || x.parent >= 0 && x.node.weight < whole*leastShare {
			f.LeftOut += x.node.size()
			continue
		}
		at := int32(len(f.Parent))
		from, node := t, x.node.a
		if node < 0 {
			from, node = t2, x.node.b
		}
		id, ok := names[x.node.name]
		if !ok {
			id = int32(len(f.Names))
			names[x.node.name] = id
			short, full := from.short(node), from.names[from.name[node]]
			if short == full {
				full = ""
			}
			f.Names, f.Full, f.Class = append(f.Names, short), append(f.Full, full), append(f.Class, from.class[from.name[node]])
		}
		f.Kernel = append(f.Kernel, from.kernel[node])
		f.Parent, f.Name, f.Total = append(f.Parent, x.parent), append(f.Name, id), append(f.Total, x.node.total)
		f.Count = append(f.Count, x.node.count)
		if against != nil {
			f.Other = append(f.Other, x.node.other)
		}
		for _, c := range x.node.children {
			queue = append(queue, item{c, at})
		}
	}
	return f
}

func (m *merged) size() int {
	n := 1
	for _, c := range m.children {
		n += c.size()
	}
	return n
}

// join merges two trees. Nodes of both trees are merged if all names on their paths from the root are equal.
func join(t *tree, s *sums, t2 *tree, s2 *sums) *merged {
	type key struct {
		parent *merged
		name   string
	}
	known := map[key]*merged{}
	root := &merged{a: 0, b: -1, total: s.total[0], count: s.count[0]}
	per := func(total int64, s *sums) float64 { return float64(total) / float64(max(s.steps, 1)) }
	root.weight = per(root.total, s)
	node := func(of []*merged, t *tree, n int32) *merged {
		k := key{of[t.parent[n]], t.same(n)}
		m := known[k]
		if m == nil {
			m = &merged{name: k.name, a: -1, b: -1}
			known[k] = m
			k.parent.children = append(k.parent.children, m)
		}
		of[n] = m
		return m
	}
	of := make([]*merged, len(t.parent))
	of[0] = root
	for n := int32(1); n < int32(len(t.parent)); n++ {
		if s.total[n] == 0 {
			continue // the node has only work of other ranks or steps
		}
		m := node(of, t, n)
		if m.a < 0 {
			m.a = n
		}
		m.total += s.total[n]
		m.count += s.count[n]
		m.weight = per(m.total, s)
	}
	if t2 != nil {
		of := make([]*merged, len(t2.parent))
		of[0] = root
		root.b, root.other = 0, s2.total[0]
		root.weight = max(root.weight, per(root.other, s2))
		for n := int32(1); n < int32(len(t2.parent)); n++ {
			if s2.total[n] == 0 {
				continue
			}
			m := node(of, t2, n)
			if m.b < 0 {
				m.b = n
			}
			m.other += s2.total[n]
			m.weight = max(m.weight, per(m.other, s2))
		}
	}
	sortChildren(root)
	return root
}

func sortChildren(m *merged) {
	sorts.By(m.children, func(x, y *merged) int { return cmp.Or(cmp.Compare(y.weight, x.weight), cmp.Compare(x.name, y.name)) })
	for _, c := range m.children {
		sortChildren(c)
	}
}
