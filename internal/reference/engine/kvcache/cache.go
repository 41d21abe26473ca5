// Package kvcache allocates the blocks of a paged key-value cache and remembers which token prefixes the blocks
// contain. Therefore a prefix that several requests share is computed only once. The design is SGLang's radix cache, at
// the granularity of blocks.
//
// The main type is [Cache]. A Cache handles block numbers and tokens, never the memory of the blocks. Lengths are in
// positions. A position is one token of one sequence, and a block has [BlockSize] positions. A Cache belongs to one
// scheduler and is not safe for concurrent use.
//
// # Owners of a block
//
// A block is either free or held by the tree of prefixes, by tables, or by both. A block enters the tree only when the
// keys and values of all its positions are computed. A block in the tree is never written again. Every other block that
// is not free belongs to exactly one table. Therefore no two sequences ever write to the same block.
//
// A table that holds a node of the tree holds all of its ancestors. Therefore, if no table holds a node, no table holds
// a descendant of that node, and the node and all of its descendants can be evicted.
package kvcache

import "fmt"

// BlockSize is the number of positions in a block.
const BlockSize = 64

// Blocks returns the number of blocks needed for n positions.
func Blocks(n int) int { return (n + BlockSize - 1) / BlockSize }

// Cache is the pool of blocks and the tree of cached prefixes.
type Cache struct {
	radix bool
	free  []int32 // a stack: the block freed last is reused first, because it is still in the CPU cache
	holds []int32 // for each block: the number of tables that hold it, plus one if the block is in the tree
	tree  node    // root; it has no block
	nodes int     // blocks in the tree
	idle  order   // nodes that no table holds, longest idle first
}

// Options configure a cache.
type Options struct {
	Blocks       int  // number of blocks in the pool
	DisableRadix bool // do not cache prefixes (--disable-radix-cache)
}

// New returns a cache whose blocks 0 … Blocks-1 are all free.
func New(opt Options) *Cache {
	c := &Cache{
		radix: !opt.DisableRadix,
		free:  make([]int32, opt.Blocks),
		holds: make([]int32, opt.Blocks),
	}
	for i := range c.free {
		c.free[i] = int32(opt.Blocks - 1 - i)
	}
	c.idle.init()
	return c
}

// Table lists the blocks of one sequence: Blocks[i] contains the positions [64·i, 64·i+64). The zero Table is empty.
// Callers must not change Blocks.
type Table struct {
	Blocks []int32
	// Pinned means that the table's owner is not the only reader of the blocks, for example during a transfer. If
	// Pinned is set, Publish does not replace any block.
	Pinned bool
	shared int   // number of leading Blocks that are in the tree
	leaf   *node // the node of Blocks[shared-1]; nil if shared is 0
}

// Shared returns the number of leading positions whose blocks are in the tree.
func (t *Table) Shared() int { return t.shared * BlockSize }

// Acquire fills an empty table with the longest cached prefix of tokens that has at most limit positions. It returns
// the length of that prefix.
func (c *Cache) Acquire(t *Table, tokens []int32, limit int) int {
	if len(t.Blocks) != 0 {
		panic("kvcache: acquire into a table in use")
	}
	if !c.radix {
		return 0
	}
	n := min(limit, len(tokens)) / BlockSize
	at := &c.tree
	for i := range n {
		next := at.child(tokens, i)
		if next == nil {
			break
		}
		c.hold(next)
		at = next
		t.Blocks = append(t.Blocks, next.block)
		t.shared, t.leaf = i+1, next
	}
	return t.Shared()
}

// Fits reports whether the given number of further blocks is available to tables.
func (c *Cache) Fits(blocks int) bool { return blocks <= len(c.free)+c.idle.len }

// Grow extends the table to the given number of positions. If necessary, Grow evicts unused prefixes, least recently
// used first. If there are not enough blocks, Grow changes nothing and returns false.
func (c *Cache) Grow(t *Table, positions int) bool {
	need := Blocks(positions) - len(t.Blocks)
	if need <= 0 {
		return true
	}
	if !c.Fits(need) {
		return false
	}
	for range need {
		if len(c.free) == 0 {
			c.evict(c.idle.oldest())
		}
		b := c.free[len(c.free)-1]
		c.free = c.free[:len(c.free)-1]
		c.holds[b] = 1
		t.Blocks = append(t.Blocks, b)
	}
	return true
}

// Publish adds all complete blocks of tokens to the tree. tokens are the tokens of all positions that have been
// computed in the table's blocks. If the tree already has a block with the same prefix, the table's block is freed and
// the tree's block replaces it in the table.
func (c *Cache) Publish(t *Table, tokens []int32) {
	if !c.radix {
		return
	}
	for i := t.shared; i < len(tokens)/BlockSize; i++ {
		at := t.leaf
		if at == nil {
			at = &c.tree
		}
		next := at.child(tokens, i)
		if next != nil {
			if t.Pinned {
				return
			}
			c.hold(next)
			c.drop(t.Blocks[i])
			t.Blocks[i] = next.block
		} else {
			next = at.grow(tokens, i, t.Blocks[i])
			c.holds[next.block]++ // the hold of the tree
			c.nodes++
		}
		t.shared, t.leaf = i+1, next
	}
}

// Release empties the table. Blocks in the tree stay in the tree until their memory is needed. To keep other blocks,
// call Publish before Release.
func (c *Cache) Release(t *Table) {
	for i := len(t.Blocks) - 1; i >= t.shared; i-- {
		c.drop(t.Blocks[i])
	}
	// Release nodes from the leaf up, because in the order of idle nodes every node must precede its parent.
	for n := t.leaf; n != nil && n != &c.tree; n = n.up {
		c.holds[n.block]--
		if c.holds[n.block] == 1 {
			c.idle.add(n)
		}
	}
	*t = Table{Blocks: t.Blocks[:0], Pinned: t.Pinned}
}

// Flush evicts all prefixes that no table holds.
func (c *Cache) Flush() {
	for c.idle.len > 0 {
		c.evict(c.idle.oldest())
	}
}

// Usage counts blocks.
type Usage struct {
	Total     int
	Free      int
	Evictable int // blocks in the tree that no table holds
	Cached    int // all blocks in the tree, including those that tables hold
}

// Used returns the number of blocks that tables hold.
func (u Usage) Used() int { return u.Total - u.Free - u.Evictable }

// Usage returns the current counts.
func (c *Cache) Usage() Usage {
	return Usage{Total: len(c.holds), Free: len(c.free), Evictable: c.idle.len, Cached: c.nodes}
}

// hold adds a table's hold on a node of the tree.
func (c *Cache) hold(n *node) {
	if c.holds[n.block] == 1 {
		c.idle.remove(n)
	}
	c.holds[n.block]++
}

// drop frees a block that only one table holds.
func (c *Cache) drop(b int32) {
	if c.holds[b] != 1 {
		panic(fmt.Sprintf("kvcache: block %d dropped with %d holds", b, c.holds[b]))
	}
	c.holds[b] = 0
	c.free = append(c.free, b)
}

// evict removes a node without children from the tree.
func (c *Cache) evict(n *node) {
	c.idle.remove(n)
	n.detach()
	c.nodes--
	c.drop(n.block)
}
