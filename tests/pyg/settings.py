"""Every class of torch_geometric.nn with every option of its constructor away from its default,
exported by examples/from_pyg.py and run by libgnn on four kinds of graphs.

    python tests/pyg/settings.py [--library PATH] [--only NAME[,NAME]] [--list] [--table FILE] [--keep]

counts the settings that agree on all graphs, those that are refused with a sentence, those whose
file computes something else, those whose file the library refuses, and those that end in a
traceback. The last three must be 0, and of all settings at least 75 in 100 must agree.
--keep puts the counts of the classes that ran into settings.tsv, and of all classes into docs/pyg.md.
"""
import argparse
import inspect
import os
import sys
import traceback
import warnings

warnings.simplefilter("ignore")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))

import torch  # noqa: E402
import torch_geometric.nn as G  # noqa: E402
from torch import nn  # noqa: E402

from libgnn.torch import from_pyg  # noqa: E402
from libgnn.torch import pyg_draw  # noqa: E402
from libgnn.torch import pyg_verify  # noqa: E402
from libgnn.torch.pyg_symbols import Untraceable  # noqa: E402

IN, OUT, EDGE = 6, 4, 3
NOT_RUN = "does not run on drawn inputs"
SHARE = 75

# Values of arguments that have no default, by name.
NEEDED = dict(in_channels=IN, out_channels=OUT, hidden_channels=8, channels=IN, num_layers=2, num_relations=3, num_bases=2, heads=2, dim=EDGE, kernel_size=2, K=3, edge_dim=EDGE,
              alpha=0.1, num_node_types=3, num_edge_types=3, edge_type_emb_dim=4, edge_attr_dim=EDGE, edge_attr_emb_dim=4, num_classes=3, num_features=IN, ratio=0.5, k=2,
              num_groups=2, processing_steps=2, num_stages=2, in_steps=2, out_emb_dim=3, max_position=5, num_seed_points=1, beta=0.5, first_aggr=True, groups=2, num_heads=2,
              num_timesteps=2, pos_channels=3, num_filters=8, num_gaussians=8, cutoff=4.0, max_degree=3, aggr="sum", depth=2, num_nodes=25, embedding_dim=5, pool_ratios=0.5,
              patch_size=2, hidden_dim=8, phi=None, emb_size=4, state_size=4, num_blocks=2, max_num_elements=9, project=True)


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 5), nn.ReLU(), nn.Linear(5, o))


def deg():
    return torch.tensor([0, 4, 9, 6, 3])


# Arguments of classes that a name alone does not tell.
OWN = {
    "GINConv": dict(nn=lambda: mlp(IN, OUT)), "GINEConv": dict(nn=lambda: mlp(IN, OUT), edge_dim=EDGE), "EdgeConv": dict(nn=lambda: mlp(2 * IN, OUT)),
    "DynamicEdgeConv": dict(nn=lambda: mlp(2 * IN, OUT)), "NNConv": dict(nn=lambda: mlp(EDGE, IN * OUT)), "ECConv": dict(nn=lambda: mlp(EDGE, IN * OUT)), "FeaStConv": {},
    "PNAConv": dict(aggregators=["mean", "max"], scalers=["identity", "attenuation"], deg=deg), "GPSConv": dict(channels=IN, conv=lambda: G.GCNConv(IN, IN), heads=2),
    "DeepGCNLayer": dict(conv=lambda: G.GCNConv(IN, IN), norm=lambda: nn.LayerNorm(IN), act=lambda: nn.ReLU()), "DirGNNConv": dict(conv=lambda: G.SAGEConv(IN, OUT)),
    "GCN2Conv": dict(channels=IN, alpha=0.1), "GatedGraphConv": dict(out_channels=IN, num_layers=2), "FAConv": dict(channels=IN), "RGATConv": dict(edge_dim=EDGE),
    "EGConv": dict(out_channels=8, num_heads=2, num_bases=2), "SignedConv": dict(first_aggr=True), "CGConv": dict(channels=IN, dim=EDGE), "GMMConv": dict(dim=EDGE, kernel_size=2),
    "SplineConv": dict(dim=EDGE, kernel_size=2), "PDNConv": dict(edge_dim=EDGE, hidden_channels=5), "AntiSymmetricConv": dict(in_channels=IN), "MFConv": dict(max_degree=3),
    "HeteroConv": dict(convs=lambda: {("a", "to", "b"): G.SAGEConv((IN, IN), OUT), ("b", "to", "a"): G.SAGEConv((IN, IN), OUT)}),
    "HANConv": dict(in_channels=IN, out_channels=4, metadata=(["a", "b"], [("a", "to", "b"), ("b", "to", "a"), ("a", "by", "a")]), heads=2),
    "HGTConv": dict(in_channels=IN, out_channels=4, metadata=(["a", "b"], [("a", "to", "b"), ("b", "to", "a")]), heads=2), "HEATConv": dict(),
    "PointNetConv": dict(local_nn=lambda: mlp(IN + 3, OUT)), "PointConv": dict(local_nn=lambda: mlp(IN + 3, OUT)), "PPFConv": dict(local_nn=lambda: mlp(IN + 4, OUT)),
    "PointGNNConv": dict(mlp_h=lambda: mlp(IN, 3), mlp_f=lambda: mlp(IN + 3, 5), mlp_g=lambda: mlp(5, IN)), "GeneralConv": dict(), "GravNetConv": dict(space_dimensions=3, propagate_dimensions=4, k=3),
    "HypergraphConv": {}, "XConv": dict(dim=3, kernel_size=3), "WLConv": {}, "MessagePassing": None, "PANConv": dict(filter_size=2), "DNAConv": dict(channels=IN), "PointTransformerConv": dict(),
    "ClusterGCNConv": {}, "MeshCNNConv": None, "CuGraphSAGEConv": None, "CuGraphGATConv": None, "CuGraphRGCNConv": None, "FusedGATConv": {}, "APPNP": dict(K=3, alpha=0.1),
    "MultiAggregation": dict(aggrs=["mean", "max"]), "DegreeScalerAggregation": dict(aggr=["mean"], scaler=["identity", "amplification"], deg=deg),
    "FusedAggregation": dict(aggrs=["mean", "max"]), "AttentionalAggregation": dict(gate_nn=lambda: nn.Linear(IN, 1)), "DeepSetsAggregation": dict(local_nn=lambda: mlp(IN, 5), global_nn=lambda: mlp(5, OUT)),
    "QuantileAggregation": dict(q=0.5), "ResNetPotential": dict(in_channels=IN, out_channels=1, num_layers=[4]), "MLPAggregation": dict(max_num_elements=12, num_layers=1),
    "EquilibriumAggregation": dict(num_layers=[4]), "GraphMultisetTransformer": dict(channels=IN, k=2), "LCMAggregation": dict(), "SetTransformerAggregation": dict(channels=IN),
    "PatchTransformerAggregation": dict(patch_size=2, hidden_channels=8, num_transformer_blocks=1), "GRUAggregation": {}, "Aggregation": None, "Set2Set": {},
    "DiffGroupNorm": dict(in_channels=IN, groups=2), "HeteroBatchNorm": dict(in_channels=IN, num_types=3), "HeteroLayerNorm": dict(in_channels=IN, num_types=3),
    "MLP": dict(channel_list=[IN, 8, OUT]), "LabelPropagation": dict(num_layers=2, alpha=0.5), "CorrectAndSmooth": None, "JumpingKnowledge": dict(mode="cat", channels=IN, num_layers=2),
    "MetaLayer": dict(), "PNA": dict(aggregators=["mean", "max"], scalers=["identity", "attenuation"], deg=deg), "GCN": dict(out_channels=OUT), "GraphSAGE": dict(out_channels=OUT),
    "GIN": dict(out_channels=OUT), "GAT": dict(out_channels=OUT), "EdgeCNN": dict(out_channels=OUT), "InnerProductDecoder": {}, "Node2Vec": None, "MetaPath2Vec": None,
    "DeepGraphInfomax": None, "GAE": None, "VGAE": None, "ARGA": None, "ARGVA": None, "SignedGCN": None, "RENet": None, "TGNMemory": None, "GroupAddRev": dict(conv=lambda: G.GCNConv(3, 3), num_groups=2),
    "GraphUNet": {}, "LightGCN": dict(num_nodes=25, embedding_dim=5, num_layers=2), "DimeNet": None, "DimeNetPlusPlus": None, "LINKX": dict(num_nodes=25), "RECT_L": dict(),
    "MaskLabel": dict(num_classes=3, out_channels=IN), "PMLP": dict(), "NeuralFingerprint": {}, "ViSNet": None, "GNNFF": None, "LPFormer": None, "AttentiveFP": dict(edge_dim=EDGE), "SGFormer": {},
    "Polynormer": {}, "GPSE": None, "GraphMixer": None, "GPSENodeEncoder": None, "SchNet": dict(hidden_channels=8, num_filters=8, num_interactions=1, num_gaussians=6), "AttractRepel": None,
    "SAGPooling": dict(in_channels=IN), "TopKPooling": dict(in_channels=IN), "ASAPooling": {}, "EdgePooling": {}, "PANPooling": {}, "MemPooling": {}, "ClusterPooling": {}, "GlobalPooling": None, "KNNIndex": None,
    "L2KNNIndex": None, "MIPSKNNIndex": None, "ApproxL2KNNIndex": None, "ApproxMIPSKNNIndex": None, "AMPGCN": {}, "Sequential": None, "Linear": {}, "HeteroLinear": dict(num_types=3),
    "HeteroDictLinear": dict(in_channels={"a": IN, "b": 5}, out_channels=OUT), "SimpleConv": {}, "LGConv": {}, "Pooling": None, "RotatE": None, "ARLinkPredictor": None, "WLConvContinuous": {},
    "VariancePreservingAggregation": {}, "AGNNConv": {}, "GPSEConv": None,
}

# Other values of options that have a default, by name; a class may have its own.
OTHER = dict(aggr=["mean", "max", "min", "sum", "mul", "softmax", "powermean", "median", "std", ["mean", "max"]], flow=["target_to_source"], negative_slope=[0.0, 0.05], dropout=[0.3], eps=[0.3],
             act=["elu", "leaky_relu", None], norm=["layer_norm", "graph_norm", "instance_norm", None], jk=["cat", "max", "last", "lstm"], fill_value=[0.0, 2.0, "max", "add"], edge_dim=[EDGE], K=[1, 3, 0], alpha=[0.0, 1.0, 0.6],
             theta=[0.7], normalization=[None, "rw"], beta=[True], heads=[1, 3], num_bases=[2], num_blocks=[2], num_layers=[1, 3], mode=["graph", "node", "cat", "max", "lstm"], p=[1.7, 3.0], t=[0.4],
             scale=[2.0], root_weight=[False], max_degree=[2, 5], towers=[2], pre_layers=[2], post_layers=[2], powers=[[0, 2], [1, 3]], num_stacks=[2], semi_grad=[True], y=[1.5],
             activation=["elu"], degree=[1], attn_type=["performer"], block=["res", "dense", "plain"], combine_root=["sum", "cat", "self_loop"], attention_type=["MX", "SD"],
             neg_sample_ratio=[1.0], edge_sample_ratio=[0.7], is_undirected=[True], num_steps=[2], aggregators=[["sum", "std"]], phi=[None], directed_attention=[True], attention=[True],
             attention_mode=["across-relation", "within-relation"][:1], mod=["additive", "scaled"], dim=[1, 2], attention_mechanism=["across-relation"], skip_linear=[True], l2_normalize=[True],
             interpolation=["lower", "higher"], q=[0.25], min_score=[0.2], multiplier=[2.0], nonlinearity=["relu"], add_to_original=[True], lambd=[0.4], lamb=[0.2], num_seed_points=[2],
             num_encoder_blocks=[2], num_decoder_blocks=[2], method=["add"], bn_cls=[], space=[], hidden=[], inter_channels=[5], num_ffn=[], nonneg=[], learn_scale=[True], share=[],
             num_relations=[2], initial_value=[0.5], aggregators_=[])
SKIPPED = {"device", "dtype", "kwargs", "args", "aggr_kwargs", "node_dim", "decomposed_layers", "act_kwargs", "norm_kwargs", "cached", "momentum", "weight_initializer", "bias_initializer",
           "attn_kwargs", "scaler_kwargs", "aggrs_kwargs", "mode_kwargs", "jittable", "lin", "dropout_", "store", "num_workers", "padding_idx"}
TENSORS = ("edge_weight", "edge_attr", "batch", "edge_type", "index", "pos")


class Deep(nn.Module):
    """A layer whose forward() takes what its convolution takes."""

    def __init__(self, **given):
        super().__init__()
        self.layer = G.DeepGCNLayer(**given)

    def forward(self, x, edge_index):
        return self.layer(x, edge_index)


class Jump(nn.Module):
    """Jumping knowledge of two values."""

    def __init__(self, **given):
        super().__init__()
        self.lin, self.jump = nn.Linear(IN, given.get("channels", IN)), G.JumpingKnowledge(**given)

    def forward(self, x):
        return self.jump([x, torch.relu(self.lin(x))])


def pooled_by(cls):
    """A pooling that chooses nodes, a convolution over them, and a readout, since outputs cannot
    have a row count that depends on values."""
    class Pooled(nn.Module):
        def __init__(self, **given):
            super().__init__()
            self.pool, self.conv = cls(**given), G.GraphConv(IN, OUT)

        def forward(self, x, edge_index, batch):
            x, edge_index, _, batch, _, _ = self.pool(x, edge_index, None, batch)
            x = torch.relu(self.conv(x, edge_index))
            return torch.cat([G.global_mean_pool(x, batch), G.global_max_pool(x, batch)], 1)
    return Pooled


WRAPPED = {"DeepGCNLayer": Deep, "JumpingKnowledge": Jump, "TopKPooling": pooled_by(G.TopKPooling), "SAGPooling": pooled_by(G.SAGPooling)}


def classes():
    """Class by name, by family."""
    import torch_geometric.nn.aggr as aggr
    import torch_geometric.nn.conv as conv
    import torch_geometric.nn.models as models
    import torch_geometric.nn.norm as norm
    import torch_geometric.nn.pool as pool
    found = {}
    for family, module in (("conv", conv), ("aggr", aggr), ("norm", norm), ("pool", pool), ("models", models)):
        for name in sorted(getattr(module, "__all__", dir(module))):
            value = getattr(module, name, None)
            if inspect.isclass(value) and issubclass(value, nn.Module) and value not in found.values() and OWN.get(name, {}) is not None:
                found[f"{family}.{name}"] = value
    return found


def arguments(cls):
    """Arguments of the constructor that have no default."""
    own = OWN.get(cls.__name__) or {}
    given = {k: v for k, v in own.items()}
    for name, p in inspect.signature(cls.__init__).parameters.items():
        if name != "self" and p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and name not in given:
            given[name] = NEEDED.get(name, IN)
    return given


def options(cls):
    """(name, value) of each option away from its default."""
    found, seen = [], set()
    parameters = dict(inspect.signature(cls.__init__).parameters)
    if issubclass(cls, G.MessagePassing):
        parameters.setdefault("flow", inspect.Parameter("flow", inspect.Parameter.KEYWORD_ONLY, default="source_to_target"))
        if "aggr" not in parameters and "kwargs" in parameters:
            parameters["aggr"] = inspect.Parameter("aggr", inspect.Parameter.KEYWORD_ONLY, default="add")
    for name, p in parameters.items():
        if name == "self" or p.default is p.empty or name in SKIPPED or p.kind is p.VAR_KEYWORD or name in seen:
            continue
        seen.add(name)
        if isinstance(p.default, bool):
            values = [not p.default]
        elif name in OTHER:
            values = [v for v in OTHER[name] if v != p.default]
        elif isinstance(p.default, int):
            values = [p.default + 1]
        elif isinstance(p.default, float):
            values = [p.default * 0.5 + 0.1]
        else:
            values = []
        found += [(name, v) for v in values]
    return found


def made(value):
    return value() if inspect.isfunction(value) else value


def settings(cls):
    """Constructor arguments of each setting: the default, and one option at another value at a time."""
    base = arguments(cls)
    yield "default", base
    for name, value in options(cls):
        yield f"{name}={value!r}", {**base, name: value}


def inputs_of(module):
    """Optional arguments of forward() that are tensors and take part in some calls."""
    parameters = inspect.signature(module.forward).parameters
    optional = [name for name, p in parameters.items() if p.default is not p.empty and name in TENSORS]
    return [()] + [(name,) for name in optional] + ([("edge_type", "edge_attr")] if {"edge_type", "edge_attr"} <= set(optional) else [])


def widths_of(module):
    if type(module).__name__ == "DNAConv":
        return {}
    edge = next((getattr(module, name) for name in ("edge_dim", "dim") if isinstance(getattr(module, name, None), int) and getattr(module, name) > 0), EDGE)
    return {"x": IN, "edge_attr": edge, "msg": IN, "x_0": IN, "z": IN, "pos": 3, "y": 3, "x_dict.a": IN, "x_dict.b": IN}


GRAPHS = {"plain": (2, False, False, False), "loops": (3, True, False, False), "duplicates": (2, False, True, False), "isolated": (3, False, False, True)}


def graph_of(kind):
    """One of the four kinds of graphs."""
    degree, loops, twice, alone = GRAPHS[kind]
    g = pyg_draw.Graph((7, 10, 8), degree, False, 10 + degree)
    pairs = [tuple(p) for p in g.pairs.T]
    if alone:
        pairs = [p for p in pairs if 5 not in p and 20 not in p]
    if twice:
        pairs += pairs[3:12:2]
    if loops:
        pairs += [(k, k) for k in (0, 2, 11, 24)]
    import numpy as np
    g.pairs = np.array(pairs).T.copy()
    g.m = g.pairs.shape[1]
    return g


def compare(library, path, module, t):
    """The largest difference between the file and the module on four graphs."""
    worst = 0.0
    drawn = t.checks[0][0]
    for kind in GRAPHS:
        other = pyg_draw.Drawn(module, drawn.names, drawn.specs, graph_of(kind), drawn.relations)
        with torch.no_grad():
            out = pyg_draw.copied(module)(**other.arguments())
        values, exact = flat(out), None
        names = list(t.outputs)
        found = library.load(path)
        try:
            inputs, kept = found.inputs(other)
            for name, value in zip(names, values):
                want = pyg_verify.as_rows(value, t.outputs[name].meta.lone)
                got = found.value(inputs, name, *want.shape)
                off = pyg_verify.distance(got, want)
                if off > 1e-4:  # Is it the rounding of PyG's own float32, at a threshold of its std, say?
                    exact = exact or in_double(module, other)
                    off = min(off, pyg_verify.distance(got, pyg_verify.as_rows(exact[names.index(name)], t.outputs[name].meta.lone)))
                worst = max(worst, off)
            del kept
        finally:
            found.free()
    return worst


def in_double(module, drawn):
    """The outputs of the module in double precision."""
    double = pyg_draw.copied(module).double()
    drawn.arguments()
    for name, value in drawn.values.items():
        if value.is_floating_point():
            drawn.values[name] = value.double()
    with torch.no_grad():
        out = flat(double(**drawn.arguments()))
    for name, value in drawn.values.items():
        if value.is_floating_point():
            drawn.values[name] = value.float()
    return out


def flat(out):
    if isinstance(out, pyg_draw.DrawnData):
        out = out.changed()
    if isinstance(out, torch.Tensor):
        return [out]
    if isinstance(out, dict):
        return [v for part in out.values() for v in flat(part)]
    if isinstance(out, (list, tuple)):
        return [v for part in out if part is not None for v in flat(part)]
    return []


def measure(library, folder, module, inputs, widths=None, relations=()):
    """The outcome of one setting: a word, and a sentence."""
    path = os.path.join(folder, "setting.safetensors")
    parameters = inspect.signature(module.forward).parameters
    if widths is None:
        widths = {k: v for k, v in widths_of(module).items() if k.split(".")[0] in parameters or "args_dict" in parameters}
    if os.path.exists(path):
        os.remove(path)
    try:
        t = from_pyg.export(module, path, inputs, widths, library=library.path, relations=relations)
    except Untraceable as error:
        words = str(error)
        word = "refused by C" if "libgnn refuses" in words else "wrong" if "something else" in words else "refused"
        return (word if not os.path.exists(path) else "a file is left"), words
    except Exception:  # noqa: BLE001 (that is what is counted)
        return "traceback", traceback.format_exc().strip().replace("\n", " | ")[-600:]
    try:
        off = compare(library, path, module, t)
    except pyg_verify.Differs as error:
        return "refused by C", str(error)
    return ("agree" if off <= 1e-4 else "wrong"), f"{off:.1g}"


def randomised(module):
    with torch.no_grad():
        for value in module.state_dict().values():
            if value.is_floating_point() and value.dim() <= 1:
                value.add_(0.3 * torch.rand_like(value))
    return module.eval()


HERE = os.path.dirname(os.path.abspath(__file__))
KEPT, PAGE = os.path.join(HERE, "settings.tsv"), os.path.join(HERE, "..", "..", "docs", "pyg.md")
BEGIN, END = "<!-- made by tests/pyg/settings.py --keep -->", "<!-- end -->"


def keep(by_class):
    """Counts by class: those of this run in place of those that were there."""
    kept = {}
    if os.path.exists(KEPT):
        with open(KEPT) as file:
            kept = {row[0]: tuple(map(int, row[1:])) for row in (line.rstrip("\n").split("\t") for line in file) if len(row) == 4 and row[0] != "class"}
    kept.update({name: (count.get("agree", 0), count.get("refused", 0), sum(count.values()) - count.get("agree", 0) - count.get("refused", 0)) for name, count in by_class.items()})
    with open(KEPT, "w") as file:
        file.write("class\tagree\trefused\tother\n" + "".join("\t".join([name, *map(str, row)]) + "\n" for name, row in sorted(kept.items())))
    with open(PAGE) as file:
        page = file.read()
    before, after = page.split(BEGIN)[0], page.split(END, 1)[1]
    with open(PAGE, "w") as file:
        file.write(before + BEGIN + "\n\n" + table_of(kept) + "\n" + END + after)


def table_of(kept):
    lines = ["| classes | settings | agree | refused | wrong | classes with refusals (agree of all) |", "| --- | --- | --- | --- | --- | --- |"]
    for family in (*dict.fromkeys(name.split(".")[0] for name in kept), ""):
        rows = {name.split(".")[1]: row for name, row in kept.items() if name.startswith(f"{family}.") or not family}
        sums = [sum(row[k] for row in rows.values()) for k in range(3)]
        some = ", ".join(f"{name} {row[0]} of {sum(row)}" for name, row in sorted(rows.items()) if row[1] or row[2]) if family else ""
        lines.append(f"| {family or 'all'} | {sum(sums)} | {sums[0]} | {sums[1]} | {sums[2]} | {some} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library")
    parser.add_argument("--only", default="")
    parser.add_argument("--table")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--folder", default="/tmp")
    options_given = parser.parse_args()
    torch.set_num_threads(1)
    library = pyg_verify.find(options_given.library)
    if library is None:
        sys.exit("settings.py: no shared library of libgnn was found (--library)")
    counts, by_class, lines, cannot = {}, {}, [], []
    only = [name for name in options_given.only.split(",") if name]
    for name, cls in classes().items():
        if only and name.split(".")[1] not in only and name.split(".")[0] not in only:
            continue
        for setting, given in settings(cls):
            torch.manual_seed(1)
            try:
                module = randomised(WRAPPED.get(cls.__name__, cls)(**{k: made(v) for k, v in given.items()}))
                again = inputs_of(module) if setting == "default" else [()]
            except Exception as error:  # noqa: BLE001 (PyG itself refuses these)
                cannot.append(f"{name} {setting}: {type(error).__name__}: {str(error)[:100]}")
                continue
            tried = [(inputs, measure(library, options_given.folder, module, inputs)) for inputs in again]
            runs = [k for k in tried if NOT_RUN not in k[1][1]]
            if not runs and setting != "default":
                tried = [(inputs, measure(library, options_given.folder, module, inputs)) for inputs in inputs_of(module)[1:]]
                runs = [k for k in tried if NOT_RUN not in k[1][1]][:1]
            if not runs:
                cannot.append(f"{name} {setting}: {tried[0][1][1][:300] if tried else ''}")
            for inputs, (word, words) in runs:
                for table in (counts, by_class.setdefault(name, {})):
                    table[word] = table.get(word, 0) + 1
                lines.append(f"{word:12} {name} {setting} {' '.join(inputs)}: {words[:300]}")
                if options_given.list:
                    print(lines[-1], flush=True)
        if options_given.keep:
            keep(by_class)
    if options_given.table:
        with open(options_given.table, "w") as file:
            file.write("\n".join(lines + [f"{'not made':12} {line}" for line in cannot]) + "\n")
    total = sum(counts.values())
    for word, count in sorted(counts.items()):
        print(f"{count:5} {word}")
    share = 100 * counts.get("agree", 0) / max(total, 1)
    print(f"{total:5} settings, {share:.1f} in 100 agree; {len(cannot)} more that PyG itself does not make or run")
    bad = sum(counts.get(word, 0) for word in ("wrong", "refused by C", "traceback", "a file is left"))
    sys.exit(0 if bad == 0 and (only or share >= SHARE) else 1)


if __name__ == "__main__":
    main()
