"""Makes the cases of this folder: what the package transformers writes with the golden checkpoints.

    python tests/hf/make.py ../shared/golden/checkpoints tests/hf        PyTorch 2.15, transformers 5.23

One npz a checkpoint: `ids` (prompts x tokens) is what the model reads, `start` what its decoder begins with (if it has one), `end` the token
that ends a text: one that the model does write. Of each way to write, `NAME` (texts x tokens, -1 behind the end) is
what it writes, the beginning left out, and for beams `NAME.scores`. `hidden` is the beginning of what the checkpoint's own expected.npz has
under that name: the test knows by it whether a folder holds these checkpoints or others. A way's settings stand in its name: greedy_REPETITION or
beams_WIDTH_PENALTY_SAMPLES_EARLY, followed by the most new tokens.
"""
import sys

import numpy as np
import torch
import transformers

FOLDER, OUT = sys.argv[1:3]
WAYS = ["greedy_1_24", "greedy_1.4_24", "beams_4_1_1_0_16", "beams_4_0.5_4_0_16", "beams_3_2_2_1_12", "beams_5_-1_1_0_12"]
CLASSES = {"gpt2": "GPT2LMHeadModel", "llama": "LlamaForCausalLM", "t5": "T5ForConditionalGeneration", "marian": "MarianMTModel"}


def settings(way):
    kind, *numbers = way.split("_")
    length = int(numbers.pop())
    if kind == "greedy":
        return dict(max_new_tokens=length, repetition_penalty=float(numbers[0]))
    wide, penalty, samples, early = numbers
    return dict(max_new_tokens=length, num_beams=int(wide), length_penalty=float(penalty), num_return_sequences=int(samples),
                early_stopping=early == "1", output_scores=True)


for name, cls in CLASSES.items():
    model = getattr(transformers, cls).from_pretrained(f"{FOLDER}/{name}").eval()
    generator = torch.Generator().manual_seed(7)
    ids = torch.randint(3, 90, (4, 6), generator=generator)
    known = np.load(f"{FOLDER}/{name}/expected.npz")["hidden"].ravel()[:8]
    arrays = {"ids": ids.numpy().astype(np.int32), "hidden": known}
    more = dict(attention_mask=torch.ones_like(ids), do_sample=False, return_dict_in_generate=True, pad_token_id=0)
    begin = ids.shape[1]
    if model.config.is_encoder_decoder:
        more["decoder_start_token_id"], begin = 96, 1
        arrays["start"] = np.full((4, 1), 96, np.int32)
    free = model.generate(ids, max_new_tokens=12, eos_token_id=[1000], **more).sequences[:, begin + 3:]
    more["eos_token_id"] = end = int(torch.mode(free.flatten()).values)
    arrays["end"] = np.array([end], np.int32)
    for way in WAYS:
        out = model.generate(ids, **more, **settings(way))
        text = out.sequences[:, begin:].numpy().astype(np.int32)
        for row in text:
            for k in range(len(row)):
                if end in row[:k].tolist():
                    row[k:] = -1
                    break
        arrays[way] = text
        if "sequences_scores" in out:
            arrays[way + ".scores"] = out.sequences_scores.detach().numpy().astype(np.float64)
        print(name, way, text[0].tolist(), "ended", int((text == end).any(1).sum()), "of", len(text))
    np.savez_compressed(f"{OUT}/generate_{name}.npz", **arrays)
