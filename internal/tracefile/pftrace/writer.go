package pftrace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	// All packets belong to one sequence, since interned strings are shared only within a sequence. Any number but 0 is
	// valid. trace_processor drops track events without a sequence number (stat track_event_missing_sequence_id).
	sequenceID = 1

	flushAt = 256 << 10 // buffered bytes that trigger a write to the io.Writer
)

var errNegativeTime = errors.New("a Perfetto trace cannot contain negative times: shift the trace to start at 0 or later")

// Writer encodes one trace. It is not safe for concurrent use. Its methods do not return errors: the first error
// sticks, later events are dropped, and Flush returns it.
type Writer struct {
	w   io.Writer
	err error

	out []byte // packets not yet written to w
	pkt []byte // TracePacket under construction
	msg []byte // TrackEvent or TrackDescriptor of the packet
	sub []byte // a message nested in msg

	in      intern
	cleared bool // whether the next packet starts a new generation of interned strings
}

// NewWriter returns a Writer to w. Its output is buffered; call Flush at the end.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: w, out: make([]byte, 0, flushAt+flushAt/4), in: newIntern(defaultInternLimit), cleared: true}
}

// Flush writes all buffered packets to the io.Writer and returns the first error since NewWriter. The Writer remains
// usable.
func (w *Writer) Flush() error {
	w.drain()
	return w.err
}

func (w *Writer) drain() {
	if w.err == nil && len(w.out) > 0 {
		if _, err := w.w.Write(w.out); err != nil {
			w.err = fmt.Errorf("write perfetto trace: %w", err)
		}
	}
	w.out = w.out[:0]
}

func (w *Writer) fail(track uint64, ts int64, err error) {
	if w.err == nil {
		w.err = fmt.Errorf("perfetto track %d: event at %d ns: %w", track, ts, err)
	}
}

// Wall relates the trace's clock to the time of day: ts is the trace's time at unixNS nanoseconds after 1970 UTC. The
// UI can then show dates. Call Wall once, before the first event.
func (w *Writer) Wall(ts, unixNS int64) {
	if ts < 0 || unixNS < 0 {
		w.fail(0, ts, errNegativeTime)
		return
	}
	w.msg = w.msg[:0]
	for _, c := range [...]struct{ id, t uint64 }{{builtinClockBoottime, uint64(ts)}, {builtinClockRealtime, uint64(unixNS)}} {
		w.sub = appendUint(appendUint(w.sub[:0], clockID, c.id), clockTimestamp, c.t)
		w.msg = appendBytes(w.msg, snapshotClocks, w.sub)
	}
	w.msg = appendUint(w.msg, snapshotPrimaryTraceClock, builtinClockBoottime)
	w.packet(packetClockSnapshot, ts)
}

// noTime is the timestamp of a packet without one.
const noTime = -1

// packet emits w.msg as the payload of a TracePacket, together with the strings interned since the last packet.
func (w *Writer) packet(payload uint64, ts int64) {
	p := w.pkt[:0]
	if ts >= 0 {
		p = appendUint(p, packetTimestamp, uint64(ts))
	}
	p = appendUint(p, packetSequenceID, sequenceID)
	flags := uint64(seqNeedsIncrementalState)
	if w.cleared {
		flags |= seqIncrementalStateCleared
		w.cleared = false
	}
	p = appendUint(p, packetSequenceFlags, flags)
	if len(w.in.fresh) > 0 {
		p = appendBytes(p, packetInternedData, w.in.fresh)
		w.in.fresh = w.in.fresh[:0]
	}
	p = appendBytes(p, payload, w.msg)
	w.pkt = p
	w.out = appendBytes(w.out, tracePacket, p)
	if len(w.out) >= flushAt {
		w.drain()
	}
}

// endPacket emits the SLICE_END of a track. Half of all packets are of this kind. They need no interned strings, so
// endPacket encodes them directly into w.out.
func (w *Writer) endPacket(track uint64, ts int64) {
	event := 2 + 1 + uvarintLen(track)
	packet := 1 + uvarintLen(uint64(ts)) + 2 + 2 + event
	b := append(w.out, tracePacket<<3|wireBytes, byte(packet), packetTimestamp<<3|wireVarint)
	b = binary.AppendUvarint(b, uint64(ts))
	b = append(b, packetSequenceID<<3|wireVarint, sequenceID,
		packetTrackEvent<<3|wireBytes, byte(event),
		eventType<<3|wireVarint, typeSliceEnd,
		eventTrackUUID<<3|wireVarint)
	w.out = binary.AppendUvarint(b, track)
	if len(w.out) >= flushAt {
		w.drain()
	}
}
