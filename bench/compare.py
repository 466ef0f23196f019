#!/usr/bin/env python3
"""Runs our programs and the peers' scripts alternately and prints how they compare. bench/README.md says how to set the peers up.

    python3 bench/compare.py --build build --python-pyg PYG/bin/python --python-dgl DGL/bin/python --suite graph-train --threads 1,2

Every run's line of JSON goes to bench/results/NAME.jsonl with processor, date and commit, so that an interrupted comparison can go on (--resume) and
a table can be printed again (--show).
"""
import argparse, datetime, json, os, statistics, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import suites

# Settings of the caller's shell that would bend one side alone.
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "GNN_ISA", "GNN_PROFILE", "OMP_PROC_BIND", "OMP_WAIT_POLICY")


# --isa v3: what holds our programs, and the libraries of the peers, to AVX2.
OURS_AS = {"v3": {"GNN_ISA": "v3", "ONEDNN_MAX_CPU_ISA": "AVX2", "OPENBLAS_CORETYPE": "Haswell"}}
PEERS_AS = {"v3": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_MAX_CPU_ISA": "AVX2",
                   "MKL_ENABLE_INSTRUCTIONS": "AVX2", "OPENBLAS_CORETYPE": "Haswell"}}


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(HERE, "..", "build"), help="folder of an optimised build")
    p.add_argument("--python-pyg", help="interpreter with torch and torch_geometric")
    p.add_argument("--python-dgl", help="interpreter with torch and dgl")
    p.add_argument("--python-text", help="interpreter with torch, transformers, onnxruntime and openvino")
    p.add_argument("--suite", default="all", help="all, or some of " + ", ".join(suites.SUITES))
    p.add_argument("--only", default="", help="names of tasks, with commas; a name ends in * to stand for all that begin so")
    p.add_argument("--peers", default="", help="some of pyg, dgl, torch, torch-bf16, onnxruntime, openvino-bf16")
    p.add_argument("--threads", default="2", help="1, 2 or 1,2")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--repeat", type=int, default=0, help="of the peers in a round (0: by task)")
    p.add_argument("--own-repeat", type=int, default=0, help="of ours in a round (0: by task)")
    p.add_argument("--skip-slow", action="store_true", help="leave out tasks that take a peer minutes")
    p.add_argument("--eager", action="store_true", help="leave out torch.compile")
    p.add_argument("--ways", default="", help="the NAME of another file in bench/results: a peer goes the way that was its fastest there, instead of trying all again")
    p.add_argument("--ours-only", action="store_true")
    p.add_argument("--timeout", type=float, default=900, help="seconds for one run")
    p.add_argument("--isa", default="", choices=["", *OURS_AS], help="ours and the peers are held to this instruction set: v3 is AVX2")
    p.add_argument("--name", default="", help="of the file in bench/results; default: the processor's")
    p.add_argument("--resume", action="store_true", help="go on where the last comparison in this file stopped")
    p.add_argument("--show", action="store_true", help="print the table of what the file holds, run nothing")
    return p.parse_args()


# ---- machine and file ----

def processor():
    try:
        with open("/proc/cpuinfo") as f:
            names = [l.split(":", 1)[1].strip() for l in f if l.startswith(("model name", "Model"))]
        flags = open("/proc/cpuinfo").read()
    except OSError:
        return "unknown"
    extra = [word for word in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if " " + word in flags]
    return " ".join([names[0] if names else os.uname().machine, "(" + ", ".join(extra) + ")"])


def git(*words):
    try:
        done = subprocess.run(["git", "-C", HERE, *words], capture_output=True, text=True)
    except OSError:  # no git here
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def results_path(o, name=""):
    slug = name or o.name or "".join(c if c.isalnum() else "-" for c in processor().split("(")[0].strip().lower()).strip("-")
    slug += "-" + o.isa if o.isa and not (name or o.name) else ""
    return os.path.join(HERE, "results", slug + ".jsonl")


def read_results(path):
    try:
        with open(path) as f:
            return [json.loads(line) for line in f if line.strip()]
    except FileNotFoundError:
        return []


class Log:
    """The results of one comparison, each written as it comes."""

    def __init__(self, o):
        self.path = results_path(o)
        before = read_results(self.path)
        self.run = before[-1]["run"] if before and (o.resume or o.show) else datetime.datetime.now().strftime("%Y-%m-%dT%H:%M:%S")
        self.rows = [r for r in before if r["run"] == self.run]
        self.fixed = dict(run=self.run, processor=processor(), processors=os.cpu_count(), held_to=o.isa, commit=git("rev-parse", "--short", "HEAD"), changed=bool(git("status", "--porcelain", "--untracked-files=no", "--", ":/lib", ":/graphs", ":/include", ":/bench/*.c")))

    def add(self, key, line):
        row = dict(key, **self.fixed, date=datetime.datetime.now().strftime("%Y-%m-%d"), **{k: v for k, v in line.items() if k not in key})
        self.rows.append(row)
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, "a") as f:
            f.write(json.dumps(row) + "\n")

    def find(self, **key):
        return [r for r in self.rows if all(r.get(k) == v for k, v in key.items())]


# ---- running ----

def run(command, threads, timeout, settings={}):
    """-> (the program's line of JSON, None) or (None, why not). `settings` are added to the environment."""
    env = {k: v for k, v in os.environ.items() if k not in UNSET}
    env["OMP_NUM_THREADS"] = str(threads)
    env.update(settings)
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return None, f"no answer in {timeout:.0f} s"
    except OSError as e:
        return None, str(e)
    lines = [l for l in done.stdout.splitlines() if l.startswith("{")]
    if done.returncode or not lines:
        said = [l for l in done.stderr.splitlines() if l.strip()]
        return None, said[-1][:160] if said else f"exit status {done.returncode}"
    return json.loads(lines[-1]), None


class Comparison:
    def __init__(self, o, log):
        self.o, self.log = o, log
        self.earlier = read_results(results_path(o, o.ways)) if o.ways else []
        if o.ways and not self.earlier:
            sys.exit(f"--ways {o.ways}: there are no results in {results_path(o, o.ways)}")
        self.python = {"pyg": o.python_pyg, "dgl": o.python_dgl, "text": o.python_text}
        self.best = {}  # (task, threads, peer) -> flags of the variant that counts, None if none runs

    def command(self, task, variant, environment, threads, repeat, warm=None):
        first = [os.path.join(self.o.build, "bench", task.program)] if environment is None else [self.python[environment], os.path.join(HERE, "peers", task.program + ".py")]
        few = [] if task.program == "epochs" else ["--repeat", str(repeat)] + (["--warm", str(warm)] if warm is not None else [])
        return first + task.flags + variant + few + ["--threads", str(threads)]

    def choose(self, task, threads, peer):
        """The peer's fastest variant, from a short run of each; chosen once."""
        environment, variants = task.peers[peer]
        variants = [v for v in variants if not (self.o.eager and "--compile" in v)]
        key = (task.id, threads, peer)
        if key in self.best or not variants:
            return self.best.get(key)
        before = self.log.find(task=task.id, threads=threads, who=peer) or [
            r for r in self.earlier if (r["task"], r["threads"], r["who"]) == key and r["variant"] in variants]
        if before:
            self.best[key] = before[-1]["variant"]
        elif len(variants) == 1:
            self.best[key] = variants[0]
        else:
            tried = []
            for v in variants:
                line, why = run(self.command(task, v, environment, threads, 1 if task.slow else 3, 1 if task.slow else 2), threads, self.o.timeout, PEERS_AS.get(self.o.isa, {}))
                say(f"    {peer} {' '.join(v) or 'eager'}: {line['min_ms']:.2f} ms" if line else f"    {peer} {' '.join(v) or 'eager'}: {why}")
                if line:
                    tried.append((line["min_ms"], v))
            self.best[key] = min(tried)[1] if tried else None
        return self.best[key]

    def one(self, task, threads, round_number, who):
        key = dict(suite=task.suite, task=task.id, threads=threads, round=round_number, who=who)
        if self.log.find(**key):
            return
        if who == "libgnn":
            environment, variant, repeat = None, task.own, self.o.own_repeat or task.own_repeat
        else:
            environment, variant, repeat = task.peers[who][0], self.choose(task, threads, who), self.o.repeat or task.repeat
            if variant is None:
                return
        warm = 1 if task.slow else None
        line, why = run(self.command(task, variant, environment, threads, repeat, warm), threads, self.o.timeout, (OURS_AS if who == "libgnn" else PEERS_AS).get(self.o.isa, {}))
        if line is None:
            say(f"    {who}: {why}")
            if who != "libgnn":
                self.best[(task.id, threads, who)] = None
            return
        say(f"    {who}: {line['median_ms']:.3f} ms")
        self.log.add(dict(key, variant=variant), line)

    def task(self, task, threads):
        peers = [] if self.o.ours_only else [p for p, (environment, _) in task.peers.items() if self.python[environment] and p in wanted_peers(self.o)]
        for number in range(1, self.o.rounds + 1):
            say(f"{task.id}, {threads} thread{'s' * (threads > 1)}, round {number}")
            # Who goes first alternates, so that neither always meets the machine as the other left
            # it.
            order = ["libgnn"] + peers
            for who in order if number % 2 else reversed(order):
                self.one(task, threads, number, who)


def say(text):
    print(text, file=sys.stderr, flush=True)


def wanted_peers(o):
    return o.peers.split(",") if o.peers else ["pyg", "dgl", "torch", "torch-bf16", "onnxruntime", "openvino-bf16"]


def wanted(o):
    names = suites.SUITES if o.suite == "all" else o.suite.split(",")
    unknown = [n for n in names if n not in suites.SUITES]
    if unknown:
        sys.exit(f"there is no suite {unknown[0]}: all, {', '.join(suites.SUITES)}")
    only = [w for w in o.only.split(",") if w]
    fits = lambda t: not only or any(t.name == w or (w.endswith("*") and t.name.startswith(w[:-1])) for w in only)
    return [t for t in suites.tasks() if t.suite in names and fits(t) and not (o.skip_slow and t.slow)]


# ---- the table ----

def summary(rows):
    """Rounds of one program -> median, minimum, first run, peak memory over the start."""
    first = [r["first_ms"] for r in rows if "first_ms" in r]  # not every program reports it
    return dict(median=statistics.median(r["median_ms"] for r in rows), min=min(r["min_ms"] for r in rows), first=statistics.median(first) if first else None,
                mb=max(r["peak_mb"] - r["before_mb"] for r in rows), rounds=len(rows))


def compare_rows(log_rows, targets):
    """-> one dict per (task, threads, peer) that has both sides, in the order of the suites."""
    groups = {}
    for r in log_rows:
        groups.setdefault((r["task"], r["threads"]), {}).setdefault(r["who"], []).append(r)
    place = {t.id: k for k, t in enumerate(suites.tasks())}
    for (task, threads), who in sorted(groups.items(), key=lambda g: (g[0][1], place.get(g[0][0], len(place)))):
        if "libgnn" not in who:
            continue
        ours = summary(who["libgnn"])
        peers = {p: summary(rows) for p, rows in who.items() if p != "libgnn"}
        suite, name = task.split("/", 1)
        target = targets.get(suite, {}).get(name, {})
        used = who["libgnn"][-1]["precision_used"]
        if not peers:
            yield dict(task=task, threads=threads, ours=ours, peer="-", theirs=None, target=None, met=None, used=used)
        best = min(peers, key=lambda p: peers[p]["median"]) if peers else None
        for p, theirs in peers.items():
            goal = target.get(p, target.get("best") if p == best else None)
            met = theirs["median"] >= goal * ours["median"] if goal is not None else ours["median"] <= 1e3 * target["seconds"] if "seconds" in target else None
            yield dict(task=task, threads=threads, ours=ours, peer=p, theirs=theirs, ratio=theirs["median"] / ours["median"], ratio_min=theirs["min"] / ours["min"],
                       target=goal if goal is not None else f"{target['seconds']} s" if "seconds" in target else None, met=met, used=used,
                       variant=" ".join(v for v in who[p][-1]["variant"] if v in ("--compile", "csr", "edge_index")).replace("--", "+"))


def print_table(rows):
    head = ["task", "threads", "ours ms", "min", "first", "MB", "precision", "peer", "variant", "ms", "min", "MB", "ratio", "of min", "target", ""]
    table = [head]
    ms = lambda x: f"{x:.3f}" if x < 100 else f"{x:.0f}"
    for r in rows:
        o, t = r["ours"], r["theirs"]
        theirs = [ms(t["median"]), ms(t["min"]), f"{t['mb']:.0f}", f"{r['ratio']:.2f}", f"{r['ratio_min']:.2f}"] if t else [""] * 5
        verdict = {None: "", True: "ok", False: "below"}[r["met"]]
        table.append([r["task"], str(r["threads"]), ms(o["median"]), ms(o["min"]), "" if o["first"] is None else ms(o["first"]), f"{o['mb']:.0f}", r["used"], r["peer"], r.get("variant", "")] + theirs +
                     ["" if r["target"] is None else str(r["target"]), verdict])
    width = [max(len(line[c]) for line in table) for c in range(len(head))]
    left = {0, 6, 7, 8, 15}
    for line in table:
        print("  ".join(f"{cell:<{w}}" if c in left else f"{cell:>{w}}" for c, (cell, w) in enumerate(zip(line, width))).rstrip())


def main():
    o = options()
    log = Log(o)
    with open(os.path.join(HERE, "targets.json")) as f:
        targets = json.load(f)
    chosen = wanted(o)
    if not chosen:
        sys.exit("no task is left")
    if not o.show:
        say(f"{processor()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; results go to {os.path.relpath(log.path)}")
        comparison, start = Comparison(o, log), time.monotonic()
        for threads in map(int, o.threads.split(",")):
            for task in chosen:
                comparison.task(task, threads)
        say(f"{time.monotonic() - start:.0f} s")
    ids, threads = {t.id for t in chosen}, set(map(int, o.threads.split(",")))
    print_table(compare_rows([r for r in log.rows if r["task"] in ids and r["threads"] in threads], targets))


if __name__ == "__main__":
    main()
