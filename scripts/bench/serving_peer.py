"""Runs SGLang's bench_serving as it is and writes what it asked, and when, as a plan for stepscope's --dataset-name plan.

    serving_peer.py PLAN ARGUMENTS OF BENCH_SERVING

The same seed gives the same requests at the same times, so the plan holds for its other runs too.
"""

import dataclasses
import json
import sys
import time

from sglang.benchmark import serving

plan = sys.argv.pop(1)
rows = []
requests = serving.get_request


async def recorded(*args, **kwargs):
    start = time.perf_counter()
    async for row in requests(*args, **kwargs):
        rows.append((row, int((time.perf_counter() - start) * 1e9)))
        yield row


serving.get_request = recorded
serving.cli_main()
with open(plan, "w") as out:
    for row, at in rows:
        kept = ("prompt", "prompt_len", "output_len")
        out.write(json.dumps({k: v for k, v in dataclasses.asdict(row).items() if k in kept} | {"at_ns": at}) + "\n")
