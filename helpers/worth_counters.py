"""`MemoryWorth`: two counters a memory, moved by the outcome of every episode that retrieved it.

Left out against the source (B. Simsek, When to Forget: A Memory Governance Primitive, arXiv:2604.12007): weights
learnt from the outcome. Added to it: forgetting of old outcomes, intervals, thresholds relative to the base rate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri

from helpers.worth_order import later_retrievals
from helpers.worth_stream import Stream, as_stream
from helpers.worth_tally import ratio, tally

NO_EVIDENCE = 0.5


class MemoryWorth:
    """Counters of n memories; with `shape`, as many independent sets of them (seeds, task types, moments).

    Every number is float (*shape, n). `hits_plus` and `hits_minus` are the sums of weights of the retrievals in
    successful and in failed episodes. With discount < 1, each retrieval first multiplies the memory's old counts by
    it. `squares` is the sum of squared weights, which says how many equal retrievals the evidence stands for.

    >>> worth = MemoryWorth(3)
    >>> worth.update([0, 1], True)
    >>> worth.update([1, 2], False)
    >>> worth.value.tolist(), worth.evidence.tolist()
    ([1.0, 0.5, 0.0], [1.0, 2.0, 1.0])
    """

    def __init__(self, n: int, *, shape: tuple[int, ...] = (), discount: float = 1.0) -> None:
        if n < 1:
            raise ValueError(f"expected at least one memory, got n = {n}")
        if not 0 < discount <= 1:
            raise ValueError(f"expected a discount above 0 and at most 1, got {discount}")
        self.n, self.shape, self.discount = n, tuple(shape), discount
        self.hits_plus, self.hits_minus, self.squares = (np.zeros((*self.shape, n)) for _ in range(3))

    @classmethod
    def of(cls, hits_plus: ArrayLike, hits_minus: ArrayLike, squares: ArrayLike | None = None) -> MemoryWorth:
        """Counters with given counts (*shape, n); without `squares` every retrieval weighed 1.

        >>> MemoryWorth.of([3, 0], [1, 0]).value.tolist()
        [0.75, 0.5]
        """
        plus, minus = np.array(hits_plus, dtype=np.float64), np.array(hits_minus, dtype=np.float64)
        square = plus + minus if squares is None else np.array(squares, dtype=np.float64)
        if not plus.shape == minus.shape == square.shape or plus.ndim < 1:
            raise ValueError(f"expected counts (..., n) of one shape, got {plus.shape} and {minus.shape}"
                             + ("" if squares is None else f" with squares {square.shape}"))
        if not all(np.isfinite(a).all() and (a >= 0).all() for a in (plus, minus, square)):
            raise ValueError(f"expected finite counts from 0 up, got {plus.min()} to {plus.max()} and "
                             f"{minus.min()} to {minus.max()} in {plus.shape}")
        worth = cls(plus.shape[-1], shape=plus.shape[:-1])
        worth.hits_plus, worth.hits_minus, worth.squares = plus, minus, square
        return worth

    def update(self, retrieved: ArrayLike, success: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Count one episode, retrieved (*shape, k) and success (*shape), or several, with an axis of episodes before
        k and at the end of success. Weights have the shape of retrieved.

        >>> worth = MemoryWorth(2, discount=0.5)
        >>> worth.update([[0], [0], [1]], [True, False, True])
        >>> worth.hits_plus.tolist(), worth.hits_minus.tolist()
        ([0.5, 1.0], [1.0, 0.0])
        """
        self.add(as_stream(self.n, self.shape, retrieved, success, weights=weights))

    def add(self, stream: Stream) -> None:
        """Count all episodes of a stream whose leading axes are `shape`."""
        if stream.lead != self.shape or stream.n != self.n:
            raise ValueError(f"expected a stream of {self.n} memories with leading axes {self.shape}, got {stream.n} "
                             f"with {stream.lead}")
        weights = stream.weights
        if self.discount < 1:
            later = later_retrievals(stream)
            aged = (self.discount ** np.arange(later.max() + 1))[later]  # (..., episodes, k)
            weights = aged if weights is None else aged * weights
            fade = self.discount ** tally(stream)[..., 0, :]  # (*shape, n)
            self.hits_plus *= fade
            self.hits_minus *= fade
            self.squares *= fade**2
        moved = tally(stream, stream.success, 2, weights=weights)  # (*shape, 2, n)
        self.hits_minus += moved[..., 0, :]
        self.hits_plus += moved[..., 1, :]
        self.squares += moved.sum(axis=-2) if weights is None else tally(stream, weights=weights**2)[..., 0, :]

    def merge(self, later: MemoryWorth) -> None:
        """Add the counts of another set of counters of the same shape; only where nothing is discounted.

        >>> worth = MemoryWorth.of([1], [0])
        >>> worth.merge(MemoryWorth.of([0], [1]))
        >>> worth.value.tolist()
        [0.5]
        """
        if (later.n, later.shape) != (self.n, self.shape):
            raise ValueError(f"expected counters of shape {self.value.shape}, got {later.value.shape}")
        if self.discount < 1 or later.discount < 1:
            raise ValueError("expected counters without discount, since merging does not know the order of retrievals; "
                             f"got discounts {self.discount} and {later.discount}")
        self.hits_plus += later.hits_plus
        self.hits_minus += later.hits_minus
        self.squares += later.squares

    @property
    def evidence(self) -> np.ndarray:
        """Sum of weights of all retrievals; their number when every weight is 1."""
        return self.hits_plus + self.hits_minus

    @property
    def value(self) -> np.ndarray:
        """hits⁺ / (hits⁺ + hits⁻), in [0, 1]; 0.5 without evidence."""
        return ratio(self.hits_plus, self.evidence, NO_EVIDENCE)

    @property
    def effective(self) -> np.ndarray:
        """Number of equal retrievals with the same spread: evidence² / squares (Kish 1965); the evidence for weight 1.

        >>> worth = MemoryWorth(1)
        >>> worth.update([[0], [0]], [True, True], [[4.0], [4.0]])
        >>> worth.evidence.tolist(), worth.effective.tolist()
        ([8.0], [2.0])
        """
        return ratio(self.evidence**2, self.squares, 0.0)

    def interval(self, level: float = 0.95, method: str = "wilson") -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper end, (*shape, n) each, of a two-sided interval for the worth, on `effective` retrievals.

        "wilson": the score interval (Wilson 1927), [0, 1] without evidence. "beta": central interval of the posterior
        under a uniform prior, Beta(hits⁺ + 1, hits⁻ + 1).

        >>> low, high = MemoryWorth.of([0], [10]).interval()
        >>> low.round(3).tolist(), high.round(3).tolist()
        ([0.0], [0.278])
        """
        if not 0 < level < 1:
            raise ValueError(f"expected a level between 0 and 1, got {level}")
        if method not in INTERVALS:
            raise ValueError(f"method: expected one of {', '.join(INTERVALS)}; got {method!r}")
        return INTERVALS[method](self.value, self.effective, level)

    def classify(self, low: ArrayLike = 0.3, high: ArrayLike = 0.7, min_evidence: float = 10, *,
                 relative_to: ArrayLike | None = None) -> np.ndarray:
        """"high", "low", "mixed" or "uncertain" for each memory, str (*shape, n).

        Uncertain: fewer than `min_evidence` effective retrievals, whatever the ratio. Else high from `high` up, low
        down to `low`, mixed between. With `relative_to`, a base rate (or one a set, *shape), low and high are what is
        added to it, low below 0 and high above.

        >>> worth = MemoryWorth.of([90, 10, 50, 2], [10, 90, 50, 0])
        >>> worth.classify().tolist()
        ['high', 'low', 'mixed', 'uncertain']
        >>> MemoryWorth.of([58, 42], [42, 58]).classify(-0.05, 0.05, relative_to=0.5).tolist()
        ['high', 'low']
        """
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        if relative_to is not None:
            base = np.asarray(relative_to, dtype=np.float64)
            if not ((base >= 0) & (base <= 1)).all():
                raise ValueError(f"relative_to: expected base rates in [0, 1], got {relative_to}")
            if not ((low < 0).all() and (high > 0).all()):
                raise ValueError("relative_to: expected low below 0 and high above, to be added to the base rate, got "
                                 f"{low} and {high}")
            low, high = low + base, high + base
        elif not (low < high).all():
            raise ValueError(f"expected low < high, got {low} and {high}")
        low, high = (a[..., None] if a.ndim else a for a in (low, high))
        value = self.value
        return np.select([self.effective < min_evidence, value >= high, value <= low],
                         ["uncertain", "high", "low"], "mixed")


def wilson_interval(value: np.ndarray, evidence: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Two-sided score interval of a rate seen in `evidence` trials, not necessarily a whole number."""
    z2 = ndtri((1 + level) / 2) ** 2
    centre = (value * evidence + z2 / 2) / (evidence + z2)
    half = np.sqrt(z2 * (value * (1 - value) * evidence + z2 / 4)) / (evidence + z2)
    return np.clip(centre - half, 0.0, 1.0), np.clip(centre + half, 0.0, 1.0)


def beta_interval(value: np.ndarray, evidence: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Central interval of Beta(successes + 1, failures + 1)."""
    plus, minus = value * evidence + 1, (1 - value) * evidence + 1
    return betaincinv(plus, minus, (1 - level) / 2), betaincinv(plus, minus, (1 + level) / 2)


INTERVALS = {"wilson": wilson_interval, "beta": beta_interval}


def counters(stream: Stream, *, discount: float = 1.0) -> MemoryWorth:
    """The counters after the whole stream."""
    worth = MemoryWorth(stream.n, shape=stream.lead, discount=discount)
    worth.add(stream)
    return worth
