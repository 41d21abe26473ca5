package route

import "hash/maphash"

// blockBytes is the number of prompt bytes per node of the tree of prefixes.
const blockBytes = 64

var seed = maphash.MakeSeed()

// appendChain splits a prompt into blocks, of which the last may be shorter. For each block it appends the hash of the
// prompt from its start to the end of the block. Equal hashes mean equal prefixes.
func appendChain(dst []uint64, key []byte, most int) []uint64 {
	var h uint64
	for ; len(key) > 0 && len(dst) < most; key = key[min(len(key), blockBytes):] {
		h = (h ^ maphash.Bytes(seed, key[:min(len(key), blockBytes)])) * 0x9e3779b97f4a7c15
		h ^= h >> 29
		dst = append(dst, h)
	}
	return dst
}

// prefixes is an approximate tree of prompts. It stores the hashes of the prompts' prefixes. Each hash is a node. The
// number of nodes is limited, and the least recently used nodes are dropped. A node always counts as used later than
// its descendants. Therefore leaves are dropped first, and the remaining nodes still form a tree.
type prefixes struct {
	at    map[uint64]int32
	nodes []prefix // [0] is the head of the ring, from newest to oldest
	most  int
}

type prefix struct {
	hash       uint64
	prev, next int32
}

func newPrefixes(most int) *prefixes {
	return &prefixes{at: map[uint64]int32{}, nodes: make([]prefix, 1), most: max(most, 1)}
}

func (t *prefixes) len() int { return len(t.at) }

// match returns the number of leading blocks of a chain that are known.
func (t *prefixes) match(chain []uint64) int {
	// In a chain, known blocks precede unknown blocks. Find the first unknown block by binary search.
	lo, hi := 0, len(chain)
	for lo < hi {
		mid := (lo + hi) / 2
		if _, ok := t.at[chain[mid]]; ok {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// add adds all blocks of a chain.
func (t *prefixes) add(chain []uint64) {
	for k := min(len(chain), t.most) - 1; k >= 0; k-- {
		h := chain[k]
		i, ok := t.at[h]
		switch {
		case ok:
			t.unlink(i)
		case len(t.nodes) <= t.most:
			i = int32(len(t.nodes))
			t.nodes = append(t.nodes, prefix{})
		default:
			i = t.nodes[0].prev // the oldest
			t.unlink(i)
			delete(t.at, t.nodes[i].hash)
		}
		t.nodes[i] = prefix{h, 0, t.nodes[0].next}
		t.nodes[t.nodes[0].next].prev = i
		t.nodes[0].next = i
		t.at[h] = i
	}
}

func (t *prefixes) unlink(i int32) {
	n := t.nodes[i]
	t.nodes[n.prev].next, t.nodes[n.next].prev = n.next, n.prev
}
