"""Memory dropout: withhold a retrieved memory at random and compare how episodes end with it and without.

Left out: choosing which memory to withhold by what is known of it (bandits), and corrections for companions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from helpers.worth_counters import MemoryWorth, counters
from helpers.worth_stream import Stream
from helpers.worth_tally import tally


def withhold(retrieved: ArrayLike, epsilon: float, *, rng: np.random.Generator) -> np.ndarray:
    """Which slots the agent gets to see: each is withheld with probability epsilon, whatever the others.

    >>> withhold([[0, 1], [1, 2]], 0.0, rng=np.random.default_rng(0)).all()
    np.True_
    """
    if not 0 <= epsilon <= 1:
        raise ValueError(f"epsilon: expected a probability in [0, 1], got {epsilon}")
    return rng.random(np.shape(retrieved)) >= epsilon


def dropout_counters(stream: Stream) -> tuple[MemoryWorth, MemoryWorth]:
    """Counters of the episodes where each memory was kept, and of those where it was retrieved but withheld.

    >>> s = Stream([[0], [0], [0]], [True, True, False], n=1, kept=[[True], [True], [False]])
    >>> [worth.value.tolist() for worth in dropout_counters(s)]
    [[1.0], [0.0]]
    """
    hits = tally(stream, stream.success, 2, weights=stream.weights, withheld=True)
    squares = None if stream.weights is None else tally(stream, weights=stream.weights**2, withheld=True)[..., 0, :]
    return counters(stream), MemoryWorth.of(hits[..., 1, :], hits[..., 0, :], squares)


def contrast(kept: MemoryWorth, withheld: MemoryWorth) -> tuple[np.ndarray, np.ndarray]:
    """Success rate with each memory minus the rate without it, and its standard error; (*shape, n) each.

    0 with an infinite standard error while one side has no evidence. Rates in the standard error are (successes + 1)
    / (episodes + 2), so that two episodes that ended alike do not claim certainty.

    >>> difference, error = contrast(MemoryWorth.of([8, 1], [2, 0]), MemoryWorth.of([5, 0], [5, 0]))
    >>> difference.round(2).tolist(), error.round(2).tolist()
    ([0.3, 0.0], [0.21, inf])
    """
    if (kept.n, kept.shape) != (withheld.n, withheld.shape):
        raise ValueError(f"expected two sets of counters of one shape, got {kept.value.shape} and "
                         f"{withheld.value.shape}")
    both = (kept.evidence > 0) & (withheld.evidence > 0)
    variance = np.zeros(both.shape)
    for worth in (kept, withheld):
        trials = worth.effective
        rate = (worth.value * trials + 1) / (trials + 2)
        variance += np.divide(rate * (1 - rate), trials, out=np.full(both.shape, np.inf), where=trials > 0)
    return np.where(both, kept.value - withheld.value, 0.0), np.sqrt(variance)


def dropout_contrast(stream: Stream) -> np.ndarray:
    """`contrast` of a stream with withheld memories, (..., n) in [−1, 1]: what each memory adds where it is retrieved.

    Chance alone decides what is withheld, so neither the type of task nor a companion can stand in for the memory
    (Fisher 1935, The Design of Experiments). 0 without evidence on both sides.

    >>> dropout_contrast(Stream([[0], [0], [1]], [True, False, True], n=2, kept=[[1], [0], [1]])).tolist()
    [1.0, 0.0]
    """
    return contrast(*dropout_counters(stream))[0]
