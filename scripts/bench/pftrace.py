"""Count the track events of a Perfetto trace, with the wire format of protocol buffers and nothing else.

Field numbers are those of perfetto/protos/perfetto/trace: Trace.packet = 1; TracePacket.track_event = 11 and
.compressed_packets = 50 (zlib); TrackEvent.type = 9 with 1 begin, 2 end, 3 instant, 4 counter.
"""

import gzip
import zlib

KINDS = {1: "begin", 2: "end", 3: "instant", 4: "counter"}


def fields(data, at, end):
    """Yield (number, wire type, start, stop) of each field of the message in data[at:end]."""
    while at < end:
        key, at = varint(data, at, end)
        wire, start = key & 7, at
        if wire == 0:
            _, at = varint(data, at, end)
        elif wire == 1:
            at += 8
        elif wire == 2:
            length, start = varint(data, at, end)
            at = start + length
        elif wire == 5:
            at += 4
        else:
            raise ValueError(f"wire type {wire} at byte {start}")
        if at > end:
            raise ValueError(f"field {key >> 3} at byte {start} goes past the end of its message")
        yield key >> 3, wire, start, at


def varint(data, at, end):
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError(f"cut off at byte {at}")


def count_track_events(path):
    """Return {"packets": n, "begin": n, "end": n, "instant": n, "counter": n} of a file, plain or gzip."""
    with open(path, "rb") as stream:
        data = stream.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    counts = dict.fromkeys(["packets", *KINDS.values()], 0)
    add_trace(data, counts)
    return counts


def add_trace(data, counts):
    for number, wire, start, stop in fields(data, 0, len(data)):
        if number == 1 and wire == 2:
            counts["packets"] += 1
            add_packet(data, start, stop, counts)


def add_packet(data, start, stop, counts):
    for number, wire, begin, end in fields(data, start, stop):
        if number == 50 and wire == 2:
            add_trace(zlib.decompress(data[begin:end]), counts)
        elif number == 11 and wire == 2:
            for inner, inner_wire, at, limit in fields(data, begin, end):
                if inner == 9 and inner_wire == 0:
                    kind, _ = varint(data, at, limit)
                    if kind in KINDS:
                        counts[KINDS[kind]] += 1
