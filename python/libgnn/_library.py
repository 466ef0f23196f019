"""The shared library, called by the table that the build made of its headers (_abi.py)."""
import ctypes
import glob
import importlib.util
import os

from . import _table
from ._table import C, callback, struct, words_of  # noqa: F401 (other modules take them from here)

HERE = os.path.dirname(os.path.abspath(__file__))


class Error(Exception):
    """An error of the library: `code` is its code, the text its message.

    What is raised is also a ValueError, MemoryError, OSError, NotImplementedError or KeyError.
    """

    code = 0

    def __str__(self):
        return str(self.args[0]) if self.args else ""


_KINDS = {"GNN_EMEMORY": MemoryError, "GNN_EIO": OSError, "GNN_EUNSUPPORTED": NotImplementedError, "GNN_ENOTFOUND": KeyError}
_RAISED = {C[name]: type(f"{kind.__name__}", (Error, kind), {"__doc__": Error.__doc__, "__module__": __name__}) for name, kind in _KINDS.items()}
_VALUE = type("ValueError", (Error, ValueError), {"__doc__": Error.__doc__, "__module__": __name__})


def _openmp_of_torch():
    """Opens PyTorch's OpenMP for all, if PyTorch is installed, so that one run-time serves both in a process, whichever is imported first."""
    try:
        spec = importlib.util.find_spec("torch")
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.origin:
        return
    home = os.path.dirname(spec.origin)
    for path in sorted(glob.glob(os.path.join(home, "lib", "libgomp*.so*")) + glob.glob(os.path.join(home, "..", "torch.libs", "libgomp*.so*"))):
        try:
            ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
            return
        except OSError:
            pass


def _path():
    named = os.environ.get("GNN_LIBRARY")
    if named:
        return named
    for folder in (os.path.join(HERE, "..", ".libgnn.mesonpy.libs"), HERE):
        path = os.path.join(folder, "libgnn_python.so")
        if os.path.exists(path):
            return path
    raise ImportError("the shared library of libgnn is missing beside the package; `pip install --force-reinstall libgnn` brings it")


def _opened():
    _openmp_of_torch()
    return _table.Functions(_path())


lib = _opened()


def message():
    return lib.gnn_error_message().decode("utf-8", "replace")


def error(code):
    """The exception of a code, with the message of this thread's last failed call."""
    made = _RAISED.get(code, _VALUE)(message() or lib.gnn_error_string(code).decode())
    made.code = code
    return made


def check(code):
    if code:
        raise error(code)


def version():
    return lib.gnn_version().decode()


def build_info():
    """What this build of the library is: version, compiler, kernels chosen, provider of dense products."""
    return lib.gnn_build_info().decode()

