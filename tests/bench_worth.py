"""Measure Memory Worth on 20 seeds × 10,000 episodes × 100 memories: `python tests/bench_worth.py`, in one run.

The counters are compared with the obvious loop over the same episodes, and with the time to draw the episodes' random
numbers: k different memories and one number for luck each. The whole experiment, drawing included, is compared with
the same in plain Python. Everybody takes turns and the quickest turn counts, in time of the
processor, since other programs only add to it. Milliseconds mean little elsewhere; the ratios are what to look at.
"""

import os
import random
import time
from collections.abc import Callable

import numpy as np

from helpers.worlds import difficulty, sample_distinct, uniform
from helpers.worth import ESTIMATORS, Stream, counters, counters_at, spearman

CLOCK = time.process_time if os.name == "posix" else time.perf_counter  # Windows counts the former in steps of 16 ms
SEEDS, EPISODES, MEMORIES, K = 20, 10_000, 100, 5


def loop(retrieved: list[list[int]], success: list[bool]) -> list[float]:
    """Worth of the memories of one seed, an episode after the other."""
    plus, minus = [0] * MEMORIES, [0] * MEMORIES
    for memories, won in zip(retrieved, success, strict=True):
        for m in memories:
            if won:
                plus[m] += 1
            else:
                minus[m] += 1
    return [p / (p + q) if p + q else 0.5 for p, q in zip(plus, minus, strict=True)]


def loop_with_drawing(rng: random.Random, utility: list[float]) -> list[float]:
    """One seed of the uniform world and its worths, in plain Python."""
    plus, minus = [0] * MEMORIES, [0] * MEMORIES
    for _ in range(EPISODES):
        memories = rng.sample(range(MEMORIES), K)
        counts = plus if rng.random() < 0.5 + 0.8 * (sum(utility[m] for m in memories) / K - 0.5) else minus
        for m in memories:
            counts[m] += 1
    return [p / (p + q) if p + q else 0.5 for p, q in zip(plus, minus, strict=True)]


def timed(turns: dict[str, Callable[[], object]], *, rounds: int = 7) -> dict[str, float]:
    """Milliseconds of the quickest of each one's turns."""
    best = dict.fromkeys(turns, float("inf"))
    for _ in range(rounds):
        for name, turn in turns.items():
            start = CLOCK()
            turn()
            best[name] = min(best[name], (CLOCK() - start) * 1e3)
    return best


def main() -> dict[str, float]:
    """Print the tables, and return the ratios."""
    if hasattr(os, "getloadavg"):
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    world = uniform(range(SEEDS), n=MEMORIES, k=K, episodes=EPISODES)
    stream, rng = world.stream, np.random.default_rng(0)
    lists = stream.run(0).retrieved.tolist(), stream.run(0).success.tolist()
    assert loop(*lists) == counters(stream).value[0].tolist(), "the loop and the counters disagree"
    found = timed({
        "counters": lambda: counters(stream).value,
        "a stream checked": lambda: Stream(stream.retrieved, stream.success, n=MEMORIES),
        "100 checkpoints": lambda: counters_at(stream, np.arange(100, EPISODES + 1, 100)).value,
        "random numbers": lambda: [(sample_distinct(rng, MEMORIES, K, EPISODES), rng.random(EPISODES))
                                   for _ in range(SEEDS)],
        "world and worth": lambda: counters(uniform(range(SEEDS), n=MEMORIES, k=K, episodes=EPISODES).stream).value})
    slow = timed({"loop": lambda: loop(*lists), "loop with drawing": lambda: loop_with_drawing(
        random.Random(0), world.utility[0].tolist())}, rounds=3)
    slow = {name: ms * SEEDS for name, ms in slow.items()}  # one seed was timed
    drawn = found["random numbers"]
    ratios = {"loop / counters": slow["loop"] / found["counters"],
              "counters / random numbers": found["counters"] / drawn,
              "loop / world and worth": slow["loop with drawing"] / found["world and worth"],
              "world and worth / random numbers": found["world and worth"] / drawn}
    print(f"{SEEDS} seeds x {EPISODES:,} episodes x {MEMORIES} memories, k = {K}: random numbers alone {drawn:.1f} ms")
    print(f"counters {found['counters']:.1f} ms, loop over lists {slow['loop']:.0f} ms; a stream checked "
          f"{found['a stream checked']:.1f} ms, at 100 checkpoints {found['100 checkpoints']:.1f} ms")
    print(f"world and counters {found['world and worth']:.1f} ms, loop {slow['loop with drawing']:.0f} ms")
    marks = {"loop / world and worth": "reach >= 50", "world and worth / random numbers": "reach <= 3"}
    for name, value in ratios.items():
        print(f"  {name:<34}{value:8.2f}  {marks.get(name, '')}")
    bench_estimators(drawn)
    return ratios


def bench_estimators(drawn: float) -> None:
    """Print what each estimator takes, on the difficulty world with withheld memories, and what it finds."""
    world = difficulty(range(SEEDS), dropout=0.2)
    took = timed({name: lambda estimator=estimator: estimator(world.stream) for name, estimator in ESTIMATORS.items()},
                 rounds=3)
    print(f"\n{'difficulty world, 1 in 5 withheld':<36}{'ms':>8}{'/ random numbers':>20}{'Spearman':>12}")
    for name, estimator in ESTIMATORS.items():
        rho = spearman(estimator(world.stream), world.utility).mean()
        print(f"{name:<36}{took[name]:8.1f}{took[name] / drawn:20.2f}{rho:+12.2f}")


if __name__ == "__main__":
    main()
