"""Functions of a trace's tensors (pyg_symbols.py), element by element: sums and products of two
values, activations and powers of one, masks.
"""
import math

import torch
import torch.nn.functional as F

from .pyg_symbols import HANDLERS, Edges, IdMask, Mask, Rows, Selected, Sym, TypeMask, affine, handles, raw, rest, symbol, width

# ---- two values, element by element ----


def constant_row(t, c, shape):
    """A constant that meets rows of `shape` = (n, ...): one row of it, where all are equal."""
    c = c.detach().float() if not c.requires_grad else c.float()
    wide = c.expand(shape) if c.dim() <= len(shape) else t.refuse("a constant of more axes than the value")
    if len(shape) and wide.shape[0] > 1 and not bool((wide[1:] == wide[:1]).all()):
        t.refuse("a constant whose rows differ (their count would be that of this graph's nodes or edges)")
    return wide[0] if len(shape) else wide


def spread(t, x, shape):
    """The value with its axes after the rows' spread to those of a result of `shape`; the name of the step and whether it is one row."""
    want = shape[1:]
    if x.meta.lone:
        have = rest(x)
        if len(have) == len(shape):
            have = have[1:]
        y = symbol(raw(x).reshape(have), Rows(x.meta.name, x.meta.axis, True))
        y = y if tuple(have) == tuple(want) else affine(t, "expand", [y], lambda v: v[0].expand(want), raw(y).expand(want))
        return y.meta.name, True
    if raw(x).dim() != len(shape):
        t.refuse("values whose rows lie along different axes")
    if rest(x) == tuple(want):
        return x.meta.name, False
    return affine(t, "expand", [x], lambda v: v[0].expand((v[0].shape[0],) + tuple(want)), raw(x).expand(shape)).meta.name, False


def is_by_block(x, shape):
    """Are the columns of x those of a result of `shape`, one for each of several equal blocks?"""
    have, want = rest(x), tuple(shape[1:])
    if x.meta.lone or len(have) != len(want):
        return False
    k = 0
    while k < len(have) and have[k] == want[k]:
        k += 1
    return all(h == 1 for h in have[k:])


def both(t, kind, x, z, out, **fields):
    """A step of two values: add, multiply or maximum."""
    kinds = {kind_of_rows(v.meta.axis) for v in (x, z) if not v.meta.lone}
    if len(kinds) > 1:
        t.refuse("values whose rows are of different kinds (nodes, edges, rows picked by a mask)")
    if x.meta.lone and z.meta.lone:
        names = [affine(t, "expand", [v], lambda u, s=out.shape: u[0].expand(s), raw(v).expand(out.shape)).meta.name if raw(v).shape != out.shape else v.meta.name for v in (x, z)]
        return symbol(out, Rows(t.step2(kind, out.numel(), names[0], names[1], **fields), x.meta.axis, True))
    if x.meta.lone:
        if kind == "add" and fields.get("factor", 1) != 1:
            return both(t, "add", scaled(t, z, fields["factor"]), x, out)
        x, z = z, x
    axis, columns = x.meta.axis, math.prod(out.shape[1:])
    if kind == "multiply":
        for a, b in ((x, z), (z, x)):
            if not a.meta.lone and rest(a) == tuple(out.shape[1:]) and is_by_block(b, out.shape) and rest(b) != rest(a):
                word = "multiply" if width(b) == 1 else "scale_heads"
                return symbol(out, Rows(t.step2(word, columns, a.meta.name, b.meta.name), axis))
    (a, _), (b, one) = spread(t, x, out.shape), spread(t, z, out.shape)
    if one and kind == "maximum":
        t.refuse("the larger of rows and one row")
    return symbol(out, Rows(t.step2(kind, columns, a, b, **fields), axis))


def kind_of_rows(axis):
    """Rows of two values go together where these are the same."""
    if isinstance(axis, Selected):
        return id(axis.mask), kind_of_rows(axis.axis)
    return "edges" if isinstance(axis, Edges) else "nodes" if axis.startswith("nodes") else axis


def scaled(t, x, factor):
    return x if factor == 1 else symbol(raw(x) * factor, Rows(t.scale(x.meta.name, factor, width(x)), x.meta.axis, x.meta.lone))


def is_value(x):
    return isinstance(x, Sym) and isinstance(x.meta, Rows)


def as_value(t, x):
    """A mask as numbers 0 and 1."""
    if isinstance(x, Sym) and isinstance(x.meta, TypeMask):
        y = symbol((raw(x) ^ x.meta.flip).float(), Rows(t.kept_edges(x.meta.edges.then(x.meta.op)), x.meta.edges))
        return 1 - y if x.meta.flip else y
    if isinstance(x, Sym) and isinstance(x.meta, IdMask):
        ids = x.meta.of.meta
        table = torch.zeros(max(t.count_of_ids(ids.name), x.meta.number + 1), 1)
        table[x.meta.number] = 1
        table = 1 - table if x.meta.flip else table
        return symbol(raw(x).float(), Rows(t.embed(ids.name, table, False), ids.axis))
    if isinstance(x, Sym) and isinstance(x.meta, Mask):
        if x.meta.of is None:
            return torch.full(raw(x).shape, float(x.meta.flip))
        of = x.meta.of
        y = symbol(raw(x).float(), Rows(t.op("between", of.meta.name, width(of), x.meta.low, x.meta.high), of.meta.axis, of.meta.lone))
        return 1 - y if x.meta.flip else y
    return x


def with_constant(t, name, x, c, function):
    """x with a constant that may have equal rows for all: it goes on as one row, so that it holds for any count."""
    if isinstance(c, torch.Tensor) and c.dim() and not x.meta.lone:
        out = function(raw(x), c.detach())
        if out.dim() != raw(x).dim() and raw(x).dim() != 0:
            t.refuse("values whose rows lie along different axes")
        row = constant_row(t, c, out.shape)
        trainable = c.requires_grad
        c = row.unsqueeze(0)
        run = lambda v: function(v[0], c)
        return affine(t, name, [x], run, out.detach(), trainable)
    trainable = isinstance(c, torch.Tensor) and c.requires_grad
    return affine(t, name, [x], lambda v: function(v[0], c), function(raw(x), c.detach() if isinstance(c, torch.Tensor) else c), trainable)


@handles("add")
def add(t, x, z, *, alpha=1, out=None):
    return sum_of(t, x, z, alpha)


def sum_of(t, x, z, alpha=1):
    x, z = as_value(t, x), as_value(t, z)
    if is_value(x) and is_value(z):
        return both(t, "add", x, z, raw(x) + alpha * raw(z), factor=float(alpha))
    if is_value(x):
        made = with_constant(t, "add", x, z, lambda a, b: torch.add(a, b, alpha=alpha))
        if x.meta.name in t.positive and not isinstance(z, torch.Tensor) and alpha * z > 0:
            t.positive.add(made.meta.name)
        return made
    if is_value(z):
        return with_constant(t, "add", z, x, lambda a, b: b + alpha * a)
    return torch.add(x, z, alpha=alpha)


@handles("sub")
def sub(t, x, z, *, alpha=1, out=None):
    return sum_of(t, x, z, -alpha)


@handles("rsub")
def rsub(t, x, z, *, alpha=1):
    return sum_of(t, z, x, -alpha)


@handles("mul")
def mul(t, x, z, *, out=None):
    x, z = as_value(t, x), as_value(t, z)
    if is_value(x) and is_value(z):
        if x is z:
            return symbol(raw(x) ** 2, Rows(t.op("power", x.meta.name, width(x), 2.0), x.meta.axis, x.meta.lone))
        return both(t, "multiply", x, z, raw(x) * raw(z))
    if is_value(x) or is_value(z):
        x, z = (x, z) if is_value(x) else (z, x)
        return with_constant(t, "mul", x, z, lambda a, b: a * b)
    return x * z


@handles("reciprocal")
def reciprocal(t, x):
    """1 / x = x (x^2)^-1, since powers below 0 are those of what is positive; 0 where x is 0."""
    if x.meta.name in t.positive:
        return unary(t, x, 1 / raw(x), "power", -1.0, positive=True)
    return mul(t, x, unary(t, symbol(raw(x) ** 2, Rows(t.op("power", x.meta.name, width(x), 2.0), x.meta.axis, x.meta.lone)), raw(x) ** -2, "power", -1.0))


@handles("div")
def div(t, x, z, *, rounding_mode=None, out=None):
    if rounding_mode is not None:
        t.refuse(f"rounding_mode={rounding_mode!r}")
    x, z = as_value(t, x), as_value(t, z)
    if not is_value(z):
        return with_constant(t, "div", x, z, lambda a, b: a / b) if is_value(x) else x / z
    other = reciprocal(t, z)
    made = mul(t, x, other)
    value = (raw(x) if isinstance(x, Sym) else x) / raw(z)
    return symbol(value.detach(), made.meta) if isinstance(made, Sym) else made


@handles("rdiv")
def rdiv(t, x, z):
    return div(t, z, x)


@handles("neg")
def neg(t, x):
    return scaled(t, as_value(t, x), -1.0)


@handles("maximum", "fmax")
def maximum(t, x, z, *, out=None):
    if is_value(x) and is_value(z):
        return both(t, "maximum", x, z, torch.maximum(raw(x), raw(z)))
    x, c = (x, z) if is_value(x) else (z, x)
    return clamp(t, x, min=c)


@handles("minimum", "fmin")
def minimum(t, x, z, *, out=None):
    return neg(t, maximum(t, neg(t, x) if is_value(x) else -x, neg(t, z) if is_value(z) else -z))


# ---- one value, element by element ----


def unary(t, x, out, op, first=0.0, second=0.0, positive=False):
    if not is_value(x):
        t.refuse(f"{op} of what is no value of rows")
    name = t.op(op, x.meta.name, width(x), first, second)
    if positive:
        t.positive.add(name)
    return symbol(out, Rows(name, x.meta.axis, x.meta.lone))


def activation(t, x, word, out, slope=None):
    if not is_value(x):
        t.refuse(f"{word} of what is no value of rows")
    name = t.activation_name(x.meta.name, width(x), word, slope)
    if word in ("sigmoid", "softplus"):
        t.positive.add(name)
    return symbol(out, Rows(name, x.meta.axis, x.meta.lone))


for _word, _function in {"relu": torch.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "silu": F.silu}.items():
    handles(_word)(lambda t, x, *_, word=_word, function=_function, **__: activation(t, x, word, function(raw(x))))


@handles("gelu")
def gelu(t, x, *, approximate="none"):
    return activation(t, x, "gelu_tanh" if approximate == "tanh" else "gelu", F.gelu(raw(x), approximate=approximate))


@handles("leaky_relu")
def leaky_relu(t, x, negative_slope=0.01, inplace=False):
    if negative_slope == 0:
        return activation(t, x, "relu", torch.relu(raw(x)))
    return activation(t, x, "leaky_relu", F.leaky_relu(raw(x), negative_slope), negative_slope)


@handles("elu")
def elu(t, x, alpha=1.0, scale=1, input_scale=1, inplace=False):
    """alpha elu(x) + (1 - alpha) relu(x)"""
    plain_elu = activation(t, x, "elu", F.elu(raw(x)))
    return plain_elu if alpha == 1 else sum_of(t, scaled(t, plain_elu, alpha), scaled(t, activation(t, x, "relu", torch.relu(raw(x))), 1 - alpha))


@handles("selu")
def selu(t, x, inplace=False):
    return scaled(t, elu(t, x, 1.6732632423543772), 1.0507009873554805)


@handles("celu")
def celu(t, x, alpha=1.0, inplace=False):
    return scaled(t, elu(t, scaled(t, x, 1 / alpha)), alpha)


@handles("softplus")
def softplus(t, x, beta=1, threshold=20):
    if threshold < 15:
        t.refuse(f"softplus with threshold={threshold}")
    x = scaled(t, x, beta)
    return scaled(t, activation(t, x, "softplus", F.softplus(raw(x))), 1 / beta)


@handles("logsigmoid", "log_sigmoid")
def logsigmoid(t, x):
    return neg(t, softplus(t, neg(t, x)))


@handles("mish")
def mish(t, x, inplace=False):
    y = softplus(t, x)
    return mul(t, x, activation(t, y, "tanh", torch.tanh(raw(y))))


@handles("prelu")
def prelu(t, x, weight):
    below = activation(t, neg(t, x), "relu", torch.relu(-raw(x)))
    weight = weight.view((-1,) + (1,) * (raw(x).dim() - 2)) if weight.numel() > 1 else weight
    return sum_of(t, activation(t, x, "relu", torch.relu(raw(x))), mul(t, below, weight), -1)


@handles("abs")
def absolute(t, x):
    return sum_of(t, activation(t, x, "relu", torch.relu(raw(x))), activation(t, neg(t, x), "relu", torch.relu(-raw(x))))


@handles("softsign")
def softsign(t, x):
    return div(t, x, positive(t, sum_of(t, absolute(t, x), 1.0)))


@handles("tanhshrink")
def tanhshrink(t, x):
    return sum_of(t, x, activation(t, x, "tanh", torch.tanh(raw(x))), -1)


@handles("hardtanh")
def hardtanh(t, x, min_val=-1.0, max_val=1.0, inplace=False):
    return clamp(t, x, min_val, max_val)


@handles("relu6")
def relu6(t, x, inplace=False):
    return clamp(t, x, 0.0, 6.0)


@handles("hardsigmoid")
def hardsigmoid(t, x, inplace=False):
    return scaled(t, clamp(t, sum_of(t, x, 3.0), 0.0, 6.0), 1 / 6)


@handles("hardswish")
def hardswish(t, x, inplace=False):
    return mul(t, x, hardsigmoid(t, x))


def positive(t, x):
    t.positive.add(x.meta.name)
    return x


@handles("exp")
def exp(t, x, *, out=None):
    return unary(t, x, torch.exp(raw(x)), "exp", positive=True)


@handles("expm1")
def expm1(t, x):
    return sum_of(t, exp(t, x), -1.0)


@handles("log")
def log(t, x):
    return unary(t, x, torch.log(raw(x)), "log")


@handles("log2", "log10")
def log_of(t, x):
    t.refuse("a logarithm of base 2 or 10")


@handles("log1p")
def log1p(t, x):
    return unary(t, x, torch.log1p(raw(x)), "log", 1.0)


@handles("sin", "cos")
def sine(t, x):
    t.refuse("sines or cosines of values")


@handles("sqrt")
def sqrt(t, x):
    return unary(t, x, torch.sqrt(raw(x)), "power", 0.5)


@handles("rsqrt")
def rsqrt(t, x):
    return unary(t, x, torch.rsqrt(raw(x)), "power", -0.5, positive=True)


@handles("square")
def square(t, x):
    return mul(t, x, x)


@handles("pow", "float_power")
def power(t, x, exponent, *, out=None):
    if not isinstance(exponent, torch.Tensor) or (not isinstance(exponent, Sym) and exponent.numel() == 1 and not exponent.requires_grad):
        exponent = float(exponent)
        if not is_value(x):
            t.refuse("a power of what is no value of rows")
        if exponent == 0:
            return torch.ones_like(raw(x))
        if exponent == -1:
            return reciprocal(t, x)
        if exponent < 0 and exponent == int(exponent):
            return reciprocal(t, power(t, x, -exponent))
        return x if exponent == 1 else unary(t, x, raw(x) ** exponent, "power", exponent)
    if isinstance(exponent, Sym) and not isinstance(x, torch.Tensor):
        return exp(t, scaled(t, exponent, math.log(x)))
    if is_value(x):
        return exp(t, mul(t, log(t, x), exponent))
    t.refuse("a power of these")


@handles("rpow")
def rpow(t, x, base):
    return power(t, base, x)


@handles("clamp", "clamp_min", "clamp_max")
def clamp(t, x, min=None, max=None, *, out=None):
    if t.handling == "clamp_max":
        min, max = None, min if max is None else max
    if isinstance(min, torch.Tensor) or isinstance(max, torch.Tensor):
        if isinstance(min, Sym) or isinstance(max, Sym) or any(v is not None and torch.as_tensor(v).numel() != 1 for v in (min, max)):
            t.refuse("clamp between tensors")
        min, max = (None if v is None else float(v) for v in (min, max))
    if not is_value(x):
        t.refuse("clamp of what is no value of rows")
    name = t.op("clamp", x.meta.name, width(x), -3e38 if min is None else float(min), 3e38 if max is None else float(max))
    if min is not None and min > 0:
        t.positive.add(name)
    return symbol(torch.clamp(raw(x), min, max), Rows(name, x.meta.axis, x.meta.lone))


@handles("threshold")
def threshold(t, x, threshold, value, inplace=False):
    if threshold != 0 or value != 0:
        t.refuse("a threshold other than 0")
    return activation(t, x, "relu", torch.relu(raw(x)))


@handles("nan_to_num", "nan_to_num_")
def nan_to_num(t, x, nan=0.0, posinf=None, neginf=None):
    if is_value(x) and t.may_be_any(x.meta.name):
        t.refuse("values that are not finite replaced by others (nan_to_num)")
    return symbol(torch.nan_to_num(raw(x), nan, posinf, neginf), x.meta)


# ---- masks ----


def compare(low, high, flip=False):
    """x compared with a constant; strict comparisons go to the next number of float32."""
    def call(t, x, c):
        if not is_value(x):
            if is_value(c):
                return compare_back(t, c, x)
            t.refuse("a comparison of these")
        if isinstance(c, Sym):
            x, c = sum_of(t, x, c, -1), 0.0
        if isinstance(c, torch.Tensor) and c.numel() != 1:
            t.refuse("a comparison with a tensor")
        c = float(c)
        value = {"gt": torch.gt, "ge": torch.ge, "lt": torch.lt, "le": torch.le, "eq": torch.eq, "ne": torch.ne}[t.handling](raw(x), c)
        if x.meta.name in t.inputs and not math.isfinite(c):
            t.refuse(f"an input compared with {c}")
        if math.isinf(c) or math.isnan(c):
            return symbol(value, Mask(flip=flip))
        step = lambda v, to: float(torch.nextafter(torch.tensor(v), torch.tensor(to)))
        bounds = {"gt": (step(c, math.inf), 3e38), "ge": (c, 3e38), "lt": (-3e38, step(c, -math.inf)), "le": (-3e38, c), "eq": (c, c), "ne": (c, c)}[t.handling]
        return symbol(value, Mask(x, *bounds, flip=t.handling == "ne"))
    return call


def compare_back(t, x, c):
    t.handling = {"gt": "lt", "ge": "le", "lt": "gt", "le": "ge", "eq": "eq", "ne": "ne"}[t.handling]
    return HANDLERS[t.handling](t, x, c)


for _name in ("gt", "ge", "lt", "le", "eq"):
    handles(_name)(compare(0, 0))
handles("ne")(compare(0, 0, True))


@handles("isinf", "isnan")
def never(t, x):
    if is_value(x) and (x.meta.name in t.inputs or t.handling == "isnan" and t.may_be_any(x.meta.name)):
        t.refuse(f"a mask of values that are not finite ({t.handling})")
    return symbol(getattr(torch, t.handling)(raw(x)), Mask())


@handles("isfinite")
def always(t, x):
    if is_value(x) and t.may_be_any(x.meta.name):
        t.refuse("a mask of finite values (isfinite)")
    return symbol(torch.isfinite(raw(x)), Mask(flip=True))


@handles("where")
def where(t, mask, x=None, z=None):
    if x is None:
        t.refuse("the places where a value holds")
    if not isinstance(mask, Sym):
        t.refuse("a choice by a constant")
    m = mask if isinstance(mask.meta, (Mask, TypeMask)) else t.refuse("a choice by what is no comparison")
    if isinstance(m.meta, Mask) and m.meta.of is None:
        chosen = x if m.meta.flip else z
        if not is_value(chosen):
            t.refuse("a choice by whether values are finite")
        return symbol(torch.where(raw(m), *(raw(v) if isinstance(v, Sym) else torch.as_tensor(v, dtype=raw(chosen).dtype) for v in (x, z))), chosen.meta)
    m = as_value(t, m)
    other = sum_of(t, 1.0, m, -1)
    count = max(v.dim() for v in (m, x, z) if isinstance(v, torch.Tensor))
    if raw(m).dim() < count and raw(m).dim() == 1:
        m, other = (v.view((-1,) + (1,) * (count - 1)) for v in (m, other))
    return sum_of(t, mul(t, m, x), mul(t, other, z))


@handles("masked_fill")
def masked_fill(t, x, mask, value):
    if not isinstance(mask, Sym):
        t.refuse("a mask that is a constant")
    return where(t, mask, value, x)


@handles("sign")
def sign(t, x):
    t.handling = "gt"
    above = as_value(t, HANDLERS["gt"](t, x, 0.0))
    t.handling = "lt"
    below = as_value(t, HANDLERS["lt"](t, x, 0.0))
    return sum_of(t, above, below, -1)
