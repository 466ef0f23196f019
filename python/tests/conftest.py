import os
import re

import pytest

import libgnn

DATA = os.environ.get("GNN_DATA", os.path.join(os.path.dirname(__file__), "..", "..", "..", "shared", "data"))


@pytest.fixture
def karate():
    return libgnn.Data.karate()


@pytest.fixture
def minilm():
    """The folder of all-MiniLM-L6-v2 (examples/fetch-minilm.sh)."""
    folder = os.environ.get("GNN_MINILM", os.path.expanduser("~/.cache/gnn/all-MiniLM-L6-v2"))
    if not os.path.exists(os.path.join(folder, "modules.json")):
        pytest.skip("all-MiniLM-L6-v2 is not here")
    return folder


# ---- packages that must be there: GNN_REQUIRE_PACKAGES="torch_geometric nbclient" ----

REQUIRED = os.environ.get("GNN_REQUIRE_PACKAGES", "").split()


def required(report):
    """A report of a test or file that was left out for lack of such a package counts as failed."""
    reason = report.longrepr[2] if report.skipped and isinstance(report.longrepr, tuple) else ""
    lacking = re.search(r"could not import '([^'.]+)", reason)
    if lacking and lacking[1] in REQUIRED:
        report.outcome, report.longrepr = "failed", f"{reason}, and GNN_REQUIRE_PACKAGES names it"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    required((yield).get_result())


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    required((yield).get_result())
