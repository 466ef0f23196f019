"""GNNExplainer of PyG on Cora: fidelity of the first test nodes, and the network for libgnn's own.

    python explain.py --nodes 30 --epochs 100 --save cora-gcn.safetensors
    ../../build/gnn explain --data cora.npz --load cora-gcn.safetensors --fidelity 30 --json

A GCN of two layers (16 hidden) is trained, saved by examples/from_pyg.py, and explained with a mask over edges and one over each
node's features, both with PyG's default settings; fidelity is torch_geometric.explain.metric.fidelity of each node, unfaithfulness
is that of the same module, and both are means. The masks' own numbers are the mask in both libraries.
"""
import os
import sys
import time

from common import DATA, load, options, report

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
o = options(nodes=30, epochs=100, lr=0.01, data="cora", save="", seed=0)
os.environ["OMP_NUM_THREADS"] = str(o.threads)
import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric.explain import Explainer, GNNExplainer
from torch_geometric.explain.metric import fidelity, unfaithfulness
from torch_geometric.nn import GCNConv

from libgnn.torch import from_pyg

torch.set_num_threads(o.threads)
torch.manual_seed(o.seed)
d = load(o.data)
z = np.load(os.path.join(DATA, "planetoid", o.data + ".npz"))
test = np.flatnonzero(z["test_mask"])
x, y = torch.from_numpy(d["x"]), torch.from_numpy(d["y"])
edge, train = torch.from_numpy(np.stack([d["src"], d["dst"]])), torch.from_numpy(np.flatnonzero(d["train"]))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GCNConv(x.shape[1], 16), GCNConv(16, int(y.max()) + 1)

    def forward(self, x, edge_index):
        return self.second(F.relu(self.first(x, edge_index)), edge_index)


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)
for _ in range(200):
    net.train()
    optimizer.zero_grad()
    h = F.dropout(F.relu(net.first(F.dropout(x, 0.5), edge)), 0.5)
    F.cross_entropy(net.second(h, edge)[train], y[train]).backward()
    optimizer.step()
net.eval()
if o.save:
    from_pyg.export(net, o.save)
accuracy = float((net(x, edge).argmax(1)[test] == y[test]).float().mean())

explainer = Explainer(net, algorithm=GNNExplainer(epochs=o.epochs, lr=o.lr), explanation_type="model", node_mask_type="attributes",
                      edge_mask_type="object", model_config=dict(mode="multiclass_classification", task_level="node", return_type="raw"))
plus, minus, unfaithful, begin = [], [], [], time.perf_counter()
for node in test[:o.nodes]:
    explanation = explainer(x, edge, index=int(node))
    a, b = fidelity(explainer, explanation)
    plus.append(a)
    minus.append(b)
    unfaithful.append(unfaithfulness(explainer, explanation))
    print(f"{len(plus)}: {np.mean(plus):.3f} {np.mean(minus):.3f} {np.mean(unfaithful):.3f}", file=sys.stderr)
report(library="pyg", data=o.data, nodes=len(plus), epochs=o.epochs, test_accuracy=accuracy, fidelity_plus=float(np.mean(plus)),
       fidelity_minus=float(np.mean(minus)), unfaithfulness=float(np.mean(unfaithful)), seconds=time.perf_counter() - begin)
