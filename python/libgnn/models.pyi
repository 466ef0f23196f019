from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Self, Unpack

from ._objects import Handle
from ._tables import TrainSettings
from .graphs import Graph
from .layers import Layer

Path = str | PathLike[str]
Part = Literal["train", "validation", "test"]

class Data(Handle):
    def __init__(
        self,
        edge_index: ArrayLike | Any,
        x: ArrayLike | None = None,
        y: ArrayLike | None = None,
        train_mask: ArrayLike | None = None,
        val_mask: ArrayLike | None = None,
        test_mask: ArrayLike | None = None,
        edge_weight: ArrayLike | None = None,
        edge_attr: ArrayLike | None = None,
        num_nodes: int | None = None,
    ) -> None: ...
    @classmethod
    def open(cls, path: Path, directed: bool = False) -> Self: ...
    @classmethod
    def karate(cls) -> Self: ...
    @property
    def name(self) -> str: ...
    @property
    def num_nodes(self) -> int: ...
    @property
    def num_features(self) -> int: ...
    @property
    def num_classes(self) -> int: ...
    @property
    def x(self) -> NDArray[np.float32] | None: ...
    @property
    def y(self) -> NDArray[np.int32]: ...
    @property
    def edge_index(self) -> NDArray[np.int64]: ...
    @property
    def edge_weight(self) -> NDArray[np.float32] | None: ...
    @property
    def edge_attr(self) -> NDArray[np.float32] | None: ...
    def mask(self, part: Part, split: int = 0) -> NDArray[np.bool_]: ...
    def row_normalise(self) -> Self: ...
    def save(self, path: Path) -> None: ...

class Result:
    epochs: int
    best_epoch: int
    train_loss: float
    validation_loss: float
    validation_metric: float
    seconds: float
    def __init__(self, raw: Any) -> None: ...

class Model(Handle):
    def __init__(self, layers: Sequence[Layer], *, edge_weight: bool | None = None, edge_attr: bool | None = None) -> None: ...
    @classmethod
    def load(cls, path: Path) -> Self: ...
    def save(self, path: Path) -> None: ...
    @property
    def width(self) -> int: ...
    def fit(
        self,
        data: Data,
        *,
        callback: Callable[[dict[str, Any]], bool | None] | None = None,
        progress: bool = False,
        class_weight: ArrayLike | None = None,
        **settings: Unpack[TrainSettings],
    ) -> Result: ...
    @overload
    def predict(self, data: Data) -> NDArray[np.float32]: ...
    @overload
    def predict(self, data: Graph, x: ArrayLike, edge_weight: ArrayLike | None = None, edge_attr: ArrayLike | None = None) -> NDArray[np.float32]: ...
    def evaluate(self, data: Data, part: Part = "test", metric: str = "accuracy", split: int = 0) -> float: ...
    def state_dict(self) -> dict[str, NDArray[np.float32]]: ...
    def load_state_dict(self, values: Mapping[str, ArrayLike]) -> None: ...
