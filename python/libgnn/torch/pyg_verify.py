"""Runs a model file in libgnn beside the module that it was made of, through the shared library.

The library is the one that is named (an option, or GNN_LIBRARY), that of the build folder, or the
one that pkg-config or the system's loader finds."""
import ctypes
import ctypes.util
import glob
import math
import os
import subprocess
import sys

import numpy as np

from .. import _table

TOLERANCE = 1e-4
HERE = os.path.dirname(os.path.abspath(__file__))
Tensor, Ints, EdgeList, Sources, Named, Inputs = (_table.struct(f"gnn_{name}_t") for name in ("tensor", "ints", "edge_list", "slot_sources", "named", "model_inputs"))
INT64, OFF = _table.C["GNN_DTYPE_INT64"], _table.C["GNN_OFF"]


class Differs(Exception):
    """The library computes other values than the module, or refuses the file. `step`: the first that differs."""

    def __init__(self, words, step=None):
        super().__init__(words)
        self.step = step


def candidates(named):
    """Paths of shared libraries; programs are asked only where none before them can be opened."""
    yield named
    yield os.environ.get("GNN_LIBRARY")
    package = os.path.dirname(HERE)
    for folder in (package, os.path.join(package, "..", ".libgnn.mesonpy.libs"), os.path.join(package, "..", "..", "build"), os.path.join(package, "..", "..", "build", "lib")):
        yield from sorted(glob.glob(os.path.join(folder, "libgnn.so*")))
    try:
        folder = subprocess.run(["pkg-config", "--variable=libdir", "gnn"], capture_output=True, text=True, check=True).stdout.strip()
        yield from sorted(glob.glob(os.path.join(folder, "libgnn.so*")))
    except (OSError, subprocess.CalledProcessError):
        pass
    yield ctypes.util.find_library("gnn")


def find(named=None):
    """The path of a shared library that can be opened, or None."""
    if named and not os.path.exists(named):
        raise OSError(f"there is no library {named}")
    for path in candidates(named):
        if path:
            try:
                return Library(path)
            except (OSError, AttributeError, ImportError) as error:
                if path in (named, os.environ.get("GNN_LIBRARY")):
                    raise OSError(f"{path} cannot be used: {error}") from None
    return None


class Library:
    def __init__(self, path):
        self.path, self.c = path, _table.Functions(path)
        self.real = np.float64 if _table.REAL == "d" else np.float32

    def check(self, code):
        if code:
            raise Differs(f"libgnn refuses the file: {self.c.gnn_error_message().decode(errors='replace')}")

    def load(self, path):
        return Model(self, path)


class Model:
    """A loaded file, to be freed."""

    def __init__(self, library, path):
        self.library, self.context, self.model = library, ctypes.c_void_p(), ctypes.c_void_p()
        try:
            library.check(library.c.gnn_context_new(ctypes.byref(self.context), None))
            library.check(library.c.gnn_model_load(ctypes.byref(self.model), self.context, os.fsencode(path)))
        except Differs:
            self.free()
            raise

    def free(self):
        c = self.library.c
        for k in range(getattr(self, "n_graphs", 0)):
            c.gnn_graph_free(self.graphs[k])
        self.n_graphs = 0
        c.gnn_model_free(self.model)
        c.gnn_context_free(self.context)
        self.model, self.context = ctypes.c_void_p(), ctypes.c_void_p()

    def inputs(self, drawn):
        """The graphs and values of a drawn graph; `kept` holds what they borrow."""
        c, kept = self.library.c, []

        def ints(array):
            array = np.ascontiguousarray(array, dtype=np.int64)
            kept.append(array)
            return Ints(INT64, array.ctypes.data)
        lists = (EdgeList * max(len(drawn.edge_lists), 1))()
        types = {name: drawn.values[name].numpy() for name, spec in drawn.specs.items() if spec[0] == "types" and name in drawn.values}
        for k, (name, (pairs, n_src, n_dst)) in enumerate(drawn.edge_lists.items()):
            own = next((v for v in types.values() if len(v) == pairs.shape[1]), None)
            lists[k] = EdgeList(name.encode(), n_dst, n_src, pairs.shape[1], ints(pairs[0]), ints(pairs[1]), ints(own) if own is not None else Ints(INT64, None))
        lengths = np.array(drawn.graph.lengths if drawn.uses_batch else [drawn.graph.n], dtype=np.int64)
        kept.append(lengths)
        sources = Sources(ctypes.addressof(lists), len(drawn.edge_lists), lengths.ctypes.data, len(lengths))
        self.n_graphs = c.gnn_model_graph_count(self.model)
        self.graphs = (ctypes.c_void_p * max(self.n_graphs, 1))()
        self.library.check(c.gnn_model_graphs(self.model, ctypes.byref(sources), OFF, self.graphs))
        count = c.gnn_model_input_count(self.model)
        values = (Named * max(count, 1))()
        for k in range(count):
            name = c.gnn_model_input_name(self.model, k).decode()
            values[k] = self.named(name, drawn.array(name), kept)
        kept += [lists, values, sources]
        return Inputs(ctypes.addressof(self.graphs), self.n_graphs, ctypes.addressof(values), count), kept

    def named(self, name, array, kept):
        named = Named(name=name.encode())
        if array.dtype.kind == "i":
            ids = np.ascontiguousarray(array.reshape(-1), dtype=np.int32)
            kept.append(ids)
            named.ids, named.count = ids.ctypes.data, ids.size
            return named
        rows = np.ascontiguousarray(array.reshape(array.shape[0], math.prod(array.shape[1:])), dtype=self.library.real)
        tensor = Tensor(rows.ctypes.data, rows.shape[0], rows.shape[1], rows.shape[1])
        kept += [rows, tensor]
        named.dense = ctypes.addressof(tensor)
        return named

    def value(self, inputs, name, rows, columns):
        out = np.zeros((rows, columns), dtype=self.library.real)
        tensor = Tensor(out.ctypes.data, rows, columns, columns)
        code = self.library.c.gnn_model_value(self.model, self.context, ctypes.byref(inputs), name.encode(), ctypes.byref(tensor))
        self.library.check(code)
        return out


def distance(ours, theirs):
    """The largest difference, as a share of the largest number."""
    theirs = theirs.reshape(ours.shape)
    if not np.isfinite(theirs).all():
        raise Differs("the module itself puts out numbers that are not finite")
    return float(np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max())) if ours.size else 0.0


def as_rows(value, lone):
    array = value.detach().numpy()
    return array.reshape(1, -1) if lone else array.reshape(array.shape[0], math.prod(array.shape[1:]))


def compare(library, path, drawn, t):
    """Compares all outputs on one drawn graph; Differs names the first step whose values differ."""
    model = library.load(path)
    try:
        inputs, kept = model.inputs(drawn)
        worst = 0.0
        for name, (value, lone) in t.output_values.items():
            want = as_rows(value, lone)
            got = model.value(inputs, name, *want.shape)
            off = distance(got, want)
            worst = max(worst, off)
            if not off <= TOLERANCE:
                raise Differs(*first_difference(model, inputs, t, name, off))
        del kept
        return worst
    finally:
        model.free()


def first_difference(model, inputs, t, output, off):
    words = f"libgnn computes something else than the module: {output} differs by {off:.2g}"
    for step in t.steps:
        known = t.known_values.get(step["name"])
        if known is None:
            continue
        want = as_rows(*known)
        try:
            got = model.value(inputs, step["name"], *want.shape)
        except Differs as error:
            return f"{words}; step {step['name']}: {error}", step["name"]
        if want.size and not np.isfinite(want).all():
            continue
        if not distance(got, want) <= TOLERANCE:
            return f"{words}; the first step that differs is {step['name']} ({t.origin.get(step['name'], '')}), by {distance(got, want):.2g}", step["name"]
    return words, None


if __name__ == "__main__":
    found = find(sys.argv[1] if len(sys.argv) > 1 else None)
    print(found.path if found else "no shared library of libgnn was found")
