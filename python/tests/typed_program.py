"""A program as a user writes it, for type checkers (test_types.py): it runs, too."""
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import libgnn


def train(data: libgnn.Data, width: int = 8) -> libgnn.Model:
    layers: list[libgnn.Layer] = [
        libgnn.GAT(data.num_features, width, heads=4, activation="elu", dropout=0.2),
        libgnn.GCN(4 * width, data.num_classes, bias_out=True),
    ]
    model = libgnn.Model(layers)
    result = model.fit(data, lr=0.01, epochs=20, optimizer="adam", patience=None, callback=lambda state: bool(state["epoch"] > 15))
    assert result.epochs <= 20
    return model


def ranks(graph: libgnn.Graph, x: NDArray[np.float32]) -> NDArray[np.float32]:
    layer = libgnn.SAGE(x.shape[1], 2, aggregator="max", prior_0="slope") if x.shape[1] > 99 else libgnn.SAGE(x.shape[1], 2, aggregator="max")
    with layer:
        return layer(graph, x)


def main() -> None:
    libgnn.set_threads(1)
    libgnn.set_deterministic(False)
    data = libgnn.Data.karate()
    model = train(data)
    accuracy: float = model.evaluate(data, "train", metric="accuracy")
    logits: NDArray[np.float32] = model.predict(data)
    graph = libgnn.Graph(data.edge_index, num_nodes=data.num_nodes)
    picture: str = graph.draw(labels=[str(k) for k in range(data.num_nodes)], title="karate")
    y = ranks(graph, np.eye(34, dtype=np.float32))
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "gat.safetensors")
        again = libgnn.Model.load(Path(folder) / "gat.safetensors")
    try:
        again.predict(graph, np.ones((34, 3), np.float32))
    except libgnn.Error as problem:
        print(problem.code, problem)
    print(accuracy, logits.shape, len(picture), y.dtype, sorted(libgnn.fields())[:3], libgnn.__version__, libgnn.Graph.causal([3, 4]).num_pairs)


if __name__ == "__main__":
    main()
