"""Graphs and inputs that a module is traced and compared on. What the arguments of its forward()
are follows from their names; how wide features are is found out by running the module."""
import copy
import inspect
import itertools
import pickle

import numpy as np
import torch
from torch import nn

from . import pyg_symbols
from . import pyg_types
from .pyg_graphs import Types
from .pyg_symbols import Batch, Edges, Ids, Rows, Untraceable, symbol, user_line

EDGES = ("edge_index", "adj_t", "adj", "edge_label_index", "edges", "pos_edge_index", "neg_edge_index", "edge_index_batch", "edge_label", "hyperedge_index")
TYPES = ("edge_type", "edge_types", "etype", "rel_type")
BATCHES = ("batch", "batch_index", "batch_vec", "index")
EDGE_COLUMNS = ("edge_weight", "edge_weights", "edge_weight_norm")
EDGE_ROWS = ("edge_attr", "edge_feat", "edge_features", "edge_feature", "pseudo", "edge_emb")
COUNTS = ("batch_size", "num_graphs")
IDS = ("node_type", "node_types", "type_vec", "types", "ids")
LEFT_OUT = ("y", "train_mask", "val_mask", "test_mask", "face", "adj_t")
COMPUTED = ("num_nodes", "num_edges", "num_node_features", "num_features", "to", "clone", "contiguous", "cpu", "coalesce")
NONE_OF_DATA = ("x", "edge_index", "edge_weight", "edge_attr", "y", "pos", "batch", "time", "face")
MOST_TRIES = 400


class Graph:
    """A drawn graph: plain, or with self-loops, edges that come twice, and a node without any."""

    def __init__(self, lengths, degree, odd, seed):
        self.rng = np.random.default_rng(seed)
        self.lengths, self.n = lengths, sum(lengths)
        self.batch = np.repeat(np.arange(len(lengths)), lengths)
        pairs, start = [], 0
        for length in lengths:
            own = {(int(s), int(d)) for s, d in self.rng.integers(0, length, (degree * length, 2)) if s != d}
            own |= {(k, (k + 1) % length) for k in range(length)}
            pairs += [(s + start, d + start) for s, d in sorted(own)]
            start += length
        if odd:
            alone = self.n - 4
            pairs = [p for p in pairs if alone not in p]
            pairs += [pairs[k] for k in (1, 5, 6, 11)] + [(k, k) for k in (0, 3, 4, 9)]
            order = self.rng.permutation(len(pairs))
            pairs = [pairs[k] for k in order]
        self.pairs = np.array(pairs).T.copy()
        self.m = self.pairs.shape[1]

    def between(self, n_src, n_dst, count):
        return np.stack([self.rng.integers(0, n_src, count), np.concatenate([self.rng.integers(0, n_dst, count - 1), [n_dst - 1]])])


def graphs():
    return Graph((9, 7, 8), 2, False, 3), Graph((8, 11, 6, 7), 3, True, 4)


# ---- what the module's layers say ----


def relations_of(module):
    """The relations that the module's layers know, as triples, and the widths of types where layers say them."""
    found, widths = [], {}
    for m in module.modules():
        for relation in pyg_types.relations_of(m):
            found.append(tuple(relation))
        for name in ("in_channels", "in_channels_dict"):
            if isinstance(getattr(m, name, None), dict):
                for node, w in getattr(m, name).items():
                    if isinstance(w, int) and w > 0 and isinstance(node, str):
                        widths.setdefault(node, w)
        if isinstance(m, (nn.ModuleDict, nn.ParameterDict)):
            for key in m.keys():
                parts = str(key).strip("<>").replace("___", "__").split("__")
                if len(parts) == 3 and all(parts):
                    found.append(tuple(parts))
                    conv = m[key]
                    ins = getattr(conv, "in_channels", None)
                    ins = ins if isinstance(ins, (tuple, list)) else (ins, ins)
                    for node, w in ((parts[0], ins[0]), (parts[2], ins[-1])):
                        if isinstance(w, int) and w > 0:
                            widths.setdefault(node, w)
    return list(dict.fromkeys(found)), widths


def numbers_of(module):
    """Widths that layers name, in their order, without repeats."""
    found = []

    def add(value):
        if isinstance(value, bool):
            return
        if isinstance(value, int) and 0 < value <= 4096:
            found.append(value)
        elif isinstance(value, (tuple, list)):
            for v in value:
                add(v)
    for m in module.modules():
        for name in ("in_channels", "in_features", "num_features", "node_dim_in", "channels", "edge_dim", "dim", "in_channels_l", "normalized_shape", "in_dim", "hidden_channels"):
            add(getattr(m, name, None))
    for p in module.parameters():
        if not is_lazy(p) and p.dim():
            add(int(p.shape[-1]))
            add(int(p.shape[0]))
    found = list(dict.fromkeys(found))[:24]
    return found + [w // 2 for w in found if w % 2 == 0 and w // 2 not in found]  # [x_i, x_j - x_i] is twice as wide as x


def is_lazy(parameter):
    """Has a lazy layer left it for its first input?"""
    return isinstance(parameter, nn.parameter.UninitializedParameter)


def count_of(module, names, default):
    counts = [v for m in module.modules() for name in names for v in [getattr(m, name, None)] if isinstance(v, int) and v > 0]
    return min(counts) if counts else default


# ---- specs ----


def specs_of(module, name, widths, only):
    """Kinds of input that a name may stand for, as (kind, columns), the likeliest first."""
    if name in widths:
        only = [widths[name]]
    wide = [("rows", w) for w in (only or numbers_of(module) or [4])]
    edge = [("edge_rows", w) for w in (only or numbers_of(module) or [4])]
    base = name.rsplit(".", 1)[-1]
    if base in TYPES:
        return [("types", count_of(module, ("num_relations", "num_edge_types"), 3))]
    if base in EDGES or base.endswith("edge_index"):
        return [("edges", 0)]
    if base in BATCHES:
        return [("batch", 0)]
    if base in EDGE_COLUMNS or base.endswith("edge_weight"):
        return [("edge_column", 0)]
    ids = min([m.num_embeddings for m in module.modules() if isinstance(m, nn.Embedding)] + [count_of(module, ("num_node_types",), 3), 3])
    if base in EDGE_ROWS:
        return edge + [("edge_column", 0), ("edge_ids", ids)] + [("edge_id_rows", w) for w in (1, 2, 3)]
    if base in IDS:
        return [("ids", ids)]
    if base == "pos":
        return [("rows", 3), ("rows", 2)]
    has_ids = any(isinstance(m, nn.Embedding) for m in module.modules())
    numbers = [("ids", ids)] + [("id_rows", w) for w in (1, 2, 3, 9)] if has_ids else []
    first = list(module.modules())
    early = has_ids and any(isinstance(m, nn.Embedding) for m in first[1:3])
    return (numbers + wide if early else wide + numbers) + [("column", 0)] + [("cube", w) for _, w in wide]


class Drawn:
    """The inputs of a module on one graph, by a spec for each name."""

    def __init__(self, module, names, specs, graph, relations=()):
        self.module, self.names, self.specs, self.graph = module, names, specs, graph
        self.relations, self.values, self.metas, self.edge_lists, self.uses_batch = relations, {}, {}, {}, False
        self.counts = {node: 11 + 3 * k for k, node in enumerate(dict.fromkeys(n for r in relations for n in (r[0], r[-1])))}
        if graph.n > 24:
            self.counts = {node: count + 2 for node, count in self.counts.items()}

    def value(self, name):
        """The tensor of a name; each is drawn once."""
        if name not in self.values:
            kind, w = self.specs[name]
            rng = np.random.default_rng([len(name), sum(map(ord, name)), self.graph.n])
            n, m = self.graph.n, self.graph.m if kind == "edges" else self.edge_count()
            make = {"rows": lambda: rng.standard_normal((n, w)), "edge_rows": lambda: rng.standard_normal((m, w)), "column": lambda: rng.standard_normal(n), "cube": lambda: rng.standard_normal((n, 2, w)),
                    "edge_column": lambda: rng.uniform(0.5, 1.5, m), "ids": lambda: rng.integers(0, w, n), "id_rows": lambda: rng.integers(0, 2, (n, w)),
                    "edge_ids": lambda: rng.integers(0, w, m), "edge_id_rows": lambda: rng.integers(0, 2, (m, w)), "types": lambda: np.resize(rng.permutation(max(w, 1)), m),
                    "batch": lambda: self.graph.batch, "edges": lambda: self.edges_of(name)}[kind]()
            self.values[name] = torch.from_numpy(np.ascontiguousarray(make)) if make.dtype.kind == "i" else torch.from_numpy(make.astype("f4"))
            self.metas[name] = self.meta(name, kind)
            if kind == "batch":
                self.uses_batch = True
        return self.values[name]

    def edge_count(self):
        """Count of the edges that have values."""
        first = self.first_edges()
        return self.value(first).shape[1] if self.specs.get(first, (None, 0))[1] else self.graph.m

    def edges_of(self, name):
        g, ends = self.graph, self.specs[name][1]
        if ends:  # between two types of nodes
            n_src, n_dst = self.counts[ends[0]], self.counts[ends[1]]
            pairs = g.between(n_src, n_dst, n_dst + 9)
            pairs[0, 0] = n_src - 1  # no smaller count of senders would do
            self.edge_lists[name] = (pairs, n_src, n_dst)
            return pairs
        if name == self.first_edges():
            self.edge_lists[name] = (g.pairs, g.n, g.n)
        else:
            self.edge_lists[name] = (g.between(g.n, g.n, g.n + 9), g.n, g.n)
        return self.edge_lists[name][0]

    def first_edges(self):
        return next((name for name, spec in self.specs.items() if spec[0] == "edges"), "edge_index")

    def kind(self, name):
        """The kind of a drawn value; the edges of a relation have no spec of their own."""
        return self.specs[name][0] if name in self.specs else "edges"

    def ends(self, name):
        """The types of nodes at both ends of edges; None where there is one type."""
        if name not in self.specs:
            return next((r[0], r[-1]) for r in self.relations if "__".join(r) == name)
        return self.specs[name][1] or (None, None)

    def meta(self, name, kind):
        edges = Edges(self.first_edges())
        if kind == "edges":
            return Edges(name)
        if kind == "types":
            return Types(edges, name)
        if kind == "batch":
            return Batch()
        if kind in ("ids", "id_rows", "edge_ids", "edge_id_rows"):
            w = self.specs[name][1] if kind.endswith("rows") else 0
            return Ids(name, edges if kind.startswith("edge") else "nodes", w)
        return Rows(name, edges if kind.startswith("edge") else "nodes")

    def typed(self, name, node):
        key = f"{name}.{node}"
        if key not in self.values:
            rng = np.random.default_rng([sum(map(ord, key)), self.graph.n])
            (kind, w), axis = self.specs[key], f"nodes of {node}"
            made = rng.integers(0, w, self.counts[node]) if kind == "ids" else rng.standard_normal((self.counts[node], w)).astype("f4")
            self.values[key], self.metas[key] = torch.from_numpy(made), Ids(key, axis) if kind == "ids" else Rows(key, axis)
        return self.values[key]

    def relation(self, relation):
        key = "__".join(relation)
        if key not in self.values:
            n_src, n_dst = self.counts[relation[0]], self.counts[relation[-1]]
            pairs = self.graph.between(n_src, n_dst, 3 * n_dst)
            self.edge_lists[key] = (pairs, n_src, n_dst)
            self.values[key], self.metas[key] = torch.from_numpy(pairs), Edges(key)
        return self.values[key]

    def arguments(self, wrap=lambda value, meta: value.clone()):
        """The arguments of forward()."""
        made = {}
        for name in self.names:
            spec = self.specs.get(name, (None, 0))
            if spec[0] == "data":
                made[name] = DrawnData(self, wrap)
            elif spec[0] == "x_dict":
                made[name] = {node: wrap(self.typed(name, node), self.metas[f"{name}.{node}"]) for node in self.counts}
            elif spec[0] == "count":
                made[name] = len(self.graph.lengths)
            elif spec[0] == "edge_dict":
                made[name] = {relation: wrap(self.relation(relation), self.metas["__".join(relation)]) for relation in self.relations}
            else:
                value = self.value(name)
                made[name] = wrap(value, self.metas[name])
        return made

    def array(self, name):
        """An input of the model as an array."""
        if name in self.values:
            return self.values[name].numpy()
        base, _, column = name.rpartition(".")
        return np.ascontiguousarray(self.values[base].numpy()[:, int(column)])

    def symbols(self, t):
        arguments = self.arguments(lambda value, meta: symbol(value.clone(), meta))
        sizes = {"nodes": self.graph.n, "graphs": len(self.graph.lengths)}
        t.data = self
        return arguments, self.metas, sizes


class GivenGraph:
    """The graph of inputs that a program has."""

    def __init__(self, values, edges, specs):
        on_edges = ("edges", "edge_rows", "edge_column", "edge_ids", "edge_id_rows", "types")
        rows = next((v.shape[0] for k, v in values.items() if k in specs and specs[k][0] not in on_edges and torch.is_tensor(v) and v.is_floating_point()), None)
        pairs = values[edges] if edges in values else torch.zeros((2, 0), dtype=torch.long)
        self.pairs, self.m = pairs.numpy(), int(pairs.shape[1])
        self.n = rows if rows is not None else int(pairs.max()) + 1
        batch = values.get("batch")
        self.lengths = tuple(torch.bincount(batch).tolist()) if batch is not None else (self.n,)
        self.batch = batch.numpy() if batch is not None else np.zeros(self.n, dtype=np.int64)


def given_like(drawn, values):
    """The inputs that a program has, in place of drawn ones."""
    values = {name: v.detach().cpu().clone() for name, v in values.items() if torch.is_tensor(v)}  # NumPy shares these
    made = Drawn(drawn.module, drawn.names, drawn.specs, GivenGraph(values, drawn.first_edges(), drawn.specs), drawn.relations)
    for name in values:
        base, _, node = name.rpartition(".")
        if drawn.specs.get(base, (None, 0))[0] == "x_dict" and node in made.counts:
            made.counts[node] = values[name].shape[0]
    for name in drawn.values:
        if name not in values:
            raise Untraceable(f"the inputs given have no {name}")
        kind = drawn.kind(name)
        value = values[name]
        made.values[name] = value.long() if kind in ("edges", "types", "batch", "ids", "id_rows", "edge_ids", "edge_id_rows") else value.float()
        made.metas[name] = drawn.metas[name]
        made.uses_batch = made.uses_batch or kind == "batch"
        if kind == "edges":
            made.edge_lists[name] = (made.values[name].numpy(), *(made.graph.n if node is None else made.counts[node] for node in drawn.ends(name)))
    return made


def values_of(given):
    """Inputs by name, of a dictionary or a data object."""
    return dict(given) if isinstance(given, dict) else given.to_dict()


class DrawnData:
    """A data object whose attributes are drawn when they are read."""

    def __init__(self, drawn, wrap):
        own = getattr(drawn.module, "attributes", None)  # of the object of a call: tensors, and others by their type
        self.__dict__.update(_drawn=drawn, _wrap=wrap, _kept={}, _put={}, _own=own, read=set())

    def __getattr__(self, name):
        drawn, kept = self._drawn, self._kept
        if name.startswith("__"):
            raise AttributeError(name)
        if name in kept:
            return kept[name]
        if self._own is not None and self._own.get(name) != "tensor" and name not in COMPUTED:
            return self.lacking(name)
        if name in ("num_nodes", "num_edges", "num_graphs", "batch_size"):
            return {"num_nodes": drawn.graph.n, "num_edges": drawn.graph.m}.get(name, len(drawn.graph.lengths))
        if name in ("num_node_features", "num_features"):
            return int(self.x.shape[1])
        if name in ("x_dict", "edge_index_dict") and drawn.relations:
            return self.of_types(name)
        if name in LEFT_OUT:
            raise Untraceable(f"{user_line()}: {name} of a data object: it is no input of a model")
        self.read.add(name)
        if name not in drawn.specs:
            raise Undrawn(name)
        value = drawn.value(name)
        kept[name] = self._wrap(value, drawn.metas[name])
        return kept[name]

    def lacking(self, name):
        """What PyG gives for an attribute that the object of a call has not: None for some, else an
        AttributeError."""
        if name in self._own:
            raise Untraceable(f"{user_line()}: {name} of the data object is a {self._own[name]}: of data objects tensors are read")
        if name in NONE_OF_DATA:
            return None
        raise AttributeError(f"'Data' object has no attribute '{name}'")

    def of_types(self, name):
        drawn = self._drawn
        if name == "x_dict":
            return {node: self._wrap(drawn.typed(name, node), drawn.metas[f"{name}.{node}"]) for node in drawn.counts}
        return {r: self._wrap(drawn.relation(r), drawn.metas["__".join(r)]) for r in drawn.relations}

    def __getitem__(self, name):
        return getattr(self, name)

    def __setattr__(self, name, value):
        self._kept[name] = self._put[name] = value

    def changed(self):
        """The tensors that were put into it."""
        return {name: value for name, value in self._put.items() if torch.is_tensor(value)}

    __setitem__ = __setattr__

    def __contains__(self, name):
        return name in self._kept or name in (self._drawn.specs if self._own is None else self._own)

    def to(self, *_, **__):
        return self

    clone = contiguous = cpu = coalesce = to


class Undrawn(Exception):
    """An attribute of a data object of which nothing is drawn yet."""


# ---- search ----


def wanted(module, inputs):
    """The names of the arguments that forward() is given."""
    parameters = inspect.signature(module.forward).parameters
    wrong = [name for name in inputs if name not in parameters]
    if wrong and not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        takes_data = [n for n, p in parameters.items() if n in ("data", "batch", "graph", "batch_data") and p.default is p.empty]
        if not takes_data:
            raise Untraceable(f"forward() has no argument {wrong[0]}")
    if any(p.kind is p.VAR_POSITIONAL and name == "args_dict" for name, p in parameters.items()):
        return ["x_dict", "edge_index_dict"]
    return [name for name, p in parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and (p.default is p.empty or name in inputs)]


def leaves(module):
    """What copy.deepcopy takes for parameters that are computed (torch.func.functional_call gives
    such): their values, by id."""
    return {id(p): p.detach().clone().requires_grad_(p.requires_grad) for p in (*module.parameters(), *module.buffers()) if not p.is_leaf}


def copied(module):
    """A copy for a run that may change it, without cached graphs; the module itself if it cannot be
    copied."""
    try:
        made = copy.deepcopy(module, leaves(module))
    except (TypeError, RuntimeError, copy.Error, pickle.PicklingError):  # a lock or a generator, a tensor with a gradient's history
        return module
    for m in made.modules():
        for name in [key for key in vars(m) if key.startswith("_cached")]:
            setattr(m, name, None)
    return made


def run_once(module, drawn):
    """The error of forward() on these inputs; None where it runs."""
    pyg_symbols.TRACES.clear()
    try:
        with torch.enable_grad():
            copied(module)(**drawn.arguments())
        return None
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 (any failure is a wrong width until none is left)
        return error


def pairs_of_types(relations):
    """Node types that the ends of a separate edge list may have, the largest counts first: smaller
    counts would run too, but are not the ones meant."""
    nodes = list(dict.fromkeys(n for r in relations for n in (r[0], r[-1])))[::-1]
    return sorted(((a, b) for a in nodes for b in nodes), key=lambda ends: -nodes[::-1].index(ends[0]) - nodes[::-1].index(ends[1]))


def for_module(module, inputs, widths, relations=()):
    """The inputs of a module drawn on two graphs."""
    found, by_type = relations_of(module)
    relations = [tuple(r) for r in relations] or getattr(module, "relations", []) or found
    names = wanted(module, inputs)
    typed = bool(relations)
    choices, fixed = {}, dict(getattr(module, "drawn_as", {}))
    for name in names:
        if name in fixed:
            continue
        if name in ("data", "graph", "batch_data") or (name == "batch" and len(names) == 1):
            fixed[name] = ("data", 0)
        elif name in COUNTS:
            fixed[name] = ("count", 0)
        elif typed and name.endswith(("edge_index_dict", "edge_index", "adj_t_dict")):
            fixed[name] = ("edge_dict", 0)
        elif typed and name in ("x", "x_dict", "h_dict", "z_dict"):
            fixed[name] = ("x_dict", 0)
        elif typed and (name in EDGES or name.endswith("edge_label_index")):
            choices[name] = [("edges", ends) for ends in pairs_of_types(relations)]
        else:
            choices[name] = specs_of(module, name, widths, None)
    if typed:
        for name in names if not any(s[0] == "data" for s in fixed.values()) else ["x_dict"]:
            for node in dict.fromkeys(n for r in relations for n in (r[0], r[-1])):
                key = f"{name}.{node}"
                fits = [widths[key]] if key in widths else [by_type[node]] if node in by_type else None
                if fixed.get(name, ("x_dict", 0))[0] == "x_dict" and name not in choices:
                    tables = [m.num_embeddings for m in module.modules() if isinstance(m, nn.Embedding)]
                    choices[key] = [("rows", w) for w in (fits or numbers_of(module) or [4])] + ([("ids", min(tables))] if tables else [])
    plain_graph, odd_graph = graphs()
    specs = search(module, names, fixed, choices, plain_graph, relations, widths)
    return [Drawn(module, names, specs, g, relations) for g in (plain_graph, odd_graph)]


def search(module, names, fixed, choices, graph, relations, widths):
    first_error, tries = None, 0
    restart = True
    while restart:
        restart = False
        order = sorted(choices, key=lambda name: len(choices[name]))
        for combination in itertools.product(*[choices[name] for name in order]):
            specs = {**fixed, **dict(zip(order, combination))}
            error = run_once(module, Drawn(module, names, specs, graph, relations))
            tries += 1
            if isinstance(error, Undrawn):
                name = str(error)
                choices[name] = specs_of(module, name, widths, None)
                restart = True
                break
            if isinstance(error, Untraceable):
                raise error
            if error is None:
                return known_widths(module, names, specs, choices, graph, relations, widths)
            first_error = first_error or error
            if tries > MOST_TRIES:
                break
    line = user_line(first_error.__traceback__) if first_error is not None else None
    raise Untraceable(f"{line + ': ' if line else ''}forward() does not run on drawn inputs {list(names)}: {type(first_error).__name__}: {str(first_error)[:200]} "
                      "(where the columns of an input cannot be found, say widths={'x': 16})".replace("\n", " "))


def known_widths(module, names, specs, choices, graph, relations, widths):
    """Refuses inputs that would do with any width: the file holds one."""
    for name, (kind, w) in specs.items():
        if kind not in ("rows", "edge_rows") or name in widths or w == 0:
            continue
        other = next(k for k in (13, 17, 19, 22) if k not in [c[1] for c in choices.get(name, [])] and k != w)
        if run_once(module, Drawn(module, names, {**specs, name: (kind, other)}, graph, relations)) is None:
            raise Untraceable(f"the columns of {name} are not known: no layer that reads it says how many (say widths={{{name!r}: 16}})")
    return specs
