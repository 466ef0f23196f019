#!/usr/bin/env python3
"""Tokenizers of libgnn beside those of the Python packages tokenizers and sentencepiece: the same ids, places and texts, and words per second.

    python3 -m venv somewhere && somewhere/bin/pip install tokenizers sentencepiece numpy
    somewhere/bin/python tools/compare_tokenizers.py build/libgnn.so ../shared/data [WORK FOLDER] [--only NAME,NAME] [--show N]

Vocabularies are BERT's and llama2.c's from the data folder, and ones that are trained here on the corpora and kept in the work folder. Corpora: UD-EWT dev and
test, Multi30k in both languages, Shakespeare, and hard cases. Exits 1 if anything differs."""
import argparse
import ctypes
import gzip
import json
import os
import random
import sys
import tempfile
import time
import unicodedata

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
import numpy as np  # noqa: E402
import sentencepiece  # noqa: E402
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers  # noqa: E402
from tokenizers.implementations import BertWordPieceTokenizer  # noqa: E402

# ---- libgnn ----

class Texts(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int64), ("at", ctypes.POINTER(ctypes.c_char_p)), ("bytes", ctypes.POINTER(ctypes.c_int64))]

class Encoding(ctypes.Structure):
    _fields_ = [("special", ctypes.c_int), ("places", ctypes.c_int), ("max_length", ctypes.c_int64)]

class Tokens(ctypes.Structure):
    _fields_ = [("sentences", ctypes.c_int64), ("rows", ctypes.c_int64), ("lengths", ctypes.POINTER(ctypes.c_int64)),
                ("ids", ctypes.POINTER(ctypes.c_int32)), ("types", ctypes.POINTER(ctypes.c_int32)), ("positions", ctypes.POINTER(ctypes.c_int32)),
                ("begin", ctypes.POINTER(ctypes.c_int64)), ("end", ctypes.POINTER(ctypes.c_int64))]

ON, OFF = 1, 2
lib = None

def array(pointer, n):
    return np.ctypeslib.as_array(pointer, (n,)).copy() if n else np.zeros(0, np.int64)

class Learning(ctypes.Structure):
    _fields_ = [("size", ctypes.c_int64), ("min_count", ctypes.c_int64), ("special", ctypes.POINTER(ctypes.c_char_p)), ("n_special", ctypes.c_int64)]

class Ours:
    def __init__(self, path):
        self.t = ctypes.c_void_p()
        if lib.gnn_tokenizer_open(ctypes.byref(self.t), os.fsencode(path)) != 0:
            raise RuntimeError(lib.gnn_error_message().decode())

    @staticmethod
    def texts(list_of_bytes):
        n = len(list_of_bytes)
        return Texts(n, (ctypes.c_char_p * max(n, 1))(*list_of_bytes), (ctypes.c_int64 * max(n, 1))(*map(len, list_of_bytes)))

    def encode(self, first, second=None, special=True, places=False, max_length=0):
        tokens = ctypes.POINTER(Tokens)()
        how = Encoding(ON if special else OFF, ON if places else OFF, max_length)
        a, b = self.texts(first), self.texts(second) if second else None
        start = time.perf_counter()
        rc = lib.gnn_tokenizer_encode(self.t, ctypes.byref(a), ctypes.byref(b) if b else None, ctypes.byref(how), ctypes.byref(tokens))
        self.seconds = time.perf_counter() - start
        if rc != 0:
            raise RuntimeError(lib.gnn_error_message().decode())
        t = tokens.contents
        ends = np.cumsum(array(t.lengths, t.sentences)).astype(int)
        ids, types = array(t.ids, t.rows), array(t.types, t.rows)
        spans = np.stack([array(t.begin, t.rows), array(t.end, t.rows)], 1) if places else None
        starts = np.concatenate([[0], ends[:-1]]) if len(ends) else []
        lib.gnn_tokens_free(tokens)
        return [(ids[s:e].tolist(), types[s:e].tolist(), spans[s:e].tolist() if places else None) for s, e in zip(starts, ends)]

    def decode(self, ids, special=True):
        text, n = ctypes.c_void_p(), ctypes.c_int64()
        if lib.gnn_tokenizer_decode(self.t, ctypes.c_int64(len(ids)), (ctypes.c_int32 * max(len(ids), 1))(*ids), ON if special else OFF, ctypes.byref(text), ctypes.byref(n)):
            raise RuntimeError(lib.gnn_error_message().decode())
        out = ctypes.string_at(text, n.value).decode()
        lib.gnn_free(text)
        return out

    def stream(self, ids, special=True):
        d, piece, n, out = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int64(), []
        lib.gnn_decoder_new(ctypes.byref(d), self.t, ON if special else OFF)
        for i in ids:
            lib.gnn_decoder_push(d, i, ctypes.byref(piece), ctypes.byref(n))
            out.append(ctypes.string_at(piece, n.value).decode())  # every part is UTF-8
        lib.gnn_decoder_finish(d, ctypes.byref(piece), ctypes.byref(n))
        out.append(ctypes.string_at(piece, n.value).decode())
        lib.gnn_decoder_free(d)
        return "".join(out)

# ---- theirs ----

class Rust:
    def __init__(self, tokenizer):
        self.t = tokenizer

    def encode(self, first, second=None, special=True, max_length=0):
        self.t.no_truncation()
        if max_length:
            self.t.enable_truncation(max_length)
        batch = list(zip(first, second)) if second else first
        start = time.perf_counter()
        encoded = self.t.encode_batch(batch, add_special_tokens=special)
        self.seconds = time.perf_counter() - start
        return [(e.ids, e.type_ids, e.offsets) for e in encoded]

    def decode(self, ids, special=True):
        return self.t.decode(ids, skip_special_tokens=not special)

class Piece:
    def __init__(self, path):
        self.t = sentencepiece.SentencePieceProcessor(model_file=path)

    def encode(self, first, second=None, special=True, max_length=0):
        start = time.perf_counter()
        ids = self.t.encode(first, num_threads=1)
        self.seconds = time.perf_counter() - start
        return [(i, None, None) for i in ids]

    def decode(self, ids, special=True):
        return self.t.decode(ids)

# ---- corpora ----

HARD = ["", " ", "   ", "\t\n\r\n \u00a0\u3000", "a", "A", "Hello, world!", "  leading and trailing  ", "two  blanks   three", "line\nline\r\nline\n\n\nend\n",
        "tab\tand\x0bvt\x0cff\x1fus\x7fdel", "nul\x00nul", "don't I'll we've you're he'd I'm it's DON'T I'LL 'S 'ſ 'Re", "'s 't 'x ''s", "1 22 333 4444 55555 1,234.56 ½ Ⅷ ٣٤ 12a34b",
        "naïve café Ångström e\u0301 o\u0308\u0323 \u0323o\u0308 ﬁ ﬂ Ǆ ŉ ẞß İIıi ΑΣ ὈΔΥΣΣΕΎΣ", "😀 👍🏽 👩‍👩‍👧‍👦 🇩🇪🇫🇷 ❤️ 🏳️‍🌈", "日本語の文章。中文字符，测试！한국어 문장 ㍿ ｶﾞ", "שלום עולם مرحبا بالعالم \u200fRTL\u200e \u202eabc\u202c",
        "हिन्दी में पाठ ไทย ภาษา தமிழ்", "zero\u200bwidth\u200dj\ufeffbom\u00adsoft\u2060", "…—–‘’“”«»¿¡†‡•€£¥©®™°±×÷", "http://example.com/a?b=c&d=e#f user@mail.org C++ C# ~/.x `code` <b>tag</b>",
        "[CLS] text [SEP] [MASK] [UNK] [mask] <s> </s> <unk> <pad> <mask> <|endoftext|> a<mask>b  <mask>  c", "x" * 300, "ab" * 200 + " " + "supercalifragilistic" * 10, "\ud7a3\uac00 \u1112\u1161\u11ab",
        "\U0001d400\U0001d7ff \U00020000\U0002a6df \U0010fffd \ufffd \ufffe", "a\u0300\u0301\u0302\u0303b", "\u2581lower one eighth\u2581\u2581block \u2581", "_under__score_ #hash##tag ##ing", "\u0130stanbul \u1e9e \u03a3\u03c3\u03c2",
        "\u2028line sep\u2029para\u0085nel", "()[]{}<>!@#$%^&*-_=+|\\;:'\",./?", "A B  C   D    E\n\n  F \n G", "foo.bar(baz)[0] == {\"k\": -1.5e-10}; // comment", "\u0e33\u0eb3 \uff21\uff22\uff11\uff12 \u3392", "ﷺ ﷽"]
BROKEN = [b"\xff", b"a\xc3", b"\xe2\x82", b"\xe2\x82x", b"\xf0\x9f\x98", b"\xf0\x9f\x98 \xf0\x9f", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf5\x80\x80\x80", b"ok \x80\x81 ok", b"\xe0\x80\xaf\xf4\x90\x80\x80", b"caf\xe9 latin"]

def lines_of(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rb") as f:
        return f.read().decode().split("\n")

def random_texts(n=3000, seed=5):
    draw, out = random.Random(seed), []
    pools = [list(map(chr, range(32, 127))), list(map(chr, range(0xa0, 0x250))), list(map(chr, range(0x300, 0x370))), list(map(chr, range(0x370, 0x600))),
             list(" \t\n\r\u00a0'"), list("0123456789"), list("sStTlLrReEvVmMdD'"), list(map(chr, range(0x900, 0xa00))), list(map(chr, range(0x1100, 0x1200))),
             list(map(chr, range(0xac00, 0xac80))), list(map(chr, range(0x2000, 0x2100))), list(map(chr, range(0x3040, 0x3100))), list(map(chr, range(0x4e00, 0x4e80))),
             list(map(chr, range(0x1f300, 0x1f700))), list(map(chr, range(0xff00, 0xffef)))]
    # BERT's tables in the other library end with Unicode 8: characters whose category is younger would differ.
    old = unicodedata.ucd_3_2_0.category
    pools = [[c for c in pool if ord(c) >= 0x1f000 or (old(c) != "Cn" and old(c) == unicodedata.category(c))] for pool in pools]
    for _ in range(n):
        out.append("".join(draw.choice(draw.choice(pools)) for _ in range(draw.randint(0, 40))))
    return out

def corpora(data):
    sets = {}
    for part in ("dev", "test"):
        lines = lines_of(f"{data}/ud-ewt/en_ewt-ud-{part}.conllu")
        sets[f"ewt-{part}"] = [line[9:] for line in lines if line.startswith("# text = ")]
    for lang in ("en", "de"):
        sets[f"multi30k-{lang}"] = [x for part in ("train", "val", "test_2016_flickr") for x in lines_of(f"{data}/multi30k/{part}.{lang}.gz")]
    sets["shakespeare"] = lines_of(f"{data}/shakespeare/input.txt")
    sets["whole"] = ["\n".join(sets["shakespeare"][:4000]), " ".join(sets["multi30k-de"][:2000])]
    sets["hard"] = HARD
    sets["random"] = random_texts()
    sets["broken"] = BROKEN
    return sets

# ---- vocabularies ----

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")

def train_rust(path, model, trainer, texts, pre=None, norm=None, decoder=None, post=None):
    t = Tokenizer(model)
    if norm:
        t.normalizer = norm
    if pre:
        t.pre_tokenizer = pre
    t.train_from_iterator(texts, trainer)
    if decoder:
        t.decoder = decoder
    if post:
        t.post_processor = post(t)
    t.save(path)

def make_vocabularies(folder, data, sets):
    """name -> (file of ours, maker of theirs)"""
    texts = sets["multi30k-en"][:15000] + sets["multi30k-de"][:15000] + sets["shakespeare"][:20000] + [t for t in HARD[:20] if "\0" not in t]
    out = {}

    def rust(name, **how):
        path = f"{folder}/{name}.json"
        if not os.path.exists(path):
            train_rust(path, texts=texts, **how)
        out[name] = (path, lambda: Rust(Tokenizer.from_file(path)))

    vocab = f"{data}/bert-vocab/vocab.txt"
    out["bert-uncased"] = (vocab, lambda: Rust(BertWordPieceTokenizer(vocab, lowercase=True)._tokenizer))
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

    def bert_post(t):
        return processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                             special_tokens=[("[CLS]", t.token_to_id("[CLS]")), ("[SEP]", t.token_to_id("[SEP]"))])
    rust("bert-cased", model=models.WordPiece(unk_token="[UNK]"), trainer=trainers.WordPieceTrainer(vocab_size=6000, special_tokens=special, show_progress=False),
         norm=normalizers.BertNormalizer(lowercase=False), pre=pre_tokenizers.BertPreTokenizer(), decoder=decoders.WordPiece(), post=bert_post)
    cased = f"{folder}/cased-vocab.txt"
    if not os.path.exists(cased):
        v = Tokenizer.from_file(out["bert-cased"][0]).get_vocab()
        with open(cased, "w") as f:
            f.write("\n".join(sorted(v, key=v.get)) + "\n")
    out["bert-cased.txt"] = (cased, lambda: Rust(BertWordPieceTokenizer(cased, lowercase=False)._tokenizer))

    def bytes_bpe(name, pre, norm=None, post=None, special=("<|endoftext|>",), **more):
        rust(name, model=models.BPE(**more), norm=norm, pre=pre, decoder=decoders.ByteLevel(), post=post,
             trainer=trainers.BpeTrainer(vocab_size=6000, special_tokens=list(special), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    byte = pre_tokenizers.ByteLevel

    def split(regex):
        return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(regex), "isolated"), byte(add_prefix_space=False, use_regex=False)])
    bytes_bpe("gpt2", byte(add_prefix_space=False), post=lambda t: processors.ByteLevel(trim_offsets=False))
    bytes_bpe("roberta", byte(add_prefix_space=False), special=("<s>", "<pad>", "</s>", "<unk>", "<mask>"),
              post=lambda t: processors.RobertaProcessing(("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>")), True, False))
    bytes_bpe("prefixed", byte(add_prefix_space=True), post=lambda t: processors.ByteLevel(trim_offsets=True))
    bytes_bpe("llama3", split(LLAMA3), ignore_merges=True, special=("<|begin_of_text|>",),
              post=lambda t: processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A <|begin_of_text|>:1 $B:1", special_tokens=[("<|begin_of_text|>", 0)])]))
    bytes_bpe("qwen2", split(QWEN2), norm=normalizers.NFC())
    bytes_bpe("starcoder", pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte(add_prefix_space=False)]))
    # merges.txt beside vocab.json
    for name in ("gpt2", "roberta"):
        sub = f"{folder}/{name}-files"
        if not os.path.exists(sub):
            os.makedirs(sub)
            Tokenizer.from_file(out[name][0]).model.save(sub)
        with open(out[name][0]) as f:
            whole = json.load(f)
        for token in whole["added_tokens"]:
            token["lstrip"] = token["content"] == "<mask>"  # as transformers has it
        out[f"{name}-merges.txt"] = (f"{sub}/merges.txt", lambda text=json.dumps(whole): Rust(Tokenizer.from_str(text)))
    # BPE of characters with a suffix, as CLIP's, and with a prefix
    rust("suffix", model=models.BPE(unk_token="<unk>", end_of_word_suffix="</w>", fuse_unk=True), pre=pre_tokenizers.Whitespace(), decoder=decoders.BPEDecoder(suffix="</w>"),
         norm=normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()]),
         trainer=trainers.BpeTrainer(vocab_size=4000, special_tokens=["<unk>"], end_of_word_suffix="</w>", limit_alphabet=100, show_progress=False))
    rust("prefix", model=models.BPE(unk_token="<unk>", continuing_subword_prefix="@@"), pre=pre_tokenizers.BertPreTokenizer(), norm=normalizers.NFKC(),
         trainer=trainers.BpeTrainer(vocab_size=4000, special_tokens=["<unk>"], continuing_subword_prefix="@@", limit_alphabet=100, show_progress=False))
    # Unigram
    meta = pre_tokenizers.Metaspace
    rust("unigram", model=models.Unigram(), norm=normalizers.NFKC(), pre=meta(), decoder=decoders.Metaspace(),
         trainer=trainers.UnigramTrainer(vocab_size=5000, special_tokens=["<unk>", "</s>"], unk_token="<unk>", show_progress=False))
    # words and characters
    rust("words", model=models.WordLevel(unk_token="<unk>"), pre=pre_tokenizers.WhitespaceSplit(), norm=normalizers.NFKD(),
         trainer=trainers.WordLevelTrainer(vocab_size=5000, special_tokens=["<unk>"], show_progress=False))
    rust("words-punctuation", model=models.WordLevel(unk_token="<unk>"), pre=pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()]),
         trainer=trainers.WordLevelTrainer(vocab_size=5000, special_tokens=["<unk>"], show_progress=False))
    rust("characters", model=models.WordLevel(unk_token="<unk>"), pre=pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated"), decoder=decoders.Fuse(),
         trainer=trainers.WordLevelTrainer(vocab_size=500, special_tokens=["<unk>"], show_progress=False))

    # SentencePiece
    corpus = f"{folder}/corpus.txt"
    with open(corpus, "w") as f:
        f.write("\n".join(x.replace("\n", " ") for x in texts if "\x00" not in x))

    def piece(name, **how):
        path = f"{folder}/{name}.model"
        if not os.path.exists(path):
            sentencepiece.SentencePieceTrainer.train(input=corpus, model_prefix=f"{folder}/{name}", minloglevel=2, **how)
        out[f"sp-{name}"] = (path, lambda: Piece(path))
        return path
    unigram = piece("t5", model_type="unigram", vocab_size=5000, eos_id=1, unk_id=2, bos_id=-1, pad_id=0)
    piece("unigram-bytes", model_type="unigram", vocab_size=5000, byte_fallback=True, normalization_rule_name="nmt_nfkc_cf", user_defined_symbols=["<sep>", "don't", "e e"])
    llama = piece("llama2", model_type="bpe", vocab_size=5000, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True, allow_whitespace_only_pieces=True)
    piece("bpe", model_type="bpe", vocab_size=4000, user_defined_symbols=["<sep>", "the man"])
    piece("char", model_type="char", vocab_size=120)
    piece("word", model_type="word", vocab_size=4000)
    # The same two as tokenizer.json in the way of transformers' converter.
    proto = sentencepiece.SentencePieceProcessor(model_file=unigram)
    convert_unigram(f"{folder}/t5.json", proto, unigram)
    out["t5-json"] = (f"{folder}/t5.json", lambda: Rust(Tokenizer.from_file(f"{folder}/t5.json")))
    for style in ("legacy", "new"):
        path = f"{folder}/llama2-{style}.json"
        convert_llama(path, sentencepiece.SentencePieceProcessor(model_file=llama), style)
        out[f"llama2-{style}-json"] = (path, lambda p=path: Rust(Tokenizer.from_file(p)))
    return out

def charsmap_of(path):
    """precompiled_charsmap of a .model: field 2 of field 3."""
    def fields(b):
        k = 0
        while k < len(b):
            def varint(k):
                v = s = 0
                while True:
                    v |= (b[k] & 127) << s
                    s, k = s + 7, k + 1
                    if b[k - 1] < 128:
                        return v, k
            tag, k = varint(k)
            if tag & 7 == 0:
                _, k = varint(k)
            elif tag & 7 == 2:
                n, k = varint(k)
                yield tag >> 3, b[k:k + n]
                k += n
            else:
                k += 4 if tag & 7 == 5 else 8
    with open(path, "rb") as f:
        for number, value in fields(f.read()):
            if number == 3:
                return dict(fields(value)).get(2, b"")
    return b""

def convert_unigram(path, proto, model):
    pieces = [(proto.id_to_piece(i), proto.get_score(i)) for i in range(proto.get_piece_size())]
    t = Tokenizer(models.Unigram(pieces, proto.unk_id()))
    t.normalizer = normalizers.Sequence([normalizers.Precompiled(charsmap_of(model)), normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    t.add_special_tokens(["<pad>", "</s>", "<unk>"])
    t.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    t.save(path)

def convert_llama(path, proto, style):
    vocab = {proto.id_to_piece(i): i for i in range(proto.get_piece_size())}
    scores = {proto.id_to_piece(i): proto.get_score(i) for i in range(proto.get_piece_size())}
    merges = []
    for piece in vocab:
        local = [(piece[:k], piece[k:], scores[piece]) for k in range(1, len(piece)) if piece[:k] in vocab and piece[k:] in vocab]
        merges += sorted(local, key=lambda x: (vocab[x[0]], vocab[x[1]]))
    merges = [(a, b) for a, b, _ in sorted(merges, key=lambda x: -x[2])]
    t = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if style == "legacy":
        t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    else:
        t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    t.add_special_tokens(["<unk>", "<s>", "</s>"])
    t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    t.save(path)

# ---- comparing ----

def to_bytes(text):
    return text if isinstance(text, bytes) else text.encode()

def to_text(text):
    return text.decode(errors="replace") if isinstance(text, bytes) else text

def byte_places(text, offsets):
    at = np.concatenate([[0], np.cumsum([len(c.encode()) for c in text])]).astype(int).tolist()
    return [[at[b], at[e]] for b, e in offsets]

def differences(ours, theirs, texts, show, check_places):
    """counts of texts whose ids, types, places, decoded texts or streams differ"""
    counts = dict(ids=0, types=0, places=0, text=0, stream=0)
    plain, raw = [to_text(t) for t in texts], [to_bytes(t) for t in texts]
    expected, got = theirs.encode(plain), ours.encode(raw, places=True)
    for k, (e, g) in enumerate(zip(expected, got)):
        if list(e[0]) != g[0]:
            counts["ids"] += 1
            if show > 0:
                show -= 1
                print(f"    {plain[k][:200]!r}\n      theirs {list(e[0])[:60]}\n      ours   {g[0][:60]}")
            continue
        if e[1] is not None and list(e[1]) != g[1]:
            counts["types"] += 1
        if check_places and e[2] is not None and not isinstance(texts[k], bytes):
            want = byte_places(plain[k], e[2])
            if want != g[2]:
                counts["places"] += 1
                if show > 0:
                    show -= 1
                    bad = [(i, a, b) for i, (a, b) in enumerate(zip(want, g[2])) if a != b][:5]
                    print(f"    places of {plain[k][:100]!r}: (token, theirs, ours) {bad}")
        if len(texts) > 5000 and k % 20:
            continue  # text is compared for some of the many
        for special in (True, False) if e[1] is not None else (True,):
            want, have = theirs.decode(list(e[0]), special), ours.decode(g[0], special)
            if want != have:
                counts["text"] += 1
                if show > 0:
                    show -= 1
                    print(f"    text of {plain[k][:100]!r}:\n      theirs {want[:200]!r}\n      ours   {have[:200]!r}")
            if ours.stream(g[0], special) != have:
                counts["stream"] += 1
    return counts

def pairs_differ(ours, theirs, texts):
    a, b = [to_text(t) for t in texts], [to_text(t) for t in reversed(texts)]
    bad = 0
    for most in (0, 5, 12, 30):
        for special in (True, False):
            for second in (b, None):
                want = theirs.encode(a, second, special, most)
                have = ours.encode([x.encode() for x in a], [x.encode() for x in second] if second else None, special, max_length=most)
                bad += sum(list(w[0]) != h[0] or list(w[1]) != h[1] for w, h in zip(want, have))
    theirs.encode([""])
    return bad

def random_ids_differ(ours, theirs, size, known):
    draw, bad = random.Random(3), 0
    for _ in range(500):
        ids = [i for i in (draw.randrange(size) for _ in range(12)) if known(i)]
        bad += theirs.decode(ids) != ours.decode(ids)
    return bad

def speed(ours, theirs, texts):
    raw, plain = [to_bytes(t) for t in texts], [to_text(t) for t in texts]
    words = sum(len(t.split()) for t in plain)
    best = [0.0, 0.0]
    for _ in range(2):
        ours.encode(raw)
        theirs.encode(plain)
        best = [max(best[0], words / ours.seconds), max(best[1], words / theirs.seconds)]
    return best

def learned_differ(texts, folder):
    """the same merges and numbers from the same texts?"""
    t, path = ctypes.c_void_p(), os.path.join(folder, "learned.json")
    theirs = Tokenizer(models.BPE())
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    how = trainers.BpeTrainer(vocab_size=4000, special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    theirs.train_from_iterator(texts, how)
    special = (ctypes.c_char_p * 1)(b"<|endoftext|>")
    if lib.gnn_tokenizer_learn(ctypes.byref(t), ctypes.byref(Ours.texts([to_bytes(x) for x in texts])), ctypes.byref(Learning(4000, 0, special, 1))):
        raise RuntimeError(lib.gnn_error_message().decode())
    if lib.gnn_tokenizer_save(t, os.fsencode(path)):
        raise RuntimeError(lib.gnn_error_message().decode())
    lib.gnn_tokenizer_free(t)
    with open(path) as f:
        ours = json.load(f)["model"]
    want = json.loads(theirs.to_str())["model"]
    merges = [m if isinstance(m, str) else " ".join(m) for m in want["merges"]]
    return (ours["vocab"] != want["vocab"]) + (ours["merges"] != merges)

def main():
    global lib
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("data")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--only")
    parser.add_argument("--show", type=int, default=0)
    args = parser.parse_args()
    lib = ctypes.CDLL(os.path.abspath(args.library))
    lib.gnn_error_message.restype = ctypes.c_char_p
    sets = corpora(args.data)
    folder = args.folder or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    vocabularies = make_vocabularies(folder, args.data, sets)
    names, faults = list(sets), 0
    print(f"{'vocabulary':22} {'texts':>7} {'ids':>4} {'types':>5} {'places':>6} {'text':>5} {'stream':>6} {'pairs':>5} {'decode':>6}   words/s ours     theirs  times")
    for name, (path, make) in vocabularies.items():
        if args.only and name not in args.only.split(","):
            continue
        ours, theirs = Ours(path), make()
        is_rust = isinstance(theirs, Rust)
        total, where = dict(ids=0, types=0, places=0, text=0, stream=0), {}
        for part in names:
            texts = sets[part][:2000] if part.startswith("multi30k") else sets[part]
            if not is_rust:
                texts = [t for t in texts if b"\0" not in to_bytes(t)]
            counts = differences(ours, theirs, texts, args.show, is_rust)
            for key, value in counts.items():
                total[key] += value
                if value:
                    where.setdefault(part, {})[key] = value
        pairs = pairs_differ(ours, theirs, sets["ewt-dev"][:60] + HARD) if is_rust else 0
        size = lib.gnn_tokenizer_size(ours.t)
        decode = random_ids_differ(ours, theirs, size, lambda i: theirs.t.id_to_token(i) is not None) if is_rust else 0
        mine, other = speed(ours, theirs, sets["multi30k-en"] + sets["multi30k-de"])
        faults += sum(total.values()) + pairs + decode
        n = sum(len(sets[p]) for p in names)
        print(f"{name:22} {n:7} {total['ids']:4} {total['types']:5} {total['places']:6} {total['text']:5} {total['stream']:6} {pairs:5} {decode:6} {mine:14,.0f} {other:10,.0f} {mine / other:6.2f}")
        if where:
            print("    " + json.dumps(where))
    if not args.only:
        learned = learned_differ(sets["multi30k-de"][:6000] + sets["shakespeare"][:6000], folder)
        print(f"learned merges: {'other ones' if learned else 'the same'}")
        faults += learned
    return faults > 0

if __name__ == "__main__":
    sys.exit(main())
