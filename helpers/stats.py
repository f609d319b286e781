"""Paired comparison of two arms that ran the same problems: differences with intervals, and exact tests.

Left out: models of problems or seeds (mixed effects), Bayesian analysis, and corrections other than Holm's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binomtest


@dataclass(frozen=True)
class Difference:
    """Mean of `treated − control` with its interval, in the unit of the outcomes (0/1 outcomes: share of problems).

    `up` and `down` count the problems whose mean outcome rose and fell.
    """

    mean: float
    low: float
    high: float
    level: float
    up: int
    down: int

    def __str__(self) -> str:
        return f"{self.mean:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


def _outcomes(values: ArrayLike, name: str) -> np.ndarray:
    """`values` as float64 (problems, seeds); a vector is one seed. Numbers that are not finite are refused."""
    array = np.asarray(values, dtype=np.float64)
    array = array[:, None] if array.ndim == 1 else array  # (problems, seeds)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"{name}: expected outcomes of shape (problems,) or (problems, seeds), got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: expected finite outcomes, got {array[~np.isfinite(array)][0]}; "
                         "leave episodes without an outcome (infrastructure) out of both arms")
    return array


def paired_difference(treated: ArrayLike, control: ArrayLike, *, rng: np.random.Generator,
                      level: float = 0.95, resamples: int = 10_000) -> Difference:
    """Difference of two arms on the same problems, with a percentile bootstrap over problems and seeds.

    Arguments have shape (problems,) or (problems, seeds); row i is the same problem in both, the numbers of seeds
    may differ. Each resample draws problems with replacement, and for every drawn problem the seeds of each arm:
    problems are the unit, seeds are nested in them (Davison and Hinkley 1997, section 3.8).

    >>> d = paired_difference([1, 1, 1, 0], [0, 1, 0, 0], rng=np.random.default_rng(0))
    >>> d.mean, d.up, d.down
    (0.5, 2, 0)
    """
    a, b = _outcomes(treated, "treated"), _outcomes(control, "control")
    if len(a) != len(b):
        raise ValueError(f"expected the same problems in both arms, got {a.shape} and {b.shape}")
    if not 0 < level < 1:
        raise ValueError(f"expected a level between 0 and 1, got {level}")
    drawn = rng.integers(len(a), size=(resamples, len(a)))  # (resamples, problems)
    means = _resampled(a, drawn, rng) - _resampled(b, drawn, rng)  # (resamples,)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    change = a.mean(axis=1) - b.mean(axis=1)  # (problems,)
    return Difference(float(change.mean()), float(low), float(high), level,
                      int((change > 0).sum()), int((change < 0).sum()))


def _resampled(outcomes: np.ndarray, drawn: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Mean outcome of each resample: the drawn problems, each with seeds drawn with replacement; (resamples,)."""
    seeds = outcomes.shape[1]
    if seeds == 1:
        return outcomes[drawn, 0].mean(axis=1)
    cells = rng.integers(seeds, size=(*drawn.shape, seeds))  # (resamples, problems, seeds)
    cells += drawn[..., None] * seeds  # places in the flattened outcomes: one gather instead of two, no mean of threes
    return outcomes.ravel().take(cells).reshape(len(drawn), -1).mean(axis=1)


def proportion_interval(successes: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval for a proportion (Wilson 1927), within [0, 1].

    >>> [round(x, 3) for x in proportion_interval(0, 10)]
    [0.0, 0.278]
    """
    if not 0 <= successes <= trials or trials == 0:
        raise ValueError(f"expected 0 <= successes <= trials and at least one trial, got {successes} of {trials}")
    interval = binomtest(successes, trials).proportion_ci(confidence_level=level, method="wilson")
    return float(interval.low), float(interval.high)


def mcnemar(treated: ArrayLike, control: ArrayLike) -> float:
    """Exact two-sided p-value of McNemar's test for paired 0/1 outcomes, one seed an arm; 1.0 without a change.

    Source: McNemar 1947; exact form: the changed pairs are binomial with probability ½.

    >>> mcnemar([1, 1, 1, 1, 1], [0, 0, 0, 0, 0])
    0.0625
    """
    a, b = np.asarray(treated), np.asarray(control)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"expected two vectors over the same problems, got {a.shape} and {b.shape}")
    if not (np.isin(a, (0, 1)).all() and np.isin(b, (0, 1)).all()):
        raise ValueError("expected outcomes of 0 and 1; with several seeds an arm use paired_difference()")
    up, down = int(((a == 1) & (b == 0)).sum()), int(((a == 0) & (b == 1)).sum())
    return float(binomtest(up, up + down).pvalue) if up + down else 1.0


def holm(pvalues: Mapping[str, float]) -> dict[str, float]:
    """Holm's step-down adjustment of p-values, so that all arms together err with the level of one (Holm 1979).

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'b': 0.06, 'c': 0.06}
    """
    bad = {name: p for name, p in pvalues.items() if not 0 <= p <= 1}
    if bad:
        raise ValueError(f"expected p-values in [0, 1], got {bad}")
    adjusted: dict[str, float] = {}
    running = 0.0
    for rank, name in enumerate(sorted(pvalues, key=pvalues.__getitem__)):
        running = max(running, min(1.0, (len(pvalues) - rank) * pvalues[name]))
        adjusted[name] = running
    return {name: adjusted[name] for name in pvalues}
