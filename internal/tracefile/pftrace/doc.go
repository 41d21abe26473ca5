// Package pftrace writes timelines as a Perfetto trace: a stream of protobuf
// TracePackets that ui.perfetto.dev and trace_processor open, gzipped or not.
//
// [Writer] is the encoder. Declare tracks with [Writer.Track] or
// [Writer.Spans], then send events; what is written is final, so memory stays
// constant but for the table of interned strings, which is bounded too.
//
// # Time
//
// All times are int64 nanoseconds of one clock, not negative. No packet names
// a clock, so readers take it for the trace's own (BUILTIN_CLOCK_BOOTTIME in
// protos/perfetto/common/builtin_clock.proto), converted from nothing.
// [Writer.Wall] ties it to the time of day.
//
// # Order
//
// The format has no event "slice with a duration": a slice is a BEGIN and an
// END, matched per track like brackets. trace_processor sorts all packets by
// time, and those of equal time by their place in the file
// (src/trace_processor/sorter/trace_sorter.h, TimestampedEvent::operator<), so
//
//   - between tracks any order will do: rank after rank, CPU then GPU;
//   - on one track the writer emits BEGIN and END of a slice side by side, and
//     that nests rightly if the caller gives the slices of that track sorted by
//     start, and the longer first where starts are equal. An END carries no
//     name and closes the innermost open slice; ENDs of one time are therefore
//     interchangeable, an END precedes the BEGINs of its time that come later
//     in the file, and a parent precedes the child that starts with it.
//
// A file that is merely a concatenation of sorted runs, as Kineto's is (all
// operators of a thread, then all its runtime calls), must be sorted per track
// first: unsorted, nothing is lost, but the runs land on lanes of their own and
// do not nest in each other.
//
// Slices of one track that overlap without nesting cannot be written on one
// Perfetto track; [TrackWriter] puts them on lanes, see [Lanes].
//
// # Sources
//
// Field numbers are those of google/perfetto, protos/perfetto/trace/, at
// commit ec5d16b1 (August 2026); wire.go names the file of each.
package pftrace
