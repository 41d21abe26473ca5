package merge

import (
	"bufio"
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"io"
	"os"
	"slices"
	"unsafe"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// record is one event for a Perfetto trace. Perfetto needs the events of a track in order of time, but a Kineto file
// groups them by source.
type record struct {
	track      uint32
	what       recordKind
	start, dur int64  // ns
	flow       uint64 // 0: none
	value      int64  // value of a counter; for a slice the number of its shape, which supplies name, cat and args
	name, cat  []byte // JSON text without quotes
	args       []byte // JSON object, may be empty; for a slice with a shape, the slice's numbers
}

type recordKind uint8

// Kinds of records, in their sort order at equal starts: a flow is connected to the slice after it.
const (
	flowRecord recordKind = iota
	sliceRecord
	instantRecord
	counterRecord
)

// spool sorts any number of records in limited memory. It sorts runs of runBytes. If there is more than one run, it
// writes the runs to a temporary file and merges them.
type spool struct {
	path  string // output path; the temporary file is created in the same directory
	slab  []byte
	index []indexed
	file  *os.File
	runs  []run
	at    int64
}

// indexed is the position of a record in the slab, with the record's sort key.
type indexed struct {
	track  uint32
	what   recordKind
	start  int64
	dur    int64
	off, n uint32
}

type run struct{ off, n int64 }

const runBytes = 4 << 20

// before compares records by track, then by start, then by duration, longest first. Equal records keep their order.
func before(a, b *indexed) int {
	return cmp.Or(cmp.Compare(a.track, b.track), cmp.Compare(a.start, b.start), cmp.Compare(a.what, b.what), cmp.Compare(b.dur, a.dur))
}

// add copies r into the spool.
func (s *spool) add(r *record) error {
	if s.slab == nil {
		s.slab = make([]byte, 0, runBytes+runBytes/8)
	}
	off := len(s.slab)
	s.slab = binary.LittleEndian.AppendUint32(s.slab, 0) // length of the record, set below
	s.slab = binary.LittleEndian.AppendUint32(s.slab, r.track)
	s.slab = append(s.slab, byte(r.what))
	s.slab = binary.AppendVarint(s.slab, r.start)
	s.slab = binary.AppendVarint(s.slab, r.dur)
	s.slab = binary.AppendUvarint(s.slab, r.flow)
	s.slab = binary.AppendVarint(s.slab, r.value)
	for _, b := range [...][]byte{r.name, r.cat, r.args} {
		s.slab = binary.AppendUvarint(s.slab, uint64(len(b)))
		s.slab = append(s.slab, b...)
	}
	n := len(s.slab) - off
	binary.LittleEndian.PutUint32(s.slab[off:], uint32(n))
	s.index = append(s.index, indexed{r.track, r.what, r.start, r.dur, uint32(off), uint32(n)})
	if len(s.slab)+len(s.index)*int(unsafe.Sizeof(indexed{})) >= runBytes {
		return s.flush()
	}
	return nil
}

func (r *record) decode(b []byte) {
	r.track, r.what = binary.LittleEndian.Uint32(b[4:]), recordKind(b[8])
	b = b[9:]
	varint := func() int64 {
		v, n := binary.Varint(b)
		b = b[n:]
		return v
	}
	uvarint := func() uint64 {
		v, n := binary.Uvarint(b)
		b = b[n:]
		return v
	}
	r.start, r.dur, r.flow, r.value = varint(), varint(), uvarint(), varint()
	for _, f := range [...]*[]byte{&r.name, &r.cat, &r.args} {
		n := uvarint()
		*f = b[:n:n]
		b = b[n:]
	}
}

// flush sorts the records in memory and writes them as a run.
func (s *spool) flush() error {
	s.sort()
	if s.file == nil {
		f, err := atomicfile.Scratch(s.path)
		if err != nil {
			return err
		}
		s.file = f
	}
	w := bufio.NewWriterSize(s.file, 256<<10)
	r := run{off: s.at}
	for i := range s.index {
		x := &s.index[i]
		n, err := w.Write(s.slab[x.off : x.off+x.n])
		if err != nil {
			return err
		}
		r.n += int64(n)
	}
	s.at += r.n
	s.runs = append(s.runs, r)
	s.slab, s.index = s.slab[:0], s.index[:0]
	return w.Flush()
}

func (s *spool) sort() {
	slices.SortStableFunc(s.index, func(a, b indexed) int { return before(&a, &b) })
}

func (s *spool) close() {
	if s.file != nil {
		atomicfile.Discard(s.file)
	}
}

// each calls do with all records in order. A record is valid only until do returns. each stops when ctx ends.
func (s *spool) each(ctx context.Context, do func(*record) error) error {
	n := 0
	f := func(r *record) error {
		if n++; n&0xfff == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return do(r)
	}
	var r record
	if s.file == nil {
		s.sort()
		for i := range s.index {
			x := &s.index[i]
			r.decode(s.slab[x.off : x.off+x.n])
			if err := f(&r); err != nil {
				return err
			}
		}
		return nil
	}
	if len(s.index) > 0 {
		if err := s.flush(); err != nil {
			return err
		}
	}
	s.slab, s.index = nil, nil
	// All run buffers together take less than 16 MB, unless there are so many runs that even 4 kB each exceed it.
	size := min(128<<10, max(4<<10, (16<<20)/len(s.runs)))
	h := make(runHeap, 0, len(s.runs))
	for i, r := range s.runs {
		rr := &runReader{n: i, r: bufio.NewReaderSize(io.NewSectionReader(s.file, r.off, r.n), size)}
		if err := rr.next(); err == io.EOF {
			continue
		} else if err != nil {
			return err
		}
		h = append(h, rr)
	}
	heap.Init(&h)
	for len(h) > 0 {
		if err := f(&h[0].rec); err != nil {
			return err
		}
		switch err := h[0].next(); err {
		case nil:
			heap.Fix(&h, 0)
		case io.EOF:
			heap.Pop(&h)
		default:
			return err
		}
	}
	return nil
}

// runReader reads one run from the temporary file.
type runReader struct {
	n   int // number of the run; of equal records, the record of the earlier run goes first
	r   *bufio.Reader
	buf []byte
	rec record
	key indexed
}

func (r *runReader) next() error {
	var head [4]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return err
	}
	n := int(binary.LittleEndian.Uint32(head[:]))
	if cap(r.buf) < n {
		r.buf = make([]byte, n, n+n/2)
	}
	r.buf = r.buf[:n]
	if _, err := io.ReadFull(r.r, r.buf[4:]); err != nil {
		return err
	}
	r.rec.decode(r.buf)
	r.key = indexed{track: r.rec.track, what: r.rec.what, start: r.rec.start, dur: r.rec.dur}
	return nil
}

type runHeap []*runReader

func (h runHeap) Len() int { return len(h) }
func (h runHeap) Less(i, j int) bool {
	return cmp.Or(before(&h[i].key, &h[j].key), cmp.Compare(h[i].n, h[j].n)) < 0
}
func (h runHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)   { *h = append(*h, x.(*runReader)) }
func (h *runHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
