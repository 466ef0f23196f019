"""Folders of models as Hugging Face publishes them, small and with drawn weights, made without a network."""
import json
import string

import numpy as np

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CODES = {"float32": "F32", "int64": "I64"}


def safetensors(path, arrays):
    """Writes arrays by name: the length of the header, the header as JSON, the arrays."""
    header, blob = {}, b""
    for name, a in arrays.items():
        header[name] = {"dtype": CODES[a.dtype.name], "shape": a.shape, "data_offsets": [len(blob), len(blob) + a.nbytes]}
        blob += a.tobytes()
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    path.write_bytes(len(head).to_bytes(8, "little") + head + blob)


def bert(folder, width=16, layers=2, **settings):
    """A sentence encoder by BERT whose tokens are letters: mean pooling, vectors of length 1. Settings are
    those of the whole folder: prompts, default_prompt_name."""
    letters = [*string.ascii_lowercase, *string.digits, *".,:;!?'-"]
    vocab = {token: k for k, token in enumerate(SPECIAL + letters + ["##" + c for c in letters])}
    one = lambda token, name, kind=0: {token: {"id": name, "type_id": kind}}
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": k, "content": token, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} for k, token in enumerate(SPECIAL)],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}, "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": [one("SpecialToken", "[CLS]"), one("Sequence", "A"), one("SpecialToken", "[SEP]")],
                           "pair": [one("SpecialToken", "[CLS]"), one("Sequence", "A"), one("SpecialToken", "[SEP]"), one("Sequence", "B", 1), one("SpecialToken", "[SEP]", 1)],
                           "special_tokens": {token: {"id": token, "ids": [vocab[token]], "tokens": [token]} for token in ("[CLS]", "[SEP]")}},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocab}}
    files = {
        "config.json": {"architectures": ["BertModel"], "model_type": "bert", "vocab_size": len(vocab), "hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": 2,
                        "intermediate_size": 2 * width, "max_position_embeddings": 64, "type_vocab_size": 2, "pad_token_id": 0, "hidden_act": "gelu", "layer_norm_eps": 1e-12},
        "tokenizer.json": tokenizer, "sentence_bert_config.json": {"max_seq_length": 64, "do_lower_case": False},
        "modules.json": [{"idx": k, "name": str(k), "path": path, "type": f"sentence_transformers.models.{kind}"} for k, (path, kind) in enumerate([("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")])],
        "1_Pooling/config.json": {"word_embedding_dimension": width, "pooling_mode_mean_tokens": True}, "2_Normalize/config.json": {},
        "config_sentence_transformers.json": settings}
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    rng, arrays = np.random.default_rng(1), {}

    def norm(name):
        arrays[name + ".weight"], arrays[name + ".bias"] = np.ones(width, np.float32), np.zeros(width, np.float32)

    def linear(name, rows, columns):
        arrays[name + ".weight"], arrays[name + ".bias"] = (rng.standard_normal((rows, columns)) / columns**0.5).astype(np.float32), np.zeros(rows, np.float32)
    for name, rows in (("word", len(vocab)), ("position", 64), ("token_type", 2)):
        arrays[f"embeddings.{name}_embeddings.weight"] = rng.standard_normal((rows, width)).astype(np.float32)
    norm("embeddings.LayerNorm")
    for k in range(layers):
        at = f"encoder.layer.{k}."
        for name in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            linear(at + name, width, width)
        norm(at + "attention.output.LayerNorm"), linear(at + "intermediate.dense", 2 * width, width), linear(at + "output.dense", width, 2 * width), norm(at + "output.LayerNorm")
    safetensors(folder / "model.safetensors", arrays)
