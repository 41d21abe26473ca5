package pftrace

// Strings that events share are written once and then referred to by number
// (interned_data.proto): names, categories, names of arguments. A GPU kernel's
// name may be a kilobyte long and occur a hundred thousand times.
//
// Both sides keep the table until the writer sets
// SEQ_INCREMENTAL_STATE_CLEARED; ours does so when the strings held pass a
// limit, so a trace of endless new names costs no more memory than any other.
// Values of arguments are interned only while there is room: they repeat less,
// and must not push out the names.

const (
	defaultInternLimit = 16 << 20 // bytes of strings, with entryCost each
	entryCost          = 64       // bytes, about what a map entry costs

	maxValues   = 1 << 15
	minValueLen = 4   // shorter ones cost about as much as the reference
	maxValueLen = 256 // bounds the table of values, at 8 MiB
)

type table struct {
	field uint64 // of InternedData
	ids   map[string]uint64
}

// intern holds the four tables of one generation.
type intern struct {
	names, categories, argNames, values table

	held  int    // bytes in the tables, entryCost included
	limit int    // held may pass it by one event's strings
	gen   int    // how often all was forgotten
	fresh []byte // InternedData entries not yet emitted
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

// reset forgets everything. The caller marks the next packet as cleared.
func (in *intern) reset() {
	for _, t := range [...]*table{&in.names, &in.categories, &in.argNames, &in.values} {
		// New maps: clear keeps the buckets, and a full table is large.
		t.ids = make(map[string]uint64)
	}
	in.held = 0
	in.gen++
	in.fresh = in.fresh[:0]
}

// id returns the number of s in t, counted from 1, and adds it if it is new.
func (in *intern) id(t *table, s []byte) uint64 {
	if id, ok := t.ids[string(s)]; ok { // no copy: the compiler knows this form
		return id
	}
	id := uint64(len(t.ids) + 1)
	t.ids[string(s)] = id
	in.held += len(s) + entryCost
	in.entry = appendBytes(appendUint(in.entry[:0], entryIID, id), entryName, s)
	in.fresh = appendBytes(in.fresh, t.field, in.entry)
	return id
}

// value is id for the value of an argument; 0 says to write it inline.
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
