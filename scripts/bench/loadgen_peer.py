"""A client of the shape of SGLang's bench_serving, for loadgen.sh: asyncio and
aiohttp, a session and a connection for each request, `async for` over the
content, strip, decode, json.loads for each line, and a stamp where bench_serving
takes one. Beyond that it keeps the times of all events, as loadgen wants them."""

import argparse
import array
import asyncio
import json
import resource
import sys
import time

import aiohttp

clock = lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC)


async def request(a, i, log):
    timeout = aiohttp.ClientTimeout(total=6 * 60 * 60)
    payload = {
        "model": "mock",
        "messages": [{"role": "user", "content": "token " * 32}],
        "max_completion_tokens": a.tokens,
        "stream": True,
        "temperature": 0.0,
        "ignore_eos": True,
    }
    itl, text, ttft = [], "", 0.0
    async with aiohttp.ClientSession(timeout=timeout, read_bufsize=10 * 1024**2) as session:
        start = latest = time.perf_counter()
        async with session.post(a.url + "/v1/chat/completions", json=payload, headers={}) as response:
            if response.status != 200:
                raise RuntimeError(f"status {response.status}")
            async for chunk_bytes in response.content:
                chunk_bytes = chunk_bytes.strip()
                if not chunk_bytes:
                    continue
                chunk = chunk_bytes.decode("utf-8")
                if chunk.startswith("data: "):
                    chunk = chunk[6:]
                if chunk == "[DONE]":
                    continue
                data = json.loads(chunk)
                choices = data.get("choices") or []
                if not choices:
                    continue
                content = (choices[0].get("delta") or {}).get("content") or ""
                if content:
                    timestamp = time.perf_counter()
                    if ttft == 0.0:
                        ttft = timestamp - start
                    else:
                        itl.append(timestamp - latest)
                    latest = timestamp
                    text += content
                log.extend((i, int(data["t"]), 0, clock()))


async def main(a):
    log = array.array("q")
    lates, failed, error = [], 0, ""

    async def one(i):
        nonlocal failed, error
        try:
            await request(a, i, log)
        except Exception as e:
            failed += 1
            error = error or repr(e)

    tasks, start = [], time.perf_counter() + 0.05
    for i in range(a.streams):
        due = start + i / a.rate
        if (wait := due - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        lates.append(int((time.perf_counter() - due) * 1e9))
        tasks.append(asyncio.create_task(one(i)))
    await asyncio.gather(*tasks)
    with open(a.log, "wb") as f:
        log.tofile(f)
    lates.sort()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    at = lambda q: max(lates[min(int(q * len(lates)), len(lates) - 1)], 0)
    json.dump(
        {
            "ok": a.streams - failed,
            "failed": failed,
            "error": error,
            "cpu": usage.ru_utime + usage.ru_stime,
            # That of getrusage counts what the parent had when it forked.
            "rss": int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) * 1024,
            "late_p50": at(0.5),
            "late_p99": at(0.99),
            "late_p999": at(0.999),
            "late_max": lates[-1],
            "stamps": "user",
        },
        sys.stdout,
    )


p = argparse.ArgumentParser()
p.add_argument("-url")
p.add_argument("-log")
p.add_argument("-streams", type=int)
p.add_argument("-tokens", type=int)
p.add_argument("-rate", type=float)
asyncio.run(main(p.parse_args()))
