"""Every class of torch_geometric.nn by libgnn.torch.compile(), as programs use modules: tensors of other
forms, training, and changes after the first call.

    python tests/pyg/forms.py [--only NAME[,NAME]] [--options] [--table FILE]

For each class (with --options: each of its options at another value, settings.py) and each form below
counts where the compiled module agrees with the module itself (values to 1e-4, gradients to 1e-3 of the
largest element), where it is refused with a sentence, and where it is silently another one, which
must be 0. Forms that PyG itself does not run, and changes that change nothing, are not counted.
"""
import argparse
import copy
import os
import pickle
import sys
import warnings

warnings.simplefilter("ignore")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import torch  # noqa: E402

import libgnn  # noqa: E402
import compiled  # noqa: E402
import settings  # noqa: E402
from libgnn.torch import pyg_draw  # noqa: E402
from libgnn.torch.pyg_symbols import Fault  # noqa: E402

REFUSALS = (libgnn.torch.Untraceable, libgnn.Error, TypeError, ValueError, RuntimeError)
DRAWS = 300


def mapped(value, change):
    if torch.is_tensor(value):
        return change(value)
    if isinstance(value, dict):
        return {key: mapped(v, change) for key, v in value.items()}
    return type(value)(mapped(v, change) for v in value) if isinstance(value, (list, tuple)) else value


def strided(v):
    if not v.is_floating_point() or not v.dim():
        return v
    base = v.new_zeros(*v.shape[:-1], 2 * v.shape[-1])
    base[..., ::2] = v
    return base[..., ::2]


def transposed(v):
    return v.t().contiguous().t() if v.dim() == 2 else v


# ---- forms of tensors: the arguments of the compiled module, those of the module the same unless a second is given ----

FORMS = {
    "int32": (lambda a, n, m: mapped(a, lambda v: v.int() if v.dtype is torch.int64 else v), lambda a, n, m: a),
    "strided": (lambda a, n, m: mapped(a, strided), None), "transposed": (lambda a, n, m: mapped(a, transposed), None),
    "float64": (lambda a, n, m: mapped(a, lambda v: v.double() if v.is_floating_point() else v), None),
    "float16": (lambda a, n, m: mapped(a, lambda v: v.half() if v.is_floating_point() else v), None),
    "no edges": (lambda a, n, m: mapped(a, lambda v: v[:, :0] if v.dim() == 2 and v.shape == (2, m) and v.dtype is torch.int64 else v[:0] if v.shape[:1] == (m,) else v), None),
    "no nodes": (lambda a, n, m: mapped(a, lambda v: v[:, :0] if v.dim() == 2 and v.shape == (2, m) and v.dtype is torch.int64 else v[:0]), None),
    "kwargs reversed": (lambda a, n, m: dict(reversed(list(a.items()))), None),
}

# ---- changes after the first call ----


def small(v):
    """Positive, as variances are, and small: sums of large gradients that cancel differ by rounding."""
    return torch.rand_like(v) * 0.5 + 0.25


def other_values(module):
    module.load_state_dict({key: small(v) if v.is_floating_point() else v for key, v in module.state_dict().items()})


def other_data(module):
    for p in module.parameters():
        p.data = small(p)


def other_buffers(module):
    for b in module.buffers():
        if b.is_floating_point():
            b.data.mul_(1.5)
            b.add_(0.25)


def other_parameters(module):
    for m in module.modules():
        for name, p in list(m._parameters.items()):
            if p is not None:
                setattr(m, name, torch.nn.Parameter(small(p)))


def frozen(module):
    for p in list(module.parameters())[::2]:
        p.requires_grad_(False)


def hooked(module):
    next(module.children(), module).register_forward_hook(lambda m, given, y: y * 2 if torch.is_tensor(y) else y)


def tied(module):
    seen = {}
    for m in module.modules():
        for name, p in list(m._parameters.items()):
            if p is not None:
                setattr(m, name, seen.setdefault(tuple(p.shape), p))


def spectral(module):
    m = next(m for m in module.modules() if isinstance(getattr(m, "weight", None), torch.nn.Parameter) and m.weight.dim() == 2)
    torch.nn.utils.parametrizations.spectral_norm(m)


CHANGES = {"load_state_dict": other_values, "data": other_data, "buffers": other_buffers, "parameters": other_parameters, "frozen": frozen, "hook": hooked, "tied": tied, "spectral norm": spectral,
           "half": lambda m: m.half(), "double": lambda m: m.double(), "meta": lambda m: m.to("meta")}


def attributes(module):
    """(module, name, other value) of the numbers, flags and words that are attributes."""
    words = {"aggr": "max", "flow": "target_to_source", "mode": "cat"}
    for path, m in module.named_modules():
        for name, value in list(vars(m).items()):
            if name.startswith("_") or name in ("training", "cached", "in_channels", "out_channels", "in_features", "out_features", "decomposed_layers", "node_dim", "num_layers", "num_relations", "hidden_channels"):
                continue
            if isinstance(value, bool):
                yield path, name, not value
            elif isinstance(value, float):
                yield path, name, value * 0.5 + 0.2
            elif isinstance(value, int):
                yield path, name, value + 1
            elif isinstance(value, str) and name in words and value != words[name]:
                yield path, name, words[name]


def ran(call, module, arguments):
    try:
        return compiled.run(call, module, arguments)
    except NotImplementedError:
        raise
    except Exception as problem:  # noqa: BLE001 (PyG's own)
        return problem


def same(ours, theirs):
    for part, (mine, own) in enumerate(zip(ours, theirs)):
        if [v.shape for v in mine] != [v.shape for v in own]:
            return f"shapes {[tuple(v.shape) for v in mine]}, {[tuple(v.shape) for v in own]}"
        for k, (a, b) in enumerate(zip(mine, own)):
            off = compiled.off(a.double(), b.double())
            if off > compiled.TOLERANCES[part]:
                return f"{('output', 'gradient')[part]} {k} differs by {off:.2g}"
    return ""


def judged(fast, module, arguments, like=None, before=None):
    """A word and a sentence for one call; None: PyG does not run it, or nothing changed."""
    torch.manual_seed(3)
    theirs = ran(module, module, like or arguments)
    if before is not None and not isinstance(theirs, Exception) and not same(theirs, before):
        return None
    try:
        torch.manual_seed(3)
        ours = compiled.run(fast, module, arguments)
    except REFUSALS as refusal:
        if isinstance(refusal, Fault):
            return "wrong", str(refusal)
        return None if isinstance(theirs, Exception) else ("refused", f"{type(refusal).__name__}: {refusal}")
    except Exception as problem:  # noqa: BLE001 (that is what is counted)
        return None if type(problem) is type(theirs) else ("wrong", f"{type(problem).__name__}: {problem}")
    if isinstance(theirs, Exception):
        return ("computed", f"PyG: {type(theirs).__name__}: {theirs}") if not all(v.numel() == 0 for v in ours[0]) else None
    problem = same(ours, theirs)
    if problem and all(bool(torch.isfinite(v).all()) for v in theirs[0]):
        exact = ran(*[pyg_draw.copied(module).double()] * 2, settings_mapped(like or arguments)) if next(iter(module.parameters()), torch.zeros(0)).dtype is torch.float32 else None
        problem = problem if exact is None or isinstance(exact, Exception) else same(ours, exact)
    return ("wrong", problem) if problem else ("agree", "")


settings_mapped = compiled.settings_mapped


def training(fast, module, arguments):
    """Training: the same where nothing is drawn, else draws of one distribution."""
    before = copy.deepcopy(module.state_dict())

    def reset():
        module.load_state_dict(before)
    fast.train()
    outs = [ran(module, module, arguments) for _ in range(3)]
    theirs, state = outs[0], None
    if any(isinstance(out, Exception) for out in outs):
        return None
    drawn = bool(same(outs[0], outs[1]) and same(outs[1], outs[2]) and same(outs[0], outs[2]))
    reset()
    if not drawn:
        theirs = ran(module, module, arguments)
        state = copy.deepcopy(module.state_dict())
        reset()
    try:
        ours = compiled.run(fast, module, arguments)
        if not drawn:
            problem = same(ours, theirs)
            changed = next((k for k, v in module.state_dict().items() if v.is_floating_point() and compiled.off(v, state[k]) > 1e-4 or not v.is_floating_point() and not torch.equal(v, state[k])), None)
            return ("wrong", problem or f"{changed} after a step") if problem or changed else ("agree", "")
        with torch.no_grad():
            made = torch.stack([torch.cat([y.reshape(-1) for y in settings.flat(fast(**arguments))]) for _ in range(DRAWS)])
            reset()
            own = torch.stack([torch.cat([y.reshape(-1) for y in settings.flat(module(**arguments))]) for _ in range(DRAWS)])
    except REFUSALS as refusal:
        return ("wrong" if isinstance(refusal, Fault) else "refused"), f"{type(refusal).__name__}: {refusal}"
    deviation = own.std(0)
    off = float(((made.mean(0) - own.mean(0)).abs() / (deviation * (2 / DRAWS) ** 0.5 + 1e-5 * (1 + own.abs().max()))).max())
    ratio = float(made.std(0).mean() / deviation.mean())
    return ("agree", "") if off < 6.5 and 0.85 < ratio < 1.15 else ("wrong", f"draws: means differ by {off:.1f} deviations of a mean, deviations are {ratio:.2f} of PyG's")


def cases(make, inputs, attributed):
    """(form, word, sentence) of one setting."""
    module = make()
    parameters = settings.inspect.signature(module.forward).parameters
    widths = {k: v for k, v in settings.widths_of(module).items() if k.split(".")[0] in parameters or "args_dict" in parameters}
    try:
        drawn = pyg_draw.for_module(module, inputs, widths)[0]
    except libgnn.torch.Untraceable:
        return
    graph = settings.graph_of("loops")
    n, m = graph.n, graph.m

    def arguments():
        return pyg_draw.Drawn(module, drawn.names, drawn.specs, graph, drawn.relations).arguments()
    if any(isinstance(value, pyg_draw.DrawnData) for value in arguments().values()):
        return
    fast = libgnn.torch.compile(module)
    module.eval()
    first = judged(fast, module, arguments())
    if first is None or first[0] != "agree":
        return  # compiled.py counts these
    before = ran(module, module, arguments())

    def fresh():
        made = make().eval()
        made.load_state_dict(module.state_dict())
        return made, libgnn.torch.compile(made)
    for form, (change, like) in FORMS.items():
        given = change(arguments(), n, m)
        found = judged(fast, module, given, None if like is None else like(arguments(), n, m))
        yield form, *(found or ("", ""))
        if form in ("no edges", "no nodes"):  # as the first call
            own, again = fresh()
            yield f"{form} first", *(judged(again, own, given) or ("", ""))
    for form, made in (("deepcopy", copy.deepcopy(fast)), ("pickle", pickled(fast))):
        if made is not None:
            yield form, *(judged(made, made.wrapped, arguments()) or ("", ""))
    def called():
        own, again = fresh()
        for _ in range(2):  # the second knows the form of its arguments
            again(**arguments())
        return own, again
    for form, change in CHANGES.items():
        own, again = called()
        try:
            with torch.no_grad():
                change(own)
        except Exception:  # noqa: BLE001 (a module without such)
            continue
        yield form, *(judged(again, own, arguments()) or ("", ""))
    own, again = called()
    for path, name, value in attributes(module) if attributed else ():
        home = own.get_submodule(path)
        kept = getattr(home, name)
        setattr(home, name, value)
        theirs = ran(own, own, arguments())
        if isinstance(theirs, Exception) or same(theirs, before):
            yield f"{path + '.' if path else ''}{name}={value!r}", *(judged(again, own, arguments(), before=before) or ("", ""))
        setattr(home, name, kept)
    own, again = fresh()
    yield "training", *(training(again, own, arguments()) or ("", ""))


def pickled(fast):
    try:
        return pickle.loads(pickle.dumps(fast))
    except (TypeError, AttributeError, pickle.PicklingError):  # a local function in a module
        return None


def bipartite(cls, options):
    """A pair of features, where a convolution takes such."""
    options = {**options, "in_channels": (settings.IN, settings.IN)}
    try:
        torch.manual_seed(1)
        module = settings.randomised(cls(**{k: settings.made(v) for k, v in options.items()})).eval()
        generator = torch.Generator().manual_seed(5)
        given = {"x": (torch.randn(14, settings.IN, generator=generator), torch.randn(9, settings.IN, generator=generator)), "edge_index": torch.stack([torch.randint(0, 14, (40,), generator=generator), torch.randint(0, 9, (40,), generator=generator)])}
        module(**given)
    except Exception:  # noqa: BLE001 (a convolution that takes no pair)
        return
    fast = libgnn.torch.compile(module)
    for form, arguments in (("pair", given), ("pair with size", {**given, "size": (14, 9)}), ("senders alone", {**given, "x": (given["x"][0], None), "size": (14, 9)})):
        yield form, *(judged(fast, module, arguments) or ("", ""))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only")
    parser.add_argument("--table")
    parser.add_argument("--options", action="store_true")
    given = parser.parse_args()
    only = given.only.split(",") if given.only else None
    words = ("agree", "refused", "wrong", "computed")
    total, table, rows = dict.fromkeys(words, 0), {}, []
    for name, cls in settings.classes().items():
        if only and name.split(".")[1] not in only and name not in only:
            continue
        before = dict(total)
        for setting, options in settings.settings(cls):
            if setting != "default" and not given.options:
                break

            def make():
                torch.manual_seed(1)
                return settings.randomised(settings.WRAPPED.get(cls.__name__, cls)(**{k: settings.made(v) for k, v in options.items()}))
            try:
                inputs = settings.inputs_of(make())[-1]
            except Exception:  # noqa: BLE001 (PyG's own refusal of an option)
                continue
            found = list(cases(make, (), True)) + (list(cases(make, inputs, False)) if inputs else []) + (list(bipartite(cls, options)) if name.startswith("conv") else [])
            for form, word, sentence in found:
                if word:
                    total[word] += 1
                    kind = form if "=" not in form else "attribute"
                    table.setdefault(kind, dict.fromkeys(words, 0))[word] += 1
                if word in ("wrong", "computed") or word and only:
                    print(f"{word}: {name} {setting} {form}: {sentence[:300]}", flush=True)
        rows.append("\t".join([name, *(str(total[word] - before[word]) for word in words)]))
        print(rows[-1], flush=True)
        if given.table:  # after each class: a run may be cut
            with open(given.table, "w", encoding="utf-8") as file:
                file.write("\n".join(["\t".join(["class", *words]), *rows]) + "\n")
    for kind, counts in table.items():
        print("\t".join([kind, *map(str, counts.values())]))
    print(", ".join(f"{count} {word}" for word, count in total.items()))
    sys.exit(bool(total["wrong"]))


if __name__ == "__main__":
    main()
