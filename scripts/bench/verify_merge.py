#!/usr/bin/env python3
"""Check that merged traces hold every event of their inputs, and nothing else.

Reads one document at a time and one event at a time, so it needs little memory. For every rank and phase it compares
the number of events and the sum of a 128-bit hash of each event's (ph, cat, name, absolute start in ns, length in ns,
pid, tid). The sum does not depend on the order; equal sums mean equal multisets.

Metadata events (ph "M") are counted and not compared: a merger may drop the rows of GPUs that recorded nothing and may
add names of its own.

    verify_merge.py [--merged FILE]... [--pftrace FILE]... INPUT...

Prints one line a file. Exit status 1: an output is not valid JSON, or differs.
"""

import argparse
import collections
import gzip
import hashlib
import re
import sys
from decimal import Decimal

from jsonstream import events_of, find_integer
from merge_peer import coordinates, label
from pathlib import Path
from pftrace import count_track_events

LABELLED_PID = re.compile(r"(\[[^\]]*\]) ?(.*)", re.DOTALL)


def open_text(path):
    """Open a plain or gzip file for reading as text, decided by its first bytes."""
    with open(path, "rb") as probe:
        is_gzip = probe.read(2) == b"\x1f\x8b"
    opener = gzip.open if is_gzip else open
    return opener(path, "rt", encoding="utf-8", errors="replace")


def nanoseconds(microseconds):
    """Turn the decimal text (or integer) of a ts or dur into whole ns, without a float on the way."""
    return int((Decimal(microseconds) * 1000).to_integral_value())


class Content:
    """What one file holds: per (rank label, phase) a count and a sum of hashes; and who uses which flow."""

    def __init__(self):
        self.count = collections.Counter()
        self.hash_sum = collections.Counter()
        self.flow_owner = {}
        self.shared_flows = set()

    def add(self, rank, pid, event, base_ns):
        phase = event.get("ph")
        self.count[rank, phase] += 1
        if phase == "M":
            return
        start = base_ns + nanoseconds(event.get("ts", 0))
        length = nanoseconds(event.get("dur", 0))
        identity = (phase, event.get("cat"), event.get("name"), start, length, pid, str(event.get("tid")))
        digest = hashlib.blake2b(repr(identity).encode("utf-8", "surrogatepass"), digest_size=16).digest()
        self.hash_sum[rank, phase] += int.from_bytes(digest, "little")
        if phase in ("s", "f"):
            flow = (event.get("cat"), event.get("name"), event.get("id"))
            if self.flow_owner.setdefault(flow, rank) != rank:
                self.shared_flows.add(flow)

    def phases(self):
        """Return {phase: count} over all ranks."""
        total = collections.Counter()
        for (_, phase), n in self.count.items():
            total[phase] += n
        return dict(sorted(total.items()))


def read(path, content, rank=None):
    """Add the events of a file to `content`. With rank None the pids carry the label, as in a merged file."""
    with open_text(path) as stream:
        base_ns = find_integer(stream, "baseTimeNanoseconds") or 0
    with open_text(path) as stream:
        for event in events_of(stream):
            pid, owner = str(event.get("pid")), rank
            if owner is None:
                match = LABELLED_PID.fullmatch(pid)
                owner, pid = match.groups() if match else ("no rank label", pid)
            content.add(owner, pid, event, base_ns)


def differences(want, got):
    """List in words how two contents differ; metadata is left out."""
    lines = []
    keys = sorted({key for key in (*want.count, *got.count) if key[1] != "M"}, key=str)
    for key in keys:
        rank, phase = key
        if want.count[key] != got.count[key]:
            lines.append(f"{rank} ph {phase}: {got.count[key]} events, the inputs have {want.count[key]}")
        elif want.hash_sum[key] != got.hash_sum[key]:
            lines.append(f"{rank} ph {phase}: as many events as the inputs, and not the same ones")
    return lines


def check_merged(path, want):
    got = Content()
    try:
        read(path, got)
    except (OSError, EOFError, ValueError) as problem:
        return [f"cannot be read back: {problem}"]
    print(f"{path}: {got.phases()}, flow keys that two ranks share: {len(got.shared_flows)}")
    return differences(want, got)


def check_pftrace(path, want):
    """A Perfetto file draws a complete event as a begin and an end; it must not have fewer than the inputs."""
    try:
        got = count_track_events(path)
    except (OSError, ValueError) as problem:
        return [f"cannot be read back: {problem}"]
    print(f"{path}: {got}")
    phases, lines = want.phases(), []
    if got["begin"] != got["end"]:
        lines.append(f"{got['begin']} slices begin and {got['end']} end")
    if got["begin"] < phases.get("X", 0):
        lines.append(f"{got['begin']} slices, the inputs have {phases['X']}")
    if got["instant"] < phases.get("i", 0):
        lines.append(f"{got['instant']} instants, the inputs have {phases['i']}")
    return lines


def main():
    parser = argparse.ArgumentParser(description="check that merged traces hold every event of their inputs")
    parser.add_argument("--merged", action="append", default=[], metavar="FILE", help="merged Chrome trace")
    parser.add_argument("--pftrace", action="append", default=[], metavar="FILE", help="merged Perfetto trace")
    parser.add_argument("inputs", nargs="+", metavar="INPUT")
    options = parser.parse_args()

    want = Content()
    for path in options.inputs:
        read(path, want, label(coordinates(Path(path))))
    print(f"inputs: {want.phases()}")

    wrong = [(path, line) for path in options.merged for line in check_merged(path, want)]
    wrong += [(path, line) for path in options.pftrace for line in check_pftrace(path, want)]
    for path, line in wrong:
        print(f"{path}: {line}", file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
