"""The harness of serving.sh: two clients, one server, the same requests at the same times, by turns."""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
STUBS = os.path.join(HERE, "..", "..", "internal", "cli", "testdata", "sglang")
METRICS = {"ttft": "TTFT", "tpot": "TPOT", "itl": "ITL", "e2e_latency": "E2E"}
# The server's histogram of the same latency, taken where a token leaves it.
HISTOGRAMS = {"ttft": "time_to_first_token_seconds", "itl": "inter_token_latency_seconds", "e2e_latency": "e2e_request_latency_seconds"}
# Two-sided 95 % of Student's t by degrees of freedom; beyond 10 the normal's, a little wider.
T95 = [math.nan, 12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228]


@dataclass
class Load:
    name: str
    serve: list  # of stepscope serve
    args: list  # of both clients
    sampled: list  # of theirs; ours sends the plan that is recorded from it
    planned: list  # of ours


LOADS = [
    # A model of 48 layers, so that a step takes milliseconds.
    Load("low", ["--json-model-override-args", '{"num_hidden_layers": 48}'], ["--num-prompts", "24", "--request-rate", "4"],
         ["--random-input-len", "64", "--random-output-len", "64", "--random-range-ratio", "0.5"], ["--use-trace-timestamps"]),
    # Short steps, each with an event for 256 streams.
    Load("high", ["--max-running-requests", "256", "--cuda-graph-max-bs", "256", "--max-total-tokens", "65536"], ["--num-prompts", "512", "--max-concurrency", "256"],
         ["--random-input-len", "32", "--random-output-len", "128", "--random-range-ratio", "1"], []),
]


class Failed(Exception):
    pass


def interval(values):
    """Mean, and half the width of its 95 % interval."""
    if len(values) < 2:
        return values[0], math.inf
    t = T95[len(values) - 1] if len(values) <= len(T95) else 2.2
    return statistics.fmean(values), t * statistics.stdev(values) / math.sqrt(len(values))


class Bench:
    def __init__(self, a, load, work):
        self.a, self.load, self.work = a, load, work
        self.plan = os.path.join(work, load.name + ".plan.jsonl")

    def __enter__(self):
        command = [self.a.stepscope, "serve", "--model-path", "builtin:llama-tiny", "--port", "0", "--enable-metrics", "--device-cores", "1"] + self.load.serve
        env = dict(os.environ, XDG_CACHE_HOME=self.work)
        self.server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env)
        for line in self.server.stderr:
            if found := re.search(r"Listening on (http://\S+)", line):
                self.url = found[1]
                break
        else:
            raise Failed("the server did not start")
        self.log = subprocess.Popen(["cat"], stdin=self.server.stderr, stdout=subprocess.DEVNULL)  # or its pipe fills
        return self

    def __exit__(self, *_):
        self.server.terminate()
        self.server.wait()
        self.log.wait()

    def run(self, ours, record=False):
        """One run of a client: the line it wrote, with what the server's histograms counted meanwhile."""
        line = os.path.join(self.work, "line.jsonl")
        if os.path.exists(line):
            os.remove(line)
        args = ["--base-url", self.url, "--output-file", line, "--disable-tqdm", "--warmup-requests", "0", *self.load.args]
        if ours:
            args = [self.a.stepscope, "bench", "serving", "--no-store", "--dataset-name", "plan", "--dataset-path", self.plan] + args + self.load.planned
        else:
            program = [os.path.join(HERE, "serving_peer.py"), self.plan] if record else ["-m", "sglang.benchmark.serving"]
            args = [self.a.python] + program + ["--dataset-name", "random-ids"] + args + self.load.sampled
        urllib.request.urlopen(urllib.request.Request(self.url + "/flush_cache", method="POST"), timeout=60).read()
        before = self.histograms()
        env = dict(os.environ, PYTHONPATH=STUBS, HF_HUB_OFFLINE="1")
        done = subprocess.run(args, env=env, cwd=self.work, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise Failed(f"{' '.join(args)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        after = self.histograms()
        with open(line) as f:
            got = json.loads(f.read())
        want = int(self.load.args[1])
        if got["completed"] != want:
            raise Failed(f"{got['completed']} of {want} requests succeeded")
        got["server"] = {name: {key: after[name][key] - before[name].get(key, 0) for key in after[name]} for name in after}
        return got

    def histograms(self):
        text = urllib.request.urlopen(self.url + "/metrics", timeout=60).read().decode()
        out = {}
        for key, name in HISTOGRAMS.items():
            out[key] = h = {}
            for kind, labels, value in re.findall(rf'^sglang:{name}_(bucket|sum|count){{([^}}]*)}} (\S+)$', text, re.M):
                le = re.search(r'le="([^"]*)"', labels)
                at = le[1] if le else kind
                h[at] = h.get(at, 0) + float(value)
        return out


def server_mean(run, key):
    h = run["server"][key]
    return 1000 * h["sum"] / h["count"]


goals = []  # (met, text)


def show(cells):
    print("| " + " | ".join(cells) + " |")


def low(runs):
    """Whether the means agree: the 95 % interval of the paired difference holds 0."""
    ok = True
    show(["mean, ms", "SGLang", "stepscope", "difference", "of SGLang's", "agree"])
    show(["---"] * 6)
    for key, name in METRICS.items():
        a, b = ([r[f"mean_{key}_ms"] for r in side] for side in runs)
        (ma, ia), (mb, ib), (md, wd) = interval(a), interval(b), interval([y - x for x, y in zip(a, b)])
        agree = abs(md) <= wd
        ok &= agree
        goals.append((agree, f"{name} at a low load: {md:+.2f} ± {wd:.2f} ms apart from SGLang's (goal 0 in the interval)"))
        show([name, f"{ma:.2f} ± {ia:.2f}", f"{mb:.2f} ± {ib:.2f}", f"{md:+.2f} ± {wd:.2f}", f"{100 * md / ma:+.1f} %", "yes" if agree else "no"])
    return ok


def high(runs):
    """Whether ours adds less to what the server itself measured."""
    ok = True
    show(["ms", "server's mean", "SGLang adds", "server's mean", "stepscope adds", "less"])
    show(["---"] * 6)
    for key in HISTOGRAMS:
        cells, added = [METRICS[key]], []
        for side in runs:
            server = [server_mean(r, key) for r in side]
            m, w = interval([r[f"mean_{key}_ms"] - s for r, s in zip(side, server)])
            added.append((m, w))
            cells += [f"{statistics.fmean(server):.2f}", f"{m:+.2f} ± {w:.2f}"]
        # The gaps of a stream add up to the same, however late each is read: their mean says nothing.
        less = key == "itl" or abs(added[1][0]) < abs(added[0][0])
        ok &= less
        if key != "itl":
            goals.append((less, f"{METRICS[key]} at a high load: {added[1][0]:+.2f} ms of the client's own (goal less than SGLang's, {added[0][0]:+.2f})"))
        show(cells + ["-" if key == "itl" else "yes" if less else "no"])
    print()
    show(["p99, ms", "SGLang", "stepscope"])
    show(["---"] * 3)
    for key, name in METRICS.items():
        show([name] + [f"{m:.2f} ± {w:.2f}" for m, w in (interval([r[f"p99_{key}_ms"] for r in side]) for side in runs)])
    show(["output tokens/s"] + [f"{m:.0f} ± {w:.0f}" for m, w in (interval([r["output_throughput"] for r in side]) for side in runs)])
    return ok


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--stepscope", required=True)
    p.add_argument("--python", required=True)
    p.add_argument("--rounds", type=int, default=6)
    p.add_argument("--only", choices=[load.name for load in LOADS])
    a = p.parse_args()
    if a.rounds < 2:
        p.error("--rounds: give 2 or more")
    a.stepscope = os.path.abspath(a.stepscope)
    ok = True
    for load in LOADS:
        if a.only not in (None, load.name):
            continue
        with tempfile.TemporaryDirectory() as work, Bench(a, load, work) as bench:
            bench.run(ours=False, record=True)
            bench.run(ours=True)
            runs = [], []
            for i in range(a.rounds):
                for ours in (i % 2 == 0, i % 2 == 1):
                    runs[ours].append(bench.run(ours))
            print(f"\n{load.name} load: {' '.join(load.args)}, {a.rounds} runs of each, load average {os.getloadavg()[0]:.1f}\n")
            ok &= (low if load.name == "low" else high)(runs)
    print()
    for met, text in goals:
        print(f"{'met   ' if met else 'MISSED'}  serving: {text}")
    return 0 if ok else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failed, OSError, subprocess.SubprocessError) as error:
        sys.exit(print(f"serving.py: {error}", file=sys.stderr) or 2)
