"""Tensors of a trace: each has the numbers that PyTorch computes on a drawn graph, and the name of
the step or input of libgnn that computes the same. pyg_trace.py runs a module's own forward() on
such tensors.

A function of PyTorch becomes steps in one of three ways. Nonlinear ones are entries of HANDLERS
(pyg_elementwise.py, pyg_axes.py). Every other function that maps each row by itself, and affinely,
is found out by running it on unit vectors, and its matrix becomes a view, a sum, a scaling or a
product, whatever is the least. A function of which neither holds is refused.
"""
import functools
import inspect
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


def mapped_tensors(value, function):
    """`value` with each tensor, and what else `function` knows, in its lists, tuples and dictionaries
    replaced."""
    if isinstance(value, dict):
        return {k: mapped_tensors(v, function) for k, v in value.items()}
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        made = [mapped_tensors(v, function) for v in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    if isinstance(value, slice):
        return slice(*[mapped_tensors(v, function) for v in (value.start, value.stop, value.step)])
    return function(value)


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
result_type can_cast promote_types is_nonzero_ is_vulkan is_ipu is_maia is_mtia has_names output_nr _base""".split())
SAME = set("""contiguous clone detach float to type_as cpu alias __copy__ requires_grad_ double type detach_ cuda positive __pos__ data real half
bfloat16""".split())
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


GRADIENTS = (torch.autograd.grad, torch.autograd.backward, torch.Tensor.backward)


def dispatch(t, function, args, kwargs):
    name = getattr(function, "__name__", str(function))
    if function in GRADIENTS:
        t.refuse("a gradient inside of forward()")
    if kwargs.get("out") is not None:
        t.refuse(f"{name} into out=")
    if name == "requires_grad_":
        return args[0]
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


signature_of = functools.cache(inspect.signature)


def handled(handler, t, name, args, kwargs):
    """A handler's result; arguments that it does not know are refused."""
    try:
        signature_of(handler).bind(t, *args, **kwargs)
    except TypeError as problem:
        t.refuse(f"{name} with these arguments ({problem})")
    return handler(t, *args, **kwargs)


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
        if out.is_floating_point() and torch.finfo(out.dtype).bits < 32:
            t.refuse(f"values rounded to {out.dtype}")
        return symbol(out, args[0].meta)
    handler = HANDLERS.get(name)
    if handler is not None:
        out = handled(handler, t, name, args, kwargs)
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
        return run([p.reshape((() if lone else (n,)) + rest(x)) for p, x in zip(parts, given)]).reshape(n, -1)
    with torch.set_grad_enabled(trainable and torch.is_grad_enabled()):  # for the calls that derived.py records
        matrix, offset = unit_answers(ask, n, sum(widths))
        generator = torch.Generator().manual_seed(7)
        for scale in (1.0, 30.0):
            x = scale * torch.randn((n, sum(widths)), generator=generator)
            want, got = ask(x), x @ matrix + offset
            limit = 1e-4 * max(1.0, float(want.abs().max()), float((x.abs() @ matrix.abs()).max()) if matrix.numel() else 0)
            if want.shape != got.shape or not bool(torch.isfinite(want).all()) or float((want - got).abs().max() if want.numel() else 0) > limit:
                t.refuse(name)
    matrix, offset = matrix.detach(), offset.detach()
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
