"""Changes and drops every key of the files that sentence-transformers reads, and says what the library makes of it, as keys.py does.

    python tests/transformers/sentences.py LIBRARY FOLDER [--write TABLE.jsonl.gz]        sentence-transformers 6.2

Folders: a Transformer with pooling, dense layers, a layer norm and unit length, with prompts and fewer columns; every mode of pooling, and
several; settings of the Transformer; SPLADE; a table of vectors; every other module of the package. Values are those of encode().
"""
import ctypes as C
import json
import os
import shutil
import sys

import numpy as np
import torch
import transformers as T
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

import keys
from sentence_transformers import SentenceTransformer
from sentence_transformers.sparse_encoder import SparseEncoder

TEXTS = ["the film is good", "a bad film", "Good", "is the film a film a film a bad film", "a"]
WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] good bad film the a is Good query : about".split()
ST = "sentence_transformers.models."
SPARSE = "sentence_transformers.sparse_encoder.models."
CONFIG = dict(architectures=["BertModel"], model_type="bert", vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24,
              max_position_embeddings=24, type_vocab_size=2, pad_token_id=0)


def tokenizer():
    t = Tokenizer(models.WordPiece({w: k for k, w in enumerate(WORDS)}, unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=False)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                                     special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    t.add_special_tokens(WORDS[:5])
    return json.loads(t.to_str())


class Texts(C.Structure):
    _fields_ = [("count", C.c_int64), ("at", C.POINTER(C.c_char_p)), ("bytes", C.c_void_p)]


def embed(library, folder):
    g, p = library.g, C.c_void_p()
    g.gnn_pretrained_embedding_width.restype = C.c_int64
    if g.gnn_pretrained_open(C.byref(p), library.context, folder.encode()) != 0:
        return library.message()
    try:
        width = max(g.gnn_pretrained_embedding_width(p), 1)
        out = np.zeros((len(TEXTS), width), np.float32)
        t = keys.Tensor(out.ctypes.data, len(TEXTS), width, width)
        texts = Texts(len(TEXTS), (C.c_char_p * len(TEXTS))(*[x.encode() for x in TEXTS]), None)
        return library.message() if g.gnn_pretrained_embed(p, library.context, C.byref(texts), C.byref(t)) != 0 else out
    finally:
        g.gnn_pretrained_free(p)


def theirs(folder, sparse):
    torch.set_default_dtype(torch.float32)
    kind = SparseEncoder if sparse else SentenceTransformer
    model = kind(folder, device="cpu", local_files_only=True).double()
    more = dict(convert_to_sparse_tensor=False) if sparse else {}
    out = model.encode(TEXTS, show_progress_bar=False, **more)
    return out.numpy() if isinstance(out, torch.Tensor) else np.asarray(out)


def net_arrays(config, masked=False):
    net = (T.BertForMaskedLM if masked else getattr(T, config["architectures"][0]))(T.AutoConfig.for_model(**config))
    arrays = {n: list(p.shape) for n, p in net.state_dict().items() if p.is_floating_point()}
    for tied in ("cls.predictions.decoder.weight", "cls.predictions.decoder.bias"):
        arrays.pop(tied, None)
    return arrays


def modules(*types):
    return [dict(idx=k, name=str(k), path="" if k == 0 else f"{k}_{t.split('.')[-1]}", type=t) for k, t in enumerate(types)]


def folder_of(types, configs, arrays=None, more=None, config=CONFIG, masked=False):
    """Files and arrays of a folder: a Transformer, then modules with their configs."""
    files = {"config.json": config, "tokenizer.json": tokenizer(), "modules.json": modules(*types),
             "tokenizer_config.json": dict(tokenizer_class="PreTrainedTokenizerFast", model_max_length=20, unk_token="[UNK]", pad_token="[PAD]",
                                           cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]"), **(more or {})}
    for k, c in enumerate(configs, 1):
        if c is not None:
            files[f"{k}_{types[k].split('.')[-1]}/config.json"] = c
    return files, {"model.safetensors": net_arrays(CONFIG if masked else config, masked), **(arrays or {})}


POOL = dict(word_embedding_dimension=16, pooling_mode_cls_token=False, pooling_mode_mean_tokens=True, pooling_mode_max_tokens=False,
            pooling_mode_mean_sqrt_len_tokens=False, pooling_mode_weightedmean_tokens=False, pooling_mode_lasttoken=False, include_prompt=True)
DENSE = dict(in_features=16, out_features=8, bias=True, activation_function="torch.nn.modules.activation.Tanh")
WIDE = dict(in_features=8, out_features=8, bias=False, activation_function="torch.nn.modules.linear.Identity", use_residual=True)
SENTENCES = {"model_type": "SentenceTransformer", "__version__": {"sentence_transformers": "5.0.0"}, "prompts": {"query": "query : ", "document": ""},
             "default_prompt_name": "query", "similarity_fn_name": "cosine", "truncate_dim": 6}
TURNS = dict(architectures=["LlamaModel"], model_type="llama", vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
             intermediate_size=24, max_position_embeddings=8, pad_token_id=0)
WORDED = dict(architectures=["GPT2Model"], model_type="gpt2", vocab_size=len(WORDS), n_embd=16, n_layer=1, n_head=2, n_positions=24)
TEXT = {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}
linear = lambda o, i, bias=True: {"linear.weight": [o, i], **({"linear.bias": [o]} if bias else {})}

FOLDERS = [
    ("whole", folder_of([ST + "Transformer", ST + "Pooling", ST + "Dense", ST + "Dense", ST + "LayerNorm", ST + "Normalize"],
                        [POOL, DENSE, WIDE, dict(dimension=8), None],
                        {"2_Dense/model.safetensors": linear(8, 16), "3_Dense/model.safetensors": linear(8, 8, False),
                         "4_LayerNorm/model.safetensors": {"norm.weight": [8], "norm.bias": [8]}},
                        {"sentence_bert_config.json": dict(max_seq_length=12, do_lower_case=False), "config_sentence_transformers.json": SENTENCES}),
     [("1_Pooling/config.json", dict(pooling_mode=m, embedding_dimension=16)) for m in
      ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken", ["mean"])] +
     [("2_Dense/config.json", dict(module_input_name="sentence_embedding")), ("2_Dense/config.json", dict(module_output_name="other")),
      ("2_Dense/config.json", dict(module_input_name="token_embeddings")), ("2_Dense/config.json", dict(activation_function="torch.nn.modules.activation.GELU")),
      ("5_Normalize/config.json", dict(module_input_name="sentence_embedding")), ("5_Normalize/config.json", dict(module_input_name="token_embeddings"))] +
     [("config_sentence_transformers.json", c) for c in (
         dict(truncate_dim=None), dict(truncate_dim=100), dict(truncate_dim=0), dict(default_prompt_name=None), dict(default_prompt_name="document"),
         dict(default_prompt_name="nosuch"), dict(prompts={"query": None}), dict(prompts={"query": 3}), dict(similarity_fn_name="dot"),
         dict(similarity_fn_name=None), dict(similarity_fn_name="maxsim"), dict(model_type="MultiVectorEncoder"), dict(max_active_dims=3), None)] +
     [("sentence_bert_config.json", c) for c in (
         dict(do_lower_case=True), dict(max_seq_length=None), dict(max_seq_length=4), dict(max_seq_length=500), dict(transformer_task="fill-mask"),
         dict(transformer_task="text-generation"), dict(modality_config=TEXT, module_output_name="token_embeddings"),
         dict(modality_config=dict(text=dict(method="forward", method_output_name="pooler_output")), module_output_name="sentence_embedding"),
         dict(unpad_inputs=False), dict(processing_kwargs={}), dict(processing_kwargs=dict(text=dict(max_length=4))), dict(tokenizer_args={}),
         dict(tokenizer_args=dict(model_max_length=4)), dict(model_args={}), dict(model_args=dict(torch_dtype="float32")), dict(config_args={}),
         dict(config_args=dict(hidden_act="relu")), dict(query_length=4), dict(document_length=4), dict(query_expansion=None), None)]),
    ("skips", folder_of([ST + "Transformer", ST + "Pooling"], [dict(embedding_dimension=16, pooling_mode="mean", include_prompt=False)], {},
                        {"sentence_bert_config.json": dict(max_seq_length=12), "config_sentence_transformers.json": SENTENCES}),
     [("1_Pooling/config.json", dict(pooling_mode=m)) for m in
      ("cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken", ["cls", "mean"], ["mean", "max", "cls", "weightedmean", "lasttoken"], [], "median",
       ["mean", "median"])]),
    ("flags", folder_of([ST + "Transformer", ST + "Pooling", ST + "Dropout"], [
        dict(POOL, pooling_mode_cls_token=True, pooling_mode_max_tokens=True, pooling_mode_weightedmean_tokens=True, pooling_mode_mean_sqrt_len_tokens=True,
             pooling_mode_lasttoken=True), dict(dropout=0.3)]), [("1_Pooling/config.json", {k: False for k in POOL if k.startswith("pooling")})]),
    ("tokens", folder_of([ST + "Transformer", ST + "Dense", ST + "Normalize", ST + "Pooling"],
                         [dict(DENSE, module_input_name="token_embeddings"), dict(module_input_name="token_embeddings"),
                          dict(embedding_dimension=8, pooling_mode="mean")], {"1_Dense/model.safetensors": linear(8, 16)}), []),
    ("narrows", folder_of([ST + "Transformer", ST + "Pooling", ST + "Dense"], [dict(embedding_dimension=16), dict(DENSE, use_residual=True)],
                          {"2_Dense/model.safetensors": {**linear(8, 16), "residual.weight": [8, 16]}}), []),
    ("named", folder_of(["sentence_transformers.base.modules.transformer.Transformer", "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
                         "sentence_transformers.base.modules.normalize.Normalize"], [dict(embedding_dimension=16, pooling_mode="mean"), None]), []),
    ("splade", folder_of([SPARSE + "MLMTransformer", SPARSE + "SpladePooling"],
                         [dict(pooling_strategy="max", activation_function="relu", word_embedding_dimension=None)], {},
                         {"sentence_bert_config.json": dict(max_seq_length=12), "config_sentence_transformers.json": dict(model_type="SparseEncoder")},
                         dict(CONFIG, architectures=["BertForMaskedLM"]), True),
     [("1_SpladePooling/config.json", dict(pooling_strategy=s, activation_function=a)) for s in ("max", "sum", "mean") for a in ("relu", "log1p_relu")] +
     [("sentence_bert_config.json", dict(transformer_task="fill-mask")), ("sentence_bert_config.json", dict(transformer_task="feature-extraction")),
      ("config.json", dict(architectures=["BertModel"]))]),
    ("turns", folder_of([ST + "Transformer", ST + "Pooling"], [dict(embedding_dimension=16, pooling_mode="mean")], {},
                        {"sentence_bert_config.json": dict(max_seq_length=12)}, TURNS),
     [("sentence_bert_config.json", dict(max_seq_length=n)) for n in (4, 8, 9, 500, None)] +
     [("config.json", dict(rope_scaling=dict(rope_type="dynamic", factor=2.0)))]),
    ("worded", folder_of([ST + "Transformer", ST + "Pooling"], [dict(embedding_dimension=16, pooling_mode="mean")], config=WORDED),
     [("tokenizer_config.json", dict(model_input_names=names)) for names in
      (["input_ids", "attention_mask"], ["input_ids", "token_type_ids", "attention_mask"], ["token_type_ids", "input_ids"])]),
    ("static", ({"modules.json": modules(ST + "StaticEmbedding", ST + "Normalize"), "tokenizer.json": tokenizer(), "config.json": {"model_type": "model2vec"}},
                {"model.safetensors": {"embedding.weight": [len(WORDS), 12]}}),
     [("tokenizer.json", dict(truncation=dict(direction="Right", max_length=3, strategy="LongestFirst", stride=0)))]),
    ("model2vec", ({"modules.json": [dict(idx=0, name="0", path=".", type=ST + "StaticEmbedding")], "tokenizer.json": tokenizer()},
                   {"model.safetensors": {"embeddings": [len(WORDS), 12]}}), []),
    ("mapped", ({"modules.json": [dict(idx=0, name="0", path=".", type=ST + "StaticEmbedding")], "tokenizer.json": tokenizer()},
                {"model.safetensors": {"embeddings": [6, 12], "mapping": {"int64": [k * 5 % 6 for k in range(len(WORDS))]}, "weights": [len(WORDS)]}}), []),
    ("weighed", ({"modules.json": [dict(idx=0, name="0", path=".", type=ST + "StaticEmbedding")], "tokenizer.json": tokenizer()},
                 {"model.safetensors": {"embeddings": [len(WORDS), 12], "weights": [len(WORDS)]}}), []),
    ("beyond", ({"modules.json": [dict(idx=0, name="0", path=".", type=ST + "StaticEmbedding")], "tokenizer.json": tokenizer()},
                {"model.safetensors": {"embeddings": [6, 12], "mapping": {"int64": [k for k in range(len(WORDS))]}}}), []),
]
ACTIVATIONS = "CELU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid Mish PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmin Softplus Softshrink Softsign Tanhshrink Threshold GLU".split()
FOLDERS += [
    ("curves", folder_of([ST + "Transformer", ST + "Pooling", ST + "Dense"], [dict(embedding_dimension=16, pooling_mode="mean"), dict(DENSE, in_features=16)],
                         {"2_Dense/model.safetensors": linear(8, 16)}),
     [("2_Dense/config.json", dict(activation_function=a + x)) for x in ACTIVATIONS for a in ("torch.nn.modules.activation.", "torch.nn.")[:1 + (x < "I")]]),
    ("early", folder_of([ST + "Transformer", ST + "Normalize", ST + "Pooling"], [None, dict(embedding_dimension=16, pooling_mode="mean")]),
     [("1_Normalize/config.json", dict(module_input_name=n)) for n in ("sentence_embedding", "token_embeddings", "nosuch")]),
]
OTHERS = [ST + x for x in ("Asym", "Router", "BoW", "CNN", "LSTM", "WordEmbeddings", "WordWeights", "WeightedLayerPooling", "CLIPModel")] + [
    SPARSE + "CSRSparsity", SPARSE + "IDF", SPARSE + "SparseStaticEmbedding", "sentence_transformers.multi_vector_encoder.modules.MultiVectorMask",
    "my_module.Pooling"]


def changes(name, files, arrays):
    for file in [*files, *arrays]:  # removed, empty, cut short, and without keys
        for change in (None, {"part": 0}, {"part": 0.5}, {"whole": {}}):
            yield file, change
    for file, content in files.items():
        if file == "modules.json":
            listed = [dict(c, idx=9 - k) for k, c in enumerate(content)]
            for whole in [listed, [dict(c, name="x") for c in content], content[::-1], content + content[-1:], [dict(c, kwargs=["task"]) for c in content],
                          [dict(c, nosuch=1) for c in content], content[:1]] + [content + [dict(idx=9, name="z", path="9_Z", type=t)] for t in OTHERS] + [
                              [dict(content[0], type=t)] + content[1:] for t in OTHERS]:
                yield file, {"whole": whole}
        elif file not in ("tokenizer.json", "tokenizer_config.json", "config.json"):
            for key in list(content) + ["nosuch"]:
                for new in keys.others(key, content.get(key)) if not isinstance(content.get(key), dict) else []:
                    yield file, {key: new}
                if key in content:
                    yield file, [key]
    for file, change in dict((n, c) for n, _, c in FOLDERS)[name]:
        yield file, change


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    json.dump(content, open(path, "w"))


def put(folder, files, file, change):
    path = os.path.join(folder, file)
    if change is None:
        if os.path.exists(path):
            os.remove(path)
    elif isinstance(change, dict) and "whole" in change:
        write(path, change["whole"])
    elif isinstance(change, dict) and "part" in change:
        os.truncate(path, int(os.path.getsize(path) * change["part"]))
    else:
        write(path, keys.changed(files.get(file, {}), change))


def main():
    args, target = sys.argv[1:], None
    if "--write" in args:
        k = args.index("--write")
        target, args = args[k + 1], args[:k] + args[k + 2:]
    library, table, total = keys.Library(args[0]), keys.Table(target), {}
    for name, (files, arrays), _ in FOLDERS:
        if args[2:] and name not in args[2:]:
            continue
        folder = os.path.join(args[1], "sentences_" + name)
        shutil.rmtree(folder, ignore_errors=True)
        for file, content in files.items():
            write(os.path.join(folder, file), content)
        for file, shapes in arrays.items():
            os.makedirs(os.path.dirname(os.path.join(folder, file)), exist_ok=True)
            save_file({n: np.array(s["int64"]) if isinstance(s, dict) else keys.number(n, s) for n, s in shapes.items()}, os.path.join(folder, file), metadata={"format": "pt"})
        bytes_of = {file: open(os.path.join(folder, file), "rb").read() for file in [*files, *arrays]}
        table.checkpoint(name, files, arrays, {"texts": TEXTS}, "embedding")
        count = dict(equal=0, refused=0, lax=0, unnamed=0, silent=0)
        for file, change in [("modules.json", {"whole": files["modules.json"]})] + list(changes(name, files, arrays)):
            put(folder, files, file, change)
            try:
                want = theirs(folder, name == "splade")
                want = want if np.isfinite(want).all() else None
            except Exception as e:
                want, reason = None, str(e)
            got = embed(library, folder)
            if isinstance(got, str):
                named = any(str(k) in got for k in (change or [])) or file.split("/")[0] in got or "module" in got or "array" in got
                result, why = "refused" if want is None or named else "unnamed", got
            elif want is None:
                result, why = "lax", reason
            else:
                gap = np.inf if got.shape != want.shape else np.abs(got - want).max() / np.abs(want).max()
                result, why = ("equal", "") if gap <= 1e-5 else ("silent", f"{gap:.2g} {got.shape} {want.shape}")
            count[result] += 1
            table.change(result, file, change, why, want)
            if result in ("silent", "unnamed", "lax") or (result != "equal" and count["equal"] == 0):
                print(result.upper(), name, file, json.dumps(change)[:100], "|", why[:160].replace("\n", " "), flush=True)
            if file in bytes_of:
                with open(os.path.join(folder, file), "wb") as f:
                    f.write(bytes_of[file])
            else:
                put(folder, files, file, None)
        print(name, count, flush=True)
        total = {k: total.get(k, 0) + n for k, n in count.items()}
        shutil.rmtree(folder, ignore_errors=True)
    if table.file:
        table.file.close()
    print("all", total)
    sys.exit(total["silent"] > 0)


if __name__ == "__main__":
    main()
