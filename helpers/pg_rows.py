"""What crosses the wire between a memory and its server: texts, lessons and vectors, and how a row holds each.

Left out: the tables (`helpers.pg_schema`) and the queries (`helpers.pg_memory`, `helpers.pg_search`).
"""

from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

import numpy as np
from pgvector import SparseVector, Vector

from helpers.lessons import Lesson, Receipt
from helpers.pg_schema import SPARSE_WIDTH

LESSON = "id, spec, text, code, source, family, created, hits_plus, hits_minus, uses, last_used"  # in Lesson's order
RECEIPT = "episode, ids, weights, outcome, problem"
TEXTS = slice(1, 6)  # of LESSON
SUBSTITUTE = "\x1a"  # ASCII's own sign for "here stood something else"


def stored(text: str) -> str:
    r"""The text as a column can hold it: PostgreSQL takes every character but NUL, which gets a substitute.

    >>> stored("a\0b\x1ac")
    'a\x1a0b\x1a1c'
    """
    return text.replace(SUBSTITUTE, f"{SUBSTITUTE}1").replace("\0", f"{SUBSTITUTE}0")


def given(text: str) -> str:
    r"""The text as it was before `stored`.

    >>> given(stored("a\0b\x1ac")) == "a\0b\x1ac"
    True
    """
    return text.replace(f"{SUBSTITUTE}0", "\0").replace(f"{SUBSTITUTE}1", SUBSTITUTE)


def lesson_of(row: Sequence[Any]) -> Lesson:
    """The lesson in the columns LESSON of a row; what follows them is left alone."""
    return Lesson(row[0], *map(given, row[TEXTS]), *row[6:11])


def row_of(lesson: Lesson) -> list[Any]:
    r"""The columns LESSON of a lesson.

    >>> lesson_of(row_of(Lesson(1, "spec", "half\0half"))) == Lesson(1, "spec", "half\0half")
    True
    """
    values = list(astuple(lesson))
    values[TEXTS] = map(stored, values[TEXTS])
    return values


def receipt_of(row: Sequence[Any]) -> tuple[str, Receipt]:
    """(episode, receipt) of the columns RECEIPT."""
    episode, ids, weights, outcome, problem = row
    return given(episode), Receipt(dict(zip(ids, weights, strict=True)), outcome, given(problem))


def vector_of(row: np.ndarray, *, sparse: bool) -> Vector | SparseVector:
    """A (d,) row as a parameter; word counts name the words they have, so that more words change nothing.

    >>> vector_of(np.array([0, 0.6, 0.8], np.float32), sparse=True).indices()
    [1, 2]
    """
    if not sparse:
        return Vector(row)
    return SparseVector({int(place): float(row[place]) for place in np.flatnonzero(row)}, SPARSE_WIDTH)


def array_of(vector: Vector | SparseVector, width: int) -> np.ndarray:
    """(width,) float32 of a vector that came back.

    >>> array_of(vector_of(np.array([0, 1], np.float32), sparse=True), 3).tolist()
    [0.0, 1.0, 0.0]
    """
    if isinstance(vector, Vector):
        return vector.to_numpy().astype(np.float32)
    row = np.zeros(width, np.float32)
    row[vector.indices()] = vector.values()
    return row
