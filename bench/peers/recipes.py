"""Accuracies of PyG's networks with the settings of its examples, on the splits of a .npz or on drawn ones.

    recipes.py SET.npz... [--layers gcn,gat,sage,mlp] [--splits N | --draw N] [--each 20,30] [--epochs 200] [--threads 1]

gcn: hidden 16, dropout 0.5, lr 0.01, weight decay 5e-4. gat: hidden 8, 8 heads, dropout 0.6, lr 0.005, weight decay 5e-4. sage and mlp: hidden 64,
dropout 0.5, lr 0.01, weight decay 5e-4. 200 epochs, features by NormalizeFeatures, the epoch of the best validation accuracy. Two classes are measured by ROC-AUC. Links go both ways, without loops
and duplicates; drawn splits follow `gnn citation --draw-splits`' rule (20 and 30 nodes of each class, all others for the test) with numpy's draws.
"""
import argparse
import json
import time

import numpy
import torch
import torch.nn.functional as F
from torch_geometric.nn import GATConv, GCNConv, SAGEConv
from torch_geometric.utils import coalesce, remove_self_loops, to_undirected

SETTINGS = {"gcn": (16, 1, 0.5, 0.01), "gat": (8, 8, 0.6, 0.005), "sage": (64, 1, 0.5, 0.01), "mlp": (64, 1, 0.5, 0.01)}


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--layers", default="gcn,gat,sage,mlp")
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--each", default="20,30")
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


class Net(torch.nn.Module):
    def __init__(self, layer, features, classes):
        super().__init__()
        hidden, heads, self.dropout, _ = SETTINGS[layer]
        self.layer = layer
        if layer == "gat":
            self.one, self.two = GATConv(features, hidden, heads, dropout=self.dropout), GATConv(hidden * heads, classes, heads=1, concat=False, dropout=self.dropout)
        elif layer == "mlp":
            self.one, self.two = torch.nn.Linear(features, hidden), torch.nn.Linear(hidden, classes)
        else:
            conv = GCNConv if layer == "gcn" else SAGEConv
            self.one, self.two = conv(features, hidden), conv(hidden, classes)

    def forward(self, x, edges):
        more = () if self.layer == "mlp" else (edges,)
        x = F.dropout(x, self.dropout, self.training)
        x = self.one(x, *more)
        x = F.elu(x) if self.layer == "gat" else x.relu()
        return self.two(F.dropout(x, self.dropout, self.training), *more)


def read(path):
    z = numpy.load(path)
    key = "labels" if "labels" in z else "node_labels"
    y = torch.from_numpy(z[key].astype(numpy.int64))
    n = len(y)
    if "attr_indptr" in z:
        x = numpy.zeros(tuple(z["attr_shape"]), numpy.float32)
        x[numpy.repeat(numpy.arange(n), numpy.diff(z["attr_indptr"])), z["attr_indices"]] = z["attr_data"]
    else:
        x = z["node_features"].astype(numpy.float32)
    if "adj_indptr" in z:
        edges = numpy.stack([z["adj_indices"].astype(numpy.int64), numpy.repeat(numpy.arange(n), numpy.diff(z["adj_indptr"]))])
    else:
        edges = z["edges"].T.astype(numpy.int64)
    edges = to_undirected(coalesce(remove_self_loops(torch.from_numpy(numpy.ascontiguousarray(edges)))[0], num_nodes=n), num_nodes=n)
    masks = [numpy.atleast_2d(z[k + "s"] if k + "s" in z else z[k]).astype(bool) for k in ("train_mask", "val_mask", "test_mask")] if "train_mask" in z or "train_masks" in z else None
    x = torch.from_numpy(x)
    x = x - min(0, x.min().item())
    return x / x.sum(1, keepdim=True).clamp(min=1.0), y, edges, masks


def draw(y, each, seed):
    order = numpy.random.default_rng(seed).permutation(len(y))
    masks = numpy.zeros((3, len(y)), bool)
    for c in range(int(y.max()) + 1):
        of = order[y.numpy()[order] == c]
        train = each[0] if len(of) > each[0] else len(of) // 2
        validation = each[1] if len(of) > train + each[1] else (len(of) - train) // 2
        masks[0, of[:train]] = masks[1, of[train:train + validation]] = masks[2, of[train + validation:]] = True
    return masks


def score(out, y, mask):
    if out.shape[1] == 2:
        from sklearn.metrics import roc_auc_score
        return roc_auc_score(y[mask].numpy(), (out[mask, 1] - out[mask, 0]).numpy())
    return (out[mask].argmax(1) == y[mask]).float().mean().item()


def train(layer, x, y, edges, masks, epochs, seed):
    torch.manual_seed(seed)
    net = Net(layer, x.shape[1], int(y.max()) + 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=SETTINGS[layer][3], weight_decay=5e-4)
    best, test = -1, 0
    masks = [torch.from_numpy(m) for m in masks]
    for _ in range(epochs):
        net.train()
        optimizer.zero_grad()
        F.cross_entropy(net(x, edges)[masks[0]], y[masks[0]]).backward()
        optimizer.step()
        net.eval()
        with torch.no_grad():
            out = net(x, edges)
        validation = score(out, y, masks[1])
        if validation > best:
            best, test = validation, score(out, y, masks[2])
    return test


def main():
    a = arguments()
    torch.set_num_threads(a.threads)
    each = [int(k) for k in a.each.split(",")]
    for path in a.sets:
        x, y, edges, masks = read(path)
        for layer in a.layers.split(","):
            begin = time.time()
            tests = [train(layer, x, y, edges, draw(y, each, k) if a.draw else [m[k] for m in masks], a.epochs, k) for k in range(a.draw or a.splits)]
            print(json.dumps({"data": path, "model": layer, "mean": numpy.mean(tests), "deviation": numpy.std(tests, ddof=1) if len(tests) > 1 else 0, "splits": len(tests),
                              "seconds": round(time.time() - begin, 1)}), flush=True)


main()
