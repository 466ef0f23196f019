"""Arrays on their way to the library and back: views where the memory allows it, copies where it must be converted."""
import ctypes
import operator
import os

import numpy as np

from ._table import C, abi, struct, words_of
from ._table import REAL as _REAL

Tensor, Ints = struct("gnn_tensor_t"), struct("gnn_ints_t")
_BYTE = ctypes.c_char
REAL = np.dtype(np.float32 if _REAL == "f" else np.float64)
MOST = float(np.finfo(REAL).max)
_NOTHING = np.zeros(1, np.int64)


def array_of(value, name):
    """A NumPy array of anything that NumPy, the buffer protocol or DLPack can show."""
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
            raise TypeError(f"{name} has masked elements: fill them first")
        return value
    if getattr(value, "requires_grad", False) is True:
        raise TypeError(f"{name} requires a gradient, which arrays have none of: pass {name}.detach(), or compile the module by libgnn.torch.compile")
    try:
        if type(value).__module__.partition(".")[0] == "pandas" and hasattr(value, "to_numpy"):
            return _of_pandas(value)
        if not hasattr(value, "__array__") and not hasattr(value, "__array_interface__") and hasattr(value, "__dlpack__"):
            return np.from_dlpack(value)
        made = np.asarray(value)
    except MemoryError:
        raise
    except Exception as problem:  # noqa: BLE001 (whatever the object's class raises)
        kind = ValueError if isinstance(problem, ValueError) else TypeError
        raise kind(f"{name} is no array of numbers: {type(value).__name__}: {problem}") from problem
    if made.dtype == object:
        raise TypeError(f"{name} is no array of numbers: {type(value).__name__}{', a sparse matrix: toarray() gives one' if hasattr(value, 'toarray') else ''}")
    return made


def _of_pandas(table):
    """The values of a DataFrame, a Series or an Index. Columns of numbers and bools, also those
    with missing values (Int64, boolean), are one matrix of what holds all of them."""
    kinds = list(zip(table.columns, table.dtypes)) if hasattr(table, "columns") else [(getattr(table, "name", None), table.dtype)]
    for column, kind in kinds:
        if getattr(kind, "kind", "O") not in "fiub":
            raise TypeError(f"{f'column {column!r}' if column is not None else 'it'} is {kind}")
    if all(isinstance(kind, np.dtype) for _, kind in kinds) and len({kind.kind == "b" for _, kind in kinds}) < 2:
        return np.asarray(table)
    missing = bool(table.isna().to_numpy().any())
    made = [getattr(kind, "numpy_dtype", getattr(kind, "subtype", kind)) for _, kind in kinds]
    held = np.result_type(*made, *([np.float64] if missing else []))
    return table.to_numpy(held, na_value=np.nan) if missing else table.to_numpy(held)


def converted(a, name):
    """An array of other real numbers in the library's type, where it can hold them."""
    try:
        with np.errstate(over="raise"):
            return a.astype(REAL)
    except FloatingPointError:
        raise ValueError(f"{name} has a number that {REAL} cannot hold, in an array of {a.dtype}") from None


def reals(value, name, columns=None, rows=None):
    """A matrix of reals whose rows are contiguous: the array itself if it is one already."""
    a = array_of(value, name)
    if a.dtype.kind not in "fiub":
        raise TypeError(f"{name} must be real numbers, came {a.dtype}")
    if a.ndim != 2:
        raise ValueError(f"{name} must be a matrix (rows, columns), came the shape {a.shape}")
    if a.dtype is not REAL and (a.dtype != REAL or not a.dtype.isnative):
        a = converted(a, name)
    flags = a.flags
    if not (flags.c_contiguous and flags.aligned) and a.size and (a.strides[1] != a.itemsize or a.strides[0] < a.shape[1] * a.itemsize or a.strides[0] % a.itemsize or address(a) % a.itemsize):
        a = np.ascontiguousarray(a)
    if columns is not None and a.shape[1] != columns:
        raise ValueError(f"{name} must have {columns} columns, came the shape {a.shape}")
    if rows is not None and a.shape[0] != rows:
        raise ValueError(f"{name} must have {rows} rows, came the shape {a.shape}")
    return a


# ---- single values: each error names the argument, what was expected, and what came ----

BOUNDS = {"i": (-1 << 31, (1 << 31) - 1), "I": (0, (1 << 32) - 1), "q": (-1 << 63, (1 << 63) - 1), "Q": (0, (1 << 64) - 1)}


def whole(value, name, code="q", low=None, high=None):
    """An integer that a member or an argument of this code can hold: ctypes itself would cut it."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = operator.index(value)
    except (TypeError, ValueError, RuntimeError):  # the last two: arrays and tensors of several elements
        raise TypeError(f"{name} must be an integer, came {short(value)}") from None
    bounds = BOUNDS[code]
    low, high = bounds[0] if low is None else low, bounds[1] if high is None else high
    if not low <= number <= high:
        expected = "not be negative" if low == 0 and high == bounds[1] else f"be at least {low}" if high == bounds[1] else f"be {low} to {high}"
        raise ValueError(f"{name} must {expected}, came {number}")
    return number


def short(value):
    """A value in a message."""
    text = f"{value!r}" if isinstance(value, (str, bytes, int, float, bool, type(None), np.generic)) else f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def flag(value, name):
    """True or False: any other value would count as one of them."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, came {short(value)}")
    return bool(value)


def choice(value, name, known):
    """One of a few names."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be one of {', '.join(known)}, came {short(value)}")
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, came {value!r}")
    return value


def text(value, name):
    """A string as the library reads it, UTF-8 up to a zero byte."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, came {short(value)}")
    try:
        made = value.encode("utf-8")
    except UnicodeEncodeError as problem:
        raise ValueError(f"{name} is no text: half of a surrogate pair at character {problem.start}") from None
    if b"\0" in made:
        raise ValueError(f"{name} has a zero byte at character {value.index(chr(0))}, at which the library would end it")
    return made


def listed(value, name, what):
    """A list of what a list, an iterator or an array gives: a string alone is one value, and a set or a
    dictionary has no order."""
    if isinstance(value, (str, bytes, bytearray, dict, set, frozenset)) or not hasattr(type(value), "__iter__") or getattr(value, "ndim", 1) != 1:
        raise TypeError(f"{name} must be a list of {what}, came {short(value)}")
    return list(value)


def strings(value, name):
    """A list of strings."""
    values = listed(value, name, "strings")
    for k, one in enumerate(values):
        if not isinstance(one, str):
            raise TypeError(f"{name}[{k}] must be a string, came {short(one)}")
    return values


def path_of(value, name="path"):
    """A path as the system reads it."""
    try:
        made = os.fsencode(value)
    except (TypeError, ValueError) as problem:
        raise type(problem)(f"{name} must be a path, came {short(value)}") if isinstance(problem, TypeError) else ValueError(f"{name} is no path: {problem}") from None
    if b"\0" in made or not made:
        raise ValueError(f"{name} must be a path, came {short(value)}")
    return made


def member(value, name, owner, field, code):
    """A number, a name, a flag or a path for a member of a struct."""
    enum = abi.CHOSEN.get(f"{owner}.{field}")
    if enum == "gnn_flag_t":
        return C["GNN_ON" if flag(value, name) else "GNN_OFF"]
    if enum:
        known = {word[len("schedule_"):] if word.startswith("schedule_") else word: number for word, number in words_of(f"{owner}.{field}").items()}
        return known[choice(value, name, known)]
    if code == "s":
        return path_of(value, name)
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name} must be a number, came {short(value)}")
    if code in "iIqQ":
        if isinstance(value, (float, np.floating)) and not float(value).is_integer():
            raise TypeError(f"{name} must be an integer, came {value!r}")
        return whole(int(value), name, code)
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{name} must be a finite number, came {short(value)}") from None
    if not -MOST <= number <= MOST:
        raise ValueError(f"{name} must be a finite number, came {value!r}")
    return 1e-37 if number == 0 and code == "f" else number  # 0 stands for the default


def column(value, name, columns=None):
    """Values on edges: a matrix, or a vector as one column."""
    a = array_of(value, name)
    return reals(a.reshape(-1, 1) if a.ndim == 1 else a, name, columns)


def indices(value, name):
    """A contiguous vector of int32 or int64: the array itself if it is one already."""
    a = array_of(value, name)
    if a.size == 0 and a.dtype.kind == "f":
        a = a.astype(np.int64)
    if a.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, came {a.dtype}")
    if a.ndim != 1:
        raise ValueError(f"{name} must be a vector, came the shape {a.shape}")
    if a.dtype == np.uint64 and a.size and a.max() > np.iinfo(np.int64).max:
        raise ValueError(f"{name} has {a.max()}, which no id can be")
    if a.dtype not in (np.int32, np.int64) or not a.dtype.isnative:
        a = a.astype(np.int64)
    return np.ascontiguousarray(a)


def address(a):
    """Where the elements of an array are."""
    flags = a.flags
    if flags.c_contiguous and flags.writeable and a.size:
        return ctypes.addressof(_BYTE.from_buffer(a))  # a third of the time of a.ctypes.data
    return a.ctypes.data


def tensor(a):
    """The struct of a matrix; the array must outlive it."""
    rows, columns = a.shape
    return Tensor(address(a) if a.size else None, rows, columns, a.strides[0] // a.itemsize if rows > 1 and columns else columns)


def ints(a):
    if a is None:
        return Ints(C["GNN_DTYPE_INT64"], None)
    return Ints(C["GNN_DTYPE_INT64"] if a.dtype == np.int64 else C["GNN_DTYPE_INT32"], (a if a.size else _NOTHING).ctypes.data)


def lengths_of(value, name="lengths"):
    """Lengths of segments as int64: one number is one segment."""
    a = np.atleast_1d(array_of(value, name))
    return indices(a, name).astype(np.int64, copy=False)


def view(pointer, shape, dtype, owner, strides=None):
    """An array over memory that `owner` keeps; the owner cannot be closed before the array is dropped."""
    count = int(np.prod(shape)) if strides is None else (shape[0] - 1) * strides[0] // np.dtype(dtype).itemsize + shape[1] if all(shape) else 0
    if not pointer or not count:
        return np.zeros(shape, dtype)
    buffer = (ctypes.c_char * (count * np.dtype(dtype).itemsize)).from_address(pointer)
    buffer.owner = owner
    owner._lend(buffer)
    flat = np.frombuffer(buffer, dtype)
    made = flat.reshape(shape) if strides is None else np.lib.stride_tricks.as_strided(flat, shape, strides)
    made.flags.writeable = False
    return made


def view_of(t, owner):
    """The matrix of a struct, as a view."""
    stride = (t.stride or t.cols) * REAL.itemsize
    return view(t.data, (t.rows, t.cols), REAL, owner, (stride, REAL.itemsize))
