"""Sessions with the tools, and the score of an answer."""

import dataclasses
import json
import re

MOST_CALLS, MOST_BYTES = 12, 60_000


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
        claims = answer["cut"] + answer["missing"]
        for l in answer["late"] + answer["noticed"]:
            claims += [l["rank"], *([] if l["since"] is None else [str(l["since"])]), *l["quotes"]]
        for line in answer["says"]:
            claims += re.findall(r"\b\d[\d.,]*\d\b|\b\d\b", line) + re.findall(r"\bTP\d[\w-]*", line)
        return [c for c in claims if not re.search(rf"(?<![\w.]){re.escape(c)}(?![\w]|\.\d)", seen)]


def faults(p, answer):
    """Returns what is wrong with an answer."""
    wrong = []
    blamed = {l["rank"]: l for l in reversed(answer["late"])}  # the first blame of a rank counts
    noticed = {l["rank"]: l for l in answer["noticed"]} | blamed
    natural = {l.rank for l in p.natural}
    if answer["kind"] != p.kind and not (answer["kind"] == "late" and blamed and blamed.keys() <= natural):
        wrong.append(f"kind {answer['kind']}")
    for rank in blamed.keys() - natural - {l.rank for l in p.late}:
        wrong.append(f"blames {rank}")
    for true in p.late + p.natural:
        l = (blamed if true in p.late else noticed).get(true.rank)
        if l is None:
            wrong.append(f"not {true.rank}")
            continue
        if l["cause"] != true.cause:
            wrong.append(f"{true.rank} cause {l['cause']}")
        if true.since and (l["since"] is None or abs(l["since"] - true.since) > 1):
            wrong.append(f"{true.rank} from {l['since']}")
        for part in ("wait", "worth"):
            bound = getattr(true, part)
            if bound and not (l[part] is not None and bound[0] <= l[part] <= bound[1]):
                wrong.append(f"{true.rank} {part} {l[part]}")
    for part in ("missing", "cut"):
        if sorted(answer[part]) != sorted(getattr(p, part)):
            wrong.append(f"{part} {answer[part]}")
    if p.part not in answer["slower"]:
        wrong.append(f"does not name {p.part}")
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
        alarm = any(w.startswith("blames ") for w in why) and not p.late or answer["kind"] == "slower" and p.kind == "same"
        why += [f"no result has {c}" for c in s.ungrounded(answer)]
    except (RuntimeError, LookupError, ValueError, TypeError, StopIteration) as e:
        why = [f"{type(e).__name__}: {e}"]
    if s.bytes > MOST_BYTES:
        why.append(f"{s.bytes} bytes")
    return Outcome(not why, alarm, why, s.calls, s.bytes, s.largest)
