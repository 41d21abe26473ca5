package route

import (
	"fmt"
	"strings"
	"testing"
)

func someWorkers(n int) (out []*worker) {
	for i := range n {
		out = append(out, &worker{id: fmt.Sprint(i)})
	}
	return out
}

// TestPolicies checks how often each of four workers is chosen, in 4000 picks.
func TestPolicies(t *testing.T) {
	for _, c := range []struct {
		policy string
		loads  [4]int64
		least  [4]int
		most   [4]int
	}{
		{"round_robin", [4]int64{9, 0, 0, 0}, [4]int{1000, 1000, 1000, 1000}, [4]int{1000, 1000, 1000, 1000}},
		// Six standard deviations around 1000.
		{"random", [4]int64{9, 0, 0, 0}, [4]int{835, 835, 835, 835}, [4]int{1165, 1165, 1165, 1165}},
		// The busiest of all never wins, and the least busy wins each pair that includes it: half of them.
		{"power_of_two", [4]int64{3, 2, 1, 0}, [4]int{0, 500, 1150, 1800}, [4]int{0, 835, 1520, 2200}},
	} {
		p := newPolicy(c.policy, CacheOptions{})
		workers := someWorkers(4)
		index := map[*worker]int{}
		for i, w := range workers {
			w.running.Store(c.loads[i])
			index[w] = i
		}
		var n [4]int
		for range 4000 {
			n[index[p.pick(workers, nil)]]++
		}
		for i := range n {
			if n[i] < c.least[i] || n[i] > c.most[i] {
				t.Errorf("%s: worker %d was chosen %d times, want %d to %d", c.policy, i, n[i], c.least[i], c.most[i])
			}
		}
		if got := p.pick(workers[2:3], nil); got != workers[2] {
			t.Errorf("%s: of one worker %s was chosen", c.policy, got.id)
		}
	}
}

// TestCacheAware checks the worker that each of several consecutive prompts goes to.
func TestCacheAware(t *testing.T) {
	long := func(name string, n int) string { return strings.Repeat(name, n*blockBytes/len(name)) }
	a, b := long("apple---", 10), long("banana--", 10)
	type step struct {
		prompt string
		load   [2]int64
		want   string
		why    string
	}
	for _, c := range []struct {
		name  string
		o     CacheOptions
		steps []step
	}{
		{"conversations", CacheOptions{Threshold: 0.5, BalanceAbs: 4, BalanceRel: 1.5, MaxTreeSize: 1 << 20}, []step{
			{a, [2]int64{}, "0", "all are empty: the first"},
			{b, [2]int64{}, "1", "nobody knows it: the one with the most room"},
			{a + "and more", [2]int64{3, 0}, "0", "the next turn, although that worker has more work"},
			{b + "and more", [2]int64{0, 3}, "1", "the next turn"},
			{a[:len(a)/2], [2]int64{}, "0", "a part"},
			{a[:len(a)/4] + long("x", 9), [2]int64{0, 1}, "0", "less than half is known: the least loaded"},
			{b[:len(b)/4] + long("y", 9), [2]int64{2, 1}, "1", "the same"},
			{a, [2]int64{5, 0}, "1", "loads differ too much: the least loaded"},
			{a, [2]int64{0, 4}, "0", "both know it now: the first that knows the most"},
			{"short", [2]int64{1, 0}, "1", "shorter than a block"},
			{"short", [2]int64{1, 0}, "1", "and known"},
			{"short", [2]int64{0, 1}, "1", "there"},
			{"", [2]int64{1, 0}, "1", "no prompt: the least loaded"},
		}},
		{"loads differ much, but not by the factor", CacheOptions{Threshold: 0.5, BalanceAbs: 4, BalanceRel: 1.5, MaxTreeSize: 1 << 20}, []step{
			{a, [2]int64{}, "0", ""},
			{a, [2]int64{106, 100}, "0", "6 more is not 1.5 times"},
			{a, [2]int64{151, 100}, "1", "that is"},
		}},
		{"little memory", CacheOptions{Threshold: 0.5, BalanceAbs: 4, BalanceRel: 1.5, MaxTreeSize: 12 * blockBytes}, []step{
			{a, [2]int64{0, 1}, "0", ""},
			{b, [2]int64{0, 1}, "0", "pushes most of the first out"},
			{a, [2]int64{1, 0}, "1", "forgotten"},
		}},
	} {
		p := newCacheAware(c.o)
		workers := someWorkers(2)
		for i, s := range c.steps {
			workers[0].running.Store(s.load[0])
			workers[1].running.Store(s.load[1])
			if got := p.pick(workers, []byte(s.prompt)).id; got != s.want {
				t.Errorf("%s, step %d (%s): worker %s, want %s", c.name, i, s.why, got, s.want)
			}
		}
	}
}

// TestPrefixes checks that the set is bounded, and that the least recently used entries go first.
func TestPrefixes(t *testing.T) {
	chain := func(name byte, blocks int) []uint64 {
		return appendChain(nil, []byte(strings.Repeat(string(name), blocks*blockBytes)), 1<<20)
	}
	set := newPrefixes(8)
	for _, s := range []struct {
		add    byte
		blocks int
		know   map[byte]int // blocks of each prompt afterwards
	}{
		{'a', 4, map[byte]int{'a': 4, 'b': 0}},
		{'b', 4, map[byte]int{'a': 4, 'b': 4}},
		{'a', 2, map[byte]int{'a': 4, 'b': 4}},
		{'c', 3, map[byte]int{'a': 2, 'b': 3, 'c': 3}}, // leaves of a, then of b
		{'d', 99, map[byte]int{'a': 0, 'b': 0, 'c': 0, 'd': 8}},
		{'a', 1, map[byte]int{'a': 1, 'd': 7}},
	} {
		set.add(chain(s.add, s.blocks))
		for name, n := range s.know {
			if got := set.match(chain(name, 10)); got != n {
				t.Errorf("after %d blocks of %c: %d of %c are known, want %d", s.blocks, s.add, got, name, n)
			}
		}
		if set.len() > 8 || len(set.nodes) > 9 {
			t.Errorf("%d prefixes in %d nodes, want 8 at most", set.len(), len(set.nodes)-1)
		}
	}
}

// TestForget checks that a restarted worker has an empty cache.
func TestForget(t *testing.T) {
	p := newCacheAware(Options{}.withDefaults().Cache)
	workers := someWorkers(2)
	prompt := []byte(strings.Repeat("x", 1000))
	p.pick(workers, prompt)
	p.forget(workers[0])
	workers[0].running.Store(1)
	if got := p.pick(workers, prompt); got != workers[1] {
		t.Errorf("worker %s is chosen for its forgotten prefixes", got.id)
	}
}

// BenchmarkPick measures the cost of cache_aware for a prompt of 16 KiB and 8 workers.
func BenchmarkPick(b *testing.B) {
	p := newCacheAware(Options{}.withDefaults().Cache)
	workers := someWorkers(8)
	prompt := []byte(strings.Repeat("token ", 16<<10/6))
	b.SetBytes(int64(len(prompt)))
	for i := 0; b.Loop(); i++ {
		copy(prompt[8<<10:], fmt.Sprint(i))
		p.pick(workers, prompt)
	}
}
