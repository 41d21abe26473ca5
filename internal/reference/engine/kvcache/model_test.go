package kvcache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// naive is the cache written for clarity: prefixes by their text, times of last use, and the content of each block.
type naive struct {
	total   int
	clock   int
	cached  map[string]*entry
	content map[int32]string // content of each block: the whole prefix up to its end
}

type entry struct {
	block int32
	holds int
	since int // clock when it became idle
}

func prefix(tokens []int32, blocks int) string { return fmt.Sprint(tokens[:blocks*BlockSize]) }

// naiveTable is the model of one table.
type naiveTable struct {
	Table
	tokens  []int32
	shared  int
	private int
}

func (m *naive) acquire(t *naiveTable, limit int) int {
	for n := 1; n <= min(limit, len(t.tokens))/BlockSize; n++ {
		e := m.cached[prefix(t.tokens, n)]
		if e == nil {
			break
		}
		e.holds++
		t.shared = n
	}
	return t.shared * BlockSize
}

func (m *naive) free(tables []*naiveTable) int {
	n := m.total - len(m.cached)
	for _, t := range tables {
		n -= t.private
	}
	return n
}

func (m *naive) idle() int {
	n := 0
	for _, e := range m.cached {
		if e.holds == 0 {
			n++
		}
	}
	return n
}

// evictOldest drops the entry that has been idle longest.
func (m *naive) evictOldest() {
	var at string
	var oldest *entry
	for k, e := range m.cached {
		if e.holds == 0 && (oldest == nil || e.since < oldest.since) {
			at, oldest = k, e
		}
	}
	delete(m.cached, at)
}

func (m *naive) release(t *naiveTable) {
	for n := t.shared; n > 0; n-- {
		e := m.cached[prefix(t.tokens, n)]
		e.holds--
		m.clock++
		if e.holds == 0 {
			e.since = m.clock
		}
	}
}

// soak runs random operations on a cache and on the model side by side.
func soak(t *testing.T, rng *rand.Rand, ops int) {
	t.Helper()
	total := 1 + rng.IntN(24)
	c := New(Options{Blocks: total})
	m := &naive{total: total, cached: map[string]*entry{}, content: map[int32]string{}}
	var live []*naiveTable
	verify := func(what string) {
		t.Helper()
		tables := make([]*Table, len(live))
		for i, x := range live {
			tables[i] = &x.Table
		}
		if err := c.Check(tables...); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		u := c.Usage()
		if u.Free != m.free(live) || u.Evictable != m.idle() || u.Cached != len(m.cached) {
			t.Fatalf("%s: usage %+v, the model has %d free, %d idle, %d cached", what, u, m.free(live), m.idle(), len(m.cached))
		}
	}
	for range ops {
		switch op := rng.IntN(10); {
		case op < 4: // a new sequence, made of few possible blocks so that prefixes coincide
			x := &naiveTable{tokens: make([]int32, 1+rng.IntN(6*BlockSize))}
			for i := range x.tokens {
				if i%BlockSize == 0 {
					x.tokens[i] = rng.Int32N(2)
				}
			}
			limit := rng.IntN(len(x.tokens) + 1)
			hit := c.Acquire(&x.Table, x.tokens, limit)
			if want := m.acquire(x, limit); hit != want {
				t.Fatalf("hit %d positions, the model %d", hit, want)
			}
			live = append(live, x)
			for i := range x.shared {
				if got := m.content[x.Blocks[i]]; got != prefix(x.tokens, i+1) {
					t.Fatalf("block %d was shared and holds something else", x.Blocks[i])
				}
			}
			verify("acquire")
		case op < 8 && len(live) > 0: // compute some more of one sequence
			x := live[rng.IntN(len(live))]
			n := 1 + rng.IntN(len(x.tokens))
			need := Blocks(n) - x.shared - x.private
			ok := c.Grow(&x.Table, n)
			if want := need <= m.free(live)+m.idle(); ok != want {
				t.Fatalf("grow by %d blocks: %v, the model says %v", need, ok, want)
			}
			if !ok {
				verify("failed grow")
				continue
			}
			for ; need > 0; need-- {
				if m.free(live) == 0 {
					m.evictOldest()
				}
				x.private++
			}
			verify("grow")
			for i := x.shared; i < n/BlockSize; i++ {
				m.content[x.Blocks[i]] = prefix(x.tokens, i+1) // would overwrite another's block
			}
			c.Publish(&x.Table, x.tokens[:n])
			for ; x.shared < n/BlockSize; x.shared++ {
				key := prefix(x.tokens, x.shared+1)
				e := m.cached[key]
				if e == nil {
					e = &entry{block: x.Blocks[x.shared]}
					m.cached[key] = e
				}
				e.holds++
				x.private--
			}
			for i := range x.shared {
				if e := m.cached[prefix(x.tokens, i+1)]; e.block != x.Blocks[i] || m.content[e.block] != prefix(x.tokens, i+1) {
					t.Fatalf("block %d of the table, %d of the model", x.Blocks[i], e.block)
				}
			}
			verify("publish")
		case op < 9 && len(live) > 0:
			i := rng.IntN(len(live))
			x := live[i]
			live = slices.Delete(live, i, i+1)
			c.Release(&x.Table)
			m.release(x)
			verify("release")
		case rng.IntN(8) == 0:
			c.Flush()
			for k, e := range m.cached {
				if e.holds == 0 {
					delete(m.cached, k)
				}
			}
			verify("flush")
		}
	}
	for _, x := range live {
		c.Release(&x.Table)
		m.release(x)
	}
	live = nil
	verify("the end")
	if u := c.Usage(); u.Free+u.Evictable != total {
		t.Fatalf("usage %+v after everything was released", u)
	}
}

func TestAgainstNaiveModel(t *testing.T) {
	for seed := range uint64(200) {
		soak(t, rand.New(rand.NewPCG(seed, 1)), 150)
	}
}

func FuzzAgainstNaiveModel(f *testing.F) {
	f.Add(uint64(1), uint16(40))
	f.Fuzz(func(t *testing.T, seed uint64, ops uint16) {
		soak(t, rand.New(rand.NewPCG(seed, 2)), int(ops)%2000)
	})
}
