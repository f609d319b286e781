"""A world in which retrieval looks at the worth: what did well is retrieved more often, and so counted more often.

Left out: similarity to a task, and any other policy than a softmax. After experiment 3 of Simsek 2026
(arXiv:2604.12007); temperatures, prior and exploration are the course's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from helpers.parameters import number, probability, whole
from helpers.world_draws import NEUTRAL, World, checked_seeds, draw_luck, draw_utilities, empty_slots, generator
from helpers.worth_stream import Stream

BLOCK = 200  # episodes whose random numbers are drawn at once; no result depends on it


def feedback(seeds: Sequence[int], *, n: int = 100, k: int = 5, episodes: int = 10_000, temperature: float = 0.5,
             base: float = 0.5, gain: float = 0.8, prior: float = 0.0, explore: float = 0.0) -> World:
    """k of n memories without replacement, drawn one after the other in proportion to exp(worth/temperature).

    The worth is hits⁺/(hits⁺ + hits⁻), ½ without evidence. prior: as many imagined retrievals, half of them
    successful, are added to the counters before they choose. explore: the probability with which an episode
    retrieves uniformly instead. All seeds advance together, one episode at a time.

    >>> feedback([0, 1], n=10, k=3, episodes=20).stream.retrieved.shape
    (2, 20, 3)
    """
    seeds, n = checked_seeds(seeds), whole("n", n)
    k, episodes = whole("k", k, high=n), whole("episodes", episodes)
    temperature, prior = number("temperature", temperature, low=0.001), number("prior", prior, low=0)
    base, gain = probability("base", base), number("gain", gain, low=0, high=1)
    explore = probability("explore", explore)
    u = draw_utilities(seeds, n)  # (seeds, n)
    luck = np.ascontiguousarray(draw_luck(seeds, episodes).T)  # (episodes, seeds)
    blind = np.stack([generator(seed, "task").random(episodes) < explore for seed in seeds], axis=1)
    state = _State(u, temperature=temperature, prior=prior)
    chance = np.empty((episodes, len(seeds)))
    cells = np.empty((episodes, len(seeds), k), dtype=np.int64)
    for episode, times in enumerate(_times(seeds, n, episodes)):
        mean = state.choose(times, blind[episode], cells[episode])  # (seeds,)
        chance[episode] = base + gain * (mean - NEUTRAL)
        state.learn(cells[episode], luck[episode] < chance[episode])
    retrieved = empty_slots(seeds, episodes, k)
    retrieved[:] = cells.swapaxes(0, 1) - state.first[:, None, None]
    return World(Stream(retrieved, (luck < chance).T, n=n), u, np.clip(chance.T, 0.0, 1.0), seeds)


class _State:
    """Counters of all seeds between two episodes, and how long each memory waits on average to be drawn.

    A cell is a memory of a seed: seed·n + id. All arrays are flat, one number a cell, but `first`, one a seed.
    """

    def __init__(self, utility: np.ndarray, *, temperature: float, prior: float) -> None:
        seeds, n = utility.shape
        self.utility, self.temperature = utility.ravel(), temperature
        self.first = np.arange(seeds) * n  # cell of each seed's memory 0
        self.hits_plus, self.seen = np.full(seeds * n, prior / 2), np.full(seeds * n, prior)
        self.wait = np.ones(seeds * n)  # exp((½ − worth)/temperature): 1/rate, without overflow

    def choose(self, times: np.ndarray, blind: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Fill `cells` (seeds, k) with the memories that come first; returns their mean utility, (seeds,).

        `sample_weighted` says why the smallest times are the right draw; `blind` seeds ignore the worth.
        """
        due = times * self.wait.reshape(times.shape)  # (seeds, n)
        if blind.any():
            due[blind] = times[blind]
        k = cells.shape[1]
        for slot in range(k):  # k times the minimum is quicker than one partition while k is small
            soonest = due.argmin(axis=1) + self.first  # (seeds,)
            cells[:, slot] = soonest
            due.reshape(-1)[soonest] = np.inf
        return self.utility[cells].sum(axis=1) / k

    def learn(self, cells: np.ndarray, success: np.ndarray) -> None:
        """Move the counters of the memories chosen, (seeds, k) cells; success is (seeds,)."""
        hits_plus = self.hits_plus[cells] + success[:, None]  # (seeds, k); no cell occurs twice
        seen = self.seen[cells] + 1
        self.hits_plus[cells], self.seen[cells] = hits_plus, seen
        self.wait[cells] = np.exp((0.5 - hits_plus / seen) / self.temperature)


def _times(seeds: Sequence[int], n: int, episodes: int) -> Iterator[np.ndarray]:
    """For each episode (seeds, n) exponential times; a memory's waiting time is its time times 1/rate."""
    rngs = [generator(seed, "retrieval") for seed in seeds]
    block = np.empty((BLOCK, len(seeds), n))
    for start in range(0, episodes, BLOCK):
        count = min(BLOCK, episodes - start)
        for column, rng in enumerate(rngs):
            block[:count, column] = rng.standard_exponential((count, n))
        yield from block[:count]
