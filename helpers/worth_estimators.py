"""Estimators of worth that correct for the type of task, for few retrievals and for companions.

Each is a function of a stream and returns float (..., n), larger is better. Left out: change over time
(`helpers.worth_drift`) and experiments with withheld memories (`helpers.worth_dropout`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from helpers.worth_counters import NO_EVIDENCE, MemoryWorth, counters
from helpers.worth_stream import Stream
from helpers.worth_tally import ratio, tally


def plain(stream: Stream) -> np.ndarray:
    """hits⁺ / (hits⁺ + hits⁻), 0.5 without evidence (arXiv:2604.12007).

    >>> plain(Stream([[0, 1], [1, 2]], [True, False], n=4)).tolist()
    [1.0, 0.5, 0.0, 0.5]
    """
    return counters(stream).value


def by_type(stream: Stream) -> MemoryWorth:
    """Counters kept apart by task type: shape (..., types).

    >>> by_type(Stream([[0], [0], [0]], [True, False, False], [0, 0, 1], n=1)).value.tolist()
    [[0.5], [0.0]]
    """
    shape = (*stream.lead, stream.types, 2, stream.n)
    hits = tally(stream, 2 * stream.labels + stream.success, 2 * stream.types, weights=stream.weights).reshape(shape)
    squares = None
    if stream.weights is not None:
        squares = tally(stream, stream.labels, stream.types, weights=stream.weights**2)
    return MemoryWorth.of(hits[..., 1, :], hits[..., 0, :], squares)


def per_type(stream: Stream, *, by_evidence: bool = False) -> np.ndarray:
    """Worth within each task type, averaged over the types; 0.5 stands for a type the memory was never used on.

    by_evidence: weigh types by the memory's evidence in them instead of equally. That is plain worth again, so it
    corrects nothing: the average has to be over the tasks to come, not over those the memory was used on.

    >>> s = Stream([[0], [0], [0]], [True, False, False], [0, 0, 1], n=1)
    >>> per_type(s).tolist(), per_type(s, by_evidence=True).round(3).tolist()
    ([0.25], [0.333])
    """
    worth = by_type(stream)
    if not by_evidence:
        return worth.value.mean(axis=-2)
    return ratio((worth.value * worth.evidence).sum(axis=-2), worth.evidence.sum(axis=-2), NO_EVIDENCE)


def success_rates(stream: Stream) -> np.ndarray:
    """Success rate of each task type over all its episodes, (..., types); 0.5 for a type without episodes.

    >>> success_rates(Stream([[0], [0], [0]], [True, False, True], [0, 0, 1], n=1)).tolist()
    [0.5, 1.0]
    """
    seen, won = episodes_by_type(stream)
    return ratio(won, seen, NO_EVIDENCE)


def episodes_by_type(stream: Stream) -> tuple[np.ndarray, np.ndarray]:
    """Episodes and successes of each task type, float (..., types) each.

    >>> [a.tolist() for a in episodes_by_type(Stream([[0], [0], [0]], [True, False, True], [0, 0, 1], n=1))]
    [[2.0, 1.0], [1.0, 1.0]]
    """
    whole = Stream(np.zeros((*stream.success.shape, 1), dtype=np.int64), stream.success, n=1)  # one memory, always
    count = tally(whole, 2 * stream.labels + stream.success, 2 * stream.types)
    count = count.reshape(*stream.lead, stream.types, 2)
    return count.sum(axis=-1), count[..., 1]


def running_rates(stream: Stream, episodes: ArrayLike = 0.0, successes: ArrayLike = 0.0) -> np.ndarray:
    """Success rate of each episode's task type before that episode, (successes + 1) / (episodes + 2); (..., episodes).

    episodes, successes: what was counted of each type before the stream, (..., types).

    >>> running_rates(Stream([[0], [0], [0]], [True, True, False], n=1)).round(3).tolist()
    [0.5, 0.667, 0.75]
    """
    seen, won = (np.broadcast_to(a, (*stream.lead, stream.types)) for a in (episodes, successes))
    rates = np.empty(stream.success.shape)
    for kind in range(stream.types):
        is_type = stream.labels == kind
        wins = is_type & stream.success
        rate = ((np.cumsum(wins, axis=-1) - wins + won[..., kind, None] + 1)
                / (np.cumsum(is_type, axis=-1) - is_type + seen[..., kind, None] + 2))
        rates[is_type] = rate[is_type]
    return rates


def surprises(stream: Stream, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sum of outcome − rate over each memory's retrievals, and its evidence; (..., n) each. rates: (..., episodes).

    >>> [a.tolist() for a in surprises(Stream([[0], [0]], [True, False], n=1), np.array([0.5, 0.75]))]
    [[-0.25], [2.0]]
    """
    surprise = (stream.success - rates)[..., None]  # (..., episodes, 1)
    weighted = surprise if stream.weights is None else surprise * stream.weights
    return tally(stream, weights=weighted)[..., 0, :], tally(stream, weights=stream.weights)[..., 0, :]


def residual(stream: Stream, *, running: bool = False) -> np.ndarray:
    """Mean of outcome − success rate of its task type over a memory's retrievals, in [−1, 1]; 0 without evidence.

    A memory used only on hard tasks is compared with how hard tasks usually end. The rates are those of the whole
    stream; `running` takes the rate as known before each episode instead, as an agent must (`ResidualWorth`).

    >>> residual(Stream([[0], [1], [0], [1]], [True, False, True, True], [0, 0, 1, 1], n=2)).tolist()
    [0.25, -0.25]
    """
    if running:
        return ratio(*surprises(stream, running_rates(stream)), 0.0)
    worth, rates = by_type(stream), success_rates(stream)[..., None]  # (..., types, 1)
    excess = worth.hits_plus - worth.evidence * rates  # (..., types, n)
    return ratio(excess.sum(axis=-2), worth.evidence.sum(axis=-2), 0.0)


def shrink(worth: MemoryWorth) -> np.ndarray:
    """Worths drawn towards the mean of all memories, the more so the fewer retrievals: empirical Bayes; (*shape, n).

    The worths are taken for draws from a Beta distribution whose mean and spread the counters themselves tell, by the
    method of moments (Kleinman 1973, Proportions with extraneous variance). Without evidence a memory gets the mean.
    When the counters spread no more than chance makes them, all get the mean; however far they spread, the mean keeps
    the weight of one retrieval.

    >>> shrink(MemoryWorth.of([90, 10, 2, 0], [10, 90, 0, 0])).round(2).tolist()
    [0.9, 0.1, 0.83, 0.5]
    """
    value, trials = worth.value, worth.effective
    total = trials.sum(axis=-1, keepdims=True)
    mean = ratio((trials * value).sum(axis=-1, keepdims=True), total, NO_EVIDENCE)
    spread = (trials * (value - mean) ** 2).sum(axis=-1, keepdims=True)
    chance = (trials > 0).sum(axis=-1, keepdims=True) - 1  # spread / (mean (1 − mean)) that chance alone gives
    room = total - ratio((trials**2).sum(axis=-1, keepdims=True), total, 0.0) - chance
    share = ratio(ratio(spread, mean * (1 - mean), 0.0) - chance, room, 0.0)  # 1 / (prior retrievals + 1)
    share = np.clip(share, 0.0, 0.5)
    return (share * trials * value + (1 - share) * mean) / (share * trials + 1 - share)


def lower_bound(stream: Stream, *, level: float = 0.95) -> np.ndarray:
    """Lower end of the Wilson interval: careful when a memory is to be trusted, and unjust to rarely used ones.

    >>> lower_bound(Stream([[0]], [True], n=2)).round(2).tolist()
    [0.21, 0.0]
    """
    return counters(stream).interval(level)[0]


def empirical_bayes(stream: Stream) -> np.ndarray:
    """`shrink` of the counters after the stream.

    >>> empirical_bayes(Stream([[0], [0], [1], [1]], [True, False, True, False], n=3)).tolist()
    [0.5, 0.5, 0.5]
    """
    return shrink(counters(stream))


def ridge(stream: Stream, *, penalty: float = 1.0) -> np.ndarray:
    """Coefficient of each memory's presence in a linear model of the outcome with an intercept a task type.

    Ridge regression (Hoerl and Kennard 1970): minimises Σ (outcome − intercept of the type − Σ coefficients of the
    memories present)² + penalty · Σ coefficients². Intercepts are not penalised. Credits companions with their own
    part, at the price of n² sums instead of two counters. 0 without evidence. The stream's weights are not used.

    >>> ridge(Stream([[0], [1], [0], [1]], [True, False, True, False], n=2)).round(2).tolist()
    [0.33, -0.33]
    """
    if not (penalty > 0 and math.isfinite(penalty)):
        raise ValueError(f"expected a finite penalty above 0, got {penalty}")
    bare = Stream(stream.retrieved, stream.success, stream.task_type, n=stream.n, types=stream.types, kept=stream.kept)
    typed = by_type(bare)
    together = co_retrievals(bare)  # (..., n, n)
    episodes, won = (np.broadcast_to(a[..., None], typed.evidence.shape) for a in episodes_by_type(bare))
    presence = ratio(typed.evidence, episodes, 0.0)  # (..., types, n)
    gram = together - np.einsum("...tm,...tj->...mj", typed.evidence, presence)
    target = (typed.hits_plus - presence * won).sum(axis=-2)  # (..., n)
    gram = gram + penalty * np.eye(stream.n)
    return np.linalg.solve(gram, target[..., None])[..., 0]


def co_retrievals(stream: Stream) -> np.ndarray:
    """In how many episodes two memories were used together, (..., n, n); the diagonal counts their own.

    >>> co_retrievals(Stream([[0, 1], [1, 2]], [True, False], n=3)).tolist()
    [[1.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 1.0]]
    """
    n, used = stream.n, stream.used
    ids = stream.retrieved if used is None else np.where(used, stream.retrieved, n)  # unused slots count apart
    runs = ids.reshape(-1, stream.episodes, stream.k)
    found = np.empty((len(runs), n + 1, n + 1))
    for run, slots in enumerate(runs):  # a run at a time: k² pairs an episode are the largest array here
        pairs = slots[:, :, None].astype(np.int64) * (n + 1) + slots[:, None, :]
        found[run] = np.bincount(pairs.ravel(), minlength=(n + 1) ** 2).reshape(n + 1, n + 1)
    return found[:, :n, :n].reshape(*stream.lead, n, n)
