#!/usr/bin/env python3
"""Evaluates the answers of "stepscope mcp" on 24 problems with known truth.

    evaluate.py BINARY                            three scripted policies; exit status 0 if the gates hold
    evaluate.py BINARY --url URL --model NAME     a model behind an OpenAI-compatible server, 5 repeats

It needs the packages of scripts/clients.d/mcp.txt. With STEPSCOPE_DATA, captures of real servers replace some of the
generated ones.
"""

import argparse
import asyncio
import dataclasses
import json
import os
import pathlib
import sys
import tempfile

import mcp

import model
import policies
import problems
import score

MOST_ANSWER = 8_000
GATES = {"A": 22, "C": 18}
POLICIES = {"A": policies.overview_only, "B": policies.drill_down, "C": policies.raw_only}


async def run(args, out):
    """Runs the policies, or the model, and returns the problems and the outcomes by problem and policy."""
    found = problems.all_problems(out, args.seed, args.only)
    roots = sorted({str(pathlib.Path(x).parent) for p in found for x in (p.run, p.base) if x})
    command = ["mcp", "--run-dir", str(out / "runs")] + [a for r in roots for a in ("--root", r)]
    async with mcp.Client(mcp.StdioServerParameters(command=os.path.abspath(args.binary), args=command)) as client:
        chosen = POLICIES
        if args.url:
            asked = await model.policy(client, args.url, args.model)
            chosen = {str(n): asked for n in range(1, args.repeats + 1)}
        return found, {p.name: {k: await score.attempt(client, p, policy) for k, policy in chosen.items()} for p in found}


def report(found, outcomes):
    """Prints a row for each problem, and what is wrong with the answers."""
    keys = list(next(iter(outcomes.values())))
    print(f"{'problem':18} {'truth':46} {'  '.join(keys)}  calls  bytes")
    for p in found:
        got = outcomes[p.name]
        marks = "  ".join("+" if o.ok else "!" if o.alarm else "-" for o in got.values())
        calls, size = ("/".join(str(getattr(o, part)) for o in got.values()) for part in ("calls", "bytes"))
        print(f"{p.name:18} {p.truth():46.46} {marks}  {calls:5}  {size}")
        for k, o in got.items():
            if not o.ok:
                print(f"    {k}: {'; '.join(o.why)}")


def totals(outcomes):
    """Prints the sums of each policy and returns the gates that do not hold."""
    failed = []
    for k in POLICIES:
        mine = [o[k] for o in outcomes.values()]
        ok, alarms, largest = sum(o.ok for o in mine), sum(o.alarm for o in mine), max(o.largest for o in mine)
        print(f"{k}: {ok} of {len(mine)}, {alarms} false alarms, score {ok - alarms}, largest answer {largest} bytes")
        if len(mine) == problems.COUNT and ok - alarms < GATES.get(k, 0):
            failed.append(f"{k} has a score of {ok - alarms}, at least {GATES[k]} is wanted")
        if k != "C" and alarms:
            failed.append(f"{k} has {alarms} false alarms")
        if largest > MOST_ANSWER:
            failed.append(f"{k} got an answer of {largest} bytes, at most {MOST_ANSWER} are allowed")
    return failed


def stability(outcomes):
    """Prints how reliably a model solves each problem: the classes of TraceLens' evaluation."""
    for name, got in outcomes.items():
        share = sum(o.ok for o in got.values()) / len(got)
        print(f"{name:18} {'STABLE_PASS' if share == 1 else 'FLAKY_PASS' if share > 0.5 else 'FLAKY_FAIL' if share else 'STABLE_FAIL'}")


def main():
    """Parses the arguments and runs the evaluation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="stepscope")
    parser.add_argument("--seed", type=int, default=1, help="of the generated captures (default 1)")
    parser.add_argument("--only", action="append", default=[], metavar="PROBLEM", help="only this problem; may be repeated")
    parser.add_argument("--json", metavar="FILE", help="write the outcomes as JSON")
    parser.add_argument("--url", help="ask a model behind this OpenAI-compatible server, with the key of OPENAI_API_KEY")
    parser.add_argument("--model", default="default", help="name of the model")
    parser.add_argument("--repeats", type=int, default=5, help="with --url: answers to each problem (default 5)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as out:
        found, outcomes = asyncio.run(run(args, pathlib.Path(out).resolve()))
    report(found, outcomes)
    failed = stability(outcomes) if args.url else totals(outcomes)
    if args.json:
        rows = [{"problem": p.name, "truth": p.truth(), "answers": {k: dataclasses.asdict(o) for k, o in outcomes[p.name].items()}} for p in found]
        pathlib.Path(args.json).write_text(json.dumps({"format": 1, "seed": args.seed, "problems": rows, "failed": failed or []}, indent=1) + "\n")
    for line in failed or []:
        print("failed:", line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
