"""Small Marian models in both forms of their folders, saved by transformers and as they are published: ids, translations and beams of the library
beside those of transformers.

    python tests/transformers/translate.py LIBRARY FOLDER
"""
import ctypes as C
import json
import os
import shutil
import sys

import numpy as np
import torch
import transformers as T

import tokenizer_folders as F

T.logging.set_verbosity(50)
TEXTS = ["The graph is a model of the world.", ">>fra<< the house", "a small house and a river", "don't we'll", "\u4f60\u597d", "the"]


class Generation(C.Structure):
    _fields_ = [("length", C.c_int64), ("temperature", C.c_float), ("top_k", C.c_int64), ("top_p", C.c_float), ("repetition", C.c_float), ("seed", C.c_uint64),
                ("samples", C.c_int64), ("beams", C.c_int64), ("length_penalty", C.c_float), ("early_stopping", C.c_int), ("end", C.c_void_p), ("n_end", C.c_int64),
                ("never", C.c_void_p), ("n_never", C.c_int64), ("stop", C.c_void_p), ("n_stop", C.c_int64), ("on_text", C.c_void_p), ("on_token", C.c_void_p), ("user", C.c_void_p)]


class Writer(C.Structure):
    _fields_ = [("pretrained", C.c_void_p), ("model", C.c_void_p), ("ids", C.c_char_p), ("positions", C.c_char_p), ("state", C.c_void_p), ("tokenizer", C.c_void_p), ("max_length", C.c_int64)]


class Written(C.Structure):
    _fields_ = [("count", C.c_int64), ("lengths", C.POINTER(C.c_int64)), ("ids", C.POINTER(C.c_int32)), ("scores", C.c_void_p), ("ended", C.c_void_p), ("texts", C.POINTER(C.c_char_p)), ("bytes", C.c_void_p)]


def make(folder):
    """The published form: config.json, generation_config.json, weights, and the tokenizer's three files."""
    F.fresh(folder, F.marian)
    vocabulary = json.load(open(os.path.join(folder, "vocab.json"), encoding="utf-8"))
    pad = vocabulary["<pad>"]
    torch.manual_seed(5)
    config = T.MarianConfig(vocab_size=len(vocabulary), d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
                            decoder_ffn_dim=64, max_position_embeddings=64, pad_token_id=pad, eos_token_id=0, decoder_start_token_id=pad, bos_token_id=0, forced_eos_token_id=0,
                            scale_embedding=True, static_position_embeddings=True, activation_function="swish")
    net = T.MarianMTModel(config).eval()
    with torch.no_grad():
        for name, p in net.named_parameters():
            if p.dim() > 1 and "positions" not in name:
                p.mul_(12 if "embed" not in name and "shared" not in name else 6)
    net.generation_config = T.GenerationConfig(pad_token_id=pad, eos_token_id=0, decoder_start_token_id=pad, bos_token_id=0, forced_eos_token_id=0, bad_words_ids=[[pad]], num_beams=4, max_length=24)
    net.save_pretrained(folder)


def written(g, context, folder, **how):
    p, out = C.c_void_p(), C.POINTER(Written)()
    if g.gnn_pretrained_open(C.byref(p), context, folder.encode()) != 0:
        raise RuntimeError(g.gnn_error_message().decode())
    texts, settings = F.Ours.texts(TEXTS), Generation(**how)
    if g.gnn_generate_texts(C.byref(Writer(pretrained=p)), context, C.byref(texts), C.byref(settings), C.byref(out)) != 0:
        raise RuntimeError(g.gnn_error_message().decode())
    w, at, result = out.contents, 0, []
    for k in range(w.count):
        result.append((w.ids[at:at + w.lengths[k]], w.texts[k].decode()))
        at += w.lengths[k]
    g.gnn_written_free(out)
    g.gnn_pretrained_free(p)
    return result


def expected(folder, **how):
    t, net = T.AutoTokenizer.from_pretrained(folder), T.MarianMTModel.from_pretrained(folder).double().eval()
    out, end = [], net.generation_config.eos_token_id
    for text in TEXTS:
        with torch.no_grad():
            rows = net.generate(**t(text, return_tensors="pt"), **how)
        for row in rows.tolist():
            ids = row[1:]
            ids = ids[:ids.index(end) + 1] if end in ids else ids
            out.append((ids, t.decode(ids, skip_special_tokens=True)))
    return out


def main():
    F.load(sys.argv[1])
    g, context, wrong = F.Ours.g, C.c_void_p(), 0
    assert g.gnn_context_new(C.byref(context), None) == 0
    published, saved = os.path.join(sys.argv[2], "published"), os.path.join(sys.argv[2], "saved")
    make(published)
    shutil.rmtree(saved, ignore_errors=True)
    T.MarianMTModel.from_pretrained(published).save_pretrained(saved)
    T.AutoTokenizer.from_pretrained(published).save_pretrained(saved)
    for folder in (published, saved):
        for ours, theirs in (({}, {}), (dict(beams=1), dict(num_beams=1)), (dict(beams=5, samples=3), dict(num_beams=5, num_return_sequences=3))):
            got, want = written(g, context, folder, **ours), expected(folder, **theirs)
            same = sum(a == b for a, b in zip(got, want))
            wrong += len(want) - same
            print(os.path.basename(folder), ours or "as the folder says", f"{same} of {len(want)} equal", flush=True)
            if same < len(want):
                print(next((a, b) for a, b in zip(got, want) if a != b))
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
