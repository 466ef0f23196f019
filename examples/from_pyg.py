"""Saves a PyTorch model (a PyG network, say) as safetensors.

    python from_pyg.py net.py:make model.pt model.safetensors [INPUT ...]

traces the module that make() in net.py returns, with the weights of model.pt, so that
gnn_model_load makes the whole model from the file. INPUTs are arguments of its forward() that have
a default and that shall be given (edge_weight, say). In a program of yours:
from_pyg.export(module, "model.safetensors").

    python from_pyg.py model.pt model.safetensors

saves the weights alone, for gnn_model_import or gnn_layer_import. model.pt is what
torch.save(model.state_dict(), "model.pt") wrote; a checkpoint that holds the state dict under a
name ("state_dict", "model_state_dict" or "model") is taken too.
"""
import json
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
        sys.exit(f"from_pyg.py: {path}: {error.strerror}")
    if isinstance(found, dict):
        found = next((found[name] for name in NAMES if isinstance(found.get(name), dict)), found)
    if not isinstance(found, dict):
        sys.exit(f"from_pyg.py: {path} holds a {type(found).__name__}: a state dict is expected")
    for name, value in found.items():
        if not isinstance(value, torch.Tensor):
            sys.exit(f'from_pyg.py: {path}: "{name}" is no tensor: a state dict is expected')
    return found


def export(module, path, inputs=(), widths=()):
    """Traces a module of known layers and saves it as one file; returns the trace, whose str() tells what it is."""
    from pyg_trace import trace

    found = trace(module, inputs, widths)
    save(found.arrays, path, **found.metadata())
    return found


def module_of(place, weights):
    """The module that FILE.py:FUNCTION makes, with the weights of a file."""
    import importlib.util

    file, _, function = place.rpartition(":")
    spec = importlib.util.spec_from_file_location("net", file)
    if spec is None:
        sys.exit(f"from_pyg.py: {place}: FILE.py:FUNCTION is expected")
    net = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(net)
    except OSError as error:
        sys.exit(f"from_pyg.py: {file}: {error.strerror}")
    if not hasattr(net, function):
        sys.exit(f"from_pyg.py: {file} has no function {function}")
    module = getattr(net, function)()
    try:
        module.load_state_dict(state_dict_of(weights))
    except RuntimeError as error:
        sys.exit(f"from_pyg.py: {error}")
    return module


def main(arguments):
    try:
        import torch  # noqa: F401
    except ImportError:
        sys.exit("from_pyg.py: PyTorch is not there: pip install torch")
    if ":" in arguments[0]:
        from pyg_trace import Untraceable
        try:
            print(export(module_of(*arguments[:2]), arguments[2], arguments[3:]))
        except Untraceable as error:
            sys.exit(f"from_pyg.py: {error}")
        return
    weights = by_relation(by_hops(state_dict_of(arguments[0])))
    save(weights, arguments[1])
    for name, tensor in weights.items():
        print(f"{name}  {' x '.join(map(str, tensor.shape)) or '1 number'}")


if __name__ == "__main__":
    traced = len(sys.argv) > 3 and ":" in sys.argv[1]
    if "--help" in sys.argv[1:] or not traced and (len(sys.argv) != 3 or sys.argv[1].startswith("-")):
        print(__doc__)
        sys.exit(0 if "--help" in sys.argv[1:] else 2)
    try:
        main(sys.argv[1:])
    except OSError as error:
        sys.exit(f"from_pyg.py: {sys.argv[3 if traced else 2]}: {error.strerror}")
