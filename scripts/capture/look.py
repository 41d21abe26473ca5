#!/usr/bin/env python3
"""Prints, for each step of each capture under a folder, what a straggler analysis has to see.

    python3 look.py DIR [--steps]

Times are microseconds. Deliberately simple and apart from any other reader of these files, so that it can check one:
kernels belong to the step whose annotation holds their launch, collectives are paired by their order in that step.
  own     summed durations of the kernels and copies that are no collective; n their number
  first   from the step's start to its first kernel's start: how late the host launched, or the device began
  queue   from the first kernel's launch call to its start, by their correlation: the device's part of `first`
  wait    summed over the step's collectives: from this rank's start to the last rank's start
  move    summed over the step's collectives: from the last rank's start to the end, the transfer itself
"""
import argparse
import gzip
import json
import statistics
from collections import defaultdict
from pathlib import Path

DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def read(path):
    """The steps of one rank: dicts of start, end, name, own, n, first, queue and coll, a list of (start, end)."""
    events = [e for e in json.load(gzip.open(path))["traceEvents"] if e["ph"] == "X"]
    steps = sorted((e for e in events if e.get("cat") == "user_annotation" and e["name"].startswith("step[")),
                   key=lambda e: e["ts"])
    launches = {e["args"]["correlation"]: e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")}
    device = defaultdict(list)
    for e in events:
        if e.get("cat") not in DEVICE or e["args"].get("correlation") not in launches:
            continue
        at = launches[e["args"]["correlation"]]["ts"]
        for i, s in enumerate(steps):
            if s["ts"] <= at < s["ts"] + s["dur"]:
                device[i].append(e)
    out = []
    for i, s in enumerate(steps):
        all_of = sorted(device[i], key=lambda e: e["ts"])
        coll = [e for e in all_of if "nccl" in e["name"].lower()]
        own = [e for e in all_of if "nccl" not in e["name"].lower()]
        kernels = [e for e in all_of if e["cat"] == "kernel"]
        first = kernels[0]
        launch = launches[first["args"]["correlation"]]
        out.append({"name": s["name"], "dur": s["dur"], "own": sum(e["dur"] for e in own), "n": len(own),
                    "first": first["ts"] - s["ts"], "queue": first["ts"] - launch["ts"],
                    "gap": s["ts"] - (steps[i - 1]["ts"] + steps[i - 1]["dur"]) if i else 0,
                    "coll": [(e["ts"], e["ts"] + e["dur"]) for e in coll]})
    return out


def compare(ranks):
    """Adds wait and move to every step of every rank."""
    for steps in zip(*ranks):
        for s in steps:
            s["wait"], s["move"] = 0, 0
        counts = {len(s["coll"]) for s in steps}
        if len(counts) > 1:
            print("  collectives differ:", [len(s["coll"]) for s in steps])
        for group in zip(*(s["coll"] for s in steps)):
            last = max(start for start, _ in group)
            for s, (start, end) in zip(steps, group):
                s["wait"] += last - start
                s["move"] += max(0, end - last)


COLUMNS = ("dur", "gap", "n", "own", "first", "queue", "wait", "move")


def line(label, ranks, pick):
    cells = [" ".join(f"{pick(steps, c):7.0f}" for c in COLUMNS) for steps in ranks]
    print(f"  {label:<12}", " | ".join(cells))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--steps", action="store_true", help="a line a step, not only a line a phase")
    args = parser.parse_args()
    for folder in sorted(p.parent for p in Path(args.folder).rglob("truth.json")):
        truth = json.loads((folder / "truth.json").read_text())
        files = sorted(folder.glob("*-TP-*.trace.json.gz"))
        ranks = [read(f) for f in files]
        print(f"{folder.name}: {[f.stat().st_size // 1024 for f in files]} KiB, {len(ranks[0])} steps,",
              "expect", json.dumps(truth.get("expect")))
        compare(ranks)
        print(" " * 15 + " | ".join(" ".join(f"{c:>7}" for c in COLUMNS) for _ in ranks))
        if args.steps:
            for i, s in enumerate(ranks[0]):
                line(f"{i} {s['name'][5:11]}", ranks, lambda steps, c, i=i: steps[i][c])
        # A phase: steps of one kind between two changes of the injection. Medians, so that one hiccup hides nothing.
        edges = sorted({0, len(ranks[0])} | {i["first"] for i in truth.get("injected", [])}
                       | {i["last"] + 1 for i in truth.get("injected", []) if "last" in i})
        for a, b in zip(edges, edges[1:]):
            for kind in ("EXTEND", "DECODE"):
                at = [i for i in range(a, b) if kind in ranks[0][i]["name"]]
                if at:
                    line(f"{kind[0]} {at[0]}..{at[-1]}", ranks,
                         lambda steps, c, at=at: statistics.median(steps[i][c] for i in at))


if __name__ == "__main__":
    main()
