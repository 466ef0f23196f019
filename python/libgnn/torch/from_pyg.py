"""Saves a PyTorch model (a PyG network, say) as safetensors.

    python from_pyg.py net.py:make model.pt model.safetensors [--library PATH] [--no-verify] [INPUT ...]

traces the module that make() in net.py returns, with the weights of model.pt, so that
gnn_model_load makes the whole model from the file; libgnn runs it beside the module, and where
they differ there is no file (docs/pyg.md). INPUTs are arguments of its forward() that have
a default and that shall be given (edge_weight, say). In a program of yours:
from_pyg.export(module, "model.safetensors").

    python from_pyg.py model.pt model.safetensors

saves the weights alone, for gnn_model_import or gnn_layer_import. model.pt is what
torch.save(model.state_dict(), "model.pt") wrote; a checkpoint that holds the state dict under a
name ("state_dict", "model_state_dict" or "model") is taken too.
"""
import json
import os
import struct
import sys

NAMES = ("state_dict", "model_state_dict", "model")


def stacks(name, init_weight, weight, root_weight, bias=None):
    """The arrays of an ARMAConv by the names of the hops that libgnn's block has: NAME.STACK.HOP.weight, ..."""
    arrays, (hops, count) = {}, root_weight.shape[:2]
    for s in range(count):
        for k in range(hops):
            arrays[f"{name}{s}.{k}.weight"] = init_weight[s] if k == 0 else weight[k - 1, s]
            arrays[f"{name}{s}.{k}.root_weight"] = root_weight[k, s]
            arrays[f"{name}{s}.{k}.bias"] = root_weight.new_zeros(root_weight.shape[-1]) if bias is None else bias[k, s, 0]
    return arrays


def by_hops(state_dict):
    """The state dict with every ARMAConv in hops."""
    arrays = dict(state_dict)
    for key in state_dict:
        name = key[:-len("init_weight")]
        if key.endswith("init_weight") and f"{name}root_weight" in arrays:
            parts = [arrays.pop(f"{name}{part}", None) for part in ("init_weight", "weight", "root_weight", "bias")]
            arrays.update(stacks(name, *parts))
    return arrays


def by_relation(state_dict):
    """The state dict with the matrices of every HGTConv by relation (a head's under another's), and without what it never reads."""
    arrays = dict(state_dict)
    for key in state_dict:
        name = key[:-len("k_rel.weight")]
        relations = [k[len(f"{name}p_rel."):] for k in state_dict if k.startswith(f"{name}p_rel.")]
        if not key.endswith("k_rel.weight") or not relations:
            continue
        heads, widths = arrays[f"{name}p_rel.{relations[0]}"].shape[1], {}
        for word in ("k_rel", "v_rel"):
            weight = arrays.pop(f"{name}{word}.weight")
            weight = weight.reshape(heads, len(relations), *weight.shape[1:])
            for r, relation in enumerate(relations):
                arrays[f"{name}{word}.{relation}"] = weight[:, r].reshape(-1, weight.shape[-1])
        for k in state_dict:
            if k.startswith(f"{name}kqv_lin.lins.") and k.endswith(".weight"):
                widths[k[len(f"{name}kqv_lin.lins."):-len(".weight")]] = state_dict[k].shape
        for node, (out, width) in widths.items():
            hears = any(relation.endswith(f"__{node}") for relation in relations)
            unread = [] if hears else [f"out_lin.lins.{node}.weight", f"out_lin.lins.{node}.bias", f"skip.{node}"]
            unread += [] if 3 * width == out else [f"skip.{node}"]
            if not hears and not any(relation.startswith(f"{node}__") for relation in relations):
                unread += [f"kqv_lin.lins.{node}.weight", f"kqv_lin.lins.{node}.bias"]
            for k in unread:
                arrays.pop(name + k, None)
    return arrays


def save(state_dict, path, **metadata):
    import torch

    header, blobs, at = {"__metadata__": {"format": "pt", **metadata}}, [], 0
    for name, tensor in state_dict.items():
        blob = tensor.detach().to("cpu", torch.float32).contiguous().numpy().astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def state_dict_of(path):
    """The state dict in a file; exits with one line where there is none."""
    import pickle

    import torch

    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        sys.exit(f'from_pyg.py: {path} holds more than weights: torch.save(model.state_dict(), "{path}") is expected')
    except OSError as error:
        sys.exit(f"from_pyg.py: {path}: {error.strerror or error}")
    except (RuntimeError, EOFError) as error:
        sys.exit(f"from_pyg.py: {path} is no file of torch.save, or was cut: {' '.join(str(error).split())[:200] or type(error).__name__}")
    if isinstance(found, dict):
        found = next((found[name] for name in NAMES if isinstance(found.get(name), dict)), found)
    if not isinstance(found, dict):
        sys.exit(f"from_pyg.py: {path} holds a {type(found).__name__}: a state dict is expected")
    for name, value in found.items():
        if not isinstance(value, torch.Tensor):
            sys.exit(f'from_pyg.py: {path}: "{name}" is no tensor: a state dict is expected')
    return found


def export(module, path, inputs=(), widths=(), library=None, verify=True, given=None, relations=(), modes=None):
    """Traces a module and saves it as one file; returns the trace, whose str() tells what it is.

    The file is run beside the module on two drawn graphs, and on inputs that are `given` (by name, or a data object), by the shared library (`library`: its path,
    else as pyg_verify.py finds it) and gets its name only where both compute the same; without the
    library the trace has a note that says so. An entry of pyg_modules.py by which it differs is left
    out, and the module's own forward() is followed in its place.
    """
    from torch.nn import Module

    from . import pyg_verify
    from .pyg_trace import Untraceable, trace

    if not isinstance(module, Module):
        raise TypeError(f"module must be a torch.nn.Module, came a {type(module).__name__}")
    path, inputs = os.fsdecode(os.fspath(path)), (inputs,) if isinstance(inputs, str) else tuple(inputs)
    try:
        found_library = pyg_verify.find(library) if verify else None
    except OSError as error:
        raise Untraceable(str(error)) from None
    without = set()
    while True:
        found = trace(module, inputs, widths, without, given, relations, modes)
        if found.training_problem:
            found.notes.append(f"a training of this file is not that of the module: {found.training_problem}")
        made = f"{path}.{os.getpid()}.part"
        try:
            save(found.arrays, made, **found.metadata())
            if found_library is None:
                found.notes.append("not verified: " + ("no shared library of libgnn was found (option --library)" if verify else "not asked for"))
            else:
                off = max(pyg_verify.compare(found_library, made, drawn, one) for drawn, one in found.checks)
                found.notes.append(f"verified by {found_library.path}: the largest difference is {off:.1g}")
            os.replace(made, path)
            return found
        except pyg_verify.Differs as error:
            entries = {found.origin[step["name"]] for step in found.steps if found.origin[step["name"]] in found.entries}
            culprit = found.origin.get(error.step) if error.step else None
            left = ({culprit} if culprit in entries else entries) - without
            if not left:
                raise Untraceable(str(error)) from None
            without |= left
        finally:
            if os.path.exists(made):
                os.remove(made)


def module_of(place, weights):
    """The module that FILE.py:FUNCTION makes, with the weights of a file."""
    import importlib.util

    file, _, function = place.rpartition(":")
    spec = importlib.util.spec_from_file_location("net", file)
    if spec is None:
        sys.exit(f"from_pyg.py: {place}: FILE.py:FUNCTION is expected")
    net = importlib.util.module_from_spec(spec)
    try:
        with open(file, "rb"):
            pass
    except OSError as error:
        sys.exit(f"from_pyg.py: {file}: {error.strerror or error}")
    try:
        spec.loader.exec_module(net)
        if not hasattr(net, function):
            sys.exit(f"from_pyg.py: {file} has no function {function}")
        module = getattr(net, function)()
    except Exception as error:  # noqa: BLE001 (whatever the user's code raises)
        from .pyg_trace import told
        sys.exit(f"from_pyg.py: {told(error)}")
    if not hasattr(module, "load_state_dict"):
        sys.exit(f"from_pyg.py: {place} returns a {type(module).__name__}: a torch.nn.Module is expected")
    try:
        module.load_state_dict(state_dict_of(weights))
    except RuntimeError as error:
        sys.exit(f"from_pyg.py: {error}")
    return module


def option(arguments, name):
    """The word after `name`, both of which are taken out; None where it is not there."""
    if name not in arguments:
        return None
    at = arguments.index(name)
    if at + 1 == len(arguments):
        sys.exit(f"from_pyg.py: {name} needs a value")
    value = arguments[at + 1]
    del arguments[at:at + 2]
    return value


def main(arguments):
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        sys.exit("from_pyg.py: PyTorch is not there: pip install torch")
    if ":" in arguments[0]:
        from .pyg_trace import Untraceable
        library, verify = option(arguments, "--library"), "--no-verify" not in arguments
        arguments = [word for word in arguments if word != "--no-verify"]
        try:
            print(export(module_of(*arguments[:2]), arguments[2], arguments[3:], library=library, verify=verify))
        except Untraceable as error:
            sys.exit(f"from_pyg.py: {error}")
        return
    weights = by_relation(by_hops(state_dict_of(arguments[0])))
    save(weights, arguments[1])
    for name, tensor in weights.items():
        print(f"{name}  {' x '.join(map(str, tensor.shape)) or '1 number'}")


def command(argv):
    """The command line; exits with 0, 1 (a message on stderr) or 2 (a wrong use)."""
    traced = len(argv) > 3 and ":" in argv[1]
    if "--help" in argv[1:] or not traced and (len(argv) != 3 or argv[1].startswith("-")):
        print(__doc__)
        sys.exit(0 if "--help" in argv[1:] else 2)
    try:
        main(argv[1:])
    except OSError as error:
        path = argv[3 if traced else 2]
        sys.exit(f"from_pyg.py: {path if str(error.filename or path).startswith(path) else error.filename}: {error.strerror or error}")


if __name__ == "__main__":
    command(sys.argv)
