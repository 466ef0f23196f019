"""Every class of torch_geometric.nn with its options (settings.py) by libgnn.torch.compile(): values
and gradients of parameters and inputs, on four kinds of graphs.

    python tests/pyg/compiled.py [--only NAME[,NAME]] [--defaults] [--table FILE]

counts for each class the settings that agree (values to 1e-4, gradients to 1e-3 of the largest
element, the tolerances of compile()), those that are refused with a sentence, those that differ, and
those that end in another error. The last two must be 0. Settings that PyG itself does not run on the
drawn inputs are not counted.
"""
import argparse
import os
import sys
import warnings

warnings.simplefilter("ignore")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import torch  # noqa: E402

import libgnn  # noqa: E402 (the installed one: settings puts that of the repository first)
import settings  # noqa: E402
from libgnn.torch import pyg_draw  # noqa: E402
from libgnn.torch.pyg_symbols import Fault  # noqa: E402
from libgnn.torch.pyg_verify import distance  # noqa: E402

WORDS = ("agree", "refused", "wrong", "error")
TOLERANCES = (1e-4, 1e-3)


def leaves(value):
    """The tensors of arguments that can have a gradient."""
    if torch.is_tensor(value):
        return [value] if value.is_floating_point() else []
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else []
    return [v for part in parts for v in leaves(part)]


def run(call, module, arguments):
    """Outputs, and the gradients of inputs and parameters for a weighting of the outputs."""
    module.zero_grad()
    inputs = leaves(arguments)
    for x in inputs:
        x.grad = None
        x.requires_grad_()
    out = settings.flat(call(**arguments))
    total = sum((y * torch.linspace(0.5, 1.5, y.numel()).view(y.shape)).sum() for y in out if y.is_floating_point())
    learned = [p for p in module.parameters() if p.requires_grad]
    if torch.is_tensor(total) and total.requires_grad:
        total.backward()
    made = [torch.zeros_like(v) if v.grad is None else v.grad.clone() for v in (*inputs, *learned)]
    for x in inputs:
        x.requires_grad_(False)
    return [y.detach() for y in out], made


def off(ours, theirs):
    """The largest difference, as a share of the largest element."""
    return distance(ours.detach().numpy().reshape(-1), theirs.detach().numpy().reshape(-1)) if theirs.numel() and bool(torch.isfinite(theirs).all()) else 0.0


def precise(module, arguments):
    """The module's own values in double precision."""
    double = pyg_draw.copied(module).double()
    return run(double, double, settings_mapped(arguments))


def settings_mapped(value):
    if torch.is_tensor(value):
        return value.detach().double() if value.is_floating_point() else value
    if isinstance(value, dict):
        return {key: settings_mapped(v) for key, v in value.items()}
    return value


def measure(module, inputs):
    """The outcome of one setting: a word, and a sentence."""
    parameters = settings.inspect.signature(module.forward).parameters
    widths = {k: v for k, v in settings.widths_of(module).items() if k.split(".")[0] in parameters or "args_dict" in parameters}
    try:
        drawn = pyg_draw.for_module(module, inputs, widths)[0]
    except Fault as fault:
        return "error", str(fault)
    except libgnn.torch.Untraceable as refusal:
        return ("not run" if settings.NOT_RUN in str(refusal) else "refused"), str(refusal)
    fast, worst = libgnn.torch.compile(module), 0.0
    for kind in settings.GRAPHS:
        arguments = pyg_draw.Drawn(module, drawn.names, drawn.specs, settings.graph_of(kind), drawn.relations).arguments()
        if any(isinstance(value, pyg_draw.DrawnData) for value in arguments.values()):
            return "not run", "a data object is not drawn here"
        try:
            theirs = run(module, module, arguments)
        except Exception as own:  # noqa: BLE001 (PyG's own)
            return "not run", f"PyG itself: {type(own).__name__}: {own}"
        try:
            ours = run(fast, module, arguments)
        except (libgnn.torch.Untraceable, libgnn.Error) as refusal:
            return ("error" if isinstance(refusal, Fault) else "refused"), str(refusal)
        except Exception as problem:  # noqa: BLE001 (that is what is counted)
            return "error", f"{kind}: {type(problem).__name__}: {problem}"
        exact = None
        for part, (mine, own) in enumerate(zip(ours, theirs)):
            if [v.shape for v in mine] != [v.shape for v in own]:
                return "wrong", f"{kind}: shapes {[tuple(v.shape) for v in mine]}, {[tuple(v.shape) for v in own]}"
            for k, (a, b) in enumerate(zip(mine, own)):
                difference = off(a, b)
                if difference > TOLERANCES[part]:  # Is it the rounding of PyG's own float32?
                    exact = exact or precise(module, arguments)
                    difference = min(difference, off(a, exact[part][k]))
                if difference > TOLERANCES[part]:
                    return "wrong", f"{kind}: {('output', 'gradient')[part]} {k} differs by {difference:.2g}"
                worst = max(worst, difference)
    return "agree", f"{worst:.1g}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only")
    parser.add_argument("--table")
    parser.add_argument("--defaults", action="store_true", help="the default setting of each class alone")
    given = parser.parse_args()
    only = given.only.split(",") if given.only else None
    total, table, largest = dict.fromkeys(WORDS, 0), [], {}
    for name, cls in settings.classes().items():
        if only and name.split(".")[1] not in only and name not in only:
            continue
        counts = dict.fromkeys(WORDS, 0)
        for setting, options in settings.settings(cls):
            if given.defaults and setting != "default":
                break
            try:
                torch.manual_seed(1)
                module = settings.randomised(settings.WRAPPED.get(cls.__name__, cls)(**{k: settings.made(v) for k, v in options.items()}))
                cases = settings.inputs_of(module) if setting == "default" else [()]
            except Exception:  # noqa: BLE001 (PyG's own refusal of an option)
                continue
            tried = [(inputs, *measure(module, inputs)) for inputs in cases]
            if setting != "default" and tried[0][1] == "not run":
                tried = [(inputs, *measure(module, inputs)) for inputs in settings.inputs_of(module)[1:]]
            for inputs, word, sentence in tried:
                if word not in counts:
                    continue
                counts[word] += 1
                largest[word] = max(largest.get(word, 0.0), float(sentence) if word == "agree" else 0.0)
                if word in ("wrong", "error") or only:
                    print(f"{word}: {name} {setting} {' '.join(inputs)}: {sentence}", flush=True)
        table.append("\t".join([name, *map(str, counts.values())]))
        print(table[-1], flush=True)
        for word in WORDS:
            total[word] += counts[word]
    if given.table:
        with open(given.table, "w", encoding="utf-8") as file:
            file.write("\n".join(["\t".join(["class", *WORDS]), *table]) + "\n")
    print(", ".join(f"{count} {word}" for word, count in total.items()) + f"; the largest difference is {largest.get('agree', 0):.1g}")
    sys.exit(bool(total["wrong"] + total["error"]))


if __name__ == "__main__":
    main()
