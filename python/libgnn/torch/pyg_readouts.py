"""The rows of pyg_modules.py that are no convolutions: products, activations, norms, jumping
knowledge and readouts.
"""
import torch
import torch_geometric.nn as G
from torch import nn

from .pyg_modules import AGGREGATORS, ROWS, flag, need, row


# ---- rows: products, activations, norms ----


def first(a):
    return next(iter(a.values()))


@row("Linear")
def linear(t, m, name, a):
    t.take(m, name)
    out, width = m.weight.shape
    return t.step(out, kind="linear", name=name, input=t.rows(first(a)), out=out, bias=flag(m.bias is not None), **{"in": width})


ROWS[nn.Linear] = linear


@row("Embedding")
def embedding(t, m, name, a):
    t.take(m, name)
    rows, out = m.weight.shape
    return t.step(out, kind="embed", name=name, input=t.rows(first(a)), out=out, **{"in": rows})


@row("Dropout")
def dropout(t, m, name, a):
    return t.dropout(name, first(a), m.p)


@row("Identity")
def identity(t, m, name, a):
    return first(a)


@row("Sequential")
def sequential(t, m, name, a):
    value = first(a)
    for key, part in m.named_children():
        value = t.module(f"{name}.{key}", part, value)
    return value


ROWS[nn.Sequential] = sequential


@row("MLP")
def mlp(t, m, name, a):
    value, last = first(a), len(m.lins) - 1
    need(t, len(m.norms) == len(m.lins) - bool(m.plain_last), f"{len(m.norms)} norms of {len(m.lins)} layers")
    for k, lin in enumerate(m.lins):
        value = t.module(f"{name}.lins.{k}", lin, value)
        if k == last and m.plain_last:
            return t.dropout(f"{name}:dropout.{k}", value, m.dropout[k])
        act = lambda v: v if m.act is None else t.module(f"{name}:act.{k}", m.act, v)
        value = act(value) if m.act_first else value
        value = t.module(f"{name}.norms.{k}", m.norms[k], value)
        value = value if m.act_first else act(value)
        value = t.dropout(f"{name}:dropout.{k}", value, m.dropout[k])
    return value


@row("ReLU", "ELU", "LeakyReLU", "GELU", "SiLU", "Tanh", "Sigmoid", "Softplus")
def activation(t, m, name, a):
    need(t, getattr(m, "alpha", 1) == 1 and getattr(m, "beta", 1) == 1, "alpha or beta other than 1")
    word = {"LeakyReLU": "leaky_relu", "GELU": "gelu_tanh" if getattr(m, "approximate", "") == "tanh" else "gelu"}.get(type(m).__name__, type(m).__name__.lower())
    return t.activation(name, first(a), word, getattr(m, "negative_slope", None))


def norm(t, m, name, x, kind, width):
    affine = getattr(m, "weight", None) is not None
    if not affine:
        t.arrays[f"{name}.weight"] = torch.ones(width)
        if kind != "rms":
            t.arrays[f"{name}.bias"] = torch.zeros(width)
    elif kind != "rms" and m.bias is None:
        t.arrays[f"{name}.bias"] = torch.zeros(width)
    t.take(m, name)
    return t.step(width, kind="norm", name=name, input=t.rows(x), norm=kind, eps=float(torch.finfo(torch.float32).eps if m.eps is None else m.eps), **{"in": width})


@row("BatchNorm1d", "BatchNorm")
def batch_norm(t, m, name, a):
    m = getattr(m, "module", m)
    need(t, m.track_running_stats, "track_running_stats=False")
    if m.momentum != 0.1:
        t.untrained(f"momentum {m.momentum} of a batch norm (0.1)")
    return norm(t, m, name, first(a), "batch", m.num_features)


ROWS[nn.BatchNorm1d] = batch_norm


def ones_and_zeros(t, m, name, width):
    """The arrays of a norm, or what stands for those that it lacks."""
    if m.weight is None:
        t.arrays.update({f"{name}.weight": torch.ones(width), f"{name}.bias": torch.zeros(width)})
    t.take(m, name)


@row("LayerNorm")
def layer_norm(t, m, name, a):
    if isinstance(m, nn.LayerNorm):
        need(t, len(m.normalized_shape) == 1, "more than one axis")
        return norm(t, m, name, first(a), "layer", m.normalized_shape[0])
    if m.mode == "node":
        return norm(t, m, name, first(a), "layer", m.in_channels)
    alone = a.get("batch") is None
    if alone:
        t.note("where a batch holds several graphs, each is normalised by itself")
    ones_and_zeros(t, m, name, m.in_channels)
    return t.block("graph_layer_norm", name, m.in_channels, input=t.rows(a["x"]), graph=t.slot("readout"), width=m.in_channels, factor=m.eps, theta=float(alone))


ROWS[nn.LayerNorm] = layer_norm


@row("RMSNorm")
def rms_norm(t, m, name, a):
    need(t, len(m.normalized_shape) == 1, "more than one axis")
    return norm(t, m, name, first(a), "rms", m.normalized_shape[0])


@row("GraphNorm", "InstanceNorm")
def graph_norm(t, m, name, a):
    graph, width = isinstance(m, G.GraphNorm), getattr(m, "in_channels", None) or m.num_features
    need(t, m.eps == 1e-5 and not getattr(m, "track_running_stats", False), "another eps than 1e-5, or track_running_stats")
    ones_and_zeros(t, m, name, width)
    return t.block("graph_norm" if graph else "instance_norm", name, width, input=t.rows(a["x"]), graph=t.slot("readout"), width=width)


@row("PairNorm")
def pair_norm(t, m, name, a):
    need(t, not m.scale_individually and a.get("batch") is None, "scale_individually, or a batch")
    return t.step(t.width(a["x"]), kind="op", name=name, op="pair_norm", input=t.rows(a["x"]), options=[float(m.scale), float(m.eps), 0.0, 0.0])


@row("MessageNorm")
def message_norm(t, m, name, a):
    width = t.known(a["x"])
    need(t, a.get("p", 2) == 2, "another p than 2")
    t.arrays[f"{name}.scale"] = m.scale
    return t.block("message_norm", name, width, input=t.rows(a["x"]), memory=t.rows(a["msg"]), width=width)


# ---- several layers, and readouts ----


def lstm_arrays(t, m, name, side, suffix):
    for what in ("weight_ih", "bias_ih", "weight_hh"):
        word = {"weight_ih": "ih.weight", "bias_ih": "ih.bias", "weight_hh": "hh.weight"}[what]
        t.arrays[f"{name}.{side}.{word}"] = getattr(m, f"{what}_l0{suffix}")
    t.arrays[f"{name}.{side}.bias_hh"] = getattr(m, f"bias_hh_l0{suffix}")


@row("JumpingKnowledge")
def jumping_knowledge(t, m, name, a):
    xs = a["xs"]
    if m.mode == "max":
        return t.many("maximum", name, xs, t.width(xs[0]))
    if m.mode == "cat":
        return t.concat(name, xs)
    need(t, len(xs) <= 8 and len(xs) > 1, "mode='lstm' of other than 2 to 8 layers")
    layers, width = t.concat(f"{name}:layers", xs), m.att.weight.shape[1] // 2
    lstm_arrays(t, m.lstm, name, "ahead", "")
    lstm_arrays(t, m.lstm, name, "back", "_reverse")
    t.arrays.update({f"{name}.att.score.weight": m.att.weight, f"{name}.att.score.bias": m.att.bias})
    return t.block("jumping_lstm", name, t.width(xs[0]), input=layers.name, width=t.width(xs[0]), hops=len(xs), hidden=width)


def pooled(t, a, edges=False):
    """The value that an aggregation module reads, and the graph: its `index` is the batch, or, for some, the receivers of edges."""
    need(t, a.get("dim", -2) in (-2, 0) and a.get("ptr") is None, "ptr or another dim")
    index = a.get("index")
    what = getattr(index, "what", None)
    need(t, what == "batch" or (edges and what == "ends"), "an index other than the batch")
    if what == "ends":
        return a["x"], t.slot("incidence", index.name)
    return a["x"], t.slot("readout")


@row("SumAggregation", "MeanAggregation", "MaxAggregation", "MinAggregation", "StdAggregation", "VarAggregation", "SoftmaxAggregation")
def plain_readout(t, m, name, a):
    word = AGGREGATORS[type(m).__name__]
    if word == "softmax_mean":
        t.arrays[f"{name}.t"] = torch.as_tensor(m.t).reshape(-1).float()
        need(t, t.arrays[f"{name}.t"].numel() == 1, "a temperature for each channel")
    x, graph = pooled(t, a, True)
    return t.aggregate(name, x, word, graph)


RULES = ("linear", "lower", "higher", "midpoint", "nearest")


@row("QuantileAggregation", "MedianAggregation")
def quantile(t, m, name, a):
    need(t, m.fill_value == 0, f"fill_value={m.fill_value}")
    x, graph = pooled(t, a, True)
    wanted = [float(q) for q in m.q.reshape(-1)]
    parts = [t.step(t.width(x), kind="op", name=f"{name}:{k}" if len(wanted) > 1 else name, op="quantile", input=t.rows(x), graph=graph,
                    options=[q, float(RULES.index(m.interpolation)), 0.0, 0.0]) for k, q in enumerate(wanted)]
    return parts[0] if len(parts) == 1 else t.concat(name, parts)


@row("SortAggregation")
def op_readout(t, m, name, a):
    k = m.k
    x, graph = pooled(t, a, True)
    return t.step(t.width(x) and k * t.width(x), kind="op", name=name, op="sort_pool", input=t.rows(x), graph=graph,
                  options=[float(k), 0.0, 0.0, 0.0])


@row("MLPAggregation")
def mlp_readout(t, m, name, a):
    """The first nodes of a graph, concatenated, through the mlp."""
    x, graph = pooled(t, a)
    k, width = m.max_num_elements, m.in_channels
    nodes = t.step(k * width, kind="op", name=f"{name}:nodes", op="sort_pool", input=t.rows(x), graph=graph, options=[float(k), 1.0, 0.0, 0.0])
    return t.module(f"{name}.mlp", m.mlp, nodes)


@row("AttentionalAggregation")
def attentional(t, m, name, a):
    need(t, isinstance(m.gate_nn, (nn.Linear, G.Linear)) and m.nn is None and m.mlp is None and m.gate_nn.weight.shape[0] == 1, "a gate other than one Linear, or an nn")
    width = m.gate_nn.weight.shape[1]
    t.take(m, name)
    return t.block("attentional", name, width, input=t.rows(pooled(t, a)[0]), graph=t.slot("readout"), width=width)


@row("PowerMeanAggregation")
def power_mean(t, m, name, a):
    p = torch.as_tensor(m.p).reshape(-1).float()
    need(t, p.numel() == 1, "an exponent for each channel")
    t.arrays[f"{name}.p"] = p
    width = t.known(a["x"])
    x, graph = pooled(t, a, True)
    return t.block("power_mean", name, width, input=t.rows(x), graph=graph, width=width, factor=float(p))


@row("LSTMAggregation")
def lstm_readout(t, m, name, a):
    need(t, m.lstm.num_layers == 1 and not m.lstm.bidirectional and m.lstm.bias, "several layers, two directions or no bias")
    for what in ("weight_ih", "weight_hh"):
        t.arrays[f"{name}.{what}"] = getattr(m.lstm, f"{what}_l0").t()
    for what in ("bias_ih", "bias_hh"):
        t.arrays[f"{name}.{what}"] = getattr(m.lstm, f"{what}_l0")
    return t.block("lstm_readout", name, m.out_channels, input=t.rows(pooled(t, a)[0]), graph=t.slot("readout"), width=m.in_channels, out=m.out_channels)


@row("GRUAggregation")
def gru_readout(t, m, name, a):
    need(t, m.gru.num_layers == 1 and not m.gru.bidirectional, "several layers or two directions")
    need(t, a.get("max_num_elements") is None, "max_num_elements")
    x, graph = pooled(t, a, True)
    gates = 3 * m.out_channels
    bias = torch.stack([m.gru.bias_ih_l0, m.gru.bias_hh_l0]) if m.gru.bias else torch.zeros(2, gates)
    weights = [t.constant(value, True) for value in (m.gru.weight_ih_l0.t(), m.gru.weight_hh_l0.t(), bias)]
    return t.step(m.out_channels, kind="op", name=name, op="gru_senders", input=t.rows(x), graph=graph, options=[0.0] * 4, **dict(zip(("second", "third", "fourth"), weights)))


@row("Set2Set")
def set2set(t, m, name, a):
    need(t, m.lstm.num_layers == 1 and m.processing_steps > 1, "several layers, or one step")
    for what, word in (("weight_ih", "lstm.ih.weight"), ("weight_hh", "lstm.hh.weight"), ("bias_ih", "bias_ih"), ("bias_hh", "bias_hh")):
        t.arrays[f"{name}.{word}"] = getattr(m.lstm, f"{what}_l0")
    return t.block("set2set", name, 2 * m.in_channels, input=t.rows(pooled(t, a)[0]), graph=t.slot("readout"), width=m.in_channels, hops=m.processing_steps)


@row("SetTransformerAggregation")
def set_transformer(t, m, name, a):
    need(t, len(m.encoders) == 1 and len(m.decoders) == 1 and m.concat, "more than one block on a side, or concat=False")
    k = m.num_seed_points
    t.take(m, name)
    return t.block("set_transformer", name, k * m.channels, input=t.rows(pooled(t, a)[0]), graph=t.slot("complete"), graphs_0=t.slot("seeds", None, k),
                   graphs_1=t.slot("among_seeds", None, k), width=m.channels, heads=m.heads, rows=k, layer={"norm": "layer" if m.layer_norm else "none"})
