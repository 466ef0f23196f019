#!/usr/bin/env python3
"""Makes debian.npz, a citation graph of software, from Debian 12's package index. Needs Python 3 and, unless --packages is given, apt.

    apt-get update
    python3 graphs/data/debian.py graphs/data/debian.npz
    python3 graphs/data/debian.py --packages Packages --release InRelease debian.npz     # an index from elsewhere

Packages are nodes, their relations are links, the words of the one-line description are features, the section is the class. The same index
gives the same arrays everywhere, and with the same zlib the same bytes. Arrays: docs/formats.md. Facts only; no description is written.
"""
import argparse
import array
import collections
import hashlib
import io
import re
import subprocess
import sys
import zipfile

SECTIONS = sorted(
    "python perl javascript java ruby gnu-r php ocaml science games sound graphics gnome kde mail database".split())
LEFT_OUT = ("-doc", "-dev", "-dbg", "-data", "-common")
RELATIONS = ("Depends", "Pre-Depends", "Recommends", "Suggests", "Enhances")
WORD = re.compile("[a-z][a-z0-9]+")
WORD_SEEN = 10
PER_CLASS, VALIDATION, TEST = 20, 500, 1000
SPLITS = 10  # draws of the labelled packages: few labels decide much


# ---- the index ----

def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def index_files():
    """The index of bookworm's main as apt holds it. Updates and security change every week and are left out."""
    try:
        found = run("apt-get", "indextargets", "--format", "$(FILENAME)", "Created-By: Packages", "Codename: bookworm",
                    "Component: main", "Origin: Debian").decode().split()
        # A machine that knows several architectures has one index for each.
        found.sort(key=lambda name: ("binary-amd64" not in name, name))
        packages = run("/usr/lib/apt/apt-helper", "cat-file", found[0])
        with open(found[0].split("_main_")[0] + "_InRelease", "rb") as file:
            return packages, file.read()
    except (OSError, IndexError, subprocess.CalledProcessError) as why:
        sys.exit(f"debian.py: no index of Debian 12 main on this machine; run apt-get update or give --packages ({why})")


def provenance(packages, release):
    """Which index this is, in one line. The release lists each index with its SHA-256, so a wrong pair is told."""
    digest = hashlib.sha256(packages).hexdigest()
    text = release.decode()
    fields = dict(re.findall(r"^(Codename|Version|Date): (.*)$", text, re.M))
    entry = re.search(rf"^ {digest} +\d+ (main/binary-\w+/Packages)$", text, re.M)
    if fields.get("Codename") != "bookworm" or not entry:
        sys.exit(f"debian.py: the release file is not Debian 12's or does not list this index (SHA-256 {digest})")
    return f"Debian {fields['Version']} (bookworm), {entry[1]} of {fields['Date']}, SHA-256 {digest}"


def stanzas(text):
    """One dictionary for each package; a folded field keeps its lines."""
    for block in text.split("\n\n"):
        fields = {}
        for line in block.splitlines():
            if line[0] in " \t":
                fields[name] += "\n" + line
            else:
                name, _, value = line.partition(":")
                fields[name] = value.strip()
        if fields:
            yield fields


def chosen(text):
    return {p["Package"]: p for p in stanzas(text)
            if p.get("Section") in SECTIONS and not p["Package"].endswith(LEFT_OUT)}


# ---- the graph ----

def neighbours(packages):
    """Names that a package relates to, without versions and architectures, alternatives included; links go both ways."""
    near = {name: set() for name in packages}
    for name, fields in packages.items():
        for relation in RELATIONS:
            for other in re.split("[,|]", fields.get(relation, "")):
                other = re.split(r"[\s(:\[]", other.strip())[0]
                if other in packages and other != name:
                    near[name].add(other)
                    near[other].add(name)
    return near


def largest_component(near):
    seen, largest = set(), []
    for start in sorted(near):
        if start in seen:
            continue
        seen.add(start)
        reached = [start]
        for name in reached:
            fresh = near[name] - seen
            seen |= fresh
            reached.extend(fresh)
        if len(reached) > len(largest):
            largest = reached
    return sorted(largest)


def one_line(fields):
    return fields.get("Description", "").partition("\n")[0].lower()


def vocabulary(described):
    """Words that stand in WORD_SEEN descriptions or more."""
    seen = collections.Counter(word for words in described for word in words)
    return sorted(word for word, times in seen.items() if times >= WORD_SEEN)


def shuffled(nodes, names, draw):
    """By a hash of each name, so that the order depends on no generator of random numbers."""
    return sorted(nodes, key=lambda i: hashlib.sha256(f"{draw} {names[i]}".encode()).digest())


def split(names, labels, seed):
    """Planetoid's split. The rest is drawn anew: in the first order a small class is used up by its training nodes and never tested."""
    train, rest, taken = [], [], collections.Counter()
    for i in shuffled(range(len(names)), names, f"{seed} train"):
        taken[labels[i]] += 1
        (train if taken[labels[i]] <= PER_CLASS else rest).append(i)
    rest = shuffled(rest, names, f"{seed} rest")
    return train, rest[:VALIDATION], rest[VALIDATION:VALIDATION + TEST]


# ---- arrays ----

def sparse(prefix, rows, columns):
    indptr = [0]
    for row in rows:
        indptr.append(indptr[-1] + len(row))
    return {f"{prefix}_indptr": ("<i8", indptr), f"{prefix}_indices": ("<i4", [c for row in rows for c in row]),
            f"{prefix}_shape": ("<i8", [len(rows), columns])}


def texts(many, one, strings):
    offsets = [0]
    encoded = [s.encode() for s in strings]
    for s in encoded:
        offsets.append(offsets[-1] + len(s))
    return {many: ("|u1", b"".join(encoded)), f"{one}_offsets": ("<i8", offsets)}


def masks(n, splits):
    """One row a split."""
    inside = [set(members) for members in splits]
    return "|b1", [i in row for row in inside for i in range(n)], (len(splits), n)


def arrays(packages, source):
    near = neighbours(packages)
    names = largest_component(near)
    number = {name: i for i, name in enumerate(names)}
    links = [sorted(number[other] for other in near[name]) for name in names]
    described = [set(WORD.findall(one_line(packages[name]))) for name in names]
    words = vocabulary(described)
    column = {word: i for i, word in enumerate(words)}
    features = [sorted(column[w] for w in seen if w in column) for seen in described]
    labels = [SECTIONS.index(packages[name]["Section"]) for name in names]
    splits = [split(names, labels, seed) for seed in range(SPLITS)]
    out = sparse("adj", links, len(names))
    out.update(sparse("attr", features, len(words)))
    out["attr_data"] = "<f4", [1.0] * sum(map(len, features))
    out["labels"] = "<i4", labels
    for k, name in enumerate(("train", "val", "test")):
        out[f"{name}_masks"] = masks(len(names), [s[k] for s in splits])
    out.update(texts("names", "name", names))
    out.update(texts("class_names", "class_name", SECTIONS))
    out.update(texts("words", "word", words))
    out["source"] = "|u1", source.encode()
    return out


# ---- the file ----

def npy(dtype, values, shape=None):
    """An array (of one dimension, if no shape is given) as a .npy file, little-endian whatever machine this is."""
    codes = {"|u1": "B", "|b1": "B", "<i4": "i", "<i8": "q", "<f4": "f"}
    data = array.array(codes[dtype], values)
    if sys.byteorder == "big":
        data.byteswap()
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape or (len(data),)}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data.tobytes()


def npz(content):
    """A zip archive without the time of day, so that the bytes depend on the content only."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, array_of in sorted(content.items()):
            entry = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            archive.writestr(entry, npy(*array_of), compresslevel=9)
    return file.getvalue()


def report(content, size):
    links, labels, indptr = (content[k][1] for k in ("adj_indices", "labels", "adj_indptr"))
    inside = sum(labels[links[k]] == labels[i] for i in range(len(labels)) for k in range(indptr[i], indptr[i + 1]))
    words = content["attr_indptr"][1]
    print(content["source"][1].decode())
    print(f"{len(labels)} nodes, {len(links) // 2} links, {inside / len(links):.1%} of them within a class, "
          f"{content['attr_shape'][1][1]} words, {words[-1] / len(labels):.2f} a node, "
          f"{sum(a == b for a, b in zip(words, words[1:]))} nodes without, {size} bytes")
    for label, count in sorted(collections.Counter(labels).items()):
        print(f"{count:6} {SECTIONS[label]}")


def main():
    parser = argparse.ArgumentParser(description="Makes a citation graph of software from Debian 12's package index.")
    parser.add_argument("out", help="the .npz to write")
    parser.add_argument("--packages", help="Packages, unpacked; left out: the one that apt holds")
    parser.add_argument("--release", help="the InRelease or Release that lists it")
    options = parser.parse_args()
    if bool(options.packages) != bool(options.release):
        parser.error("--packages and --release go together")
    if options.packages:
        with open(options.packages, "rb") as a, open(options.release, "rb") as b:
            packages, release = a.read(), b.read()
    else:
        packages, release = index_files()
    content = arrays(chosen(packages.decode()), provenance(packages, release))
    data = npz(content)
    with open(options.out, "wb") as file:
        file.write(data)
    report(content, len(data))


if __name__ == "__main__":
    main()
