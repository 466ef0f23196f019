"""PyTorch modules in libgnn: compile() runs one, from_pyg writes one as a file."""


def compile(module, *, fallback=False, threads=None):
    """A module that computes what `module` computes, in libgnn.

    See :class:`libgnn.torch.compiled.Compiled`.
    """
    from .compiled import Compiled
    return Compiled(module, fallback=fallback, threads=threads)
