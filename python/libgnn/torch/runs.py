"""Runs of a traced module in the library: the graphs of its slots, tapes, and the
autograd.Function.

Each function here takes the plan (plans.py) of which it runs the model.
"""
import contextlib
import ctypes
import os
import threading
import weakref

import torch

from .._arrays import Ints, Tensor
from .._library import C, check, error, lib, struct
from .._objects import Handle
from .arguments import MostlyZero, kept_zero
from .places import FLOATS, memory
from .pyg_symbols import Untraceable
from .pyg_trace import reads_of
from .watched import Version

EdgeList, Sources = struct("gnn_edge_list_t"), struct("gnn_slot_sources_t")


# ---- graphs ----


def ints_of(value):
    """A gnn_ints_t of a contiguous tensor."""
    return Ints(C["GNN_DTYPE_INT64" if value.dtype == torch.int64 else "GNN_DTYPE_INT32"], value.data_ptr() or ctypes.addressof(kept_zero))


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
        # Of edges that an output alone has, no step reads the graph.
        self.given_edges = {k: edges[slot["source"]].shape[1] for k, slot in enumerate(plan.found.graphs) if slot["kind"] == "edges" and slot.get("source") in edges}
        self.loops = list(several_loops(plan.found, edges)) if backward else []
        for name, pairs in edges.items():
            m, senders = pairs.shape[1], ints_of(pairs)
            receivers = Ints(senders.type, senders.data + pairs.element_size() * m)
            own = Ints(C["GNN_DTYPE_INT64"], None)
            if types is not None and name == first:
                if types.numel() != m:
                    raise ValueError(f"types must have one element for each of {m} edges, came {types.numel()}")
                own = ints_of(types)
            n_src, n_dst = (counts[end] for end in plan.ends[name])
            check_covered(plan.found, name, pairs, (n_src, n_dst))
            lists.append(EdgeList(name.encode(), n_dst, n_src, m, senders, receivers, own))
        array = (EdgeList * max(len(lists), 1))(*lists)
        whole = torch.tensor([next(iter(counts.values()))], device="cpu")
        for batch in found.get("batch", {}).values():
            whole = self.lengths(batch, next(iter(counts.values())), call.counts)
        sources = Sources(ctypes.addressof(array), len(lists), whole.data_ptr() or None, whole.numel())
        self.at = (ctypes.c_void_p * max(plan.n_slots, 1))()
        check(lib.gnn_model_graphs(plan.model, ctypes.byref(sources), C["GNN_ON" if backward else "GNN_OFF"], self.at))
        self.backward, self.size, self.last = backward, None, None
        self.nodes, self.graphs = counts, whole.numel()
        self.counts, self.given = list(counts.values()) if plan.counted else [], call.counts
        self.kept = tensors  # no other tensor takes their address while this is kept
        self.versions = [Version(value) for value in tensors]
        self.free = weakref.finalize(self, free_graphs, list(self.at))

    def rows(self, kind, which):
        """The count of rows of an output (places.rows_of)."""
        return {"one": lambda: 1, "nodes": lambda: self.nodes[which], "graphs": lambda: self.graphs, "edges": lambda: self.given_edges.get(which) or lib.gnn_graph_n_edges(self.at[which])}[kind]()

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


def check_covered(found, name, pairs, counts):
    """That edges name the last node, where a function of PyG takes the count of nodes from them."""
    for (edges, side), line in found.covering.items():
        if edges.split(":")[0] != name:
            continue
        ends = pairs if edges == name else pairs[:, pairs[0] != pairs[1]]  # after an operation, those that it keeps in any case
        count, ends = (max(counts), ends) if side is None else (counts[side], ends[side])
        if (int(ends.max()) + 1 if ends.numel() else 0) != count:
            raise Untraceable(f"{line}{name} has no edge of node {count - 1}, the last, and a function takes the count of nodes from the edges: num_nodes=x.size(0) (dim_size of a scatter) is expected")


def carries_gradients(found, slot, tensors):
    """Do values on the edges of a slot follow from something that is learned, or from an input that
    requires a gradient?"""
    read = [name for step in found.steps if step.get("graph") == slot for name in reads_of(step)]
    names = found.sources(read, lambda step: step.get("kind") == "detach")
    return any(name in tensors and tensors[name].requires_grad or any(array == name or array.startswith(f"{name}.") for array in found.arrays) for name in names)


def several_loops(found, edges):
    """(slot, message) of each list of edges with several self-loops of one node, where values on them
    are carried on."""
    for slot, source in ((k, slot["source"]) for k, slot in enumerate(found.graphs) if slot["kind"] == "carried" and "remaining" in slot["source"].split(":")):
        name = source.split(":")[0]
        at = (edges[name][0] == edges[name][1]).nonzero().view(-1)
        nodes = edges[name][0][at]
        order = torch.argsort(nodes, stable=True)
        twice = (nodes[order][1:] == nodes[order][:-1]).nonzero().view(-1)
        if twice.numel():
            first, second = (int(at[order[int(twice[0]) + k]]) for k in (0, 1))
            yield slot, (f"{found.at_return}{name}: node {int(edges[name][0][first])} has two self-loops (edges {first} and {second}), of which add_remaining_self_loops keeps one: "
                         "their values have no gradients that are PyTorch's, so remove the others from the edges and from values on edges")


def check_loops(found, slots, tensors):
    """Of several self-loops of a node, add_remaining_self_loops keeps the value of the last, and
    PyTorch's gradient of the others is that of the one that replaced them, not a derivative."""
    for slot, message in slots.loops:
        if carries_gradients(found, slot, tensors):
            raise Untraceable(message)


def free_graphs(pointers):
    for pointer in pointers:
        lib.gnn_graph_free(pointer)


# ---- with gradients ----


class Tape(Handle):
    """A tape of one thread. A run with the memory of the last one runs its program again, which
    plans nothing."""

    def __init__(self, context):
        made, self.context = ctypes.c_void_p(), context
        check(lib.gnn_tape_new(ctypes.byref(made), self.context._at))
        self._hold(made.value, lib.gnn_tape_free, context)
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
        # What has an address of its own is kept, so that no other takes it; tensors come with each
        # run.
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


def versions(inputs):
    """PyTorch's counts of changes of the tensors that a tape borrows."""
    return [x._version if torch.is_tensor(x) and not x.is_inference() else None for x in inputs]


def ran(tape, plan, slots, inputs, recording, step):
    """Runs the model on a tape, in training with the random numbers of a `step` (None:
    evaluation)."""
    found = tape.record(plan, slots, inputs, recording, step is not None)
    if step is not None:
        lib.gnn_tape_set_step(tape._at, step)
    tape.forward()
    return found


def address(dy):
    """The address of an output's gradient, None of one without elements."""
    try:
        return dy.data_ptr() or None
    except RuntimeError as problem:  # a batch of gradients of torch.vmap
        raise RuntimeError("the gradient of an output has no memory: libgnn has no counterpart to several gradients at once (is_grads_batched, vectorize=True)") from problem


class Run(torch.autograd.Function):
    """One run of a plan on a tape."""

    @staticmethod
    def forward(ctx, plan, slots, training, recording, n, *tensors):
        inputs, lent = tensors[:n], Lent(plan)
        tape, step = lent.tape, int(torch.randint(1 << 31, (), device="cpu")) if training else None
        y, variables = ran(tape, plan, slots, inputs, recording, step)
        out = memory(lib.gnn_tape_value(tape._at, y), tape).clone()
        if recording:
            ctx.plan, ctx.lent, ctx.y, ctx.variables, ctx.kept, ctx.n, ctx.step = plan, lent, y, variables, (inputs, slots), n, step
            ctx.versions, ctx.given = plan.versions(training), versions(inputs)
            ctx.save_for_backward(out.new_empty(0))  # PyTorch frees it after a backward pass without retain_graph
        else:
            lent.give_back()
        return out

    @staticmethod
    def backward(ctx, dy):
        if not torch.is_grad_enabled():
            return Run.gradients(ctx, dy)
        inputs = [x for x in (dy, *ctx.kept[0], *ctx.plan.parameters) if torch.is_tensor(x) and x.requires_grad]
        with torch.no_grad():
            made = Run.gradients(ctx, dy)
        given = iter(Constant.apply([g for g in made if g is not None], *inputs))
        return tuple(None if g is None else next(given) for g in made)

    @staticmethod
    def gradients(ctx, dy):
        plan, lent, (inputs, slots), training = ctx.plan, ctx.lent, ctx.kept, ctx.step is not None
        if plan.ungraded:
            raise RuntimeError(plan.ungraded)
        ctx.saved_tensors  # raises PyTorch's error where the graph of this run is freed
        names = (*plan.version_names(training), *plan.names)
        changed = [name for name, now, then in zip(names, (*plan.versions(training), *versions(inputs)), (*ctx.versions, *ctx.given)) if now != then]
        if changed:
            raise RuntimeError(f"{changed[0]} was changed in place between this run and its backward pass, which needs the value of the run")
        with plan.lock:
            dy = dy.float().contiguous()
            d = Tensor(address(dy), dy.shape[0], dy.shape[1], dy.shape[1])
            if lent.tape is None:  # a second backward pass (retain_graph): other runs had the tape since
                plan.fill()
                lent.tape = plan.take_tape()
                ran(lent.tape, plan, slots, inputs, True, ctx.step)
                plan.stale = plan.stale or training  # batch norm's running values have moved once more
            tape = lent.tape._at
            lib.gnn_parameters_zero_gradients(plan.block)
            check(lib.gnn_tape_backward(tape, ctx.y, ctypes.byref(d)))
            wanted = ctx.needs_input_grad[5:]
            given = [memory(lib.gnn_tape_gradient(tape, v), lent.tape).clone() if wanted[k] else None for k, v in enumerate(ctx.variables)]
            made = plan.gradients(wanted[ctx.n:])
            lent.give_back()
        return (None, None, None, None, None, *given, *made)


class Constant(torch.autograd.Function):
    """First derivatives under create_graph=True: a derivative of these is an error. Without a path
    to what they depend on they would count as constants."""

    @staticmethod
    def forward(ctx, gradients, *inputs):
        return tuple(g.clone() for g in gradients)

    @staticmethod
    def backward(ctx, *dy):
        raise RuntimeError("second derivatives (create_graph=True) have no counterpart in libgnn")


hooks_of_saved = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", lambda tracing: True)


def unseen():
    """While this is entered a program's hooks on saved tensors (a checkpoint's) see none: what a run
    saves is no value."""
    return torch.autograd.graph.saved_tensors_hooks(lambda v: v, lambda v: v) if hooks_of_saved(False) else contextlib.nullcontext()


def recorded(plan, slots, tensors, training, recording=True):
    """A run on a tape, as forward() returns it."""
    with plan.lock, unseen():
        y = Run.apply(plan, slots, training, recording, len(tensors), *tensors, *plan.learned_values)
        if training:
            plan.write_back()
    return plan.shaped(y if recording else y.detach(), slots)


# ---- without gradients ----


def infer(plan, slots, tensors):
    """A run without a tape. The description of inputs of the last run's shapes is used again."""
    last = slots.last
    if last is not None and all(x.shape == shape and (x.dtype is torch.int32 or x.stride() == stride) for x, (shape, stride, _, _) in zip(tensors, last)):
        for x, (_, _, place, member) in zip(tensors, last):
            setattr(place, member, x.data_ptr() or ctypes.addressof(kept_zero))
    else:
        slots.made, (rows, named, _) = plan.record(slots, tensors)
        slots.size = output_size(plan, slots, tensors)
        slots.last = [(x.shape, x.stride(), *((named[k], "ids") if x.dtype is torch.int32 else (named[k], "sparse") if type(x) is MostlyZero else (rows[k], "data"))) for k, x in enumerate(tensors)]
        slots.arguments, slots.parts = ctypes.byref(slots.made), (rows, named)
    y = torch.empty(slots.size, **FLOATS)
    out = Tensor(y.data_ptr(), slots.size[0], slots.size[1], slots.size[1])
    code = lib.gnn_model_forward(plan.model, plan.context()._at, slots.arguments, ctypes.byref(out))
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
