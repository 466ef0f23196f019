"""What every peer script shares: data, threads, timing, one JSON line per result."""
import argparse, ctypes, json, os, resource, statistics, time
import numpy as np

DATA = os.environ.get("GNN_DATA") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared", "data")


def load(name, seed=0):
    """-> dict: src, dst (both ways, no self-loops), x (n x f float32, dense), y, train mask.

    'rmat' is a synthetic graph of ogbn-arxiv's size: 169,343 nodes, about 2.3 M edges, power law, 128 features, 40 classes.
    'proteins': 256 graphs of PROTEINS; the label of a node is that of its graph, its features are its kind.
    """
    if name == "proteins":
        src, dst, kinds, labels, lengths = proteins()
        return dict(src=src, dst=dst, x=np.eye(kinds.max() + 1, dtype=np.float32)[kinds], y=np.repeat(labels, lengths), train=np.ones(len(kinds), bool))
    if name == "rmat":
        return rmat(169_343, 1_166_243, 128, 40, seed)
    for folder in ("planetoid", "heterophilous", "npz-plain"):
        path = os.path.join(DATA, folder, name + ".npz")
        if os.path.exists(path):
            break
    else:
        raise SystemExit(f"no data set named {name}")
    z = np.load(path, allow_pickle=False)
    if "edges" in z.files:
        e = z["edges"].astype(np.int64)
        src, dst = np.concatenate([e[:, 0], e[:, 1]]), np.concatenate([e[:, 1], e[:, 0]])
        x, y, train = z["node_features"].astype(np.float32), z["node_labels"], z["train_masks"][0]
    else:
        ptr, idx = z["adj_indptr"].astype(np.int64), z["adj_indices"].astype(np.int64)
        n = len(ptr) - 1
        dst, src = np.repeat(np.arange(n), np.diff(ptr)), idx
        fp, fi, fd = z["attr_indptr"].astype(np.int64), z["attr_indices"], z["attr_data"]
        x = np.zeros(tuple(z["attr_shape"]), np.float32)
        x[np.repeat(np.arange(n), np.diff(fp)), fi] = fd
        y = z["labels"]
        train = z["train_mask"] if "train_mask" in z.files else np.random.default_rng(seed).random(n) < 0.1
    if not ("edges" in z.files):
        x = x / np.maximum(x.sum(1, keepdims=True), 1e-12) if name != "pubmed" else x
    pair = np.unique(np.stack([np.concatenate([src, dst]), np.concatenate([dst, src])]), axis=1)
    pair = pair[:, pair[0] != pair[1]]
    return dict(src=pair[0], dst=pair[1], x=x, y=y.astype(np.int64), train=train)


def proteins():
    """256 graphs of PROTEINS at equal distances -> src, dst, kinds of nodes, labels of graphs, lengths."""
    with open(os.path.join(DATA, "graph-classification", "PROTEINS.txt")) as f:
        words = iter(f.read().split())
    count, graphs = int(next(words)), []
    for _ in range(count):
        n, label, kinds, rows = int(next(words)), int(next(words)), [], []
        for _ in range(n):
            kinds.append(int(next(words)))
            rows.append([int(next(words)) for _ in range(int(next(words)))])
        graphs.append((label, kinds, rows))
    src, dst, kinds, labels, lengths = [], [], [], [], []
    for k in range(256):
        label, own, rows = graphs[k * count // 256]
        at = len(kinds)
        for i, senders in enumerate(rows):
            dst += [at + i] * len(senders)
            src += [at + j for j in senders]
        labels.append(label)
        lengths.append(len(rows))
        kinds += own
    return tuple(map(np.array, (src, dst, kinds, labels, lengths)))


def save(name, path):
    """Writes what load() returns as a file for bench/graph."""
    d = load(name)
    np.savez(path, edges=np.stack([d["src"], d["dst"]], 1), node_features=d["x"], node_labels=d["y"], train_masks=d["train"][None])


def rmat(n, m, f, c, seed):
    rng, bits = np.random.default_rng(seed), int(np.ceil(np.log2(n)))
    s, d = np.zeros(m, np.int64), np.zeros(m, np.int64)
    for _ in range(bits):
        r = rng.random(m)
        s, d = s * 2 + (r >= 0.76), d * 2 + ((r >= 0.57) & (r < 0.76) | (r >= 0.95))
    perm = rng.permutation(1 << bits)
    s, d = perm[s] % n, perm[d] % n
    pair = np.unique(np.stack([np.concatenate([s, d]), np.concatenate([d, s])]), axis=1)
    pair = pair[:, pair[0] != pair[1]]
    return dict(src=pair[0], dst=pair[1], x=rng.standard_normal((n, f), np.float32), y=rng.integers(0, c, n), train=rng.random(n) < 0.5)


def options(**extra):
    p = argparse.ArgumentParser()
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--repeat", type=int, default=10)
    p.add_argument("--warm", type=int, default=-1, help="runs before the clock starts (-1: as the script likes)")
    for name, default in extra.items():
        name = "--" + name.replace("_", "-")
        if isinstance(default, bool):
            p.add_argument(name, action="store_true")
        else:
            p.add_argument(name, type=type(default), default=default)
    global wanted_warm
    o = p.parse_args()
    wanted_warm = o.warm
    return o


wanted_warm = -1


def timed(step, repeat, warm=3):
    """Median and minimum milliseconds of step(), and the first run's, which is one of the warm-up unless there is none."""
    t = []
    warm = warm if wanted_warm < 0 else wanted_warm
    for _ in range(warm + repeat):
        t0 = time.perf_counter()
        step()
        t.append(time.perf_counter() - t0)
    after = t[warm:]
    return dict(repeat=repeat, first_ms=round(t[0] * 1e3, 4), median_ms=round(statistics.median(after) * 1e3, 4), min_ms=round(min(after) * 1e3, 4))


def status_mb(name):
    with open("/proc/self/status") as f:
        return next(int(l.split()[1]) for l in f if l.startswith(name + ":")) / 1024


def rss_mb():
    """Memory now. The high-water mark is set back first, so that the peak is the task's and not that of reading the data."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
    except (AttributeError, OSError):
        pass
    return status_mb("VmRSS")


def report(**kw):
    try:
        kw["peak_mb"] = round(status_mb("VmHWM"), 1)
    except (OSError, StopIteration):
        kw["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
    print(json.dumps(kw), flush=True)
