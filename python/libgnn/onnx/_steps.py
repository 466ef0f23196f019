"""Models as graphs of ONNX: each kind of step, and the named ops that have operators."""
import ctypes

import numpy as np
from onnx import checker

from .._table import abi as _abi
from .._library import C, check, lib, struct
from ..layers import Layer, copied
from ..models import ON_EDGES, Model
from . import NotExportable
from ._layers import ON, Aggregation, LayerRows, Rows, activation_name, name_of, norm_name
from ._writer import Slot, Writer

KINDS = {value: name[len("GNN_STEP_"):].lower() for name, value in _abi.ENUMS["gnn_step_kind_t"].items() if name != "GNN_STEP_COUNT"}
READS_IDS = {"embed": (0,), "pick_rows": (1,)}


class Exporter:
    """One model while it is written."""

    def __init__(self, model, graphs, nodes, values=()):
        self.model, self.w = model, Writer()
        self.values, self.parameters, self.fields, self.optional = {}, {}, {}, set(values)
        self.steps = [struct("gnn_step_t").from_address(lib.gnn_model_step(model, k)) for k in range(lib.gnn_model_step_count(model))]
        self.names = [(s.name or str(k).encode()).decode() for k, s in enumerate(self.steps)]
        self.given = [lib.gnn_model_input_name(model, k).decode() for k in range(lib.gnn_model_input_count(model))]
        self.node_input = nodes or ("x" if "x" in self.given else self.given[0] if self.given else "x")
        if self.given and self.node_input not in self.given:
            raise ValueError(f"nodes={nodes!r} is no input of the model; there are {', '.join(self.given)}")
        self.ids = {self.input_names(k)[at] for k in range(len(self.steps)) for at in READS_IDS.get(self.operation(k), ()) if at < len(self.input_names(k))}
        self.slots = self.slots_of(graphs)

    # ---- what a model holds ----

    def operation(self, k):
        kind = KINDS[self.steps[k].kind]
        return name_of(self.steps[k].op) if kind == "op" else kind

    def input_names(self, k):
        """The values that a step reads, in order."""
        step = self.steps[k]
        if KINDS[step.kind] in ("parameter", "input"):
            return []
        first = step.inputs[0] or (self.names[k - 1] if k else "x").encode()
        return [name.decode() for name in (first, *step.inputs[1:]) if name]

    def slots_of(self, graphs):
        count, source, value = lib.gnn_model_graph_count(self.model), ctypes.c_char_p(), ctypes.c_int64()
        named = dict(enumerate(graphs)) if isinstance(graphs, (list, tuple)) else dict(graphs or {})
        unknown = [k for k in named if k not in range(count)]
        if unknown:
            raise ValueError(f"graphs names the slots {unknown}; the model has {count}")
        made = []
        for k in range(count):
            declared = lib.gnn_model_slot(self.model, k, ctypes.addressof(source), ctypes.addressof(value))
            text = named.get(k)
            if text is None and declared:
                text = declared.decode() + (f"={value.value}" if value.value or declared in (b"relation", b"whole_ends") else "")
                text += f":{source.value.decode()}" if source.value else ""
            made.append(Slot(self.w, text or "edges", None, k))
        return made

    def tensor(self, get, name):
        """A parameter or buffer as an array; None if there is none."""
        t = struct("gnn_tensor_t")()
        return None if get(self.model, name.encode(), ctypes.byref(t)) else copied(t)

    def fields_of_block(self):
        """All parameters by name: those of layers are fields, which their matrices hold as columns."""
        block, made = lib.gnn_model_parameters(self.model), {}
        for k in range(lib.gnn_parameters_count(block)):
            made[lib.gnn_parameters_name(block, k).decode()] = copied(lib.gnn_parameters_value(block, k))
        return made

    def field(self, k, name):
        """A field of a layer's step, or of another step, as an operand."""
        layer = lib.gnn_model_layer(self.model, k)
        if not layer:
            return self.parameter(k, name)
        key = (k, name)
        if key not in self.fields:
            t = struct("gnn_tensor_t")()
            known = {lib.gnn_layer_field_name(layer, j).decode() for j in range(lib.gnn_layer_field_count(layer))}
            found = name in known
            if found:
                check(lib.gnn_layer_field(layer, name.encode(), ctypes.byref(t), None))
            self.fields[key] = self.w.constant(copied(t), f"{self.names[k]}.{name}") if found else None
        return self.fields[key]

    def parameter(self, k, name):
        """A parameter of a step that is no layer: its own, or that of the step that it shares."""
        if not self.parameters:
            self.parameters = self.fields_of_block()
        step, at = self.steps[k], k
        while True:
            full = f"{self.names[at]}.{name}"
            if full in self.parameters:
                return self.w.constant(self.parameters[full], full)
            if not step.share:
                return None
            at = self.names.index(step.share.decode())
            step = self.steps[at]

    def running(self, k, name):
        full = f"{self.names[k]}.{name + '.' if name else ''}running"
        made = self.tensor(lib.gnn_model_buffer, full)
        return None if made is None else (self.w.constant(made[0]), self.w.constant(made[1]))

    # ---- values ----

    def value(self, name):
        if name is None:
            return None
        name = name.decode() if isinstance(name, bytes) else name
        if name in self.values:
            return self.values[name]
        if name in self.ids:
            return self.w.input(name, "int", [f"rows of {name}"])
        return self.w.input(name, "real", [f"rows of {name}", self.columns_of(name)])

    def columns_of(self, name):
        """Columns of an input, where a step declares them."""
        for k, step in enumerate(self.steps):
            kind = KINDS[step.kind]
            if kind == "input" and self.names[k] == name and step.out > 0:
                return step.out
            if kind == "layer" and self.input_names(k)[0] == name:
                return getattr(step.layer, "in")
            if kind == "linear" and self.input_names(k)[0] == name and getattr(step, "in") > 0:
                return step.rows if step.rows > 0 else getattr(step, "in")
        return f"columns of {name}"

    def slot(self, k):
        return self.slots[self.steps[k].graph]

    def run(self, output):
        at = self.node_input
        every = self.w.input(at, "int", [f"rows of {at}"]) if at in self.ids else self.value(at)
        for slot in self.slots:
            slot.nodes = self.w.rows(every)
        last = None
        for k in range(len(self.steps)):
            last = self.values[self.names[k]] = self.step(k)
        return last

    def step(self, k):
        """The output of step k."""
        kind = KINDS[self.steps[k].kind]
        method = getattr(self, f"step_{kind}", None)
        if method is None:
            raise NotExportable(f"step {self.names[k]}: a step of the kind {kind} has no counterpart in ONNX's operators")
        try:
            return method(k, self.steps[k])
        except NotExportable as problem:
            text = str(problem)
            raise NotExportable(text if text.startswith(("step ", "graph slot")) else f"step {self.names[k]}: {text}") from None

    # ---- kinds of steps ----

    def step_input(self, k, step):
        name = self.names[k]
        return self.w.input(name, "int", [f"rows of {name}"]) if name in self.ids else self.w.input(name, "real", [f"rows of {name}", self.columns_of(name)])

    def step_layer(self, k, step):
        layer = LayerRows(self.w, step.layer, self.slot(k), lambda name: self.field(k, name), lambda name: self.running(k, name), f"step {self.names[k]}")
        v = self.value
        own = {name: stored for name, stored in ON_EDGES.items() if stored.decode() not in self.names}  # of a set, by PyG's names
        features = v(step.edge_features) if step.edge_features != own.get("edge_attr") else None
        features = features or (self.on_edges("edge_attr", step.layer.edge_dim) if step.layer.edge_dim > 0 else None)
        weight, bias = (v(named) if named and named != own.get(name) else self.on_edges(name, 1) if named or name in self.optional else None
                        for name, named in (("edge_weight", step.edge_weight), ("edge_bias", step.edge_bias)))
        return layer.run(v(self.input_names(k)[0]), v(step.receivers), features, weight, bias, v(step.gate), v(step.prior_query), [v(p) for p in step.priors])

    def on_edges(self, name, columns):
        return self.w.input(name, "real", ["edges of edge_index", columns])

    def step_aggregate(self, k, step):
        v = self.value
        agg = Aggregation(self.w, step.layer, self.slot(k), lambda name: self.parameter(k, name), f"step {self.names[k]}")
        return agg.run(Rows(message=v(self.input_names(k)[0]), dst_message=v(step.receivers), query=v(step.query), key=v(step.key), weight=v(step.edge_weight),
                            bias=v(step.edge_bias), gate=v(step.gate), prior_query=v(step.prior_query), priors=[v(p) for p in step.priors]))

    def inputs(self, k):
        return [self.value(name) for name in self.input_names(k)]

    def step_linear(self, k, step):
        w, weight = self.w, None
        x = self.inputs(k)[0]
        weight = self.parameter(k, "weight")
        table = weight is None
        weight = self.parameter(k, "table") if table else weight
        turned = step.transposed == ON or table and step.transposed != C["GNN_OFF"]
        if step.rows > 0:
            weight = w.op("Slice", weight, w.i(step.row), w.i(step.row + step.rows), w.i(1 if turned else 0))
        bias = None if step.bias == C["GNN_OFF"] else self.parameter(k, "bias")  # one that shares may leave it out
        return w.linear(x, w.op("Transpose", weight, perm=[1, 0]) if turned else weight, bias)

    def step_norm(self, k, step):
        return self.w.norm(norm_name(step.norm), self.inputs(k)[0], step.eps, self.parameter(k, "gain"), self.parameter(k, "shift"), self.running(k, ""))

    def step_activation(self, k, step):
        return self.w.activation(self.inputs(k)[0], activation_name(step.activation), step.options[0])

    def step_dropout(self, k, step):
        return self.inputs(k)[0]

    step_detach = step_dropout

    def step_add(self, k, step):
        x, y = self.inputs(k)
        return self.w.add(x, y if step.factor in (0, 1) else self.w.mul(y, self.w.f(step.factor)))

    def step_concat(self, k, step):
        return self.w.op("Concat", *self.inputs(k), axis=1)

    def step_stack(self, k, step):
        return self.w.op("Concat", *self.inputs(k), axis=0)

    def step_embed(self, k, step):
        return self.w.gather(self.parameter(k, "table"), self.inputs(k)[0])

    def step_parameter(self, k, step):
        w, rows = self.w, self.parameter(k, "rows")
        rows = self.parameter(k, "value") if rows is None else rows
        if rows is None:
            raise NotExportable("its learned rows have no name that is known")
        if step.each_segment != ON:
            return rows
        count = self.slot(k).segments_count()
        return w.op("Tile", rows, w.op("Concat", count, w.i(1), axis=0))

    def step_view(self, k, step):
        w, x = self.w, self.inputs(k)[0]
        most = 1 << 40
        return w.op("Slice", x, w.i(step.row, step.column), w.i(step.row + step.rows if step.rows > 0 else most, step.column + step.columns if step.columns > 0 else most), w.i(0, 1))

    def step_scale(self, k, step):
        return self.w.mul(self.inputs(k)[0], self.w.f(step.factor or 1))

    def step_multiply(self, k, step):
        return self.w.mul(*self.inputs(k))

    def step_scale_heads(self, k, step):
        w, (x, y) = self.w, self.inputs(k)
        heads = w.op("Shape", y, start=1, end=2)
        split = w.reshape(x, w.rows(x), heads, -1)
        return w.op("Reshape", w.mul(split, w.op("Unsqueeze", y, w.i(2))), w.op("Shape", x))

    def step_maximum(self, k, step):
        return self.w.op("Max", *self.inputs(k))

    def step_repeat(self, k, step):
        """A loop of a given count of rounds, one after another."""
        result, *names = (name.decode() if name else None for name in step.inputs[:7])
        if step.rows <= 0 or step.each_segment == ON:
            raise NotExportable("a loop whose count of rounds follows from segments has no counterpart in ONNX's operators")
        pairs = [(names[j], names[j + 1]) for j in range(0, 6, 2) if names[j]]
        body, before = self.body(k, {first for first, _ in pairs}, {result, *(following for _, following in pairs)}), dict(self.values)
        for _ in range(1, step.rows):
            carried = [self.values[following] for _, following in pairs]
            self.values.update(zip((first for first, _ in pairs), carried))
            for j in body:
                self.values[self.names[j]] = self.step(j)
        made, self.values = self.values[result], before
        return made

    def body(self, k, first, wanted):
        """The steps before step k that run again in each round: those on which `wanted` depend and that
        depend on one of `first`."""
        reads = [self.reads(j) for j in range(k)]
        dependent = set(first)
        for j in range(k):
            if dependent.intersection(reads[j]):
                dependent.add(self.names[j])
        made = []
        for j in reversed(range(k)):
            name = self.names[j]
            if name in wanted and name in dependent and name not in first:
                made.insert(0, j)
                wanted = wanted.union(reads[j])
        return made

    def reads(self, k):
        """The names of all values that a step reads."""
        step = self.steps[k]
        more = (step.receivers, step.edge_features, step.edge_weight, step.edge_bias, step.query, step.key, step.gate, step.prior_query, *step.priors)
        return {*self.input_names(k), *(name.decode() for name in more if name)}

    def step_edge_rows(self, k, step):
        p = self.slot(k).pairs()
        return self.w.gather(self.inputs(k)[0], p.dst if step.side == C["GNN_SIDE_RECEIVERS"] else p.src)

    def step_op(self, k, step):
        name = name_of(step.op)
        method = getattr(self, f"op_{name}", None)
        if method is None:
            raise NotExportable(f"the op {name} has no counterpart in ONNX's operators")
        return method(k, list(step.options), *self.inputs(k))

    # ---- named ops ----

    def op_power(self, k, o, x):
        w, exponent = self.w, o[0] or 1.0
        x = w.add(x, w.f(o[1]))
        if exponent > 0 and exponent == int(exponent):
            return w.op("Pow", x, w.f(exponent))
        positive = w.op("Greater", x, w.f(0))
        return w.op("Where", positive, w.op("Pow", w.op("Where", positive, x, w.f(1)), w.f(exponent)), w.f(0))

    def op_power_by(self, k, o, x, p):
        w = self.w
        positive = w.op("Greater", x, w.f(0))
        return w.op("Where", positive, w.op("Pow", w.op("Where", positive, x, w.f(1)), p), w.f(0))

    def op_log(self, k, o, x):
        return self.w.op("Log", self.w.add(x, self.w.f(o[0])))

    def op_exp(self, k, o, x):
        return self.w.op("Exp", self.w.add(x, self.w.f(o[0])))

    def wave(self, kind, o, x):
        w = self.w
        return w.op(kind, w.add(w.mul(x, w.f(o[0] or 1)), w.f(o[1])))

    def op_sin(self, k, o, x):
        return self.wave("Sin", o, x)

    def op_cos(self, k, o, x):
        return self.wave("Cos", o, x)

    def op_clamp(self, k, o, x):
        return self.w.op("Min", self.w.op("Max", x, self.w.f(o[0])), self.w.f(o[1]))

    def op_between(self, k, o, x):
        w = self.w
        return w.cast(w.op("And", w.op("GreaterOrEqual", x, w.f(o[0])), w.op("LessOrEqual", x, w.f(o[1]))))

    def op_floor(self, k, o, x):
        return self.w.op("Floor", x)

    def op_add_gradient(self, k, o, x, g):
        return x  # y = x: it adds to the gradient alone

    def op_noise(self, k, o, x):
        return x  # none is drawn without training

    def split(self, x, heads):
        return self.w.reshape(x, self.w.rows(x), int(heads or 1), -1)

    def joined(self, x):
        return self.w.reshape(x, self.w.rows(x), -1)

    def op_head_sum(self, k, o, x):
        return self.w.op("ReduceSum", self.split(x, o[0]), self.w.i(2), keepdims=0)

    def op_fold_heads(self, k, o, x):
        return self.w.op("ReduceSum", self.split(x, o[0]), self.w.i(1), keepdims=0)

    def op_unit_heads(self, k, o, x):
        return self.joined(self.w.unit(self.split(x, o[0]), 2))

    def op_mix_heads(self, k, o, x, m):
        w = self.w
        split = w.reshape(x, w.rows(x), w.rows(m), -1)
        return self.joined(w.op("MatMul", w.op("Transpose", m, perm=[1, 0]), split))

    def op_softmax_rows(self, k, o, x):
        w, parts = self.w, self.split(x, o[0])
        known = w.op("Greater", w.op("ReduceMax", parts, w.i(2), keepdims=1), w.f(-np.inf))  # else all weights are 0
        return self.joined(w.op("Where", known, w.op("Softmax", parts, axis=-1), w.f(0)))

    def op_fold_rows(self, k, o, x):
        w = self.w
        return w.reshape(x, -1, w.mul(w.op("Shape", x, start=1, end=2), w.i(int(o[0] or 1))))

    def op_unfold_rows(self, k, o, x):
        w = self.w
        return w.reshape(x, w.mul(w.rows(x), w.i(int(o[0] or 1))), -1) if o[0] > 1 else x

    def op_transpose_heads(self, k, o, x):
        w, heads = self.w, int(o[0] or 1)
        return w.reshape(w.op("Transpose", w.reshape(x, w.rows(x), heads, -1), perm=[0, 2, 1]), w.rows(x), -1)

    # ---- chosen columns and rows: ids are values, -1 for none ----

    def ids_of(self, ids, axis):
        """Ids as integers that are at least 0, and 1 where there is one, with axes of 1 at `axis`."""
        w = self.w
        whole = w.ints(ids)
        known = w.cast(w.op("GreaterOrEqual", whole, w.i(0)))
        return w.op("Max", whole, w.i(0)), w.op("Unsqueeze", known, w.i(*axis)) if axis else known

    def best(self, x, count, blocks):
        """The ids of the best columns of each block (rows, blocks, count), -1 for minus infinity."""
        w = self.w
        parts = w.reshape(x, w.rows(x), blocks, -1)
        each = w.op("Shape", parts, start=2, end=3)
        more = w.op("Expand", w.f(-np.inf), w.shape(w.rows(x), blocks, count))  # where there are fewer columns
        scores, ids = w.two("TopK", w.op("Concat", parts, more, axis=2), w.i(count), axis=2)
        first = w.reshape(w.mul(w.count_up(w.i(blocks)), each), 1, blocks, 1)
        return w.op("Where", w.op("Greater", scores, w.f(-np.inf)), w.cast(w.add(ids, first)), w.f(-1))

    def op_choose(self, k, o, x):
        count, blocks = int(o[0] or 1), int(o[1] or 1)
        return self.w.reshape(self.best(x, count, blocks), self.w.rows(x), blocks * count)

    def op_draw(self, k, o, x):
        blocks = int(o[0] or 1)  # without training the likeliest column
        return self.w.reshape(self.best(x, 1, blocks), self.w.rows(x), blocks)

    def op_pick_columns(self, k, o, x, ids):
        at, known = self.ids_of(ids, ())
        return self.w.mul(self.w.op("GatherElements", x, at, axis=1), known)

    def op_mark_columns(self, k, o, ids, like):
        w = self.w
        at, known = self.ids_of(ids, ())
        return w.op("ScatterElements", w.mul(like, w.f(0)), at, known, axis=1, reduction="add")

    def op_limit_ids(self, k, o, ids, like):
        w = self.w
        at, known = self.ids_of(ids, ())
        groups = w.op("Shape", like, start=1, end=2)
        turned = w.op("Transpose", at, perm=[1, 0])  # first choices of all rows, then second ones
        one = w.cast(w.op("Equal", w.op("Unsqueeze", w.reshape(turned, -1), w.i(1)), w.op("Unsqueeze", w.count_up(groups), w.i(0))))
        one = w.mul(one, w.reshape(w.op("Transpose", known, perm=[1, 0]), -1, 1))
        before = w.op("ReduceSum", w.mul(w.op("CumSum", one, w.constant(np.array(0, np.int64)), exclusive=1), one), w.i(1), keepdims=0)
        before = w.op("Transpose", w.op("Reshape", before, w.op("Shape", turned)), perm=[1, 0])
        kept = w.op("And", w.op("Less", before, w.f(int(o[0] or 1))), w.op("Greater", known, w.f(0)))
        return w.op("Where", kept, ids, w.f(-1))

    def op_gather_rows(self, k, o, x, ids):
        w = self.w
        at, known = self.ids_of(ids, (2,))
        return w.reshape(w.mul(w.gather(x, at), known), w.rows(ids), w.mul(w.op("Shape", ids, start=1, end=2), w.op("Shape", x, start=1, end=2)))

    def op_scatter_rows(self, k, o, y, ids, like):
        w = self.w
        at, known = self.ids_of(ids, (2,))
        blocks = w.reshape(y, w.rows(y), w.op("Shape", ids, start=1, end=2), -1)
        width = w.op("Shape", blocks, start=2, end=3)
        return w.scatter(w.op("Reshape", w.mul(blocks, known), w.shape(-1, width)), w.reshape(at, -1), w.rows(like), width=width)

    def listed(self, x, ids, heads, own, x_heads):
        """The rows that ids name for each head (rows, heads, k, width), and which of them exist (rows,
        heads or 1, k)."""
        w = self.w
        at, known = self.ids_of(ids, ())
        n, width = w.rows(ids), w.op("Div", w.op("Shape", x, start=1, end=2), x_heads)
        rows = w.op("Reshape", x, w.shape(w.rows(x), x_heads, width))
        per = w.op("Div", w.i(heads), x_heads)
        of_head = w.op("Div", w.count_up(w.i(heads)), per)
        rows = w.op("Gather", rows, of_head, axis=1)  # (m, heads, width)
        if not own:
            return w.op("Transpose", w.gather(rows, at), perm=[0, 2, 1, 3]), w.op("Unsqueeze", known, w.i(1))
        at = w.reshape(at, n, heads, -1)
        turned = w.op("Transpose", rows, perm=[1, 0, 2])  # (heads, m, width)
        head = w.op("Expand", w.reshape(w.count_up(w.i(heads)), 1, heads, 1), w.op("Shape", at))
        both = w.op("Concat", w.op("Unsqueeze", head, w.i(3)), w.op("Unsqueeze", at, w.i(3)), axis=3)
        return w.op("GatherND", turned, both), w.reshape(known, n, heads, -1)

    def op_score_rows(self, k, o, q, x, ids):
        w, heads = self.w, int(o[0] or 1)
        query = w.reshape(q, w.rows(q), heads, 1, -1)
        x_heads = w.op("Div", w.mul(w.op("Shape", x, start=1, end=2), w.i(heads)), w.op("Shape", q, start=1, end=2))
        rows, known = self.listed(x, ids, heads, o[1] != 0, x_heads)
        scores = w.op("ReduceSum", w.mul(rows, query), w.i(3), keepdims=0)
        return self.joined(w.op("Where", w.op("Greater", known, w.f(0)), scores, w.f(-np.inf)))

    def op_weigh_rows(self, k, o, weights, x, ids):
        w, heads = self.w, int(o[0] or 1)
        times = w.op("Div", w.op("Shape", weights, start=1, end=2), w.op("Shape", ids, start=1, end=2))
        every = w.op("Tile", ids, w.op("Concat", w.i(1), times, axis=0))  # shared ids for each head
        rows, known = self.listed(x, every, heads, True, w.i(int(o[1] or heads)))
        share = w.mul(w.reshape(weights, w.rows(weights), heads, -1), known)
        return self.joined(w.op("ReduceSum", w.mul(rows, w.op("Unsqueeze", share, w.i(3))), w.i(2), keepdims=0))

    def op_grouped_product(self, k, o, x, m, ids=None, bias=None):
        w, groups = self.w, int(o[0] or 1)
        each = w.reshape(m, groups, -1, w.op("Shape", m, start=1, end=2))
        each = w.op("Transpose", each, perm=[0, 2, 1]) if o[1] else each  # (groups, d, f)
        if ids is None:
            at, known = w.op("Unsqueeze", w.op("Mod", w.count_up(w.rows(x)), w.i(groups)), w.i(1)), None
        else:
            at, known = self.ids_of(ids, (2,))
        d = w.op("Shape", each, start=1, end=2)
        blocks = w.op("Reshape", x, w.shape(w.rows(x), -1, d))  # one for all ids, or one for each
        y = w.op("Squeeze", w.op("MatMul", w.op("Unsqueeze", blocks, w.i(2)), w.gather(each, at)), w.i(2))
        y = y if bias is None else w.add(y, w.gather(bias, at))
        return self.joined(y if known is None else w.mul(y, known))

    def op_blend_heads(self, k, o, x, weights):
        w = self.w
        split = w.reshape(x, w.rows(x), w.op("Shape", weights, start=1, end=2), -1)
        return w.op("ReduceSum", w.mul(split, w.op("Unsqueeze", weights, w.i(2))), w.i(1), keepdims=0)

    def op_row_matrix(self, k, o, x, m):
        w = self.w
        m = w.reshape(m, w.rows(x), w.op("Shape", x, start=1, end=2), -1)
        return w.op("Squeeze", w.op("MatMul", w.op("Unsqueeze", x, w.i(1)), m), w.i(1))

    def op_block_product(self, k, o, x, m):
        w, b = self.w, int(o[0] or 1)
        blocks = w.op("Transpose", self.split(x, b), perm=[1, 0, 2])
        m = w.reshape(m, b, -1, w.op("Shape", m, start=1, end=2))
        return self.joined(w.op("Transpose", w.op("MatMul", blocks, m), perm=[1, 0, 2]))

    def op_gaussian(self, k, o, e, mu, sigma):
        w = self.w
        off = w.sub(w.op("Unsqueeze", e, w.i(1)), w.op("Unsqueeze", mu, w.i(0)))
        over = w.add(w.f(1e-15), w.mul(sigma, sigma))
        total = w.op("ReduceSum", w.div(w.mul(off, off), over), w.i(2), keepdims=0)
        return w.op("Exp", w.mul(w.f(-0.5), total))

    def op_lstm_cell(self, k, o, gates, state=None):
        w = self.w
        parts = self.split(gates, 4)
        i, f, g, out = (w.op("Gather", parts, w.constant(np.array(j, np.int64)), axis=1) for j in range(4))
        c = w.mul(w.op("Sigmoid", i), w.op("Tanh", g))
        if state is not None:
            c = w.add(c, w.mul(w.op("Sigmoid", f), w.op("Gather", self.split(state, 2), w.constant(np.array(1, np.int64)), axis=1)))
        return w.op("Concat", w.mul(w.op("Sigmoid", out), w.op("Tanh", c)), c, axis=1)

    def op_pick_rows(self, k, o, x, ids):
        w = self.w
        known = w.op("Unsqueeze", w.op("GreaterOrEqual", ids, w.i(0)), w.i(1))
        return w.op("Where", known, w.gather(x, w.op("Max", ids, w.i(0))), w.f(0))

    def op_pair_norm(self, k, o, x):
        w = self.w
        u = w.sub(x, w.op("ReduceMean", x, w.i(0), keepdims=1))
        length = w.op("ReduceMean", w.op("ReduceSumSquare", u, w.i(1), keepdims=1), w.i(0), keepdims=1)
        return w.mul(w.f(o[0] or 1), w.div(u, w.op("Sqrt", w.add(length, w.f(o[1] or 1e-5)))))

    # ---- named ops over a graph ----

    def degrees(self, p, senders=False):
        ids, n = (p.src, p.n_src) if senders else (p.dst, p.n_dst)
        return self.w.scatter(self.w.full(1.0, self.w.rows(p.src), 1), ids, n, width=1)

    def op_degree(self, k, o, x):
        made = self.degrees(self.slot(k).pairs(), o[0] == 1)
        return self.w.op("Max", made, self.w.f(o[1])) if o[1] else made

    def chosen(self, k, low, high):
        """Receivers with an in-degree in a range."""
        w = self.w
        degree = w.reshape(self.degrees(self.slot(k).pairs()), -1)
        return w.where_true(w.op("And", w.op("GreaterOrEqual", degree, w.f(low)), w.op("LessOrEqual", degree, w.f(high))))

    def op_rows_of_degree(self, k, o, x):
        return self.w.gather(x, self.chosen(k, o[0], o[1]))

    def op_place_by_degree(self, k, o, *parts):
        w = self.w
        at = [self.chosen(k, o[0] + j, o[1] if j == len(parts) - 1 else o[0] + j) for j in range(len(parts))]
        ids, rows = w.op("Concat", *at, axis=0), w.op("Concat", *parts, axis=0)
        return w.scatter(rows, ids, self.slot(k).pairs().n_dst)

    def op_segment_product(self, k, o, x):
        p = self.slot(k).pairs()
        return self.w.scatter(self.w.gather(x, p.src), p.dst, p.n_dst, 1.0, "mul")

    def segment_mean(self, p, x):
        w = self.w
        return w.ratio(w.scatter(w.gather(x, p.src), p.dst, p.n_dst), self.degrees(p))

    def back(self, p, x):
        """Rows of receivers at their senders; 0 at a sender without a receiver."""
        return self.w.scatter(self.w.gather(x, p.dst), p.src, p.n_src)

    def op_segment_norm(self, k, o, x, s=None):
        w, p = self.w, self.slot(k).pairs()
        mean = self.back(p, self.segment_mean(p, x))
        u = w.sub(x, mean if s is None else w.mul(s, mean))
        scale = w.op("Reciprocal", w.op("Sqrt", w.add(self.segment_mean(p, w.mul(u, u)), w.f(o[0] or 1e-5))))
        return w.mul(u, self.back(p, scale))

    def op_segment_layer_norm(self, k, o, x):
        w, p = self.w, self.slot(k).pairs()
        u = w.sub(x, self.back(p, w.total(self.segment_mean(p, x), 1, "ReduceMean")))
        square = w.total(self.segment_mean(p, w.mul(u, u)), 1, "ReduceMean")
        eps = w.f(o[0] or 1e-5)
        length = w.add(w.op("Sqrt", square), eps) if o[1] else w.op("Sqrt", w.add(square, eps))
        return w.mul(u, self.back(p, w.op("Reciprocal", length)))


def exported(model, graphs, nodes, output, values):
    """The ModelProto of a model."""
    reshape = None
    if isinstance(model, Layer):
        own, model = model, Model([model])
        model.load_state_dict({**model.state_dict(), **{f"0.{name}": a for name, a in own.parameters().items()}})
    if isinstance(model, Model):
        at = model._at
    elif hasattr(model, "plans"):
        at, nodes, reshape = of_compiled(model, nodes)
    else:
        raise TypeError(f"a Model, a Layer or a module of libgnn.torch.compile is expected, came {type(model).__name__}")
    unknown = set(values) - {"edge_weight", "edge_bias"}
    if unknown or values and hasattr(model, "plans"):
        raise ValueError(f"values names {sorted(unknown or values)}: edge_weight and edge_bias of layers are known")
    writer = Exporter(at, graphs, nodes, values)
    last = writer.run(output)
    shape = ["rows", f"columns of {output}"]
    if reshape is not None:
        last, shape = writer.w.reshape(last, *reshape), ["rows" if size == -1 else size for size in reshape]
    if not output or output in writer.w.inputs:
        raise ValueError(f"output must be another name than that of an input, came {output!r}")
    made = writer.w.model(last, output, shape)
    checker.check_model(made)
    return made


def of_compiled(module, nodes):
    """The library's model of a compiled module's only plan, with the module's values now."""
    plans = [plan for plan in module.plans.values() if hasattr(plan, "model")]
    if len(plans) != 1:
        raise ValueError(f"the compiled module has {len(plans)} traces: call it first, with one set of arguments")
    plan = plans[0]
    plan.fill()
    kinds = {name: kind for name, (kind, _) in plan.drawn.specs.items()}
    rows = [name for name in plan.names if kinds.get(name) in ("rows", "column", "cube", "ids", "id_rows")]
    if len(plan.shapes) > 1:
        raise NotExportable(f"forward() returns {len(plan.shapes)} tensors ({', '.join(plan.found.outputs)}): a file has one output, so export a module that returns one of them")
    (dim, shape, lone), = plan.shapes
    return plan.model, nodes or (rows[0] if rows else None), list(shape) if lone else None if dim == 2 else [-1, *shape]
