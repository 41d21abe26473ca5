package kvcache

// key holds the tokens of one block. Arrays are compared and hashed by value, so lookups are exact.
type key [BlockSize]int32

// node is one block of the tree. In a sequence, the tokens of a node follow the tokens of the nodes on the path from
// the root to that node.
type node struct {
	up       *node
	children map[key]*node
	key      key
	block    int32

	older, newer *node // neighbours in the order of idle nodes; nil while a table holds the node
}

// child returns the child of n whose key is the i-th block of tokens, or nil.
func (n *node) child(tokens []int32, i int) *node {
	if n.children == nil {
		return nil
	}
	return n.children[key(tokens[i*BlockSize:(i+1)*BlockSize])]
}

// grow adds a child to n whose key is the i-th block of tokens.
func (n *node) grow(tokens []int32, i int, block int32) *node {
	c := &node{up: n, key: key(tokens[i*BlockSize : (i+1)*BlockSize]), block: block}
	if n.children == nil {
		n.children = map[key]*node{}
	}
	n.children[c.key] = c
	return c
}

// detach removes a leaf.
func (n *node) detach() {
	if len(n.children) != 0 {
		panic("kvcache: a node is evicted before those below it")
	}
	delete(n.up.children, n.key)
	if len(n.up.children) == 0 {
		n.up.children = nil
	}
	n.up = nil
}

// order lists the idle nodes in the order in which they became idle. It is a ring with a sentinel.
//
// A table releases its nodes from the leaf up, and a table that holds a node also holds the node's ancestors. Therefore
// every node precedes its parent in the order, and the oldest node is always a leaf. Eviction needs no search.
type order struct {
	ring node
	len  int
}

func (o *order) init() { o.ring.older, o.ring.newer = &o.ring, &o.ring }

func (o *order) oldest() *node { return o.ring.newer }

// add appends n at the newest end.
func (o *order) add(n *node) {
	last := o.ring.older
	n.older, n.newer = last, &o.ring
	last.newer, o.ring.older = n, n
	o.len++
}

func (o *order) remove(n *node) {
	n.older.newer, n.newer.older = n.newer, n.older
	n.older, n.newer = nil, nil
	o.len--
}
