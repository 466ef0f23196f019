"""Sum over neighbours, A (n x n sparse) times X (n x f): PyTorch CSR (MKL), DGL's copy_u_sum, SciPy.

    python spmm.py --library torch|dgl|scipy --data rmat --width 128 [--threads 2]
"""
import os
from common import load, options, report, rss_mb, timed

o = options(library="torch", data="rmat", width=128)
os.environ["OMP_NUM_THREADS"] = str(o.threads)
import numpy as np

d = load(o.data)
n, m = len(d["y"]), len(d["src"])
x = np.random.default_rng(0).standard_normal((n, o.width), np.float32)
if o.library == "scipy":
    import scipy.sparse as sp
    a = sp.csr_matrix((np.ones(m, np.float32), (d["dst"], d["src"])), shape=(n, n))
    step = lambda: a @ x
else:
    import torch
    torch.set_num_threads(o.threads)
    src, dst, x = torch.from_numpy(d["src"]), torch.from_numpy(d["dst"]), torch.from_numpy(x)
    if o.library == "dgl":
        import dgl
        g = dgl.graph((src, dst), num_nodes=n).int()
        g.create_formats_()
        step = lambda: dgl.ops.copy_u_sum(g, x)
    else:
        a = torch.sparse_coo_tensor(torch.stack([dst, src]), torch.ones(m), (n, n)).to_sparse_csr()
        step = lambda: a @ x
before = rss_mb()
t = timed(step, o.repeat)
report(task="spmm", library=o.library, data=o.data, nodes=n, edges=m, width=o.width, threads=o.threads, before_mb=round(before, 1), gb_per_s=round(4 * o.width * m / t["median_ms"] / 1e6, 1), **t)
