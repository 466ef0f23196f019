from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Unpack

from ._objects import Handle
from ._tables import GenerationSettings
from .pictures import Attention

class Pretrained(Handle):
    folder: str
    def __init__(self, folder: str | PathLike[str], keep_16_bits: bool = False, keep_packed: bool = False) -> None: ...
    @property
    def architecture(self) -> str: ...
    @property
    def max_seq_length(self) -> int | None: ...
    def attention(self, text: str, whole_words: bool = True, special: bool = True) -> Attention: ...

class SentenceEncoder(Pretrained):
    @property
    def prompts(self) -> dict[str, str]: ...
    def get_sentence_embedding_dimension(self) -> int: ...
    @overload
    def encode(
        self,
        sentences: str | Sequence[str] | None = None,
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int | None = None,
        show_progress_bar: bool | None = None,
        output_value: Literal["sentence_embedding"] = "sentence_embedding",
        precision: Literal["float32"] = "float32",
        convert_to_numpy: Literal[True] = True,
        convert_to_tensor: Literal[False] = False,
        device: Literal["cpu"] | None = None,
        normalize_embeddings: bool = False,
        truncate_dim: int | None = None,
        pool: None = None,
        chunk_size: int | None = None,
        *,
        inputs: str | Sequence[str] | None = None,
    ) -> NDArray[np.float32]: ...
    @overload
    def encode(
        self,
        sentences: str | Sequence[str] | None = None,
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int | None = None,
        show_progress_bar: bool | None = None,
        output_value: Literal["sentence_embedding"] = "sentence_embedding",
        precision: Literal["float32", "int8", "uint8", "binary", "ubinary"] | None = "float32",
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        device: Literal["cpu"] | None = None,
        normalize_embeddings: bool = False,
        truncate_dim: int | None = None,
        pool: None = None,
        chunk_size: int | None = None,
        *,
        inputs: str | Sequence[str] | None = None,
    ) -> Any: ...
    def encode_query(self, sentences: str | Sequence[str] | None = None, prompt_name: str | None = None, prompt: str | None = None, **settings: Any) -> Any: ...
    def encode_document(self, sentences: str | Sequence[str] | None = None, prompt_name: str | None = None, prompt: str | None = None, **settings: Any) -> Any: ...
    def similarity(self, first: ArrayLike, second: ArrayLike) -> NDArray[np.float32]: ...

class Generator(Pretrained):
    @overload
    def generate(self, prompts: str, **settings: Unpack[GenerationSettings]) -> str | list[str]: ...
    @overload
    def generate(self, prompts: Sequence[str], **settings: Unpack[GenerationSettings]) -> list[str]: ...
    def stream(self, prompt: str, **settings: Unpack[GenerationSettings]) -> Iterator[str]: ...
