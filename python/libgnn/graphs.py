"""Graphs: edges, or topologies over segments."""
import ctypes
import weakref

import numpy as np

from ._arrays import array_of, column, flag, indices, ints, lengths_of, listed, short, text, whole
from ._library import check, error, message, C, lib, struct
from ._objects import Gate, Handle


def _size(num_nodes, name="num_nodes"):
    """Counts of receivers and senders of `num_nodes`: one number, or PyG's (senders, receivers)."""
    parts = num_nodes if isinstance(num_nodes, (tuple, list)) else (num_nodes, num_nodes)
    if len(parts) != 2:
        raise ValueError(f"{name} must be an integer or (senders, receivers), came {len(parts)} values")
    made = [whole(part, name, low=0) for part in parts]
    return made[1], made[0]


def _of_pairs(value):
    """The senders and receivers of an edge_index (2, edges)."""
    a = array_of(value, "edge_index")
    if a.ndim == 1 and a.size == 0:
        a = a.reshape(2, 0)
    if a.ndim != 2 or a.shape[0] != 2:
        raise ValueError(f"edge_index must have the shape (2, edges): senders, then receivers; came {a.shape}")
    return indices(a[0], "edge_index"), indices(a[1], "edge_index")


def _of_scipy(matrix):
    if matrix.ndim != 2:
        raise ValueError(f"edge_index must be a sparse matrix of two dimensions, came {matrix.ndim}")
    coo = matrix.tocoo()
    if not getattr(matrix, "has_canonical_format", True):
        summed = coo.copy()
        summed.sum_duplicates()  # an element that is stored in parts is their sum
        coo = coo if summed.nnz == coo.nnz else summed
    data = np.asarray(coo.data)
    weight = None if not data.size or (data == 1).all() else column(data, "the elements of edge_index").reshape(-1)
    return coo.row, coo.col, (matrix.shape[1], matrix.shape[0]), weight


def _of_networkx(graph):
    number = {node: k for k, node in enumerate(graph.nodes)}
    pairs = np.array([(number[a], number[b]) for a, b in graph.edges()], dtype=np.int64).reshape(-1, 2)
    names = list(number)
    return _both(pairs, graph.is_directed()), len(number), None if names == list(range(len(names))) else names


def _of_igraph(graph):
    names = graph.vs["name"] if "name" in graph.vs.attributes() else None
    return _both(np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2), graph.is_directed()), graph.vcount(), names


def _of_table(table, names):
    """Senders, receivers and names of a pandas DataFrame of two columns; without names integers are the
    ids themselves."""
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(f"edge_index must have two columns as a DataFrame, senders and receivers: table[['from', 'to']]; came the shape {table.shape}")
    if table.isna().to_numpy().any():
        raise ValueError("edge_index has missing values: table.dropna() leaves such edges out")
    columns = [table.iloc[:, k] for k in range(2)]
    for k, c in enumerate(columns):
        if names is None and c.dtype.kind == "f":  # as a column of ids that had missing values
            if (c % 1 != 0).any():
                raise ValueError(f"edge_index has {c[c % 1 != 0].iloc[0]} in column {table.columns[k]!r}: ids are integers")
            columns[k] = c.astype(np.int64)
    if names is None and all(c.dtype.kind in "iu" for c in columns):
        return *(indices(c.to_numpy(c.dtype.str if isinstance(c.dtype, np.dtype) else np.int64), "edge_index") for c in columns), None
    from pandas import concat, factorize
    every = concat([c.astype(object) for c in columns], ignore_index=True)
    if names is None:
        ids, names = factorize(every)
    else:
        known = {name: k for k, name in enumerate(names)}
        if len(known) != len(names):
            raise ValueError(f"node_names has {len(names) - len(known)} names twice")
        ids = every.map(known)
        if ids.isna().any():
            raise ValueError(f"edge_index has {every[ids.isna()].iloc[0]!r}, which is not among node_names")
        ids = ids.to_numpy()
    return *np.split(ids.astype(np.int64), 2), list(names)


def _both(pairs, directed):
    """Edges of both directions of undirected links; a loop stays one edge."""
    if not directed:
        pairs = np.concatenate([pairs, pairs[pairs[:, 0] != pairs[:, 1]][:, ::-1]])
    return pairs.T


class Graph(Handle):
    """A graph: which receivers aggregate from which senders.

    Parameters
    ----------
    edge_index : array (2, edges), or a graph of another package
        Edge e goes from edge_index[0, e] to edge_index[1, e], as in PyG. int32 and int64 are read
        as they are, and an EdgeIndex of PyG with its size. A SciPy sparse matrix is taken too:
        element (i, j) is the edge i -> j, also where it is stored as 0; one that is stored in parts
        is their sum. So is a networkx or igraph graph, without its attributes: undirected links
        become two edges, and the nodes of networkx are numbered in its order, as in the matrices
        that it makes. A pandas DataFrame has two columns, senders and receivers: integers are ids,
        other values are numbered in the order in which they come. `node_names` lists the nodes by
        their ids.
    num_nodes : int or (int, int), optional
        Count of the nodes; (senders, receivers) of a bipartite graph. Default: the largest id + 1.
    node_names : list, optional
        The nodes of a DataFrame in the order of their ids, also those without edges: the column of a
        table of nodes, whose rows are the rows of x then.
    undirected : bool
        True: each edge goes both ways, once.

    Attributes
    ----------
    edge_weight : array (edges), optional
        The values of a SciPy matrix that are not all 1; layers use it where none is given.
    node_names : list, optional
        What a DataFrame, a networkx graph or the attribute "name" of an igraph graph calls the
        nodes; None where they are 0, 1, 2, ...

    Examples
    --------
    >>> import libgnn
    >>> libgnn.Graph([[0, 1, 2], [1, 2, 0]], num_nodes=3)
    Graph(3 nodes, 3 edges)
    >>> libgnn.Graph.complete([4, 2])
    Graph(6 nodes, 20 pairs, 2 segments)
    """

    def __init__(self, edge_index, num_nodes=None, *, node_names=None, undirected=False):
        weight, names, home = None, None, type(edge_index).__module__.partition(".")[0]
        if node_names is not None and home != "pandas":
            raise TypeError(f"node_names are those of a DataFrame's values, and edge_index is {short(edge_index)}")
        node_names, undirected = None if node_names is None else listed(node_names, "node_names", "values that the DataFrame names nodes by"), flag(undirected, "undirected")
        if isinstance(edge_index, Graph):
            raise TypeError("edge_index must be edges, came a Graph")
        if hasattr(edge_index, "tocoo") and hasattr(edge_index, "shape"):
            src, dst, size, weight = _of_scipy(edge_index)
            src, dst = indices(src, "row"), indices(dst, "column")
        elif home == "pandas":
            src, dst, names = _of_table(edge_index, node_names)
            size = None if names is None else (len(names), len(names))
        elif home in ("networkx", "igraph"):
            pairs, size, names = (_of_networkx if home == "networkx" else _of_igraph)(edge_index)
            (src, dst), size = _of_pairs(pairs), (size, size)
        else:
            (src, dst), size = _of_pairs(edge_index), None
            if home == "torch_geometric" and hasattr(edge_index, "sparse_size") and None not in edge_index.sparse_size():
                size = edge_index.sparse_size()[::-1]  # of an EdgeIndex: senders, receivers
        if num_nodes is not None:
            given = _size(num_nodes)
            if size is not None and given != tuple(size):
                raise ValueError(f"num_nodes is {num_nodes}, and the graph has {size[1]} senders and {size[0]} receivers")
            size = given
        if size is None:
            top = max((int(a.max()) + 1 for a in (src, dst) if a.size), default=0)
            size = (top, top)
        if undirected:
            if size[0] != size[1] or weight is not None:
                raise ValueError("undirected=True is for edges between nodes of one kind without weights")
            pairs = np.stack([src, dst]).astype(np.int64)
            src, dst = np.unique(np.concatenate([pairs, pairs[::-1]], 1), axis=1)
            src, dst = np.ascontiguousarray(src), np.ascontiguousarray(dst)
        self._make(size, src, dst)
        self.edge_weight, self.node_names = weight, names

    def _make(self, size, src, dst):
        made = ctypes.c_void_p()
        check(lib.gnn_graph_from_edges(ctypes.byref(made), size[0], size[1], len(src), ints(src), ints(dst)))
        self._own(made.value, None)

    def _own(self, pointer, recipe):
        self._hold(pointer, lib.gnn_graph_free)
        self._recipe, self._gate, self._ready, self.edge_weight = recipe, Gate(), weakref.WeakSet(), None
        self.node_names = None

    @classmethod
    def topology(cls, name, lengths, **options):
        """A topology of the library's table by its name, over segments of these lengths.

        Parameters
        ----------
        name : str
            An entry of graphs/topologies.def.
        lengths : array (segments) of int
        **options : int
            Those of the entry, by name.

        Examples
        --------
        >>> import libgnn
        >>> libgnn.Graph.topology("window", [5], width=1)
        Graph(5 nodes, 13 pairs, 1 segments)
        """
        found = lib.gnn_topology_find(text(name, "name"))
        if not found:
            raise ValueError(f"name: {message()}")
        sizes, made = lengths_of(lengths), ctypes.c_void_p()
        words = ",".join(f"{key}={whole(int(value) if isinstance(value, bool) else value, key)}" for key, value in options.items()).encode()
        from ._library import callback
        build = callback("gnn_topology_t.build")(struct("gnn_topology_t").from_address(found).build)
        check(build(ctypes.addressof(made), len(sizes), sizes.ctypes.data, words or None))
        graph = cls.__new__(cls)
        graph._own(made.value, (name, sizes.copy(), options))
        return graph

    @classmethod
    def complete(cls, lengths):
        """Every node of a segment receives from every node of it: the graph of a sentence.

        Examples
        --------
        >>> import libgnn
        >>> libgnn.Graph.complete([4, 2]).num_pairs
        20
        """
        return cls.topology("complete", lengths)

    @classmethod
    def causal(cls, lengths):
        """Position p of a segment receives from positions 0 to p.

        Examples
        --------
        >>> import libgnn
        >>> libgnn.Graph.causal([3]).num_pairs
        6
        """
        return cls.topology("causal", lengths)

    @classmethod
    def window(cls, lengths, width, dilation=1, causal=False):
        """Position p receives from p + k dilation for k from -width to width, or to 0 if causal.

        Parameters
        ----------
        lengths : array (segments) of int
            Nodes of each segment.
        width, dilation : int
        causal : bool

        Examples
        --------
        >>> import libgnn
        >>> libgnn.Graph.window([4], width=1, causal=True).edge_index.tolist()
        [[0, 0, 1, 1, 2, 2, 3], [0, 1, 1, 2, 2, 3, 3]]
        """
        sizes, made = lengths_of(lengths), ctypes.c_void_p()
        width, dilation, causal = whole(width, "width"), whole(dilation, "dilation"), flag(causal, "causal")
        check(lib.gnn_graph_window(ctypes.byref(made), len(sizes), sizes.ctypes.data, width, dilation, C["GNN_ON" if causal else "GNN_OFF"]))
        graph = cls.__new__(cls)
        graph._own(made.value, ("window", sizes.copy(), width, dilation, causal))
        return graph

    @property
    def num_nodes(self):
        """Count of the receivers."""
        return lib.gnn_graph_n_dst(self._at)

    @property
    def num_senders(self):
        """Count of the senders."""
        return lib.gnn_graph_n_src(self._at)

    @property
    def num_edges(self):
        """Count of the edges; topologies have pairs, and no edges."""
        return lib.gnn_graph_n_edges(self._at)

    @property
    def num_pairs(self):
        """Count of the pairs of sender and receiver."""
        return lib.gnn_graph_n_pairs(self._at)

    @property
    def edge_index(self):
        """The pairs (2, pairs), edges in the order of their ids."""
        count = self.num_pairs
        src, dst, edge = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
        check(lib.gnn_graph_pairs(self._at, src.ctypes.data, dst.ctypes.data, edge.ctypes.data))
        order = np.argsort(edge, kind="stable")
        return np.stack([src[order], dst[order]])

    def draw(self, weight=None, labels=None, title=None, seed=1):
        """A drawing as SVG, in which edges attract in proportion to their weight.

        Parameters
        ----------
        weight : array (edges), optional
            Width and darkness of an edge; negative: not drawn. Default: 1.
        labels : list (nodes), optional
            Default: the names of a DataFrame's nodes, or the ids.
        title : str, optional
        seed : int
            The same seed gives the same positions.

        Returns
        -------
        Picture
            A string, which a notebook shows as the picture; `.save("graph.svg")` writes it.

        Examples
        --------
        >>> import libgnn
        >>> libgnn.Graph([[0, 1], [1, 2]]).draw(labels=["a", "b", "c"]).count("<svg")
        1
        """
        from .pictures import drawing
        return drawing(self, weight, labels, title, whole(seed, "seed", "Q"))

    def _repr_html_(self):
        from .pictures import of_graph
        return of_graph(self)

    def _repr_svg_(self):
        from .pictures import svg_of_graph
        return svg_of_graph(self)

    def __reduce__(self):
        if self._recipe is None:
            return _remade, (self.edge_index, (self.num_senders, self.num_nodes), self.edge_weight, self.node_names)
        if self._recipe[0] == "window" and len(self._recipe) == 5:
            return Graph.window, self._recipe[1:]
        return _topology, self._recipe

    def __repr__(self):
        if self.closed:
            return "Graph(closed)"
        n, s, count = self.num_nodes, self.num_senders, lib.gnn_graph_n_segments(self._at)
        nodes = f"{n} nodes" if n == s else f"{s} senders, {n} receivers"
        pairs = f"{self.num_edges} edges" if self.num_edges == self.num_pairs else f"{self.num_pairs} pairs"
        return f"Graph({nodes}, {pairs}{f', {count} segments' if count else ''})"

    def _prepare(self, user, prepare):
        """Makes the views of a layer or model once; `prepare` returns the library's code."""
        if user in self._ready:
            return
        with self._gate.changing():
            code = prepare()
            if code:
                raise error(code)
        self._ready.add(user)


def _remade(edge_index, size, weight, names=None):
    graph = Graph(edge_index, size)
    graph.edge_weight, graph.node_names = weight, names
    return graph


def _topology(name, lengths, options):
    return Graph.topology(name, lengths, **options)
