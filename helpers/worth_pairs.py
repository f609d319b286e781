"""Can two memories that travel together be told apart? Two tests of the difference of their worths.

Left out: more than two memories at once, and withholding one of the pair (`helpers.worth_dropout`), which works even
when they never come apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from helpers.worth_stream import Stream


@dataclass(frozen=True, eq=False)
class PairTest:
    """Difference of two success rates, its standard error if both were equal, and the retrievals of each; (...)."""

    difference: np.ndarray
    error: np.ndarray
    retrievals: tuple[np.ndarray, np.ndarray]

    @property
    def z(self) -> np.ndarray:
        """difference / error; NaN while one of them has no retrieval, 0 when all outcomes are alike."""
        known = (self.retrievals[0] > 0) & (self.retrievals[1] > 0)
        z = np.divide(self.difference, self.error, out=np.zeros(self.error.shape), where=self.error > 0)
        return np.where(known, z, np.nan)

    def detected(self, level: float = 0.95) -> np.ndarray:
        """Whether |z| passes the two-sided limit of the level, bool (...); never without evidence."""
        if not 0 < level < 1:
            raise ValueError(f"expected a level between 0 and 1, got {level}")
        return np.abs(self.z) > ndtri((1 + level) / 2)


def naive_test(stream: Stream, a: int, b: int) -> PairTest:
    """Two-sample z test of the worths of memories a and b, as if their episodes were different ones.

    Episodes they share add the same outcome to both: they cannot make a difference, only hide it.

    >>> float(naive_test(Stream([[0, 1], [0, 1]], [True, False], n=2), 0, 1).z)
    0.0
    """
    with_a, with_b = retrieves(stream, a, b)
    return _compare(stream.success, with_a, with_b)


def exclusive_test(stream: Stream, a: int, b: int) -> PairTest:
    """The same test on the episodes that retrieved only one of the two: all the evidence there is.

    >>> s = Stream([[0, 1], [0, -1], [1, -1]], [True, True, False], n=2)
    >>> exclusive_test(s, 0, 1).difference.tolist()
    1.0
    """
    with_a, with_b = retrieves(stream, a, b)
    return _compare(stream.success, with_a & ~with_b, with_b & ~with_a)


def share_apart(stream: Stream, a: int, b: int) -> np.ndarray:
    """Share of the retrievals of a and b in which the other was absent, float (...); NaN without a retrieval.

    >>> float(share_apart(Stream([[0, 1], [0, -1], [1, -1]], [True, True, False], n=2), 0, 1))
    0.5
    """
    with_a, with_b = retrieves(stream, a, b)
    total = with_a.sum(axis=-1) + with_b.sum(axis=-1)
    return np.divide((with_a ^ with_b).sum(axis=-1), total, out=np.full(total.shape, np.nan), where=total > 0)


def retrieves(stream: Stream, a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
    """Which episodes used memory a, and which used b, bool (..., episodes) each."""
    if a == b or not (0 <= a < stream.n and 0 <= b < stream.n):
        raise ValueError(f"expected two different memories from 0 to {stream.n - 1}, got {a} and {b}")
    found = [stream.retrieved == m for m in (a, b)]
    return tuple((f if stream.kept is None else f & stream.kept).any(axis=-1) for f in found)


def _compare(success: np.ndarray, with_a: np.ndarray, with_b: np.ndarray) -> PairTest:
    """Success rates of two sets of episodes with the pooled standard error of their difference."""
    trials = np.stack([with_a.sum(axis=-1), with_b.sum(axis=-1)])  # (2, ...)
    wins = np.stack([(with_a & success).sum(axis=-1), (with_b & success).sum(axis=-1)])
    some = np.maximum(trials, 1)
    pooled = wins.sum(axis=0) / np.maximum(trials.sum(axis=0), 1)
    rate, error = wins / some, np.sqrt(pooled * (1 - pooled) * (1 / some).sum(axis=0))
    both = (trials > 0).all(axis=0)
    return PairTest(np.where(both, rate[0] - rate[1], np.nan), np.where(both, error, np.nan), (trials[0], trials[1]))
