"""PyTorch modules in libgnn: compile() runs one, from_pyg writes one as a file."""


def compile(module, *, fallback=False, threads=None):
    """A module that computes what `module` computes, in libgnn.

    Same call, same parameters, with gradients; the first call traces the module and compares both.

    Parameters
    ----------
    module : torch.nn.Module
        float32, on the CPU.
    fallback : bool
        True: a module that cannot be traced runs in PyTorch, with a warning that says why.
    threads : int, optional
        Default: torch.get_num_threads().
    """
    from .compiled import Compiled
    return Compiled(module, fallback=fallback, threads=threads)


def __getattr__(name):
    if name == "Untraceable":
        from .pyg_symbols import Untraceable
        return Untraceable
    if name == "from_pyg":
        from importlib import import_module
        return import_module(".from_pyg", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
