"""Changes and drops every key of generation_config.json, and says what the library writes, as keys.py does.

    OMP_NUM_THREADS=1 python tests/transformers/generations.py LIBRARY FOLDER [--write TABLE.jsonl.gz]        transformers 5.24

Models of keys.py: one that goes on with texts, and an encoder-decoder, each once more in a folder without generation_config.json (_old),
where the same keys stand in config.json, and in folders whose config.json contradicts generation_config.json, which was chosen (_over), is
little (_little) or was made of the config (_made). Values are the tokens that generate() writes, LONGEST for each text, -1
after its end. What draws tokens is compared where only one may be drawn.
"""
import copy
import ctypes as C
import json
import os
import shutil
import sys

import numpy as np
import torch
import transformers as T

import keys
from make import ALL, build

LONGEST = 16
PROMPTS = [[5, 9, 7], [12, 3, 20], [30, 31, 8]]
CASES = {"gpt2_next": dict(bos_token_id=1, eos_token_id=2, max_new_tokens=10, pad_token_id=0),
         "bart": dict(bos_token_id=0, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=2, max_new_tokens=10, pad_token_id=1)}
MORE = [dict(num_beams=3), dict(num_beams=3, num_return_sequences=2), dict(num_beams=3, early_stopping=True), dict(num_beams=3, length_penalty=2.0),
        dict(num_beams=3, early_stopping="never"), dict(num_beams=3, no_repeat_ngram_size=2), dict(num_beams=2, repetition_penalty=1.5),
        dict(do_sample=True, top_k=1), dict(do_sample=True, top_k=1, temperature=0.5), dict(do_sample=True, top_p=1e-6), dict(do_sample=True, num_beams=2),
        dict(do_sample=True, min_p=0.9999), dict(do_sample=True, typical_p=0.5, top_k=1), dict(no_repeat_ngram_size=1), dict(no_repeat_ngram_size=2),
        dict(repetition_penalty=1.3), dict(repetition_penalty=0.8), dict(min_length=9), dict(min_new_tokens=6), dict(max_length=7, max_new_tokens=None),
        dict(max_length=7), dict(eos_token_id=[2, 5, 9]), dict(eos_token_id=None), dict(bad_words_ids=[[7], [5, 9]]), dict(suppress_tokens=[3, 7, 9]),
        dict(begin_suppress_tokens=[3, 7, 9]), dict(forced_bos_token_id=4), dict(forced_eos_token_id=3), dict(exponential_decay_length_penalty=[2, 1.5]),
        dict(sequence_bias=[[[7], 5.0]]), dict(guidance_scale=1.5), dict(encoder_repetition_penalty=1.5), dict(encoder_no_repeat_ngram_size=1),
        dict(stop_strings=["a"]), dict(penalty_alpha=0.6, top_k=4), dict(dola_layers="low"), dict(prompt_lookup_num_tokens=2), dict(renormalize_logits=True),
        dict(num_beams=3, no_repeat_ngram_size=2, renormalize_logits=True), dict(num_beams=4, suppress_tokens=[3, 5, 7], repetition_penalty=1.7, renormalize_logits=True),
        dict(num_beams=3, bad_words_ids=[[2], [7], [5, 9]]), dict(encoder_no_repeat_ngram_size=2), dict(num_beams=3, encoder_no_repeat_ngram_size=2, no_repeat_ngram_size=3),
        dict(temperature=0.0), dict(do_sample=True, temperature=0.0), dict(do_sample=True, min_p=1.0, top_k=9, top_p=0.9), dict(min_p=0.1), dict(typical_p=None, guidance_scale=None),
        dict(remove_invalid_values=True), dict(use_cache=False), dict(cache_implementation="static"), dict(num_beam_groups=2, num_beams=2),
        dict(diversity_penalty=0.5), dict(token_healing=True), dict(watermarking_config=dict(bias=2.0)), dict(low_memory=True), dict(nosuch=1)]

# Of a config.json without generation_config.json: settings as in facebook/bart-large-cnn and google-t5/t5-small.
OLD = [dict(num_beams=4, no_repeat_ngram_size=3, min_length=6, max_length=14, early_stopping=True, length_penalty=2.0, max_new_tokens=None),
       dict(task_specific_params=dict(summarization=dict(num_beams=4, no_repeat_ngram_size=1))), dict(force_bos_token_to_be_generated=True),
       dict(force_bos_token_to_be_generated=True, bos_token_id=None), dict(force_bos_token_to_be_generated=False, forced_bos_token_id=4)]


class Writer(C.Structure):
    _fields_ = [(n, C.c_void_p) for n in ("pretrained", "model", "ids", "positions", "state", "tokenizer")] + [("max_length", C.c_int64)]


class Written(C.Structure):
    _fields_ = [("count", C.c_int64), ("lengths", C.POINTER(C.c_int64)), ("ids", C.POINTER(C.c_int32)), ("scores", C.POINTER(C.c_double)),
                ("ended", C.POINTER(C.c_int)), ("texts", C.c_void_p), ("text_bytes", C.c_void_p)]


def ours(library, folder):
    g, p, written = library.g, C.c_void_p(), C.POINTER(Written)()
    if g.gnn_pretrained_open(C.byref(p), library.context, folder.encode()) != 0:
        return library.message()
    try:
        ids, lengths = np.array(PROMPTS, np.int32).ravel(), np.array([len(x) for x in PROMPTS], np.int64)
        s = keys.Sequences(len(PROMPTS), lengths.ctypes.data, ids.ctypes.data, None, None, None, None)
        writer = Writer(pretrained=p.value)
        if g.gnn_generate(C.byref(writer), library.context, C.byref(s), None, C.byref(written)) != 0:
            return library.message()
        w, at, out = written.contents, 0, np.full((written.contents.count, LONGEST), -1.0)
        for k in range(w.count):
            n = w.lengths[k]
            out[k, :min(n, LONGEST)] = w.ids[at:at + min(n, LONGEST)]
            at += n
        g.gnn_written_free(written)
        return out
    finally:
        g.gnn_pretrained_free(p)


def theirs(cls, folder):
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(3)
    net = getattr(T, cls).from_pretrained(folder, attn_implementation="eager").double().eval()
    rows = []
    for prompt in PROMPTS:
        ids = torch.tensor([prompt])
        out = net.generate(ids, attention_mask=torch.ones_like(ids))
        ends = net.generation_config.eos_token_id
        ends = ends if isinstance(ends, list) else [ends]
        for row in out[:, 1 if net.config.is_encoder_decoder else len(prompt):].tolist():
            end = next((k + 1 for k, x in enumerate(row) if x in ends), len(row))
            rows.append((row[:end] + [-1] * LONGEST)[:LONGEST])
    return np.array(rows, float)


def compare(library, table, name, cls, folder, file, base, changes):
    count, path = dict(equal=0, refused=0, lax=0, unnamed=0, silent=0), os.path.join(folder, file)
    for change in changes:
        if change is None:
            os.remove(path)
        else:
            json.dump(keys.changed(base, change), open(path, "w"))
        try:
            want, reason = theirs(cls, folder), ""
        except Exception as e:
            want, reason = None, str(e)
        got = ours(library, folder)
        if isinstance(got, str):
            named = any(k in got for k in change or [])
            result, why = "refused" if want is None or named else "unnamed", got
        elif want is None:
            result, why = "lax", reason
        else:
            result, why = ("equal", "") if got.shape == want.shape and (got == want).all() else ("silent", f"{got.tolist()} {want.tolist()}")
        count[result] += 1
        table.change(result, file, change, why, want)
        if result in ("silent", "unnamed", "lax"):
            print(result.upper(), name, json.dumps(change)[:100], "|", why[:330].replace("\n", " "), flush=True)
    print(name, count, flush=True)
    return count


def main():
    args, target = sys.argv[1:], None
    if "--write" in args:
        k = args.index("--write")
        target, args = args[k + 1], args[:k] + args[k + 2:]
    library, table, total = keys.Library(args[0]), keys.Table(target), {}
    defaults = {k: v for k, v in T.GenerationConfig().to_dict().items() if k not in ("transformers_version", "_from_model_config")}
    for case in ALL:
        if case["name"] not in CASES:
            continue
        folder = os.path.join(args[1], "generations_" + case["name"])
        shutil.rmtree(folder, ignore_errors=True)
        shapes = keys.rewrite(build(folder, case["cls"], copy.deepcopy(case["config"])), folder)
        torch.set_default_dtype(torch.float32)
        config = {k: v for k, v in json.load(open(os.path.join(folder, "config.json"))).items() if k not in ("transformers_version", "dtype")}
        settings = CASES[case["name"]]
        changes = [{}] + MORE + [[k] for k in settings] + [{k: v} for k in sorted(defaults) if k not in ("do_sample", "max_time")
                                                           for v in keys.others(k, settings.get(k, defaults[k]))]
        new = {"config.json": config, "generation_config.json": settings}
        old = {"config.json": {**config, **settings}}
        few = {k: settings[k] for k in ("eos_token_id", "max_new_tokens", "decoder_start_token_id") if k in settings}
        over = [(case["name"] + end, {"config.json": config, "generation_config.json": g}, "config.json", []) for end, g in
                (("_over", settings), ("_little", few), ("_made", {"_from_model_config": True, **settings}))]
        for name, files, file, more in ((case["name"], new, "generation_config.json", [None]), (case["name"] + "_old", old, "config.json", OLD), *over):
            for other in ("config.json", "generation_config.json"):
                path = os.path.join(folder, other)
                if other in files:
                    json.dump(files[other], open(path, "w"))
                elif os.path.exists(path):
                    os.remove(path)
            table.checkpoint(name, files, {"model.safetensors": shapes}, {"prompts": PROMPTS, "longest": LONGEST}, "logits")
            count = compare(library, table, name, case["cls"], folder, file, files[file], changes + more)
            total = {k: total.get(k, 0) + n for k, n in count.items()}
    if table.file:
        table.file.close()
    print("all", total)
    sys.exit(total["silent"] > 0)


if __name__ == "__main__":
    main()
