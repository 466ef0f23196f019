import copy
import pickle

import numpy as np
import pytest

import libgnn

EDGES = np.array([[0, 1, 2, 3], [1, 2, 3, 0]])


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.int16, np.uint32, np.uint64, ">i8"])
def test_integers_of_all_types(dtype):
    assert (libgnn.Graph(EDGES.astype(dtype), 4).edge_index == EDGES).all()


@pytest.mark.parametrize("make", [list, np.asfortranarray, lambda e: np.repeat(e, 2, axis=1)[:, ::2], lambda e: np.ascontiguousarray(e.T).T, tuple])
def test_arrays_of_all_layouts(make):
    assert (libgnn.Graph(make(EDGES), 4).edge_index == EDGES).all()


def test_empty():
    assert libgnn.Graph([[], []]).num_nodes == 0
    assert libgnn.Graph(np.zeros((2, 0), np.int64), 5).num_nodes == 5
    assert libgnn.Graph([], 3).num_edges == 0


@pytest.mark.parametrize("edges, nodes, kind, words", [
    (EDGES.astype(float), 4, TypeError, "integers"), (EDGES == 1, 4, TypeError, "integers"), (EDGES.T[:, :1], 4, ValueError, "shape"), (EDGES - 1, 4, ValueError, "-1"),
    (EDGES, 3, ValueError, "3"), (EDGES[0], 4, ValueError, "shape"), (EDGES.astype(str), 4, TypeError, "integers"), ([[object()], [object()]], 4, TypeError, "numbers"),
    (EDGES, -1, ValueError, "negative"), (EDGES, 4.0, TypeError, "integer"), (EDGES, True, TypeError, "integer"), (EDGES, "4", TypeError, "integer"), (EDGES, (1, 2, 3), ValueError, "senders"),
    (np.array([[2**63], [0]], dtype=np.uint64), 4, ValueError, "id"), (None, 4, (TypeError, ValueError), "edge_index")])
def test_refused(edges, nodes, kind, words):
    with pytest.raises(kind, match=words):
        libgnn.Graph(edges, nodes)


def test_bipartite():
    graph = libgnn.Graph([[0, 4], [1, 0]], num_nodes=(5, 2))
    assert (graph.num_senders, graph.num_nodes) == (5, 2)


def test_topologies():
    assert libgnn.Graph.complete(4).num_pairs == 16
    assert libgnn.Graph.causal([3, 2]).num_pairs == 9
    assert libgnn.Graph.window([5], 1).num_pairs == 13
    assert libgnn.Graph.window([5], 1, causal=True).num_pairs == 9
    with pytest.raises(ValueError, match="complete"):
        libgnn.Graph.topology("nosuch", [3])
    with pytest.raises(ValueError):
        libgnn.Graph.complete([-1])
    with pytest.raises(TypeError):
        libgnn.Graph.complete(2.5)


@pytest.mark.parametrize("graph", [libgnn.Graph(EDGES, 6), libgnn.Graph.complete([3, 1]), libgnn.Graph.window([5], 1, causal=True), libgnn.Graph([[4], [1]], (5, 2))])
def test_copies(graph):
    for made in (copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):
        assert (made.edge_index == graph.edge_index).all() and repr(made) == repr(graph)


def test_closed():
    graph = libgnn.Graph(EDGES)
    graph.close()
    graph.close()
    assert graph.closed and repr(graph) == "Graph(closed)"
    with pytest.raises(ValueError, match="closed"):
        graph.num_nodes
    with pytest.raises(ValueError, match="closed"):
        libgnn.GCN(2, 2)(graph, np.zeros((4, 2), np.float32))


def test_scipy():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.coo_matrix(([1.0, 1.0], ([0, 2], [1, 0])), shape=(3, 3))
    for made in (matrix, matrix.tocsr(), matrix.tocsc(), sparse.csr_array(matrix)):
        assert sorted(map(tuple, libgnn.Graph(made).edge_index.T)) == [(0, 1), (2, 0)]
    weighted = libgnn.Graph(matrix * 2)
    assert (weighted.edge_weight == 2).all()
    layer, x = libgnn.GCN(2, 2, self_loops=False, graph_norm="none"), np.ones((3, 2), np.float32)
    assert np.allclose(layer(weighted, x), 2 * layer(libgnn.Graph(matrix), x))


def test_scipy_elements_stored_in_parts_or_as_zero():
    """One matrix in any format is one graph."""
    sparse = pytest.importorskip("scipy.sparse")
    parts = sparse.coo_matrix(([1.0, 1.0, 2.0, 0.0], ([0, 0, 1, 2], [1, 1, 2, 2])), shape=(3, 3))
    csr = sparse.csr_matrix((np.array([1.0, 1.0, 2.0, 0.0]), np.array([1, 1, 2, 2]), np.array([0, 2, 3, 4])), shape=(3, 3))
    summed = csr.copy()
    summed.sum_duplicates()
    for matrix in (parts, csr, summed, parts.tocsc()):
        graph = libgnn.Graph(matrix)
        assert sorted(zip(*graph.edge_index.tolist(), graph.edge_weight.tolist())) == [(0, 1, 2), (1, 2, 2), (2, 2, 0)]
    assert parts.nnz == csr.nnz == 4  # they stay as they were
    flags = sparse.csr_matrix((np.array([True, False]), np.array([1, 2]), np.array([0, 1, 2, 2])), shape=(3, 3))
    assert libgnn.Graph(flags).edge_weight.tolist() == [1, 0] and libgnn.Graph(flags[:2, :2]).edge_weight is None


def test_networkx():
    networkx = pytest.importorskip("networkx")
    graph = libgnn.Graph(networkx.karate_club_graph())
    assert (graph.num_nodes, graph.num_edges) == (34, 156) and graph.node_names is None
    named = networkx.MultiDiGraph([("b", "a"), ("b", "a"), ("a", "c"), ("c", "c")])
    graph = libgnn.Graph(named)
    assert graph.node_names == ["b", "a", "c"] and sorted(map(tuple, graph.edge_index.T.tolist())) == [(0, 1), (0, 1), (1, 2), (2, 2)]
    assert pickle.loads(pickle.dumps(graph)).node_names == graph.node_names and ">b<" in graph.draw()
    grid = libgnn.Graph(networkx.grid_2d_graph(2, 2))
    assert grid.node_names[0] == (0, 0) and "(0, 1)" in grid.draw() and "svg" in grid._repr_html_()
    order = networkx.Graph([(3, 1), (0, 2)])
    assert libgnn.Graph(order).node_names == [3, 1, 0, 2] and libgnn.Graph(order).edge_index.tolist() == [[0, 2, 1, 3], [1, 3, 0, 2]]
    assert libgnn.Graph(networkx.Graph()).num_nodes == 0


def test_igraph():
    igraph = pytest.importorskip("igraph")
    assert libgnn.Graph(igraph.Graph(edges=[(0, 1)], directed=True)).num_edges == 1
    assert libgnn.Graph(igraph.Graph.TupleList([("x", "y")])).node_names == ["x", "y"]
