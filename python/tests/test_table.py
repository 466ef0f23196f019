"""The table of the headers, and what is made of it."""
import doctest
import importlib

import pytest

import libgnn
from libgnn import _library
from libgnn._table import abi as _abi


def test_every_function_of_the_headers_is_in_the_library():
    for name in _abi.FUNCTIONS:
        assert getattr(_library.lib, name).argtypes is not None


def test_every_struct_has_a_class():
    for name in _abi.STRUCTS:
        assert _library.struct(name)._fields_


def test_every_preset_is_a_class():
    for name in libgnn.presets():
        layer = getattr(libgnn, name)(8, 8)
        assert isinstance(layer, libgnn.Layer) and layer.width > 0


def test_unknown_names():
    with pytest.raises(AttributeError, match="NOSUCH"):
        libgnn.NOSUCH
    with pytest.raises(AttributeError):
        libgnn.nosuch
    assert "GAT" in dir(libgnn) and "GAT" in libgnn.presets()


@pytest.mark.parametrize("name", ["", ".graphs", ".layers", ".models", ".texts", "._objects"])
def test_examples_of_docstrings(name):
    result = doctest.testmod(importlib.import_module("libgnn" + name))
    assert result.failed == 0


@pytest.mark.parametrize("code, kind", [("GNN_EMEMORY", MemoryError), ("GNN_EIO", OSError), ("GNN_EUNSUPPORTED", NotImplementedError), ("GNN_ENOTFOUND", KeyError),
                                        ("GNN_ESHAPE", ValueError), ("GNN_EFORMAT", ValueError)])
def test_kinds_of_errors(code, kind):
    made = _library.error(_abi.CONSTANTS[code])
    assert isinstance(made, kind) and isinstance(made, libgnn.Error) and made.code == _abi.CONSTANTS[code]


def test_import_is_quick():
    """Processor time in a process of its own, without what NumPy takes."""
    import subprocess
    import sys
    code = "import numpy, time; t = time.process_time(); import libgnn; libgnn.GAT; print(time.process_time() - t)"
    assert min(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(3)) < 0.3
