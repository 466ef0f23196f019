"""Functions of a trace's tensors (pyg_symbols.py) along axes: sums, extremes and norms of a value's
columns, products of matrices, recurrent cells, lists of values, rows by indices.
"""
import math

import torch
import torch.nn.functional as F

from .pyg_elementwise import absolute, as_value, clamp, constant_row, div, exp, is_value, log, maximum, minimum, mul, neg, positive, rsqrt, scaled, sqrt, sum_of, unary, where
from .pyg_symbols import Mask, Opaque, Piled, Rows, Selected, Sym, TypeMask, handles, raw, rest, rowwise, symbol, width

# ---- along axes ----


def axes_of(x, dim):
    count = raw(x).dim()
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(count))
    return tuple(d % max(count, 1) for d in (dim if isinstance(dim, (tuple, list)) else (dim,)))


def reduced(t, name, x, dim, keepdim, run):
    """A sum or mean along axes of which the first is that of rows: over the whole graph."""
    axes = axes_of(x, dim)
    if isinstance(x.meta, Rows) and not x.meta.lone and 0 in axes:
        inner = tuple(d for d in axes if d > 0)
        y = rowwise(t, name, lambda v: run(v, inner, True), (x,), {}) if inner else x
        value = run(raw(x), axes, keepdim)
        return symbol(value, Rows(t.whole(y, name), "one", True))
    return rowwise(t, name, lambda v: run(v, axes, keepdim), (x,), {})


@handles("sum", "mean")
def total(t, x, dim=None, keepdim=False, *, axis=None, dtype=None, out=None):
    word = t.handling
    dim = axis if dim is None else dim
    x = as_value(t, x)
    if not is_value(x):
        return NotImplemented if isinstance(x, Sym) else getattr(torch, word)(x)
    return reduced(t, word, x, dim, keepdim, lambda v, axes, keep: getattr(torch, word)(v, dim=axes, keepdim=keep))


def pieces(t, x, dim):
    """The values along an axis of features."""
    return [rowwise(t, "select", lambda v, k=k: v.select(dim, k), (x,), {}) for k in range(raw(x).shape[dim])]


def extreme(t, word, x, dim, keepdim):
    dim = axes_of(x, dim)
    if dim == tuple(range(raw(x).dim())) and len(dim) > 1 and not x.meta.lone:
        y = x
        for d in reversed(dim[1:]):
            y = extreme(t, word, y, d, False)
        return extreme(t, word, y, 0, False)
    if len(dim) != 1:
        t.refuse("extremes along several axes")
    function = torch.amax if word == "max" else torch.amin
    value = function(raw(x), dim, keepdim)
    if dim[0] == 0 and not x.meta.lone:
        return symbol(value, Rows(t.whole(x, word), "one", True))
    parts = pieces(t, x, dim[0])
    if len(parts) > 64:
        t.refuse("the largest of so many columns")
    parts = parts if word == "max" else [neg(t, p) for p in parts]
    name = t.many_names("maximum", [p.meta.name for p in parts], width(parts[0]))
    out = symbol(torch.amax(raw(x) if word == "max" else -raw(x), dim, keepdim), Rows(name, x.meta.axis, x.meta.lone))
    return out if word == "max" else neg(t, out)


@handles("amax", "amin")
def amax(t, x, dim=(), keepdim=False, *, out=None):
    return extreme(t, t.handling[1:], x, dim, keepdim)


@handles("max", "min")
def largest(t, x, dim=None, keepdim=False, *, other=None, out=None):
    word = t.handling
    if isinstance(dim, torch.Tensor) or other is not None:
        return (maximum if word == "max" else minimum)(t, x, dim if other is None else other)
    if not is_value(x):
        return NotImplemented
    out = extreme(t, word, x, dim, keepdim)
    if dim is None:
        return out
    at = getattr(torch, word)(raw(x), dim, keepdim)
    return getattr(torch.return_types, word)((out, symbol(at.indices, Opaque("the places of the largest values"))))


@handles("argmax", "argmin", "argsort", "topk", "sort", "nonzero", "unique", "kthvalue", "median", "quantile", "bincount", "histc", "cdist")
def ranks(t, x, *_, **__):
    t.refuse(t.handling)


@handles("var", "std", "var_mean", "std_mean")
def variance(t, x, dim=None, unbiased=True, keepdim=False, *, correction=None):
    word = t.handling
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    axes = axes_of(x, dim)
    count = math.prod(raw(x).shape[d] for d in axes)
    less = correction if correction is not None else int(bool(unbiased))
    if 0 in axes and less and not x.meta.lone:
        t.refuse("an unbiased variance over the nodes (biased ones are known)")
    t.handling = "mean"
    mean = total(t, x, axes, True)
    u = sum_of(t, x, mean, -1)
    t.handling = "mean"
    v = total(t, mul(t, u, u), axes, keepdim)
    v = v if not less else scaled(t, v, count / (count - less))
    v = v if word.startswith("var") else sqrt(t, v)
    return v if not word.endswith("mean") else (v, mean)


@handles("norm", "vector_norm", "linalg_vector_norm", "linalg_norm")
def norm(t, x, p=2, dim=None, keepdim=False, *, ord=None, dtype=None, out=None):
    p = p if ord is None else ord
    if p not in (2, 2.0, "fro", 1, 1.0, None):
        t.refuse(f"a norm with p={p}")
    t.handling = "sum"
    if p in (1, 1.0):
        return total(t, absolute(t, x), dim, keepdim)
    return sqrt(t, total(t, mul(t, x, x), dim, keepdim))


@handles("normalize")
def normalize(t, x, p=2.0, dim=1, eps=1e-12, out=None):
    axes = axes_of(x, dim)
    if p == 2 and eps == 1e-12 and axes == (raw(x).dim() - 1,) and not x.meta.lone and axes != (0,):
        heads = math.prod(rest(x)[:-1])
        return unary(t, x, F.normalize(raw(x), dim=dim), "unit_heads", float(heads))
    length = norm(t, x, p, axes, True)
    t.handling = "clamp"
    return div(t, x, clamp(t, length, eps))


@handles("softmax", "log_softmax", "softmin")
def softmax(t, x, dim=None, _stacklevel=3, dtype=None):
    word = t.handling
    if not is_value(x) or dim is None:
        t.refuse(f"{word} of this")
    axes = axes_of(x, dim)
    if axes[0] == 0 and not x.meta.lone:
        t.refuse(f"{word} along the rows of a value")
    if word == "softmin":
        x = neg(t, x)
    if len(rest(x)) == 1:
        made = unary(t, x, torch.softmax(raw(x), axes[0]), "softmax_rows")
        return made if word != "log_softmax" else unary(t, made, torch.log_softmax(raw(x), axes[0]), "log")
    up = exp(t, sum_of(t, x, extreme(t, "max", x, axes[0], True), -1))
    t.handling = "sum"
    made = div(t, up, positive(t, total(t, up, axes, True)))
    return made if word != "log_softmax" else log(t, made)


@handles("logsumexp")
def logsumexp(t, x, dim, keepdim=False):
    largest_one = extreme(t, "max", x, dim, True)
    t.handling = "sum"
    y = sum_of(t, log(t, total(t, exp(t, sum_of(t, x, largest_one, -1)), dim, True)), largest_one)
    return y if keepdim else rowwise(t, "squeeze", lambda v: v.squeeze(dim), (y,), {})


@handles("layer_norm")
def layer_norm(t, x, normalized_shape, weight=None, bias=None, eps=1e-5, *_):
    axes = tuple(range(raw(x).dim() - len(normalized_shape), raw(x).dim()))
    if 0 in axes and not x.meta.lone:
        t.refuse("a layer norm along rows")
    t.handling = "mean"
    u = sum_of(t, x, total(t, x, axes, True), -1)
    t.handling = "mean"
    y = mul(t, u, rsqrt(t, sum_of(t, total(t, mul(t, u, u), axes, True), eps)))
    y = y if weight is None else mul(t, y, weight)
    return y if bias is None else sum_of(t, y, bias)


@handles("batch_norm")
def batch_norm(t, x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    if not training:
        return NotImplemented
    if running_mean is not None or raw(x).dim() != 2:
        t.refuse("a batch norm that moves its statistics")
    u = x - x.mean(0, keepdim=True)
    y = u * ((u * u).mean(0, keepdim=True) + eps).rsqrt()
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


@handles("dropout", "alpha_dropout", "feature_dropout", "dropout1d", "feature_alpha_dropout", "dropout2d", "dropout3d", "native_dropout")
def dropout(t, x, p=0.5, training=True, inplace=False, *_, train=None):
    training = training if train is None else train
    if not training or p == 0:
        return x
    if not t.training:
        t.refuse(f"dropout that is on in evaluation too (p={p}, training=True)")
    if t.handling != "dropout" or not p < 1 or not is_value(x) or x.meta.lone:
        t.refuse(f"{t.handling} of this in training (p={p})")
    return symbol(raw(x).clone(), Rows(t.append("dropout", width(x), kind="dropout", input=x.meta.name, rate=float(p)), x.meta.axis, x.meta.lone))


@handles("cumsum", "cumprod", "cummax", "logcumsumexp")
def cumulative(t, x, dim, **__):
    if axes_of(x, dim)[0] == 0 and not x.meta.lone or t.handling != "cumsum":
        t.refuse(f"{t.handling} of this")
    return NotImplemented


# ---- products of values, cells ----


@handles("linear")
def linear(t, x, weight, bias=None):
    """A product whose matrix is exact: what unit vectors give would be rounded."""
    if not is_value(x) or isinstance(weight, Sym) or isinstance(bias, Sym):
        if is_value(x) and isinstance(weight, Sym):
            t.refuse("a product with a matrix that follows from values")
        return NotImplemented
    out = F.linear(raw(x), weight.detach(), None if bias is None else bias.detach())
    shape = rest(x)
    if len(shape) != 1:
        return NotImplemented
    trainable = weight.requires_grad or (bias is not None and bias.requires_grad)
    name = t.product(x.meta.name, weight.detach().t(), torch.zeros(weight.shape[0]) if bias is None else bias.detach(), trainable, whole=True)
    return symbol(out, Rows(name, x.meta.axis, x.meta.lone))


@handles("addmm")
def addmm(t, bias, x, weight, *, beta=1, alpha=1):
    return alpha * (x @ weight) + beta * bias


@handles("matmul", "bmm", "mm")
def matmul(t, x, z, *, out=None):
    if is_value(x) and not isinstance(z, Sym):
        if raw(x).dim() == 2 and z.dim() == 2 and not x.meta.lone:
            return linear(t, x, z.t())
        return NotImplemented
    if not (is_value(x) and is_value(z)):
        return NotImplemented
    a, b = raw(x), raw(z)
    if x.meta.lone or z.meta.lone or a.shape[0] != b.shape[0] or a.dim() < 3 and b.dim() < 3:
        t.refuse("a product of two values across rows")
    if b.dim() == a.dim() - 1 and b.dim() == 2:
        letters = "nmk,nk->nm"
        t.refuse(f"a product of values ({letters})")
    if a.dim() != b.dim():
        t.refuse("a product of values of different axes")
    left = rowwise(t, "unsqueeze", lambda v: v.unsqueeze(-1), (x,), {})
    right = rowwise(t, "unsqueeze", lambda v: v.unsqueeze(-3), (z,), {})
    t.handling = "sum"
    return total(t, mul(t, left, right), raw(left).dim() - 2)


@handles("rmatmul")
def rmatmul(t, x, z):
    return matmul(t, z, x)


@handles("einsum")
def einsum(t, equation, *operands):
    operands = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    values = [x for x in operands if isinstance(x, Sym)]
    equation = equation.replace(" ", "")
    if len(values) < 2:
        return rowwise(t, "einsum", lambda *v: torch.einsum(equation, *v), tuple(operands), {})
    if len(operands) != 2 or "->" not in equation or "." in equation:
        t.refuse(f"einsum {equation!r} of two values")
    (left, right), out = equation.split("->")[0].split(","), equation.split("->")[1]
    if not left[0] == right[0] == out[0]:
        t.refuse(f"einsum {equation!r} across rows")
    inner = [c for c in dict.fromkeys(left + right) if c not in out]
    letters = out + "".join(inner)

    def aligned(x, own):
        order = [own.index(c) for c in letters if c in own]
        where_ = [k for k, c in enumerate(letters) if c not in own]

        def run(v):
            v = v.permute(order)
            for k in where_:
                v = v.unsqueeze(k)
            return v
        return rowwise(t, "permute", run, (x,), {})
    made = mul(t, aligned(operands[0], left), aligned(operands[1], right))
    t.handling = "sum"
    return made if not inner else total(t, made, tuple(range(len(out), len(letters))))


@handles("bilinear")
def bilinear(t, x, z, weight, bias=None):
    half = torch.einsum("ni,oij->noj", x, weight)
    y = (half * z.unsqueeze(1)).sum(-1)
    return y if bias is None else y + bias


@handles("cosine_similarity")
def cosine(t, x, z, dim=1, eps=1e-8):
    return (x * z).sum(dim) / (x.norm(dim=dim).clamp(min=eps) * z.norm(dim=dim).clamp(min=eps))


@handles("pairwise_distance")
def distance(t, x, z, p=2.0, eps=1e-6, keepdim=False):
    return (x - z + eps).norm(p=p, dim=-1, keepdim=keepdim)


@handles("gru_cell")
def gru_cell(t, x, h, w_ih, w_hh, b_ih=None, b_hh=None):
    i, r = F.linear(x, w_ih, b_ih).chunk(3, 1), F.linear(h, w_hh, b_hh).chunk(3, 1)
    reset, update = torch.sigmoid(i[0] + r[0]), torch.sigmoid(i[1] + r[1])
    new = torch.tanh(i[2] + reset * r[2])
    return new - update * new + update * h


@handles("lstm_cell")
def lstm_cell(t, x, hidden, w_ih, w_hh, b_ih=None, b_hh=None):
    gates = (F.linear(x, w_ih, b_ih) + F.linear(hidden[0], w_hh, b_hh)).chunk(4, 1)
    c = torch.sigmoid(gates[1]) * hidden[1] + torch.sigmoid(gates[0]) * torch.tanh(gates[2])
    return torch.sigmoid(gates[3]) * torch.tanh(c), c


@handles("rnn_tanh_cell", "rnn_relu_cell")
def rnn_cell(t, x, h, w_ih, w_hh, b_ih=None, b_hh=None):
    y = F.linear(x, w_ih, b_ih) + F.linear(h, w_hh, b_hh)
    return torch.tanh(y) if t.handling == "rnn_tanh_cell" else torch.relu(y)


@handles("max_pool1d")
def max_pool1d(t, x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest of windows along the last axis."""
    one = lambda v: v[0] if isinstance(v, (tuple, list)) else v
    size, step = one(kernel_size), one(kernel_size if stride is None or stride == [] else stride)
    if one(padding) or one(dilation) != 1 or ceil_mode or return_indices or not is_value(x):
        t.refuse("max_pool1d with padding, dilation, ceil_mode or indices")
    last = (raw(x).shape[-1] - size) // step * step + 1
    made = x[..., 0:last:step]
    for k in range(1, size):
        made = torch.maximum(made, x[..., k:k + last:step])
    return made


# ---- lists of values ----


@handles("cat")
def cat(t, tensors, dim=0, *, out=None):
    values = [as_value(t, x) for x in tensors]
    first = next(x for x in values if is_value(x))
    axis = dim % raw(first).dim()
    if axis == 0 and not first.meta.lone:
        if len(values) == 1:
            return values[0]
        if not all(is_value(x) and not x.meta.lone for x in values):
            values = [x for x in values if isinstance(x, Sym) or x.numel()]
            if not all(is_value(x) and not x.meta.lone for x in values):
                t.refuse("rows under constants")
        if any(isinstance(x.meta.axis, Selected) for x in values):
            t.refuse("rows joined that a mask picked")
        name = t.many_names("stack", [x.meta.name for x in values], width(first)) if len(values) > 1 else values[0].meta.name
        return symbol(torch.cat([raw(x) for x in values]), Rows(name, "stacked"))
    rows = raw(first).shape[0]
    values = [x if isinstance(x, Sym) or x.dim() < 1 or x.shape[0] != rows or first.meta.lone else constant_row(t, x, x.shape).unsqueeze(0).expand(x.shape) for x in values]
    fixed = [x for x in values if not isinstance(x, Sym)]
    if all(isinstance(x, Sym) for x in values) and all(len(rest(x)) == 1 for x in values) and not first.meta.lone and all(not x.meta.lone for x in values):
        names = [x.meta.name for x in values]
        name = t.concat_names(names, sum(width(x) for x in values)) if len(names) > 1 else names[0]
        return symbol(torch.cat([raw(x) for x in values], axis), Rows(name, first.meta.axis))
    del fixed
    return rowwise(t, "cat", lambda v: torch.cat(v, dim), (values,), {})


@handles("unsqueeze")
def unsqueeze(t, x, dim):
    if is_value(x) and not x.meta.lone and dim in (0, -raw(x).dim() - 1):
        return symbol(raw(x).unsqueeze(0), Piled([x]))
    return NotImplemented


@handles("stack")
def stack(t, tensors, dim=0, *, out=None):
    first = next(x for x in tensors if is_value(x))
    dim = dim % (raw(first).dim() + 1)
    if dim == 0 and not first.meta.lone:
        return symbol(torch.stack([raw(x) if isinstance(x, Sym) else x for x in tensors]), Piled(list(tensors)))
    return NotImplemented


@handles("hstack", "column_stack")
def hstack(t, tensors):
    return torch.cat([x if x.dim() > 1 else x.unsqueeze(1) for x in tensors], 1)


# ---- rows by indices ----


@handles("index_select")
def index_select(t, x, dim, index):
    if isinstance(index, Sym):
        t.refuse("rows picked by values")
    if dim % raw(x).dim() == 0 and x.meta.lone and raw(x).shape[0] == 1 and not bool((index != 0).any()):
        return x
    if dim % raw(x).dim() == 0 and not x.meta.lone:
        t.refuse("rows picked by constants")
    return NotImplemented


@handles("setitem")
def setitem(t, x, at, value):
    if isinstance(at, Sym) and isinstance(at.meta, (Mask, TypeMask)):
        if is_value(value) and not value.meta.lone:
            if not isinstance(value.meta.axis, Selected) or value.meta.axis.mask is not at:
                t.refuse("rows put where a mask holds that were not picked by it")
            whole = raw(x).clone() if isinstance(x, Sym) else x.clone()
            whole[raw(at)] = raw(value).to(whole.dtype)
            full = torch.zeros(whole.shape, dtype=whole.dtype)
            full[raw(at)] = raw(value).to(whole.dtype)
            made = where(t, at, symbol(full, Rows(value.meta.name, value.meta.axis.axis)), x)
            return symbol(whole, made.meta)
        return where(t, at, value, x)
    return NotImplemented


@handles("__getitem__")
def getitem(t, x, at):
    first = at[0] if isinstance(at, tuple) and at else at
    if is_value(x) and not x.meta.lone and first is None and (not isinstance(at, tuple) or all(k == slice(None) for k in at[1:])):
        return symbol(raw(x).unsqueeze(0), Piled([x]))
    if isinstance(x, Sym) and not x.meta.lone and isinstance(first, (int, list)) and not isinstance(first, bool):
        t.refuse(f"row {first} of a value")
    if is_value(x) and x.meta.lone and isinstance(at, torch.Tensor) and raw(x).shape[0] == 1 and not bool((at != 0).any()):
        return x
    return NotImplemented
