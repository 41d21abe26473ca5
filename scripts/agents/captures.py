"""Variants of captures with known truth: copies of a capture's files with ranks renamed, or with time added where a
fault would have added it.

Formats: Kineto traces (JSON of PyTorch's profiler), times in µs.
"""

import bisect
import gzip
import itertools
import json
import re
import statistics

ON_GPU = {"kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation"}
RANK = re.compile(r"-TP-(\d+)")


def read(path):
    """Returns the text of a trace file, which may be compressed."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(data)
    if path.suffix == ".zst":
        import zstandard

        return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return data


def write(path, data):
    """Writes a trace file. Level 1: these files live for seconds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data, 1, mtime=0))


def files(capture):
    """Returns the trace files of a capture by rank."""
    return {int(RANK.search(p.name)[1]): p for p in sorted(capture.iterdir()) if RANK.search(p.name)}


def name(path, rank):
    """Returns the name of a file of another rank."""
    stem = path.name.removesuffix(path.suffix) + ".gz"
    return RANK.sub(f"-TP-{rank}", stem)


def permute(capture, out, order, hours=0):
    """Writes a copy in which rank r has the label order[r]. hours is added to all times of all ranks."""
    for rank, path in files(capture).items():
        text = read(path)
        text = re.sub(rb'("rank":\s*)\d+', rb"\g<1>%d" % order[rank], text, count=1)
        if hours:
            text = re.sub(rb'("baseTimeNanoseconds":\s*)(\d+)', lambda m: m[1] + b"%d" % (int(m[2]) + hours * 3600 * 10**9), text, count=1)
        write(out / name(path, order[rank]), text)


def drop(capture, out, rank):
    """Writes a copy without the file of a rank."""
    for r, path in files(capture).items():
        if r != rank:
            write(out / name(path, r), read(path))


def truncate(capture, out, rank, share):
    """Writes a copy in which the file of a rank ends after a share of its bytes."""
    for r, path in files(capture).items():
        write(out / name(path, r), read(path))
        if r == rank:
            at = out / name(path, r)
            data = at.read_bytes()
            at.write_bytes(data[: int(len(data) * share)])


class Trace:
    """One rank's trace, with the time that a fault adds."""

    def __init__(self, path):
        self.doc = json.loads(read(path))
        self.events = self.doc["traceEvents"]
        self.host, self.gpu, self.clones = [], [], []
        whole = [e for e in self.events if e["ph"] == "X"]
        calls = [e for e in whole if e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in e["args"]]
        gpu = {}
        for e in whole:
            if e.get("cat") in ON_GPU and "correlation" in e["args"]:
                gpu.setdefault(e["args"]["correlation"], []).append(e)
        self.steps = [Step(e, calls, gpu) for e in sorted(whole, key=lambda e: e["ts"]) if e.get("cat") == "user_annotation" and e["name"].startswith("step[")]

    def delay(self, step, extra):
        """Adds time between the begin of a step and its first launch."""
        self.host.append((step.launch - 0.01, extra))
        self.gpu.append((step.gpu[0]["ts"] - 0.01, extra))

    def wait(self, shift):
        """Adds the waits for another rank, because of which the collectives end shift[0], shift[1], … µs later."""
        total, shift = 0.0, iter(shift)
        for step in self.steps:
            begin = total
            for e in step.collectives:
                end = next(shift)
                self.gpu.append((middle(e), end - total))
                total = end
            self.host.append((step.sync, total - begin))

    def save(self, path):
        """Writes the trace with the added time."""
        for side in (self.host, self.gpu):
            side.sort()
        host, gpu = Warp(self.host), Warp(self.gpu)
        for e in self.events:
            if "ts" not in e:
                continue
            warp = gpu if e.get("cat") in ON_GPU or e["ph"] == "f" else host
            start, end = e["ts"], e["ts"] + e.get("dur", 0)
            e["ts"] = round(warp(start), 3)
            if "dur" in e:
                e["dur"] = round(warp(end) - warp(start), 3)
        for kernel, gap in self.clones:
            self.events.append(kernel | {"ts": round(kernel["ts"] + kernel["dur"] + gap, 3)})
        write(path, json.dumps(self.doc, separators=(",", ":")).encode())


class Step:
    """One step of a rank: its calls and what they put on the GPU."""

    def __init__(self, note, calls, gpu):
        end = note["ts"] + note["dur"]
        mine = [c for c in calls if note["ts"] <= c["ts"] < end]
        self.gpu = sorted((e for c in mine for e in gpu.get(c["args"]["correlation"], [])), key=lambda e: e["ts"])
        self.launch = min((c["ts"] for c in mine if c["args"]["correlation"] in gpu), default=note["ts"])
        syncs = [c for c in mine if c["name"] == "cudaStreamSynchronize"]
        self.sync = middle(syncs[-1]) if syncs else end
        self.kernels = [e for e in self.gpu if e["cat"] == "kernel"]
        self.collectives = [e for e in self.kernels if "nccl" in e["name"]]
        self.work = [e for e in self.kernels if "nccl" not in e["name"]]


class Warp:
    """Maps times of a trace to times with the insertions (time, length) before them."""

    def __init__(self, insertions):
        self.at = [t for t, _ in insertions]
        self.sum = [0.0]
        for _, extra in insertions:
            self.sum.append(self.sum[-1] + extra)

    def __call__(self, t):
        return t + self.sum[bisect.bisect_left(self.at, t)]


def middle(e):
    """Returns the middle of a span."""
    return e["ts"] + e["dur"] / 2


def late(capture, out, rank, first, host=0.0, stretch=0.0, clones=0):
    """Writes a copy in which a rank is late from a step on, and the others wait for it in their collectives.

    host: µs that its host loses before the first launch of each step. stretch: share by which each of its kernels takes
    longer. clones: number of kernels of a step that it runs twice. Returns the median of the waits that this adds to a
    step of the other ranks, in ms.
    """
    traces = {r: Trace(p) for r, p in files(capture).items()}
    t, shift, total = traces[rank], [], 0.0  # shift: by how much each collective ends later
    debt = 0.0  # time that its host is ahead of its GPU, which had slack
    for i, step in enumerate(t.steps):
        begin, n = total, 0
        lost = host if i >= first else 0.0
        if lost:
            t.delay(step, lost)
            t.host.append((step.launch - 0.01, -debt))
            total += lost
        largest = sorted(step.work, key=lambda e: -e["dur"])[:clones]
        for e in step.kernels:
            if e in step.collectives:
                own = e["dur"] - min(o.steps[i].collectives[n]["dur"] for o in traces.values())
                shift.append(max([total - own, *shift[-1:]]) if total else 0.0)
                t.gpu.append((middle(e), shift[-1] - total))
                total, n = shift[-1], n + 1
            elif i >= first and stretch:
                t.gpu.append((middle(e), stretch * e["dur"]))
                total += stretch * e["dur"]
            elif i >= first and e in largest:
                t.gpu.append((e["ts"] + e["dur"] + 0.01, e["dur"] + 1))
                t.clones.append((e, 0.5))
                total += e["dur"] + 1
        debt = max(0.0, begin + lost - total)
        t.host.append((step.sync, max(0.0, total - begin - lost)))
    for r, other in traces.items():
        if r != rank:
            other.wait(shift)
        other.save(out / name(files(capture)[r], r))
    ends = iter(shift)
    ends = [[next(ends) for _ in step.collectives][-1] for step in t.steps]
    return statistics.median(b - a for a, b in itertools.pairwise(ends[first - 1 :])) / 1000


def everywhere(capture, out, host=0.0, stretch=0.0, name_part=""):
    """Writes a copy in which all ranks are slow alike: by host µs before each decode step, or by a share of the time of
    each kernel with name_part in its name."""
    for r, path in files(capture).items():
        t = Trace(path)
        for step in t.steps:
            extra = 0.0
            t.delay(step, host)
            for e in step.work:
                if stretch and name_part in e["name"]:
                    t.gpu.append((middle(e), stretch * e["dur"]))
                    extra += stretch * e["dur"]
            t.host.append((step.sync, extra))
        t.save(out / name(path, r))


def before(capture, out, first):
    """Writes a copy that ends before a step."""
    for r, path in files(capture).items():
        t = Trace(path)
        end = t.steps[first].launch
        gone = {id(e) for s in t.steps[first:] for e in s.gpu}
        t.doc["traceEvents"] = t.events = [e for e in t.events if "ts" not in e or e["ph"] == "M" or id(e) not in gone and e["ts"] < end]
        t.save(out / name(path, r))
