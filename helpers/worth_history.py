"""Worth as it grew: at chosen moments of a stream, and after every outcome of one memory.

Left out: drawing it (`helpers.lab_plots`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from helpers.worth_counters import MemoryWorth
from helpers.worth_drift import CusumWorth
from helpers.worth_estimators import plain
from helpers.worth_stream import Stream, as_bool
from helpers.worth_tally import tally


def counters_at(stream: Stream, checkpoints: ArrayLike) -> MemoryWorth:
    """Counters after so many episodes, shape (..., checkpoints), in one pass; checkpoints rise, 0 is before the first.

    >>> counters_at(Stream([[0], [0], [0]], [True, False, False], n=1), [0, 1, 3]).value.round(3).tolist()
    [[0.5], [1.0], [0.333]]
    """
    marks = check_checkpoints(stream, checkpoints)
    stretch = np.searchsorted(marks, np.arange(stream.episodes), side="right")  # first checkpoint after the episode
    groups, size = 2 * stretch + stream.success, 2 * (marks.size + 1)
    hits = tally(stream, groups, size, weights=stream.weights)
    hits = hits.reshape(*stream.lead, marks.size + 1, 2, stream.n)[..., :-1, :, :].cumsum(axis=-3)
    squares = None
    if stream.weights is not None:
        stretch = np.broadcast_to(stretch, stream.success.shape)
        squares = tally(stream, stretch, marks.size + 1, weights=stream.weights**2)[..., :-1, :].cumsum(axis=-2)
    return MemoryWorth.of(hits[..., 1, :], hits[..., 0, :], squares)


def worth_at(stream: Stream, checkpoints: ArrayLike, estimator: Callable[..., np.ndarray] = plain,
             **options: object) -> np.ndarray:
    """An estimator's values after so many episodes, (..., checkpoints, n).

    Plain worth takes one pass over the stream; another estimator is called once a checkpoint with the episodes so far,
    and has no value before the first.

    >>> worth_at(Stream([[0], [0], [0]], [True, False, False], n=1), [1, 3]).round(3).tolist()
    [[1.0], [0.333]]
    """
    if estimator is plain:
        return counters_at(stream, checkpoints).value
    marks = check_checkpoints(stream, checkpoints, first=1)
    return np.stack([estimator(stream.first(int(mark)), **options) for mark in marks], axis=-2)


def check_checkpoints(stream: Stream, checkpoints: ArrayLike, *, first: int = 0) -> np.ndarray:
    """Checkpoints as int (checkpoints,); ValueError unless they rise from `first` to at most the number of episodes."""
    marks = np.asarray(checkpoints)
    if marks.ndim != 1 or marks.size == 0 or not np.issubdtype(marks.dtype, np.integer):
        raise ValueError(f"expected a list of numbers of episodes, got {marks.dtype} {marks.shape}")
    if marks[0] < first or marks[-1] > stream.episodes or (np.diff(marks) <= 0).any():
        raise ValueError(f"expected checkpoints that rise from {first} to at most {stream.episodes} episodes, got "
                         f"{marks.tolist() if marks.size < 10 else f'{marks.size} from {marks[0]} to {marks[-1]}'}")
    return marks


def plain_series(outcomes: ArrayLike) -> np.ndarray:
    """Worth of one memory after each of its own outcomes, bool (..., retrievals) to float of the same shape.

    >>> plain_series([True, False, False, True]).round(3).tolist()
    [1.0, 0.5, 0.333, 0.5]
    """
    won = check_outcomes(outcomes)
    return np.cumsum(won, axis=-1) / np.arange(1, won.shape[-1] + 1)


def discounted_series(outcomes: ArrayLike, *, gamma: float = 0.98) -> np.ndarray:
    """The same for discounted worth.

    >>> discounted_series([True, False], gamma=0.5).round(3).tolist()
    [1.0, 0.333]
    """
    if not 0 < gamma <= 1:
        raise ValueError(f"expected a discount above 0 and at most 1, got {gamma}")
    won = check_outcomes(outcomes)
    series, plus, evidence = np.empty(won.shape), 0.0, 0.0
    for i in range(won.shape[-1]):
        plus, evidence = gamma * plus + won[..., i], gamma * evidence + 1
        series[..., i] = plus / evidence
    return series


def cusum_series(outcomes: ArrayLike, **options: float) -> np.ndarray:
    """The same for `CusumWorth`, whose options these are.

    >>> cusum_series([True] * 98 + [False] * 5)[[0, 97, 102]].tolist()
    [1.0, 1.0, 0.0]
    """
    won = check_outcomes(outcomes)
    worth = CusumWorth(1, shape=won.shape[:-1], **options)
    series = np.empty(won.shape)
    for i in range(won.shape[-1]):
        worth.step(won[..., i, None])
        series[..., i] = worth.value[..., 0]
    return series


def check_outcomes(outcomes: ArrayLike) -> np.ndarray:
    """Outcomes as bool (..., retrievals); ValueError without any."""
    won = as_bool(outcomes, "outcomes")
    if won.ndim < 1 or won.size == 0:
        raise ValueError(f"expected outcomes (..., retrievals), at least one, got {won.shape}")
    return won


def lag(series: ArrayLike, threshold: float, *, after: int) -> np.ndarray:
    """How many retrievals beyond the first `after` a series needs to stand at or below the threshold; inf if never.

    series: (..., retrievals), value after each. Returns float (...).

    >>> float(lag([1.0, 1.0, 0.6, 0.2, 0.9], 0.3, after=2)), float(lag([1.0, 0.9], 0.3, after=1))
    (2.0, inf)
    """
    values = np.asarray(series, dtype=np.float64)
    if values.ndim < 1 or not 0 <= after < values.shape[-1]:
        raise ValueError(f"expected a series (..., retrievals) longer than after = {after}, got {values.shape}")
    low = values[..., after:] <= threshold
    return np.where(low.any(axis=-1), low.argmax(axis=-1) + 1.0, np.inf)
