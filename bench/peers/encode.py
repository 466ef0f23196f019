"""libgnn.SentenceEncoder beside sentence-transformers and the C program bench/sentences, each with its tokenizer.

    python encode.py --model FOLDER [--build build] [--threads 2] [--rounds 3]

Sentences: both sides of STS-B's test set (2,758). A line has sentences per second of each, the latency of a sentence alone (the mean of 200), and the
smallest cosine between the vectors of the package and of SentenceEncoder. In each round the three run in turn.
"""
import csv
import json
import os
import statistics
import subprocess
import time
from common import DATA, options, report

HERE = os.path.dirname(os.path.abspath(__file__))
o = options(model="", build=os.path.join(HERE, "..", "..", "build"), rounds=3, limit=0)
os.environ["OMP_NUM_THREADS"] = str(o.threads)
import numpy as np
import torch
from sentence_transformers import SentenceTransformer

import libgnn

torch.set_num_threads(o.threads)
libgnn.set_threads(o.threads)
with open(os.path.join(DATA, "stsb", "stsb-en-test.csv"), encoding="utf8", newline="") as f:
    sentences = [s for row in csv.reader(f) for s in row[:2]]
sentences = sentences[: o.limit] if o.limit else sentences
ours, theirs = libgnn.SentenceEncoder(o.model, keep_packed=True), SentenceTransformer(o.model, device="cpu", local_files_only=True)
FEW = 200


def many(encode):
    start = time.perf_counter()
    made = encode(sentences)
    return len(sentences) / (time.perf_counter() - start), made


def alone(encode):
    start = time.perf_counter()
    for s in sentences[:FEW]:
        encode(s)
    return 1e3 * (time.perf_counter() - start) / len(sentences[:FEW])


def program(*more):
    command = [os.path.join(o.build, "bench", "sentences"), "--model", o.model, "--text", "--threads", str(o.threads), "--repeat", "3", *more]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ, GNN_DATA=DATA)).stdout.splitlines()[-1])


package = lambda texts: theirs.encode(texts, show_progress_bar=False)
ours.encode(sentences[:FEW]), package(sentences[:FEW])
per_second, latency, vectors = {}, {}, {}
for k in range(o.rounds):
    for name, encode in (("libgnn", ours.encode), ("package", package)):
        speed, vectors[name] = many(encode)
        per_second.setdefault(name, []).append(speed)
        latency.setdefault(name, []).append(alone(encode))
    per_second.setdefault("C", []).append(program(*(["--limit", str(o.limit)] if o.limit else []))["sentences_per_s"])
    latency.setdefault("C", []).append(program("--one", "--limit", str(FEW))["latency_ms"])
a, b = (v / np.linalg.norm(v.astype(np.float64), axis=1, keepdims=True) for v in (vectors["libgnn"], vectors["package"]))
report(task="encode", model=os.path.basename(os.path.normpath(o.model)), threads=o.threads, sentences=len(sentences), least_cosine=float((a * b).sum(1).min()),
       **{f"{name}_per_s": round(statistics.median(v), 1) for name, v in per_second.items()}, **{f"{name}_latency_ms": round(statistics.median(v), 4) for name, v in latency.items()},
       of_c=round(statistics.median(x / y for x, y in zip(per_second["libgnn"], per_second["C"])), 3))
