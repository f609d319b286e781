"""Say by formula what Memory Worth converges to under uniform retrieval, how fast, and how well it then ranks.

Left out: proofs. That worth converges to the success rate of a memory's episodes is Theorem 4.1 of Simsek 2026
(arXiv:2604.12007); the success model and the formulas for it are the course's own.
Symbols: N memories, k retrieved in an episode, T episodes, g gain, u utility in [0, 1], n retrievals of one memory.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import ndtr

from helpers.parameters import number, probabilities, probability, whole

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)
_D, _DD = (_NODES + 1) / 2, _WEIGHTS / 2  # quadrature on [0, 1]


# --- uniform retrieval ------------------------------------------------------------------------------------------

def uniform_worth(utility: ArrayLike, *, k: int = 5, base: float = 0.5, gain: float = 0.8) -> np.ndarray:
    """(..., N): p⁺(m) = base + g·[u_m/k + ((k−1)/k)·(Σu − u_m)/(N−1) − ½], the limit of each memory's worth.

    Retrieval is uniform, k of N without replacement; success has probability base + g·(mean utility − ½).

    >>> uniform_worth([0.0, 0.5, 1.0], k=1).round(3).tolist()
    [0.1, 0.5, 0.9]
    >>> uniform_worth([0.0, 0.5, 1.0], k=3).round(3).tolist()
    [0.5, 0.5, 0.5]
    """
    u = probabilities("utility", utility)  # (..., N)
    n = u.shape[-1]
    k, gain = whole("k", k, high=n), number("gain", gain)
    others = (u.sum(axis=-1, keepdims=True) - u) / max(n - 1, 1)  # mean utility of the other memories
    return probability("base", base) + gain * (u / k + (k - 1) / k * others - 0.5)


def evidence(n: int, *, k: int = 5, episodes: int = 10_000) -> float:
    """n = T·k/N, the retrievals one memory can expect under uniform retrieval.

    >>> evidence(100, k=5, episodes=10_000)
    500.0
    """
    n = whole("n", n)
    return whole("episodes", episodes, low=0) * whole("k", k, high=n) / n


def effective_evidence(retrievals: float, weights: ArrayLike) -> float:
    """n·E[w]²/E[w²]: what n retrievals are worth under random weights that do not depend on the outcome.

    `weights` is a sample of them, or all values when they are equally likely; equal weights cost nothing.

    >>> effective_evidence(500, [1, 1]), effective_evidence(500, [0, 1])
    (500.0, 250.0)
    """
    w = np.asarray(weights, dtype=np.float64)
    if w.size == 0 or not (np.isfinite(w).all() and (w >= 0).all() and w.any()):
        raise ValueError(f"weights: expected finite numbers of at least 0, not all 0, got {w.tolist()}")
    return float(number("retrievals", retrievals, low=0) * w.mean() ** 2 / np.square(w).mean())


def standard_error(p: float, retrievals: float) -> float:
    """√(p(1−p)/n), the standard deviation of a worth p after n retrievals.

    >>> standard_error(0.5, 100)
    0.05
    """
    p = probability("p", p)
    return math.sqrt(p * (1 - p) / number("retrievals", retrievals, above=0))


# --- rank correlation of worth and utility ----------------------------------------------------------------------

def signal_to_noise(n: int, *, k: int = 5, episodes: float = 10_000, gain: float = 0.8, base: float = 0.5) -> float:
    """λ, by λ² = g²·T·(N−k) / (2kN(N−1)·pq): gap between worths per unit of utility, over the noise of a difference.

    pq is the mean of p⁺(1−p⁺) over utilities that are uniform on [0, 1]. For many retrievals of each memory: with
    T·k/N below about 100 worth ranks a little worse than λ says.

    >>> round(signal_to_noise(100, k=5, episodes=10_000), 2)
    4.98
    """
    n = whole("n", n, low=2)
    k = whole("k", k, high=n)
    gain, episodes = number("gain", gain), number("episodes", episodes, low=0)
    return math.sqrt(gain**2 * episodes * (n - k) / (2 * k * n * (n - 1) * _mean_variance(n, k, gain, base)))


def _mean_variance(n: int, k: int, gain: float, base: float) -> float:
    """Mean of p(1−p) over the memories; p = base + slope·(u − ½), and var(u) = 1/12."""
    slope = gain * (n - k) / (k * (n - 1))
    p = number("base", base, above=0, below=1)
    if abs(slope) / 2 > min(p, 1 - p) + 1e-12:
        raise ValueError(f"gain: expected success probabilities in [0, 1], got {p - abs(slope) / 2:.3g} to "
                         f"{p + abs(slope) / 2:.3g}; take a smaller gain or a base nearer to 0.5")
    return p * (1 - p) - slope**2 / 12


def rank_correlation(ratio: ArrayLike, *, n: int | None = None) -> np.ndarray:
    """(...): ρ(λ) = 12·∫₀¹ d(1−d)·Φ(λd) dd − 1, Spearman's correlation of worth and utilities uniform on [0, 1].

    `ratio` is λ of `signal_to_noise`. With `n` memories instead of infinitely many the expected coefficient is
    ((n−2)·ρ + 3·τ)/(n+1), where τ(λ) = 4·∫₀¹ (1−d)·Φ(λd) dd − 1 is Kendall's correlation (Kendall 1948).

    >>> rank_correlation([0.0, 4.98, 1e6]).round(3).tolist()
    [0.0, 0.905, 1.0]
    >>> rank_correlation(4.98, n=100).round(3)
    np.float64(0.899)
    """
    lam = np.asarray(ratio, dtype=np.float64)
    if not (lam >= 0).all():
        raise ValueError(f"ratio: expected numbers of at least 0, got {lam.tolist()}")
    ahead = ndtr(lam[..., None] * _D)  # (..., nodes)
    rho = 12 * (ahead * (_D * (1 - _D) * _DD)).sum(axis=-1) - 1
    if n is None:
        return rho
    tau = 4 * (ahead * ((1 - _D) * _DD)).sum(axis=-1) - 1
    return ((whole("n", n, low=2) - 2) * rho + 3 * tau) / (n + 1)


def rank_correlation_far(ratio: float) -> float:
    """ρ ≈ 1 − 3/λ² + 3.19/λ³ for large λ; the last constant is 8/√(2π).

    >>> round(rank_correlation_far(10), 4)
    0.9732
    """
    lam = number("ratio", ratio, above=0)
    return 1 - 3 / lam**2 + 8 / math.sqrt(2 * math.pi) / lam**3


def rank_correlation_sd(rho: float, n: int) -> float:
    """(1−ρ²)/√(N−1), roughly how much ρ differs from seed to seed; too little for fewer than 20 memories.

    >>> round(rank_correlation_sd(0.9, 101), 3)
    0.019
    """
    return (1 - number("rho", rho, low=-1, high=1) ** 2) / math.sqrt(whole("n", n, low=2) - 1)


def episodes_needed(rho: float, n: int, *, k: int = 5, gain: float = 0.8, base: float = 0.5) -> float:
    """T at which N memories reach the expected rank correlation `rho`; grows as k·N for N much larger than k.

    >>> round(episodes_needed(0.9, 100), -2), round(episodes_needed(0.9, 200), -2)
    (10100.0, 19100.0)
    """
    n = whole("n", n, low=2)
    rho, k = number("rho", rho, above=0, below=1), whole("k", k, high=n - 1)
    per_episode = signal_to_noise(n, k=k, episodes=1, gain=number("gain", gain, above=0), base=base)
    ratio = brentq(lambda lam: float(rank_correlation(lam, n=n)) - rho, 0.0, 1e3)
    return (ratio / per_episode) ** 2
