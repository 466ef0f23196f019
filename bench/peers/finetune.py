"""Fine-tuning of a pretrained encoder on sentences with two classes, in PyTorch with transformers: the recipe of examples/programs/finetune.c.

    finetune.py FOLDER --data stsa.binary.train --dev stsa.binary.dev --test stsa.binary.test

Mean of a sentence's rows, dropout, a linear layer that begins at 0; AdamW with weight decay 0.01 on everything, gradients clipped to norm 1, a linear warm-up over a
tenth of the steps and a linear fall; no dropout inside the encoder; the epoch that is best on --dev is kept. A batch is padded to its longest sentence.
"""
import argparse
import json
import math
import resource
import time

import torch
from transformers import AutoModel, AutoTokenizer


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--data", required=True)
    parser.add_argument("--dev")
    parser.add_argument("--test")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=5e-5)
    parser.add_argument("--warmup", type=float, default=0.1)
    parser.add_argument("--weight-decay", type=float, default=0.01)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def read(path, limit=None):
    lines = [line.rstrip("\n").split(" ", 1) for line in open(path, encoding="utf-8") if line.strip()]
    return [text for _, text in lines][:limit], torch.tensor([int(label) for label, _ in lines][:limit])


class Classifier(torch.nn.Module):
    def __init__(self, folder, dropout):
        super().__init__()
        self.encoder = AutoModel.from_pretrained(folder, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
        self.dropout = torch.nn.Dropout(dropout)
        self.classes = torch.nn.Linear(self.encoder.config.hidden_size, 2)
        torch.nn.init.zeros_(self.classes.weight)
        torch.nn.init.zeros_(self.classes.bias)

    def forward(self, batch):
        rows = self.encoder(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1).to(rows.dtype)
        return self.classes(self.dropout((rows * mask).sum(1) / mask.sum(1)))


def encode(tokenizer, texts, max_length):
    return tokenizer(texts, padding=True, truncation=True, max_length=max_length, return_tensors="pt")


@torch.no_grad()
def accuracy(model, tokenizer, texts, labels, max_length):
    model.eval()
    order = sorted(range(len(texts)), key=lambda k: len(texts[k]))
    right = 0
    for first in range(0, len(order), 64):
        chosen = order[first : first + 64]
        logits = model(encode(tokenizer, [texts[k] for k in chosen], max_length))
        right += (logits.argmax(1) == labels[chosen]).sum().item()
    return right / len(texts)


def main():
    a = arguments()
    torch.manual_seed(a.seed)
    torch.set_num_threads(a.threads)
    tokenizer = AutoTokenizer.from_pretrained(a.folder)
    texts, labels = read(a.data, a.limit)
    dev = read(a.dev) if a.dev else None
    test = read(a.test) if a.test else None
    model = Classifier(a.folder, a.dropout)
    optimizer = torch.optim.AdamW(model.parameters(), lr=a.lr, weight_decay=a.weight_decay)
    steps = math.ceil(len(texts) / a.batch)
    total, warm = a.epochs * steps, math.ceil(a.warmup * a.epochs * steps)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: (s + 1) / warm if s + 1 <= warm else (total - s) / max(1, total - warm))
    best, kept, spent = -1.0, None, 0.0
    for epoch in range(a.epochs):
        model.train()
        start = time.monotonic()
        order = torch.randperm(len(texts)).tolist()
        for first in range(0, len(order), a.batch):
            chosen = order[first : first + a.batch]
            logits = model(encode(tokenizer, [texts[k] for k in chosen], a.max_length))
            loss = torch.nn.functional.cross_entropy(logits, labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
        spent += time.monotonic() - start
        found = accuracy(model, tokenizer, *dev, a.max_length) if dev else float(epoch)
        if found > best:
            best = found
            kept = {k: v.clone() for k, v in model.state_dict().items()} if dev else None
    if kept:
        model.load_state_dict(kept)
    print(json.dumps({"torch": torch.__version__, "steps": total, "seed": a.seed, "dev_accuracy": best if dev else None,
                      "test_accuracy": accuracy(model, tokenizer, *test, a.max_length) if test else None, "training_seconds": spent,
                      "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


if __name__ == "__main__":
    main()
