"""What a notebook shows, and the tutorial."""
import importlib.util
import json
import os
import xml.dom.minidom

import numpy as np
import pytest

import folders
import libgnn

TUTORIAL = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "python-tutorial.ipynb")


def svg(text):
    """The root element of a picture, which must be well-formed."""
    root = xml.dom.minidom.parseString(text).documentElement
    assert root.tagName == "svg"
    return root


def test_drawings(karate, tmp_path):
    graph = libgnn.Graph([[0, 1, 2, 0], [1, 2, 0, 2]])
    words = "".join(node.toxml() for node in svg(graph.draw(labels=["a<b", "&", "c"], title="three")).getElementsByTagName("text"))
    assert "a&lt;b" in words and "&amp;" in words and "three" in words
    assert graph.draw(seed=2) == graph.draw(seed=2) != graph.draw(seed=3)
    picture = graph.draw()
    picture.save(tmp_path / "g.svg")
    assert (tmp_path / "g.svg").read_text() == picture == picture._repr_svg_() and "Picture" in repr(picture)
    svg(graph._repr_svg_()), svg(libgnn.Graph(karate.edge_index)._repr_svg_())
    for wrong in ({"weight": [1.0]}, {"labels": ["a"]}, {"weight": [np.nan] * 4}, {"seed": 1.5}, {"seed": -1 << 70}):
        with pytest.raises((ValueError, TypeError)):
            graph.draw(**wrong)
    with pytest.raises(ValueError, match="senders"):
        libgnn.Graph([[0], [0]], num_nodes=(3, 2)).draw()


def test_large_graphs_are_tables_alone():
    large = libgnn.Graph.complete([400])
    assert large._repr_svg_() is None and "400" in large._repr_html_() and "<svg" not in large._repr_html_()
    assert "senders" in libgnn.Graph([[0], [0]], num_nodes=(3, 2))._repr_html_()
    assert libgnn.Graph(np.zeros((2, 0), int), 0)._repr_svg_() is None


def test_tables(karate):
    assert "<svg" in libgnn.Graph([[0], [1]])._repr_html_()
    layer = libgnn.GAT(6, 4, heads=2)._repr_html_()
    assert "GAT" in layer and "heads" in layer and "6 x 8" in layer
    model = libgnn.Model([libgnn.GCN(34, 16), libgnn.GCN(16, 2)])
    assert "2 steps, 594 values" in model._repr_html_() and "34 x 16" in model._repr_html_()
    assert "karate" in karate._repr_html_() and "156" in karate._repr_html_()
    for closed in (libgnn.Graph([[0], [1]]), model, libgnn.GCN(2, 2)):
        closed.close()
        with pytest.raises(ValueError, match="closed"):
            closed._repr_html_()


def test_attention(minilm, tmp_path):
    encoder = libgnn.SentenceEncoder(minilm)
    made = encoder.attention("The <b>keys</b> are lost.")
    assert made.words[0] == "[CLS]" and made.weights.shape == (6, 12, len(made.words), len(made.words))
    assert np.allclose(made.weights.sum(-1), 1, atol=1e-4) and np.allclose(made.mean(2, 3), made.weights[2, 3])
    assert np.allclose(made.mean(), made.weights.mean((0, 1)), atol=1e-5)
    svg(made.svg()), svg(made.heatmap(1, 2)), svg(made._repr_svg_())
    assert "<b>keys" not in made.html() and made._repr_html_().startswith("<iframe")
    made.save(tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text() == made.html()
    for wrong in (lambda: made.save("a.png"), lambda: made.mean(99), lambda: encoder.attention(None), lambda: encoder.attention(["a"])):
        with pytest.raises((ValueError, TypeError)):
            wrong()
    assert len(encoder.attention("The keys", special=False).words) < len(encoder.attention("The keys").words)
    view = made.weights
    with pytest.raises(BufferError):
        made.close()
    del view
    made.close()
    with pytest.raises(ValueError, match="closed"):
        made.words


# Cells of the tutorial by the package that they need beside NumPy and pandas.
TAGS = {"torch": "torch_geometric"}


def tutorial(folder):
    """The notebook as this environment can run it, in a folder that has what its texts are encoded by."""
    pytest.importorskip("pandas")
    with open(TUTORIAL, encoding="utf-8") as file:
        notebook = json.load(file)
    folders.bert(folder / "all-MiniLM-L6-v2")
    lacking = {tag for tag, package in TAGS.items() if importlib.util.find_spec(package) is None}
    notebook["cells"] = [{**cell, "source": "".join(cell["source"])} for cell in notebook["cells"] if not lacking & set(cell["metadata"].get("tags", ()))]
    return notebook


def test_the_tutorial(tmp_path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.from_dict(tutorial(tmp_path))
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [kind for cell in notebook.cells for output in cell.get("outputs", ()) for kind in output.get("data", ())]
    assert shown.count("text/html") >= 7 and shown.count("image/svg+xml") >= 3


def test_the_tutorials_program_runs(tmp_path, monkeypatch):
    """Without a notebook: its cells one after another."""
    cells = tutorial(tmp_path)["cells"]
    assert not any(cell.get("outputs") for cell in cells)
    monkeypatch.chdir(tmp_path)
    exec("\n".join(cell["source"] for cell in cells if cell["cell_type"] == "code"), {})


def test_the_tutorials_tags():
    with open(TUTORIAL, encoding="utf-8") as file:
        found = {tag for cell in json.load(file)["cells"] for tag in cell["metadata"].get("tags", ())}
    assert found == set(TAGS)
