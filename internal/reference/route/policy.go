package route

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
)

// policy chooses a worker. All methods are safe for concurrent use.
type policy interface {
	// pick chooses one of the workers in from. All of them are up, and from is not empty. key is the raw prompt if
	// wantsKey returns true.
	pick(from []*worker, key []byte) *worker
	wantsKey() bool
	// forget removes all information about a worker.
	forget(w *worker)
}

func newPolicy(name string, o CacheOptions) policy {
	switch name {
	case "random":
		return random{}
	case "round_robin":
		return &roundRobin{}
	case "power_of_two":
		return powerOfTwo{}
	}
	return newCacheAware(o)
}

// keyless is the common part of all policies that ignore the prompt.
type keyless struct{}

func (keyless) wantsKey() bool { return false }
func (keyless) forget(*worker) {}

type random struct{ keyless }

func (random) pick(from []*worker, _ []byte) *worker { return from[rand.IntN(len(from))] }

type roundRobin struct {
	keyless
	next atomic.Uint64
}

func (p *roundRobin) pick(from []*worker, _ []byte) *worker {
	return from[(p.next.Add(1)-1)%uint64(len(from))]
}

// powerOfTwo draws two workers at random and picks the worker with fewer requests.
type powerOfTwo struct{ keyless }

func (powerOfTwo) pick(from []*worker, _ []byte) *worker {
	a := rand.IntN(len(from))
	if len(from) == 1 {
		return from[a]
	}
	b := (a + 1 + rand.IntN(len(from)-1)) % len(from)
	if from[b].running.Load() < from[a].running.Load() {
		return from[b]
	}
	return from[a]
}

// cacheAware sends a prompt to the worker that has seen the longest prefix of the prompt, because that worker may have
// the prefix in its cache. SGLang's router has the same policy. The least loaded worker gets the prompt if loads differ
// by more than BalanceAbs requests and by more than a factor of BalanceRel. The least loaded worker also gets the
// prompt if no worker has seen more than the fraction Threshold of the prompt.
type cacheAware struct {
	o  CacheOptions
	mu sync.Mutex
	// seen holds the prompts sent to each worker.
	seen  map[*worker]*prefixes
	chain []uint64
}

func newCacheAware(o CacheOptions) *cacheAware {
	return &cacheAware{o: o, seen: map[*worker]*prefixes{}}
}

func (*cacheAware) wantsKey() bool { return true }

func (p *cacheAware) pick(from []*worker, key []byte) *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	least, most := from[0].running.Load(), from[0].running.Load()
	for _, w := range from {
		n := w.running.Load()
		least, most = min(least, n), max(most, n)
	}
	p.chain = appendChain(p.chain[:0], key, p.o.MaxTreeSize/blockBytes)
	var best *worker
	if balanced := most-least <= int64(p.o.BalanceAbs) || float64(most) <= float64(least)*p.o.BalanceRel; balanced {
		known := 0
		for _, w := range from {
			if n := p.of(w).match(p.chain); n > known {
				best, known = w, n
			}
		}
		if float64(min(known*blockBytes, len(key))) <= p.o.Threshold*float64(len(key)) {
			best = nil
		}
	}
	if best == nil {
		// Among equally loaded workers, pick the one with the fewest remembered prompts.
		best = slices.MinFunc(from, func(a, b *worker) int {
			if d := a.running.Load() - b.running.Load(); d != 0 {
				return int(d)
			}
			return p.of(a).len() - p.of(b).len()
		})
	}
	p.of(best).add(p.chain)
	return best
}

// of returns the prefixes of the prompts sent to a worker. The caller holds mu.
func (p *cacheAware) of(w *worker) *prefixes {
	t := p.seen[w]
	if t == nil {
		t = newPrefixes(p.o.MaxTreeSize / blockBytes)
		p.seen[w] = t
	}
	return t
}

func (p *cacheAware) forget(w *worker) {
	p.mu.Lock()
	delete(p.seen, w)
	p.mu.Unlock()
}
