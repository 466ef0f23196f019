"""Structs, enums and functions of the headers, by the table that the build makes of them (_abi.py).

In the repository, where no package is built, python/generate.py makes the table of the headers."""
import ctypes
import glob
import os
import re
import shlex
import subprocess
import types

HERE = os.path.dirname(os.path.abspath(__file__))
CODES = {"v": None, "c": ctypes.c_char, "i": ctypes.c_int32, "b": ctypes.c_int8, "B": ctypes.c_uint8, "h": ctypes.c_int16, "H": ctypes.c_uint16,
         "I": ctypes.c_uint32, "q": ctypes.c_int64, "Q": ctypes.c_uint64, "f": ctypes.c_float, "d": ctypes.c_double, "P": ctypes.c_void_p,
         "s": ctypes.c_char_p, "F": ctypes.c_void_p}


def _of_the_headers():
    """The table of a repository: of its headers, and of the build.h of one of its builds."""
    root = os.path.join(HERE, "..", "..")
    script, built = os.path.join(HERE, "..", "generate.py"), sorted(glob.glob(os.path.join(root, "build*", "include", "gnn", "build.h")))
    if not os.path.exists(script) or not built:
        raise ImportError("libgnn is not built here: `pip install .` in the repository builds it")
    space = {"__name__": "generate"}
    with open(script, encoding="utf-8") as file:
        exec(compile(file.read(), script, "exec"), space)  # noqa: S102 (a file of this repository)
    try:
        reader = space["read"](shlex.split(os.environ.get("CC", "cc")), [os.path.dirname(os.path.dirname(built[0])), os.path.join(root, "include")])
    except (space["Unreadable"], OSError, subprocess.SubprocessError) as problem:
        raise ImportError(f"the headers of libgnn cannot be read: {problem}") from problem
    made = {}
    exec(space["table"](reader, space["completed"](reader)), made)  # noqa: S102 (made by the script)
    return types.SimpleNamespace(**{name: value for name, value in made.items() if name.isupper()})


try:
    from . import _abi as abi
except ImportError as problem:
    if problem.name not in (__package__, f"{__package__}._abi"):  # "no _abi.py", and none of its own errors
        raise
    abi = _of_the_headers()
C = abi.CONSTANTS
REAL = next(code for member, code, _ in abi.STRUCTS["gnn_train_config_t"] if member == "drop_edge")  # "f" or "d"
_STRUCTS = {}


def struct(name):
    """The ctypes class of a struct of the headers."""
    made = _STRUCTS.get(name)
    if made is None:
        fields = []
        for member, code, count in abi.STRUCTS[name]:
            kind = CODES[code] if code in CODES else struct(code)
            fields.append((member, kind * count if count != 1 else kind))
        made = _STRUCTS[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
    return made


def callback(place):
    """The ctypes class of a member that is a function, "gnn_train_config_t.callback"."""
    result, arguments = abi.CALLBACKS[place]
    return ctypes.CFUNCTYPE(CODES[result], *(CODES[code] for code in arguments))


def words_of(place):
    """The values of a member that is an enum, by their names without what these have in common: {"accuracy": 0, ...}."""
    members = abi.ENUMS[abi.CHOSEN[place]]
    names = [name for name in members if not name.endswith("_COUNT")]
    common = os.path.commonprefix(names)
    common = common[:common.rfind("_") + 1]
    return {name[len(common):].lower(): members[name] for name in names if not name.endswith("_DEFAULT")}


class Functions:
    """Functions of a shared library as attributes, with the types that the headers give them.

    ImportError: the library is of another version than the headers."""

    def __init__(self, path):
        self.path = path
        self._c = ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL)
        version = self.gnn_version().decode()
        if version != abi.VERSION:
            raise ImportError(f"{path} is libgnn {version}; the table is of the headers of {abi.VERSION}")

    def __getattr__(self, name):
        if name.startswith("__") or name not in abi.FUNCTIONS:
            raise AttributeError(name)
        result, arguments = abi.FUNCTIONS[name]
        function = getattr(self._c, name)
        function.restype = struct(result[1:-1]) if result[0] == "{" else CODES[result]
        function.argtypes = [struct(code[1:-1]) if code[0] == "{" else CODES[code] for code in re.findall(r"\{[^}]*\}|.", arguments)]
        setattr(self, name, function)
        return function
