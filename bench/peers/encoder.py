"""A stack of nn.TransformerEncoderLayer in PyTorch: forward, or a training step, on a batch of sentences.

    python encoder.py --mode train|infer [--ragged] [--batch 32 --words 128 --layers 6 --d 384 --heads 12 --ffn 1536] [--compile] [--bf16]

--ragged: sentence lengths as in UD English-EWT (8 to 40 words, mean about 17), padded to the longest, as PyTorch must; otherwise all have --words words.
"""
import os
from common import options, report, rss_mb, timed

o = options(mode="infer", ragged=False, batch=32, words=128, layers=6, d=384, heads=12, ffn=1536, compile=False, bf16=False)
os.environ["OMP_NUM_THREADS"] = str(o.threads)
import torch

torch.set_num_threads(o.threads)
torch.manual_seed(0)
layer = torch.nn.TransformerEncoderLayer(o.d, o.heads, o.ffn, dropout=0.1, activation="gelu", batch_first=True)
net = torch.nn.TransformerEncoder(layer, o.layers, enable_nested_tensor=o.mode == "infer")
if o.ragged:
    gen = torch.Generator().manual_seed(0)
    lengths = (8 + torch.randint(0, 18, (o.batch,), generator=gen)).clamp(max=40)
    lengths[0] = 40
else:
    lengths = torch.full((o.batch,), o.words)
n = int(lengths.max())
x = torch.randn(o.batch, n, o.d)
pad = (torch.arange(n)[None] >= lengths[:, None]) if o.ragged else None
opt = torch.optim.Adam(net.parameters(), lr=1e-4)
run = torch.compile(net) if o.compile else net


def infer():
    net.eval()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=o.bf16):
        run(x, src_key_padding_mask=pad)


def train():
    net.train()
    opt.zero_grad(set_to_none=True)
    with torch.autocast("cpu", torch.bfloat16, enabled=o.bf16):
        y = run(x, src_key_padding_mask=pad)
        loss = y.float().square().mean()
    loss.backward()
    opt.step()


before = rss_mb()
t = timed(train if o.mode == "train" else infer, o.repeat)
words = int(lengths.sum())
report(task="encoder", library="torch" + ("+compile" if o.compile else "") + ("+bf16" if o.bf16 else ""), mode=o.mode, ragged=o.ragged, batch=o.batch, words=words, layers=o.layers, d=o.d, heads=o.heads,
       ffn=o.ffn, threads=o.threads, before_mb=round(before, 1), words_per_s=round(words / t["median_ms"] * 1e3), **t)
