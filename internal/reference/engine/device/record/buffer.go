package record

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// chunkLen is the number of records per allocation.
const chunkLen = 512

type chunk[T any] struct {
	rec  [chunkLen]T
	next atomic.Pointer[chunk[T]]
}

// buffer is an append-only list with one writer. Readers see only published records, so one goroutine can read a
// recording while the writer is still filling a record. T must have no pointers, so that the garbage collector skips
// the chunks.
type buffer[T any] struct {
	budget *budget
	first  atomic.Pointer[chunk[T]]
	last   *chunk[T] // chunk being filled; used by the writer only
	n      int       // number of records added by the writer; done publishes it
	done   atomic.Int64
	lost   atomic.Int64
}

// budget bounds the memory of all buffers of a recording, in bytes.
type budget struct {
	used, limit atomic.Int64
}

// add returns a pointer to a new record, which the caller fills in and then publishes. If the recording is full, add
// counts the record in lost and returns nil.
func (b *buffer[T]) add() *T {
	at := b.n % chunkLen
	if at == 0 && !b.grow() {
		b.lost.Add(1)
		return nil
	}
	b.n++
	return &b.last.rec[at]
}

func (b *buffer[T]) publish() { b.done.Store(int64(b.n)) }

func (b *buffer[T]) put(x T) bool {
	r := b.add()
	if r == nil {
		return false
	}
	*r = x
	b.publish()
	return true
}

func (b *buffer[T]) grow() bool {
	size := int64(unsafe.Sizeof(chunk[T]{}))
	if b.budget.used.Add(size) > b.budget.limit.Load() {
		b.budget.used.Add(-size)
		return false
	}
	c := &chunk[T]{}
	if b.last == nil {
		b.first.Store(c)
	} else {
		b.last.next.Store(c)
	}
	b.last = c
	return true
}

// all iterates over published records.
func (b *buffer[T]) all(yield func(int, *T) bool) {
	n := int(b.done.Load())
	c := b.first.Load()
	for i := 0; i < n; i++ {
		if i > 0 && i%chunkLen == 0 {
			c = c.next.Load()
		}
		if !yield(i, &c.rec[i%chunkLen]) {
			return
		}
	}
}

func (b *buffer[T]) len() int { return int(b.done.Load()) }

// view indexes the records published so far. It copies no records, because exporting a recording must not double the
// memory that it uses.
func (b *buffer[T]) view() view[T] {
	v := view[T]{n: b.len()}
	for c := b.first.Load(); c != nil && len(v.chunks)*chunkLen < v.n; c = c.next.Load() {
		v.chunks = append(v.chunks, c)
	}
	return v
}

type view[T any] struct {
	chunks []*chunk[T]
	n      int
}

func (v view[T]) at(i int) *T { return &v.chunks[i/chunkLen].rec[i%chunkLen] }

// names is the string table of a recording. One goroutine interns strings; readers see published strings. Strings that
// recur at the same address, such as constants, are found without hashing.
type names struct {
	recent [256]named
	ids    map[string]uint32
	mu     sync.RWMutex // guards list against readers
	list   []string
}

type named struct {
	s  string
	id uint32
}

func (t *names) intern(s string) uint32 {
	if len(s) == 0 {
		return 0
	}
	at := uintptr(unsafe.Pointer(unsafe.StringData(s)))
	slot := &t.recent[byte(at>>4)^byte(at>>12)^byte(len(s))]
	if slot.s == s { // compares the addresses first
		return slot.id
	}
	id, ok := t.ids[s]
	if !ok {
		t.mu.Lock()
		id = uint32(len(t.list))
		t.list = append(t.list, s)
		t.mu.Unlock()
		t.ids[s] = id
	}
	*slot = named{s, id}
	return id
}

// add interns a string and may be called by any goroutine. It detects only consecutive duplicates: it compares s only
// with the last string of the table.
func (t *names) add(s string) uint32 {
	if s == "" {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if id := uint32(len(t.list)) - 1; t.list[id] == s {
		return id
	}
	t.list = append(t.list, s)
	return uint32(len(t.list)) - 1
}

func (t *names) all() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.list[:len(t.list):len(t.list)]
}
