import os

import pytest

import libgnn

DATA = os.environ.get("GNN_DATA", os.path.join(os.path.dirname(__file__), "..", "..", "..", "shared", "data"))


@pytest.fixture
def karate():
    return libgnn.Data.karate()


@pytest.fixture
def minilm():
    """The folder of all-MiniLM-L6-v2 (examples/fetch-minilm.sh)."""
    folder = os.environ.get("GNN_MINILM", os.path.expanduser("~/.cache/gnn/all-MiniLM-L6-v2"))
    if not os.path.exists(os.path.join(folder, "modules.json")):
        pytest.skip("all-MiniLM-L6-v2 is not here")
    return folder
