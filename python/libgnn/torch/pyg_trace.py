"""Turns a torch.nn.Module into a list of libgnn's steps, for from_pyg.py.

The module's forward() runs on tensors that carry what they are called (pyg_symbols.py), twice, on
two drawn graphs: what differs between the two lists of steps followed from the counts or the
values of one graph, and is refused. A module that has an entry in pyg_modules.py becomes the layer
or block that it is; where the entry does not read all its settings, and for all other modules, its
own forward() is followed, down to the functions of tensors.
"""
import contextlib
import copy
import dataclasses
import inspect
import itertools
import json
import os
import traceback

import torch
from torch import nn

from . import pyg_choices
from . import pyg_draw
from . import pyg_graphs
from . import pyg_modules
from . import pyg_readouts  # noqa: F401 (it adds entries)
from . import pyg_symbols
from . import pyg_types
from .pyg_symbols import TRACES, TURN, Batch, Edges, Fault, Ids, Piled, Rows, Sym, Untraceable, mapped, plain, raw, symbol, syms_in, user_line
from .watched import Watch, inner


class Refused(Untraceable):
    """A refusal by an entry of pyg_modules.py: the module's own forward() is followed then."""


class Value:
    """A value as entries see it: an input of the model, or what a step puts out."""

    def __init__(self, name, width=None, what=None):
        self.name, self.width, self.what = name, width, what


@contextlib.contextmanager
def untraced():
    kept = TRACES[:]
    TRACES.clear()
    try:
        with torch.no_grad():
            yield
    finally:
        TRACES.extend(kept)


def reads_of(step):
    """The names of the values that a step reads."""
    return [v for key, v in step.items() if key in READS and isinstance(v, str)]


def at_forward(module):
    """FILE:LINE of forward() of a module of a program, as the start of a message; "" of others."""
    code = getattr(getattr(type(inner(module)), "forward", None), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}: " if code is not None and pyg_symbols.is_users(code.co_filename) else ""


class Trace:
    def __init__(self, module, without=(), training=False):
        self.training, self.training_problem = training, None
        self.root, self.steps, self.arrays, self.graphs, self.notes, self.names = module, [], {}, [], [], set()
        self.covering = {}  # ends of edges that must name the last node (covers), and where
        self.uses, self.count, self.constants, self.positive, self.without = {}, {}, {}, set(), set(without)
        self.paths = {id(m): path for path, m in module.named_modules()}
        self.returned, self.at_return, self.returning = {}, at_forward(module), False
        self.stack, self.place, self.handling, self.real = [], "", "", pyg_graphs.REAL
        self.known_values, self.origin, self.inputs, self.sizes, self.reasons, self.entry, self.entries, self.lines = {}, {}, {}, {}, [], None, set(), {}

    # ---- what entries and handlers call ----

    def refuse(self, words):
        if self.entry is not None:
            raise Refused(f"{self.place}: libgnn's counterpart has no {words}")
        line = user_line() if not self.returning else self.at_return.rstrip(": ")
        where = " ".join(part for part in (f"{line}:" if line else "", f"{self.place}:" if self.place else "") if part)
        raise Untraceable(f"{where} no counterpart in libgnn: {words}".strip())

    def note(self, words):
        note = f"{self.place}: {words}"
        if note not in self.notes:
            self.notes.append(note)

    def untrained(self, words):
        """Something that changes nothing in evaluation, and that training would lack."""
        if self.training:
            self.refuse(words)
        self.note(f"training lacks {words}")

    def at(self, name):
        self.handling = name

    def rows(self, value):
        """The name of a value of rows."""
        if isinstance(value, tuple):
            self.refuse("receivers with features of their own")
        if not isinstance(value, Value):
            self.refuse(f"{type(value).__name__} where rows are read")
        return value.name

    def width(self, value):
        return value.width

    def known(self, value):
        return value.width or self.refuse("columns known here")

    def edges(self, value):
        return self.slot("edges", value)

    def slot_of_edges(self, edges):
        return self.slot("edges", str(edges))

    def slot(self, kind, source=None, number=0):
        """The number of the graph of this kind; a batch is one for the whole model."""
        source = source if isinstance(source, str) or source is None else self.rows(source)
        slot = {"kind": kind, "number": number, **({"source": source} if source is not None else {})}
        if slot not in self.graphs:
            self.graphs.append(slot)
        return self.graphs.index(slot)

    def take(self, m, name, arrays=None):
        """The module's arrays under its name; `arrays` renames some, or with None leaves them out."""
        state = {key: value for key, value in m.state_dict().items() if not key.startswith("aggr_module.avg_deg")}
        for key, value in state.items():
            key = (arrays or {}).get(key, key)
            if key is not None:
                self.arrays[f"{name}.{key}"] = value

    def step(self, columns, /, **step):
        if step["name"] in self.names:
            self.refuse(f"second step named {step['name']}")
        self.names.add(step["name"])
        self.steps.append(step)
        self.origin[step["name"]] = self.entry or self.place
        self.lines[step["name"]] = user_line() or ""
        return Value(step["name"], columns)

    def block(self, kind, name, columns, /, **settings):
        return self.step(columns, block=kind, name=name, **settings)

    def aggregate(self, name, x, word, graph):
        width = self.known(x)
        return self.step(width, kind="aggregate", name=name, input=self.rows(x), graph=graph, layer={"in": width, "aggregator": word})

    def dropout(self, name, x, rate):
        return x if rate == 0 else self.step(x.width, kind="dropout", name=name, input=self.rows(x), rate=float(rate))

    def activation(self, name, x, word, slope=None):
        options = {} if slope is None else {"options": [float(slope), 0.0, 0.0, 0.0]}
        return self.step(x.width, kind="activation", name=name, input=self.rows(x), activation=word, **options)

    def many(self, kind, name, xs, width):
        """A step of up to eight inputs; more are joined eight by eight."""
        words, parts = ("input", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"), list(xs)
        for k in range(100):
            if len(parts) <= 8:
                return self.step(width, kind=kind, name=name, **{word: self.rows(x) for word, x in zip(words, parts)})
            summed = [x.width for x in parts[:8]]
            parts = [self.many(kind, f"{name}:{k}", parts[:8], None if None in summed else sum(summed) if kind == "concat" else summed[0])] + parts[8:]

    def concat(self, name, xs):
        widths = [x.width for x in xs]
        return self.many("concat", name, xs, None if None in widths else sum(widths))

    def module(self, name, m, x):
        """A module of one input, inside an entry."""
        return self.call(name, m, (x,))

    def call(self, name, m, given):
        """A call of a layer inside an entry: `given` has its arguments by name, or in their order."""
        outer, self.place = self.place, f"{name} ({type(m).__name__})"
        entry = pyg_modules.ROWS.get(type(m))
        if entry is None or hooked(m):
            self.refuse("entry for this module")
        signature = inspect.signature(m.forward)
        bound = signature.bind(**given) if isinstance(given, dict) else signature.bind(*given)
        value = self.entered(entry, m, name, bound.arguments)
        self.place = outer
        return value

    def entered(self, entry, m, name, given):
        """The value that an entry makes of a call, if it reads all settings of the call and the module."""
        arguments = pyg_modules.Arguments(given)
        if self.training and not all(part.training for part in m.modules()):
            self.refuse("module in evaluation mode while others train")
        with pyg_modules.reads_of(m) as reads:
            value = entry(self, m, name, arguments)
        unread = pyg_modules.unread(m, reads, self.training)
        if unread:
            self.refuse(unread[0])
        pyg_modules.check_arguments(self, m, given, arguments)
        return value

    # ---- steps of functions, by names of values ----

    def fresh(self, word):
        base = f"{self.stack[-1][0]}.fn.{word}" if self.stack and self.stack[-1][0] else f"fn.{word}"
        self.count[base] = self.count.get(base, -1) + 1
        return f"{base}.{self.count[base]}"

    def append(self, word, width, /, **step):
        return self.step(width, name=self.fresh(word), **step).name

    def step2(self, kind, columns, first, second, **fields):
        return self.append(kind, columns, kind=kind, input=first, second=second, **fields)

    def op(self, op, name, columns, first=0.0, second=0.0):
        return self.append(op, columns, kind="op", op=op, input=name, options=[float(first), float(second), 0.0, 0.0])

    def scale(self, name, factor, columns):
        return self.append("scale", columns, kind="scale", input=name, factor=float(factor))

    def activation_name(self, name, columns, word, slope=None):
        options = {} if slope is None else {"options": [float(slope), 0.0, 0.0, 0.0]}
        return self.append(word, columns, kind="activation", input=name, activation=word, **options)

    def many_names(self, kind, names, columns):
        if len(names) == 1:
            return names[0]
        return self.many(kind, self.fresh(kind), [Value(n, None) for n in names], columns).name

    def concat_names(self, names, columns):
        return self.many_names("concat", names, columns)

    def view(self, name, first, columns):
        return self.append("view", columns, kind="view", input=name, column=first, columns=columns)

    def edge_rows(self, name, edges, side, columns):
        """The row of the sender (side 0) or receiver of each edge."""
        return self.append("ends", columns, kind="edge_rows", input=name, graph=self.slot("edges", str(edges)), side="receivers" if side == 1 else "senders")

    def heard(self, name, word, graph, columns):
        return self.append(word, columns, kind="aggregate", input=name, graph=graph, layer={"in": columns, "aggregator": word})

    def over_graph(self, op, name, columns, graph, first=0.0, second=0.0):
        return self.append(op, columns, kind="op", op=op, input=name, graph=graph, options=[float(first), float(second), 0.0, 0.0])

    def sources(self, names, is_end):
        """These steps and inputs, and those from which their values follow; is_end(step): not beyond it."""
        made, todo, seen = {step["name"]: step for step in self.steps}, list(names), set()
        while todo:
            name = todo.pop()
            step = made.get(name, {})
            if name not in seen and not is_end(step):
                todo += reads_of(step)
            seen.add(name)
        return seen

    def may_be_any(self, name):
        """Does a value follow from features, which may be anything, not from counts and parameters
        alone?"""
        found = self.sources([name], lambda step: step.get("op") == "degree")  # this reads a graph alone
        return any(isinstance(self.inputs.get(one), Rows) for one in found)

    def covers(self, edges, side=None):
        """A function takes the count of nodes from these edges (num_nodes=None): from both ends, or
        one."""
        if edges.part is not None:
            self.refuse("a count of nodes (num_nodes, dim_size) taken from edges between chosen nodes")
        self.covering.setdefault((str(edges), side), f"{user_line()}: " if user_line() else self.at_return)
        self.note("nodes after the last that an edge names: PyG's function takes the count of nodes from the edges (num_nodes=None)")

    def degree(self, graph):
        key = ("degree", graph)
        if key not in self.constants:
            self.constants[key] = self.append("degree", 1, kind="op", op="degree", input=self.any_input(), graph=graph, options=[0.0, 0.0, 0.0, 0.0])
        return self.constants[key]

    def kept_edges(self, edges):
        """1 where the last operation on a list of edges keeps an edge, else 0."""
        graph = self.slot("carried", str(edges))
        key = ("kept", graph)
        if key not in self.constants:
            self.constants[key] = self.append("degree", 1, kind="op", op="degree", input=self.any_input(), graph=graph, options=[1.0, 0.0, 0.0, 0.0])
        return self.constants[key]

    def node_of(self, x):
        """The type of nodes whose count the rows of a value have: counts of types differ; None: of none."""
        return next((node for node, count in self.data.counts.items() if count == raw(x).shape[0]), None)

    def any_input(self):
        """A value whatever it is: an op that reads a graph alone still names one, and runs after it."""
        return next((name for name, meta in self.inputs.items() if isinstance(meta, Rows)), None) or self.constant(torch.zeros(1), False)

    def whole(self, x, word):
        axis = x.meta.axis.axis if pyg_choices.part_of(x.meta.axis) is not None else x.meta.axis
        if axis == "nodes" and self.data.relations:  # aggregated values
            node = self.node_of(x)
            axis = axis if node is None else f"nodes of {node}"
        if axis == "nodes":
            graph = self.slot("whole")
        elif isinstance(axis, str) and axis.startswith("nodes of "):
            graph = self.slot("whole_ends", *self.end_of(axis[len("nodes of "):]))
        elif isinstance(axis, Edges):
            graph = self.slot("whole_edges", str(axis))
        else:
            self.refuse(f"{word} over all graphs")
        if pyg_choices.part_of(x.meta.axis) is not None:
            return pyg_choices.aggregated(self, x, word, graph)
        return self.heard(x.meta.name, word, graph, pyg_symbols.width(x))

    def end_of(self, node):
        """A relation that has this type of nodes at an end, and which."""
        for relation in self.data.relations:
            for side, at in ((0, 0), (1, -1)):
                if relation[at] == node:
                    return "__".join(relation), side
        return self.refuse(f"a count of nodes of type {node}, which no relation has")

    def count_of_ids(self, name):
        return self.data.specs[name if name in self.data.specs else name.split(".")[0]][1]

    def embed(self, name, table, trainable):
        step = self.append("embed", table.shape[1], kind="embed", input=name, out=table.shape[1], **{"in": table.shape[0]})
        self.arrays[f"{step}.weight"] = table.detach()
        if not trainable:
            self.note("a constant table is learned where this file is trained")
        return step

    def constant(self, row, trainable):
        """Numbers of the module as one row, or a matrix, that steps read; what is not learned is detached."""
        row = row.detach().float().reshape(1, -1) if row.dim() < 2 else row.detach().float()
        key = (tuple(row.shape), row.contiguous().numpy().tobytes(), trainable)
        if key not in self.constants:
            name = self.append("constant", row.shape[1], kind="parameter", rows=row.shape[0], out=row.shape[1])
            self.arrays[name] = row.contiguous()
            self.constants[key] = name if trainable else self.append("fixed", row.shape[1], kind="detach", input=name)
        return self.constants[key]

    def product(self, name, matrix, offset, trainable, whole=False):
        """The value times a matrix, plus a row: the least that says it."""
        columns = matrix.shape[1]
        has_offset = bool((offset != 0).any())
        plain_one = None if whole and trainable else self.structured(name, matrix, trainable)
        if plain_one is None and trainable:
            step = self.append("linear", columns, kind="linear", input=name, out=columns, bias="on" if has_offset else "off", **{"in": matrix.shape[0]})
            self.arrays[f"{step}.weight"] = matrix.t().contiguous()
            if has_offset:
                self.arrays[f"{step}.bias"] = offset
            return step
        if plain_one is None:
            plain_one = self.append("mix_heads", columns, kind="op", op="mix_heads", input=name, second=self.constant(matrix, False), options=[0.0] * 4)
        if not has_offset:
            return plain_one
        return self.step2("add", columns, plain_one, self.constant(offset, trainable))

    def structured(self, name, matrix, trainable):
        """A matrix of few numbers as a view, a scaling, a sum of heads or concatenated parts; None: it
        is none of these."""
        rows, columns = matrix.shape
        eye = torch.eye(rows)
        if rows == columns and bool((matrix == eye).all()):
            return name
        if rows == columns and bool((matrix * (1 - eye) == 0).all()):
            diagonal = matrix.diagonal()
            if not trainable and bool((diagonal == diagonal[0]).all()) and float(diagonal[0]) != 0:
                return self.scale(name, float(diagonal[0]), columns)
            return self.step2("multiply", columns, name, self.constant(diagonal, trainable))
        if trainable or not columns:
            return None
        one = bool(((matrix == 0) | (matrix == 1)).all()) and bool((matrix.sum(0) == 1).all())
        if one:
            picked = matrix.argmax(0).tolist()
            runs = [[picked[0], 1]]
            for p in picked[1:]:
                if p == runs[-1][0] + runs[-1][1]:
                    runs[-1][1] += 1
                else:
                    runs.append([p, 1])
            if len(runs) <= 64 and (len(runs) == 1 or columns / len(runs) > 1 or columns <= 16):
                return self.concat_names([name if run == [0, rows] else self.view(name, *run) for run in runs], columns)
            return None
        return self.summed(name, matrix)

    def summed(self, name, matrix):
        rows, columns = matrix.shape
        factor = float(matrix[0, 0])
        if rows % columns or factor == 0:
            return None
        heads = rows // columns
        sums = {"head_sum": (torch.kron(torch.eye(columns), torch.ones(heads, 1)), columns), "fold_heads": (torch.ones(heads, 1).kron(torch.eye(columns)), heads)}
        for op, (form, option) in sums.items():
            if bool((matrix == factor * form).all()):
                made = self.op(op, name, columns, float(option))
                return made if factor == 1 else self.scale(made, factor, columns)
        return None

    # ---- modules ----

    def call_module(self, m, args, kwargs, original):
        path = self.paths.get(id(m), "")
        outer = self.place
        self.stack.append((path, type(m).__name__))
        self.place = f"{path} ({type(m).__name__})" if path else type(m).__name__
        try:
            if syms_in((args, kwargs)) and type(m) in pyg_modules.ROWS and (path or "module") not in self.without and not hooked(m):
                found = self.as_entry(m, path or "module", args, kwargs, original)
                if found is not NotImplemented:
                    return found
            forward = pyg_modules.FORWARDS.get(type(m))
            if forward is not None and not hooked(m):
                found = forward(self, m, *args, **kwargs)
                if found is not NotImplemented:
                    return found
            return original(m, *args, **kwargs)
        finally:
            self.stack.pop()
            self.place = outer

    def as_entry(self, m, path, args, kwargs, original):
        """The value by the entry for this module; NotImplemented where it refuses, and its forward() is to be followed."""
        kept = (len(self.steps), len(self.graphs), len(self.notes), set(self.names), dict(self.arrays), dict(self.uses), dict(self.count), dict(self.constants))
        outer, self.entry, place = self.entry, path, self.place
        try:
            bound = inspect.signature(m.forward).bind(*args, **kwargs)
        except TypeError:
            return NotImplemented  # forward() itself says what is wrong with its arguments
        try:
            given = {key: self.value_of(value) for key, value in bound.arguments.items()}
            name = self.use(path, m)
            made = self.entered(pyg_modules.ROWS[type(m)], m, name, given)
            with untraced():
                values = original(m, *plain(args), **plain(kwargs))
            rowwise = any(isinstance(x.meta, Rows) and isinstance(x.meta.axis, pyg_symbols.Selected) for x in syms_in((args, kwargs)))
            if rowwise and any("graph" in step or "block" in step or step.get("op") == "pair_norm" for step in self.steps[kept[0]:]):
                self.refuse("graph of chosen nodes")
            found = self.symbol_of(made, values, syms_in((args, kwargs)), rowwise)
            self.entries.add(path)
            return found
        except (Refused, pyg_modules.Absent) as error:
            steps, graphs, notes, self.names, self.arrays, self.uses, self.count, self.constants = kept
            del self.steps[steps:], self.graphs[graphs:], self.notes[notes:]
            self.reasons.append(str(error))
            self.place = place
            return NotImplemented
        finally:
            self.entry = outer

    def use(self, name, m):
        """The name of this use of a module; the arrays of a further one are copies."""
        self.uses[name] = self.uses.get(name, -1) + 1
        if self.uses[name] and m.state_dict():
            self.note("used more than once: each use has a copy of its weights")
        return name if self.uses[name] == 0 else f"{name}.use{self.uses[name]}"

    def value_of(self, value):
        """An argument as entries take it."""
        def convert(x):
            meta = x.meta
            if getattr(meta, "part", None) is not None or isinstance(meta, pyg_symbols.Ends) and meta.edges.part is not None:
                self.refuse("graph of chosen nodes")
            if isinstance(meta, Edges):
                return Value(str(meta), None, "edges")
            if isinstance(meta, Batch):
                return Value("batch", None, "batch")
            if isinstance(meta, pyg_symbols.Ends):
                return Value(str(meta.edges if meta.side == 1 else meta.edges.then("reverse")), None, "ends")
            if isinstance(meta, pyg_graphs.Types):
                return Value(meta.name, None, "types")
            if isinstance(meta, Ids) and not meta.columns and raw(x).dim() == 1:
                return Value(meta.name, None, "ids")
            if isinstance(meta, Rows) and not meta.lone and raw(x).dim() <= 2:
                return Value(meta.name, pyg_symbols.width(x), "rows")
            self.refuse("value of this form")
        value = mapped(value, convert)
        if isinstance(value, torch.Tensor):
            self.refuse("constants as an argument")
        return value

    def symbol_of(self, made, values, given, rowwise=False):
        if isinstance(made, dict):
            return {key: self.symbol_of(v, values[key], given, rowwise) for key, v in made.items()}
        if not isinstance(made, Value) or not isinstance(values, torch.Tensor) or values.dim() > 2:
            self.refuse("output of this form")
        if made.width is not None and made.width != (values.shape[1] if values.dim() == 2 else 1):
            self.refuse(f"output of {values.shape[-1]} columns")
        first = next((x for kind in (Rows, Ids) for x in given if isinstance(x.meta, kind)), None)
        count = values.shape[0]
        axis = first.meta.axis if rowwise else "graphs" if count == self.sizes.get("graphs") else first.meta.axis if first is not None and count == raw(first).shape[0] else "nodes"
        lone = count == 1 and axis not in ("nodes",) and self.sizes.get("graphs") == 1
        return symbol(values, Rows(made.name, "one" if lone else axis, lone))

    # ---- the file ----

    def metadata(self):
        return {"gnn.description": json.dumps({"format": 1, "steps": self.steps}), "gnn.graphs": json.dumps(self.graphs)}

    def reads(self):
        """The names of inputs that steps read, in their order."""
        own = {step["name"] for step in self.steps}
        found = []
        for step in self.steps:
            words = [word.split(":")[0] for word in step.get("types", "").split()]
            own |= {f"{step['name']}.{word}" for word in words}
            found += [f"{v}.{word}" for key, v in step.items() if key == "input" for word in words] or [v for key, v in step.items() if key in READS]
        return list(dict.fromkeys(v for v in found if v not in own))

    def __str__(self):
        lines = [f"step    {step.get('kind') or 'block ' + step['block']:14} {step['name']}" for step in self.steps]
        lines += [f"graph   {k}: {slot['kind']} {slot['number'] or ''} {'of ' + slot['source'] if 'source' in slot else ''}".rstrip() for k, slot in enumerate(self.graphs)]
        lines += [f"input   {name}" for name in self.reads()]
        return "\n".join(lines + [f"note    {note}" for note in self.notes])


READS = {"input", "receivers", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "edge_features", "edge_weight", "edge_bias", "memory", "edges", "query", "key"}


HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_propagate_forward_pre_hooks", "_propagate_forward_hooks", "_message_forward_pre_hooks", "_message_forward_hooks",
         "_aggregate_forward_pre_hooks", "_aggregate_forward_hooks", "_edge_update_forward_pre_hooks", "_edge_update_forward_hooks", "parametrizations")
KNOWN = ("torch.nn.", "torch_geometric.")


def hooked(m):
    """Does something else run when the module is called? A part of a class of its own (a Linear with
    an adapter, in the place of one) may compute anything, whatever its attributes are named."""
    return any(len(getattr(m, name, ())) > 0 for name in HOOKS) or "forward" in vars(m) or any(not type(part).__module__.startswith(KNOWN) or hooked(part) for part in m.children())


# ---- a whole module ----


@contextlib.contextmanager
def tracing(t):
    original = getattr(nn.Module.__call__, "original", nn.Module.__call__)

    def call(m, *args, **kwargs):
        if not TRACES:
            return original(m, *args, **kwargs)
        return TRACES[-1].call_module(m, args, kwargs, original)
    # Parts that torch.compile() compiled run as they are written.
    eager = torch.compiler.set_stance("force_eager") if hasattr(torch.compiler, "set_stance") else contextlib.nullcontext()
    call.original = original  # what a process finds that another thread forked while it traced
    with pyg_graphs.Standins(), eager:
        nn.Module.__call__ = call
        TRACES.append(t)
        try:
            yield
        finally:
            TRACES.clear()
            nn.Module.__call__ = original


def outputs_of(t, out, name="output"):
    """The values that forward() returns, by name; what else it returns is put into `t.returned`."""
    if isinstance(out, Sym):
        if isinstance(out.meta, Rows) and isinstance(out.meta.axis, pyg_symbols.Selected):
            t.refuse("an output of rows that a mask or a pooling picked")
        if not isinstance(out.meta, Rows):
            t.refuse(f"an output that is no value of rows ({type(out.meta).__name__})" if not isinstance(out.meta, Piled) else "an output stacked before its rows")
        return {name: out}
    if isinstance(out, pyg_draw.DrawnData):
        found = [outputs_of(t, v, f"{name}.{k}") for k, v in out.changed().items()]
        if not found:
            t.refuse("an output that is an input")
    elif isinstance(out, dict):
        found = [outputs_of(t, v, f"{name}.{k if isinstance(k, str) else '__'.join(map(str, k))}") for k, v in out.items()]
    elif dataclasses.is_dataclass(out) and not isinstance(out, type):
        found = [outputs_of(t, getattr(out, field.name), f"{name}.{field.name}") for field in dataclasses.fields(out)]
    elif isinstance(out, (list, tuple)):
        found = [outputs_of(t, v, f"{name}.{k}") for k, v in enumerate(out)] if len(out) != 1 else [outputs_of(t, out[0], name)]
    elif isinstance(out, torch.Tensor):
        t.refuse("an output that does not follow from the inputs")
    elif out is None or isinstance(out, (bool, int, float, str)):
        t.returned[name] = out
        return {}
    else:
        t.refuse(f"an output of type {type(out).__name__}")
    return {k: v for part in found for k, v in part.items()}


def constants_of(out):
    """What an output has beside tensors, in its order."""
    if dataclasses.is_dataclass(out) and not isinstance(out, type):
        out = [getattr(out, field.name) for field in dataclasses.fields(out)]
    if isinstance(out, (dict, list, tuple)):
        return [v for part in (out.values() if isinstance(out, dict) else out) for v in constants_of(part)]
    return [] if isinstance(out, torch.Tensor) else [out]


def flat(out):
    """The tensors of an output, in the order of outputs_of."""
    if isinstance(out, torch.Tensor):
        return [out]
    out = out.changed() if isinstance(out, pyg_draw.DrawnData) else out
    if dataclasses.is_dataclass(out) and not isinstance(out, type):
        out = [getattr(out, field.name) for field in dataclasses.fields(out)]
    parts = out.values() if isinstance(out, dict) else out if isinstance(out, (list, tuple)) else []
    return [v for part in parts for v in flat(part)]


def run(module, drawn, without=(), modes=None, recorded=None):
    """One trace on a drawn graph; of training, where `modes` has the mode of each module.
    `recorded`: makes of the copy that is traced what records its calls (derived.py)."""
    original, module = module, pyg_draw.copied(module)
    recording = contextlib.nullcontext() if recorded is None else recorded(module)
    for m, training in zip(module.modules(), modes or ()):
        m.training = training
    t = Trace(module, without, modes is not None)
    watch = Watch(inner(module), [*module.parameters(), *(b for name, b in module.named_buffers() if name.endswith(("running_mean", "running_var")))])
    args, t.inputs, t.sizes = drawn.symbols(t)
    try:
        with tracing(t), torch.enable_grad(), recording:
            out = module(**args)
            t.place, t.returning = "", True
            out = outputs_of(t, out)
            if not out:
                t.refuse("an output of rows")
            finish(t, out)
        if module is not original and watch.changed():
            raise Untraceable(f"forward() changes {watch.changed()}: a run in libgnn leaves it as it is")
        t.recording = recording
        if modes is None:
            check_values(t, original, drawn)
    except Untraceable:
        raise
    except Exception as error:  # noqa: BLE001 (whatever a module's own code raises is told with its line)
        if os.environ.get("PYG_TRACE_DEBUG"):
            raise
        raise of_kind(error)(told(error, t.place)) from error
    return t


def of_kind(error):
    """Untraceable for an error that code of a module raises, or PyTorch for it; Fault for one of this package."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    last = next((frame.f_code.co_filename for frame in reversed(frames) if not frame.f_code.co_filename.startswith(pyg_symbols.PACKAGES[:1])), "")
    own = os.path.dirname(os.path.abspath(__file__))
    return Fault if os.path.abspath(last).startswith(own) and isinstance(error, OF_CODE) else Untraceable


OF_CODE = (TypeError, AttributeError, KeyError, IndexError, NameError, StopIteration, AssertionError, UnboundLocalError)


def check_values(t, module, drawn):
    """Keeps the values that the module computes untraced: the file is compared with these."""
    with torch.no_grad():
        values = flat(pyg_draw.copied(module)(**drawn.arguments()))
    t.output_values = {name: (value, x.meta.lone) for (name, x), value in zip(t.outputs.items(), values)}
    if len(values) != len(t.outputs) or any(v.dim() != raw(x).dim() for v, x in zip(values, t.outputs.values())):
        raise Untraceable("forward() returns something else where it is traced")


def finish(t, out):
    """The last step is the output; of several each has a step named for it, and the last one is the model's own."""
    t.outputs = {}
    last = None
    for name, x in out.items():
        if len(out) > 1 or not t.steps or t.steps[-1]["name"] != x.meta.name:
            last = t.step(None, kind="scale", name="fn.output" if len(out) == 1 else name, input=x.meta.name, factor=1.0).name
        else:
            last = x.meta.name
        t.outputs[last] = x


def same_steps(first, second):
    """Refuses what follows from the drawn graph: the two traces must be one."""
    for a, b in itertools.zip_longest(first.steps, second.steps):
        if a != b:
            t = first if a else second
            place = f"{t.lines[(a or b)['name']]}: {t.origin[(a or b)['name']]}"
            raise Untraceable(f"{place}: step {(a or b)['name']} follows from the counts or values of one graph, and differs on another")
    for name, value in first.returned.items():
        if repr(second.returned.get(name)) != repr(value):
            raise Untraceable(f"{first.at_return}forward() returns {value!r} as {name} for one graph, and {second.returned.get(name)!r} for another: tensors, and what is the same for all, are expected")
    if first.graphs != second.graphs or list(first.arrays) != list(second.arrays):
        raise Untraceable("the graphs or arrays follow from the counts or values of one graph, and differ on another")
    for name, value in first.arrays.items():
        if value.shape != second.arrays[name].shape or not bool((value == second.arrays[name]).all()):
            step = name if name in first.lines else name.rsplit(".", 1)[0]
            raise Untraceable(f"{first.lines.get(step, '')}: {first.origin.get(step, '')}: the numbers of {name} follow from the counts or values of one graph, and differ on another")


def told(error, place=""):
    """An error of any kind as one line, with the line of the user's code."""
    line = user_line(error.__traceback__)
    return " ".join(f"{line + ': ' if line else ''}{place + ': ' if place else ''}{type(error).__name__}: {error}".split())[:600]


def without_dropout(steps):
    """The steps as evaluation takes them, and the names that values have there."""
    names, made = {}, []
    for step in steps:
        step = {key: names.get(value, value) if key in READS and isinstance(value, str) else value for key, value in step.items()}
        if step.get("kind") == "dropout":
            names[step["name"]] = step["input"]
        else:
            made.append(step)
    return made, names


def with_training(module, found, again, drawn, modes):
    """Adds the dropout of training to both traces, where training has the same steps but for this;
    entries that only evaluation took are returned. What else differs is `training_problem`."""
    try:
        with torch.random.fork_rng(devices=()):
            trained = run(module, drawn, found.without, modes)
    except Untraceable as problem:
        found.training_problem = str(problem)
        return set()
    if found.entries - trained.entries:
        return found.entries - trained.entries
    (steps, _), (own, names), outputs = without_dropout(found.steps), without_dropout(trained.steps), list(trained.outputs)
    if repr(found.returned) != repr(trained.returned):
        found.training_problem = f"{found.at_return}forward() returns {trained.returned} in training, and {found.returned} in evaluation"
        return set()
    # Running statistics are those after the step that the module took to give the values of a trace.
    kept = [(name, value) for name, value in found.arrays.items() if name in trained.arrays and not name.endswith(("running_mean", "running_var", "num_batches_tracked"))]
    other = next((name for name, value in kept if not torch.equal(torch.nan_to_num(value), torch.nan_to_num(trained.arrays[name]))), None)
    if other is not None:
        step = next((one for one in found.lines if other == one or other.startswith(f"{one}.")), None)
        found.training_problem = f"{found.lines.get(step) or found.at_return.rstrip(': ')}: {other}, which is computed from parameters, has other values in training than in evaluation"
        return set()
    if steps != own or found.graphs != trained.graphs or list(found.arrays) != list(trained.arrays):
        other = next((b or a for a, b in itertools.zip_longest(steps, own) if a != b), {"name": ""})
        line = trained.lines.get(other["name"]) or found.lines.get(other["name"], "")
        found.training_problem = f"{line + ': ' if line else ''}forward() has other steps in training than in evaluation, from {other['name']} on"
        return set()
    for t in (found, again):
        t.steps, t.names = [dict(step) for step in trained.steps], set(trained.names)
        t.lines, t.origin = {**trained.lines, **t.lines}, {**trained.origin, **t.origin}
        t.outputs = dict(zip(outputs, t.outputs.values()))
        t.output_values = dict(zip(outputs, t.output_values.values()))
    return set()


def trace(module, inputs=(), widths=(), without=(), given=None, relations=(), modes=None):
    """The steps of a module. `inputs`: arguments of its forward() that have a default and shall be given; `widths`: columns of
    an input by its name, where no layer that reads it tells; `without`: modules by their paths whose entries are not used;
    `given`: inputs by name, or a data object, on which the file is compared too; `relations`: triples of types, where no layer names them;
    `modes`: which modules train when the model does, by default all."""
    with TURN:
        return traced(module, inputs, widths, without, given, relations, modes)


def traced(module, inputs, widths, without, given, relations, modes):
    lazy = next((name for name, p in module.named_parameters() if pyg_draw.is_lazy(p)), None)
    if lazy is not None:
        raise Untraceable(f"{lazy} has no shape yet: run the module once, or load its weights, before it is exported")
    kept = [(m, m.training) for m in module.modules()]
    module.eval()
    try:
        values = {} if given is None else pyg_draw.values_of(given)
        known = {name: v.shape[1] for name, v in values.items() if torch.is_tensor(v) and v.dim() == 2 and v.is_floating_point()}
        drawn = pyg_draw.for_module(module, inputs, {**known, **dict(widths)}, relations)
        found, again = run(module, drawn[0], without), run(module, drawn[1], without)
        same_steps(found, again)
        left = with_training(module, found, again, drawn[0], modes or [True] * len(kept))
        if left:
            return trace(module, inputs, widths, set(without) | left, given, relations, modes)
        found.checks = [(drawn[0], found), (drawn[1], again)]
        if given is not None:
            one = copy.copy(found)
            one.known_values = {}
            own = pyg_draw.given_like(drawn[0], values)
            check_values(one, module, own)
            found.checks.append((own, one))
        return found
    except Untraceable:
        raise
    except Exception as error:  # noqa: BLE001 (a module of any kind ends in one class of error)
        raise of_kind(error)(told(error)) from error
    finally:
        TRACES.clear()
        for m, mode in kept:
            m.training = mode
