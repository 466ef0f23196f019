"""Pictures and tables of the library as strings, for notebooks (_repr_svg_, _repr_html_) and files."""
import ctypes
import html
import os
import tempfile

import numpy as np

from ._arrays import REAL, Tensor, column, flag, listed, path_of, tensor, view, whole
from ._arrays import text as encoded
from ._library import check, lib, struct
from ._objects import Handle, context

MOST_NODES, MOST_EDGES = 300, 3000
_libc = ctypes.CDLL(None)
_libc.open_memstream.restype, _libc.open_memstream.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_void_p]
_libc.fclose.argtypes = _libc.free.argtypes = [ctypes.c_void_p]


class Picture(str):
    """An SVG as a string, which a notebook shows as the picture."""

    def _repr_svg_(self):
        return str(self)

    def __repr__(self):
        return f"Picture({len(self):,} characters of SVG)"

    def save(self, path):
        """Writes the picture."""
        with open(os.fsdecode(path_of(path)), "w", encoding="utf-8") as file:
            file.write(self)


def text_of(write):
    """What a function of the library writes to a FILE; `write` gets it and returns the code."""
    at, size = ctypes.c_void_p(), ctypes.c_size_t()
    file = _libc.open_memstream(ctypes.byref(at), ctypes.byref(size))
    if not file:
        raise MemoryError("no stream in memory could be opened")
    try:
        code = write(file)
    finally:
        _libc.fclose(file)
        made = ctypes.string_at(at, size.value) if at.value else b""
        _libc.free(at)
    check(code)
    return made.decode("utf-8", "replace")


def words_at(words, name="labels"):
    """An array of C strings."""
    return (ctypes.c_char_p * max(len(words), 1))(*(encoded(str(word), f"{name}[{k}]") for k, word in enumerate(words)))


def drawing(graph, weight=None, labels=None, title=None, seed=1):
    """A graph as SVG: edges attract in proportion to their weight."""
    n, pairs = graph.num_nodes, graph.edge_index
    if graph.num_senders != n:
        raise ValueError(f"a drawing is of one set of nodes, and the graph has {graph.num_senders} senders and {n} receivers")
    weight = np.ones(pairs.shape[1], REAL) if weight is None else np.ascontiguousarray(column(weight, "weight", 1)[:, 0])
    if weight.shape != (pairs.shape[1],):
        raise ValueError(f"weight must have one element for each of {pairs.shape[1]} edges, came the shape {weight.shape}")
    if labels is None:
        labels = range(n) if graph.node_names is None else list(map(str, graph.node_names))
    labels = listed(labels, "labels", "one label for each node")
    if len(labels) != n:
        raise ValueError(f"labels must have one element for each of {n} nodes, came {len(labels)}")
    for k, one in enumerate(labels):
        if getattr(one, "ndim", 0) or isinstance(one, (list, tuple, dict, set)):
            raise TypeError(f"labels[{k}] must be one value, came a {type(one).__name__}")
    points = np.zeros((n, 2), REAL)
    with graph._gate:
        check(lib.gnn_graph_layout_weighted(graph._at, None, seed, ctypes.byref(tensor(points))))
    senders, receivers = np.ascontiguousarray(pairs[0]), np.ascontiguousarray(pairs[1])
    names = words_at(labels)
    picture = struct("gnn_graph_picture_t")(points=tensor(points), labels=ctypes.addressof(names), n_edges=len(weight), title=None if title is None else encoded(title, "title"))
    picture.weight = weight.ctypes.data
    setattr(picture, "from", senders.ctypes.data)
    picture.to = receivers.ctypes.data
    return Picture(text_of(lambda file: lib.gnn_svg_graph(file, ctypes.byref(picture))))


def table(title, entries):
    """Names and values as a table of HTML."""
    rows = "".join(f"<tr><th style='text-align:left'>{html.escape(str(name))}</th><td style='text-align:left'>{html.escape(str(value))}</td></tr>" for name, value in entries)
    return f"<table><caption style='text-align:left'><b>{html.escape(title)}</b></caption>{rows}</table>"


def shape_of(t):
    return f"{t.rows} x {t.cols}"


class Attention(Handle):
    """Attention weights of every layer and head over one text.

    A notebook shows the page of `gnn inspect` (select layers and heads in its grid); `save` writes
    it. Made by `libgnn.SentenceEncoder.attention` and `libgnn.Generator.attention`.

    Attributes
    ----------
    words : list of str
    weights : array (layers, heads, words, words)
        Of a receiver (third axis) to its senders; a read-only view.
    """

    def __init__(self, pretrained, text, whole_words=True, special=True):
        made, flags = ctypes.c_void_p(), {True: 1, False: 2}
        config = struct("gnn_attention_config_t")(whole_words=flags[flag(whole_words, "whole_words")], special=flags[flag(special, "special")])
        check(lib.gnn_attention_of_text(ctypes.byref(made), pretrained._at, context()._at, encoded(text, "text"), ctypes.byref(config)))
        self._hold(made.value, lib.gnn_attention_free)
        self.text = text

    @property
    def _maps(self):
        return struct("gnn_attention_maps_t").from_address(self._at.value)

    @property
    def words(self):
        """The words, special tokens among them."""
        maps = self._maps
        names = ctypes.cast(maps.names, ctypes.POINTER(ctypes.c_char_p))
        return [names[k].decode("utf-8", "replace") for k in range(maps.words)]

    @property
    def weights(self):
        """All weights, as a view."""
        maps = self._maps
        return view(maps.weights, (maps.layers, maps.heads, maps.words, maps.words), REAL, self)

    def mean(self, layer=None, head=None):
        """The weights of a head, or means over heads, layers or both.

        Parameters
        ----------
        layer, head : int, optional
            Default: the mean over all.

        Returns
        -------
        array (words, words)
        """
        maps = self._maps
        out = np.empty((maps.words, maps.words), REAL)
        layer, head = (-1 if k is None else whole(k, name, low=0, high=count - 1) for k, name, count in ((layer, "layer", maps.layers), (head, "head", maps.heads)))
        check(lib.gnn_attention_map(self._at, layer, head, ctypes.byref(tensor(out))))
        return out

    def html(self, title=None):
        """The page as a string, which opens without a network."""
        return text_of(lambda file: lib.gnn_html_attention(file, self._at, encoded(self.text if title is None else title, "title")))

    def svg(self):
        """All heads as small heat maps."""
        return Picture(text_of(lambda file: lib.gnn_svg_attention_grid(file, self._at, None)))

    def heatmap(self, layer=None, head=None):
        """One map of weights as SVG; the arguments are those of mean()."""
        values, names = self.mean(layer, head), words_at(self.words)
        where = ", ".join(f"{name} {'mean' if number is None else number}" for name, number in (("layer", layer), ("head", head)))
        heatmap = struct("gnn_heatmap_t")(values=tensor(values), row_labels=ctypes.addressof(names), col_labels=ctypes.addressof(names), title=where.encode(), row_axis=b"receiver",
                                          col_axis=b"sender", mark_row=-1, mark_col=-1)
        return Picture(text_of(lambda file: lib.gnn_svg_heatmap(file, ctypes.byref(heatmap))))

    def save(self, path):
        """Writes the page (.html) or the heat maps (.svg)."""
        kinds = {".html": self.html, ".svg": self.svg}
        path = os.fsdecode(path_of(path))
        ending = os.path.splitext(path)[1]
        if ending not in kinds:
            raise ValueError(f"path must end in {' or '.join(kinds)}, came {path}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(kinds[ending]())

    def show(self):
        """Shows the page: in a notebook below the cell, else in the web browser."""
        try:
            from IPython import get_ipython
            from IPython.display import display
            inside = get_ipython() is not None and hasattr(get_ipython(), "kernel")
        except ModuleNotFoundError:
            inside = False
        if inside:
            display(self)
            return
        import webbrowser
        with tempfile.NamedTemporaryFile("w", suffix=".html", delete=False, encoding="utf-8") as file:
            file.write(self.html())
        webbrowser.open("file://" + file.name)

    def _repr_html_(self):
        return f'<iframe srcdoc="{html.escape(self.html())}" style="width:100%;height:640px;border:0"></iframe>'

    def _repr_svg_(self):
        return self.svg()

    def __reduce__(self):
        raise TypeError("an Attention is not pickled: save() writes it")

    def __repr__(self):
        if self.closed:
            return "Attention(closed)"
        maps = self._maps
        return f"Attention({maps.layers} layers, {maps.heads} heads, {maps.words} words)"


def of_graph(graph):
    """The table of a graph, with its drawing where it is small."""
    entries = [("receivers", graph.num_nodes), ("senders", graph.num_senders)] if graph.num_nodes != graph.num_senders else [("nodes", graph.num_nodes)]
    entries += [("edges", graph.num_edges)] if graph.num_edges == graph.num_pairs else [("pairs", graph.num_pairs)]
    return table("Graph", entries) + (svg_of_graph(graph) or "").partition("?>")[2]


def svg_of_graph(graph):
    """The drawing of a graph; None: it is too large, or bipartite."""
    n = graph.num_nodes
    return drawing(graph) if 0 < n <= MOST_NODES and graph.num_pairs <= MOST_EDGES and graph.num_senders == n else None


def of_layer(layer):
    """The table of a layer: its arguments, and the shapes of its parameters."""
    given, width, settings = layer._arguments
    entries = [("in_channels", given), ("out_channels", given if width is None else width), *settings.items()]
    at, t = layer._layer(), Tensor()
    for k in range(lib.gnn_layer_field_count(at)):
        name = lib.gnn_layer_field_name(at, k)
        check(lib.gnn_layer_field(at, name, ctypes.byref(t), None))
        entries.append((name.decode(), shape_of(t)))
    return table(layer._preset or "Layer", entries)


def of_model(model):
    """The table of a model: its parameters and buffers by name."""
    entries, count, t = [], 0, Tensor()
    for name, (get, word) in model._fields().items():
        check(get(word, t))
        entries.append((name, shape_of(t)))
        count += t.rows * t.cols
    return table(f"Model of {lib.gnn_model_step_count(model._at)} steps, {count:,} values", entries)


def of_data(data):
    """The table of a data set."""
    return table(data.name, [("nodes", data.num_nodes), ("edges", lib.gnn_graph_n_edges(lib.gnn_data_graph(data._at))), ("features", data.num_features), ("classes", data.num_classes)])
