#!/usr/bin/env python3
"""Runs the benchmarks of two builds of this library in turn and prints how the newer one compares, row by row.

    python3 bench/versions.py --before OLD/build --after build --threads 1 --rounds 3

No peers take part. A row's figure is the time before over the time after, each the least of its rounds' minima, so that 1.00
means that nothing changed and 0.97 that the newer version is 3 % slower. The last line is the geometric mean of all rows. With
--isa v3 both run as on a processor with AVX2 and nothing above.
"""
import argparse, math, os, sys, time

import compare, suites


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--before", required=True, help="folder of an optimised build of the older version")
    p.add_argument("--after", required=True, help="folder of an optimised build of the newer version")
    p.add_argument("--suite", default="all", help="all, or some of " + ", ".join(suites.SUITES))
    p.add_argument("--only", default="", help="names of tasks, with commas; a name ends in * to stand for all that begin so")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--isa", default="", choices=["", *compare.OURS_AS], help="both are held to this instruction set: v3 is AVX2")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--repeat", type=int, default=0, help="runs in a round (0: by task)")
    p.add_argument("--again", type=float, default=0.97, help="a row below this is measured for as many rounds again")
    p.add_argument("--skip-slow", action="store_true", help="leave out tasks that take a peer minutes")
    p.add_argument("--timeout", type=float, default=900, help="seconds for one run")
    return p.parse_args()


def milliseconds(o, task, build):
    """-> the least time of one run of the program, or None."""
    few = [] if task.program == "epochs" else ["--repeat", str(o.repeat or task.own_repeat)]
    command = [os.path.join(build, "bench", task.program)] + task.flags + task.own + few + ["--threads", str(o.threads)]
    line, why = compare.run(command, o.threads, o.timeout, compare.OURS_AS.get(o.isa, {}))
    if line is None:
        compare.say(f"    {build}: {why}")
    return line and line["min_ms"]


def rounds(o, task, seen):
    """Adds o.rounds times of each build to `seen`; who goes first alternates."""
    for number in range(o.rounds):
        for build in (o.before, o.after) if number % 2 == 0 else (o.after, o.before):
            ms = milliseconds(o, task, build)
            if ms is None:
                return False
            seen[build].append(ms)
    return True


def row(o, task):
    """-> (time before, time after, ratio) or None where one of them does not run."""
    seen = {o.before: [], o.after: []}
    if not rounds(o, task, seen):
        return None
    ratio = lambda: min(seen[o.before]) / min(seen[o.after])
    if ratio() < o.again:
        rounds(o, task, seen)
    return min(seen[o.before]), min(seen[o.after]), ratio()


def main():
    o = options()
    chosen, ratios, start = compare.wanted(o), [], time.monotonic()
    if not chosen:
        sys.exit("no task is left")
    print(f"{compare.processor()}, threads {o.threads}, GNN_ISA {o.isa or 'unset'}, {o.rounds} rounds")
    print(f"{'task':<36} {'before ms':>10} {'after ms':>10} {'ratio':>6}")
    for task in chosen:
        found = row(o, task)
        if found:
            ratios.append(found[2])
            print(f"{task.id:<36} {found[0]:>10.3f} {found[1]:>10.3f} {found[2]:>6.3f}{'  below' * (found[2] < o.again)}", flush=True)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{len(ratios)} rows, geometric mean {mean:.3f}, least {min(ratios):.3f}, {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
