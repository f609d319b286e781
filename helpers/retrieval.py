"""What a search returns: of all lessons that pass the filters, the k most similar ones.

Left out: similarity itself (`helpers.vector_index`). A ranking by worth is left out too: worth filters, it does not
rank, because a lesson's record says nothing about whether it fits the question.
"""

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.eviction import wilson
from helpers.lessons import Lesson


@dataclass(frozen=True)
class Hit:
    """A lesson with the cosine of its specification and the query, in [-1, 1]."""

    lesson: Lesson
    score: float


class Hits(list[Hit]):
    """A list of hits, the most similar first; `reason` says why when it is empty, and is "" otherwise."""

    def __init__(self, hits: Iterable[Hit] = (), reason: str = "") -> None:
        super().__init__(hits)
        self.reason = "" if self else reason


@dataclass(frozen=True)
class Request:
    """Everything a search can ask for, checked; TypeError or ValueError naming the argument to mend."""

    k: int
    threshold: float | None
    family: str | None
    exclude: frozenset[str]
    min_worth: float | None
    max_per_source: int | None

    @classmethod
    def of(cls, k: int = 3, threshold: float | None = 0.05, *, family: str | None = None,
           exclude: str | Iterable[str] = (), min_worth: float | None = None,
           max_per_source: int | None = 2) -> "Request":
        """The request; `exclude` is one name or several.

        >>> sorted(Request.of(exclude="p1").exclude)
        ['p1']
        """
        names = frozenset([exclude] if isinstance(exclude, str) else exclude)
        if wrong := [name for name in names if not isinstance(name, str)]:
            raise TypeError(f"exclude: expected names of sources, got {wrong[0]!r}; give a str or several")
        if family is not None and not isinstance(family, str):
            raise TypeError(f"family: expected a name or None, got {family!r}")
        return cls(whole("k", k, 0), _number("threshold", threshold, -math.inf, math.inf), family, names,
                   _number("min_worth", min_worth, 0, 1),
                   None if max_per_source is None else whole("max_per_source", max_per_source, 1))

    def admits(self, lesson: Lesson) -> bool:
        """Whether a lesson passes the filters: family, source, and not shown to be worth less than `min_worth`."""
        return ((self.family is None or lesson.family == self.family) and lesson.source not in self.exclude
                and (self.min_worth is None or wilson(lesson.hits_plus, lesson.hits_minus)[1] >= self.min_worth))

    def reaches(self, score: float) -> bool:
        """Whether a score is at the threshold or above it."""
        return self.threshold is None or score >= self.threshold


def whole(name: str, value: Any, least: int) -> int:
    """A whole number of at least `least`, numpy's included; TypeError or ValueError naming the argument.

    >>> whole("k", 3, 0)
    3
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}: expected a whole number, got {value!r}")
    if (value := operator.index(value)) < least:
        raise ValueError(f"{name}: expected {least} or more, got {value}")
    return value


def _number(name: str, value: Any, low: float, high: float) -> float | None:
    if value is None:
        return None
    if isinstance(value, (bool, str, bytes)) or not hasattr(value, "__float__"):
        raise TypeError(f"{name}: expected a number or None, got {value!r}")
    if not (low <= float(value) <= high and math.isfinite(value)):
        raise ValueError(f"{name}: expected a finite number{f' from {low} to {high}' if low == 0 else ''}, got {value}")
    return float(value)


def choose(request: Request, lessons: Mapping[int, Lesson], best: Callable[[int], list[tuple[float, int]]],
           n: int, rng: np.random.Generator | None = None) -> Hits:
    """The hits, from a ranking of `n` lessons of which `best(m)` gives the first m as (score, id).

    Passing over what the filters refuse, from the top, gives the same as filtering first, and looks at few lessons.
    With `rng`, all are looked at, and when every chosen lesson has been tried before, the last place goes to one,
    drawn at random, of those admitted that never were. Without such a draw a lesson at rank k + 1 is never tried.
    """
    m = n if rng is not None else min(n, 2 * request.k + 2)
    while True:
        ranked = best(m)
        found = [Hit(lessons[i], score) for score, i in ranked if request.reaches(score) and request.admits(lessons[i])]
        chosen = _spread(found, request.k, request.max_per_source)
        if len(chosen) == request.k or m == n or not request.reaches(ranked[-1][0]):
            break
        m = min(n, 8 * m)
    if rng is not None and chosen and all(hit.lesson.uses for hit in chosen):
        untried = [hit for hit in found if not hit.lesson.uses
                   and len(_spread([*chosen[:-1], hit], request.k, request.max_per_source)) == len(chosen)]
        if untried:
            chosen[-1] = untried[rng.integers(len(untried))]
    return Hits(chosen, _reason(request, ranked))


def _spread(hits: list[Hit], k: int, max_per_source: int | None) -> list[Hit]:
    """The first k, of which no more than `max_per_source` share a source; lessons without source are all different."""
    chosen: list[Hit] = []
    seen: Counter[str] = Counter()
    for hit in hits:
        if len(chosen) == k:
            break
        if max_per_source is None or not hit.lesson.source or seen[hit.lesson.source] < max_per_source:
            seen[hit.lesson.source] += 1
            chosen.append(hit)
    return chosen


def _reason(request: Request, ranked: list[tuple[float, int]]) -> str:
    if request.k == 0:
        return "k is 0"
    if not request.reaches(ranked[0][0]):
        return f"no lesson reaches the threshold {request.threshold}: the most similar one has {ranked[0][0]:.3f}"
    return "no lesson that is similar enough passes the filters (family, exclude, min_worth)"
