"""Writing word by word in PyTorch (transformers, with its cache): words per second by the most probable word.

    python decode.py --model FOLDER [--sequences 1] [--prompt 16] [--words 64] [--bf16] [--threads 2]

FOLDER: random_model.py. The prompt runs before the clock starts, as in bench/decode. --bf16 holds the weights in bfloat16.
"""
import os
from common import options, report, rss_mb, timed

o = options(model="", sequences=1, prompt=16, words=64, bf16=False, attention="sdpa", static=False, compile=False)
os.environ["OMP_NUM_THREADS"] = str(o.threads)
import torch
from transformers import AutoModelForCausalLM, DynamicCache

torch.set_num_threads(o.threads)
torch.manual_seed(0)
net = AutoModelForCausalLM.from_pretrained(o.model, dtype=torch.bfloat16 if o.bf16 else torch.float32, attn_implementation=o.attention).eval()
ids = torch.randint(0, net.config.vocab_size, (o.sequences, o.prompt))
before = rss_mb()
with torch.inference_mode():
    cache = net(ids, past_key_values=DynamicCache(config=net.config), use_cache=True).past_key_values


def step():
    with torch.inference_mode():
        last = ids[:, :1]
        for _ in range(o.words):
            y = net(last, past_key_values=cache, use_cache=True)
            last = y.logits[:, -1:].argmax(-1)
        cache.crop(-o.words)


t = timed(step, o.repeat, warm=1)
report(task="decode", library="torch" + ("+bf16" if o.bf16 else ""), model=net.config.model_type, sequences=o.sequences, prompt=o.prompt, words=o.words, threads=o.threads,
       before_mb=round(before, 1), words_per_s=round(1e3 * o.words * o.sequences / t["median_ms"], 2), word_ms=round(t["median_ms"] / o.words, 4), **t)
