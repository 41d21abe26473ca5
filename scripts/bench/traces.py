#!/usr/bin/env python3
"""The harness behind traces.sh: runs the peer and stepscope by turns and holds the figures against the goals.

It parses nothing itself, see measure(). All it leaves is WORK/traces.json with every sample.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from measure import CommandError, measure, own_peak_mb
from merge_peer import rank_files

HERE = Path(__file__).parent

# Goals. Ratios are the peer's least CPU time over ours; sizes are MB of 10^6 bytes.
MERGE_CPU_RATIO = 30
PFTRACE_CPU_RATIO = 20  # it sorts every track and encodes anew, which the peer does not
ANALYZE_CPU_RATIO = 40
MERGE_PEAK_MB = 100
ANALYZE_PEAK_MB = 120
MERGE_OUTPUT_RATIO = 1.5  # of the peer's output, which is gzip of level 9
GROWTH = 10  # the longer set
GROWTH_PEAK_RATIO = 1.5  # of the peak on the set itself: the collector keeps more of a longer run

PEER, MERGE, PFTRACE = "peer: merge in Python", "trace merge", "trace merge --format pftrace"
ANALYZE, QUICK = "analyze --json", "analyze --json --quick"


class Run:
    """One comparison: what is run, where its output goes, and the samples so far."""

    def __init__(self, options):
        self.options = options
        self.out = Path(options.work) / "out"
        self.longer = Path(options.work) / f"x{GROWTH}"
        self.outputs = {
            PEER: self.out / "peer.trace.json.gz",
            MERGE: self.out / "merged.trace.json.gz",
            PFTRACE: self.out / "merged.pftrace",
            ANALYZE: self.out / "analysis.json",
            QUICK: self.out / "quick.json",
        }
        self.samples = {name: [] for name in self.outputs}
        self.goals = []  # (text, met)
        self.wrong = []  # outputs that are not what they must be

    def command(self, name, directory):
        tool, output = self.options.stepscope, str(self.outputs[name])
        if name == PEER:
            return [sys.executable, str(HERE / "merge_peer.py"), directory, output]
        if name == MERGE:
            return [tool, "trace", "merge", directory, "-o", output]
        if name == PFTRACE:
            return [tool, "trace", "merge", directory, "--format", "pftrace", "-o", output]
        return [tool, "analyze", directory, *name.split()[1:]]

    def once(self, name, directory):
        output = self.outputs[name]
        output.unlink(missing_ok=True)
        sample = measure(self.command(name, directory), stdout=output if name in (ANALYZE, QUICK) else None)
        print(f"  {name}: {sample.cpu_s:.2f} CPU s, {sample.peak_mb:.0f} MB", file=sys.stderr, flush=True)
        return sample

    def alternate(self):
        """All by turns, so that a slow minute of the machine does not fall on one of them alone."""
        for turn in range(self.options.runs):
            for name in self.outputs:
                if name != PEER or turn < self.options.peer_runs:
                    self.samples[name].append(self.once(name, self.options.directory))

    def cpu(self, name):
        return min(sample.cpu_s for sample in self.samples[name])

    def peak(self, name):
        return max(sample.peak_mb for sample in self.samples[name])

    def size(self, name):
        return self.outputs[name].stat().st_size / 1e6

    def goal(self, text, met):
        self.goals.append((text, met))

    def judge(self):
        peer_cpu, peer_size = self.cpu(PEER), self.size(PEER)
        for name, ratio, peak in (
            (MERGE, MERGE_CPU_RATIO, MERGE_PEAK_MB),
            (PFTRACE, PFTRACE_CPU_RATIO, MERGE_PEAK_MB),
            (ANALYZE, ANALYZE_CPU_RATIO, ANALYZE_PEAK_MB),
            (QUICK, ANALYZE_CPU_RATIO, ANALYZE_PEAK_MB),
        ):
            got = peer_cpu / max(self.cpu(name), 1e-6)
            self.goal(f"{name}: CPU at most 1/{ratio} of the peer's: 1/{got:.1f}", got >= ratio)
            self.goal(f"{name}: at most {peak} MB: {self.peak(name):.1f} MB", self.peak(name) <= peak)
        got = self.size(MERGE) / peer_size
        self.goal(f"{MERGE}: output at most {MERGE_OUTPUT_RATIO} of the peer's: {got:.2f}", got <= MERGE_OUTPUT_RATIO)

    def verify(self):
        """Have other processes read the outputs: every event of the inputs is there, the findings are JSON."""
        command = [sys.executable, "-B", str(HERE / "verify_merge.py")]
        command += ["--merged", str(self.outputs[PEER]), "--merged", str(self.outputs[MERGE])]
        command += ["--pftrace", str(self.outputs[PFTRACE])]
        command += [str(path) for path in rank_files(self.options.directory)]
        if subprocess.run(command).returncode != 0:
            self.wrong.append("a merged trace does not hold the events of its inputs")
        findings = [sys.executable, "-m", "json.tool", str(self.outputs[ANALYZE]), os.devnull]
        if subprocess.run(findings).returncode != 0:
            self.wrong.append(f"{self.outputs[ANALYZE]}: the findings are not JSON")

    def grow(self):
        """Merge the same capture made GROWTH times as long; memory must not follow."""
        self.longer.mkdir(parents=True, exist_ok=True)
        files = [str(path) for path in rank_files(self.options.directory)]
        subprocess.run([self.options.repeat, "-n", str(GROWTH), "-o", str(self.longer), *files], check=True)
        for name in (MERGE, PFTRACE):
            before = self.size(name)
            sample = self.once(name, str(self.longer))
            # Memory that stays small because events were lost would prove nothing. Reading ten times the events in
            # Python takes minutes; the size tells as much.
            if self.size(name) < 0.8 * GROWTH * before:
                self.wrong.append(f"{name}: {GROWTH}× the input gives {self.size(name) / before:.1f}× the output")
            self.samples[f"{name}, {GROWTH}×"] = [sample]
            got = sample.peak_mb / self.peak(name)
            text = f"{name}: {GROWTH}× the input: {sample.peak_mb:.1f} MB against {self.peak(name):.1f} MB"
            self.goal(f"{text}, at most {MERGE_PEAK_MB} MB", sample.peak_mb <= MERGE_PEAK_MB)
            self.goal(f"{text}, at most {GROWTH_PEAK_RATIO} of it: {got:.2f}", got <= GROWTH_PEAK_RATIO)

    def table(self, sizes):
        peer = self.cpu(PEER)
        row = "{:<36} {:>5} {:>10} {:>8} {:>9} {:>10} {:>14}"
        print(row.format("what", "runs", "CPU s min", "wall s", "peak MB", "output MB", "CPU, of peer"))
        for name, samples in self.samples.items():
            cpu = self.cpu(name)
            # A longer input has no peer to be compared with.
            ratio = f"1/{peer / max(cpu, 1e-6):.1f}" if name in self.outputs else ""
            size = f"{sizes[name]:.1f}" if name in sizes else ""
            wall = min(sample.wall_s for sample in samples)
            print(row.format(name, len(samples), f"{cpu:.2f}", f"{wall:.2f}", f"{self.peak(name):.1f}", size, ratio))

    def apart(self):
        """What findings are worth and the critical path: what --quick leaves out."""
        spent = self.cpu(ANALYZE) - self.cpu(QUICK)
        print(f"\nworth of findings and critical path: {spent:.2f} CPU s, {100 * spent / self.cpu(ANALYZE):.0f} % of analyze")

    def report(self, sizes):
        print(f"\n{describe_machine()}\ninput: {describe_input(self.options.directory)}\n")
        self.table(sizes)
        self.apart()
        print(f"\npeak MB: the largest of all runs; none can read lower than the harness itself, {own_peak_mb():.0f} MB\n")
        for text, met in self.goals:
            print(f"{'met   ' if met else 'MISSED'}  {text}")
        for text in self.wrong:
            print(f"WRONG   {text}")
        evidence = {
            "machine": describe_machine(),
            "input": describe_input(self.options.directory),
            "samples": {name: [asdict(sample) for sample in samples] for name, samples in self.samples.items()},
            "output_mb": sizes,
            "goals": [{"text": text, "met": met} for text, met in self.goals],
            "wrong": self.wrong,
        }
        Path(self.options.work, "traces.json").write_text(json.dumps(evidence, indent=2, ensure_ascii=False) + "\n")


def describe_machine():
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    except OSError:
        pass  # not Linux
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"machine: {model}, {os.cpu_count()} CPUs, load {load}; Python {platform.python_version()}"


def describe_input(directory):
    files = rank_files(directory)
    return f"{len(files)} files, {sum(path.stat().st_size for path in files) / 1e6:.1f} MB compressed"


def main():
    parser = argparse.ArgumentParser(description="hold stepscope's trace merge and analysis against plain Python")
    parser.add_argument("directory", metavar="DIR", help="rank files of one capture")
    parser.add_argument("--stepscope", required=True, help="the binary to measure")
    parser.add_argument("--repeat", required=True, help="the built scripts/bench/repeat")
    parser.add_argument("--work", required=True, help="folder for outputs; out/ and x10/ in it are deleted")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peer-runs", type=int, default=2)
    options = parser.parse_args()
    files = rank_files(options.directory)
    if not files:
        parser.exit(2, f"{options.directory}: no *TP-<n>*.trace.json.gz in it; give the folder of one capture\n")
    for path in files:  # the first to run must not pay for a cold disk
        subprocess.run(["cat", str(path)], stdout=subprocess.DEVNULL, check=True)

    run = Run(options)
    shutil.rmtree(run.out, ignore_errors=True)
    run.out.mkdir(parents=True)
    try:
        run.alternate()
        sizes = {name: run.size(name) for name in run.outputs}
        run.judge()
        run.verify()
        run.grow()
        run.report(sizes)
    except (CommandError, OSError, subprocess.CalledProcessError) as problem:
        parser.exit(2, f"traces.py: {problem}\n")
    finally:
        shutil.rmtree(run.out, ignore_errors=True)
        shutil.rmtree(run.longer, ignore_errors=True)
    sys.exit(1 if run.wrong or not all(met for _, met in run.goals) else 0)


if __name__ == "__main__":
    main()
