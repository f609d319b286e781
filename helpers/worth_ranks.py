"""Spearman's rank correlation for many rows at once, 0 where a row does not rank anything.

Left out: p-values (`scipy.stats.spearmanr` has them) and missing values.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata


def spearman(a: ArrayLike, b: ArrayLike) -> np.ndarray:
    """Spearman's ρ along the last axis, (...) for a and b (..., n) that broadcast; ties share their mean rank.

    Constant scores rank nothing and get 0. ValueError for lengths that differ, fewer than two values, and NaN.

    >>> float(spearman([1, 2, 3], [10, 20, 15])), float(spearman([0.5, 0.5, 0.5], [1, 2, 3]))
    (0.5, 0.0)
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if a.ndim < 1 or b.ndim < 1 or a.shape[-1] != b.shape[-1] or a.shape[-1] < 2:
        raise ValueError(f"expected two sets of scores (..., n) of one length n from 2 up, got {a.shape} and {b.shape}")
    if np.isnan(a).any() or np.isnan(b).any():
        raise ValueError(f"expected scores without NaN, got {int(np.isnan(a).sum())} in {a.shape} and "
                         f"{int(np.isnan(b).sum())} in {b.shape}")
    middle = (a.shape[-1] + 1) / 2
    x, y = rankdata(a, axis=-1) - middle, rankdata(b, axis=-1) - middle
    size = np.sqrt((x**2).sum(axis=-1) * (y**2).sum(axis=-1))
    return np.divide((x * y).sum(axis=-1), size, out=np.zeros(size.shape), where=size > 0)
