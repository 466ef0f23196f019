"""A folder with the shape of a published model and random weights, for decode.py and bench/decode.

    python random_model.py --shape gpt2|llama --dtype F32|BF16|F16 --out FOLDER [--positions 8192]

gpt2 is GPT-2 small (124 M parameters) with a longer table of positions; llama has 100 M: 12 layers of 768, 12 heads, 2048 hidden, 32,000 words and one table for
both ends. Needs NumPy alone.
"""
import argparse, json, os, struct
import numpy as np

p = argparse.ArgumentParser()
p.add_argument("--shape", choices=["gpt2", "llama"], default="gpt2")
p.add_argument("--dtype", choices=["F32", "BF16", "F16"], default="F32")
p.add_argument("--positions", type=int, default=8192)
p.add_argument("--layers", type=int, default=12)
p.add_argument("--out", required=True)
o = p.parse_args()
d, layers, rng = 768, o.layers, np.random.default_rng(0)


def gpt2():
    yield "transformer.wte.weight", (50257, d)
    yield "transformer.wpe.weight", (o.positions, d)
    for k in range(layers):
        h = f"transformer.h.{k}."
        for name, shape in (("attn.c_attn", (d, 3 * d)), ("attn.c_proj", (d, d)), ("mlp.c_fc", (d, 4 * d)), ("mlp.c_proj", (4 * d, d))):
            yield h + name + ".weight", shape
            yield h + name + ".bias", shape[1:]
        for name in ("ln_1", "ln_2"):
            yield h + name + ".weight", (d,)
            yield h + name + ".bias", (d,)
    yield "transformer.ln_f.weight", (d,)
    yield "transformer.ln_f.bias", (d,)


def llama():
    yield "model.embed_tokens.weight", (32000, d)
    for k in range(layers):
        h = f"model.layers.{k}."
        for name in "qkvo":
            yield h + f"self_attn.{name}_proj.weight", (d, d)
        for name, shape in (("gate_proj", (2048, d)), ("up_proj", (2048, d)), ("down_proj", (d, 2048))):
            yield h + f"mlp.{name}.weight", shape
        for name in ("input_layernorm", "post_attention_layernorm"):
            yield h + name + ".weight", (d,)
    yield "model.norm.weight", (d,)


def numbers(name, shape):
    if len(shape) == 1:
        x = np.full(shape, 0.0 if name.endswith("bias") else 1.0, np.float32)
    else:
        x = rng.standard_normal(shape, np.float32) * np.float32(0.02)
    if o.dtype == "F16":
        return x.astype(np.float16).tobytes()
    if o.dtype == "F32":
        return x.tobytes()
    bits = x.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16).tobytes()


config = {
    "gpt2": dict(architectures=["GPT2LMHeadModel"], model_type="gpt2", vocab_size=50257, n_positions=o.positions, n_ctx=o.positions, n_embd=d, n_layer=layers, n_head=12, n_inner=None,
                 activation_function="gelu_new", layer_norm_epsilon=1e-5, tie_word_embeddings=True, bos_token_id=50256, eos_token_id=50256),
    "llama": dict(architectures=["LlamaForCausalLM"], model_type="llama", vocab_size=32000, hidden_size=d, intermediate_size=2048, num_hidden_layers=layers, num_attention_heads=12,
                  num_key_value_heads=12, head_dim=64, hidden_act="silu", max_position_embeddings=o.positions, rms_norm_eps=1e-5, rope_theta=10000.0, tie_word_embeddings=True,
                  attention_bias=False, mlp_bias=False, bos_token_id=1, eos_token_id=2),
}[o.shape]
config["torch_dtype"] = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}[o.dtype]
os.makedirs(o.out, exist_ok=True)
with open(os.path.join(o.out, "config.json"), "w") as f:
    json.dump(config, f, indent=1)
size, header, at = 4 if o.dtype == "F32" else 2, {}, 0
entries = list(dict(gpt2=gpt2, llama=llama)[o.shape]())
for name, shape in entries:
    end = at + int(np.prod(shape)) * size
    header[name] = dict(dtype=o.dtype, shape=list(shape), data_offsets=[at, end])
    at = end
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(os.path.join(o.out, "model.safetensors"), "wb") as f:
    f.write(struct.pack("<Q", len(text)) + text)
    for name, shape in entries:
        f.write(numbers(name, shape))
