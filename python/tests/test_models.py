import copy
import gc
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

import libgnn

EDGES = np.array([[0, 1, 2, 3, 3], [1, 2, 3, 0, 1]])
GRAPH = libgnn.Graph(EDGES, 4)
X = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)


def gcn(weight, bias, edges, x):
    """Kipf and Welling's layer, in NumPy."""
    a = np.eye(len(x))
    np.add.at(a, (edges[1], edges[0]), 1)
    d = a.sum(1) ** -0.5
    return d[:, None] * a * d @ (x @ weight) + bias


def test_gcn_is_what_numpy_computes():
    layer = libgnn.GCN(6, 3)
    values = layer.parameters()
    values["out.bias"] += 1
    layer.load_parameters(values)
    assert np.allclose(layer(GRAPH, X), gcn(values["value.weight"], values["out.bias"], EDGES, X.astype(float)), atol=1e-5)


@pytest.mark.parametrize("make", [lambda x: x.astype(np.float64), np.asfortranarray, lambda x: np.repeat(x, 2, 1)[:, ::2], lambda x: np.repeat(x, 3, 0)[::3], lambda x: x.tolist(),
                                  lambda x: np.hstack([x, x])[:, :6], lambda x: x[::-1][::-1], memoryview, lambda x: x.astype(">f4")])
def test_features_of_all_layouts(make):
    layer = libgnn.GAT(6, 3, heads=2)
    assert np.array_equal(layer(GRAPH, make(X)), layer(GRAPH, X))


def test_no_copy_of_a_strided_matrix():
    from libgnn import _arrays
    wide = np.zeros((5, 9), np.float32)
    made = _arrays.reals(wide[:, 2:7], "x")
    assert made.base is wide and _arrays.tensor(made).stride == 9


@pytest.mark.parametrize("x, kind", [(X[:, :5], ValueError), (X[:3], ValueError), (X[0], ValueError), (X.astype(complex), TypeError), (X.astype(str), TypeError), ([[object()] * 6] * 4, TypeError),
                                     (None, TypeError), (np.zeros((4, 6), "M8[s]"), TypeError)])
def test_wrong_features(x, kind):
    with pytest.raises(kind):
        libgnn.GCN(6, 3)(GRAPH, x)


@pytest.mark.parametrize("preset", libgnn.presets())
def test_zero_is_no_default(preset):
    """A real setting of 0 is what a setting next to 0 is, and not its default."""
    def output(**setting):
        layer = getattr(libgnn, preset)(6, 6, **setting)
        layer.load_parameters({name: np.resize(np.linspace(-1, 1, 101), a.shape) for name, a in layer.parameters().items()})
        return layer(GRAPH, X)
    for name, (kind, _, _) in libgnn.fields().items():
        if kind == "real" and name != "softcap":  # of which 0 is none
            try:
                want = output(**{name: 1e-20})
            except (libgnn.Error, ValueError):  # out of range, or nothing reads it
                continue
            assert np.allclose(output(**{name: 0.0}), want, atol=1e-5, equal_nan=True), name


def test_unknown_arguments_are_named():
    with pytest.raises(TypeError, match="haeds"):
        libgnn.GAT(6, 3, haeds=2)
    with pytest.raises(TypeError, match="in_channels"):
        libgnn.GAT(6, 3, **{"in": 2})
    with pytest.raises(TypeError, match="learning_rate.*lr"):
        libgnn.Model([libgnn.GCN(34, 2)]).fit(libgnn.Data.karate(), learning_rate=1)
    with pytest.raises(KeyError, match="relu"):
        libgnn.GCN(6, 3, activation="rleu")
    with pytest.raises(TypeError, match="heads"):
        libgnn.GAT(6, 3, heads=True)
    for value in (-1, 0.5, "many", [1, 2]):
        with pytest.raises((ValueError, TypeError)):
            libgnn.GAT(6, 3, heads=value)


@pytest.mark.parametrize("settings, words", [({"prior_0": "table", "prior_0_options": [1.5]}, "table: option buckets is 1.5, expected an integer"), ({"map": "rope", "map_options": [0, 0, 0, 0.5]}, "rope: option adjacent is 0.5"),
                                             ({"weigher": "top", "weigher_options": [2.5]}, "top: option count is 2.5"), ({"weigher": "top", "weigher_options": [2, 1]}, "top: option 2 is 1, expected at most 1")])
def test_wrong_options_are_named(settings, words):
    with pytest.raises(ValueError, match=words):
        libgnn.TRANSFORMER_CONV(8, 8, heads=2, **settings)


@pytest.mark.parametrize("settings", [{"epochs": 0}, {"epochs": 1.5}, {"lr": "much"}, {"lr": -1}, {"optimizer": "adamm"}, {"metric": "accurracy"}, {"epochs": True}, {"resume": 1}, {"split": 9},
                                      {"epochs": -3}, {"loss": "hinge"}, {"class_weight": [1, 2, 3]}])
def test_wrong_settings_of_a_training(settings):
    with pytest.raises((ValueError, TypeError)):
        libgnn.Model([libgnn.GCN(34, 2)]).fit(libgnn.Data.karate(), **settings)


def model():
    libgnn.set_seed(3)
    return libgnn.Model([libgnn.GAT(34, 8, heads=4, activation="elu"), libgnn.GAT(32, 2)])


def test_training(karate, tmp_path):
    net = model()
    seen = []
    result = net.fit(karate, lr=0.01, epochs=30, weight_decay=5e-4, optimizer="adamw", schedule="cosine", period=30, callback=lambda state: seen.append(state["epoch"]))
    assert result.epochs == 30 == len(seen) and net.evaluate(karate) >= 0.8
    y = net.predict(karate)
    graph = libgnn.Graph(karate.edge_index, 34)
    assert np.allclose(net.predict(graph, np.eye(34)), y, atol=1e-6)
    net.save(tmp_path / "model.safetensors")
    for other in (libgnn.Model.load(tmp_path / "model.safetensors"), copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert np.array_equal(other.predict(karate), y)
    fresh = libgnn.Model([libgnn.GAT(34, 8, heads=4, activation="elu"), libgnn.GAT(32, 2)])
    fresh.load_state_dict(net.state_dict())
    assert np.array_equal(fresh.predict(karate), y)
    with pytest.raises(KeyError):
        fresh.load_state_dict({})


def test_callback_ends_a_training(karate):
    assert model().fit(karate, epochs=100, callback=lambda state: state["epoch"] == 5).epochs == 5

    def fails(state):
        raise RuntimeError("mine")
    with pytest.raises(RuntimeError, match="mine"):
        model().fit(karate, callback=fails)


def test_interrupt_leaves_the_best_model(karate):
    net = model()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        net.fit(karate, epochs=200_000, lr=0.01)
    assert net.evaluate(karate) >= 0.8


def test_data_of_arrays():
    x, y = X, np.array([0, 1, 0, -1])
    masks = np.eye(4, dtype=bool)[:3]
    data = libgnn.Data(EDGES, x=x, y=y, train_mask=masks[0], val_mask=masks[1], test_mask=masks[2])
    assert (data.num_nodes, data.num_features, data.num_classes) == (4, 6, 2)
    assert np.array_equal(data.x, x) and np.array_equal(data.y, y) and np.array_equal(data.mask("test"), masks[2])
    assert np.array_equal(data.edge_index, EDGES)
    for wrong in ({"y": y[:3]}, {"y": y * 0.5}, {"train_mask": masks[0]}, {"x": x[:, 0]}, {"edge_weight": [1.0]}, {"x": x * np.nan}):
        with pytest.raises((ValueError, TypeError)):
            libgnn.Data(EDGES, **{"x": x, "y": y, **wrong})
    with pytest.raises(TypeError, match="num_nodes"):
        libgnn.Data(EDGES)
    with pytest.raises(TypeError):
        pickle.dumps(data)


def test_values_on_edges_of_a_set():
    """A model reads them, is told to leave them out, or refuses them: none is passed over."""
    weight, features = np.array([0.5, 2, 1, 3, 0.25]), np.arange(10).reshape(5, 2) / 10
    masks = dict(zip(("train_mask", "val_mask", "test_mask"), np.eye(4, dtype=bool)[:3]))
    plain, weighted, featured = (libgnn.Data(EDGES, x=X, y=[0, 1, 0, 1], **masks, **more) for more in ({}, {"edge_weight": weight}, {"edge_attr": features}))
    assert plain.edge_weight is None and plain.edge_attr is None
    assert np.array_equal(weighted.edge_weight, weight.astype(np.float32)) and np.allclose(featured.edge_attr, features)
    layers = [libgnn.GCN(6, 4), libgnn.GCN(4, 2)]
    net = libgnn.Model(layers, edge_weight=True)
    graph, one = libgnn.Graph(EDGES), libgnn.GCN(6, 4)
    one.load_parameters({name[2:]: a for name, a in net.state_dict().items() if name.startswith("0.")})
    two = libgnn.GCN(4, 2)
    two.load_parameters({name[2:]: a for name, a in net.state_dict().items() if name.startswith("1.")})
    want = two(graph, one(graph, X, edge_weight=weight), edge_weight=weight)
    assert np.allclose(net.predict(weighted), want, atol=1e-6) and np.allclose(net.predict(graph, X, edge_weight=weight), want, atol=1e-6)
    for copied in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert np.array_equal(copied.predict(weighted), net.predict(weighted))
    assert not np.allclose(want, two(graph, one(graph, X)), atol=1e-3)
    net.fit(weighted, epochs=3)
    edged = libgnn.Model([libgnn.GAT(6, 2, edge_dim=2)])
    first = edged.predict(featured)
    assert np.array_equal(first, edged.predict(graph, X, edge_attr=features)) and not np.array_equal(first, edged.predict(graph, X, edge_attr=1 - features))
    edged.fit(featured, epochs=3)
    for call in (lambda m, d: m.predict(d), lambda m, d: m.fit(d, epochs=1), lambda m, d: m.evaluate(d)):
        with pytest.raises(ValueError, match="edge_weight is given.*edge_weight=True"):
            call(libgnn.Model(layers), weighted)
        with pytest.raises(ValueError, match="edge_attr is given.*edge_dim"):
            call(libgnn.Model(layers), featured)
        with pytest.raises(ValueError, match="edge_weight is missing"):
            call(net, plain)
        with pytest.raises(ValueError, match="edge_attr is missing"):
            call(edged, plain)
        call(libgnn.Model(layers, edge_weight=False), weighted)
        call(libgnn.Model(layers, edge_attr=False), featured)
    left = libgnn.Model(layers, edge_weight=False)
    assert np.array_equal(left.predict(weighted), left.predict(plain)) and np.array_equal(pickle.loads(pickle.dumps(left)).predict(weighted), left.predict(plain))
    with pytest.raises(ValueError, match="edge_weight is given"):
        pickle.loads(pickle.dumps(libgnn.Model(layers))).predict(weighted)
    for wrong, word in (({"edge_weight": weight[:4]}, "edge_weight must"), ({"edge_weight": features}, "edge_weight must"), ({"edge_weight": weight, "edge_attr": features}, "edge_attr is given"), ({}, "edge_weight is missing")):
        with pytest.raises(ValueError, match=word):
            net.predict(graph, X, **wrong)
    with pytest.raises(TypeError, match="edge_weight is given with a Graph"):
        net.predict(weighted, edge_weight=weight)
    with pytest.raises(TypeError, match="edge_attr=True, and no layer"):
        libgnn.Model(layers, edge_attr=True)


def test_nodes_in_several_parts(tmp_path):
    part = [True, True, False, False]
    with pytest.warns(UserWarning, match="2 of 4 nodes are in several") as seen:
        data = libgnn.Data(EDGES, x=X, y=[0, 1, 0, 1], train_mask=part, val_mask=[False, False, True, False], test_mask=part)
    assert seen[0].filename == __file__
    data.save(tmp_path / "several.npz")
    with pytest.warns(UserWarning, match="2 of 4 nodes are in several") as seen:
        libgnn.Data.open(tmp_path / "several.npz")
    assert seen[0].filename == __file__


def test_views_keep_the_memory():
    data = libgnn.Data.karate()
    y = data.y
    with pytest.raises(BufferError):
        data.close()
    with pytest.raises(ValueError):
        y[0] = 1
    del data
    gc.collect()
    assert set(y.tolist()) == {0, 1}


def test_files(tmp_path, karate):
    karate.save(tmp_path / "k.npz")
    assert libgnn.Data.open(str(tmp_path / "k.npz")).num_nodes == 34
    with pytest.raises(OSError):
        libgnn.Data.open("nosuch.npz")
    with pytest.raises(OSError):
        libgnn.Model.load("nosuch.safetensors")
    (tmp_path / "wrong.safetensors").write_bytes(b"no model")
    with pytest.raises(ValueError, match="wrong.safetensors"):
        libgnn.Model.load(tmp_path / "wrong.safetensors")


def test_closed(karate):
    net = model()
    with net:
        pass
    for call in (net.state_dict, lambda: net.predict(karate), lambda: net.fit(karate), lambda: net.save("x")):
        with pytest.raises(ValueError, match="closed"):
            call()
    with libgnn.Data.karate() as data:
        pass
    with pytest.raises(ValueError, match="closed"):
        data.y


def test_threads_share_a_layer_and_a_graph():
    layers, graph, wrong = [libgnn.GAT(6, 3), libgnn.GCN(6, 3), libgnn.SAGE(6, 3)], libgnn.Graph(EDGES, 4), []
    want = [layer(libgnn.Graph(EDGES, 4), X) for layer in layers]

    def work(k):
        for _ in range(200):
            if not np.array_equal(layers[k % 3](graph, X), want[k % 3]):
                wrong.append(k)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_fork():
    layer = libgnn.GAT(6, 3)
    want = layer(GRAPH, X)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(layer(GRAPH, X), want) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_other_threads_run_during_a_call():
    """The interpreter's lock is free while the library works."""
    n = 3000
    graph, layer, x = libgnn.Graph.complete(n), libgnn.TRANSFORMER(64, heads=4), np.ones((n, 64), np.float32)
    ticks, over = [], threading.Event()

    def tick():
        while not over.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)
    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    layer(graph, x)
    stop = time.perf_counter()
    over.set()
    thread.join()
    assert sum(start < t < stop for t in ticks) >= 3


@pytest.mark.skipif("GNN_SANITIZED" in os.environ, reason="the address sanitizer keeps freed memory")
def test_memory_stays_flat(karate):
    def size():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    def once():
        graph = libgnn.Graph(EDGES, 4)
        libgnn.GAT(6, 30)(graph, X)
        libgnn.Model([libgnn.GCN(34, 64), libgnn.GCN(64, 2)]).predict(karate)
    for _ in range(300):
        once()
    before = size()
    for _ in range(2000):
        once()
    assert size() - before < 4 << 20


def test_deterministic_products():
    """Of a layer whose products are large: the same bits with one and with two threads."""
    graph, x, made = libgnn.Graph.complete(900), np.random.default_rng(0).standard_normal((900, 64)).astype(np.float32), []
    libgnn.set_seed(5)
    libgnn.set_deterministic(True)
    try:
        for count in (1, 2):
            libgnn.set_threads(count)
            made.append(libgnn.TRANSFORMER(64, heads=4)(graph, x))
    finally:
        libgnn.set_deterministic(False)
        libgnn.set_threads(0)
        libgnn.set_seed(0)
    assert np.array_equal(*made)


def test_threads_are_checked():
    for count in (-1, 5000):
        with pytest.raises(ValueError):
            libgnn.set_threads(count)
    with pytest.raises(ValueError):
        libgnn.set_seed(-1)
