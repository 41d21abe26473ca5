#!/usr/bin/env python3
"""Merge the rank files of one capture in plain Python: the peer of `stepscope trace merge`.

It does the work of SGLang's trace merger and does it the same way: every file is read whole with json.load, every
event is a dict, and the result is one json.dumps that is written through gzip at Python's default level, 9. It is
written from the documented behaviour of that merger and shares no code with it.

It leaves out what the merger does after writing: reading the merged file back for its summary. So it costs less than
the real one, and a ratio to it is a modest one.

    merge_peer.py DIR OUT.trace.json.gz
"""

import gzip
import json
import re
import sys
from pathlib import Path

# Coordinates in the order of the label. A file name has only those whose parallel size is above 1, and always TP.
LABEL_ORDER = ("TP", "DP", "PP", "EP")

# GPU rows have the device index as their pid; SGLang takes every pid below this for a device row.
FIRST_HOST_PID = 1000

# What one step of each coordinate adds to the sort index of a device row.
SORT_WEIGHT = {"DP": 100_000_000, "EP": 1_000_000, "PP": 10_000, "TP": 100}


def coordinates(path):
    """Return {"TP": 0, ...} with the coordinates that the base name gives."""
    found = {}
    for axis in LABEL_ORDER:
        match = re.search(axis + r"-(\d+)", path.name)
        if match:
            found[axis] = int(match.group(1))
    return found


def label(coords):
    """Return the prefix of every pid of a rank, such as "[TP00-DP01]"."""
    parts = [f"{axis}{coords[axis]:02d}" for axis in LABEL_ORDER if axis in coords]
    return "[" + ("-".join(parts) or "Unknown") + "]"


def rank_files(directory):
    """List the rank files of a directory, in the order in which they are merged."""
    files = [
        path
        for path in Path(directory).glob("*.trace.json.gz")
        if "TP-" in path.name and not path.name.startswith("merged-")
    ]

    def rank_order(path):
        coords = coordinates(path)
        return [coords.get(axis, 0) for axis in ("DP", "EP", "PP", "TP")]

    return sorted(files, key=rank_order)


def device_sort_index(coords, pid):
    """Return the new sort index of the row `pid`, or None for a row that keeps its own."""
    try:
        device = int(pid)
    except (TypeError, ValueError):
        return None
    if device >= FIRST_HOST_PID:
        return None
    return sum(weight * coords.get(axis, 0) for axis, weight in SORT_WEIGHT.items()) + device


def relabel(events, coords):
    """Make the pids of one rank its own, in place."""
    prefix = label(coords)
    for event in events:
        pid = event["pid"]
        if event.get("name") == "process_sort_index":
            index = device_sort_index(coords, pid)
            if index is not None:
                event["args"]["sort_index"] = index
        event["pid"] = f"{prefix} {pid}"
    return events


def merge(files):
    """Return the merged document. A file that cannot be read is named and contributes nothing."""
    merged = {"traceEvents": []}
    devices = []
    for path in files:
        try:
            with gzip.open(path, "rt", encoding="utf-8") as stream:
                document = json.load(stream)
            events = relabel(document.pop("traceEvents", []), coordinates(path))
        except (OSError, EOFError, ValueError, KeyError) as problem:
            print(f"{path}: left out: {problem!r}", file=sys.stderr)
            continue
        devices.extend(document.pop("deviceProperties", []))
        for key, value in document.items():
            merged.setdefault(key, value)
        merged["traceEvents"].extend(events)
    if devices:
        merged["deviceProperties"] = devices
    return merged


def main(arguments):
    if len(arguments) != 2:
        sys.exit("usage: merge_peer.py DIR OUT.trace.json.gz")
    directory, output = arguments
    files = rank_files(directory)
    if not files:
        sys.exit(f"{directory}: no *TP-<n>*.trace.json.gz in it")
    merged = merge(files)
    with gzip.open(output, "wb") as stream:
        stream.write(json.dumps(merged).encode("utf-8"))
    print(f"Merged trace: {output} (Events: {len(merged['traceEvents'])}, Files: {len(files)})")


if __name__ == "__main__":
    main(sys.argv[1:])
