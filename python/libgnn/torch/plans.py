"""One way to call a module: a trace of it, compared with the module, and the model that the library
made of the trace."""
import contextlib
import copy
import ctypes
import dataclasses
import math
import operator
import os
import threading

import numpy as np
import torch

from .._arrays import Tensor
from .._library import lib, struct
from .._objects import context, has_locks
from . import arguments, pyg_draw, pyg_verify
from .arguments import MostlyZero, kept_zero
from .places import FLOATS, Loaded, Place, memory, statistics, statistics_of, traced
from .pyg_symbols import Unread, Untraceable
from .pyg_trace import constants_of, flat
from .runs import Slots, Tape, infer, recorded
from .watched import Watch, inner, memcmp

Named, ModelInputs = struct("gnn_named_t"), struct("gnn_model_inputs_t")
NODES = ("rows", "column", "cube", "ids", "id_rows")
NUMBERS = ("rows", "column", "cube", "edge_rows", "edge_column")
INTEGERS, IDS = (torch.int64, torch.int32), (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
KEPT_GRAPHS = 8
GRADIENT_TOLERANCE = 1e-3
SHAPE = operator.attrgetter("shape")


# ---- what forward() returns ----


def rebuilt(shape, parts):
    """What forward() returns, with other tensors: in the order of pyg_trace.flat()."""
    if torch.is_tensor(shape):
        return next(parts)
    if isinstance(shape, dict):
        return type(shape)((key, rebuilt(value, parts)) for key, value in shape.items())
    if isinstance(shape, (list, tuple)):
        made = [rebuilt(value, parts) for value in shape]
        return type(shape)(*made) if hasattr(shape, "_fields") else type(shape)(made)
    if dataclasses.is_dataclass(shape):
        made = copy.copy(shape)
        for field in dataclasses.fields(shape):
            object.__setattr__(made, field.name, rebuilt(getattr(shape, field.name), parts))
        return made
    return shape


def reshaped(y, dim, shape, lone):
    if lone:
        return y.reshape(shape)
    if dim == 2:
        return y
    return y.reshape(y.shape[0], *shape) if dim > 1 else y.reshape(-1) if dim == 1 else y.reshape(())


def emptied(value):
    """The structure of what forward() returns, without the memory of its tensors."""
    return rebuilt(value, iter([torch.empty(0, **FLOATS)] * len(flat(value))))


@contextlib.contextmanager
def floats():
    """Tensors are made as float32, while a module is traced."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


# ---- gradients of both ----


class Ungraded(Exception):
    """Why PyTorch itself has no gradient of a module."""


def weighting(outputs):
    """One number of all outputs that have a gradient."""
    return sum((y * torch.linspace(0.5, 1.5, y.numel(), dtype=y.dtype).view(y.shape)).sum() for y in outputs if y.requires_grad)


def gradients_of(outputs, inputs):
    """The gradients of a weighting of outputs by inputs; zeros where there is none."""
    made = torch.autograd.grad(weighting(outputs), inputs, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, made)]


def apart(ours, theirs):
    """The largest difference as a share of the largest element. Where inputs have NaN or infinities
    both have the same of these."""
    ours, theirs = ours.detach(), theirs.detach()
    finite = torch.isfinite(theirs)
    if ours.shape != theirs.shape or not torch.equal(torch.nan_to_num(ours[~finite]), torch.nan_to_num(theirs[~finite])):
        return math.inf
    return pyg_verify.distance(ours[finite].numpy(), theirs[finite].numpy())


def weighted(module, drawn, names, dtype):
    """The gradients of drawn inputs by name, and of parameters, in PyTorch (None: there are none), the
    outputs that have one, and the positions of parameters that none of these reads."""
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
        return None, learned, set()
    try:
        weighting(out).backward()  # checkpoints inside of a module refuse torch.autograd.grad
    except RuntimeError as problem:  # a value that a gradient needs was changed in place, say
        raise Ungraded(str(problem)) from None
    return [torch.zeros_like(v) if v.grad is None else v.grad for v in wanted], learned, {k for k, p in enumerate(module.parameters()) if p.grad is None}


# ---- the plan ----


def ids_of(name, x):
    """Integers as the library reads them."""
    if x.dtype not in IDS:
        raise Unread(f"{name} must be integers, came {x.dtype}")
    if x.dtype == torch.int64 and x.numel() and not (-1 << 31 <= int(x.min()) and int(x.max()) < 1 << 31):
        raise ValueError(f"{name} has {int(x.max())}: ids are below 2^31")
    return x.to(torch.int32).contiguous()


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
        found, described, self.program, (self.widths, self.rows) = traced(module, inputs, given, widths, modes and [True] * (len(list(module.modules())) - len(modes)) + list(modes))
        self.module, self.threads, self.found, self.drawn = module, threads, found, found.checks[0][0]
        self.training_problem = found.training_problem
        outputs = [value for value, _ in found.output_values.values()]
        self.shapes = [(v.dim(), v.shape if lone else v.shape[1:], lone) for v, lone in found.output_values.values()]
        self.structure = outputs[0]
        self.loaded = Loaded(found)
        self.model, self.block = self.loaded._at, self.loaded.block
        self.parameters = list(module.parameters())
        self.computed = [torch.empty(shape, **FLOATS) for shape in self.program.shapes] if self.program else []  # memory of derived values
        self.values = [*self.parameters, *self.computed, *statistics(module).values()]
        computed = [(f"a value computed from parameters ({k})", v) for k, v in enumerate(self.computed)]
        self.value_names, self.value_shapes = [name for name, _ in (*inner(module).named_parameters(), *computed, *statistics(inner(module)).items())], list(map(SHAPE, self.values))
        starts = np.cumsum([0] + [v.numel() for v in self.values]).tolist()
        self.homes = [home for m in module.modules() for home in (m._parameters, m._modules, m._buffers)]
        self.members = [value for home in self.homes for value in home.values()]
        self.parameter_names = [name for name, _ in module.named_parameters()]
        self.n_learned = len(self.parameters) + len(self.computed)
        evaluated = {id(m) for m, mode in zip(inner(module).modules(), modes or ()) if not mode}
        self.fixed = {mode: {f"{path}.{name}".lstrip("."): b for path, m in inner(module).named_modules() if not mode or id(m) in evaluated for name, b in statistics_of(m)} for mode in (False, True)}
        self.counters = [b for name, b in module.named_buffers() if name.endswith("num_batches_tracked")]
        self.places = [(Place(name, part, index, starts, self.values), k) for (name, k, index), (_, part, _) in zip(described, self.loaded.parts())]
        self.starts = starts
        self.names = [lib.gnn_model_input_name(self.model, k).decode() for k in range(lib.gnn_model_input_count(self.model))]
        self.encoded = [name.encode() for name in self.names]
        self.n_slots = lib.gnn_model_graph_count(self.model)
        self.learned, self.unread, self.ungraded = [True] * len(outputs), set(), None  # outputs that have a gradient, parameters that have none
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
            if isinstance(theirs, pyg_draw.DrawnData) or not torch.is_tensor(theirs) and not isinstance(theirs, (dict, list, tuple)) and not dataclasses.is_dataclass(theirs):
                raise Untraceable(f"{self.found.at_return}forward() returns a {type(theirs).__name__}: tensors, or a tuple, list or dict of them, are expected")
            if list(map(repr, constants_of(theirs))) != list(map(repr, self.found.returned.values())):
                raise Untraceable(f"{self.found.at_return}forward() returns {constants_of(theirs)} beside tensors for the inputs of this call, and {list(self.found.returned.values())} for others")
            self.structure = emptied(theirs)
            slots, tensors = self.slots(call, False), self.inputs(call.tensors)
            try:
                made = infer(self, slots, tensors)
            except NotImplementedError:
                if not self.needs_dense(tensors):
                    raise
                made = infer(self, slots, self.inputs(call.tensors))
            ours = flat(self.shaped(made, slots))
        off = 0.0 if self.lacks_nodes(call) else max(apart(a, b) for a, b in zip(ours, flat(theirs)))
        if len(ours) != len(flat(theirs)) or not off <= pyg_verify.TOLERANCE:
            raise Untraceable(f"libgnn computes something else than the module on the inputs of this call: the output differs by {off:.2g}")
        self.compare_gradients(call)
        if self.watch.changed():
            raise Untraceable(f"{self.watch.changed()} changes while forward() runs: a run in libgnn leaves it as it is")

    def compare_gradients(self, call):
        """That both have the same gradients, on a drawn graph: inputs of a program have ties, of
        which each may take another. Outputs that have none (forward() detaches them) get none."""
        names = [name for name in self.kinds if self.drawn.values[name].is_floating_point()]
        try:
            theirs, self.learned, self.unread = weighted(pyg_draw.copied(self.module).eval(), self.drawn, names, torch.float32)
        except Ungraded as problem:
            self.ungraded = str(problem)  # a backward pass raises it, as in PyTorch
            return
        if theirs is None:
            return
        given = {name: v.clone().requires_grad_(v.is_floating_point()) for name, v in self.drawn.values.items()}
        like = call.like({name: given[name] for name in self.kinds})
        like.counts = {name: len(self.drawn.graph.lengths) for name in call.counts}
        learned = [p.detach().requires_grad_(p.requires_grad) for p in self.parameters]  # without hooks of the program
        own = [p if p.requires_grad else torch.zeros(0, requires_grad=True) for p in learned]
        with torch.enable_grad():
            slots, tensors = self.slots(like, True), self.inputs(like.tensors)
            self.fill(learned)
            ours = gradients_of(flat(recorded(self, slots, tensors, False)), [given[name] for name in names] + own)
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

    def lacks_nodes(self, call):
        """True of a call without nodes. How many rows a sum of nothing has is the module's own to say."""
        return bool(self.counted) and not any(call.tensors[name].shape[0] for name in self.counted.values())

    def unchanged(self):
        """True if the module has the layers, parameters and buffers that were traced, and what else
        it computes with is as it was; checked in each call."""
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

    def fill(self, learned=None):
        """Copies the module's values, and what it computes from them, into the library's memory.
        `learned`: tensors that get the gradients in the place of the parameters."""
        self.learned_values = learned or self.parameters
        if self.program:
            made = self.program.run(() if learned is None else zip(map(id, self.parameters), learned))
            with torch.no_grad():
                for to, value in zip(self.computed, made):
                    to.copy_(value)
            self.learned_values = self.learned_values + made
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

    def versions(self, training):
        """PyTorch's counts of changes of what a backward pass reads: parameters, and running values
        of norms in evaluation."""
        return [v._version for v in (*self.parameters, *self.fixed[training].values())]

    def version_names(self, training):
        return [*self.parameter_names, *self.fixed[training]]

    def write_back(self):
        """Copies batch norm's running values out of the library after a step of training."""
        if not self.statistics_whole:
            return
        self.stale = True
        with torch.no_grad():
            for place, _ in self.statistics_whole:
                for j in place.owners if place.whole is None else (place.whole[0],):
                    here = (place.index >= self.starts[j]) & (place.index < self.starts[j + 1])
                    to, at, made = self.values[j].view(-1), place.index[here] - self.starts[j], place.part[here]
                    if not torch.equal(to[at], made):  # those of a norm in evaluation stay
                        to[at] = made
            for counter in self.counters:
                counter += 1

    def gradients(self, wanted):
        """The gradients of the parameters, of those that are wanted."""
        made = [None] * self.n_learned
        wanted = [w and j not in self.unread for j, w in enumerate(wanted)]
        flat = None
        lib.gnn_parameters_block(self.block, 1, None)  # what no run has written is 0 after this
        for j, g, index in self.back:
            if index is None:
                if j < self.n_learned and wanted[j]:  # a running value has no gradient
                    made[j] = g.clone(memory_format=torch.contiguous_format) if made[j] is None else made[j] + g
                continue
            if flat is None:
                flat = torch.zeros(self.starts[-1], **FLOATS)
            here = index >= 0
            flat.index_add_(0, index[here], g[here])
        if flat is not None:
            touched = {j for place in self.rest for j in place.owners if j < self.n_learned}
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
                named[k].ids, named[k].count = x.data_ptr() or ctypes.addressof(kept_zero), x.numel()
                continue
            if type(x) is MostlyZero:
                named[k].sparse = x.at
                continue
            rows[k] = Tensor(x.data_ptr() or None, x.shape[0], x.shape[1], x.stride(0) if x.shape[0] > 1 else x.shape[1])
            named[k].dense, named[k].wants_grad = ctypes.addressof(rows) + k * ctypes.sizeof(Tensor), int(x.requires_grad)
        made = ModelInputs(ctypes.addressof(slots.at), self.n_slots, ctypes.addressof(named), n)
        return made, (rows, named, tensors)

    def shaped(self, y, slots):
        """The library's value as forward() returns it."""
        if torch.is_tensor(self.structure):
            return reshaped(y, *self.shapes[0])
        if self.rows is None:
            parts = y.split(self.widths, 1) if len(self.widths) > 1 else (y,)
        else:
            parts = [part[:, :columns] for part, columns in zip(y.split([slots.rows(*one) for one in self.rows]), self.widths)]
        made = (reshaped(part, *one) for part, one in zip(parts, self.shapes))
        return rebuilt(self.structure, made if all(self.learned) else (part if learned else part.detach() for part, learned in zip(made, self.learned)))

    def take_tape(self):
        if self.pid != os.getpid():
            self.tapes, self.pid = [], os.getpid()
        me, mine = threading.get_ident(), self.context()
        for k, tape in enumerate(self.tapes):
            if tape.thread == me:
                tape = self.tapes.pop(k)
                return tape if tape.context is mine else Tape(mine)  # set_threads() and the like make contexts anew
        return Tape(mine)

    def context(self):
        """This thread's context, deterministic where the package or PyTorch is told so."""
        return context(self.threads, torch.are_deterministic_algorithms_enabled())
