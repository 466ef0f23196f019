"""compile(): a PyTorch module that runs in libgnn, with gradients.

The module is traced (pyg_trace.py) on its first call, with what that call gives; the file that the
trace makes is loaded, and compared with the module on drawn graphs and on the inputs of the call
(plans.py). Its parameters stay the module's own: before each run (runs.py) they are copied into the
library's block, after a backward pass their gradients are copied out (places.py).
"""
import copy
import functools
import inspect
import threading
import warnings

import torch
from torch.autograd import forward_ad

from .._arrays import flag, whole
from .._library import Error
from .._objects import has_locks
from . import arguments, pyg_draw
from .plans import Plan, floats
from .pyg_symbols import TURN, Unread, Untraceable
from .pyg_trace import at_forward
from .runs import check_loops, infer, recorded, unseen

KEPT_PLANS = 32
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
HOOKS_OF_ALL = [getattr(torch.nn.modules.module, f"_global{name}") for name in HOOKS]
# An autocast of the CPU, levels of torch.func, modes that see calls, what compiles frames: other
# names in other versions of PyTorch.
is_autocast = functools.partial(torch.is_autocast_enabled, "cpu") if hasattr(torch, "get_autocast_dtype") else torch.is_autocast_cpu_enabled
in_dynamo = getattr(getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None), "get_eval_frame_callback", lambda: None)
in_fx = getattr(torch.fx._symbolic_trace, "is_fx_tracing", lambda: False)
modes_of = [getattr(torch._C, f"_len_torch_{kind}_stack", lambda: 0) for kind in ("dispatch", "function")]
transform = getattr(getattr(torch._C, "_functorch", None), "peek_interpreter_stack", lambda: None)


# ---- modules that cannot be traced as a whole ----


def passes_messages(module):
    from torch_geometric.nn import MessagePassing
    return any(isinstance(m, MessagePassing) for m in module.modules())


def layers_of(module, whole):
    """(home, name, layer) of the children that pass messages; lists of modules are entered."""
    for name, child in module._modules.items():
        if child is None or isinstance(child, Compiled) or not passes_messages(child):
            continue
        if isinstance(child, (torch.nn.ModuleList, torch.nn.ModuleDict)):
            yield from layers_of(child, whole)
        elif child is not whole:
            yield module._modules, name, child


class Layered:
    """A module run by PyTorch whose layers run in libgnn."""

    def __init__(self, module, threads):
        self.module = module
        self.renew_locks()
        has_locks(self)
        self.layers = [(home, name, child, Compiled(child, True, threads)) for home, name, child in layers_of(module, module)]

    def renew_locks(self):
        self.lock = threading.RLock()

    def __call__(self, *args, **kwargs):
        with self.lock:  # the children are replaced during the call alone: state_dict() never sees it
            for home, name, _, fast in self.layers:
                home[name] = fast
            try:
                return self.module(*args, **kwargs)
            finally:
                for home, name, child, _ in self.layers:
                    home[name] = child

    training_problem = None

    def unchanged(self):
        return all(home.get(name) is child for home, name, child, _ in self.layers)


# ---- the compiled module ----


SHARED = ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks")


class Compiled(torch.nn.Module):
    """A module that computes what another one computes, in libgnn.

    Parameters, buffers and children are those of the module itself: state_dict, optimisers and
    train() see no difference. The first call with a new set of inputs traces the module and compares
    both on these inputs: a difference above 1e-4 is an Untraceable that names the step.

    Parameters
    ----------
    module : torch.nn.Module
        float32, on the CPU.
    fallback : bool
        True: a module that cannot be traced runs in PyTorch, with a warning that says why; its layers
        run in libgnn, each that can be traced.
    threads : int, optional
        Default: torch.get_num_threads().
    """

    def __init__(self, module, fallback=False, threads=None):
        if not isinstance(module, torch.nn.Module):
            raise TypeError(f"module must be a torch.nn.Module, came {type(module).__name__}")
        if isinstance(module, Compiled):
            raise TypeError("module is compiled already")
        fallback, threads = flag(fallback, "fallback"), None if threads is None else whole(threads, "threads", low=1, high=1024)
        super().__init__()
        for name in SHARED:
            self.__dict__[name] = module.__dict__[name]
        self.__dict__.update(wrapped=module, fallback=fallback, threads=threads, plans={})
        self.look()
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self.__dict__["signature"] = inspect.signature(module.forward)
        parameters = self.signature.parameters
        self.__dict__["arguments"] = [name for name, p in parameters.items() if p.kind in kinds]
        self.__dict__["unnamed"] = not self.arguments and any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters.values())
        self.__dict__["defaults"] = {name: None if p.default is p.empty else p.default for name, p in parameters.items() if p.kind in kinds or p.kind is inspect.Parameter.KEYWORD_ONLY}
        self.__dict__.update(sparse=arguments.Sparse(), unread={}, known={})

    def train(self, mode=True):
        self.wrapped.train(mode)
        return self

    @property
    def training(self):
        """The mode of the module itself."""
        return self.wrapped.training

    @training.setter
    def training(self, mode):
        if "wrapped" in self.__dict__:
            self.wrapped.training = mode

    def look(self):
        """Lists the modules, and their hooks."""
        units = list(self.wrapped.modules())
        self.__dict__.update(units=units, hooks=HOOKS_OF_ALL + [getattr(m, name) for m in units for name in HOOKS])

    def check_hooks(self):
        """Refuses hooks that a run in libgnn would not call; those of PyTorch and PyG make parameters."""
        for hook in (hook for hooks in HOOKS_OF_ALL for hook in hooks.values()):
            raise Untraceable(f"a hook on all modules is set ({getattr(hook, '__name__', type(hook).__name__)}), which only a run in PyTorch calls for layers")
        for path, m in self.wrapped.named_modules():
            for name in HOOKS:
                for hook in getattr(m, name).values():
                    if not (getattr(hook, "__module__", None) or "").startswith(("torch.nn", "torch_geometric.nn")):
                        raise Untraceable(f"{path or type(m).__name__} has a hook ({name[1:-1]} {getattr(hook, '__name__', type(hook).__name__)}), which only a run in PyTorch calls")

    @staticmethod
    def check_calls():
        """Refuses what sees each call of a function of PyTorch: a run in libgnn calls none."""
        if transform() is not None or forward_ad._current_level >= 0:
            raise Untraceable("torch.func and forward-mode derivatives: a run of libgnn has the derivatives of backward()")
        if modes_of[0]():
            raise Untraceable("a mode of torch.utils._python_dispatch (of make_fx, of torch.export, a TorchDispatchMode) sees no function that libgnn runs")
        if modes_of[1]():
            for mode in torch.overrides._get_current_function_mode_stack():
                if not type(mode).__module__.startswith("torch.utils._device"):
                    raise Untraceable(f"the mode {type(mode).__name__} (TorchFunctionMode) sees no function that libgnn runs")

    def modes(self):
        """True in training, and the mode of each module where they are not all in one."""
        if any(self.hooks):
            self.check_hooks()
        first = self.wrapped.training
        for m in self.units:
            if m.training is not first:
                return True, tuple(m.training for m in self.units)
        return first, None

    def __getattr__(self, name):
        return getattr(self.__dict__["wrapped"], name)

    def __setattr__(self, name, value):
        """Attributes are the module's own: `compiled.dropout = 0.9` is one of `module`."""
        if name in self.__dict__ or hasattr(type(self), name) or "wrapped" not in self.__dict__:
            super().__setattr__(name, value)
        else:
            setattr(self.__dict__["wrapped"], name, value)

    def __delattr__(self, name):
        if name in self.__dict__:
            super().__delattr__(name)
        else:
            delattr(self.__dict__["wrapped"], name)

    def _apply(self, function, recurse=True):
        self.wrapped._apply(function, *() if recurse else (False,))
        return self

    def apply(self, function):
        """Calls a function with each module, the compiled one itself included."""
        self.wrapped.apply(function)
        return self

    def state_dict(self, *args, **kwargs):
        return self.wrapped.state_dict(*args, **kwargs)

    def load_state_dict(self, *args, **kwargs):
        return self.wrapped.load_state_dict(*args, **kwargs)

    def _load_from_state_dict(self, *args):
        self.wrapped._load_from_state_dict(*args)

    def __prepare_scriptable__(self):
        raise Untraceable("torch.jit.script reads no run of libgnn; libgnn.onnx.export writes a file")

    def __reduce__(self):
        return Compiled, (self.wrapped, self.fallback, self.threads)

    def __deepcopy__(self, memo):
        return Compiled(copy.deepcopy(self.wrapped, memo), self.fallback, self.threads)

    def plan(self, call, args, kwargs, training, modes):
        """The plan for a call of these forms, made if there is none: layers in a module of PyTorch
        where that fails and `fallback` is set. One plan is of both modes; of a module that cannot be
        traced in training, or that has modules in evaluation then, a call in training has its own."""
        key = call.key if modes is None else (call.key, modes)
        made = self.plans.get((key, "training") if training and (key, "training") in self.plans else key)
        if made is None:
            with TURN:
                made = self.plans.get(key) or self.kept(key, self.planned(call, args, kwargs, modes))
        if not made.unchanged():
            self.plans.clear()  # a layer or a parameter was replaced by another one
            self.look()
            return self.plan(call, args, kwargs, *self.modes())
        if training and made.training_problem:
            problem = Untraceable(f"{made.training_problem}: in training it has no counterpart")
            self.locate(problem)
            if not self.fallback:
                raise problem
            made = self.kept((key, "training"), self.layered(problem))
        return made

    def planned(self, call, args, kwargs, modes):
        self.materialise(args, kwargs)
        try:
            with torch.inference_mode(False), torch.enable_grad(), torch.device("cpu"), floats(), unseen():  # gradients are compared, too
                self.check_parts()
                made = Plan(arguments.bound(self.wrapped, call, self.unnamed), call, self.threads or torch.get_num_threads(), modes)
                made.compare(self.wrapped, call, args, kwargs)
        except (Untraceable, Unread, Error) as problem:  # the last: what the library refuses to run
            self.locate(problem)
            if not self.fallback:
                if isinstance(problem, Untraceable):
                    self.run_once(args, kwargs)
                raise
            made = self.layered(problem)
        return made

    def locate(self, problem):
        """Adds the line of forward() to a refusal that names none of the program's files."""
        line = at_forward(self.wrapped)
        if isinstance(problem, Untraceable) and line and line.rsplit(":", 2)[0] not in str(problem):
            problem.args = (f"{line}{problem.args[0]}",)

    def check_parts(self):
        """Refuses a module of which a part is compiled, where a trace would hold another trace, or is
        explained by PyG."""
        for path, m in self.wrapped.named_modules():
            if isinstance(m, Compiled) or type(m).__module__.startswith("torch._dynamo"):
                raise Untraceable(f"{path or 'the module'} is compiled already: a module is compiled as a whole, or its layers are")
            if getattr(m, "_explain", False):
                raise Untraceable(f"{path or 'the module'} has a mask of edges to be explained by (torch_geometric.explain), which only a run in PyTorch applies")

    def run_once(self, args, kwargs):
        """Raises what the module itself raises for arguments that it does not take."""
        try:
            module = pyg_draw.copied(self.wrapped).eval()
        except Untraceable:
            return
        try:
            module(*args, **kwargs)
        except Exception as problem:  # noqa: BLE001 (whatever the module raises)
            raise problem from None

    def materialise(self, args, kwargs):
        """Runs a module with lazy layers once, which gives these their shapes, as in PyTorch."""
        if not any(map(pyg_draw.is_lazy, self.wrapped.parameters())):
            return
        modes = [m.training for m in self.units]
        self.wrapped.eval()
        try:
            with torch.no_grad():
                self.wrapped(*args, **kwargs)
        finally:
            for m, mode in zip(self.units, modes):
                m.training = mode
        self.look()

    def kept(self, key, made):
        while len(self.plans) >= KEPT_PLANS:
            self.plans.pop(next(iter(self.plans)))
        self.plans[key] = made
        return made

    def layered(self, problem):
        made = Layered(self.wrapped, self.threads)
        names = ", ".join(type(child).__name__ for _, _, child, _ in made.layers)
        warnings.warn(f"{type(self.wrapped).__name__} runs in PyTorch{f', its layers in libgnn ({names})' if names else ''}: {problem}", stacklevel=6)
        return made

    def forward(self, *args, **kwargs):
        if in_dynamo() is not None:  # a program's torch.compile(): code that it calls is not compiled
            return torch.compiler.disable(self.forward)(*args, **kwargs)
        if in_fx() or type(kwargs) is not dict:  # PyG has a tracer of its own
            raise Untraceable("torch.fx (symbolic_trace, make_fx, to_hetero) records no run of libgnn: compile() what it makes of the module itself")
        if torch.jit.is_tracing():
            raise Untraceable("torch.jit.trace records no run of libgnn; libgnn.onnx.export writes a file")
        if is_autocast():
            return self.in_float32(args, kwargs)
        try:
            self.check_calls()
            training, modes = self.modes()
        except Untraceable as problem:
            self.locate(problem)
            if not self.fallback:
                raise
            plan = self.plans.get("hooks") or self.kept("hooks", self.layered(problem))
            return plan(*args, **kwargs)
        given = (*args, *kwargs.values()) if kwargs else args
        form = (len(args), *kwargs, *[value.dim() if type(value) is torch.Tensor and value.layout is torch.strided and not value.is_neg() else None for value in given])
        known = self.known.get(form)
        if known is not None:
            call = known.like(dict(zip(known.tensors, given)))
            plan = self.plan(call, args, kwargs, training, modes)
            return self.by(plan, call, args, kwargs, training)
        names = self.arguments
        if self.unnamed:
            names = arguments.names_of(args)
        if len(args) > len(names):
            raise TypeError(f"forward() takes {len(names)} arguments, came {len(args)}")
        values = dict(zip(names, args))
        for name, value in kwargs.items():
            if name in values:
                raise TypeError(f"forward() got several values of {name}")
            values[name] = value
        try:
            self.signature.bind_partial(*args, **kwargs)  # a misspelt name before the one that is missing
            self.signature.bind(*args, **kwargs)
        except TypeError as problem:
            raise TypeError(f"forward() of {type(self.wrapped).__name__}: {problem}") from None
        try:
            call = arguments.read(values, self.defaults, self.sparse, len(names) == 1)
        except (Untraceable, Unread, ValueError) as problem:
            if not self.fallback:
                raise
            plan = self.unread.setdefault(tuple(values), None) or self.layered(problem)
            self.unread[tuple(values)] = plan
        else:
            plan = self.plan(call, args, kwargs, training, modes)
            if not self.unnamed and None not in form:
                self.known[form] = call.like(dict.fromkeys(values))
        return self.by(plan, call, args, kwargs, training)

    def in_float32(self, args, kwargs):
        """Under autocast libgnn computes in float32: values of less are converted."""
        def convert(value):
            if torch.is_tensor(value):
                return value.float() if value.dtype in (torch.bfloat16, torch.float16) else value
            if isinstance(value, dict):
                return {key: convert(part) for key, part in value.items()}
            return type(value)(map(convert, value)) if type(value) in (tuple, list) else value
        with torch.autocast("cpu", enabled=False):
            return self.forward(*map(convert, args), **convert(kwargs))

    def by(self, plan, call, args, kwargs, training):
        if isinstance(plan, Layered):
            return plan(*args, **kwargs)
        if plan.lacks_nodes(call):
            return self.wrapped(*args, **kwargs)
        try:
            return self.run(plan, call, training)
        except MemoryError:
            raise
        except (Untraceable, Unread, Error, ValueError) as problem:  # values that only PyTorch takes
            if not self.fallback:
                raise
            made = self.plans.get((call.key, "values")) or self.kept((call.key, "values"), self.layered(problem))
        return made(*args, **kwargs)

    def run(self, plan, call, training):
        recording = torch.is_grad_enabled() and any(plan.learned) and (any(p.requires_grad for p in plan.values) or any(v.requires_grad for v in call.tensors.values()))
        with plan.lock:
            plan.fill()
            slots, tensors = plan.slots(call, recording), plan.inputs(call.tensors, training)
            if recording and slots.loops:
                check_loops(plan.found, slots, call.tensors)
            try:
                if not recording and not training:
                    return plan.shaped(infer(plan, slots, tensors), slots)
                return recorded(plan, slots, tensors, training, recording)
            except NotImplementedError:
                if not plan.needs_dense(tensors, training):
                    raise
            return self.run(plan, call, training)
