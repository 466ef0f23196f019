"""Makes tiny checkpoints as people publish them, with what transformers computes of them: what no golden folder has.

    python tests/transformers/make.py FOLDER [NAME...]        PyTorch 2.15, transformers 5.23
    GNN_CHECKPOINTS=FOLDER build/tests/test_pretrained    and test_pretrained_gradients

A folder each: config.json and model.safetensors, and expected.npz as the golden checkpoints have it: ids, lengths, hidden, logits, attention
(layers, sequences, heads, receivers, senders), decoder_ids and decoder_lengths, or pixels. gradients.safetensors has the
gradients of a sum of them (gradients() below), by the names of the weights. Weights are random and exact in float; values are
computed in double precision, each sequence alone, and rounded once.
"""
import os
import sys

import numpy as np
import torch
import transformers
from safetensors.torch import save_file


class Types:
    """What this version of the package has; cases of types that it has not are left out."""

    def __getattr__(self, name):
        return getattr(transformers, name, None) or (lambda **settings: None)


T = Types()
EAGER = dict(attn_implementation="eager") if int(transformers.__version__.split(".")[0]) >= 5 else {}
LENGTHS, VOCAB = [7, 12, 1, 5], 41
LABELS = dict(id2label={0: "bad", 1: "fair", 2: "good"}, label2id={"bad": 0, "fair": 1, "good": 2})
T.logging.set_verbosity_error()


def randomise(net):
    with torch.no_grad():
        for name, p in net.named_parameters():
            if not p.requires_grad:
                continue  # a table that is no weight
            is_norm = p.dim() == 1 and name.endswith("weight")
            p.copy_(1 + 0.2 * torch.randn_like(p) if is_norm else torch.randn_like(p) * (0.15 if p.dim() > 1 else 0.1))
        for name, b in net.named_buffers():
            if name.endswith("correction_bias"):
                b.copy_(torch.randn_like(b) * 0.3)


def build(folder, cls, config):
    """The model as it is published, and again in double precision."""
    config._attn_implementation = "eager"
    torch.set_default_dtype(torch.float32)
    net = getattr(T, cls)(config).eval()
    randomise(net)
    net.save_pretrained(folder)
    net = in_double(getattr(T, cls).from_pretrained(folder, **EAGER))
    torch.set_default_dtype(torch.float64)
    return net


class DrawnInFloat:
    """torch, whose draws do not depend on the precision."""

    def __getattr__(self, name):
        return getattr(torch, name)

    def randn(self, *shape, dtype=None, **others):
        return torch.randn(*shape, dtype=torch.float32, **others).to(dtype)


def in_double(net):
    if type(net).__name__.startswith("TransfoXL"):  # masks in float by a constant of its own type
        return net.float().eval()
    if net.config.model_type == "reformer":  # hashes are drawn in float, as the published model draws them
        sys.modules[type(net).__module__].torch = DrawnInFloat()
    net.config._experts_implementation = "eager"  # the other ones take float alone
    return net.double().eval()


def array(x):
    return x.detach().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)


def packed(parts, axis=0):
    return np.concatenate([array(p) for p in parts], axis)


def run(net, inputs):
    r = net(**inputs, output_hidden_states=True, output_attentions=True, return_dict=True)
    if hasattr(r, "last_hidden_state"):
        hidden = r.last_hidden_state
    else:
        states = r.decoder_hidden_states if "decoder_input_ids" in inputs else r.hidden_states
        hidden = states[-1]
    maps = getattr(r, "attentions", None)
    logits = torch.stack([r.start_logits, r.end_logits], -1) if "start_logits" in r else r.prediction_logits if "prediction_logits" in r else getattr(r, "logits", None)
    if type(net).__name__ in ("ElectraForPreTraining", "FunnelForPreTraining"):
        logits = logits[..., None]
    return hidden[0], logits, maps


def texts(net, rng, c):
    """Inputs, which follow from the case alone, and what a net makes of them: rows of all texts, packed."""
    decoder, config = c["decoder"], c["config"]
    a, rows, cls = {}, dict(hidden=[], logits=[], attention=[]), type(net).__name__
    lengths = [7, 12, 5, 9] if cls == "LongformerForQuestionAnswering" else LENGTHS
    if getattr(config, "attention_type", "") == "block_sparse":  # a short text makes the package's model full for good
        lengths = [20, 17, 16, 5]
    if cls.startswith("Funnel"):  # the package has no distances for some shorter ones
        lengths = [7, 12, 5, 9]
    if getattr(config, "use_chunking", False):
        lengths = [8, 12, 3, 4]
    lengths = c["lengths"] or lengths
    seqs = [rng.integers(3, VOCAB, n) for n in lengths]
    others = [rng.integers(3, VOCAB, n + 2) for n in lengths]
    if config.model_type == "m2m_100":  # padding, which counts as no position
        for s in seqs + others:
            s[1::4] = config.pad_token_id
    for s, o in zip(seqs, others):
        inputs = dict(input_ids=torch.tensor(s)[None])
        if decoder:
            inputs["decoder_input_ids"] = torch.tensor(o)[None]
        if cls.endswith("LongformerForQuestionAnswering"):  # a question and a context
            s[[2, 3, len(s) - 1]] = net.config.sep_token_id
            inputs = dict(input_ids=torch.tensor(s)[None])
        hidden, logits, maps = run(net, inputs)
        rows["hidden"].append(hidden)
        if logits is not None:
            if cls == "PerceiverForMaskedLM":  # a row for each position that there is
                logits = logits[:, :len(s)]
            rows["logits"].append(logits[0] if logits.dim() == 3 else logits)
        if maps and maps[0] is not None and len({m.shape for m in maps}) == 1:
            rows["attention"].append(torch.stack([m[0] for m in maps]))
    a.update(ids=packed(seqs), lengths=np.array(lengths))
    if decoder:
        a.update(decoder_ids=packed(others), decoder_lengths=np.array([len(o) for o in others]))
    for name in ("hidden", "logits"):
        if rows[name]:
            a[name] = packed(rows[name])
            ROOTS[:] = rows[name]  # of the logits, where there are some
    if rows["attention"]:
        a["attention"] = packed([m[k].reshape(-1) for k in range(len(rows["attention"][0])) for m in rows["attention"]])
    return a


def images(net, rng, shape):
    x = rng.standard_normal(shape).astype(np.float32)
    r = net(pixel_values=torch.from_numpy(x).double(), output_hidden_states=True, return_dict=True)
    a = dict(pixels=x)
    for name in ("last_hidden_state", "logits"):
        if getattr(r, name, None) is not None:
            x = getattr(r, name)
            ROOTS[:] = [x.flatten(2).transpose(1, 2).flatten(0, 1) if x.dim() == 4 else x.flatten(0, -2)]  # rows of cells
            a["hidden" if name != "logits" else name] = array(x.flatten(2).transpose(1, 2) if x.dim() == 4 else x)
    return a


ALL, ROOTS = [], []


def gradients(net):
    """Of the sum of the values of the last run, logits or else hidden states, each times the cosine of its index."""
    rows = torch.cat([r.reshape(-1) for r in ROOTS])
    net.zero_grad()
    (rows * torch.cos(torch.arange(rows.numel(), dtype=rows.dtype))).sum().backward()
    return {name: p.grad.float().contiguous() for name, p in net.named_parameters() if p.grad is not None}


def case(name, cls, config, decoder=False, pixels=None, hidden=True, attention=True, lengths=None):
    if config is None:
        return
    ALL.append(dict(name=name, cls=cls, config=config, decoder=decoder, pixels=pixels, hidden=hidden, attention=attention, lengths=lengths))


def values(net, c, rng=None):
    rng = rng or np.random.default_rng(11)
    a = images(net, rng, c["pixels"]) if c["pixels"] else texts(net, rng, c)
    for key in ("hidden", "attention"):
        if not c[key]:
            a.pop(key, None)
    return a


def texts_of(net, c, rng=None):
    """Inputs, logits, last hidden states; what is not there is None."""
    a = values(net, c, rng)
    return {k: a[k] for k in ("ids", "lengths", "decoder_ids", "decoder_lengths", "pixels") if k in a}, a.get("logits"), a.get("hidden")


def make(out, c):
    name = c["name"]
    torch.manual_seed(len(name) + 7)
    folder = os.path.join(out, name)
    net = build(folder, c["cls"], c["config"])
    if c["lengths"] and net.config.model_type == "reformer":  # its backward wants a model in training
        for m in net.train().modules():
            if hasattr(m, "dropout"):
                m.dropout = 0.0
    a = values(net, c)
    single = {k: np.asarray(v).astype(np.float32) if np.asarray(v).dtype == np.float64 else np.asarray(v) for k, v in a.items()}
    np.savez_compressed(os.path.join(folder, "expected.npz"), **single)
    try:
        save_file(gradients(net), os.path.join(folder, "gradients.safetensors"))
    except (RuntimeError, AttributeError, AssertionError, TypeError) as e:  # some models have no backward in evaluation
        print(name, "has no gradients:", str(e)[:80])
    print(name, {k: v.shape for k, v in single.items()})


bert = dict(vocab_size=VOCAB, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, max_position_embeddings=64)
llama = dict(vocab_size=VOCAB, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=48,
             max_position_embeddings=64)
distil = dict(vocab_size=VOCAB, dim=16, n_layers=2, n_heads=2, hidden_dim=32, max_position_embeddings=64)
bart = dict(vocab_size=VOCAB, d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=4,
            encoder_ffn_dim=32, decoder_ffn_dim=24, max_position_embeddings=64)
gemma = dict(vocab_size=VOCAB, hidden_size=16, num_hidden_layers=3, num_attention_heads=2, num_key_value_heads=1, head_dim=8, intermediate_size=32,
             max_position_embeddings=64, query_pre_attn_scalar=12, sliding_window=4,
             layer_types=["sliding_attention", "full_attention", "sliding_attention"])
vit = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, image_size=16, patch_size=8)
deberta2 = dict(**bert, relative_attention=True, pos_att_type=["p2c", "c2p"], type_vocab_size=0, position_biased_input=False, pad_token_id=0)

# Encoder-decoders.
case("bart", "BartForConditionalGeneration", T.BartConfig(**bart), decoder=True)
case("bart_scaled", "BartModel", T.BartConfig(**bart, scale_embedding=True), decoder=True)

# Rotary positions that are scaled: sequences pass the length that the model began with.
case("llama_linear", "LlamaForCausalLM", T.LlamaConfig(**llama, rope_parameters=dict(rope_type="linear", factor=4.0, rope_theta=10000.0)), hidden=False)
case("llama_dynamic", "LlamaForCausalLM", T.LlamaConfig(**llama, rope_parameters=dict(rope_type="dynamic", factor=2.0, rope_theta=10000.0)), hidden=False)
case("llama3", "LlamaForCausalLM", T.LlamaConfig(**llama, rope_parameters=dict(
    rope_type="llama3", rope_theta=500.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)), hidden=False)
case("yarn", "Qwen2ForCausalLM", T.Qwen2Config(**llama, rope_parameters=dict(
    rope_type="yarn", rope_theta=50.0, factor=4.0, original_max_position_embeddings=64)), hidden=False)
case("yarn_given", "LlamaForCausalLM", T.LlamaConfig(**llama, rope_parameters=dict(
    rope_type="yarn", rope_theta=100.0, factor=4.0, beta_fast=4, beta_slow=1, attention_factor=1.3, original_max_position_embeddings=16)), hidden=False)

# Factors of each pair; scaled positions of a part of each head.
long_factors = dict(rope_type="longrope", rope_theta=10000.0, short_factor=[1.0, 1.25, 1.5, 2.0], long_factor=[1.5, 2.0, 4.0, 8.0])
case("longrope", "LlamaForCausalLM", T.LlamaConfig(**llama, rope_parameters=dict(long_factors, factor=4.0, original_max_position_embeddings=16)), hidden=False)
case("longrope_phi3", "Phi3ForCausalLM", T.Phi3Config(**llama, pad_token_id=0, original_max_position_embeddings=32, rope_parameters=dict(long_factors)), hidden=False)
case("longrope_part", "Phi3ForCausalLM", T.Phi3Config(**llama, pad_token_id=0, original_max_position_embeddings=16, rope_parameters=dict(
    long_factors, short_factor=[1.0, 1.5], long_factor=[2.0, 4.0], partial_rotary_factor=0.5, attention_factor=1.2)), hidden=False)
yarn = dict(rope_type="yarn", rope_theta=50.0, factor=4.0, original_max_position_embeddings=16, partial_rotary_factor=0.5)
llama3 = dict(rope_type="llama3", rope_theta=50.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16,
              partial_rotary_factor=0.5)
wide = dict(llama, hidden_size=64)
case("yarn_part", "StableLmForCausalLM", T.StableLmConfig(**wide, rope_parameters=dict(yarn)), hidden=False)
case("yarn_adjacent", "GlmForCausalLM", T.GlmConfig(**wide, head_dim=16, pad_token_id=0, rope_parameters=dict(yarn)), hidden=False)
case("llama3_part", "PhiForCausalLM", T.PhiConfig(**wide, rope_parameters=dict(llama3)), hidden=False)
case("llama3_adjacent", "HeliumForCausalLM", T.HeliumConfig(**wide, head_dim=16, pad_token_id=0, rope_parameters=dict(llama3, partial_rotary_factor=1.0)),
     hidden=False)
case("linear_part", "GPTNeoXForCausalLM", T.GPTNeoXConfig(**bert, rope_parameters=dict(rope_type="linear", factor=3.0, rope_theta=100.0, partial_rotary_factor=0.5)),
     hidden=False)
case("dynamic_part", "StableLmForCausalLM", T.StableLmConfig(**wide, rope_parameters=dict(rope_type="dynamic", factor=3.0, rope_theta=100.0, partial_rotary_factor=0.5)),
     hidden=False)

# Heads.
for base, name, config in (("Bert", "bert", T.BertConfig(**bert, **LABELS)), ("Roberta", "roberta", T.RobertaConfig(**bert, **LABELS)),
                           ("DistilBert", "distilbert", T.DistilBertConfig(**distil, **LABELS)), ("MPNet", "mpnet", T.MPNetConfig(**bert, **LABELS)),
                           ("Electra", "electra", T.ElectraConfig(**bert, embedding_size=8, **LABELS)),
                           ("Albert", "albert", T.AlbertConfig(**bert, embedding_size=8, **LABELS)),
                           ("DebertaV2", "deberta_v2", T.DebertaV2Config(**deberta2, position_buckets=8, norm_rel_ebd="layer_norm", share_att_key=True, **LABELS)),
                           ("RoFormer", "roformer", T.RoFormerConfig(**bert, **LABELS))):
    case(f"{name}_classes", f"{base}ForSequenceClassification", config)
    case(f"{name}_tags", f"{base}ForTokenClassification", config)
    case(f"{name}_masked", f"{base}ForMaskedLM", config)
case("deberta_classes", "DebertaForSequenceClassification", T.DebertaConfig(**deberta2, max_relative_positions=6, **LABELS))
case("deberta_masked", "DebertaForMaskedLM", T.DebertaConfig(**deberta2, max_relative_positions=6))
case("deberta_v2_plain", "DebertaV2Model", T.DebertaV2Config(**deberta2, max_relative_positions=5, share_att_key=False))
case("deberta_v2_one", "DebertaV2Model", T.DebertaV2Config(**{**deberta2, "pos_att_type": ["c2p"]}, position_buckets=6, share_att_key=True))
case("deberta_v2_none", "DebertaV2Model", T.DebertaV2Config(**{**deberta2, "pos_att_type": ["c2p"], "relative_attention": False}))
case("modernbert_classes", "ModernBertForSequenceClassification", T.ModernBertConfig(
    **bert, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2, local_attention=6, global_attn_every_n_layers=2, **LABELS))
for name, cls in (("modernbert_tags", "ModernBertForTokenClassification"), ("modernbert_masked", "ModernBertForMaskedLM")):
    case(name, cls, T.ModernBertConfig(**bert, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2, local_attention=6,
                                       classifier_pooling="mean", **LABELS))
case("vit_classes", "ViTForImageClassification", T.ViTConfig(**vit, **LABELS), pixels=(3, 3, 16, 16))
case("gpt2_next", "GPT2LMHeadModel", T.GPT2Config(vocab_size=VOCAB, n_embd=16, n_layer=2, n_head=2, n_positions=64), hidden=False)
case("gpt_neox_next", "GPTNeoXForCausalLM", T.GPTNeoXConfig(**bert), hidden=False)
case("qwen2_next", "Qwen2ForCausalLM", T.Qwen2Config(**llama), hidden=False)
case("mistral_next", "MistralForCausalLM", T.MistralConfig(**llama, sliding_window=4), hidden=False)
case("gemma3_next", "Gemma3ForCausalLM", T.Gemma3TextConfig(**gemma, rope_parameters=dict(
    full_attention=dict(rope_type="linear", factor=8.0, rope_theta=5000.0), sliding_attention=dict(rope_type="default", rope_theta=100.0))), hidden=False)
case("gemma3_embedding", "Gemma3TextModel", T.Gemma3TextConfig(**gemma, use_bidirectional_attention=True))

# Types that cost a word or some rows.
case("ministral", "MinistralForCausalLM", T.MinistralConfig(**llama, head_dim=8, sliding_window=4, layer_types=["sliding_attention", "full_attention"]), hidden=False)
case("internlm3", "LlamaForCausalLM", T.InternLM3Config(**llama), hidden=False)
case("seed_oss", "SeedOssForCausalLM", T.SeedOssConfig(**llama, head_dim=8), hidden=False)
case("ernie", "ErnieForMaskedLM", T.ErnieConfig(**bert))
case("ernie_tasks", "ErnieModel", T.ErnieConfig(**bert, use_task_id=True))
case("data2vec_text", "Data2VecTextForSequenceClassification", T.Data2VecTextConfig(**bert, **LABELS))
case("plbart", "PLBartForConditionalGeneration", T.PLBartConfig(**bart), decoder=True)
case("vit_msn", "ViTMSNForImageClassification", T.ViTMSNConfig(**vit, **LABELS), pixels=(3, 3, 16, 16))
case("splinter", "SplinterModel", T.SplinterConfig(**bert))
case("nomic_bert", "NomicBertForMaskedLM", T.NomicBertConfig(**bert, head_dim=8))
case("gte", "GteForSequenceClassification", T.GteConfig(**bert, **LABELS))
case("gte_masked", "GteForMaskedLM", T.GteConfig(**bert))
case("eurobert", "EuroBertForMaskedLM", T.EuroBertConfig(**llama, pad_token_id=0, bos_token_id=1, eos_token_id=2))
case("eurobert_classes", "EuroBertForSequenceClassification", T.EuroBertConfig(**llama, pad_token_id=0, bos_token_id=1, eos_token_id=2, **LABELS))
case("smollm3", "SmolLM3ForCausalLM", T.SmolLM3Config(**{**llama, "num_hidden_layers": 4}, pad_token_id=0), hidden=False)
case("gemma", "GemmaForCausalLM", T.GemmaConfig(**llama, head_dim=16), hidden=False)
case("granite", "GraniteForCausalLM", T.GraniteConfig(**llama, embedding_multiplier=3.0, logits_scaling=2.0, residual_multiplier=0.5, attention_multiplier=0.25), hidden=False)
case("phi3", "Phi3ForCausalLM", T.Phi3Config(**llama, pad_token_id=0, sliding_window=6), hidden=False)
case("mbart", "MBartForConditionalGeneration", T.MBartConfig(**bart, scale_embedding=True), decoder=True)
case("pegasus", "PegasusForConditionalGeneration", T.PegasusConfig(**bart, scale_embedding=True), decoder=True)
case("m2m_100", "M2M100ForConditionalGeneration", T.M2M100Config(**bart), decoder=True)
case("t5_encoder", "T5EncoderModel", T.T5Config(vocab_size=VOCAB, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2), attention=False)
case("umt5", "UMT5ForConditionalGeneration", T.UMT5Config(vocab_size=VOCAB, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2), decoder=True)
case("llama_classes", "LlamaForSequenceClassification", T.LlamaConfig(**llama, **LABELS, pad_token_id=0), hidden=False)
case("gpt2_classes", "GPT2ForSequenceClassification", T.GPT2Config(vocab_size=VOCAB, n_embd=16, n_layer=2, n_head=2, n_positions=64, pad_token_id=0, **LABELS), hidden=False)
case("bert_generation", "BertGenerationEncoder", T.BertGenerationConfig(**bert))
case("blenderbot", "BlenderbotForConditionalGeneration", T.BlenderbotConfig(**bart), decoder=True)
case("blenderbot_small", "BlenderbotSmallForConditionalGeneration", T.BlenderbotSmallConfig(**bart), decoder=True)
case("phi", "PhiForCausalLM", T.PhiConfig(**llama), hidden=False)
bigcode = dict(vocab_size=VOCAB, n_embd=16, n_layer=2, n_head=2, n_positions=64, pad_token_id=0)
case("gpt_bigcode", "GPTBigCodeForCausalLM", T.GPTBigCodeConfig(**bigcode), hidden=False)
case("gpt_bigcode_heads", "GPTBigCodeForSequenceClassification", T.GPTBigCodeConfig(**bigcode, multi_query=False, scale_attn_weights=False, **LABELS), hidden=False)
case("gpt_bigcode_tags", "GPTBigCodeForTokenClassification", T.GPTBigCodeConfig(**bigcode, **LABELS), hidden=False)
case("starcoder2", "Starcoder2ForCausalLM", T.Starcoder2Config(**llama), hidden=False)
case("stablelm", "StableLmForCausalLM", T.StableLmConfig(**llama), hidden=False)
case("opt", "OPTForCausalLM", T.OPTConfig(vocab_size=VOCAB, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, ffn_dim=32, max_position_embeddings=64, word_embed_proj_dim=16), hidden=False)
case("glm", "GlmForCausalLM", T.GlmConfig(**llama, head_dim=8, pad_token_id=0), hidden=False)
case("helium", "HeliumForCausalLM", T.HeliumConfig(**llama, head_dim=8, pad_token_id=0), hidden=False)

# Mixtures of experts.
moe = dict(**llama, num_experts_per_tok=2, pad_token_id=0)
case("mixtral", "MixtralForCausalLM", T.MixtralConfig(**moe, num_local_experts=4), hidden=False)
case("mixtral_window", "MixtralForCausalLM", T.MixtralConfig(**moe, num_local_experts=4, sliding_window=4), hidden=False)
case("qwen2_moe", "Qwen2MoeForCausalLM", T.Qwen2MoeConfig(**moe, num_experts=5, moe_intermediate_size=24, shared_expert_intermediate_size=40), hidden=False)
case("qwen2_moe_dense", "Qwen2MoeForCausalLM", T.Qwen2MoeConfig(**{**moe, "num_hidden_layers": 4}, num_experts=5, moe_intermediate_size=24, decoder_sparse_step=2,
                                                                shared_expert_intermediate_size=40, norm_topk_prob=True, use_sliding_window=True,
                                                                sliding_window=4, max_window_layers=3), hidden=False)
case("qwen3_moe", "Qwen3MoeForCausalLM", T.Qwen3MoeConfig(**moe, head_dim=8, num_experts=6, moe_intermediate_size=24, norm_topk_prob=True), hidden=False)
case("olmoe", "OlmoeForCausalLM", T.OlmoeConfig(**moe, num_experts=6), hidden=False)

case("gpt_oss", "GptOssForCausalLM", T.GptOssConfig(**moe, head_dim=8, num_local_experts=5, sliding_window=4), hidden=False)
deepseek = dict(vocab_size=VOCAB, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=4, intermediate_size=48, moe_intermediate_size=24,
                max_position_embeddings=64, n_routed_experts=8, kv_lora_rank=12, qk_rope_head_dim=4, qk_nope_head_dim=6, v_head_dim=10, num_experts_per_tok=3,
                first_k_dense_replace=1, pad_token_id=0)
case("deepseek_v3", "DeepseekV3ForCausalLM", T.DeepseekV3Config(**deepseek, q_lora_rank=14, n_group=4, topk_group=2), hidden=False)
case("deepseek_v3_plain", "DeepseekV3ForCausalLM", T.DeepseekV3Config(**deepseek, q_lora_rank=None, n_group=1, topk_group=1, rope_interleave=False,
                                                                      n_shared_experts=2), hidden=False)
case("deepseek_v3_yarn", "DeepseekV3ForCausalLM", T.DeepseekV3Config(**deepseek, q_lora_rank=14, n_group=4, topk_group=2, rope_parameters=dict(
    rope_type="yarn", rope_theta=50.0, factor=4.0, mscale=1.0, mscale_all_dim=0.7, beta_fast=8, original_max_position_embeddings=16)), hidden=False)
case("deepseek_v3_yarn_halves", "DeepseekV3ForCausalLM", T.DeepseekV3Config(**deepseek, q_lora_rank=None, n_group=1, topk_group=1, rope_interleave=False, rope_parameters=dict(
    rope_type="yarn", rope_theta=100.0, factor=8.0, mscale=1.0, mscale_all_dim=1.0, original_max_position_embeddings=16)), hidden=False)
case("diffllama", "DiffLlamaForCausalLM", T.DiffLlamaConfig(**{**llama, "num_attention_heads": 8, "num_key_value_heads": 4}), hidden=False)

glm = dict(vocab_size=VOCAB, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, intermediate_size=48, moe_intermediate_size=24,
           max_position_embeddings=64, n_routed_experts=6, n_shared_experts=1, num_experts_per_tok=2, pad_token_id=0)
case("glm4_moe", "Glm4MoeForCausalLM", T.Glm4MoeConfig(**glm, head_dim=8, attention_bias=True), hidden=False)
case("glm4_moe_norms", "Glm4MoeForCausalLM", T.Glm4MoeConfig(**glm, use_qk_norm=True, n_group=3, topk_group=2, norm_topk_prob=False), hidden=False)
case("dots1", "Dots1ForCausalLM", T.Dots1Config(**glm, sliding_window=4, max_window_layers=1, head_dim=8), hidden=False)
case("switch", "SwitchTransformersForConditionalGeneration", T.SwitchTransformersConfig(
    vocab_size=VOCAB, d_model=16, d_kv=8, d_ff=32, num_layers=3, num_decoder_layers=2, num_heads=2, num_experts=4, num_sparse_encoder_layers=1,
    num_sparse_decoder_layers=2, router_bias=True), decoder=True)

# Running sums.
mamba2 = dict(vocab_size=VOCAB, hidden_size=16, num_hidden_layers=2, num_heads=4, head_dim=8, state_size=4, conv_kernel=4, pad_token_id=0)
case("mamba2", "Mamba2ForCausalLM", T.Mamba2Config(**mamba2, n_groups=2), hidden=False, attention=False)
case("mamba2_limits", "Mamba2ForCausalLM", T.Mamba2Config(**mamba2, n_groups=1, use_bias=True, time_step_limit=(0.5, 0.8), tie_word_embeddings=True), hidden=False,
     attention=False)
case("rwkv", "RwkvForCausalLM", T.RwkvConfig(vocab_size=VOCAB, hidden_size=16, num_hidden_layers=3, intermediate_size=32, rescale_every=2),
     hidden=False, attention=False)

convbert = dict(bert, embedding_size=8, num_attention_heads=4, conv_kernel_size=5)
case("convbert_masked", "ConvBertForMaskedLM", T.ConvBertConfig(**convbert), attention=False)
case("convbert_classes", "ConvBertForSequenceClassification", T.ConvBertConfig(**convbert, **LABELS), attention=False)
case("mamba", "MambaForCausalLM", T.MambaConfig(vocab_size=VOCAB, hidden_size=16, num_hidden_layers=2, state_size=4, conv_kernel=3, time_step_rank=3, pad_token_id=0),
     hidden=False, attention=False)
case("mamba_bias", "MambaForCausalLM", T.MambaConfig(vocab_size=VOCAB, hidden_size=16, num_hidden_layers=1, state_size=3, expand=3, use_bias=True, use_conv_bias=False,
                                                     hidden_act="gelu", pad_token_id=0, tie_word_embeddings=False), hidden=False, attention=False)

# Mixing without attention.
fnet = dict(vocab_size=VOCAB, hidden_size=18, num_hidden_layers=2, intermediate_size=32, max_position_embeddings=64, pad_token_id=0)
case("fnet_masked", "FNetForMaskedLM", T.FNetConfig(**fnet), attention=False)
case("fnet_classes", "FNetForSequenceClassification", T.FNetConfig(**fnet, **LABELS), attention=False)
case("nystromformer_masked", "NystromformerForMaskedLM", T.NystromformerConfig(**bert, conv_kernel_size=5), attention=False)
case("nystromformer_classes", "NystromformerForSequenceClassification", T.NystromformerConfig(**bert, conv_kernel_size=1, **LABELS), attention=False)
xlnet = dict(vocab_size=VOCAB, d_model=16, n_layer=2, n_head=2, d_inner=32)
case("xlnet_masked", "XLNetLMHeadModel", T.XLNetConfig(**xlnet), attention=False)
case("xlnet_causal", "XLNetForTokenClassification", T.XLNetConfig(**xlnet, attn_type="uni", clamp_len=4, **LABELS), attention=False)
case("xlnet_classes", "XLNetForSequenceClassification", T.XLNetConfig(**xlnet, **LABELS), attention=False)
case("yoso_masked", "YosoForMaskedLM", T.YosoConfig(**bert, hash_code_len=4), attention=False)
case("yoso_classes", "YosoForSequenceClassification", T.YosoConfig(**bert, conv_window=3, **LABELS), attention=False)
case("big_bird_masked", "BigBirdForMaskedLM", T.BigBirdConfig(**bert, attention_type="block_sparse", block_size=2, num_random_blocks=1, pad_token_id=0), attention=False)
case("vivit_classes", "VivitForVideoClassification", T.VivitConfig(**{k: v for k, v in vit.items() if k != "patch_size"}, num_frames=4, tubelet_size=[2, 8, 8], **LABELS),
     pixels=(2, 4, 3, 16, 16))

# Learned rows that read the others.
perceiver = dict(vocab_size=VOCAB, num_latents=4, d_latents=16, d_model=24, num_blocks=2, num_self_attends_per_block=2, num_self_attention_heads=4,
                 num_cross_attention_heads=2, max_position_embeddings=20)
case("perceiver_masked", "PerceiverForMaskedLM", T.PerceiverConfig(**perceiver), attention=False)
case("perceiver_classes", "PerceiverForSequenceClassification", T.PerceiverConfig(**perceiver, qk_channels=8, v_channels=16, use_query_residual=False,
                                                                                  self_attention_widening_factor=3, cross_attention_widening_factor=2, **LABELS),
     attention=False)
case("perceiver_pixels", "PerceiverForImageClassificationLearned", T.PerceiverConfig(**perceiver, image_size=4, cross_attention_shape_for_attention="q", **LABELS),
     pixels=(2, 3, 4, 4))

# Rows that are halved.
funnel = dict(vocab_size=VOCAB, block_sizes=[2, 1, 2], d_model=16, n_head=2, d_head=6, d_inner=24)
case("funnel_masked", "FunnelForMaskedLM", T.FunnelConfig(**funnel), attention=False)
case("funnel_classes", "FunnelForSequenceClassification", T.FunnelConfig(**funnel, block_repeats=[2, 1, 2], pooling_type="max", truncate_seq=False, **LABELS), attention=False)
case("funnel_tags", "FunnelForTokenClassification", T.FunnelConfig(**funnel, separate_cls=False, pool_q_only=False, **LABELS), attention=False)
case("funnel_replaced", "FunnelForPreTraining", T.FunnelConfig(**{**funnel, "block_sizes": [1, 2]}, block_repeats=[3, 2], separate_cls=False,
                                                               attention_type="factorized", num_decoder_layers=1), attention=False)

# With transformers 4.35, the last one that has it: python tests/transformers/make.py FOLDER mega_masked ...
mega = dict(vocab_size=VOCAB, hidden_size=16, num_hidden_layers=2, intermediate_size=24, ema_projection_size=3, shared_representation_size=8, max_positions=32,
            nffn_hidden_size=20)
case("mega_masked", "MegaForMaskedLM", T.MegaConfig(**mega, normalize_before_mega=False, normalize_before_ffn=False, normalization_type="layernorm"), attention=False)
case("mega_causal", "MegaForCausalLM", T.MegaConfig(**mega, is_decoder=True, bidirectional=False, relative_positional_bias="simple", normalization_type="rmsnorm",
                                                    add_lm_hidden_dense_layer=False), attention=False)
case("mega_classes", "MegaForSequenceClassification", T.MegaConfig(**mega, norm_affine=False, use_normalized_ffn=False, add_token_type_embeddings=True, activation="gelu",
                                                                   **LABELS), attention=False)
case("mega_chunked", "MegaForTokenClassification", T.MegaConfig(**mega, use_chunking=True, chunk_size=4, relative_positional_bias="simple", **LABELS), attention=False)

# Hashes of rows, chunks that read their neighbours.
reformer = dict(vocab_size=VOCAB, hidden_size=16, attention_head_size=6, num_attention_heads=2, feed_forward_size=24, axial_pos_shape=[4, 8], axial_pos_embds_dim=[6, 10],
                max_position_embeddings=30, hash_seed=5, local_attn_chunk_length=3, lsh_attn_chunk_length=2)
case("reformer_trained", "ReformerModelWithLMHead", T.ReformerConfig(**{**reformer, "axial_pos_shape": [4, 6]}, attn_layers=["local", "lsh"], is_decoder=True,
                                                                     num_buckets=4), hidden=False, attention=False, lengths=[24, 24])
case("reformer_next", "ReformerModelWithLMHead", T.ReformerConfig(**reformer, attn_layers=["local", "lsh", "lsh"], is_decoder=True, num_buckets=4, num_hashes=3),
     hidden=False, attention=False)
case("reformer_masked", "ReformerForMaskedLM", T.ReformerConfig(**reformer, attn_layers=["lsh", "local"], num_buckets=[2, 4], num_hashes=2, lsh_num_chunks_after=1,
                                                                local_num_chunks_before=2, local_num_chunks_after=1, axial_pos_embds=False), hidden=False, attention=False)
case("reformer_classes", "ReformerForSequenceClassification", T.ReformerConfig(**reformer, attn_layers=["lsh"], num_buckets=6, **LABELS), hidden=False, attention=False)

# Windows of images.
swin = dict(image_size=16, patch_size=2, embed_dim=8, depths=[2, 2], num_heads=[1, 2], window_size=4)
case("swin_classes", "SwinForImageClassification", T.SwinConfig(**swin, **LABELS), pixels=(3, 3, 16, 16))
case("swin_absolute", "SwinModel", T.SwinConfig(**{**swin, "window_size": 2, "depths": [1, 2, 2], "num_heads": [2, 2, 4]}, qkv_bias=False, use_absolute_embeddings=True),
     pixels=(2, 3, 16, 16))
case("swinv2_classes", "Swinv2ForImageClassification", T.Swinv2Config(**swin, pretrained_window_sizes=[3, 0], **LABELS), pixels=(3, 3, 16, 16))

# Blocks: sums of blocks of words, global rows, grids of cells.
longt5 = dict(vocab_size=VOCAB, d_model=16, d_kv=6, d_ff=32, num_layers=2, num_heads=2, local_radius=2, global_block_size=4,
              encoder_attention_type="transient-global", relative_attention_num_buckets=8, relative_attention_max_distance=12)
case("longt5_global", "LongT5ForConditionalGeneration", T.LongT5Config(**longt5, feed_forward_proj="gated-gelu", tie_word_embeddings=False), decoder=True,
     attention=False)
case("longt5_global_plain", "LongT5EncoderModel", T.LongT5Config(**{**longt5, "local_radius": 1, "global_block_size": 2}), attention=False)
case("t5_reach", "T5ForConditionalGeneration", T.T5Config(vocab_size=VOCAB, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2,
                                                           relative_attention_num_buckets=8, relative_attention_max_distance=12), decoder=True, attention=False)
pegasus_x = dict(**{k: v for k, v in bart.items() if k != "max_position_embeddings"}, max_position_embeddings=64, num_global_tokens=3, block_size=4)
case("pegasus_x", "PegasusXForConditionalGeneration", T.PegasusXConfig(**{**pegasus_x, "encoder_layers": 3}), decoder=True, attention=False)
case("pegasus_x_even", "PegasusXModel", T.PegasusXConfig(**{**pegasus_x, "block_size": 3}, stagger_local_blocks=False, scale_embedding=False,
                                                        activation_function="relu"), decoder=True, attention=False)
poolformer = dict(num_encoder_blocks=3, depths=[1, 2, 1], hidden_sizes=[8, 12, 16], patch_sizes=[7, 3, 3], strides=[2, 2, 1], padding=[2, 1, 0], mlp_ratio=2.0)
case("poolformer_classes", "PoolFormerForImageClassification", T.PoolFormerConfig(**poolformer, **LABELS), pixels=(3, 3, 19, 19))
case("poolformer_plain", "PoolFormerModel", T.PoolFormerConfig(**{**poolformer, "patch_sizes": [4, 2, 5]}, num_channels=2, pool_size=5, use_layer_scale=False),
     pixels=(2, 2, 20, 20))
case("poolformer_wide", "PoolFormerForImageClassification", T.PoolFormerConfig(**poolformer, **LABELS), pixels=(2, 3, 16, 25))  # 20 x 20 pixels, too

# A memory of zeros; transformers 4.35.2.
xl = dict(vocab_size=VOCAB, cutoffs=[15, 25], d_model=16, d_embed=12, n_head=2, d_head=6, d_inner=24, n_layer=2, mem_len=6)
case("transfo_xl", "TransfoXLModel", T.TransfoXLConfig(**xl, div_val=2, clamp_len=4), attention=False)
case("transfo_xl_one", "TransfoXLModel", T.TransfoXLConfig(**xl, div_val=1, clamp_len=-1, same_length=False, pre_lnorm=True), attention=False)
case("transfo_xl_logits", "TransfoXLLMHeadModel", T.TransfoXLConfig(**xl, div_val=2), hidden=False, attention=False)
case("transfo_xl_logits_one", "TransfoXLLMHeadModel", T.TransfoXLConfig(**{**xl, "d_embed": 16}, div_val=1), hidden=False, attention=False)

# Types that golden folders have, for keys.py.
case("gptj", "GPTJForCausalLM", T.GPTJConfig(vocab_size=VOCAB, n_embd=16, n_layer=2, n_head=2, n_positions=64, rotary_dim=4), hidden=False)
case("gpt_neo", "GPTNeoForCausalLM", T.GPTNeoConfig(vocab_size=VOCAB, hidden_size=16, num_layers=2, num_heads=2, max_position_embeddings=64,
                                                    attention_types=[[["global", "local"], 1]], window_size=4), hidden=False)
case("bloom", "BloomForCausalLM", T.BloomConfig(vocab_size=VOCAB, hidden_size=16, n_layer=2, n_head=2), hidden=False)
case("falcon", "FalconForCausalLM", T.FalconConfig(vocab_size=VOCAB, hidden_size=16, num_hidden_layers=2, num_attention_heads=2), hidden=False)
case("falcon_grouped", "FalconForCausalLM", T.FalconConfig(vocab_size=VOCAB, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                                                           new_decoder_architecture=True, num_kv_heads=2, bias=True), hidden=False)
case("mpt", "MptForCausalLM", T.MptConfig(vocab_size=VOCAB, d_model=16, n_layers=2, n_heads=2, max_seq_len=64), hidden=False)
case("gemma2", "Gemma2ForCausalLM", T.Gemma2Config(**gemma), hidden=False)
case("olmo2", "Olmo2ForCausalLM", T.Olmo2Config(**llama), hidden=False)
case("qwen3", "Qwen3ForCausalLM", T.Qwen3Config(**llama, head_dim=8), hidden=False)
case("t5", "T5ForConditionalGeneration", T.T5Config(vocab_size=VOCAB, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2), decoder=True)
case("longt5", "LongT5ForConditionalGeneration", T.LongT5Config(vocab_size=VOCAB, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, local_radius=3, feed_forward_proj="gated-gelu", tie_word_embeddings=False), decoder=True)
case("mt5", "MT5ForConditionalGeneration", T.MT5Config(vocab_size=VOCAB, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2), decoder=True)
case("marian", "MarianMTModel", T.MarianConfig(**bart, pad_token_id=0, decoder_start_token_id=0, eos_token_id=1, forced_eos_token_id=1), decoder=True)
case("xlm_roberta", "XLMRobertaForMaskedLM", T.XLMRobertaConfig(**bert))
case("camembert", "CamembertForMaskedLM", T.CamembertConfig(**bert))
case("bert_answers", "BertForQuestionAnswering", T.BertConfig(**bert))
longformer = dict(**bert, attention_window=[4, 8], pad_token_id=1, sep_token_id=2)
case("longformer", "LongformerModel", T.LongformerConfig(**longformer), attention=False)
case("longformer_classes", "LongformerForSequenceClassification", T.LongformerConfig(**longformer, **LABELS), attention=False)
case("longformer_masked", "LongformerForMaskedLM", T.LongformerConfig(**longformer), attention=False)
case("longformer_answers", "LongformerForQuestionAnswering", T.LongformerConfig(**longformer), attention=False)
case("led", "LEDForConditionalGeneration", T.LEDConfig(**{k: v for k, v in bart.items() if k != "max_position_embeddings"}, attention_window=[4, 4],
                                                       max_encoder_position_embeddings=64, max_decoder_position_embeddings=64), decoder=True, attention=False)

case("big_bird", "BigBirdForMaskedLM", T.BigBirdConfig(**bert, attention_type="original_full"))
case("dinov2", "Dinov2Model", T.Dinov2Config(**{k: v for k, v in vit.items() if k != "intermediate_size"}, mlp_ratio=2), pixels=(3, 3, 16, 16))
case("llama_answers", "LlamaForQuestionAnswering", T.LlamaConfig(**llama))
case("qwen3_answers", "Qwen3ForQuestionAnswering", T.Qwen3Config(**llama, head_dim=8))

if __name__ == "__main__":
    for c in ALL:
        if not sys.argv[2:] or c["name"] in sys.argv[2:]:
            make(sys.argv[1], c)
