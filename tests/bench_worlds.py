"""Measure the worlds against the loops they replace: `python tests/bench_worlds.py` prints everything in one run.

Seconds of work, not of waiting, so that other programs on the machine weigh little; the quickest of a few turns
counts. The loop runs a part of the episodes of one seed, and its time is scaled to all episodes of all seeds.
"""

import os
import time
from collections.abc import Callable

import numpy as np

from helpers.worlds import feedback, sample_distinct, uniform

CLOCK = time.process_time if os.name == "posix" else time.perf_counter  # Windows counts the former in steps of 16 ms
SEEDS, EPISODES, N, K = 20, 10_000, 100, 5
TURNS, PART = 5, 2_000


def seconds(turn: Callable[[], object], turns: int = TURNS) -> float:
    """Processor seconds of the quickest of a few turns."""
    found = []
    for _ in range(turns):
        start = CLOCK()
        turn()
        found.append(CLOCK() - start)
    return min(found)


def feedback_loop(episodes: int, temperature: float = 0.5) -> None:
    """The feedback world of one seed with a few numpy calls an episode, as a textbook has it."""
    rng = np.random.default_rng(0)
    utility = rng.random(N)
    hits_plus, hits = np.zeros(N), np.zeros(N)
    for _ in range(episodes):
        worth = np.full(N, 0.5)
        np.divide(hits_plus, hits, out=worth, where=hits > 0)
        weights = np.exp(worth / temperature)
        chosen = rng.choice(N, K, replace=False, p=weights / weights.sum())
        hits_plus[chosen] += rng.random() < 0.5 + 0.8 * (utility[chosen].mean() - 0.5)
        hits[chosen] += 1


def uniform_loop(episodes: int) -> None:
    """The uniform world of one seed in the same way."""
    rng = np.random.default_rng(0)
    utility, success = rng.random(N), np.empty(episodes, dtype=bool)
    for episode in range(episodes):
        chosen = rng.choice(N, K, replace=False)
        success[episode] = rng.random() < 0.5 + 0.8 * (utility[chosen].mean() - 0.5)


def draw_for_uniform() -> None:
    """The random numbers the uniform world cannot do without: ids and outcomes of every episode."""
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        rng.random(N)
        rng.integers(N, size=(EPISODES, K))
        rng.random(EPISODES)


def draw_for_feedback() -> None:
    """The same for the feedback world: a time for every memory in every episode, and outcomes."""
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        for _ in range(EPISODES // 200):
            rng.standard_exponential((200, N))
        rng.random(EPISODES)


def main() -> dict[str, float]:
    """Print and return, in about ten seconds: seconds of each world, and its ratios to the loop and to the draws."""
    size = f"{SEEDS} seeds x {EPISODES:,} episodes x {N} memories"
    world = seconds(lambda: feedback(range(SEEDS), n=N, k=K, episodes=EPISODES), turns=3)
    loop = seconds(lambda: feedback_loop(PART)) * SEEDS * EPISODES / PART
    draw = seconds(draw_for_feedback, turns=3)
    print(f"feedback world, {size}: {world:.2f} s; loop {loop:.1f} s, loop/world {loop / world:.0f} (to reach: 20); "
          f"of which random numbers {draw:.2f} s, world/numbers {world / draw:.1f}")
    found = {"feedback_s": world, "feedback_loop_ratio": loop / world, "feedback_draw_ratio": world / draw}
    world, draw = seconds(lambda: uniform(range(SEEDS), n=N, k=K, episodes=EPISODES)), seconds(draw_for_uniform)
    loop = seconds(lambda: uniform_loop(PART)) * SEEDS * EPISODES / PART
    print(f"uniform world, {size}: {world * 1e3:.1f} ms; loop {loop:.1f} s, loop/world {loop / world:.0f}; "
          f"random numbers {draw * 1e3:.1f} ms, world/numbers {world / draw:.1f}")
    rng = np.random.default_rng(0)
    ids, raw = (seconds(turn) for turn in (lambda: sample_distinct(rng, N, K, SEEDS * EPISODES),
                                           lambda: rng.integers(N, size=(SEEDS * EPISODES, K))))
    print(f"{K} distinct of {N}, {SEEDS * EPISODES:,} times: {ids * 1e3:.1f} ms; as many numbers that may repeat "
          f"{raw * 1e3:.1f} ms, ratio {ids / raw:.1f}")
    return found | {"uniform_s": world, "uniform_loop_ratio": loop / world, "uniform_draw_ratio": world / draw,
                    "distinct_ratio": ids / raw}


if __name__ == "__main__":
    main()
