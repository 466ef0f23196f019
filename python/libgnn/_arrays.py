"""Arrays on their way to the library and back: views where the memory allows it, copies where it must be converted."""
import ctypes

import numpy as np

from ._table import C, struct
from ._table import REAL as _REAL

Tensor, Ints = struct("gnn_tensor_t"), struct("gnn_ints_t")
_BYTE = ctypes.c_char
REAL = np.dtype(np.float32 if _REAL == "f" else np.float64)


def array_of(value, name):
    """A NumPy array of anything that NumPy, the buffer protocol or DLPack can show."""
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
            raise TypeError(f"{name} has masked elements: fill them first")
        return value
    if hasattr(value, "requires_grad") and hasattr(value, "detach"):
        value = value.detach()
    if not hasattr(value, "__array__") and not hasattr(value, "__array_interface__") and hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    made = np.asarray(value)
    if made.dtype == object:
        raise TypeError(f"{name} is no array of numbers: {type(value).__name__}")
    return made


def reals(value, name, columns=None, rows=None):
    """A matrix of reals whose rows are contiguous: the array itself if it is one already."""
    a = array_of(value, name)
    if a.dtype.kind not in "fiub":
        raise TypeError(f"{name} must be real numbers, came {a.dtype}")
    if a.ndim != 2:
        raise ValueError(f"{name} must be a matrix (rows, columns), came the shape {a.shape}")
    if a.dtype is not REAL and (a.dtype != REAL or not a.dtype.isnative):
        a = a.astype(REAL)
    flags = a.flags
    if not (flags.c_contiguous and flags.aligned) and a.size and (a.strides[1] != a.itemsize or a.strides[0] < a.shape[1] * a.itemsize or a.strides[0] % a.itemsize or address(a) % a.itemsize):
        a = np.ascontiguousarray(a)
    if columns is not None and a.shape[1] != columns:
        raise ValueError(f"{name} must have {columns} columns, came the shape {a.shape}")
    if rows is not None and a.shape[0] != rows:
        raise ValueError(f"{name} must have {rows} rows, came the shape {a.shape}")
    return a


BOUNDS = {"i": (-1 << 31, (1 << 31) - 1), "I": (0, (1 << 32) - 1), "q": (-1 << 63, (1 << 63) - 1), "Q": (0, (1 << 64) - 1)}


def whole(value, name, code="q"):
    """An integer that a member or an argument of this code can hold: ctypes itself would cut it."""
    if isinstance(value, (bool, np.bool_)) or not hasattr(type(value), "__index__"):
        raise TypeError(f"{name} must be an integer, came {value!r}")
    number, (low, high) = value.__index__(), BOUNDS[code]
    if not low <= number <= high:
        raise ValueError(f"{name} must be {low} to {high}, came {number}")
    return number


def column(value, name):
    """Values on edges: a matrix, or a vector as one column."""
    a = array_of(value, name)
    return reals(a.reshape(-1, 1) if a.ndim == 1 else a, name)


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
    return Ints(C["GNN_DTYPE_INT64"] if a.dtype == np.int64 else C["GNN_DTYPE_INT32"], a.ctypes.data if a.size else np.zeros(1, a.dtype).ctypes.data)


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
