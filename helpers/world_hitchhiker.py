"""A world in which a useless memory is retrieved together with a useful one, except for a share of the time.

Left out: hitchhikers that ride with many memories (`helpers.world_text` has one). After experiment 4 of Simsek 2026
(arXiv:2604.12007); numbers and companions are the course's own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.parameters import number, probability, whole
from helpers.world_draws import (
    World,
    checked_seeds,
    draw_kept,
    draw_luck,
    draw_utilities,
    generator,
    sample_distinct,
    success_chance,
)
from helpers.worth_stream import Stream

USEFUL, USELESS = 0, 1  # ids of the two; the other memories are companions


def hitchhiker(seeds: Sequence[int], *, apart: float = 0.3, retrievals: int = 500, n: int = 100, k: int = 5,
               useful: float = 0.9, useless: float = 0.1, base: float = 0.5, gain: float = 0.8,
               dropout: float = 0.0) -> World:
    """Memory 0 is useful, memory 1 useless; each is retrieved `retrievals` times, a share `apart` without the other.

    The counts are exact (rounded), the order of the episodes is by chance, the other slots are filled from the n − 2
    companions, whose utilities are uniform on [0, 1). base, gain and dropout as in `uniform`.

    >>> world = hitchhiker([0], apart=0.25, retrievals=8, n=5, k=2)
    >>> world.stream.episodes, (world.stream.retrieved == 1).sum(), world.utility[0, :2].tolist()
    (10, np.int64(8), [0.9, 0.1])
    """
    seeds, n = checked_seeds(seeds), whole("n", n, low=3)
    k, retrievals = whole("k", k, low=2, high=n - 1), whole("retrievals", retrievals)
    alone = round(probability("apart", apart) * retrievals)
    base, gain = probability("base", base), number("gain", gain, low=0, high=1)
    u = draw_utilities(seeds, n)  # (seeds, n)
    u[:, USEFUL], u[:, USELESS] = probability("useful", useful), probability("useless", useless)
    retrieved = np.stack([_pairs(seed, n, k, retrievals - alone, alone) for seed in seeds])
    kept = draw_kept(seeds, retrieved, dropout)
    chance = success_chance(u, retrieved, base=base, gain=gain, kept=kept)
    return World(Stream(retrieved, draw_luck(seeds, chance.shape[1]) < chance, n=n, kept=kept), u, chance, seeds)


def _pairs(seed: int, n: int, k: int, together: int, alone: int) -> np.ndarray:
    """(together + 2·alone, k): the pair in some episodes, one of the two in the others, companions in the rest."""
    kind = np.repeat([0, 1, 2], [together, alone, alone])  # both, the useful one, the useless one
    kind = generator(seed, "task").permutation(kind)
    rows = np.empty((len(kind), k), dtype=np.int64)
    rows[:, 1:] = 2 + sample_distinct(generator(seed, "retrieval"), n - 2, k - 1, len(kind))
    rows[:, 0] = np.where(kind == 2, USELESS, USEFUL)
    rows[kind == 0, 1] = USELESS
    return rows
