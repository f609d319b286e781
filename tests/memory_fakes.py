"""Embedders for tests whose similarities are known exactly, and small tools around a memory file."""

import hashlib
import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Self

import numpy as np

from helpers.memory import VectorMemory


class Exact:
    """A text that is a number c has cosine c with the text "query"; a text without a digit is a zero vector."""

    fingerprint = "Exact()"

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.fail: BaseException | None = None

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.calls.append(list(texts))
        if self.fail is not None:
            raise self.fail
        vectors = np.zeros((len(texts), 2), np.float32)
        for row, text in enumerate(texts):
            if text == "query":
                vectors[row] = 1, 0
            elif any(sign.isdigit() for sign in text):
                cosine = float(text)
                vectors[row] = cosine, math.sqrt(1 - cosine ** 2)
        return vectors


class Hashed:
    """Any text has a pseudo-random unit vector of its own, the same in every process."""

    def __init__(self, d: int = 8, name: str = "Hashed") -> None:
        self.d, self.fingerprint = d, f"{name}(d={d})"

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        rows = [np.frombuffer(hashlib.sha256(text.encode()).digest(), np.uint8)[:self.d] - 127.5 for text in texts]
        vectors = np.array(rows, np.float64).reshape(len(texts), self.d)
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


class Growing:
    """Word counts over a vocabulary that grows; `fail` interrupts after the vocabulary has taken in the text."""

    fingerprint = "Growing()"

    def __init__(self) -> None:
        self.vocabulary: dict[str, int] = {}
        self.fail: BaseException | None = None

    def partial_fit(self, texts: Sequence[str]) -> Self:
        for text in texts:
            for word in text.split():
                self.vocabulary.setdefault(word, len(self.vocabulary))
        return self

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        if self.fail is not None:
            raise self.fail
        vectors = np.zeros((len(texts), len(self.vocabulary)))
        for row, text in enumerate(texts):
            for word in text.split():
                if word in self.vocabulary:
                    vectors[row, self.vocabulary[word]] += 1
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / np.where(lengths == 0, 1, lengths)).astype(np.float32)


class Clock:
    """One second later at each look."""

    def __init__(self, start: datetime = datetime(2025, 1, 1, tzinfo=UTC)) -> None:
        self.now = start

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def state(memory) -> tuple:
    """Everything a memory holds, comparable with ==."""
    return list(memory), memory.archived, memory.receipts, memory.outcomes


def filled(path, *specs, embedder=None, **options) -> VectorMemory:
    """A memory of one lesson a specification."""
    memory = VectorMemory(path, embedder or Exact(), **options)
    for spec in specs:
        memory.add(spec, f"lesson of {spec}")
    return memory


def found(hits) -> list[int]:
    """The ids of what a search returned."""
    return [hit.lesson.id for hit in hits]


def digest(path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
