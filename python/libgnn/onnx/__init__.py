"""Models of libgnn as ONNX files of standard operators, for onnxruntime and other run-times.

>>> import libgnn
>>> model = libgnn.Model([libgnn.GCN(34, 16, activation="relu"), libgnn.GCN(16, 2)])
>>> libgnn.onnx.export(model, "/tmp/gcn.onnx")     # doctest: +SKIP
"""

__all__ = ["export", "NotExportable"]


class NotExportable(NotImplementedError):
    """What has no counterpart in standard operators, by name."""


def export(model, path, *, graphs=None, nodes=None, values=(), output="y"):
    """Writes a model as ONNX, in operators of opset 18; the counts of nodes and edges stay open.

    Parameters
    ----------
    model : Model, Layer, or a module of libgnn.torch.compile that has been called once
        Dropout is left out: the file is for inference.
    path : path
        Of the file that is written.
    graphs : dict or list of str, optional
        The graph of each slot: "edges", "complete", "causal", "incidence", "readout", "spread",
        "relation=K", "pairs", or "square". "edges:NAME" reads the input NAME in place of "edge_index".
        Default: what a traced model declares, otherwise "edges".
    nodes : str, optional
        The input whose rows are the nodes. Default: "x", or the first input.
    values : tuple of str
        Values on edges that the file reads as well: "edge_weight", "edge_bias".
    output : str
        Name of the output.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    NotExportable
        Names the step and the entry for which there are no standard operators.

    Notes
    -----
    Inputs are those of the model by name, "edge_index" (2, edges) as in PyG, "batch" (nodes), the
    graph of each node, where a slot needs it, and "edge_type" (edges) for relations. A slot of the
    kind "pairs" reads "edge_index_K" and "size_K", its counts of senders and of receivers; "square" as
    well, with receivers that are the senders. "pairs=segments" and "square=segments" read
    "sender_position_K", "receiver_position_K" and "segments_K", the count of segments, where a step
    needs positions. Layers with edge features read "edge_attr", those of Model(layers,
    edge_weight=True) "edge_weight". "complete:all" and "causal:all" are one graph of all nodes,
    without "batch".
    """
    from .._arrays import path_of, short, strings, text
    path_of(path)
    text(output, "output")
    if nodes is not None:
        text(nodes, "nodes")
        if not nodes:
            raise ValueError("nodes must be the name of an input, came ''")
    values = (values,) if isinstance(values, str) else tuple(strings(values, "values"))
    if graphs is not None and not isinstance(graphs, dict):
        graphs = strings(graphs, "graphs")
    for slot, kind in (graphs.items() if isinstance(graphs, dict) else ()):
        if not isinstance(kind, str):
            raise TypeError(f"graphs[{slot!r}] must be a string, came {short(kind)}")
    from ._steps import exported
    made = exported(model, graphs, nodes, output, values)
    with open(path, "wb") as file:
        file.write(made.SerializeToString())
    return made
