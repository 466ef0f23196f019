from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

class NotExportable(NotImplementedError): ...

def export(
    model: Any,
    path: str | PathLike[str],
    *,
    graphs: Mapping[int, str] | Sequence[str] | None = None,
    nodes: str | None = None,
    values: Sequence[str] = (),
    output: str = "y",
) -> Any: ...
