"""Sums over a stream of episodes, per memory and group of episodes, in one pass over all seeds.

Left out: what the sums mean (`helpers.worth_counters`, `helpers.worth_estimators`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from helpers.worth_stream import Stream


def tally(stream: Stream, groups: np.ndarray | None = None, n_groups: int = 1, *,
          weights: np.ndarray | None = None, withheld: bool = False) -> np.ndarray:
    """Sum of weights per memory and group of episodes, float (..., n_groups, n), in one pass over the slots.

    groups: int (..., episodes), the group of each episode, None for one group. weights: (..., episodes, k), or
    (..., episodes, 1) for one of the episode; None counts. withheld: sum over the withheld slots, not the kept ones.

    >>> s = Stream([[0, 1], [1, 2]], [True, False], n=3)
    >>> tally(s, s.success, 2).tolist()  # failures, then successes, of each memory
    [[0.0, 1.0, 1.0], [1.0, 1.0, 0.0]]
    """
    runs = math.prod(stream.lead)
    offset = np.arange(0, runs * n_groups, n_groups).reshape(*stream.lead, 1)  # (..., 1)
    offset = (offset + np.broadcast_to(0 if groups is None else groups, stream.success.shape)) * stream.n
    cells = np.repeat(offset.ravel(), stream.k) + stream.retrieved.ravel()  # (slots,)
    used = stream.used
    if withheld:
        if stream.kept is None:
            raise ValueError("expected a stream that says which memories were withheld, got kept = None; draw it with "
                             "withhold() before the outcomes, which must depend on it")
        used = (stream.retrieved >= 0) & ~stream.kept
    if weights is not None:
        weights = np.broadcast_to(weights, stream.retrieved.shape).ravel()
    if used is not None:
        cells, weights = cells[used.ravel()], None if weights is None else weights[used.ravel()]
    sums = np.bincount(cells, weights, minlength=runs * n_groups * stream.n)
    return sums.astype(np.float64, copy=False).reshape(*stream.lead, n_groups, stream.n)


def ratio(part: np.ndarray, whole: np.ndarray, otherwise: ArrayLike) -> np.ndarray:
    """part / whole where whole > 0, else `otherwise`.

    >>> ratio(np.array([1.0, 0.0]), np.array([4.0, 0.0]), 0.5).tolist()
    [0.25, 0.5]
    """
    found = np.broadcast_to(np.asarray(otherwise, dtype=np.float64), np.shape(whole)).copy()
    return np.divide(part, whole, out=found, where=whole > 0)
