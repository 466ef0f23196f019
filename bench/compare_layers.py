#!/usr/bin/env python3
"""Runs every row of bench/layers_rows.c beside PyG and DGL and prints how they compare (bench/README.md). One process of a peer's holds many rows.

    python3 bench/compare_layers.py --build build --python-pyg PYG/bin/python --python-dgl DGL/bin/python --graph tolokers --mode train
    python3 bench/compare_layers.py --show --name NAME

Lines go to bench/results/NAME.jsonl, as those of compare.py do; a row, graph and mode that the file has from this commit's run is not run again.
"""
import argparse, json, os, statistics, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import compare


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(HERE, "..", "build"), help="folder of an optimised build")
    p.add_argument("--python-pyg", help="interpreter with torch and torch_geometric")
    p.add_argument("--python-dgl", help="interpreter with torch and dgl")
    p.add_argument("--graph", default="tolokers,proteins")
    p.add_argument("--mode", default="train,infer")
    p.add_argument("--but", default="", help="rows that peers are not asked for, with commas")
    p.add_argument("--only", default="", help="names of rows, with commas")
    p.add_argument("--threads", default="2")
    p.add_argument("--repeat", default="5", help="timed runs of a peer; ours runs four times as many")
    p.add_argument("--again", action="store_true", help="ours runs again, and its new lines count")
    p.add_argument("--name", default="", help="of the file in bench/results; default: the processor's")
    p.add_argument("--show", action="store_true", help="print the table of what the file holds, run nothing")
    p.set_defaults(isa="", resume=True)
    return p.parse_args()


def ours(o, log, row, graph, mode):
    key = dict(suite="layers", task=f"layers/{graph}-{row}-{mode}", threads=int(o.threads), who="libgnn")
    if log.find(**key) and not o.again:
        return
    command = [os.path.join(o.build, "bench", "layers"), "--layer", row, "--graph", graph, "--mode", mode, "--threads", o.threads, "--repeat", str(4 * int(o.repeat))]
    line, why = compare.run(command, o.threads, 120)
    if line:
        log.add(key, line)
    else:
        compare.say(f"libgnn {row} {graph} {mode}: {why}")


def peer(o, log, who, python, rows, graph, mode):
    key = lambda row: dict(suite="layers", task=f"layers/{graph}-{row}-{mode}", threads=int(o.threads), who=who)
    rows = [r for r in rows if not log.find(**key(r))]
    if not python or not rows:
        return
    command = [python, os.path.join(HERE, "peers", "layers.py"), "--library", who, "--layer", ",".join(rows), "--graph", graph, "--mode", mode, "--threads", o.threads, "--repeat", o.repeat]
    env = dict({k: v for k, v in os.environ.items() if k not in compare.UNSET}, OMP_NUM_THREADS=o.threads)
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as done:
        for text in done.stdout:
            if text.startswith("{"):
                line = json.loads(text)
                if "error" in line:
                    compare.say(f"{who} {line['layer']} {graph} {mode}: {line['error']}")
                else:
                    log.add(key(line["layer"]), line)


def table(log, o):
    groups, ratios = {}, []
    for r in log.rows:
        if r["suite"] == "layers":
            groups.setdefault(r["task"], {})[r["who"]] = r
    print(f"{'row':<40}{'libgnn ms':>10}{'MB':>7}{'PyG ms':>10}{'MB':>7}{'ratio':>7}{'DGL ms':>10}{'MB':>7}{'ratio':>7}{'of best':>9}")
    for task, who in groups.items():
        if "libgnn" not in who:
            continue
        mine, cells, best = who["libgnn"], "", None
        mb = lambda r: r["peak_mb"] - r["before_mb"]
        for p in ("pyg", "dgl"):
            if p in who:
                ratio = who[p]["median_ms"] / mine["median_ms"]
                best = min(best or ratio, ratio)
                cells += f"{who[p]['median_ms']:>10.2f}{mb(who[p]):>7.0f}{ratio:>7.1f}"
            else:
                cells += f"{'':>24}"
        if best:
            ratios.append((best, task))
        print(f"{task[7:]:<40}{mine['median_ms']:>10.2f}{mb(mine):>7.0f}{cells}{'' if best is None else f'{best:9.1f}'}")
    if ratios:
        print(f"{len(ratios)} rows; median ratio to the faster peer {statistics.median(r for r, _ in ratios):.1f}; slower: "
              + (", ".join(t[7:] for r, t in ratios if r < 1) or "none"))


def main():
    o = options()
    log = compare.Log(o)
    rows = subprocess.run([os.path.join(o.build, "bench", "layers"), "--list"], capture_output=True, text=True).stdout.split() if not o.show else []
    rows = [r for r in rows if not o.only or r in o.only.split(",")]
    for graph in [] if o.show else o.graph.split(","):
        # A readout makes many rows of many: on one graph there is nothing to measure.
        here = [r for r in rows if graph == "proteins" or not r.startswith("readout")]
        for mode in o.mode.split(","):
            asked = [r for r in here if r not in o.but.split(",")]
            peer(o, log, "pyg", o.python_pyg, asked, graph, mode)
            for row in here:
                ours(o, log, row, graph, mode)
            peer(o, log, "dgl", o.python_dgl, asked, graph, mode)
    table(log, o)


if __name__ == "__main__":
    main()
