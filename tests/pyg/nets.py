"""The networks of PyG's own examples and benchmarks, exported by examples/from_pyg.py and run by
libgnn.

    python tests/pyg/nets.py CHECKOUT [--library PATH] [--only WORD] [--list] [--table FILE]

CHECKOUT holds PyG's repository at a release (examples/ and benchmark/). Each class of a module is
taken out of its file with the file's imports, functions and constants; nothing else of the file
runs. FACTS and OWN say which arguments the constructors take. Counted are the networks that agree
with the module on four kinds of graphs, those refused with a sentence, those whose file computes
something else or is refused by the library, tracebacks, and those that PyG itself cannot build or
run here (a package that is not installed, say).
"""
import argparse
import ast
import os
import sys
import types
import warnings

warnings.simplefilter("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "python")]

import torch  # noqa: E402
import torch_geometric  # noqa: E402
from torch import nn  # noqa: E402

from libgnn.torch import pyg_draw  # noqa: E402
from libgnn.torch import pyg_verify  # noqa: E402
import settings  # noqa: E402

IN, HIDDEN, OUT, EDGE, RELATIONS = 6, 8, 3, 4, 3
TYPES = (["a", "b"], [("a", "to", "b"), ("b", "to", "a"), ("a", "by", "a")])
SHARE = 85


class Item(types.SimpleNamespace):
    """One graph of a data set, or one type of its nodes."""

    def __getitem__(self, name):
        return self.kinds[name] if hasattr(self, "kinds") else getattr(self, name)

    def metadata(self):
        return self.types


class Dataset(Item):
    """What constructors read of a data set."""

    def __getitem__(self, at):
        return ITEM

    def __len__(self):
        return 8

    def __iter__(self):
        return iter([ITEM] * 8)


def kind(width=IN):
    return Item(num_nodes=25, num_features=width, num_node_features=width, x=torch.zeros(25, width))


ITEM = Item(num_nodes=25, num_features=IN, num_node_features=IN, num_edge_features=EDGE, num_classes=OUT, x=torch.zeros(25, IN), types=TYPES, edge_attr=torch.zeros(40, EDGE),
            y=torch.zeros(25, dtype=torch.long), num_edge_types=RELATIONS, node_types=TYPES[0], edge_types=TYPES[1], kinds={"a": kind(), "b": kind()})
DATASET = Dataset(num_features=IN, num_node_features=IN, num_edge_features=EDGE, num_classes=OUT, num_relations=RELATIONS, num_nodes=25, data=ITEM, _data=ITEM)
ARGUMENTS = types.SimpleNamespace(hidden=HIDDEN, hidden_channels=HIDDEN, dropout=0.5, K=2, alpha=0.1, num_stacks=2, num_layers=2, shared_weights=False, skip_dropout=0.75, heads=2,
                                  output_heads=1, num_hops=2, use_gdc=False, model="GCN", num_bits=4, lr=0.01, num_heads=2, num_bases=2, aggrs=["symnorm"], use_multi_aggregators=False)
# Names that a file's own program gives a value.
GLOBALS = dict(dataset=DATASET, train_dataset=DATASET, data=ITEM, args=ARGUMENTS, device=torch.device("cpu"), d=DATASET, transform=None, deg=torch.tensor([0, 4, 9, 6, 3]), dim=HIDDEN,
               lstm_hidden=HIDDEN, layer_num=2, avg_num_nodes=9, max_nodes=12, K=2, eta_W=0.5, eta_Z=0.5)
# Arguments of constructors, by name.
FACTS = dict(in_channels=IN, hidden_channels=HIDDEN, out_channels=OUT, num_layers=2, dropout=0.3, heads=2, hidden=HIDDEN, dataset=DATASET, num_classes=OUT, num_relations=RELATIONS,
             metadata=TYPES, output_channels=OUT, num_heads=2, num_features=IN, alpha=0.1, theta=0.5, in_dim=IN, out_dim=OUT, channels=HIDDEN, emb_dim=HIDDEN, num_bases=2, num_nodes=25,
             node_types=TYPES[0], edge_types=TYPES[1], dim_model=[8, 16], device1="cpu", device2="cpu", num_users=25, num_items=25, k=0.6, ratio=0.5, pe_dim=5, attn_type="multihead",
             attn_kwargs={}, dim_emb=HIDDEN, dim_conv=HIDDEN, conv_type="gcn", dim_pe_in=5, dim_pe_out=4, dim_in=HIDDEN, dim_out=HIDDEN, emb_pe_out=4, num_neighbors=4, d_in=IN, d_out=HIDDEN,
             msg_dim=4, time_enc=None, model="GCN", data=ITEM, common_dim=HIDDEN, num_tasks=1)
# Widths of inputs that lazy layers leave open.
WIDTHS = {"x": IN, **{f"x_dict.{node}": IN for node in ("a", "b", "user", "movie", "item", "author", "paper", "term")}}


def of_types(*relations):
    """A data set's graph of other types."""
    nodes = list(dict.fromkeys(n for r in relations for n in (r[0], r[-1])))
    return Item(**{**vars(ITEM), "types": (nodes, list(relations)), "node_types": nodes, "edge_types": list(relations), "kinds": {n: kind() for n in nodes}})


MOVIES = dict(globals=dict(data=of_types(("user", "rates", "movie"), ("movie", "rev_rates", "user"))))
RATES, LINKS = [("movie", "rev_rates", "user"), ("movie", "metapath_0", "movie")], [("item", "rev_to", "user"), ("item", "to", "item")]
DECODER = dict(relations=[("user", "rates", "movie")], widths={"z_dict.user": HIDDEN, "z_dict.movie": HIDDEN})
PAPERS = of_types(("author", "to", "paper"), ("paper", "to", "author"), ("paper", "to", "term"), ("term", "to", "paper"))
DEEP = dict(init=dict(num_layers=4))  # The fewest layers with a pooling between two of them.
# What names alone do not tell: arguments of a constructor, globals of its file, widths of inputs,
# optional inputs.
OWN = {
    **{f"kernel/{file}.py:{name}": DEEP for file, name in (("sag_pool", "SAGPool"), ("top_k", "TopK"), ("asap", "ASAP"), ("edge_pool", "EdgePool"), ("graclus", "Graclus"))},
    "kernel/diff_pool.py:DiffPool": DEEP, "ar_link_pred.py:ARLinkPredictor": dict(widths=dict(z_i=IN, z_j=IN)),
    "graph_gps.py:GPS": dict(widths=dict(pe=20)), "dir_gnn.py:DirGNN": dict(globals=dict(Conv=lambda i, o: torch_geometric.nn.DirGNNConv(torch_geometric.nn.GCNConv(i, o)))),
    "rgcn.py:Net": dict(globals=dict(Conv=torch_geometric.nn.RGCNConv)), "rgcn_link_pred.py:RGCNEncoder": dict(init=dict(hidden_channels=10)),
    "hetero/hetero_link_pred.py:Model": MOVIES, "hetero/recommender_system.py:Model": MOVIES, "hetero/temporal_link_pred.py:Model": MOVIES,
    "explain/captum_explainer_hetero_link.py:Model": MOVIES, "hetero/hgt_dblp.py:HGT": dict(globals=dict(data=PAPERS)),
    "hetero/hetero_conv_dblp.py:HeteroGNN": dict(init=dict(metadata=PAPERS.types)), "utils/hetero_gat.py:HeteroGAT": dict(init=dict(metadata=PAPERS.types)),
    "utils/hetero_sage.py:HeteroGraphSAGE": dict(init=dict(metadata=PAPERS.types)),
    "hetero/han_imdb.py:HAN": dict(init=dict(in_channels=IN), globals=dict(data=of_types(("movie", "to", "actor"), ("actor", "to", "movie"), ("movie", "by", "movie")))),
    **{f"hetero/{file}.py:EdgeDecoder": DECODER for file in ("hetero_link_pred", "temporal_link_pred")}, "explain/captum_explainer_hetero_link.py:EdgeDecoder": DECODER,
    "hetero/recommender_system.py:InnerProductDecoder": dict(relations=[("user", "rates", "movie")], widths={"x_dict.user": HIDDEN, "x_dict.movie": HIDDEN}),
    "hetero/bipartite_sage.py:UserGNNEncoder": dict(relations=RATES), "hetero/bipartite_sage.py:Model": dict(relations=RATES),
    "hetero/bipartite_sage_unsup.py:UserGNNEncoder": dict(relations=LINKS), "hetero/bipartite_sage_unsup.py:Model": dict(relations=LINKS),
    "multi_gpu/taobao.py:UserGNNEncoder": dict(relations=LINKS), "multi_gpu/taobao.py:Model": dict(relations=LINKS),
    "qm9_nn_conv.py:Net": dict(widths=dict(edge_attr=5)), "multi_gpu/mag240m_graphsage.py:HeteroGraphSAGE": dict(init=dict(node_types=PAPERS.types[0], edge_types=PAPERS.types[1])),
    "rdl.py:HeteroGraphSAGE": dict(init=dict(node_types=PAPERS.types[0], edge_types=PAPERS.types[1])),
    "hetero/hierarchical_sage.py:HierarchicalHeteroGraphSage": dict(init=dict(edge_types=PAPERS.types[1])),
}


def source_of(path):
    with open(path) as file:
        return ast.parse(file.read(), path)


def is_constant(node):
    """Is it an assignment of what calls nothing?"""
    return isinstance(node, ast.Assign) and not any(isinstance(k, (ast.Call, ast.Await)) and not (isinstance(k.func, ast.Name) and k.func.id == "dict") for k in ast.walk(node))


def namespace_of(path, extra):
    """The names that a file defines: imports, functions, classes and constants, without those that
    fail here."""
    module = sys.modules["net"] = types.ModuleType("net")
    names, missing = vars(module), []
    names.update(__file__=path, **{**GLOBALS, **extra})
    for node in source_of(path).body:
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)) or is_constant(node):
            before = {key: names[key] for key in (*GLOBALS, *extra) if key in names}
            try:
                exec(compile(ast.Module([node], []), path, "exec"), names)
            except Exception as error:  # noqa: BLE001 (a package that is not installed, a constant of what was left out)
                missing.append(f"{type(error).__name__}: {error}")
            if isinstance(node, ast.Assign):
                names.update(before)
    return names, missing


def classes_of(path):
    """The names of classes in a file that have a forward() or build layers."""
    for node in source_of(path).body:
        if isinstance(node, ast.ClassDef):
            methods = {k.name for k in node.body if isinstance(k, ast.FunctionDef)}
            if methods & {"forward", "encode"} and "__init__" in methods | {"__init__"}:
                yield node.name


class Given(nn.Module):
    """A network whose forward() reads the program's own `data`."""

    def __init__(self, net, names):
        super().__init__()
        self.net, self.put = net, lambda data: names.update(data=data)

    def forward(self, data):
        self.put(data)
        return self.net()


class Linked(nn.Module):
    """A network that encodes nodes and decodes pairs of them."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x, edge_index, edge_label_index):
        return self.net.decode(self.net.encode(x, edge_index), edge_label_index)


def arguments(cls, own):
    import inspect
    given = dict(own)
    for name, p in inspect.signature(cls.__init__).parameters.items():
        if name != "self" and p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and name not in given:
            given[name] = FACTS[name]
    return {name: value for name, value in given.items()}


def net_of(path, name, own):
    """A network of a class, ready for export."""
    import inspect
    names, missing = namespace_of(path, own.get("globals", {}))
    if name not in names:
        raise RuntimeError("; ".join(missing))
    cls = names[name]
    if not (inspect.isclass(cls) and issubclass(cls, nn.Module)):
        return None
    torch.manual_seed(1)
    net = cls(**{k: v(names) if inspect.isfunction(v) else v for k, v in arguments(cls, own.get("init", {})).items()})
    if "forward" not in vars(cls) and hasattr(net, "encode"):
        net = Linked(net)
    net = Given(net, names) if not inspect.signature(net.forward).parameters else net
    return settings.randomised(initialised(net, own))


def initialised(net, own):
    """The network after the run that lazy layers need."""
    if any(pyg_draw.is_lazy(p) for p in net.parameters()):
        drawn = pyg_draw.for_module(net, own.get("inputs", ()), {**WIDTHS, **own.get("widths", {})}, own.get("relations", ()))[0]
        with torch.no_grad():
            net.eval()(**drawn.arguments())
    return net


def nets(root):
    """(label, file, class) of all networks."""
    for top in ("benchmark", "examples"):
        for folder, folders, files in os.walk(os.path.join(root, top)):
            folders.sort()
            for file in sorted(files):
                if file.endswith(".py"):
                    path = os.path.join(folder, file)
                    for name in classes_of(path):
                        yield f"{os.path.relpath(path, root)}:{name}", path, name


def outcome(library, folder, label, path, name):
    own = OWN.get(label.split("/", 1)[1], {})
    try:
        net = net_of(path, name, own)
    except Exception as error:  # noqa: BLE001 (PyG itself cannot build it here)
        return "not built", f"{type(error).__name__}: {error}"
    if net is None:
        return None
    word, words = settings.measure(library, folder, net, own.get("inputs", ()), own.get("widths", {}), own.get("relations", ()))
    return ("not run" if settings.NOT_RUN in words else word), words


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("checkout")
    parser.add_argument("--library")
    parser.add_argument("--only", default="")
    parser.add_argument("--table")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--folder", default="/tmp")
    given = parser.parse_args()
    torch.set_num_threads(1)
    library = pyg_verify.find(given.library)
    if library is None:
        sys.exit("nets.py: no shared library of libgnn was found (--library)")
    counts, lines = {}, []
    for label, path, name in nets(given.checkout):
        if given.only not in label:
            continue
        found = outcome(library, given.folder, label, path, name)
        if found is None:
            continue
        word, words = found
        counts[word] = counts.get(word, 0) + 1
        lines.append(f"{word:12} {label}: {' '.join(words.split())[:300]}")
        if given.list:
            print(lines[-1], flush=True)
    if given.table:
        with open(given.table, "w") as file:
            file.write("\n".join(lines) + "\n")
    for word, count in sorted(counts.items()):
        print(f"{count:5} {word}")
    total = sum(count for word, count in counts.items() if not word.startswith("not "))
    print(f"{total:5} networks run in PyG {torch_geometric.__version__}; {counts.get('agree', 0)} agree")
    bad = sum(counts.get(word, 0) for word in ("wrong", "refused by C", "traceback", "a file is left"))
    sys.exit(0 if bad == 0 and (given.only or counts.get("agree", 0) >= SHARE) else 1)


if __name__ == "__main__":
    main()
