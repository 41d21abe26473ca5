// Package kvcache hands out the blocks of a paged key-value cache and remembers
// which prefixes of tokens they hold, so that requests with a common beginning
// compute it once (SGLang's radix cache, at the granularity of blocks).
//
// The main type is [Cache]. It knows block numbers and tokens, never the memory
// itself. Lengths are positions (one token of one sequence each); a block has
// [BlockSize] of them. A Cache belongs to one scheduler and is not safe for
// concurrent use.
//
// # Who holds a block
//
// A block is free, or held by the tree of prefixes, by tables, or by both. Only
// whole blocks whose keys and values are computed get into the tree, and once
// there they are never written again. A block that is not in the tree belongs to
// exactly one table. So no two sequences ever write to the same block.
//
// A table that holds a node of the tree holds all nodes above it. Therefore, if
// nobody holds a node, nobody holds any below it, and all of them can go.
package kvcache

import "fmt"

// BlockSize is the number of positions in a block.
const BlockSize = 64

// Blocks is the number of blocks that hold n positions.
func Blocks(n int) int { return (n + BlockSize - 1) / BlockSize }

// Cache is the pool of blocks and the tree of what they hold.
type Cache struct {
	radix bool
	free  []int32 // a stack: the block freed last is taken first, it is still warm
	holds []int32 // of each block: tables that have it, and one for the tree
	tree  node    // the root, which has no block
	nodes int     // blocks in the tree
	idle  order   // nodes that no table holds, oldest first
}

// Options of a cache.
type Options struct {
	Blocks       int  // in the pool
	DisableRadix bool // remember no prefixes (--disable-radix-cache)
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

// Table is the blocks of one sequence: Blocks[i] has the positions
// [64·i, 64·i+64). The zero Table is empty. Blocks must not be changed.
type Table struct {
	Blocks []int32
	// Pinned: someone reads the blocks without the table's owner. Publish does not
	// replace them.
	Pinned bool
	shared int   // so many of Blocks, from the first, are in the tree
	leaf   *node // the node of Blocks[shared-1]; nil for none
}

// Shared is the number of positions, from the first, that are in the tree.
func (t *Table) Shared() int { return t.shared * BlockSize }

// Acquire fills an empty table with the longest prefix of tokens that the tree
// has, of limit positions at most, and returns its length.
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

// Fits tells whether more blocks can be had for tables, in total.
func (c *Cache) Fits(blocks int) bool { return blocks <= len(c.free)+c.idle.len }

// Grow makes the table as long as the given number of positions. Prefixes that
// nobody uses are dropped for it, those unused for longest first. It reports
// false, and changes nothing, when there are not enough blocks.
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

// Publish puts the whole blocks of tokens, which are the positions that the
// table has computed so far, into the tree. Where the tree has the same already
// the table's own block is given back and the tree's takes its place.
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
			c.holds[next.block]++ // the tree's own
			c.nodes++
		}
		t.shared, t.leaf = i+1, next
	}
}

// Release empties the table. Blocks in the tree stay there until they are needed
// for something else. Publish first what is worth keeping.
func (c *Cache) Release(t *Table) {
	for i := len(t.Blocks) - 1; i >= t.shared; i-- {
		c.drop(t.Blocks[i])
	}
	// From the leaf up: a node has to be older than the one above it.
	for n := t.leaf; n != nil && n != &c.tree; n = n.up {
		c.holds[n.block]--
		if c.holds[n.block] == 1 {
			c.idle.add(n)
		}
	}
	*t = Table{Blocks: t.Blocks[:0], Pinned: t.Pinned}
}

// Flush forgets all prefixes that no table holds.
func (c *Cache) Flush() {
	for c.idle.len > 0 {
		c.evict(c.idle.oldest())
	}
}

// Usage counts blocks.
type Usage struct {
	Total     int
	Free      int
	Evictable int // hold prefixes that no table uses
	Cached    int // in the tree, used or not
}

// Used is the number of blocks that tables hold.
func (u Usage) Used() int { return u.Total - u.Free - u.Evictable }

// Usage returns the present counts.
func (c *Cache) Usage() Usage {
	return Usage{Total: len(c.holds), Free: len(c.free), Evictable: c.idle.len, Cached: c.nodes}
}

// hold takes one more hold on a node of the tree.
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

// evict takes a node that has nothing below it out of the tree.
func (c *Cache) evict(n *node) {
	c.idle.remove(n)
	n.detach()
	c.nodes--
	c.drop(n.block)
}
