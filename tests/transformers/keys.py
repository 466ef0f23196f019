"""Changes and drops every key of every architecture's config, one at a time and in pairs, and says what the library makes of it.

    python tests/transformers/keys.py LIBRARY FOLDER [--write tests/golden/keys.tsv] [NAME...]

LIBRARY: libgnn.so (meson setup -Ddefault_library=shared); FOLDER: where checkpoints are made. A line for each change that is neither
"equal" (the values are those of transformers within 1e-5 of the largest) nor "refused" (an error that names the key), then a table of
counts. "lax": transformers refuses what the library takes. Exit 1 if a change is silent.
"""
import copy
import ctypes as C
import json
import os
import shutil
import sys

import numpy as np
import torch

from make import ALL, LABELS, build, texts_of, T

T.logging.disable_progress_bar()
T.logging.set_verbosity(50)
PAIRS = [("sliding_window", "use_sliding_window"), ("use_sliding_window", "max_window_layers"), ("sliding_window", "layer_types"),
         ("tie_word_embeddings", "architectures"), ("hidden_size", "head_dim"), ("num_attention_heads", "num_key_value_heads"),
         ("rope_theta", "rope_parameters"), ("n_embd", "n_head"), ("position_buckets", "max_relative_positions"),
         ("relative_attention", "pos_att_type"), ("num_kv_heads", "new_decoder_architecture"), ("bias", "alibi"),
         ("feed_forward_proj", "is_gated_act"), ("tie_word_embeddings", "scale_decoder_outputs"), ("layer_types", "num_hidden_layers")]


class Tensor(C.Structure):
    _fields_ = [("data", C.c_void_p), ("rows", C.c_int64), ("cols", C.c_int64), ("stride", C.c_int64)]


class Sequences(C.Structure):
    _fields_ = [("count", C.c_int64), ("lengths", C.c_void_p), ("ids", C.c_void_p), ("types", C.c_void_p), ("decoder_lengths", C.c_void_p),
                ("decoder_ids", C.c_void_p), ("pixels", C.c_void_p)]


class Library:
    def __init__(self, path):
        self.g = C.CDLL(path)
        self.g.gnn_error_message.restype = C.c_char_p
        for name in ("gnn_pretrained_model", "gnn_pretrained_batch_inputs"):
            getattr(self.g, name).restype = C.c_void_p
        for name in ("gnn_model_find", "gnn_model_width"):
            getattr(self.g, name).restype = C.c_int64
        self.context = C.c_void_p()
        assert self.g.gnn_context_new_sized(C.byref(self.context), None, C.c_size_t(16)) == 0, self.message()

    def message(self):
        return (self.g.gnn_error_message() or b"").decode("utf-8", "replace")

    def values(self, folder, a, rows):
        """The logits, or else the last hidden states; a text is an error."""
        g, p, batch = self.g, C.c_void_p(), C.c_void_p()
        if g.gnn_pretrained_open(C.byref(p), self.context, folder.encode()) != 0:
            return self.message()
        try:
            arrays = {k: np.ascontiguousarray(v, np.int64 if "lengths" in k else np.float32 if k == "pixels" else np.int32) for k, v in a.items()}
            at = {k: v.ctypes.data for k, v in arrays.items()}
            s = Sequences(len(a["lengths"]) if "lengths" in a else len(a["pixels"]), at.get("lengths"), at.get("ids"), None,
                          at.get("decoder_lengths"), at.get("decoder_ids"), None)
            if "pixels" in a:
                flat = Tensor(at["pixels"], s.count, arrays["pixels"][0].size, arrays["pixels"][0].size)
                s.pixels = C.addressof(flat)
            if g.gnn_pretrained_batch_new(C.byref(batch), p, C.byref(s)) != 0:
                return self.message()
            model = C.c_void_p(g.gnn_pretrained_model(p))
            if rows is None:
                return None
            if g.gnn_model_find(model, b"logits") < 0 and rows["hidden"] is None:
                return "no logits"
            step = b"logits" if g.gnn_model_find(model, b"logits") >= 0 and rows["logits"] is not None else b"hidden"
            want = rows["logits" if step == b"logits" else "hidden"]
            width = g.gnn_model_width(model, C.c_int64(g.gnn_model_find(model, step)))
            if width != want.shape[1]:
                return f"width {width}, {want.shape[1]} expected by transformers"
            out = np.zeros(want.shape, np.float32)
            t = Tensor(out.ctypes.data, *out.shape, out.shape[1])
            if g.gnn_model_value(model, self.context, C.c_void_p(g.gnn_pretrained_batch_inputs(batch)), step, C.byref(t)) != 0:
                return self.message()
            return out, want
        finally:
            if batch:
                g.gnn_pretrained_batch_free(batch)
            g.gnn_pretrained_free(p)


def others(key, value):
    """Another value of the same kind."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1 if value < 4 else value // 2]
    if isinstance(value, float):
        return [value * 3 + 0.125]
    if isinstance(value, str):
        words = ("gelu", "relu", "silu", "gelu_new")
        return [("relu" if value != "relu" else "gelu") if value in words else
                {"mean": "cls", "cls": "mean", "gated-gelu": "relu", "relu": "gated-gelu", "default": "linear"}.get(value, value + "_other")]
    if isinstance(value, list) and value and isinstance(value[0], str):
        return [value[::-1] if value[::-1] != value else value[:-1] + ["sliding_attention" if value[0] != "sliding_attention" else "full_attention"]]
    if isinstance(value, list):
        return [value[::-1] if value[::-1] != value else value + value]
    return [3 if value is None else None]


GIVEN = {"is_causal": False, "quantization_config": {"quant_method": "fp8"}, "nosuch_key": 1, "is_decoder": True, "add_cross_attention": True}


def changes(config, defaults):
    """(what, key, config): keys of the file, and those of the class that the file leaves out."""
    for key in sorted(set(config) | set(defaults) | set(GIVEN)):
        if key in ("model_type", "transformers_version", "dtype"):
            continue
        value = config.get(key, defaults.get(key))
        news = [GIVEN[key]] if key in GIVEN and key not in config else others(key, value)
        if isinstance(value, dict) and key not in ("id2label", "label2id"):
            news = []
            for inner, v in value.items():
                for w in (others(inner, v) if not isinstance(v, dict) else [{**v, k: o} for k, x in v.items() for o in others(k, x)]):
                    news.append({**value, inner: w})
        for new in news:
            c = copy.deepcopy(config)
            c[key] = new
            yield "change", key, c
        if key in config:
            c = copy.deepcopy(config)
            del c[key]
            yield "drop", key, c
    for a, b in PAIRS:
        if a in config or b in config or (a in defaults and b in defaults):
            c = copy.deepcopy(config)
            for key in (a, b):
                c[key] = others(key, config.get(key, defaults.get(key)))[0]
            yield "pair", f"{a}+{b}", c


def theirs(cls, folder, case):
    net = getattr(T, cls).from_pretrained(folder, attn_implementation="eager").double().eval()
    a, logits, hidden = texts_of(net, case)
    return dict(logits=None if logits is None else np.asarray(logits, np.float64), hidden=None if hidden is None else np.asarray(hidden, np.float64))


def verdict(library, cls, folder, case, a, key):
    try:
        torch.set_default_dtype(torch.float32)
        want = theirs(cls, folder, case)
        bad = any(v is not None and not np.isfinite(v).all() for v in want.values())
    except Exception as e:
        want, bad = None, True
        reason = str(e)
    got = library.values(folder, a, None if bad else want)
    if isinstance(got, str):
        if got.startswith(("width", "no logits")):
            return "silent", got
        if bad:
            return "refused", got
        named = any(k.split(".")[0] in got for k in key.split("+")) or "array" in got or "rows" in got or "takes" in got or "field" in got or "layer" in got
        return ("refused" if named else "unnamed"), got
    if bad:
        return "lax", "transformers does not run it"
    out, values = got
    gap = np.abs(out - values).max() / max(np.abs(values).max(), 1e-30)
    return ("equal", "") if gap <= 1e-5 else ("silent", f"{gap:.2g}")


def main():
    args = sys.argv[1:]
    write = None
    if "--write" in args:
        k = args.index("--write")
        write, args = args[k + 1], args[:k] + args[k + 2:]
    library, root, only = Library(args[0]), args[1], args[2:]
    table = {}
    for case in ALL:
        if only and case["name"] not in only:
            continue
        torch.manual_seed(len(case["name"]) + 7)
        folder = os.path.join(root, "keys_" + case["name"])
        shutil.rmtree(folder, ignore_errors=True)
        torch.set_default_dtype(torch.float32)
        config = copy.deepcopy(case["config"])
        net = build(folder, case["cls"], config)
        torch.set_default_dtype(torch.float32)
        a, _, _ = texts_of(net, case)
        path = os.path.join(folder, "config.json")
        base = json.load(open(path))
        defaults = {k: v for k, v in type(config)().to_dict().items() if k not in ("id2label", "label2id", "layer_types")}
        count = dict(equal=0, refused=0, lax=0, unnamed=0, silent=0)
        for what, key, changed in [("base", "", base)] + list(changes(base, defaults)):
            json.dump(changed, open(path, "w"))
            result, why = verdict(library, case["cls"], folder, case, a, key)
            count[result] += 1
            if result in ("silent", "unnamed", "lax") or (what == "base" and result != "equal"):
                parts = [f"{k} = {json.dumps(changed.get(k))[:80]}" for k in key.split("+") if k] if what != "drop" else [key]
                print(result.upper() if what != "base" else "BASE", case["name"], what, ", ".join(parts), "|", why[:200], flush=True)
        table[case["name"]] = (base["model_type"], count)
        print(case["name"], count, flush=True)
        shutil.rmtree(folder, ignore_errors=True)
    if write:
        with open(write, "w") as f:
            f.write("checkpoint\tmodel_type\tequal\trefused\tlax\tunnamed\tsilent\n")
            for name, (kind, c) in sorted(table.items()):
                f.write("\t".join([name, kind] + [str(c[k]) for k in ("equal", "refused", "lax", "unnamed", "silent")]) + "\n")
    sys.exit(any(c["silent"] for _, c in table.values()))


main()
