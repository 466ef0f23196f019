import json
import os
import pickle
import sys

import numpy as np
import pytest

import folders
import libgnn


def test_folders_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="download"):
        libgnn.SentenceEncoder("nosuch")
    with pytest.raises((OSError, ValueError)):
        libgnn.Generator(tmp_path)


@pytest.mark.parametrize("name, content", [("config_sentence_transformers.json", "[]"), ("config_sentence_transformers.json", "3"), ("modules.json", "{}"), ("1_Pooling/config.json", "[]"), ("2_Normalize/config.json", "[]")])
def test_files_of_another_kind(name, content, tmp_path):
    folders.bert(tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises((ValueError, NotImplementedError), match=name):
        libgnn.SentenceEncoder(tmp_path).encode("a")


def test_sentences(minilm):
    encoder = libgnn.SentenceEncoder(minilm)
    texts = ["A cat sits on the mat.", "", "Ein Haus steht dort. 🙂", "x " * 1000]
    v = encoder.encode(texts)
    assert v.shape == (4, 384) and v.dtype == np.float32 and encoder.get_sentence_embedding_dimension() == 384
    assert np.allclose(np.linalg.norm(v, axis=1), 1, atol=1e-5)
    assert np.allclose(encoder.encode(texts[0]), encoder.encode([texts[0]])[0], atol=1e-6)
    assert np.allclose(encoder.encode(texts, batch_size=1), v, atol=1e-6)
    assert encoder.encode([]).shape == (0, 384)
    assert encoder.encode(texts, truncate_dim=64).shape == (4, 64) and encoder.encode(texts).shape == (4, 384)
    assert np.allclose(encoder.similarity(v, v).diagonal(), 1, atol=1e-5)
    assert encoder.encode(texts, truncate_dim=64, prompt="a ").shape == (4, 64) and encoder.get_sentence_embedding_dimension() == 384
    for wrong in ({"output_value": "token_embeddings"}, {"output_value": None}, {"device": "cuda"}, {"device": ["cpu", "cpu"]}, {"pool": {"input": None}}):
        with pytest.raises(NotImplementedError, match=next(iter(wrong))):
            encoder.encode(texts, **wrong)
    assert np.allclose(encoder.encode(inputs=texts, chunk_size=2, precision=None), v, atol=1e-6)
    for wrong in ({}, {"sentences": texts, "inputs": texts}, {"sentences": [["a", "b"]]}, {"sentences": texts, "chunk_size": "2"}):
        with pytest.raises(TypeError, match="sentences|chunk_size"):
            encoder.encode(**wrong)
    for wrong in ({"precision": "int4"}, {"precision": "int8", "sentences": "one"}):
        with pytest.raises(ValueError, match="precision"):
            encoder.encode(**{"sentences": texts, **wrong})
    with pytest.raises(TypeError, match=r"sentences\[1\]"):
        encoder.encode(["a", None])
    with pytest.raises(TypeError):
        encoder.encode(texts, nosuch=1)
    with pytest.raises(KeyError):
        encoder.encode(texts, prompt_name="nosuch")
    encoder.close()
    with pytest.raises(ValueError, match="closed"):
        encoder.encode(texts)


def test_equal_to_sentence_transformers(minilm):
    package = pytest.importorskip("sentence_transformers")
    texts = ["A cat sits on the mat.", "Two dogs run.", "Ein Haus.", "the quick brown fox " * 40]
    ours, theirs = libgnn.SentenceEncoder(minilm).encode(texts), package.SentenceTransformer(minilm, device="cpu").encode(texts)
    assert ((ours * theirs).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)).min() >= 0.999999
    prompted = libgnn.SentenceEncoder(minilm).encode(texts, prompt="query: ")
    assert np.allclose(prompted, package.SentenceTransformer(minilm, device="cpu").encode(texts, prompt="query: "), atol=1e-5)


def test_arguments_of_sentence_transformers(minilm):
    """Each is obeyed as in the package."""
    package, torch = pytest.importorskip("sentence_transformers"), pytest.importorskip("torch")
    ours, theirs = libgnn.SentenceEncoder(minilm), package.SentenceTransformer(minilm, device="cpu")
    texts = ["A cat sits on the mat.", "Two dogs run.", "Ein Haus.", "", "the quick brown fox " * 40]
    for settings in ({"normalize_embeddings": True}, {"truncate_dim": 100}, {"truncate_dim": 100, "normalize_embeddings": True}, {"batch_size": 2}, {"prompt": "query: "}, {"prompt": ""}, {"convert_to_tensor": True},
                     {"convert_to_numpy": False}, {"convert_to_tensor": True, "convert_to_numpy": False, "truncate_dim": 5}, {"device": "cpu"}, {"show_progress_bar": False}, {"chunk_size": 3}):
        for given in (texts, texts[0], np.array(texts), tuple(texts)):
            a, b = ours.encode(given, **settings), theirs.encode(given, **settings)
            assert type(a) is type(b)
            if isinstance(a, list):
                assert len(a) == len(b) and {type(v) for v in a} == {type(v) for v in b}
                a, b = torch.stack(a), torch.stack(b)
            assert a.shape == b.shape and a.dtype == b.dtype and np.allclose(a, b, atol=1e-5), settings
    for precision in ("int8", "uint8", "binary", "ubinary"):
        for settings in ({}, {"normalize_embeddings": True, "truncate_dim": 50}, {"convert_to_tensor": True}):
            for given in (texts, texts[0]) if "binary" in precision else (texts,):
                a, b = ours.encode(given, precision=precision, **settings), theirs.encode(given, precision=precision, **settings)
                assert type(a) is type(b) and a.shape == b.shape and a.dtype == b.dtype
                off = np.abs(np.asarray(a).astype(int) - np.asarray(b).astype(int))
                assert off.max() <= 1 if "int8" in precision else (off > 0).mean() < 0.01, (precision, settings)
    a, b = ours.encode(texts), theirs.encode(texts)
    for first, second in ((a, b), (a[0], b), (list(a), list(b)), (torch.from_numpy(a), torch.from_numpy(b)), (list(torch.from_numpy(a)), a[:2])):
        assert np.allclose(ours.similarity(first, second), theirs.similarity(first, second), atol=1e-5)


def folders_of_sentences(home):
    """The folders by which the library is tested against sentence-transformers, with weights that
    follow from the names of arrays."""
    where = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "transformers")
    sys.path.insert(0, where)
    try:
        import keys
        import sentences
    finally:
        sys.path.remove(where)
    numpy_file = pytest.importorskip("safetensors.numpy")
    for name, (files, arrays), _ in sentences.FOLDERS:
        folder = os.path.join(home, name)
        for file, content in files.items():
            sentences.write(os.path.join(folder, file), content)
        for file, shapes in arrays.items():
            os.makedirs(os.path.dirname(os.path.join(folder, file)), exist_ok=True)
            made = {n: np.array(s["int64"]) if isinstance(s, dict) else keys.number(n, s) for n, s in shapes.items()}
            numpy_file.save_file(made, os.path.join(folder, file), metadata={"format": "pt"})
        yield name, folder, sentences.TEXTS


def test_every_folder_of_sentences(tmp_path):
    """Cosines of at least 0.999999 with what the package computes, and settings that copies keep."""
    package = pytest.importorskip("sentence_transformers")
    pytest.importorskip("transformers")
    seen = 0
    for name, folder, texts in folders_of_sentences(tmp_path):
        kind = package.SparseEncoder if name == "splade" else package.SentenceTransformer
        try:
            theirs = kind(folder, device="cpu", local_files_only=True).encode(texts, show_progress_bar=False, **({"convert_to_sparse_tensor": False} if name == "splade" else {}))
        except Exception:  # noqa: BLE001 (a folder that the package refuses: libgnn must as well)
            with pytest.raises((ValueError, OSError, NotImplementedError)):
                libgnn.SentenceEncoder(folder).encode(texts)
            continue
        theirs = np.asarray(theirs, np.float64)
        for encoder in (libgnn.SentenceEncoder(folder), pickle.loads(pickle.dumps(libgnn.SentenceEncoder(folder, keep_packed=True)))):
            ours = encoder.encode(texts).astype(np.float64)
            assert ours.shape == theirs.shape, name
            length = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
            cosine = np.where(length > 0, (ours * theirs).sum(1) / np.where(length > 0, length, 1), 1)
            assert cosine.min() >= 0.999999 and np.allclose(ours, theirs, rtol=1e-4, atol=1e-5 * np.abs(theirs).max()), (name, cosine)
            for one, v in zip(texts, ours):
                assert np.allclose(encoder.encode(one), v, rtol=1e-4, atol=1e-5 * np.abs(theirs).max()), name
        seen += 1
    assert seen >= 10


@pytest.mark.parametrize("prompts", [{}, {"query": "query: ", "passage": "passage: ", "other": "other: "}, {"query": "", "document": "text: ", "passage": "passage: "}])
@pytest.mark.parametrize("default", [None, "other"])
def test_queries_and_documents(prompts, default, tmp_path):
    default = default if default in prompts else None
    folders.bert(tmp_path, prompts=prompts, default_prompt_name=default)
    encoder, texts = libgnn.SentenceEncoder(tmp_path), ["a cat sat", "on the mat."]
    for encode, prompt in ((encoder.encode_query, prompts.get("query", "")), (encoder.encode_document, prompts.get("document", "")), (encoder.encode, prompts.get(default, ""))):
        assert np.allclose(encode(texts), encoder.encode(texts, prompt=prompt), atol=1e-6)
        assert np.allclose(encode(texts, prompt="x "), encoder.encode(texts, prompt="x "), atol=1e-6)
    assert encoder.encode_query(texts, truncate_dim=4).shape == (2, 4) and encoder.encode_query(texts[0]).shape == (16,)
    with pytest.raises(TypeError, match="nosuch"):
        encoder.encode_query(texts, nosuch=1)
    package = pytest.importorskip("sentence_transformers")
    theirs = package.SentenceTransformer(str(tmp_path), device="cpu", local_files_only=True)
    for name in ("encode_query", "encode_document", "encode"):
        assert np.allclose(getattr(encoder, name)(texts), getattr(theirs, name)(texts, show_progress_bar=False), atol=1e-5), name


def test_rows_that_tokens_share(tmp_path):
    """A folder of Model2Vec: mapping names the row of each token, weights scale it."""
    words, mapping, weights = "[PAD] [UNK] a b c d".split(), [0, 1, 2, 0, 1, 2], [1.0, 1.0, 2.0, 3.0, 0.5, 1.0]
    table = np.add.outer(10 * np.arange(3), np.arange(4)).astype(np.float32)
    model = {"type": "WordLevel", "vocab": {w: k for k, w in enumerate(words)}, "unk_token": "[UNK]"}
    files = {"modules.json": [{"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}],
             "tokenizer.json": {"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "model": model}}
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    folders.safetensors(tmp_path / "model.safetensors", {"embeddings": table, "mapping": np.array(mapping), "weights": np.array(weights, np.float32)})
    want = np.mean([weights[k] * table[mapping[k]] for k in map(words.index, "a b d".split())], 0)
    assert np.allclose(libgnn.SentenceEncoder(tmp_path).encode("a b d"), want)


@pytest.fixture(scope="module")
def writer(tmp_path_factory):
    """A small language model with drawn weights."""
    transformers, tokenizers = pytest.importorskip("transformers"), pytest.importorskip("tokenizers")
    folder = tmp_path_factory.mktemp("gpt2")
    tokens = tokenizers.Tokenizer(tokenizers.models.BPE({chr(c): k for k, c in enumerate(range(33, 127))} | {"Ġ": 94, "<|endoftext|>": 95}, []))
    tokens.pre_tokenizer, tokens.decoder = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False), tokenizers.decoders.ByteLevel()
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokens, eos_token="<|endoftext|>").save_pretrained(folder)
    config = transformers.GPT2Config(vocab_size=96, n_positions=64, n_embd=32, n_layer=2, n_head=2, bos_token_id=95, eos_token_id=95)
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    return libgnn.Generator(folder)


def test_generation(writer):
    settings = {"length": 12, "temperature": 1.0, "seed": 5}
    text = writer.generate("Once", **settings)
    assert "".join(writer.stream("Once", **settings)) == text
    assert writer.generate(["Once", "Once"], **settings)[0] == text
    assert len(writer.generate("Once", samples=3, **settings)) == 3
    for wrong in ({"lenght": 3}, {"max_new_tokens": 3}):
        with pytest.raises(TypeError, match="length"):
            writer.generate("Once", **wrong)
    for name in ("length", "samples", "beams"):
        with pytest.raises(ValueError, match=name):
            writer.generate("Once", **{name: 0})
    with pytest.raises(ValueError):
        writer.generate("Once", temperature=-1)
    with pytest.raises(TypeError):
        writer.stream(["Once"])


def test_a_stream_may_be_left(writer):
    stream = writer.stream("Once", length=50, temperature=1.0)
    next(stream)
    stream.close()
    assert isinstance(writer.generate("Once", length=3), str)
    with pytest.raises(ValueError):
        list(writer.stream("Once", length=1, temperature=-1))
