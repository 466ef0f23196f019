#!/usr/bin/env python3
"""libgnn.torch.compile() beside PyG as it is, PyG compiled by torch.compile(), and the C program of the same network.

    python3 bench/compare_python.py --build build --python PYTHON [--data cora,tolokers] [--model gcn,gat] [--mode train,infer] [--rounds 3]

PYTHON has torch, torch_geometric and the package libgnn. All run in turn, each in its own process with the same count of threads, in alternating
order; of PyG the faster of a CSR adjacency and an edge_index counts, for both of its ways. A row has the medians over rounds, the ratio of compile() and
of the C program to the faster of PyG's, and the first of these over the second. Lines go to bench/results/NAME.jsonl, as those of compare.py do.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import compare

WAYS = {"C": None, "compile()": ["--library", "libgnn"], "csr": ["--library", "pyg", "--adjacency", "csr"], "edge_index": ["--library", "pyg", "--adjacency", "edge_index"],
        "csr compiled": ["--library", "pyg", "--adjacency", "csr", "--compile"], "edge_index compiled": ["--library", "pyg", "--adjacency", "edge_index", "--compile"]}
REPEAT = {"cora": 50, "pubmed": 20, "tolokers": 5, "proteins": 20}


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(HERE, "..", "build"), help="folder of an optimised build")
    p.add_argument("--python", help="interpreter with torch, torch_geometric and libgnn")
    p.add_argument("--data", default="cora,pubmed,tolokers,proteins")
    p.add_argument("--model", default="gcn,gat,gatv2,sage")
    p.add_argument("--mode", default="train,infer")
    p.add_argument("--ways", default="", help="some of " + ", ".join(WAYS))
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--timeout", type=float, default=300, help="seconds for one run")
    p.add_argument("--name", default="", help="of the file in bench/results; default: the processor's")
    p.add_argument("--resume", action="store_true", help="go on where the last comparison in this file stopped")
    p.add_argument("--show", action="store_true", help="print the table of what the file holds, run nothing")
    p.set_defaults(isa="")
    return p.parse_args()


class Runs:
    def __init__(self, o, log, folder):
        self.o, self.log, self.folder, self.failed = o, log, folder, set()

    def file(self, data):
        """PROTEINS as a file: the C program reads whole sets alone."""
        if data != "proteins":
            return data
        path = os.path.join(self.folder, data + ".npz")
        if not os.path.exists(path):
            subprocess.run([self.o.python, "-c", f"import common; common.save({data!r}, {path!r})"], cwd=os.path.join(HERE, "peers"), check=True)
        return path

    def one(self, data, model, mode, number, way):
        key = dict(suite="python", task=f"{data}-{model}-{mode}", threads=self.o.threads, round=number, who=way)
        if self.log.find(**key) or (data, model, mode, way) in self.failed:
            return
        few = REPEAT.get(data, 5)
        if WAYS[way] is None:
            command = [os.path.join(self.o.build, "bench", "graph"), "--data", self.file(data), "--repeat", str(4 * few)]
        else:
            own = 4 if way == "compile()" else 1
            command = [self.o.python, os.path.join(HERE, "peers", "graph.py"), *WAYS[way], "--data", data, "--repeat", str(own * few)]
        line, why = compare.run([*command, "--model", model, "--mode", mode, "--threads", str(self.o.threads)], self.o.threads, self.o.timeout)
        compare.say(f"{key['task']} {way}: {why or line['median_ms']}")
        if line is None:
            self.failed.add((data, model, mode, way))
        else:
            self.log.add(key, line)

    def all(self):
        ways = self.o.ways.split(",") if self.o.ways else list(WAYS)
        for data in self.o.data.split(","):
            for model in self.o.model.split(","):
                for mode in self.o.mode.split(","):
                    for number in range(1, self.o.rounds + 1):
                        for way in ways if number % 2 else reversed(ways):
                            self.one(data, model, mode, number, way)


def table(log):
    tasks = {}
    for r in log.rows:
        if r["suite"] == "python":
            tasks.setdefault((r["task"], r["threads"]), {}).setdefault(r["who"], []).append(r["median_ms"])
    print("| task | PyG ms | PyG compiled | C | compile() | C, times faster | compile() | of C's |")
    print("| --- | --: | --: | --: | --: | --: | --: | --: |")
    for (task, _), who in tasks.items():
        ms = {way: statistics.median(found) for way, found in who.items()}
        best = [min((ms[way] for way in ms if way in group), default=None) for group in (("csr", "edge_index"), ("csr compiled", "edge_index compiled"))]
        peer = min((time for time in best if time), default=None)
        cells = [*best, ms.get("C"), ms.get("compile()")]
        ratios = [peer / t if peer and t else None for t in cells[2:]]
        share = cells[2] / cells[3] if cells[2] and cells[3] else None
        print("| " + " | ".join([task, *("" if c is None else f"{c:.3g}" for c in cells), *("" if r is None else f"{r:.1f}" for r in ratios), "" if share is None else f"{share:.2f}"]) + " |")


def main():
    o = options()
    log = compare.Log(o)
    if not o.show:
        with tempfile.TemporaryDirectory() as folder:
            Runs(o, log, folder).all()
    table(log)


if __name__ == "__main__":
    main()
