package kvcache

import (
	"slices"
	"testing"
)

// run returns n tokens counting up from from.
func run(from, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(from + i)
	}
	return out
}

func check(t *testing.T, c *Cache, tables ...*Table) {
	t.Helper()
	if err := c.Check(tables...); err != nil {
		t.Fatal(err)
	}
}

// compute runs a sequence through the cache as a scheduler does.
func compute(t *testing.T, c *Cache, tab *Table, tokens []int32) (hit int) {
	t.Helper()
	hit = c.Acquire(tab, tokens, len(tokens)-1)
	if !c.Grow(tab, len(tokens)) {
		t.Fatalf("no room for %d positions", len(tokens))
	}
	c.Publish(tab, tokens)
	return hit
}

func TestPrefixesAreShared(t *testing.T) {
	c := New(Options{Blocks: 10})
	tokens := run(0, 200)
	var a, b Table
	if hit := compute(t, c, &a, tokens); hit != 0 {
		t.Errorf("hit %d positions of an empty cache", hit)
	}
	other := append(slices.Clone(tokens[:128]), run(1000, 40)...)
	if hit := compute(t, c, &b, other); hit != 128 {
		t.Errorf("hit %d positions, want 128", hit)
	}
	check(t, c, &a, &b)
	if !slices.Equal(a.Blocks[:2], b.Blocks[:2]) || a.Blocks[2] == b.Blocks[2] {
		t.Errorf("blocks %v and %v: want the first two shared and the third not", a.Blocks, b.Blocks)
	}
	if got, want := c.Usage(), (Usage{Total: 10, Free: 5, Cached: 3}); got != want {
		t.Errorf("usage %+v, want %+v", got, want)
	}
	c.Release(&a)
	c.Release(&b)
	check(t, c)
	if got, want := c.Usage(), (Usage{Total: 10, Free: 7, Evictable: 3, Cached: 3}); got != want {
		t.Errorf("usage afterwards %+v, want %+v", got, want)
	}
}

func TestOneTokenIsAlwaysLeftToCompute(t *testing.T) {
	c := New(Options{Blocks: 4})
	var a, b Table
	tokens := run(0, 128)
	compute(t, c, &a, tokens)
	if hit := compute(t, c, &b, tokens); hit != 64 {
		t.Errorf("hit %d of 128 positions with a limit of 127, want 64", hit)
	}
	// b computed the second block anew; on publishing, it got the first sequence's block.
	if !slices.Equal(a.Blocks, b.Blocks) {
		t.Errorf("blocks %v and %v, want the same", a.Blocks, b.Blocks)
	}
	check(t, c, &a, &b)
	if u := c.Usage(); u.Free != 2 {
		t.Errorf("%d blocks are free, want 2: the copy was not given back", u.Free)
	}
}

func TestOldestLeavesGoFirst(t *testing.T) {
	c := New(Options{Blocks: 5})
	var a, b, d Table
	first, second := run(0, 129), append(run(0, 64), run(500, 65)...)
	compute(t, c, &a, first)
	c.Release(&a)
	compute(t, c, &b, second)
	c.Release(&b)
	check(t, c)
	// Tree: the block of 0…63, with those of first (older) and second below it.
	if u := c.Usage(); u.Evictable != 3 || u.Free != 2 {
		t.Fatalf("usage %+v", u)
	}
	if !c.Grow(&d, 3*BlockSize) {
		t.Fatal("no room, although prefixes could be evicted")
	}
	check(t, c, &d)
	c.Release(&d)
	var e Table
	if hit := c.Acquire(&e, second, 128); hit != 128 {
		t.Errorf("the younger prefix hits %d positions, want 128", hit)
	}
	c.Release(&e)
	if hit := c.Acquire(&e, first, 128); hit != 64 {
		t.Errorf("the older prefix hits %d positions, want 64", hit)
	}
	check(t, c, &e)
}

func TestHeldPrefixesStay(t *testing.T) {
	c := New(Options{Blocks: 3})
	var a, b Table
	compute(t, c, &a, run(0, 128))
	if c.Grow(&b, 2*BlockSize) {
		t.Fatal("two blocks given where one was free and the rest held")
	}
	if len(b.Blocks) != 0 {
		t.Errorf("a failed Grow left blocks %v", b.Blocks)
	}
	check(t, c, &a, &b)
	c.Release(&a)
	if !c.Grow(&b, 3*BlockSize) {
		t.Error("no room after everything was released")
	}
	check(t, c, &b)
}

func TestDisabled(t *testing.T) {
	c := New(Options{Blocks: 4, DisableRadix: true})
	var a, b Table
	compute(t, c, &a, run(0, 100))
	if hit := compute(t, c, &b, run(0, 100)); hit != 0 {
		t.Errorf("hit %d positions without a radix cache", hit)
	}
	c.Release(&a)
	c.Release(&b)
	check(t, c)
	if u := c.Usage(); u.Free != 4 {
		t.Errorf("%d of 4 blocks are free", u.Free)
	}
}

func TestFlush(t *testing.T) {
	c := New(Options{Blocks: 4})
	var a, b Table
	compute(t, c, &a, run(0, 100))
	compute(t, c, &b, run(700, 100))
	c.Release(&a)
	c.Flush()
	check(t, c, &b)
	if got, want := c.Usage(), (Usage{Total: 4, Free: 2, Cached: 1}); got != want {
		t.Errorf("usage %+v, want %+v", got, want)
	}
	if hit := c.Acquire(&a, run(0, 100), 99); hit != 0 {
		t.Errorf("hit %d positions after a flush", hit)
	}
}
