"""Models of layers, data sets, and training."""
import contextlib
import ctypes
import os
import signal
import tempfile
import threading
import warnings

import numpy as np

from ._table import abi as _abi
from ._arrays import REAL, array_of, choice, column, flag, indices, ints, listed, member, path_of, reals, short, tensor, view, view_of, whole
from ._library import C, check, error, lib, struct
from ._library import callback as callback_of
from ._objects import Gate, Handle, context
from .graphs import Graph
from .layers import Config, Layer, _result, assign, copied

PARTS = {"train": 0, "validation": 1, "test": 2}
ON_EDGES = {"edge_weight": b"weight", "edge_attr": b"features"}  # the library's names of a set's values on edges
Step, Named, ModelInputs = (struct(f"gnn_{name}_t") for name in ("step", "named", "model_inputs"))


def _mask(value, name, nodes):
    """A mask as bytes: of bools or 0 and 1 per node."""
    a = array_of(value, name)
    if a.dtype != bool:
        if a.dtype.kind not in "iu" or a.size and (a.min() < 0 or a.max() > 1):
            raise TypeError(f"{name} must be a mask of bools (one per node), came {a.dtype}")
        a = a != 0
    if a.shape[0:1] != (nodes,) or a.ndim != 1:
        raise ValueError(f"{name} must have one element for each of {nodes} nodes, came the shape {a.shape}")
    return np.ascontiguousarray(a).view(np.uint8)


def _classes(y):
    try:
        return indices(y, "y")
    except TypeError as problem:
        raise TypeError(f"{problem}: classes are 0, 1, ... and -1 for none, which pandas.factorize makes of other values") from None


class Data(Handle):
    """A data set: a graph, features and classes of its nodes, and splits.

    Parameters
    ----------
    edge_index : array (2, edges), or a Graph of edges
        As PyG's.
    x : array (nodes, features), optional
    y : array (nodes), optional
        Classes; negative: no label.
    train_mask, val_mask, test_mask : array (nodes) of bool, optional
        All three or none; without them a split is drawn. Nodes in several of them are used as told,
        with a warning: a model is too good on nodes that it was trained on.
    edge_weight : array (edges), optional
        Default: the weights of a Graph of a SciPy matrix.
    edge_attr : array (edges, any), optional
        A `Model` states whether it reads weights and features of edges.
    num_nodes : int, optional
        Default: the rows of `x` or of `y`.

    Examples
    --------
    >>> import libgnn
    >>> libgnn.Data.karate()
    Data(karate: 34 nodes, 156 edges, 34 features, 2 classes)
    """

    def __init__(self, edge_index, x=None, y=None, train_mask=None, val_mask=None, test_mask=None, edge_weight=None, edge_attr=None, num_nodes=None):
        x = None if x is None else reals(x, "x")
        y = None if y is None else _classes(y)
        given = edge_index if isinstance(edge_index, Graph) else None
        if num_nodes is None:
            if x is None and y is None and given is None:
                raise TypeError("one of x, y and num_nodes says how many nodes there are")
            num_nodes = len(x if x is not None else y) if given is None else given.num_nodes
        num_nodes = whole(num_nodes, "num_nodes", low=0)
        if x is not None and len(x) != num_nodes:
            raise ValueError(f"x must have {num_nodes} rows, came {len(x)}")
        if y is not None and len(y) != num_nodes:
            raise ValueError(f"y must have {num_nodes} elements, came {len(y)}")
        graph = Graph(edge_index, num_nodes) if given is None else given
        if (graph.num_senders, graph.num_nodes, graph.num_edges) != (num_nodes, num_nodes, graph.num_pairs):
            raise ValueError(f"edge_index must be edges between {num_nodes} nodes, came {graph!r}")
        masks = [None if m is None else _mask(m, name, num_nodes) for m, name in ((train_mask, "train_mask"), (val_mask, "val_mask"), (test_mask, "test_mask"))]
        if any(m is None for m in masks) != all(m is None for m in masks):
            raise TypeError("train_mask, val_mask and test_mask are given together")
        weight = None if edge_weight is None and graph.edge_weight is None else column(edge_weight if edge_weight is not None else graph.edge_weight, "edge_weight", 1)
        attr = None if edge_attr is None else column(edge_attr, "edge_attr")
        for name, a in (("edge_weight", weight), ("edge_attr", attr)):
            if a is not None and len(a) != graph.num_edges:
                raise ValueError(f"{name} must have a row for each of {graph.num_edges} edges, came {len(a)}")
        config, kept, split = struct("gnn_data_config_t")(nodes=num_nodes), [], ctypes.c_void_p()
        for field, a in (("x", x), ("edge_features", attr)):
            if a is not None:
                kept.append(tensor(a))
                setattr(config, field, ctypes.addressof(kept[-1]))
        if weight is not None:
            weight = np.ascontiguousarray(weight)
            config.weight = weight.ctypes.data
        config.labels = ints(y)
        pairs = np.ascontiguousarray(graph.edge_index)
        config.edges, config.src, config.dst = pairs.shape[1], ints(pairs[0]), ints(pairs[1])
        try:
            if masks[0] is not None:
                check(lib.gnn_split_from_masks(ctypes.byref(split), num_nodes, 1, *(m.ctypes.data for m in masks)))
                config.split = split
            made = ctypes.c_void_p()
            check(lib.gnn_data_new(ctypes.byref(made), ctypes.byref(config)))
        finally:
            lib.gnn_split_free(split)
        self._own(made.value, 3)

    def _own(self, pointer, level):
        self._hold(pointer, lib.gnn_data_free)
        self._gate, self._ready = Gate(), set()
        parts = [self.mask(part) for part in PARTS] if lib.gnn_data_splits(self._at) else []
        several = int((sum(mask.astype(np.int8) for mask in parts) > 1).sum()) if parts else 0
        if several:
            warnings.warn(f"{several} of {self.num_nodes} nodes are in several of train_mask, val_mask and test_mask: a model is too good on nodes that it was trained on", stacklevel=level)

    @classmethod
    def _of(cls, make):
        made = ctypes.c_void_p()
        check(make(ctypes.byref(made)))
        data = cls.__new__(cls)
        data._own(made.value, 4)
        return data

    @classmethod
    def open(cls, path, directed=False):
        """Opens a file or folder; the format is detected (.npz of PyG, LINQS, OGB, TU, edge lists)."""
        config, path = struct("gnn_open_config_t")(directed=C["GNN_ON"] if flag(directed, "directed") else 0), path_of(path)
        return cls._of(lambda made: lib.gnn_data_open_as(made, path, ctypes.byref(config)))

    @classmethod
    def karate(cls):
        """Zachary's karate club."""
        return cls._of(lib.gnn_data_karate)

    @property
    def name(self):
        """The name of the set."""
        return lib.gnn_data_name(self._at).decode()

    @property
    def num_nodes(self):
        """Count of the nodes."""
        return lib.gnn_data_nodes(self._at)

    @property
    def num_features(self):
        """Columns of the features."""
        return lib.gnn_data_features(self._at)

    @property
    def num_classes(self):
        """Count of the classes."""
        return lib.gnn_data_classes(self._at)

    @property
    def x(self):
        """The features, as a view; None if they are sparse."""
        at = lib.gnn_data_x(self._at)
        return view_of(struct("gnn_tensor_t").from_address(at), self) if at else None

    @property
    def y(self):
        """The classes, as a view; -1: no label."""
        return view(lib.gnn_data_labels(self._at), (self.num_nodes,), np.int32, self)

    @property
    def edge_index(self):
        """The edges (2, edges)."""
        return _pairs(lib.gnn_data_graph(self._at))

    @property
    def edge_weight(self):
        """The weights of the edges, as a view; None: there are none."""
        found = self._on_edges("edge_weight")
        return None if found is None else found[:, 0]

    @property
    def edge_attr(self):
        """The features of the edges, as a view; None: there are none."""
        return self._on_edges("edge_attr")

    def _on_edges(self, name):
        at = lib.gnn_data_rows(self._at, C["GNN_ON_EDGES"], ON_EDGES[name])
        return view_of(struct("gnn_tensor_t").from_address(at), self) if at else None

    def mask(self, part, split=0):
        """The mask of "train", "validation" or "test", as a view."""
        count = lib.gnn_data_splits(self._at)
        if not count:
            raise ValueError("the set has no splits")
        at = lib.gnn_data_mask(self._at, PARTS[choice(part, "part", PARTS)], whole(split, "split", low=0, high=count - 1))
        return view(at, (self.num_nodes,), np.bool_, self)

    def row_normalise(self):
        """Divides every row of the features by its sum; returns the set."""
        if self._lent():
            raise BufferError("features cannot change: arrays that view the set's memory exist")
        with self._gate.changing():
            check(lib.gnn_data_row_normalise(self._at))
        return self

    def save(self, path):
        """Writes the set as .npz."""
        check(lib.gnn_data_save(self._at, path_of(path)))

    def _repr_html_(self):
        from .pictures import of_data
        return of_data(self)

    def __reduce__(self):
        raise TypeError("a Data is not pickled: save() and Data.open() write and read it")

    def __repr__(self):
        if self.closed:
            return "Data(closed)"
        edges = lib.gnn_graph_n_edges(lib.gnn_data_graph(self._at))
        return f"Data({self.name}: {self.num_nodes} nodes, {edges} edges, {self.num_features} features, {self.num_classes} classes)"


def _pairs(graph):
    count = lib.gnn_graph_n_pairs(graph)
    src, dst, edge = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    check(lib.gnn_graph_pairs(graph, src.ctypes.data, dst.ctypes.data, edge.ctypes.data))
    order = np.argsort(edge, kind="stable")
    return np.stack([src[order], dst[order]])


# ---- settings of a training: the members of three structs, by name ----

TRAIN, OPTIMIZER, SCHEDULE = "gnn_train_config_t", "gnn_optimizer_config_t", "gnn_schedule_t"
NOT_GIVEN = {"callback", "user", "stop", "optimizer", "schedule"}


def _settings():
    """{argument of fit(): (struct, member, code)} for all members that are numbers, words or paths."""
    made = {}
    for owner, prefix in ((TRAIN, ""), (OPTIMIZER, "optimizer"), (SCHEDULE, "schedule")):
        for field, code, count in _abi.STRUCTS[owner]:
            if code in "iqfds" and count == 1 and field not in NOT_GIVEN and not field.startswith("n_"):
                made[prefix if field == "kind" else field] = (owner, field, code)
    return made


SETTINGS = _settings()


def train_config(settings):
    """A gnn_train_config_t of keyword arguments; unknown ones are refused by name."""
    config = struct(TRAIN)()
    for name, value in settings.items():
        if name not in SETTINGS:
            raise TypeError(f"fit() has no argument {name!r}; there are {', '.join(sorted(SETTINGS))}, callback, progress, class_weight")
        if value is None:
            continue
        owner, field, code = SETTINGS[name]
        made = member(value, name, owner, field, code)
        if name == "epochs" and made < 1:
            raise ValueError(f"epochs must be at least 1, came {value}")
        setattr({TRAIN: config, OPTIMIZER: config.optimizer, SCHEDULE: config.schedule}[owner], field, made)
    return config


class Result:
    """What a training came to: epochs, best_epoch, train_loss, validation_loss, validation_metric, seconds."""

    def __init__(self, raw):
        self.__dict__.update({name: getattr(raw, name) for name, _ in raw._fields_})

    def __repr__(self):
        return f"Result({', '.join(f'{key}={value:.6g}' for key, value in self.__dict__.items())})"


class Model(Handle):
    """Layers one after another on one graph.

    Parameters
    ----------
    layers : list of Layer
        Their parameters are drawn anew, from the seed of `libgnn.set_seed`. Those with edge_dim
        read the edge_attr of a set.
    edge_weight : bool, optional
        True: every layer reads the edge_weight of a set; False: it is left out. Default: a set or
        graph with weights is refused.
    edge_attr : bool, optional
        False: the edge_attr of a set is left out where no layer has edge_dim. Default: such a set
        is refused.

    Examples
    --------
    >>> import libgnn
    >>> model = libgnn.Model([libgnn.GCN(34, 16, activation="relu"), libgnn.GCN(16, 2)])
    >>> model
    Model(2 steps, 4 parameters)
    """

    def __init__(self, layers, *, edge_weight=None, edge_attr=None):
        layers = listed(layers, "layers", "layers such as libgnn.GCN(34, 16)")
        if not layers:
            raise ValueError("layers must have at least one layer, came none")
        for k, layer in enumerate(layers):
            if not isinstance(layer, Layer):
                raise TypeError(f"layers[{k}] must be a layer such as libgnn.GCN(34, 16), came {type(layer).__name__}")
            if layer.closed:
                raise ValueError(f"layers[{k}] is closed")
        told = {name: None if value is None else flag(value, name) for name, value in (("edge_weight", edge_weight), ("edge_attr", edge_attr))}
        featured = [layer._config.edge_dim > 0 for layer in layers]
        if told["edge_attr"] is not None and told["edge_attr"] != any(featured):
            raise TypeError(f"edge_attr={told['edge_attr']}, and {'a' if any(featured) else 'no'} layer has edge_dim")
        made = ctypes.c_void_p()
        if told["edge_weight"] or any(featured):
            weight = ON_EDGES["edge_weight"] if told["edge_weight"] else None
            steps = (Step * len(layers))(*(Step(kind=C["GNN_STEP_LAYER"], layer=layer._config, edge_weight=weight, edge_features=ON_EDGES["edge_attr"] if features else None) for layer, features in zip(layers, featured)))
            check(lib.gnn_model_from_steps(ctypes.byref(made), context()._at, len(layers), steps))
        else:
            configs = (Config * len(layers))(*(layer._config for layer in layers))
            check(lib.gnn_model_new(ctypes.byref(made), context()._at, len(layers), configs))
        self._own(made.value, (bool(told["edge_weight"]), *(bytes(layer._config) for layer in layers)), {name for name, value in told.items() if value is False})

    def _own(self, pointer, form=None, left_out=frozenset(ON_EDGES)):
        self._hold(pointer, lib.gnn_model_free)
        # Models of one form need the same views of a graph. A loaded model reads what its file
        # names.
        self._gate, self._form, self._left_out = Gate(), self._key if form is None else form, left_out
        self._reads = {lib.gnn_model_input_name(self._at, k) for k in range(lib.gnn_model_input_count(self._at))}

    def _check_edges(self, given):
        """Refuses values on edges that no step reads, and lacking ones; `given`: which there
        are."""
        for name, stored in ON_EDGES.items():
            if given[name] and stored not in self._reads and name not in self._left_out:
                reads = "Model(layers, edge_weight=True) reads it" if name == "edge_weight" else "a layer with edge_dim reads it"
                raise ValueError(f"{name} is given, and no layer of the model reads it: {reads}, Model(layers, {name}=False) leaves it out")
            if stored in self._reads and not given[name]:
                raise ValueError(f"{name} is missing, which the model reads")

    @classmethod
    def load(cls, path):
        """Reads a model that save() wrote, or from_pyg.py."""
        made = ctypes.c_void_p()
        check(lib.gnn_model_load(ctypes.byref(made), context()._at, path_of(path)))
        model = cls.__new__(cls)
        model._own(made.value)
        return model

    def save(self, path):
        """Writes configs, parameters and buffers as safetensors."""
        check(lib.gnn_model_save(self._at, path_of(path)))

    @property
    def width(self):
        """Columns of the output."""
        return lib.gnn_model_width(self._at, lib.gnn_model_step_count(self._at) - 1)

    def fit(self, data, *, callback=None, progress=False, class_weight=None, **settings):
        """Trains on a data set; the best weights by the validation part stay. Returns what it came to.

        Parameters
        ----------
        data : Data
        lr, epochs, weight_decay, patience, optimizer, schedule, metric, ... : optional
            The fields of gnn_train_config_t by name; an unknown name is refused with the list.
        callback : function, optional
            Called with a dict after each epoch; True ends the training.
        progress : bool
            Draws a bar by tqdm, if that is installed.
        class_weight : array (classes), optional

        Notes
        -----
        A callback may evaluate the model and copies of it, and cannot train or close it. Other threads
        that use the model wait until the training has ended.

        Ctrl-C ends the training after its epoch: the best weights so far are in the model when
        KeyboardInterrupt is raised.
        """
        data = _checked(data)
        config, result, raised = train_config(settings), struct("gnn_train_result_t")(), []
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be a function of a dict, came {short(callback)}")
        if class_weight is not None:
            class_weight = np.ascontiguousarray(reals(array_of(class_weight, "class_weight").reshape(1, -1), "class_weight", data.num_classes))
            config.class_weight = class_weight.ctypes.data
        bar = _bar(flag(progress, "progress"), settings)

        def after_epoch(_, at):
            try:
                state = struct("gnn_progress_t").from_address(at)
                bar(state)
                return int(bool(raised) or bool(callback is not None and callback({name: getattr(state, name) for name, _ in state._fields_})))
            except BaseException as problem:  # noqa: B902 (it is raised again after the library has put the best weights back)
                raised.append(problem)
                return 1
        function = callback_of(f"{TRAIN}.callback")(after_epoch)
        config.callback = ctypes.cast(function, ctypes.c_void_p)
        self._prepared(data, backward=True)
        with self._gate.changing(), data._gate, _signals_into(raised):
            code = lib.gnn_train(self._at, context()._at, data._at, ctypes.byref(config), ctypes.byref(result))
        bar(None)
        if raised:
            raise raised[0]
        if code:
            raise error(code)
        return Result(result)

    def _prepared(self, data, backward=False):
        """Makes the views of a set's graph that models of this form need, once."""
        self._check_edges({name: bool(lib.gnn_data_rows(data._at, C["GNN_ON_EDGES"], stored)) for name, stored in ON_EDGES.items()})
        if (self._form, True) in data._ready or (self._form, backward) in data._ready:
            return
        with data._gate.changing():
            graph = lib.gnn_data_graph(data._at)
            for slot in range(lib.gnn_model_graph_count(self._at)):
                check(lib.gnn_model_prepare(self._at, slot, graph, C["GNN_ON" if backward else "GNN_OFF"]))
        data._ready.add((self._form, backward))

    def predict(self, data, x=None, edge_weight=None, edge_attr=None):
        """The output for every node: of a Data, or of a Graph and features.

        Parameters
        ----------
        data : Data or Graph
        x : array (nodes, features)
            With a Graph.
        edge_weight, edge_attr : array (edges, ...), optional
            With a Graph, in the order of its edges, where the model reads them. Default: the
            weights of a SciPy matrix.
        """
        if isinstance(data, Data):
            for name, value in (("x", x), ("edge_weight", edge_weight), ("edge_attr", edge_attr)):
                if value is not None:
                    raise TypeError(f"{name} is given with a Graph; a Data has its own {'features' if name == 'x' else name}")
            self._prepared(data)
            out = np.empty((data.num_nodes, self.width), REAL)
            with self._gate, data._gate:
                check(lib.gnn_predict(self._at, context()._at, data._at, ctypes.byref(tensor(out))))
            return out
        if not isinstance(data, Graph):
            raise TypeError(f"data must be a Data or a Graph, came {short(data)}")
        if x is None:
            raise TypeError("x is missing, the features that are given with a Graph: predict(graph, x)")
        graph, x = data, reals(x, "x", rows=data.num_senders)
        out = _result(None, graph.num_nodes, self.width)
        given = {"edge_weight": graph.edge_weight if edge_weight is None else edge_weight, "edge_attr": edge_attr}
        self._check_edges({name: value is not None for name, value in given.items()})
        values = [(b"x", x)]
        for name, value in given.items():
            if value is not None and ON_EDGES[name] in self._reads:
                values.append((ON_EDGES[name], column(value, name, 1 if name == "edge_weight" else None)))
                if len(values[-1][1]) != graph.num_edges:
                    raise ValueError(f"{name} must have a row for each of {graph.num_edges} edges, came {len(values[-1][1])}")
        graph._prepare(self, lambda: lib.gnn_model_prepare(self._at, 0, graph._at, C["GNN_OFF"]))
        tensors = [tensor(a) for _, a in values]
        named = (Named * len(values))(*(Named(name=name, dense=ctypes.addressof(t)) for (name, _), t in zip(values, tensors)))
        with self._gate, graph._gate:
            graphs = (ctypes.c_void_p * 1)(graph._at.value)
            inputs = ModelInputs(ctypes.addressof(graphs), 1, ctypes.addressof(named), len(values))
            check(lib.gnn_model_forward(self._at, context()._at, ctypes.byref(inputs), ctypes.byref(tensor(out))))
        return out

    def evaluate(self, data, part="test", metric="accuracy", split=0):
        """A metric on the nodes of a part.

        Parameters
        ----------
        data : Data
        part : str
            "train", "validation" or "test".
        metric : str
            An entry of gnn_metric_t by name: "accuracy", "macro_f1", ...
        split : int

        Returns
        -------
        float
            nan where no node of the part has a label.

        Examples
        --------
        >>> import libgnn
        >>> data = libgnn.Data.karate()
        >>> model = libgnn.Model([libgnn.GCN(34, 16, activation="relu"), libgnn.GCN(16, 2)])
        >>> _ = model.fit(data)
        >>> model.evaluate(data) > 0.5
        True
        """
        data, value, part = _checked(data), ctypes.c_double(), PARTS[choice(part, "part", PARTS)]
        how = member(metric, "metric", TRAIN, "metric", "i")
        self._prepared(data)
        with self._gate, data._gate:
            check(lib.gnn_evaluate(self._at, context()._at, data._at, whole(split, "split"), part, how, ctypes.byref(value)))
        return value.value

    def _fields(self):
        made = {}
        for count, name, get in ((lib.gnn_model_field_count, lib.gnn_model_field_name, lambda n, t: lib.gnn_model_field(self._at, n, ctypes.byref(t), None)),
                                 (lib.gnn_model_buffer_count, lib.gnn_model_buffer_name, lambda n, t: lib.gnn_model_buffer(self._at, n, ctypes.byref(t)))):
            for k in range(count(self._at)):
                word = name(self._at, k)
                made[word.decode()] = (get, word)
        return made

    def state_dict(self):
        """The values of all parameters and buffers by name, as copies."""
        made, t = {}, struct("gnn_tensor_t")()
        for name, (get, word) in self._fields().items():
            check(get(word, t))
            made[name] = copied(t)
        return made

    def load_state_dict(self, values):
        """Sets all parameters and buffers from arrays by name: all of them, or none."""
        fields = self._fields()
        assign(values, self.state_dict(), lambda name, t: fields[name][0](fields[name][1], t))

    def _repr_html_(self):
        from .pictures import of_model
        return of_model(self)

    def __reduce__(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.safetensors")
            self.save(path)
            with open(path, "rb") as file:
                return _unpickled, (file.read(), tuple(self._left_out))

    def __deepcopy__(self, memo):
        made = _unpickled(*self.__reduce__()[1])
        made._form = self._form
        return made

    def __repr__(self):
        if self.closed:
            return "Model(closed)"
        return f"Model({lib.gnn_model_step_count(self._at)} steps, {lib.gnn_model_field_count(self._at)} parameters)"


def _checked(data):
    if not isinstance(data, Data):
        raise TypeError(f"data must be a Data, came {short(data)}")
    return data


@contextlib.contextmanager
def _signals_into(raised):
    """What a handler of Ctrl-C raises goes into a list: an exception between the library and a function of
    Python that it calls would be lost."""
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(previous):
        yield
        return

    def handler(number, frame):
        try:
            previous(number, frame)
        except BaseException as problem:  # noqa: B902 (raised again after the training)
            raised.append(problem)
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def _unpickled(blob, left_out=tuple(ON_EDGES)):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.safetensors")
        with open(path, "wb") as file:
            file.write(blob)
        made = Model.load(path)
        made._left_out = set(left_out)
        return made


def _bar(progress, settings):
    """A function of a gnn_progress_t that moves a bar; None ends it."""
    if not progress:
        return lambda state: None
    try:
        from tqdm.auto import tqdm
    except ModuleNotFoundError as problem:
        if problem.name != "tqdm":
            raise
        raise ImportError("progress=True needs tqdm: pip install tqdm") from None
    bar = tqdm(total=settings.get("epochs") or 200, unit="epoch")

    def move(state):
        if state is None:
            bar.close()
        else:
            bar.update(1)
            bar.set_postfix(loss=f"{state.train_loss:.4f}", validation=f"{state.validation_metric:.4f}")
    return move
