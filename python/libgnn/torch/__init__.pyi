from typing import Any, TypeVar

from . import from_pyg as from_pyg

Module = TypeVar("Module")

class Untraceable(Exception): ...

def compile(module: Module, *, fallback: bool = False, threads: int | None = None) -> Module: ...
