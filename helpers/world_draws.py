"""Draw what every world is made of: one random stream a seed and purpose, distinct memories, chances, withheld slots.

Left out: the worlds themselves (`helpers.worlds`). A seed's draws depend on nothing but the seed and the world's
parameters, so seeds can be split over batches, processes or machines without a change of any result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from helpers.parameters import probabilities, probability, whole
from helpers.worth_stream import Stream

NEUTRAL = 0.5  # what a withheld memory counts as
PURPOSES = ("utility", "task", "retrieval", "outcome", "dropout")


@dataclass(frozen=True, eq=False)
class World:
    """What a world let happen, with the truth that no estimator sees; the first axis is the seed.

    stream: the episodes. utility: float (seeds, memories), how much a memory helps. chance: float (seeds, episodes),
    with which probability each episode succeeded. specialist: bool (seeds, memories), in the world that has some.
    """

    stream: Stream
    utility: np.ndarray
    chance: np.ndarray
    seeds: tuple[int, ...]
    specialist: np.ndarray | None = None


def checked_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    """At least one seed, each a whole number from 0 up; ValueError otherwise.

    >>> checked_seeds(range(3))
    (0, 1, 2)
    """
    try:
        seeds = tuple(seeds)
    except TypeError:
        raise ValueError(f"seeds: expected a sequence such as range(20), got {seeds!r}") from None
    if not seeds:
        raise ValueError("seeds: expected at least one seed, got none")
    return tuple(whole("seeds", seed, low=0) for seed in seeds)


def generator(seed: int, purpose: str) -> np.random.Generator:
    """The random stream of one seed for one purpose of `PURPOSES`.

    Purposes are kept apart so that a change in one, such as memory dropout, leaves the draws of the others alone.

    >>> generator(1, "utility").random() == generator(1, "utility").random() != generator(1, "outcome").random()
    True
    """
    return np.random.default_rng([seed, PURPOSES.index(purpose)])


def draw_utilities(seeds: Sequence[int], n: int) -> np.ndarray:
    """(seeds, n) float64, uniform on [0, 1)."""
    return np.stack([generator(seed, "utility").random(n) for seed in seeds])


def given_utilities(utility: ArrayLike, seeds: Sequence[int], n: int) -> np.ndarray:
    """(seeds, n): utilities of shape (n,) for all seeds or (seeds, n); ValueError for another shape."""
    array = probabilities("utility", utility)
    if array.shape not in ((n,), (len(seeds), n)):
        raise ValueError(f"utility: expected shape {(n,)} or {(len(seeds), n)}, got {array.shape}")
    return np.broadcast_to(array, (len(seeds), n)).copy()


def sample_distinct(rng: np.random.Generator, n: int, k: int, size: int) -> np.ndarray:
    """(size, k) int64: in each row k different numbers below n, every ordered choice equally likely.

    Column i is first drawn below n − i and means "the so-manieth of those not yet taken"; then, from the last column
    back, each number steps over the ones to its left (a Lehmer code). Nothing is drawn twice, nothing rejected.

    >>> sorted(sample_distinct(np.random.default_rng(0), 3, 3, 1)[0].tolist())
    [0, 1, 2]
    """
    k = whole("k", k, high=whole("n", n))
    small = np.promote_types(np.uint16, np.min_scalar_type(n))  # fewer random bits to draw and fewer bytes to compare
    columns = np.empty((k, whole("size", size, low=0)), dtype=small)
    for i in range(k):
        columns[i] = rng.integers(n - i, size=size, dtype=small)
    for i in range(k - 2, -1, -1):
        columns[i + 1:] += columns[i + 1:] >= columns[i]
    return columns.astype(np.int64).T  # (size, k), in memory column by column, which is how it is read next


def sample_weighted(rng: np.random.Generator, weights: np.ndarray, k: int, size: int) -> np.ndarray:
    """(size, k) int64: k different numbers a row, drawn one after the other in proportion to `weights` (n,) > 0.

    The k smallest of exponential times with those rates, which is the Gumbel top-k trick without a logarithm
    (Efraimidis and Spirakis 2006; Kool et al. 2019, arXiv:1903.06059). The order within a row means nothing.

    >>> sample_weighted(np.random.default_rng(0), np.array([1.0, 1e-9, 1.0]), 2, 1).sum()
    np.int64(2)
    """
    chosen = np.empty((size, k), dtype=np.int64)
    for start in range(0, size, 1000):  # in blocks, so that times do not fill the memory
        times = rng.standard_exponential((min(1000, size - start), len(weights))) / weights  # (block, n)
        chosen[start:start + 1000] = np.argpartition(times, k - 1, axis=1)[:, :k]
    return chosen


def empty_slots(seeds: Sequence[int], episodes: int, k: int) -> np.ndarray:
    """(seeds, episodes, k) int64 to be filled; in memory slot by slot, which is how it is drawn and read."""
    return np.empty((len(seeds), k, episodes), dtype=np.int64).swapaxes(1, 2)


def success_chance(utility: np.ndarray, retrieved: np.ndarray, *, base: ArrayLike, gain: float,
                   kept: np.ndarray | None = None) -> np.ndarray:
    """(seeds, episodes): base + gain·(mean utility of the slots − ½), cut to [0, 1].

    `utility` is (seeds, n), `retrieved` and `kept` (seeds, episodes, k), `base` a number or (seeds, episodes). A
    withheld memory counts ½, so that `base` is the chance of success without any memory.

    >>> success_chance(np.array([[1.0, 0.5]]), np.array([[[0, 1], [1, 0]]]), base=0.5, gain=0.8).round(3).tolist()
    [[0.7, 0.7]]
    """
    total = np.zeros(retrieved.shape[:2])  # (seeds, episodes)
    for seed, row in enumerate(utility):
        for slot in range(retrieved.shape[2]):
            helped = row[retrieved[seed, :, slot]]  # (episodes,)
            total[seed] += helped if kept is None else np.where(kept[seed, :, slot], helped, NEUTRAL)
    return np.clip(base + gain * (total / retrieved.shape[2] - NEUTRAL), 0.0, 1.0)


def draw_kept(seeds: Sequence[int], retrieved: np.ndarray, dropout: float) -> np.ndarray | None:
    """bool, of the shape of `retrieved`: False, with probability `dropout`, where a memory is withheld; None for 0."""
    if not probability("dropout", dropout):
        return None
    return np.stack([generator(seed, "dropout").random(retrieved.shape[1:]) >= dropout for seed in seeds])


def draw_luck(seeds: Sequence[int], episodes: int) -> np.ndarray:
    """(seeds, episodes) float64, uniform on [0, 1): an episode succeeds when its luck is below its chance."""
    return np.stack([generator(seed, "outcome").random(episodes) for seed in seeds])
