"""Memory of the library as tensors, and the places of a module's parameters in it.

Which element goes where is found out by two traces of copies of the module whose parameters are all
different numbers.
"""
import copy
import ctypes
import json
import os
import tempfile

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from .. import _library
from .._arrays import Tensor
from .._library import check, lib
from .._objects import Handle, context
from . import from_pyg, pyg_draw
from .derived import Followed, Recording, Search
from .pyg_symbols import Edges, Untraceable, raw, tensors_in, user_line, width
from .pyg_trace import Value, run, trace, without_dropout
from .watched import inner

FLOATS = {"dtype": torch.float32, "device": "cpu"}  # whatever PyTorch's defaults are
JOINED = "compile:outputs"


def memory(t, owner):
    """The matrix of a struct as a tensor over the same memory."""
    if not t.rows or not t.cols:
        return torch.zeros(t.rows, t.cols, **FLOATS)
    stride = t.stride or t.cols
    buffer = (ctypes.c_float * ((t.rows - 1) * stride + t.cols)).from_address(t.data)
    buffer.owner = owner
    return torch.frombuffer(buffer, dtype=torch.float32).as_strided((t.rows, t.cols), (stride, 1))


RUNNING = ("running_mean", "running_var")


def statistics(module):
    """Batch norm's running values by name."""
    return {name: b for name, b in module.named_buffers() if name.rpartition(".")[2] in RUNNING}


def statistics_of(layer):
    """Those of one layer, without its parts."""
    return [(name, b) for name, b in layer._buffers.items() if name in RUNNING and b is not None]


def numbered(module, seed):
    """A copy of the module whose parameters and statistics are all different numbers, and these in
    their order."""
    try:
        made = copy.deepcopy(module, pyg_draw.leaves(module))
    except Exception as problem:  # noqa: BLE001 (whatever a module's constructor raises)
        raise Untraceable(f"the module cannot be copied: {type(problem).__name__}: {problem}") from problem
    values = [*made.parameters(), *statistics(made).values()]
    count = sum(v.numel() for v in values)
    if count > 40_000_000:
        raise Untraceable(f"a module of {count} parameters: places of at most 40,000,000 are found")
    # Floats from 2^-7 up to 2^-2, each at most once, their bits evenly spread: a sum of numbers that are
    # almost equal may be another one of them.
    rng = np.random.default_rng(seed)
    step = (0x3E800000 - 0x3C000001) // max(count, 1)
    bits = (0x3C000001 + step * rng.permutation(count) + rng.integers(0, step, count)).astype(np.int32)
    numbers, at = bits.view(np.float32), 0
    signed = sum(p.numel() for p in made.parameters())  # statistics stay positive
    numbers[:signed] *= rng.choice(np.array([-1, 1], np.float32), signed)
    with torch.no_grad():
        for v in values:
            v.copy_(torch.from_numpy(numbers[at:at + v.numel()].copy()).view(v.shape))
            at += v.numel()
    return made, numbers


class Loaded(Handle):
    """A model of the library, made of a trace."""

    def __init__(self, found):
        made = ctypes.c_void_p()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "traced.safetensors")
            from_pyg.save(found.arrays, path, **found.metadata())
            check(lib.gnn_model_load(ctypes.byref(made), context()._at, path.encode()))
        self._hold(made.value, lib.gnn_model_free)
        self.block = lib.gnn_model_parameters(self._at)

    def parts(self):
        """All memory that a trace fills, by name: parameters, their gradients, buffers."""
        made, t = [], Tensor()
        for k in range(lib.gnn_parameters_count(self.block)):
            made.append((lib.gnn_parameters_name(self.block, k).decode(), memory(lib.gnn_parameters_value(self.block, k), self), k))
        for k in range(lib.gnn_model_buffer_count(self._at)):
            name = lib.gnn_model_buffer_name(self._at, k)
            check(lib.gnn_model_buffer(self._at, name, ctypes.byref(t)))
            made.append((name.decode(), memory(t, self), None))
        return made


class Place:
    """Where the elements of a part of the library's memory come from: `index` into all values of
    the module one after another, -1 for constants."""

    def __init__(self, name, part, index, starts, values):
        self.name, self.part, self.index, self.whole = name, part, index, None
        owners = {k for k in range(len(values)) if bool(((index >= starts[k]) & (index < starts[k + 1])).any())}
        if len(owners) == 1 and bool((index >= 0).all()):
            k = min(owners)
            own = torch.arange(starts[k], starts[k + 1]).view(values[k].shape)
            if own.numel() == index.numel():
                if torch.equal(own.reshape(index.shape), index):
                    self.whole = (k, lambda m, shape=values[k].shape: m.view(shape) if m.is_contiguous() else m.as_strided(shape, m.stride()) if len(shape) == 2 else None)
                elif own.dim() == 2 and torch.equal(own.t(), index):
                    self.whole = (k, lambda m: m.t())
            if self.whole is not None and self.whole[1](part) is None:
                self.whole = None
        self.owners = owners if self.whole is None else {self.whole[0]}


def rows_of(found, name, x):
    """What the rows of an output are counted by: nodes of a type (None: the only one), graphs, the
    edges of a slot, or one."""
    axis = x.meta.axis
    if x.meta.lone:
        return "one", None
    if isinstance(axis, Edges):
        return "edges", found.slot("edges", str(axis))
    if axis == "graphs":
        return "graphs", None
    if isinstance(axis, str) and axis.startswith("nodes"):
        return "nodes", found.node_of(x) if found.data.relations else None
    raise Untraceable(f"{found.at_return}forward() returns {name}, whose rows are neither those of nodes, edges nor graphs, beside other values")


def join(found):
    """Several outputs as one value, the last step, side by side if their rows are the same, else below
    each other; the columns of each, and for the latter what counts its rows."""
    outputs, rows = list(found.outputs.items()), None
    widths = [width(x) for _, x in outputs]
    if len(outputs) > 1:
        axes, values = [x.meta.axis for _, x in outputs], [Value(name, w) for (name, _), w in zip(outputs, widths)]
        if any(x.meta.lone for _, x in outputs) or any(axis is not axes[0] and axis != axes[0] for axis in axes) or len({raw(x).shape[0] for _, x in outputs}) > 1:
            rows, most = [rows_of(found, name, x) for name, x in outputs], max(widths)
            values = [v if v.width == most else Value(found.product(v.name, torch.eye(v.width, most), torch.zeros(most), False), most) for v in values]
            found.many("stack", JOINED, values, most)
        else:
            found.concat(JOINED, values)
    return widths, rows


def settings_of(found, evaluation=False):
    """The description of a trace without the first values of what is learned, and of an `evaluation`
    without dropout."""
    description = json.loads(found.metadata()["gnn.description"])
    if evaluation:
        description["steps"] = without_dropout(description["steps"])[0]
    for step in description["steps"]:
        if step.get("layer", {}).get("learn_eps") == "on":
            step["layer"].pop("eps", None)
    return description, found.graphs


def table_of(found, numbers):
    """For each part of the memory that a trace fills: where its elements stand among the numbers
    (-1: nowhere), and the elements."""
    order, parts, made = np.argsort(numbers, kind="stable"), Loaded(found).parts(), []
    for _, part, _ in parts:
        a = part.numpy()
        if not numbers.size:
            made.append((np.full(a.shape, -1), a.copy()))
            continue
        at = order[np.minimum(np.searchsorted(numbers, a, sorter=order), numbers.size - 1)]
        made.append((np.where(numbers[at] == a, at, -1), a.copy()))
    return parts, made


class OfTheModule(TorchFunctionMode):
    """While a copy is traced, refuses a function that still reads the module of which it is one: of a
    parameter that a lambda holds the trace would have but the numbers."""

    def __init__(self, module):
        super().__init__()
        self.names = {id(v): name for name, v in (*inner(module).named_parameters(), *inner(module).named_buffers())}

    def __torch_function__(self, function, types, args=(), kwargs=None):
        for v in tensors_in((args, kwargs)):
            if id(v) in self.names:
                raise Untraceable(f"{user_line() or 'a function'} reads {self.names[id(v)]} of the module itself where a copy of it runs (an enclosing function's variable holds the module): a method is expected")
        return function(*args, **kwargs or {})


def traced(module, inputs, given, widths, modes):
    """A verified trace of a numbered copy, the places of all parameters and statistics in it, the
    program of what else is computed from parameters (None: nothing is), and how outputs are joined.

    The values of the module itself would hide some of its steps: a bias of zeros is not added."""
    first, numbers = numbered(module, 1)
    if not all(v.numel() and bool(torch.isfinite(v).all()) for v in given.values() if v.is_floating_point()):
        given = None  # Plan.compare() runs both on these
    with tempfile.TemporaryDirectory() as folder:
        found = from_pyg.export(first, os.path.join(folder, "traced"), inputs=inputs, widths=widths, given=given, library=_library.lib.path, modes=modes)
    second, others = numbered(module, 2)
    with OfTheModule(module), Followed() as seen:
        again = trace(second, inputs, widths, found.without, modes=modes)
    joined = join(found), join(again)
    if joined[0] != joined[1]:
        raise Untraceable(f"{found.at_return}what forward() returns follows from the values of parameters")
    if settings_of(again) != settings_of(found):
        raise Untraceable("a setting of the trace follows from the values of parameters, which training changes")
    parts, one = table_of(found, numbers)
    two, searched = table_of(again, others)[1], None
    if seen.computes or not all(alike(*pair).all() for pair in zip(one, two)):
        one, two, searched = numbered_anew(found, (first, numbers), (second, others))
    made, unknown = [], []
    for (name, _, k), (first_at, a), (second_at, b) in zip(parts, one, two):
        same = alike((first_at, a), (second_at, b))
        if not same.all():
            unknown.append((len(made), ~same, a, b))
        made.append((name, k, first_at))
    program = computed(module, found, searched, made, unknown, sum(v.numel() for v in module.parameters())) if unknown else None
    return found, [(name, k, torch.from_numpy(index)) for name, k, index in made], program, joined[0]


def alike(one, two):
    """Where an array of two copies has the same element of their values, or one that is no value's."""
    (first_at, first), (second_at, second) = one, two
    return (first_at == second_at) & ((first_at >= 0) | (first == second))


def numbered_anew(found, *copies):
    """The tables of two copies (and their numbers) with what is computed from parameters numbered
    anew, and a search among these results."""
    traces = [run(copy_of, found.checks[0][0], found.without, recorded=lambda m, seed=seed: Recording(m, np.random.default_rng(seed))) for seed, (copy_of, _) in enumerate(copies)]
    for t in traces:
        join(t)
        if settings_of(t, True) != settings_of(found, True) or list(t.arrays) != list(found.arrays):
            raise Untraceable(f"{found.at_return}a setting of the trace follows from what is computed from parameters, which training changes")
    return *[table_of(t, numbers)[1] for t, (_, numbers) in zip(traces, copies)], Search(*[t.recording for t in traces])


def computed(module, found_trace, search, made, unknown, count):
    """The program of elements that are no parameter's, whose places are entered into `made`: results
    stand after the parameters (`count` elements), before the statistics."""
    placed = []
    for at, where, a, b in unknown:
        found = search.find(a[where], b[where])
        if found is None:
            raise Untraceable(f"{place_of(found_trace, made[at][0])}{made[at][0]} is computed from parameters: its gradient has no counterpart")
        placed.append((at, where, found))
    program = search.program(module)
    if program is None:
        raise Untraceable(f"{place_of(found_trace, made[unknown[0][0]][0])}{made[unknown[0][0]][0]} is computed from parameters by calls that depend on their values")
    starts = np.cumsum([0] + [int(np.prod(shape)) for shape in program.shapes])
    for _, _, index in made:
        index[index >= count] += starts[-1]
    for at, where, (number, position) in placed:
        made[at][2][where] = count + starts[number] + position
    return program


def place_of(found, name):
    """The line of the program at which the step of an array was traced, as the start of a message."""
    step = max((step for step in found.lines if name == step or name.startswith(f"{step}.")), key=len, default=None)
    return f"{found.lines[step]}: " if step and found.lines[step] else ""
