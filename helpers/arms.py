"""Run named arms over the same problems and seeds, and compare them pairwise.

Left out: choosing problems, drawing figures, and asking a live model from several threads.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.llm import Reply
from helpers.problems import Problem
from helpers.progress_bar import progress_bar
from helpers.reflexion import Episode, judged, solve
from helpers.stats import Difference, paired_difference, proportion_interval

# Ways of spending attempts. The first attempt is the same in all of them (temperature 0), so that they differ
# only in what comes after a failure. Retries that change nothing would repeat it, hence their temperature.
ARMS: dict[str, dict] = {
    "single attempt": {"iterations": 1},
    "plain retry": {"iterations": 3, "feedback": "none", "retry_temperature": 0.6},
    "Reflexion": {"iterations": 3, "retry_temperature": 0.6},
    "Reflexion, tests only": {"iterations": 3, "feedback": "tests", "retry_temperature": 0.6},
    "Reflexion, temperature 0": {"iterations": 3},
}


Draw = tuple[float, int]  # temperature of the first attempt, seed
DRAWS: tuple[Draw, ...] = ((0.0, 0), (0.6, 1), (0.6, 2))  # the most probable answer, and two drawn ones

# Arms share first attempts and repeat code; the same code against the same tests gets the same verdicts.
judge_once = functools.lru_cache(maxsize=10_000)(judged)


@dataclass(frozen=True)
class ArmResult:
    """The episodes of one arm: `episodes[i][j]` is problem i with seed j."""

    name: str
    episodes: tuple[tuple[Episode, ...], ...]

    @property
    def outcomes(self) -> np.ndarray:
        """1 for success, 0 for failure and for what the sandbox cannot run, NaN where the model was not reached.

        float64, (problems, seeds).
        """
        value = {"success": 1.0, "infrastructure": np.nan}
        return np.array([[value.get(episode.outcome, 0.0) for episode in row] for row in self.episodes])

    def count(self, outcome: str) -> int:
        """How many episodes ended as `outcome`, over all problems and seeds."""
        return sum(episode.outcome == outcome for row in self.episodes for episode in row)

    @property
    def solved(self) -> float:
        """Share of episodes solved among those in which the model was reached."""
        return float(np.nanmean(self.outcomes))

    @property
    def interval(self) -> tuple[float, float]:
        """95 % Wilson interval of `solved` for one seed; with several, episodes of one problem are not independent,
        so it is taken at the number of problems, which is the cautious side."""
        problems = int(np.isfinite(self.outcomes).any(axis=1).sum())
        return proportion_interval(round(self.solved * problems), problems)

    def columns(self, *draws: int) -> ArmResult:
        """The same arm with these of its draws, by place from 0, in this order; one may come twice."""
        return ArmResult(self.name, tuple(tuple(row[draw] for draw in draws) for row in self.episodes))

    @property
    def tokens(self) -> tuple[float, float]:
        """Mean prompt and completion tokens an episode."""
        spent = np.array([(e.prompt_tokens, e.completion_tokens) for row in self.episodes for e in row])
        return float(spent[:, 0].mean()), float(spent[:, 1].mean())


def run_arm(name: str, problems: Sequence[Problem], chat: Callable[..., Reply], *, seeds: Sequence[int] = (0,),
            draws: Sequence[Draw] | None = None, memory: Any = None, **settings) -> ArmResult:
    """Solve every problem once a draw with the `settings` of `helpers.reflexion.solve`, by default those of `ARMS`.

    `draws` are (temperature of the first attempt, seed); `seeds` alone leave the temperature to the settings.
    A `memory` is only read here, or what one problem taught would reach the next; it may be a function of the seed,
    so that a control draws its lessons anew in each draw. Recorded answers do not depend on who else asks, so as many
    problems are worked on side by side as `chat` says is worth it.
    """
    if not settings and memory is None and name not in ARMS:
        raise ValueError(f"arm {name!r} has no settings: give some, or a name out of {', '.join(ARMS)}")
    settings = {"judge": judge_once} | (settings or ARMS.get(name, {}))
    draws = [({}, seed) for seed in seeds] if draws is None else [({"temperature": heat}, seed) for heat, seed in draws]
    if not problems or not draws:
        raise ValueError(f"arm {name!r}: expected problems and seeds, got {len(problems)} and {len(draws)}")

    def row(problem: Problem) -> tuple[Episode, ...]:
        return tuple(solve(problem, chat, seed=seed, learn=None, memory=memory(seed) if callable(memory) else memory,
                           **settings, **heat) for heat, seed in draws)

    with ThreadPoolExecutor(getattr(chat, "parallel", 1)) as workers:
        return ArmResult(name, tuple(progress_bar(workers.map(row, problems), name, total=len(problems))))


def compare(treated: ArmResult, control: ArmResult, *, rng: np.random.Generator) -> Difference:
    """The paired difference `treated − control` over the problems that both arms could ask the model about.

    Raises:
        ValueError: the arms did not run the same problems in the same order.
    """
    ran = [[row[0].problem for row in arm.episodes] for arm in (treated, control)]
    if ran[0] != ran[1]:
        raise ValueError(f"{treated.name} and {control.name} ran different problems, or in another order; "
                         "run both on one list")
    a, b = treated.outcomes, control.outcomes
    reached = np.isfinite(a).all(axis=1) & np.isfinite(b).all(axis=1)  # (problems,)
    return paired_difference(a[reached], b[reached], rng=rng)


@dataclass(frozen=True)
class Price:
    """What one arm costs beside another: `tokens` more an episode (read and written), `gain` more solved, a share.

    >>> Price(tokens=60.0, gain=0.15).per_solved
    400.0
    """

    tokens: float
    gain: float

    @property
    def per_solved(self) -> float:
        """Tokens an additionally solved problem costs; NaN where nothing was gained, so nothing was bought."""
        return self.tokens / self.gain if self.gain > 0 else float("nan")


def price(treated: ArmResult, control: ArmResult) -> Price:
    """The price of `treated` beside `control`, over all episodes of both."""
    return Price(sum(treated.tokens) - sum(control.tokens), treated.solved - control.solved)
