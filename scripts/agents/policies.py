"""Scripted policies that answer a problem from the tools alone. Each returns an answer: kind, late, noticed, missing, cut,
slower and says, a text in which every number and name stands in a result of a tool."""

import re
import statistics

UNITS = {"ns": 1e-6, "µs": 1e-3, "ms": 1.0, "s": 1e3}


def ms(text):
    """Returns a duration such as "749 µs" in ms."""
    value, unit = text.split()[:2]
    return float(value.replace(",", "")) * UNITS[unit]


def empty(kind="healthy"):
    """Returns an answer that blames nobody."""
    return {"kind": kind, "late": [], "noticed": [], "missing": [], "cut": [], "slower": "", "says": []}


async def overview_only(s, p):
    """Policy A: believes overview. A finding is blame from severity medium on."""
    if p.base:
        a, b = await s.call("overview", run=p.base), await s.call("overview", run=p.run)
        return pair_of_overviews(a["servers"][0], b["servers"][0])
    return of_overview(await s.call("overview", run=p.run))


def of_overview(facts):
    """Returns the answer of one overview."""
    answer = empty()
    for f in facts["servers"][0]["findings"]:
        if f["id"].startswith("straggler-"):
            answer["late" if f["severity"] in ("high", "medium") else "noticed"].append(blame(f))
            answer["says"].append(f["title"])
        elif f["severity"] not in ("high", "medium"):
            continue
        elif f["id"].startswith("host_bound-decode"):
            answer["kind"] = "host_bound"
            answer["says"].append(f["title"])
        elif f["id"].startswith("data-cut-"):
            answer["cut"] += re.findall(r"file of (TP\S+) ends early", f["title"])
        elif f["id"] == "data-missing":
            answer["missing"] += re.findall(r"TP[\w-]+", f["title"])
    if answer["late"]:
        answer["kind"] = "late"
    return answer


def blame(f):
    """Returns the blame of a finding of a late rank."""
    worth = re.search(r"worth (?:up to )?([\d.,]+ \S+)", f["cost"])
    return {
        "rank": f["ranks"][0], "since": f["first_step"], "cause": f["cause"], "wait": f["cost_ns_per_step"] / 1e6,
        "worth": ms(worth[1]) if worth else None, "quotes": [str(f["cost_ns_per_step"]), *([worth[1]] if worth else [])],
    }


def pair_of_overviews(a, b):
    """Compares the decode steps of two overviews by hand."""
    x, y = ([t for t in s["times"] if t["kind"] == "decode"][0] for s in (a, b))
    answer = empty("slower" if y["step_ns"] > 1.03 * x["step_ns"] else "same")
    answer["says"].append(f"decode steps: {x['step_ns']} and {y['step_ns']} ns")
    return answer


async def drill_down(s, p):
    """Policy B: overview, then the evidence of each late rank; compare for pairs."""
    if p.base:
        c = await s.call("compare", a=p.base, b=p.run)
        answer = empty("slower" if any(r[-1] == "slower" for r in c["rows"]) else "same")
        answer["says"] += [c["verdict"]] + [x for cause in c["causes"] for x in cause["facts"]]
        answer["slower"] = " ".join(answer["says"])
        return answer
    facts = await s.call("overview", run=p.run)
    answer = of_overview(facts)
    for f in facts["servers"][0]["findings"]:
        if f["id"].startswith("straggler-"):
            whole = await s.call("finding", run=p.run, id=f["id"])
            answer["says"].append(whole["title"])
    return answer


def table(text, head):
    """Returns the rows of the table whose heading begins with head, as dicts by column."""
    lines = text.splitlines()
    start = next((i for i, l in enumerate(lines) if l.startswith(head)), None)
    if start is None:
        return []
    columns, rows = lines[start].split(" | "), []
    for line in lines[start + 1 :]:
        cells = line.split(" | ")
        if len(cells) != len(columns):
            break
        rows.append(dict(zip(columns, cells)))
    return rows


async def raw_only(s, p):
    """Policy C: rules of thumb over steps, kernels and collectives, without any finding."""
    if p.base:
        return await pair_of_tables(s, p)
    text = await s.text("collectives", run=p.run)
    ranks = {r["rank"]: r for r in table(text, "rank | steps")}
    answer = empty()
    if gone := re.search(r"^no file of (.*):", text, re.MULTILINE):
        answer["missing"] = gone[1].split(", ")
    most = max(int(r["steps"]) for r in ranks.values())
    answer["cut"] = [name for name, r in ranks.items() if int(r["steps"]) < most - 1]
    rows = table(await s.text("steps", run=p.run, kind="decode", limit=50), "step | kind")
    usual = statistics.median(ms(r["time"]) for r in rows)
    last = [r for r in table(text, "step | kind | last") if r["kind"] == "decode"]
    for name, rank in ranks.items():
        suspect(answer, rank, [r for r in last if r["last"] == name], usual, last)
    idle = statistics.median(ms(re.search(r"\((.*)\)", r["idle (host)"])[1]) / ms(r["time"]) for r in rows)
    answer["kind"] = "late" if answer["late"] else "host_bound" if idle > 0.3 else "healthy"
    return answer


def suspect(answer, rank, mine, usual, last):
    """Adds the blame of a rank to an answer, given its row and the steps in which it waited least. It is late if the
    others wait over 5 % of the usual step in four of its steps or more. It is blamed if it is so in the last step, or
    makes others wait in most steps; otherwise it is noticed."""

    def more_work(r):
        kernels, others = (int(x) for x in r["kernels, others"].split(", "))
        return kernels > 1.03 * others

    for cause in ("work", ""):
        heavy = [r for r in mine if ms(r["others waited"]) > max(0.05 * usual, 0.05) and more_work(r) == bool(cause)]
        if len(heavy) < 4:
            continue
        late = {int(r["step"]) for r in heavy}
        steps = sorted({int(r["step"]) for r in last})
        since = max(sorted(late, reverse=True), key=lambda s: sum(1 if x in late else -1 for x in steps if x >= s))
        waits = sum(ms(r["others waited"]) for r in heavy)
        gaps = sum(ms(a) - ms(b) for a, b in (r["host gap, others"].split(", ") for r in heavy))
        row = sorted(heavy, key=lambda r: ms(r["others waited"]))[len(heavy) // 2]
        wait = rank["made others wait"] if len(heavy) > 0.7 * len(steps) else row["others waited"]
        lasting = steps[-1] in late or ms(rank["made others wait"]) > 0.05 * usual
        answer["late" if lasting else "noticed"].append({
            "rank": rank["rank"], "since": since, "cause": cause or ("host" if gaps > 0.5 * waits else "device"),
            "wait": ms(wait), "worth": None, "quotes": [wait, row["kernels, others"], row["host gap, others"]],
        })
        return


async def pair_of_tables(s, p):
    """Compares the steps and kernels of two captures by hand."""
    medians, kernels = [], []
    for run in (p.base, p.run):
        rows = table(await s.text("steps", run=run, kind="decode", limit=50), "step | kind")
        medians.append(statistics.median_low([ms(r["time"]) for r in rows]))
        kernels.append({r["kernel"]: r for r in table(await s.text("kernels", run=run, kind="decode"), "share | kind")})
    answer = empty("slower" if medians[1] > 1.03 * medians[0] else "same")
    for name, was in kernels[0].items():
        now = kernels[1].get(name)
        if answer["kind"] == "slower" and now and was["class"] != "communication" and ms(now["median"]) > 1.1 * ms(was["median"]):
            answer["says"].append(f"{name}: {was['median']} and {now['median']}")
    answer["slower"] = " ".join(answer["says"])
    return answer
