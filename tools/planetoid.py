"""Turns the raw Planetoid files (Cora, Citeseer, Pubmed) into one .npz that libgnn reads. Needs numpy.

    git clone https://github.com/kimiyoung/planetoid
    python tools/planetoid.py planetoid/data cora cora.npz

The raw files are Python pickles: this reads them with an unpickler that knows six harmless names and refuses all others.
"""
import collections
import pickle
import sys

import numpy as np


class Csr:
    """Stands for scipy.sparse's matrix: only its arrays are used."""

    def __setstate__(self, state):
        self.__dict__.update(state)

    def dense(self):
        rows, cols = self.__dict__.get("_shape", self.__dict__.get("shape"))
        out = np.zeros((rows, cols), np.float32)
        row = np.repeat(np.arange(rows), np.diff(self.indptr))
        np.add.at(out, (row, self.indices), self.data)
        return out


class Reader(pickle.Unpickler):
    allowed = {
        ("scipy.sparse.csr", "csr_matrix"): Csr,
        ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
        ("collections", "defaultdict"): collections.defaultdict,
        ("__builtin__", "list"): list,
    }

    def find_class(self, module, name):
        if (module, name) not in self.allowed:
            raise pickle.UnpicklingError(f"{module}.{name} has no place in these files")
        return self.allowed[module, name]


def read(folder, name, part):
    with open(f"{folder}/ind.{name}.{part}", "rb") as file:
        value = Reader(file, encoding="latin1").load()
    return value.dense() if isinstance(value, Csr) else value


def csr(prefix, rows):
    """Rows of (sorted columns, values) as CSR arrays under `prefix`."""
    counts = [len(columns) for columns, _ in rows]
    return {
        prefix + "_indptr": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        prefix + "_indices": np.concatenate([columns for columns, _ in rows]).astype(np.int32),
        prefix + "_data": np.concatenate([values for _, values in rows]).astype(np.float32),
    }


def convert(folder, name):
    x, tx, allx = (read(folder, name, part) for part in ("x", "tx", "allx"))
    ty, ally = (read(folder, name, part) for part in ("ty", "ally"))
    graph = read(folder, name, "graph")
    test = np.loadtxt(f"{folder}/ind.{name}.test.index", dtype=np.int64)
    n = max(len(allx), int(test.max()) + 1)  # Citeseer lacks 15 test nodes: they stay isolated, with zero features and label 0

    features, labels = np.zeros((n, x.shape[1]), np.float32), np.zeros(n, np.int32)
    features[: len(allx)], labels[: len(allx)] = allx, ally.argmax(1)
    features[test], labels[test] = tx, ty.argmax(1)

    neighbours = [set() for _ in range(n)]
    for i, heard in graph.items():
        for j in heard:
            if i != j:
                neighbours[i].add(j)
                neighbours[j].add(i)
    adjacency = csr("adj", [(sorted(s), np.ones(len(s))) for s in neighbours])
    del adjacency["adj_data"]

    masks = np.zeros((3, n), bool)
    masks[0, : len(x)] = masks[1, len(x) : len(x) + 500] = masks[2, test] = True
    return {
        **adjacency, "adj_shape": np.array([n, n], np.int64),
        **csr("attr", [(np.flatnonzero(row), row[row != 0]) for row in features]),
        "attr_shape": np.array(features.shape, np.int64),
        "labels": labels, "train_mask": masks[0], "val_mask": masks[1], "test_mask": masks[2],
    }


if __name__ == "__main__":
    np.savez_compressed(sys.argv[3], **convert(sys.argv[1], sys.argv[2]))
