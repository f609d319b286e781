"""A world of one memory that helps until a change and then no longer does.

Left out: several memories, gradual change, and a memory that becomes better. The setting is that of experiment 5 of
Simsek 2026 (arXiv:2604.12007) without the texts; numbers are the course's own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.parameters import probability, whole
from helpers.world_draws import World, checked_seeds, draw_luck
from helpers.worth_stream import Stream


def drift(seeds: Sequence[int], *, before: float = 0.97, after: float = 0.01, change: int = 500,
          episodes: int = 3000) -> World:
    """The memory is retrieved in every episode; success has probability `before` in the first `change`, then `after`.

    Its utility is `after`, what it is worth at the end.

    >>> drift([0], change=2, episodes=4).chance.tolist()
    [[0.97, 0.97, 0.01, 0.01]]
    """
    seeds, episodes = checked_seeds(seeds), whole("episodes", episodes)
    before, after = probability("before", before), probability("after", after)
    changed = np.arange(episodes) >= whole("change", change, low=0)
    chance = np.tile(np.where(changed, after, before), (len(seeds), 1))  # (seeds, episodes)
    retrieved = np.zeros((len(seeds), episodes, 1), dtype=np.int64)
    stream = Stream(retrieved, draw_luck(seeds, episodes) < chance, n=1)
    return World(stream, np.full((len(seeds), 1), after), chance, seeds)
