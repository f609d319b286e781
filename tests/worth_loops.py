"""The obvious loops over episodes, in plain Python: the specification of every fast form in `helpers.worth_*`.

One run at a time (no leading axes). Also streams to try them on.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

from helpers.worth_stream import Stream


def episodes(stream: Stream) -> Iterator[tuple[list[tuple[int, float]], bool, int]]:
    """Of each episode the (memory, weight) pairs the agent saw, its outcome and its type of task."""
    for t in range(stream.episodes):
        seen = []
        for slot in range(stream.k):
            kept = stream.kept is None or bool(stream.kept[t, slot])
            if stream.retrieved[t, slot] >= 0 and kept:
                weight = 1.0 if stream.weights is None else float(stream.weights[t, slot])
                seen.append((int(stream.retrieved[t, slot]), weight))
        yield seen, bool(stream.success[t]), 0 if stream.task_type is None else int(stream.task_type[t])


def loop_counts(stream: Stream) -> tuple[list[float], list[float]]:
    """hits⁺ and hits⁻ of each memory."""
    plus, minus = [0.0] * stream.n, [0.0] * stream.n
    for seen, success, _ in episodes(stream):
        for m, weight in seen:
            if success:
                plus[m] += weight
            else:
                minus[m] += weight
    return plus, minus


def loop_plain(stream: Stream) -> list[float]:
    plus, minus = loop_counts(stream)
    return [p / (p + q) if p + q > 0 else 0.5 for p, q in zip(plus, minus, strict=True)]


def loop_per_type(stream: Stream) -> list[float]:
    """Average over types of plain worth on the episodes of that type only."""
    worths = []
    for kind in range(stream.types):
        plus, minus = [0.0] * stream.n, [0.0] * stream.n
        for seen, success, type_ in episodes(stream):
            for m, weight in seen if type_ == kind else ():
                (plus if success else minus)[m] += weight
        worths.append([p / (p + q) if p + q > 0 else 0.5 for p, q in zip(plus, minus, strict=True)])
    return [sum(column) / stream.types for column in zip(*worths, strict=True)]


def loop_residual(stream: Stream, running: bool = False) -> list[float]:
    """Mean of outcome − success rate of the type; running: the rate before the episode, from (1, 2)."""
    won, count = [0] * stream.types, [0] * stream.types
    for _, success, kind in episodes(stream):
        won[kind] += success
        count[kind] += 1
    if running:
        won, count = [1] * stream.types, [2] * stream.types
    total, evidence = [0.0] * stream.n, [0.0] * stream.n
    for seen, success, kind in episodes(stream):
        for m, weight in seen:
            total[m] += weight * (success - won[kind] / count[kind])
            evidence[m] += weight
        if running:
            won[kind] += success
            count[kind] += 1
    return [t / e if e > 0 else 0.0 for t, e in zip(total, evidence, strict=True)]


def loop_discounted(stream: Stream, gamma: float = 0.98) -> list[float]:
    plus, minus = [0.0] * stream.n, [0.0] * stream.n
    for seen, success, _ in episodes(stream):
        for m, weight in seen:
            plus[m] = gamma * plus[m] + weight * success
            minus[m] = gamma * minus[m] + weight * (not success)
    return [p / (p + q) if p + q > 0 else 0.5 for p, q in zip(plus, minus, strict=True)]


def loop_cusum(stream: Stream, shift: float = 0.25, alarm: float = 10.0, warm_up: float = 30) -> list[float]:
    """A memory at a time: Page's sums of log likelihood ratios down and up, counters cut at an alarm."""
    values = []
    for memory in range(stream.n):
        plus, minus = 0.0, 0.0
        sums, since = {-1: 0.0, 1: 0.0}, {-1: (0.0, 0.0), 1: (0.0, 0.0)}
        for seen, success, _ in episodes(stream):
            for m, weight in seen:
                if m != memory:
                    continue
                rate = min(max((plus + 1) / (plus + minus + 2), 0.01), 0.99)
                for sign in (-1, 1):
                    other = min(max(rate + sign * shift, 0.01), 0.99)
                    gain = math.log(other / rate) if success else math.log((1 - other) / (1 - rate))
                    sums[sign] = max(0.0, sums[sign] + weight * gain) if plus + minus >= warm_up else 0.0
                    old = since[sign]
                    since[sign] = (old[0] + weight * success, old[1] + weight * (not success)) if sums[sign] else (0, 0)
                plus, minus = plus + weight * success, minus + weight * (not success)
                for sign in (-1, 1):
                    if sums[sign] > alarm:
                        plus, minus = since[sign]
                        sums, since = {-1: 0.0, 1: 0.0}, {-1: (0.0, 0.0), 1: (0.0, 0.0)}
        values.append(plus / (plus + minus) if plus + minus > 0 else 0.5)
    return values


def loop_empirical_bayes(stream: Stream) -> list[float]:
    """Posterior means under a Beta prior with the mean of all and the spread beyond chance (Kleinman 1973)."""
    plus, minus = loop_counts(stream)
    squares = [0.0] * stream.n
    for seen, _, _ in episodes(stream):
        for m, weight in seen:
            squares[m] += weight**2
    trials = [(p + q) ** 2 / s if s > 0 else 0.0 for p, q, s in zip(plus, minus, squares, strict=True)]
    rates = [p / (p + q) if p + q > 0 else 0.5 for p, q in zip(plus, minus, strict=True)]
    total = sum(trials)
    mean = sum(n * r for n, r in zip(trials, rates, strict=True)) / total
    spread = sum(n * (r - mean) ** 2 for n, r in zip(trials, rates, strict=True)) / (mean * (1 - mean))
    degrees = sum(n > 0 for n in trials) - 1
    room = total - sum(n * n for n in trials) / total - degrees
    share = min(max((spread - degrees) / room, 0.0), 0.5) if room > 0 else 0.0
    if share == 0:
        return [mean] * stream.n
    prior = (1 - share) / share  # retrievals the prior is worth
    return [(n * r + prior * mean) / (n + prior) for n, r in zip(trials, rates, strict=True)]


def loop_ridge(stream: Stream, penalty: float = 1.0) -> list[float]:
    """Least squares on the 0/1 table of presence and type, the penalty added as rows of the table."""
    rows = np.zeros((stream.episodes, stream.types + stream.n))
    for t, (seen, _, kind) in enumerate(episodes(stream)):
        rows[t, kind] = 1
        for m, _ in seen:
            rows[t, stream.types + m] = 1
    shrinking = np.zeros((stream.n, stream.types + stream.n))
    shrinking[:, stream.types:] = math.sqrt(penalty) * np.eye(stream.n)
    outcome = np.concatenate([stream.success.astype(float), np.zeros(stream.n)])
    return np.linalg.lstsq(np.concatenate([rows, shrinking]), outcome, rcond=None)[0][stream.types:].tolist()


def loop_dropout(stream: Stream) -> list[float]:
    """Mean outcome with each retrieved memory kept minus with it withheld."""
    values = []
    for memory in range(stream.n):
        sums, totals = {True: 0.0, False: 0.0}, {True: 0.0, False: 0.0}
        for t in range(stream.episodes):
            for slot in range(stream.k):
                if stream.retrieved[t, slot] == memory:
                    kept, weight = bool(stream.kept[t, slot]), 1.0
                    if stream.weights is not None:
                        weight = float(stream.weights[t, slot])
                    sums[kept] += weight * bool(stream.success[t])
                    totals[kept] += weight
        both = totals[True] > 0 and totals[False] > 0
        values.append(sums[True] / totals[True] - sums[False] / totals[False] if both else 0.0)
    return values


LOOPS: dict[str, Callable[..., list[float]]] = {
    "plain": loop_plain, "per type": loop_per_type, "residual": loop_residual,
    "empirical Bayes": loop_empirical_bayes, "discounted": loop_discounted,
    "CUSUM with reset": loop_cusum, "ridge": loop_ridge, "dropout contrast": loop_dropout}


def random_stream(seed: int, *, runs: tuple[int, ...] = (), length: int = 200, n: int = 12, k: int = 3, types: int = 2,
                  weighted: bool = False, withheld: bool = False, empty: float = 0.0) -> Stream:
    """A stream of different memories an episode, outcomes by the type of task and the first memory alone."""
    rng = np.random.default_rng(seed)
    retrieved = rng.random((*runs, length, n)).argsort(axis=-1)[..., :k]
    retrieved[rng.random(retrieved.shape) < empty] = -1
    task_type = rng.integers(types, size=(*runs, length))
    success = rng.random((*runs, length)) < 0.3 + 0.4 * (retrieved[..., 0] / n) + 0.3 * (task_type == 0)
    weights = rng.random(retrieved.shape) * 2 if weighted else None
    kept = rng.random(retrieved.shape) > 0.3 if withheld else None
    return Stream(retrieved, success, task_type, weights, n=n, types=types, kept=kept)


KINDS = [{}, {"weighted": True}, {"empty": 0.3}, {"withheld": True}, {"weighted": True, "withheld": True, "empty": 0.2},
         {"types": 1}, {"types": 4, "n": 40}, {"k": 1, "n": 1}, {"k": 10}]
