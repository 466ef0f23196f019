"""Modules of PyTorch and PyTorch Geometric as layers and blocks of libgnn: one entry per class, for
pyg_trace.py.

A row is a function row(t, m, name, a): it appends the steps of module `m` to the trace `t` under
the module's path `name`, takes its arrays, and returns the value that goes out. `a` has the
arguments of this call by name. What libgnn cannot say is refused by name (t.refuse); what changes
nothing but training is told (t.untrained), and refused in the trace of training.
"""
import collections.abc
import contextlib
import inspect
import re

import torch
import torch_geometric.nn as G
import torch_geometric.utils as U
from torch import nn

from . import pyg_axes
from . import pyg_choices
from . import pyg_elementwise
from . import pyg_symbols
from .from_pyg import stacks

ROWS = {}
AGGREGATORS = {"SumAggregation": "sum", "MeanAggregation": "mean", "MaxAggregation": "max", "MinAggregation": "min", "StdAggregation": "std",
               "VarAggregation": "var", "SoftmaxAggregation": "softmax_mean"}


# Modules whose own forward() does what no trace can follow (rows put at places, normed columns as rows): a function that computes the same.
FORWARDS = {}


def forward_of(name):
    def add(function):
        if hasattr(G, name):
            FORWARDS[getattr(G, name)] = function
        return function
    return add


@forward_of("InstanceNorm")
def instance_norm(t, m, x, batch=None, batch_size=None):
    """Over the whole graph, or by running statistics."""
    if batch is not None or batch_size is not None:
        return NotImplemented
    if t.training and m.track_running_stats:
        t.refuse("instance norm that moves its statistics")
    mean, u = (m.running_mean, x - m.running_mean) if m.track_running_stats else (None, x - x.mean(0, keepdim=True))
    variance = m.running_var if mean is not None else (u * u).mean(0, keepdim=True)
    y = u / (variance + m.eps).sqrt()
    return y if m.weight is None else y * m.weight + m.bias


def states_of(m, hidden, n, dtype):
    """The first state of each layer and direction: rows of 0 where none is given."""
    count = m.num_layers * (2 if m.bidirectional else 1)
    if hidden is None:
        return [torch.zeros(n, m.hidden_size, dtype=dtype)] * count
    return [hidden[k] for k in range(count)]


def recurrent(t, m, x, hidden=None):
    """A GRU, LSTM or RNN over a sequence of known length: stacked before its rows, or along the
    first axis after them."""
    axis = 1 if m.batch_first else 0
    piled = isinstance(x, pyg_symbols.Sym) and isinstance(x.meta, pyg_symbols.Piled)
    if piled == m.batch_first or not piled and (not pyg_elementwise.is_value(x) or x.meta.lone) or x.dim() != 3 or m.proj_size:
        return NotImplemented
    if t.training and m.dropout and m.num_layers > 1:
        t.refuse("dropout between the layers of a recurrence")
    steps = list(x.unbind(0)) if piled else [x[:, k] for k in range(x.shape[1])]
    lstm, n = m.mode == "LSTM", x.shape[1 - axis]
    h = states_of(m, hidden[0] if lstm and hidden is not None else hidden, n, torch.float32)
    c = states_of(m, hidden[1] if hidden is not None else None, n, torch.float32) if lstm else h
    cell = {"LSTM": pyg_axes.lstm_cell, "GRU": pyg_axes.gru_cell}.get(m.mode, pyg_axes.rnn_cell)
    last = [[], []]
    for k in range(m.num_layers):
        directions = []
        for back in range(2 if m.bidirectional else 1):
            at, suffix = k * (2 if m.bidirectional else 1) + back, f"_l{k}{'_reverse' if back else ''}"
            weights = [getattr(m, f"{word}{suffix}", None) for word in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
            state, outs = (h[at], c[at]) if lstm else h[at], []
            for step in reversed(steps) if back else steps:
                t.at("rnn_tanh_cell" if m.mode == "RNN_TANH" else "rnn_relu_cell")
                state = cell(t, step, state, *weights)
                outs.append(state[0] if lstm else state)
            last[0].append(state[0] if lstm else state)
            last[1].append(state[1] if lstm else state)
            directions.append(outs[::-1] if back else outs)
        steps = [torch.cat(both, -1) for both in zip(*directions)] if m.bidirectional else directions[0]
    h, c = torch.stack(last[0]), torch.stack(last[1]) if lstm else None
    return torch.stack(steps, axis), (h, c) if lstm else h


for _class in (nn.GRU, nn.LSTM, nn.RNN):
    FORWARDS[_class] = recurrent


def with_row(t, kind, x, row, value, **fields):
    """x plus or times one row, a value of its own (`row`) that the module's parameters make."""
    return pyg_symbols.symbol(value, pyg_symbols.Rows(t.step2(kind, pyg_symbols.width(x), x.meta.name, row, **fields), x.meta.axis))


@forward_of("GMMConv")
def gmm_conv_of_rows(t, m, *args, **kwargs):
    """Its message divides by squares of a parameter: these are steps, so that it has a gradient."""
    def message(x_j, edge_attr):
        flat, rows, raw = m.mu.reshape(-1, m.dim), edge_attr.shape[0], pyg_symbols.raw
        variance = t.op("power", t.step2("add", flat.numel(), t.step2("multiply", flat.numel(), *[t.constant(m.sigma.reshape(-1), True)] * 2), t.constant(torch.full((flat.numel(),), 1e-15), False)), flat.numel(), -1.0)
        away = edge_attr.repeat(1, flat.shape[0])
        away = with_row(t, "add", away, t.constant(flat.reshape(-1), True), raw(away) - flat.detach().reshape(-1), factor=-1.0)
        away = away * away
        away = with_row(t, "multiply", away, variance, raw(away) / (1e-15 + m.sigma.detach().reshape(-1) ** 2))
        weight = (away.view(rows, -1, m.dim).sum(-1) * -0.5).exp()
        if not m.separate_gaussians:
            return (x_j.view(rows, m.kernel_size, m.out_channels) * weight.view(rows, m.kernel_size, 1)).sum(-2)
        weight = with_row(t, "multiply", weight, t.constant(m.g.reshape(-1), True), raw(weight) * m.g.detach().reshape(-1))
        weight = weight.view(rows, m.rel_in_channels, m.out_channels, m.kernel_size).sum(-1)
        return (x_j.view(rows, m.rel_in_channels, 1) * weight).sum(-2)
    m.message = message
    try:
        return type(m).forward(m, *args, **kwargs)
    finally:
        del m.message


@forward_of("GraphSizeNorm")
def graph_size_norm(t, m, x, batch=None, batch_size=None):
    """Over the whole graph: the root of how many nodes there are is that of a sum of ones."""
    if batch is not None:
        return NotImplemented
    count = (x[:, :1] * 0 + 1).sum(0, keepdim=True)
    return x * count.pow(-0.5)


@forward_of("ClusterGCNConv")
def cluster_gcn(t, m, x, edge_index):
    """Its forward scales the weights of self-loops by 1 + lambda in place; all self-loops are those
    that it added."""
    if not m.add_self_loops or isinstance(x, tuple) or not isinstance(edge_index, pyg_symbols.Sym):
        return NotImplemented
    from . import pyg_graphs
    edge_index, _ = U.remove_self_loops(edge_index)
    edge_index, _ = U.add_self_loops(edge_index, num_nodes=x.size(0))
    weight = (1 / U.degree(edge_index[1], x.size(0)).clamp(min=1))[edge_index[1]]
    pairs, edges = pyg_symbols.raw(edge_index), edge_index.meta
    at_loops = pyg_graphs.added(t, t.slot("carried", str(edges)), pairs.t(), edges)
    at_loops = pyg_symbols.symbol((pairs[0] == pairs[1]).float().view(-1, 1), at_loops.meta).view(-1)
    heard = m.propagate(edge_index, x=x, edge_weight=weight * (1 + m.diag_lambda * at_loops))
    return m.lin_out(heard) + m.lin_root(x)


@forward_of("HeteroLinear")
def hetero_linear(t, m, x, type_vec):
    """A matrix for each type: all of them, each where its type is."""
    if not isinstance(type_vec, pyg_symbols.Sym) or not pyg_elementwise.is_value(x):
        return NotImplemented
    made = None
    for k in range(m.num_types):
        here = pyg_elementwise.as_value(t, type_vec == k).view(-1, 1)
        part = nn.functional.linear(x, m.weight[k].t(), None if m.bias is None else m.bias[k]) * here
        made = part if made is None else made + part
    return made


@forward_of("GPSConv")
def gps_of_parts(t, m, x, edge_index, batch=None, **kwargs):
    """Of a convolution, a norm or an mlp without an entry: its attention is a layer, the rest is
    followed."""
    at = next((path for path, part in t.root.named_modules() if part is m), None)
    if m.attn_type != "multihead" or not pyg_elementwise.is_value(x) or x.meta.axis != "nodes" or x.meta.lone or at is None or batch is not None and not isinstance(batch, pyg_symbols.Sym):
        return NotImplemented

    def residual(h, norm):
        h = nn.functional.dropout(h, p=m.dropout, training=m.training) + x
        return h if norm is None else norm(h, batch=batch) if m.norm_with_batch else norm(h)
    heard = [] if m.conv is None else [residual(m.conv(x, edge_index, **kwargs), m.norm1)]
    rows, mask = U.to_dense_batch(pyg_symbols.raw(x), batch if batch is None else pyg_symbols.raw(batch))
    from .pyg_trace import untraced
    with untraced():
        everyone = m.attn(rows, rows, rows, key_padding_mask=~mask, need_weights=False)[0][mask]
    name = t.use(f"{at}.attn" if at else "attn", m.attn)
    t.take(m.attn, name)
    t.step(m.channels, kind="layer", name=name, input=x.meta.name, graph=t.slot("complete"), layer=dict(
        preset="transformer", heads=m.heads, update="linear", residual="off", norm="none", dropout_attention=float(m.attn.dropout), **{"in": m.channels}))
    heard.append(residual(pyg_symbols.symbol(everyone, pyg_symbols.Rows(name, "nodes")), m.norm2))
    out = sum(heard)
    out = out + m.mlp(out)
    return out if m.norm3 is None else m.norm3(out, batch=batch) if m.norm_with_batch else m.norm3(out)


for _function, _home, _name in ((pyg_choices.select_top_k, "select", "SelectTopK"), (pyg_choices.filter_edges, "connect", "FilterEdges")):
    _class = getattr(getattr(G.pool, _home, None), _name, None)
    if _class is not None:
        FORWARDS[_class] = _function


def row(*names):
    """Makes a function the row of these classes; those that this version of PyG lacks are left out."""
    def add(function):
        for name in names:
            for home in (G, G.aggr, nn):
                if hasattr(home, name):
                    ROWS[getattr(home, name)] = function
        return function
    return add


# ---- what an entry reads of its module ----


class Absent(KeyError):
    """An argument that an entry reads and a call does not give."""

    def __str__(self):
        return f"a call without {self.args[0]}"


class Arguments(collections.abc.Mapping):
    """The arguments of a call, and which of them are read."""

    def __init__(self, given):
        self.given, self.read = dict(given), set()

    def __getitem__(self, name):
        self.read.add(name)
        if name not in self.given:
            raise Absent(name)
        return self.given[name]

    def __iter__(self):
        return iter(self.given)

    def __len__(self):
        return len(self.given)


@contextlib.contextmanager
def reads_of(m):
    """The set of attributes of `m` that are read inside."""
    reads, real = set(), type(m)

    def get(self, name):
        reads.add(name)
        return real.__getattribute__(self, name)
    m.__class__ = type(real.__name__, (real,), {"__getattribute__": get, "__module__": real.__module__, "real": real})
    try:
        yield reads
    finally:
        m.__class__ = real


# Arguments of constructors that change no value of a trained module, or are found in its arrays.
HARMLESS = set("""in_channels out_channels in_features out_features bias cached dropout p device dtype momentum channels normalize_ num_embeddings embedding_dim hidden_channels
sparse padding_idx in_head channel_list num_layers train_eps track_running_stats learn learn_scale degree_ initial_value num_features _weight norm_kwargs act_kwargs
weight_initializer bias_initializer elementwise_affine affine allow_single_element""".split())
OF_TRAINING = ("dropout", "p", "momentum")  # these change a training
SIZES = ("dim_size", "batch_size", "size", "num_nodes", "num_graphs")


def settings(cls):
    """Arguments of the constructors of a class and its bases, with their defaults."""
    found = {}
    for base in cls.__mro__:
        if base in (nn.Module, object) or "__init__" not in vars(base):
            continue
        for name, p in inspect.signature(base.__init__).parameters.items():
            if name != "self" and p.default is not p.empty:
                found.setdefault(name, p.default)
    return found


def aggregation_default(cls):
    """The aggregation that a convolution has where its constructor is told none."""
    for base in cls.__mro__:
        if "__init__" in vars(base) and base is not object:
            p = inspect.signature(base.__init__).parameters.get("aggr")
            if p is not None and p.default is not p.empty and p.default is not None and base.__name__ != "MessagePassing":
                return p.default
            try:
                found = re.search(r"setdefault\(['\"]aggr['\"], ['\"](\w+)['\"]\)|aggr=['\"](\w+)['\"]", inspect.getsource(base.__init__))
            except OSError:
                found = None
            if found:
                return found.group(1) or found.group(2)
    return "add"


def same_setting(default, value):
    if isinstance(value, (torch.Tensor, nn.Module)) or callable(value):
        word = default if isinstance(default, str) else type(default).__name__ if isinstance(default, nn.Module) else None
        return not isinstance(value, nn.Module) or word is None or any(True for _ in value.parameters()) or type(value).__name__.lower() == word.lower().replace("_", "")
    if value is None or isinstance(default, (torch.Tensor, nn.Module)):
        return default is None or default is True or isinstance(default, bool)
    try:
        return bool(default == value)
    except (TypeError, ValueError, RuntimeError):
        return False


def unread(m, reads, training=False):
    """Settings of the module that are not at their defaults and were not read, as NAME=VALUE."""
    found, cls = [], type(m)
    for name, default in settings(cls).items():
        if name in HARMLESS and not (training and name in OF_TRAINING) or name in reads or name in ("aggr", "aggr_kwargs", "node_dim", "flow", "decomposed_layers"):
            continue
        if hasattr(m, name) and not same_setting(default, getattr(m, name)):
            found.append(f"{name}={getattr(m, name)!r}")
    if isinstance(m, G.MessagePassing):
        if m.flow != "source_to_target" and "flow" not in reads:
            found.append(f"flow={m.flow!r}")
        if m.decomposed_layers > 1:
            found.append(f"decomposed_layers={m.decomposed_layers}")
        aggr = {"sum": "add"}.get(m.aggr, m.aggr) if isinstance(m.aggr, str) or m.aggr is None else m.aggr
        default = aggregation_default(cls)
        if not reads & {"aggr", "aggr_module"} and aggr is not None and aggr != {"sum": "add"}.get(default, default):
            found.append(f"aggr={m.aggr!r}")
    return found


def check_arguments(t, m, given, arguments):
    """Refuses an argument of the call that the entry did not read."""
    signature = inspect.signature(m.forward).parameters
    for name, value in given.items():
        if name in arguments.read or name in SIZES or value is None:
            continue
        p = signature.get(name)
        if p is not None and p.default is not p.empty and not isinstance(value, torch.Tensor) and value == p.default:
            continue
        t.refuse(f"argument {name}")


def flag(on):
    return "on" if on else "off"


def aggregator(t, m):
    """The word for a convolution's aggregation, whose only array is a softmax's temperature."""
    found = AGGREGATORS.get(type(m.aggr_module).__name__)
    return found or t.refuse(f"aggregation {type(m.aggr_module).__name__}")


def need(t, holds, words):
    if not holds:
        t.refuse(words)


# ---- layers of one hop ----


def layer(t, m, name, a, columns, /, arrays=None, in_dst=None, **config):
    """One layer: its config, and the module's arrays under its name. Receivers may have features of their own, `in_dst` of them."""
    need(t, getattr(m, "flow", "source_to_target") == "source_to_target", "flow=target_to_source")
    x, receivers = a["x"] if isinstance(a["x"], tuple) else (a["x"], None)
    step = dict(kind="layer", name=name, input=t.rows(x), graph=t.edges(a["edge_index"]), layer=config)
    if receivers is not None:
        need(t, in_dst is not None, "receivers with features of their own")
        step["receivers"] = t.rows(receivers)
        config["in_dst"] = in_dst
    if a.get("edge_weight") is not None:
        step["edge_weight"] = t.rows(a["edge_weight"])
    if a.get("edge_attr") is not None:
        step["edge_features"] = t.rows(a["edge_attr"])
    t.take(m, name, arrays)
    return t.step(columns, **step)


@row("GCNConv")
def gcn_conv(t, m, name, a):
    need(t, m.normalize or not m.add_self_loops, "self-loops without normalisation")
    weighted = a.get("edge_weight") is not None
    return layer(t, m, name, a, m.out_channels, preset="gcn", **{"in": m.lin.weight.shape[1]}, out=m.out_channels, self_loops=flag(m.add_self_loops), loop_features="off",
                 graph_norm="symmetric" if m.normalize else "none", loop_weight=2.0 if m.improved and weighted else 1.0, bias_out=flag(m.bias is not None))


@row("SAGEConv")
def sage_conv(t, m, name, a):
    config = dict(preset="sage", out=m.out_channels, aggregator=aggregator(t, m), norm="l2" if m.normalize else "none", self_term=flag(m.root_weight),
                  bias_out=flag(m.lin_l.bias is not None), **{"in": m.lin_l.weight.shape[1]})
    need(t, not list(m.aggr_module.parameters()), "a learned aggregation")
    if not m.project:
        return layer(t, m, name, a, m.out_channels, in_dst=m.lin_r.weight.shape[1] if m.root_weight else m.lin_l.weight.shape[1], **config)
    t.take(m, name)
    return t.block("sage_project", name, m.out_channels, input=t.rows(a["x"]), graph=t.edges(a["edge_index"]), layer=config)


@row("GraphConv")
def graph_conv(t, m, name, a):
    return layer(t, m, name, a, m.out_channels, out=m.out_channels, message="none", update="linear", self_term="on", bias_update="off", aggregator=aggregator(t, m),
                 bias_out=flag(m.lin_rel.bias is not None), in_dst=m.lin_root.weight.shape[1], **{"in": m.lin_rel.weight.shape[1]})


def two_products(m):
    """Is it Linear, ReLU, Linear?"""
    return isinstance(m, nn.Sequential) and [type(k) for k in m if not isinstance(k, nn.Dropout) or k.p > 0] in ([nn.Linear, nn.ReLU, nn.Linear], [G.Linear, nn.ReLU, G.Linear])


@row("GINConv")
def gin_conv(t, m, name, a):
    learned = isinstance(m.eps, nn.Parameter)
    if two_products(m.nn) and len(m.nn) == 3 and m.nn[0].bias is not None and m.nn[2].bias is not None and aggregator(t, m) == "sum":
        first, last = m.nn[0].weight, m.nn[2].weight
        return layer(t, m, name, a, last.shape[0], None if learned else {"eps": None}, preset="gin", out=last.shape[0], hidden=first.shape[0], learn_eps=flag(learned),
                     eps=float(m.eps), **{"in": first.shape[1]})
    need(t, not learned, "an eps that is learned, with an nn other than Linear, ReLU, Linear")
    x, products = a["x"], [k for k in m.nn.modules() if isinstance(k, (nn.Linear, G.Linear))]
    if x.width is None and products:
        x.width = products[0].weight.shape[1]
    heard = t.aggregate(f"{name}:heard", x, aggregator(t, m), t.edges(a["edge_index"]))
    both = t.step(t.width(x), kind="add", name=f"{name}:both", input=heard.name, second=t.rows(x), factor=1 + float(m.eps)) if float(m.eps) != -1 else heard
    return t.module(f"{name}.nn", m.nn, both)


@row("GINEConv")
def gine_conv(t, m, name, a):
    need(t, two_products(m.nn) and len(m.nn) == 3, "an nn other than Linear, ReLU, Linear")
    need(t, m.lin is not None, "no edge_dim")
    first, last, learned = m.nn[0].weight, m.nn[2].weight, isinstance(m.eps, nn.Parameter)
    return layer(t, m, name, a, last.shape[0], None if learned else {"eps": None}, preset="gine", out=last.shape[0], hidden=first.shape[0], edge_dim=m.lin.weight.shape[1],
                 learn_eps=flag(learned), eps=float(m.eps), **{"in": first.shape[1]})


def attention(t, m, config):
    """Settings that GATConv and GATv2Conv share."""
    need(t, m.fill_value in ("mean", 0, 0.0) or m.edge_dim is None, f"fill_value={m.fill_value!r}")
    config.update(out=m.out_channels, heads=m.heads, combine="concat" if m.concat else "average", slope=float(m.negative_slope), dropout_attention=float(m.dropout),
                  self_loops=flag(m.add_self_loops), loop_features=flag(m.fill_value == "mean"), edge_dim=m.edge_dim or 0, self_term=flag(m.residual), bias_update="off",
                  bias_out=flag(m.bias is not None))
    return m.out_channels * (m.heads if m.concat else 1)


@row("GATConv")
def gat_conv(t, m, name, a):
    need(t, m.lin is not None, "receivers with features of their own")
    config = dict(preset="gat", **{"in": m.lin.weight.shape[1]})
    width = attention(t, m, config)
    return layer(t, m, name, a, width, **config)


@row("GATv2Conv")
def gatv2_conv(t, m, name, a):
    config = dict(preset="gatv2", share_weights=flag(m.share_weights), bias_project=flag(m.lin_l.bias is not None), **{"in": m.lin_l.weight.shape[1]})
    width = attention(t, m, config)
    return layer(t, m, name, a, width, in_dst=m.lin_r.weight.shape[1], **config)


@row("TransformerConv")
def transformer_conv(t, m, name, a):
    bias = flag(m.lin_key.bias is not None)
    return layer(t, m, name, a, m.out_channels * (m.heads if m.concat else 1), None if m.root_weight else {"lin_skip.weight": None, "lin_skip.bias": None},
                 preset="transformer_conv", out=m.out_channels, heads=m.heads, combine="concat" if m.concat else "average", edge_dim=m.edge_dim or 0, dropout_attention=float(m.dropout),
                 self_term=flag(m.root_weight), update="beta" if m.beta else "none", bias_project=bias, bias_update=bias, in_dst=m.lin_query.weight.shape[1],
                 **{"in": m.lin_key.weight.shape[1]})


@row("ResGatedGraphConv")
def res_gated(t, m, name, a):
    need(t, isinstance(m.act, nn.Sigmoid) and not m.edge_dim, "another gate than sigmoid, or edge features")
    return layer(t, m, name, a, m.out_channels, preset="resgated", out=m.out_channels, self_term=flag(m.root_weight), bias_out=flag(m.bias is not None),
                 **{"in": m.lin_key.weight.shape[1]})


@row("GatedGraphConv")
def gated_graph(t, m, name, a):
    need(t, t.width(a["x"]) in (None, m.out_channels), f"an input narrower than {m.out_channels} columns")
    t.take(m, name)
    x = a["x"]
    for k in range(m.num_layers):
        x = layer(t, nn.Module(), f"{name}:{k}", {**a, "x": x}, m.out_channels, preset="gated_graph", out=m.out_channels, aggregator=aggregator(t, m),
                  **{"in": m.out_channels})
        t.steps[-1].update({"share": f"{name}:0", "share_fields": "gru"} if k else {})
    return x


# ---- blocks: layers of several steps ----


def block(t, m, kind, name, a, columns, /, arrays=None, zeros=None, **settings):
    """A block over a graph; `zeros` are biases that the module lacks."""
    for key, count in (zeros or {}).items():
        t.arrays[f"{name}.{key}"] = torch.zeros(count)
    t.take(m, name, arrays)
    if a.get("edge_weight") is not None:
        settings["edge_weight"] = t.rows(a["edge_weight"])
    return t.block(kind, name, columns, input=t.rows(a["x"]), graph=t.edges(a["edge_index"]), **settings)


def bias_of(m, count, key="bias"):
    found = m
    for part in key.split("."):
        found = getattr(found, part)
    return {key: count} if found is None else {}


@row("SGConv")
def sg_conv(t, m, name, a):
    need(t, m.add_self_loops, "add_self_loops=False")
    return block(t, m, "sgc", name, a, m.out_channels, zeros=bias_of(m, m.out_channels, "lin.bias"), width=m.in_channels, out=m.out_channels, hops=m.K)


@row("SSGConv")
def ssg_conv(t, m, name, a):
    need(t, m.add_self_loops and m.alpha != 0, "add_self_loops=False, or alpha=0")
    return block(t, m, "ssg", name, a, m.out_channels, zeros=bias_of(m, m.out_channels, "lin.bias"), width=m.in_channels, out=m.out_channels, hops=m.K, factor=m.alpha)


@row("LGConv")
def lg_conv(t, m, name, a):
    width = t.known(a["x"])
    return layer(t, m, name, a, width, out=width, message="none", aggregator="sum", update="none", graph_norm="symmetric" if m.normalize else "none", bias_out="off",
                 **{"in": width})


@row("LEConv")
def le_conv(t, m, name, a):
    return block(t, m, "le", name, a, m.out_channels, zeros={**bias_of(m, m.out_channels, "lin1.bias"), **bias_of(m, m.out_channels, "lin3.bias")}, width=m.in_channels,
                 out=m.out_channels)


@row("APPNP")
def appnp(t, m, name, a):
    need(t, m.add_self_loops and m.normalize and m.alpha != 0, "add_self_loops=False, normalize=False or alpha=0")
    if m.dropout:
        t.untrained("dropout of edges")
    width = t.known(a["x"])
    return block(t, m, "appnp", name, a, width, width=width, hops=m.K, factor=m.alpha)


@row("TAGConv")
def tag_conv(t, m, name, a):
    need(t, m.normalize, "normalize=False")
    return block(t, m, "tag", name, a, m.out_channels, zeros=bias_of(m, m.out_channels), width=m.in_channels, out=m.out_channels, hops=m.K)


@row("ChebConv")
def cheb_conv(t, m, name, a):
    need(t, m.normalization == "sym" and a.get("edge_weight") is None and a.get("lambda_max") is None, "another normalisation than sym, edge weights or lambda_max")
    return block(t, m, "cheb", name, a, m.out_channels, zeros=bias_of(m, m.out_channels), width=m.in_channels, out=m.out_channels, hops=len(m.lins))


@row("ARMAConv")
def arma_conv(t, m, name, a):
    need(t, not m.shared_weights and isinstance(m.act, nn.ReLU), "shared_weights=True, or another activation than ReLU")
    if m.dropout:
        t.untrained("dropout inside of the stacks")
    t.arrays.update(stacks(f"{name}.", m.init_weight, m.weight, m.root_weight, m.bias))
    return block(t, nn.Module(), "arma", name, a, m.out_channels, width=m.in_channels, out=m.out_channels, hops=m.num_layers, rows=m.num_stacks)


@row("GCN2Conv")
def gcn2_conv(t, m, name, a):
    need(t, m.weight2 is None and m.normalize and m.add_self_loops and m.alpha != 0, "shared_weights=False, normalize=False, add_self_loops=False or alpha=0")
    return block(t, m, "gcn2", name, a, m.channels, width=m.channels, memory=t.rows(a["x_0"]), factor=m.alpha, theta=m.beta)


@row("MixHopConv")
def mixhop_conv(t, m, name, a):
    need(t, list(m.powers) == list(range(len(m.powers))) and m.add_self_loops, "powers other than 0, 1, ..., K, or add_self_loops=False")
    width = len(m.powers) * m.out_channels
    return block(t, m, "mixhop", name, a, width, zeros=bias_of(m, width), width=m.in_channels, out=m.out_channels, hops=len(m.powers) - 1)


@row("AGNNConv")
def agnn_conv(t, m, name, a):
    need(t, m.add_self_loops, "add_self_loops=False")
    width = t.known(a["x"])
    t.arrays[f"{name}.beta"] = m.beta
    return block(t, nn.Module(), "agnn", name, a, width, width=width)


@row("GENConv")
def gen_conv(t, m, name, a):
    power = type(m.aggr_module).__name__ == "PowerMeanAggregation"
    out, norms = m.out_channels, [k for k in m.mlp if isinstance(k, (nn.BatchNorm1d, nn.LayerNorm, nn.InstanceNorm1d))]
    need(t, a.get("edge_attr") is None and getattr(m, "msg_norm", None) is None and abs(m.eps - 1e-7) < 1e-12, "edge features, msg_norm or another eps")
    need(t, len(m.mlp) in (1, 5) and all(k.bias is None for k in m.mlp if isinstance(k, (nn.Linear, G.Linear))), "an mlp of more than two products, or with biases")
    need(t, len(m.mlp) == 1 or (len(norms) == 1 and not isinstance(norms[0], nn.InstanceNorm1d)), "norm=None or norm='instance'")
    need(t, all(not isinstance(k, nn.Dropout) or k.p == 0 for k in m.mlp), "dropout in the mlp")
    config = {} if power else {"aggregator": aggregator(t, m)}
    if norms:
        config["norm"] = "batch" if isinstance(norms[0], nn.BatchNorm1d) else "layer"
    if power or config["aggregator"] == "softmax_mean":
        learned = m.aggr_module.p if power else m.aggr_module.t
        t.arrays[f"{name}.aggr_module.{'p' if power else 't'}"] = torch.as_tensor(learned).reshape(1).float()
    source = m.in_channels if isinstance(m.in_channels, int) else m.in_channels[0]
    return block(t, m, "gen", name, a, out, {"aggr_module.t": None, "aggr_module.p": None}, width=source, out=out, hidden=m.mlp[0].weight.shape[0] if len(m.mlp) > 1 else 0, layer=config,
                 **({"factor": float(m.aggr_module.p)} if power else {}))


@row("PNAConv")
def pna_conv(t, m, name, a):
    scaled, words = m.aggr_module, {"mean": "mean", "min": "min", "max": "max", "std": "std", "var": "var", "sum": "sum", "add": "sum"}
    chosen = [AGGREGATORS.get(type(k).__name__) for k in scaled.aggr.aggrs]
    need(t, m.towers == 1 and len(m.pre_nns[0]) == 1 and len(m.post_nns[0]) == 1 and m.edge_dim is None, "towers, deeper mlps or edge features")
    need(t, list(scaled.scaler) == ["identity", "amplification", "attenuation"], "scalers other than identity, amplification, attenuation in this order")
    need(t, len(chosen) <= 4 and all(k in words for k in chosen), "more than four aggregators, or others than sum, mean, min, max, std, var")
    return edge_block(t, m, "pna", name, a, m.out_channels, None, width=m.in_channels, out=m.out_channels, theta=float(scaled.avg_deg_log),
                      **{f"aggregators_{k}": word for k, word in enumerate(chosen)})


def edge_block(t, m, kind, name, a, columns, edges, /, **settings):
    """A block on values of edges; `edges` is how wide their features are, None: none are read."""
    t.edges(a["edge_index"])  # its slot comes before that of the edges' own graph
    settings["graphs_0"] = t.slot("incidence", a["edge_index"])
    if edges:
        settings.update(edges=t.rows(a["edge_attr"]), edge_width=edges)
    elif a.get("edge_attr") is not None:
        t.refuse("edge features")
    return block(t, m, kind, name, {k: v for k, v in a.items() if k != "edge_weight"}, columns, **settings)


@row("EdgeConv")
def edge_conv(t, m, name, a):
    deep = two_products(m.nn) and len(m.nn) == 3
    need(t, deep or (isinstance(m.nn, nn.Sequential) and [type(k) for k in m.nn] == [nn.Linear, nn.ReLU]), "an nn other than Linear, ReLU, Linear or Linear, ReLU")
    products = [k for k in m.nn if isinstance(k, (nn.Linear, G.Linear))]
    out = products[-1].weight.shape[0]
    return edge_block(t, m, "edgeconv", name, a, out, None, width=products[0].weight.shape[1] // 2, out=out, hidden=products[0].weight.shape[0] if deep else 0,
                      layer={"aggregator": aggregator(t, m)})


@row("FiLMConv")
def film_conv(t, m, name, a):
    need(t, m.num_relations == 1 and isinstance(m.act, nn.ReLU) and aggregator(t, m) == "mean", "relations, another activation than ReLU, or another aggregation than mean")
    return edge_block(t, m, "film", name, a, m.out_channels, None, width=m.lins[0].weight.shape[1], out=m.out_channels)


@row("CGConv")
def cg_conv(t, m, name, a):
    need(t, not m.batch_norm and m.dim > 0 and aggregator(t, m) == "sum" and m.lin_f.bias is not None, "batch_norm, no edge features, another aggregation than add, or bias=False")
    return edge_block(t, m, "cg", name, a, m.lin_f.weight.shape[0], m.dim, width=m.lin_f.weight.shape[0])


@row("GMMConv")
def gmm_conv(t, m, name, a):
    need(t, not m.separate_gaussians and m.root_weight and m.bias is not None and aggregator(t, m) == "mean", "separate_gaussians, root_weight=False, bias=False or aggr")
    return edge_block(t, m, "gmm", name, a, m.out_channels, m.dim, width=m.g.shape[0], out=m.out_channels, rows=m.kernel_size)


@row("NNConv")
def nn_conv(t, m, name, a):
    need(t, two_products(m.nn) and len(m.nn) == 3 and m.root_weight, "an nn other than Linear, ReLU, Linear, or root_weight=False")
    return edge_block(t, m, "nnconv", name, a, m.out_channels, m.nn[0].weight.shape[1], zeros=bias_of(m, m.out_channels), width=m.in_channels_l, out=m.out_channels,
                      hidden=m.nn[0].weight.shape[0], layer={"aggregator": aggregator(t, m)})


@row("RGCNConv", "FastRGCNConv")
def rgcn_conv(t, m, name, a):
    need(t, aggregator(t, m) == "mean" and isinstance(m.in_channels, int), "another aggregation than mean, or receivers with features of their own")
    first = [t.slot("relation", a["edge_index"], r) for r in range(m.num_relations)][0]
    if m.num_blocks is None and m.num_bases is None:
        t.arrays[f"{name}.comp"] = torch.eye(m.num_relations)
    if m.root is None:
        t.arrays[f"{name}.root"] = torch.zeros(m.in_channels, m.out_channels)
    if m.bias is None:
        t.arrays[f"{name}.bias"] = torch.zeros(m.out_channels)
    t.take(m, name)
    return t.block("rgcn", name, m.out_channels, input=t.rows(a["x"]), graph=first, width=m.in_channels, out=m.out_channels, hops=m.num_relations,
                   **({"rows": m.num_bases} if m.num_bases else {}), **({"heads": m.num_blocks} if m.num_blocks else {}))


@row("MFConv")
def mf_conv(t, m, name, a):
    zeros = {f"lins_l.{k}.bias": m.out_channels for k, lin in enumerate(m.lins_l) if lin.bias is None}
    return block(t, m, "mf", name, a, m.out_channels, zeros=zeros, width=m.lins_l[0].weight.shape[1], out=m.out_channels, hops=m.max_degree)


@row("GPSConv")
def gps_conv(t, m, name, a):
    """As its forward puts it together: any convolution, attention over each graph, an mlp, each with its residual and norm."""
    x, heard = a["x"], []
    inner = {**{k: v for k, v in a.items() if k not in ("batch", "kwargs")}, **(a.get("kwargs") or {})}

    def residual(part, number, value):
        value = t.dropout(f"{part}:dropout", value, m.dropout)
        value = t.step(m.channels, kind="add", name=f"{part}:sum", input=value.name, second=t.rows(x))
        norm = getattr(m, f"norm{number}")
        return value if norm is None else t.module(f"{name}.norm{number}", norm, value)

    if m.conv is not None:
        heard.append(residual(f"{name}.conv", 1, t.call(f"{name}.conv", m.conv, inner)))
    need(t, m.attn_type == "multihead", f"attn_type={m.attn_type!r}")
    t.take(m.attn, f"{name}.attn")
    everyone = t.step(m.channels, kind="layer", name=f"{name}.attn", input=t.rows(x), graph=t.slot("complete"), layer=dict(
        preset="transformer", heads=m.heads, update="linear", residual="off", norm="none", dropout_attention=float(m.attn.dropout), **{"in": m.channels}))
    heard.append(residual(f"{name}.attn", 2, everyone))
    out = heard[0] if len(heard) == 1 else t.step(m.channels, kind="add", name=f"{name}:both", input=heard[0].name, second=heard[1].name)
    out = t.step(m.channels, kind="add", name=f"{name}:more", input=t.module(f"{name}.mlp", m.mlp, out).name, second=out.name)
    return out if m.norm3 is None else t.module(f"{name}.norm3", m.norm3, out)


@row("DeepGCNLayer")
def deep_gcn(t, m, name, a):
    x, inner = a["args"][0], dict(zip(("edge_index", "edge_attr"), a["args"][1:]), **(a.get("kwargs") or {}))

    def sum_of(value):
        return t.step(t.width(x), kind="add", name=f"{name}:sum", input=t.rows(x), second=t.rows(value))

    def normed(value):
        value = value if m.norm is None else t.module(f"{name}.norm", m.norm, value)
        return value if m.act is None else t.module(f"{name}.act", m.act, value)
    if m.block == "res+":
        return sum_of(t.call(f"{name}.conv", m.conv, {**inner, "x": t.dropout(f"{name}:dropout", normed(x), m.dropout)}))
    h = normed(t.call(f"{name}.conv", m.conv, {**inner, "x": x}))
    h = sum_of(h) if m.block == "res" else t.concat(f"{name}:cat", [x, h]) if m.block == "dense" else h
    return t.dropout(f"{name}:dropout", h, m.dropout)
