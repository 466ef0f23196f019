"""Layers over several types of nodes and edges: rows for pyg_trace.py. Their values are
dictionaries by the type of a node; the edges of a relation are called FROM__NAME__TO."""
import torch_geometric.nn as G

from .from_pyg import by_relation
from .pyg_modules import need, row

TYPED = tuple(getattr(G, name) for name in ("HGTConv", "HeteroConv") if hasattr(G, name))


def relations_of(m):
    """The relations of a layer of types, as triples; of others none."""
    return [] if not isinstance(m, TYPED) else list(m.convs.keys()) if hasattr(m, "convs") else list(m.edge_types)


def types_that_hear(m):
    return list(dict.fromkeys(relation[-1] for relation in relations_of(m)))


def name_of(relation):
    return "__".join(relation)


def family(t, name, xs):
    """The prefix of values that are called PREFIX.TYPE; others get such names first."""
    values = {node: t.rows(x) for node, x in xs.items()}
    prefixes = {value[:-len(node) - 1] if value.endswith(f".{node}") else None for node, value in values.items()}
    if len(prefixes) == 1 and None not in prefixes:
        return prefixes.pop()
    for node, x in xs.items():
        t.step(x.width, kind="scale", name=f"{name}:x.{node}", input=t.rows(x), factor=1.0)
    return f"{name}:x"


@row("HGTConv")
def hgt_conv(t, m, name, a):
    xs, relations = a["x_dict"], relations_of(m)
    need(t, isinstance(xs, dict), "features other than by type")
    lacking = [node for node in m.node_types if node not in xs]
    need(t, not lacking, f"type without features ({lacking[:1]})")
    towards = {node: [name_of(r) for r in relations if r[-1] == node] for node in m.node_types}
    first = len(t.graphs)
    known = [g.get("source") for g in t.graphs if g["kind"] == "beside"]
    wanted = [" ".join(towards[node] or [name_of(relations[0])]) for node in m.node_types]
    if known[-len(wanted):] == wanted:
        first = max(k for k, g in enumerate(t.graphs) if g["kind"] == "beside") - len(wanted) + 1
    else:
        t.graphs.extend({"kind": "beside", "number": 0, "source": source} for source in wanted)
    state = {f"{name}.{key}": value for key, value in m.state_dict().items()}
    t.arrays.update(by_relation(state))
    widths = {node: m.kqv_lin.lins[node].weight.shape[1] for node in m.node_types}
    values = t.block("hgt", name, m.out_channels, input=family(t, name, xs), graph=first, out=m.out_channels, heads=m.heads,
                     types=" ".join(f"{node}:{width}" for node, width in widths.items()), relations=" ".join(map(name_of, relations)))
    return {node: type(values)(f"{name}.{node}", m.out_channels) for node in types_that_hear(m)}


@row("HeteroConv")
def hetero_conv(t, m, name, a):
    need(t, m.aggr in ("sum", "mean", "max"), f"aggr={m.aggr!r}")
    need(t, len(a["args_dict"]) == 2 and not a.get("kwargs_dict"), "inputs beside x_dict and edge_index_dict")
    xs, heard = a["args_dict"][0], {}
    need(t, isinstance(xs, dict), "features other than by type")
    for relation, conv in m.convs.items():
        source, _, target = relation
        lacking = [node for node in (source, target) if node not in xs]
        need(t, not lacking, f"type without features ({lacking[:1]})")
        x = xs[source] if source == target else (xs[source], xs[target])
        part = next(path for path, found in m.named_modules() if found is conv)
        value = t.call(f"{name}.{part}", conv, {"x": x, "edge_index": type(xs[source])(name_of(relation))})
        heard.setdefault(target, []).append(value)
    return {node: together(t, f"{name}:{node}", m.aggr, values) for node, values in heard.items()}


def together(t, name, aggr, values):
    """Several values as their sum, mean or largest."""
    if aggr == "max" and len(values) > 1:
        return t.many("maximum", name, values, values[0].width)
    total = values[0]
    for k, value in enumerate(values[1:]):
        total = t.step(value.width, kind="add", name=f"{name}:{k}", input=t.rows(total), second=t.rows(value))
    return total if aggr == "sum" or len(values) == 1 else t.step(total.width, kind="scale", name=name, input=t.rows(total), factor=1 / len(values))

