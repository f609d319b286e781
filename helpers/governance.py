"""Policies that govern a memory: which of the lessons at hand to show, and which to give up when there are too many.

A policy is a function from what an agent knows (`View`) to one score a lesson. Every array has the streams that are
run side by side in its first axis and the lessons in its last: elementwise arithmetic needs no thought of either.
Left out: policies that look at the text of a lesson, and policies that ask a model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.worth_counters import MemoryWorth, wilson_interval
from helpers.worth_online import ResidualWorth
from helpers.worth_policies import cut, rerank

NEVER = -np.inf  # the score of a lesson that is not to be shown
MIN_EVIDENCE = 4  # retrievals before a cut may speak: streams of 300 tasks give a lesson few more than ten
MARGIN = 0.05  # a cut relative to the rate without memory asks for this much above it
CAPACITY = 24  # lessons kept by the policies that give lessons up
Z2 = 1.6448536**2  # as in `helpers.eviction`: 95 % of a normal distribution lies below its root


@dataclass(frozen=True, eq=False)
class View:
    """What an agent knows when a task comes; nothing of a lesson's kind, nothing of the tests.

    episode: number of the episode from 0. similarity: cosine of the task's specification with each lesson's, 0 for
    one that is no candidate, float (streams, lessons). at_hand: candidates that are in the memory now, bool (streams,
    lessons). born: episode before which a lesson arrived. rank: its place among all arrivals. uses: episodes in which
    it was shown. touched: a number that is larger, the later it was last shown, or arrived. worth: the policy's own
    evidence, by default the two counters (`MemoryWorth`). baseline: success rate of the tasks without any memory,
    measured before the stream. family: of the task, int (streams,); lesson_family: int (lessons,), −1 for none.
    luck: uniform numbers in [0, 1), new in every episode, float (streams, lessons). good: for an oracle alone, which
    lessons hold the rule that the task is judged by, bool (streams, lessons); None for every other policy.
    """

    episode: int
    similarity: np.ndarray
    at_hand: np.ndarray
    born: np.ndarray
    rank: np.ndarray
    uses: np.ndarray
    touched: np.ndarray
    worth: Any
    baseline: float
    family: np.ndarray
    lesson_family: np.ndarray
    luck: np.ndarray
    good: np.ndarray | None = None


Score = Callable[[View], np.ndarray]


@dataclass(frozen=True)
class Policy:
    """A named way to govern the memory.

    `score` says what to show: of the lessons at hand the k with the highest scores, the more similar one among equals,
    none with the score `NEVER`. `evidence(lessons, streams, types)` makes what stands in `View.worth`; its `update`
    gets the lessons shown and the outcome, and the task's type when `typed`. With a `capacity`, an arrival beyond it
    makes the memory give up the lesson that `give_up` puts first, for good: keys as for `np.lexsort`, the most
    important one last, each (streams, lessons). `placebo`: evidence is fed the outcome of an episode drawn by lot out
    of those so far. `oracle`: `View.good` is filled.
    """

    name: str
    score: Score
    evidence: Callable[[int, int, int], Any] = lambda lessons, streams, types: MemoryWorth(lessons, shape=(streams,))
    typed: bool = False
    capacity: int | None = None
    give_up: Callable[[View], tuple[np.ndarray, ...]] | None = None
    placebo: bool = False
    oracle: bool = False

    def __post_init__(self) -> None:
        if (self.capacity is None) != (self.give_up is None) or (self.capacity is not None and self.capacity < 1):
            raise ValueError(f"policy {self.name!r}: expected a capacity of at least one lesson with give_up, or "
                             f"neither, got capacity {self.capacity} and give_up {self.give_up}")


def nothing(view: View) -> np.ndarray:
    """Show no lesson."""
    return np.full(view.similarity.shape, NEVER)


def nearest(view: View) -> np.ndarray:
    """The most similar lessons, whatever became of them: no governance."""
    return view.similarity


def newest(view: View) -> np.ndarray:
    """The lessons that arrived last."""
    return view.rank.astype(np.float64)


def cut_fixed(view: View, *, below: float = 0.3, min_evidence: float = MIN_EVIDENCE) -> np.ndarray:
    """The most similar lessons, without those whose worth is under a fixed threshold."""
    return np.where(cut(view.worth, below, min_evidence=min_evidence), NEVER, view.similarity)


def cut_above_baseline(view: View, *, margin: float = MARGIN, min_evidence: float = MIN_EVIDENCE) -> np.ndarray:
    """The most similar lessons, without those worth less than the success rate without memory plus a margin.

    A lesson costs tokens, so one that adds nothing may go; a harmful one stands lower still.
    """
    return cut_fixed(view, below=min(view.baseline + margin, 1.0), min_evidence=min_evidence)


def similarity_by_worth(view: View) -> np.ndarray:
    """Similarity × (hits⁺ + 1) / (evidence + 2): an untried lesson counts as one that succeeds half of the time."""
    return rerank(view.similarity, view.worth)


def similarity_by_residual(view: View) -> np.ndarray:
    """Similarity × (½ + sum of surprises / (evidence + 2)), kept above 0: worth against how its tasks usually end."""
    return view.similarity * np.maximum(0.5 + view.worth.surprise / (view.worth.evidence + 2), 0.01)


def oracle(view: View) -> np.ndarray:
    """The most similar of the lessons that hold the rule in force, and no other."""
    return np.where(view.good, view.similarity, NEVER)


def oldest_first(view: View) -> tuple[np.ndarray, ...]:
    """Give up in the order of arrival (FIFO), so that the newest lessons stay."""
    return (view.rank,)


def least_recent_first(view: View) -> tuple[np.ndarray, ...]:
    """Give up the lesson whose last use, or arrival, lies furthest back (LRU)."""
    return (view.touched,)


def least_used_first(view: View) -> tuple[np.ndarray, ...]:
    """Give up the least used lesson, among equals as LRU (LFU)."""
    return view.touched, view.uses


def least_worth_first(view: View) -> tuple[np.ndarray, ...]:
    """Give up what was shown bad by evidence, then what is least proven: `helpers.eviction.shown_worth` in arrays."""
    high = wilson_interval(view.worth.value, view.worth.evidence, 0.9)[1]  # one-sided 95 %
    centre = (view.worth.hits_plus + Z2 / 2) / (view.worth.evidence + Z2)
    return view.touched, centre, np.minimum(high, 0.5)


def _discounted(lessons: int, streams: int, types: int) -> MemoryWorth:
    return MemoryWorth(lessons, shape=(streams,), discount=0.8)


def _residual(lessons: int, streams: int, types: int) -> ResidualWorth:
    return ResidualWorth(lessons, types=types, shape=(streams,))


def standard_policies(capacity: int = CAPACITY) -> dict[str, Policy]:
    """The arms of the comparison, by name."""
    full = {"capacity": capacity}
    arms = [
        Policy("no memory", nothing),
        Policy("no governance", nearest),
        Policy("newest first", newest),
        Policy("LRU", nearest, give_up=least_recent_first, **full),
        Policy("LFU", nearest, give_up=least_used_first, **full),
        Policy("FIFO", nearest, give_up=oldest_first, **full),
        Policy("worth gives up", nearest, give_up=least_worth_first, **full),
        Policy("cut at 0.3", cut_fixed),
        Policy("cut relative", cut_above_baseline),
        Policy("re-ranking", similarity_by_worth),
        Policy("re-ranking, discounted", similarity_by_worth, evidence=_discounted),
        Policy("re-ranking, residual", similarity_by_residual, evidence=_residual, typed=True),
        Policy("re-ranking, placebo", similarity_by_worth, placebo=True),
        Policy("oracle", oracle, oracle=True),
    ]
    return {policy.name: policy for policy in arms}
