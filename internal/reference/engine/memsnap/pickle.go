package memsnap

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
	"math/bits"
)

// pickler writes Python objects like pickle.dump, in protocol 2, with the opcodes that memory_viz reads (PyTorch,
// torch/utils/viz/MemoryViz.js). Python's pickletools documents the opcodes. The first error is kept and returned by
// done.
type pickler struct {
	w    *bufio.Writer
	memo map[string]uint32 // strings already written
}

func newPickler(w io.Writer) *pickler {
	p := &pickler{w: bufio.NewWriter(w), memo: map[string]uint32{}}
	p.op(0x80, 2) // PROTO
	return p
}

func (p *pickler) done() error {
	p.op('.') // STOP
	return p.w.Flush()
}

func (p *pickler) op(b ...byte) { p.w.Write(b) }

// dict writes a dict. members calls key for each member and then writes the member's value.
func (p *pickler) dict(members func()) {
	p.op('}', '(') // EMPTY_DICT, MARK
	members()
	p.op('u') // SETITEMS
}

// listBatch is the maximum number of items in one APPENDS: memory_viz passes all items of an APPENDS as arguments of
// one function call.
const listBatch = 1000

// list writes a list of n items.
func (p *pickler) list(n int, item func(i int)) {
	p.op(']') // EMPTY_LIST
	for i := range n {
		if i%listBatch == 0 {
			p.op('(') // MARK
		}
		item(i)
		if i%listBatch == listBatch-1 || i == n-1 {
			p.op('e') // APPENDS
		}
	}
}

// pair writes a tuple of two numbers.
func (p *pickler) pair(a, b int64) {
	p.int(a)
	p.int(b)
	p.op(0x86) // TUPLE2
}

// key begins a member of a dict.
func (p *pickler) key(s string) *pickler {
	p.str(s)
	return p
}

// str writes a string. For a repeated string, str writes a reference to the first occurrence.
func (p *pickler) str(s string) {
	id, ok := p.memo[s]
	switch {
	case !ok:
		id = uint32(len(p.memo))
		p.memo[s] = id
		p.op('X') // BINUNICODE
		p.uint32(uint32(len(s)))
		p.w.WriteString(s)
		p.indexed('q', 'r', id) // BINPUT, LONG_BINPUT
	default:
		p.indexed('h', 'j', id) // BINGET, LONG_BINGET
	}
}

// indexed writes an opcode with a memo index of one byte or four.
func (p *pickler) indexed(short, long byte, id uint32) {
	if id < 256 {
		p.op(short, byte(id))
		return
	}
	p.op(long)
	p.uint32(id)
}

func (p *pickler) uint32(n uint32) { p.w.Write(binary.LittleEndian.AppendUint32(nil, n)) }

func (p *pickler) int(n int64) {
	switch {
	case n >= 0 && n < 1<<8:
		p.op('K', byte(n)) // BININT1
	case n == int64(int32(n)):
		p.op('J') // BININT
		p.uint32(uint32(n))
	default:
		// LONG1: two's complement in the smallest number of bytes that also contains the sign bit.
		size := bits.Len64(uint64(n^n>>63))/8 + 1
		p.op(0x8a, byte(size))
		p.w.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))[:size])
	}
}

func (p *pickler) float(x float64) {
	p.op('G') // BINFLOAT
	p.w.Write(binary.BigEndian.AppendUint64(nil, math.Float64bits(x)))
}

func (p *pickler) bool(b bool) {
	if b {
		p.op(0x88) // NEWTRUE
		return
	}
	p.op(0x89) // NEWFALSE
}
