"""The problems of the evaluation: a capture or a pair, and the truth about it."""

import dataclasses
import json
import os
import pathlib
import random

import captures

HERE = pathlib.Path(__file__).resolve().parents[2]
COUNT = 24


@dataclasses.dataclass
class Late:
    """A late rank. wait and worth are the lowest and the highest true value in ms a step, if it is known."""

    rank: str
    since: int | None  # None: not known, or from the first step on
    cause: str
    wait: tuple[float, float] | None = None
    worth: tuple[float, float] | None = None


@dataclasses.dataclass
class Problem:
    """A question with known truth. kind is late, host_bound, healthy, slower or same."""

    name: str
    kind: str
    run: str
    late: list[Late] = dataclasses.field(default_factory=list)
    natural: list[Late] = dataclasses.field(default_factory=list)  # must be noticed, need not be blamed
    missing: list[str] = dataclasses.field(default_factory=list)  # ranks without a file
    cut: list[str] = dataclasses.field(default_factory=list)  # ranks whose file ends early
    base: str = ""  # of a pair: the capture with which run is compared
    part: str = ""  # of a slower pair: part of the name of the kernels that take longer

    def truth(self):
        """Returns the truth in one line."""
        words = [self.kind] + [f"{l.rank} {l.cause}" + (f" from {l.since}" if l.since else "") for l in self.late + self.natural]
        words += [f"no file of {r}" for r in self.missing] + [f"file of {r} cut" for r in self.cut] + ([self.part] if self.part else [])
        return ", ".join(words)


def near(value, share=0.15):
    """Returns bounds around a value."""
    return value * (1 - share), value * (1 + share)


def recorded(traces):
    """Returns the problems of testdata/traces. What truth.json does not say is in the README of the captures: which
    ones are host-bound, and which waits were measured by hand."""
    hosts = {"balanced", "stacks"}
    waits = {"graph_work": near(0.75)}
    natural = {"balanced": [Late("TP01", 5, "host", near(5))]}
    found = []
    for path in sorted(traces.iterdir()):
        truth = json.loads((path / "truth.json").read_text())
        late = [Late(f"TP{e['rank']:02}", e.get("first_step"), e["cause"]) for e in truth.get("expect", [])]
        if "slow_rank" in truth:
            late = [Late(f"TP{truth['slow_rank']:02}", truth["slow_from"], "work", waits.get(path.name))]
        kind = "late" if late else "host_bound" if path.name in hosts else "healthy"
        found.append(Problem(path.name, kind, str(path), late, natural.get(path.name, [])))
    return found


def of_servers(data):
    """Returns the problems of the captures of real servers. Their README has the truth."""
    at = data / "traces"
    return [
        Problem("sglang17_sleep", "late", str(at / "sglang17_sleep"), [Late("TP01", None, "host", wait=near(3.3))]),
        Problem("sglang17_hog", "late", str(at / "sglang17_hog"), [Late("TP01", None, "device", wait=near(0.9))]),
        Problem("sglang17_dp_sleep", "late", str(at / "sglang17_dp_sleep"), [Late("TP00-DP01", None, "host", worth=(5, 7))]),
        Problem("vllm26_plain", "healthy", str(at / "vllm26_plain")),
        Problem("vllm26_hog", "late", str(at / "vllm26_hog"), [Late("TP01", None, "device")]),
        Problem("vllm26_sleep", "late", str(at / "vllm26_sleep"), [Late("TP01", None, "host", wait=near(5.9))]),
        Problem("sglang_plain", "host_bound", str(at / "sglang_plain"), natural=[Late("TP01", None, "host")]),
        Problem("sglang_moe", "late", str(at / "sglang_moe"), [Late("TP00-DP00-EP00", None, "device")]),
        Problem("large", "host_bound", str(at / "large"), natural=[Late("TP00", 16, "host", wait=(5, 18))]),
    ]


def generated(traces, out, seed):
    """Returns makers of problems, by name, the ones that real captures replace first. A maker writes its captures below
    out and returns the problem."""
    rnd = random.Random(seed)

    def label(rank):
        return f"TP{rank:02}"

    def late(name, cause, base="graphs", steps=(3, 7), **fault):
        rank, first = rnd.randrange(len(captures.files(traces / base))), rnd.randint(*steps)

        def make():
            wait = captures.late(traces / base, out / name, rank, first, **fault)
            return Problem(name, "late", str(out / name), [Late(label(rank), first, cause, near(wait))])

        return name, make

    def moved(name, base):
        order = list(captures.files(traces / base))
        while order == sorted(order):
            rnd.shuffle(order)
        hours = rnd.randint(1, 1000)

        def make():
            captures.permute(traces / base, out / name, order, hours)
            was = next(p for p in recorded(traces) if p.name == base)
            new = [dataclasses.replace(l, rank=label(order[int(l.rank[2:])])) for l in was.late]
            return Problem(name, was.kind, str(out / name), new)

        return name, make

    def copy(name, kind, write, **truth):
        def make():
            write(out / name)
            return Problem(name, kind, str(out / name), **truth)

        return name, make

    graphs, work = traces / "graphs", traces / "graph_work"
    lost = rnd.randint(300, 900)
    gone, hours = rnd.randrange(1, 3), rnd.randint(1, 1000)
    return [
        moved("moved_device", "g_device_r1"),
        late("clones_2", "work", clones=25),
        moved("moved_mixed", "g_mixed"),
        moved("moved_healthy", "graphs"),
        moved("moved_skew", "compute_skew"),
        moved("moved_work", "graph_work"),
        late("host_lost", "host", host=lost),
        late("throttled", "device", stretch=0.6),
        late("clones", "work", clones=18),
        copy("before_onset", "healthy", lambda to: captures.before(work, to, 6)),
        copy("slow_host", "host_bound", lambda to: captures.everywhere(graphs, to, host=10 * lost)),
        copy("no_file", "healthy", lambda to: captures.drop(graphs, to, gone), missing=[label(gone)]),
        copy("cut_file", "healthy", lambda to: captures.truncate(work, to, 0, 0.6), cut=["TP00"]),
        copy("slower_gemm", "slower", lambda to: captures.everywhere(graphs, to, stretch=0.3, name_part="nvjet"), base=str(graphs), part="nvjet"),
        copy("same", "same", lambda to: captures.permute(graphs, to, [1, 2, 3, 0], hours), base=str(graphs)),
    ]


def all_problems(out, seed, only=()):
    """Writes the generated captures below out and returns the problems. With STEPSCOPE_DATA, captures of real servers
    replace generated ones, so that the number stays the same."""
    traces = HERE / "testdata" / "traces"
    found = recorded(traces)
    data = os.environ.get("STEPSCOPE_DATA", "")
    if data:
        found += [p for p in of_servers(pathlib.Path(data)) if pathlib.Path(p.run).is_dir()]
    makers = generated(traces, out, seed)
    chosen = makers[len(makers) + len(found) - COUNT :]
    names = {name for name, _ in chosen} | {p.name for p in found}
    if unknown := set(only) - names:
        raise SystemExit(f"no problem {', '.join(sorted(unknown))}; there are: {', '.join(sorted(names))}")
    found += [make() for name, make in chosen if not only or name in only]
    return [p for p in found if not only or p.name in only]
