package pftrace

import "encoding/binary"

// Field numbers, by message. The comment above each group names the file under
// protos/perfetto/ that defines it.
const (
	// trace/trace.proto: Trace
	tracePacket = 1

	// trace/trace_packet.proto: TracePacket
	packetClockSnapshot   = 6
	packetTimestamp       = 8  // uint64, ns
	packetSequenceID      = 10 // trusted_packet_sequence_id, uint32
	packetTrackEvent      = 11
	packetInternedData    = 12
	packetSequenceFlags   = 13
	packetTrackDescriptor = 60

	// trace/trace_packet.proto: TracePacket.SequenceFlags
	seqIncrementalStateCleared = 1
	seqNeedsIncrementalState   = 2

	// trace/clock_snapshot.proto: ClockSnapshot, ClockSnapshot.Clock
	snapshotClocks            = 1
	snapshotPrimaryTraceClock = 2
	clockID                   = 1
	clockTimestamp            = 2

	// common/builtin_clock.proto: BuiltinClock
	builtinClockRealtime = 1
	builtinClockBoottime = 6

	// trace/track_event/track_descriptor.proto: TrackDescriptor
	trackUUID                 = 1
	trackName                 = 2
	trackParentUUID           = 5
	trackCounter              = 8
	trackChildOrdering        = 11
	trackSiblingOrderRank     = 12 // int32
	trackDescription          = 14
	trackSiblingMergeBehavior = 15
	trackSiblingMergeKey      = 16 // string

	// TrackDescriptor.ChildTracksOrdering, TrackDescriptor.SiblingMergeBehavior
	childOrderingExplicit = 3
	siblingMergeNone      = 2
	siblingMergeByKey     = 3

	// trace/track_event/counter_descriptor.proto: CounterDescriptor
	counterUnit     = 3
	counterUnitName = 6

	// CounterDescriptor.Unit
	unitTimeNS    = 1
	unitCount     = 2
	unitSizeBytes = 3

	// trace/track_event/track_event.proto: TrackEvent
	eventCategoryIIDs       = 3 // repeated uint64
	eventDebugAnnotations   = 4
	eventType               = 9
	eventNameIID            = 10
	eventTrackUUID          = 11
	eventCounterValue       = 30 // int64
	eventFlowIDs            = 47 // repeated fixed64, not packed
	eventTerminatingFlowIDs = 48 // repeated fixed64, not packed

	// TrackEvent.Type
	typeSliceBegin = 1
	typeSliceEnd   = 2
	typeInstant    = 3
	typeCounter    = 4

	// trace/track_event/debug_annotation.proto: DebugAnnotation
	annotationNameIID         = 1
	annotationBoolValue       = 2
	annotationUintValue       = 3
	annotationIntValue        = 4
	annotationDoubleValue     = 5
	annotationStringValue     = 6
	annotationLegacyJSONValue = 9
	annotationStringValueIID  = 17

	// trace/interned_data/interned_data.proto: InternedData
	internedEventCategories  = 1
	internedEventNames       = 2
	internedAnnotationNames  = 3
	internedAnnotationValues = 29 // debug_annotation_string_values

	// EventCategory, EventName (track_event.proto), DebugAnnotationName
	// (debug_annotation.proto) and InternedString
	// (trace/profiling/profile_common.proto) all have these two fields.
	entryIID  = 1
	entryName = 2
)

// Wire types, https://protobuf.dev/programming-guides/encoding/#structure.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
)

// appendTag appends a field's tag. It is small enough for the compiler to inline, so the common one-byte tag is a
// single store.
func appendTag(b []byte, field, wire uint64) []byte {
	if t := field<<3 | wire; t < 0x80 {
		return append(b, byte(t))
	}
	return binary.AppendUvarint(b, field<<3|wire)
}

func appendUint(b []byte, field, v uint64) []byte {
	return binary.AppendUvarint(appendTag(b, field, wireVarint), v)
}

// appendInt appends an int32, int64 or enum field: two's complement in 64 bits, without zigzag.
func appendInt(b []byte, field uint64, v int64) []byte {
	return appendUint(b, field, uint64(v))
}

func appendFixed64(b []byte, field, v uint64) []byte {
	return binary.LittleEndian.AppendUint64(appendTag(b, field, wireFixed64), v)
}

// appendBytes appends a string, bytes or nested message field.
func appendBytes[T string | []byte](b []byte, field uint64, v T) []byte {
	b = binary.AppendUvarint(appendTag(b, field, wireBytes), uint64(len(v)))
	return append(b, v...)
}

// uvarintLen returns the length of v as a varint, in bytes.
func uvarintLen(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}
