"""Objects that hold an object of the library, and the context of each thread."""
import contextlib
import ctypes
import itertools
import multiprocessing.process
import os
import sys
import threading
import weakref

from ._arrays import flag, whole
from ._library import C, check, lib, struct

_settings = {"threads": 0, "seed": 0, "deterministic": False, "version": 0, "forked": None}
_local = threading.local()
_locked = weakref.WeakSet()  # objects with locks, which another thread may hold during a fork


_keys = itertools.count()  # of objects: unlike id(), none is used again


def has_locks(owner):
    """After a fork the child calls owner.renew_locks(): threads that held one are not copied."""
    _locked.add(owner)


def _in_child():
    """OpenMP's threads are not copied either. The library knows of those that it started itself; those
    that PyTorch started in this thread would be waited for without end."""
    for owner in list(_locked):
        owner.renew_locks()
    if "torch" in sys.modules:
        _settings["forked"] = threading.get_ident()


os.register_at_fork(after_in_child=_in_child)
if "torch" in sys.modules and multiprocessing.process.parent_process() is not None and multiprocessing.get_start_method(allow_none=True) != "spawn":
    _settings["forked"] = threading.get_ident()  # the package is imported after the fork


class _Address(ctypes.c_void_p):
    """Where an object of the library is. The object is freed with its address, which a call keeps while it runs."""


def _freed(free, pointer, needs):
    free(pointer)


class Handle:
    """An object of the library, which is freed when this one is: by close(), `with`, or garbage collection."""

    def _hold(self, pointer, free, *needs):
        """Frees by free(pointer) once nothing has the address, and only then lets go of the objects
        that this needs."""
        self._pointer = _Address(pointer)
        self._key = next(_keys)
        self._loans = []
        weakref.finalize(self._pointer, _freed, free, ctypes.c_void_p(pointer), needs)

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
        """Frees the object, after calls of other threads that have it; it cannot be used afterwards. Arrays that view its memory must have been dropped."""
        if self.__dict__.get("_pointer") is None:
            return
        if self._lent():
            raise BufferError(f"this {type(self).__name__} cannot be closed: arrays that view its memory exist")
        gate = self.__dict__.get("_gate")
        if gate is not None and gate.is_used():
            raise BufferError(f"this {type(self).__name__} cannot be closed: a call uses it")
        self._pointer = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Context(Handle):
    """Threads and workspace of one thread of the program."""

    def __init__(self, threads, seed, deterministic):
        made, config = ctypes.c_void_p(), struct("gnn_context_config_t")(threads=threads, seed=seed, deterministic=C["GNN_ON" if deterministic else "GNN_OFF"])
        check(lib.gnn_context_new(ctypes.byref(made), ctypes.byref(config)))
        self._hold(made.value, lib.gnn_context_free)


def context(threads=None, deterministic=False):
    """The context of this thread (and process: fork() copies none), with its own count of threads."""
    key = (os.getpid(), _settings["version"])
    if getattr(_local, "key", None) != key:
        _local.contexts, _local.key = {}, key
    made = _local.contexts.get((threads, deterministic))
    if made is None:
        alone = _settings["forked"] == threading.get_ident()
        made = Context(1 if alone else _settings["threads"] if threads is None else threads, _settings["seed"], deterministic or _settings["deterministic"])
        _local.contexts[threads, deterministic] = made
    return made


def set_threads(count):
    """Sets how many threads the library uses in calls that follow; 0: as many as there are processors.

    >>> import libgnn
    >>> libgnn.set_threads(2)
    """
    _settings["threads"] = whole(count, "count", low=0, high=1024)
    _settings["version"] += 1


def set_seed(seed):
    """Sets the seed of initial weights and of dropout.

    >>> import libgnn
    >>> libgnn.set_seed(7)
    """
    _settings["seed"] = whole(seed, "seed", "Q")
    _settings["version"] += 1


def set_deterministic(value):
    """Sets whether dense products have the same bits with any count of threads and on a busy
    machine, as all other results have; they take longer.

    `libgnn.torch.compile` also obeys `torch.use_deterministic_algorithms`.

    >>> import libgnn
    >>> libgnn.set_deterministic(True)
    >>> libgnn.set_deterministic(False)
    """
    _settings["deterministic"] = flag(value, "value")
    _settings["version"] += 1


class Gate:
    """Many read an object, or one thread changes it: views of a graph, or the parameters of a model.

    `with gate:` reads; in the thread that changes it reads as well (a callback that evaluates). It is
    no generator, which would be a tenth of a short call.
    """

    def __init__(self):
        self.renew_locks()
        has_locks(self)

    def renew_locks(self):
        """Makes the locks anew, held by none."""
        self._condition, self._readers, self._owner = threading.Condition(threading.Lock()), {}, None

    def is_used(self):
        """True while a call reads or changes the object."""
        return bool(self._readers) or self._owner is not None

    @contextlib.contextmanager
    def changing(self):
        me = threading.get_ident()
        with self._condition:
            if me == self._owner or me in self._readers:  # it would wait for itself
                raise ValueError("a callback changes an object that the call in which it runs is using")
            while self._readers or self._owner is not None:
                self._condition.wait()
            self._owner = me
        try:
            yield
        finally:
            with self._condition:
                self._owner = None
                self._condition.notify_all()

    def __enter__(self):
        me = threading.get_ident()
        with self._condition:
            while self._owner is not None and self._owner != me:
                self._condition.wait()
            self._readers[me] = self._readers.get(me, 0) + 1

    def __exit__(self, *_):
        me = threading.get_ident()
        with self._condition:
            count = self._readers.pop(me) - 1
            if count:
                self._readers[me] = count
            elif not self._readers:
                self._condition.notify_all()
