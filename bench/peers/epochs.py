"""A whole training in PyG: the GAT of bench/epochs.c to early stopping, in seconds from the start of the process, imports included.

    python epochs.py --data cora [--seed 0] [--epochs 1000] [--threads 2]
"""
import time
start = time.perf_counter() - time.process_time()
import os
import numpy as np
from common import DATA, load, options, report, rss_mb

o = options(data="cora", seed=0, epochs=1000, patience=40)
os.environ["OMP_NUM_THREADS"] = str(o.threads)
import torch
import torch.nn.functional as F
import torch_geometric.nn as G

torch.set_num_threads(o.threads)
torch.manual_seed(o.seed)
d = load(o.data)
z = np.load(os.path.join(DATA, "planetoid", o.data + ".npz"), allow_pickle=False)
x, y, edge = torch.from_numpy(d["x"]), torch.from_numpy(d["y"]), torch.from_numpy(np.stack([d["src"], d["dst"]]))
train, validation, test = (torch.from_numpy(z[k + "_mask"].astype(bool)) for k in ("train", "val", "test"))
classes = int(d["y"].max()) + 1


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = G.GATConv(x.shape[1], 8, heads=8, dropout=0.6)
        self.second = G.GATConv(64, classes, dropout=0.6)

    def forward(self):
        h = F.elu(self.first(F.dropout(x, 0.6, self.training), edge))
        return self.second(F.dropout(h, 0.6, self.training), edge)


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=0.005, weight_decay=5e-4)
before = rss_mb()
best_loss, stale, kept = float("inf"), 0, None
for epoch in range(1, o.epochs + 1):
    net.train()
    opt.zero_grad(set_to_none=True)
    F.cross_entropy(net()[train], y[train]).backward()
    opt.step()
    net.eval()
    with torch.no_grad():
        out = net()
        loss = float(F.cross_entropy(out[validation], y[validation]))
    # As the recipe of `citation`: the weights of the lowest validation loss are kept, and patience starts anew with it.
    stale = 0 if loss < best_loss else stale + 1
    if loss < best_loss:
        best_loss, kept = loss, {k: v.clone() for k, v in net.state_dict().items()}
    if stale >= o.patience:
        break
net.load_state_dict(kept)
with torch.no_grad():
    accuracy = float((net()[test].argmax(1) == y[test]).float().mean())
ms = round((time.perf_counter() - start) * 1e3, 3)
report(task="epochs", library="pyg", model="gat", data=o.data, seed=o.seed, threads=o.threads, seconds=ms / 1e3, epochs=epoch, accuracy=round(accuracy, 4),
       before_mb=round(before, 1), repeat=1, median_ms=ms, min_ms=ms)
