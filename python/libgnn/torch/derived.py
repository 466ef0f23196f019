"""Values that a module computes from its parameters alone: a normed or symmetric matrix, W + B A, a
weight divided by its norm.

What the trace of a numbered copy (places.py) computes with parameters is recorded. Results get
numbers of their own in place of their values, since a function may be the identity for some
(clamp). Elements of the library's memory that are no parameter's are looked for among the results;
those calls that lead to one run again in PyTorch before each run in libgnn, so that its gradient goes
on to the parameters.
"""
import collections
import sys

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from .pyg_symbols import PACKAGES, PLAIN, TRACES, Sym, Untraceable, mapped_tensors, tensors_in, user_line

Call = collections.namedtuple("Call", "function args kwargs grad reads writes")
MOST = 50_000_000  # elements of results that are searched


class Ref:
    """A parameter or buffer of the module by its name, or a result of a recorded call."""

    def __init__(self, name=None, call=None, part=None):
        self.name, self.call, self.part = name, call, part

    def __eq__(self, other):
        return isinstance(other, Ref) and vars(self) == vars(other)


# Functions that put elements elsewhere, whatever their values are.
STRUCTURAL = frozenset("""view reshape expand expand_as t transpose permute T mT H swapaxes swapdims movedim moveaxis squeeze unsqueeze flatten unflatten ravel contiguous clone detach
detach_ alias data float to type type_as cpu requires_grad_ __getitem__ select narrow split chunk unbind __iter__ index_select diagonal flip roll view_as reshape_as repeat tile cat
stack concat hstack vstack __copy__ positive real repeat_interleave embedding gather take take_along_dim broadcast_to broadcast_tensors tensor_split index atleast_2d""".split())
# Functions that make a number of Python of a tensor.
NUMBERS = frozenset("__bool__ item tolist numpy __float__ __int__ __index__ __array__ equal allclose is_nonzero __contains__".split())


def name_of(function):
    name = getattr(function, "__name__", "")
    return function.__self__.__name__ if name in ("__get__", "__set__") else name


def is_ours():
    """Does code of this package call, other than for a module's own forward()?"""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGES[:2]):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(PACKAGES[2]) and frame.f_code.co_name not in ("call", "call_module")


class Followed(TorchFunctionMode):
    """While a copy is traced, refuses what makes a number of Python, or indices, of its parameters, by
    which the program may choose what it computes. `computes`: does it compute with them alone?"""

    def __init__(self):
        super().__init__()
        self.followed, self.computes = {}, False  # what has no gradient, and follows from parameters

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs, name = kwargs or {}, name_of(function)
        tensors = list(tensors_in((args, kwargs)))
        given = [v for v in tensors if not isinstance(v, Sym) and (v.requires_grad or id(v) in self.followed)] if TRACES else ()
        if given and name in NUMBERS and not is_ours():
            raise Untraceable(f"{user_line() or 'forward()'} makes a number of Python of a parameter ({name}), which training changes")
        if any(isinstance(v, Sym) for v in tensors):
            if any(not v.is_floating_point() for v in given) and not is_ours():
                raise Untraceable(f"{user_line() or 'forward()'} reads indices or a mask that follow from a parameter ({name}), which training changes")
            with self:
                return Sym.__torch_function__(function, types, args, kwargs)
        out = function(*args, **kwargs)
        if given:
            self.computes = self.computes or name not in STRUCTURAL | PLAIN and not is_ours()
            self.followed.update((id(v), v) for v in tensors_in(out) if not v.requires_grad)
        return out


def live(module):
    """Parameters and buffers by name."""
    return {**dict(module.named_buffers()), **dict(module.named_parameters())}


class Recording(TorchFunctionMode):
    """The calls of a trace that read parameters, and no values of a graph as symbols. `rng` draws the
    numbers of results."""

    def __init__(self, module, rng):
        super().__init__()
        self.rng = rng
        self.refs = {id(v): Ref(name) for name, v in live(module).items()}
        self.homes = {v.untyped_storage().data_ptr(): set() for v in live(module).values()}  # calls that write into a storage
        self.calls, self.results, self.kept = [], [], [module]

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = list(tensors_in((args, kwargs)))
        name = name_of(function)
        if any(isinstance(v, Sym) for v in given):
            with self:  # what a handler of the trace computes
                return Sym.__torch_function__(function, types, args, kwargs)
        if not TRACES or not any(id(v) in self.refs for v in given) or name in PLAIN:
            return function(*args, **kwargs)
        reads = {self.home(v) for v in given}
        asked = tuple(mapped_tensors(v, self.ref) for v in (args, kwargs))
        out = function(*args, **kwargs)
        k = len(self.calls)
        writes = {self.home(args[0])} if name == "__setitem__" or name.endswith("_") and not name.startswith("__") else {self.home(v) for v in tensors_in(kwargs.get("out"))}
        self.calls.append(Call(function, *asked, torch.is_grad_enabled(), reads, writes))
        if name not in STRUCTURAL and not is_ours():
            out = self.renumbered(args[0] if name == "__setitem__" else out, given)
        self.kept.append((args, kwargs, out))
        for home in writes:
            self.homes.setdefault(home, set()).add(k)
        made = list(tensors_in(out))
        for part, v in enumerate(made):
            if id(v) not in self.refs:
                self.results.append((k, part, v))
                self.refs[id(v)] = Ref(None, k, part)
            self.homes.setdefault(self.home(v), set()).add(k)
        return out

    def renumbered(self, out, given):
        """Results with numbers of their own; in place where they are what was changed in place."""
        def number(v):
            if not torch.is_tensor(v) or v.dtype is not torch.float32 or not v.numel():
                return v
            bits = self.rng.integers(0x3E800001, 0x3F000000, v.numel()).astype(np.int32).view(np.float32)
            fresh = torch.from_numpy(bits * self.rng.choice(np.array([-1, 1], np.float32), v.numel())).view(v.shape)
            if any(v is one for one in given):
                if not v.is_leaf or not v.requires_grad:  # a parameter is returned as it is
                    v.detach().copy_(fresh)
                return v
            return fresh.requires_grad_(v.requires_grad)
        return mapped_tensors(out, number)

    @staticmethod
    def home(v):
        return v.untyped_storage().data_ptr() or id(v)

    def ref(self, v):
        return self.refs.get(id(v), v)

    def needed(self, wanted):
        """The calls that lead to some, with those that change their results in place, in their order;
        None: one of them changes a parameter or buffer."""
        todo, found = list(wanted), set()
        while todo:
            k = todo.pop()
            if k not in found:
                found.add(k)
                homes = self.calls[k].reads | self.calls[k].writes | {self.home(v) for v in tensors_in(self.kept[1 + k][2])}
                todo += [one for home in homes for one in self.homes.get(home, ()) if one <= k or self.calls[one].writes]
        own = {self.home(v) for v in live(self.kept[0]).values()}
        return None if any(self.calls[k].writes & own for k in found) else sorted(found)


class Program:
    """Recorded calls with the module's own parameters and buffers; run() returns the wanted results."""

    def __init__(self, recording, wanted, module):
        self.wanted, self.shapes = wanted, [recording.kept[1 + k][2] for k, _ in wanted]
        self.shapes = [list(tensors_in(out))[part].shape for out, (_, part) in zip(self.shapes, wanted)]
        own = live(module)
        self.calls = []
        for k in recording.needed([k for k, _ in wanted]):
            call = recording.calls[k]
            args, kwargs = (mapped_tensors(v, lambda r: own[r.name] if isinstance(r, Ref) and r.name else r) for v in (call.args, call.kwargs))
            self.calls.append((k, call.function, args, kwargs, call.grad))

    def run(self, others=()):
        """`others`: tensors in the place of some parameters, by the id of these."""
        made, wanted_grad, others = {}, torch.is_grad_enabled(), dict(others)
        for k, function, args, kwargs, grad in self.calls:
            args, kwargs = (mapped_tensors(v, lambda r: made[r.call][r.part] if isinstance(r, Ref) else others.get(id(r), r)) for v in (args, kwargs))
            with torch.set_grad_enabled(grad and wanted_grad):
                made[k] = list(tensors_in(function(*args, **kwargs)))
        return [made[k][part] for k, part in self.wanted]


def same_program(first, second):
    """True of recordings of two copies whose calls are the same, but for numbers."""
    def same(a, b):
        if isinstance(a, Ref) or isinstance(b, Ref):
            return a == b
        if torch.is_tensor(a) and torch.is_tensor(b):
            return a.shape == b.shape and bool(torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)))
        if isinstance(a, dict) and isinstance(b, dict):
            return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
        if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
            return len(a) == len(b) and all(map(same, a, b))
        return type(a) is type(b) and (a == b or callable(a))
    return len(first) == len(second) and all(a.function == b.function and a.grad == b.grad and same(a.args, b.args) and same(a.kwargs, b.kwargs) for a, b in zip(first, second))


class Search:
    """Finds elements of two copies' memory among the results of two recordings."""

    def __init__(self, first, second):
        self.recordings, self.chosen, self.asked = (first, second), [], {}
        pairs = [(a, b) for a, b in zip(first.results, second.results) if a[:2] == b[:2] and a[2].shape == b[2].shape and a[2].dtype == b[2].dtype == torch.float32]
        pairs = [(a, b) for a, b in pairs if a[2].layout is torch.strided and a[2].numel()]
        if len(first.results) != len(second.results) or sum(a[2].numel() for a, _ in pairs) > MOST:
            pairs = []
        self.results = [(a[:2], a[2].detach().reshape(-1).numpy(), b[2].detach().reshape(-1).numpy()) for a, b in pairs]
        self.owner = np.repeat(np.arange(len(self.results)), [len(a) for _, a, _ in self.results])
        self.numbers = np.concatenate([a for _, a, _ in self.results]) if self.results else np.zeros(0, np.float32)
        self.order = np.argsort(self.numbers, kind="stable")

    def candidates(self, value):
        """The results that have a number, the first made first."""
        low, high = (np.searchsorted(self.numbers, value, side, sorter=self.order) for side in ("left", "right"))
        return sorted(set(self.owner[self.order[low:high]].tolist()))

    def places(self, result, one, two):
        """Where the elements of two arrays stand in a result; -1 where they do not."""
        _, a, b = self.results[result]
        order = np.lexsort((b, a))  # numbers of one copy may be equal where those of the other are not
        rows, asked = np.stack([a[order], b[order]], 1), np.stack([one, two], 1)
        kind = np.dtype([("a", rows.dtype), ("b", rows.dtype)])
        keys = np.ascontiguousarray(rows).view(kind).reshape(-1)
        wanted = np.ascontiguousarray(asked.astype(rows.dtype)).view(kind).reshape(-1)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[at] == wanted, order[at], -1)

    def find(self, one, two):
        """(number of the chosen result, position in it) of each element; None: some are in none."""
        number, position = np.full(len(one), -1), np.full(len(one), -1)
        while (number < 0).any():
            left = np.flatnonzero(number < 0)
            for result in self.candidates(one[left[0]]):
                at = self.places(result, one[left], two[left])
                if at[0] >= 0 and self.is_of_parameters(result):
                    break
            else:
                return None
            if result not in self.chosen:
                self.chosen.append(result)
            number[left[at >= 0]], position[left[at >= 0]] = self.chosen.index(result), at[at >= 0]
        return number, position

    def is_of_parameters(self, result):
        """Do the calls that lead to a result read the same in both copies, but for parameters? What
        a function makes of values of a graph may have the same numbers."""
        if result not in self.asked:
            first, second = (recording.needed([self.results[result][0][0]]) for recording in self.recordings)
            self.asked[result] = first is not None and first == second and same_program(*[[r.calls[k] for k in first] for r in self.recordings])
        return self.asked[result]

    def program(self, module):
        wanted = [self.results[result][0] for result in self.chosen]
        first, second = self.recordings
        used = [first.needed([k for k, _ in wanted]), second.needed([k for k, _ in wanted])]
        if used[0] != used[1] or not same_program([first.calls[k] for k in used[0]], [second.calls[k] for k in used[1]]):
            return None
        return Program(first, wanted, module)
