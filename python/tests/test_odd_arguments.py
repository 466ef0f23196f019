"""Every argument of every public call with values that do not belong there: obeyed where this file says
so, or an exception that names the argument. Never a crash, and nothing is computed of a wrong value."""
import copy
import pathlib
import pickle

import numpy as np
import pytest

import libgnn

EDGES = np.array([[0, 1, 2, 3, 3], [1, 2, 3, 0, 1]])
X = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
ALLOWED = (ValueError, TypeError, KeyError, OSError, NotImplementedError, BufferError, MemoryError)


def generator():
    yield from ()


def closed(made):
    made.close()
    return made


def values():
    """Values by name, made anew for each call."""
    made = {
        "None": None, "True": True, "np.False_": np.False_, "3": 3, "-1": -1, "2**70": 1 << 70, "1.5": 1.5, "nan": float("nan"), "inf": float("inf"), "10**400": 10**400, "1j": 1j,
        "text": "text", "empty": "", "zero byte": "a\0b", "surrogate": "\ud800", "bytes": b"bytes", "bytearray": bytearray(b"ab"), "list": [], "[None]": [None], "[[1], [2, 3]]": [[1], [2, 3]],
        "['a', 1]": ["a", 1], "tuple": (), "dict": {}, "set": {"a"}, "object": object(), "generator": generator(), "function": len, "class": int, "float64": np.float64(2.5), "int16": np.int16(2),
        "0-d": np.array(3), "strings": np.array(["a", "b"]), "objects": np.array([None, 1], object), "datetimes": np.zeros((4, 6), "M8[s]"), "complex": X.astype(complex), "3-d": np.zeros((2, 2, 2)),
        "no rows": np.zeros((0, 6)), "NaN": X * np.nan, "1e300": X.astype(float) * 0 + 1e300, "records": np.zeros(4, [("a", "f4")]), "masked": np.ma.masked_array(X, X > 0), "path": pathlib.Path("nowhere"),
        "closed graph": closed(libgnn.Graph(EDGES)), "graph": libgnn.Graph([[0], [0]]), "layer": libgnn.GCN(2, 2), "ids": np.array([5, 1 << 40]),
    }
    try:
        import torch
    except ImportError:
        return made
    made.update({"meta": torch.zeros(4, 6, device="meta"), "requires_grad": torch.zeros(4, 6, requires_grad=True), "sparse": torch.eye(4).to_sparse(), "bfloat16": torch.zeros(4, 6, dtype=torch.bfloat16),
                 "complex tensor": torch.zeros(4, 6, dtype=torch.complex64), "tensor": torch.zeros(2)})
    return made


def model():
    return libgnn.Model([libgnn.GCN(6, 2)])


def data():
    return libgnn.Data(EDGES, x=X, y=[0, 1, 0, 1], train_mask=[1, 1, 0, 0], val_mask=[0, 0, 1, 0], test_mask=[0, 0, 0, 1])


MASKS = {"train_mask": [1, 1, 0, 0], "val_mask": [0, 0, 1, 0], "test_mask": [0, 0, 0, 1]}
# The call, and its arguments as they should be; of None the default is passed.
CALLS = {
    "Graph": (libgnn.Graph, {"edge_index": EDGES, "num_nodes": 4, "node_names": None, "undirected": False}),
    "Graph.topology": (libgnn.Graph.topology, {"name": "window", "lengths": [5], "width": 1}),
    "Graph.complete": (libgnn.Graph.complete, {"lengths": [3]}),
    "Graph.causal": (libgnn.Graph.causal, {"lengths": [3]}),
    "Graph.window": (libgnn.Graph.window, {"lengths": [3], "width": 1, "dilation": 1, "causal": False}),
    "Graph.draw": (lambda **k: libgnn.Graph(EDGES).draw(**k), {"weight": [1.0] * 5, "labels": list("abcd"), "title": "t", "seed": 1}),
    "GAT": (libgnn.GAT, {"in_channels": 6, "out_channels": 2, "heads": 2, "activation": "elu", "dropout": 0.5, "residual": False}),
    "GAT()": (lambda **k: libgnn.GAT(6, 3, edge_dim=2)(**k), {"graph": libgnn.Graph(EDGES), "x": X, "x_dst": None, "edge_attr": np.ones((5, 2)), "edge_weight": np.ones(5), "edge_bias": np.ones(5), "out": None}),
    "load_parameters": (lambda **k: libgnn.GCN(6, 2).load_parameters(**k), {"values": libgnn.GCN(6, 2).parameters()}),
    "Data": (libgnn.Data, {"edge_index": EDGES, "x": X, "y": [0, 1, 0, 1], "edge_weight": np.ones(5), "edge_attr": np.ones((5, 2)), "num_nodes": 4, **MASKS}),
    "Data.open": (libgnn.Data.open, {"path": "nosuch.npz", "directed": True}),
    "Data.mask": (lambda **k: data().mask(**k), {"part": "test", "split": 0}),
    "Data.save": (lambda **k: data().save(**k), {"path": "/nowhere/k.npz"}),
    "Model": (libgnn.Model, {"layers": [libgnn.GCN(6, 2)], "edge_weight": False, "edge_attr": False}),
    "Model.load": (libgnn.Model.load, {"path": "nosuch.safetensors"}),
    "save": (lambda **k: model().save(**k), {"path": "/nowhere/m.safetensors"}),
    "fit": (lambda **k: model().fit(**k), {"data": data(), "epochs": 3, "period": 3, "lr": 0.1, "optimizer": "adam", "schedule": "cosine", "metric": "accuracy", "callback": None, "progress": False, "class_weight": [1.0, 2.0],
                                          "nesterov": False, "checkpoint": None, "label_smoothing": 0.1}),
    "predict": (lambda **k: model().predict(**k), {"data": libgnn.Graph(EDGES), "x": X}),
    "predict with edges": (lambda **k: libgnn.Model([libgnn.GAT(6, 2, edge_dim=2)], edge_weight=True).predict(**k), {"data": libgnn.Graph(EDGES), "x": X, "edge_weight": np.ones(5), "edge_attr": np.ones((5, 2))}),
    "evaluate": (lambda **k: model().evaluate(**k), {"data": data(), "part": "test", "metric": "accuracy", "split": 0}),
    "load_state_dict": (lambda **k: model().load_state_dict(**k), {"values": model().state_dict()}),
    "set_threads": (libgnn.set_threads, {"count": 2}),
    "set_seed": (libgnn.set_seed, {"seed": 0}),
    "set_deterministic": (libgnn.set_deterministic, {"value": False}),
    "SentenceEncoder": (libgnn.SentenceEncoder, {"folder": "nosuch", "keep_16_bits": False, "keep_packed": False}),
    "Generator": (libgnn.Generator, {"folder": "nosuch"}),
}
# Values that a call takes, each for what it says.
NUMBERS = {"3", "int16", "0-d"}
LENGTHS = NUMBERS | {"list", "tuple", "bytearray"}
FLAGS = {"True", "np.False_"}
TAKEN = {
    ("Graph", "edge_index"): {"list", "tuple"}, ("Graph", "undirected"): FLAGS, ("set_deterministic", "value"): FLAGS, ("Graph.topology", "lengths"): LENGTHS, ("Graph.topology", "width"): NUMBERS | {"True"}, ("Graph.complete", "lengths"): LENGTHS,
    ("Graph.causal", "lengths"): LENGTHS, ("Graph.window", "lengths"): LENGTHS, ("Graph.window", "width"): NUMBERS, ("Graph.window", "dilation"): NUMBERS, ("Graph.window", "causal"): FLAGS,
    ("Graph.draw", "title"): {"text", "empty"}, ("Graph.draw", "seed"): NUMBERS, ("Graph.draw", "labels"): {"records"}, ("GAT", "in_channels"): NUMBERS, ("GAT", "out_channels"): NUMBERS, ("GAT", "heads"): NUMBERS,
    ("GAT", "residual"): {"np.False_"}, ("GAT()", "x"): {"NaN"}, ("GAT()", "x_dst"): {"NaN"}, ("Data.save", "path"): {"text", "bytes", "path"}, ("save", "path"): {"text", "bytes", "path"},
    ("fit", "epochs"): {"3", "int16"}, ("fit", "lr"): {"3", "1.5", "float64", "int16", "2**70"}, ("fit", "period"): {"3", "int16"}, ("fit", "progress"): FLAGS, ("fit", "nesterov"): {"np.False_"}, ("fit", "callback"): {"function"},
    ("fit", "checkpoint"): {"text", "bytes", "path"}, ("fit", "class_weight"): {"bytearray", "ids"}, ("predict", "x"): {"NaN"}, ("predict with edges", "x"): {"NaN"}, ("Model", "edge_weight"): FLAGS, ("Model", "edge_attr"): {"np.False_"}, ("set_threads", "count"): NUMBERS, ("set_seed", "seed"): NUMBERS,
}
# What a message may name in the argument's place.
OTHER_NAMES = {"num_nodes": ["receivers", "x must", "y must"], "values": ["arrays", "parameters"], "path": ["text", "bytes", "nowhere", "nosuch"], "directed": ["nosuch"], "keep_16_bits": ["folder"],
               "keep_packed": ["folder"], "checkpoint": ["text", "bytes", "nowhere"], "class_weight": ["class"], "callback": ["graph", "argument"], "label_smoothing": ["label smoothing"],
               "data": ["x must"], "graph": ["x must"], "edge_index": ["edge_weight must"]}


def tried(call, arguments, name, value):
    """The exception of a call with one other value; None: there is none, or an extra that the value needs is not installed."""
    try:
        call(**{**arguments, name: value})
    except ImportError as problem:
        assert "pip install" in str(problem)
    except ALLOWED as problem:
        return problem
    return None


def default(call, name):
    """True if None stands for the default of the argument."""
    return call in ("fit", "Graph.draw") and name != "data" and name not in ("progress", "seed", "period", "schedule") or (call, name) in {
        ("Graph", "num_nodes"), ("Graph", "node_names"), ("GAT", "out_channels"), ("GAT", "heads"), ("GAT", "activation"), ("GAT", "dropout"), ("GAT", "residual"), ("GAT()", "x_dst"), ("GAT()", "edge_weight"),
        ("GAT()", "edge_bias"), ("GAT()", "out"), ("Model", "edge_weight"), ("Model", "edge_attr"), ("Data", "x"), ("Data", "y"), ("Data", "edge_weight"), ("Data", "edge_attr"), ("Data", "num_nodes")}


@pytest.mark.parametrize("call, name", [(call, name) for call, (_, arguments) in CALLS.items() for name in arguments], ids=lambda v: v)
def test_arguments(call, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function, arguments = CALLS[call]
    taken, unnamed = set(), []
    for word, value in values().items():
        problem = tried(function, arguments, name, value)
        if problem is None:
            taken.add(word)
        elif not any(part in str(problem) for part in [name, "closed", *OTHER_NAMES.get(name, ())]):
            unnamed.append(f"{word}: {type(problem).__name__}: {problem}")
    assert not unnamed
    assert taken == TAKEN.get((call, name), set()) | ({"None"} if default(call, name) else set())


# ---- what is obeyed, and what arrays become ----


LAYOUTS = [np.asfortranarray, lambda a: a.astype(">f8"), lambda a: a.astype(np.float16), lambda a: a[::-1].copy()[::-1], lambda a: np.repeat(a, 2, 1)[:, ::2], lambda a: np.broadcast_to(a, (3, *a.shape))[1],
           lambda a: np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(np.float32).reshape(a.shape), lambda a: a.astype(np.longdouble), lambda a: np.array(a, copy=True, subok=True).view(np.matrix)]


@pytest.mark.parametrize("change", LAYOUTS)
def test_arrays_of_any_layout(change):
    """Of every argument that is a matrix; read-only ones are read where they are."""
    x = (np.arange(24).reshape(4, 6) % 7 - 3).astype(np.float32)
    e = (np.arange(10).reshape(5, 2) % 5).astype(np.float32)
    layer, graph = libgnn.GAT(6, 3, edge_dim=2), libgnn.Graph(EDGES)
    want = layer(graph, x, x_dst=x, edge_attr=e)
    others = [change(x), change(x), change(e)]
    for a in others:
        a.flags.writeable = False
    assert np.array_equal(layer(graph, others[0], x_dst=others[1], edge_attr=others[2]), want)
    net = model()
    assert np.array_equal(net.predict(graph, others[0]), net.predict(graph, x))
    assert np.array_equal(libgnn.Data(EDGES, x=others[0], edge_attr=others[2]).x, x)
    other = libgnn.GCN(6, 6)
    other.load_parameters({**other.parameters(), "value.weight": change(np.resize(x, (6, 6)))})
    assert np.array_equal(other.parameters()["value.weight"], np.resize(x, (6, 6)))


def test_values_that_do_not_fit():
    graph, wide = libgnn.Graph(EDGES), X.astype(float)
    wide[2, 3] = 1e39
    for call in (lambda: libgnn.GCN(6, 2)(graph, wide), lambda: model().predict(graph, wide), lambda: libgnn.Data(EDGES, x=wide)):
        with pytest.raises(ValueError, match="x has a number that float32 cannot hold"):
            call()
    wide[2, 3] = np.inf  # is one in float32 as well
    assert np.isnan(libgnn.GAT(6, 2)(graph, wide)).any()


def test_an_output_over_an_input():
    layer, graph, x = libgnn.GCN(6, 6), libgnn.Graph(EDGES), X.copy()
    for out in (x, x[:]):
        with pytest.raises(ValueError, match="out shares memory"):
            layer(graph, x, out=out)
    for wrong in (np.empty((4, 6)), np.empty((4, 5), np.float32), np.empty((6, 4), np.float32).T, memoryview(x)):
        with pytest.raises(ValueError, match="out"):
            layer(graph, x, out=wrong)
    out = np.empty((4, 6), np.float32)
    assert layer(graph, x, out=out) is out and np.array_equal(out, layer(graph, x))


def test_edge_values_of_several_columns():
    """The first column alone would be read."""
    for call in (lambda: libgnn.Data(EDGES, x=X, edge_weight=np.ones((5, 2))), lambda: libgnn.GCN(6, 2)(libgnn.Graph(EDGES), X, edge_weight=np.ones((5, 2)))):
        with pytest.raises(ValueError, match="edge_weight"):
            call()
    with pytest.raises(ValueError, match="edge_attr is given"):
        libgnn.GCN(6, 2)(libgnn.Graph(EDGES), X, edge_attr=np.ones((5, 2)))
    with pytest.raises(TypeError, match="edge_attr is missing"):
        libgnn.GAT(6, 2, edge_dim=2)(libgnn.Graph(EDGES), X)


def test_settings_of_any_number():
    a = libgnn.GAT(np.int16(6), np.uint8(3), heads=np.array(2), dropout=np.float16(0.5))
    assert a.width == 6 and pickle.loads(pickle.dumps(a)).width == 6
    with pytest.raises(TypeError, match="preset"):
        libgnn.GAT(6, 3, preset="GCN")
    assert libgnn.Layer(6, 3, preset="gcn").width == 3
    known = libgnn.fields()
    known.clear()
    assert libgnn.fields() and libgnn.GAT(6, 3, heads=2).width == 6


def test_lists_of_any_kind():
    assert repr(libgnn.Model(layer for layer in (libgnn.GCN(6, 4), libgnn.GCN(4, 2)))).startswith("Model(2")
    with pytest.raises(TypeError, match="layers"):
        libgnn.Model(libgnn.GCN(6, 2))
    lengths = np.array([2, 3])
    graph = libgnn.Graph.complete(lengths)
    lengths[:] = 7
    assert pickle.loads(pickle.dumps(graph)).num_nodes == 5


def test_copies_of_layers_that_no_call_has_drawn():
    layer, graph = libgnn.GAT(6, 3), libgnn.Graph(EDGES)
    for made in (copy.copy(layer), copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert np.array_equal(made(graph, X), layer(graph, X))


def test_use_after_close_and_after_copies():
    net, graph, layer = model(), libgnn.Graph(EDGES), libgnn.GAT(6, 2)
    blob = pickle.dumps((net, graph, layer))
    for thing in (net, graph, layer):
        thing.close()
        thing.close()
        assert "closed" in repr(thing)
        for call in (copy.deepcopy, pickle.dumps):
            with pytest.raises(ValueError, match="closed"):
                call(thing)
    net, graph, layer = pickle.loads(blob)
    assert net.predict(graph, X).shape == (4, 2) and layer(graph, X).shape == (4, 2)
    with pytest.raises(ValueError, match="closed"):
        libgnn.Model([libgnn.GCN(6, 2)]).fit(closed(data()))


def test_scipy_matrices_of_any_values():
    sparse = pytest.importorskip("scipy.sparse")
    pairs = (np.array([0, 2]), np.array([1, 0]))
    with pytest.raises(TypeError, match="edge_index"):
        libgnn.Graph(sparse.coo_matrix((np.array([1j, 2]), pairs), shape=(3, 3)))
    with pytest.raises(ValueError, match="edge_index"):
        libgnn.Graph(sparse.coo_matrix((np.array([1e300, 2]), pairs), shape=(3, 3)))
    assert libgnn.Graph(sparse.coo_matrix((np.array([3, 2]), pairs), shape=(3, 3))).edge_weight.tolist() == [3, 2]


def test_tables_of_pandas():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"from": ["ann", "bob", "cy"], "to": ["bob", "cy", "dee"], "weight": [1.0, 2.0, 3.0]})
    graph = libgnn.Graph(table[["from", "to"]])
    assert graph.num_nodes == 4 and sorted(graph.node_names) == ["ann", "bob", "cy", "dee"]
    named = [[graph.node_names[k] for k in side] for side in graph.edge_index]
    assert named == [table["from"].tolist(), table["to"].tolist()]
    assert pickle.loads(pickle.dumps(graph)).node_names == graph.node_names and "dee" in graph.draw()
    ids = pandas.DataFrame({"a": [3, 1], "b": [0, 2]})
    for made in (ids, ids.convert_dtypes(), ids.astype("uint8")):
        graph = libgnn.Graph(made, 5)
        assert graph.num_nodes == 5 and graph.edge_index.tolist() == [[3, 1], [0, 2]] and graph.node_names is None
    assert libgnn.Graph(pandas.DataFrame({"a": [3, None, 1], "b": [0, 1, 2]}).dropna()).edge_index.tolist() == [[3, 1], [0, 2]]
    with pytest.raises(ValueError, match="1.5 in column 'a'"):
        libgnn.Graph(pandas.DataFrame({"a": [1.5, 1], "b": [0, 2]}))
    people = pandas.DataFrame({"name": ["dee", "eve", "cy", "bob", "ann"], "age": [1.0, 2.0, 3.0, 4.0, 5.0], "team": ["x", "y", "x", "y", None]})
    graph = libgnn.Graph(table[["from", "to"]], node_names=people["name"], undirected=True)
    assert graph.node_names == people["name"].tolist() and graph.num_edges == 6 and graph.num_nodes == 5
    assert sorted(map(tuple, graph.edge_index.T.tolist())) == [(0, 2), (2, 0), (2, 3), (3, 2), (3, 4), (4, 3)]
    data = libgnn.Data(graph, x=people[["age"]], y=pandas.factorize(people["team"])[0])
    assert np.array_equal(data.edge_index, graph.edge_index) and data.y.tolist() == [0, 1, 0, 1, -1] and data.x[:, 0].tolist() == people["age"].tolist()
    with pytest.raises(TypeError, match="x is .*'name' is"):
        libgnn.Data(graph, x=people)
    with pytest.raises(TypeError, match="factorize"):
        libgnn.Data(graph, x=people[["age"]], y=people["team"])
    with pytest.raises(ValueError, match="'ann'"):
        libgnn.Graph(table[["from", "to"]], node_names=["bob", "cy", "dee"])
    with pytest.raises(ValueError, match="twice"):
        libgnn.Graph(table[["from", "to"]], node_names=["bob", "cy", "dee", "ann", "cy"])
    with pytest.raises(ValueError, match="two columns"):
        libgnn.Graph(table)
    with pytest.raises(ValueError, match="missing"):
        libgnn.Graph(pandas.DataFrame({"a": ["x", None], "b": ["y", "z"]}))
    mixed = pandas.DataFrame({"age": [3, 1, 4, 1], "paid": [True, False, True, True], "share": [0.5, 0.25, 0.0, 1.0]})
    for made in (mixed, mixed.convert_dtypes(), mixed.astype({"paid": "boolean", "age": "Int8"})):
        assert np.array_equal(libgnn.Data(EDGES, x=made).x, mixed.to_numpy(float))
        assert libgnn.Data(EDGES, x=made, y=made["age"]).y.tolist() == [3, 1, 4, 1]
    with pytest.raises(TypeError, match="y must be integers.*factorize"):
        libgnn.Data(EDGES, x=mixed, y=pandas.Series([1, 2, None, 0], dtype="Int64"))
    with pytest.raises((TypeError, ValueError), match="x"):
        libgnn.Data(EDGES, x=pandas.DataFrame({"a": pandas.Series([1, 2, None, 0], dtype="Int64")}))
    for odd in (pandas.to_datetime(["2020-01-01"] * 4), pandas.Categorical(list("abab")), list("abab")):
        with pytest.raises(TypeError, match="x is .*'odd' is"):
            libgnn.Data(EDGES, x=mixed.assign(odd=odd))
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    assert np.array_equal(libgnn.GCN(6, 2)(libgnn.Graph(EDGES), frame).shape, (4, 2))


def test_edges_both_ways():
    assert libgnn.Graph([[0, 1, 1, 2], [1, 0, 2, 2]], undirected=True).edge_index.tolist() == [[0, 1, 1, 2, 2], [1, 0, 2, 1, 2]]
    with pytest.raises(ValueError, match="undirected"):
        libgnn.Graph([[0], [1]], (1, 2), undirected=True)
    for wrong in (libgnn.Graph.complete(4), libgnn.Graph(EDGES, 5), libgnn.Graph([[0], [1]], (4, 2))):
        with pytest.raises(ValueError, match="edge_index|x must"):
            libgnn.Data(wrong, x=X)


def test_texts(minilm):
    encoder = libgnn.SentenceEncoder(pathlib.Path(minilm))
    texts = ["a", "b"]
    want = encoder.encode(texts)
    pandas_like = np.array(texts)
    for given in (tuple(texts), iter(texts), (t for t in texts), pandas_like, np.array(texts, object)):
        assert np.allclose(encoder.encode(given), want, atol=1e-6)
    for wrong in (b"a", {"a": 1}, {"a"}, 3, None, [b"a"], ["a", 1], np.array("a"), np.array([["a", "b"]])):
        with pytest.raises(TypeError, match="sentences"):
            encoder.encode(wrong)
    with pytest.raises(ValueError, match=r"sentences\[1\] is no text"):
        encoder.encode(["a", "\ud800"], batch_size=1)
    for name, wrong in {"normalize_embeddings": "no", "convert_to_numpy": 1, "convert_to_tensor": None, "show_progress_bar": "yes", "batch_size": 0, "truncate_dim": -1, "prompt": 3, "prompt_name": 3}.items():
        with pytest.raises((TypeError, ValueError), match=name):
            encoder.encode(texts, **{name: wrong})
    for name, wrong in {"batch_size": 1.5, "truncate_dim": 0, "prompt": b"x"}.items():
        with pytest.raises((TypeError, ValueError), match=name):
            encoder.encode(texts, **{name: wrong})
    encoder.prompts["x"] = "y"
    assert "x" not in encoder.prompts
    for wrong in ("a\0b", "\ud800", b"a", 3):
        with pytest.raises((TypeError, ValueError), match="text"):
            encoder.attention(wrong)
    with pytest.raises(TypeError, match="special"):
        encoder.attention("a", special="no")
    made = encoder.attention("a b")
    for layer, head in ((-1, 0), (0, -1), (1.5, 0), (99, 0), ("a", 0)):
        with pytest.raises((TypeError, ValueError), match="layer|head"):
            made.mean(layer, head)
    for first, second in (([[1, 2], [3]], want), (want, "a"), (None, want), (want[:, :5], want)):
        with pytest.raises((TypeError, ValueError)):
            encoder.similarity(first, second)
    assert encoder.similarity(want[0], want).shape == (1, 2)
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"title": texts, "body": texts})
    assert np.allclose(encoder.encode(table["title"]), want, atol=1e-6)
    with pytest.raises(TypeError, match="sentences"):
        encoder.encode(table)  # its elements are the names of columns
    torch = pytest.importorskip("torch")
    assert np.allclose(encoder.encode(texts, device=torch.device("cpu")), want, atol=1e-6)
