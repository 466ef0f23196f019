#!/bin/sh
# Modules of PyTorch Geometric, exported by examples/from_pyg.py, compute in libgnn what they compute there. $PYTHON (python3) is asked for PyG.
# Long: exports and runs some 75 modules of PyG.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=$(CDPATH='' cd -- "${1:-$root/build}" && pwd) || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2

. "$root/tests/expect.sh"

python=${PYTHON:-python3}
if ! "$python" -W ignore -c 'import torch_geometric' 2>/dev/null; then
    echo "LEFT OUT pyg_modules: $python has no torch_geometric"
    finish
fi
GNN_LIBRARY=$build/libgnn.so
export GNN_LIBRARY
expect "modules are exported" "$python" -W ignore "$root/tests/pyg/modules.py" "$work/modules" --every
expect "and compute the same" env GNN_DESCRIBED="$work/modules" CK_RUN_CASE=description "$build/tests/test_description"
cat >net.py <<'NET'
import torch
import torch_geometric.nn as G


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = G.GCNConv(3, 2)

    def forward(self, x, edge_index, edge_weight=None):
        x = self.conv(x, edge_index, edge_weight)
        return torch.linalg.qr(x)[0] if wrong else x


wrong = False


def make():
    return Net()


def make_wrong():
    global wrong
    wrong = True
    return Net()
NET
expect "weights" "$python" -W ignore -c 'import net, torch; torch.save(net.make().state_dict(), "net.pt")'
expect "a module in a file" "$python" -W ignore "$root/examples/from_pyg.py" net.py:make net.pt net.safetensors edge_weight
expect "tells its inputs" grep -q 'input   edge_weight' last
expect "a module that was verified" "$python" -W ignore "$root/examples/from_pyg.py" net.py:make net.pt net.safetensors
expect "says so" grep -q 'verified by' last
expect "not asked for" "$python" -W ignore "$root/examples/from_pyg.py" net.py:make net.pt net.safetensors --no-verify
expect "says so too" grep -q 'not verified' last
expect "a library that is not there" exits 1 "$python" -W ignore "$root/examples/from_pyg.py" net.py:make net.pt other.safetensors --library nosuch.so
expect "leaves no file" test ! -e other.safetensors
expect "what has no counterpart" exits 1 "$python" -W ignore "$root/examples/from_pyg.py" net.py:make_wrong net.pt other.safetensors
expect "is named with its line" grep -q 'net.py:12: .*qr' last
expect "and leaves no file" test ! -e other.safetensors
expect "styles, closure, refusals" "$python" -W ignore "$root/tests/pyg/styles.py"
expect "networks of papers" "$python" -W ignore "$root/tests/pyg/papers.py"
finish
