from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

def export(
    module: Any,
    path: str | PathLike[str],
    inputs: Sequence[str] = (),
    widths: Mapping[str, int] | Sequence[tuple[str, int]] = (),
    library: str | None = None,
    verify: bool = True,
    given: Any = None,
    relations: Iterable[tuple[str, str, str]] = (),
) -> Any: ...
