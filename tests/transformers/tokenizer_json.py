"""Random files tokenizer.json, with every part and setting of the package tokenizers: the library's
ids next to those of the package.

    python tests/transformers/tokenizer_json.py LIBRARY [COUNT] [--seed N] [--show N] [--only WORD] [--write tests/golden/tokenizer_json.tsv]

A file is drawn from lists of normalizers, pre-tokenizers, models, post-processors, decoders, added tokens, truncation and padding. Ids, types, offsets and the text
of the ids must be equal, or the file is refused with a name. Prints counts of files that are equal, refused (by reason), lax (the package refuses), silent;
exit 1 where one is silent.
"""
import collections
import copy
import json
import os
import random
import sys
import tempfile

os.environ["RUST_BACKTRACE"] = "0"
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tokenizer_folders import SMALL, TEXTS, Ours, corpus, load, merges, pieces, wordpieces
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

MORE = ["Hello  World\tand\u3000more\u00a0", "ba\u0301r NA\u00cfVE\u0130\u0131\u00df \u1e9e", "a-b_c/d\\e 'f' \"g\"", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u1112\u1161\u11ab \ud55c\uae00", "x" * 130,
        "1a2b33 \u0661\u0662 \u2167 \u00b2", "the graph<new>is <new> a<new> the", "thegraph graphs the graph.", "\u200bzero\u200dwidth\ufeff\u00ad", "a\x00b\x01c\x7f\x85d\u2028e\u2029f",
        "<MASK> <mask><mask> <Mask>", "word\r\nword\n\n\nword", "\u2581the\u2581graph \u2581", "##ing ##s ing", "caf\u00e9s \ufb03 \u210c \u212b \u01c5"]
ALL = TEXTS[:34] + MORE

REGEX = [r"\s+", r"\w+|[^\w\s]+", r"\p{N}", r"[a-z]+", r" ?\p{L}+", r"'s|'t", r".", r"(?i:the)", r"\b", r"$", r"[^\S\n]+"]
STRINGS = [" ", "a", "the", "\u2581", "e\u0301", "''", "-", ""]


def pick(r, *values):
    return r.choice(values)


def flag(r):
    return r.random() < .5


def pattern(r):
    return {"Regex": r.choice(REGEX)} if flag(r) else {"String": r.choice(STRINGS)}


def some(r, json_object):
    """Leaves keys out now and then."""
    return {k: v for k, v in json_object.items() if k in ("type", "pattern", "content") or r.random() < .93}


def charsmap():
    model = pieces("unigram", normalization_rule_name="nmt_nfkc")
    from sentencepiece import sentencepiece_model_pb2 as pb
    t = pb.ModelProto()
    t.ParseFromString(model)
    return __import__("base64").b64encode(t.normalizer_spec.precompiled_charsmap).decode()


NORMALIZERS = [
    lambda r: {"type": "BertNormalizer", "clean_text": flag(r), "handle_chinese_chars": flag(r), "strip_accents": pick(r, None, True, False), "lowercase": flag(r)},
    lambda r: {"type": "Strip", "strip_left": flag(r), "strip_right": flag(r)}, lambda r: {"type": "StripAccents"}, lambda r: {"type": "NFC"}, lambda r: {"type": "NFD"},
    lambda r: {"type": "NFKC"}, lambda r: {"type": "NFKD"}, lambda r: {"type": "Lowercase"}, lambda r: {"type": "Nmt"}, lambda r: {"type": "Prepend", "prepend": pick(r, "\u2581", " ", "ab")},
    lambda r: {"type": "Replace", "pattern": pattern(r), "content": pick(r, "", " ", "\u2581", "xy", "\\1")}, lambda r: {"type": "ByteLevel"},
    lambda r: {"type": "NFKC"} if SMALL else {"type": "Precompiled", "precompiled_charsmap": charsmap()}]
BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
SPLITTERS = [
    lambda r: {"type": "BertPreTokenizer"}, lambda r: {"type": "ByteLevel", "add_prefix_space": flag(r), "trim_offsets": flag(r), "use_regex": flag(r)},
    lambda r: {"type": "CharDelimiterSplit", "delimiter": pick(r, " ", "e", "-")},
    lambda r: {"type": "Metaspace", "replacement": pick(r, "\u2581", "\u2581", "_"), "prepend_scheme": pick(r, "always", "first", "never"), "split": flag(r)},
    lambda r: {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": flag(r), "str_rep": "\u2581"},
    lambda r: {"type": "Whitespace"}, lambda r: {"type": "WhitespaceSplit"}, lambda r: {"type": "Punctuation", "behavior": r.choice(BEHAVIORS)},
    lambda r: {"type": "Digits", "individual_digits": flag(r)}, lambda r: {"type": "UnicodeScripts"}, lambda r: {"type": "FixedLength", "length": pick(r, 1, 3, 5)},
    lambda r: {"type": "Split", "pattern": pattern(r), "behavior": r.choice(BEHAVIORS), "invert": flag(r)}]
DECODERS = [
    lambda r: {"type": "BPEDecoder", "suffix": pick(r, "</w>", "e")}, lambda r: {"type": "ByteLevel", "add_prefix_space": flag(r), "trim_offsets": flag(r), "use_regex": flag(r)},
    lambda r: {"type": "WordPiece", "prefix": pick(r, "##", "##", "@@"), "cleanup": flag(r)},
    lambda r: {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": pick(r, "always", "first", "never"), "split": flag(r)},
    lambda r: {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": flag(r)}, lambda r: {"type": "Fuse"}, lambda r: {"type": "ByteFallback"},
    lambda r: {"type": "Replace", "pattern": {"String": pick(r, "\u2581", "e", " ")}, "content": pick(r, " ", "", "x")},
    lambda r: {"type": "Strip", "content": pick(r, " ", "a"), "start": pick(r, 0, 1, 2), "stop": pick(r, 0, 0, 1)}]


RARE = ("UnicodeScripts",)


def sequence(r, makers, key, most):
    n = r.randrange(most + 2) - 1
    if n < 0:
        return None
    steps = [r.choice(makers)(r) for _ in range(max(n, 1))]
    steps = [some(r, r.choice(makers)(r) if step["type"] in RARE and r.random() < .8 else step) for step in steps]
    return steps[0] if len(steps) == 1 and flag(r) else {"type": "Sequence", key: steps}


LLAMA_DECODER = {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
                                                  {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}


def bytewise(r):
    vocab, lines = merges(special=["<unk>", "<s>", "</s>", "<mask>"])
    return vocab, [tuple(m.split(" ")) for m in lines]


def trained(kind, **how):
    key = (kind, tuple(sorted((k, str(v)) for k, v in how.items())))
    if key not in TRAINED:
        t = Tokenizer(models.BPE(**{k: v for k, v in how.items() if k != "prepend"}))
        t.pre_tokenizer = pre_tokenizers.Metaspace() if how.get("prepend") else pre_tokenizers.Whitespace()
        t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=400 if SMALL else 500, special_tokens=["<unk>", "<s>", "</s>", "<mask>"] + ["<0x%02X>" % k for k in range(256)], show_progress=False,
                                                            **{k: v for k, v in how.items() if k in ("continuing_subword_prefix", "end_of_word_suffix")}))
        TRAINED[key] = json.loads(t.to_str())["model"]
    return copy.deepcopy(TRAINED[key])


TRAINED = {}


def model(r):
    kind = pick(r, "bytes", "bytes", "bpe", "bpe", "spbpe", "wordpiece", "wordpiece", "unigram", "unigram", "wordlevel")
    if kind == "bytes":
        vocab, pairs = bytewise(r)
        m = {"type": "BPE", "dropout": pick(r, *[None] * 20, 0.0, 0.1), "unk_token": pick(r, None, "<unk>"), "continuing_subword_prefix": pick(r, None, None, ""), "end_of_word_suffix": pick(r, None, None, ""),
             "fuse_unk": flag(r), "byte_fallback": r.random() < .2, "ignore_merges": flag(r), "vocab": vocab, "merges": [list(p) for p in pairs] if flag(r) else [" ".join(p) for p in pairs]}
    elif kind in ("bpe", "spbpe"):
        how = {"prepend": True} if kind == "spbpe" else r.choice([{}, {"continuing_subword_prefix": "##"}, {"end_of_word_suffix": "</w>"}, {"continuing_subword_prefix": "@@"}])
        m = {**trained("BPE", **how), "unk_token": pick(r, None, "<unk>", "<unk>"), "fuse_unk": flag(r), "byte_fallback": flag(r), "ignore_merges": flag(r)}
    elif kind == "wordpiece":
        prefix = pick(r, "##", "##", "@@", "")
        words = wordpieces(("<unk>", "<s>", "</s>", "<mask>", "[UNK]"))
        vocab = {}
        for w in words:
            vocab.setdefault(prefix + w[2:] if w.startswith("##") and len(w) > 2 and prefix else w, len(vocab))
        m = {"type": "WordPiece", "unk_token": pick(r, "[UNK]", "<unk>"), "continuing_subword_prefix": prefix, "max_input_chars_per_word": pick(r, 100, 100, 5, 200), "vocab": vocab}
    elif kind == "unigram":
        from sentencepiece import sentencepiece_model_pb2 as pb
        p = pb.ModelProto()
        p.ParseFromString(pieces("unigram", byte_fallback=True, unk_id=0, bos_id=1, eos_id=2) if flag(r) else pieces("unigram"))
        m = {"type": "Unigram", "unk_id": pick(r, *[0] * 12, None), "vocab": [[q.piece, q.score] for q in p.pieces], "byte_fallback": flag(r)}
        if flag(r):
            del m["byte_fallback"]
    else:
        words = sorted({w for line in corpus() for w in line.replace(".", " .").split()})
        m = {"type": "WordLevel", "vocab": {w: k for k, w in enumerate(["<unk>", "<s>", "</s>", "<mask>"] + words)}, "unk_token": "<unk>"}
    if m["type"] != "Unigram" and r.random() < .05:
        m.pop("type")
    return kind, m


def added(r, vocabulary):
    out, size = [], len(vocabulary)
    for content in ["<unk>", "<s>", "</s>", "<mask>"] + r.sample(["<new>", "graph", "The", "\u00e9", " x", "new line", "[MASK]", "Caf\u00e9", "ing", "\u2581the", "<extra_id_0>", "e\u0301", "\n", "\u3000"], r.randrange(5)):
        if content in vocabulary:
            key = vocabulary[content]
        elif content in ("<unk>", "<s>", "</s>", "<mask>") and flag(r):
            continue
        else:
            key, size = size, size + 1
        special = content.startswith("<") and r.random() < .8 or r.random() < .2
        token = {"id": key, "content": content, "single_word": r.random() < .3, "lstrip": r.random() < .3, "rstrip": r.random() < .3, "normalized": flag(r), "special": special}
        if content in ("<unk>", "<s>", "</s>"):
            token = {"id": key, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        out.append(token)
    return sorted(out, key=lambda t: t["id"])


def processor(r, ids):
    b, e = ("<s>", ids.get("<s>", 1)), ("</s>", ids.get("</s>", 2))
    options = [lambda: {"type": "BertProcessing", "sep": list(e), "cls": list(b)},
               lambda: {"type": "RobertaProcessing", "sep": list(e), "cls": list(b), "trim_offsets": flag(r), "add_prefix_space": flag(r)},
               lambda: {"type": "ByteLevel", "add_prefix_space": flag(r), "trim_offsets": flag(r), "use_regex": flag(r)}]

    def template():
        special = lambda t, kind=0: {"SpecialToken": {"id": t[0], "type_id": kind}}
        text = lambda name, kind=0: {"Sequence": {"id": name, "type_id": kind}}
        single = [special(b)] * r.randrange(3) + [text("A", pick(r, 0, 0, 1))] + [special(e, pick(r, 0, 2))] * r.randrange(2)
        pair = [special(b)] * r.randrange(2) + [text("A")] + [special(e)] * r.randrange(3) + [text("B", 1)] + [special(e, 1)] * r.randrange(2)
        if r.random() < .1:
            pair.reverse()
        return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": {t[0]: {"id": t[0], "ids": [t[1]], "tokens": [t[0]]} for t in (b, e)}}
    options.append(template)
    n = r.randrange(5)
    if n == 0:
        return None
    if n == 1:
        return {"type": "Sequence", "processors": [r.choice(options)() for _ in range(pick(r, 1, 1, 1, 2))]}
    return r.choice(options)()


def draw(seed):
    r = random.Random(seed)
    kind, m = model(r)
    vocabulary = {t[0]: k for k, t in enumerate(m["vocab"])} if isinstance(m["vocab"], list) else m["vocab"]
    tokens = added(r, vocabulary)
    ids = {**vocabulary, **{t["content"]: t["id"] for t in tokens}}
    normalizer = sequence(r, NORMALIZERS, "normalizers", 3)
    splitter, decoder = sequence(r, SPLITTERS, "pretokenizers", 3), sequence(r, DECODERS, "decoders", 4)
    if kind == "bytes" and r.random() < .8:
        splitter = {"type": "Sequence", "pretokenizers": [SPLITTERS[11](r), {"type": "ByteLevel", "add_prefix_space": flag(r), "trim_offsets": True, "use_regex": flag(r)}]} if flag(r) else SPLITTERS[1](r)
        decoder = DECODERS[1](r)
    elif r.random() < .6:
        decoder = {"bpe": {"type": "BPEDecoder", "suffix": "</w>"}, "wordpiece": {"type": "WordPiece", "prefix": m.get("continuing_subword_prefix", "##"), "cleanup": flag(r)}, "wordlevel": None}.get(
            kind, pick(r, DECODERS[3](r), LLAMA_DECODER))
        if kind in ("spbpe", "unigram"):
            splitter = SPLITTERS[3](r)
    truncation = pick(r, None, None, {"direction": pick(r, "Right", "Left"), "max_length": pick(r, 8, 64), "strategy": pick(r, *["LongestFirst"] * 20, "OnlyFirst", "OnlySecond"), "stride": pick(r, 0, 2)})
    padding = pick(r, None, None, {"strategy": pick(r, "BatchLongest", {"Fixed": 16}), "direction": pick(r, "Right", "Left"), "pad_to_multiple_of": pick(r, None, 8), "pad_id": 0, "pad_type_id": 0, "pad_token": "<unk>"})
    return {"version": "1.0", "truncation": truncation, "padding": padding, "added_tokens": tokens, "normalizer": normalizer, "pre_tokenizer": splitter, "post_processor": processor(r, ids),
            "decoder": decoder, "model": m}


# ---- comparing ----

def bytes_of(text, offsets):
    """Offsets in bytes; those behind the text are its end."""
    at = [0]
    for c in text:
        at.append(at[-1] + len(c.encode()))
    return [(at[min(b, len(text))], at[min(e, len(text))]) for b, e in offsets]


def theirs(root):
    t = Tokenizer.from_str(json.dumps(root))
    cut = root["truncation"]
    t.no_padding()
    t.no_truncation()
    rows = [t.encode(text) for text in ALL] + [t.encode(a, b) for a, b in zip(ALL[:14], ALL[20:34])]
    bare = [t.encode(text, add_special_tokens=False).ids for text in ALL]
    t.enable_truncation(9, direction=(cut or {}).get("direction", "Right").lower())
    short = [t.encode(text).ids for text in ALL[10:25]]
    said = [t.decode(row.ids, skip_special_tokens=skip) for row in rows[:len(ALL)] for skip in (False, True)]
    return [(e.ids, e.type_ids, e.offsets) for e in rows], bare, short, said


def difference(t, want):
    rows, bare, short, said = want
    got = t.encode(ALL, places=True) + t.encode(ALL[:14], ALL[20:34])
    for k, (a, b) in enumerate(zip(rows, got)):
        if list(a[0]) != list(b[0]):
            return f"ids of {(ALL + ALL)[k]!r} {a[0]} {b[0]}"
        if list(a[1]) != list(b[1]):
            return f"types of {(ALL + ALL)[k]!r} {a[1]} {b[1]}"
        if k < len(ALL) and bytes_of(ALL[k], a[2]) != list(b[2]):
            return f"offsets of {ALL[k]!r} {bytes_of(ALL[k], a[2])} {b[2]}"
    for text, a, b in zip(ALL, bare, t.encode(ALL, special=False)):
        if list(a) != list(b[0]):
            return f"ids alone of {text!r} {a} {b[0]}"
    for text, a, b in zip(ALL[10:25], short, t.encode(ALL[10:25], most=9)):
        if list(a) != list(b[0]):
            return f"cut ids of {text!r} {a} {b[0]}"
    for k, text in enumerate(said):
        mine = t.decode(rows[k // 2][0], k % 2 == 0)
        if mine != text:
            return f"text {rows[k // 2][0][:40]} {text!r} {mine!r}"
    return None


def judge(root, path):
    try:
        want = theirs(root)
    except BaseException as e:
        want = f"{type(e).__name__}: {e}"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(root, file, ensure_ascii=False)
    try:
        t = Ours(path)
        if isinstance(want, str):
            return "lax", want
        found = difference(t, want)
        return ("silent", found) if found else ("equal", "")
    except RuntimeError as e:
        return "refused", str(e)


def hashes(root):
    """Four digits per text: of ids, types, offsets and the text of the ids."""
    rows, _, _, said = theirs(root)
    out = ""
    for k, text in enumerate(ALL):
        value = 0
        places = [x for pair in bytes_of(text, rows[k][2]) for x in pair]
        for x in list(rows[k][0]) + list(rows[k][1]) + places + list(said[2 * k].encode()):
            value = (value * 31 + x + 1) % 65521
        out += f"{value:04x}"
    return out


def golden(path, count, scratch):
    """Files by their parts: lists of tokens stand once."""
    names, lines = {}, ["# Made by tests/transformers/tokenizer_json.py: T text; V tokens of a model; F its other keys, V, the other parts, a hash per text or \"refused\""]
    lines += ["T\t" + json.dumps(t) for t in ALL]
    inner = lambda tree: json.dumps(tree)[1:-1]
    for seed in range(count):
        root = draw(seed)
        kind, why = judge(root, scratch)
        if kind not in ("equal", "refused"):
            print(seed, kind, why[:200])
            continue
        tokens = inner({k: v for k, v in root["model"].items() if k in ("vocab", "merges")})
        if tokens not in names:
            names[tokens] = len(names)
            lines.append(f"V\t{tokens}")
        rest = {k: v for k, v in root.items() if k != "model" and v is not None}
        lines.append("F\t" + "\t".join([inner({k: v for k, v in root["model"].items() if k not in ("vocab", "merges")}), str(names[tokens]), inner(rest), hashes(root) if kind == "equal" else "refused"]))
    open(path, "w", encoding="utf-8").write("\n".join(lines) + "\n")


def smaller(root, path):
    """The file without parts that the difference does not need."""
    again = True
    while again:
        again = False
        for key in ("truncation", "padding", "post_processor", "decoder", "normalizer", "pre_tokenizer"):
            tries = [{**root, key: None}] if root[key] else []
            for inner in ("normalizers", "pretokenizers", "decoders", "processors"):
                steps = (root[key] or {}).get(inner) or []
                tries += [{**root, key: {**root[key], inner: steps[:k] + steps[k + 1:]}} for k in range(len(steps))]
            for new in tries:
                if judge(new, path)[0] == "silent":
                    root, again = new, True
                    break
        for k in range(len(root["added_tokens"])):
            new = {**root, "added_tokens": root["added_tokens"][:k] + root["added_tokens"][k + 1:]}
            if judge(new, path)[0] == "silent":
                root, again = new, True
                break
    return root


def main():
    a = sys.argv[1:]
    option = lambda name, default: int(a[a.index(name) + 1]) if name in a else default
    only = a[a.index("--only") + 1] if "--only" in a else None
    load(a[0])
    count, show = int(a[1]) if len(a) > 1 and a[1].isdigit() else 300, option("--show", 5)
    counts, reasons = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tokenizer.json")
        if "--write" in a:
            return golden(a[a.index("--write") + 1], count, path)
        for seed in range(option("--seed", 0), option("--seed", 0) + count):
            root = draw(seed)
            if only and only not in json.dumps({**root, "model": {**root["model"], "vocab": 0, "merges": 0}}):
                continue
            kind, why = judge(root, path)
            counts[kind] += 1
            if kind == "refused":
                reasons[why.split("tokenizer.json: ")[-1][:70]] += 1
            if kind == "silent" and show > 0:
                show -= 1
                root = smaller(root, path)
                parts = {k: v for k, v in root.items() if k not in ("model", "version") and v}
                print(f"SILENT {seed}: {judge(root, path)[1][:300]}\n    {json.dumps(parts)[:700]}\n    {json.dumps({k: v for k, v in root['model'].items() if k not in ('vocab', 'merges')})}", flush=True)
    print(dict(counts))
    for why, n in reasons.most_common(60):
        print(f"  {n:4} {why}")
    sys.exit(counts["silent"] > 0)


if __name__ == "__main__":
    main()
