"""Saves a PyTorch model's weights (a PyG network, say) as safetensors, for gnn_model_import or gnn_layer_import.

    python from_pyg.py model.pt model.safetensors        model.pt: torch.save(model.state_dict(), "model.pt")
"""
import json
import struct
import sys

import torch


def save(state_dict, path):
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


if __name__ == "__main__":
    save(torch.load(sys.argv[1], map_location="cpu", weights_only=True), sys.argv[2])
