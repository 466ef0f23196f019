from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Unpack

from ._objects import Handle
from ._tables import LayerSettings
from .graphs import Graph

def presets() -> list[str]: ...
def fields() -> dict[str, tuple[str, str, tuple[str, ...]]]: ...

class Layer(Handle):
    def __init__(self, in_channels: int, out_channels: int | None = None, **settings: Unpack[LayerSettings]) -> None: ...
    @property
    def width(self) -> int: ...
    def __call__(
        self,
        graph: Graph,
        x: ArrayLike,
        x_dst: ArrayLike | None = None,
        edge_attr: ArrayLike | None = None,
        edge_weight: ArrayLike | None = None,
        edge_bias: ArrayLike | None = None,
        out: NDArray[np.float32] | None = None,
    ) -> NDArray[np.float32]: ...
    def parameters(self) -> dict[str, NDArray[np.float32]]: ...
    def load_parameters(self, values: Mapping[str, ArrayLike]) -> None: ...
