// Package pftrace writes timelines as a Perfetto trace: a stream of protobuf TracePackets that ui.perfetto.dev and
// trace_processor open, gzipped or not.
//
// [Writer] is the encoder. Declare tracks with [Writer.Track] or [Writer.Spans], then add events. Written data is
// final, so memory stays constant except for the table of interned strings, which is also limited.
//
// # Time
//
// All times are non-negative int64 nanoseconds of one clock. No packet names a clock, so readers assume the trace's
// default (BUILTIN_CLOCK_BOOTTIME in protos/perfetto/common/builtin_clock.proto) and convert nothing. [Writer.Wall]
// relates it to the time of day.
//
// # Order
//
// The format has no event for a slice with a duration: a slice is a BEGIN and an END, matched per track like brackets.
// trace_processor sorts all packets by time, and packets of equal time by their position in the file
// (src/trace_processor/sorter/trace_sorter.h, TimestampedEvent::operator<), so
//
//   - between tracks any order is valid: rank after rank, CPU then GPU;
//   - on one track the writer emits BEGIN and END of a slice side by side. They nest correctly if the caller sorts the
//     slices of the track by start, and longer ones first at equal starts. An END carries no name and closes the
//     innermost open slice. So ENDs of equal time are interchangeable, an END precedes BEGINs of the same time that
//     come later in the file, and a parent precedes a child that starts with it.
//
// A file that concatenates sorted runs, as Kineto's does (all operators of a thread, then all its runtime calls), must
// be sorted per track first. Unsorted, nothing is lost, but the runs land on separate lanes and do not nest.
//
// Slices of one track that overlap without nesting cannot be written on one Perfetto track. [TrackWriter] distributes
// them over lanes, see [Lanes].
//
// # Sources
//
// Field numbers are those of google/perfetto, protos/perfetto/trace/, at commit ec5d16b1 (August 2026). wire.go names
// the file of each.
package pftrace
