package trace

import (
	"hash/maphash"
	"slices"
)

// Strings is a string table. It interns raw bytes, so a reader can intern escaped text and unescape each distinct text
// only once.
type Strings struct {
	list  []string
	slots []uint32 // open addressing; 0: free, otherwise id+1
	used  int      // slots in use
	hash  []uint32 // hash of list[i], so that growing needs no rehash
	seed  maphash.Seed
}

// Len returns the number of distinct strings, including the empty one.
func (t *Strings) Len() int {
	if len(t.list) == 0 {
		return 1
	}
	return len(t.list)
}

// Clone returns a copy of t. A plain copy would share slots, so neither could intern texts.
func (t *Strings) Clone() Strings {
	return Strings{list: slices.Clone(t.list), slots: slices.Clone(t.slots), used: t.used, hash: slices.Clone(t.hash), seed: t.seed}
}

// Get returns the text of an id, or "" for an id that was never assigned.
func (t *Strings) Get(id StringID) string {
	if int(id) >= len(t.list) {
		return ""
	}
	return t.list[id]
}

// Intern returns b's id; equal bytes have equal ids. It allocates only when b is new.
func (t *Strings) Intern(b []byte) StringID {
	if len(b) == 0 {
		return 0
	}
	if t.slots == nil {
		t.slots = make([]uint32, 1024)
		t.seed = maphash.MakeSeed()
		t.list, t.hash = append(t.list, ""), append(t.hash, 0)
	}
	h := uint32(maphash.Bytes(t.seed, b))
	mask := uint32(len(t.slots) - 1)
	at := h & mask
	for ; t.slots[at] != 0; at = (at + 1) & mask {
		if id := t.slots[at] - 1; t.hash[id] == h && t.list[id] == string(b) {
			return StringID(id)
		}
	}
	id := uint32(len(t.list))
	t.list, t.hash = append(t.list, string(b)), append(t.hash, h)
	t.fill(at, id)
	return StringID(id)
}

// Replace changes the text of an id. A reader that interns escaped text uses it at the end to replace escaped text with
// plain text. Find then looks for the new text; if several ids have the same text, Find returns one of them. Id 0 stays
// empty.
func (t *Strings) Replace(id StringID, s string) {
	if id == 0 {
		return
	}
	h := uint32(maphash.String(t.seed, s))
	t.list[id], t.hash[id] = s, h
	mask := uint32(len(t.slots) - 1)
	at := h & mask
	for t.slots[at] != 0 {
		at = (at + 1) & mask
	}
	t.fill(at, uint32(id))
}

func (t *Strings) fill(at, id uint32) {
	t.slots[at] = id + 1
	if t.used++; t.used*4 > len(t.slots)*3 {
		t.grow()
	}
}

func (t *Strings) grow() {
	t.slots = make([]uint32, 2*len(t.slots))
	t.used = len(t.list) - 1
	mask := uint32(len(t.slots) - 1)
	for id := 1; id < len(t.list); id++ {
		at := t.hash[id] & mask
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = uint32(id) + 1
	}
}
