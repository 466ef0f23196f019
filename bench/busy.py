#!/usr/bin/env python3
"""What a neighbour costs: training steps with one thread and with two, on a quiet machine and beside a program that never
rests on one of two processors, at equal priority and at a lower one of ours (nice -n 10).

    python3 bench/busy.py [--build build] [--seconds 3] [--only gat] [--rounds 1] [--conditions quiet,equal,nice]

Prints the mean over all runs after the warm-up and the median, in milliseconds.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

WORK = [  # name, program and options, about ms a step
    ("gcn-cora", "graph --model gcn --data cora --mode train", 0.4),
    ("gat-cora", "graph --model gat --data cora --mode train", 1.2),
    ("gat-pubmed", "graph --model gat --data pubmed --mode train", 8),
    ("gat-tolokers", "graph --model gat --data tolokers --mode train", 40),
    ("encoder-train", "encoder --mode train --batch 2", 150),
]


def run(build, command, threads, repeat, nice):
    words = command.split()
    line = (["nice", "-n", "10"] if nice else []) + [os.path.join(build, "bench", words[0])] + words[1:]
    line += ["--threads", str(threads), "--repeat", str(repeat)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    if done.returncode:
        sys.exit(f"{' '.join(line)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def measure(build, command, repeat, condition, rounds):
    """(mean, median) of one thread and of two."""
    neighbour = None
    if condition != "quiet":
        neighbour = subprocess.Popen(["taskset", "-c", "1", "sh", "-c", "while :; do :; done"])
    try:
        rows = {threads: [] for threads in (1, 2)}
        for _ in range(rounds):
            for threads in (1, 2):
                rows[threads].append(run(build, command, threads, repeat, condition == "nice"))
    finally:
        if neighbour:
            neighbour.kill()
            neighbour.wait()
    return [(statistics.median(r["mean_ms"] for r in rows[t]), statistics.median(r["median_ms"] for r in rows[t])) for t in (1, 2)]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", default="build")
    options.add_argument("--seconds", type=float, default=3, help="about how long a run lasts on a quiet machine (3)")
    options.add_argument("--only", default="", help="rows whose name contains this")
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--conditions", default="quiet,equal,nice")
    o = options.parse_args()
    print("| step | condition | 1 thread, mean | median | 2 threads, mean | median | 2 / 1, mean | median |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, command, ms in WORK:
        for condition in o.conditions.split(",") if o.only in name else []:
            one, two = measure(o.build, command, max(10, round(1e3 * o.seconds / ms)), condition, o.rounds)
            print(f"| {name} | {condition} | {one[0]:.3f} | {one[1]:.3f} | {two[0]:.3f} | {two[1]:.3f} | "
                  f"{two[0] / one[0]:.2f} | {two[1] / one[1]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
