package tokenizer

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
)

// wordCache caches the ids of words. Each word has one slot, chosen by the word's hash, and a new word replaces the
// word in its slot. So the size of the cache is limited without bookkeeping, and a frequent word that was replaced soon
// returns to the cache. Goroutines share the cache without a lock, because a change of a slot is the store of one
// pointer.
type wordCache struct {
	seed  maphash.Seed
	slots []atomic.Pointer[cachedWord]
}

type cachedWord struct {
	word string
	ids  []int32
}

// cacheSlots is the maximum number of words in the cache: 2^15 words of at most [shortWord] bytes with their ids. The
// cache takes at most 10 MB, and about 4 MB for English.
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
