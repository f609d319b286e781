"""The vectors of a memory's lessons: embedded when needed, checked, and cached in a file that is never trusted.

Left out: which lessons there are. The memory says which ids want a vector of which text, and in which order the
texts came: an embedder that grows its vocabulary must see them in that order to give every word its column again.
"""

import copy
import hashlib
import json
import os
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from helpers.unit_vectors import Embedder, unit_rows
from helpers.vector_index import VectorIndex

BATCH = 512  # texts embedded in one call, so that a wide bag of words needs little room beside the matrix


class EmbeddingError(ValueError):
    """An embedder gave something that is no vector for a text; the message names the text."""


class LessonVectors:
    """Vectors by lesson id, made by the memory's own copy of an embedder."""

    def __init__(self, embedder: Embedder) -> None:
        self.grows = hasattr(embedder, "partial_fit")
        self._blank = own_copy(embedder)
        self.embedder = copy.deepcopy(self._blank) if self.grows else embedder
        self.fingerprint = _fingerprint(self.embedder)
        # Which characters are letters depends on the Unicode of the Python at work, and with it a word's column.
        self.made_by = self.fingerprint + (f", Unicode {unicodedata.unidata_version}" if self.grows else "")
        self.index = VectorIndex()
        self._wanted: dict[int, str] = {}  # id -> text
        self._have: dict[int, str] = {}    # id -> text whose vector is in the index, or is zero
        self._settled = True

    def restart(self, *, afresh: bool = False) -> None:
        """The memory begins to tell its lessons anew. Vectors stay, unless `afresh` or a vocabulary begins anew too."""
        self._wanted, self._settled = {}, False
        if self.grows:
            self.embedder = copy.deepcopy(self._blank)
        if self.grows or afresh:
            self.index, self._have = VectorIndex(), {}

    def learn(self, text: str) -> None:
        """Let a growing vocabulary take in a text; no other embedder is touched."""
        if self.grows:
            self.embedder.partial_fit([text])

    def want(self, lesson_id: int, text: str) -> None:
        """This lesson is to be found; its vector is made by the next `settle`."""
        self._wanted[lesson_id] = text
        self._settled = self._settled and self._have.get(lesson_id) == text

    def put(self, lesson_id: int, text: str, vector: np.ndarray) -> None:
        """This lesson is to be found by this (d,) vector."""
        if vector.any():  # a zero vector is similar to nothing: it stays out, and is never found
            self.index.put(lesson_id, vector)
        self._wanted[lesson_id] = self._have[lesson_id] = text

    def forget(self, lesson_id: int) -> None:
        """This lesson is not to be found any more."""
        self._wanted.pop(lesson_id, None)
        self._have.pop(lesson_id, None)
        self.index.drop(lesson_id)

    def settle(self, cached: "VectorCache | None" = None) -> None:
        """Make `index` hold what is wanted: drop what is not, then take from the cache or embed what is missing."""
        if self._settled:
            return
        for lesson_id in [i for i, text in self._have.items() if self._wanted.get(i) != text]:
            self._have.pop(lesson_id)
            self.index.drop(lesson_id)
        missing = [lesson_id for lesson_id in self._wanted if lesson_id not in self._have]
        stored = cached.load(self.made_by) if cached and missing else {}
        for lesson_id in missing:
            if lesson_id in stored:
                self.put(lesson_id, self._wanted[lesson_id], stored[lesson_id])
        missing = [lesson_id for lesson_id in missing if lesson_id not in stored]
        for part in (missing[start:start + BATCH] for start in range(0, len(missing), BATCH)):
            vectors = self.embed([self._wanted[i] for i in part], [f"lesson {i}" for i in part])
            for lesson_id, vector in zip(part, vectors, strict=True):
                self.put(lesson_id, self._wanted[lesson_id], vector)
        self._settled = True

    def vectors(self) -> Iterator[tuple[int, np.ndarray]]:
        """(id, (width,) float32) of every lesson that has its vector, zero ones included."""
        columns = dict(zip(self.index.ids.tolist(), self.index.columns.T, strict=True))
        zero = np.zeros(self.index.width, np.float32)
        return ((lesson_id, columns.get(lesson_id, zero)) for lesson_id in self._have)

    def embed(self, texts: Sequence[str], names: Sequence[str]) -> np.ndarray:
        """(n, d) float32 rows of length 1 or 0; EmbeddingError naming the text when the embedder gives less."""
        return self.checked(self.embedder.embed(list(texts)), names)

    def checked(self, vectors: Any, names: Sequence[str]) -> np.ndarray:
        """What an embedder gave for the named texts, as (n, d) float32 rows of length 1 or 0; or EmbeddingError."""
        try:
            vectors = np.asarray(vectors, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise EmbeddingError(f"{names[0]}: expected an array of numbers from the embedder, got {error}") from error
        if vectors.ndim != 2 or len(vectors) != len(names):
            raise EmbeddingError(f"{names[0]}: expected an array of shape ({len(names)}, d) from the embedder, "
                                 f"got {vectors.shape}; `embed` gives one row a text")
        if bad := np.flatnonzero(~np.isfinite(vectors).all(axis=1)).tolist():
            raise EmbeddingError(f"{names[bad[0]]}: expected finite numbers from the embedder, got NaN or infinity; "
                                 "mend the embedder, nothing was stored")
        width = self.index.width
        if width and (vectors.shape[1] < width if self.grows else vectors.shape[1] != width):
            raise EmbeddingError(f"{names[0]}: expected {width} numbers as for the lessons before, got "
                                 f"{vectors.shape[1]}; use the embedder the memory was made with")
        return unit_rows(vectors)


class VectorCache:
    """Vectors in a .npz beside the log; used only if it was made from the very log that is there, by this embedder.

    `log` answers `proof(length)`, the SHA-256 of the first `length` bytes of the log. `notes` receives a line when
    the file cannot be used: vectors are then embedded again, which costs time and nothing else.
    """

    def __init__(self, path: Path, log: Any, notes: list[str]) -> None:
        self.path, self._log, self._notes = path, log, notes

    def load(self, made_by: str) -> dict[int, np.ndarray]:
        """Vectors by id, as of an earlier state of the log; empty when the file is missing or does not match."""
        try:
            with self.path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                ids, vectors, about = file["ids"], file["vectors"], json.loads(str(file["about"]))
            if about["embedder"] != made_by or about["log"] != self._log.proof(about["length"]):
                raise ValueError("made from another log or embedder")
            if about["content"] != _digest(ids, vectors):
                raise ValueError("changed after it was written")
            return dict(zip(ids.tolist(), vectors, strict=True))
        except FileNotFoundError:
            return {}
        except Exception as error:  # a damaged archive raises almost anything, and none of it matters here
            self._notes.append(f"{self.path.name}: not used ({error}); vectors are embedded again")
            return {}

    def save(self, vectors: LessonVectors, length: int) -> None:
        """Write all vectors, as of the first `length` bytes of the log; failing is noted and loses nothing."""
        pairs = list(vectors.vectors())
        ids = np.array([lesson_id for lesson_id, _ in pairs], np.int64)
        rows = np.array([row for _, row in pairs], np.float32).reshape(len(pairs), vectors.index.width)
        fresh = self.path.with_name(self.path.name + ".tmp")
        try:
            about = {"embedder": vectors.made_by, "length": length, "log": self._log.proof(length),
                     "content": _digest(ids, rows)}
            with fresh.open("wb") as file:
                save = np.savez_compressed if vectors.grows else np.savez  # word counts are nearly all zero
                save(file, ids=ids, vectors=rows, about=np.array(json.dumps(about)))
            os.replace(fresh, self.path)
        except Exception as error:  # the lessons are in the log already, whatever becomes of this file
            self._notes.append(f"{self.path.name}: not written ({error}); vectors will be embedded again")


def own_copy(embedder: Embedder) -> Embedder:
    """The embedder itself, or, when its vocabulary grows, one of the same configuration that knows no word yet.

    Two memories growing one vocabulary would hand each other columns their own logs cannot rebuild. An embedder
    with `partial_fit` therefore offers `state()` and `from_state`, or is handed over unused and copied.
    """
    if not hasattr(embedder, "partial_fit"):
        return embedder
    if hasattr(embedder, "from_state"):
        return type(embedder).from_state({**embedder.state(), "vocabulary": []})
    if getattr(embedder, "vocabulary", None):
        raise TypeError(f"embedder: expected {type(embedder).__name__} without a vocabulary or with from_state(), got "
                        "one that was fitted; pass a new one, the memory grows its own")
    return copy.deepcopy(embedder)


def _fingerprint(embedder: Embedder) -> str:
    fingerprint = getattr(embedder, "fingerprint", None)
    if not isinstance(fingerprint, str) or not fingerprint or not callable(getattr(embedder, "embed", None)):
        raise TypeError(f"embedder: expected embed(texts) and a fingerprint, got {type(embedder).__name__}; "
                        "see helpers.embeddings.Embedder")
    return fingerprint


def _digest(ids: np.ndarray, vectors: np.ndarray) -> str:
    return hashlib.sha256(repr((ids.shape, vectors.shape, vectors.dtype.str)).encode() + ids.tobytes()
                          + vectors.tobytes()).hexdigest()
