"""Training steps of nn.Transformer in PyTorch on padded batches of sentence pairs, as its users make them.

    python translate.py --source train.de.gz --target train.en.gz --tokenizer de-en.safetensors.tokenizer.json [--bucket] [--bf16] [--repeat 30]

The tokenizer is the one that gnn translate saved, so that both see the same tokens. --bucket: batches are of pairs of similar length; else
pairs are drawn, and each side is padded to its longest.
"""
import gzip, os, random
from common import options, report, rss_mb, timed

o = options(source="", target="", tokenizer="", pairs=6000, batch=128, layers=3, d=256, heads=4, ffn=512, dropout=0.2, bucket=False, bf16=False, compile=False)
os.environ["OMP_NUM_THREADS"] = str(o.threads)
import torch
from tokenizers import Tokenizer

torch.set_num_threads(o.threads)
torch.manual_seed(0)
random.seed(0)


def lines(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as f:
        return [line.rstrip("\n") for line in f][: o.pairs]


tokenizer = Tokenizer.from_file(o.tokenizer)
begin, end, pad = 0, 1, tokenizer.get_vocab_size()
texts = [lines(o.source), lines(o.target)]
ids = [[e.ids + [end] for e in tokenizer.encode_batch(texts[0])], [[begin] + e.ids + [end] for e in tokenizer.encode_batch(texts[1])]]
pairs = list(range(len(ids[0])))
if o.bucket:
    pairs.sort(key=lambda k: (len(ids[1][k]), len(ids[0][k])))
else:
    random.shuffle(pairs)
batches = [pairs[k : k + o.batch] for k in range(0, len(pairs) - o.batch + 1, o.batch)]
random.shuffle(batches)
batches = batches[: o.repeat]


def padded(rows):
    n = max(map(len, rows))
    return torch.tensor([row + [pad] * (n - len(row)) for row in rows])


class Translator(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(pad + 1, o.d, padding_idx=pad)
        self.places = torch.nn.Embedding(256, o.d)
        self.body = torch.nn.Transformer(o.d, o.heads, o.layers, o.layers, o.ffn, o.dropout, batch_first=True, norm_first=True)
        self.drop = torch.nn.Dropout(o.dropout)

    def embed(self, x):
        return self.drop(self.words(x) * o.d**0.5 + self.places(torch.arange(x.shape[1]))[None])

    def forward(self, source, target):
        causal = torch.nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        blank = [torch.zeros(x.shape).masked_fill(x == pad, float("-inf")) for x in (source, target)]
        y = self.body(self.embed(source), self.embed(target), tgt_mask=causal, src_key_padding_mask=blank[0], tgt_key_padding_mask=blank[1],
                      memory_key_padding_mask=blank[0], tgt_is_causal=True)
        return y @ self.words.weight.t()


net = Translator()
run = torch.compile(net, dynamic=True) if o.compile else net
opt = torch.optim.AdamW(net.parameters(), lr=1e-4)
at = 0


def step():
    global at
    batch = batches[at % len(batches)]
    at += 1
    source, target = padded([ids[0][k] for k in batch]), padded([ids[1][k] for k in batch])
    opt.zero_grad(set_to_none=True)
    with torch.autocast("cpu", torch.bfloat16, enabled=o.bf16):
        y = run(source, target[:, :-1])
        loss = torch.nn.functional.cross_entropy(y.flatten(0, 1), target[:, 1:].flatten(), ignore_index=pad, label_smoothing=0.1)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1)
    opt.step()


before = rss_mb()
t = timed(step, o.repeat)
used = [k for batch in batches for k in batch]
words = sum(len(texts[0][k].split()) + len(texts[1][k].split()) for k in used) / len(batches)
rows = sum(len(ids[0][k]) + len(ids[1][k]) - 1 for k in used) / len(batches)
report(task="translate", library="torch" + ("+compile" if o.compile else "") + ("+bf16" if o.bf16 else ""), bucket=o.bucket, batch=o.batch, layers=o.layers, d=o.d,
       heads=o.heads, ffn=o.ffn, threads=o.threads, rows=round(rows), before_mb=round(before, 1), words_per_s=round(words / t["median_ms"] * 1e3), **t)
