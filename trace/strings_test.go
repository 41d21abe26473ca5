package trace

import (
	"fmt"
	"hash/maphash"
	"testing"
)

func TestStrings(t *testing.T) {
	var s Strings
	if s.Len() != 1 || s.Get(0) != "" || s.Get(7) != "" {
		t.Errorf("empty table: %d, %q, %q", s.Len(), s.Get(0), s.Get(7))
	}
	if id, ok := s.Find("a"); ok {
		t.Errorf("found %d in an empty table", id)
	}
	if id := s.Intern(nil); id != 0 || s.Len() != 1 {
		t.Errorf("the empty string is %d", id)
	}
	const n = 100_000 // grows several times
	buf := make([]byte, 0, 32)
	for round := range 2 {
		for i := range n {
			buf = fmt.Appendf(buf[:0], "name %d", i)
			if id := s.Intern(buf); id != StringID(i+1) {
				t.Fatalf("round %d: %s is %d; want %d", round, buf, id, i+1)
			}
		}
	}
	if s.Len() != n+1 {
		t.Errorf("%d strings; want %d", s.Len(), n+1)
	}
	for i := range n {
		name := fmt.Sprintf("name %d", i)
		if id, ok := s.Find(name); !ok || s.Get(id) != name || id != StringID(i+1) {
			t.Fatalf("%s: %d, %v, %q", name, id, ok, s.Get(id))
		}
	}
	if _, ok := s.Find("name"); ok {
		t.Error("found a string that was never interned")
	}
	if id, ok := s.Find(""); id != 0 || !ok {
		t.Errorf("the empty string: %d, %v", id, ok)
	}
}

func TestStringsReplace(t *testing.T) {
	var s Strings
	const n = 3000 // replacing all refills the table
	for i := range n {
		s.Intern(fmt.Appendf(nil, `a\/%d`, i))
	}
	for i := range n {
		s.Replace(StringID(i+1), fmt.Sprintf("a/%d", i))
	}
	for i := range n {
		plain := fmt.Sprintf("a/%d", i)
		if id, ok := s.Find(plain); !ok || id != StringID(i+1) || s.Get(id) != plain {
			t.Fatalf("%s: %d, %v, %q", plain, id, ok, s.Get(id))
		}
		if _, ok := s.Find(fmt.Sprintf(`a\/%d`, i)); ok {
			t.Fatalf("the old text of %s is still found", plain)
		}
	}
	s.Replace(0, "x")
	if s.Get(0) != "" {
		t.Error("id 0 is no longer empty")
	}
	if id := s.Intern([]byte("new")); id != n+1 || s.Get(id) != "new" {
		t.Errorf("interned after Replace: %d, %q", id, s.Get(id))
	}
}

// TestInternAllocates: a known string allocates nothing.
func TestInternAllocates(t *testing.T) {
	var s Strings
	b := []byte("aten::mm")
	s.Intern(b)
	if n := testing.AllocsPerRun(100, func() { s.Intern(b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Find returns the id of s if it was interned.
func (t *Strings) Find(s string) (StringID, bool) {
	if s == "" {
		return 0, true
	}
	if t.slots == nil {
		return 0, false
	}
	h := uint32(maphash.String(t.seed, s))
	mask := uint32(len(t.slots) - 1)
	for at := h & mask; t.slots[at] != 0; at = (at + 1) & mask {
		if id := t.slots[at] - 1; t.hash[id] == h && t.list[id] == s {
			return StringID(id), true
		}
	}
	return 0, false
}
