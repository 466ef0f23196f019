"""Writes what the pipelines of transformers make of some texts: tags, words for masks, answers, classes without training.

    python tests/transformers/heads.py FOLDER TABLE.jsonl.gz        transformers 5.24

Folders are those of sentences.py with heads; weights follow from names (keys.py). The package has no pipeline of answers any more: its rule, as
version 4 had it, is written out below. Lines: ["folder", head, {file: content}, {file: {array: shape}}, inputs, results].
"""
import json
import os
import sys

import numpy as np
import torch
import transformers as T
from safetensors.numpy import save_file

import keys
from sentences import CONFIG, tokenizer, write

TEXTS = ["the film is good", "a bad film", "Good about film", "is the film a film a bad film"]
MASKED = ["the [MASK] is good", "a [MASK] [MASK]"]
CONTEXTS = ["the film is good about a film", "a bad film", "is a good bad film about the film",
            "the good film is about a bad film the film is good a film is about the bad good film the bad is a film about good"]
CLASSES = ["film", "good bad", "a"]
LABELS = {"ForTokenClassification": ["O", "B-PER", "I-PER", "LOC"], "ForSequenceClassification": ["contradiction", "neutral", "ENTAILMENT"]}
FILES = dict(tokenizer_class="PreTrainedTokenizerFast", model_max_length=24, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
             mask_token="[MASK]", model_input_names=["input_ids", "token_type_ids", "attention_mask"])


def answers(net, tok, question, context, top, longest):
    """Over all windows; of an answer that stands in two, the better one."""
    most = tok.model_max_length
    e = tok(question, context, truncation="only_second", max_length=most, stride=min(most // 2, 128, most - len(tok(question, "")["input_ids"]) - 1),
            return_overflowing_tokens=True, return_offsets_mapping=True)
    found = {}
    for k in range(len(e["input_ids"])):
        for begin, end, score in window(net, tok, e, k, top, longest):
            found[begin, end] = max(score, found.get((begin, end), 0))
    return sorted(([b, c, s] for (b, c), s in found.items()), key=lambda a: -a[2])[:top]


def window(net, tok, e, number, top, longest):
    inside = np.array([s == 1 for s in e.sequence_ids(number)])
    offsets = e["offset_mapping"][number]
    with torch.no_grad():
        r = net(**{key: torch.tensor([e[key][number]]) for key in tok.model_input_names})
    shares = []
    for logits in (r.start_logits, r.end_logits):
        x = np.where(inside | (np.arange(len(inside)) == 0), logits[0].double().numpy(), -10000.0)
        x = np.exp(x - x.max())
        x /= x.sum()
        x[0] = 0
        shares.append(x)
    scores = np.tril(np.triu(np.outer(*shares)), longest - 1)
    best = [divmod(int(k), scores.shape[1]) for k in np.argsort(-scores.ravel(), kind="stable")]
    best = [(a, b) for a, b in best if inside[a] and inside[b]][:top]
    return [[int(offsets[a][0]), int(offsets[b][1]), float(scores[a, b])] for a, b in best]


def results(head, net, tok, folder):
    if head == "ForTokenClassification":
        pipe = T.pipeline("token-classification", model=net, tokenizer=tok, aggregation_strategy="simple", device="cpu")
        return {"texts": TEXTS}, [[k, t["start"], t["end"], t["entity_group"], float(t["score"])] for k, x in enumerate(TEXTS) for t in pipe(x)]
    if head == "ForMaskedLM":
        pipe = T.pipeline("fill-mask", model=net, tokenizer=tok, top_k=3, device="cpu")
        made = [pipe(x) for x in MASKED]
        made = [m if isinstance(m[0], list) else [m] for m in made]
        return {"texts": MASKED}, [[k, m, f["token"], f["score"]] for k, masks in enumerate(made) for m, fills in enumerate(masks) for f in fills]
    if head == "ForQuestionAnswering":
        question = "is the film good"
        return {"texts": CONTEXTS, "question": question}, [[k] + a for k, c in enumerate(CONTEXTS) for a in answers(net, tok, question, c, 3, 4)]
    pipe = T.pipeline("zero-shot-classification", model=net, tokenizer=tok, device="cpu")
    rows = []
    for several in (False, True):
        for x in TEXTS:
            r = pipe(x, candidate_labels=CLASSES, hypothesis_template="about a {}", multi_label=several)
            rows.append([r["scores"][r["labels"].index(c)] for c in CLASSES])
    return {"texts": TEXTS, "classes": CLASSES, "hypothesis": "about a {}"}, rows


def main():
    table = keys.Table(sys.argv[2])
    for head in ("ForTokenClassification", "ForMaskedLM", "ForQuestionAnswering", "ForSequenceClassification"):
        labels = LABELS.get(head)
        named = {"id2label": {str(k): n for k, n in enumerate(labels)}, "label2id": {n: k for k, n in enumerate(labels)}} if labels else {}
        files = {"config.json": dict(CONFIG, architectures=["Bert" + head], **named), "tokenizer.json": tokenizer(), "tokenizer_config.json": FILES}
        folder = os.path.join(sys.argv[1], "heads_" + head)
        for name, content in files.items():
            write(os.path.join(folder, name), content)
        net = getattr(T, "Bert" + head)(T.BertConfig(**files["config.json"]))
        shapes = {n: list(p.shape) for n, p in net.state_dict().items() if p.is_floating_point() and not n.startswith("cls.predictions.decoder")}
        save_file({n: keys.number(n, s) for n, s in shapes.items()}, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
        net = getattr(T, "Bert" + head).from_pretrained(folder).eval()
        inputs, made = results(head, net, T.AutoTokenizer.from_pretrained(folder), folder)
        print(head, len(made), made[:2])
        table.line("folder", head, files, {"model.safetensors": shapes}, inputs, made)
    table.file.close()


main()
