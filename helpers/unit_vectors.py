"""What every embedder keeps to: texts in, float32 rows of length 1 or of zeros out.

Left out: how a text becomes a vector (`embeddings.py`, `neural_embeddings.py`, `openai_embedder.py`).
"""

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np


@runtime_checkable
class Embedder(Protocol):
    """What the memory needs of an embedder."""

    @property
    def fingerprint(self) -> str:
        """One line naming the configuration; two embedders whose vectors cannot be compared differ in it."""
        ...

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """(n, d) float32, C-contiguous; each row has length 1 or is all zero; NaN and infinity never occur."""
        ...


def check_texts(texts: Iterable[str]) -> list[str]:
    """The texts as a list; TypeError for one bare string, and for an item that is no str (its index is named).

    >>> check_texts(("a", "b"))
    ['a', 'b']
    """
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        raise TypeError(f"texts: expected a list of str, got {type(texts).__name__}; put the text in a list: [text]")
    texts = list(texts)
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"texts[{index}]: expected a str, got {type(text).__name__}; leave it out or convert it")
    return texts


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Each row divided by its length, as (n, d) float32; a zero row stays zero.

    ValueError naming the first row whose length is not finite.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).round(1).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    vectors = np.asarray(vectors, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt((vectors ** 2).sum(axis=1, keepdims=True))  # (n, 1)
    if not np.isfinite(lengths).all():
        row = int(np.flatnonzero(~np.isfinite(lengths[:, 0]))[0])
        raise ValueError(f"row {row}: expected a vector of finite length, got length {lengths[row, 0]}; "
                         "look for NaN or infinity in what the embedder gave for that text")
    return np.ascontiguousarray(vectors / np.where(lengths == 0, 1, lengths), dtype=np.float32)
