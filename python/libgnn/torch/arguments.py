"""Arguments of forward() as a trace reads them: tensors by name.

Each value of a call has one of these forms, or is refused by name:

    tensor      a strided tensor
    sparse      a sparse matrix of PyTorch, or a SparseTensor of torch_sparse: its edges, and weights
    pair        (senders, receivers) of bipartite edges; the receivers may be None
    dict        tensors by type of node, edges by relation
    data        a data object, the one argument of forward(): its tensors
    count       batch_size or num_graphs: graphs of a batch, of which the last may have no nodes
    constant    a number, a string, None, or a tuple or list of these; a trace holds for one value

A trace is made for the forms of one call, with the dimensions of its tensors; a call of other forms
gets another one.
"""
import ctypes
import inspect
import weakref

import torch

from .._library import struct
from .pyg_draw import BATCHES, COUNTS, EDGE_COLUMNS, EDGE_ROWS, EDGES, IDS, TYPES
from .pyg_symbols import Unread, Untraceable
from .watched import Version

ENDS = ("sender", "receiver")
RELATION = ("sender", "to", "receiver")
PAIRS = ("pair", "senders and size")
SparseMatrix = struct("gnn_sparse_t")
kept_zero = ctypes.c_int64(0)


def is_edges(name):
    return name.rsplit(".", 1)[-1] in EDGES or name.endswith("edge_index")


def is_input(name):
    """True of names that stand for tensors."""
    return is_edges(name) or name in TYPES + BATCHES + EDGE_COLUMNS + EDGE_ROWS + ("x", "pos")


def is_sparse(value):
    """A sparse matrix of PyTorch, or of torch_sparse, which is known by its methods."""
    return torch.is_tensor(value) and value.layout is not torch.strided or not torch.is_tensor(value) and hasattr(value, "coo") and hasattr(value, "sparse_sizes")


def is_constant(value):
    return value is None or isinstance(value, (bool, int, float, str)) or isinstance(value, (tuple, list)) and all(map(is_constant, value))


def frozen(value):
    """A constant as a key: 1, 1.0 and True are three."""
    return tuple(map(frozen, value)) if isinstance(value, (tuple, list)) else (type(value).__name__, repr(value))


def names_of(args):
    """Names of the arguments of a forward(*args) by their kind: "x", "edge_index", values on edges,
    "batch"."""
    names, edges = [], None
    for value in args:
        if torch.is_tensor(value) and value.dim() == 2 and value.shape[0] == 2 and not value.is_floating_point():
            name, edges = "edge_index", value
        elif torch.is_tensor(value) and not value.is_floating_point():
            name = "batch"
        elif names and edges is not None and torch.is_tensor(value) and value.shape[0] == edges.shape[1]:
            name = "edge_attr" if value.dim() > 1 else "edge_weight"
        else:
            name = "x"
        if name in names or not torch.is_tensor(value):
            raise Untraceable(f"forward(*args) got {type(value).__name__} as argument {len(names)}, which has no name: a module with named arguments is expected")
        names.append(name)
    return names


class Sparse:
    """The edges of sparse matrices (receivers, senders), PyG's adj_t; those of the last few are kept."""

    KEPT = 8

    def __init__(self):
        self.known = []

    def edges(self, name, value):
        """The edges, their values (None: all are 1), and the matrix's shape."""
        parts = [part for part in self.parts(name, value) if part is not None]
        for matrix, versions, made in self.known:
            if matrix is value and len(parts) == len(versions) and all(old.is_of(part) for old, part in zip(versions, parts)):
                return made
        made = self.read(name, value)
        self.known[:] = self.known[-self.KEPT + 1:] + [(value, [Version(part) for part in parts], made)]
        return made

    @staticmethod
    def parts(name, value):
        if not torch.is_tensor(value):
            return value.coo()
        if value.dim() != 2:
            raise Unread(f"{name}: a sparse matrix is expected, came the shape {tuple(value.shape)}")
        if value.layout is torch.sparse_coo:
            return (value._indices(), value._values())
        if value.layout is torch.sparse_csr:
            return (value.crow_indices(), value.col_indices(), value.values())
        if value.layout is torch.sparse_csc:
            return (value.ccol_indices(), value.row_indices(), value.values())
        raise Unread(f"{name} has the layout {value.layout}: an adjacency matrix is a sparse_coo, sparse_csr or sparse_csc matrix")

    @staticmethod
    def read(name, value):
        if torch.is_tensor(value):
            coo = value.detach().to_sparse_coo().coalesce()
            (rows, columns), weight, size = coo.indices(), coo.values(), tuple(value.shape)
            tracked = value.requires_grad
        else:
            (rows, columns, weight), size = value.coo(), tuple(value.sparse_sizes())
            tracked = weight is not None and weight.requires_grad
        if tracked:
            raise Unread(f"{name} requires a gradient: libgnn has one of edge_weight, and none of a sparse matrix")
        if weight is not None and weight.dim() != 1:
            raise Unread(f"{name}: a sparse matrix of numbers is expected, came values of the shape {tuple(weight.shape)}")
        if size[0] == size[1] and bool((rows == columns).any()):
            raise Unread(f"{name} has elements on its diagonal, which PyG's layers treat otherwise than self-loops of an edge_index: pass edge_index")
        ones = weight is None or bool((weight == 1).all())
        return torch.stack([columns, rows]), None if ones else weight.float(), size


class MostlyZero:
    """The stored values (CSR) of a matrix of which at least 85% are 0; in the place of a tensor among
    the inputs of a model."""

    __slots__ = ("at", "kept", "shape")
    dtype, requires_grad = None, False

    def __init__(self, x):
        rows, columns = x.nonzero(as_tuple=True)
        starts = torch.zeros(x.shape[0] + 1, dtype=torch.int64)
        torch.cumsum(torch.bincount(rows, minlength=x.shape[0]), 0, out=starts[1:])
        parts = starts, columns.int(), x[rows, columns].contiguous()
        made = SparseMatrix(*x.shape, *(part.data_ptr() or ctypes.addressof(kept_zero) for part in parts))
        self.kept, self.shape, self.at = (parts, made), x.shape, ctypes.addressof(made)

    def stride(self):
        return None

    def data_ptr(self):
        return self.at


class Features:
    """Finds features that are mostly 0, as bags of words are; those of the last few tensors are kept."""

    KEPT, LEAST, SAMPLE, SHARE = 8, 1 << 15, 2048, 0.15

    def __init__(self):
        self.known = []

    def of(self, x):
        """The stored values of a matrix that is mostly 0, or the matrix itself."""
        if x.numel() < self.LEAST or x.requires_grad:
            return x
        for one, version, made in self.known:
            if one() is x:
                if made is None:
                    return x
                if version.is_of(x):
                    return made
        made = MostlyZero(x.detach()) if self.is_mostly_zero(x.detach()) else None
        others = [entry for entry in self.known if entry[0]() is not None and entry[0]() is not x]
        self.known = others[-self.KEPT + 1:] + [(weakref.ref(x), Version(x) if made else None, made)]
        return made or x

    def is_mostly_zero(self, x):
        """A sample is enough to tell most matrices that are not."""
        flat = x.reshape(-1)
        sample = flat[::max(flat.numel() // self.SAMPLE, 1)]
        return int(sample.count_nonzero()) <= 2 * self.SHARE * sample.numel() and int(flat.count_nonzero()) <= self.SHARE * flat.numel()


class Call:
    """One call: `tensors` by flat names (x, x_dict.paper, paper__cites__paper), `counts`, and the
    `key` of the forms that these came in. `drawn_as`: kinds that shapes tell, not names."""

    __slots__ = ("tensors", "counts", "constants", "forms", "sizes", "drawn_as", "key")

    def __init__(self):
        self.tensors, self.counts, self.constants, self.forms, self.sizes, self.drawn_as = {}, {}, {}, {}, {}, {}
        self.key = None

    def edges(self):
        return [name for name in self.tensors if is_edges(name) or self.drawn_as.get(name, ("", 0))[0] == "edges"]

    def like(self, tensors):
        """A call of the same forms, all of them tensors."""
        made = Call.__new__(Call)
        made.tensors, made.counts, made.constants, made.forms, made.sizes, made.drawn_as, made.key = tensors, self.counts, self.constants, self.forms, self.sizes, self.drawn_as, self.key
        return made

    def done(self):
        self.key = (tuple(self.forms.items()), tuple((name, frozen(value)) for name, value in self.constants.items()))
        return self


CLASSES = (torch.Tensor, torch.nn.Parameter)


def plain(name, value):
    """A value whose tensors are PyTorch's own, with their elements in memory: an EdgeIndex and an Index
    of PyG are read as tensors, a lazy negation is computed."""
    if torch.is_tensor(value):
        if type(value) not in CLASSES:
            if hasattr(value, "as_tensor"):
                value = value.as_tensor()
            elif type(value).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
                raise Unread(f"{name} is a {type(value).__name__}, whose elements are not in its memory: a torch.Tensor is expected")
            else:
                value = value.as_subclass(torch.Tensor)
        if value.is_nested:
            raise Unread(f"{name} is a nested tensor: one tensor of all rows, and batch, are expected")
        return value.resolve_neg() if value.is_neg() else value
    if type(value) is dict:
        return {key: plain(f"{name}[{key!r}]", part) for key, part in value.items()}
    if type(value) in (tuple, list):
        return type(value)(plain(name, part) for part in value)
    return value


def read(values, defaults, sparse, alone):
    """The Call of arguments by name. `defaults`: of forward(); `alone`: it has one argument."""
    call = Call()
    values = {name: plain(name, value) for name, value in values.items()}
    for name, value in values.items():
        if torch.is_tensor(value) and value.layout is torch.strided:
            if name.endswith("edge_index") and (value.dim() != 2 or value.shape[0] != 2):
                raise ValueError(f"{name} must have the shape (2, edges), came {tuple(value.shape)}")
            call.tensors[name], call.forms[name] = value, value.dim()
        elif value is None and defaults.get(name, None) is None:
            continue
        elif is_sparse(value):
            if is_named(name) and not is_edges(name):
                raise Unread(f"{name} must be a dense tensor, came a sparse one: x.to_dense(), whose zeros cost nothing where 85% are 0")
            of_sparse(call, name, value, values, defaults, sparse)
        elif isinstance(value, (tuple, list)) and len(value) == 2 and torch.is_tensor(value[0]) and (value[1] is None or torch.is_tensor(value[1])):
            of_pair(call, name, value, values.get("size"))
        elif isinstance(value, dict):
            of_types(call, name, value, sparse)
        elif alone and hasattr(value, "to_dict") and hasattr(value, "keys"):
            of_data(call, name, value)
        elif name in COUNTS and isinstance(value, int) and not isinstance(value, bool):
            call.counts[name], call.forms[name] = value, "count"
        elif is_constant(value) and not (isinstance(value, (tuple, list)) and is_input(name)):
            call.constants[name] = value
        else:
            expected = "tensors, pairs and dictionaries of tensors, and numbers are expected"
            raise Unread(f"{name} must be a tensor, came {'several' if isinstance(value, (tuple, list)) else 'a'} {type(value).__name__}: {expected}")
    of_shapes(call)
    of_pairs(call)
    check_types(call)
    return call.done()


def of_pair(call, name, value, size):
    """(senders, receivers). Without features of receivers PyG aggregates for as many as `size` has,
    and without that for as many as there are senders."""
    if value[1] is None and size is None:
        call.tensors[name], call.forms[name] = value[0], "senders"
        return
    call.forms[name] = "pair" if value[1] is not None else "senders and size"
    receivers = value[1] if value[1] is not None else value[0].new_zeros(int(size[1]), 1)
    call.tensors.update((f"{name}.{end}", part) for end, part in zip(ENDS, (value[0], receivers)))


def of_sparse(call, name, value, values, defaults, sparse):
    edges, weight, call.sizes[name] = sparse.edges(name, value)
    call.tensors[name], call.forms[name] = edges, "sparse"
    if weight is not None:
        if "edge_weight" not in defaults or values.get("edge_weight") is not None:
            raise Unread(f"{name} has values other than 1, and forward() takes no edge_weight for them")
        call.tensors["edge_weight"], call.forms["edge_weight"], call.forms[name] = weight, 1, "sparse with values"


def of_types(call, name, values, sparse):
    keys = []
    for key, value in values.items():
        if isinstance(key, tuple) and len(key) == 3 and all(isinstance(part, str) for part in key):
            flat = "__".join(key)
            if flat in call.tensors or torch.is_tensor(value) and value.is_floating_point():
                raise Untraceable(f"{name}: values on the edges of several relations have no counterpart in libgnn")
            if is_sparse(value):
                value, weight, _ = sparse.edges(f"{name}[{key}]", value)
                if weight is not None:
                    raise Unread(f"{name}[{key}] has values other than 1, which dictionaries of edges have no place for")
        elif isinstance(key, str):
            flat = f"{name}.{key}"
        else:
            raise Unread(f"{name} has the key {key!r}: types of nodes, and triples of types, are expected")
        if not torch.is_tensor(value) or value.layout is not torch.strided:
            raise Unread(f"{name}[{key!r}] must be a tensor, came {type(value).__name__}")
        call.tensors[flat] = value
        keys.append(key)
    call.forms[name] = ("dict", tuple(keys))
    if len({isinstance(key, tuple) for key in keys}) != 1:
        raise Unread(f"{name} has {'keys of both kinds' if keys else 'no keys'}: types of nodes, or triples of types, are expected")


def of_data(call, name, value):
    found = {key: plain(key, part) for key, part in value.to_dict().items()}
    if any(isinstance(part, dict) for part in found.values()):
        raise Unread(f"{name} is a {type(value).__name__}: pass its x_dict and edge_index_dict")
    call.tensors.update((key, part) for key, part in found.items() if torch.is_tensor(part) and part.layout is torch.strided)
    kinds = {key: "tensor" if key in call.tensors else type(part).__name__ for key, part in found.items() if part is not None}
    kinds.update((count, "tensor") for count in COUNTS if count not in kinds and hasattr(value, count))
    call.forms[name] = ("data", tuple(sorted(kinds.items())))


def is_named(name):
    """True of names whose kind is known."""
    return is_input(name) or name.endswith("edge_weight") or name in IDS


def of_shapes(call):
    """Tensors whose names say nothing: integers (2, m) are edges, and reals of m rows are values on
    them, where nodes have another count."""
    alone = {name: value for name, value in call.tensors.items() if isinstance(call.forms.get(name), int) and not is_named(name)}
    edges = {name: value for name, value in alone.items() if value.dtype in (torch.int64, torch.int32) and value.dim() == 2 and value.shape[0] == 2}
    call.drawn_as.update((name, ("edges", 0)) for name in edges)
    count = next((call.tensors[name].shape[1] for name in call.edges() if call.tensors[name].dim() == 2), None)
    reals = {name: value for name, value in call.tensors.items() if value.is_floating_point() and value.dim() in (1, 2)}
    if any(value.shape[0] != count for value in reals.values()):
        on_edges = {name: value for name, value in reals.items() if name in alone and value.shape[0] == count}
        call.drawn_as.update((name, ("edge_column", 0) if value.dim() == 1 else ("edge_rows", value.shape[1])) for name, value in on_edges.items())
    call.forms.update((name, (spec[0], call.forms[name])) for name, spec in call.drawn_as.items())


def of_pairs(call):
    """Checks the pairs of a call; size=(senders, receivers) is read as their counts."""
    pairs = [name for name, form in call.forms.items() if form in PAIRS]
    size = call.constants.get("size")
    if not pairs:
        rows = next((value.shape[0] for value in call.tensors.values() if value.is_floating_point() and value.dim()), None)
        given = list(call.sizes.items())
        if isinstance(size, (tuple, list)) and len(size) == 2:
            given.append(("size", tuple(size)))
        for name, counts in given:
            if counts != (rows, rows):
                raise ValueError(f"{name} is of {counts[0]} x {counts[1]} nodes, and there are values of {rows}; of bipartite edges x is a pair, (x_senders, x_receivers)")
            call.constants.pop(name, None)
        return
    if len(pairs) > 1:
        raise Unread(f"{', '.join(pairs)}: one pair of features is expected")
    edges = call.edges()
    if len(edges) != 1 or call.tensors[edges[0]].is_floating_point():
        raise Unread(f"{pairs[0]} is a pair of features, which belongs to one edge_index; came {', '.join(edges) or 'none'}")
    given = call.sizes.get(edges[0], (None, None))[::-1] if size is None else tuple(size)
    counts = tuple(call.tensors[f"{pairs[0]}.{end}"].shape[0] for end in ENDS)
    if any(one is not None and one != other for one, other in zip(given, counts)):
        raise ValueError(f"size={given}, and {pairs[0]} has {counts[0]} senders and {counts[1]} receivers")
    call.constants.pop("size", None)


def check_types(call):
    """That dictionaries of values have the types of nodes of the relations, and no others."""
    dicts = {name: form[1] for name, form in call.forms.items() if is_dict(form)}
    ends = {end for keys in dicts.values() for key in keys if isinstance(key, tuple) for end in (key[0], key[-1])}
    for name, keys in dicts.items():
        if isinstance(keys[0], str) and ends != set(keys):
            raise Untraceable(f"{name} has the types {', '.join(sorted(keys))}, and edges are between {', '.join(sorted(ends)) or 'none'}: each type of one must be in the other")


def is_dict(form):
    return isinstance(form, tuple) and form[0] == "dict"


def is_data(form):
    return isinstance(form, tuple) and form[0] == "data"


class Bound(torch.nn.Module):
    """A module as a trace runs it: its forward() takes tensors, and dictionaries by type."""

    is_bound = True

    def __init__(self, module, call, unnamed):
        super().__init__()
        self.module = module
        names = [name for name in call.forms]
        pairs = [name for name in names if call.forms[name] in PAIRS]
        self.drawn_as = dict(call.drawn_as)
        for name in pairs:
            self.drawn_as[name] = ("x_dict", 0)
            self.drawn_as.update((edges, ("edges", (ENDS[0], ENDS[1]))) for edges in call.edges())
        dicts = {name: form[1] for name, form in call.forms.items() if is_dict(form)}
        self.attributes = next((dict(form[1]) for form in call.forms.values() if is_data(form)), None)
        self.drawn_as.update((name, ("data", 0)) for name in names if is_data(call.forms[name]))
        self.drawn_as.update((name, ("edge_dict" if isinstance(keys[0], tuple) else "x_dict", 0)) for name, keys in dicts.items())
        self.relations = [RELATION] if pairs else [key for keys in dicts.values() for key in keys if isinstance(key, tuple)]
        self.forward = Forward(module, names, {name: form for name, form in call.forms.items() if form in PAIRS + ("senders",)}, call.constants, unnamed)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.forward.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])


class Forward:
    """Calls a module with arguments in the form in which it was called; a copy of it calls the copy."""

    def __init__(self, module, names, pairs, constants, unnamed):
        self.module, self.names, self.pairs, self.constants, self.unnamed = module, names, pairs, constants, unnamed

    def __call__(self, **values):
        if self.unnamed:
            return self.module(*(values[name] for name in self.names))
        for name, form in self.pairs.items():
            senders, receivers = (values[name], None) if form == "senders" else (values[name][end] for end in ENDS)
            if form == "senders and size":
                values["size"], receivers = (senders.shape[0], receivers.shape[0]), None
            values[name] = (senders, receivers)
        return self.module(**values, **self.constants)


def bound(module, call, unnamed):
    """The module itself where forward() takes the tensors as they are."""
    plain = not call.constants and not call.drawn_as and not unnamed and not any(form in PAIRS + ("senders",) or is_dict(form) or is_data(form) for form in call.forms.values())
    return module if plain else Bound(module, call, unnamed)
