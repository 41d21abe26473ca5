package sqlitefile

import (
	"encoding/binary"
	"fmt"
)

// tree is a B-tree filled from the left. Cells are added in order of their keys, so each page is written once, when it
// is full, and never read again.
//
// When a page is full, a cell that points to the page is added to the level above. In a table that cell holds the
// largest rowid of the page. In an index, the page's last key moves into that cell. When an interior page is full, its
// last cell moves up in both cases: the child of that cell becomes the rightmost child of the page. Every page of a
// tree with cells has at least one cell, as the format requires.
type tree struct {
	w      *Writer
	index  bool
	base   int // bytes to keep free before the header of each page, for page 1
	levels []*node
}

// node is the page of one level that is being filled. Cells are stored from the page's end backwards, and their offsets
// follow the page's header.
type node struct {
	page        []byte
	base        int // offset of the header
	header      int // length of the header, bytes
	cells       int
	top, before int   // offsets of the last cell and of the cell before it
	rowid       int64 // rowid of the last cell of a table's leaf
}

func (t *tree) level(i int) *node {
	if i == len(t.levels) {
		n := &node{page: make([]byte, t.w.page), base: t.base, header: 8, top: t.w.page}
		if i > 0 {
			n.header = 12 // includes the rightmost child
		}
		t.levels = append(t.levels, n)
	}
	return t.levels[i]
}

// leaf adds a cell at the lowest level. rowid is used only for tables.
func (t *tree) leaf(cell []byte, rowid int64) error {
	err := t.add(0, cell)
	t.levels[0].rowid = rowid
	return err
}

func (t *tree) add(level int, cell []byte) error {
	n := t.level(level)
	if !n.fits(cell) {
		if n.cells == 0 {
			return fmt.Errorf("a cell of %d bytes does not fit on a page", len(cell))
		}
		if err := t.full(level); err != nil {
			return err
		}
	}
	n.add(cell)
	return nil
}

// full writes a full page and adds a cell that points to it to the level above.
func (t *tree) full(level int) error {
	n := t.levels[level]
	up := make([]byte, 4, 64)
	switch {
	case level > 0:
		last := n.pop()
		n.right(binary.BigEndian.Uint32(last))
		up = append(up, last[4:]...)
	case t.index:
		up = append(up, n.pop()...)
	default:
		up = appendVarint(up, uint64(n.rowid))
	}
	number, err := t.write(n, level)
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint32(up, number)
	return t.add(level+1, up)
}

// finish writes the remaining pages and returns the root.
func (t *tree) finish() (root uint32, err error) {
	t.level(0) // a tree without cells has a page too
	for i, n := range t.levels {
		if i > 0 {
			n.right(root)
		}
		if t.base > 0 && i == len(t.levels)-1 {
			n.head(t.kind(i))
			t.w.first = n.page
			return 1, nil
		}
		if root, err = t.write(n, i); err != nil {
			return 0, err
		}
	}
	return root, nil
}

// kind returns the first byte of a page's header.
func (t *tree) kind(level int) byte {
	switch {
	case t.index && level > 0:
		return interiorIndexPage
	case t.index:
		return leafIndexPage
	case level > 0:
		return interiorPage
	}
	return leafPage
}

// write writes the page, returns its number, and clears it for the next page of its level.
func (t *tree) write(n *node, level int) (uint32, error) {
	n.head(t.kind(level))
	if n.base > 0 { // only page 1 has data before its header
		copy(n.page, n.page[n.base:n.base+n.header+2*n.cells])
	}
	number, err := t.w.write(n.page)
	clear(n.page)
	n.cells, n.top, n.before = 0, len(n.page), 0
	return number, err
}

func (n *node) fits(cell []byte) bool {
	return n.base+n.header+2*(n.cells+1)+len(cell) <= n.top
}

func (n *node) add(cell []byte) {
	n.top, n.before = n.top-len(cell), n.top
	copy(n.page[n.top:], cell)
	binary.BigEndian.PutUint16(n.page[n.base+n.header+2*n.cells:], uint16(n.top))
	n.cells++
}

// pop removes the last cell and returns it. The returned cell is valid until the next cell is added.
func (n *node) pop() []byte {
	cell := n.page[n.top:n.before]
	n.cells--
	binary.BigEndian.PutUint16(n.page[n.base+n.header+2*n.cells:], 0)
	n.top = n.before
	return cell
}

func (n *node) head(kind byte) {
	h := n.page[n.base:]
	h[0] = kind
	binary.BigEndian.PutUint16(h[3:], uint16(n.cells))
	binary.BigEndian.PutUint16(h[5:], uint16(n.top))
}

func (n *node) right(page uint32) { binary.BigEndian.PutUint32(n.page[n.base+8:], page) }
