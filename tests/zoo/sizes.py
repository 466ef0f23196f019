"""Writes tests/zoo/sizes.txt: of each golden case of the zoo the arrays that an entry reads, their
shapes and ranges, and the values of integers and hyperparameters. Entries run on values drawn from
these where the golden files are absent. Entries of tests/zoo/C_layers.c have files in the folder
above the zoo's.

    python3 tests/zoo/sizes.py ../shared/golden/zoo > tests/zoo/sizes.txt
"""
import ast
import os
import re
import struct
import sys
import zipfile

FORMATS = {"f4": "f", "f8": "d", "i8": "q", "i4": "i", "b1": "?", "u1": "B"}


def arrays(path):
    """Name, type, shape and values of every array of an .npz file."""
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            data = archive.read(member)
            start = 10 if data[6] == 1 else 12
            size = int.from_bytes(data[8:start], "little")
            head = ast.literal_eval(data[start:start + size].decode())
            kind = head["descr"][1:]
            count = 1
            for n in head["shape"]:
                count *= n
            body = data[start + size:]
            order = struct.unpack("<%d%s" % (count, FORMATS[kind]),
                                  body[:count * struct.calcsize(FORMATS[kind])])
            yield member[:-4], kind, head["shape"] or (1,), order


def line(name, kind, shape, values, wants):
    dims = "x".join(map(str, shape))
    if kind[0] in "iub" or name.startswith("p."):
        word = "i" if kind[0] in "iub" else "r"
        return " %s %s %s = %s" % (name, word, dims, " ".join("%g" % v for v in values))
    low, high = (min(values), max(values)) if values else (0, 0)
    return " %s f %s %.3g %.3g%s" % (name, dims, low, high, " *" if wants else "")


def files(folder):
    layers = os.path.join(os.path.dirname(os.path.abspath(__file__)), "C_layers.c")
    with open(layers, encoding="utf-8") as text:
        for name in re.findall(r"^ENTRY\((\w+)\)", text.read(), re.M):
            yield os.path.join(folder, os.pardir, name + ".npz")
    for file in sorted(os.listdir(folder)):
        if file.endswith(".npz"):
            yield os.path.join(folder, file)


def main(folder):
    for path in files(folder):
        file = os.path.basename(path)
        found = [("p.heads" if a[0] == "heads" else a[0],) + a[1:] for a in arrays(path)]
        names = {name for name, _, _, _ in found}
        print(file[:-4])
        for name, kind, shape, values in found:
            gradient = name[0] == "d" and name != "dst" and name[1:] in names
            if gradient or name in ("fd", "y", "weights"):
                continue
            print(line(name, kind, shape, values, "d" + name in names))


main(sys.argv[1])
