"""PyG's examples trained as they are, and with one line more: model = libgnn.torch.compile(model).

    python training.py [--only gcn,gat] [--seeds 5] [--first 0] [--threads 2]

Cora with the settings of PyG's examples and benchmarks: gcn.py and gat.py, benchmark/citation/appnp.py and sgc.py, and SAGE (2 layers of 64) as gcn.py;
MUTAG in batches of 128: mutag_gin.py, and GPS (3 layers of 32, GINConv and attention) as that. For each seed both are trained in turn from the same
weights, on the same split; the accuracy is that on the test nodes at the best epoch of the validation, of MUTAG the last epoch's. A table has means and
standard deviations over seeds, and seconds of a training with its evaluations.
"""
import os
from common import DATA, load, options

o = options(only="", seeds=5, first=0, epochs=0)
os.environ["OMP_NUM_THREADS"] = str(o.threads)
import copy
import statistics
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_geometric.nn as G
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

import libgnn

torch.set_num_threads(o.threads)


# ---- Cora ----

class Convs(torch.nn.Module):
    def __init__(self, convs, drop, activation):
        super().__init__()
        self.convs, self.drop, self.activation = torch.nn.ModuleList(convs), drop, activation

    def forward(self, x, edge_index):
        for k, conv in enumerate(self.convs):
            x = F.dropout(x, self.drop, self.training)
            x = conv(x, edge_index)
            x = self.activation(x) if k + 1 < len(self.convs) else x
        return x


class Propagated(torch.nn.Module):
    """APPNP's network."""

    def __init__(self, width, classes):
        super().__init__()
        self.lin1, self.lin2, self.prop = torch.nn.Linear(width, 64), torch.nn.Linear(64, classes), G.APPNP(10, 0.1)

    def forward(self, x, edge_index):
        x = F.dropout(x, 0.5, self.training)
        x = F.relu(self.lin1(x))
        x = F.dropout(x, 0.5, self.training)
        return self.prop(self.lin2(x), edge_index)


def cora():
    d, masks = load("cora"), np.load(os.path.join(DATA, "planetoid", "cora.npz"))
    made = Data(x=torch.from_numpy(d["x"]).clone(), edge_index=torch.from_numpy(np.stack([d["src"], d["dst"]])).clone(), y=torch.from_numpy(d["y"]).clone())
    for split in ("train", "val", "test"):
        made[split] = torch.from_numpy(masks[split + "_mask"].astype(bool)).clone()
    return made


# (the network of width and classes, the optimiser's settings, epochs)
NODES = {
    "gcn": (lambda w, c: Convs([G.GCNConv(w, 16), G.GCNConv(16, c)], 0.5, F.relu), (0.01, 5e-4), 200),
    "gat": (lambda w, c: Convs([G.GATConv(w, 8, heads=8, dropout=0.6), G.GATConv(64, c, heads=1, concat=False, dropout=0.6)], 0.6, F.elu), (0.005, 5e-4), 200),
    "sage": (lambda w, c: Convs([G.SAGEConv(w, 64), G.SAGEConv(64, c)], 0.5, F.relu), (0.01, 5e-4), 200),
    "appnp": (Propagated, (0.01, 5e-4), 200),
    "sgc": (lambda w, c: G.SGConv(w, c, K=2, cached=True), (0.1, 5e-4), 200),
}


def train_nodes(model, data, settings, epochs):
    lr, decay = settings
    optimizer, best = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=decay), (0, 0)
    for _ in range(epochs):
        model.train()
        optimizer.zero_grad()
        F.cross_entropy(model(data.x, data.edge_index)[data.train], data.y[data.train]).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            right = model(data.x, data.edge_index).argmax(1) == data.y
        best = max(best, (float(right[data.val].float().mean()), float(right[data.test].float().mean())), key=lambda pair: pair[0])
    return best[1]


# ---- MUTAG ----

class Gin(torch.nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.gnn, self.classifier = G.GIN(width, 32, 5, dropout=0.5, jk="cat"), G.MLP([32, 32, classes], norm="batch_norm", dropout=0.5)

    def forward(self, x, edge_index, batch, batch_size):
        return self.classifier(G.global_add_pool(self.gnn(x, edge_index), batch, batch_size))


class Gps(torch.nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.first, self.last = torch.nn.Linear(width, 32), torch.nn.Linear(32, classes)
        mlp = lambda: torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 32))
        self.convs = torch.nn.ModuleList(G.GPSConv(32, G.GINConv(mlp()), heads=4, dropout=0.1) for _ in range(3))

    def forward(self, x, edge_index, batch, batch_size):
        x = self.first(x)
        for conv in self.convs:
            x = conv(x, edge_index, batch)
        return self.last(G.global_add_pool(x, batch, batch_size))


def mutag():
    with open(os.path.join(DATA, "graph-classification", "MUTAG.txt")) as f:
        words = iter(f.read().split())
    made, labels = [], {}
    for _ in range(int(next(words))):
        n, y, kinds, ends = int(next(words)), int(next(words)), [], []
        for i in range(n):
            kinds.append(int(next(words)))
            ends += [(int(next(words)), i) for _ in range(int(next(words)))]
        made.append(Data(x=F.one_hot(torch.tensor(kinds), 7).float(), edge_index=torch.tensor(ends).t().contiguous(), y=torch.tensor([labels.setdefault(y, len(labels))])))
    return made


GRAPHS = {"gin": (Gin, 0.01, 100), "gps": (Gps, 0.001, 100)}


def train_graphs(model, graphs, lr, epochs, seed):
    order = torch.randperm(len(graphs), generator=torch.Generator().manual_seed(seed)).tolist()
    held = len(graphs) // 10
    tests, trained = (DataLoader([graphs[k] for k in part], 128, shuffle=part is not order[:held]) for part in (order[:held], order[held:]))
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(epochs):
        model.train()
        for b in trained:
            optimizer.zero_grad()
            F.cross_entropy(model(b.x, b.edge_index, b.batch, b.batch_size), b.y).backward()
            optimizer.step()
        model.eval()
        right = 0
        with torch.no_grad():
            for b in tests:
                right += int((model(b.x, b.edge_index, b.batch, b.batch_size).argmax(1) == b.y).sum())
    return right / held


# ---- both, in turn ----

def compare(name):
    accuracy, seconds = {"pyg": [], "libgnn": []}, {"pyg": [], "libgnn": []}
    data = cora() if name in NODES else mutag()
    for seed in range(o.first, o.first + o.seeds):
        torch.manual_seed(seed)
        own = NODES[name][0](data.x.shape[1], int(data.y.max()) + 1) if name in NODES else GRAPHS[name][0](7, 2)
        for way in ("pyg", "libgnn") if seed % 2 else ("libgnn", "pyg"):
            model = copy.deepcopy(own)
            if way == "libgnn":
                model = libgnn.torch.compile(model)
            torch.manual_seed(seed)
            start = time.perf_counter()
            if name in NODES:
                made = train_nodes(model, data, NODES[name][1], o.epochs or NODES[name][2])
            else:
                made = train_graphs(model, data, GRAPHS[name][1], o.epochs or GRAPHS[name][2], seed)
            accuracy[way].append(100 * made)
            seconds[way].append(time.perf_counter() - start)
    return accuracy, seconds


print("| network | PyG | libgnn | PyG s | libgnn s | |\n| --- | --: | --: | --: | --: | --: |")
for name in [*NODES, *GRAPHS] if not o.only else o.only.split(","):
    accuracy, seconds = compare(name)
    cells = [f"{statistics.mean(a):.1f} ± {statistics.stdev(a) if len(a) > 1 else 0:.1f}" for a in accuracy.values()]
    mean = {way: statistics.mean(s) for way, s in seconds.items()}
    print(f"| {name} | {' | '.join(cells)} | {mean['pyg']:.2f} | {mean['libgnn']:.2f} | {mean['pyg'] / mean['libgnn']:.1f} |", flush=True)
