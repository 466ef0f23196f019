"""The shared library, called by the table that the build made of its headers (_abi.py)."""
import ctypes
import glob
import importlib.util
import os
import re

try:
    from . import _abi
except ImportError:
    raise ImportError("libgnn is not built here: `pip install .` in the repository builds it") from None

HERE = os.path.dirname(os.path.abspath(__file__))
CODES = {"v": None, "c": ctypes.c_char, "i": ctypes.c_int32, "b": ctypes.c_int8, "B": ctypes.c_uint8, "h": ctypes.c_int16, "H": ctypes.c_uint16,
         "I": ctypes.c_uint32, "q": ctypes.c_int64, "Q": ctypes.c_uint64, "f": ctypes.c_float, "d": ctypes.c_double, "P": ctypes.c_void_p,
         "s": ctypes.c_char_p, "F": ctypes.c_void_p}
C = _abi.CONSTANTS


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


def struct(name):
    """The ctypes class of a struct of the headers."""
    made = _STRUCTS.get(name)
    if made is None:
        fields = []
        for member, code, count in _abi.STRUCTS[name]:
            kind = CODES[code] if code in CODES else struct(code)
            fields.append((member, kind * count if count != 1 else kind))
        made = _STRUCTS[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
    return made


_STRUCTS = {}


def callback(place):
    """The ctypes class of a member that is a function, "gnn_train_config_t.callback"."""
    result, arguments = _abi.CALLBACKS[place]
    return ctypes.CFUNCTYPE(CODES[result], *(CODES[code] for code in arguments))


def words_of(place):
    """The values of a member that is an enum, by their names without what these have in common: {"accuracy": 0, ...}."""
    members = _abi.ENUMS[_abi.CHOSEN[place]]
    names = [name for name in members if not name.endswith("_COUNT")]
    common = os.path.commonprefix(names)
    common = common[:common.rfind("_") + 1]
    return {name[len(common):].lower(): members[name] for name in names if not name.endswith("_DEFAULT")}


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


class _Library:
    """Functions of the library as attributes, with the types that the headers give them."""

    def __init__(self):
        _openmp_of_torch()
        self.path = _path()
        self._c = ctypes.CDLL(self.path, mode=ctypes.RTLD_LOCAL)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        result, arguments = _abi.FUNCTIONS[name]
        function = getattr(self._c, name)
        function.restype = struct(result[1:-1]) if result[0] == "{" else CODES[result]
        function.argtypes = [struct(code[1:-1]) if code[0] == "{" else CODES[code] for code in re.findall(r"\{[^}]*\}|.", arguments)]
        setattr(self, name, function)
        return function


lib = _Library()


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



if version() != _abi.VERSION:
    raise ImportError(f"{lib.path} is libgnn {version()}; this package was built of the headers of {_abi.VERSION}")
