"""onnx.export(): onnxruntime gives the library's values, or the entry is refused by name."""
import ctypes
import glob
import itertools
import os
import re

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

import libgnn  # noqa: E402
from libgnn._library import C, check, lib, struct  # noqa: E402
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


def test_values_on_edges_of_a_model(tmp_path):
    model, weight = libgnn.Model([libgnn.GAT(D, 4, edge_dim=3), libgnn.GCN(4, 2)], edge_weight=True), np.abs(WEIGHT)
    values = {"x": X, "edge_index": EDGES, "edge_weight": weight, "edge_attr": E}
    assert close(run(model, tmp_path, values), model.predict(libgnn.Graph(EDGES, N), X, edge_weight=weight, edge_attr=E))
    model.save(tmp_path / "model.safetensors")
    assert close(run(libgnn.Model.load(tmp_path / "model.safetensors"), tmp_path, values), model.predict(libgnn.Graph(EDGES, N), X, edge_weight=weight, edge_attr=E))
    for output in ("", "x", "edge_index", "edge_weight"):
        with pytest.raises(ValueError, match="output"):
            libgnn.onnx.export(model, tmp_path / "m.onnx", output=output)


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
        steps = ctypes.c_void_p()
        check(lib.gnn_steps_new(ctypes.byref(steps)))
        how, kept = struct("gnn_block_t")(name=b"block", input=b"x"), []
        for name, value in settings.items():
            if name == "layer":
                preset, fields = value
                how.layer = config_of(preset, fields.pop("in_", 1), fields.pop("out", None), fields)
                if block == "hetero_conv":  # types have their own widths
                    setattr(how.layer, "in", 0)
            elif name == "aggregators":
                for k, word in enumerate(value):
                    how.aggregators[k] = lib.gnn_aggregator_find(word.encode())
            else:
                setattr(how, name, value.encode() if isinstance(value, str) else value)
        lib.gnn_steps_block(steps, block.encode(), ctypes.byref(how))
        self.build(steps)

    def build(self, steps):
        model = ctypes.c_void_p()
        code = lib.gnn_model_build(ctypes.byref(model), context()._at, steps)
        lib.gnn_steps_free(steps)
        check(code)
        self._own(model.value)
        # Values none of which is 0: what is left out, or added twice, shows.
        self.load_state_dict({name: a if name.endswith("running") else np.where(a == 0, rng.uniform(0.1, 0.4, a.shape) * rng.choice([-1, 1], a.shape), a) for name, a in self.state_dict().items()})

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
            kept.append(np.ascontiguousarray(a))
            tensors.append(struct("gnn_tensor_t")(kept[-1].ctypes.data, *a.shape, a.shape[1]))
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


class Listed(Steps):
    """A model of steps: dicts of the members of gnn_step_t, `kind` and `op` by name."""

    def __init__(self, *listed):
        steps = ctypes.c_void_p()
        check(lib.gnn_steps_new(ctypes.byref(steps)))
        for given in listed:
            step = struct("gnn_step_t")(kind=C[f"GNN_STEP_{given.pop('kind').upper()}"])
            for name, value in given.items():
                if name == "op":
                    step.op = lib.gnn_op_find(value.encode())
                elif name in ("inputs", "options"):
                    for k, one in enumerate(value):
                        getattr(step, name)[k] = one.encode() if isinstance(one, str) else one
                else:
                    setattr(step, name, value.encode() if isinstance(value, str) else value)
            check(lib.gnn_steps_add(steps, ctypes.byref(step)))
        self.build(steps)


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
    "sgformer": ({"heads": 2, **PLAIN}, ["complete"]), "multi_graph": ({"heads": 2, "hops": 2, **PLAIN}, ["relation=0", "relation=1"]), "deep_gcn": ({"hidden": 5, **PLAIN}, ["edges"]),
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


NA, NB, RA = 13, 10, 40
OF_TYPES = {"types": f"a:{D} b:4", "relations": "a__to__b b__by__a"}
TO_B, TO_A = (np.stack([rng.integers(0, n_src, RA), rng.integers(0, n_dst, RA)]) for n_src, n_dst in ((NA, NB), (NB, NA)))
OF_EDGES = np.stack([np.arange(M), np.sort(rng.integers(0, 4, M))])
VALUES.update({"sources": rng.integers(0, N, 30), "targets": rng.integers(0, N, 30), "globals": rng.standard_normal((4, 2)).astype(np.float32), "layers": X, "x.a": X[:NA], "x.b": X[:NB, :4].copy(),
               "pair_rows": rng.standard_normal((30, 3)).astype(np.float32)})
# Blocks over other inputs, or graphs that are given as pairs: (pairs, counts of senders and receivers).
MORE_BLOCKS = {
    "jumping_lstm": ({"width": 3, "hops": 2}, []), "pinsage": ({"edge_weight": "edge_weight", **PLAIN}, ["edges"]),
    "graphormer": ({"heads": 2, "memory": "ids", "rows": 3, "edges": "ids_of_edges", "edge_width": 2, **PLAIN}, ["edges"]),
    "link_dot": (dict(PLAIN), []), "link_bilinear": (dict(PLAIN), []), "link_distance": (dict(PLAIN), []), "link_product": ({"hidden": 5, **PLAIN}, []),
    "link_mlp": ({"hidden": 5, "edges": "pair_rows", "edge_width": 3, **PLAIN}, []),
    "graph_network": ({"edges": "edges", "edge_width": 3, "globals": "globals", "global_width": 2, **PLAIN}, ["edges", "incidence", "spread", "readout", (OF_EDGES, (M, 4))]),
    "hetero_linear": ({"out": 5, **OF_TYPES}, []), "hetero_conv": ({"layer": ("SAGE", {"out": 5}), "out": 5, **OF_TYPES}, [(TO_B, (NA, NB)), (TO_A, (NB, NA))]),
    "hgt": ({"heads": 2, "out": 8, **OF_TYPES}, [(TO_A, (NB, NA)), (TO_B, (NA, NB))]),
}


@pytest.mark.parametrize("name", MORE_BLOCKS)
def test_blocks_on_pairs(name, tmp_path):
    settings, given = MORE_BLOCKS[name]
    settings = {k: (v[0], dict(v[1])) if k == "layer" else v for k, v in settings.items()}
    libgnn.set_seed(5)
    model, feed, kinds, graphs = Steps(name, settings), dict(VALUES), [], []
    for k, kind in enumerate(given):
        if isinstance(kind, tuple):
            feed[f"edge_index_{k}"], feed[f"size_{k}"] = kind[0], np.array(kind[1])
        kinds.append("pairs" if isinstance(kind, tuple) else kind)
        graphs.append(libgnn.Graph(*kind) if isinstance(kind, tuple) else graph_of(kind))
    try:
        theirs = run(model, tmp_path, feed, graphs=kinds)
    finally:
        libgnn.set_seed(0)
    assert close(theirs, model.forward(graphs, feed, N))


# Blocks that have an op without operators.
REFUSED = {"lstm_readout": (dict(PLAIN), ["readout"], "lstm_senders"),
           "correct_and_smooth": ({"memory": "memory", "globals": "edge_weight", "factor": 0.5, "theta": 0.5, **PLAIN}, ["edges"], "autoscale")}


def test_each_block_is_exported_or_refused():
    names = {name.decode() for name in itertools.takewhile(bool, map(lib.gnn_block_name, itertools.count()))}
    assert names == set(BLOCKS) | set(MORE_BLOCKS) | set(REFUSED)


@pytest.mark.parametrize("name", REFUSED)
def test_blocks_without_operators(name, tmp_path):
    settings, kinds, words = REFUSED[name]
    with pytest.raises(libgnn.onnx.NotExportable, match=words):
        libgnn.onnx.export(Steps(name, settings), tmp_path / "m.onnx", graphs=kinds)


# ---- named ops, loops ----

ROWS = rng.standard_normal((N, 12)).astype(np.float32)
IDS = rng.integers(-1, 5, (N, 3)).astype(np.float32)
IDS_OF_ROWS = rng.integers(-1, N, (N, 4)).astype(np.float32)
MATRIX, TIES = (rng.standard_normal((20, 4)).astype(np.float32) for _ in range(2))
GATES = ROWS.copy()
GATES[2], GATES[3, :8], GATES[4, 2:9] = -np.inf, -np.inf, 0.25  # none, few, and equal ones
# The options and inputs of each op, and the kind of its graph.
OPS = {
    "power": ([2.0, 0.5], [ROWS]), "power_by": ([], [ROWS, np.array([[1.7]], np.float32)]), "log": ([4.0], [np.abs(ROWS)]), "exp": ([0.5], [ROWS]), "sin": ([2.0, 0.3], [ROWS]),
    "cos": ([], [ROWS]), "clamp": ([-0.5, 0.5], [ROWS]), "between": ([-0.5, 0.5], [ROWS]), "floor": ([], [3 * ROWS]), "add_gradient": ([], [ROWS, ROWS]), "noise": ([2, 0.5], [ROWS]),
    "draw": ([2], [GATES]), "head_sum": ([3], [ROWS]), "fold_heads": ([3], [ROWS]), "unit_heads": ([3], [ROWS]), "mix_heads": ([], [ROWS, MATRIX[:3]]), "softmax_rows": ([3], [GATES]),
    "blend_heads": ([], [ROWS, X[:, :3]]), "transpose_heads": ([3], [ROWS]), "fold_rows": ([2], [ROWS[:22]]), "unfold_rows": ([3], [ROWS]), "row_matrix": ([], [ROWS[:, :3], ROWS]),
    "block_product": ([4], [ROWS, MATRIX[:12]]), "gaussian": ([], [E, MATRIX[:5, :3], MATRIX[5:10, :3]]), "lstm_cell": ([], [ROWS, X]), "pair_norm": ([], [ROWS]),
    "choose": ([5, 2], [GATES]), "pick_columns": ([], [ROWS, IDS]), "mark_columns": ([], [IDS, ROWS]), "limit_ids": ([4], [IDS, ROWS]), "gather_rows": ([], [ROWS, IDS_OF_ROWS]),
    "scatter_rows": ([], [ROWS, IDS, X]), "score_rows": ([2], [ROWS, ROWS[:, ::-1].copy(), IDS_OF_ROWS]), "weigh_rows": ([2], [ROWS[:, :8], ROWS, IDS_OF_ROWS]),
    "grouped_product": ([5], [ROWS[:, :4], MATRIX, IDS, TIES[:5]]), "degree": ([0, 2], [ROWS], "edges"), "rows_of_degree": ([2, 4], [ROWS], "edges"), "segment_product": ([], [ROWS], "edges"),
    "segment_norm": ([], [ROWS], "readout"), "segment_layer_norm": ([], [ROWS], "readout"), "pick_rows": ([], [ROWS, BATCH]), "place_by_degree": None,
}
OTHER_OPTIONS = [("grouped_product", [5], [ROWS[:, :4], MATRIX]), ("grouped_product", [5, 1], [ROWS[:, :4], MATRIX, IDS]), ("grouped_product", [5], [ROWS, MATRIX, IDS]), ("score_rows", [2, 1], [ROWS, ROWS[:, :6], IDS_OF_ROWS]),
                 ("weigh_rows", [2, 1], [ROWS[:, :4], ROWS[:, :6], IDS_OF_ROWS]), ("choose", [15], [GATES]), ("unfold_rows", [1], [ROWS]), ("draw", [], [GATES])]


def run_op(name, options, arrays, kind, tmp_path):
    names = [f"v{k}" for k in range(len(arrays))]
    model = Listed({"kind": "op", "name": "y", "op": name, "inputs": names, "options": options})
    values = {**dict(zip(names, arrays)), "edge_index": EDGES, "batch": BATCH}
    theirs = run(model, tmp_path, values, graphs=[kind] if kind else None, nodes="v0")
    ours = model.forward([graph_of(kind)] if kind else [], values, N)
    finite = np.isfinite(ours)
    assert (finite == np.isfinite(theirs)).all() and (ours[~finite] == theirs[~finite]).all() and close(np.where(finite, theirs, 0), np.where(finite, ours, 0))


@pytest.mark.parametrize("name", [name for name, case in OPS.items() if case])
def test_ops(name, tmp_path):
    options, arrays, *kind = OPS[name]
    run_op(name, options, arrays, *kind or [None], tmp_path)


@pytest.mark.parametrize("name, options, arrays", OTHER_OPTIONS, ids=[f"{name}-{options}-{len(arrays)}" for name, options, arrays in OTHER_OPTIONS])
def test_other_options_of_ops(name, options, arrays, tmp_path):
    run_op(name, options, arrays, None, tmp_path)


def test_loops(tmp_path):
    """A loop of a given count of rounds; later steps read the first round of its body."""
    libgnn.set_seed(3)
    steps = [{"kind": "scale", "name": "h0", "inputs": ["x"], "factor": 1.0}, {"kind": "linear", "name": "a", "inputs": ["h0"], "in": D, "out": D}, {"kind": "activation", "name": "h", "inputs": ["a"], "activation": C["GNN_TANH"]},
             {"kind": "repeat", "name": "r", "inputs": ["h", "h0", "h"], "rows": 5}, {"kind": "add", "name": "y", "inputs": ["r", "h"]}]
    model = Listed(*steps)
    assert close(run(model, tmp_path, VALUES), model.forward([], VALUES, N))


# ---- golden cases: the models that the suites of C keep ----

GOLDEN = sorted(glob.glob(os.path.join(os.environ.get("GNN_GOLDEN_MODELS", ""), "*.npz"))) if "GNN_GOLDEN_MODELS" in os.environ else []


@pytest.mark.skipif(not GOLDEN, reason="GNN_GOLDEN_MODELS names no folder of models: GNN_GOLDEN_MODELS=FOLDER sh tests/suites.sh BUILD golden golden_blocks golden_readouts gallery")
@pytest.mark.parametrize("path", GOLDEN or [""], ids=os.path.basename)
def test_golden_cases(path, tmp_path):
    """The library's output of a golden case, or an entry that is refused by name."""
    arrays, graphs, feed = dict(np.load(path)), [], {}
    for k in itertools.takewhile(lambda k: f"graph.{k}.src" in arrays, itertools.count()):
        get = lambda name: arrays[f"graph.{k}.{name}"][0]  # noqa: B023, E731
        order, size = np.argsort(get("edge"), kind="stable"), get("size")
        feed[f"edge_index_{k}"], feed[f"size_{k}"] = np.stack([get("src")[order], get("dst")[order]]), size
        kind = "square" if size[0] == size[1] else "pairs"
        if f"graph.{k}.src_segments" in arrays:
            kind += "=segments"
            feed[f"segments_{k}"] = np.array([len(get("dst_segments")) - 1])
            for side, ends, n in (("sender", get("src_segments"), size[0]), ("receiver", get("dst_segments"), size[1])):
                feed[f"{side}_position_{k}"] = np.arange(n) - np.repeat(ends[:-1], np.diff(ends))
        graphs.append(kind)
    for name, a in arrays.items():
        kind, _, rest = name.partition(".")
        if kind in ("value", "ids"):
            feed[rest] = a.astype(np.float32) if kind == "value" else a[0]
    model = libgnn.Model.load(path[:-len("npz")] + "safetensors")
    try:
        theirs = run(model, tmp_path, feed, graphs=graphs[:lib.gnn_model_graph_count(model._at)])  # a case may have more
    except libgnn.onnx.NotExportable as refusal:
        pytest.skip(f"refused: {refusal}")
    assert close(theirs.reshape(arrays["y"].shape), arrays["y"].astype(np.float32))


# ---- the page ----

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TABLES = {"messages": "aggregate/messages", "aggregators": "aggregate/aggregators", "scores": "aggregate/scores", "weighers": "aggregate/weighers", "maps": "aggregate/maps", "priors": "aggregate/priors",
          "updates": "layer/updates", "named ops": "ops/ops", "blocks": "model/blocks", "activations": "kernels/rowwise/activations", "steps": "model/steps"}


def cells(row):
    with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as file:
        found = re.search(rf"^\| {row} \| (.*) \| (.*) \|$", file.read(), re.M)
    assert found, row
    return [set(re.findall(r"`(\w+)`", cell)) for cell in found.groups()]


@pytest.mark.parametrize("row", TABLES)
def test_the_page_lists_every_entry(row):
    """Each entry of the library's tables stands in one of two columns: in operators, or refused by name."""
    with open(os.path.join(ROOT, "lib", TABLES[row] + ".def"), encoding="utf-8") as file:
        entries = set(re.findall(r"^GNN_\w+\((?:[A-Z_0-9]+, )?(\w+)", file.read(), re.M))
    exported, refused = cells(row)
    assert not exported & refused and exported | refused == entries


# A layer with each entry of a table of settings; those that read one row per node need a model.
OF_LAYERS = {"messages": ("TRANSFORMER_CONV", "message"), "aggregators": ("SAGE", "aggregator"), "scores": ("TRANSFORMER_CONV", "score"), "weighers": ("TRANSFORMER_CONV", "weigher"),
             "maps": ("TRANSFORMER_CONV", "map"), "priors": ("TRANSFORMER_CONV", "prior_0"), "updates": ("TRANSFORMER", "update"), "activations": ("GCN", "activation")}
OF_MODELS = {"receiver", "sender", "place", "decay"}


@pytest.mark.parametrize("row, entry", [(row, entry) for row in OF_LAYERS for entry in sorted(set.union(*cells(row)) - OF_MODELS)])
def test_the_columns_of_entries_hold(row, entry, tmp_path):
    """The exporter refuses an entry by its name if the page does, and only then."""
    preset, field = OF_LAYERS[row]
    more = {"out": D} if preset == "TRANSFORMER" or entry in ("none", "relu_sum") else {}
    more.update({"self_term": True} if entry == "beta" else {"edge_dim": 3} if row == "messages" and entry != "gate" else {})
    layer, why = made(preset, {field: entry, **more}), ""
    try:
        libgnn.onnx.export(layer, tmp_path / "m.onnx", graphs=["complete"] if row in ("maps", "priors") or entry == "by_distance" else None)
    except libgnn.onnx.NotExportable as problem:
        why = str(problem)
    assert (f"{row[:-1]} {entry} has no counterpart" in why) == (entry in cells(row)[1]), why


def test_the_page_says_which_ops_are_exported():
    from libgnn.onnx._steps import Exporter
    methods = {kind: {name[len(kind):] for name in dir(Exporter) if name.startswith(kind)} for kind in ("op_", "step_")}
    assert cells("named ops")[0] == methods["op_"] == set(OPS) and cells("steps")[0] == methods["step_"] and cells("blocks")[0] == {*BLOCKS, *MORE_BLOCKS}


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

    class Mean(Net):
        def forward(self, x, edge_index):
            return self.one(x, edge_index).mean(0)

    class Two(Net):
        def forward(self, x, edge_index, batch):
            h = self.one(x, edge_index)
            return h, G.global_mean_pool(h, batch)
    net = Mean().eval()
    fast = libgnn.torch.compile(net)
    with torch.no_grad():
        fast(x, edges)
        assert close(run(fast, tmp_path, VALUES), net(x, edges).numpy())
    fast = libgnn.torch.compile(Two())
    fast(x, edges, batch)
    with pytest.raises(NotImplementedError, match="2 tensors"):
        libgnn.onnx.export(fast, tmp_path / "m.onnx")
