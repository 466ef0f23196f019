"""Config files as well-known repositories publish them, in their own keys, older ones as well: what
the library makes of them beside transformers.

    OMP_NUM_THREADS=1 python tests/transformers/published.py LIBRARY FOLDER [--write] [--add CONFIGS.json] [NAME...]        transformers 5.24

tests/golden/published.jsonl.gz has them with small sizes, as keys.py has its checkpoints, and
--write makes it anew. CONFIGS.json: an object of names and contents of config.json, which are
shrunk and put after its last one. A line for each: equal, refused (the message), or silent; exit 1
where one is silent. Then, in each that is equal, every key that the class of the config takes for
another of its keys (its attribute_map).
"""
import copy
import gzip
import json
import os
import re
import shutil
import sys

import torch

import keys
from make import EAGER, ROOTS, VOCAB, T, in_double, texts_of

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "published.jsonl.gz")
LAYERS = "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers num_decoder_layers".split()
HEADS = "num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads".split()
WIDTHS = "hidden_size n_embd n_embed d_model dim word_embed_proj_dim attention_hidden_size embedding_size pooler_hidden_size".split()
INNER = "intermediate_size n_inner ffn_dim d_ff d_inner hidden_dim encoder_ffn_dim decoder_ffn_dim feed_forward_size shared_expert_intermediate_size".split()
PLACES = ("max_position_embeddings n_positions n_ctx max_seq_len seq_length context_length max_encoder_position_embeddings max_decoder_position_embeddings "
          "max_sequence_length max_trained_positions tpu_short_seq_length").split()
SMALL = dict(vocab_size=VOCAB, decoder_vocab_size=VOCAB, sliding_window=4, sliding_window_size=4, window_size=4, local_attention=4, rotary_dim=4, d_kv=8, attention_head_size=8, d_head=8,
             n_routed_experts=8, num_experts=8, num_local_experts=8, moe_intermediate_size=16, topk_group=1, first_k_dense_replace=1, kv_lora_rank=16, q_lora_rank=24, qk_nope_head_dim=8,
             v_head_dim=8, qk_rope_head_dim=8, image_size=16, patch_size=8, block_size=2, num_random_blocks=1, num_landmarks=64, axial_pos_shape=[8, 8], axial_pos_embds_dim=[8, 24],
             num_buckets=[2, 4], lsh_attn_chunk_length=4, local_attn_chunk_length=4, state_size=4, block_repeats=[1, 1], block_sizes=[1, 1], d_latents=32, num_latents=4,
             num_self_attends_per_block=2, qk_channels=16, v_channels=32, num_sparse_encoder_layers=1, num_sparse_decoder_layers=1, conv_kernel_size=5, hash_code_len=4,
             partial_rotary_factor=0.5, chunk_size=8)
MORE = {"google/gemma-2b": [{"use_bidirectional_attention": True}]}  # further changes
OTHER = {"LLaMAForCausalLM": "LlamaForCausalLM", "MPTForCausalLM": "MptForCausalLM"}


def token(key, id):
    return id if id is None or id < VOCAB else {"bos_token_id": 1, "pad_token_id": 0, "decoder_start_token_id": 2, "eos_token_id": 2}.get(key, 3)


def shrunk(config):
    """The same keys, smaller sizes."""
    out, kind = copy.deepcopy(config), config.get("model_type")
    if kind == "swin":
        return {**out, "embed_dim": 8, "depths": [2, 2], "num_heads": [1, 2], "num_layers": 2, "hidden_size": 16, "image_size": 16, "patch_size": 2, "window_size": 4}
    if kind == "poolformer":
        return {**out, "num_encoder_blocks": 2, "depths": [1, 2], "hidden_sizes": [8, 12], "patch_sizes": [7, 3], "strides": [4, 2], "padding": [2, 1]}
    first = {name: next((config[k] for k in names if k in config), None) for name, names in (("layers", LAYERS), ("heads", HEADS), ("width", WIDTHS))}
    few = 4 if kind in ("smollm3", "deepseek_v3", "kimi_k2") else 3 if kind in ("modernbert", "gemma2", "gemma3_text") or config.get("max_window_layers") else 2
    for key, value in config.items():
        if value is None or isinstance(value, bool):
            continue
        if key in LAYERS:
            out[key] = few
        elif key in HEADS:
            out[key] = 4
        elif key in ("num_key_value_heads", "num_kv_heads"):
            out[key] = 1 if value == 1 else 4 if value == first["heads"] else 2
        elif key in WIDTHS:
            out[key] = 32 if value == first["width"] else 16
        elif key == "head_dim":
            out[key] = 8 if value * (first["heads"] or 1) == first["width"] else 16
        elif key in INNER:
            out[key] = 64 if kind == "mamba" else 48
        elif key in PLACES:
            out[key] = 66 if value % 64 == 2 else 64
        elif key in SMALL and not (key == "conv_kernel_size" and value < 9) and not (key == "partial_rotary_factor" and value in (0.25, 0.75)):
            out[key] = SMALL[key]
        elif key.endswith("token_id"):
            out[key] = [token("", id) for id in value] if isinstance(value, list) else token(key, value)
        elif key == "bad_words_ids":
            out[key] = [[token("pad_token_id", id) for id in word] for word in value]
        elif key == "layer_types":
            out[key] = value[:few - 1] + value[-1:]
        elif key in ("no_rope_layers", "attention_layers", "attn_layers"):
            out[key] = value[:few]
        elif key == "attention_types":
            out[key] = [[value[0][0], few // len(value[0][0])]]
        elif key == "attention_window":
            out[key] = [4] * few if isinstance(value, list) else 4
        elif key == "max_window_layers":
            out[key] = few if value >= first["layers"] else 1
        elif key == "query_pre_attn_scalar":
            out[key] = 16 if value == config.get("head_dim") else 12
        elif key in ("num_experts_per_tok", "experts_per_token", "n_group"):
            out[key] = min(value, 2)
        elif key in ("stage_names", "out_features", "_out_features", "out_indices", "_out_indices"):
            out[key] = value[:few + 1] if key == "stage_names" else [f"stage{few}"] if "feat" in key else [few]
        elif key == "position_buckets":
            out[key] = 8
        elif key == "original_max_position_embeddings":
            out[key] = 64 if value >= config.get("max_position_embeddings", 0) else 16
        elif key == "time_step_rank" and not isinstance(value, str):
            out[key] = 3
    for rope in (out.get("rope_scaling"), out.get("rope_parameters")):
        pairs = int((out.get("head_dim") or 8) * out.get("partial_rotary_factor", 1)) // 2
        for key, value in (rope or {}).items():
            rope[key] = 16 if key == "original_max_position_embeddings" else value[:pairs] if key.endswith("_factor") and isinstance(value, list) else value
    return out


def class_of(config, kind):
    name = (config.get("architectures") or ["Model"])[0]
    name = OTHER.get(name, name)
    return T.models.auto.modeling_auto.MODEL_MAPPING[kind].__name__ if name.endswith("Model") and not hasattr(T, name) or name == "Model" else name


def checkpoint(name, folder, config):
    """The case, its inputs, what transformers computes, and shapes of arrays. Packed weights are made unpacked."""
    plain = {k: v for k, v in config.items() if k != "quantization_config"}
    path = os.path.join(folder, "config.json")
    json.dump(plain, open(path, "w"))
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(7)
    kind = T.AutoConfig.from_pretrained(folder)
    kind._attn_implementation = "eager"
    cls = class_of(config, type(kind))
    net = getattr(T, cls)(kind).eval()
    net.save_pretrained(folder + ".saved")
    shutil.move(os.path.join(folder + ".saved", "model.safetensors"), folder)
    shutil.rmtree(folder + ".saved")
    shapes = keys.rewrite(net, folder)
    case = dict(name=name, cls=cls, config=kind, decoder=kind.is_encoder_decoder and not cls.endswith("EncoderModel"), pixels=(2, 3, 16, 16) if hasattr(kind, "num_channels") else None,
                hidden=True, attention=False, lengths=None)
    ROOTS.clear()
    net = in_double(getattr(T, cls).from_pretrained(folder, dtype=torch.float32, **EAGER))
    a, logits, hidden = texts_of(net, case, keys.Drawn())
    json.dump(config, open(path, "w"))
    want = {n: None if v is None else keys.np.asarray(v).reshape(-1, v.shape[-1]) for n, v in (("logits", logits), ("hidden", hidden))}
    return case, a, want, shapes


def judge(library, table, name, folder, config):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    case, a, want, shapes = checkpoint(name, folder, config)
    got = library.values(folder, a, want)
    inputs = {k: keys.np.asarray(v).ravel().tolist() if k != "pixels" else list(v.shape) for k, v in a.items()}
    step = library.step.decode()
    gap = None if isinstance(got, str) else abs(got[0] - got[1]).max() / max(abs(got[1]).max(), 1e-30)
    result = "refused" if gap is None and not got.startswith(("width", "no logits")) else "equal" if gap is not None and gap <= 1e-5 else "silent"
    if result != "silent":
        table.checkpoint(name, {"config.json": config}, {"model.safetensors": shapes}, {**inputs, "rows": 0 if gap is None else len(got[1])}, step)
        if gap is None:
            word = next(iter(re.findall(r'"(\w+)" is', got)), "")
            table.line("!", "config.json", {}, word)
        else:
            table.change(result, "config.json", {}, "", got[1])
            aliases = [{alias: keys.others(alias, config.get(key, getattr(case["config"], key)))[0]} for alias, key in type(case["config"]).attribute_map.items()]
            for change in aliases + MORE.get(name, []):
                json.dump({**config, **change}, open(os.path.join(folder, "config.json"), "w"))
                other, why = keys.verdict(library, case["cls"], folder, case, a, next(iter(change)))
                table.change(other, "config.json", change, why, library.values_now)
                if other not in ("equal", "refused"):
                    print(f"{other:8} {name} {change} {why[:150]}")
    shutil.rmtree(folder, ignore_errors=True)
    return result, got.split(folder)[-1] if gap is None else f"{gap:.1g}"


def main():
    arguments, given = sys.argv[1:], {}
    write = "--write" in arguments
    arguments = [a for a in arguments if a != "--write"]
    if "--add" in arguments:
        at = arguments.index("--add")
        given, arguments = json.load(open(arguments[at + 1])), arguments[:at] + arguments[at + 2:]
    lines = [json.loads(line) for line in gzip.open(TABLE)] if os.path.exists(TABLE) else []
    configs = {line[1]: line[2]["config.json"] for line in lines if line[0] == "checkpoint"}
    configs.update((name, shrunk(config)) for name, config in given.items())
    library, table, counts = keys.Library(arguments[0]), keys.Table(TABLE if write else None), {}
    for name, config in configs.items():
        if arguments[2:] and name not in arguments[2:]:
            continue
        try:
            result, why = judge(library, table, name, os.path.join(arguments[1], re.sub(r"\W+", "_", name)), config)
        except Exception as e:
            result, why = "not made", f"{type(e).__name__}: {e}"
        counts[result] = counts.get(result, 0) + 1
        print(f"{result:8} {name:60} {why[:250]}", flush=True)
    if table.file:
        table.file.close()
    print(counts)
    sys.exit(counts.get("silent", 0) > 0)


if __name__ == "__main__":
    main()
