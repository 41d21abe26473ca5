// Package pftrace writes timelines as a Perfetto trace: a stream of protobuf TracePackets that ui.perfetto.dev and
// trace_processor open, gzipped or not.
//
// [Writer] is the encoder. Declare tracks with [Writer.Track] or [Writer.Spans], then add events. Written data is
// final. So memory stays constant, except for the table of interned strings, whose size is limited.
//
// # Time
//
// All times are non-negative int64 nanoseconds of one clock. No packet names a clock, so readers assume the trace's
// default (BUILTIN_CLOCK_BOOTTIME in protos/perfetto/common/builtin_clock.proto) and convert nothing. [Writer.Wall]
// relates this clock to the time of day.
//
// # Order
//
// The format has no event for a slice with a duration: a slice is a BEGIN and an END event, which readers match per
// track like brackets. trace_processor sorts all packets by time, and packets of equal time by their position in the
// file (src/trace_processor/sorter/trace_sorter.h, TimestampedEvent::operator<). Therefore
//
//   - tracks may be written in any order, such as rank after rank, or the CPU before the GPU;
//   - on one track the writer emits BEGIN and END of a slice side by side. The slices nest correctly if the caller
//     sorts the slices of the track by start and, if starts are equal, puts the longer slice first. An END carries no
//     name and closes the innermost open slice, so ENDs of equal time are interchangeable. An END precedes a BEGIN of
//     the same time that comes later in the file. A parent precedes a child that starts at the same time.
//
// A file that concatenates sorted runs must be sorted per track first. Kineto's files are an example: all operators of
// a thread precede all runtime calls of that thread. Without sorting no slice is lost, but the runs are drawn on
// separate lanes and do not nest.
//
// Slices of one track that overlap without nesting cannot be written on one Perfetto track. [TrackWriter] distributes
// them over lanes, see [Lanes].
//
// # Sources
//
// Field numbers are those of google/perfetto, protos/perfetto/trace/, at commit ec5d16b1 (August 2026). wire.go names
// the source file of each field number.
package pftrace
