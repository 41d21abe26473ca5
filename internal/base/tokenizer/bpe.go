package tokenizer

import "math"

// model is a byte pair encoding. A word starts as one token per byte. Then the adjacent pair with the lowest merge rank
// is joined into the token of the merge; if several pairs have that rank, the leftmost is joined. This is repeated
// until no pair has a merge.
//
// Nearly all words are a few bytes long. Their ids come from a cache if the word has been seen before, and otherwise
// from a scan over small arrays. A long word, such as a megabyte of base64, which has no word boundary, uses a linked
// list and a heap of pairs. So no text takes quadratic time.

type model struct {
	byteID [256]int32
	merges pairTable
	whole  map[string]int32 // with ignore_merges, the words that are tokens themselves; otherwise nil
	cache  *wordCache
}

// shortWord is the maximum length in bytes of a word that uses the scan and the cache.
const shortWord = 48

// encode appends the ids of one word.
func (m *model) encode(dst []int32, word string) []int32 {
	switch {
	case len(word) == 0:
		return dst
	case m.whole == nil && (len(word) == 1 || m.merges.n == 0):
		for i := range len(word) {
			dst = append(dst, m.byteID[word[i]])
		}
		return dst
	case len(word) > shortWord:
		if id, ok := m.whole[word]; ok {
			return append(dst, id)
		}
		return m.mergeLong(dst, word)
	}
	hash := m.cache.hash(word)
	if ids, ok := m.cache.get(hash, word); ok {
		return append(dst, ids...)
	}
	from := len(dst)
	if id, ok := m.whole[word]; ok {
		dst = append(dst, id)
	} else {
		dst = m.mergeShort(dst, word)
	}
	m.cache.put(hash, word, dst[from:])
	return dst
}

func (m *model) mergeShort(dst []int32, word string) []int32 {
	var ids [shortWord]int32
	var best [shortWord]uint64 // best[i]: the merge of ids[i] and ids[i+1]
	n := len(word)
	for i := range n {
		ids[i] = m.byteID[word[i]]
	}
	for i := range n - 1 {
		best[i] = m.merges.get(ids[i], ids[i+1])
	}
	for n > 1 {
		at, low := 0, uint64(noMerge)
		for i, v := range best[:n-1] {
			if v < low {
				at, low = i, v
			}
		}
		if low == noMerge {
			break
		}
		ids[at] = mergedID(low)
		copy(ids[at+1:n-1], ids[at+2:n])
		copy(best[at:n-2], best[at+1:n-1])
		n--
		if at > 0 {
			best[at-1] = m.merges.get(ids[at-1], ids[at])
		}
		if at < n-1 {
			best[at] = m.merges.get(ids[at], ids[at+1])
		}
	}
	return append(dst, ids[:n]...)
}

// symbol is a token of a long word. prev and next are indices, -1 at the ends.
type symbol struct{ id, prev, next int32 }

func (m *model) mergeLong(dst []int32, word string) []int32 {
	syms := make([]symbol, len(word))
	for i := range syms {
		syms[i] = symbol{m.byteID[word[i]], int32(i) - 1, int32(i) + 1}
	}
	syms[len(syms)-1].next = -1
	var q pairHeap
	look := func(at int32) {
		if at >= 0 && syms[at].next >= 0 {
			if v := m.merges.get(syms[at].id, syms[syms[at].next].id); v != noMerge {
				q.push(pairAt{v, at})
			}
		}
	}
	for i := range syms {
		look(int32(i))
	}
	const gone = -2 // id of a symbol that was joined to the previous one
	for len(q) > 0 {
		p := q.pop()
		s := &syms[p.at]
		// An entry is stale if one of its two symbols has since been joined with another symbol.
		if s.id == gone || s.next < 0 || m.merges.get(s.id, syms[s.next].id) != p.merge {
			continue
		}
		right := &syms[s.next]
		s.id, s.next, right.id = mergedID(p.merge), right.next, gone
		if s.next >= 0 {
			syms[s.next].prev = p.at
		}
		look(s.prev)
		look(p.at)
	}
	for at := int32(0); at >= 0; at = syms[at].next {
		dst = append(dst, syms[at].id)
	}
	return dst
}

// pairAt is a possible merge of a symbol with the next one. Entries are ordered by rank, then by position.
type pairAt struct {
	merge uint64
	at    int32
}

func (a pairAt) less(b pairAt) bool {
	return a.merge < b.merge || a.merge == b.merge && a.at < b.at
}

// pairHeap is a binary heap. container/heap would box each entry.
type pairHeap []pairAt

func (h *pairHeap) push(p pairAt) {
	s := append(*h, p)
	*h = s
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if !s[i].less(s[up]) {
			return
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

func (h *pairHeap) pop() pairAt {
	s := *h
	top, n := s[0], len(s)-1
	s[0] = s[n]
	s = s[:n]
	*h = s
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			return top
		}
		if c+1 < n && s[c+1].less(s[c]) {
			c++
		}
		if !s[c].less(s[i]) {
			return top
		}
		s[i], s[c] = s[c], s[i]
		i = c
	}
}

// pairTable maps a pair of ids to a merge. The high half of a merge is the rank and the low half is the id of the
// joined token, so merges compare by rank. The table uses open addressing, has a power of two of slots, and is at most
// half full. Its lookup, which dominates encoding, takes a third of the time of a lookup in a Go map.
type pairTable struct {
	keys, vals []uint64
	shift      uint
	n          int // entries
}

const (
	noMerge = math.MaxUint64
	noPair  = math.MaxUint64 // cannot be a key, because ids are not negative
)

func mergedID(merge uint64) int32 { return int32(uint32(merge)) }

func newPairTable(n int) pairTable {
	bits := uint(4)
	for 1<<bits < 2*n {
		bits++
	}
	t := pairTable{keys: make([]uint64, 1<<bits), vals: make([]uint64, 1<<bits), shift: 64 - bits}
	for i := range t.keys {
		t.keys[i] = noPair
	}
	return t
}

// slot returns the slot that holds the pair or would hold it.
func (t *pairTable) slot(key uint64) int {
	mask := len(t.keys) - 1
	i := int(key * 0x9E3779B97F4A7C15 >> t.shift) // Fibonacci hashing
	for t.keys[i] != key && t.keys[i] != noPair {
		i = (i + 1) & mask
	}
	return i
}

// put sets a merge. The last merge of a pair wins, as in the reference.
func (t *pairTable) put(a, b int32, rank int, id int32) {
	key := uint64(uint32(a))<<32 | uint64(uint32(b))
	i := t.slot(key)
	if t.keys[i] == noPair {
		t.n++
	}
	t.keys[i], t.vals[i] = key, uint64(rank)<<32|uint64(uint32(id))
}

func (t *pairTable) get(a, b int32) uint64 {
	key := uint64(uint32(a))<<32 | uint64(uint32(b))
	if i := t.slot(key); t.keys[i] == key {
		return t.vals[i]
	}
	return noMerge
}
