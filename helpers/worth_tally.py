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
    if withheld and stream.kept is None:
        raise ValueError("expected a stream that says which memories were withheld, got kept = None; draw it with "
                         "withhold() before the outcomes, which must depend on it")
    used = (stream.retrieved >= 0) & ~stream.kept if withheld else stream.used
    weights = None if weights is None else np.broadcast_to(weights, stream.retrieved.shape)
    runs = math.prod(stream.lead)
    offset = np.arange(0, runs * n_groups, n_groups).reshape(*stream.lead, 1)  # (..., 1)
    offset = (offset + np.broadcast_to(0 if groups is None else groups, stream.success.shape)) * stream.n
    sums = np.zeros(runs * n_groups * stream.n)
    for slot in range(stream.k):  # a slot at a time stays in the cache and is as quick for either layout in memory
        chosen = ... if used is None else used[..., slot]
        cells = (offset + stream.retrieved[..., slot])[chosen]  # (..., episodes) or (used,)
        sums += np.bincount(cells.ravel(), None if weights is None else weights[..., slot][chosen].ravel(),
                            minlength=sums.size)
    return sums.reshape(*stream.lead, n_groups, stream.n)


def ratio(part: np.ndarray, whole: np.ndarray, otherwise: ArrayLike) -> np.ndarray:
    """part / whole where whole > 0, else `otherwise`.

    >>> ratio(np.array([1.0, 0.0]), np.array([4.0, 0.0]), 0.5).tolist()
    [0.25, 0.5]
    """
    found = np.broadcast_to(np.asarray(otherwise, dtype=np.float64), np.shape(whole)).copy()
    return np.divide(part, whole, out=found, where=whole > 0)
