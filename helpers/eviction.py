"""Which lessons a memory gives up first: by age, by use, by what was shown of their worth, or by lot.

Left out: giving them up, which is the memory's own act (`VectorMemory.forget`), and estimators that correct worth
for the difficulty of tasks, feedback or drift.
"""

import heapq
import math
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from helpers.lessons import Lesson

Z = 1.6448536  # 95 % of a normal distribution lies below: a one-sided interval


def wilson(hits_plus: float, hits_minus: float) -> tuple[float, float]:
    """Centre and upper end of the Wilson score interval for a rate, one-sided 95 %; (0.5, 1.0) without evidence.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927).
    The centre is the rate drawn towards 1/2, the less evidence the more. ValueError for a negative count.

    >>> [round(x, 2) for x in wilson(0, 60)], [round(x, 2) for x in wilson(0, 1)]
    ([0.02, 0.04], [0.37, 0.73])
    """
    if not (hits_plus >= 0 and hits_minus >= 0):
        raise ValueError(f"expected counts from 0 up, got {hits_plus} and {hits_minus}")
    evidence = hits_plus + hits_minus
    if evidence == 0:
        return 0.5, 1.0
    rate, z2 = hits_plus / evidence, Z * Z
    centre = (hits_plus + z2 / 2) / (evidence + z2)
    half = Z / (evidence + z2) * math.sqrt(rate * (1 - rate) * evidence + z2 / 4)
    return centre, min(1.0, centre + half)


def shown_worth(lesson: Lesson) -> tuple[float, float]:
    """Sort key, smallest first to forget: what was shown bad by evidence, the worst first, then the least proven.

    A lesson is shown bad when even the upper end of its interval lies under 1/2: three failures in a row, or 41 of
    100. It is ranked by that end: 0 of 60 goes before 0 of 1. All others are ranked by the centre: one never tried
    goes before 1 of 1, and 1 of 1 before 95 of 100.

    >>> def seen(plus, minus): return Lesson(1, "", "text", hits_plus=plus, hits_minus=minus)
    >>> shown_worth(seen(0, 60)) < shown_worth(seen(41, 59)) < shown_worth(seen(0, 1)) < shown_worth(seen(0, 0))
    True
    >>> shown_worth(seen(0, 0)) < shown_worth(seen(1, 0)) < shown_worth(seen(95, 5))
    True
    """
    centre, upper = wilson(lesson.hits_plus, lesson.hits_minus)
    return min(upper, 0.5), centre


POLICIES: dict[str, Callable[[Lesson, Mapping[int, int]], tuple]] = {
    "fifo": lambda lesson, touched: (lesson.id,),
    "lru": lambda lesson, touched: (touched[lesson.id],),
    "lfu": lambda lesson, touched: (lesson.uses, touched[lesson.id]),
    "worth": lambda lesson, touched: (*shown_worth(lesson), touched[lesson.id]),
}


def check_policy(policy: str) -> str:
    """The policy itself; ValueError naming those there are.

    >>> check_policy("lru")
    'lru'
    """
    if policy not in (*POLICIES, "random"):
        raise ValueError(f"policy: expected one of {', '.join([*POLICIES, 'random'])}; got {policy!r}")
    return policy


def victims(policy: str, lessons: Iterable[Lesson], n: int, *, touched: Mapping[int, int],
            rng: np.random.Generator) -> list[int]:
    """Ids of the `n` lessons to give up, first to go first; all of them when there are fewer.

    `fifo` takes the oldest; `lru` the one whose adding or last use lies furthest back, `touched` giving the order;
    `lfu` the least used, among equals as `lru`; `worth` orders by `shown_worth`; `random` draws without replacement.

    >>> pair = [Lesson(1, "", "old", uses=5), Lesson(2, "", "new")]
    >>> order = {"touched": {1: 9, 2: 3}, "rng": np.random.default_rng(0)}
    >>> victims("fifo", pair, 1, **order), victims("lru", pair, 1, **order), victims("lfu", pair, 5, **order)
    ([1], [2], [2, 1])
    """
    if check_policy(policy) == "random":
        ids = sorted(lesson.id for lesson in lessons)
        return rng.permutation(ids)[:n].tolist() if ids else []
    key = POLICIES[policy]
    return [lesson.id for lesson in heapq.nsmallest(n, lessons, key=lambda lesson: (*key(lesson, touched), lesson.id))]
