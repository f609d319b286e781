"""Worth when a memory's use changes: old outcomes discounted, or dropped when a change is detected.

Both work along each memory's own retrievals, not along episodes, so that a rarely used memory does not forget what it
has shown. Left out: changes of the base rate of all tasks, and change points found with hindsight.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from helpers.worth_counters import NO_EVIDENCE, counters
from helpers.worth_order import own_order
from helpers.worth_stream import Stream, as_stream
from helpers.worth_tally import ratio

EDGE = 0.01  # rates are kept this far from 0 and 1, where one contrary outcome would prove anything


def discounted(stream: Stream, *, gamma: float = 0.98) -> np.ndarray:
    """Worth in which an outcome counts γ^(number of later retrievals of the memory); 0.5 without evidence.

    Online: `MemoryWorth(n, discount=gamma)`. About 1/(1 − γ) retrievals are remembered.

    >>> discounted(Stream([[0], [0]], [True, False], n=1), gamma=0.5).round(3).tolist()
    [0.333]
    """
    return counters(stream, discount=gamma).value


class CusumWorth:
    """Counters that start again when a change of a memory's success rate is detected; `value` as in `MemoryWorth`.

    Page's cumulative sum (Page 1954), one down and one up: the log likelihood ratio of a rate `shift` away from the
    memory's own rate so far against that rate, kept from falling below 0. When a sum passes `alarm`, the counters keep
    what came since it last stood at 0, which is when the change is likely to have been. The sums rest for the first
    `warm_up` retrievals after a start. With known rates, a false alarm comes less than once in e^alarm retrievals.

    >>> worth = CusumWorth(1)
    >>> worth.update([[0]] * 98, [True] * 98)
    >>> worth.update([[0]] * 5, [False] * 5)
    >>> worth.hits_plus.tolist(), worth.hits_minus.tolist()
    ([0.0], [5.0])
    """

    def __init__(self, n: int, *, shape: tuple[int, ...] = (), shift: float = 0.25, alarm: float = 10.0,
                 warm_up: float = 30) -> None:
        if n < 1:
            raise ValueError(f"expected at least one memory, got n = {n}")
        if not 0 < shift < 1:
            raise ValueError(f"expected a shift of the success rate between 0 and 1, got {shift}")
        if not (alarm > 0 and math.isfinite(alarm) and warm_up >= 0):
            raise ValueError(f"expected a finite alarm above 0 and a warm-up from 0 up, got {alarm} and {warm_up}")
        self.n, self.shape, self.shift, self.alarm, self.warm_up = n, tuple(shape), shift, alarm, warm_up
        # (3, 2, runs × n): failures and successes since the last start, since the down sum and since the up sum was 0
        self._counts = np.zeros((3, 2, math.prod(self.shape) * n))
        self._sums = np.zeros((2, math.prod(self.shape) * n))  # down, up

    @property
    def hits_plus(self) -> np.ndarray:
        return self._counts[0, 1].reshape(*self.shape, self.n)

    @property
    def hits_minus(self) -> np.ndarray:
        return self._counts[0, 0].reshape(*self.shape, self.n)

    @property
    def value(self) -> np.ndarray:
        """hits⁺ / (hits⁺ + hits⁻) since the last change found, (*shape, n); 0.5 without evidence."""
        return ratio(self.hits_plus, self.hits_plus + self.hits_minus, NO_EVIDENCE)

    def update(self, retrieved: ArrayLike, success: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Count one episode or several, as `MemoryWorth.update`."""
        self.add(as_stream(self.n, self.shape, retrieved, success, weights=weights))

    def add(self, stream: Stream) -> None:
        """Count all episodes of a stream: the first retrieval of every memory at once, then the second, …"""
        if stream.lead != self.shape or stream.n != self.n:
            raise ValueError(f"expected a stream of {self.n} memories with leading axes {self.shape}, got {stream.n} "
                             f"with {stream.lead}")
        slots, counts = own_order(stream)
        success = np.broadcast_to(stream.success[..., None], stream.retrieved.shape).ravel()[slots]
        weights = None if stream.weights is None else stream.weights.ravel()[slots]
        cells = np.argsort(-counts, kind="stable")  # most used first, so that those still going are a prefix
        first = (np.cumsum(counts) - counts)[cells]
        left = np.searchsorted(-counts[cells], -np.arange(counts.max()))  # how many have more than 0, 1, … retrievals
        state, sums = self._counts[..., cells], self._sums[..., cells]
        for step, active in enumerate(left):
            now = first[:active] + step
            self._step(state[..., :active], sums[..., :active], success[now],
                       1.0 if weights is None else weights[now])
        self._counts[..., cells], self._sums[..., cells] = state, sums

    def step(self, success: np.ndarray) -> None:
        """Count one more outcome of every memory at once, bool (*shape, n)."""
        if success.shape != (*self.shape, self.n):
            raise ValueError(f"expected an outcome for each memory, {(*self.shape, self.n)}, got {success.shape}")
        self._step(self._counts, self._sums, success.ravel(), 1.0)

    def _step(self, counts: np.ndarray, sums: np.ndarray, won: np.ndarray, weight: np.ndarray | float) -> None:
        """One more outcome for every memory (column), in place."""
        evidence = counts[0, 0] + counts[0, 1]
        rate = np.clip((counts[0, 1] + 1) / (evidence + 2), EDGE, 1 - EDGE)
        other = np.clip(np.stack([rate - self.shift, rate + self.shift]), EDGE, 1 - EDGE)  # (2, memories)
        gain = np.log(np.where(won, other / rate, (1 - other) / (1 - rate))) * weight
        sums[:] = np.where(evidence >= self.warm_up, np.maximum(sums + gain, 0), 0)
        counts += np.stack([~won, won]) * weight
        counts[1:] *= (sums > 0)[:, None]
        for direction in (0, 1):
            fired = sums[direction] > self.alarm
            if fired.any():
                counts[0][:, fired] = counts[1 + direction][:, fired]
                counts[1:, :, fired], sums[:, fired] = 0, 0


def cusum_reset(stream: Stream, *, shift: float = 0.25, alarm: float = 10.0, warm_up: float = 30) -> np.ndarray:
    """Worth since the last change that `CusumWorth` found; 0.5 without evidence.

    >>> cusum_reset(Stream([[0]] * 50, [True] * 40 + [False] * 10, n=1)).tolist()
    [0.0]
    """
    worth = CusumWorth(stream.n, shape=stream.lead, shift=shift, alarm=alarm, warm_up=warm_up)
    worth.add(stream)
    return worth.value
