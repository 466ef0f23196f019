"""Saves a PyTorch model's weights (a PyG network, say) as safetensors, for gnn_model_import or gnn_layer_import.

    python from_pyg.py model.pt model.safetensors        model.pt: torch.save(model.state_dict(), "model.pt")

A checkpoint that holds the state dict under a name ("state_dict", "model_state_dict" or "model") is taken too.
"""
import json
import struct
import sys

NAMES = ("state_dict", "model_state_dict", "model")


def save(state_dict, path):
    import torch

    header, blobs, at = {"__metadata__": {"format": "pt"}}, [], 0
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


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        print(__doc__)
        sys.exit(0 if "--help" in sys.argv[1:] else 2)
    try:
        import torch  # noqa: F401
    except ImportError:
        sys.exit("from_pyg.py: PyTorch is not there: pip install torch")
    weights = state_dict_of(sys.argv[1])
    try:
        save(weights, sys.argv[2])
    except OSError as error:
        sys.exit(f"from_pyg.py: {sys.argv[2]}: {error.strerror}")
    for name, tensor in weights.items():
        print(f"{name}  {' x '.join(map(str, tensor.shape)) or '1 number'}")
