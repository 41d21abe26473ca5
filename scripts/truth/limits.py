#!/usr/bin/env python3
"""Measures what kernels of a CUDA device attain: matrix products, copies and, with two devices, collectives of NCCL.

    python3 scripts/truth/limits.py DIR

Writes DIR/limits.json: times in µs, each the median of 20 replays of a CUDA graph. Weights are taken in turns, so that they
do not fit into the L2 cache. Needs PyTorch. The figures in docs/metrics.md (speed of light) come from it.
"""
import json
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

ROWS = (1, 8, 16, 32, 64, 128, 256, 2048, 8192)
PRODUCTS = ((3072, 4096), (4096, 2048), (12288, 4096), (4096, 6144), (24576, 4096), (4096, 12288), (32000, 4096))  # N, K
CACHE = 3e8  # bytes that no L2 cache holds


def timed(run, n):
    """Returns the time of one of n calls of run in a CUDA graph."""
    run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(n):
            run()
    graph.replay()
    times = []
    for _ in range(20):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record()
        graph.replay()
        b.record()
        torch.cuda.synchronize()
        times.append(a.elapsed_time(b) * 1e3 / n)
    return sorted(times)[len(times) // 2]


def products():
    for m in ROWS:
        for n, k in PRODUCTS:
            copies = max(1, min(12, int(CACHE // (n * k * 2)) + 1))
            weights = [torch.randn(n, k, device="cuda", dtype=torch.bfloat16) for _ in range(copies)]
            x = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
            us = timed(lambda: [torch.nn.functional.linear(x, w) for w in weights], max(1, (50 if m < 512 else 4) // copies)) / copies
            yield {"rows": m, "n": n, "k": k, "us": us}


def streams():
    for megabytes in (0.1, 0.5, 1, 4, 16, 64, 256, 1024):
        n = int(megabytes * 1e6 / 4)
        copies = max(1, min(200, int(CACHE // (n * 4)) + 1))
        pairs = [(torch.randn(n, device="cuda", dtype=torch.bfloat16), torch.empty(n, device="cuda", dtype=torch.bfloat16)) for _ in range(copies)]
        us = timed(lambda: [y.copy_(x) for x, y in pairs], max(1, 100 // copies)) / copies
        yield {"mb": n * 4 / 1e6, "us": us}


def collectives(rank, out):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511", RANK=str(rank), WORLD_SIZE="2")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    rows = []
    for kilobytes in (8, 32, 128, 512, 2048, 8192, 65536):
        x = torch.randn(kilobytes * 512, device="cuda", dtype=torch.bfloat16)
        half = torch.empty(kilobytes * 256, device="cuda", dtype=torch.bfloat16)
        for op, run in (
            ("all_reduce", lambda: dist.all_reduce(x)),
            ("all_gather", lambda: dist.all_gather_into_tensor(x, half)),
            ("reduce_scatter", lambda: dist.reduce_scatter_tensor(half, x)),
        ):
            rows.append({"op": op, "kb": kilobytes, "us": timed(run, 20)})
    if rank == 0:
        with open(out, "w") as f:
            json.dump(rows, f)
    dist.destroy_process_group()


if __name__ == "__main__":
    where = sys.argv[1]
    found = {"device": torch.cuda.get_device_name(0), "collectives": []}
    if torch.cuda.device_count() > 1:
        part = os.path.join(where, "collectives.json")
        mp.spawn(collectives, args=(part,), nprocs=2)
        with open(part) as f:
            found["collectives"] = json.load(f)
        os.remove(part)
    found["products"], found["streams"] = list(products()), list(streams())
    with open(os.path.join(where, "limits.json"), "w") as f:
        json.dump(found, f, indent=1)
