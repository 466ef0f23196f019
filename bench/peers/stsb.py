"""Vectors of STS-B's sentences by `gnn embed` beside sentence-transformers': cosines, and Spearman's correlation with the scores that people gave.

    stsb.py FOLDER stsb-en-test.csv --gnn build/gnn

FOLDER is all-MiniLM-L6-v2 (examples/fetch-minilm.sh). Both sides of every pair are embedded at each of embed's precisions; sentence-transformers runs in float32.
"""
import argparse
import csv
import json
import os
import subprocess
import tempfile

import numpy
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("pairs")
    parser.add_argument("--gnn", default="build/gnn")
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def ours(a, sentences, precision):
    with tempfile.TemporaryDirectory() as folder:
        lines, vectors = os.path.join(folder, "lines.txt"), os.path.join(folder, "vectors.npz")
        with open(lines, "w", encoding="utf-8") as file:
            file.writelines(s + "\n" for s in sentences)
        subprocess.run([a.gnn, "embed", "--model", a.folder, "--input", lines, "--output", vectors, "--precision", precision, "--threads", str(a.threads)], check=True)
        return numpy.load(vectors)["embeddings"].astype(numpy.float64)


def theirs(a, sentences):
    import torch
    torch.set_num_threads(a.threads)
    model = SentenceTransformer(a.folder, device="cpu")
    return model.encode(sentences, batch_size=64, convert_to_numpy=True).astype(numpy.float64)


def cosines(x, y):
    return (x * y).sum(1) / numpy.sqrt((x * x).sum(1) * (y * y).sum(1))


def main():
    a = arguments()
    rows = list(csv.reader(open(a.pairs, encoding="utf-8")))
    sentences, scores = [r[0] for r in rows] + [r[1] for r in rows], [float(r[2]) for r in rows]
    n = len(rows)
    peer = theirs(a, sentences)
    result = {"sentences": len(sentences), "spearman_peer": float(spearmanr(cosines(peer[:n], peer[n:]), scores).statistic)}
    for precision in ("highest", "high", "medium"):
        mine = ours(a, sentences, precision)
        result[precision] = {"least_cosine": float(cosines(mine, peer).min()), "mean_cosine": float(cosines(mine, peer).mean()),
                             "spearman": float(spearmanr(cosines(mine[:n], mine[n:]), scores).statistic)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
