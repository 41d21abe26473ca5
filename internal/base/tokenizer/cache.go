package tokenizer

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
)

// wordCache caches the ids of words. Each word has one slot, chosen by its hash, and a new word replaces the old one.
// So the cache is bounded without bookkeeping, frequent words return at once after they were replaced, and goroutines
// share it without a lock: a slot changes by one pointer.
type wordCache struct {
	seed  maphash.Seed
	slots []atomic.Pointer[cachedWord]
}

type cachedWord struct {
	word string
	ids  []int32
}

// cacheSlots limits the cache: 2^15 words of at most [shortWord] bytes and ids, 10 MB at worst, about 4 MB for English.
const cacheSlots = 1 << 15

func newWordCache() *wordCache {
	return &wordCache{maphash.MakeSeed(), make([]atomic.Pointer[cachedWord], cacheSlots)}
}

func (c *wordCache) hash(word string) uint64 { return maphash.String(c.seed, word) }

func (c *wordCache) get(hash uint64, word string) ([]int32, bool) {
	e := c.slots[hash%cacheSlots].Load()
	if e == nil || e.word != word {
		return nil, false
	}
	return e.ids, true
}

// put copies word, so that the cache does not retain the whole text that contains it.
func (c *wordCache) put(hash uint64, word string, ids []int32) {
	c.slots[hash%cacheSlots].Store(&cachedWord{strings.Clone(word), slices.Clone(ids)})
}
