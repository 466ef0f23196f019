"""Threads, forks, processes that multiprocessing starts, workers of a DataLoader, and memory over many
calls. What might hang runs in a process of its own, which is ended after two minutes."""
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import libgnn

EDGES = np.array([[0, 1, 2, 3, 3], [1, 2, 3, 0, 1]])
X = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
SANITIZED = pytest.mark.skipif("GNN_SANITIZED" in os.environ, reason="the address sanitizer keeps freed memory")


@pytest.fixture(autouse=True)
def deterministic():
    """Bits are compared, which dense products on a busy machine may change otherwise."""
    libgnn.set_deterministic(True)
    yield
    libgnn.set_deterministic(False)


def program(tmp_path, *parts):
    """Runs a program whose functions processes that are spawned find by its file."""
    path = tmp_path / "program.py"
    path.write_text("\n".join(map(textwrap.dedent, parts)))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    made = subprocess.run([sys.executable, "-W", "ignore", str(path)], capture_output=True, text=True, timeout=400, env=environment)
    assert made.returncode == 0, made.stderr
    return made.stdout.split()


HEAD = """
import multiprocessing, os, sys, threading, time
import numpy as np
import libgnn

def large():
    \"\"\"Work that is worth two threads.\"\"\"
    libgnn.set_seed(5)
    libgnn.set_deterministic(True)
    layer, rng = libgnn.TRANSFORMER(64, heads=4), np.random.default_rng(0)
    return layer(libgnn.Graph.complete(900), rng.standard_normal((900, 64)).astype(np.float32))

def child(want):
    assert np.array_equal(large(), want)

def joined(process):
    process.start()
    process.join(120)
    if process.is_alive():
        process.kill()
        sys.exit("the child hangs")
    assert process.exitcode == 0, process.exitcode
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_after_the_library_ran(method, tmp_path):
    program(tmp_path, HEAD, f"""
    if __name__ == "__main__":
        libgnn.set_threads(2)
        want = large()
        assert method != "fork" or len(os.listdir("/proc/self/task")) > 1
        for _ in range(3):
            joined(multiprocessing.get_context("{method}").Process(target=child, args=(want,)))
        assert np.array_equal(large(), want)
    """.replace('method !=', f'"{method}" !='))


def test_a_fork_while_threads_work(tmp_path):
    """Locks that another thread holds during the fork are not held in the child."""
    program(tmp_path, HEAD, """
    def work(model, data, layer, graph, x):
        while not over:
            model.fit(data, epochs=3)
            layer(graph, x)

    def use(model, data, layer, graph, x):
        assert model.predict(data).shape == (34, 2) and layer(graph, x).shape == (300, 4)

    over = False
    if __name__ == "__main__":
        data, model, layer = libgnn.Data.karate(), libgnn.Model([libgnn.GCN(34, 64), libgnn.GCN(64, 2)]), libgnn.GCN(8, 4)
        given = model, data, layer, libgnn.Graph.window([300], 20), np.ones((300, 8), np.float32)
        threads = [threading.Thread(target=work, args=given) for _ in range(3)]
        for t in threads:
            t.start()
        time.sleep(0.3)
        for _ in range(10):
            joined(multiprocessing.get_context("fork").Process(target=use, args=given))
        over = True
        for t in threads:
            t.join()
    """)


TORCH = """
import torch
torch.set_num_threads(2)
def theirs():
    x = torch.ones(800, 800)
    return float((x @ x).exp().sum() + x.sin().sum())
"""


@pytest.mark.parametrize("first", ["theirs()", "theirs(); large()", "large(); theirs()"])
@pytest.mark.parametrize("threads", [0, 2])
def test_a_fork_after_pytorch_ran(first, threads, tmp_path):
    """The threads that PyTorch's OpenMP has started are not in the child."""
    pytest.importorskip("torch")
    program(tmp_path, HEAD, TORCH, f"""
    def child_of_torch(threads):
        libgnn.set_threads(threads)
        large()

    if __name__ == "__main__":
        {first}
        joined(multiprocessing.get_context("fork").Process(target=child_of_torch, args=({threads},)))
        theirs(), large()
    """)


def test_an_import_after_the_fork(tmp_path):
    pytest.importorskip("torch")
    program(tmp_path, "import multiprocessing, sys", TORCH, """
    def child():
        import numpy as np
        import libgnn
        libgnn.TRANSFORMER(64, heads=4)(libgnn.Graph.complete(900), np.ones((900, 64), np.float32))

    if __name__ == "__main__":
        theirs()
        assert "libgnn" not in sys.modules
        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join(120)
        if process.is_alive():
            process.kill()
            sys.exit("the child hangs")
        assert process.exitcode == 0
    """)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_data_loader(method, tmp_path):
    """A data set whose items come from layers, and from a compiled module that has run before."""
    pytest.importorskip("torch_geometric")
    program(tmp_path, HEAD, TORCH, f"""
    import torch_geometric.nn as G
    EDGES = torch.randint(0, 900, (2, 20000), generator=torch.Generator().manual_seed(1))

    class Items(torch.utils.data.Dataset):
        def __init__(self, module, layer):
            self.module, self.layer = module, layer
        def __len__(self):
            return 6
        def __getitem__(self, k):
            x = torch.full((900, 16), 0.1 * k)
            graph = libgnn.Graph(EDGES, 900)
            with torch.no_grad():
                return self.module(x, EDGES), torch.from_numpy(self.layer(graph, x))

    if __name__ == "__main__":
        torch.manual_seed(0)
        module = libgnn.torch.compile(G.GCN(16, 32, 2, 8)).eval()
        items = Items(module, libgnn.GAT(16, 8))
        want = [items[k] for k in range(6)]
        loader = torch.utils.data.DataLoader(items, batch_size=None, num_workers=2, multiprocessing_context="{method}", timeout=120)
        for _ in range({1 if method == "spawn" else 2}):
            for made, right in zip(loader, want):
                assert all(torch.equal(a, b) for a, b in zip(made, right))
        theirs()
        assert torch.equal(items[3][0], want[3][0])
    """)


# ---- threads ----


def in_threads(work, count=8):
    """Runs work(k) in threads; the exceptions that they end with."""
    problems, threads = [], []

    def run(k):
        try:
            work(k)
        except BaseException as problem:  # noqa: B902 (shown by the test)
            problems.append(problem)
    for k in range(count):
        threads.append(threading.Thread(target=run, args=(k,), daemon=True))
        threads[-1].start()
    for t in threads:
        t.join(120)
        assert not t.is_alive()
    assert not problems, problems


def test_eight_threads_share_a_model_and_a_set(karate):
    """Trainings on one set at once, of two architectures; a model that others read while it trains."""
    def made(k):
        return libgnn.Model([(libgnn.GCN if k % 2 else libgnn.GAT)(34, 8), libgnn.GCN(8, 2)])

    def trained(k):
        net = made(k)
        net.fit(karate, epochs=15, lr=0.02)
        return net.predict(karate)
    shared, x = made(1), np.eye(34, dtype=np.float32)
    graph = libgnn.Graph(karate.edge_index, 34)

    def work(k):
        if k == 0:
            shared.fit(karate, epochs=30)
        for _ in range(3):
            assert trained(k).shape == (34, 2) and np.isfinite(shared.predict(karate)).all() and np.isfinite(shared.predict(graph, x)).all()
            assert 0 <= shared.evaluate(karate) <= 1
    in_threads(work)


def test_eight_threads_share_an_encoder(minilm):
    encoder, texts = libgnn.SentenceEncoder(minilm), ["A cat sits.", "Two dogs run over the green field.", ""]
    want = encoder.encode(texts)

    def work(k):
        own = libgnn.SentenceEncoder(minilm) if k % 4 == 0 else encoder
        for _ in range(5):
            assert np.array_equal(own.encode(texts), want)
            assert own.encode(texts, truncate_dim=32 + k).shape == (3, 32 + k)
            assert own.attention(texts[k % 2]).weights.ndim == 4
    in_threads(work)


def test_eight_threads_share_a_compiled_module():
    torch, G = pytest.importorskip("torch"), pytest.importorskip("torch_geometric.nn")
    torch.manual_seed(0)
    fast, x = libgnn.torch.compile(G.GCN(6, 8, 2, 3)), torch.from_numpy(np.tile(X, (5, 1)))
    edges = [torch.stack([torch.arange(40 + k) % 20, (torch.arange(40 + k) % 20 + 1 + torch.arange(40 + k) // 20 + k) % 20]) for k in range(8)]
    want = []
    for e in edges:
        given = x.clone().requires_grad_()
        y = fast(given, e)
        want.append((y.detach(), torch.autograd.grad(y.pow(2).sum(), given)[0]))

    def work(k):
        for _ in range(40):
            given = x.clone().requires_grad_()
            y = fast(given, edges[k])
            assert torch.equal(y.detach(), want[k][0]) and torch.equal(torch.autograd.grad(y.pow(2).sum(), given)[0], want[k][1])
    in_threads(work)


def test_nothing_is_closed_while_a_call_uses_it(karate):
    net, refused = libgnn.Model([libgnn.GCN(34, 16), libgnn.GCN(16, 2)]), []

    def after_epoch(state):
        for thing in (net, karate):
            with pytest.raises(BufferError, match="uses it"):
                thing.close()
        with pytest.raises(ValueError, match="callback"):
            net.fit(karate, epochs=1)
        refused.append(net.evaluate(karate))
    net.fit(karate, epochs=4, callback=after_epoch)
    assert len(refused) == 4
    net.close()
    layer, graph, x = libgnn.GAT(32, 32, heads=4), libgnn.Graph.complete(1500), np.ones((1500, 32), np.float32)
    layer(graph, x)
    over, ended = threading.Event(), []

    def work():
        while not over.is_set():
            try:
                layer(graph, x)
            except ValueError as closed:
                ended.append(str(closed))
                return
    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(20):
        try:
            graph.close()
        except BufferError:
            continue
        break  # between two calls
    over.set()
    thread.join()
    assert not ended or "closed" in ended[0]


# ---- memory ----


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def grows(once, before, count):
    for k in range(before):
        once(k)
    start = resident()
    for k in range(count):
        once(before + k)
    return resident() - start


@SANITIZED
def test_memory_of_objects_on_one_graph():
    """Layers and models that are made and dropped leave nothing in the graph and the set that they used."""
    graph, karate = libgnn.Graph(EDGES, 4), libgnn.Data.karate()

    def once(k):
        libgnn.GAT(6, 8)(graph, X)
        libgnn.Model([libgnn.GCN(6, 8)]).predict(graph, X)
        libgnn.Model([libgnn.GCN(34, 2)]).predict(karate)
    assert grows(once, 500, 4000) < 3 << 20


@SANITIZED
def test_memory_of_ten_thousand_compiled_calls():
    torch, G = pytest.importorskip("torch"), pytest.importorskip("torch_geometric.nn")
    fast = libgnn.torch.compile(G.GCN(6, 16, 2, 3))
    x, edges = torch.from_numpy(np.tile(X, (10, 1))), torch.randint(0, 40, (2, 160), generator=torch.Generator().manual_seed(1))

    def once(k):
        if k % 4:
            with torch.no_grad():
                fast(x, edges if k % 2 else edges[:, :100 + k % 40])
        else:
            fast(x, edges[:, :100 + k % 40]).sum().backward()
    assert grows(once, 1000, 10_000) < 8 << 20


@SANITIZED
def test_memory_of_compiled_modules():
    torch, G = pytest.importorskip("torch"), pytest.importorskip("torch_geometric.nn")
    x, edges = torch.from_numpy(X), torch.from_numpy(EDGES)
    assert grows(lambda k: libgnn.torch.compile(G.GCN(6, 16, 2, 3))(x, edges).sum().backward(), 6, 14) < 4 << 20


@SANITIZED
def test_memory_of_encoders(minilm):
    def once(k):
        encoder = libgnn.SentenceEncoder(minilm, keep_packed=bool(k % 2))
        encoder.encode(["A cat sits on the mat.", "x " * 50])
        encoder.attention("The keys to the old cabinet")
    assert grows(once, 6, 20) < 16 << 20
