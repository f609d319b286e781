"""What is read off the runs of policies: success, how worth separates lessons, what was silenced, and when.

Left out: comparing two arms, which is `helpers.stats.paired_difference` on `by_task`, and drawing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from helpers.governed_runs import StreamRun
from helpers.governed_table import PASSED, Table
from helpers.governed_world import World
from helpers.worth_counters import MemoryWorth
from helpers.worth_dropout import contrast, dropout_counters
from helpers.worth_estimators import plain
from helpers.worth_history import counters_at, worth_at

ROLES = ("useful", "stale", "successor", "wrong", "generic")


def by_task(run: StreamRun, first: int = 0, last: int | None = None) -> np.ndarray:
    """Success rate of each task over all streams, in episodes `first` to before `last`; float (tasks,).

    ValueError when a task never came in these episodes.
    """
    tasks, success = run.orders.tasks[:, first:last].ravel(), run.success[:, first:last].ravel()
    came = np.bincount(tasks, minlength=len(run.world.tasks))
    if not came.all():
        raise ValueError(f"expected every task in episodes {first} to {last}, but {int((came == 0).sum())} of "
                         f"{came.size} never came; take more episodes or streams")
    return np.bincount(tasks, success, minlength=came.size) / came


def stretches(values: ArrayLike, parts: int) -> np.ndarray:
    """Means over equal stretches of the episodes, (streams, episodes) to (streams, parts).

    >>> stretches([[1, 0, 1, 1]], 2).tolist()
    [[0.5, 1.0]]
    """
    values = np.asarray(values, dtype=np.float64)
    if not 1 <= parts <= values.shape[-1]:
        raise ValueError(f"expected 1 to {values.shape[-1]} parts, got {parts}")
    return np.stack([part.mean(axis=-1) for part in np.array_split(values, parts, axis=-1)], axis=-1)


def roles(world: World, changes: Mapping[str, int], episodes: int) -> dict[str, np.ndarray]:
    """Which lessons play which of `ROLES` in each episode, bool (episodes, lessons) each.

    A useful lesson is stale from its family's change on; a successor is one from then on, and plays none before.
    """
    change = np.array([changes.get(lesson.family, episodes) for lesson in world.lessons])
    changed = np.arange(episodes)[:, None] >= change  # (episodes, lessons)
    useful, successor = world.of_kind("useful"), world.of_kind("successor")
    always = np.ones((episodes, 1), dtype=bool)
    return {"useful": useful & ~changed, "stale": useful & changed, "successor": successor & changed,
            "wrong": always & world.of_kind("wrong"), "generic": always & world.of_kind("generic")}


def role_masks(run: StreamRun) -> dict[str, np.ndarray]:
    """`roles` under the changes that the run met."""
    return roles(run.world, run.orders.changes, run.orders.episodes)


def shown_share(run: StreamRun) -> dict[str, np.ndarray]:
    """Share of the k places that each role took, float (streams, episodes) each; the rest stayed empty."""
    shown = run.shown
    episodes = np.arange(run.orders.episodes)[:, None]  # (episodes, 1)
    return {role: (mask[episodes, shown] & (shown >= 0)).mean(axis=-1) for role, mask in role_masks(run).items()}


def silenced_share(run: StreamRun, parts: int = 1) -> dict[str, np.ndarray]:
    """Share of the candidates of each role that were silenced, in equal stretches; float (streams, parts) each.

    Of "useful" and "successor" these are false suppressions. NaN where no lesson of the role was a candidate.
    """
    episodes = np.arange(run.orders.episodes)[:, None]
    there = (run.orders.born[:, None, :] <= episodes) & (run.world.cosine[run.orders.tasks] > 0)  # candidates arrived
    shares = {}
    for role, mask in role_masks(run).items():
        number, silent = (stretches((which & mask).sum(axis=-1), parts) for which in (there, run.silenced))
        shares[role] = np.divide(silent, number, out=np.full(number.shape, np.nan), where=number > 0)
    return shares


@dataclass(frozen=True)
class Separation:
    """Probability that a good lesson has the larger value of two, one drawn of each sort, ties counting half (AUC).

    0.5 is chance. The interval is a percentile bootstrap over lessons of both sorts; `pairs` were compared in at
    least one stream.
    """

    auc: float
    low: float
    high: float
    pairs: int

    def __str__(self) -> str:
        return f"{self.auc:.2f} [{self.low:.2f}, {self.high:.2f}]"


def separation(values: ArrayLike, good: ArrayLike, bad: ArrayLike, *, rng: np.random.Generator,
               level: float = 0.95, resamples: int = 2000) -> Separation:
    """How well `values` (streams, lessons), NaN where unknown, tell `good` from `bad` lessons, bool (lessons,) each.

    >>> found = separation([[0.9, 0.5, 0.5, 0.1]], [1, 1, 0, 0], [0, 0, 1, 1], rng=np.random.default_rng(0))
    >>> found.auc
    0.875
    """
    values, good, bad = np.atleast_2d(np.asarray(values, float)), np.asarray(good, bool), np.asarray(bad, bool)
    if not good.any() or not bad.any() or (good & bad).any():
        raise ValueError(f"expected good and bad lessons, none of them both, got {int(good.sum())} and "
                         f"{int(bad.sum())} with {int((good & bad).sum())} of both sorts")
    a, b = values[:, good, None], values[:, None, bad]  # (streams, good, 1), (streams, 1, bad)
    known = np.isfinite(a) & np.isfinite(b)
    wins = np.where(known, (a > b) + 0.5 * (a == b), 0.0).sum(axis=0)  # (good, bad)
    count = known.sum(axis=0)
    if not count.any():
        raise ValueError("expected at least one good and one bad lesson with a value in the same stream, got none")
    rows = rng.integers(wins.shape[0], size=(resamples, wins.shape[0]))
    columns = rng.integers(wins.shape[1], size=(resamples, wins.shape[1]))
    drawn = [m[rows[:, :, None], columns[:, None, :]].sum(axis=(1, 2)) for m in (wins, count)]
    found = drawn[0][drawn[1] > 0] / drawn[1][drawn[1] > 0]
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return Separation(float(wins.sum() / count.sum()), float(low), float(high), int((count > 0).sum()))


def values_at(run: StreamRun, episodes: int, estimator: Callable[..., np.ndarray] = plain, *,
              min_evidence: float = 1, **options: object) -> np.ndarray:
    """An estimator's values after so many episodes, NaN for lessons shown less than `min_evidence` times; (streams, n).
    """
    values = worth_at(run.stream, [episodes], estimator, **options)[..., 0, :]
    evidence = counters_at(run.stream, [episodes]).evidence[..., 0, :]
    return np.where(evidence >= min_evidence, values, np.nan)


def turnover(run: StreamRun, *, window: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """How many of a changed family's own episodes pass after the change, float (streams, changed families) each:

    until `window` of them in a row show no stale lesson, and until `window` in a row all show a successor. The
    episodes of the run itself are not counted; inf when it does not happen before the stream ends.
    """
    masks, shown = role_masks(run), run.shown
    episodes = np.arange(run.orders.episodes)[:, None]
    seen = {role: (masks[role][episodes, shown] & (shown >= 0)).any(axis=-1) for role in ("stale", "successor")}
    family = run.world.task_family[run.orders.tasks]  # (streams, episodes)
    silent = np.full((len(family), len(run.orders.changes)), np.inf)
    trusted = silent.copy()
    for column, (name, change) in enumerate(run.orders.changes.items()):
        own = (family == run.world.families.index(name)) & (np.arange(run.orders.episodes) >= change)
        for row in range(len(family)):
            silent[row, column] = first_run(~seen["stale"][row, own[row]], window)
            trusted[row, column] = first_run(seen["successor"][row, own[row]], window)
    return silent, trusted


def first_run(flags: ArrayLike, length: int) -> float:
    """Place at which the first `length` True in a row begin; inf when there are none.

    >>> first_run([False, True, False, True, True], 2), first_run([True], 2)
    (3.0, inf)
    """
    flags = np.asarray(flags, dtype=bool)
    if flags.size < length:
        return float("inf")
    full = np.lib.stride_tricks.sliding_window_view(flags, length).all(axis=-1)
    return float(full.argmax()) if full.any() else float("inf")


def true_effects(table: Table, version: int = 0) -> np.ndarray:
    """What each lesson adds, shown alone, to the success rate of the tasks it is a candidate of; float (lessons,).

    Read from the recorded answers, over both draws; NaN for a lesson that is nobody's candidate.
    """
    passed = table.verdicts[:, :, table.nothing, :, version] == PASSED  # (tasks, places, draws)
    gain = passed.mean(axis=-1) - passed[:, -1:].mean(axis=-1)  # (tasks, places)
    candidates = table.world.candidates
    there = candidates >= 0
    ids, gains = candidates[there], gain[:, :-1][there]
    n = len(table.world.lessons)
    count = np.bincount(ids, minlength=n)
    return np.divide(np.bincount(ids, gains, minlength=n), count, out=np.full(n, np.nan), where=count > 0)


def pooled_effects(run: StreamRun) -> tuple[np.ndarray, np.ndarray]:
    """Dropout's estimate of what each lesson adds, over all streams together, and its standard error; (lessons,)."""
    kept, withheld = (MemoryWorth.of(worth.hits_plus.sum(axis=0), worth.hits_minus.sum(axis=0))
                      for worth in dropout_counters(run.stream))
    return contrast(kept, withheld)
