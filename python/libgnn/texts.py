"""Encoders of sentences and generators of text, from folders as Hugging Face publishes them."""
import ctypes
import json
import os
import queue
import threading

import numpy as np

from ._table import abi as _abi
from ._arrays import REAL, array_of, choice, flag, member, path_of, reals, short, strings, tensor, text, whole
from ._library import C, callback, check, lib, struct
from ._objects import Gate, Handle, context


PRECISIONS = ("float32", "int8", "uint8", "binary", "ubinary")


def _texts(values, name, first=0):
    """A gnn_texts_t of strings, with what it borrows; `first`: the index of the first of them."""
    blobs = []
    for k, value in enumerate(values):
        try:
            blobs.append(value.encode("utf-8"))
        except UnicodeEncodeError as problem:
            raise ValueError(f"{name}[{first + k}] is no text: half of a surrogate pair at character {problem.start}") from None
    at = (ctypes.c_char_p * max(len(blobs), 1))(*blobs)
    sizes = np.array([len(blob) for blob in blobs] or [0], dtype=np.int64)
    made = struct("gnn_texts_t")(count=len(blobs), at=ctypes.addressof(at), bytes=sizes.ctypes.data)
    return made, (blobs, at, sizes)


class Pretrained(Handle):
    """A folder with config.json, model.safetensors and a tokenizer."""

    def __init__(self, folder, keep_16_bits=False, keep_packed=False):
        folder, keep_16_bits, keep_packed = os.fsdecode(path_of(folder, "folder")), flag(keep_16_bits, "keep_16_bits"), flag(keep_packed, "keep_packed")
        if not os.path.isdir(folder):
            raise FileNotFoundError(f"folder: there is no folder {folder}: download the model's files first, for example by `hf download NAME --local-dir {os.path.basename(folder) or 'FOLDER'}`")
        made = ctypes.c_void_p()
        config = struct("gnn_pretrained_config_t")(keep_16_bits=C["GNN_ON"] if keep_16_bits else 0, keep_packed=C["GNN_ON"] if keep_packed else 0)
        check(lib.gnn_pretrained_open_with(ctypes.byref(made), context()._at, os.fsencode(folder), ctypes.byref(config)))
        self._hold(made.value, lib.gnn_pretrained_free)
        self.folder, self._kept, self._gate = folder, (keep_16_bits, keep_packed), Gate()

    @property
    def architecture(self):
        """The architecture: "bert"."""
        return lib.gnn_pretrained_architecture(self._at).decode()

    @property
    def max_seq_length(self):
        """The largest count of tokens of a text; None: unlimited."""
        return lib.gnn_pretrained_max_length(self._at) or None

    def attention(self, text, whole_words=True, special=True):
        """The attention weights of every layer and head over one text.

        Parameters
        ----------
        text : str
            Cut at the model's maximum length.
        whole_words : bool
            True: subword tokens are merged into words.
        special : bool
            False: special tokens ([CLS], [SEP]) are left out.

        Returns
        -------
        Attention
            `.show()` in a notebook shows the page of `gnn inspect`.
        """
        from .pictures import Attention
        with self._gate.changing():
            return Attention(self, text, whole_words, special)

    def __reduce__(self):
        return type(self), (self.folder, *self._kept)

    def __repr__(self):
        return f"{type(self).__name__}({self.folder!r})"


class SentenceEncoder(Pretrained):
    """Vectors of sentences, as the package sentence-transformers computes them.

    Parameters
    ----------
    folder : path
        With modules.json, as sentence-transformers saves a model.
    """

    def __init__(self, folder, keep_16_bits=False, keep_packed=False):
        super().__init__(folder, keep_16_bits, keep_packed)
        settings = self._settings("config_sentence_transformers.json", dict)
        self._prompts, self._default = settings.get("prompts") or {}, (settings.get("default_prompt_name"), settings.get("truncate_dim") or 0)
        modules = self._settings("modules.json", list)
        self._pools_prompts = all(self._settings(os.path.join(m.get("path", ""), "config.json"), dict).get("include_prompt", True) for m in modules)

    @property
    def prompts(self):
        """The prompts of the folder by name."""
        return dict(self._prompts)

    def _settings(self, name, kind):
        """What a file of the folder holds; of one that is not there nothing."""
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            return kind()
        with open(path, encoding="utf-8") as file:
            made = json.load(file)
        if not isinstance(made, kind):
            raise ValueError(f"{path}: {'an object' if kind is dict else 'a list'} is expected, it holds {short(made)}")
        return made

    def get_sentence_embedding_dimension(self):
        """Columns of the vectors."""
        return lib.gnn_pretrained_embedding_width(self._at)

    def encode(self, sentences=None, prompt_name=None, prompt=None, batch_size=None, show_progress_bar=None, output_value="sentence_embedding",
               precision="float32", convert_to_numpy=True, convert_to_tensor=False, device=None, normalize_embeddings=False, truncate_dim=None,
               pool=None, chunk_size=None, *, inputs=None):
        """The vectors of sentences; the arguments are those of SentenceTransformer.encode.

        Parameters
        ----------
        sentences : str or list of str
        prompt_name : str, optional
            A prompt of the folder (`prompts`) that is put before each sentence.
        prompt : str, optional
            The prompt itself, in place of `prompt_name`.
        batch_size : int, optional
            Sentences that one call of the library takes, which batches by tokens itself: the
            vectors do not depend on it. Default: all.
        show_progress_bar : bool, optional
            Draws a bar by tqdm, for batches of `batch_size` or 1024.
        output_value, device : str, optional
            "sentence_embedding" and "cpu"; others are refused.
        precision : str
            "float32", or "binary" and "ubinary" (a bit for each column that is above 0, eight in a
            byte), or "int8" and "uint8": 256 steps from the least to the largest element of each
            column, of at least two sentences.
        convert_to_numpy, convert_to_tensor : bool
            The class of the result: array, torch.Tensor, or, where both are False, a list of
            torch.Tensor.
        normalize_embeddings : bool
            True: vectors of length 1.
        truncate_dim : int, optional
            Columns that are kept.
        pool : None
            Pools of processes are refused: a call uses all threads.
        chunk_size : int, optional
            Changes nothing: it is of pools.
        inputs : optional
            Another name of `sentences`.

        Returns
        -------
        array (sentences, width), or (width) of one string
        """
        if (sentences is None) == (inputs is None):
            raise TypeError("sentences must be a list of strings, came none" if inputs is None else "sentences and inputs are two names of one argument: both are given")
        sentences = inputs if sentences is None else sentences
        for name, value, known in (("output_value", output_value, ("sentence_embedding",)), ("device", device, (None, "cpu")), ("pool", pool, (None,))):
            if (value if value is None or isinstance(value, (list, dict)) else str(value)) not in known:
                raise NotImplementedError(f"{name}={short(value)} has no counterpart in libgnn; there is {known[-1]!r}")
        precision = "float32" if precision is None else choice(precision, "precision", PRECISIONS)
        if chunk_size is not None:
            whole(chunk_size, "chunk_size", low=1)
        if prompt and not self._pools_prompts:
            raise NotImplementedError("prompt= with a folder whose pooling leaves prompts out: name one of its own by prompt_name")
        convert_to_numpy, convert_to_tensor, normalize_embeddings = (flag(value, name) for value, name in (
            (convert_to_numpy, "convert_to_numpy"), (convert_to_tensor, "convert_to_tensor"), (normalize_embeddings, "normalize_embeddings")))
        show_progress_bar = show_progress_bar is not None and flag(show_progress_bar, "show_progress_bar")
        one = isinstance(sentences, str)
        values = [sentences] if one else strings(sentences, "sentences")
        if prompt is not None:
            text(prompt, "prompt")
            values = [prompt + value for value in values]
        if precision.endswith("int8") and len(values) == 1:
            raise ValueError(f"precision={precision!r} has its steps from the least to the largest element of each column, and came one sentence")
        out = self._embed(values, prompt_name if prompt is None else None, truncate_dim, prompt is not None, batch_size, show_progress_bar)
        if normalize_embeddings:
            length = np.linalg.norm(out, axis=1, keepdims=True)
            out /= np.maximum(length, 1e-12)
        out = _quantised(out, precision)
        made = out[0] if one else out
        if convert_to_numpy and not convert_to_tensor:
            return made
        try:
            import torch
        except ModuleNotFoundError as problem:
            if problem.name != "torch":
                raise
            raise ImportError("convert_to_tensor=True and convert_to_numpy=False give tensors: pip install torch") from None
        made = torch.from_numpy(made)
        return made if convert_to_tensor or one else list(made)

    def encode_query(self, sentences=None, prompt_name=None, prompt=None, **settings):
        """The vectors of queries: encode() with the prompt of the folder that is called "query", or none.

        Parameters
        ----------
        sentences : str or list of str
        prompt_name, prompt : str, optional
            Another prompt.
        **settings
            The other arguments of encode().
        """
        return self._encode_as("query", sentences, prompt_name, prompt, settings)

    def encode_document(self, sentences=None, prompt_name=None, prompt=None, **settings):
        """The vectors of documents: encode() with the prompt of the folder that is called
        "document", or none.

        Parameters
        ----------
        sentences : str or list of str
        prompt_name, prompt : str, optional
            Another prompt.
        **settings
            The other arguments of encode().
        """
        return self._encode_as("document", sentences, prompt_name, prompt, settings)

    def _encode_as(self, name, sentences, prompt_name, prompt, settings):
        if prompt_name is None and prompt is None:  # "": not that of encode()
            prompt_name, prompt = (name, None) if self._prompts.get(name) else (None, "")
        return self.encode(sentences, prompt_name, prompt, **settings)

    def _embed(self, values, prompt_name, truncate_dim, without_prompt, batch_size, show):
        with self._gate.changing():
            name = None if without_prompt else self._default[0] if prompt_name is None else prompt_name
            try:
                self._choose(name, self._default[1] if truncate_dim is None else whole(truncate_dim, "truncate_dim", low=1))
                width = lib.gnn_pretrained_embedding_width(self._at)
                if width < 0:
                    raise NotImplementedError(f"{self.folder} has no modules.json that says how sentences become vectors")
                out = np.empty((len(values), width), REAL)
                step = whole(batch_size, "batch_size", low=1) if batch_size is not None else 1024 if show else max(len(values), 1)
                for k in _shown(range(0, len(values), step), show):
                    texts, kept = _texts(values[k:k + step], "sentences", k)
                    check(lib.gnn_pretrained_embed(self._at, context()._at, ctypes.byref(texts), ctypes.byref(tensor(out[k:k + step]))))
                    del kept
            finally:
                self._choose(*self._default)
        return out

    def _choose(self, prompt_name, columns):
        """Sets the prompt and the columns of the vectors; those of the folder stand between calls."""
        check(lib.gnn_pretrained_choose_prompt(self._at, None if prompt_name is None else text(prompt_name, "prompt_name")))
        check(lib.gnn_pretrained_choose_width(self._at, columns))

    def similarity(self, first, second):
        """Similarities of vectors, by the function that the folder names.

        Parameters
        ----------
        first, second : array (vectors, width)

        Returns
        -------
        array (first, second)
        """
        a, b = (reals(np.atleast_2d(array_of(v, n)), n) for v, n in ((first, "first"), (second, "second")))
        out = np.empty((len(a), len(b)), REAL)
        check(lib.gnn_pretrained_similarity(self._at, ctypes.byref(tensor(a)), ctypes.byref(tensor(b)), ctypes.byref(tensor(out))))
        return out


def _quantised(v, precision):
    """Vectors of fewer bits, as the package sentence-transformers has them."""
    if precision == "float32":
        return v
    if precision.endswith("binary"):
        bits = np.packbits(v > 0, axis=-1)
        return bits if precision == "ubinary" else (bits ^ 0x80).view(np.int8)
    if not len(v):
        return v.astype(precision)
    low, high = v.min(0), v.max(0)
    step = (high - low) / 255
    levels = np.clip(np.floor((v - low) / np.where(step == 0, 1, step)), 0, 255)
    return (levels if precision == "uint8" else levels - 128).astype(precision)


def _shown(steps, show):
    if not show:
        return steps
    from tqdm.auto import tqdm
    return tqdm(steps, desc="Batches")


class Generator(Pretrained):
    """Continues texts by a language model.

    Parameters
    ----------
    folder : path
        With config.json, model.safetensors, a tokenizer, and a head for the next token.
    """

    def _how(self, settings):
        how, kept = struct("gnn_generation_t")(), []
        codes = {member: code for member, code, _ in _abi.STRUCTS["gnn_generation_t"] if code in "qfQi" and not member.startswith("n_")}
        for name, value in settings.items():
            if name == "stop" and value is not None:
                words = [value] if isinstance(value, str) else strings(value, "stop")
                at = (ctypes.c_char_p * max(len(words), 1))(*(text(word, f"stop[{k}]") for k, word in enumerate(words)))
                kept.append(at)
                how.stop, how.n_stop = ctypes.addressof(at), len(words)
            elif name not in codes and name != "stop":
                raise TypeError(f"generation has no argument {name!r}; there are {', '.join(sorted(codes))}, stop")
            elif value is not None:
                if name in ("length", "samples", "beams"):
                    whole(value, name, low=1)  # in the struct 0 is the default
                setattr(how, name, member(value, name, "gnn_generation_t", name, codes[name]))
        return how, kept

    def _run(self, prompts, how, on_text=None):
        texts, kept = _texts(prompts, "prompts")
        at = self._at  # lives as long as the writer
        writer, written = struct("gnn_writer_t")(pretrained=at), ctypes.c_void_p()
        function = callback("gnn_generation_t.on_text")(on_text) if on_text else None
        if function:
            how.on_text = ctypes.cast(function, ctypes.c_void_p)
        with self._gate:
            check(lib.gnn_generate_texts(ctypes.byref(writer), context()._at, ctypes.byref(texts), ctypes.byref(how), ctypes.byref(written)))
        del kept
        try:
            made = struct("gnn_written_t").from_address(written.value)
            at = ctypes.cast(made.texts, ctypes.POINTER(ctypes.c_char_p))
            return [at[k].decode("utf-8", "replace") for k in range(made.count)]
        finally:
            lib.gnn_written_free(written)

    def generate(self, prompts, **settings):
        """Continuations of a string, or of several; without the prompts.

        Parameters
        ----------
        prompts : str or list of str
        length, temperature, top_k, top_p, repetition, seed, samples, beams, stop, ... : optional
            The fields of gnn_generation_t by name.
        """
        one = isinstance(prompts, str)
        how, kept = self._how(settings)
        made = self._run([prompts] if one else strings(prompts, "prompts"), how)
        del kept
        return made[0] if one and len(made) == 1 else made

    def stream(self, prompt, **settings):
        """Yields the pieces of the continuation of one string as they come.

        Leaving the loop ends the generation.
        """
        if not isinstance(prompt, str):
            raise TypeError(f"prompt must be one string, came {short(prompt)}")
        if settings.get("samples") is not None and whole(settings["samples"], "samples") != 1:
            raise ValueError("stream() yields one text; generate() makes several samples")
        how, kept = self._how(settings)
        return self._pieces(prompt, how, kept)

    def _pieces(self, prompt, how, kept):
        pieces, over = queue.Queue(maxsize=64), threading.Event()

        def on_text(_, text, piece, size):
            pieces.put(ctypes.string_at(piece, size).decode("utf-8", "replace"))
            return int(over.is_set())

        def work():
            try:
                self._run([prompt], how, on_text)
                pieces.put(None)
            except BaseException as problem:  # noqa: B902 (raised by the consumer)
                pieces.put(problem)
        thread = threading.Thread(target=work, name="libgnn", daemon=True)
        thread.start()
        try:
            while (piece := pieces.get()) is not None:
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        finally:
            over.set()
            while thread.is_alive():
                try:
                    pieces.get(timeout=0.01)
                except queue.Empty:
                    pass
            del kept
