package pftrace

// Strings that events share (names, categories, names of arguments) are written once and then referenced by number
// (interned_data.proto). A GPU kernel's name may be a kilobyte long and occur a hundred thousand times.
//
// Writer and reader keep the table until the writer sets SEQ_INCREMENTAL_STATE_CLEARED. This writer sets it when the
// strings exceed a limit, so memory is limited even if the names never repeat. Argument values are interned only while
// the table is at most half full, because they repeat less often than names and must not displace them.

const (
	defaultInternLimit = 16 << 20 // bytes of strings, each with entryCost
	entryCost          = 64       // bytes, the approximate size of a map entry

	maxValues   = 1 << 15
	minValueLen = 4   // a shorter value costs about as much as a reference
	maxValueLen = 256 // limits the table of values to 8 MiB
)

type table struct {
	field uint64 // field of InternedData
	ids   map[string]uint64
}

// intern holds the four tables of the current generation of strings.
type intern struct {
	names, categories, argNames, values table

	held  int    // bytes in the tables, entryCost included
	limit int    // the strings of one event may exceed it
	gen   int    // number of resets
	fresh []byte // InternedData entries not yet written
	entry []byte
}

func newIntern(limit int) intern {
	t := func(field uint64) table { return table{field, make(map[string]uint64)} }
	return intern{
		names:      t(internedEventNames),
		categories: t(internedEventCategories),
		argNames:   t(internedAnnotationNames),
		values:     t(internedAnnotationValues),
		limit:      limit,
	}
}

func (in *intern) full() bool { return in.held > in.limit }

// reset removes all strings. The caller must set SEQ_INCREMENTAL_STATE_CLEARED on the next packet.
func (in *intern) reset() {
	for _, t := range [...]*table{&in.names, &in.categories, &in.argNames, &in.values} {
		// Allocate new maps: clear would keep the buckets, and a full table is large.
		t.ids = make(map[string]uint64)
	}
	in.held = 0
	in.gen++
	in.fresh = in.fresh[:0]
}

// id returns the number of s in t, counted from 1, and adds s if it is new.
func (in *intern) id(t *table, s []byte) uint64 {
	if id, ok := t.ids[string(s)]; ok { // the compiler avoids a copy in this form
		return id
	}
	id := uint64(len(t.ids) + 1)
	t.ids[string(s)] = id
	in.held += len(s) + entryCost
	in.entry = appendBytes(appendUint(in.entry[:0], entryIID, id), entryName, s)
	in.fresh = appendBytes(in.fresh, t.field, in.entry)
	return id
}

// value does the same as id for the value of an argument. It returns 0 if the value must be written inline.
func (in *intern) value(s []byte) uint64 {
	if len(s) < minValueLen || len(s) > maxValueLen {
		return 0
	}
	if id, ok := in.values.ids[string(s)]; ok {
		return id
	}
	if len(in.values.ids) >= maxValues || in.held > in.limit/2 {
		return 0
	}
	return in.id(&in.values, s)
}
