"""What to do with worth: which memories to forget, and how to rank the ones a search found.

Each policy answers a question about counters and changes nothing; the memory acts on the answer. Left out: policies
by age and use (`helpers.eviction`). Old outcomes are discounted in the counters: `MemoryWorth(n, discount=…)`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from helpers.worth_counters import MemoryWorth


def rank_by_worth(scores: ArrayLike) -> np.ndarray:
    """Ids from the first to forget to the last, int (..., n): smallest score first, among equals the smaller id.

    scores: (..., n), any estimate of worth.

    >>> rank_by_worth([0.5, 0.1, 0.5, 0.9]).tolist()
    [1, 0, 2, 3]
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim < 1 or np.isnan(scores).any():
        raise ValueError(f"expected scores (..., n) without NaN, got {scores.shape} with {int(np.isnan(scores).sum())}")
    return np.argsort(scores, axis=-1, kind="stable")


def cut(worth: MemoryWorth, below: ArrayLike = 0.3, *, min_evidence: float = 10,
        level: float | None = None) -> np.ndarray:
    """Which memories to forget, bool (*shape, n): worth under `below`, with at least `min_evidence` retrievals.

    below: a worth in [0, 1], or one a set of counters (*shape). level: forget only what the Wilson interval of that
    level puts under `below` as a whole, so that bad luck of a few retrievals is not enough.

    >>> worth = MemoryWorth.of([1, 2, 0], [19, 8, 2])
    >>> cut(worth).tolist(), cut(worth, level=0.95).tolist()
    ([True, True, False], [True, False, False])
    """
    limit = np.asarray(below, dtype=np.float64)
    if not ((limit >= 0) & (limit <= 1)).all():
        raise ValueError(f"below: expected worths in [0, 1], got {below}")
    shown = worth.value if level is None else worth.interval(level)[1]
    return (shown < (limit[..., None] if limit.ndim else limit)) & (worth.effective >= min_evidence)


def cut_relative(worth: MemoryWorth, baseline: ArrayLike, *, margin: float = 0.05, min_evidence: float = 10,
                 level: float | None = None) -> np.ndarray:
    """`cut` of what is worth less than a baseline rate − margin, such as the success rate without any memory.

    baseline: a rate in [0, 1], or one a set of counters (*shape). Where most episodes succeed, a harmful memory may
    still stand far above any fixed threshold.

    >>> cut_relative(MemoryWorth.of([70, 90], [30, 10]), 0.85).tolist()
    [True, False]
    """
    rate = np.asarray(baseline, dtype=np.float64)
    if not ((rate >= 0) & (rate <= 1)).all():
        raise ValueError(f"baseline: expected success rates in [0, 1], got {baseline}")
    if not 0 <= margin <= 1:
        raise ValueError(f"margin: expected a difference of rates in [0, 1], got {margin}")
    return cut(worth, np.maximum(rate - margin, 0.0), min_evidence=min_evidence, level=level)


def rerank(similarity: ArrayLike, worth: MemoryWorth) -> np.ndarray:
    """Similarity × (hits⁺ + 1) / (evidence + 2), (*shape, n): the rule of succession (Laplace 1774) weighs the search.

    similarity: cosines from 0 up of the memories the counters belong to; negative ones are refused, since a good
    worth would push them further down.

    >>> rerank([0.8, 0.6], MemoryWorth.of([0, 8], [8, 0])).round(2).tolist()
    [0.08, 0.54]
    """
    similarity = np.asarray(similarity, dtype=np.float64)
    if similarity.ndim < 1 or similarity.shape[-1] != worth.n:
        raise ValueError(f"expected a similarity for each memory, got {similarity.shape} and counters "
                         f"{worth.value.shape}")
    if not (similarity >= 0).all():
        raise ValueError("similarity: expected numbers from 0 up, got "
                         f"{similarity[~(similarity >= 0)][0]}; leave such memories out by a floor")
    return similarity * (worth.hits_plus + 1) / (worth.evidence + 2)
