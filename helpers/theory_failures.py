"""Say by formula how Memory Worth fails: task difficulty, a hitchhiker beside a useful memory, and drift.

Left out: feedback, where retrieval depends on the worth itself and no closed form is known. The failures are those of
Simsek 2026 (arXiv:2604.12007, experiments 2, 4 and 5); the formulas are the course's own, symbols as in
`helpers.theory_convergence`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from helpers.parameters import number, probabilities, probability, whole
from helpers.theory_convergence import uniform_worth

# --- task difficulty --------------------------------------------------------------------------------------------

def hard_share(n: int, *, specialists: int = 30, hard: float = 0.3) -> float:
    """w = (h/N) / (h/N + (1−h)/(N−S)): how often a memory that is no specialist is met on a hard task.

    Easy tasks (share 1−h) retrieve among the N−S others, hard ones among all N. For a specialist w is 1.

    >>> round(hard_share(100, specialists=30, hard=0.3), 3)
    0.231
    """
    n = whole("n", n, low=2)
    others, h = n - whole("specialists", specialists, low=0, high=n - 1), probability("hard", hard)
    return (h / n) / (h / n + (1 - h) / others)


def difficulty_worth(utility: ArrayLike, *, specialists: int = 30, hard: float = 0.3, k: int = 5,
                     base_easy: float = 0.755, base_hard: float = 0.345, gain: float = 0.8) -> np.ndarray:
    """(N,): p⁺ = (1−w)·p_easy + w·p_hard, each by `uniform_worth` in its own pool; the best memories specialise.

    Three equal memories, one of them met on hard tasks only (w = .4 for the others):

    >>> difficulty_worth([0.5, 0.5, 0.5], specialists=1, hard=0.5, k=1).round(3).tolist()
    [0.591, 0.591, 0.345]
    """
    u = probabilities("utility", utility, axes=1)  # (N,)
    n = len(u)
    w = hard_share(n, specialists=specialists, hard=hard)
    easy = np.sort(np.argsort(u, kind="stable")[:n - specialists])
    worth = uniform_worth(u, k=k, base=base_hard, gain=gain)
    worth[easy] = (1 - w) * uniform_worth(u[easy], k=k, base=base_easy, gain=gain) + w * worth[easy]
    return worth


# --- a useless memory beside a useful one -----------------------------------------------------------------------

def hitchhiker_gap(apart: float, *, gain: float = 0.8, useful: float = 0.9, useless: float = 0.1,
                   k: int = 5) -> float:
    """E[MW_A − MW_H] = f·D with D = g·(u_A − u_H)/k; f is the share of retrievals in which the other is absent.

    >>> hitchhiker_gap(0), round(hitchhiker_gap(0.5), 3), round(hitchhiker_gap(1), 3)
    (0.0, 0.064, 0.128)
    """
    return probability("apart", apart) * number("gain", gain) * (
        probability("useful", useful) - probability("useless", useless)) / whole("k", k)


def half_power_share(retrievals: int, *, gap: float = 0.128, p: float = 0.5, z: float = 1.96,
                     exclusive: bool = False) -> float:
    """f* at which a two-sided z test tells the two apart half of the time; above 1 no share is enough.

    All episodes, variance 2pq/n: f* = z·√(2pq)/(D·√n). Exclusive episodes only: f* = z²·2pq/(D²·n).
    `gap` is D, the difference at f = 1; `retrievals` is n, of each of the two.

    >>> [round(half_power_share(n), 2) for n in (500, 1300)], round(half_power_share(500, exclusive=True), 2)
    ([0.48, 0.3], 0.23)
    """
    p = number("p", p, above=0, below=1)
    noise = number("z", z, above=0) * math.sqrt(2 * p * (1 - p) / whole("retrievals", retrievals))
    share = noise / number("gap", gap, above=0)
    return share**2 if exclusive else share


# --- drift ------------------------------------------------------------------------------------------------------

def plain_lag(before: int, *, p_before: float = 0.97, p_after: float = 0.01, threshold: float = 0.3) -> float:
    """n₁·(p₁ − θ)/(θ − p₂): retrievals after the change until plain counters fall to θ, n₁ before it.

    >>> round(plain_lag(500))
    1155
    """
    p1, p2, theta = _crossing(p_before, p_after, threshold)
    return whole("before", before, low=0) * (p1 - theta) / (theta - p2)


def discounted_lag(gamma: float, before: float | None = None, *, p_before: float = 0.97, p_after: float = 0.01,
                   threshold: float = 0.3) -> float:
    """ln((p₁(1−G) − p₂ + θG)/(θ−p₂)) / (−ln γ), G = γ^before: the same for counters multiplied by γ at each retrieval.

    before: retrievals before the change; None for a long past, in which G is nil.

    >>> round(discounted_lag(0.98)), round(discounted_lag(0.98, 100))
    (59, 54)
    """
    p1, p2, theta = _crossing(p_before, p_after, threshold)
    kept = number("gamma", gamma, above=0, below=1)
    past = 0.0 if before is None else kept ** number("before", before, low=0)
    return math.log((p1 * (1 - past) - p2 + theta * past) / (theta - p2)) / -math.log(kept)


def discounted_variance(p: float, gamma: float) -> float:
    """pq·(1−γ)/(1+γ): the noise that stays for ever, as with (1+γ)/(1−γ) plain retrievals.

    >>> round(discounted_variance(0.5, 0.98), 5), round(0.25 / 99, 5)
    (0.00253, 0.00253)
    """
    p, gamma = probability("p", p), number("gamma", gamma, low=0, below=1)
    return p * (1 - p) * (1 - gamma) / (1 + gamma)


def _crossing(p_before: float, p_after: float, threshold: float) -> tuple[float, float, float]:
    p1, p2, theta = probability("p_before", p_before), probability("p_after", p_after), threshold
    if not p2 < theta <= p1:
        raise ValueError(f"threshold: expected p_after < threshold <= p_before, got {p2}, {theta}, {p1}")
    return p1, p2, theta
