"""Objects that hold an object of the library, and the context of each thread."""
import contextlib
import ctypes
import itertools
import os
import threading
import weakref

from ._library import check, lib, struct

_settings = {"threads": 0, "seed": 0, "version": 0}
_local = threading.local()


_keys = itertools.count()  # of objects: unlike id(), none is used again


class Handle:
    """An object of the library, which is freed when this one is: by close(), `with`, or garbage collection."""

    def _hold(self, pointer, free):
        self._pointer = pointer
        self._key = next(_keys)
        self._loans = []
        self._free = weakref.finalize(self, free, ctypes.c_void_p(pointer))

    @property
    def _at(self):
        pointer = self.__dict__.get("_pointer")
        if pointer is None:
            raise ValueError(f"this {type(self).__name__} is closed")
        return pointer

    @property
    def closed(self):
        """True after close()."""
        return self.__dict__.get("_pointer") is None

    def _lend(self, buffer):
        self._loans = [loan for loan in self._loans if loan() is not None] + [weakref.ref(buffer)]

    def _lent(self):
        return any(loan() is not None for loan in self._loans)

    def close(self):
        """Frees the object; it cannot be used afterwards. Arrays that view its memory must have been dropped."""
        if self.__dict__.get("_pointer") is None:
            return
        if self._lent():
            raise BufferError(f"this {type(self).__name__} cannot be closed: arrays that view its memory exist")
        self._pointer = None
        self._free()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Context(Handle):
    """Threads and workspace of one thread of the program."""

    def __init__(self, threads, seed):
        made, config = ctypes.c_void_p(), struct("gnn_context_config_t")(threads=threads, seed=seed)
        check(lib.gnn_context_new(ctypes.byref(made), ctypes.byref(config)))
        self._hold(made.value, lib.gnn_context_free)


def context(threads=None):
    """The context of this thread (and process: fork() copies none), with its own count of threads."""
    key = (os.getpid(), _settings["version"])
    if getattr(_local, "key", None) != key:
        _local.contexts, _local.key = {}, key
    made = _local.contexts.get(threads)
    if made is None:
        made = _local.contexts[threads] = Context(_settings["threads"] if threads is None else threads, _settings["seed"])
    return made


def set_threads(count):
    """Sets how many threads the library uses in calls that follow; 0: as many as there are processors.

    >>> import libgnn
    >>> libgnn.set_threads(2)
    """
    count = int(count)
    if not 0 <= count <= 1024:
        raise ValueError(f"the count of threads must be 0 to 1024, came {count}")
    _settings["threads"] = count
    _settings["version"] += 1


def set_seed(seed):
    """Sets the seed of initial weights and of dropout.

    >>> import libgnn
    >>> libgnn.set_seed(7)
    """
    seed = int(seed)
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"a seed must be 0 to 2^64 - 1, came {seed}")
    _settings["seed"] = seed
    _settings["version"] += 1


class Gate:
    """Many read, or one changes: views of a graph are made while no other thread uses it.

    `with gate:` reads. It is no generator, which would be a tenth of a short call.
    """

    def __init__(self):
        self._condition, self._readers = threading.Condition(threading.Lock()), 0

    @contextlib.contextmanager
    def changing(self):
        with self._condition:
            while self._readers:
                self._condition.wait()
            yield

    def __enter__(self):
        with self._condition:
            self._readers += 1

    def __exit__(self, *_):
        with self._condition:
            self._readers -= 1
            if not self._readers:
                self._condition.notify_all()
