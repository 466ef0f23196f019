"""The package's stubs: a program of a user passes mypy --strict, wrong uses do not, and the stubs say what the package has."""
import inspect
import os
import re
import subprocess
import sys

import pytest

import libgnn

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(libgnn.__file__)
STUBS = ["__init__", "_library", "_objects", "graphs", "layers", "models", "pictures", "texts", "onnx/__init__", "torch/__init__"]
WRONG = """import libgnn
libgnn.GAT(8, "8")
libgnn.GAT(8, 8, headz=4)
libgnn.GAT(8, 8, heads="four")
libgnn.Model([libgnn.GAT])
libgnn.Model([libgnn.GCN(2, 2)]).fit(libgnn.Data.karate(), epoch=3)
libgnn.Model([libgnn.GCN(2, 2)]).evaluate(libgnn.Data.karate(), "all")
libgnn.Graph.window([5], width="wide")
libgnn.SentenceEncoder("folder").encode([1, 2])
libgnn.Generator("folder").generate("text", temperature="hot")
libgnn.nosuch
libgnn.Data.karate().num_nodes = 3
"""


def mypy(*arguments):
    pytest.importorskip("mypy")
    home = os.path.dirname(PACKAGE)  # mypy finds an installed package by itself, and refuses its folder
    environment = {**os.environ, **({} if "site-packages" in home else {"MYPYPATH": home})}
    return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-incremental", *arguments], capture_output=True, text=True, env=environment)


def test_a_program_passes_mypy():
    made = mypy(os.path.join(HERE, "typed_program.py"))
    assert made.returncode == 0, made.stdout


def test_wrong_uses_do_not(tmp_path):
    path = tmp_path / "wrong.py"
    path.write_text(WRONG)
    found = {int(line) for line in re.findall(r"wrong\.py:(\d+): error", mypy(str(path)).stdout)}
    assert found == set(range(2, WRONG.count("\n") + 1))


def test_the_program_runs():
    out = subprocess.run([sys.executable, os.path.join(HERE, "typed_program.py")], capture_output=True, text=True, check=True).stdout
    assert "(34, 2)" in out and "float32" in out


def names_in(stub):
    with open(os.path.join(PACKAGE, stub + ".pyi"), encoding="utf-8") as file:
        return file.read()


def test_keyword_arguments_are_those_of_the_library():
    """The members that the stubs name are the fields that the library knows, and the other way round."""
    from libgnn.models import SETTINGS
    text = names_in("_tables")
    named = {name: set(re.findall(r"^    (\w+): ", body, re.M)) for name, body in re.findall(r"class (\w+)\(TypedDict.*?\):\n((?:    .*\n)+)", text)}
    assert named["LayerSettings"] == set(libgnn.fields()) - {"preset", "in", "out"}
    assert named["TrainSettings"] == set(SETTINGS)
    assert set(re.findall(r"class (\w+)\(Layer\)", text)) == set(libgnn.presets())


def public_of(owner):
    return {name for name, value in vars(owner).items() if not name.startswith("_") and (callable(value) or isinstance(value, (property, classmethod, staticmethod)))}


@pytest.mark.parametrize("name", ["Graph", "Layer", "Data", "Model", "SentenceEncoder", "Generator", "Attention"])
def test_stubs_and_docstrings_of_classes(name):
    """Each public method has a stub with its arguments, and a docstring that names them."""
    cls = getattr(libgnn, name)
    stub = re.search(rf"^class {name}\(.*?(?=^class |\Z)", names_in(cls.__module__.rpartition(".")[2]), re.M | re.S).group(0)
    methods = set(re.findall(r"def ([a-z]\w*)\(", stub))
    assert methods == public_of(cls) - public_of(libgnn.Graph.__base__)  # close, which Handle has
    for method in methods:
        value = inspect.getattr_static(cls, method)
        function = value.fget if isinstance(value, property) else getattr(cls, method)
        assert function.__doc__, f"{name}.{method}"
        arguments = [p.name for p in inspect.signature(function).parameters.values() if p.name != "self" and p.kind is not p.VAR_KEYWORD]
        declared = " ".join(re.findall(rf"def {method}\((.*?)\) ->", stub, re.S))  # of all overloads
        assert [a for a in arguments if not re.search(rf"\b{a}\b", declared)] == [], f"{name}.{method}"
        if len(arguments) > 2:
            assert "Parameters\n" in function.__doc__ and all(re.search(rf"\b{a}\b", function.__doc__) for a in arguments), f"{name}.{method}"


def test_functions_have_stubs():
    for name in ("presets", "fields", "set_threads", "set_seed", "set_deterministic", "build_info"):
        assert re.search(rf"\b{name}\b", names_in("__init__")) and getattr(libgnn, name).__doc__
    assert {name for name in dir(libgnn) if not name.startswith("_")} - set(libgnn.presets()) <= set(re.findall(r"\w+", names_in("__init__")))
