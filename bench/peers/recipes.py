"""`gnn citation` with default options next to PyG's networks with the settings of its examples, on
the same splits.

    recipes.py SET... [--layers gcn,gat,sage,mlp] [--splits N] [--draw] [--each 20,30] [--epochs N] [--gnn build/gnn] [--only ours|pyg] [--keep FILE]
    recipes.py --table FILE

A SET is a .npz (docs/formats.md; also with scipy's matrices in it, as EdisonLeeeee/GraphData has them) or drawn:NAME of recipes_drawn.py; NAME=PATH gives it a name.
Splits are the first N of the file, or N drawn ones (--draw, and where there are none): 20 and 30 nodes of each class, others for the test, or shares of the nodes that a drawn set names.
Both sides read one .npz that this program writes. Links go both ways, without loops and duplicates. Two classes are measured by ROC-AUC, several labels by micro-F1,
others by accuracy. Each result is a line of JSON, appended to --keep; --table makes the table of docs/results.md of such a file.

PyG: gcn hidden 16, dropout 0.5, lr 0.01; gat hidden 8, 8 heads, dropout 0.6, lr 0.005; sage, gin and mlp hidden 64, dropout 0.5, lr 0.01; gatv2 as gat; all weight decay
5e-4, two layers, 200 epochs, the epoch of the best validation figure (of no validation nodes: the last). Features by NormalizeFeatures where none is negative. Two things save time and change no
function: rows that are mostly 0 are a sparse matrix, and the first SAGEConv takes means of mapped rows, in place of mapping means.
"""
import argparse
import json
import os
import pickle
import subprocess
import tempfile
import time
import zipfile

import numpy

SETTINGS = {"gcn": (16, 1, 0.5, 0.01), "gat": (8, 8, 0.6, 0.005), "gatv2": (8, 8, 0.6, 0.005), "sage": (64, 1, 0.5, 0.01), "gin": (64, 1, 0.5, 0.01),
            "mlp": (64, 1, 0.5, 0.01)}


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--layers", default="gcn,gat,sage,mlp")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--draw", action="store_true", help="draws splits though the file has some")
    parser.add_argument("--each", default="20,30")
    parser.add_argument("--epochs", type=int, default=0, help="for both; 0: 200 for PyG, the recipe's for gnn")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--gnn", default=os.path.join(os.path.dirname(__file__), "../../build/gnn"))
    parser.add_argument("--options", default="", help="more options of gnn citation")
    parser.add_argument("--only", default="")
    parser.add_argument("--keep")
    parser.add_argument("--table")
    return parser.parse_args()


# ---- sets ----

class Matrices(pickle.Unpickler):
    """Of what a pickle may name, numpy's arrays and scipy's matrices alone."""
    def find_class(self, module, name):
        if module.split(".")[0] in ("numpy", "scipy") and name in ("csr_matrix", "ndarray", "dtype", "_reconstruct", "scalar", "coo_matrix", "csc_matrix"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name}")


def matrix(path, name):
    with zipfile.ZipFile(path) as z, z.open(name + ".npy") as f:
        numpy.lib.format.read_magic(f)
        numpy.lib.format.read_array_header_1_0(f)
        return Matrices(f).load().item()


def rows_of(z, name):
    """The matrix of CSR's arrays."""
    full = numpy.zeros(tuple(z[name + "_shape"]), numpy.float32)
    full[numpy.repeat(numpy.arange(len(full)), numpy.diff(z[name + "_indptr"])), z[name + "_indices"]] = z[name + "_data"]
    return full


def read(path):
    z = numpy.load(path)
    name = next(k for k in ("labels", "node_labels", "node_label", "y") if k in z)
    y = z[name].astype(numpy.int64)
    if "attr_indptr" in z:
        x = rows_of(z, "attr")
    elif "node_attr" in z:
        x = matrix(path, "node_attr").toarray()
    else:
        x = z["node_features" if "node_features" in z else "x"]
    if "adj_indptr" in z:
        edges = numpy.stack([z["adj_indices"].astype(numpy.int64), numpy.repeat(numpy.arange(len(y)), numpy.diff(z["adj_indptr"]))])
    elif "adj_matrix" in z:
        edges = numpy.stack(matrix(path, "adj_matrix").nonzero())
    else:
        edges = z["edges"].T if "edges" in z else z["edge_index"]
    masks = None
    if "train_mask" in z or "train_masks" in z:
        masks = numpy.stack([numpy.atleast_2d(z[k + "s"] if k + "s" in z else z[k]).astype(bool) for k in ("train_mask", "val_mask", "test_mask")])
    return x, y, edges, masks


def draw_classes(y, each, seed):
    order = numpy.random.default_rng(seed).permutation(len(y))
    masks = numpy.zeros((3, len(y)), bool)
    for c in range(int(y.max()) + 1):
        of = order[y[order] == c]
        train = each[0] if len(of) > each[0] else len(of) // 2
        validation = each[1] if len(of) > train + each[1] else (len(of) - train) // 2
        masks[0, of[:train]] = masks[1, of[train:train + validation]] = masks[2, of[train + validation:]] = True
    return masks


def draw_shares(n, shares, seed):
    order = numpy.random.default_rng(seed).permutation(n)
    ends = [0, round(shares[0] * n), round((shares[0] + shares[1]) * n), n]
    masks = numpy.zeros((3, n), bool)
    for k in range(3):
        masks[k, order[ends[k]:ends[k + 1]]] = True
    return masks


def take(source, splits, each, fresh):
    """A set as arrays, with its splits; drawn: True where they are."""
    if source.startswith("drawn:"):
        import recipes_drawn
        made = recipes_drawn.SETS[source[6:]](numpy.random.default_rng(7))
        (x, y, edges), shares, masks = made[:3], made[3] if len(made) > 3 else None, None
    else:
        (x, y, edges, masks), shares = read(source), None
        masks = None if fresh else masks
    drawn = masks is None
    if drawn:
        one = (lambda k: draw_shares(len(y), shares, k)) if shares else (lambda k: draw_shares(len(y), (0.6, 0.2), k)) if y.ndim > 1 else (lambda k: draw_classes(y, each, k))
        masks = numpy.stack([one(k) for k in range(splits)], 1)
    edges = edges[:, edges[0] != edges[1]].astype(numpy.int64)
    edges = numpy.unique(numpy.concatenate([edges, edges[::-1]], 1), axis=1)
    return {"x": numpy.ascontiguousarray(x, numpy.float32), "y": y, "edges": edges, "masks": masks[:, :splits], "drawn": drawn}


def mostly_zeros(x):
    return numpy.count_nonzero(x) < 0.2 * x.size


def write(path, s):
    r, c = numpy.nonzero(s["x"])
    indptr = numpy.concatenate([[0], numpy.cumsum(numpy.bincount(r, minlength=len(s["x"])))])
    features = {"attr_indptr": indptr, "attr_indices": c, "attr_data": s["x"][r, c], "attr_shape": numpy.array(s["x"].shape)} if mostly_zeros(s["x"]) else {"x": s["x"]}
    numpy.savez(path, y=s["y"], edge_index=s["edges"], train_masks=s["masks"][0], val_masks=s["masks"][1], test_masks=s["masks"][2], **features)


def metric_of(y):
    return "micro-F1" if y.ndim > 1 else "ROC-AUC" if y.max() == 1 else "accuracy"


# ---- ours ----

def ours(path, s, layer, a):
    options = (["--metric", "auc"] if metric_of(s["y"]) == "ROC-AUC" else []) + (["--epochs", str(a.epochs)] if a.epochs else [])
    command = [a.gnn, "citation", "--data", path, "--layer", layer, "--splits", str(s["masks"].shape[1]), "--threads", str(a.threads), "--json"]
    done = subprocess.run(command + options + a.options.split(), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return [run["test"] for run in json.loads(done.stdout)["runs"]], [line[:400] for line in done.stderr.splitlines() if line.startswith("recipe")]


# ---- PyG's ----

def net_of(layer, features, outputs):
    import torch
    import torch.nn.functional as F
    from torch_geometric.nn import GATConv, GATv2Conv, GCNConv, GINConv, SAGEConv

    hidden, heads, dropout, _ = SETTINGS[layer]

    class Linear(torch.nn.Linear):
        def forward(self, x):
            if x.layout == torch.strided:
                return F.linear(x, self.weight, self.bias)
            y = torch.sparse.mm(x, self.weight.t())
            return y if self.bias is None else y + self.bias

    class MeansOfMapped(SAGEConv):
        def forward(self, x, edges):
            both = torch.cat([self.lin_l.weight, self.lin_r.weight]).t()
            of_senders, of_receivers = (x @ both if x.layout == torch.strided else torch.sparse.mm(x, both)).split(hidden, 1)
            return self.propagate(edges, x=(of_senders, of_senders), size=None) + self.lin_l.bias + of_receivers

    def mapped(conv, name):
        """With a map that accepts sparse rows, of the same initial values."""
        old = getattr(conv, name)
        new = Linear(old.weight.shape[1], old.weight.shape[0], old.bias is not None)
        new.load_state_dict(old.state_dict())
        setattr(conv, name, new)
        return conv

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            if heads > 1:
                conv = GATConv if layer == "gat" else GATv2Conv
                self.one, self.two = conv(features, hidden, heads, dropout=dropout), conv(hidden * heads, outputs, heads=1, concat=False, dropout=dropout)
                for name in ("lin",) if layer == "gat" else ("lin_l", "lin_r"):
                    mapped(self.one, name)
            elif layer == "gin":
                self.one = GINConv(torch.nn.Sequential(Linear(features, hidden), torch.nn.ReLU(), Linear(hidden, hidden)))
                self.two = GINConv(torch.nn.Sequential(Linear(hidden, hidden), torch.nn.ReLU(), Linear(hidden, outputs)))
            elif layer == "gcn":
                self.one, self.two = mapped(GCNConv(features, hidden, cached=True), "lin"), GCNConv(hidden, outputs, cached=True)
            elif layer == "sage":
                self.one, self.two = MeansOfMapped(features, hidden), SAGEConv(hidden, outputs)
            else:
                self.one, self.two = Linear(features, hidden), Linear(hidden, outputs)

        def forward(self, x, edges):
            more = () if layer == "mlp" else (edges,)
            x = self.one(dropped(x, dropout, self.training), *more)
            x = F.elu(x) if heads > 1 else x.relu()
            return self.two(F.dropout(x, dropout, self.training), *more)
    return Net()


def dropped(x, dropout, training):
    """Dropout of sparse rows: of their values, which has the same distribution."""
    import torch
    import torch.nn.functional as F
    if x.layout == torch.strided:
        return F.dropout(x, dropout, training)
    return torch.sparse_coo_tensor(x.indices(), F.dropout(x.values(), dropout, training), x.shape, is_coalesced=True) if training else x


def score(out, y, mask):
    out, y = out.numpy()[mask], y[mask]
    if y.ndim > 1:
        hits, said = ((out > 0) & (y == 1)).sum(), (out > 0).sum() + (y == 1).sum()
        return 2 * hits / said if said else 0.0
    if out.shape[1] == 2:
        from sklearn.metrics import roc_auc_score
        return roc_auc_score(y, out[:, 1] - out[:, 0])
    return (out.argmax(1) == y).mean()


def train(s, layer, split, epochs):
    import torch
    import torch.nn.functional as F
    torch.manual_seed(split)
    x, y = torch.from_numpy(s["x"]), torch.from_numpy(s["y"])
    if s["x"].min() >= 0:
        x = x / x.sum(1, keepdim=True).clamp(min=1)
    if layer != "gin" and mostly_zeros(s["x"]):
        x = x.to_sparse_coo().coalesce()
    several = y.ndim > 1
    net = net_of(layer, x.shape[1], y.shape[1] if several else int(y.max()) + 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=SETTINGS[layer][3], weight_decay=5e-4)
    edges, masks = torch.from_numpy(s["edges"]), s["masks"][:, split]
    learnt = torch.from_numpy(masks[0])
    best, test = -1, 0
    for epoch in range(epochs):
        net.train()
        optimizer.zero_grad()
        out = net(x, edges)[learnt]
        loss = F.binary_cross_entropy_with_logits(out, y[learnt].float()) if several else F.cross_entropy(out, y[learnt])
        loss.backward()
        optimizer.step()
        if not masks[1].any() and epoch + 1 < epochs:
            continue
        net.eval()
        with torch.no_grad():
            out = net(x, edges)
        validation = score(out, s["y"], masks[1]) if masks[1].any() else 0
        if validation > best:
            best, test = validation, score(out, s["y"], masks[2])
    return float(test)


def pyg(s, layer, a):
    import torch
    torch.set_num_threads(a.threads)
    return [train(s, layer, k, a.epochs or 200) for k in range(s["masks"].shape[1])]


# ---- tables ----

def text(line):
    spread = f" +- {100 * line['deviation']:.1f}" if line["splits"] > 1 else ""
    return f"{100 * line['mean']:.1f}{spread} ({line['splits']}{'; %d epochs' % line['epochs'] if line['epochs'] else ''})"


def table(path):
    """The last result of each cell."""
    cells, sets, layers = {}, {}, []
    for line in map(json.loads, open(path)):
        cells[line["data"], line["model"], line["by"]] = line
        sets[line["data"]] = line
        if line["model"] not in layers:
            layers.append(line["model"])
    print("| set | splits | |", " | ".join(layers), "|")
    print("| --- | --- | --- |", " --- |" * len(layers))
    for name, any_line in sets.items():
        about = "drawn" if any_line["drawn"] else "own"
        about += "" if any_line["metric"] == "accuracy" else ", " + any_line["metric"]
        for by in ("libgnn", "PyG"):
            of = [cells.get((name, layer, by)) for layer in layers]
            if any(of):
                print(f"| {name if by == 'libgnn' else ''} | {about if by == 'libgnn' else ''} | {by} |", " | ".join(text(c) if c else "" for c in of), "|")


def main():
    a = arguments()
    if a.table:
        return table(a.table)
    each = [int(k) for k in a.each.split(",")]
    for source in a.sets:
        name, path = source.split("=", 1) if "=" in source else (os.path.basename(source).removesuffix(".npz"), source)
        s = take(path, a.splits, each, a.draw)
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "set.npz")
            write(file, s)
            for layer in a.layers.split(","):
                for by in ("libgnn", "PyG"):
                    if a.only and a.only != {"libgnn": "ours", "PyG": "pyg"}[by]:
                        continue
                    begin = time.time()
                    tests, words = ours(file, s, layer, a) if by == "libgnn" else (pyg(s, layer, a), [])
                    line = {"data": name, "model": layer, "by": by, "mean": float(numpy.mean(tests)), "deviation": float(numpy.std(tests, ddof=1)) if len(tests) > 1 else 0.0,
                            "splits": len(tests), "drawn": s["drawn"], "metric": metric_of(s["y"]), "epochs": a.epochs, "seconds": round(time.time() - begin, 1), "recipe": words}
                    print(json.dumps(line), flush=True)
                    if a.keep:
                        with open(a.keep, "a") as keep:
                            keep.write(json.dumps(line) + "\n")


main()
