"""Folders whose parts come from several published ones: what the library makes of them beside
transformers.

    OMP_NUM_THREADS=1 python tests/transformers/crossed.py LIBRARY FOLDER configs|tokenizers [--seconds N] [--seed N]        transformers 5.24

configs: a config.json of tests/golden/published.jsonl.gz, one to three keys of which have values
that others have under these keys (published ones, and those of make.py). tokenizers: tokenizer.json
of one family of tokenizer_folders.py, the config, the class, the model type or a part of
tokenizer.json of another. A line for each that is silent; counts; exit 1 where one is silent.
"""
import collections
import copy
import gzip
import json
import os
import random
import shutil
import sys
import time

ALONE = ("model_type vocab_size architectures transformers_version dtype torch_dtype quantization_config auto_map id2label label2id _name_or_path num_labels").split()
LEFT_OUT = ("nosuch", "plbart", "roformer", "bert_nothing", "gpt2_nothing", "nllb_published")


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def values_of_keys(published):
    pool = {}
    for config in published:
        for key, value in config.items():
            if key not in ALONE and value not in pool.setdefault(key, []):
                pool[key].append(value)
    return pool


def configs(library, root, r, until):
    import keys
    import published
    lines = [json.loads(line) for line in gzip.open(published.TABLE)]
    files = {line[1]: {k: v for k, v in line[2]["config.json"].items() if k != "quantization_config"} for line in lines if line[0] == "checkpoint"}
    pool = values_of_keys(list(files.values()) + [json.loads(case["config"].to_json_string()) for case in keys.ALL])
    library, names = keys.Library(library), list(files)
    r.shuffle(names)
    for k in range(10 ** 6):
        name = names[k % len(names)]
        folder = fresh(os.path.join(root, "crossed"))
        case, a, _, _ = published.checkpoint(name, folder, files[name])
        known = [key for key in pool if key in files[name] or key in case["config"].to_dict()]
        for _ in range(14):
            change = {key: copy.deepcopy(r.choice(pool[key])) for key in r.sample(known if r.random() < .75 else list(pool), r.choice((1, 1, 2, 3)))}
            json.dump({**files[name], **change}, open(os.path.join(folder, "config.json"), "w"))
            result, why = keys.verdict(library, case["cls"], folder, case, a, "+".join(change))
            yield result, f"{name} {json.dumps(change)[:200]} | {why[:150]}"
            if time.monotonic() > until:
                return


def tokenizers(library, root, r, until):
    import tokenizer_folders as families
    families.load(library)
    files, out = {}, os.path.join(root, "crossed")
    for name in families.BARE:
        if name in LEFT_OUT or name.endswith("_saved"):
            continue
        try:
            families.saved(name)(fresh(out))
        except ValueError:  # of a type that this version does not read
            continue
        files[name] = {file: json.load(open(os.path.join(out, file), encoding="utf-8")) for file in os.listdir(out) if file.endswith(".json")}
    whole = [name for name in files if "tokenizer.json" in files[name]]
    while time.monotonic() < until:
        first, second, how = r.choice(whole), r.choice(list(files)), r.choice(("config", "class", "type", "part", "config and part"))
        root_of, config = copy.deepcopy(files[first]["tokenizer.json"]), copy.deepcopy(files[first].get("tokenizer_config.json", {}))
        other = files[second].get("tokenizer_config.json", {})
        kind = files[second if how == "type" else first]["config.json"]["model_type"]
        if "config" in how:
            config = copy.deepcopy(other)
        if how == "class":
            config["tokenizer_class"] = other.get("tokenizer_class", "PreTrainedTokenizerFast")
        if how == "type":
            config.pop("tokenizer_class", None)
        if "part" in how:
            third, part = r.choice(whole), r.choice(("normalizer", "pre_tokenizer", "decoder", "post_processor", "truncation"))
            root_of[part] = copy.deepcopy(files[third]["tokenizer.json"].get(part))
            how += f" {part} of {third}"
        fresh(out)
        for file, content in (("tokenizer.json", root_of), ("tokenizer_config.json", config), ("config.json", {"model_type": kind})):
            families.put(out, file, content)
        found = families.judge(out, "tokenizer.json")
        yield found.split(":")[0] if found.startswith(("equal", "refused", "lax")) else "silent", f"{first} {second} {how} | {found[:200]}"


def main():
    option = lambda name, otherwise: type(otherwise)(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else otherwise
    library, root, which = sys.argv[1:4]
    counts = collections.Counter()
    for result, why in {"configs": configs, "tokenizers": tokenizers}[which](library, root, random.Random(option("--seed", 1)), time.monotonic() + option("--seconds", 60.0)):
        counts[result] += 1
        if result not in ("equal", "refused", "lax"):
            print(result.upper(), why, flush=True)
    shutil.rmtree(os.path.join(root, "crossed"), ignore_errors=True)
    print(dict(counts))
    sys.exit(counts["silent"] > 0)


if __name__ == "__main__":
    main()
