"""What bench/compare.py can run: suites of tasks, and for each task the flags of our program and of every peer's variants."""
import os
from dataclasses import dataclass, field


@dataclass
class Task:
    suite: str
    name: str
    program: str  # ours, and the peers' script of the same name
    flags: list  # common to ours and the peers
    peers: dict  # peer -> (environment "pyg", "dgl" or "text", variants: lists of flags, the best of which counts)
    own: list = field(default_factory=list)  # flags of ours alone
    repeat: int = 10  # of the peers; ours may run more in the same time
    own_repeat: int = 20
    slow: bool = False  # takes minutes a round in a peer

    @property
    def id(self):
        return self.suite + "/" + self.name


# A peer's step takes up to 24 s on these: few repetitions, one run to warm up.
SLOW = {("rmat", "gat"), ("rmat", "gcn"), ("rmat", "sage")}
PYG_CSR = ["--adjacency", "csr"]
PYG_EDGES = ["--adjacency", "edge_index"]


def graph(suite, data, model, mode, plain, own=(), suffix=""):
    flags = ["--data", data, "--model", model, "--mode", mode] + (["--plain"] if plain else [])
    slow = (data, model) in SLOW and (mode == "train" or model == "gat")
    pyg = [PYG_CSR, PYG_EDGES, PYG_CSR + ["--compile"], PYG_EDGES + ["--compile"]]
    if (data, model) == ("rmat", "gat"):  # 14 GB and half a minute a step as it is: the adjacency that is faster on every other set
        pyg = [PYG_EDGES]
    dgl = [[], ["--compile"]] if not slow else [[]]
    peers = {"pyg": ("pyg", [["--library", "pyg"] + v for v in pyg]), "dgl": ("dgl", [["--library", "dgl"] + v for v in dgl])}
    repeat = 1 if (data, model) == ("rmat", "gat") and mode == "train" else 3 if slow else 5 if data in ("coauthor_cs", "tolokers", "rmat") else 20
    own_repeat = 5 if data == "rmat" else 20 if data in ("coauthor_cs", "tolokers") else 100
    return Task(suite, f"{data}-{model}{suffix}", "graph", flags, peers, list(own), repeat, own_repeat, slow)


def graphs():
    every = [("cora", "gcn"), ("cora", "gat"), ("pubmed", "gcn"), ("pubmed", "gat"), ("tolokers", "gcn"), ("tolokers", "gat"), ("tolokers", "gatv2"),
             ("coauthor_cs", "gcn"), ("coauthor_cs", "gat"), ("rmat", "gcn"), ("rmat", "sage"), ("rmat", "gat")]
    plain = [("cora", "gcn"), ("cora", "gat"), ("pubmed", "gat"), ("tolokers", "gat"), ("coauthor_cs", "gcn"), ("coauthor_cs", "gat")]
    infer = [("cora", "gcn"), ("cora", "gat"), ("pubmed", "gat"), ("tolokers", "gcn"), ("tolokers", "gat"), ("coauthor_cs", "gcn"), ("rmat", "gat")]
    for data, model in every:
        yield graph("graph-train", data, model, "train", False)
    yield graph("graph-train", "rmat", "gcn", "train", False, ["--precision", "high"], "-high")
    for data, model in plain:
        yield graph("graph-train-plain", data, model, "train", True)
    for data, model in infer:
        yield graph("graph-infer", data, model, "infer", False)


def levels(name, peer_flags, variants=([],), bf16=True):
    """A task at each precision: `highest` and `high` are held against the peer's fp32, `medium` against its bf16."""
    fp32 = {"torch": ("pyg", [list(v) + peer_flags for v in variants])}
    yield name, [], fp32
    if bf16:
        yield name + "-high", ["--precision", "high"], fp32
        yield name + "-medium", ["--precision", "medium"], {"torch-bf16": ("pyg", [list(v) + peer_flags + ["--bf16"] for v in variants])}


def attention():
    for n in (1024, 4096, 16384):
        for both in (False, True):
            flags = ["--n", str(n), "--heads", "4", "--width", "64"] + (["--backward"] if both else [])
            for name, own, peers in levels(f"{n}-{'both' if both else 'forward'}", []):
                repeat = 2 if n == 16384 else 5 if n == 4096 else 20
                yield Task("attention", name, "attention", flags, peers, own, repeat, 2 * repeat, n == 16384)
    for name, flags in (("causal-4096", ["--n", "4096", "--causal"]), ("window-4096", ["--n", "4096", "--window", "128"])):
        for both in (False, True):
            yield Task("attention", f"{name}-{'both' if both else 'forward'}", "attention", flags + (["--backward"] if both else []),
                       {"torch": ("pyg", [[]])}, [], 5, 10)
    yield Task("attention", "one-head-16384-both", "attention", ["--n", "16384", "--heads", "1", "--backward"], {"torch": ("pyg", [[]])}, [], 2, 3, True)


def encoder():
    for mode in ("infer", "train"):
        for ragged in (False, True):
            flags = ["--mode", mode] + (["--ragged"] if ragged else [])
            for name, own, peers in levels(f"{mode}-{'ragged' if ragged else 'full'}", [], ([], ["--compile"])):
                yield Task("encoder", name, "encoder", flags, peers, own, 5, 10, mode == "train" and not ragged)


def spmm():
    for width in (64, 128, 256):
        peers = {"torch": ("pyg", [["--library", "torch"]]), "dgl": ("dgl", [["--library", "dgl"]])}
        yield Task("spmm", f"rmat-{width}", "spmm", ["--data", "rmat", "--width", str(width)], peers, [], 10, 20)


def epochs():
    yield Task("epochs", "cora", "epochs", ["--data", "cora"], {"pyg": ("pyg", [[]])}, [], 1, 1, True)


def sentences():
    """all-MiniLM-L6-v2 in $GNN_MINILM, or where examples/fetch-minilm.sh leaves it."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    flags = ["--model", os.environ.get("GNN_MINILM") or os.path.join(cache, "gnn", "all-MiniLM-L6-v2")]
    onnx, vino = {"onnxruntime": ("text", [["--library", "onnxruntime"]])}, {"openvino-bf16": ("text", [["--library", "openvino", "--bf16"]])}
    yield Task("sentences", "batch", "sentences", flags, onnx, [], 3, 3)
    yield Task("sentences", "batch-medium", "sentences", flags, vino, ["--precision", "medium"], 3, 3)
    yield Task("sentences", "one", "sentences", flags + ["--one", "--limit", "200"], onnx, [], 5, 5)
    yield Task("sentences", "first", "sentences", flags + ["--first"], onnx, [], 1, 1)


def tasks():
    return [*graphs(), *attention(), *encoder(), *spmm(), *epochs(), *sentences()]


SUITES = ["graph-train", "graph-train-plain", "graph-infer", "attention", "encoder", "spmm", "epochs", "sentences"]
