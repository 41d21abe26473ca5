#!/usr/bin/env python3
"""Evaluates the answers of "stepscope mcp" on 24 problems with known truth.

    evaluate.py BINARY                            three scripted policies; exit status 0 if the gates hold
    evaluate.py BINARY --url URL --model NAME     a model behind an OpenAI-compatible server, 5 repeats

It needs the packages of requirements.txt.
"""

import argparse
import asyncio
import dataclasses
import json
import os
import pathlib
import re
import sys
import tempfile

import mcp

import policies
import problems

MOST_CALLS, MOST_BYTES, MOST_ANSWER = 12, 60_000, 8_000
GATES = {"A": 22, "C": 18}
POLICIES = {"A": policies.overview_only, "B": policies.drill_down, "C": policies.raw_only}


class Session:
    """The calls of one policy on one problem."""

    def __init__(self, client):
        self.client, self.calls, self.bytes, self.largest, self.results = client, 0, 0, 0, []

    async def result(self, tool, arguments):
        """Calls a tool and returns its text, its facts and whether it failed."""
        if self.calls == MOST_CALLS:
            raise RuntimeError(f"over {MOST_CALLS} calls")
        self.calls += 1
        got = await self.client.call_tool(tool, arguments)
        text = "".join(c.text for c in got.content)
        facts = json.dumps(got.structured_content, ensure_ascii=False, separators=(",", ":")) if got.structured_content else ""
        size = len(text.encode()) + len(facts.encode())
        self.bytes, self.largest = self.bytes + size, max(self.largest, size)
        self.results.append(text + "\n" + facts)
        return text, got.structured_content, got.is_error

    async def call(self, tool, **arguments):
        """Calls a tool and returns its facts."""
        text, facts, failed = await self.result(tool, arguments)
        if failed or facts is None:
            raise RuntimeError(f"{tool}: {text[:200] if failed else 'no facts'}")
        return facts

    async def text(self, tool, **arguments):
        """Calls a tool and returns its text."""
        text, _, failed = await self.result(tool, arguments)
        if failed:
            raise RuntimeError(f"{tool}: {text[:200]}")
        return text

    def ungrounded(self, answer):
        """Returns the numbers and names of an answer that no result contains."""
        seen = "\n".join(self.results)
        claims = list(answer["cut"])
        for l in answer["late"]:
            claims += [l["rank"], str(l["since"]), *l["quotes"]]
        for line in answer["says"]:
            claims += re.findall(r"\b\d[\d.,]*\d\b|\b\d\b", line) + re.findall(r"\bTP\d[\w-]*", line)
        return [c for c in claims if not re.search(rf"(?<![\w.]){re.escape(c)}(?![\w]|\.\d)", seen)]


def faults(p, answer):
    """Returns what is wrong with an answer."""
    wrong = []
    if answer["kind"] != p.kind:
        wrong.append(f"kind {answer['kind']}")
    said = {l["rank"]: l for l in answer["late"]}
    for rank in said.keys() - {l.rank for l in p.late}:
        wrong.append(f"blames {rank}")
    for true in p.late:
        l = said.get(true.rank)
        if l is None:
            wrong.append(f"not {true.rank}")
            continue
        if l["cause"] != true.cause:
            wrong.append(f"{true.rank} cause {l['cause']}")
        if true.since and abs(l["since"] - true.since) > 1:
            wrong.append(f"{true.rank} from {l['since']}")
        for part in ("wait", "worth"):
            bound = getattr(true, part)
            if bound and not (l[part] is not None and bound[0] <= l[part] <= bound[1]):
                wrong.append(f"{true.rank} {part} {l[part]}")
    for part in ("missing", "cut"):
        if sorted(answer[part]) != sorted(getattr(p, part)):
            wrong.append(f"{part} {answer[part]}")
    return wrong


@dataclasses.dataclass
class Outcome:
    """The score of one answer."""

    ok: bool
    alarm: bool  # blames a rank, or a slowdown, where there is none
    why: list[str]
    calls: int
    bytes: int
    largest: int


async def attempt(client, p, policy):
    """Lets a policy answer a problem and scores its answer."""
    s, alarm = Session(client), False
    try:
        answer = await policy(s, p)
        why = faults(p, answer)
        alarm = bool(answer["late"]) and not p.late or answer["kind"] == "slower" and p.kind == "same"
        why += [f"no result has {c}" for c in s.ungrounded(answer)]
    except (RuntimeError, KeyError, ValueError, IndexError, StopIteration) as e:
        why = [f"{type(e).__name__}: {e}"]
    if s.bytes > MOST_BYTES:
        why.append(f"{s.bytes} bytes")
    return Outcome(not why, alarm, why, s.calls, s.bytes, s.largest)


async def run(args, out):
    """Runs the policies and returns the outcomes by problem and policy."""
    found = problems.all_problems(out, args.seed, args.only)
    roots = sorted({str(pathlib.Path(x).parent) for p in found for x in (p.run, p.base) if x})
    command = ["mcp", "--run-dir", str(out / "runs")] + [a for r in roots for a in ("--root", r)]
    async with mcp.Client(mcp.StdioServerParameters(command=os.path.abspath(args.binary), args=command)) as client:
        return found, {p.name: {k: await attempt(client, p, policy) for k, policy in POLICIES.items()} for p in found}


def report(found, outcomes, keys):
    """Prints the table and returns the gates that do not hold."""
    print(f"{'problem':18} {'truth':46} {'  '.join(keys)}  calls  bytes")
    for p in found:
        got = outcomes[p.name]
        marks = "  ".join("+" if got[k].ok else "!" if got[k].alarm else "-" for k in keys)
        calls, size = "/".join(str(got[k].calls) for k in keys), "/".join(str(got[k].bytes) for k in keys)
        print(f"{p.name:18} {p.truth():46.46} {marks}  {calls:5}  {size}")
        for k in keys:
            if not got[k].ok:
                print(f"    {k}: {'; '.join(got[k].why)}")
    failed = []
    for k in keys:
        all_of = [o[k] for o in outcomes.values()]
        ok, alarms, largest = sum(o.ok for o in all_of), sum(o.alarm for o in all_of), max(o.largest for o in all_of)
        print(f"{k}: {ok} of {len(all_of)}, {alarms} false alarms, score {ok - alarms}, largest answer {largest} bytes")
        if len(all_of) == problems.COUNT and ok < GATES.get(k, 0):
            failed.append(f"{k} solves {ok} problems, at least {GATES[k]} are wanted")
        if k == "A" and alarms:
            failed.append(f"{k} has {alarms} false alarms")
        if largest > MOST_ANSWER:
            failed.append(f"{k} got an answer of {largest} bytes, at most {MOST_ANSWER} are allowed")
    return failed


def main():
    """Parses the arguments and runs the evaluation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="stepscope")
    parser.add_argument("--seed", type=int, default=1, help="of the generated captures (default 1)")
    parser.add_argument("--only", action="append", default=[], metavar="PROBLEM", help="only this problem; may be repeated")
    parser.add_argument("--json", metavar="FILE", help="write the outcomes as JSON")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as out:
        found, outcomes = asyncio.run(run(args, pathlib.Path(out).resolve()))
    failed = report(found, outcomes, list(POLICIES))
    if args.json:
        rows = [{"problem": p.name, "truth": p.truth(), **{k: dataclasses.asdict(o) for k, o in outcomes[p.name].items()}} for p in found]
        pathlib.Path(args.json).write_text(json.dumps({"format": 1, "seed": args.seed, "problems": rows, "failed": failed}, indent=1) + "\n")
    for line in failed:
        print("failed:", line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
