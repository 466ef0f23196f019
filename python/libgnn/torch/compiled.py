"""compile(): a PyTorch module that runs in libgnn, with gradients.

The module is traced (pyg_trace.py) on its first call, with what that call gives; the file that the
trace makes is loaded, and compared with the module on drawn graphs and on the inputs of the call. Its
parameters stay the module's own: before each run they are copied into the library's block, after a
backward pass their gradients are copied out. Which element goes where is found out by two traces of
copies of the module whose parameters are all different numbers.
"""
import contextlib
import copy
import ctypes
import functools
import inspect
import json
import math
import operator
import os
import tempfile
import threading
import warnings
import weakref

import numpy as np
import torch
from torch.autograd import forward_ad

from .. import _library
from .._arrays import Ints, Tensor, flag, whole
from .._library import C, check, error, lib, struct
from .._objects import Handle, context, has_locks
from . import arguments, from_pyg, pyg_draw, pyg_verify
from .arguments import MostlyZero
from .pyg_symbols import Unread, Untraceable
from .pyg_trace import Value, flat, trace
from .watched import Version, Watch, inner

EdgeList, Sources, Named, ModelInputs = (struct(f"gnn_{name}_t") for name in ("edge_list", "slot_sources", "named", "model_inputs"))
NODES = ("rows", "column", "cube", "ids", "id_rows")
NUMBERS = ("rows", "column", "cube", "edge_rows", "edge_column")
INTEGERS, IDS = (torch.int64, torch.int32), (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
KEPT_GRAPHS, KEPT_PLANS = 8, 32
FLOATS = {"dtype": torch.float32, "device": "cpu"}  # whatever PyTorch's defaults are
GRADIENT_TOLERANCE = 1e-3
SHAPE = operator.attrgetter("shape")
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
HOOKS_OF_ALL = [getattr(torch.nn.modules.module, f"_global{name}") for name in HOOKS]
# An autocast of the CPU; levels of torch.func; both have other names in other versions of PyTorch.
is_autocast = functools.partial(torch.is_autocast_enabled, "cpu") if hasattr(torch, "get_autocast_dtype") else torch.is_autocast_cpu_enabled
transform = getattr(getattr(torch._C, "_functorch", None), "peek_interpreter_stack", lambda: None)
memcmp = ctypes.CDLL(None).memcmp
memcmp.argtypes, memcmp.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t], ctypes.c_int


# ---- memory of the library as tensors, and the places of the module's parameters in it ----


def memory(t, owner):
    """The matrix of a struct as a tensor over the same memory."""
    if not t.rows or not t.cols:
        return torch.zeros(t.rows, t.cols, **FLOATS)
    stride = t.stride or t.cols
    buffer = (ctypes.c_float * ((t.rows - 1) * stride + t.cols)).from_address(t.data)
    buffer.owner = owner
    return torch.frombuffer(buffer, dtype=torch.float32).as_strided((t.rows, t.cols), (stride, 1))


def statistics(module):
    """Batch norm's running values by name."""
    return {name: b for name, b in module.named_buffers() if name.rpartition(".")[2] in ("running_mean", "running_var")}


def numbered(module, seed):
    """A copy of the module whose parameters and statistics are all different numbers, and these in
    their order."""
    try:
        made = copy.deepcopy(module)
    except Exception as problem:  # noqa: BLE001 (whatever a module's constructor raises)
        raise Untraceable(f"the module cannot be copied: {type(problem).__name__}: {problem}") from problem
    values = [*made.parameters(), *statistics(made).values()]
    count = sum(v.numel() for v in values)
    if count > 40_000_000:
        raise Untraceable(f"a module of {count} parameters: places of at most 40,000,000 are found")
    # Floats from 2^-6 up to 1, each at most once: their bits are consecutive integers.
    rng = np.random.default_rng(seed)
    bits = rng.permutation(np.arange(0x3C800000 + 1, 0x3C800001 + count, dtype=np.int64)).astype(np.int32)
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
    """Where the elements of a part of the library's memory come from: `index` into all values of the
    module one after another, -1 for constants."""

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


JOINED = "compile:outputs"


def join(found):
    """Several outputs as columns of one value, the last step; the columns of each."""
    values = [value for value, _ in found.output_values.values()]
    widths = [int(np.prod(v.shape[1:])) for v in values]
    outputs = list(found.outputs.items())
    if len(outputs) > 1:
        axes = [x.meta.axis for _, x in outputs]
        if any(x.meta.lone for _, x in outputs) or any(axis is not axes[0] and axis != axes[0] for axis in axes):
            raise Untraceable(f"forward() returns values of different rows ({', '.join(name for name, _ in outputs)}): values of the same nodes or graphs are expected")
        found.concat(JOINED, [Value(name, width) for (name, _), width in zip(outputs, widths)])
    return widths


def rebuilt(shape, parts):
    """What forward() returns, with other tensors: in the order of pyg_trace.flat()."""
    if torch.is_tensor(shape):
        return next(parts)
    if isinstance(shape, dict):
        return type(shape)((key, rebuilt(value, parts)) for key, value in shape.items())
    if isinstance(shape, (list, tuple)):
        made = [rebuilt(value, parts) for value in shape]
        return type(shape)(*made) if hasattr(shape, "_fields") else type(shape)(made)
    return shape


def settings_of(found):
    """The description of a trace without the first values of what is learned."""
    description = json.loads(found.metadata()["gnn.description"])
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


def traced(module, inputs, given, widths, modes):
    """A verified trace of a numbered copy, and the places of all parameters and statistics in it.

    The values of the module itself would hide some of its steps: a bias of zeros is not added."""
    first, numbers = numbered(module, 1)
    if not all(bool(torch.isfinite(v).all()) for v in given.values() if v.is_floating_point()):
        given = None  # Plan.compare() runs both on these
    with tempfile.TemporaryDirectory() as folder:
        found = from_pyg.export(first, os.path.join(folder, "traced"), inputs=inputs, given=given, library=_library.lib.path, modes=modes)
    second, others = numbered(module, 2)
    again = trace(second, inputs, widths, found.without, modes=modes)
    join(found), join(again)
    if settings_of(again) != settings_of(found):
        raise Untraceable("a setting of the trace follows from the values of parameters, which training changes")
    parts, one = table_of(found, numbers)
    tables = one, table_of(again, others)[1]
    made = []
    for (name, _, k), (first, one), (second, two) in zip(parts, *tables):
        same = (first == second) & ((first >= 0) | (one == two))
        if not same.all():
            raise Untraceable(f"{name} is computed from parameters: its gradient has no counterpart")
        made.append((name, k, torch.from_numpy(first)))
    return found, made


def reshaped(y, dim, shape):
    if dim == 2:
        return y
    return y.reshape(y.shape[0], *shape) if dim > 1 else y.reshape(-1) if dim == 1 else y.reshape(())


@contextlib.contextmanager
def floats():
    """Tensors are made as float32, while a module is traced."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def emptied(value):
    """The structure of what forward() returns, without the memory of its tensors."""
    return rebuilt(value, iter([torch.empty(0, **FLOATS)] * len(flat(value))))


# ---- one way to call a module: a trace, its model, its tapes ----


class Plan:
    """A module traced for one set of given inputs."""

    def __init__(self, module, call, threads, modes=None):
        given = call.tensors
        for name, p in (*module.named_parameters(), *statistics(module).items()):
            if p.dtype != torch.float32 or p.device.type != "cpu":
                raise Unread(f"{name} must be float32 on the CPU, is {p.dtype} on {p.device}")
        for name, x in given.items():
            if x.device.type != "cpu":
                raise Unread(f"{name} must be on the CPU, is on {x.device}")
            if x.is_floating_point() and x.dtype != torch.float32:
                raise Unread(f"{name} must be float32 as the module's parameters are, came {x.dtype}")
        self.watch = Watch(inner(module), [*module.parameters(), *statistics(module).values()])
        if self.watch.unlisted:
            raise Untraceable(f"{self.watch.unlisted} requires a gradient, and parameters() of the module does not have it: a parameter or a layer that is an attribute, or in an nn.ModuleList, is expected")
        inputs = tuple(call.forms)
        widths = {name: v.shape[1] for name, v in given.items() if v.dim() == 2 and v.is_floating_point()}
        found, described = traced(module, inputs, given, widths, modes and [True] * (len(list(module.modules())) - len(modes)) + list(modes))
        self.module, self.threads, self.found, self.drawn = module, threads, found, found.checks[0][0]
        self.training_problem = found.training_problem
        outputs = [value for value, _ in found.output_values.values()]
        self.shapes = [(v.dim(), v.shape[1:]) for v in outputs]
        self.dim, self.shape = self.shapes[0]
        self.widths, self.structure = [int(np.prod(v.shape[1:])) for v in outputs], outputs[0]
        self.loaded = Loaded(found)
        self.model, self.block = self.loaded._at, self.loaded.block
        self.values = [*module.parameters(), *statistics(module).values()]
        self.value_names, self.value_shapes = [name for name, _ in (*inner(module).named_parameters(), *statistics(inner(module)).items())], list(map(SHAPE, self.values))
        starts = np.cumsum([0] + [v.numel() for v in self.values]).tolist()
        self.homes = [home for m in module.modules() for home in (m._parameters, m._modules, m._buffers)]
        self.members = [value for home in self.homes for value in home.values()]
        self.parameter_names = [name for name, _ in module.named_parameters()]
        self.n_parameters = len(self.parameter_names)
        self.counters = [b for name, b in module.named_buffers() if name.endswith("num_batches_tracked")]
        self.places = [(Place(name, part, index, starts, self.values), k) for (name, k, index), (_, part, _) in zip(described, self.loaded.parts())]
        self.starts = starts
        self.names = [lib.gnn_model_input_name(self.model, k).decode() for k in range(lib.gnn_model_input_count(self.model))]
        self.encoded = [name.encode() for name in self.names]
        self.n_slots = lib.gnn_model_graph_count(self.model)
        self.learned = [True] * len(outputs)  # outputs that have a gradient
        self.graphs, self.latest, self.tapes, self.pid = {}, None, [], os.getpid()
        self.renew_locks()
        has_locks(self)
        kinds = {name: found.checks[0][0].kind(name) for name in self.drawn.values}
        self.kinds = {name: kind for name, kind in kinds.items() if name in call.tensors}
        self.indices = [name for name, kind in self.kinds.items() if kind in ("edges", "batch", "types")]
        self.ends = {name: self.drawn.ends(name) for name, kind in self.kinds.items() if kind == "edges"}
        self.counted = self.counted_by(call)
        self.read = [self.reading(name, call) for name in self.names]
        self.features, self.dense = arguments.Features(), set()
        if call.counts and "batch" not in self.kinds.values():
            raise Untraceable(f"{next(iter(call.counts))} is given without batch")
        self.arrange()
        self.fill()

    def renew_locks(self):
        self.lock = threading.RLock()

    def reading(self, name, call):
        """The argument that an input of the model is, or its column; and whether it has reals."""
        base, _, column = (name, "", "") if name in call.tensors else name.rpartition(".")
        return base, int(column) if column else None, self.kinds[base] in NUMBERS

    def counted_by(self, call):
        """The value whose rows are counted, for each type of nodes; None: there is one type."""
        made = {}
        for name, kind in self.kinds.items():
            base, _, node = name.rpartition(".")
            if self.drawn.specs.get(base, (None, 0))[0] == "x_dict":
                made.setdefault(node, name)
            elif kind in NODES:
                made.setdefault(None, name)
        lacking = {end for ends in self.ends.values() for end in ends} - set(made)
        if lacking and made:
            raise Untraceable(f"no values of the nodes of type {', '.join(map(str, lacking))} are given, which would tell their count")
        return made

    def compare(self, module, call, args, kwargs):
        """That both compute the same on the arguments of the first call, in the form in which these
        came, with the module's own values."""
        made = pyg_draw.copied(module).eval()
        with torch.no_grad():
            theirs = made(*args, **kwargs)
            if isinstance(theirs, pyg_draw.DrawnData) or not torch.is_tensor(theirs) and not isinstance(theirs, (dict, list, tuple)):
                raise Untraceable(f"forward() returns a {type(theirs).__name__}: tensors, or a tuple, list or dict of them, are expected")
            self.structure = emptied(theirs)
            slots, tensors = self.slots(call, False), self.inputs(call.tensors)
            try:
                made = Compiled.infer(self, slots, tensors)
            except NotImplementedError:
                if not self.needs_dense(tensors):
                    raise
                made = Compiled.infer(self, slots, self.inputs(call.tensors))
            ours = flat(self.shaped(made))
        off = max(apart(a, b) for a, b in zip(ours, flat(theirs)))
        if len(ours) != len(flat(theirs)) or not off <= pyg_verify.TOLERANCE:
            raise Untraceable(f"libgnn computes something else than the module on the inputs of this call: the output differs by {off:.2g}")
        self.compare_gradients(call)
        if self.watch.changed():
            raise Untraceable(f"{self.watch.changed()} changes while forward() runs: a run in libgnn leaves it as it is")

    def compare_gradients(self, call):
        """That both have the same gradients, on a drawn graph: inputs of a program have ties, of which
        each may take another. Outputs that have none (forward() detaches them) get none."""
        names = [name for name in self.kinds if self.drawn.values[name].is_floating_point()]
        theirs, self.learned = weighted(pyg_draw.copied(self.module).eval(), self.drawn, names, torch.float32)
        if theirs is None:
            return
        given = {name: v.clone().requires_grad_(v.is_floating_point()) for name, v in self.drawn.values.items()}
        like = call.like({name: given[name] for name in self.kinds})
        like.counts = {name: len(self.drawn.graph.lengths) for name in call.counts}
        own = [p if p.requires_grad else torch.zeros(0, requires_grad=True) for p in self.values[:self.n_parameters]]
        with torch.enable_grad():
            slots, tensors = self.slots(like, True), self.inputs(like.tensors)
            self.fill()
            ours = gradients_of(flat(Compiled.recorded(self, slots, tensors, False)), [given[name] for name in names] + own)
        inputs, names = names, names + [name for name, _ in self.module.named_parameters()]
        exact = None
        for k, (mine, their) in enumerate(zip(ours, theirs)):
            if not mine.numel() or not bool(torch.isfinite(their).all()):
                continue
            off = pyg_verify.distance(mine.numpy(), their.numpy())
            if not off <= GRADIENT_TOLERANCE:  # Is it the rounding of PyTorch's own float32?
                exact = exact or weighted(pyg_draw.copied(self.module).eval().double(), self.drawn, inputs, torch.float64)[0]
                off = pyg_verify.distance(mine.numpy(), exact[k].numpy())
            if not off <= GRADIENT_TOLERANCE:
                raise Untraceable(f"libgnn computes another gradient of {names[k]} than the module: it differs by {off:.2g}")

    def unchanged(self):
        """True if the module has the layers, parameters and buffers that were traced, and what else it
        computes with is as it was; checked in each call."""
        now = [value for home in self.homes if home for value in home.values()]
        return len(now) == len(self.members) and all(map(operator.is_, now, self.members)) and self.watch.holds()

    def arrange(self):
        """Sorts the places into those that are one whole parameter, and the rest."""
        self.whole_to, self.whole_from, self.rest, self.back = [], [], [], []
        for place, k in self.places:
            if k is not None:
                gradient = memory(lib.gnn_parameters_gradient(self.block, k), self.loaded)
            if place.whole is not None:
                j, shaped = place.whole
                self.whole_to.append(shaped(place.part))
                self.whole_from.append(self.values[j])
                if k is not None:
                    self.back.append((j, shaped(gradient), None))
            elif bool((place.index >= 0).any()):
                self.rest.append(place)
                if k is not None:
                    self.back.append((None, gradient, place.index))
        with torch.no_grad():
            self.straight = [(to.data_ptr(), value, 4 * value.numel()) for to, value in zip(self.whole_to, self.whole_from) if to.is_contiguous() and value.numel()]
            other = [k for k, to in enumerate(self.whole_to) if not to.is_contiguous()]
            self.whole_to, self.whole_from = [self.whole_to[k] for k in other], [self.whole_from[k] for k in other]
            self.others = self.values if self.rest else self.whole_from
            self.copies, self.stale = [torch.empty_like(value, memory_format=torch.contiguous_format).detach() for value in self.others], True
        self.statistics_whole = [(place, k) for place, k in self.places if k is None]

    def fill(self):
        """Copies the module's values into the library's memory."""
        for value in self.values:
            if value.dtype is not torch.float32 or not value.is_cpu:
                name = next(name for name, v in zip(self.value_names, self.values) if v is value)
                raise Unread(f"{name} must be float32 on the CPU, is {value.dtype} on {value.device}")
        if list(map(SHAPE, self.values)) != self.value_shapes:
            name, value, shape = next((name, v, shape) for name, v, shape in zip(self.value_names, self.values, self.value_shapes) if v.shape != shape)
            raise ValueError(f"{name} has the shape {tuple(value.shape)}, and had {tuple(shape)} when the module was traced")
        for to, value, size in self.straight:
            ctypes.memmove(to, value.data_ptr() if value.is_contiguous() else self.contiguous(value), size)
        if not self.stale and all(value.is_contiguous() and not memcmp(kept.data_ptr(), value.data_ptr(), 4 * value.numel()) for kept, value in zip(self.copies, self.others)):
            return
        with torch.no_grad():
            for kept, value in zip(self.copies, self.others):
                kept.copy_(value)
            self.stale = False
            if self.whole_to:
                torch._foreach_copy_(self.whole_to, self.whole_from)
            if self.rest:
                flat = torch.cat([v.reshape(-1) for v in self.values])
                for place in self.rest:
                    place.part.copy_(torch.where(place.index >= 0, flat[place.index.clamp(min=0)], place.part))

    def contiguous(self, value):
        self.passing = value.detach().contiguous()
        return self.passing.data_ptr()

    def versions(self):
        return [p._version for p in self.values[:self.n_parameters]]

    def write_back(self):
        """Copies batch norm's running values out of the library after a step of training."""
        if not self.statistics_whole:
            return
        self.stale = True
        with torch.no_grad():
            for place, _ in self.statistics_whole:
                for j in place.owners if place.whole is None else (place.whole[0],):
                    here = (place.index >= self.starts[j]) & (place.index < self.starts[j + 1])
                    self.values[j].view(-1)[place.index[here] - self.starts[j]] = place.part[here]
            for counter in self.counters:
                counter += 1

    def gradients(self, wanted):
        """The gradients of the parameters, of those that are wanted."""
        made = [None] * self.n_parameters
        flat = None
        lib.gnn_parameters_block(self.block, 1, None)  # what no run has written is 0 after this
        for j, g, index in self.back:
            if index is None:
                if wanted[j]:
                    made[j] = g.clone(memory_format=torch.contiguous_format) if made[j] is None else made[j] + g
                continue
            if flat is None:
                flat = torch.zeros(self.starts[-1], **FLOATS)
            here = index >= 0
            flat.index_add_(0, index[here], g[here])
        if flat is not None:
            touched = {j for place in self.rest for j in place.owners if j < self.n_parameters}
            for j in touched:
                if wanted[j]:
                    part = flat[self.starts[j]:self.starts[j + 1]].view(self.values[j].shape)
                    made[j] = part if made[j] is None else made[j] + part
        return made

    # ---- inputs ----

    def slots(self, call, backward):
        """The graphs of all slots for these edges; the last few are kept."""
        values = call.tensors
        tensors = [values[name] for name in self.indices]
        counts = [values[name].shape[0] for name in self.counted.values()]
        latest = self.latest
        if latest is not None and counts == latest.counts and (latest.backward or not backward) and call.counts == latest.given and all(map(operator.is_, tensors, latest.kept)):
            if all(old.is_of(v) for old, v in zip(latest.versions, tensors)):
                return latest
        for name, value in zip(self.indices, tensors):
            if value.dtype not in INTEGERS or value.device.type != "cpu":
                raise Unread(f"{name} must be int64 or int32 on the CPU, came {value.dtype} on {value.device}")
        key = (*counts, *call.counts.values(), *[(v.data_ptr(), v.dtype, v.shape, v.stride()) for v in tensors])
        made = self.graphs.get(key)
        if made is None or backward and not made.backward or not all(old.is_of(v) for old, v in zip(made.versions, tensors)):
            made = Slots(self, call, tensors, dict(zip(self.counted, counts)), backward)
            self.graphs.pop(key, None)
            while len(self.graphs) >= KEPT_GRAPHS:
                self.graphs.pop(next(iter(self.graphs)))
            self.graphs[key] = made
        self.latest = made
        return made

    def inputs(self, values, training=False):
        """The tensors of the model's inputs, in its order; MostlyZero where libgnn reads such."""
        made = []
        for base, column, numbers in self.read:
            x = values[base]
            if not x.is_cpu:
                raise Unread(f"{base} must be on the CPU, is on {x.device}")
            if not numbers:
                x = ids_of(base, (x if column is None else x[:, column]).reshape(-1))
            elif x.dtype is not torch.float32:
                raise Unread(f"{base} must be float32 as the module's parameters are, came {x.dtype}")
            elif x.dim() != 2 or not x.is_contiguous():
                x = x if x.dim() == 2 else x.reshape(x.shape[0], math.prod(x.shape[1:]))
                x = x if x.stride(-1) == 1 and x.stride(0) >= x.shape[1] or not x.numel() else x.contiguous()
            elif (base, training) not in self.dense:
                x = self.features.of(x)
            made.append(x)
        return made

    def needs_dense(self, tensors, training=False):
        """After a run that could not read an input of mostly zeros: True if there was one. It is
        given as it is from then on."""
        before = len(self.dense)
        self.dense.update((base, training) for (base, _, _), x in zip(self.read, tensors) if type(x) is MostlyZero)
        return len(self.dense) > before

    def record(self, slots, tensors):
        """A gnn_model_inputs_t, with the memory that it borrows."""
        n = len(tensors)
        rows, named = (Tensor * max(n, 1))(), (Named * max(n, 1))()
        for k, x in enumerate(tensors):
            named[k].name = self.encoded[k]
            if x.dtype is torch.int32:
                named[k].ids, named[k].count = x.data_ptr(), x.numel()
                continue
            if type(x) is MostlyZero:
                named[k].sparse = x.at
                continue
            rows[k] = Tensor(x.data_ptr() or None, x.shape[0], x.shape[1], x.stride(0) if x.shape[0] > 1 else x.shape[1])
            named[k].dense, named[k].wants_grad = ctypes.addressof(rows) + k * ctypes.sizeof(Tensor), int(x.requires_grad)
        made = ModelInputs(ctypes.addressof(slots.at), self.n_slots, ctypes.addressof(named), n)
        return made, (rows, named, tensors)

    def shaped(self, y):
        """The library's value as forward() returns it."""
        if torch.is_tensor(self.structure):
            return reshaped(y, self.dim, self.shape)
        parts = y.split(self.widths, 1) if len(self.widths) > 1 else (y,)
        made = (reshaped(part, *one) for part, one in zip(parts, self.shapes))
        return rebuilt(self.structure, made if all(self.learned) else (part if learned else part.detach() for part, learned in zip(made, self.learned)))

    def take_tape(self):
        if self.pid != os.getpid():
            self.tapes, self.pid = [], os.getpid()
        me = threading.get_ident()
        for k, tape in enumerate(self.tapes):
            if tape.thread == me:
                return self.tapes.pop(k)
        return Tape(self.threads)


def ids_of(name, x):
    """Integers as the library reads them."""
    if x.dtype not in IDS:
        raise Unread(f"{name} must be integers, came {x.dtype}")
    if x.dtype == torch.int64 and x.numel() and not (-1 << 31 <= int(x.min()) and int(x.max()) < 1 << 31):
        raise ValueError(f"{name} has {int(x.max())}: ids are below 2^31")
    return x.to(torch.int32).contiguous()


def ints_of(value):
    """A gnn_ints_t of a contiguous tensor."""
    return Ints(C["GNN_DTYPE_INT64" if value.dtype == torch.int64 else "GNN_DTYPE_INT32"], value.data_ptr() or ctypes.addressof(arguments.kept_zero))


def weighting(outputs):
    """One number of all outputs that have a gradient."""
    return sum((y * torch.linspace(0.5, 1.5, y.numel(), dtype=y.dtype).view(y.shape)).sum() for y in outputs if y.requires_grad)


def gradients_of(outputs, inputs):
    """The gradients of a weighting of outputs by inputs; zeros where there is none."""
    made = torch.autograd.grad(weighting(outputs), inputs, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, made)]


def apart(ours, theirs):
    """The largest difference as a share of the largest element. Where inputs have NaN or infinities both
    have the same of these."""
    ours, theirs = ours.detach(), theirs.detach()
    finite = torch.isfinite(theirs)
    if ours.shape != theirs.shape or not torch.equal(torch.nan_to_num(ours[~finite]), torch.nan_to_num(theirs[~finite])):
        return math.inf
    return pyg_verify.distance(ours[finite].numpy(), theirs[finite].numpy())


def weighted(module, drawn, names, dtype):
    """The gradients of drawn inputs by name, and of parameters, in PyTorch (None: there are none), and
    the outputs that have one."""
    inputs = {}

    def wrap(value, meta):
        if not value.is_floating_point():
            return value.clone()
        made = inputs[meta.name] = value.clone().to(dtype).requires_grad_()
        return made
    for p in module.parameters():
        p.requires_grad_().grad = None
    with torch.enable_grad():
        out = flat(module(**drawn.arguments(wrap)))
    learned, unread = [y.requires_grad for y in out], torch.zeros(1, requires_grad=True)
    wanted = [inputs.get(name, unread) for name in names] + list(module.parameters())
    if not any(learned) or not wanted:
        return None, learned
    weighting(out).backward()  # checkpoints inside of a module refuse torch.autograd.grad
    return [torch.zeros_like(v) if v.grad is None else v.grad for v in wanted], learned


class Slots:
    """The graphs of a model's slots."""

    def __init__(self, plan, call, tensors, counts, backward):
        first, found = plan.drawn.first_edges(), {}
        for name, value in zip(plan.indices, tensors):
            found.setdefault(plan.kinds[name], {})[name] = value.contiguous()
        edges, types = found.get("edges", {}), next(iter(found.get("types", {}).values()), None)
        for name, value in edges.items():
            if value.dim() != 2 or value.shape[0] != 2:
                raise ValueError(f"{name} must have the shape (2, edges), came {tuple(value.shape)}")
        if not counts:
            counts = {None: max((int(v.max()) + 1 for v in edges.values() if v.numel()), default=0)}
        lists = []
        for name, pairs in edges.items():
            m, senders = pairs.shape[1], ints_of(pairs)
            receivers = Ints(senders.type, senders.data + pairs.element_size() * m)
            own = Ints(C["GNN_DTYPE_INT64"], None)
            if types is not None and name == first:
                if types.numel() != m:
                    raise ValueError(f"types must have one element for each of {m} edges, came {types.numel()}")
                own = ints_of(types)
            n_src, n_dst = (counts[end] for end in plan.ends[name])
            lists.append(EdgeList(name.encode(), n_dst, n_src, m, senders, receivers, own))
        array = (EdgeList * max(len(lists), 1))(*lists)
        whole = torch.tensor([next(iter(counts.values()))], device="cpu")
        for batch in found.get("batch", {}).values():
            whole = self.lengths(batch, next(iter(counts.values())), call.counts)
        sources = Sources(ctypes.addressof(array), len(lists), whole.data_ptr() or None, whole.numel())
        self.at = (ctypes.c_void_p * max(plan.n_slots, 1))()
        check(lib.gnn_model_graphs(plan.model, ctypes.byref(sources), C["GNN_ON" if backward else "GNN_OFF"], self.at))
        self.backward, self.size, self.last = backward, None, None
        self.counts, self.given = list(counts.values()) if plan.counted else [], call.counts
        self.kept = tensors  # no other tensor takes their address while this is kept
        self.versions = [Version(value) for value in tensors]
        self.free = weakref.finalize(self, free_graphs, list(self.at))

    @staticmethod
    def lengths(batch, nodes, counts):
        if batch.dim() != 1 or batch.shape[0] != nodes:
            raise ValueError(f"batch must have one element for each of {nodes} nodes, came the shape {tuple(batch.shape)}")
        if batch.numel() and (bool((batch[1:] < batch[:-1]).any()) or int(batch[0]) < 0):
            raise ValueError("batch must be sorted and not negative: the nodes of one graph after those of another")
        made = torch.bincount(batch, minlength=next(iter(counts.values()), 0))
        for name, count in counts.items():
            if made.numel() != count:
                raise ValueError(f"{name} is {count}, and batch has graphs up to {made.numel() - 1}")
        return made


def free_graphs(pointers):
    for pointer in pointers:
        lib.gnn_graph_free(pointer)


class Tape(Handle):
    """A tape of one thread. A run with the memory of the last one runs its program again, which
    plans nothing."""

    def __init__(self, threads):
        made, self.context = ctypes.c_void_p(), context(threads)
        check(lib.gnn_tape_new(ctypes.byref(made), self.context._at))
        self._hold(made.value, lib.gnn_tape_free)
        self.thread, self.form, self.kept, self.program = threading.get_ident(), None, None, None

    def record(self, plan, slots, tensors, recording, training):
        """The output and the inputs of a program of the model over these tensors."""
        form = (recording, training, *[(x.data_ptr(), x.shape, x.stride(), x.requires_grad) for x in tensors])
        if self.kept is not None and self.kept[0] is slots and form == self.form:
            return self.program
        self.kept = None
        made, borrowed = plan.record(slots, tensors)
        variables = (ctypes.c_int32 * max(len(tensors), 1))()
        lib.gnn_tape_reset(self._at, int(recording), int(training))
        y = lib.gnn_model_record(plan.model, self._at, ctypes.byref(made), variables)
        check(lib.gnn_tape_status(self._at))
        lib.gnn_tape_keep(self._at, y)
        # What has an address of its own is kept, so that no other takes it; tensors come with each run.
        self.form, self.kept, self.program = form, (slots, [x for x in tensors if type(x) is MostlyZero]), (y, list(variables[:len(tensors)]))
        del borrowed
        return self.program

    def forward(self):
        """Runs the program; after an error it is recorded anew."""
        code = lib.gnn_tape_forward(self._at)
        if code:
            self.kept = None
            raise error(code)


class Lent:
    """A tape until its backward pass has run, or cannot run any more."""

    tape = None

    def __init__(self, plan):
        self.plan = plan
        self.tape = plan.take_tape()

    def give_back(self):
        if self.tape is not None and self.plan.pid == os.getpid():
            self.plan.tapes.append(self.tape)
        self.tape = None

    __del__ = give_back


class Run(torch.autograd.Function):
    """One run of a plan on a tape."""

    @staticmethod
    def forward(ctx, plan, slots, training, recording, n, *tensors):
        inputs, lent = tensors[:n], Lent(plan)
        tape = lent.tape
        y, variables = tape.record(plan, slots, inputs, recording, training)
        if training:
            lib.gnn_tape_set_step(tape._at, int(torch.randint(1 << 31, (), device="cpu")))
        tape.forward()
        out = memory(lib.gnn_tape_value(tape._at, y), tape).clone()
        if recording:
            ctx.plan, ctx.lent, ctx.y, ctx.variables, ctx.kept, ctx.n = plan, lent, y, variables, (inputs, slots), n
            ctx.versions = plan.versions()
        else:
            lent.give_back()
        return out

    @staticmethod
    def backward(ctx, dy):
        if not torch.is_grad_enabled():
            return Run.gradients(ctx, dy)
        inputs = [x for x in (dy, *ctx.kept[0], *ctx.plan.values[:ctx.plan.n_parameters]) if torch.is_tensor(x) and x.requires_grad] if ctx.kept else []
        with torch.no_grad():
            made = Run.gradients(ctx, dy)
        given = iter(Constant.apply([g for g in made if g is not None], *inputs))
        return tuple(None if g is None else next(given) for g in made)

    @staticmethod
    def gradients(ctx, dy):
        plan, lent = ctx.plan, ctx.lent
        if lent.tape is None:
            raise RuntimeError("a second backward pass through one run: libgnn keeps its values for one (retain_graph has no counterpart)")
        changed = [name for name, now, then in zip(plan.parameter_names, plan.versions(), ctx.versions) if now != then]
        if changed:
            raise RuntimeError(f"{changed[0]} was changed in place between this run and its backward pass, which needs the value of the run")
        with plan.lock:
            tape, dy = lent.tape._at, dy.float().contiguous()
            d = Tensor(dy.data_ptr() or None, dy.shape[0], dy.shape[1], dy.shape[1])
            lib.gnn_parameters_zero_gradients(plan.block)
            check(lib.gnn_tape_backward(tape, ctx.y, ctypes.byref(d)))
            wanted = ctx.needs_input_grad[5:]
            given = [memory(lib.gnn_tape_gradient(tape, v), lent.tape).clone() if wanted[k] else None for k, v in enumerate(ctx.variables)]
            made = plan.gradients(wanted[ctx.n:])
            lent.give_back()
            ctx.kept = None
        return (None, None, None, None, None, *given, *made)


class Constant(torch.autograd.Function):
    """First derivatives under create_graph=True: a derivative of these is an error. Without a path to
    what they depend on they would count as constants."""

    @staticmethod
    def forward(ctx, gradients, *inputs):
        return tuple(g.clone() for g in gradients)

    @staticmethod
    def backward(ctx, *dy):
        raise RuntimeError("second derivatives (create_graph=True) have no counterpart in libgnn")


# ---- modules that cannot be traced as a whole ----


def passes_messages(module):
    from torch_geometric.nn import MessagePassing
    return any(isinstance(m, MessagePassing) for m in module.modules())


def layers_of(module, whole):
    """(home, name, layer) of the children that pass messages; lists of modules are entered."""
    for name, child in module._modules.items():
        if child is None or isinstance(child, Compiled) or not passes_messages(child):
            continue
        if isinstance(child, (torch.nn.ModuleList, torch.nn.ModuleDict)):
            yield from layers_of(child, whole)
        elif child is not whole:
            yield module._modules, name, child


class Layered:
    """A module run by PyTorch whose layers run in libgnn."""

    def __init__(self, module, threads):
        self.module = module
        self.renew_locks()
        has_locks(self)
        self.layers = [(home, name, child, Compiled(child, True, threads)) for home, name, child in layers_of(module, module)]

    def renew_locks(self):
        self.lock = threading.RLock()

    def __call__(self, *args, **kwargs):
        with self.lock:  # the children are replaced during the call alone: state_dict() never sees it
            for home, name, _, fast in self.layers:
                home[name] = fast
            try:
                return self.module(*args, **kwargs)
            finally:
                for home, name, child, _ in self.layers:
                    home[name] = child

    training_problem = None

    def unchanged(self):
        return all(home.get(name) is child for home, name, child, _ in self.layers)


SHARED = ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set")


class Compiled(torch.nn.Module):
    """A module that computes what another one computes, in libgnn.

    Parameters, buffers and children are those of the module itself: state_dict, optimisers and
    train() see no difference. The first call with a new set of inputs traces the module and compares
    both on these inputs: a difference above 1e-4 is an Untraceable that names the step.

    Parameters
    ----------
    module : torch.nn.Module
        float32, on the CPU.
    fallback : bool
        True: a module that cannot be traced runs in PyTorch, with a warning that says why; its layers
        run in libgnn, each that can be traced.
    threads : int, optional
        Default: torch.get_num_threads().
    """

    def __init__(self, module, fallback=False, threads=None):
        if not isinstance(module, torch.nn.Module):
            raise TypeError(f"module must be a torch.nn.Module, came {type(module).__name__}")
        if isinstance(module, Compiled):
            raise TypeError("module is compiled already")
        fallback, threads = flag(fallback, "fallback"), None if threads is None else whole(threads, "threads", low=1, high=1024)
        super().__init__()
        for name in SHARED:
            self.__dict__[name] = module.__dict__[name]
        self.__dict__.update(wrapped=module, fallback=fallback, threads=threads, plans={})
        self.look()
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = inspect.signature(module.forward).parameters
        self.__dict__["arguments"] = [name for name, p in parameters.items() if p.kind in kinds]
        self.__dict__["unnamed"] = not self.arguments and any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters.values())
        self.__dict__["defaults"] = {name: None if p.default is p.empty else p.default for name, p in parameters.items() if p.kind in kinds or p.kind is inspect.Parameter.KEYWORD_ONLY}
        self.__dict__.update(sparse=arguments.Sparse(), unread={}, known={})

    def train(self, mode=True):
        self.wrapped.train(mode)
        return self

    @property
    def training(self):
        """The mode of the module itself."""
        return self.wrapped.training

    @training.setter
    def training(self, mode):
        if "wrapped" in self.__dict__:
            self.wrapped.training = mode

    def look(self):
        """Lists the modules, and their hooks."""
        units = list(self.wrapped.modules())
        self.__dict__.update(units=units, hooks=HOOKS_OF_ALL + [getattr(m, name) for m in units for name in HOOKS])

    def check_hooks(self):
        """Refuses hooks that a run in libgnn would not call; those of PyTorch and PyG make parameters."""
        for hook in (hook for hooks in HOOKS_OF_ALL for hook in hooks.values()):
            raise Untraceable(f"a hook on all modules is set ({getattr(hook, '__name__', type(hook).__name__)}), which only a run in PyTorch calls for layers")
        for path, m in self.wrapped.named_modules():
            for name in HOOKS:
                for hook in getattr(m, name).values():
                    if not (getattr(hook, "__module__", None) or "").startswith(("torch.nn", "torch_geometric.nn")):
                        raise Untraceable(f"{path or type(m).__name__} has a hook ({name[1:-1]} {getattr(hook, '__name__', type(hook).__name__)}), which only a run in PyTorch calls")

    def modes(self):
        """True in training, and the mode of each module where they are not all in one."""
        if any(self.hooks):
            self.check_hooks()
        first = self.wrapped.training
        for m in self.units:
            if m.training is not first:
                return True, tuple(m.training for m in self.units)
        return first, None

    def __getattr__(self, name):
        return getattr(self.__dict__["wrapped"], name)

    def __setattr__(self, name, value):
        """Attributes are the module's own: `compiled.dropout = 0.9` is one of `module`."""
        if name in self.__dict__ or hasattr(type(self), name) or "wrapped" not in self.__dict__:
            super().__setattr__(name, value)
        else:
            setattr(self.__dict__["wrapped"], name, value)

    def __delattr__(self, name):
        if name in self.__dict__:
            super().__delattr__(name)
        else:
            delattr(self.__dict__["wrapped"], name)

    def _apply(self, function, recurse=True):
        self.wrapped._apply(function, *() if recurse else (False,))
        return self

    def apply(self, function):
        """Calls a function with each module, the compiled one itself included."""
        self.wrapped.apply(function)
        return self

    def state_dict(self, *args, **kwargs):
        return self.wrapped.state_dict(*args, **kwargs)

    def load_state_dict(self, *args, **kwargs):
        return self.wrapped.load_state_dict(*args, **kwargs)

    def _load_from_state_dict(self, *args):
        self.wrapped._load_from_state_dict(*args)

    def __prepare_scriptable__(self):
        raise Untraceable("torch.jit.script reads no run of libgnn; libgnn.onnx.export writes a file")

    def __reduce__(self):
        return Compiled, (self.wrapped, self.fallback, self.threads)

    def __deepcopy__(self, memo):
        return Compiled(copy.deepcopy(self.wrapped, memo), self.fallback, self.threads)

    def plan(self, call, args, kwargs, training, modes):
        """The plan for a call of these forms, made if there is none: layers in a module of PyTorch
        where that fails and `fallback` is set. One plan is of both modes; of a module that cannot be
        traced in training, or that has modules in evaluation then, a call in training has its own."""
        key = call.key if modes is None else (call.key, modes)
        made = self.plans.get((key, "training") if training and (key, "training") in self.plans else key)
        if made is None:
            made = self.kept(key, self.planned(call, args, kwargs, modes))
        if not made.unchanged():
            self.plans.clear()  # a layer or a parameter was replaced by another one
            self.look()
            return self.plan(call, args, kwargs, *self.modes())
        if training and made.training_problem:
            problem = Untraceable(f"{made.training_problem}: in training it has no counterpart")
            if not self.fallback:
                raise problem
            made = self.kept((key, "training"), self.layered(problem))
        return made

    def planned(self, call, args, kwargs, modes):
        self.materialise(args, kwargs)
        try:
            with torch.inference_mode(False), torch.enable_grad(), torch.device("cpu"), floats():  # gradients are compared, too
                made = Plan(arguments.bound(self.wrapped, call, self.unnamed), call, self.threads or torch.get_num_threads(), modes)
                made.compare(self.wrapped, call, args, kwargs)
        except (Untraceable, Unread) as problem:
            if not self.fallback:
                raise
            made = self.layered(problem)
        return made

    def materialise(self, args, kwargs):
        """Runs a module with lazy layers once, which gives these their shapes, as in PyTorch."""
        if not any(map(pyg_draw.is_lazy, self.wrapped.parameters())):
            return
        modes = [m.training for m in self.units]
        self.wrapped.eval()
        try:
            with torch.no_grad():
                self.wrapped(*args, **kwargs)
        finally:
            for m, mode in zip(self.units, modes):
                m.training = mode
        self.look()

    def kept(self, key, made):
        while len(self.plans) >= KEPT_PLANS:
            self.plans.pop(next(iter(self.plans)))
        self.plans[key] = made
        return made

    def layered(self, problem):
        made = Layered(self.wrapped, self.threads)
        names = ", ".join(type(child).__name__ for _, _, child, _ in made.layers)
        warnings.warn(f"{type(self.wrapped).__name__} runs in PyTorch{f', its layers in libgnn ({names})' if names else ''}: {problem}", stacklevel=6)
        return made

    def forward(self, *args, **kwargs):
        if torch.jit.is_tracing():
            raise Untraceable("torch.jit.trace records no run of libgnn; libgnn.onnx.export writes a file")
        if is_autocast():
            return self.in_float32(args, kwargs)
        try:
            if transform() is not None or forward_ad._current_level >= 0:
                raise Untraceable("torch.func and forward-mode derivatives: a run of libgnn has the derivatives of backward()")
            training, modes = self.modes()
        except Untraceable as problem:
            if not self.fallback:
                raise
            plan = self.plans.get("hooks") or self.kept("hooks", self.layered(problem))
            return plan(*args, **kwargs)
        if not kwargs:
            form = tuple([value.dim() if type(value) is torch.Tensor and value.layout is torch.strided and not value.is_neg() else None for value in args])
            known = self.known.get(form)
            if known is not None:
                call = known.like(dict(zip(self.arguments, args)))
                plan = self.plan(call, args, kwargs, training, modes)
                return plan(*args) if isinstance(plan, Layered) else self.run(plan, call, training)
        names = self.arguments
        if self.unnamed:
            names = arguments.names_of(args)
        if len(args) > len(names):
            raise TypeError(f"forward() takes {len(names)} arguments, came {len(args)}")
        values = dict(zip(names, args))
        for name, value in kwargs.items():
            if name in values:
                raise TypeError(f"forward() got several values of {name}")
            values[name] = value
        try:
            call = arguments.read(values, self.defaults, self.sparse, len(names) == 1)
        except (Untraceable, Unread) as problem:
            if not self.fallback:
                raise
            plan = self.unread.setdefault(tuple(values), None) or self.layered(problem)
            self.unread[tuple(values)] = plan
        else:
            plan = self.plan(call, args, kwargs, training, modes)
            if not kwargs and not self.unnamed and None not in form:
                self.known[form] = call.like({})
        return plan(*args, **kwargs) if isinstance(plan, Layered) else self.run(plan, call, training)

    def in_float32(self, args, kwargs):
        """Under autocast libgnn computes in float32: values of less are converted."""
        def convert(value):
            if torch.is_tensor(value):
                return value.float() if value.dtype in (torch.bfloat16, torch.float16) else value
            if isinstance(value, dict):
                return {key: convert(part) for key, part in value.items()}
            return type(value)(map(convert, value)) if type(value) in (tuple, list) else value
        with torch.autocast("cpu", enabled=False):
            return self.forward(*map(convert, args), **convert(kwargs))

    def run(self, plan, call, training):
        recording = torch.is_grad_enabled() and any(plan.learned) and (any(p.requires_grad for p in plan.values) or any(v.requires_grad for v in call.tensors.values()))
        with plan.lock:
            plan.fill()
            slots, tensors = plan.slots(call, recording), plan.inputs(call.tensors, training)
            try:
                if not recording and not training:
                    return plan.shaped(self.infer(plan, slots, tensors))
                return self.recorded(plan, slots, tensors, training, recording)
            except NotImplementedError:
                if not plan.needs_dense(tensors, training):
                    raise
            return self.run(plan, call, training)

    @staticmethod
    def recorded(plan, slots, tensors, training, recording=True):
        """A run on a tape, as forward() returns it."""
        with plan.lock:
            y = Run.apply(plan, slots, training, recording, len(tensors), *tensors, *plan.values[:plan.n_parameters])
            if training:
                plan.write_back()
        return plan.shaped(y if recording else y.detach())

    @staticmethod
    def infer(plan, slots, tensors):
        last = slots.last
        if last is not None and all(x.shape == shape and (x.dtype is torch.int32 or x.stride() == stride) for x, (shape, stride, _, _) in zip(tensors, last)):
            for x, (_, _, place, member) in zip(tensors, last):
                setattr(place, member, x.data_ptr())
        else:
            slots.made, (rows, named, _) = plan.record(slots, tensors)
            slots.size = output_size(plan, slots, tensors)
            slots.last = [(x.shape, x.stride(), *((named[k], "ids") if x.dtype is torch.int32 else (named[k], "sparse") if type(x) is MostlyZero else (rows[k], "data"))) for k, x in enumerate(tensors)]
            slots.arguments, slots.parts = ctypes.byref(slots.made), (rows, named)
        y = torch.empty(slots.size, **FLOATS)
        out = Tensor(y.data_ptr(), slots.size[0], slots.size[1], slots.size[1])
        code = lib.gnn_model_forward(plan.model, context(plan.threads)._at, slots.arguments, ctypes.byref(out))
        if code:
            raise error(code)
        return y


def output_size(plan, slots, tensors):
    """Rows and columns of the output, as a tape knows them before it runs."""
    lent = Lent(plan)
    y, _ = lent.tape.record(plan, slots, tensors, False, False)
    size = lib.gnn_tape_rows(lent.tape._at, y), lib.gnn_tape_cols(lent.tape._at, y)
    lent.give_back()
    return size
