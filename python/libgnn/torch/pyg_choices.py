"""Nodes that a pooling chooses, inside of a trace (pyg_symbols.py). The steps go on for all nodes and
edges of the graph, and a value of 0 and 1 (a step of its own) says which of them were chosen: what
is aggregated is masked by it, so that the numbers at chosen nodes are those of the smaller graph.
The tensors of the trace are those of the smaller graph, as the module sees them."""
import math
import types

import torch

from . import pyg_elementwise
from . import pyg_symbols
from .pyg_elementwise import constant_row
from .pyg_symbols import Batch, Edges, Rows, Selected, Sym, raw, symbol, width


class Part:
    """Chosen nodes: `mask` names the step that is 1 at them and 0 elsewhere."""

    def __init__(self, mask):
        self.mask = mask


class Chosen:
    """The positions of chosen nodes among the rows of `outer`, all nodes or those chosen before."""

    def __init__(self, part, outer):
        self.part, self.outer = part, outer


def axis_of(edges):
    """The axis of values on a list of edges."""
    return edges if edges.part is None else Selected(edges.part, edges)


def part_of(axis):
    """The chosen nodes to which an axis belongs, or None."""
    return axis.mask if isinstance(axis, Selected) and isinstance(axis.mask, Part) else None


def same_axis(a, b):
    return pyg_elementwise.kind_of_rows(a) == pyg_elementwise.kind_of_rows(b)


def mask_of(t, axis):
    """The name of the step that is 1 at chosen rows: chosen nodes, or edges whose ends are both
    chosen."""
    part = part_of(axis)
    if not isinstance(axis.axis, Edges):
        return part.mask
    key = ("mask", part.mask, str(axis.axis))
    if key not in t.constants:
        ends = [t.edge_rows(part.mask, axis.axis, side, 1) for side in (0, 1)]
        t.constants[key] = t.step2("multiply", 1, *ends)
    return t.constants[key]


def masked(t, x):
    """The name of a value that is 0 where its rows were not chosen."""
    return t.step2("multiply", width(x), x.meta.name, mask_of(t, x.meta.axis))


FAR = 1e30


def aggregated(t, x, word, graph):
    """The name of what receivers aggregate of the rows that were chosen; 0 where there are none."""
    columns = width(x)
    mask = mask_of(t, x.meta.axis)
    if word == "sum":
        return t.heard(masked(t, x), "sum", graph, columns)
    if word == "mul":
        kept = t.step2("add", columns, masked(t, x), spread(t, others(t, x.meta.axis), columns), factor=1.0)
        return t.over_graph("segment_product", kept, columns, graph)
    count = t.heard(mask, "sum", graph, 1)
    if word == "mean":
        inverse = t.op("power", t.op("clamp", count, 1, 1.0, 3e38), 1, -1.0)
        return t.step2("multiply", columns, t.heard(masked(t, x), "sum", graph, columns), inverse)
    if word not in ("max", "min"):
        t.refuse(f"{word} over nodes that a pooling chose")
    sign = 1.0 if word == "max" else -1.0
    off = t.scale(others(t, x.meta.axis), -FAR, 1)
    far = t.step2("add", columns, t.scale(masked(t, x), sign, columns), spread(t, off, columns), factor=1.0)
    found = t.step2("multiply", columns, t.heard(far, "max", graph, columns), t.op("clamp", count, 1, 0.0, 1.0))
    return t.scale(found, sign, columns)


def spread(t, name, columns):
    """One column as many equal ones."""
    if columns == 1:
        return name
    return t.append("spread", columns, kind="op", op="mix_heads", input=name, second=t.constant(torch.ones(1, columns), False), options=[0.0] * 4)


def constant_value(t, src, axis):
    """A constant that all chosen rows share, as a value of them."""
    row = constant_row(t, src, src.shape)
    ones = symbol(torch.ones(src.shape[0], 1), Rows(mask_of(t, axis), axis))
    run = lambda v: (v[0] * row.detach().reshape(1, -1)).reshape(src.shape)
    return pyg_symbols.affine(t, "mul", [ones], run, src.detach().float(), src.requires_grad)


def picked(t, x, index):
    """Rows of a value, of a batch or of a constant at chosen nodes."""
    meta = index.meta
    if not isinstance(x, Sym):
        row = constant_row(t, x, x.shape)
        return row.expand((raw(index).shape[0],) + tuple(row.shape)).clone()
    value = raw(x)[raw(index)]
    if isinstance(x.meta, Batch):
        return symbol(value, Batch(meta.part))
    if isinstance(x.meta, Chosen):
        return symbol(value, Chosen(meta.part, x.meta.outer))
    if not isinstance(x.meta, Rows) or not same_axis(x.meta.axis, meta.outer):
        t.refuse("rows picked by nodes that were chosen of others")
    return symbol(value, Rows(x.meta.name, Selected(meta.part, "nodes")))


def chosen(t, score, batch, ratio, min_score):
    """The nodes of each graph with the largest scores: a ratio of them, a count, or all above a
    minimum."""
    from torch_geometric.nn.pool.select.topk import topk
    axis = score.meta.axis
    of = part_of(axis)
    if of is None and axis != "nodes":
        t.refuse("a choice among other than nodes")
    if isinstance(batch, Sym) and not isinstance(batch.meta, Batch):
        t.refuse("a choice in other groups than the graphs of a batch")
    perm = topk(raw(score), ratio, raw(batch) if isinstance(batch, Sym) else batch, min_score)
    if min_score is not None:
        mask = above(t, score, batch, min_score)
    else:
        if not ratio > 0:
            t.refuse(f"ratio={ratio}")
        graph = t.slot("readout") if isinstance(batch, Sym) else t.slot("whole")
        check_ties(t, raw(score), raw(batch) if isinstance(batch, Sym) else batch, raw(perm) if isinstance(perm, Sym) else perm)
        second = {} if of is None else {"second": of.mask}
        mask = t.append("top_rows", 1, kind="op", op="top_rows", input=score.meta.name, graph=graph, options=[float(int(ratio) if ratio >= 1 else ratio), 0.0, 0.0, 0.0], **second)
    return symbol(perm, Chosen(Part(mask), axis))


def check_ties(t, score, batch, perm):
    """Of equal scores PyTorch's sort takes any."""
    left = torch.ones(score.shape[0], dtype=torch.bool)
    left[perm] = False
    for k in batch.unique().tolist():
        own = batch == k
        if bool((own & left).any()) and float(score[own & left].max()) == float(score[own & ~left].min()):
            t.refuse("a choice among nodes of equal scores")


def above(t, score, batch, min_score, tol=1e-7):
    """1 where the score is above min_score, or is its graph's largest."""
    from torch_geometric.utils import scatter
    limit = (scatter(score, batch, reduce="max")[batch] - tol).clamp(max=min_score)
    over = score - limit
    name = t.op("between", over.meta.name, 1, float(torch.nextafter(torch.tensor(0.0), torch.tensor(math.inf))), 3e38)
    return name if part_of(score.meta.axis) is None else t.step2("multiply", 1, name, part_of(score.meta.axis).mask)


def others(t, axis):
    """The name of the step that is 1 at rows that were not chosen."""
    return t.scale(t.step2("add", 1, mask_of(t, axis), t.constant(torch.ones(1), False), factor=-1.0), -1.0, 1)


def bounded(function, fill):
    """A function that may not be finite at rows that are not chosen, whose values are arbitrary:
    these rows are replaced by 0 or 1 first."""
    def call(t, x, *args, **kwargs):
        if isinstance(x.meta, Rows) and part_of(x.meta.axis) is not None:
            name = masked(t, x)
            if fill:
                name = t.step2("add", width(x), name, spread(t, others(t, x.meta.axis), width(x)), factor=1.0)
            x = symbol(raw(x), Rows(name, x.meta.axis))
        return function(t, x, *args, **kwargs)
    return call


for _name, _fill in (("exp", 0), ("log", 1), ("log1p", 0)):
    pyg_symbols.HANDLERS[_name] = bounded(pyg_symbols.HANDLERS[_name], _fill)


def select_top_k(t, m, x, batch=None):
    """SelectTopK, whose own forward sorts."""
    if not isinstance(x, Sym):
        return NotImplemented
    from torch_geometric.utils import softmax
    batch = x.new_zeros(x.size(0), dtype=torch.long) if batch is None else batch
    x = x.view(-1, 1) if x.dim() == 1 else x
    score = (x * m.weight).sum(dim=-1)
    score = m.act(score / m.weight.norm(p=2, dim=-1)) if m.min_score is None else softmax(score, batch)
    index = chosen(t, score, batch, m.ratio, m.min_score)
    count = raw(index).shape[0]
    return types.SimpleNamespace(node_index=index, num_nodes=raw(x).shape[0], cluster_index=torch.arange(count), num_clusters=count, weight=score[index])


def filter_edges(t, m, select_output, edge_index, edge_attr=None, batch=None):
    """FilterEdges: the edges between chosen nodes."""
    index = select_output.node_index
    if not isinstance(index, Sym) or not isinstance(edge_index, Sym):
        return NotImplemented
    return types.SimpleNamespace(edge_index=edges_between(edge_index, index), edge_attr=None if edge_attr is None else values_between(t, edge_attr, edge_index, index),
                                 batch=None if batch is None else batch[index])


def kept_edges(edge_index, index):
    """Which edges lead between chosen nodes, and these by the chosen nodes' own numbers."""
    pairs, nodes = raw(edge_index), raw(index)
    at = torch.full((1 + max(int(v.max()) for v in (pairs, nodes) if v.numel()),), -1)
    at[nodes] = torch.arange(nodes.shape[0])
    ends = at[pairs]
    keep = (ends >= 0).all(0)
    return keep, ends[:, keep]


def edges_between(edge_index, index):
    edges = edge_index.meta
    return symbol(kept_edges(edge_index, index)[1], Edges(edges.source, edges.ops, index.meta.part))


def values_between(t, values, edge_index, index):
    keep, _ = kept_edges(edge_index, index)
    if not isinstance(values, Sym):
        row = constant_row(t, values, values.shape)
        return row.expand((int(keep.sum()),) + tuple(row.shape)).clone()
    if not isinstance(values.meta, Rows):
        t.refuse("edges of types between chosen nodes")
    edges = edge_index.meta
    return symbol(raw(values)[keep], Rows(values.meta.name, Selected(index.meta.part, Edges(edges.source, edges.ops))))
