"""Run problems one after the other with a memory that starts empty and learns from each: the learning curve.

Left out: forgetting, and streams in which a problem comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from helpers.arms import ArmResult, Draw, judge_once
from helpers.embeddings import BagOfWords
from helpers.learning import LessonMaker
from helpers.llm import Reply
from helpers.memory import VectorMemory
from helpers.problems import Problem
from helpers.progress_bar import progress_bar
from helpers.reflexion import Episode, solve
from helpers.stats import Difference, paired_difference


@dataclass(frozen=True)
class Streams:
    """Several streams over the same problems: `arm.episodes[i][j]` is problem i in stream j, and it came there as
    number `positions[i, j]`, from 0; int, (problems, streams). `memories` are what the streams left on disk."""

    arm: ArmResult
    positions: np.ndarray
    memories: tuple[VectorMemory, ...]

    def curve(self, other: ArmResult, parts: int, *, rng: np.random.Generator) -> list[Difference]:
        """`arm − other` in each of `parts` equal stretches of the streams, with a bootstrap over problems.

        Columns are paired: stream j is held against draw j of `other`. A problem counts in a stretch with the mean
        over the streams in which it came there.
        """
        a, b = self.arm.outcomes, other.outcomes  # (problems, streams)
        if a.shape != b.shape:
            raise ValueError(f"expected a draw of {other.name} for each stream, got shapes {a.shape} and {b.shape}")
        reached = np.isfinite(a) & np.isfinite(b)
        stretch = self.positions * parts // len(self.positions)  # (problems, streams)
        points = []
        for part in range(parts):
            here = (stretch == part) & reached
            some = here.any(axis=1)  # (problems,)
            means = [np.where(here, outcomes, 0).sum(axis=1)[some] / here.sum(axis=1)[some] for outcomes in (a, b)]
            points.append(paired_difference(*means, rng=rng))
        return points


def run_streams(name: str, problems: Sequence[Problem], chat: Callable[..., Reply], folder: Path, *,
                learn: LessonMaker, orders: Sequence[int], draws: Sequence[Draw], k: int = 1, **settings) -> Streams:
    """One stream for each pair of an order and a draw; order o is a permutation drawn with seed o.

    Every stream has a memory of its own, a file in `folder`, which starts empty. Streams run side by side as far as
    `chat` allows; within one, problems wait for each other, since each may learn from all before.
    """
    if len(orders) != len(draws) or not orders:
        raise ValueError(f"expected as many orders as draws, at least one; got {len(orders)} and {len(draws)}")
    sequences = [np.random.default_rng(order).permutation(len(problems)) for order in orders]
    memories = tuple(VectorMemory(Path(folder) / f"{name}-{j}.jsonl".replace(" ", "-"), BagOfWords())
                     for j in range(len(orders)))

    def stream(j: int) -> dict[int, Episode]:
        (heat, seed), memory = draws[j], memories[j]
        return {i: solve(problems[i], chat, memory=memory, learn=learn, k=k, temperature=heat, seed=seed,
                         episode_id=f"{name}, stream {j}, {problems[i].id}",
                         **{"judge": judge_once, "iterations": 1} | settings)
                for i in progress_bar(sequences[j], f"{name}, stream {j + 1}")}

    with ThreadPoolExecutor(getattr(chat, "parallel", 1)) as workers:
        ran = list(workers.map(stream, range(len(orders))))
    rows = tuple(tuple(episodes[i] for episodes in ran) for i in range(len(problems)))
    return Streams(ArmResult(name, rows), np.argsort(sequences, axis=1).T, memories)
