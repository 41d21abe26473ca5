"""A Llama-shaped tensor-parallel transformer with random weights, just real enough to be profiled.

Every rank holds 1/world of the heads, of the MLP's inner width and of the vocabulary. A layer is norm, attention,
all-reduce, norm, MLP, all-reduce; the logits are all-gathered and the largest one is the next token. There are no rotary
embeddings: they cost many small kernels and no insight here. What a scenario injects on the device is asked for by Load.
"""
from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.nn.functional as F
import triton
import triton.language as tl
from torch.profiler import record_function

HIDDEN, HEADS, KV_HEADS, HEAD, INNER, VOCAB = 4096, 32, 8, 128, 14336, 32000
BATCH, PROMPT, CACHE = 16, 512, 640  # sequences, tokens of each prompt, slots of the key-value cache a sequence
EXPERT_INNER = 1536


@dataclass(frozen=True)
class Load:
    """What one rank computes in one step, besides the model itself."""

    extra: int = 0  # MLPs a layer whose result is thrown away: more kernels, the same sizes
    routed: int = 0  # tokens sent to this rank's experts: the same kernels, larger grids; 0 has no experts at all
    narrow: int = 0  # all-reduce over a group that may use so many blocks of each GPU: the same bytes, slower


@triton.jit
def expert_gemm_kernel(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c[M,N] = a[M,K] b[K,N], bf16, all sizes multiples of the blocks. One name and one block size for every M, so that
    only the grid tells how many tokens came, as with the fused mixture-of-experts kernels of the serving engines."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        left = tl.load(a + m[:, None] * K + (k0 + k)[None, :])
        right = tl.load(b + (k0 + k)[:, None] * N + n[None, :])
        acc += tl.dot(left, right)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.bfloat16))


def expert_gemm(a, b):
    c = torch.empty(a.shape[0], b.shape[1], device=a.device, dtype=a.dtype)
    grid = (a.shape[0] // 64, b.shape[1] // 128)
    expert_gemm_kernel[grid](a, b, c, b.shape[1], a.shape[1], BM=64, BN=128, BK=64, num_warps=4, num_stages=3)
    return c


class Model:
    def __init__(self, rank, world, layers):
        self.rank, self.world, self.layers = rank, world, layers
        self.device = torch.device("cuda", rank)
        self.heads, self.kv, self.inner, self.vocab = HEADS // world, KV_HEADS // world, INNER // world, VOCAB // world
        common = torch.Generator(self.device).manual_seed(1)  # what every rank must hold alike
        own = torch.Generator(self.device).manual_seed(100 + rank)
        self.embed = self.random(VOCAB, HIDDEN, gen=common, scale=1)
        self.head = self.random(self.vocab, HIDDEN, gen=own)
        self.norm = torch.ones(HIDDEN, device=self.device, dtype=torch.bfloat16)
        self.blocks = [self.block(own) for _ in range(layers)]
        self.tokens = self.random(4096, HIDDEN, gen=own, scale=1)  # stands for what other ranks route to this one
        self.ids = torch.zeros(BATCH, dtype=torch.int64, device=self.device)
        self.prompt = torch.randint(VOCAB, (BATCH * PROMPT,), generator=common, device=self.device)
        self.slot = torch.full((1,), PROMPT, dtype=torch.int64, device=self.device)
        self.alt = torch.cuda.Stream(self.device)
        self.narrow = None  # made when first asked for, by all ranks together

    def group(self, load):
        if load.narrow and self.narrow is None:
            options = dist.ProcessGroupNCCL.Options()
            options.config.min_ctas = options.config.max_ctas = load.narrow
            self.narrow = dist.new_group(backend="nccl", pg_options=options)
        return self.narrow if load.narrow else None

    def random(self, *shape, gen, scale=0.02):
        return torch.randn(*shape, generator=gen, device=self.device, dtype=torch.bfloat16) * scale

    def block(self, gen):
        qkv = (self.heads + 2 * self.kv) * HEAD
        cache = (BATCH, self.kv, CACHE, HEAD)
        return {
            "qkv": self.random(qkv, HIDDEN, gen=gen),
            "o": self.random(HIDDEN, self.heads * HEAD, gen=gen),
            "up": self.random(2 * self.inner, HIDDEN, gen=gen),
            "down": self.random(HIDDEN, self.inner, gen=gen),
            "e1": self.random(HIDDEN, EXPERT_INNER, gen=gen),
            "e2": self.random(EXPERT_INNER, HIDDEN, gen=gen),
            "k": torch.zeros(cache, device=self.device, dtype=torch.bfloat16),
            "v": torch.zeros(cache, device=self.device, dtype=torch.bfloat16),
        }

    def attention(self, w, x, batch, first=0):
        """batch sequences, of which the first is sequence number `first` of the cache; x is [batch*length, HIDDEN]."""
        length = x.shape[0] // batch
        qkv = F.linear(x, w["qkv"]).view(batch, length, -1, HEAD).transpose(1, 2)
        q, k, v = qkv.split([self.heads, self.kv, self.kv], dim=1)
        keys, values = w["k"][first:first + batch], w["v"][first:first + batch]
        if length > 1:
            keys[:, :, :length].copy_(k)
            values[:, :, :length].copy_(v)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        else:
            keys.index_copy_(2, self.slot, k)
            values.index_copy_(2, self.slot, v)
            y = F.scaled_dot_product_attention(q, keys, values, enable_gqa=True)
        return F.linear(y.transpose(1, 2).reshape(batch * length, -1), w["o"])

    def mlp(self, w, x):
        gate, up = F.linear(x, w["up"]).chunk(2, dim=-1)
        return F.linear(F.silu(gate) * up, w["down"])

    def experts(self, w, routed):
        return expert_gemm(F.silu(expert_gemm(self.tokens[:routed], w["e1"])), w["e2"])

    def next_ids(self, x, batch):
        """x is [batch*length, HIDDEN]; the next token of each sequence, the same on every rank."""
        last = F.rms_norm(x.view(batch, -1, HIDDEN)[:, -1], (HIDDEN,), self.norm)
        shard = F.linear(last, self.head)
        logits = torch.empty(self.world, batch, self.vocab, device=self.device, dtype=shard.dtype)
        dist.all_gather_into_tensor(logits, shard)
        return logits.transpose(0, 1).reshape(batch, -1).argmax(-1)

    def forward(self, ids, batch, load=Load()):
        x, group = F.embedding(ids, self.embed), self.group(load)
        for i, w in enumerate(self.blocks):
            with record_function(f"model.layers.{i}.self_attn"):
                y = self.attention(w, F.rms_norm(x, (HIDDEN,), self.norm), batch)
                dist.all_reduce(y, group=group)
                x = x + y
            with record_function(f"model.layers.{i}.mlp"):
                n = F.rms_norm(x, (HIDDEN,), self.norm)
                y = self.mlp(w, n)
                for _ in range(load.extra):
                    self.mlp(w, n)
                if load.routed:
                    y[:BATCH] += self.experts(w, load.routed)[:BATCH]
                dist.all_reduce(y, group=group)
                x = x + y
        return self.next_ids(x, batch)

    def forward_overlapped(self, ids, batch):
        """Two half batches: the all-reduce of one half's attention runs beside the other half's attention (hidden), the
        second one beside nothing (exposed). The MLP's tokens go to the experts' ranks and back by all-to-all; on the way
        there a shared expert works on another stream (hidden in part), on the way back nothing does (exposed)."""
        x = F.embedding(ids, self.embed)
        half, rows = batch // 2, ids.shape[0] // 2
        for i, w in enumerate(self.blocks):
            with record_function(f"model.layers.{i}.self_attn"):
                n = F.rms_norm(x, (HIDDEN,), self.norm)
                a = self.attention(w, n[:rows], half)
                first = dist.all_reduce(a, async_op=True)
                b = self.attention(w, n[rows:], half, first=half)
                second = dist.all_reduce(b, async_op=True)
                first.wait()
                second.wait()
                x = x + torch.cat([a, b])
            with record_function(f"model.layers.{i}.mlp"):
                n = F.rms_norm(x, (HIDDEN,), self.norm)
                there, back = torch.empty_like(n), torch.empty_like(n)
                dispatch = dist.all_to_all_single(there, n, async_op=True)
                self.alt.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(self.alt):
                    shared = self.mlp(w, n)
                dispatch.wait()
                routed = self.mlp(w, there)
                dist.all_to_all_single(back, routed, async_op=True).wait()
                torch.cuda.current_stream().wait_stream(self.alt)
                shared.record_stream(torch.cuda.current_stream())
                n.record_stream(self.alt)
                x = x + shared + back
        return self.next_ids(x, batch)

    def graph(self, ids, batch, load):
        """Captures one forward. Returns the graph and the tensor its replays fill. Every rank must capture together,
        each its own load: NCCL pairs the collectives by the order of their capture."""
        side = torch.cuda.Stream(self.device)
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self.forward(ids, batch, load)
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        g = torch.cuda.CUDAGraph()
        # The watchdog thread of NCCL queries events while we capture, so only this thread's calls are held to the rules.
        with torch.cuda.graph(g, capture_error_mode="thread_local"):
            out = self.forward(ids, batch, load)
        return g, out


