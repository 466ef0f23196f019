"""Pre-tokenizers of published families, and forms of patterns: how the package tokenizers splits
hard texts by them.

    python tests/transformers/patterns.py tests/golden/patterns.tsv          tokenizers 0.23

Each family is a fact: the "pre_tokenizer" of the tokenizer.json that the named model is published
with (its byte level's letters are left out, so that parts of texts are compared). The file has the
families, the texts, and for each pair the number of parts and a hash of their lengths; then forms
of patterns with one hash of all texts, and forms that PCRE2 lacks, which the library refuses.
"""
import hashlib
import json
import sys
import unicodedata

from tokenizers import Tokenizer, models

S = "'s|'t|'re|'ve|'m|'ll|'d"
I = f"(?i:{S})"
CL100K = I + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = I + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
GPT2 = S + r"| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
UP, LOW = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
O200K = (rf"[^\r\n\p{{L}}\p{{N}}]?{UP}*{LOW}+{I}?|[^\r\n\p{{L}}\p{{N}}]?{UP}+{LOW}*{I}?|" + r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
TEKKEN = (rf"[^\r\n\p{{L}}\p{{N}}]?{UP}*{LOW}+|[^\r\n\p{{L}}\p{{N}}]?{UP}+{LOW}*|" + r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK3 = [r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
             r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""]
HAN = r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?" + "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]*"


def split(*patterns, behavior="Isolated", invert=False):
    return [{"type": "Split", "pattern": {"Regex": p}, "behavior": behavior, "invert": invert} for p in patterns]


def digits(alone=True):
    return [{"type": "Digits", "individual_digits": alone}]


WORDS = [{"type": "Split", "pattern": {"Regex": GPT2}, "behavior": "Isolated", "invert": False}]  # ByteLevel's own
FAMILIES = {
    "openai-community/gpt2": split(GPT2),
    "meta-llama/Meta-Llama-3-8B": split(CL100K),
    "Qwen/Qwen2-7B": split(QWEN2),
    "Qwen/Qwen3.5": split(I + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
    "openai/gpt-oss-20b": split(O200K),
    "mistralai/Mistral-Nemo-Instruct-2407": split(TEKKEN),
    "deepseek-ai/DeepSeek-V3": split(*DEEPSEEK3),
    "deepseek-ai/deepseek-llm-7b-base": split(r"[\r\n]", r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅ]+",
                                              r"\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$", "[一-龥ࠀ-一가-퟿]+") + digits(),
    "deepseek-ai/deepseek-coder-6.7b-base": split(r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+") + digits(),
    "tiiuae/falcon-7b": [{"type": "Punctuation", "behavior": "Contiguous"}] + WORDS + digits(False) + split("[0-9][0-9][0-9]"),
    "bigscience/bloom-560m": split(r" ?[^(\s|[.,!?…。，、।۔،])]+"),
    "LumiOpen/Viking-7B": split(r" ?[^(\s|[.,!?…。，、।۔،])]+") + digits(),
    "bigcode/starcoder2-3b": digits() + WORDS,
    "CohereForAI/c4ai-command-r-v01": digits() + WORDS,
    "HuggingFaceTB/SmolLM-135M": digits() + WORDS,
    "LGAI-EXAONE/EXAONE-3.0-7.8B-Instruct": digits() + WORDS,
    "EleutherAI/gpt-neox-20b": WORDS,
    "openai/clip-vit-base-patch32": split(r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+", behavior="Removed", invert=True),
    "databricks/dbrx-instruct": split(CL100K),
    "microsoft/Phi-4-mini-instruct": split(O200K),
    "microsoft/phi-4": split(r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"),
    "stabilityai/stablelm-2-1_6b": split(QWEN2),
    "THUDM/glm-4-9b-chat": split(CL100K),
    "allenai/OLMo-2-1124-7B": split(CL100K),
    "nvidia/Minitron-4B-Base": split(O200K.replace(I + "?", "")),
    "inclusionAI/Ling-lite": split(r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"),
    "ByteDance-Seed/Seed-Coder-8B-Base": split(I + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"),
    "xai-org/grok-2": split(QWEN2),
    "LGAI-EXAONE/K-EXAONE-236B-A23B": split(I + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"),
    "jinaai/jina-embeddings-v2-base-zh": split(r"\S+"),
    "words, as the step Whitespace has them": split(r"\w+|[^\w\s]+", behavior="Removed", invert=True),
    "words at their edges": split(r"\b\w+\b|\W"),
    "openbmb/MiniCPM5-1B": split(r"\p{N}{1,3}", I + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
    "CohereLabs/tiny-aya-base": split(r"\d{1,3}(?=(?:\d{3})*\b)", O200K),
    "UW/OLMo2-8B-SuperBPE-t180k": split(r"\p{N}+", r"(?=(\d{3})+(?!\d))"),
    "facebook/chameleon-7b": split(r"<sentinel:[0-9]+>", r"(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", r"([\t\n]|    |  )") + digits() + [{"type": "Punctuation", "behavior": "Isolated"}] + WORDS,
    "tencent/Youtu-LLM-2B": split("[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+", O200K.replace(r"\p{N}{1,3}", r"\p{N}")),
    "ai21labs/AI21-Jamba-1.5-Mini": split(r"[^\n]+|[\n]+"),
    "google/gemma-2-2b": [{"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}],
    "google-bert/bert-base-uncased": [{"type": "BertPreTokenizer"}],
    "google-t5/t5-small": [{"type": "WhitespaceSplit"}],
    "bigcode/starcoder": digits() + WORDS,
    "facebook/galactica-125m": [{"type": "Split", "pattern": {"String": "SPL1T-TH1S-Pl3A5E"}, "behavior": "Removed", "invert": False}, *split(r"[\s\S]*?\n"), *digits(), *split(r"[\p{P}]")],
    "gpt-4 (cl100k, possessive)": split(r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"),
    "moonshotai/Kimi-K2-Instruct": split(r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+" + I + r"?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*" + I + r"?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
}

POSIX = "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit".split()
FORMS = [f"[[:{name}:]]" for name in POSIX] + [f"[[:^{name}:]]" for name in ("alpha", "cntrl", "digit", "lower", "space", "upper")] + [
    rf"\p{{{name}}}" for name in POSIX + ["Alpha", "Punct", "Letter", "Mark", "Number", "Punctuation", "Symbol", "Separator", "Lowercase_Letter", "^word", "han", "GREEK"]] + [
    r"[\p{word}-]", r"[\p{Punct}$]", r"[^[:punct:]]", r"[[:punct:][:space:]]+", r"\h+", r"\H", r"[\h]", r"\v", r"[\v]", r"\O", r"[\b]", r"\u00e9", r"[\u4e00-\u9fff]+", r"\x{e9}", r"\é",
    r"a{,2}", r"a{2}?", r"a{2}+", r"a{1,2}?", r"a{1,2}+", r"a{,2}?", r"a{,}", r"a{x}", r"(?m:.)+", r"(?m).+", r"(?-m:.)+", r"(?i)ab|c", r"a(?i)b|c", r"(a(?i)b|c)+", r"(?i:a(?-i)b|c)",
    r"(?x) a b # (c\n", r"(?i)[a-z]+", r"(?i:[\p{L}])", r"(?i:[^\p{L}])", r"(?i)k", r"(?i:s+s)", r"(?#(()a", r"(?<ab>a)\k<ab>", r"(?<=\s)[\s-]", r"[a-c&&[^b]]"] + [
    f"[[:^{name}:]a]" for name in ("alnum", "ascii", "blank", "graph", "print", "punct", "word", "xdigit")] + [
    r"[\W]", r"[^\W]", r"[^\W_]+", r"[\W_]+$", r"[\Wa-c]+", r"[\W^-]+", r"[\W\H]", r"[^\W\H]+", r"[\H]", r"[^[:^punct:]]", r"[^[:^alnum:]x]+", r"[[\W]a]", r"[\w&&[\W]]", r"[^\s\W]+",
    r"(?i:[^\W_])+", r"[^]\W]", r"\B", r"a\B", r"\Bb", r"\Qa\E", r"\m", r"[\R\X]"]
REFUSED = ["[[:nosuch:]]", r"[\W-x]", r"[\W&&[a]]", r"(?i:[\H])", r"\K", r"\G", r"\X", r"\pL", r"\C", r"\cA", r"[\x80-\xff]", "(?i)ss", "(?i:ß)", "(?i:[ß])", "(?i:[à-ﬀ])", "(?i)fi", r"(?i:[\p{Lu}])", "(?i:[[:upper:]])",
           "[[a]-z]", "[a-[b]]", "(?W:a)", "(?U)a+", "(?|a|b)", "(?R)", "(*FAIL)", "(?~ab)", "[a&&b]"]
MORE = ["aaa bb\ncab{,3}a{2}a{x} aaaaaa", "Stra\u00dfe STRASSE fluss\ufb03 \ufb01n fi ff \u1e9e ss st \ufb06 k\u212a s\u017f", "abc ABC aBc cC ab AB Ab aa.bb", "\n\na\r\nb\x0bc\x0cd\x85e\u2028",
        "a-b_c \u3000-x y-z \u4000\u3500 ~}w", "\u00e9\u00ff\u0100\u00b2\u00bd A\u0301 a\u0308 \u0345\u03b9 \u03b1\u03b9 \u1fb3", "deadBEEF 0xff gh", "\u1f88 \u0587 \u0130i\u0307 \u0149 \u02bcn", "$+<=>^`|~ \u00a2\u00a7\u00b1 .,;!",
        "x\u200dy \u180e z\u00ad \ue000 \u2160\u24d0\u00aa", "aab aabb abab bb ba\n"]


def texts():
    base = ["don't I'll WE'RE you've he'd 'S 'ſ", "a1b22c333d4444 12345678901234567890 ١٢٣ Ⅳ½²", "  two   blanks\t\ttabs \n\n\r\nlines \r end ", "你好，世界！日本語 カタカナ ひらがな 한국어 조선말",
            "e\u0301a\u0308 नमस्ते हिन्दी ภาษาไทย العربية עברית", "👨‍👩‍👧 🇫🇷 👍🏽 ☃️", "a_b-c.d/e\\f:g;h<i>j|k~l`m^n", "http://x.org/a?b=c&d=%20#e user@host.com", "HELLO helloWorld HelloWORLD iPhone McDonald's",
            "\u00a0nbsp\u2003em\u3000ideographic\u200bzero\ufeffbom", "…“quoted” ‘x’ —dash– «g»", "\x00\x01\x7f control", "ſtraße ﬁ ǅ İstanbul", "    indented\n\tcode = x + 1;\n", "'s't're", "x\n\n\ny\r\n\r\nz  ", "#$%^&*()[]{}", "IMGIMGABCZ <sentinel:12> SPL1T-TH1S-Pl3A5E"]
    pool = "".join(base) + "abc ABC 019'\n\t .,é\u0301中あ가\u1100𝒳𐐀\u2028\u0085\u1680\u180e"
    out, state = list(base) + ["", " ", "\n", "'", "a"], 2026
    while len(out) < 500:
        line = []
        for _ in range(3 + len(out) % 37):
            state = (6364136223846793005 * state + 1442695040888963407) % 2 ** 64
            line.append(pool[(state >> 33) % len(pool)])
        out.append("".join(line))
    return out


def main():
    lines = ["# Made by tests/transformers/patterns.py: F name, pre_tokenizer; T text; then for each family a line of a hash per text"]
    all_texts = texts()
    for text in all_texts:
        lines.append("T\t" + json.dumps(text))
    for name, steps in FAMILIES.items():
        t = Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
        root = json.loads(t.to_str())
        root["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
        t = Tokenizer.from_str(json.dumps(root))
        hashes = []
        for text in all_texts:
            ends = [e for _, (_, e) in t.pre_tokenizer.pre_tokenize_str(text)]
            starts = [b for _, (b, _) in t.pre_tokenizer.pre_tokenize_str(text)]
            parts = [(len(text[:b].encode()), len(text[:e].encode())) for b, e in zip(starts, ends)]
            value = 0
            for pair in parts:
                for x in pair:
                    value = (value * 31 + x + 1) % 65521
            hashes.append(f"{value:04x}")
        lines.append("F\t" + name + "\t" + json.dumps(root["pre_tokenizer"], ensure_ascii=False) + "\t" + "".join(hashes))
    lines += ["X\t" + json.dumps(text) for text in MORE]
    for pattern in FORMS:
        t = Tokenizer.from_str(json.dumps({**root, "pre_tokenizer": split(pattern)[0]}))
        value = 0
        for text in all_texts + MORE:
            for _, ends in t.pre_tokenizer.pre_tokenize_str(text):
                for x in ends:
                    value = (value * 31 + len(text[:x].encode()) + 1) % 65521
        lines.append("P\t" + json.dumps(split(pattern)[0], ensure_ascii=False) + f"\t{value:04x}")
    lines += ["R\t" + json.dumps(split(pattern)[0], ensure_ascii=False) for pattern in REFUSED]
    open(sys.argv[1], "w", encoding="utf-8").write("\n".join(lines) + "\n")
    print(len(FAMILIES), "families,", len(all_texts), "texts,", len(FORMS), "forms,", len(REFUSED), "refused")


if __name__ == "__main__":
    main()
