"""Makes the golden files: layers of PyTorch and PyG with random weights, their inputs, outputs and gradients.

    python tests/golden/layers.py FOLDER [--seed 1] [--set shared]

Every case is one .npz. Gradients are those of  L = sum(y * gy).  Computed in double precision from weights
that are exact in float, and rounded once at the end. Needs torch 2.15 and torch_geometric 2.8.1.

tests/golden/layers has what it makes, without the larger ones (transformer_*, decoder_pre, encoder_*_relu).
"""
import argparse, json, os
import numpy as np
import torch
import torch.nn.functional as F
import torch_geometric.nn as G
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("out")
p.add_argument("--seed", type=int, default=1)
p.add_argument("--set", default="shared", choices=["shared", "other"])
o = p.parse_args()
os.makedirs(o.out, exist_ok=True)
torch.set_default_dtype(torch.float64)
torch.manual_seed(o.seed)
rng = np.random.default_rng(o.seed)
S = o.set == "shared"
cases = {}


def f32(t):
    a = t.detach().numpy() if torch.is_tensor(t) else np.asarray(t)
    return a.astype(np.float32) if a.dtype == np.float64 else a


def snap(module):
    """Round weights to float32 values, kept in float64, so that both sides start from the same numbers."""
    with torch.no_grad():
        for q in module.parameters():
            if q.dim() == 1 or torch.count_nonzero(q) == 0:
                q.add_(torch.randn_like(q) * 0.1)
            q.copy_(q.float().double())
    return module


def randn(*shape):
    return torch.randn(*shape).float().double()


def save(name, about, module, inputs, call, **extra):
    """inputs: name -> float64 tensor that gets a gradient."""
    for t in inputs.values():
        t.requires_grad_(True)
    y = call()
    outs = y if isinstance(y, dict) else {"y": y}
    gy = randn(*outs["y"].shape)
    (outs["y"] * gy).sum().backward()
    a = {k: f32(v) for k, v in extra.items()}
    a.update({k: f32(v) for k, v in outs.items()})
    a["gy"] = f32(gy)
    for k, t in inputs.items():
        a[k], a["d" + k] = f32(t), f32(t.grad)
    if module is not None:
        for k, q in module.named_parameters():
            a["w." + k], a["dw." + k] = f32(q), f32(q.grad if q.grad is not None else torch.zeros_like(q))
    np.savez_compressed(os.path.join(o.out, name + ".npz"), **a)
    cases[name] = about


def graph(n, m, hub=True):
    """A directed graph without self-loops or duplicates; node n-1 has no senders, node 0 has all others."""
    e = {(int(s), int(d)) for s, d in rng.integers(0, n, (m, 2)) if s != d and d != n - 1}
    if hub:
        e |= {(s, 0) for s in range(1, n)}
    e = np.array(sorted(e, key=lambda t: rng.random()), np.int64).T
    return torch.from_numpy(e[0].copy()), torch.from_numpy(e[1].copy())


n, fin, fout, heads = (37, 12, 8, 4) if S else (53, 17, 5, 3)
src, dst = graph(n, 5 * n)
ei = torch.stack([src, dst])
m = ei.shape[1]
G_ = dict(src=src, dst=dst)
x = lambda f=fin: randn(n, f)


def conv(name, about, module, feats=None, edge_attr=None, edge_weight=None, **extra):
    module = snap(module)
    extra["heads"] = np.array([getattr(module, "heads", 1)])
    xs = {"x": x(feats or fin)}
    kw = {}
    if edge_attr:
        xs["e"] = randn(m, edge_attr); kw["edge_attr"] = xs["e"]
    if edge_weight:
        xs["ew"] = torch.rand(m).float().double() + 0.1; kw["edge_weight"] = xs["ew"]
    save(name, about, module, xs, lambda: module(xs["x"], ei, **kw), **G_, **extra)


conv("gcn", "GCNConv: self-loops added, symmetric normalisation; y = D^-1/2 (A+I) D^-1/2 x W^T + b", G.GCNConv(fin, fout))
conv("gcn_weighted", "GCNConv with edge weights ew (self-loops weigh 1)", G.GCNConv(fin, fout), edge_weight=True)
for a in ("mean", "max", "sum", "min"):
    conv(f"sage_{a}", f"SAGEConv aggr={a}: y = W_l aggr(x_j) + b + W_r x_i; a node without senders aggregates 0", G.SAGEConv(fin, fout, aggr=a))
conv("gin", "GINConv eps trainable: y = MLP((1+eps) x_i + sum x_j), MLP = Linear-ReLU-Linear", G.GINConv(nn.Sequential(nn.Linear(fin, 16), nn.ReLU(), nn.Linear(16, fout)), eps=0.3, train_eps=True))
conv("gine", "GINEConv: messages relu(x_j + Lin(e_ij))", G.GINEConv(nn.Sequential(nn.Linear(fin, 16), nn.ReLU(), nn.Linear(16, fout)), edge_dim=3), edge_attr=3)
conv("gat", f"GATConv {heads} heads concatenated, slope .2, self-loops added", G.GATConv(fin, fout, heads=heads))
conv("gat_average", "GATConv, heads averaged, no self-loops added: a node without senders gets the bias", G.GATConv(fin, fout, heads=heads, concat=False, add_self_loops=False))
conv("gat_edge", "GATConv with edge features (edge_dim 3), no self-loops", G.GATConv(fin, fout, heads=heads, edge_dim=3, add_self_loops=False), edge_attr=3)
conv("gatv2", "GATv2Conv, separate sender (lin_l) and receiver (lin_r) weights", G.GATv2Conv(fin, fout, heads=heads))
conv("gatv2_shared", "GATv2Conv share_weights", G.GATv2Conv(fin, fout, heads=heads, share_weights=True))
conv("transformer_conv", "TransformerConv: scaled dot-product attention on edges, root weight (lin_skip)", G.TransformerConv(fin, fout, heads=heads))
conv("transformer_conv_edge", "TransformerConv with edge features added to keys and values", G.TransformerConv(fin, fout, heads=heads, edge_dim=3), edge_attr=3)
conv("gmm", "GMMConv (MoNet) with 2 pseudo-coordinates and 3 kernels, aggr=mean, separate_gaussians off", G.GMMConv(fin, fout, dim=2, kernel_size=3), edge_attr=2)
conv("cheb", "ChebConv K=3 (symmetric normalisation)", G.ChebConv(fin, fout, K=3))
conv("sgc", "SGConv K=2", G.SGConv(fin, fout, K=2))
conv("tag", "TAGConv K=3", G.TAGConv(fin, fout, K=3))
conv("appnp", "APPNP K=5 alpha=.1 (no weights)", G.APPNP(K=5, alpha=0.1))
conv("arma", "ARMAConv 2 stacks, 2 layers", G.ARMAConv(fin, fout, num_stacks=2, num_layers=2))
conv("graphconv", "GraphConv sum with edge weights", G.GraphConv(fin, fout), edge_weight=True)
conv("resgated", "ResGatedGraphConv: sigmoid gates per edge", G.ResGatedGraphConv(fin, fout))
conv("gen", "GENConv softmax aggregation, learned temperature", G.GENConv(fin, fout, aggr="softmax", learn_t=True, num_layers=1, norm="layer"))
conv("gated_graph", "GatedGraphConv 3 steps of a GRU", G.GatedGraphConv(fin, num_layers=3))
conv("general_mf", "MFConv, weights per degree up to 6", G.MFConv(fin, fout, max_degree=6))
deg = torch.bincount(torch.bincount(dst, minlength=n))
conv("pna", "PNAConv aggregators mean min max std, scalers identity amplification attenuation; histogram in `deg`",
     G.PNAConv(fin, fout, aggregators=["mean", "min", "max", "std"], scalers=["identity", "amplification", "attenuation"], deg=deg, towers=1), deg=deg)
conv("film", "FiLMConv", G.FiLMConv(fin, fout))
conv("agnn", "AGNNConv: cosine attention with a learned temperature", G.AGNNConv(requires_grad=True))
conv("cg", "CGConv with 3 edge features", G.CGConv(fin, dim=3), edge_attr=3)
conv("edgeconv", "EdgeConv max, MLP on [x_i, x_j - x_i]", G.EdgeConv(nn.Sequential(nn.Linear(2 * fin, 16), nn.ReLU(), nn.Linear(16, fout))))
x0 = randn(n, fin)
g2 = snap(G.GCN2Conv(fin, alpha=0.1, theta=0.5, layer=2)); xi = {"x": x()}
save("gcn2", "GCN2Conv (GCNII) alpha .1 theta .5 layer 2, x0 given", g2, xi, lambda: g2(xi["x"], x0, ei), x0=x0, **G_)
rt = torch.from_numpy(rng.integers(0, 3, m))
rg = snap(G.RGCNConv(fin, fout, 3, num_bases=2)); xi = {"x": x()}
save("rgcn", "RGCNConv 3 relations, 2 bases, mean per relation; relation of each edge in `type`", rg, xi, lambda: rg(xi["x"], ei, rt), type=rt, **G_)

# ---- aggregation of many nodes into one: graph readouts
batch = torch.from_numpy(np.sort(rng.integers(0, 5, n)))
for nm, ag in dict(sum=G.SumAggregation(), mean=G.MeanAggregation(), max=G.MaxAggregation(), softmax=G.SoftmaxAggregation(learn=True), std=G.StdAggregation(),
                   median=G.MedianAggregation(), power_mean=G.PowerMeanAggregation(learn=True), set2set=G.Set2Set(fin, 3), attentional=G.AttentionalAggregation(nn.Linear(fin, 1))).items():
    ag = snap(ag); xi = {"x": x() if nm != "power_mean" else torch.rand(n, fin).float().double() + 0.1}
    save("readout_" + nm, f"{type(ag).__name__} over `batch` (node -> graph, sorted)", ag, xi, lambda: ag(xi["x"], batch, dim_size=5), batch=batch)
for nm, no in dict(layer=nn.LayerNorm(fin), batch=nn.BatchNorm1d(fin), graph=G.GraphNorm(fin), pair=G.PairNorm(), instance=G.InstanceNorm(fin, affine=True), message=G.MessageNorm(True)).items():
    no = snap(no); xi = {"x": x()}
    msg = randn(n, fin)
    call = {"graph": lambda: no(xi["x"], batch), "instance": lambda: no(xi["x"], batch), "message": lambda: no(xi["x"], msg)}.get(nm, lambda: no(xi["x"]))
    ex = dict(batch=batch, msg=msg)
    save("norm_" + nm, f"{type(no).__name__}, training mode" + (" (after it: running_mean, running_var with momentum .1)" if nm == "batch" else ""), no, xi, call, **ex)
    if nm == "batch":
        z = dict(np.load(os.path.join(o.out, "norm_batch.npz")))
        z.update(running_mean=f32(no.running_mean), running_var=f32(no.running_var))
        no.eval(); z["y_eval"] = f32(no(xi["x"]))
        np.savez_compressed(os.path.join(o.out, "norm_batch.npz"), **z)
for nm, fn in dict(relu=F.relu, leaky_relu=lambda t: F.leaky_relu(t, 0.2), elu=F.elu, gelu=F.gelu, gelu_tanh=lambda t: F.gelu(t, approximate="tanh"), silu=F.silu, tanh=torch.tanh, sigmoid=torch.sigmoid, softplus=F.softplus).items():
    xi = {"x": (randn(n, fin) * 3).float().double()}
    save("act_" + nm, "activation", None, xi, lambda: fn(xi["x"]))

# ---- Transformer: a batch of sentences of different lengths, stored packed (no padding): rows of all sentences one after another
d, h, ffn = (32, 4, 64) if S else (30, 5, 44)
lengths = [5, 9, 1, 7] if S else [11, 2, 6]
smem = [4, 6, 3, 8] if S else [5, 9, 1]


def pad(packed, ls):
    out = torch.zeros(len(ls), max(ls), packed.shape[1])
    k = 0
    rows = []
    for i, l in enumerate(ls):
        rows.append(F.pad(packed[k : k + l], (0, 0, 0, max(ls) - l))); k += l
    return torch.stack(rows)


def unpad(t, ls):
    return torch.cat([t[i, :l] for i, l in enumerate(ls)])


def padmask(ls):
    return torch.arange(max(ls))[None] >= torch.tensor(ls)[:, None]


causal = lambda ls: torch.triu(torch.ones(max(ls), max(ls), dtype=torch.bool), 1)
L_, M_, H_ = np.array(lengths), np.array(smem), np.array([h])
mha = snap(nn.MultiheadAttention(d, h, batch_first=True))


def run_mha(q, k, v, lq, lk, mask=None):
    y, w = mha(pad(q, lq), pad(k, lk), pad(v, lk), key_padding_mask=padmask(lk), attn_mask=mask, average_attn_weights=False)
    return dict(y=unpad(y, lq), weights=torch.cat([w[i, :, :a, :b].reshape(-1) for i, (a, b) in enumerate(zip(lq, lk))]))


xi = {"x": randn(sum(lengths), d)}
save("mha_self", f"MultiheadAttention, {h} heads, self; in_proj_weight stacks W_q, W_k, W_v; weights = per sentence [head, receiver, sender] flattened", mha, xi, lambda: run_mha(xi["x"], xi["x"], xi["x"], lengths, lengths), lengths=L_, heads=H_)
mha.zero_grad(); xi = {"x": randn(sum(lengths), d)}
save("mha_causal", "the same, causal", mha, xi, lambda: run_mha(xi["x"], xi["x"], xi["x"], lengths, lengths, causal(lengths)), lengths=L_, heads=H_)
mha.zero_grad(); xc = {"x": randn(sum(lengths), d), "mem": randn(sum(smem), d)}
save("mha_cross", "queries from x, keys and values from mem (lengths_mem)", mha, xc, lambda: run_mha(xc["x"], xc["mem"], xc["mem"], lengths, smem), lengths=L_, lengths_mem=M_, heads=H_)
for norm_first in (False, True):
    for act in ("relu", "gelu"):
        enc = snap(nn.TransformerEncoderLayer(d, h, ffn, 0.0, act, batch_first=True, norm_first=norm_first)); xi = {"x": randn(sum(lengths), d)}
        save(f"encoder_{'pre' if norm_first else 'post'}_{act}", f"TransformerEncoderLayer {act}, norm_first={norm_first}", enc, xi,
             lambda: unpad(enc(pad(xi["x"], lengths), src_key_padding_mask=padmask(lengths)), lengths), lengths=L_, heads=H_)
    dec = snap(nn.TransformerDecoderLayer(d, h, ffn, 0.0, "relu", batch_first=True, norm_first=norm_first)); xd = {"x": randn(sum(lengths), d), "mem": randn(sum(smem), d)}
    save(f"decoder_{'pre' if norm_first else 'post'}", "TransformerDecoderLayer, causal self-attention, cross-attention to mem", dec, xd,
         lambda: unpad(dec(pad(xd["x"], lengths), pad(xd["mem"], smem), tgt_mask=causal(lengths), memory_key_padding_mask=padmask(smem)), lengths), lengths=L_, lengths_mem=M_, heads=H_)
    tr = snap(nn.Transformer(d, h, 2, 2, ffn, 0.0, "gelu", batch_first=True, norm_first=norm_first)); xt = {"x": randn(sum(lengths), d), "mem": randn(sum(smem), d)}
    save(f"transformer_{'pre' if norm_first else 'post'}", "nn.Transformer, 2 + 2 layers with final norms; mem = encoder input, x = decoder input", tr, xt,
         lambda: unpad(tr(pad(xt["mem"], smem), pad(xt["x"], lengths), tgt_mask=causal(lengths), src_key_padding_mask=padmask(smem), memory_key_padding_mask=padmask(smem)), lengths), lengths=L_, lengths_mem=M_, heads=H_)

# ---- losses
logits = {"x": (randn(n, 6) * 2).float().double()}
lab = torch.from_numpy(rng.integers(0, 6, n)); tm = torch.from_numpy(rng.random(n) < 0.5)


def loss_case(name, about, call, **ex):
    t = {"x": logits["x"].detach().clone()}
    save(name, about, None, t, lambda: call(t["x"]).reshape(1), **ex)


loss_case("loss_cross_entropy", "mean over the rows where mask", lambda t: F.cross_entropy(t[tm], lab[tm]), labels=lab, mask=tm)
loss_case("loss_cross_entropy_smooth", "label smoothing .1", lambda t: F.cross_entropy(t[tm], lab[tm], label_smoothing=0.1), labels=lab, mask=tm)
cw = torch.rand(6).float().double() + 0.5
loss_case("loss_cross_entropy_weighted", "class weights `weight`", lambda t: F.cross_entropy(t[tm], lab[tm], weight=cw), labels=lab, mask=tm, weight=cw)
tg = torch.from_numpy((rng.random((n, 6)) < 0.3).astype(np.float64))
loss_case("loss_bce", "binary cross-entropy with logits, mean over all entries of masked rows", lambda t: F.binary_cross_entropy_with_logits(t[tm], tg[tm]), targets=tg, mask=tm)
tv = randn(n, 6)
loss_case("loss_mse", "mean squared error over masked rows", lambda t: F.mse_loss(t[tm], tv[tm]), targets=tv, mask=tm)

# ---- optimisers: 6 steps on the same gradients
P, Gd = randn(11, 3), [randn(11, 3) for _ in range(6)]
for nm, mk in dict(sgd=lambda q: torch.optim.SGD(q, 0.1, momentum=0.9, weight_decay=0.01), nesterov=lambda q: torch.optim.SGD(q, 0.1, momentum=0.9, nesterov=True),
                   adam=lambda q: torch.optim.Adam(q, 0.05, weight_decay=5e-4), adamw=lambda q: torch.optim.AdamW(q, 0.05, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.1), rmsprop=lambda q: torch.optim.RMSprop(q, 0.01)).items():
    w = nn.Parameter(P.clone()); op = mk([w]); traj = []
    for g in Gd:
        w.grad = g.clone(); op.step(); traj.append(w.detach().clone())
    np.savez_compressed(os.path.join(o.out, f"optim_{nm}.npz"), p0=f32(P), grads=f32(torch.stack(Gd)), p=f32(torch.stack(traj)))
    cases[f"optim_{nm}"] = str(op).replace("\n", " ")
w = nn.Parameter(P.clone()); w.grad = Gd[0] * 10; tot = nn.utils.clip_grad_norm_([w], 1.0)
np.savez_compressed(os.path.join(o.out, "optim_clip.npz"), grad=f32(Gd[0] * 10), clipped=f32(w.grad), norm=f32(tot.reshape(1)))
cases["optim_clip"] = "clip_grad_norm_ to 1"

# ---- training trajectories without dropout: 25 Adam steps on a small graph, loss after each
und = torch.cat([ei, ei.flip(0)], 1).unique(dim=1); und = und[:, und[0] != und[1]]
lab3 = torch.from_numpy(rng.integers(0, 3, n)); xt0 = x()
for nm, layers in dict(gcn=[G.GCNConv(fin, 16), G.GCNConv(16, 3)], gat=[G.GATConv(fin, 4, heads=4), G.GATConv(16, 3)]).items():
    net = snap(nn.ModuleList(layers)); a = {"w0." + k: f32(v.detach().clone()) for k, v in net.named_parameters()}
    op = torch.optim.Adam(net.parameters(), 0.01, weight_decay=5e-4); losses = []
    for _ in range(25):
        op.zero_grad(); y = net[1](F.elu(net[0](xt0, und)), und); l = F.cross_entropy(y[tm], lab3[tm]); l.backward(); op.step(); losses.append(l.item())
    a.update({"w25." + k: f32(v.detach()) for k, v in net.named_parameters()})
    np.savez_compressed(os.path.join(o.out, f"train_{nm}.npz"), src=f32(und[0]), dst=f32(und[1]), x=f32(xt0), labels=f32(lab3), mask=f32(tm), loss=np.array(losses), **a)
    cases[f"train_{nm}"] = "two layers, ELU between, 25 steps of Adam(.01, weight decay 5e-4 on everything, PyTorch's L2 convention); loss before each step, weights before and after"
# ---- what else PyG's users meet: defaults, options and small modules
conv("gat_edge_loops", "GATConv with edge features and self-loops: a loop's features are the mean of those of the node's messages (fill_value='mean', PyG's default; 0 without messages)", G.GATConv(fin, fout, heads=heads, edge_dim=3), edge_attr=3)
conv("gatv2_edge_loops", "GATv2Conv, the same", G.GATv2Conv(fin, fout, heads=heads, edge_dim=3), edge_attr=3)
conv("gat_residual", "GATConv residual=True: a linear map of x_i (no bias of its own) added to the output", G.GATConv(fin, fout, heads=heads, residual=True))
conv("sage_normalize", "SAGEConv normalize=True: rows of the output divided by their l2 norm (at least 1e-12)", G.SAGEConv(fin, fout, normalize=True))
conv("sage_project", "SAGEConv project=True: senders pass a linear map and relu first", G.SAGEConv(fin, fout, project=True))
conv("transformer_conv_beta", "TransformerConv beta=True: y = b r + (1 - b) a, b = sigmoid(lin_beta [a, r, a - r]), r = lin_skip x_i", G.TransformerConv(fin, fout, heads=heads, beta=True))
conv("transformer_conv_average", "TransformerConv, heads averaged", G.TransformerConv(fin, fout, heads=heads, concat=False))
conv("gcn_improved", "GCNConv improved=True: self-loops weigh 2", G.GCNConv(fin, fout, improved=True))
conv("nnconv", "NNConv mean: messages x_j times a matrix that an MLP makes of e_ij (fin x fout, row-major)", G.NNConv(fin, fout, nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, fin * fout)), aggr="mean"), edge_attr=3)
conv("mixhop", "MixHopConv powers 0, 1, 2 side by side", G.MixHopConv(fin, fout, powers=[0, 1, 2]))
conv("gps", "GPSConv: GCN beside multi-head attention over all nodes, both with residuals, then an MLP with a residual; no norm, no dropout", G.GPSConv(fin, G.GCNConv(fin, fin), heads=heads if fin % heads == 0 else 1, norm=None, act="relu"))
three = [x(), x(), x()]
for mode in ("cat", "max", "lstm"):
    jk = snap(G.JumpingKnowledge(mode, fin, 2)); xi = {f"x{k}": t.detach().clone() for k, t in enumerate(three)}
    save("jk_" + mode, f"JumpingKnowledge {mode} of three layers' outputs x0, x1, x2", jk, xi, lambda: jk(list(xi.values())))
for nm, ag in dict(set_transformer=G.SetTransformerAggregation(fin, num_seed_points=2, heads=1), sort=G.SortAggregation(k=4), lstm=G.LSTMAggregation(fin, fout)).items():
    ag = snap(ag); xi = {"x": x()}
    save("readout_" + nm, f"{type(ag).__name__} over `batch` (node -> graph, sorted)", ag, xi, lambda: ag(xi["x"], batch, dim_size=5), batch=batch)
und_lp = und; lab_lp = torch.from_numpy(rng.integers(0, 3, n)); mask_lp = torch.from_numpy(rng.random(n) < 0.4)
lp = G.LabelPropagation(num_layers=4, alpha=0.8)
np.savez_compressed(os.path.join(o.out, "label_propagation.npz"), src=f32(und[0]), dst=f32(und[1]), labels=f32(lab_lp), mask=f32(mask_lp), y=f32(lp(lab_lp, und, mask=mask_lp)))
cases["label_propagation"] = "LabelPropagation 4 layers, alpha .8, labels of `mask` known"
soft = F.softmax(randn(n, 3), 1); cs = G.CorrectAndSmooth(num_correction_layers=4, correction_alpha=0.7, num_smoothing_layers=3, smoothing_alpha=0.6, autoscale=True)
y1 = cs.correct(soft, lab_lp[mask_lp], mask_lp, und); y2 = cs.smooth(y1, lab_lp[mask_lp], mask_lp, und)
np.savez_compressed(os.path.join(o.out, "correct_and_smooth.npz"), src=f32(und[0]), dst=f32(und[1]), labels=f32(lab_lp), mask=f32(mask_lp), soft=f32(soft), corrected=f32(y1), y=f32(y2))
cases["correct_and_smooth"] = "CorrectAndSmooth 4 layers alpha .7 autoscaled, then 3 layers alpha .6"
json.dump(cases, open(os.path.join(o.out, "cases.json"), "w"), indent=1)
print(len(cases), "cases")
