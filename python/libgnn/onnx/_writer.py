"""A graph of ONNX while it is written: operators with names, constants, and the graphs of slots."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from . import NotExportable

OPSET = 18
I64 = np.int64


class Writer:
    """Appends operators; each method returns the name of a value."""

    def __init__(self):
        self.nodes, self.initializers, self.inputs, self.known, self.count = [], [], {}, {}, 0

    def op(self, kind, *inputs, **attributes):
        """One operator with one output; the same operator on the same values is written once."""
        key = (kind, inputs, tuple(sorted((k, tuple(v) if isinstance(v, list) else v) for k, v in attributes.items())))
        if key not in self.known:
            self.count += 1
            self.known[key] = f"{kind.lower()}_{self.count}"
            self.nodes.append(helper.make_node(kind, list(inputs), [self.known[key]], **attributes))
        return self.known[key]

    def two(self, kind, *inputs, **attributes):
        """One operator with two outputs."""
        self.count += 1
        names = [f"{kind.lower()}_{self.count}_{k}" for k in range(2)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names

    def constant(self, value, name=None):
        """An initializer; equal ones are one."""
        a = np.asarray(value, order="C")
        key = ("constant", a.dtype.str, a.shape, a.tobytes())
        if key not in self.known:
            self.count += 1
            self.known[key] = name if name and all(i.name != name for i in self.initializers) else f"c_{self.count}"
            self.initializers.append(numpy_helper.from_array(a, self.known[key]))
        return self.known[key]

    def f(self, value):
        return self.constant(np.asarray(value, np.float32))

    def i(self, *values):
        """A vector of integers."""
        return self.constant(np.array(values, I64))

    def input(self, name, kind, shape):
        if name in self.inputs and self.inputs[name][0] != kind:
            raise NotExportable(f"the input {name} is read as values and as ids")
        self.inputs.setdefault(name, (kind, shape))
        return name

    # ---- arithmetic ----

    def add(self, a, b):
        return self.op("Add", a, b)

    def sub(self, a, b):
        return self.op("Sub", a, b)

    def mul(self, a, b):
        return self.op("Mul", a, b)

    def div(self, a, b):
        return self.op("Div", a, b)

    def ratio(self, a, b, otherwise=0.0):
        """a / b; where b is 0, `otherwise`."""
        zero = self.op("Equal", b, self.f(0))
        return self.op("Where", zero, self.f(otherwise), self.div(a, self.op("Where", zero, self.f(1), b)))

    def total(self, x, axis=1, kind="ReduceSum"):
        return self.op(kind, x, self.i(axis), keepdims=1)

    # ---- shapes ----

    def rows(self, x):
        """The count of rows, as a vector of one element."""
        return self.op("Shape", x, start=0, end=1)

    def shape(self, *parts):
        """A shape of integers and of vectors of one element."""
        if all(isinstance(p, int) for p in parts):
            return self.i(*parts)
        return self.op("Concat", *(self.i(p) if isinstance(p, int) else p for p in parts), axis=0)

    def reshape(self, x, *parts):
        return self.op("Reshape", x, self.shape(*parts))

    def full(self, value, *parts):
        return self.op("Expand", self.f(value), self.shape(*parts))

    def count_up(self, n):
        """0, 1, ... below n."""
        zero, one = self.constant(np.array(0, I64)), self.constant(np.array(1, I64))
        return self.op("Range", zero, self.op("Squeeze", n, self.i(0)), one)

    def columns(self, x, start, stop):
        return self.op("Slice", x, self.i(start), self.i(stop), self.i(1))

    def first_rows(self, x, n):
        return self.op("Slice", x, self.i(0), n, self.i(0))

    def gather(self, x, ids):
        return self.op("Gather", x, ids, axis=0)

    def cast(self, x, to=TensorProto.FLOAT):
        return self.op("Cast", x, to=to)

    def ints(self, x):
        return self.cast(x, TensorProto.INT64)

    def where_true(self, mask):
        """Indices of the true elements of a vector."""
        return self.op("Squeeze", self.op("NonZero", mask), self.i(0))

    # ---- sums over receivers ----

    def scatter(self, x, ids, n, initial=0.0, reduction="add", width=None):
        """Row r of x joins row ids[r] of (n, columns)."""
        cols = self.op("Shape", x, start=1, end=2) if width is None else width
        at = self.op("Expand", self.op("Unsqueeze", ids, self.i(1)), self.op("Shape", x))
        return self.op("ScatterElements", self.full(initial, n, cols), at, x, axis=0, reduction=reduction)

    # ---- functions of rows ----

    def linear(self, x, weight, bias=None):
        y = self.op("MatMul", x, weight)
        return y if bias is None else self.add(y, bias)

    def activation(self, x, name, slope=0.0):
        w = self
        simple = {"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid", "softplus": "Softplus"}
        if name == "identity":
            return x
        if name in simple:
            return w.op(simple[name], x)
        if name == "leaky_relu":
            return w.op("LeakyRelu", x, alpha=float(slope or 0.2))
        if name == "elu":
            return w.op("Elu", x, alpha=1.0)
        if name == "silu":
            return w.mul(x, w.op("Sigmoid", x))
        if name == "gelu":
            return w.mul(w.mul(w.f(0.5), x), w.add(w.f(1), w.op("Erf", w.mul(x, w.f(2 ** -0.5)))))
        if name == "gelu_tanh":
            cubed = w.mul(w.mul(x, x), x)
            inner = w.mul(w.f((2 / np.pi) ** 0.5), w.add(x, w.mul(w.f(0.044715), cubed)))
            return w.mul(w.mul(w.f(0.5), x), w.add(w.f(1), w.op("Tanh", inner)))
        raise NotExportable(f"activation {name}")

    def rms(self, x, eps, axis=1):
        return self.op("Sqrt", self.add(self.total(self.mul(x, x), axis, "ReduceMean"), self.f(eps)))

    def unit(self, x, axis=1):
        """Rows divided by their lengths."""
        return self.div(x, self.op("Max", self.op("ReduceL2", x, self.i(axis), keepdims=1), self.f(1e-12)))

    def norm(self, kind, x, eps, gain, shift, running):
        w, eps = self, float(eps) if eps else 1e-5
        if kind == "layer":
            return w.op("LayerNormalization", x, gain, *([] if shift is None else [shift]), axis=-1, epsilon=eps)
        if kind == "rms":
            return w.mul(w.div(x, w.rms(x, eps)), gain)
        if kind == "l2":
            return w.unit(x)
        if kind == "batch":
            mean, variance = running
            scale = w.div(gain, w.op("Sqrt", w.add(variance, w.f(eps))))
            return w.add(w.mul(w.sub(x, mean), scale), shift)
        raise NotExportable(f"norm {kind}")

    def model(self, output, name, shape):
        self.nodes.append(helper.make_node("Identity", [output], [name]))
        kinds = {"real": TensorProto.FLOAT, "int": TensorProto.INT64}
        inputs = [helper.make_tensor_value_info(n, kinds[kind], shape) for n, (kind, shape) in self.inputs.items()]
        graph = helper.make_graph(self.nodes, "libgnn", inputs, [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)], self.initializers)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="libgnn")
        made.ir_version = 9
        return made


class Pairs:
    """Senders and receivers of the pairs of a graph, edges first, self-loops that a view adds last."""

    def __init__(self, src, dst, n_src, n_dst, edges, loops=None):
        self.src, self.dst, self.n_src, self.n_dst, self.edges, self.loops = src, dst, n_src, n_dst, edges, loops


class Slot:
    """The graph of a slot: `kind` says how it follows from the inputs of the file."""

    def __init__(self, writer, kind, nodes, index):
        self.w, self.nodes, self.index = writer, nodes, index
        self.text = kind
        self.kind, _, self.source = kind.partition(":")
        self.kind, _, self.value = self.kind.partition("=")
        self.square, self.segments, self._made = True, None, None

    # ---- what the kinds read ----

    def edge_index(self):
        name, *operations = (self.source or "edge_index").split(":")
        name = name or "edge_index"
        w = self.w
        e = w.input(name, "int", [2, f"edges of {name}"])
        src, dst = (w.op("Squeeze", w.op("Slice", e, w.i(k), w.i(k + 1), w.i(0)), w.i(0)) for k in (0, 1))
        for operation in operations:
            src, dst = self.changed(operation, src, dst)
        return src, dst

    def changed(self, operation, src, dst):
        """Edges after an operation of a traced model."""
        w = self.w
        if operation == "reverse":
            return dst, src
        if operation.startswith("type="):
            keep = w.op("Equal", w.input("edge_type", "int", ["edges of edge_index"]), w.i(int(operation[5:])))
        elif operation in ("without_loops", "remaining"):
            keep = w.op("Not", w.op("Equal", src, dst))
        elif operation == "add_loops":
            keep = None
        else:
            raise NotExportable(f"graph slot {self.index}: operation {operation} on edges")
        if keep is not None:
            src, dst = w.op("Compress", src, keep, axis=0), w.op("Compress", dst, keep, axis=0)
        if operation in ("add_loops", "remaining"):
            every = w.count_up(self.nodes)
            src, dst = w.op("Concat", src, every, axis=0), w.op("Concat", dst, every, axis=0)
        return src, dst

    def batch(self):
        return self.w.input("batch", "int", ["nodes"])

    def graphs(self):
        """The count of graphs in a batch."""
        w = self.w
        return w.add(w.op("ReduceMax", self.batch(), keepdims=1), w.i(1))

    def mask(self):
        """Of a dense graph (nodes, nodes): which pairs exist; None: all."""
        w, mask = self.w, None
        if self.source != "all":
            batch = w.op("Unsqueeze", self.batch(), w.i(1))
            mask = w.op("Equal", batch, w.op("Transpose", batch, perm=[1, 0]))
        if self.kind == "causal":
            place = w.op("Unsqueeze", w.count_up(self.nodes), w.i(1))
            before = w.op("GreaterOrEqual", place, w.op("Transpose", place, perm=[1, 0]))
            mask = before if mask is None else w.op("And", mask, before)
        return mask

    @property
    def dense(self):
        return self.kind in ("complete", "causal")

    @property
    def segmented(self):
        """True of pairs whose rows have positions among the inputs."""
        return self.kind in ("pairs", "square") and self.value == "segments"

    @property
    def positions(self):
        """True if nodes have positions, whose differences are distances."""
        return self.dense or self.segmented

    def position(self, side="sender"):
        """Position of each sender or receiver in its graph."""
        w = self.w
        if self.segmented:
            name = f"{side}_position_{self.index}"
            return w.op("Unsqueeze", w.input(name, "int", [f"rows of {name}"]), w.i(1))
        every = w.count_up(self.nodes)
        if self.source == "all":
            return w.op("Unsqueeze", every, w.i(1))
        batch = self.batch()
        column = w.cast(w.op("Unsqueeze", every, w.i(1)))
        first = w.scatter(column, batch, self.graphs(), 3e38, "min", width=1)
        return w.ints(w.sub(column, w.gather(first, batch)))

    def pairs(self):
        if self._made is None:
            self._made = self.made()
        return self._made

    def made(self):
        w, n, k = self.w, self.nodes, self.kind
        if k in ("edges", "relation"):
            src, dst = self.edge_index()
            if k == "relation":
                src, dst = Slot.changed(self, f"type={self.value}", src, dst)
            return Pairs(src, dst, n, n, w.rows(src))
        if self.dense:
            mask = self.mask()
            mask = w.op("Expand", w.constant(np.array([[True]])), w.shape(n, n)) if mask is None else mask
            both = w.op("NonZero", mask)
            dst, src = (w.op("Squeeze", w.op("Slice", both, w.i(r), w.i(r + 1), w.i(0)), w.i(0)) for r in (0, 1))
            return Pairs(src, dst, n, n, w.i(0))
        self.square = False
        if k in ("pairs", "square"):
            self.square = k == "square"
            src, dst = (self.source or f"edge_index_{self.index}"), None
            self.source = src
            src, dst = self.edge_index()
            size = w.input(f"size_{self.index}", "int", [2])
            return Pairs(src, dst, w.op("Slice", size, w.i(0), w.i(1)), w.op("Slice", size, w.i(1), w.i(2)), w.rows(src))
        if k == "incidence":
            src, dst = self.edge_index()
            return Pairs(w.count_up(w.rows(src)), dst, w.rows(src), n, w.rows(src))
        if k in ("readout", "spread"):
            every, batch, graphs = w.count_up(n), self.batch(), self.graphs()
            return Pairs(every, batch, n, graphs, n) if k == "readout" else Pairs(batch, every, graphs, n, n)
        if k == "whole":
            every = w.count_up(n)
            return Pairs(every, w.mul(every, w.i(0)), n, w.i(1), n)
        if k in ("whole_edges", "whole_ends"):
            src, dst = self.edge_index()
            from_ = w.count_up(w.rows(src)) if k == "whole_edges" else dst if int(self.value or 0) else src
            return Pairs(from_, w.mul(from_, w.i(0)), w.rows(src) if k == "whole_edges" else n, w.i(1), w.rows(src))
        if k in ("seeds", "among_seeds"):
            return self.seeds(int(self.value))
        if k == "from_seeds":
            p = Slot(w, f"seeds={self.value}", n, self.index).seeds(int(self.value))
            return Pairs(p.dst, p.src, p.n_dst, p.n_src, p.edges)
        raise NotExportable(f"graph slot {self.index}: a graph of the kind {k!r}")

    def seeds(self, v):
        """From nodes to v learned rows per graph, or among these."""
        w = self.w
        rows, from_ = (self.batch(), w.count_up(self.nodes)) if self.kind == "seeds" else (None, None)
        graphs = self.graphs()
        if rows is None:
            every = w.count_up(w.mul(graphs, w.i(v)))
            rows, from_ = w.op("Div", every, w.i(v)), every
        count = w.rows(rows)
        seed = w.reshape(w.op("Expand", w.constant(np.arange(v, dtype=I64)[None]), w.shape(count, v)), -1)
        at = w.reshape(w.op("Expand", w.op("Unsqueeze", rows, w.i(1)), w.shape(count, v)), -1)
        src = w.reshape(w.op("Expand", w.op("Unsqueeze", from_, w.i(1)), w.shape(count, v)), -1)
        total = w.mul(graphs, w.i(v))
        return Pairs(src, w.add(w.mul(at, w.i(v)), seed), self.nodes if self.kind == "seeds" else total, total, w.i(0))

    def segments_count(self):
        """Graphs of the batch on whose rows learned rows are repeated."""
        if self.segmented:
            return self.w.input(f"segments_{self.index}", "int", [1])
        return self.graphs() if self.source != "all" and self.dense or self.kind in ("readout", "spread", "seeds", "among_seeds", "from_seeds") else self.w.i(1)

    def view(self, self_loops):
        """The pairs, with the missing self-loops of all receivers after them."""
        p, w = self.pairs(), self.w
        if not self_loops or self.dense:
            return p
        if not self.square:
            raise NotExportable(f"graph slot {self.index}: self-loops on a graph of the kind {self.kind!r}")
        own = w.cast(w.op("Unsqueeze", w.op("Equal", p.src, p.dst), w.i(1)))
        have = w.reshape(w.scatter(own, p.dst, p.n_dst, 0.0, "max", width=1), -1)
        missing = w.where_true(w.op("Equal", have, w.f(0)))
        return Pairs(w.op("Concat", p.src, missing, axis=0), w.op("Concat", p.dst, missing, axis=0), p.n_src, p.n_dst, p.edges, missing)
