"""Tensors of a trace: each has the numbers that PyTorch computes on a drawn graph, and the name of
the step or input of libgnn that computes the same. pyg_trace.py runs a module's own forward() on
such tensors.

A function of PyTorch becomes steps in one of three ways. Nonlinear ones stand in HANDLERS. Every
other function that maps each row by itself, and affinely, is found out by running it on unit
vectors, and its matrix becomes a view, a sum, a scaling or a product, whatever is the least. A
function of which neither holds is refused.
"""
import functools
import math
import os
import sys
import threading

import torch
import torch.nn.functional as F


class Untraceable(Exception):
    """A module that cannot be exported, with the line of the user's code and the place in the module."""


class Fault(Untraceable):
    """An error in the code of this package while it traced a module: a fault to be reported."""

    def __str__(self):
        return f"{super().__str__()} (a fault of libgnn.torch: please report it)"


class Unread(TypeError):
    """A tensor, or an argument of another kind, of which a run in libgnn has no form."""


HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGES = tuple(os.path.dirname(os.path.abspath(p.__file__)) for p in (torch, __import__("torch_geometric"))) + (HERE, "<")


def user_line(traceback=None):
    """FILE:LINE of the innermost frame that is neither PyTorch's, PyG's nor ours."""
    found = None
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if is_users(file):
            found = f"{file}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    frame = sys._getframe(1)
    while found is None and frame is not None:
        if is_users(frame.f_code.co_filename):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return found


@functools.cache
def is_users(file):
    file = file if file.startswith("<") else os.path.abspath(file)
    return not file.startswith(PACKAGES) and os.path.basename(file) != "from_pyg.py" and "/lib/python3" not in file and "torch_geometric" not in os.path.basename(file)


# ---- meanings of tensors ----


class Rows:
    """Rows of a value: the first axis of the tensor counts them, or, where it is `lone`, there is one and no such axis."""

    def __init__(self, name, axis, lone=False):
        self.name, self.axis, self.lone = name, axis, lone


class Edges:
    """Edges (2 x m) of an argument, after operations on them; with a `part`, only edges between
    chosen nodes (pyg_choices.py)."""

    def __init__(self, source, ops=(), part=None):
        self.source, self.ops, self.part = source, tuple(ops), part

    def __str__(self):
        return ":".join((self.source,) + self.ops)

    def then(self, op):
        if op == "reverse" and self.ops[-1:] == ("reverse",):
            return Edges(self.source, self.ops[:-1], self.part)
        return Edges(self.source, self.ops + (op,), self.part)


class Ends:
    """One end of each edge: side 0 is the sender."""

    def __init__(self, edges, side):
        self.edges, self.side = edges, side


class Batch:
    """The number of each node's graph; with a `part`, of each that was chosen."""

    def __init__(self, part=None):
        self.part = part


class Ids:
    """Integers of an input; `axis` as of Rows."""

    def __init__(self, name, axis, columns=0):
        self.name, self.axis, self.columns = name, axis, columns


class Mask:
    """Positions at which low <= value <= high; `of` None: there are none. `flip`: all others."""

    def __init__(self, of=None, low=None, high=None, flip=False):
        self.of, self.low, self.high, self.flip = of, low, high, flip


class IdMask(Mask):
    """Rows at which an input of integers is `number`."""

    def __init__(self, ids, number, flip=False):
        super().__init__(ids, flip=flip)
        self.number = number


class TypeMask:
    """Edges that an operation on their list keeps (those of a type, or all but self-loops), or, with `flip`, the others."""

    def __init__(self, edges, op, flip=False):
        self.edges, self.op, self.flip = edges, op, flip


class Selected:
    """The axis of rows picked by a mask: steps compute all rows of `axis`, and only those count."""

    def __init__(self, mask, axis):
        self.mask, self.axis = mask, axis


class Piled:
    """Values stacked along a first axis that does not count rows."""

    def __init__(self, parts):
        self.parts = parts


class Opaque:
    """Numbers that follow from values, of which libgnn has none."""

    def __init__(self, words):
        self.words = words


# ---- the tensor ----



class Traces(threading.local):
    """The traces that run in this thread, the innermost last. Others see PyTorch and PyG as they are."""

    def __init__(self):
        self.running = []

    def __bool__(self):
        return bool(self.running)

    def __getitem__(self, at):
        return self.running[at]

    def append(self, trace):
        self.running.append(trace)

    def extend(self, traces):
        self.running.extend(traces)

    def clear(self):
        self.running.clear()


TRACES = Traces()


class Turn:
    """One thread traces at a time: a trace replaces functions of PyTorch and PyG for the process."""

    def __init__(self):
        self.renew()
        os.register_at_fork(after_in_child=self.renew)

    def renew(self):
        self.lock = threading.RLock()

    def __enter__(self):
        self.lock.acquire()

    def __exit__(self, *_):
        self.lock.release()


TURN = Turn()


class Sym(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if not TRACES:
            return function(*plain(args), **plain(kwargs or {}))
        return dispatch(TRACES[-1], function, args, kwargs or {})

    def __deepcopy__(self, memo):
        return self


def symbol(data, meta):
    with torch._C.DisableTorchFunctionSubclass():
        data = data.as_subclass(torch.Tensor).detach()
        out = torch.Tensor._make_subclass(Sym, data)
    out.meta = meta
    if TRACES and isinstance(meta, Rows) and not isinstance(meta.axis, Selected):
        TRACES[-1].known_values.setdefault(meta.name, (data.clone(), meta.lone))
    return out


def mapped(value, function):
    """`value` with each Sym in its lists, tuples and dictionaries replaced."""
    if isinstance(value, Sym):
        return function(value)
    if isinstance(value, dict):
        return {k: mapped(v, function) for k, v in value.items()}
    if isinstance(value, torch.Size):
        return value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[mapped(v, function) for v in value])
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(v, function) for v in value)
    if isinstance(value, slice):
        return slice(mapped(value.start, function), mapped(value.stop, function), mapped(value.step, function))
    return value


def raw(value):
    with torch._C.DisableTorchFunctionSubclass():
        return value.as_subclass(torch.Tensor)


def plain(value):
    return mapped(value, raw)


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for v in value.values():
            yield from tensors_in(v)
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from tensors_in(v)


def syms_in(value):
    found = []
    for x in tensors_in(value):
        if isinstance(x, Sym) and not any(x is y for y in found):
            found.append(x)
    return found


def rest(x):
    """The axes of a value after that of its rows."""
    shape = tuple(raw(x).shape)
    return shape if x.meta.lone else shape[1:]


def width(x):
    return math.prod(rest(x))


# ---- dispatch ----

PLAIN = set("""size dim numel ndimension is_floating_point stride is_contiguous __len__ data_ptr is_complex get_device nelement element_size shape dtype device
requires_grad layout ndim is_cuda is_sparse is_quantized is_mkldnn names grad grad_fn is_leaf is_meta is_nested is_sparse_csr __hash__ __repr__ untyped_storage _version
is_inference is_conj is_neg storage_offset is_mps is_xpu is_cpu __format__ retain_grad is_same_size is_pinned is_shared itemsize nbytes dense_dim sparse_dim
new_zeros new_ones new_full new_empty new_tensor zeros_like ones_like full_like empty_like is_tensor is_signed is_coalesced
result_type can_cast promote_types is_nonzero_ requires_grad_ is_vulkan is_ipu is_maia is_mtia has_names output_nr _base""".split())
SAME = set("""contiguous clone detach float to type_as cpu alias __copy__ requires_grad_ double type detach_ cuda positive __pos__ data real""".split())
RANDOM = set("""bernoulli multinomial normal rand_like randn_like randint_like uniform_ normal_ exponential_ bernoulli_ gumbel_softmax""".split())
REFLECTED = {"__rsub__": "rsub", "__rtruediv__": "rdiv", "__rdiv__": "rdiv", "__rpow__": "rpow", "__rmatmul__": "rmatmul"}
DUNDERS = {"__add__": "add", "__radd__": "add", "__sub__": "sub", "__mul__": "mul", "__rmul__": "mul", "__truediv__": "div", "__div__": "div", "__pow__": "pow",
           "__neg__": "neg", "__matmul__": "matmul", "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_", "__idiv__": "div_", "__ipow__": "pow_",
           "true_divide": "div", "divide": "div", "subtract": "sub", "multiply": "mul", "greater": "gt", "less": "lt", "greater_equal": "ge", "less_equal": "le",
           "__gt__": "gt", "__lt__": "lt", "__ge__": "ge", "__le__": "le", "__eq__": "eq", "__ne__": "ne", "__invert__": "logical_not", "bitwise_not": "logical_not",
           "true_divide_": "div_", "concat": "cat", "concatenate": "cat", "absolute": "abs", "__abs__": "abs", "negative": "neg", "not_equal": "ne", "square_": "square_",
           "__iand__": "logical_and", "__and__": "logical_and", "log_softmax": "log_softmax", "special_expit": "sigmoid", "clip": "clamp"}
DUNDERS.update(REFLECTED)
HANDLERS, ON_INDICES = {}, {}


def handles(*names, table=HANDLERS):
    def add(function):
        for name in names:
            table[name] = function
        return function
    return add


def functional(name, function):
    """The function that returns what an in-place one writes."""
    if name == "__setitem__":
        def put(x, at, value):
            y = x.clone()
            y[at] = value
            return y
        return "setitem", put
    if name.endswith("_") and not name.startswith("_"):
        base = getattr(torch.Tensor, name[:-1], None) or getattr(F, name[:-1], None)
        if base is None:
            base = lambda x, *args, **kwargs: function(x.clone(), *args, **kwargs)
        return name[:-1], base
    return name, function


def dispatch(t, function, args, kwargs):
    name = getattr(function, "__name__", str(function))
    if name in ("__get__", "__set__"):
        name = function.__self__.__name__
        if name in ("T", "mT", "H"):
            function = lambda x: x.t() if x.dim() == 2 else x.mT
        elif function.__name__ == "__set__" or name in PLAIN:
            return function(*plain(args), **plain(kwargs))
    if name in PLAIN:
        out = function(*plain(args), **plain(kwargs))
        return out.zero_() if name in ("new_empty", "empty_like") else out
    name = DUNDERS.get(name, name)
    given = syms_in((args, kwargs))
    base, call = functional(name, function)
    inplace = base != name or kwargs.get("inplace") is True or (name in RELUS and len(args) > INPLACE_AT.get(name, 99) and args[INPLACE_AT[name]] is True)
    if base != name and isinstance(args[0], torch.Tensor) and base not in HANDLERS and name in ("add_", "sub_", "mul_", "div_", "pow_"):
        call = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "pow": torch.pow}[base]
    t.at(base)
    out = result_of(t, base, call, args, kwargs, given)
    if inplace and isinstance(args[0], torch.Tensor):
        return overwrite(t, args[0], out)
    return out


RELUS = {"relu", "elu", "leaky_relu", "silu", "selu", "celu", "hardtanh", "relu6", "mish", "dropout", "hardswish"}
INPLACE_AT = {"relu": 1, "elu": 2, "leaky_relu": 2, "silu": 1, "selu": 1, "celu": 2, "dropout": 3, "relu6": 1, "mish": 1, "hardtanh": 3}


def overwrite(t, target, out):
    """`target` becomes what an in-place function made of it."""
    if getattr(target, "is_part", False):
        t.refuse("an in-place change of a view of another tensor")
    if not isinstance(out, Sym):
        if isinstance(target, Sym):
            t.refuse("an in-place change of a value to a constant")
        return target.copy_(out)
    if not isinstance(target, Sym):
        if type(target) is not torch.Tensor:
            t.refuse("an in-place change of a parameter or buffer")
        target.__class__ = Sym
    base = raw(target)
    if base.shape != raw(out).shape:
        t.refuse("an in-place change of shape")
    target.meta = out.meta
    if base.dtype == raw(out).dtype:
        with torch.no_grad():
            base.copy_(raw(out))
    return target


def result_of(t, name, call, args, kwargs, given):
    if name in RANDOM:
        t.refuse(f"random numbers ({name})")
    if any(isinstance(x.meta, Opaque) for x in given):
        t.refuse(next(x.meta.words for x in given if isinstance(x.meta, Opaque)))
    if any(not isinstance(x.meta, Rows) for x in given):
        out = on_indices(t, name, call, args, kwargs, given)
        if out is not NotImplemented:
            return out
    if name in SAME and isinstance(args[0], Sym):
        out = call(*plain(args), **plain(kwargs))
        if raw(args[0]).is_floating_point() and not out.is_floating_point():
            t.refuse("a value of rows as whole numbers")
        return symbol(out, args[0].meta)
    handler = HANDLERS.get(name)
    if handler is not None:
        out = handler(t, *args, **kwargs)
        if out is not NotImplemented:
            return out
    return rowwise(t, name, call, args, kwargs)


# ---- functions that map rows affinely ----

MOST = 1 << 25


def requires_grad(value):
    return any(x.requires_grad for x in tensors_in(value) if not isinstance(x, Sym))


def rowwise(t, name, call, args, kwargs):
    """A function that is affine in all its values together, found out on unit vectors."""
    given = syms_in((args, kwargs))
    if name in ("__bool__", "item", "tolist", "numpy", "__int__", "__float__", "__index__", "any", "all"):
        t.refuse(f"control flow on a value, or a value as a number of Python ({name})")
    if any(not isinstance(x.meta, Rows) for x in given):
        t.refuse(f"{name} of what is no value of rows")

    def run(values):
        table = {id(x): v for x, v in zip(given, values)}
        return call(*mapped(args, lambda x: table[id(x)]), **mapped(kwargs, lambda x: table[id(x)]))
    with torch.enable_grad():
        out = run([raw(x) for x in given])
    trainable = requires_grad((args, kwargs))
    if isinstance(out, torch.Tensor):
        return affine(t, name, given, run, out.detach(), trainable)
    if isinstance(out, (tuple, list)) and out and all(isinstance(o, torch.Tensor) for o in out):
        parts = [affine(t, name, given, lambda values, k=k: run(values)[k], o.detach(), trainable) for k, o in enumerate(out)]
        return type(out)(parts) if type(out) in (tuple, list) else tuple(parts)
    if isinstance(out, (bool, int, float)) or name in ("tolist", "numpy", "__bool__", "item"):
        t.refuse(f"control flow on a value, or a value as a number of Python ({name})")
    t.refuse(name)


def affine(t, name, given, run, out, trainable=False):
    lone = all(x.meta.lone for x in given)
    if any(x.meta.lone for x in given) and not lone:
        t.refuse(f"{name} of rows and of one row together")
    counts = {raw(x).shape[0] for x in given} if not lone else {1}
    if len(counts) != 1:
        t.refuse(f"{name} of different counts of rows")
    n = counts.pop()
    if not out.is_floating_point():
        t.refuse(f"{name}, which makes integers of a value")
    if not lone and (out.dim() < 1 or out.shape[0] != n):
        t.refuse(f"{name} across rows")
    widths = [width(x) for x in given]
    shape = tuple(out.shape) if lone else tuple(out.shape[1:])
    if (sum(widths) + 1) * math.prod(shape) > MOST:
        t.refuse(f"{name} of so many columns")

    def ask(rows):
        parts = rows.split(widths, dim=1)
        return run([p.reshape((() if lone else (n,)) + rest(x)) for p, x in zip(parts, given)]).detach().reshape(n, -1)
    with torch.no_grad():
        matrix, offset = unit_answers(ask, n, sum(widths))
        generator = torch.Generator().manual_seed(7)
        for scale in (1.0, 30.0):
            x = scale * torch.randn((n, sum(widths)), generator=generator)
            want, got = ask(x), x @ matrix + offset
            limit = 1e-4 * max(1.0, float(want.abs().max()), float((x.abs() @ matrix.abs()).max()) if matrix.numel() else 0)
            if want.shape != got.shape or not bool(torch.isfinite(want).all()) or float((want - got).abs().max() if want.numel() else 0) > limit:
                t.refuse(name)
    source = given[0].meta.name if len(given) == 1 else t.concat_names([x.meta.name for x in given], sum(widths))
    result = t.product(source, matrix, offset, trainable)
    made = symbol(out, Rows(result, given[0].meta.axis, lone))
    made.is_part = name in VIEWS and result == source
    return made


VIEWS = {"__getitem__", "narrow", "select", "chunk", "split", "unbind"}


def unit_answers(ask, n, columns):
    """The matrix of an affine function, and what it makes of 0. Several unit vectors go in one call, as rows."""
    basis = torch.cat([torch.zeros(1, columns), torch.eye(columns)])
    answers = []
    for part in basis.split(n):
        rows = torch.zeros(n, columns)
        rows[:len(part)] = part
        answers.append(ask(rows)[:len(part)])
    answers = torch.cat(answers)
    matrix, offset = answers[1:] - answers[0], answers[0]
    # (1 + b) - b is 1 up to the rounding of b: such a matrix is no product that is learned.
    integers = matrix.round()
    return torch.where((matrix - integers).abs() <= 2.0 ** -23 * (answers[1:].abs() + offset.abs()) * (offset != 0), integers, matrix), offset


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
        c = row.detach().unsqueeze(0)
        run = lambda v: function(v[0], c)
        return affine(t, name, [x], run, out.detach(), trainable)
    trainable = isinstance(c, torch.Tensor) and c.requires_grad
    c = c.detach() if isinstance(c, torch.Tensor) else c
    return affine(t, name, [x], lambda v: function(v[0], c), function(raw(x), c), trainable)


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
    return symbol(getattr(torch, t.handling)(raw(x)), Mask())


@handles("isfinite")
def always(t, x):
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
