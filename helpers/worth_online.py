"""Worth as an agent keeps it, episode by episode: per task type, residual, and with withheld memories.

Plain and discounted worth are `MemoryWorth` itself, change detection is `CusumWorth`, empirical Bayes is `shrink` of
the counters at any time. Left out: ridge regression, which needs n² sums and has no form with two counters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from helpers.worth_counters import MemoryWorth
from helpers.worth_dropout import contrast, dropout_counters
from helpers.worth_estimators import by_type, episodes_by_type, running_rates, surprises
from helpers.worth_stream import as_stream
from helpers.worth_tally import ratio


class PerTypeWorth:
    """Counters kept apart by task type; `value` as `per_type`, `counters` has shape (*shape, types).

    >>> worth = PerTypeWorth(1, types=2)
    >>> worth.update([0], True, task_type=1)
    >>> worth.counters.value.tolist(), worth.value.tolist()
    ([[0.5], [1.0]], [0.75])
    """

    def __init__(self, n: int, *, types: int, shape: tuple[int, ...] = ()) -> None:
        self.n, self.types, self.shape = n, check_type_count(types), tuple(shape)
        self.counters = MemoryWorth(n, shape=(*shape, types))

    def update(self, retrieved: ArrayLike, success: ArrayLike, weights: ArrayLike | None = None, *,
               task_type: ArrayLike) -> None:
        """Count one episode or several, as `MemoryWorth.update`; task_type has the shape of success."""
        self.counters.merge(by_type(as_stream(self.n, self.shape, retrieved, success, weights=weights,
                                              task_type=task_type, types=self.types)))

    @property
    def value(self) -> np.ndarray:
        """Worth averaged over task types, 0.5 standing for one without evidence; (*shape, n)."""
        return self.counters.value.mean(axis=-2)


class ResidualWorth:
    """Two counters a memory, sum of surprises and evidence, and one running success rate a task type.

    The surprise of an episode is outcome − rate of its type before it; `value` is their mean, as
    `residual(stream, running=True)`.

    >>> worth = ResidualWorth(2, types=1)
    >>> worth.update([0], True, task_type=0)  # 1 − 1/2, nothing being known of the type
    >>> worth.update([1], True, task_type=0)  # 1 − 2/3
    >>> worth.value.round(3).tolist()
    [0.5, 0.333]
    """

    def __init__(self, n: int, *, types: int, shape: tuple[int, ...] = ()) -> None:
        self.n, self.types, self.shape = n, check_type_count(types), tuple(shape)
        self.surprise, self.evidence = np.zeros((*shape, n)), np.zeros((*shape, n))
        self.episodes, self.successes = np.zeros((*shape, types)), np.zeros((*shape, types))

    def update(self, retrieved: ArrayLike, success: ArrayLike, weights: ArrayLike | None = None, *,
               task_type: ArrayLike) -> None:
        """Count one episode or several, as `MemoryWorth.update`; task_type has the shape of success."""
        stream = as_stream(self.n, self.shape, retrieved, success, weights=weights, task_type=task_type,
                           types=self.types)
        surprise, evidence = surprises(stream, running_rates(stream, self.episodes, self.successes))
        episodes, successes = episodes_by_type(stream)
        self.surprise += surprise
        self.evidence += evidence
        self.episodes += episodes
        self.successes += successes

    @property
    def value(self) -> np.ndarray:
        """Mean surprise of each memory, (*shape, n) in [−1, 1]; 0 without evidence."""
        return ratio(self.surprise, self.evidence, 0.0)


class DropoutWorth:
    """Two pairs of counters a memory: episodes in which it was kept, and in which it was withheld.

    >>> worth = DropoutWorth(1)
    >>> worth.update([[0], [0]], [True, False], kept=[[True], [False]])
    >>> worth.value.tolist()
    [1.0]
    """

    def __init__(self, n: int, *, shape: tuple[int, ...] = ()) -> None:
        self.n, self.shape = n, tuple(shape)
        self.kept, self.withheld = MemoryWorth(n, shape=shape), MemoryWorth(n, shape=shape)

    def update(self, retrieved: ArrayLike, success: ArrayLike, weights: ArrayLike | None = None, *,
               kept: ArrayLike) -> None:
        """Count one episode or several, as `MemoryWorth.update`; kept has the shape of retrieved."""
        stream = as_stream(self.n, self.shape, retrieved, success, weights=weights, kept=kept)
        for worth, more in zip((self.kept, self.withheld), dropout_counters(stream), strict=True):
            worth.merge(more)

    @property
    def value(self) -> np.ndarray:
        """Success rate with the memory minus without, (*shape, n) in [−1, 1]; 0 without evidence on both sides."""
        return contrast(self.kept, self.withheld)[0]


def check_type_count(types: int) -> int:
    """The number of task types; ValueError below 1."""
    if types < 1:
        raise ValueError(f"expected at least one task type, got types = {types}")
    return types
