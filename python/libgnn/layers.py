"""Layers: the presets and fields of the library's tables, read as the module is imported."""
import ctypes
import functools

import numpy as np

from ._table import abi as _abi
from ._arrays import REAL, Tensor, column, reals, short, tensor, text, whole
from ._library import check, lib, message, struct
from ._objects import Gate, Handle, context
from .graphs import Graph

Config = struct("gnn_layer_config_t")
Inputs = struct("gnn_inputs_t")


def _preset_table():
    members = _abi.ENUMS["gnn_preset_t"]
    return {name[len("GNN_PRESET_"):]: value for name, value in members.items() if lib.gnn_preset_name(value)}


_PRESETS = _preset_table()


def _field_table():
    made, field = {}, struct("gnn_config_field_t")()
    while lib.gnn_layer_config_field(len(made), ctypes.byref(field)) == 0:
        choices = []
        while (word := lib.gnn_layer_config_choice(field.name, len(choices))) is not None:
            choices.append(word.decode())
        made[field.name.decode()] = (field.kind.decode(), field.help.decode(), tuple(choices))
    return made


def presets():
    """The names of the presets: libgnn.GAT and so on.

    >>> import libgnn
    >>> "GAT" in libgnn.presets()
    True
    """
    return list(_PRESETS)


def fields():
    """The fields of a layer: {name: (kind, help, names of its values)}.

    >>> import libgnn
    >>> libgnn.fields()["heads"][1]
    'attention heads'
    """
    return dict(_known_fields())


@functools.lru_cache(None)
def _known_fields():
    return _field_table()


def _text(name, value):
    """A value as gnn_layer_config_set reads it."""
    if value is None:
        return "default"
    if isinstance(value, np.ndarray) and value.ndim < 2:
        value = value.tolist()
    if isinstance(value, (bool, np.bool_)):
        return "on" if value else "off"
    if isinstance(value, str):
        return value
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (tuple, list)) and not any(part is None or isinstance(part, (tuple, list)) for part in value):
        return ",".join(_text(name, part) for part in value)
    raise TypeError(f"{name} must be a number, a name or a list of these, came {short(value)}")


def config_of(preset, in_channels, out_channels, settings):
    config = Config()
    settings, known = dict(settings), _known_fields()
    if preset and "preset" in settings:
        raise TypeError(f"preset is {preset}: libgnn.Layer takes preset=, and the layers that are named after presets do not")
    for key, field in (("in_channels", "in"), ("out_channels", "out")):
        if field in settings:
            raise TypeError(f"{field!r} is called {key}")
    words = {"preset": lib.gnn_preset_name(_PRESETS[preset]).decode()} if preset else {}
    for name, value in (*words.items(), ("in", in_channels), ("out", out_channels), *settings.items()):
        if name == "in" or name == "out" and value is not None:
            value = whole(value, f"{name}_channels", "i", low=1)
        if name in ("in", "out") and value is None:
            continue
        if isinstance(value, (bool, np.bool_)) and known.get(name, ("flag",))[0] != "flag":
            raise TypeError(f"{name} cannot be {value}: it is of the kind {known[name][0]}")
        code = lib.gnn_layer_config_set(ctypes.byref(config), text(name, "the name of an argument"), text(_text(name, value), name))
        if code:
            if name not in known:
                raise TypeError(f"a layer has no argument {name!r}: {message()}")
            check(code)
    return config


class Layer(Handle):
    """One hop of message passing: receivers aggregate the messages of their senders.

    Parameters
    ----------
    in_channels : int
        Features of a node (of a sender, with `in_dst` those of a receiver).
    out_channels : int, optional
        Output features; per head where heads are concatenated. Default: `in_channels`.
    **settings
        Fields of the config (`libgnn.fields()`), by name: heads=8, activation="elu", residual=True.

    Examples
    --------
    >>> import libgnn, numpy as np
    >>> layer = libgnn.GAT(16, 8, heads=2)
    >>> layer(libgnn.Graph([[0, 1], [1, 0]]), np.ones((2, 16), np.float32)).shape
    (2, 16)
    """

    _preset = None

    def __init__(self, in_channels, out_channels=None, **settings):
        self._arguments = (in_channels, out_channels, dict(settings))
        self._config = config_of(self._preset, in_channels, out_channels, settings)
        resolved = Config()
        check(lib.gnn_layer_config_resolve(ctypes.byref(resolved), ctypes.byref(self._config)))
        self._pointer, self._gate = 0, Gate()

    def _layer(self):
        """The library's layer, made when it is first used: a layer inside of a Model never is."""
        if self.__dict__.get("_pointer") == 0:
            made = ctypes.c_void_p()
            check(lib.gnn_layer_new(ctypes.byref(made), context()._at, ctypes.byref(self._config)))
            self._hold(made.value, lib.gnn_layer_free)
        return self._at

    def close(self):
        """Frees the layer."""
        if self.__dict__.get("_pointer") == 0:
            self._pointer = None
        else:
            super().close()

    @property
    def width(self):
        """Columns of the output."""
        return lib.gnn_layer_width(self._layer())

    def __call__(self, graph, x, x_dst=None, edge_attr=None, edge_weight=None, edge_bias=None, out=None):
        """The layer's output (receivers, width), for inference.

        Parameters
        ----------
        graph : Graph
        x : array (senders, in_channels)
        x_dst : array (receivers, in_dst), optional
            Features of the receivers; default: the first rows of x.
        edge_attr, edge_weight, edge_bias : array (edges, ...), optional
            Values on edges, in the order of the graph's edges.
        out : float32 array, optional
            Memory for the output.
        """
        layer = self._layer()
        if not isinstance(graph, Graph):
            raise TypeError(f"graph must be a Graph, came {short(graph)}")
        made, kept = Inputs(), []

        def give(member, a):
            t = tensor(a)
            kept.extend((a, t))
            setattr(made, member, ctypes.addressof(t))
        give("x_src", reals(x, "x", rows=graph.num_senders))
        if x_dst is not None:
            give("x_dst", reals(x_dst, "x_dst", rows=graph.num_nodes))
        if edge_weight is None and graph.edge_weight is not None:
            edge_weight = graph.edge_weight
        if edge_attr is None and self._config.edge_dim > 0:
            raise TypeError(f"edge_attr is missing: the layer has edge_dim={self._config.edge_dim}")
        for member, value, name in (("edge_features", edge_attr, "edge_attr"), ("edge_weight", edge_weight, "edge_weight"), ("edge_bias", edge_bias, "edge_bias")):
            if value is not None:
                a = column(value, name, 1 if name == "edge_weight" else None)
                if len(a) != graph.num_edges:
                    raise ValueError(f"{name} must have a row for each of {graph.num_edges} edges, came {len(a)}")
                if name == "edge_attr" and a.shape[1] != self._config.edge_dim:
                    raise ValueError(f"edge_attr must have edge_dim={self._config.edge_dim} columns, came {a.shape[1]}" if self._config.edge_dim else "edge_attr is given, and the layer has no edge_dim")
                give(member, a)
        out = _result(out, graph.num_nodes, lib.gnn_layer_width(layer), kept)
        if self not in graph._ready:
            graph._prepare(self, lambda: lib.gnn_layer_prepare(layer, graph._at, 2))
        with self._gate, graph._gate:
            check(lib.gnn_layer_forward(layer, context()._at, graph._at, ctypes.byref(made), ctypes.byref(tensor(out))))
        return out

    def parameters(self):
        """The values of all parameters by name, as copies.

        >>> import libgnn
        >>> sorted(libgnn.GCN(3, 2).parameters())
        ['out.bias', 'value.weight']
        """
        layer, made, t = self._layer(), {}, Tensor()
        for k in range(lib.gnn_layer_field_count(layer)):
            name = lib.gnn_layer_field_name(layer, k)
            check(lib.gnn_layer_field(layer, name, ctypes.byref(t), None))
            made[name.decode()] = copied(t)
        return made

    def load_parameters(self, values):
        """Sets all parameters from arrays by name."""
        assign(values, self.parameters(), lambda name, t: lib.gnn_layer_field(self._layer(), name.encode(), ctypes.byref(t), None))

    def _repr_html_(self):
        from .pictures import of_layer
        return of_layer(self)

    def __reduce__(self):
        if self.closed:
            raise ValueError(f"this {type(self).__name__} is closed")
        return _relayered, (self._preset, *self._arguments, self.parameters())  # also of a layer that no call has drawn yet: copies are equal

    def __repr__(self):
        if self.closed:
            return f"{self._preset or 'Layer'}(closed)"
        given, width, settings = self._arguments
        words = [repr(given), *([] if width is None else [repr(width)]), *(f"{key}={value!r}" for key, value in settings.items())]
        return f"{self._preset or 'Layer'}({', '.join(words)})"


def _result(out, rows, columns, inputs=()):
    """Memory for an output that is none of the inputs'."""
    if out is None:
        return np.empty((rows, columns), REAL)
    if not isinstance(out, np.ndarray) or out.dtype != REAL or out.shape != (rows, columns) or not out.flags.c_contiguous or not out.flags.writeable:
        raise ValueError(f"out must be a writeable contiguous {REAL} array of the shape {(rows, columns)}")
    if any(isinstance(a, np.ndarray) and np.may_share_memory(out, a) for a in inputs):
        raise ValueError("out shares memory with an input, which the library reads while it writes")
    return out


def copied(t):
    """A copy of the matrix of a struct."""
    if not t.data or not t.rows or not t.cols:
        return np.zeros((t.rows, t.cols), REAL)
    stride = t.stride or t.cols
    flat = np.frombuffer((ctypes.c_char * (((t.rows - 1) * stride + t.cols) * REAL.itemsize)).from_address(t.data), REAL)
    return np.lib.stride_tricks.as_strided(flat, (t.rows, t.cols), (stride * REAL.itemsize, REAL.itemsize)).copy()


def assign(values, known, field):
    """Writes arrays into the memory of fields of the same names and shapes: all of them, or none."""
    if not hasattr(values, "keys") or not hasattr(values, "items"):
        raise TypeError(f"values must be a dict of arrays by name, came {short(values)}")
    values = {name: value.detach() if getattr(value, "requires_grad", False) is True else value for name, value in values.items()}
    missing, more = sorted(set(known) - set(values)), sorted(map(str, set(values) - set(known)))
    if missing or more:
        raise KeyError(f"parameters without an array: {missing}; arrays without a parameter: {more}")
    made = {name: reals(value, name, *reversed(known[name].shape)) for name, value in values.items()}
    for name, a in made.items():
        if not np.isfinite(a).all():
            raise ValueError(f"{name} has an element that is not finite")
    for name, a in made.items():
        t = Tensor()
        check(field(name, t))
        stride = t.stride or t.cols
        for r in range(t.rows):
            row = np.ascontiguousarray(a[r])
            ctypes.memmove(t.data + r * stride * REAL.itemsize, row.ctypes.data, t.cols * REAL.itemsize)


def _relayered(preset_name, in_channels, out_channels, settings, values):
    layer = (preset(preset_name) if preset_name else Layer)(in_channels, out_channels, **settings)
    if values is not None:
        layer.load_parameters(values)
    return layer


@functools.lru_cache(None)
def preset(name):
    """The class of a preset of the table."""
    if name not in _PRESETS:
        raise AttributeError(f"libgnn has no preset {name}; there are {', '.join(_PRESETS)}")
    return type(name, (Layer,), {"_preset": name, "__module__": "libgnn", "__doc__": f"The preset {name} of the library's table.\n\n" + Layer.__doc__.partition("\n\n")[2].partition("    Examples")[0]})
