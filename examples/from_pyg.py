"""The command line of libgnn.torch.from_pyg, which saves a PyTorch model as safetensors:
python examples/from_pyg.py --help."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
from libgnn.torch.from_pyg import *  # noqa: E402,F403 (for programs that import this script)
from libgnn.torch.from_pyg import command  # noqa: E402

if __name__ == "__main__":
    command(sys.argv)
