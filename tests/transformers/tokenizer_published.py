"""tokenizer_config.json and special_tokens_map.json as well-known repositories publish them, in
their own keys, older ones as well, with small tokenizer.json files of their families: ids, pairs,
cuts and texts beside transformers' AutoTokenizer.

    python tests/transformers/tokenizer_published.py LIBRARY FOLDER [NAME...]        transformers 5.24

A line for each that is not equal; exit 1 where one is silent. `decoder`: the file lists its added
tokens; `mt`: the folder's model_type.
"""
import collections
import json
import os
import shutil
import sys

from tokenizer_folders import BARE, judge, load, put, saved

BIG = 1000000000000000019884624838656


def A(c, normalized=True, **more):
    return {"__type": "AddedToken", **M(c, normalized, **more)}


def M(c, normalized=False, lstrip=False):
    return {"content": c, "lstrip": lstrip, "normalized": normalized, "rstrip": False, "single_word": False}


B = dict(unk_token="[UNK]", sep_token="[SEP]", pad_token="[PAD]", cls_token="[CLS]", mask_token="[MASK]")
R = dict(bos_token="<s>", eos_token="</s>", sep_token="</s>", cls_token="<s>", unk_token="<unk>", pad_token="<pad>")
PUBLISHED = {}


def add(name, family, config, special=None, mt=None):
    PUBLISHED[name] = family, config, special, mt


add("google-bert/bert-base-uncased", "bert", dict(do_lower_case=True, model_max_length=512))
add("google-bert/bert-base-cased", "bert_cased", dict(do_lower_case=False, model_max_length=512))
add("dslim/bert-base-NER", "bert_cased", dict(do_lower_case=False, max_len=512, init_inputs=[]), B)
add("all-MiniLM-L6-v2", "bert", dict(do_lower_case=True, **B, tokenize_chinese_chars=True, strip_accents=None, name_or_path="nreimers/MiniLM-L6-H384-uncased",
    do_basic_tokenize=True, never_split=None, tokenizer_class="BertTokenizer", model_max_length=512), B)
add("all-MiniLM-L12-v1 (2021)", "bert", dict(do_lower_case=True, **B, tokenize_chinese_chars=True, strip_accents=None, model_max_length=512, special_tokens_map_file=None,
    name_or_path="x", do_basic_tokenize=True, never_split=None), B)
add("bge-small-en-v1.5", "bert", dict(clean_up_tokenization_spaces=True, do_basic_tokenize=True, do_lower_case=True, never_split=None, strip_accents=None,
    tokenize_chinese_chars=True, tokenizer_class="BertTokenizer", model_max_length=512, **B), B)
add("bge with decoder", "bert", dict(decoder=True, clean_up_tokenization_spaces=True, do_basic_tokenize=True, do_lower_case=True, never_split=None, strip_accents=None,
    tokenize_chinese_chars=True, tokenizer_class="BertTokenizer", model_max_length=512, **B), {k: M(v) for k, v in B.items()})
add("snowflake-arctic-embed", "bert", dict(decoder=True, additional_special_tokens=[], clean_up_tokenization_spaces=True, do_lower_case=True, max_length=512,
    pad_to_multiple_of=None, pad_token_type_id=0, padding_side="right", stride=0, strip_accents=None, tokenize_chinese_chars=True, tokenizer_class="BertTokenizer",
    truncation_side="right", truncation_strategy="longest_first", model_max_length=512, **B), B)
add("nomic-embed", "bert", dict(decoder=True, clean_up_tokenization_spaces=True, do_lower_case=True, model_max_length=8192, strip_accents=None, tokenize_chinese_chars=True,
    tokenizer_class="BertTokenizer", **B), B)
add("ms-marco-MiniLM", "bert", dict(do_lower_case=True, **B, tokenize_chinese_chars=True, strip_accents=None, name_or_path="microsoft/MiniLM-L12-H384-uncased",
    do_basic_tokenize=True, never_split=None, model_max_length=512), B)
add("ms-marco v2 with extras", "bert", dict(decoder=True, clean_up_tokenization_spaces=True, do_basic_tokenize=True, do_lower_case=True, extra_special_tokens={},
    model_max_length=512, never_split=None, strip_accents=None, tokenize_chinese_chars=True, tokenizer_class="BertTokenizer", **B), B)
add("distilbert-base-uncased", "distilbert", dict(do_lower_case=True, model_max_length=512, strip_accents=False))
add("electra", "electra", dict(do_lower_case=True, model_max_length=512, tokenize_chinese_chars=False))
add("all-mpnet-base-v2", "mpnet", dict(do_lower_case=True, bos_token="<s>", eos_token="</s>", sep_token="</s>", cls_token="<s>", unk_token="[UNK]", pad_token="<pad>",
    mask_token="<mask>", tokenize_chinese_chars=True, strip_accents=None, model_max_length=512, special_tokens_map_file=None, name_or_path="microsoft/mpnet-base",
    tokenizer_class="MPNetTokenizer"), {**R, "unk_token": "[UNK]", "mask_token": M("<mask>", lstrip=True)})
add("roberta-base", "roberta", dict(model_max_length=512))
add("roberta-large-mnli", "roberta", dict())
add("twitter-roberta", "roberta", None, {**R, "mask_token": M("<mask>", lstrip=True)})
add("roberta-base-squad2", "roberta", dict(do_lower_case=False, model_max_length=512, full_tokenizer_file=None), {**R, "mask_token": M("<mask>", lstrip=True)})
add("distilroberta v1 (all)", "roberta", dict(unk_token=A("<unk>"), bos_token=A("<s>"), eos_token=A("</s>"), add_prefix_space=False, errors="replace", sep_token=A("</s>"),
    cls_token=A("<s>"), pad_token=A("<pad>"), mask_token=A("<mask>", lstrip=True), model_max_length=512, special_tokens_map_file=None, name_or_path="x",
    tokenizer_class="RobertaTokenizer"), {**R, "mask_token": M("<mask>", lstrip=True)})
add("roberta trim", "roberta", dict(unk_token="<unk>", add_prefix_space=False, errors="replace", trim_offsets=True, sep_token="</s>", cls_token="<s>", pad_token="<pad>",
    bos_token="<s>", eos_token="</s>", mask_token="<mask>", model_max_length=512, tokenizer_class="RobertaTokenizer"))
add("gpt2", "gpt2", dict(model_max_length=1024))
add("gpt-j", "gpt2", dict(add_prefix_space=False, errors="replace", unk_token=A("<|endoftext|>"), bos_token=A("<|endoftext|>"), eos_token=A("<|endoftext|>"),
    model_max_length=2048, tokenizer_class="GPT2Tokenizer", special_tokens_map_file=None, name_or_path="gpt2", from_slow=True))
add("cerebras", "gpt2", dict(add_bos_token=False, add_prefix_space=False, bos_token=A("<|endoftext|>"), eos_token=A("<|endoftext|>"), errors="replace", model_max_length=1024,
    pad_token=None, tokenizer_class="GPT2Tokenizer", unk_token=A("<|endoftext|>")))
add("smollm2", "gpt2", dict(decoder=True, add_prefix_space=False, additional_special_tokens=["<|endoftext|>"], bos_token="<|endoftext|>", clean_up_tokenization_spaces=False,
    eos_token="<|endoftext|>", model_max_length=8192, tokenizer_class="GPT2Tokenizer", unk_token="<|endoftext|>", vocab_size=49152,
    chat_template="{% for m in messages %}{% endfor %}", pad_token="<|endoftext|>"))
add("phi-2", "gpt2", dict(decoder=True, add_prefix_space=False, bos_token="<|endoftext|>", clean_up_tokenization_spaces=True, eos_token="<|endoftext|>",
    model_max_length=2048, tokenizer_class="CodeGenTokenizer", unk_token="<|endoftext|>"))
add("phi-1_5", "gpt2", dict(add_prefix_space=False, bos_token="<|endoftext|>", clean_up_tokenization_spaces=True, eos_token="<|endoftext|>", model_max_length=2048,
    tokenizer_class="CodeGenTokenizer", unk_token="<|endoftext|>", return_token_type_ids=False))
add("opt", "opt", dict(errors="replace", unk_token=A("</s>"), bos_token=A("</s>"), eos_token=A("</s>"), pad_token=A("<pad>"), add_prefix_space=False, add_bos_token=True,
    special_tokens_map_file=None, name_or_path="patrickvonplaten/opt-30b", tokenizer_class="GPT2Tokenizer"))
add("pythia", "gpt_neox", dict(add_prefix_space=False, bos_token="<|endoftext|>", eos_token="<|endoftext|>", name_or_path="EleutherAI/gpt-neox-20b",
    special_tokens_map_file="special_tokens_map.json", tokenizer_class="GPTNeoXTokenizer", unk_token="<|endoftext|>"))
add("falcon", "gpt_neox", dict(add_prefix_space=False, eos_token="<|endoftext|>", model_input_names=["input_ids", "attention_mask"], model_max_length=2048,
    name_or_path="tiiuae/falcon_tokenizer", special_tokens_map_file=None, tokenizer_class="PreTrainedTokenizerFast"))
add("bloom", "gpt_neox", dict(unk_token="<|endoftext|>", eos_token="<|endoftext|>", bos_token="<|endoftext|>", pad_token="<|padding|>", name_or_path="bigscience/tokenizer",
    special_tokens_map_file=None, tokenizer_class="BloomTokenizerFast", padding_side="left"))
add("mpt", "gpt_neox", dict(add_prefix_space=False, bos_token="<|endoftext|>", clean_up_tokenization_spaces=True, eos_token="<|endoftext|>", model_max_length=2048,
    tokenizer_class="GPTNeoXTokenizer", unk_token="<|endoftext|>"))
add("modernbert", "gpt_neox", dict(decoder=True, clean_up_tokenization_spaces=True, cls_token="<|endoftext|>", extra_special_tokens={}, mask_token="<|padding|>",
    model_input_names=["input_ids", "attention_mask"], model_max_length=8192, pad_token="<|padding|>", sep_token="<|endoftext|>", tokenizer_class="PreTrainedTokenizerFast",
    unk_token="<|endoftext|>"))
add("qwen2.5", "qwen2", dict(decoder=True, add_bos_token=False, add_prefix_space=False, additional_special_tokens=["<|endoftext|>"], bos_token=None, chat_template="x",
    clean_up_tokenization_spaces=False, eos_token="<|endoftext|>", errors="replace", model_max_length=131072, pad_token="<|endoftext|>", split_special_tokens=False,
    tokenizer_class="Qwen2Tokenizer", unk_token=None))
add("qwen3-embedding", "qwen2", dict(decoder=True, add_bos_token=False, add_prefix_space=False, additional_special_tokens=["<|endoftext|>"], bos_token=None,
    chat_template="x", clean_up_tokenization_spaces=False, eos_token="<|endoftext|>", errors="replace", extra_special_tokens={}, model_max_length=131072,
    pad_token="<|endoftext|>", split_special_tokens=False, tokenizer_class="Qwen2Tokenizer", unk_token=None))
add("llama-3", "qwen2", dict(decoder=True, bos_token="<|endoftext|>", chat_template="x", clean_up_tokenization_spaces=True, eos_token="<|endoftext|>",
    model_input_names=["input_ids", "attention_mask"], model_max_length=131072, tokenizer_class="PreTrainedTokenizerFast"), mt="llama")
add("bart-large-cnn", "bart", dict(model_max_length=1024))
add("bart-base", "bart", dict())
add("longformer", "roberta", dict(model_max_length=4096), mt="longformer")
add("led", "bart", dict(model_max_length=16384), mt="led")
add("deberta-base", "deberta", dict(do_lower_case=False, vocab_type="gpt2"))
add("deberta-v3-base", "deberta_v3", dict(do_lower_case=False, vocab_type="spm"))
add("nli-deberta-v3", "deberta_v3", dict(do_lower_case=False, bos_token="[CLS]", eos_token="[SEP]", **B, split_by_punct=False, sp_model_kwargs={}, vocab_type="spm",
    model_max_length=512, special_tokens_map_file=None, name_or_path="microsoft/deberta-v3-base",
    tokenizer_class="DebertaV2Tokenizer"), {**B, "bos_token": "[CLS]", "eos_token": "[SEP]"})
add("mxbai-rerank", "deberta_v3", dict(decoder=True, bos_token="[CLS]", clean_up_tokenization_spaces=True, do_lower_case=False, eos_token="[SEP]", model_max_length=512,
    sp_model_kwargs={}, split_by_punct=False, tokenizer_class="DebertaV2Tokenizer", vocab_type="spm",
    **B), {**{k: M(v) for k, v in B.items()}, "bos_token": "[CLS]", "eos_token": "[SEP]"})
add("xlm-roberta-base", "xlm_roberta", dict(model_max_length=512))
add("bge-m3", "xlm_roberta", dict(decoder=True, clean_up_tokenization_spaces=True, mask_token="<mask>", model_max_length=8192, sp_model_kwargs={},
    tokenizer_class="XLMRobertaTokenizer", **R), {**{k: M(v) for k, v in R.items()}, "mask_token": M("<mask>", lstrip=True)})
add("multilingual-e5", "xlm_roberta", dict(mask_token=A("<mask>", lstrip=True), model_max_length=512, special_tokens_map_file="special_tokens_map.json", sp_model_kwargs={},
    tokenizer_class="XLMRobertaTokenizer", **R), {**R, "mask_token": M("<mask>", lstrip=True)})
add("paraphrase-multilingual", "xlm_roberta", dict(unk_token="<unk>", sep_token="</s>", cls_token="<s>", bos_token="<s>", eos_token="</s>", pad_token="<pad>",
    mask_token=A("<mask>", lstrip=True), model_max_length=512, special_tokens_map_file="x", name_or_path="old_models/paraphrase", stride=0, max_length=128,
    truncation_side="right", truncation_strategy="longest_first", pad_to_multiple_of=None, pad_token_type_id=0,
    padding_side="right"), {**R, "mask_token": M("<mask>", lstrip=True)}, mt="bert")
add("arctic-embed-l-v2", "xlm_roberta", dict(decoder=True, clean_up_tokenization_spaces=True, mask_token="<mask>", max_length=512, model_max_length=8192,
    pad_to_multiple_of=None, pad_token_type_id=0, padding_side="right", stride=0, tokenizer_class="XLMRobertaTokenizer", truncation_side="right",
    truncation_strategy="longest_first", **R, extra_special_tokens={}), None)
add("camembert-base", "camembert", dict(model_max_length=512))
add("t5-small", "t5", dict(additional_special_tokens=[f"<extra_id_{k}>" for k in range(100)], eos_token="</s>", extra_ids=100, model_max_length=512, pad_token="<pad>",
    unk_token="<unk>"))
add("flan-t5", "t5", dict(additional_special_tokens=[f"<extra_id_{k}>" for k in range(100)], eos_token="</s>", extra_ids=100, model_max_length=512,
    name_or_path="google/t5-v1_1-small", pad_token="<pad>", sp_model_kwargs={}, special_tokens_map_file="special_tokens_map.json", tokenizer_class="T5Tokenizer",
    unk_token="<unk>"), dict(additional_special_tokens=[f"<extra_id_{k}>" for k in range(100)], eos_token="</s>", pad_token="<pad>", unk_token="<unk>"))
add("mt5-small", "mt5", dict(eos_token="</s>", unk_token="<unk>", pad_token="<pad>", extra_ids=0, additional_special_tokens=None,
    special_tokens_map_file="special_tokens_map.json", tokenizer_file=None, name_or_path="google/mt5-small", sp_model_kwargs={},
    tokenizer_class="T5Tokenizer"), dict(eos_token="</s>", unk_token="<unk>", pad_token="<pad>"))
add("albert-base-v2", "albert", dict(model_max_length=512))
add("xlnet-base", "xlnet", dict())
add("bigbird", "bigbird", dict(bos_token="<s>", eos_token="</s>", unk_token="<unk>", sep_token="[SEP]", pad_token="<pad>", cls_token="[CLS]",
    mask_token=A("[MASK]", lstrip=True), sp_model_kwargs={}, model_max_length=4096, special_tokens_map_file="x", name_or_path="x", tokenizer_class="BigBirdTokenizer"))
add("llama-2", "llama", dict(add_bos_token=True, add_eos_token=False, bos_token=A("<s>", normalized=False), clean_up_tokenization_spaces=False,
    eos_token=A("</s>", normalized=False), legacy=False, model_max_length=BIG, pad_token=None, padding_side="right", sp_model_kwargs={}, tokenizer_class="LlamaTokenizer",
    unk_token=A("<unk>", normalized=False)), dict(bos_token=M("<s>"), eos_token=M("</s>"), unk_token=M("<unk>")))
add("vicuna", "llama_legacy", dict(add_bos_token=True, add_eos_token=False, bos_token=A("<s>", normalized=False), clean_up_tokenization_spaces=False,
    eos_token=A("</s>", normalized=False), legacy=True, model_max_length=4096, pad_token=None, padding_side="right", sp_model_kwargs={}, tokenizer_class="LlamaTokenizer",
    unk_token=A("<unk>", normalized=False)))
add("mistral-7b-v0.1", "llama_legacy", dict(decoder=True, add_bos_token=True, add_eos_token=False, additional_special_tokens=[], bos_token="<s>",
    clean_up_tokenization_spaces=False, eos_token="</s>", legacy=True, model_max_length=BIG, pad_token=None, sp_model_kwargs={}, spaces_between_special_tokens=False,
    tokenizer_class="LlamaTokenizer", unk_token="<unk>", use_default_system_prompt=True), mt="mistral")
add("tinyllama-chat", "llama", dict(decoder=True, bos_token="<s>", chat_template="x", clean_up_tokenization_spaces=False, eos_token="</s>", legacy=False,
    model_max_length=2048, pad_token="</s>", padding_side="right", sp_model_kwargs={}, tokenizer_class="LlamaTokenizer", unk_token="<unk>", use_default_system_prompt=False))
add("phi-3-mini", "llama", dict(decoder=True, add_bos_token=False, add_eos_token=False, bos_token="<s>", chat_template="x", clean_up_tokenization_spaces=False,
    eos_token="</s>", legacy=False, model_max_length=4096, pad_token="</s>", padding_side="left", sp_model_kwargs={}, tokenizer_class="LlamaTokenizer", unk_token="<unk>",
    use_default_system_prompt=False), mt="phi3")
add("gemma-2b", "gemma", dict(decoder=True, add_bos_token=True, add_eos_token=False, additional_special_tokens=[], bos_token="<bos>", clean_up_tokenization_spaces=False,
    eos_token="<eos>", legacy=None, model_max_length=BIG, pad_token="<pad>", sp_model_kwargs={}, spaces_between_special_tokens=False, tokenizer_class="GemmaTokenizer",
    unk_token="<unk>", use_default_system_prompt=False))
add("embeddinggemma", "gemma", dict(decoder=True, add_bos_token=True, add_eos_token=True, bos_token="<bos>", clean_up_tokenization_spaces=False, eos_token="<eos>",
    extra_special_tokens={}, mask_token="<mask>", model_max_length=2048, pad_token="<pad>", padding_side="right", sp_model_kwargs=None, spaces_between_special_tokens=False,
    tokenizer_class="GemmaTokenizer", unk_token="<unk>", use_default_system_prompt=False))
add("opus-mt 2020", "marian", dict(target_lang="de", source_lang="en"))
add("opus-mt 2022", "marian", dict(source_lang=None, target_lang=None, unk_token="<unk>", eos_token="</s>", pad_token="<pad>", model_max_length=512, sp_model_kwargs={},
    separate_vocabs=False, special_tokens_map_file=None, name_or_path="Helsinki-NLP/opus-mt-en-de", tokenizer_class="MarianTokenizer"))
add("m2m100", "m2m100", dict(src_lang=None, tgt_lang=None, bos_token="<s>", eos_token="</s>", sep_token="</s>", unk_token="<unk>", pad_token="<pad>", language_codes="m2m100",
    num_madeup_words=8, sp_model_kwargs={}, special_tokens_map_file="m2m_100_1.2B_v2/special_tokens_map.json", tokenizer_file=None, name_or_path="x",
    tokenizer_class="M2M100Tokenizer"))
add("mbart-50", "mbart50", dict(src_lang=None, tgt_lang=None, language_codes="ML50", special_tokens_map_file="x", tokenizer_file=None, name_or_path="facebook/mbart-large-50",
    tokenizer_class="MBart50Tokenizer", eos_token="</s>", sep_token="</s>", cls_token="<s>", unk_token="<unk>", pad_token="<pad>", mask_token="<mask>"))
add("mbart-cc25", "mbart", dict(model_max_length=1024))
add("pegasus-xsum", "pegasus", dict(model_max_length=512, special_tokens_map_file=None, full_tokenizer_file=None))
add("splade", "bert", dict(do_lower_case=True, **B, tokenize_chinese_chars=True, strip_accents=None, model_max_length=512, name_or_path="x", special_tokens_map_file="x",
    tokenizer_class="BertTokenizer", do_basic_tokenize=True, never_split=None))
add("rubert-tiny2", "bert_cased", dict(clean_up_tokenization_spaces=True, do_basic_tokenize=True, do_lower_case=False, max_length=512, model_max_length=2048,
    never_split=None, pad_to_multiple_of=None, pad_token_type_id=0, padding_side="right", stride=0, strip_accents=None, tokenize_chinese_chars=True,
    tokenizer_class="BertTokenizer", truncation_side="right", truncation_strategy="longest_first", **B))
add("LaBSE", "bert_cased", dict(decoder=True, additional_special_tokens=[], clean_up_tokenization_spaces=True, do_lower_case=False, full_tokenizer_file=None,
    mask_token="[MASK]", max_length=256, model_max_length=256, never_split=None, pad_token_type_id=0, stride=0, strip_accents=None, tokenize_chinese_chars=True,
    tokenizer_class="BertTokenizer", truncation_side="right", truncation_strategy="longest_first", do_basic_tokenize=True,
    **{k: v for k, v in B.items() if k != "mask_token"}))
add("gte-qwen2", "qwen2", dict(decoder=True, add_prefix_space=False, add_eos_token=True, additional_special_tokens=["<|endoftext|>"],
    auto_map={"AutoTokenizer": ["tokenization_qwen.Qwen2Tokenizer", "tokenization_qwen.Qwen2TokenizerFast"]}, bos_token=None, clean_up_tokenization_spaces=False,
    eos_token="<|endoftext|>", errors="replace", model_max_length=32768, pad_token="<|endoftext|>", split_special_tokens=False, tokenizer_class="Qwen2Tokenizer",
    unk_token=None))
add("deepseek llama tokenizer", "qwen2", dict(add_bos_token=True, add_eos_token=False, bos_token=A("<|endoftext|>"), clean_up_tokenization_spaces=False,
    eos_token=A("<|endoftext|>"), legacy=True, model_max_length=16384, pad_token=A("<|endoftext|>"), sp_model_kwargs={}, unk_token=None,
    tokenizer_class="LlamaTokenizerFast"), mt="llama")


def make(folder, family, config, special, mt):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    (BARE[family] if family in ("marian", "m2m100") else saved(family))(folder)
    for name in ("special_tokens_map.json", "added_tokens.json", "chat_template.jinja", "tokenizer_config.json"):
        if os.path.exists(os.path.join(folder, name)):
            os.remove(os.path.join(folder, name))
    if config is not None:
        config = dict(config)
        if config.pop("decoder", None):
            root = json.load(open(os.path.join(folder, "tokenizer.json"), encoding="utf-8"))
            config["added_tokens_decoder"] = {str(t["id"]): {k: v for k, v in t.items() if k != "id"} for t in root["added_tokens"]}
        put(folder, "tokenizer_config.json", config)
    if special:
        put(folder, "special_tokens_map.json", special)
    if mt:
        put(folder, "config.json", {"model_type": mt})


def main():
    load(sys.argv[1])
    counts = collections.Counter()
    for name, parts in PUBLISHED.items():
        if sys.argv[3:] and name not in sys.argv[3:]:
            continue
        folder = os.path.join(sys.argv[2], "published_" + parts[0])
        make(folder, *parts)
        found = judge(folder)
        kind = found.split(":")[0] if found.startswith(("equal", "refused", "lax")) else "silent"
        counts[kind] += 1
        if kind != "equal":
            print(kind, name, found[:300], flush=True)
        shutil.rmtree(folder)
    print(dict(counts))
    sys.exit(counts["silent"] > 0)


if __name__ == "__main__":
    main()
