"""What a module computes with besides its parameters and the arguments of a call, to see that it changed.

A trace holds for the values that forward() found: attributes of modules (`net.dropout`), what these
hold (lists, dictionaries, objects of settings), buffers and other tensors, and the globals, variables
of enclosing functions and class attributes that the program's own code names. A Watch keeps all of
these as they are; `holds()` is asked in each call and compares objects by identity.
"""
import ctypes
import dis
import functools
import operator
import os
import sys
import types

import numpy as np
import torch
from torch import nn

from .pyg_symbols import PACKAGES, Untraceable

OWN = frozenset(vars(nn.Module()))  # what every module has: its mode, its parameters and layers, its hooks
ATOMS = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device, torch.layout, torch.Size)
NOT_ENTERED = ("torch.", "torch_geometric.nn", "torch_geometric.inspector", "torch_geometric.utils", "inspect", "typing", "numpy", "logging", "threading")
CACHED = ("_cached", "_use_segment_matmul")  # what PyG's layers keep for their next call
MOST = 20000  # values that are looked at
memcmp = ctypes.CDLL(None).memcmp
memcmp.argtypes, memcmp.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t], ctypes.c_int


class Version:
    """The state of a tensor, to see a change of its elements. PyTorch counts changes; those made
    through an array of NumPy that shares the memory, and those of inference tensors, it does not
    count: of these a copy is kept."""

    def __init__(self, value):
        self.at, self.number, self.shape = value.data_ptr(), None if value.is_inference() else value._version, value.shape
        self.copy = value.clone() if uncounted(value) else None

    def is_of(self, value):
        if value.data_ptr() != self.at or value.shape != self.shape:
            return False
        if uncounted(value):
            return self.copy is not None and same_elements(self.copy, value)
        return value._version == self.number


def same_elements(copy, value):
    """True of tensors of one shape and the same bits, in a third of the time of torch.equal."""
    if copy.dtype is not value.dtype or not (copy.is_contiguous() and value.is_contiguous()):
        return copy.dtype is value.dtype and torch.equal(copy, value)
    return not value.numel() or not memcmp(copy.data_ptr(), value.data_ptr(), value.numel() * value.element_size())


def uncounted(value):
    """Memory that NumPy shares is not resizable."""
    return value.is_inference() or not value.untyped_storage().resizable()


def is_of_program(file):
    """True of code that is neither of PyTorch, PyG, this package nor of what is installed."""
    if file.startswith("<"):
        return not file.startswith("<frozen")
    file = os.path.abspath(file)
    return not file.startswith(PACKAGES) and "/lib/python3" not in file and "torch_geometric" not in os.path.basename(file)


def is_class_of_program(cls):
    home = sys.modules.get(cls.__module__)
    file = getattr(home, "__file__", None)
    return cls.__module__ == "__main__" if file is None else is_of_program(file)


def codes_of(code):
    """A code object and those inside of it: lambdas, comprehensions, inner functions."""
    yield code
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from codes_of(part)


@functools.lru_cache(4096)
def globals_of(code):
    """The names of global variables that a code object reads."""
    return {step.argval for part in codes_of(code) for step in dis.get_instructions(part) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}


def same(kept, now):
    """True of values of which a trace makes the same."""
    if kept is now:
        return True
    if type(kept) is not type(now) or not isinstance(kept, (*ATOMS, tuple, frozenset)):
        return False
    if isinstance(kept, tuple):
        return len(kept) == len(now) and all(map(same, kept, now))
    return bool(kept == now) or kept != kept and now != now


class Home:
    """Values by key of a dictionary (attributes, globals), or of a list by position."""

    def __init__(self, values, keys, name):
        self.keys, self.name, self.whole = keys, name, isinstance(values, (list, set)) or keys is None
        self.values = values
        if self.whole:
            self.get = (lambda v: [*v, *v.values()]) if isinstance(values, dict) else list
        else:
            self.get = operator.itemgetter(*keys, *keys[:1]) if keys else lambda values: ()  # a tuple, also of one
        self.count, self.kept = len(values), self.get(values)

    def holds(self):
        values = self.values
        if len(values) != self.count:
            if self.whole:
                return False
            self.count = len(values)
        try:
            now = self.get(values)
        except KeyError:
            return False
        return all(map(operator.is_, now, self.kept)) or self.holds_by_value(now)

    def holds_by_value(self, now):
        """Equal numbers and strings may be other objects."""
        if not all(map(same, self.kept, now)):
            return False
        self.kept = now
        return True

    def changed(self):
        """The name of what changed."""
        if self.whole:
            return self.name
        key = next((key for key, kept in zip(self.keys, self.kept) if key not in self.values or not same(kept, self.values[key])), "")
        return f"{self.name}{key}"


class Attributes(Home):
    """The attributes of a module, without its mode, layers and hooks, and without what PyG caches."""

    def __init__(self, values, keys, name):
        super().__init__(values, keys, name)
        self.all = len(values)

    def holds(self):
        if len(self.values) != self.all:
            if not set(attributes_of(self.values)) <= set(self.keys):
                return False
            self.all = len(self.values)
        return not self.keys or super().holds()

    def changed(self):
        other = [key for key in attributes_of(self.values) if key not in self.keys]
        return f"{self.name}{other[0]}" if other else super().changed()


def attributes_of(values):
    return [key for key in values if key not in OWN and not key.startswith(CACHED) and not key.endswith(("_hooks", "_user_args"))]


class Hooks:
    """Hooks of PyG's layers, which a trace follows."""

    def __init__(self, values, name):
        self.name, self.all = f"hooks of {name.rstrip('.') or 'the module'}", [v for key, v in values.items() if key.endswith("_hooks") and key not in OWN]
        self.kept = self.listed()

    def listed(self):
        return [hook for hooks in self.all for hook in hooks.values()] if any(self.all) else []

    def holds(self):
        now = self.listed()
        return len(now) == len(self.kept) and all(map(operator.is_, now, self.kept))

    def changed(self):
        return self.name


class Array:
    """An array of NumPy."""

    def __init__(self, value, name):
        self.value, self.kept, self.name = value, value.copy(), name

    def holds(self):
        return np.array_equal(self.value, self.kept)

    def changed(self):
        return self.name


class Memory:
    """The elements of a tensor."""

    def __init__(self, value, name):
        self.value, self.version, self.name = value, Version(value), name

    def holds(self):
        return self.version.is_of(self.value)

    def changed(self):
        return self.name


class Cell:
    """A variable of an enclosing function."""

    def __init__(self, cell, name):
        self.cell, self.kept, self.name = cell, cell.cell_contents, name

    def holds(self):
        return same(self.kept, self.cell.cell_contents)

    def changed(self):
        return self.name


def inner(module):
    """The module of a program that another one calls with its arguments (arguments.Bound), or itself."""
    return module.module if getattr(type(module), "is_bound", False) else module


class Watch:
    """The values that forward() of a module may read. `filled`: tensors that each run takes anew."""

    def __init__(self, module, filled):
        self.checks, self.seen, self.unlisted = [], {id(v): v for v in filled}, None
        for path, m in module.named_modules():
            self.module(m, f"{path}." if path else "")
        self.arrange()

    def arrange(self):
        homes = [check for check in self.checks if isinstance(check, Home)]
        self.homes = [(home.values, home.get, home.kept, home.all if isinstance(home, Attributes) else home.count) for home in homes]
        self.asked = [check.holds for check in self.checks if not isinstance(check, Home)]

    def holds(self):
        """True if all values are as they were. Most are the same objects."""
        is_ = operator.is_
        try:
            for values, get, kept, count in self.homes:
                if len(values) != count or not all(map(is_, get(values), kept)):
                    return self.holds_by_value()
        except KeyError:
            return False
        for ask in self.asked:
            if not ask():
                return False
        return True

    def holds_by_value(self):
        if not all(check.holds() for check in self.checks):
            return False
        self.arrange()
        return True

    def changed(self):
        """The name of a value that is not as it was; None: all are."""
        return next((check.changed() for check in self.checks if not check.holds()), None)

    # ---- what is reached ----

    def module(self, m, name):
        if self.known(m):
            return
        values = vars(m)
        keys = attributes_of(values)
        self.checks.append(Attributes(values, keys, name))
        for key in keys:
            self.value(values[key], f"{name}{key}")
        if any(key.endswith("_hooks") and key not in OWN for key in values):
            self.checks.append(Hooks(values, name))
        for key, p in m._parameters.items():
            self.value(p, f"{name}{key}")
        for key, buffer in m._buffers.items():
            if key != "num_batches_tracked":
                self.value(buffer, f"{name}{key}")
        for key, part in m._modules.items():
            if part is not None:
                self.module(part, f"{name}{key}.")
        for cls in type(m).__mro__:
            self.type(cls)

    def known(self, value):
        if id(value) in self.seen:
            return True
        self.seen[id(value)] = value  # kept, so that no other takes its id
        if len(self.seen) > MOST:
            raise Untraceable(f"the module holds more than {MOST} objects besides its parameters, of which any may change its values: the last is a {type(value).__name__}")
        return False

    def type(self, cls):
        """The attributes of a class of the program, and the code of its functions."""
        if self.known(cls) or not is_class_of_program(cls):
            return
        keys = [key for key, value in vars(cls).items() if not key.startswith("__")]
        if keys:
            self.checks.append(Home(vars(cls), keys, f"{cls.__name__}."))
        for key in keys:
            self.value(vars(cls)[key], f"{cls.__name__}.{key}")

    def value(self, value, name):
        if isinstance(value, nn.Module):
            self.module(value, f"{name}.")
        if isinstance(value, (*ATOMS, nn.Module)) or self.known(value):
            return
        if isinstance(value, torch.Tensor):
            if value.requires_grad:
                self.unlisted = self.unlisted or name
            if value.layout is torch.strided:
                self.checks.append(Memory(value, name))
        elif isinstance(value, np.ndarray):
            self.checks.append(Array(value, name))
        elif isinstance(value, (list, tuple, set, frozenset)):
            if isinstance(value, (list, set)):
                self.checks.append(Home(value, None, name))
            for k, part in enumerate(value):
                self.value(part, f"{name}[{k}]")
        elif isinstance(value, dict):
            self.checks.append(Home(value, None, name))
            for key, part in value.items():
                self.value(part, f"{name}[{key!r}]")
        elif isinstance(value, (types.FunctionType, types.MethodType, staticmethod, classmethod, property, functools.partial)):
            self.function(value, name)
        elif isinstance(getattr(value, "__dict__", None), dict) and not isinstance(value, (type, types.ModuleType)) and not type(value).__module__.startswith(NOT_ENTERED):
            self.checks.append(Home(vars(value), None, name))
            for key, part in vars(value).items():
                self.value(part, f"{name}.{key}")

    def function(self, value, name):
        """What the code of the program names: globals, and variables of enclosing functions."""
        if isinstance(value, functools.partial):
            self.value(value.keywords, f"{name}.keywords")
            self.value(value.args, f"{name}.args")
            return self.value(value.func, name)
        if isinstance(value, property):
            return self.value(value.fget, name)
        function = value if isinstance(value, types.FunctionType) else getattr(value, "__func__", None)
        if not isinstance(function, types.FunctionType) or not is_of_program(function.__code__.co_filename):
            return None
        for cell, variable in zip(function.__closure__ or (), function.__code__.co_freevars):
            try:
                self.checks.append(Cell(cell, variable))
            except ValueError:  # it has no value yet
                continue
            self.value(cell.cell_contents, variable)
        named = {word for code in codes_of(function.__code__) for word in code.co_names}
        self.names(function.__globals__, named, "", globals_of(function.__code__))
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.value(default, f"a default of {name}")
        return None

    def names(self, values, named, name, known=None):
        """Variables of a module or class of the program that its code names; `known`: those that it
        may read here, where attributes (self.conv) are told from variables (conv)."""
        known = named if known is None else known
        keys = [key for key in values if key in known and not isinstance(values[key], types.ModuleType) and not key.startswith("__")]
        if keys:
            self.checks.append(Home(values, keys, name))
        for key in keys:
            part = values[key]
            if isinstance(part, type):
                if is_class_of_program(part):
                    self.members(part, vars(part), named, f"{name}{key}.")
            else:
                self.value(part, f"{name}{key}")
        for key, part in [(key, values[key]) for key in values if key in known and isinstance(values[key], types.ModuleType)]:
            if is_of_program(getattr(part, "__file__", None) or "<frozen") and not self.known(part):
                self.names(vars(part), named, f"{name}{key}.")

    def members(self, owner, values, named, name):
        if not self.known(owner):
            keys = [key for key in values if key in named and not key.startswith("__")]
            if keys:
                self.checks.append(Home(values, keys, name))
            for key in keys:
                self.value(values[key], f"{name}{key}")
