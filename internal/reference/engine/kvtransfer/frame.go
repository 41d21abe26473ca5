package kvtransfer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A frame consists of a header of 36 bytes, in little endian, and a payload:
//
//	 0  kind, 1 byte          12  first block, 4: index in the request, not in memory
//	 1  flags, 1              16  blocks, 4
//	 2  layer, 2              20  payload bytes, 4
//	 4  room, 8               24  first head, 2
//	                          26  heads, 2
//	28  CRC-32C of the payload, 4
//	32  CRC-32C of bytes 0 to 31, 4
//
// The header has its own checksum. If only the payload is corrupt, the header still shows where the next frame begins
// and which room has corrupt blocks.
//
// The payload of a blocks frame contains, for each head, the keys of all blocks and then the values of all blocks. The
// frames open, welcome and bind carry JSON. The frame abort carries a text. The end frame on the first link of a room
// carries the data given to Outgoing.Finish.
type header struct {
	kind          kind
	last          bool // last frame of a call of Outgoing.Send
	layer         int
	room          uint64
	first, blocks int
	bytes         int
	head, heads   int
	sum           uint32
}

const headerSize = 36

// castagnoli is the polynomial of CRC-32C (RFC 3720).
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type kind byte

const (
	kindWelcome kind = iota + 1 // the source's first message: its layout
	kindBind                    // the sink's first message: the ranks that the link joins
	kindOpen                    // from the sink: memory for the room is ready
	kindBlocks                  // from the source: keys and values
	kindEnd                     // from the source: everything has been sent
	kindAck                     // from the sink: everything has arrived
	kindAbort                   // from either worker: the room has ended; in a handshake: link refused; with the reason
	kindPing
	kinds
)

const (
	maxIndex   = 1<<16 - 1
	maxPayload = 64 << 20
	// frameBytes is the target size of frames with blocks, in bytes. A frame of this size is still in a core's cache
	// when it is copied after its checksum has been computed.
	frameBytes = 256 << 10
)

var (
	errHeader  = errors.New("invalid frame header")
	errPayload = errors.New("checksum mismatch")
)

const flagLast = 1

// append appends the header's 36 bytes to dst.
func (h *header) append(dst []byte) []byte {
	at := len(dst)
	flags := byte(0)
	if h.last {
		flags |= flagLast
	}
	e := binary.LittleEndian
	dst = append(dst, byte(h.kind), flags)
	dst = e.AppendUint16(dst, uint16(h.layer))
	dst = e.AppendUint64(dst, h.room)
	dst = e.AppendUint32(dst, uint32(h.first))
	dst = e.AppendUint32(dst, uint32(h.blocks))
	dst = e.AppendUint32(dst, uint32(h.bytes))
	dst = e.AppendUint16(dst, uint16(h.head))
	dst = e.AppendUint16(dst, uint16(h.heads))
	dst = e.AppendUint32(dst, h.sum)
	return e.AppendUint32(dst, crc32.Checksum(dst[at:], castagnoli))
}

// parse reads a header of headerSize bytes.
func (h *header) parse(b []byte) error {
	e := binary.LittleEndian
	*h = header{
		kind: kind(b[0]), last: b[1]&flagLast != 0, layer: int(e.Uint16(b[2:])), room: e.Uint64(b[4:]), first: int(e.Uint32(b[12:])), blocks: int(e.Uint32(b[16:])),
		bytes: int(e.Uint32(b[20:])), head: int(e.Uint16(b[24:])), heads: int(e.Uint16(b[26:])), sum: e.Uint32(b[28:]),
	}
	switch {
	case e.Uint32(b[32:]) != crc32.Checksum(b[:32], castagnoli):
		return errHeader
	case h.kind == 0 || h.kind >= kinds || b[1]&^flagLast != 0:
		return fmt.Errorf("%w: a frame of kind %d, flags %#x", errHeader, h.kind, b[1])
	case h.bytes > maxPayload:
		return fmt.Errorf("%w: a payload of %d bytes, at most %d are allowed", errHeader, h.bytes, maxPayload)
	}
	return nil
}

// message returns a complete frame of a kind that carries no blocks.
func message(k kind, room uint64, payload []byte) []byte {
	h := header{kind: k, room: room, bytes: len(payload), sum: crc32.Checksum(payload, castagnoli)}
	return append(h.append(make([]byte, 0, headerSize+len(payload))), payload...)
}

// readHeader reads the next header into buf, which has headerSize bytes.
func readHeader(r io.Reader, buf []byte) (h header, err error) {
	if _, err = io.ReadFull(r, buf); err == nil {
		err = h.parse(buf)
	}
	return h, err
}

// readPayload reads the payload of a frame of a kind that carries no blocks. It allocates memory only as bytes arrive,
// because the length in the header may be wrong.
func readPayload(r io.Reader, h header) ([]byte, error) {
	var out []byte
	for len(out) < h.bytes {
		n := min(h.bytes-len(out), 1<<20)
		out = append(out, make([]byte, n)...)
		if _, err := io.ReadFull(r, out[len(out)-n:]); err != nil {
			return nil, err
		}
	}
	if crc32.Checksum(out, castagnoli) != h.sum {
		return nil, errPayload
	}
	return out, nil
}

// cut divides heads and blocks into the rectangles that are sent as frames. A frame holds one or more complete heads if
// they fit in frameBytes, and otherwise a part of one head.
func cut(heads Span, blocks, page int, each func(head, heads, first, n int)) {
	perHead := 2 * page * blocks
	if step := frameBytes / max(perHead, 1); step >= 1 {
		for h := heads.Lo; h < heads.Hi; h += step {
			each(h, min(step, heads.Hi-h), 0, blocks)
		}
		return
	}
	step := max(frameBytes/(2*page), 1)
	for h := heads.Lo; h < heads.Hi; h++ {
		for at := 0; at < blocks; at += step {
			each(h, 1, at, min(step, blocks-at))
		}
	}
}

// parts passes to each, in payload order, the parts of memory that a frame of blocks covers. Blocks that are adjacent
// in memory form one part.
func parts(r *Rank, layer, head, heads int, blocks []int32, each func([]byte) error) error {
	for h := head; h < head+heads; h++ {
		for _, values := range []bool{false, true} {
			for at := 0; at < len(blocks); {
				n := 1
				for at+n < len(blocks) && blocks[at+n] == blocks[at]+int32(n) {
					n++
				}
				part, v := r.Pages(layer, h, blocks[at], n)
				if values {
					part = v
				}
				if err := each(part); err != nil {
					return err
				}
				at += n
			}
		}
	}
	return nil
}
