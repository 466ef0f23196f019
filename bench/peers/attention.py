"""Attention over one complete (or causal) graph of n words in PyTorch: scaled_dot_product_attention, forward or forward + backward.

    python attention.py --n 4096 --heads 4 --width 64 [--causal] [--backward] [--window 256] [--bf16] [--threads 2]

--window uses a dense boolean mask, which is what PyTorch offers on a CPU for local attention.
"""
import os
from common import options, report, rss_mb, timed

o = options(n=4096, heads=4, width=64, causal=False, backward=False, window=0, bf16=False)
os.environ["OMP_NUM_THREADS"] = str(o.threads)
import torch
import torch.nn.functional as F

torch.set_num_threads(o.threads)
torch.manual_seed(0)
kind = torch.bfloat16 if o.bf16 else torch.float32
q, k, v = (torch.randn(1, o.heads, o.n, o.width, dtype=kind, requires_grad=o.backward) for _ in range(3))
g = torch.randn(1, o.heads, o.n, o.width, dtype=kind)
mask = None
if o.window:
    i = torch.arange(o.n)
    mask = (i[:, None] - i[None]).abs() <= o.window


def step():
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=o.causal)
    if o.backward:
        q.grad = k.grad = v.grad = None
        y.backward(g)


before = rss_mb()
t = timed(step, o.repeat, warm=1)
pairs = o.n * (2 * o.window + 1) if o.window else o.n * o.n * (0.5 if o.causal else 1)
flop = 4 * o.heads * o.width * pairs * (3.5 if o.backward else 1)
report(task="attention", library="torch" + ("+bf16" if o.bf16 else ""), n=o.n, heads=o.heads, width=o.width, causal=o.causal, window=o.window, backward=o.backward, threads=o.threads,
       before_mb=round(before, 1), gflops=round(flop / t["median_ms"] / 1e6, 1), **t)
