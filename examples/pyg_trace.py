"""Turns a torch.nn.Module of known layers into a list of libgnn's steps, for from_pyg.py.

torch.fx runs the module's forward() on symbols; each call of a layer, a function or a method then
becomes steps (pyg_modules.py has the layers). What has no counterpart is named with its place.
"""
import inspect
import json
import operator

import torch
import torch.nn.functional as F
from torch import fx

import pyg_modules
import pyg_readouts  # noqa: F401 (it adds rows)
import pyg_types
import torch_geometric.nn as G


class Untraceable(Exception):
    """What libgnn cannot say, with the place in the module."""


class Value:
    """A value of the trace: an input of the model, or what a step puts out."""

    def __init__(self, name, width=None):
        self.name, self.width = name, width


POOLS = {name: getattr(G, name) for name in ("global_add_pool", "global_mean_pool", "global_max_pool")}


class Tracer(fx.Tracer):
    """Stops at every layer that has a row, and at those that no row could be made of."""

    def __init__(self):
        super().__init__(autowrap_functions=tuple(POOLS.values()))

    def trace(self, root, concrete_args=None):
        """Pooling functions are calls, also where they are written G.global_add_pool; and an aggregation is called without its
        checks of shapes, which symbols do not pass."""
        checked = G.aggr.Aggregation.__call__
        G.aggr.Aggregation.__call__ = lambda m, *args, **kwargs: torch.nn.Module.__call__(m, *args, **kwargs)
        for name, pool_of in POOLS.items():
            setattr(G, name, lambda *args, call=pool_of, **kwargs: self.create_proxy("call_function", call, args, kwargs))
        try:
            return super().trace(root, concrete_args)
        finally:
            G.aggr.Aggregation.__call__ = checked
            for name, pool_of in POOLS.items():
                setattr(G, name, pool_of)

    def call_module(self, m, forward, args, kwargs):
        """What goes out by type of node is a dictionary, whose items forward() may walk over."""
        out = super().call_module(m, forward, args, kwargs)
        heard = pyg_types.types_that_hear(m)
        return {node: out[node] for node in heard} if heard else out

    def is_leaf_module(self, m, name):
        if isinstance(m, (torch.nn.Sequential, torch.nn.ModuleList)):
            return False
        known = type(m) in pyg_modules.ROWS
        return known or isinstance(m, (G.MessagePassing, G.aggr.Aggregation)) or type(m).__module__.startswith("torch.nn")


class Trace:
    def __init__(self, module):
        self.root, self.steps, self.arrays, self.graphs, self.notes, self.names = module, [], {}, [], [], {}
        self.place, self.taken, self.uses = "", set(), {}

    # ---- what rows call ----

    def refuse(self, words):
        raise Untraceable(f"{self.place}: libgnn's counterpart has no {words}")

    def note(self, words):
        self.notes.append(f"{self.place}: {words}")

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
        return value.width or self.refuse("columns known here (no layer before it tells: say widths={'x': 16})")

    def edges(self, value):
        return self.slot("edges", value)

    def slot(self, kind, source=None, number=0):
        """The number of the graph of this kind; a batch is one for the whole model."""
        slot = {"kind": kind, "number": number, **({"source": self.rows(source)} if source is not None else {})}
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
            self.refuse("second use of one module (its weights would have to be shared)")
        self.names[step["name"]] = True
        self.steps.append(step)
        return Value(step["name"], columns)

    def use(self, name, m):
        """The name of this use of a module: one without arrays may be used any number of times."""
        self.uses[name] = self.uses.get(name, -1) + 1
        return name if self.uses[name] == 0 or m.state_dict() else f"{name}:{self.uses[name]}"

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
        """A module of one input."""
        return self.call(name, m, (x,))

    def call(self, name, m, given):
        """A call of a layer: `given` has its arguments by name, or in their order."""
        outer, self.place = self.place, f"{name} ({type(m).__name__})"
        row = pyg_modules.ROWS.get(type(m))
        if row is None:
            raise Untraceable(f"{self.place}: libgnn has no counterpart of this module")
        bound = inspect.signature(m.forward).bind(**given) if isinstance(given, dict) else inspect.signature(m.forward).bind(*given)
        value = row(self, m, name, {"x": None, **bound.arguments} if "x" in bound.arguments else dict(bound.arguments))
        self.place = outer
        return value

    # ---- the file ----

    def metadata(self):
        return {"gnn.description": json.dumps({"format": 1, "steps": self.steps}), "gnn.graphs": json.dumps(self.graphs)}

    def __str__(self):
        own = {step["name"] for step in self.steps}
        reads = []
        for step in self.steps:
            words = [word.split(":")[0] for word in step.get("types", "").split()]
            own |= {f"{step['name']}.{word}" for word in words}
            reads += [f"{v}.{word}" for key, v in step.items() if key == "input" for word in words] or [v for key, v in step.items() if key in READS]
        reads = [v for v in reads if v not in own]
        lines = [f"step    {step.get('kind') or 'block ' + step['block']:14} {step['name']}" for step in self.steps]
        lines += [f"graph   {k}: {slot['kind']} {slot['number'] or ''} {'of ' + slot['source'] if 'source' in slot else ''}".rstrip() for k, slot in enumerate(self.graphs)]
        lines += [f"input   {name}" for name in dict.fromkeys(reads)]
        return "\n".join(lines + [f"note    {note}" for note in self.notes])


READS = {"input", "receivers", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "edge_features", "edge_weight", "edge_bias", "memory", "edges"}

# ---- functions and methods ----


def add(t, name, x, z, alpha=1, sign=1):
    if not isinstance(x, Value):
        x, z = z, x
    if not isinstance(z, Value):
        return x if z == 0 else t.refuse("sum of rows and a number")
    return t.step(x.width or z.width, kind="add", name=name, input=t.rows(x), second=t.rows(z), factor=float(alpha * sign))


def subtract(t, name, x, z, alpha=1):
    return add(t, name, x, z, alpha, -1)


def multiply(t, name, x, z):
    if not isinstance(x, Value):
        x, z = z, x
    if isinstance(z, Value):
        return t.step(x.width if x.width and x.width > 1 else z.width, kind="multiply", name=name, input=t.rows(x), second=t.rows(z))
    return x if z == 1 else t.step(x.width, kind="scale", name=name, input=t.rows(x), factor=float(z)) if z else t.refuse("product with 0")


def divide(t, name, x, z):
    return t.refuse("division by rows") if isinstance(z, Value) else multiply(t, name, x, 1 / z)


def concatenate(t, name, xs, dim=0):
    return t.concat(name, xs) if dim in (1, -1) else t.many("stack", name, xs, xs[0].width)


def largest(t, name, x, z):
    return t.many("maximum", name, [x, z], x.width)


def drop(t, name, x, p=0.5, training=True, inplace=False):
    return t.dropout(name, x, p)


def activate(word, default=None):
    def call(t, name, x, slope=default, **options):
        if options.pop("inplace", False) is None or options.get("alpha", 1) != 1 or (default is None and slope not in (None, 1, 1.0)):
            t.refuse("parameters of this activation")
        tanh = options.get("approximate") == "tanh"
        return t.activation(name, x, "gelu_tanh" if tanh else word, options.get("negative_slope", slope) if default is not None else None)
    return call


def log_softmax(t, name, x, dim=None, **_):
    return t.step(x.width, kind="op", name=name, op="log", input=softmax(t, f"{name}:softmax", x, dim).name)


def softmax(t, name, x, dim=None, **_):
    if dim not in (1, -1):
        t.refuse(f"softmax along dim={dim}")
    return t.step(x.width, kind="op", name=name, op="softmax_rows", input=t.rows(x))


def unit_rows(t, name, x, p=2.0, dim=1, eps=1e-12):
    if p != 2 or dim not in (1, -1):
        t.refuse("norm other than that of rows")
    return t.step(x.width, kind="norm", name=name, input=t.rows(x), norm="l2", **{"in": t.known(x)})


def pool(word):
    def call(t, name, x, batch=None, size=None):
        return t.aggregate(name, x, word, t.slot("readout"))
    return call


def index(t, name, x, at):
    """A list's element; columns; or a graph's row for each of its nodes, x[batch]."""
    if isinstance(x, (tuple, list, dict)):
        return x[at] if not isinstance(x, dict) or at in x else t.refuse(f"type {at!r} here: no relation leads to it")
    if isinstance(at, Value):
        return t.aggregate(name, x, "sum", t.slot("spread"))
    if isinstance(at, tuple) and len(at) == 2 and at[0] == slice(None) and isinstance(at[1], slice) and at[1].step in (None, 1):
        start, stop, _ = at[1].indices(t.known(x))
        return t.step(stop - start, kind="view", name=name, input=t.rows(x), column=start, columns=stop - start)
    t.refuse(f"index {at!r}")


def same(t, name, x, *_, **__):
    return x


def negative(t, name, x):
    return multiply(t, name, x, -1)


FUNCTIONS = {
    operator.add: add, operator.iadd: add, torch.add: add, operator.sub: subtract, operator.isub: subtract, torch.sub: subtract, operator.mul: multiply,
    operator.imul: multiply, torch.mul: multiply, operator.truediv: divide, torch.div: divide, operator.neg: negative, torch.cat: concatenate, torch.concat: concatenate,
    torch.max: largest, torch.maximum: largest, F.dropout: drop, torch.dropout: drop, F.relu: activate("relu"), F.relu_: activate("relu"), torch.relu: activate("relu"),
    F.elu: activate("elu"), F.elu_: activate("elu"), F.leaky_relu: activate("leaky_relu", 0.01), F.gelu: activate("gelu"), F.silu: activate("silu"), F.tanh: activate("tanh"),
    torch.tanh: activate("tanh"), F.sigmoid: activate("sigmoid"), torch.sigmoid: activate("sigmoid"), F.softplus: activate("softplus"), F.log_softmax: log_softmax,
    torch.log_softmax: log_softmax, F.softmax: softmax, torch.softmax: softmax, F.normalize: unit_rows, operator.getitem: index, G.global_add_pool: pool("sum"),
    G.global_mean_pool: pool("mean"), G.global_max_pool: pool("max"),
}
METHODS = {
    "add": add, "add_": add, "sub": subtract, "mul": multiply, "mul_": multiply, "div": divide, "relu": activate("relu"), "relu_": activate("relu"), "tanh": activate("tanh"),
    "sigmoid": activate("sigmoid"), "log_softmax": log_softmax, "softmax": softmax, "contiguous": same, "float": same, "clone": same,
}


# ---- a whole module ----


def of_nodes(argument, values):
    """The arguments of a call with the trace's values in place of fx's nodes."""
    return fx.node.map_aggregate(argument, lambda a: values[a] if isinstance(a, fx.Node) else a)


def step_of(t, node, values):
    """What one node of the graph is."""
    arguments, options = of_nodes(node.args, values), of_nodes(node.kwargs, values)
    if node.op == "call_module":
        m = t.root.get_submodule(node.target)
        name = t.use(node.target, m)
        given = inspect.signature(m.forward).bind(*arguments, **options).arguments
        return t.call(name, m, given) if not any(k in given for k in ("args", "kwargs", "args_dict", "kwargs_dict")) else call_open(t, name, m, arguments, options)
    table = FUNCTIONS if node.op == "call_function" else METHODS
    t.place = f"{node.name} ({getattr(node.target, '__name__', node.target)})"
    if node.op == "get_attr" or node.target not in table:
        raise Untraceable(f"{t.place}: libgnn has no counterpart of this {'array' if node.op == 'get_attr' else 'call'}")
    try:
        return table[node.target](t, f"fn:{node.name}", *arguments, **options)
    except TypeError as error:
        raise Untraceable(f"{t.place}: {error}") from None


def call_open(t, name, m, arguments, options):
    """A call of a module whose forward takes *args or **kwargs."""
    outer, t.place = t.place, f"{name} ({type(m).__name__})"
    bound = inspect.signature(m.forward).bind(*arguments, **options).arguments
    if type(m) not in pyg_modules.ROWS:
        raise Untraceable(f"{t.place}: libgnn has no counterpart of this module")
    value = pyg_modules.ROWS[type(m)](t, m, name, dict(bound))
    t.place = outer
    return value


def symbols(module, inputs):
    """Arguments of forward() that are not given keep their defaults."""
    parameters = inspect.signature(module.forward).parameters
    by_type = {name: {node: fx.PH for node in node_types(module)} for name in parameters if name.endswith("x_dict") and node_types(module)}
    wrong = [name for name in inputs if name not in parameters]
    if wrong:
        raise Untraceable(f"forward() has no argument {wrong[0]}")
    return {**by_type, **{name: p.default for name, p in parameters.items() if p.default is not p.empty and name not in inputs and name not in by_type}}


def node_types(module):
    """The types of nodes that the module's layers know, in their order."""
    return list(dict.fromkeys(node for m in module.modules() for relation in pyg_types.relations_of(m) for node in (relation[0], relation[-1])))


def input_of(module, name, widths):
    """An argument of forward(); of one that is a dictionary by type, fx's NAME_1 is the first type's."""
    by_type = {f"{argument}_{k}": f"{argument}.{node}" for argument in inspect.signature(module.forward).parameters if argument.endswith("x_dict")
               for k, node in enumerate(node_types(module), 1)}
    return Value(by_type.get(name, name), dict(widths).get(by_type.get(name, name)))


def trace(module, inputs=(), widths=()):
    """The steps of a module. `inputs`: arguments of its forward() that have a default and shall be given; `widths`: columns of
    an input by its name, where no layer that reads it tells."""
    module = module.eval()
    t, values, result = Trace(module), {}, None
    try:
        graph = Tracer().trace(module, symbols(module, inputs))
    except (fx.proxy.TraceError, TypeError) as error:
        raise Untraceable(f"{type(module).__name__}.forward(): {error}") from None
    with torch.no_grad():
        for node in graph.nodes:
            if node.op == "placeholder":
                dictionary = any(node.target.startswith(f"{name}_") for name in symbols(module, inputs) if name.endswith("x_dict"))
                values[node] = input_of(module, node.target, widths) if node.target in inputs or not node.args or dictionary else node.args[0]
            elif node.op == "output":
                out = node.args[0][0] if isinstance(node.args[0], (list, tuple)) and len(node.args[0]) == 1 else node.args[0]
                result = values[out] if isinstance(out, fx.Node) else None
            elif node.users:
                values[node] = step_of(t, node, values)
    if result is None:
        raise Untraceable(f"{type(module).__name__}.forward() returns more than one value")
    if not t.steps or t.steps[-1]["name"] != result.name:
        t.step(result.width, kind="scale", name="fn:output", input=result.name, factor=1.0)
    return t
