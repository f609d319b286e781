"""Two worlds in which memories are retrieved by chance: from one pool, or from a pool that depends on the task.

Left out: similarity of texts (`helpers.world_text`) and retrieval that looks at the worth (`helpers.world_feedback`).
After experiments 1 and 2 of Simsek 2026 (arXiv:2604.12007); k, success model and shares are the course's own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from helpers.parameters import number, probability, whole
from helpers.world_draws import (
    World,
    checked_seeds,
    draw_kept,
    draw_luck,
    draw_utilities,
    empty_slots,
    generator,
    given_utilities,
    sample_distinct,
    sample_weighted,
    success_chance,
)
from helpers.worth_stream import Stream


def uniform(seeds: Sequence[int], *, n: int = 100, k: int = 5, episodes: int = 10_000, base: float = 0.5,
            gain: float = 0.8, utility: ArrayLike | None = None, popularity: float = 0.0,
            dropout: float = 0.0) -> World:
    """Every episode retrieves k of n memories by chance; success has probability base + gain·(mean utility − ½).

    utility: (n,) or (seeds, n), uniform on [0, 1) when None. popularity: 0 retrieves all memories alike; a > 0
    retrieves memory i in proportion to 1/(i+1)^a (Zipf), whatever its utility. dropout: the probability with which
    each retrieved memory is withheld; its slot then counts ½.

    >>> world = uniform(range(2), n=10, k=3, episodes=50)
    >>> world.stream.retrieved.shape, world.utility.shape
    ((2, 50, 3), (2, 10))
    """
    seeds, n = checked_seeds(seeds), whole("n", n)
    k, episodes = whole("k", k, high=n), whole("episodes", episodes)
    base, gain = probability("base", base), number("gain", gain, low=0, high=1)
    weights = np.arange(1, n + 1) ** -number("popularity", popularity, low=0)
    u = draw_utilities(seeds, n) if utility is None else given_utilities(utility, seeds, n)  # (seeds, n)
    retrieved = empty_slots(seeds, episodes, k)
    for row, seed in zip(retrieved, seeds, strict=True):
        rng = generator(seed, "retrieval")
        row[:] = sample_weighted(rng, weights, k, episodes) if popularity else sample_distinct(rng, n, k, episodes)
    kept = draw_kept(seeds, retrieved, dropout)
    chance = success_chance(u, retrieved, base=base, gain=gain, kept=kept)
    return World(Stream(retrieved, draw_luck(seeds, chance.shape[1]) < chance, n=n, kept=kept), u, chance, seeds)


def difficulty(seeds: Sequence[int], *, n: int = 100, k: int = 5, episodes: int = 10_000, specialists: int = 30,
               hard: float = 0.3, base_easy: float = 0.755, base_hard: float = 0.345, gain: float = 0.8,
               explore: float = 0.0, dropout: float = 0.0) -> World:
    """The best memories are specialists: easy tasks retrieve among the others, hard tasks among all.

    Task type 0 is easy, 1 (a share `hard`) is hard. explore: the probability with which an easy task retrieves
    among all memories too. base, gain and dropout as in `uniform`, the base by task type.

    >>> world = difficulty([0], n=10, k=3, specialists=4, episodes=50)
    >>> int(world.specialist.sum()), world.stream.types
    (4, 2)
    """
    seeds, n = checked_seeds(seeds), whole("n", n, low=2)
    others = n - whole("specialists", specialists, low=0, high=n - 1)
    k, episodes = whole("k", k, high=others), whole("episodes", episodes)
    hard, explore = probability("hard", hard), probability("explore", explore)
    bases = np.array([probability("base_easy", base_easy), probability("base_hard", base_hard)])
    gain = number("gain", gain, low=0, high=1)
    u = draw_utilities(seeds, n)  # (seeds, n)
    specialist = u.argsort(axis=1, kind="stable").argsort(axis=1) >= others
    task = np.stack([generator(seed, "task").random((2, episodes)) for seed in seeds])  # (seeds, 2, episodes)
    task_type = (task[:, 0] < hard).astype(np.int64)  # (seeds, episodes)
    everything = (task_type == 1) | (task[:, 1] < explore)
    retrieved = empty_slots(seeds, episodes, k)
    for index, seed in enumerate(seeds):
        retrieved[index] = _from_two_pools(generator(seed, "retrieval"), specialist[index], everything[index], k)
    kept = draw_kept(seeds, retrieved, dropout)
    chance = success_chance(u, retrieved, base=bases[task_type], gain=gain, kept=kept)
    stream = Stream(retrieved, draw_luck(seeds, chance.shape[1]) < chance, task_type, n=n, types=2, kept=kept)
    return World(stream, u, chance, seeds, specialist)


def _from_two_pools(rng: np.random.Generator, specialist: np.ndarray, everything: np.ndarray, k: int) -> np.ndarray:
    """(episodes, k): from all memories where `everything`, from those that are no specialists elsewhere."""
    pool = np.flatnonzero(~specialist)
    wide = sample_distinct(rng, len(specialist), k, len(everything))
    narrow = pool[sample_distinct(rng, len(pool), k, len(everything))]
    return np.where(everything[:, None], wide, narrow)  # both are drawn for every episode: simple, and cheap enough
