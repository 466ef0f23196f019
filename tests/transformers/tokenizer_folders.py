"""Tokenizers of published folders: small ones made by the packages, in the form in which each family publishes its files, and what the library
makes of them beside transformers' AutoTokenizer.

    python tests/transformers/tokenizer_folders.py LIBRARY FOLDER [--write tests/golden/tokenizer_folders.tsv] [--show N] [NAME...]

LIBRARY: libgnn.so; FOLDER: where folders are made. For every family: ids of texts, of pairs, of texts cut to 12 tokens, and the text of the ids;
then every key of its JSON files changed and dropped, one at a time. A line per family with counts of changes that are equal, refused (an error
that names the key), lax (transformers refuses) and silent; exit 1 where a text differs or a change is silent.
"""
import copy
import ctypes as C
import json
import os
import shutil
import sys
import warnings

os.environ["TOKENIZERS_PARALLELISM"] = "false"
warnings.simplefilter("ignore")
import sentencepiece as spm
import transformers as T
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

T.logging.set_verbosity(50)
HERE = os.path.dirname(os.path.abspath(__file__))
WORDS = ("the a of and to in is it graph node edge layer model text word sentence token attention walks runs reads writes green blue red small large "
         "house river mountain city people time year day world school state family student group country problem hand part place case week company "
         "system program question work government number night point home water room mother area money story fact month lot right study book eye job "
         "business issue side kind head far black long little own other old big high different following public bad same able").split()
EXTRA = ["1234567890 12 345 6789", "caf\u00e9 na\u00efve \u00fcber stra\u00dfe", "\u4f60\u597d\u4e16\u754c \u65e5\u672c\u8a9e", "don't we'll I'm they've",
         "email@example.com http://x.org/a?b=c", "\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440", "HELLO World, (yes) [no] {maybe}!"]


def corpus():
    state, out = 12345, []
    for k in range(1500):
        line = []
        for _ in range(6 + k % 9):
            state = (1103515245 * state + 12345) % 2 ** 31
            line.append(WORDS[state // 65536 % len(WORDS)])
        out.append((" ".join(line)).capitalize() + (". " + EXTRA[k % len(EXTRA)] if k % 5 == 0 else "."))
    return out


TEXTS = ["The graph is a model of the world.", "a small house", "", " ", "  two  blanks  ", "tab\tand\nnew line", "don't we'll I'M", "caf\u00e9 NA\u00cfVE \u00fcber",
         "\u4f60\u597d\u4e16\u754c and \u65e5\u672c", "1234567 12.5%", "unknownwordxyzzy \u2603", "(a) [b] {c}!?", "\uff21\uff22\uff23 \u00bd \u2460 \ufb01sh", "e\u0301 a\u0308",
         "\U0001f600 smile \U0001f468\u200d\U0001f469\u200d\U0001f467", "\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440", "``quoted'' text", "a  b   c    d", "The\u00a0non\u3000break", "word " * 30,
         "<s> a </s> b", "the [MASK] of <mask> text", "[CLS] a [SEP] b", "<pad>x<unk>y", " leading", "trailing ", "\u2581under", "<extra_id_0> a <extra_id_1>", "<|endoftext|> a",
         "en_XX a", "__en__ a", ">>fra<< the house", ">>xyz<< the house", "the >>fra<< house", "don't do not n't 's", "A B . C , D ! E ?"]


class Texts(C.Structure):
    _fields_ = [("count", C.c_int64), ("at", C.POINTER(C.c_char_p)), ("bytes", C.POINTER(C.c_int64))]


class Encoding(C.Structure):
    _fields_ = [("special", C.c_int), ("places", C.c_int), ("max_length", C.c_int64)]


class Tokens(C.Structure):
    _fields_ = [("sentences", C.c_int64), ("rows", C.c_int64), ("lengths", C.POINTER(C.c_int64)), ("ids", C.POINTER(C.c_int32)), ("types", C.POINTER(C.c_int32)),
                ("positions", C.POINTER(C.c_int32)), ("begin", C.POINTER(C.c_int64)), ("end", C.POINTER(C.c_int64))]


class Ours:
    """A tokenizer of the library; RuntimeError with its message where a file is refused."""
    g = None

    def __init__(self, path):
        self.t = C.c_void_p()
        if self.g.gnn_tokenizer_open(C.byref(self.t), os.fsencode(path)) != 0:
            raise RuntimeError(self.g.gnn_error_message().decode("utf-8", "replace"))

    def __del__(self):
        if self.t:
            self.g.gnn_tokenizer_free(self.t)

    @staticmethod
    def texts(texts):
        raw = [t.encode("utf-8", "surrogatepass") for t in texts]
        return Texts(len(raw), (C.c_char_p * max(len(raw), 1))(*raw), (C.c_int64 * max(len(raw), 1))(*map(len, raw)))

    def encode(self, first, second=None, most=0, special=True, places=False):
        tokens = C.POINTER(Tokens)()
        a, b = self.texts(first), self.texts(second) if second else None
        how = Encoding(1 if special else 2, 1 if places else 2, most)
        if self.g.gnn_tokenizer_encode(self.t, C.byref(a), C.byref(b) if b else None, C.byref(how), C.byref(tokens)) != 0:
            raise RuntimeError(self.g.gnn_error_message().decode())
        t, out, at = tokens.contents, [], 0
        for k in range(t.sentences):
            n = t.lengths[k]
            spans = list(zip(t.begin[at:at + n], t.end[at:at + n])) if places else []
            out.append((t.ids[at:at + n], t.types[at:at + n], *([spans] if places else [])))
            at += n
        self.g.gnn_tokens_free(tokens)
        return out

    def decode(self, ids, special=True):
        text, n = C.c_void_p(), C.c_int64()
        if self.g.gnn_tokenizer_decode(self.t, C.c_int64(len(ids)), (C.c_int32 * max(len(ids), 1))(*ids), 1 if special else 2, C.byref(text), C.byref(n)) != 0:
            return "error: " + self.g.gnn_error_message().decode()
        out = C.string_at(text, n.value).decode()
        self.g.gnn_free(text)
        return out


def load(path):
    g = C.CDLL(path)
    g.gnn_error_message.restype = C.c_char_p
    g.gnn_tokenizer_free.argtypes = g.gnn_free.argtypes = [C.c_void_p]
    Ours.g = g


# ---- vocabularies ----

CACHE = {}
SMALL = "--write" in sys.argv  # vocabularies that fit into a golden file


def pieces(kind, size=420, **how):
    """The bytes of a SentencePiece model."""
    if SMALL:
        size, how = {"unigram": 350 if how.get("byte_fallback") else 90, "bpe": 330 if how.get("byte_fallback") else 110}[kind], {"normalization_rule_name": "identity", **how}
    key = ("spm", kind, size, tuple(sorted((k, str(v)) for k, v in how.items())))
    if key not in CACHE:
        import io
        out = io.BytesIO()
        spm.SentencePieceTrainer.train(sentence_iterator=iter(corpus()), model_writer=out, model_type=kind, vocab_size=size, character_coverage=0.98,
                                       hard_vocab_limit=False, minloglevel=2, num_threads=1, **how)
        CACHE[key] = out.getvalue()
    return CACHE[key]


def merges(size=700, special=()):
    size = 300 if SMALL else size
    key = ("bpe", size, tuple(special))
    if key not in CACHE:
        t = Tokenizer(models.BPE())
        t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=list(special), show_progress=False))
        model = json.loads(t.to_str())["model"]
        CACHE[key] = model["vocab"], [" ".join(m) if isinstance(m, list) else m for m in model["merges"]]
    return CACHE[key]


def wordpieces(special=("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"), lower=True):
    key = ("wp", tuple(special), lower)
    if key not in CACHE:
        t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        t.normalizer = normalizers.BertNormalizer(lowercase=lower)
        t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        t.train_from_iterator(corpus(), trainers.WordPieceTrainer(vocab_size=120 if SMALL else 400, special_tokens=list(special), show_progress=False))
        CACHE[key] = sorted(t.get_vocab(), key=t.get_vocab().get)
    return CACHE[key]


# ---- folders ----

def put(folder, name, data):
    mode = "wb" if isinstance(data, bytes) else "w"
    with open(os.path.join(folder, name), mode, **({} if mode == "wb" else {"encoding": "utf-8"})) as file:
        file.write(data if mode == "wb" or isinstance(data, str) else json.dumps(data, ensure_ascii=False, indent=1))


def bare(folder, model_type, files, config=None, **others):
    put(folder, "config.json", {"model_type": model_type})
    for name, data in files.items():
        put(folder, name, data)
    if config is not None:
        put(folder, "tokenizer_config.json", config)
    for name, data in others.items():
        put(folder, name + ".json", data)


def bpe_files(special=()):
    vocab, lines = merges(special=special)
    return {"vocab.json": vocab, "merges.txt": "#version: 0.2\n" + "\n".join(lines) + "\n"}


FAIRSEQ = dict(unk_id=0, bos_id=1, eos_id=2, pad_id=-1)
ROBERTA = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")


def marian(folder, **config):
    source, target = pieces("unigram", 300, **dict(unk_id=0, bos_id=1, eos_id=2, pad_id=-1)), pieces("unigram", 380, **dict(unk_id=0, bos_id=1, eos_id=2, pad_id=-1))
    names, sp = [], spm.SentencePieceProcessor()
    for model in (source, target):
        sp.LoadFromSerializedProto(model)
        names += [sp.IdToPiece(k) for k in range(3, sp.GetPieceSize())]
    names = ["</s>", "<unk>"] + sorted(set(names))[:-7] + [">>fra<<", ">>deu<<", "<pad>"]
    bare(folder, "marian", {"source.spm": source, "target.spm": target, "vocab.json": {n: k for k, n in enumerate(names)}}, {"source_lang": "en", "target_lang": "fr", **config})


def m2m(folder):
    model, sp = pieces("unigram", 420, **FAIRSEQ), spm.SentencePieceProcessor()
    sp.LoadFromSerializedProto(model)
    names = ["<s>", "<pad>", "</s>", "<unk>"] + [sp.IdToPiece(k) for k in range(3, sp.GetPieceSize())]
    bare(folder, "m2m_100", {"sentencepiece.bpe.model": model, "vocab.json": {n: k for k, n in enumerate(names)}}, {"src_lang": "fr", "tgt_lang": "en", "tokenizer_class": "M2M100Tokenizer"})


T5 = dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
ALBERT = dict(pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, control_symbols=["[CLS]", "[SEP]", "[MASK]"])
DEBERTA = dict(pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]")
LLAMA = dict(unk_id=0, bos_id=1, eos_id=2, pad_id=-1, byte_fallback=True, normalization_rule_name="identity")
GEMMA = dict(pad_id=0, eos_id=1, bos_id=2, unk_id=3, byte_fallback=True, normalization_rule_name="identity", bos_piece="<bos>", eos_piece="<eos>",
             add_dummy_prefix=False, remove_extra_whitespaces=False, user_defined_symbols=["<mask>"])
BARE = {
    "bert": lambda f: bare(f, "bert", {"vocab.txt": "\n".join(wordpieces()) + "\n"}, {"do_lower_case": True, "model_max_length": 512}),
    "bert_cased": lambda f: bare(f, "bert", {"vocab.txt": "\n".join(wordpieces(lower=False)) + "\n"}, {"do_lower_case": False, "model_max_length": 512}),
    "bert_nothing": lambda f: bare(f, "bert", {"vocab.txt": "\n".join(wordpieces()) + "\n"}),
    "distilbert": lambda f: bare(f, "distilbert", {"vocab.txt": "\n".join(wordpieces()) + "\n"}, {"do_lower_case": True, "strip_accents": False}),
    "electra": lambda f: bare(f, "electra", {"vocab.txt": "\n".join(wordpieces()) + "\n"}, {"do_lower_case": True, "tokenize_chinese_chars": False}),
    "mpnet": lambda f: bare(f, "mpnet", {"vocab.txt": "\n".join(wordpieces(("<s>", "<pad>", "</s>", "[UNK]", "<mask>"))) + "\n"}, {"do_lower_case": True}),
    "gpt2": lambda f: bare(f, "gpt2", bpe_files(["<|endoftext|>"]), {"model_max_length": 1024}),
    "gpt2_nothing": lambda f: bare(f, "gpt2", bpe_files(["<|endoftext|>"])),
    "opt": lambda f: bare(f, "opt", bpe_files(ROBERTA), {"errors": "replace", "unk_token": "</s>", "bos_token": "</s>", "eos_token": "</s>", "pad_token": "<pad>", "add_prefix_space": False,
                                                          "add_bos_token": True, "tokenizer_class": "GPT2Tokenizer"}),
    "gpt_neox": lambda f: bare(f, "gpt_neox", bpe_files(["<|endoftext|>", "<|padding|>"]), {"tokenizer_class": "GPTNeoXTokenizer"}),
    "qwen2": lambda f: bare(f, "qwen3", bpe_files(["<|endoftext|>"]), {"tokenizer_class": "Qwen2Tokenizer", "add_prefix_space": False}),
    "roberta": lambda f: bare(f, "roberta", bpe_files(ROBERTA), {"model_max_length": 512}),
    "bart": lambda f: bare(f, "bart", bpe_files(ROBERTA), {"model_max_length": 1024}),
    "blenderbot": lambda f: bare(f, "blenderbot", bpe_files(ROBERTA), {}),
    "deberta": lambda f: bare(f, "deberta", bpe_files(("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]")), {"do_lower_case": False, "vocab_type": "gpt2"}),
    "xlm_roberta": lambda f: bare(f, "xlm-roberta", {"sentencepiece.bpe.model": pieces("unigram", **FAIRSEQ)}, {"model_max_length": 512}),
    "camembert": lambda f: bare(f, "camembert", {"sentencepiece.bpe.model": pieces("unigram", **FAIRSEQ)}, {}),
    "t5": lambda f: bare(f, "t5", {"spiece.model": pieces("unigram", **T5)}, {"model_max_length": 512}),
    "mt5": lambda f: bare(f, "mt5", {"spiece.model": pieces("unigram", **T5)}, {"extra_ids": 0, "additional_special_tokens": None, "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>",
                                                                               "tokenizer_class": "T5Tokenizer", "special_tokens_map_file": "x", "sp_model_kwargs": {}}),
    "albert": lambda f: bare(f, "albert", {"spiece.model": pieces("unigram", **ALBERT)}, {}),
    "deberta_v3": lambda f: bare(f, "deberta-v2", {"spm.model": pieces("unigram", **DEBERTA)}, {"do_lower_case": False, "vocab_type": "spm"}),
    "mbart": lambda f: bare(f, "mbart", {"sentencepiece.bpe.model": pieces("unigram", **FAIRSEQ)}, {"tokenizer_class": "MBartTokenizer"}),
    "mbart50": lambda f: bare(f, "mbart", {"sentencepiece.bpe.model": pieces("unigram", **FAIRSEQ)}, {"tokenizer_class": "MBart50Tokenizer", "src_lang": "de_DE"}),
    "nllb": lambda f: bare(f, "m2m_100", {"sentencepiece.bpe.model": pieces("bpe", **FAIRSEQ)}, {"tokenizer_class": "NllbTokenizer"}),
    "m2m100": m2m,
    "pegasus": lambda f: bare(f, "pegasus", {"spiece.model": pieces("unigram", **dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1))}, {"model_max_length": 512}),
    "bigbird": lambda f: bare(f, "big_bird", {"spiece.model": pieces("unigram", **dict(pad_id=0, eos_id=1, bos_id=2, unk_id=3, control_symbols=["[SEP]", "[MASK]", "[CLS]"]))}, {}),
    "xlnet": lambda f: bare(f, "xlnet", {"spiece.model": pieces("unigram", **dict(unk_id=0, bos_id=1, eos_id=2, pad_id=-1, control_symbols=["<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"]))}, {}),
    "rembert": lambda f: bare(f, "rembert", {"sentencepiece.model": pieces("unigram", **ALBERT)}, {}),
    "barthez": lambda f: bare(f, "mbart", {"sentencepiece.bpe.model": pieces("unigram", **FAIRSEQ)}, {"tokenizer_class": "BarthezTokenizer"}),
    "llama": lambda f: bare(f, "llama", {"tokenizer.model": pieces("bpe", 600, **LLAMA)}, {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": False, "legacy": False}),
    "llama_legacy": lambda f: bare(f, "llama", {"tokenizer.model": pieces("bpe", 600, **LLAMA)}, {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "legacy": True}),
    "gemma": lambda f: bare(f, "gemma2", {"tokenizer.model": pieces("bpe", 600, **GEMMA)}, {"tokenizer_class": "GemmaTokenizer", "add_bos_token": True, "add_eos_token": False}),
    "mistral": lambda f: bare(f, "mistral", {"tokenizer.model": pieces("bpe", 600, **LLAMA)}, {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": False, "legacy": False}),
    "umt5": lambda f: bare(f, "umt5", {"spiece.model": pieces("unigram", **T5)}, {"tokenizer_class": "T5Tokenizer"}),
    "bert_generation": lambda f: bare(f, "bert-generation", {"spiece.model": pieces("unigram", **FAIRSEQ)}, {}),
    "marian": marian,
    "plbart": lambda f: bare(f, "plbart", {"sentencepiece.bpe.model": pieces("unigram", **FAIRSEQ)}, {}),
    "roformer": lambda f: bare(f, "roformer", {"vocab.txt": "\n".join(wordpieces()) + "\n"}, {}),
    "nosuch": lambda f: bare(f, "bert", {"vocab.txt": "\n".join(wordpieces()) + "\n"}, {"tokenizer_class": "NoSuchTokenizer"}),
}


def saved(name):
    """The folder of a bare family, as transformers saves it again."""
    def make(folder):
        inner = folder + ".bare"
        shutil.rmtree(inner, ignore_errors=True)
        os.makedirs(inner)
        BARE[name](inner)
        T.AutoTokenizer.from_pretrained(inner).save_pretrained(folder)
        shutil.copy(os.path.join(inner, "config.json"), folder)
        shutil.rmtree(inner)
    return make


def published_nllb(folder):
    """As NLLB is published: languages are added tokens, and the template is the older one, which the class replaces."""
    inner = folder + ".bare"
    shutil.rmtree(inner, ignore_errors=True)
    os.makedirs(inner)
    saved("nllb")(inner)
    root = json.load(open(os.path.join(inner, "tokenizer.json"), encoding="utf-8"))
    codes = ["deu_Latn", "eng_Latn", "fra_Latn", "zho_Hans"]
    mask = root["added_tokens"].pop()
    for k, code in enumerate(codes):
        root["added_tokens"].append({**mask, "id": mask["id"] + k, "content": code, "lstrip": False, "normalized": False})
        root["model"]["vocab"][code] = mask["id"] + k
    root["added_tokens"].append({**mask, "id": mask["id"] + len(codes)})
    root["model"]["vocab"].pop(mask["content"], None)
    end, language = ({"SpecialToken": {"id": t, "type_id": 0}} for t in ("</s>", "eng_Latn"))
    a, b = ({"Sequence": {"id": t, "type_id": 0}} for t in "AB")
    root["post_processor"].update(single=[a, end, language], pair=[a, b, end, language])
    root["post_processor"]["special_tokens"]["eng_Latn"]["ids"] = [mask["id"] + 1]
    config = dict(bos_token="<s>", cls_token="<s>", eos_token="</s>", model_max_length=1024, pad_token="<pad>", sep_token="</s>", sp_model_kwargs={}, src_lang=None, tgt_lang=None,
                  tokenizer_class="NllbTokenizer", unk_token="<unk>", additional_special_tokens=codes, mask_token={"__type": "AddedToken", "content": "<mask>", "lstrip": True, "normalized": True})
    bare(folder, "m2m_100", {"tokenizer.json": root}, config)
    shutil.rmtree(inner)


BARE["nllb_published"] = published_nllb
for name in ("nllb", "rembert", "barthez"):  # whose vocabularies are not read alone
    BARE[name + "_saved"] = saved(name)
FAMILIES = {**BARE, **{n + "/saved": saved(n) for n in BARE if n not in ("plbart", "roformer", "nosuch", "bert_nothing", "gpt2_nothing") and not n.endswith("_saved")}}


# ---- comparing ----

def theirs(folder):
    t = T.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    out = []
    for text in TEXTS:
        e = t(text)
        out.append((list(e["input_ids"]), e.get("token_type_ids")))
    pairs = [t(a, b) for a, b in zip(TEXTS[:12], TEXTS[7:19])]
    out += [(list(e["input_ids"]), e.get("token_type_ids")) for e in pairs]
    out += [(list(t(text, truncation=True, max_length=12)["input_ids"]), None) for text in TEXTS]
    out += [t.decode(ids, skip_special_tokens=skip) for ids, _ in out[:len(TEXTS)] for skip in (False, True)]
    return out


def ours(folder):
    t = Ours(folder)
    out = t.encode(TEXTS) + t.encode(TEXTS[:12], TEXTS[7:19])
    out += [(ids, None) for ids, _ in t.encode(TEXTS, most=12)]
    return t, out


def compare(folder, want):
    """None: all is equal; else the first difference, or the error that refuses the folder."""
    t, got = ours(folder)
    for k, (a, b) in enumerate(zip(want, got)):
        if a[0] != b[0] or (a[1] is not None and list(a[1]) != list(b[1])):
            return f"{k}: {(TEXTS * 3)[k]!r} {a} {b}"
    for k, text in enumerate(want[len(got):]):
        mine = t.decode(want[k // 2][0], k % 2 == 0)
        if mine != text:
            return f"text {want[k // 2][0]} {text!r} {mine!r}"
    return None


def fresh(folder, make):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    make(folder)


# ---- keys ----

def others(key, value, tokens):
    """Values that a key may be changed to."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, (int, float)):
        return [value + 1, 0, -1]
    if isinstance(value, str):
        return [t for t in tokens if t != value][:2] + ["zzz", ""] if "token" in key else ["zzz", "left", "Left", "always", "never", "Removed", "\u2581", " "]
    if isinstance(value, list):
        return [[], value[1:], value[::-1]]
    if isinstance(value, dict):
        return [{}, dict(list(value.items())[1:])]
    return [True, False, "zzz", 1]


def changes(root, path, tokens):
    """(what, changed copy) for every key below `root`, whose vocabulary stays as it is."""
    def at(tree):
        for step in path:
            tree = tree[step]
        return tree
    here = at(root)
    for key in list(here)[:12 if path else None] if isinstance(here, dict) else range(min(len(here), 3)):
        name = ".".join(map(str, path + [key]))
        if name in ("model.vocab", "model.merges"):
            continue
        new = copy.deepcopy(root)
        del at(new)[key]
        yield f"{name} dropped", new
        for value in others(str(key), here[key], tokens):
            if value != here[key] or type(value) is not type(here[key]):
                new = copy.deepcopy(root)
                at(new)[key] = value
                yield f"{name} = {json.dumps(value)[:40]}", new
        if isinstance(here[key], (dict, list)):
            yield from changes(root, path + [key], tokens)
    if isinstance(here, dict):
        new = copy.deepcopy(root)
        at(new)["nosuch"] = 1
        yield ".".join(map(str, path + ["nosuch"])) + " added", new


C1, S1 = "tokenizer_config.json", "special_tokens_map.json"
KNOWN = [(C1, {k: v}) for k, v in (
    ("do_lower_case", True), ("do_lower_case", False), ("strip_accents", True), ("strip_accents", False), ("tokenize_chinese_chars", False), ("truncation_side", "left"),
    ("padding_side", "left"), ("add_prefix_space", True), ("add_prefix_space", False), ("add_bos_token", True), ("add_bos_token", False), ("add_eos_token", True),
    ("additional_special_tokens", ["graph"]), ("additional_special_tokens", ["<new>"]), ("extra_special_tokens", ["<new>"]), ("extra_special_tokens", {"new_token": "<new>"}),
    ("image_token", "graph"), ("split_special_tokens", True), ("clean_up_tokenization_spaces", True), ("clean_up_tokenization_spaces", False), ("legacy", True), ("legacy", False),
    ("model_max_length", 12), ("cls_token", "[UNK]"), ("sep_token", "graph"), ("eos_token", "graph"), ("unk_token", "graph"), ("mask_token", "graph"), ("bos_token", "graph"),
    ("keep_accents", True), ("split_by_punct", True), ("src_lang", "ro_RO"), ("extra_ids", 3), ("model_input_names", ["input_ids", "attention_mask"]), ("added_tokens_decoder", {}),
    ("nosuch", 3), ("added_tokens_decoder", {"5": {"content": "graph", "special": True}}), ("tokenizer_class", "PreTrainedTokenizerFast"), ("do_basic_tokenize", False),
    ("sp_model_kwargs", {"enable_sampling": True, "nbest_size": -1, "alpha": 0.5}), ("errors", "strict"), ("backend", "sentencepiece"), ("vocab_type", "zzz"), ("unk_id", 7))]
KNOWN += [(S1, {"cls_token": "graph"}), (S1, {"eos_token": "graph"}), (S1, {"unk_token": {"content": "graph", "lstrip": True}}), (S1, {"additional_special_tokens": ["<new>"]}),
          (S1, {"mask_token": {"content": "graph", "lstrip": True, "rstrip": False, "single_word": False, "normalized": False}}), (S1, {"nosuch": "graph"}),
          ("added_tokens.json", {"<new>": 100000}), ("added_tokens.json", {"graph": 3})]


def mutate(folder):
    """(what, file, its new contents) for every key of a folder's files."""
    tokens = ["[CLS]", "<s>", "</s>", "[MASK]", "<unk>", "[UNK]"]
    for name in ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "tokenizer.json"):
        if os.path.exists(os.path.join(folder, name)):
            root = json.load(open(os.path.join(folder, name), encoding="utf-8"))
            for what, new in changes(root, [], tokens):
                yield f"{name}: {what}", name, new
    for name, more in KNOWN:
        path = os.path.join(folder, name)
        root = json.load(open(path, encoding="utf-8")) if os.path.exists(path) else {}
        yield f"{name}: + {json.dumps(more)}", name, {**root, **more}


def by_file(folder):
    """What the package tokenizers makes of tokenizer.json alone: classes of transformers build theirs anew and pass parts of the file over."""
    t, out = Tokenizer.from_file(os.path.join(folder, "tokenizer.json")), []
    t.no_padding()
    for most in (None, 12):
        t.no_truncation()
        if most:
            side = json.load(open(os.path.join(folder, "tokenizer.json")))["truncation"]
            t.enable_truncation(most, direction=(side or {}).get("direction", "right").lower())
        out += [(e.ids, None if most else e.type_ids) for e in map(t.encode, TEXTS)]
        if not most:
            out += [(e.ids, e.type_ids) for e in (t.encode(a, b) for a, b in zip(TEXTS[:12], TEXTS[7:19]))]
    return out + [t.decode(ids, skip_special_tokens=skip) for ids, _ in out[:len(TEXTS)] for skip in (False, True)]


def judge(folder, file=None):
    try:
        want = theirs(folder)
    except BaseException as e:
        want = f"{type(e).__name__}: {e}"
    try:
        found = compare(folder, want) if isinstance(want, list) else Ours(folder) and "lax"
        if found and found != "lax" and file == "tokenizer.json":
            try:
                found = compare(folder, by_file(folder)) and found
            except RuntimeError:
                raise
            except BaseException:
                pass
        return found or "equal"
    except RuntimeError as e:
        return "refused: " + str(e)


def count_keys(name, folder, show):
    counts, copy_of = dict(equal=0, refused=0, lax=0, silent=0), folder + ".changed"
    for what, file, new in mutate(folder):
        shutil.rmtree(copy_of, ignore_errors=True)
        shutil.copytree(folder, copy_of)
        put(copy_of, file, new)
        found = judge(copy_of, file)
        kind = found.split(":")[0] if found.startswith(("equal", "refused", "lax")) else "silent"
        counts[kind] += 1
        if kind == "silent" and show > 0:
            print(f"    SILENT {what}: {found[:260]}", flush=True)
    shutil.rmtree(copy_of, ignore_errors=True)
    return counts


# ---- the golden file ----

def model_lines(name, data):
    """A SentencePiece model field by field."""
    from sentencepiece import sentencepiece_model_pb2 as pb
    m = pb.ModelProto()
    m.ParseFromString(data)
    n = m.normalizer_spec
    yield f"P\t{name}\t{m.trainer_spec.model_type}\t{int(m.trainer_spec.byte_fallback)}\t{int(n.add_dummy_prefix)}\t{int(n.remove_extra_whitespaces)}"
    for piece in m.pieces:
        yield f"p\t{piece.score!r}\t{piece.type}\t{json.dumps(piece.piece)}"


def golden_lines(name, folder, want):
    yield f"D\t{name}"
    for file in sorted(os.listdir(folder)):
        path = os.path.join(folder, file)
        if file.endswith((".model", ".spm")):
            yield from model_lines(file, open(path, "rb").read())
        else:
            yield f"J\t{file}\t{json.dumps(open(path, encoding='utf-8').read())}"
    for text, row in zip(TEXTS, want):
        yield f"X\t{json.dumps(text)}\t{' '.join(map(str, row[0]))}"
    copy_of = folder + ".changed"
    for file, more in KNOWN:
        shutil.rmtree(copy_of, ignore_errors=True)
        shutil.copytree(folder, copy_of)
        path = os.path.join(folder, file)
        root = {**(json.load(open(path, encoding="utf-8")) if os.path.exists(path) else {}), **more}
        put(copy_of, file, root)
        found = judge(copy_of, file)
        if found == "equal":
            rows = theirs(copy_of)
            yield f"C\t{file}\t{json.dumps(json.dumps(root))}\t{' '.join(map(str, rows[0][0]))}\t{' '.join(map(str, rows[11][0]))}"
        elif found.startswith("refused"):
            yield f"C\t{file}\t{json.dumps(json.dumps(root))}\trefused"
    shutil.rmtree(copy_of, ignore_errors=True)


def main():
    arguments = sys.argv[1:]
    show = int(arguments[arguments.index("--show") + 1]) if "--show" in arguments else 0
    write = arguments[arguments.index("--write") + 1] if "--write" in arguments else None
    keys = "--keys" in arguments
    names = [a for k, a in enumerate(arguments[2:], 2) if not a.startswith("--") and arguments[k - 1] not in ("--show", "--write")]
    load(arguments[0])
    bad, golden = 0, ["# Made by tests/transformers/tokenizer_folders.py: D family; J, P, p files; X text, ids; C a file changed: refused, or ids of two texts"]
    for name, make in FAMILIES.items():
        if names and name not in names:
            continue
        folder = os.path.join(arguments[1], name.replace("/", "_"))
        try:
            fresh(folder, make)
            want = theirs(folder)
        except Exception as e:
            want = f"{type(e).__name__}: {e}"
        try:
            found = compare(folder, want) if isinstance(want, list) else "lax: " + want[:90]
            found = found or "equal"
        except RuntimeError as e:
            found = "refused: " + str(e)
        bad += not found.startswith(("equal", "refused", "lax"))
        print(f"{name:24} {found[:400]}", flush=True)
        if write and found == "equal" and "/" not in name:
            golden += golden_lines(name, folder, want)
        if keys and found == "equal":
            counts = count_keys(name, folder, show)
            bad += counts["silent"]
            print(f"    keys {counts}", flush=True)
    if write:
        open(write, "w", encoding="utf-8").write("\n".join(golden) + "\n")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
