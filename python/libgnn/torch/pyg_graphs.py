"""Indices of a trace (pyg_symbols.py): ends of edges, graphs of a batch, types, and what PyG does
with them. Rows picked by the ends of edges are values on edges; what is scattered by them is
aggregated; self-loops that are added or taken away make another list of edges, which libgnn makes
of the one that it is given."""
import sys

import torch

from . import pyg_axes
from . import pyg_choices
from . import pyg_symbols
from .pyg_choices import Chosen, axis_of, part_of
from .pyg_elementwise import as_value, constant_row, is_value, mul, scaled, sum_of
from .pyg_symbols import (Batch, Edges, Ends, IdMask, Ids, Mask, Opaque, Piled, Rows, Selected, Sym, TypeMask, affine, handles, is_users, plain, raw, rest, rowwise,
                         symbol, tensors_in, width)


class Types:
    """The type of each edge of a list, a number from 0."""

    def __init__(self, edges, name):
        self.edges, self.name = edges, name


class Places:
    """The numbers of the rows at which a mask holds."""

    def __init__(self, mask):
        self.mask = mask


INDICES = (Edges, Ends, Batch, Ids, Types, Chosen)
KEEP = set("""view reshape expand expand_as unsqueeze squeeze contiguous clone to long int flatten detach view_as repeat type cpu alias requires_grad_ broadcast_to type_as int64 ravel
t_same""".split())
ON = {}


def on(*names):
    return handles(*names, table=ON)


def on_indices(t, name, call, args, kwargs, given):
    """A function that reads an index; NotImplemented where its values are what counts."""
    handler = ON.get(name)
    if handler is not None:
        out = pyg_symbols.handled(handler, t, name, args, kwargs)
        if out is not NotImplemented:
            return out
    x = args[0] if args and isinstance(args[0], Sym) else given[0]
    meta = x.meta
    if any(isinstance(v.meta, Piled) for v in given):
        piled = next(v for v in given if isinstance(v.meta, Piled))
        if name in BY_PART or (name == "linear" and piled is x):
            return by_part(piled, call, args, kwargs)
        t.refuse(f"{name} of values that are stacked before their rows")
    if any(isinstance(v.meta, (Mask, TypeMask)) for v in given):
        masks = [v for v in given if isinstance(v.meta, Mask)]
        if name in ("any", "all", "__bool__", "sum", "item") and all(m.meta.of is None for m in masks) and masks:
            return call(*plain(args), **plain(kwargs))
        if name in KEEP and isinstance(meta, Mask) and (name not in ("view", "reshape", "expand", "unsqueeze", "squeeze", "flatten") or meta.of is None):
            return symbol(call(*plain(args), **plain(kwargs)), meta)
        if name in ("float", "double", "type_as", "to", "int", "long", "view", "unsqueeze") and isinstance(meta, Mask):
            value = as_value(t, x)
            if name in ("view", "unsqueeze"):
                return rowwise(t, name, call, (value,) + tuple(args[1:]), kwargs)
            return value
        if any(isinstance(v.meta, TypeMask) for v in given):
            if name in ("any", "all", "__bool__", "numel", "sum", "item"):
                return call(*plain(args), **plain(kwargs))
            if name in ("float", "to", "view", "unsqueeze", "type_as"):
                value = as_value(t, x)
                return value if name in ("float", "to", "type_as") else rowwise(t, name, call, (value,) + tuple(args[1:]), kwargs)
            if name in ("setitem", "where", "masked_fill", "mul"):
                return NotImplemented
            t.refuse(f"{name} of a mask of edges")
        return NotImplemented
    if name in KEEP and not isinstance(meta, Edges):
        out = call(*plain(args), **plain(kwargs))
        if isinstance(out, torch.Tensor) and (not out.is_floating_point()) and out.shape[:1] == raw(x).shape[:1]:
            return symbol(out, meta)
        if isinstance(out, torch.Tensor) and not out.is_floating_point() and isinstance(meta, Ids) and meta.columns:
            return symbol(out, meta)
        if isinstance(out, torch.Tensor) and not out.is_floating_point():
            return symbol(out, meta) if out.numel() == raw(x).numel() and name in ("view", "reshape", "unsqueeze") else out
    if name in ("contiguous", "clone", "to", "long", "detach", "cpu", "requires_grad_", "view_as"):
        return symbol(call(*plain(args), **plain(kwargs)), meta)
    if any(isinstance(v.meta, Rows) for v in given):
        return NotImplemented
    if name in ("max", "amax", "aminmax") and isinstance(meta, (Edges, Ends)) and not called_by("softmax"):  # this counts nodes for itself alone
        t.covers(*(meta, None) if isinstance(meta, Edges) else (meta.edges, meta.side))
    # The rest counts or compares; a number that enters a step differs on the other graph, and is
    # refused there.
    return call(*plain(args), **plain(kwargs))


pyg_symbols.on_indices = on_indices


def called_by(name):
    """True if a function of PyG of this name calls."""
    frame = sys._getframe(1)
    while frame is not None and not is_users(frame.f_code.co_filename):
        if frame.f_code.co_name == name and frame.f_code.co_filename.startswith(pyg_symbols.PACKAGES[1]):
            return True
        frame = frame.f_back
    return False


BY_PART = set("add sub mul div neg tanh relu sigmoid elu leaky_relu gelu silu exp dropout contiguous float to matmul softplus selu detach clone".split())


def by_part(piled, call, args, kwargs):
    """A function element by element of values that are stacked before their rows, of each by itself."""
    axes = raw(piled).dim()
    whole = [x for x in tensors_in((args, kwargs)) if x.dim() == axes]
    count = max(x.shape[0] for x in whole)

    def part(x, k):
        if isinstance(x, Sym) and isinstance(x.meta, Piled):
            return x.meta.parts[k if len(x.meta.parts) == count else 0]
        if isinstance(x, torch.Tensor) and x.dim() == axes and x.shape[0] in (1, count):
            return x[k if x.shape[0] == count else 0]
        return x
    parts = [call(*[part(x, k) for x in args], **{name: part(x, k) for name, x in kwargs.items()}) for k in range(count)]
    return symbol(torch.stack([raw(p) for p in parts]), Piled(parts))


# ---- edges ----


def ends_of(x, side):
    return symbol(raw(x)[side], Ends(x.meta, side))


def full(at):
    return at == slice(None) if isinstance(at, slice) else at is Ellipsis


@on("__getitem__")
def getitem(t, x, at):
    inner = at if not isinstance(at, tuple) else at[0] if at else None
    if isinstance(x, Sym) and isinstance(x.meta, Edges):
        return of_edges(t, x, at)
    if isinstance(x, Sym) and isinstance(x.meta, Piled):
        if isinstance(at, int):
            return x.meta.parts[at]
        t.refuse("a part of values that are stacked before their rows")
    if isinstance(x, Sym) and isinstance(x.meta, Ids):
        if isinstance(at, tuple) and len(at) == 2 and full(at[0]) and isinstance(at[1], int) and x.meta.columns:
            column = at[1] % raw(x).shape[1]
            return symbol(raw(x)[:, column], Ids(f"{x.meta.name}.{column}", x.meta.axis))
        if isinstance(at, Sym):
            t.refuse("whole numbers picked by an index")
        return NotImplemented
    if isinstance(x, Sym) and isinstance(x.meta, Types) and isinstance(at, Sym) and isinstance(at.meta, TypeMask):
        return raw(x)[raw(at)]
    if isinstance(inner, Sym):
        if isinstance(at, tuple) and not all(full(k) for k in at[1:]):
            t.refuse("rows and columns picked at once")
        return picked(t, x, inner)
    if isinstance(at, tuple) and any(isinstance(k, Sym) for k in at):
        t.refuse("columns picked by values")
    return NotImplemented


def of_edges(t, x, at):
    if isinstance(at, int):
        return ends_of(x, at % 2)
    if isinstance(at, tuple) and isinstance(at[0], int) and len(at) == 2 and full(at[1]):
        return ends_of(x, at[0] % 2)
    order = at.tolist() if isinstance(at, torch.Tensor) and not isinstance(at, Sym) else at
    if isinstance(order, (list, tuple)) and not any(isinstance(k, (torch.Tensor, slice)) for k in order) and list(order) == [1, 0]:
        return symbol(raw(x)[[1, 0]], x.meta.then("reverse"))
    if isinstance(at, tuple) and len(at) == 2 and full(at[0]) and isinstance(at[1], Sym) and isinstance(at[1].meta, TypeMask):
        if at[1].meta.flip or str(at[1].meta.edges) != str(x.meta):
            t.refuse("a part of the edges")
        return symbol(raw(x)[:, raw(at[1])], x.meta.then(at[1].meta.op))
    if isinstance(at, tuple) and len(at) == 2 and full(at[0]) and not isinstance(at[1], (Sym, int)):
        part = raw(x)[:, plain(at[1])]
        if part.shape == raw(x).shape and bool((part == raw(x)).all()):
            return x
    t.refuse("a part of the edges")


@on("squeeze")
def squeeze(t, x, *dims, **kwargs):
    dim = kwargs.get("dim", dims[0] if dims else None)
    if isinstance(x.meta, Piled) and len(x.meta.parts) == 1 and dim in (None, 0, -raw(x).dim()):
        return x.meta.parts[0] if dim is not None else x.meta.parts[0].squeeze()
    return NotImplemented


@on("unbind", "__iter__", "chunk", "split", "tensor_split")
def unbind(t, x, *args, **kwargs):
    if isinstance(x.meta, Edges):
        return iter((ends_of(x, 0), ends_of(x, 1))) if t.handling == "__iter__" else (ends_of(x, 0), ends_of(x, 1))
    if isinstance(x.meta, Piled):
        return iter(x.meta.parts) if t.handling == "__iter__" else tuple(x.meta.parts)
    return NotImplemented


@on("flip", "flipud")
def flip(t, x, *dims, **kwargs):
    if isinstance(x.meta, Edges):
        dims = kwargs.get("dims", dims)
        dims = dims[0] if dims and isinstance(dims[0], (list, tuple)) else dims
        return symbol(raw(x).flip(0), x.meta.then("reverse")) if tuple(dims) in ((0,), (-2,), ()) else t.refuse("edges in another order")
    return NotImplemented


@on("stack")
def stack(t, tensors, dim=0, **_):
    ends = list(tensors)
    if dim == 0 and len(ends) == 2 and all(isinstance(x, Sym) and isinstance(x.meta, Ends) for x in ends) and str(ends[0].meta.edges) == str(ends[1].meta.edges):
        (first, second), edges = (x.meta.side for x in ends), ends[0].meta.edges
        data = torch.stack([raw(x) for x in ends])
        if (first, second) in ((0, 1), (1, 0)):
            return symbol(data, edges if first == 0 else edges.then("reverse"))
    return NotImplemented


@on("cat")
def cat(t, tensors, dim=0, **_):
    piled = [x for x in tensors if isinstance(x, Sym) and isinstance(x.meta, Piled)]
    if piled and len(piled) == len(tensors) and dim % raw(piled[0]).dim() != 0 and len({len(x.meta.parts) for x in piled}) == 1:
        parts = [torch.cat(same, dim % raw(piled[0]).dim() - 1) for same in zip(*[x.meta.parts for x in piled])]
        return symbol(torch.stack([raw(p) for p in parts]), Piled(parts))
    if any(isinstance(x, Sym) and isinstance(x.meta, INDICES) for x in tensors):
        if len(tensors) == 1:
            return tensors[0]
        t.refuse("indices joined to others")
    return NotImplemented


# ---- rows of edges and graphs ----


def picked(t, x, index):
    """Rows x[index]."""
    meta = index.meta
    if not isinstance(x, Sym):
        return from_table(t, x, index)
    if isinstance(x.meta, Types) and isinstance(meta, (TypeMask, Mask)):
        return raw(x)[raw(index)]
    if isinstance(meta, Chosen):
        return pyg_choices.picked(t, x, index)
    if not is_value(x):
        return NotImplemented if not isinstance(x.meta, INDICES) else t.refuse("indices picked by indices")
    part = (meta.edges if isinstance(meta, Ends) else meta).part if isinstance(meta, (Ends, Batch)) else None
    if isinstance(x.meta.axis, Selected) and (part is None or part_of(x.meta.axis) is not part):
        t.refuse("rows picked twice")
    value = raw(x)[raw(index)]
    if isinstance(meta, Ends):
        if part is not part_of(x.meta.axis):
            t.refuse("rows of all nodes by edges between chosen ones")
        name = t.edge_rows(x.meta.name, meta.edges, meta.side, width(x))
        carry_positive(t, x, name)
        return symbol(value, Rows(name, axis_of(meta.edges)))
    if isinstance(meta, Batch):
        name = t.heard(x.meta.name, "sum", t.slot("spread"), width(x))
        carry_positive(t, x, name)
        return symbol(value, Rows(name, "nodes" if part is None else Selected(part, "nodes")))
    if isinstance(meta, (Mask, TypeMask)) and raw(index).dim() != 1:
        t.refuse("single values picked by a mask")
    if isinstance(meta, Places):
        return symbol(value, Rows(x.meta.name, Selected(meta.mask, x.meta.axis)))
    if isinstance(meta, (Mask, TypeMask)) and (isinstance(meta, Mask) or meta.flip or str(x.meta.axis) != str(meta.edges)):
        return symbol(value, Rows(x.meta.name, Selected(index, x.meta.axis)))
    if isinstance(meta, TypeMask) and isinstance(x.meta.axis, Edges):
        edges = x.meta.axis.then(meta.op)
        return symbol(value, Rows(t.heard(x.meta.name, "sum", t.slot("carried", str(edges)), width(x)), axis_of(edges)))
    t.refuse("rows picked by values")


def carry_positive(t, x, name):
    if x.meta.name in t.positive:
        t.positive.add(name)


def from_table(t, table, index):
    """Rows of a constant: a table by ids, or what all rows share."""
    if isinstance(index.meta, (Ids, Types)) and raw(index).dim() == 1:
        name = t.embed(index.meta.name, table.detach().reshape(table.shape[0], -1).float(), table.requires_grad)
        return symbol(table.detach()[raw(index)], Rows(name, index.meta.axis if isinstance(index.meta, Ids) else index.meta.edges))
    if isinstance(index.meta, (Mask, TypeMask)):
        t.refuse("a constant picked by a mask")
    row = constant_row(t, table, table.shape)
    return row.expand((raw(index).shape[0],) + tuple(row.shape)).clone()


@on("index_select")
def index_select(t, x, dim, index):
    if isinstance(x, Sym) and isinstance(x.meta, Piled) and dim % x.dim() == 1:
        parts = [p.index_select(0, index) for p in x.meta.parts]
        return symbol(torch.stack([raw(p) for p in parts]), Piled(parts))
    if isinstance(index, Sym) and dim % x.dim() == 0:
        return picked(t, x, index)
    return NotImplemented if not isinstance(index, Sym) else t.refuse("columns picked by values")


@on("gather", "take_along_dim")
def gather(t, x, dim, index, **_):
    t.refuse(f"{t.handling}")


@on("repeat_interleave")
def repeat_interleave(t, x, *args, **kwargs):
    if isinstance(x, Sym) and is_value(x) and not any(isinstance(a, Sym) for a in args):
        return NotImplemented
    t.refuse("repeat_interleave by values")


@on("embedding")
def embedding(t, index, weight, padding_idx=None, max_norm=None, *args, **kwargs):
    if not isinstance(index, Sym):
        index, weight = weight, index
    if isinstance(weight, Sym) or max_norm is not None:
        t.refuse("an embedding whose table follows from values, or with max_norm")
    if isinstance(index.meta, Ids) and index.meta.columns:
        t.refuse("an embedding of several columns of whole numbers at once")
    return from_table(t, weight, index)


@on("one_hot")
def one_hot(t, index, num_classes=-1):
    if num_classes < 0 or not isinstance(index.meta, (Ids, Types)):
        t.refuse("one_hot without num_classes")
    return symbol(torch.nn.functional.one_hot(raw(index), num_classes), OneHot(index.meta, num_classes))


class OneHot(Ids):
    def __init__(self, of, classes):
        super().__init__(of.name, getattr(of, "axis", getattr(of, "edges", None)))
        self.classes = classes


@on("nonzero")
def nonzero(t, x, *, as_tuple=False):
    if isinstance(x.meta, (Mask, TypeMask)) and raw(x).dim() == 1:
        at = symbol(raw(x).nonzero(), Places(x))
        return (symbol(raw(at).view(-1), at.meta),) if as_tuple else at
    return NotImplemented


@on("index_copy")
def index_copy(t, x, dim, index, source):
    if isinstance(index, Sym) and isinstance(index.meta, Places) and dim % x.dim() == 0:
        return pyg_axes.setitem(t, x, index.meta.mask, source)
    return NotImplemented


@on("setitem")
def setitem(t, x, at, value):
    if isinstance(at, Sym) and isinstance(at.meta, Places):
        return pyg_axes.setitem(t, x, at.meta.mask, value)
    return NotImplemented


@on("float", "to", "type", "type_as", "double")
def as_float(t, x, *args, **kwargs):
    if isinstance(x.meta, OneHot):
        value = raw(x).float()
        return symbol(value, Rows(t.embed(x.meta.name, torch.eye(x.meta.classes), False), x.meta.axis))
    out = getattr(raw(x), t.handling)(*plain(args), **plain(kwargs))
    if isinstance(x.meta, (Mask,)):
        return NotImplemented
    if out.is_floating_point() and isinstance(x.meta, Ids):
        name = x.meta.name if x.meta.axis else None
        t.refuse(f"whole numbers ({name}) as features: give them as float32")
    return NotImplemented


@on("eq", "ne")
def equal(t, x, z):
    if isinstance(x, Sym) and isinstance(x.meta, Types) and not isinstance(z, torch.Tensor) and t.handling == "eq":
        return symbol(raw(x) == z, TypeMask(x.meta.edges, f"type={int(z)}"))
    if isinstance(x, Sym) and isinstance(x.meta, Ids) and not x.meta.columns and not isinstance(z, torch.Tensor):
        return symbol(getattr(torch, t.handling)(raw(x), z), IdMask(x, int(z), t.handling == "ne"))
    if isinstance(x, Sym) and isinstance(z, Sym) and isinstance(x.meta, Ends) and isinstance(z.meta, Ends) and str(x.meta.edges) == str(z.meta.edges):
        return symbol(getattr(torch, t.handling)(raw(x), raw(z)), TypeMask(x.meta.edges, "without_loops", t.handling == "eq"))
    return NotImplemented


@on("logical_not")
def logical_not(t, x):
    if isinstance(x.meta, Mask):
        m = x.meta
        if isinstance(m, IdMask):
            return symbol(~raw(x), IdMask(m.of, m.number, not m.flip))
        return symbol(~raw(x), Mask(m.of, m.low, m.high, not m.flip))
    if isinstance(x.meta, TypeMask):
        return symbol(~raw(x), TypeMask(x.meta.edges, x.meta.op, not x.meta.flip))
    return NotImplemented


@on("sum", "mean", "max", "min", "amax", "amin")
def along_pile(t, x, dim=None, *args, **kwargs):
    word = t.handling
    if not isinstance(x, Sym) or not isinstance(x.meta, Piled):
        return NotImplemented
    parts = x.meta.parts
    if dim == 1 and not args and not kwargs and word in ("sum", "mean"):
        return torch.stack([getattr(p, word)(0) for p in parts])
    if dim is not None and not isinstance(dim, int) and len(dim) == 1:
        dim = dim[0]
    if dim not in (0, -raw(x).dim()) or args or kwargs.get("keepdim"):
        t.refuse(f"{word} of values that are stacked before their rows")
    if word in ("sum", "mean"):
        made = parts[0]
        for p in parts[1:]:
            made = made + p
        return made if word == "sum" else made / len(parts)
    made = parts[0]
    for p in parts[1:]:
        made = torch.maximum(made, p) if "max" in word else torch.minimum(made, p)
    return made if word in ("amax", "amin") else getattr(torch.return_types, word)((made, symbol(getattr(torch, word)(raw(x), 0).indices, Opaque("places of the largest values"))))


# ---- what is scattered ----

WORDS = {"sum": "sum", "add": "sum", "mean": "mean", "max": "max", "amax": "max", "min": "min", "amin": "min"}


def scattered(t, src, index, reduce, count):
    """Rows of src aggregated by an index: over edges, over a batch, or, where it is all 0, over everything."""
    src = as_value(t, src)
    if is_value(src) and isinstance(src.meta.axis, Selected) and part_of(src.meta.axis) is None:
        t.refuse("values scattered that a mask picked")
    word = WORDS.get(reduce) or ("mul" if reduce in ("mul", "prod") else t.refuse(f"scatter with reduce={reduce!r}"))
    if not isinstance(index, Sym):
        if isinstance(index, torch.Tensor) and not bool((index != 0).any()) and is_value(src) and count in (1, None):
            from_rows = symbol(raw(src), src.meta)
            name = t.whole(from_rows, word) if word != "mul" else t.refuse("a product over all nodes")
            return symbol(REDUCE[word](raw(src)).unsqueeze(0), Rows(name, "one", True))
        t.refuse("values scattered by constants")
    if isinstance(index.meta, Ends):
        edges = index.meta.edges if index.meta.side == 1 else index.meta.edges.then("reverse")
        graph, axis = t.slot("incidence", str(edges)), "nodes" if edges.part is None else Selected(edges.part, "nodes")
        t.slot_of_edges(index.meta.edges)
    elif isinstance(index.meta, Batch):
        graph, axis = t.slot("readout"), "graphs"
    elif not isinstance(src, Sym):
        return t.real["scatter"](src, raw(index), 0, count, reduce)
    else:
        t.refuse("values scattered by an index that is neither an end of edges nor a batch")
    at = raw(index)
    if at.dim() > 1:
        at = at.reshape(at.shape[0], -1)[:, 0]
    value = t.real["scatter"](raw(src) if isinstance(src, Sym) else src.detach().float(), at, 0, dim_size=count, reduce=word)
    part = (index.meta.edges if isinstance(index.meta, Ends) else index.meta).part
    if is_value(src) and src.meta.lone:
        t.refuse("one row scattered")
    if is_value(src) and part_of(src.meta.axis) is not part:
        t.refuse("values of all nodes or edges scattered to chosen ones, or the reverse")
    if part is not None:
        own = Selected(part, index.meta.edges if isinstance(index.meta, Ends) else "nodes")
        src = src if is_value(src) else pyg_choices.constant_value(t, src, own)
        name = pyg_choices.aggregated(t, src, word, graph)
        if word in ("sum", "max", "mean", "min"):
            carry_positive(t, src, name)
        return symbol(value, Rows(name, axis))
    if is_value(src):
        name = t.heard(src.meta.name, word, graph, width(src)) if word != "mul" else t.over_graph("segment_product", src.meta.name, width(src), graph)
        if word in ("sum", "max", "mean", "min"):
            carry_positive(t, src, name)
        return symbol(value, Rows(name, axis))
    return scattered_constant(t, src, word, graph, axis, value)


REDUCE = {"mul": lambda v: v.prod(0), "sum": lambda v: v.sum(0), "mean": lambda v: v.mean(0), "max": lambda v: v.amax(0), "min": lambda v: v.amin(0)}


def scattered_constant(t, src, word, graph, axis, value):
    """A constant row from each sender: as often as the receiver has senders."""
    row = constant_row(t, src, src.shape)
    degree = t.degree(graph)
    n = value.shape[0]
    if word == "mul":
        t.refuse("products of constants")
    if word != "sum":
        degree = t.op("clamp", degree, 1, 0.0, 1.0)
    counts = value.reshape(n, -1)[:, :1] / float(row.reshape(-1)[0]) if row.numel() and float(row.reshape(-1)[0]) else torch.zeros(n, 1)
    counts = symbol(counts, Rows(degree, axis))
    run = lambda v: (v[0] * row.detach().reshape(1, -1)).reshape((n,) + tuple(value.shape[1:]))
    made = affine(t, "mul", [counts], run, value, src.requires_grad)
    return made


@on("scatter_add", "index_add", "scatter_reduce", "index_reduce", "scatter")
def scatter_method(t, x, dim, index, src=None, reduce="sum", *, include_self=True, alpha=1, source=None, value=None):
    src = source if src is None else src
    if t.handling == "scatter" and reduce == "sum":
        t.refuse("values put at indices")
    if not isinstance(index, Sym):
        return NotImplemented if not isinstance(x, Sym) else t.refuse("values scattered by constants")
    if dim % x.dim() != 0 or alpha != 1:
        t.refuse(f"{t.handling} along another axis than that of rows")
    if raw(index).dim() == 1 and isinstance(src, torch.Tensor) and src.dim() == 2 and t.handling.startswith("scatter"):
        t.refuse("an index of one axis for values of two")
    empty = not isinstance(x, Sym) and not bool((x != 0).any())
    made = scattered(t, src, index, reduce, x.shape[0])
    if reduce in ("mul", "prod") and not isinstance(x, Sym) and not bool((x != 1).any()):
        return made
    if empty and reduce not in ("mul", "prod") and (not include_self or WORDS.get(reduce) == "sum"):
        return made
    if WORDS.get(reduce) == "sum":
        return sum_of(t, made, x)
    t.refuse(f"{t.handling} into other values")


# ---- PyG's own functions ----


def scatter(src, index, dim=0, dim_size=None, reduce="sum"):
    t = pyg_symbols.TRACES[-1] if pyg_symbols.TRACES else None
    if t is None or not (isinstance(src, Sym) or isinstance(index, Sym)):
        return REAL["scatter"](src, index, dim, dim_size, reduce)
    if isinstance(src, Sym) and isinstance(src.meta, Piled) and dim % src.dim() == 1:
        parts = [scatter(p, index, 0, dim_size, reduce) for p in src.meta.parts]
        return symbol(torch.stack([raw(p) for p in parts]), Piled(parts))
    if dim % src.dim() != 0:
        t.refuse("values scattered along another axis than the first")
    if dim_size is None and isinstance(index, Sym):
        if isinstance(index.meta, Ends):
            t.covers(index.meta.edges, index.meta.side)
        dim_size = int(raw(index).max()) + 1
    return scattered(t, src, index, reduce, dim_size)


def carried(t, x, edges):
    """A value on the edges of a list as one on the edges that it became."""
    if not isinstance(x, Sym):
        return None
    return t.heard(x.meta.name, "sum", t.slot("carried", str(edges)), width(x))


def remove_self_loops(edge_index, edge_attr=None):
    t = pyg_symbols.TRACES[-1] if pyg_symbols.TRACES else None
    if t is None or not isinstance(edge_index, Sym):
        return REAL["remove_self_loops"](edge_index, edge_attr)
    edges = edge_index.meta.then("without_loops")
    data, value = REAL["remove_self_loops"](raw(edge_index), plain(edge_attr))
    out = symbol(data, edges)
    if edge_attr is None:
        return out, None
    if not isinstance(edge_attr, Sym):
        row = constant_row(t, edge_attr, edge_attr.shape)
        return out, row.expand((data.shape[1],) + tuple(row.shape)).clone()
    if isinstance(edge_attr.meta, Types):
        return out, symbol(value, Types(edges, edge_attr.meta.name))
    return out, symbol(value, Rows(carried(t, edge_attr, edges), axis_of(edges)))


def looped(function, op):
    """add_self_loops or add_remaining_self_loops."""
    def call(edge_index, edge_attr=None, fill_value=None, num_nodes=None):
        t = pyg_symbols.TRACES[-1] if pyg_symbols.TRACES else None
        if t is None or not isinstance(edge_index, Sym):
            return REAL[function](edge_index, edge_attr, fill_value, num_nodes)
        if isinstance(num_nodes, (tuple, list)):
            if len(set(num_nodes)) > 1:
                t.refuse("self-loops between different counts of senders and receivers")
            num_nodes = num_nodes[0]
        if num_nodes is None:
            t.covers(edge_index.meta)
        edges = edge_index.meta.then(op)
        attr = edge_attr
        if isinstance(attr, torch.Tensor) and not isinstance(attr, Sym):
            attr = None if fill_value is None or isinstance(fill_value, (int, float)) else t.refuse("constant edge features with a fill_value by aggregation")
            row = constant_row(t, edge_attr, edge_attr.shape)
            data, _ = REAL[function](raw(edge_index), None, None, num_nodes)
            same = bool((row == (1.0 if fill_value is None else fill_value)).all())
            if same:
                return symbol(data, edges), row.expand((data.shape[1],) + tuple(row.shape)).clone()
            data, value = REAL[function](raw(edge_index), edge_attr.detach(), fill_value, num_nodes)
            kept = symbol((value.reshape(value.shape[0], -1)[:, :1] * 0 + 1), Rows(t.degree(t.slot("carried", str(edges))), axis_of(edges)))
            fill = 1.0 if fill_value is None else float(fill_value)
            run = lambda v: (v[0] * row.detach().reshape(1, -1) + (1 - v[0]) * fill).reshape(value.shape)
            return symbol(data, edges), affine(t, "mul", [kept], run, value)
        data, value = REAL[function](raw(edge_index), plain(attr), plain(fill_value), num_nodes)
        out = symbol(data, edges)
        if attr is None:
            return out, None
        if not is_value(attr):
            t.refuse("self-loops that are added to typed edges")
        moved = symbol(value, Rows(carried(t, attr, edges), axis_of(edges)))
        fill = 1.0 if fill_value is None else fill_value
        if isinstance(fill, (int, float)) and fill == 0:
            return out, moved
        graph = t.slot("carried", str(edges))
        if isinstance(fill, str):
            per_node = scattered(t, attr, ends_of(edge_index, 1), fill, num_nodes or int(raw(edge_index).max()) + 1)
            at_loops = symbol(value, Rows(t.heard(per_node.meta.name, "sum", t.slot("loops", str(edges)), width(attr)), axis_of(edges)))
            if op == "remaining":
                at_loops = mul(t, at_loops, added(t, graph, value, edges))
            return out, symbol(value, sum_of(t, moved, at_loops).meta)
        if isinstance(fill, torch.Tensor):
            fill = fill.float().expand(rest(attr)) if fill.dim() <= len(rest(attr)) else fill.float().reshape(rest(attr))
        extra = added(t, graph, value, edges)
        wide = affine(t, "mul", [extra], lambda v: (v[0] * torch.as_tensor(fill).detach().reshape(1, -1)).expand(v[0].shape[0], width(attr)).reshape(value.shape),
                      value * 0, isinstance(fill, torch.Tensor) and fill.requires_grad)
        return out, symbol(value, sum_of(t, moved, wide).meta)
    return call


def added(t, graph, value, edges):
    """1 at self-loops that are added, 0 at edges that were there."""
    there = symbol(torch.ones(value.shape[0], 1), Rows(t.degree(graph), axis_of(edges)))
    return sum_of(t, scaled(t, there, -1.0), 1.0)


def contains_self_loops(edge_index, *args, **kwargs):
    return REAL["contains_self_loops"](plain(edge_index), *args, **kwargs)


REAL = {}
STANDINS = {"scatter": scatter, "remove_self_loops": remove_self_loops, "add_self_loops": looped("add_self_loops", "add_loops"),
            "add_remaining_self_loops": looped("add_remaining_self_loops", "remaining"), "contains_self_loops": contains_self_loops}


class Standins:
    """While a trace runs, functions of PyG are those of this file, by whatever name a module knows them."""

    without = {}  # installed modules that have none of these functions, and how many names they had

    def __enter__(self):
        import torch_geometric.utils as U
        REAL.update({name: getattr(U, name) for name in STANDINS if getattr(U, name) is not STANDINS[name]})
        by_id = {id(function): STANDINS[name] for name, function in REAL.items()}
        self.changed = []
        for key, module in list(sys.modules.items()):
            names = getattr(module, "__dict__", None)
            if not isinstance(names, dict) or self.without.get(key) == (id(names), len(names)) or names is globals():
                continue
            if by_id.keys().isdisjoint(map(id, names.values())):
                file = names.get("__file__")
                if isinstance(file, str) and not is_users(file):
                    self.without[key] = id(names), len(names)
                continue
            for name, value in list(names.items()):
                if id(value) in by_id and callable(value):
                    self.changed.append((names, name, value))
                    names[name] = by_id[id(value)]
        return self

    def __exit__(self, *_):
        for names, name, value in self.changed:
            names[name] = value
