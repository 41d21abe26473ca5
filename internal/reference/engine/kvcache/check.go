package kvcache

import (
	"fmt"
	"slices"
)

// Check returns the first broken invariant as an error. Its arguments must be all tables that hold blocks. Check is
// intended for tests only, because its run time grows with the size of the pool.
func (c *Cache) Check(tables ...*Table) error {
	holds := make([]int32, len(c.holds))
	for _, b := range c.free {
		if c.holds[b] != 0 {
			return fmt.Errorf("block %d is free and has %d holds", b, c.holds[b])
		}
		if holds[b] != 0 {
			return fmt.Errorf("block %d is free twice", b)
		}
		holds[b] = -1
	}
	nodes, err := c.checkTree(&c.tree, holds)
	if err != nil {
		return err
	}
	if nodes != c.nodes {
		return fmt.Errorf("the tree has %d nodes, %d are counted", nodes, c.nodes)
	}
	inTree := slices.Clone(holds)
	for i, t := range tables {
		if err := c.checkTable(t, holds, inTree); err != nil {
			return fmt.Errorf("table %d: %w", i, err)
		}
	}
	for b := range holds {
		if want := max(holds[b], 0); c.holds[b] != want {
			return fmt.Errorf("block %d has %d holders, %d are counted", b, want, c.holds[b])
		}
		if holds[b] == 0 {
			return fmt.Errorf("block %d is lost: neither free nor held", b)
		}
	}
	return c.checkIdle()
}

// checkTree counts the nodes below n and marks their blocks.
func (c *Cache) checkTree(n *node, holds []int32) (int, error) {
	count := 0
	for k, child := range n.children {
		switch {
		case child.up != n || child.key != k:
			return 0, fmt.Errorf("the node of block %d is in the wrong place", child.block)
		case holds[child.block] != 0:
			return 0, fmt.Errorf("block %d is in the tree and free, or twice in the tree", child.block)
		case n != &c.tree && c.holds[n.block] < c.holds[child.block]:
			return 0, fmt.Errorf("block %d is held, but block %d above it is not", child.block, n.block)
		}
		holds[child.block] = 1
		below, err := c.checkTree(child, holds)
		if err != nil {
			return 0, err
		}
		count += 1 + below
	}
	return count, nil
}

// checkTable checks one table and adds its holds to holds.
func (c *Cache) checkTable(t *Table, holds, inTree []int32) error {
	at := t.leaf
	for i := t.shared - 1; i >= 0; i-- {
		if at == nil || at.block != t.Blocks[i] || inTree[at.block] != 1 {
			return fmt.Errorf("block %d at %d is not on its path in the tree", t.Blocks[i], i)
		}
		at = at.up
	}
	if at != nil && at != &c.tree {
		return fmt.Errorf("has %d shared blocks, but more are above them", t.shared)
	}
	for i, b := range t.Blocks {
		switch {
		case holds[b] < 0:
			return fmt.Errorf("block %d is free", b)
		case i >= t.shared && holds[b] != 0:
			return fmt.Errorf("block %d is private but has another holder", b)
		}
		holds[b]++
	}
	return nil
}

// checkIdle checks the eviction order.
func (c *Cache) checkIdle() error {
	seen := map[*node]bool{}
	for n := c.idle.ring.newer; n != &c.idle.ring; n = n.newer {
		if n.newer.older != n {
			return fmt.Errorf("block %d: the list of idle nodes is broken", n.block)
		}
		if c.holds[n.block] != 1 {
			return fmt.Errorf("block %d is idle and has %d holds", n.block, c.holds[n.block])
		}
		for _, child := range n.children {
			if !seen[child] {
				return fmt.Errorf("block %d would be evicted before block %d below it", n.block, child.block)
			}
		}
		seen[n] = true
	}
	idle := 0
	var count func(n *node)
	count = func(n *node) {
		for _, child := range n.children {
			if c.holds[child.block] == 1 {
				idle++
			}
			count(child)
		}
	}
	count(&c.tree)
	if idle != len(seen) || idle != c.idle.len {
		return fmt.Errorf("%d nodes are idle, %d in order, %d counted", idle, len(seen), c.idle.len)
	}
	return nil
}
