#!/usr/bin/env python3
"""Makes PyTorch-profiler captures of a tensor-parallel model with known truth, one GPU a rank.

    python3 capture.py --out DIR [--world 2] [--layers 6] [--scenarios g_work_r0,e_host_r1]

Writes DIR/SCENARIO/ID.SCENARIO-TP-RANK.trace.json.gz and DIR/SCENARIO/truth.json for each scenario of scenarios.py. The
names and the step annotations are those of SGLang. Needs torch with CUDA and NCCL, and triton. look.py checks the result.

What can be injected, from which step on, on which rank:
    extra-mlp       more MLPs in each layer                        routed-tokens  larger inputs to the same expert kernels
    hog-gpu         another process multiplies matrices on the GPU  hog-link      another process copies from GPU to GPU
    sleep, spin     the launching thread sleeps, or computes, inside the step before it launches
    sleep-between   the same between two steps                      tokenize      spin under an annotation of its own
    narrow-group    all-reduces over a group that may use little of each GPU: the same bytes take longer
"""
import argparse
import json
import os
import time
from collections import deque
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.profiler import ProfilerActivity, profile, record_function

from model import BATCH, PROMPT, Load, Model
from scenarios import SCENARIOS

IDLE, LINK, QUIT = 0, 100, -1  # what the hog is told to do; 1+g: multiply on GPU g
DEVICE_SIDE = ("extra-mlp", "routed-tokens", "narrow-group")  # what changes the kernels, and so needs another graph


def hog(command, state):
    """Another tenant of the GPUs. Does what command says and writes into state what it is doing; it is busy on the device
    before it says so, hence the first step after that is the first one disturbed."""
    devices = [torch.device("cuda", g) for g in range(2)]
    square = [torch.randn(8192, 8192, device=d, dtype=torch.bfloat16) for d in devices]
    product = [torch.empty_like(s) for s in square]
    there = [torch.empty(1 << 28, dtype=torch.uint8, device=d) for d in devices]
    here = [torch.empty_like(t) for t in there]
    lanes = [[torch.cuda.Stream(d) for d in devices] for _ in range(2)]  # a direction has a stream on each GPU
    for g in range(2):
        torch.mm(square[g], square[g], out=product[g])

    def work(what):
        if what == LINK:
            ends = []
            for src, dst in ((0, 1), (1, 0)):
                with torch.cuda.stream(lanes[src][dst]), torch.cuda.stream(lanes[src][src]):
                    there[dst].copy_(here[src], non_blocking=True)
                    ends.append(lanes[src][src].record_event())
            return ends
        with torch.cuda.device(what - 1):
            torch.mm(square[what - 1], square[what - 1], out=product[what - 1])
            return [torch.cuda.current_stream().record_event()]

    def sync():
        for d in devices:
            torch.cuda.synchronize(d)

    work(LINK)  # peer access is set up by the first copy
    sync()
    queue = deque()
    while (what := command.value) != QUIT:
        if what == IDLE:
            if state.value != IDLE:
                sync()
                queue.clear()
                state.value = IDLE
            time.sleep(0.0002)
            continue
        queue.append(work(what))
        if len(queue) > 4:  # some work always waits on the device, so it is never idle between two pieces
            for event in queue.popleft():
                event.synchronize()
            state.value = what


def tell(hog_link, rank, what):
    """Every rank waits until the hog does what it was told; rank 0 tells it."""
    command, state = hog_link
    if rank == 0:
        command.value = what
    end = time.monotonic() + 30
    while state.value != what:
        if time.monotonic() > end:
            raise TimeoutError(f"the other process does {state.value}, was told {what}")


def spin(ms):
    end = time.perf_counter() + ms / 1e3
    n = 0
    while time.perf_counter() < end:
        n += 1


class Runner:
    """One scenario on one rank: which load a step has, and how it is launched."""

    def __init__(self, model, sc):
        self.model, self.sc, self.rank = model, sc, model.rank
        self.decodes, self.prefills, self.pending = {}, {}, None
        if not sc.graph:
            return
        for phase in sorted({self.phase(s) for s in range(sc.prefill + sc.decode)}):
            step = next(s for s in range(sc.prefill + sc.decode) if self.phase(s) == phase)
            self.decodes[phase] = model.graph(model.ids, BATCH, self.load(step))
            if sc.graph_prefill:
                self.prefills[phase] = model.graph(model.prompt, BATCH, self.load(step))

    def phase(self, step):
        """Which device-side injections hold, on any rank: all ranks change graphs together."""
        return tuple(i.at(step) for i in self.sc.inject if i.how in DEVICE_SIDE)

    def mine(self, step, *how):
        return [i for i in self.sc.inject if i.how in how and i.at(step) and i.rank in (None, self.rank)]

    def load(self, step):
        extra = sum(int(i.amount) for i in self.mine(step, "extra-mlp"))
        routed = [int(i.amount) for i in self.mine(step, "routed-tokens")]
        narrow = max((int(i.amount) for i in self.mine(step, "narrow-group")), default=0)
        return Load(extra, routed[0] if routed else self.sc.routed, narrow)

    def name(self, step):
        return f"step[EXTEND bs={BATCH} toks={BATCH * PROMPT}]" if step < self.sc.prefill else f"step[DECODE bs={BATCH}]"

    def host(self, step):
        for i in self.mine(step, "sleep"):
            time.sleep(i.amount / 1e3)
        for i in self.mine(step, "spin"):
            spin(i.amount)
        for i in self.mine(step, "tokenize"):
            with record_function("tokenize"):
                spin(i.amount)

    def launch(self, step):
        prefill = step < self.sc.prefill
        graphs = self.prefills if prefill else self.decodes
        if self.phase(step) in graphs:
            g, out = graphs[self.phase(step)]
            g.replay()
            return out
        ids = self.model.prompt if prefill else self.model.ids
        if self.sc.overlap:
            return self.model.forward_overlapped(ids, BATCH)
        return self.model.forward(ids, BATCH, self.load(step))

    def step(self, step):
        for i in self.mine(step, "sleep-between"):
            time.sleep(i.amount / 1e3)
        with record_function(self.name(step)):
            self.host(step)
            out = self.launch(step)
            self.model.ids.copy_(out)
            if not self.sc.ahead:
                return out.to("cpu")
            late, self.pending = self.pending, torch.cuda.current_stream().record_event()
            if late is not None:
                late.synchronize()

    def close(self):
        for g, _ in [*self.decodes.values(), *self.prefills.values()]:
            g.reset()


def capture(model, name, ident, hog_link, folder):
    sc = SCENARIOS[name]
    run = Runner(model, sc)
    # Every shape, kernel and graph once, unseen: neither compilation nor a graph's upload is in the capture.
    for s in [0, 0, *range(sc.prefill, sc.prefill + sc.decode)]:
        run.launch(s)
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()
    doing = IDLE
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True,
                 with_stack=sc.stacks, profile_memory=sc.stacks) as prof:
        for s in range(sc.prefill + sc.decode):
            hogs = [LINK if i.how == "hog-link" else 1 + i.rank
                    for i in sc.inject if i.how.startswith("hog") and i.at(s)] or [IDLE]
            if hogs[0] != doing:
                doing = hogs[0]
                tell(hog_link, run.rank, doing)
            run.step(s)
        torch.cuda.synchronize()
    if any(i.how.startswith("hog") for i in sc.inject):
        tell(hog_link, run.rank, IDLE)
    folder = Path(folder, name)
    folder.mkdir(parents=True, exist_ok=True)
    prof.export_chrome_trace(str(folder / f"{ident}.{name}-TP-{model.rank}.trace.json.gz"))
    if model.rank == 0:
        truth = {"scenario": name, "world": model.world, "torch": torch.__version__,
                 "gpu": torch.cuda.get_device_name(), "layers": model.layers, **sc.truth()}
        (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
    run.close()
    dist.barrier()


def worker(rank, args, hog_link):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"tcp://127.0.0.1:{args.port}", rank=rank, world_size=args.world,
                            device_id=torch.device("cuda", rank))
    with torch.no_grad():
        model = Model(rank, args.world, args.layers)
        for name in args.scenarios.split(","):
            begin = time.time()
            capture(model, name, args.id, hog_link, args.out)
            if rank == 0:
                print(f"{name}: {time.time() - begin:.1f} s", flush=True)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--world", type=int, default=2)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--scenarios", default=",".join(SCENARIOS))
    parser.add_argument("--id", default=str(int(time.time())))
    parser.add_argument("--port", type=int, default=29511)
    args = parser.parse_args()
    # Ranks replay different graphs side by side, so NCCL must not register a graph's buffers with its peers.
    os.environ.setdefault("NCCL_GRAPH_REGISTER", "0")
    ctx = mp.get_context("spawn")
    command, state = ctx.Value("i", IDLE, lock=False), ctx.Value("i", QUIT, lock=False)
    other = None
    if any(i.how.startswith("hog") for n in args.scenarios.split(",") for i in SCENARIOS[n].inject):
        other = ctx.Process(target=hog, args=(command, state), daemon=True)
        other.start()
        while state.value != IDLE:
            if not other.is_alive():
                raise RuntimeError("the process that disturbs the GPUs ended: see its error above")
            time.sleep(0.05)
    try:
        mp.spawn(worker, (args, (command, state)), nprocs=args.world)
    finally:
        command.value = QUIT
        if other is not None:
            other.join(10)


if __name__ == "__main__":
    main()
