"""What the course sweeps over: how well worth ranks the memories of the uniform world, simulated and by formula.

Left out: the other worlds. A measure takes seeds and parameters and returns one number a seed, so that
`helpers.sweep` can call it in any process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from helpers.theory_convergence import rank_correlation, rank_correlation_sd, signal_to_noise
from helpers.world_uniform import uniform
from helpers.worth_estimators import plain
from helpers.worth_ranks import spearman


def uniform_ranks(seeds: Sequence[int], *, n: int, k: int, episodes: int, **options: float) -> np.ndarray:
    """(seeds,): Spearman's ρ of worth and utility after so many episodes of `world_uniform.uniform`.

    `options` are those of the world. About 0.5 ms a seed for 1,000 episodes of 100 memories, 3 ms for 10,000.

    >>> uniform_ranks([0, 1], n=4, k=4, episodes=50)  # all are always retrieved: nothing is ranked
    array([0., 0.])
    """
    world = uniform(seeds, n=n, k=k, episodes=episodes, **options)
    return spearman(plain(world.stream), world.utility)


def uniform_ranks_theory(points: Sequence[Mapping[str, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Expected ρ and its standard deviation over seeds, (points,) each, for points with n, k, episodes, gain, base.

    For many retrievals of each memory: below about 100 the simulation ranks a little worse.

    >>> mean, sd = uniform_ranks_theory([{"n": 100, "k": 5, "episodes": 10_000}])
    >>> mean.round(3).tolist(), sd.round(3).tolist()
    ([0.899], [0.019])
    """
    means = [float(rank_correlation(signal_to_noise(**point), n=point["n"])) for point in points]
    return np.array(means), np.array([rank_correlation_sd(mean, point["n"])
                                      for mean, point in zip(means, points, strict=True)])
