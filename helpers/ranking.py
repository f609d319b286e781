"""Judge what a search ranks first: leave-one-out ranks, recall@k and reciprocal ranks, beside a random ranking.

Left out: graded relevance (nDCG), precision and average precision; a memory needs one right lesson near the top.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from helpers.stats import paired_difference
from helpers.vector_index import DIGITS

TIES = ("order", "best", "worst")


@dataclass(frozen=True)
class Estimate:
    """A mean over queries with its interval, in the unit of the measure (here a share or a reciprocal, 0 to 1)."""

    mean: float
    low: float
    high: float
    level: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} [{self.low:.2f}, {self.high:.2f}]"


def cosines(vectors: ArrayLike, others: ArrayLike | None = None) -> np.ndarray:
    """(n, m) float64 in [-1, 1]: cosine of each of (n, d) rows with each of (m, d) `others`, or with one another.

    NaN where a row is all zero: such a text is like nothing, not unlike everything. Rounded to the digits a search
    keeps (`helpers.vector_index`), so that equal texts tie on every machine.

    >>> cosines([[3.0, 4.0], [0.0, 0.0]], [[1.0, 0.0]]).tolist()
    [[0.6], [nan]]
    """
    rows, empty = _directions(vectors, "vectors")  # (n, d), (n, 1)
    columns, empty_too = (rows, empty) if others is None else _directions(others, "others")
    if rows.shape[1] != columns.shape[1]:
        raise ValueError(f"expected vectors of one width, got {rows.shape[1]} and {columns.shape[1]} numbers; "
                         "embed both with one embedder")
    return np.where(empty | empty_too.T, np.nan, np.clip(np.round(rows @ columns.T, DIGITS), -1.0, 1.0))  # (n, m)


def _directions(vectors: ArrayLike, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows of length 1 as float64 (a zero row stays zero), and which of them are zero, as a column."""
    rows = np.asarray(vectors, dtype=np.float64)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise ValueError(f"{name}: expected finite numbers of shape (n, d), got shape {rows.shape}"
                         + ("" if rows.ndim != 2 else " with NaN or infinity; look at the embedder"))
    lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))  # (n, 1)
    return rows / np.where(lengths == 0, 1, lengths), lengths == 0


def first_ranks(scores: ArrayLike, relevant: ArrayLike, *, ties: str = "order") -> np.ndarray:
    """(q,) float64: at which rank the first relevant candidate stands; 1 is the top, infinity is "not found".

    `scores` and `relevant` (True or False) are (q, n), one row a query; a candidate scored NaN is in no ranking.
    `ties`: equal scores go by column, as in the memory ("order"), or for or against the relevant ("best", "worst").

    >>> first_ranks([[0.9, 0.5, 0.7]], [[False, True, True]]).tolist()
    [2.0]
    """
    scores, relevant = np.asarray(scores, dtype=np.float64), np.asarray(relevant)
    if scores.ndim != 2 or scores.shape != relevant.shape or relevant.dtype != np.bool_:
        raise ValueError("expected scores and relevant (True or False) of one shape (queries, candidates), got "
                         f"{scores.shape} and {relevant.shape} of {relevant.dtype}")
    if ties not in TIES:
        raise ValueError(f"ties: expected one of {', '.join(TIES)}, got {ties!r}")
    if not relevant.any(axis=1).all():
        query = int(np.flatnonzero(~relevant.any(axis=1))[0])
        raise ValueError(f"query {query}: expected a relevant candidate, got none; leave out queries without one")
    scores = np.where(np.isnan(scores), -np.inf, scores)
    best = np.where(relevant, scores, -np.inf).max(axis=1, keepdims=True)  # (q, 1)
    tied = (scores == best) & ~relevant                                    # (q, n)
    first = ((scores == best) & relevant).argmax(axis=1)[:, None]          # (q, 1)
    if ties == "order":
        tied &= np.arange(scores.shape[1]) < first
    ranks = 1.0 + (scores > best).sum(axis=1) + (0 if ties == "best" else tied.sum(axis=1))  # (q,)
    return np.where(np.isneginf(best[:, 0]), np.inf, ranks)


def leave_one_out_ranks(scores: ArrayLike, labels: ArrayLike, *, ties: str = "order") -> np.ndarray:
    """(n,) ranks of the first other item with the same label; `scores` is (n, n), each item asks and is left out.

    A label that only one item has is a ValueError: that item has no other to find.

    >>> leave_one_out_ranks([[1, .8, .3], [.8, 1, .4], [.3, .4, 1]], ["a", "a", "a"]).tolist()
    [1.0, 1.0, 1.0]
    """
    scores, same = np.array(scores, dtype=np.float64), _same_label(labels)
    if scores.shape != same.shape:
        raise ValueError(f"expected scores of shape {same.shape} for {len(same)} labels, got {scores.shape}")
    np.fill_diagonal(scores, np.nan)
    return first_ranks(scores, same, ties=ties)


def _same_label(labels: ArrayLike) -> np.ndarray:
    """(n, n) bool: another item with the same label; an item does not count for itself."""
    labels = np.asarray(labels)
    same = labels[:, None] == labels[None, :]
    np.fill_diagonal(same, False)
    if not same.any(axis=1).all():
        alone = labels[~same.any(axis=1)][0].item()
        raise ValueError(f"label {alone!r}: expected two items or more, got one; leave it out, there is no other")
    return same


def recall_at(ranks: ArrayLike, k: int) -> np.ndarray:
    """(q,) of 0 and 1: whether at least one of the first k is relevant (also called hit rate, or success@k).

    >>> recall_at([1, 3, 4, np.inf], 3).tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    if k < 1:
        raise ValueError(f"k: expected 1 or more, got {k}")
    return (_ranks(ranks) <= k).astype(np.float64)


def reciprocal_ranks(ranks: ArrayLike) -> np.ndarray:
    """(q,) in [0, 1]: 1 for the top, 1/2 for the second, 0 when not found; their mean is the MRR (Voorhees 1999).

    >>> reciprocal_ranks([1, 4, np.inf]).tolist()
    [1.0, 0.25, 0.0]
    """
    return 1 / _ranks(ranks)


def _ranks(ranks: ArrayLike) -> np.ndarray:
    ranks = np.asarray(ranks, dtype=np.float64)
    if not (ranks >= 1).all():
        raise ValueError(f"expected ranks from 1 to infinity, got {ranks[~(ranks >= 1)][0]}")
    return ranks


def random_rank_probabilities(labels: ArrayLike) -> np.ndarray:
    """(n, n-1): how probable each rank 1, 2, … of the first other item with the same label is in a random order.

    Of N = n-1 others, m have the label; none is in the first k with probability (N-m)/N · (N-m-1)/(N-1) · … (k terms).

    >>> random_rank_probabilities(["a", "a", "a", "a"])[0].tolist()
    [1.0, 0.0, 0.0]
    """
    wanted = _same_label(labels).sum(axis=1)[:, None]           # (n, 1)
    others = len(wanted) - 1
    drawn = np.arange(others)                                   # how many were drawn before
    missed = np.cumprod(np.clip(others - wanted - drawn, 0, None) / (others - drawn), axis=1)  # (n, n-1)
    return np.hstack([np.ones_like(missed[:, :1]), missed[:, :-1]]) - missed


def estimate(values: ArrayLike, *, rng: np.random.Generator, level: float = 0.95,
             resamples: int = 10_000) -> Estimate:
    """Mean of one value a query with its percentile bootstrap interval over queries (`helpers.stats`).

    >>> str(estimate([1, 1, 1], rng=np.random.default_rng(0)))
    '1.00 [1.00, 1.00]'
    """
    values = np.asarray(values, dtype=np.float64)
    d = paired_difference(values, np.zeros_like(values), rng=rng, level=level, resamples=resamples)
    return Estimate(d.mean, d.low, d.high, d.level)
