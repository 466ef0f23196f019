"""onnx.export(): onnxruntime gives the library's values, or the entry is refused by name."""
import ctypes
import itertools

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

import libgnn  # noqa: E402
from libgnn._library import check, lib, struct  # noqa: E402
from libgnn._objects import context  # noqa: E402
from libgnn.layers import config_of  # noqa: E402

rng = np.random.default_rng(0)
N, M, D = 23, 80, 6
EDGES = rng.integers(0, N - 2, (2, M))  # two nodes without edges, some loops, some parallel edges
X = rng.standard_normal((N, D)).astype(np.float32)
E = rng.standard_normal((M, 3)).astype(np.float32)
WEIGHT = rng.uniform(0.2, 1.5, (M, 1)).astype(np.float32)
BATCH = np.sort(rng.integers(0, 4, N))
BATCH[:4] = range(4)
BATCH.sort()
LENGTHS = np.bincount(BATCH)


def session(model, tmp_path, **how):
    path = tmp_path / "m.onnx"
    made = libgnn.onnx.export(model, path, **how)
    assert {n.domain for n in made.graph.node} == {""}
    return ort.InferenceSession(str(path))


def run(model, tmp_path, feed, **how):
    s = session(model, tmp_path, **how)
    return s.run(None, {i.name: feed[i.name] for i in s.get_inputs()})[0]


def close(ours, theirs):
    return ours.shape == theirs.shape and np.abs(ours - theirs).max() <= 1e-5 * max(1.0, np.abs(theirs).max())


def drawn(layer):
    """A layer none of whose parameters is 0."""
    layer.load_parameters({name: rng.uniform(0.2, 0.6, a.shape) * rng.choice([-1, 1], a.shape) if a.size > 1 else a for name, a in layer.parameters().items()})
    return layer


# ---- layers on edges ----

PRESETS = {
    "GCN": {}, "SAGE": {}, "GIN": {}, "GAT": {"heads": 3}, "GATV2": {"heads": 2}, "TRANSFORMER_CONV": {"heads": 2}, "RESGATED": {}, "GATED_GRAPH": {"out": 6}, "TRANSFORMER": {"heads": 2, "out": 6},
    "GINE": {"edge_dim": 3},
}
MORE = [("GAT", {"heads": 2, "combine": "average", "residual": True, "out": 6}), ("GAT", {"edge_dim": 3, "heads": 2}), ("GATV2", {"edge_dim": 3, "heads": 2, "share_weights": True}),
        ("TRANSFORMER_CONV", {"heads": 2, "update": "beta", "edge_dim": 3, "message": "linear_edge"}), ("RESGATED", {"edge_dim": 3}), ("SAGE", {"aggregator": "max"}), ("SAGE", {"aggregator": "min"}),
        ("SAGE", {"aggregator": "std"}), ("SAGE", {"aggregator": "var"}), ("SAGE", {"aggregator": "softmax_mean"}), ("SAGE", {"aggregator": "sum", "norm": "l2"}),
        ("GIN", {"learn_eps": True, "norm": "layer", "hidden_activation": "gelu"}), ("GCN", {"loop_weight": 2.0}), ("GCN", {"graph_norm": "row"}),
        ("GCN", {"norm": "batch"}), ("GCN", {"norm": "rms", "norm_position": "before", "activation": "silu"}), ("TRANSFORMER", {"heads": 2, "out": 6, "update": "gated", "norm_position": "before"}),
        ("TRANSFORMER_CONV", {"heads": 4, "key_heads": 2, "value_heads": 2, "d_k": 5, "qk_norm": True}), ("TRANSFORMER_CONV", {"heads": 2, "softcap": 0.7}),
        ("TRANSFORMER_CONV", {"heads": 2, "weigher": "softmax_sink"}), ("TRANSFORMER_CONV", {"heads": 2, "weigher": "sigmoid"}), ("TRANSFORMER_CONV", {"heads": 2, "weigher": "linear"}),
        ("TRANSFORMER_CONV", {"heads": 2, "weigher": "ratio", "map": "elu1"}), ("TRANSFORMER_CONV", {"heads": 2, "map": "l2"}), ("TRANSFORMER_CONV", {"heads": 2, "score": "additive_tanh"})]
MORE += [("GCN", {"activation": a}) for a in ("relu", "leaky_relu", "elu", "gelu", "gelu_tanh", "tanh", "sigmoid", "softplus")]


def made(preset, settings):
    settings = dict(settings)
    return drawn(getattr(libgnn, preset)(D, settings.pop("out", 4), **settings))


@pytest.mark.parametrize("preset, settings", [*PRESETS.items(), *MORE], ids=lambda v: v if isinstance(v, str) else "-".join(f"{k}={x}" for k, x in v.items()))
def test_layers(preset, settings, tmp_path):
    layer = made(preset, settings)
    edge_attr = E if settings.get("edge_dim") else None
    y = layer(libgnn.Graph(EDGES, N), X, edge_attr=edge_attr)
    assert close(run(layer, tmp_path, {"x": X, "edge_index": EDGES, "edge_attr": E}), y)


def test_all_presets_are_tested():
    assert set(PRESETS) == set(libgnn.presets())


@pytest.mark.parametrize("preset", ["GCN", "SAGE", "GAT", "TRANSFORMER_CONV"])
def test_values_on_edges(preset, tmp_path):
    layer, values = made(preset, {}), {"x": X, "edge_index": EDGES, "edge_weight": WEIGHT, "edge_bias": WEIGHT}
    y = layer(libgnn.Graph(EDGES, N), X, edge_weight=WEIGHT)
    assert close(run(layer, tmp_path, values, values=("edge_weight",)), y)
    if preset in ("GAT", "TRANSFORMER_CONV"):
        y = layer(libgnn.Graph(EDGES, N), X, edge_weight=WEIGHT, edge_bias=WEIGHT)
        assert close(run(layer, tmp_path, values, values=("edge_weight", "edge_bias")), y)


def test_counts_stay_open(tmp_path):
    model = libgnn.Model([libgnn.GAT(D, 4, heads=2, activation="elu"), libgnn.GCN(8, 3)])
    s = session(model, tmp_path)
    for n, m in ((N, M), (1, 0), (7, 100), (300, 5)):
        edges, x = rng.integers(0, n, (2, m)), rng.standard_normal((n, D)).astype(np.float32)
        assert close(s.run(None, {"x": x, "edge_index": edges})[0], model.predict(libgnn.Graph(edges, n), x))


# ---- attention on segments ----

SEQUENCES = [{}, {"norm_position": "before", "update": "gated"}, {"map": "rope"}, {"map": "rope", "map_options": [1000, 2, 1, 1]}, {"prior_0": "slope"}, {"prior_0": "slope_absolute"}, {"prior_0": "table"},
             {"prior_0": "table", "prior_0_options": [16, 2, 20]}, {"prior_0": "keys"}, {"prior_0": "sender_keys"}, {"score": "additive_v2"}, {"weigher": "softmax_sink"}, {"key_heads": 1, "value_heads": 1}]


@pytest.mark.parametrize("settings", SEQUENCES, ids=lambda v: "-".join(map(str, v)) or "plain")
@pytest.mark.parametrize("kind", ["complete", "causal"])
def test_attention_on_segments(settings, kind, tmp_path):
    layer = drawn(libgnn.TRANSFORMER(D, heads=3 if "key_heads" in settings else 1 if "rope" in settings.values() else 2, **settings))
    y = layer(libgnn.Graph.topology(kind, LENGTHS), X)
    assert close(run(layer, tmp_path, {"x": X, "batch": BATCH}, graphs=[kind]), y)
    if settings:
        return
    assert close(run(layer, tmp_path, {"x": X}, graphs=[kind + ":all"]), layer(libgnn.Graph.topology(kind, [N]), X))
    kinds = [n.op_type for n in libgnn.onnx.export(layer, tmp_path / "m.onnx", graphs=[kind]).graph.node]
    assert kinds.count("Softmax") == 1 and "ScatterElements" not in kinds  # the standard pattern


# ---- blocks ----

class Steps(libgnn.Model):
    """A model of one block over the input "x"."""

    def __init__(self, block, settings):
        steps, model = ctypes.c_void_p(), ctypes.c_void_p()
        check(lib.gnn_steps_new(ctypes.byref(steps)))
        how, kept = struct("gnn_block_t")(name=b"block", input=b"x"), []
        for name, value in settings.items():
            if name == "layer":
                preset, fields = value
                how.layer = config_of(preset, fields.pop("in_"), fields.pop("out", None), fields)
            elif name == "aggregators":
                for k, word in enumerate(value):
                    how.aggregators[k] = lib.gnn_aggregator_find(word.encode())
            else:
                setattr(how, name, value.encode() if isinstance(value, str) else value)
        lib.gnn_steps_block(steps, block.encode(), ctypes.byref(how))
        context_ = context()
        code = lib.gnn_model_build(ctypes.byref(model), context_._at, steps)
        lib.gnn_steps_free(steps)
        check(code)
        self._hold(model.value, lib.gnn_model_free)

    def forward(self, graphs, values, rows):
        """The output of the library; rows: of the output."""
        tensors, named, kept = [], [], []
        at = (ctypes.c_void_p * len(graphs))(*(g._at for g in graphs))
        for k, g in enumerate(graphs):
            check(lib.gnn_model_prepare(self._at, k, g._at, 2))
        names = [lib.gnn_model_input_name(self._at, k).decode() for k in range(lib.gnn_model_input_count(self._at))]
        array = (struct("gnn_named_t") * max(len(names), 1))()
        for k, name in enumerate(names):
            array[k].name = name.encode()
            a = values[name]
            if a.dtype.kind == "i":
                ids = a.astype(np.int32)
                array[k].ids, array[k].count = ids.ctypes.data, len(ids)
                kept.append(ids)
                continue
            tensors.append(struct("gnn_tensor_t")(a.ctypes.data, *a.shape, a.shape[1]))
            array[k].dense = ctypes.addressof(tensors[-1])
        inputs = struct("gnn_model_inputs_t")(ctypes.addressof(at), len(graphs), ctypes.addressof(array), len(names))
        tape, context_ = ctypes.c_void_p(), context()
        check(lib.gnn_tape_new(ctypes.byref(tape), context_._at))
        y = lib.gnn_model_record(self._at, tape, ctypes.byref(inputs), None)
        check(lib.gnn_tape_status(tape))
        lib.gnn_tape_keep(tape, y)
        check(lib.gnn_tape_forward(tape))
        from libgnn.layers import copied
        made = copied(lib.gnn_tape_value(tape, y))
        lib.gnn_tape_free(tape)
        return made


def bipartite(receivers, senders):
    """All senders of a segment to all of its receivers."""
    made, graph = ctypes.c_void_p(), libgnn.Graph.__new__(libgnn.Graph)
    receivers, senders = receivers.astype(np.int64), senders.astype(np.int64)
    check(lib.gnn_graph_bipartite(ctypes.byref(made), 4, receivers.ctypes.data, senders.ctypes.data))
    graph._own(made.value, None)
    return graph


def graph_of(kind):
    if kind == "edges":
        return libgnn.Graph(EDGES, N)
    if kind in ("complete", "causal"):
        return libgnn.Graph.topology(kind, LENGTHS)
    if kind == "incidence":
        return libgnn.Graph(np.stack([np.arange(M), EDGES[1]]), (M, N))
    if kind.startswith("relation="):
        return libgnn.Graph(EDGES[:, TYPES == int(kind[9:])], N)
    kind, _, v = kind.partition("=")
    rows = np.full(4, int(v or 1))
    receivers, senders = {"readout": (rows, LENGTHS), "seeds": (rows, LENGTHS), "spread": (LENGTHS, rows), "among_seeds": (rows, rows), "from_seeds": (LENGTHS, rows)}[kind]
    return bipartite(receivers, senders)


TYPES = rng.integers(0, 2, M)
VALUES = {"x": X, "edge_index": EDGES, "batch": BATCH, "edges": E, "edge_weight": WEIGHT, "edge_type": TYPES, "hops": np.abs(WEIGHT), "ids_of_edges": TYPES, "memory": rng.standard_normal((N, D)).astype(np.float32), "ids": rng.integers(0, 3, N)}
PLAIN = {"width": D}
BLOCKS = {
    "appnp": ({"hops": 3, **PLAIN}, ["edges"]),
    "gps": ({"layer": ("GIN", {"in_": D}), "heads": 2}, ["edges", "complete"]),
    "jumping_knowledge": ({"hops": 2, "layer": ("GCN", {"in_": D})}, ["edges"]),
    "sage_project": ({"layer": ("SAGE", {"in_": D})}, ["edges"]),
    "sgc": ({"hops": 2, **PLAIN}, ["edges"]), "ssg": ({"hops": 2, **PLAIN}, ["edges"]), "lg": ({"hops": 2, **PLAIN}, ["edges"]), "tag": ({"hops": 2, **PLAIN}, ["edges"]),
    "cheb": ({"hops": 3, **PLAIN}, ["edges"]), "arma": ({"hops": 2, "rows": 2, **PLAIN}, ["edges"]), "mixhop": ({"hops": 2, **PLAIN}, ["edges"]), "le": (dict(PLAIN), ["edges"]),
    "gcn2": ({"memory": "memory", "theta": 0.5, **PLAIN}, ["edges"]), "agnn": (dict(PLAIN), ["edges"]), "gen": (dict(PLAIN), ["edges"]), "mf": ({"hops": 3, **PLAIN}, ["edges"]),
    "edgeconv": ({"hidden": 5, **PLAIN}, ["edges", "incidence"]), "film": (dict(PLAIN), ["edges", "incidence"]), "cg": ({"edges": "edges", "edge_width": 3, **PLAIN}, ["edges", "incidence"]),
    "nnconv": ({"edges": "edges", "edge_width": 3, "hidden": 4, **PLAIN}, ["edges", "incidence"]),
    "pna": ({"aggregators": ["mean", "max", "std"], "theta": 1.2, **PLAIN}, ["edges"]),
    "hop_decay": ({"heads": 2, "edges": "hops", **PLAIN}, ["edges"]),
    "gmm": ({"edges": "edges", "edge_width": 3, "rows": 2, **PLAIN}, ["edges"]),
    "rgcn": ({"hops": 2, **PLAIN}, ["relation=0", "relation=1"]),
    "graph_transformer_edges": ({"heads": 2, "edges": "edges", "edge_width": 3, **PLAIN}, ["edges", "incidence"]),
    "attentional": (dict(PLAIN), ["readout"]), "set2set": ({"hops": 2, **PLAIN}, ["readout"]), "power_mean": (dict(PLAIN), ["readout"]),
    "graph_norm": (dict(PLAIN), ["readout"]), "instance_norm": (dict(PLAIN), ["readout"]), "graph_layer_norm": (dict(PLAIN), ["readout"]),
    "squeeze_excite": ({"hidden": 3, **PLAIN}, ["readout", "spread"]), "sab": ({"heads": 2, **PLAIN}, ["complete"]), "mab": ({"heads": 2, "memory": "memory", **PLAIN}, ["complete"]),
    "pma": ({"heads": 2, "rows": 2, **PLAIN}, ["seeds=2"]), "message_norm": ({"memory": "memory", **PLAIN}, []),
    "sgformer": ({"heads": 2, **PLAIN}, ["complete"]), "multi_graph": ({"heads": 2, "hops": 2, **PLAIN}, ["relation=0", "relation=1"]), "deep_gcn": ({"layer": ("GCN", {"in_": D, "norm": "layer"}), **PLAIN}, ["edges"]),
    "isab": ({"heads": 2, "rows": 3, **PLAIN}, ["seeds=3", "from_seeds=3"]), "set_transformer": ({"heads": 2, "rows": 2, **PLAIN}, ["complete", "seeds=2", "among_seeds=2"]),
    "label_propagation": ({"hops": 3, "factor": 0.7, **PLAIN}, ["edges"]), "exphormer": ({"heads": 2, "edges": "ids_of_edges", "edge_width": 3, **PLAIN}, ["edges", "incidence"]),
    "decoder_layer": ({"layer": ("TRANSFORMER", {"in_": D, "heads": 2}), "memory": "memory"}, ["causal", "complete"]),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks(name, tmp_path):
    settings, kinds = BLOCKS[name]
    settings = {k: (v[0], dict(v[1])) if k == "layer" else v for k, v in settings.items()}
    libgnn.set_seed(5)
    model = Steps(name, settings)
    try:
        theirs = run(model, tmp_path, VALUES, graphs=kinds)
    finally:
        libgnn.set_seed(0)
    assert close(theirs, model.forward([graph_of(k) for k in kinds], VALUES, N))


# Blocks that are refused by name (lstm_senders), and those whose graphs are not made of edge_index
# and batch.
REFUSED = {"lstm_readout": (dict(PLAIN), ["readout"], "lstm_senders")}
OTHERS = {"pinsage", "graphormer", "graph_network", "correct_and_smooth", "link_dot", "link_bilinear", "link_distance", "link_product", "link_mlp", "hgt", "hetero_conv", "hetero_linear", "jumping_lstm"}


def test_each_block_is_exported_refused_or_named_here():
    names = {name.decode() for name in itertools.takewhile(bool, map(lib.gnn_block_name, itertools.count()))}
    assert names == set(BLOCKS) | set(REFUSED) | OTHERS


@pytest.mark.parametrize("name", REFUSED)
def test_blocks_without_operators(name, tmp_path):
    settings, kinds, words = REFUSED[name]
    with pytest.raises(libgnn.onnx.NotExportable, match=words):
        libgnn.onnx.export(Steps(name, settings), tmp_path / "m.onnx", graphs=kinds)


# ---- refusals ----

@pytest.mark.parametrize("preset, settings, graphs, words", [
    ("TRANSFORMER_CONV", {"weigher": "sparsemax"}, None, "weigher sparsemax"), ("TRANSFORMER_CONV", {"weigher": "top"}, None, "weigher top"), ("TRANSFORMER_CONV", {"map": "favor"}, None, "map favor"),
    ("TRANSFORMER_CONV", {"map": "rope"}, None, "no positions"), ("GCN", {}, ["spiral"], "spiral"), ("TRANSFORMER_CONV", {"prior_0": "slope"}, None, "no positions")])
def test_what_has_no_operator_is_named(preset, settings, graphs, words, tmp_path):
    with pytest.raises(libgnn.onnx.NotExportable, match=words) as problem:
        libgnn.onnx.export(getattr(libgnn, preset)(D, 4, **settings), tmp_path / "m.onnx", graphs=graphs)
    assert "0" in str(problem.value) and not (tmp_path / "m.onnx").exists()


def test_wrong_arguments(tmp_path):
    model = libgnn.Model([libgnn.GCN(D, 3)])
    for wrong in ({"nodes": "z"}, {"graphs": {3: "edges"}}, {"values": ("weights",)}):
        with pytest.raises(ValueError):
            libgnn.onnx.export(model, tmp_path / "m.onnx", **wrong)
    with pytest.raises(TypeError):
        libgnn.onnx.export("model", tmp_path / "m.onnx")


# ---- modules of PyG ----

def test_compiled_modules(tmp_path):
    torch = pytest.importorskip("torch")
    G = pytest.importorskip("torch_geometric.nn")
    torch.manual_seed(0)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.norm, self.two, self.out = G.GATConv(D, 4, heads=2), torch.nn.BatchNorm1d(8), G.GCNConv(8, 8), torch.nn.Linear(8, 3)

        def forward(self, x, edge_index, batch):
            x = self.two(torch.relu(self.norm(self.one(x, edge_index))), edge_index)
            return self.out(G.global_mean_pool(x, batch))
    net = Net().eval()
    fast = libgnn.torch.compile(net)
    with pytest.raises(ValueError, match="call it first"):
        libgnn.onnx.export(fast, tmp_path / "m.onnx")
    x, edges, batch = torch.from_numpy(X), torch.from_numpy(EDGES), torch.from_numpy(BATCH)
    fast(x, edges, batch)
    with torch.no_grad():
        y = net(x, edges, batch).numpy()
    assert close(run(fast, tmp_path, VALUES), y)
