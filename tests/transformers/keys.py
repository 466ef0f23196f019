"""Changes and drops every key of every architecture's config, one at a time and in pairs, and says what the library makes of it.

    OMP_NUM_THREADS=1 python tests/transformers/keys.py LIBRARY FOLDER [--write TABLE.jsonl.gz | --add TABLE.jsonl.gz]
                                                               [--seconds N] [--heads] [--tables] [NAME...]

LIBRARY: libgnn.so (meson setup -Ddefault_library=shared); FOLDER: where checkpoints are made. A line for each change that is neither
"equal" (the values are those of transformers within 1e-5 of the largest) nor "refused" (an error that names the key), then a table of
counts. --add puts the checkpoints NAME... in place of those of these names in a table, or after its last one. With --heads no key is changed:
every class of transformers with logits of an architecture, with tied and untied embeddings. With --tables no key is changed, and the file has
the tables of positions that the package otherwise makes, with drawn values in 16 bits and in 32. "lax": transformers refuses what the library takes. Exit 1 if a
change is silent.

The table is what tests/test_keys.c runs: weights follow from the names of arrays (`number` below), so that it holds none. Lines of JSON:
["checkpoint", name, {file: content}, {file: {array: shape}}, inputs, step], a shape of fp16 as {"float16": shape}; then for each change of a file
["=", file, change] (the values are those of the line above that has some), ["~", file, change, scale, [values]] (others), ["!", file,
change, word] (refused by a message with this word); a change is an object of keys and values, a list of keys that are dropped, null: no
such file, or an object with one key: "whole" (the file's content), "part" (it has this part of its bytes).
"""
import copy
import ctypes as C
import gzip
import json
import os
import shutil
import sys
import time

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

from make import ALL, EAGER, LABELS, build, in_double, texts_of, T

T.logging.disable_progress_bar()
T.logging.set_verbosity(50)
PAIRS = [("sliding_window", "use_sliding_window"), ("use_sliding_window", "max_window_layers"), ("sliding_window", "layer_types"),
         ("tie_word_embeddings", "architectures"), ("hidden_size", "head_dim"), ("num_attention_heads", "num_key_value_heads"),
         ("rope_theta", "rope_parameters"), ("n_embd", "n_head"), ("position_buckets", "max_relative_positions"),
         ("relative_attention", "pos_att_type"), ("num_kv_heads", "new_decoder_architecture"), ("bias", "alibi"),
         ("feed_forward_proj", "is_gated_act"), ("tie_word_embeddings", "scale_decoder_outputs"), ("layer_types", "num_hidden_layers"),
         ("multi_query", "num_kv_heads"), ("multi_query", "new_decoder_architecture"), ("parallel_attn", "new_decoder_architecture"),
         ("rotary_pct", "rope_parameters"), ("use_parallel_residual", "attention_bias"), ("rotary_dim", "n_head"),
         ("attention_types", "num_layers"), ("attention_layers", "window_size"), ("scale_embedding", "d_model"),
         ("encoder_layers", "decoder_layers"), ("encoder_attention_heads", "decoder_attention_heads"),
         ("activation_function", "encoder_ffn_dim"), ("static_position_embeddings", "max_position_embeddings"),
         ("d_kv", "num_heads"), ("dense_act_fn", "is_gated_act"), ("relative_attention_num_buckets", "relative_attention_max_distance"),
         ("embedding_size", "hidden_size"), ("num_hidden_groups", "inner_group_num"), ("type_vocab_size", "use_task_id"),
         ("use_task_id", "task_type_vocab_size"), ("pad_token_id", "max_position_embeddings"), ("attention_window", "num_hidden_layers"),
         ("sep_token_id", "attention_window"), ("global_attn_every_n_layers", "local_attention"), ("classifier_pooling", "architectures"),
         ("do_layer_norm_before", "word_embed_proj_dim"), ("embedding_multiplier", "logits_scaling"), ("query_pre_attn_scalar", "head_dim"),
         ("attn_logit_softcapping", "final_logit_softcapping"), ("qk_layernorm", "partial_rotary_factor"),
         ("no_rope_layers", "no_rope_layer_interval"), ("mlp_bias", "attention_bias"), ("image_size", "patch_size"),
         ("scale_attn_weights", "scale_attn_by_inverse_layer_idx"), ("norm_rel_ebd", "share_att_key")]

# Objects of rotary positions, whichever key they come by; architectures that rotate whole heads
# ignore a part, or fail by it.
LINEAR, DYNAMIC = ({"rope_type": kind, "factor": 2.0, "rope_theta": 100.0} for kind in ("linear", "dynamic"))
PART = {"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.5}
PLACED = {"full_attention": LINEAR, "sliding_attention": {"rope_type": "default", "rope_theta": 30.0}}
ROPES = [{"rope_scaling": LINEAR, "rope_parameters": {"rope_type": "default", "rope_theta": 50.0}}, {"rope_scaling": {}, "rope_parameters": LINEAR},
         {"rope_scaling": {"type": "linear", "factor": 2.0}, "rope_parameters": None, "rope_theta": 50.0}, {"rope_parameters": DYNAMIC},
         {"rope_scaling": {"factor": 2.0, "rope_theta": 50.0}, "rope_parameters": None}, {"rope_parameters": PART}, {"rope_parameters": {**PART, **LINEAR}},
         {"rope_parameters": None, "rope_theta": 50.0, "partial_rotary_factor": 0.5}, {"rope_parameters": PLACED},
         {"rope_parameters": PLACED, "rope_scaling": {"rope_type": "linear", "factor": 3.0}}, {"rope_parameters": {**PLACED, "rope_theta": 7.0}}]
# DeBERTa's kinds of scores, which count where there are no distances too.
KINDS = [{"relative_attention": given, "pos_att_type": kinds} for given in (True, False)
         for kinds in (["c2p"], ["p2c"], "c2p|p2c", "C2P", [], None, ["c2p", "c2p"], ["c2p", "p2c", "p2p"], "c2p|p2p", ["x"], "")]


def number(name, shape):
    """The weights of an array: splitmix64 of its name's FNV-1a hash and the index, in 12 bits, as test_keys.c has it."""
    h = 14695981039346656037
    for c in name.encode():
        h = (h ^ c) * 1099511628211 % 2**64
    n = int(np.prod(shape))
    with np.errstate(over="ignore"):
        z = np.uint64(h) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    x = ((z >> np.uint64(52)).astype(np.float64) - 2048) / 4096
    gain = len(shape) == 1 and name.endswith("weight")
    return (1 + x / 2 if gain else x / (2 if len(shape) > 1 else 4)).reshape(shape).astype(np.float32)


class Drawn:
    """Ids as always; numbers of images by `number`."""

    def __init__(self):
        self.integers = np.random.default_rng(11).integers

    def standard_normal(self, shape):
        return number("pixels", shape)


def rewrite(net, folder, tables=None):
    """Weights by `number`; what is no weight goes, transformers makes it itself, but tables of positions of a given type."""
    path = os.path.join(folder, "model.safetensors")
    made = {n for n, p in net.named_parameters() if not p.requires_grad} | {n for n, _ in net.named_buffers() if not n.endswith("correction_bias")}
    made |= {f"{n}.weight" for n, m in net.named_modules() if "Sinusoidal" in type(m).__name__}
    made |= {n.replace("decoder.bias", "bias") for n, _ in net.named_parameters() if n.endswith("decoder.bias")}  # the same, or unused
    arrays = {n: number(n, a.shape) for n, a in load_file(path).items() if n not in made and np.issubdtype(a.dtype, np.floating)}
    if tables:
        arrays |= {n: number(n, a.shape).astype(tables) for n, a in net.state_dict().items() if n.endswith("embed_positions.weight")}
    save_file(arrays, path, metadata={"format": "pt"})
    return {n: {"float16": list(a.shape)} if a.dtype == np.float16 else list(a.shape) for n, a in arrays.items()}


class Tensor(C.Structure):
    _fields_ = [("data", C.c_void_p), ("rows", C.c_int64), ("cols", C.c_int64), ("stride", C.c_int64)]


class Sequences(C.Structure):
    _fields_ = [("count", C.c_int64), ("lengths", C.c_void_p), ("ids", C.c_void_p), ("types", C.c_void_p), ("decoder_lengths", C.c_void_p),
                ("decoder_ids", C.c_void_p), ("pixels", C.c_void_p), ("features", C.c_void_p),
                ("height", C.c_int64), ("width", C.c_int64)]


class Library:
    def __init__(self, path):
        self.g, self.step, self.values_now = C.CDLL(path), b"", None
        self.g.gnn_error_message.restype = C.c_char_p
        for name in ("gnn_pretrained_model", "gnn_pretrained_batch_inputs"):
            getattr(self.g, name).restype = C.c_void_p
        for name in ("gnn_model_find", "gnn_model_width"):
            getattr(self.g, name).restype = C.c_int64
        self.context = C.c_void_p()
        assert self.g.gnn_context_new(C.byref(self.context), None) == 0, self.message()

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
                          at.get("decoder_lengths"), at.get("decoder_ids"), None, None)
            if "pixels" in a:
                flat = Tensor(at["pixels"], s.count, arrays["pixels"][0].size, arrays["pixels"][0].size)
                s.pixels = C.addressof(flat)
                s.height, s.width = arrays["pixels"].shape[-2:]
            if g.gnn_pretrained_batch_new(C.byref(batch), p, C.byref(s)) != 0:
                return self.message()
            model = C.c_void_p(g.gnn_pretrained_model(p))
            if rows is None:
                return None
            if g.gnn_model_find(model, b"logits") < 0 and rows["hidden"] is None:
                return "no logits"
            self.step = step = b"logits" if g.gnn_model_find(model, b"logits") >= 0 and rows["logits"] is not None else b"hidden"
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


TABLES = ("marian", "pegasus", "roformer")  # types whose files may hold positions by sines
GIVEN = {"is_causal": False, "quantization_config": {"quant_method": "fp8"}, "nosuch_key": 1, "is_decoder": True, "add_cross_attention": True}


def changes(config, defaults):
    """(what, key, change): keys of the file, and those of the class that the file leaves out. A change is keys and values, or dropped keys."""
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
            yield "change", key, {key: new}
        if key in config:
            yield "drop", key, [key]
    layers = config.get("num_hidden_layers")
    if layers and "layer_types" not in config:  # a key of relatives
        yield "change", "layer_types", {"layer_types": [("full_attention", "sliding_attention")[k % 2] for k in range(layers)]}
    if "relative_attention_max_distance" in config:  # within the exact buckets
        yield "change", "relative_attention_max_distance", {"relative_attention_max_distance": config["relative_attention_num_buckets"] // 4}
    if "relative_attention_num_buckets" in defaults:  # twice the rows
        yield "change", "relative_attention_num_buckets", {"relative_attention_num_buckets": 2 * defaults["relative_attention_num_buckets"]}
    for change in (ROPES if "rope_parameters" in config else []) + (KINDS if "pos_att_type" in defaults else []):
        yield "change", "+".join(change), change
    for a, b in PAIRS:
        if all(key in config or key in defaults for key in (a, b)):
            yield "pair", f"{a}+{b}", {key: others(key, config.get(key, defaults.get(key)))[0] for key in (a, b)}


def changed(config, change):
    if isinstance(change, list):
        return {k: v for k, v in config.items() if k not in change}
    return {**config, **change}


def theirs(cls, folder, case):
    config = type(case["config"]).from_pretrained(folder)  # some types have the class of another one
    net = in_double(getattr(T, cls).from_pretrained(folder, config=config, dtype=torch.float32, **EAGER))
    a, logits, hidden = texts_of(net, case, Drawn())
    return {n: None if v is None else np.asarray(v, np.float64).reshape(-1, v.shape[-1]) for n, v in (("logits", logits), ("hidden", hidden))}


def verdict(library, cls, folder, case, a, key):
    try:
        torch.set_default_dtype(torch.float32)
        want = theirs(cls, folder, case)
        bad = all(v is None for v in want.values()) or any(v is not None and not np.isfinite(v).all() for v in want.values())
        reason = "no values"
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
    library.values_now = values
    gap = np.abs(out - values).max() / max(np.abs(values).max(), 1e-30)
    return ("equal", "") if gap <= 1e-5 else ("silent", f"{gap:.2g}")


def sampled(values):
    """Some of the values, and the largest of all."""
    flat = np.asarray(values).ravel()
    return float(f"{np.abs(flat).max():.7g}"), [float(f"{flat[k * 7919 % flat.size]:.7g}") for k in range(1, 7)]


def lines_of_others(path, names):
    """The lines of a table that are not of these checkpoints."""
    kept, keeps = b"", True
    for line in gzip.open(path):
        if line.startswith(b'["checkpoint",'):
            keeps = json.loads(line)[1] not in names
        kept += line if keeps else b""
    return kept


class Table:
    def __init__(self, path, before=b""):
        self.file = gzip.GzipFile(path, "wb", mtime=0) if path else None
        self.last = None
        if self.file:
            self.file.write(before)

    def line(self, *parts):
        if self.file:
            self.file.write(json.dumps(parts, separators=(",", ":")).encode() + b"\n")

    def checkpoint(self, *parts):
        self.last = None
        self.line("checkpoint", *parts)

    def change(self, result, file, change, why, values):
        if result == "equal":
            scale, some = sampled(values)
            same = self.last and np.abs(np.array(some) - self.last[1]).max() <= 1e-7 * scale
            self.line(*(("=", file, change) if same else ("~", file, change, scale, some)))
            self.last = self.last if same else (scale, some)
        elif result == "refused":
            why = why.split(": ", 1)[-1]  # without the folder
            words = [f'"{k}"' for k in change or []] + [k.split(".")[0] for k in change or []] + [file, os.path.basename(file), "module", "array", "config.json"]
            self.line("!", file, change, next((k for k in words if k in why), ""))


HEADS = ("MASKED_LM", "CAUSAL_LM", "QUESTION_ANSWERING", "TOKEN_CLASSIFICATION", "SEQUENCE_CLASSIFICATION", "PRETRAINING", "NEXT_SENTENCE_PREDICTION",
         "SEQ_TO_SEQ_CAUSAL_LM")


def heads_of(case):
    """The case with each head; heads with logits of tokens with tied and with untied embeddings."""
    from transformers.models.auto import modeling_auto as auto
    names = {"PRETRAINING": "MODEL_FOR_PRETRAINING_MAPPING_NAMES"}
    seen = set()
    for head in HEADS:
        cls = getattr(auto, names.get(head, f"MODEL_FOR_{head}_MAPPING_NAMES"), {}).get(case["config"].model_type)
        if not isinstance(cls, str) or cls in seen or not hasattr(T, cls):
            continue
        seen.add(cls)
        for tied in (True, False) if "LM" in head or head == "PRETRAINING" else (None,):
            config = copy.deepcopy(case["config"])
            for key, value in LABELS.items():
                if "CLASSIFICATION" in head:
                    setattr(config, key, value)
            if "QUESTION" in head:
                config.num_labels = 2
            if head == "PRETRAINING":
                config.num_labels = 2
            if tied is not None:
                config.tie_word_embeddings = tied
            if getattr(config, "pad_token_id", None) is None and "SEQUENCE" in head:
                config.pad_token_id = 0
            yield {**case, "name": f"{case['name']}.{cls}" + ("" if tied is None else ".tied" if tied else ".untied"), "cls": cls, "config": config}


def sweep(case, root, library, table, base_only=False, tables=None):
    """Counts of verdicts, and a line for each that is not as it should be."""
    folder = os.path.join(root, "keys_" + case["name"])
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(7)
    net = build(folder, case["cls"], copy.deepcopy(case["config"]))
    shapes = rewrite(net, folder, tables)
    torch.set_default_dtype(torch.float64)
    net = in_double(getattr(T, case["cls"]).from_pretrained(folder, **EAGER))
    a, logits, hidden = texts_of(net, case, Drawn())
    torch.set_default_dtype(torch.float32)
    path = os.path.join(folder, "config.json")
    base = json.load(open(path))
    base = {k: v for k, v in base.items() if k not in ("transformers_version", "dtype")}
    defaults = {k: v for k, v in type(case["config"])().to_dict().items() if k not in ("id2label", "label2id", "layer_types")}
    count = dict(equal=0, refused=0, lax=0, unnamed=0, silent=0)
    for what, key, change in [("base", "", {})] + ([] if base_only else list(changes(base, defaults))):
        json.dump(changed(base, change), open(path, "w"))
        result, why = verdict(library, case["cls"], folder, case, a, key)
        count[result] += 1
        if what == "base" and result != "equal" and library.values_now is None:
            sys.exit(f"{case['name']}: {result}: {why}")
        if what == "base" and (not base_only or result == "equal"):
            inputs = {k: np.asarray(v).ravel().tolist() if k != "pixels" else list(v.shape) for k, v in a.items()}
            inputs["rows"] = len(library.values_now)
            table.checkpoint(case["name"], {"config.json": base}, {"model.safetensors": shapes}, inputs, library.step.decode())
        if not base_only or result == "equal":
            table.change(result, "config.json", change, why, library.values_now)
        if result in ("silent", "unnamed", "lax") or (what == "base" and result != "equal"):
            print(result.upper() if what != "base" else "BASE", case["name"], what, json.dumps(change)[:120], "|", why[:200], flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    return base["model_type"], count


def main():
    args, given = sys.argv[1:], {"--write": None, "--add": None, "--seconds": "inf"}
    heads, tables = "--heads" in args, "--tables" in args
    args = [a for a in args if a not in ("--heads", "--tables")]
    for name in given:
        if name in args:
            k = args.index(name)
            given[name], args = args[k + 1], args[:k] + args[k + 2:]
    library, root, only = Library(args[0]), args[1], args[2:]
    table, sums, kinds, start = Table(given["--write"] or given["--add"], lines_of_others(given["--add"], only) if given["--add"] else b""), {}, set(), time.monotonic()
    first = {}  # a checkpoint of each type before others of the same
    for case in ALL:
        first.setdefault(case["config"].model_type, case["name"])
    for case in sorted(ALL, key=lambda c: c["name"] not in first.values()):
        if only and case["name"] not in only or time.monotonic() - start > float(given["--seconds"]):
            continue
        if heads:
            for headed in heads_of(case) if first[case["config"].model_type] == case["name"] else ():
                try:
                    kind, count = sweep(headed, root, library, table, True)
                except Exception as e:
                    print("BUILD", headed["name"], type(e).__name__, str(e)[:150], flush=True)
                    continue
                kinds.add(kind)
                sums = {k: sums.get(k, 0) + n for k, n in count.items()}
            continue
        if tables and case["config"].model_type not in TABLES:
            continue
        for width in ("float16", "float32") if tables else (None,):
            kind, count = sweep({**case, "name": f"{case['name']}.tables.{width}"} if width else case, root, library, table, tables, width)
            kinds.add(kind)
            sums = {k: sums.get(k, 0) + n for k, n in count.items()}
            print(case["name"], count, flush=True)
    if table.file:
        table.file.close()
    print("all", sums, len(kinds), "types")
    sys.exit(sums["silent"] > 0)


if __name__ == "__main__":
    main()
