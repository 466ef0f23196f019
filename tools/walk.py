#!/usr/bin/env python3
"""Counts what a reader follows from one function to what it calls.

    python3 tools/walk.py build gnn_train lib/train lib/data --stop gnn__train_loop

BUILD is a folder of meson, START a function (or FILE:FUNCTION), then folders or files whose functions the walk enters: calls to
others, such as errors and memory, are not followed. gcc lists the calls of each file (-fcallgraph-info, without
optimisation); calls through tables are not seen, so a function that a table holds is a start of its own. Printed:
functions entered, files, calls, calls to another file; --show lists the latter.
"""
import argparse, json, os, re, shlex, subprocess, sys, tempfile


def commands(build, places):
    """-> {source: (folder, arguments)} of files of the library below the places, each once."""
    found = {}
    with open(os.path.join(build, "compile_commands.json")) as f:
        for entry in json.load(f):
            source = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
            name = os.path.relpath(source, os.path.normpath(os.path.join(build, "..")))
            inside = any(name == p or name.startswith(p.rstrip("/") + "/") for p in places)
            if inside and not name.startswith("tests/"):
                found.setdefault(name, (entry["directory"], shlex.split(entry["command"])))
    return found


def calls(name, folder, arguments, work):
    """-> [(caller, callee, line)] and the functions that the file defines, by their names in the graph."""
    out = os.path.join(work, name.replace("/", "_") + ".o")
    kept, skip = [], False
    for word in arguments:
        if skip or word == "ccache":
            skip = False
        elif word in ("-o", "-MF", "-MQ"):
            skip = True
        elif not word.startswith(("-O", "-M", "-W")):
            kept.append(word)
    done = subprocess.run(kept + ["-O0", "-w", "-fcallgraph-info", "-o", out], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{name}: {done.stderr}")
    with open(out[:-2] + ".ci") as f:
        text = f.read()
    clean = lambda title: title.rsplit(":", 1)[-1]
    where = re.compile(r'node: \{ title: "([^"]+)" label: "[^"\\]*\\n(\S+?):\d+:\d+')
    local = {title for title, file in where.findall(text) if os.path.basename(file) == os.path.basename(name)}
    edges = re.findall(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)" label: "\S+?:(\d+):', text)
    return [(clean(a), clean(b), int(line), ":" in b) for a, b, line in edges], {clean(title) for title in local}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build")
    p.add_argument("start")
    p.add_argument("places", nargs="+")
    p.add_argument("--stop", action="append", default=[], help="a function that is not entered")
    p.add_argument("--show", action="store_true", help="list the calls to other files")
    o = p.parse_args()
    of_file, owner = {}, {}
    with tempfile.TemporaryDirectory() as work:
        for name, (folder, arguments) in commands(o.build, o.places).items():
            of_file[name], defined = calls(name, folder, arguments, work)
            for function in defined:
                owner.setdefault(function, []).append(name)
    file, _, start = o.start.rpartition(":")
    homes = [name for name in owner.get(start, []) if not file or name == file]
    if len(homes) != 1:
        sys.exit(f"{o.start} is defined in {len(homes)} of {len(of_file)} files: expected 1, else FILE:FUNCTION")
    entered, left = set(), [(homes[0], start)]
    total, crossing = 0, []
    while left:
        name, function = left.pop()
        if (name, function) in entered or function in o.stop:
            continue
        entered.add((name, function))
        for caller, callee, line, is_local in of_file[name]:
            if caller != function or callee not in owner:
                continue
            there = name if is_local or name in owner[callee] else owner[callee][0]
            total += 1
            if there != name:
                crossing.append(f"{name}:{line} {function} -> {callee} ({there})")
            left.append((there, callee))
    if o.show:
        print("\n".join(sorted(crossing)))
    print(f"{o.start}: {len(entered)} functions in {len({n for n, _ in entered})} files, {total} calls, {len(crossing)} to another file")


if __name__ == "__main__":
    main()
