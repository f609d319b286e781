"""Every closed form against a hand-worked case, its edges, and simulation within 4 standard errors over grids."""

import dataclasses
import math

import numpy as np
import pytest

from helpers.theory import (
    difficulty_worth,
    discounted_lag,
    discounted_variance,
    effective_evidence,
    episodes_needed,
    evidence,
    half_power_share,
    hard_share,
    hitchhiker_gap,
    plain_lag,
    rank_correlation,
    rank_correlation_far,
    rank_correlation_sd,
    signal_to_noise,
    standard_error,
    uniform_worth,
)
from helpers.worlds import USEFUL, USELESS, difficulty, drift, hitchhiker, uniform
from helpers.worth import counters, discounted, plain, spearman


def assert_mean(values: np.ndarray, expected: float, *, errors: float = 4) -> None:
    """The mean of independent values (one a seed) is `expected` within so many standard errors."""
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / math.sqrt(len(values))
    assert abs(values.mean() - expected) < errors * error, f"{values.mean():.4f} ± {error:.4f}, expected {expected:.4f}"


# --- uniform retrieval ---------------------------------------------------------------------------------------

def test_uniform_worth_by_hand() -> None:
    # k = 3 of 4: beside the first stand two others of mean utility .6, so p = .5 + .5·(0/3 + 2/3·.6 − .5) = .45
    np.testing.assert_allclose(uniform_worth([0, 0.3, 0.6, 0.9], k=3, gain=0.5), [0.45, 7 / 15, 29 / 60, 0.5])


def test_uniform_worth_at_its_edges() -> None:
    np.testing.assert_allclose(uniform_worth([0.3], k=1), [0.34])
    np.testing.assert_allclose(uniform_worth([0.1, 0.9], k=2), [0.5, 0.5])  # always together: told apart by nothing
    np.testing.assert_allclose(uniform_worth([0.1, 0.9], k=1, gain=0), [0.5, 0.5])
    assert uniform_worth(np.full((4, 7), 0.2)).shape == (4, 7)


@pytest.mark.parametrize(("n", "k", "episodes", "gain", "base"), [
    (10, 1, 600, 0.8, 0.5), (10, 4, 400, 1.0, 0.5), (30, 5, 900, 0.8, 0.5), (30, 2, 900, 0.4, 0.7),
    (6, 6, 300, 0.5, 0.4)])
def test_worth_converges_to_its_limit_with_its_standard_error(n, k, episodes, gain, base) -> None:
    u = np.random.default_rng(5).random(n)
    world = uniform(range(60), n=n, k=k, episodes=episodes, gain=gain, base=base, utility=u)
    worth, p = plain(world.stream), uniform_worth(u, k=k, gain=gain, base=base)  # (60, n), (n,)
    for memory in range(n):
        assert_mean(worth[:, memory], p[memory])
    n_each = counters(world.stream).evidence
    np.testing.assert_allclose(n_each.mean(), evidence(n, k=k, episodes=episodes))
    expected = np.array([standard_error(chance, episodes * k / n) for chance in p])
    assert_mean(((worth - p) ** 2 / expected**2).mean(axis=1), 1.0)


@pytest.mark.parametrize("weights", [[1.0, 1.0], [0.0, 1.0], [0.1, 0.2, 3.0]])
def test_random_weights_cost_evidence(weights) -> None:
    u = np.full(20, 0.6)
    stream = uniform(range(80), n=20, k=4, episodes=1000, utility=u).stream
    drawn = np.random.default_rng(0).choice(weights, size=stream.retrieved.shape)
    worth = plain(dataclasses.replace(stream, weights=drawn))
    p = float(uniform_worth(u, k=4)[0])
    expected = p * (1 - p) / effective_evidence(evidence(20, k=4, episodes=1000), weights)
    assert_mean(((worth - p) ** 2).mean(axis=1), expected)


def test_evidence_and_its_error_by_hand() -> None:
    assert evidence(4, k=2, episodes=10) == 5
    assert evidence(4, k=2, episodes=0) == 0
    assert effective_evidence(100, [1, 3]) == 80  # 100·2²/5
    assert standard_error(0.2, 16) == pytest.approx(0.1)
    assert standard_error(1.0, 16) == 0


# --- rank correlation ----------------------------------------------------------------------------------------

def test_signal_to_noise_by_hand() -> None:
    # N = 2, k = 1, g = .6: slope .6, pq = .25 − .36/12 = .22; λ² = .36·100·1/(2·1·2·1·.22)
    assert signal_to_noise(2, k=1, episodes=100, gain=0.6) == pytest.approx(math.sqrt(36 / 0.88))
    assert signal_to_noise(5, k=5) == 0  # all retrieved every time: no signal
    assert signal_to_noise(5, episodes=0, k=2) == 0


def test_rank_correlation_between_its_ends() -> None:
    curve = rank_correlation(np.linspace(0, 30, 61))
    assert curve[0] == pytest.approx(0, abs=1e-12)
    assert (np.diff(curve) > 0).all()
    assert curve[-1] < 1
    assert rank_correlation(1e9, n=5) == pytest.approx(1, abs=1e-6)
    assert rank_correlation(0.0, n=5) == pytest.approx(0, abs=1e-12)


def test_rank_correlation_against_its_meaning() -> None:
    rng = np.random.default_rng(0)
    u = rng.random((4000, 12))
    for ratio in (0.7, 3.0):  # worth = utility + noise whose difference has standard deviation 1/λ
        worth = u + rng.standard_normal(u.shape) / (ratio * math.sqrt(2))
        assert_mean(spearman(worth, u), float(rank_correlation(ratio, n=12)))


def test_rank_correlation_for_a_large_ratio() -> None:
    for ratio in (8, 20, 100):
        assert rank_correlation_far(ratio) == pytest.approx(float(rank_correlation(ratio)), abs=2 / ratio**4)


GRID = [(100, 5, 3000, 0.8), (40, 1, 4000, 0.8), (20, 3, 1500, 0.8), (50, 8, 2000, 0.8), (10, 2, 600, 1.0),
        (40, 5, 1000, 0.3)]
DEEPER = [(n, k, episodes, gain) for n in (10, 30, 100) for k in (1, 3, 7) for episodes in (1000, 3000, 10_000)
          for gain in (0.4, 0.8) if evidence(n, k=k, episodes=episodes) >= 100]


@pytest.mark.parametrize(("n", "k", "episodes", "gain"), GRID)
def test_rank_correlation_of_worth_and_utility(n, k, episodes, gain) -> None:
    world = uniform(range(100), n=n, k=k, episodes=episodes, gain=gain)
    rho = spearman(plain(world.stream), world.utility)  # (100,)
    expected = float(rank_correlation(signal_to_noise(n, k=k, episodes=episodes, gain=gain), n=n))
    assert_mean(rho, expected)
    if n >= 20:
        assert rho.std() == pytest.approx(rank_correlation_sd(expected, n), rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "k", "episodes", "gain"), DEEPER)
def test_rank_correlation_on_a_deeper_grid(n, k, episodes, gain) -> None:
    world = uniform(range(300, 500), n=n, k=k, episodes=episodes, gain=gain)
    ratio = signal_to_noise(n, k=k, episodes=episodes, gain=gain)
    assert_mean(spearman(plain(world.stream), world.utility), float(rank_correlation(ratio, n=n)))


def test_episodes_needed_is_the_inverse() -> None:
    for n, k, rho in ((100, 5, 0.9), (30, 2, 0.5)):
        episodes = episodes_needed(rho, n, k=k)
        assert float(rank_correlation(signal_to_noise(n, k=k, episodes=episodes), n=n)) == pytest.approx(rho)
    assert episodes_needed(0.9, 4000, k=5) / episodes_needed(0.9, 2000, k=5) == pytest.approx(2, rel=0.01)
    assert episodes_needed(0.9, 2000, k=20) / episodes_needed(0.9, 2000, k=10) == pytest.approx(2, rel=0.02)


# --- task difficulty -----------------------------------------------------------------------------------------

def test_hard_share_by_hand() -> None:
    # N = 4, S = 2, h = ½: a common memory is met on 1/8 hard and 1/4 easy tasks a slot
    assert hard_share(4, specialists=2, hard=0.5) == pytest.approx(1 / 3)
    assert hard_share(4, specialists=2, hard=0) == 0
    assert hard_share(4, specialists=2, hard=1) == 1
    assert hard_share(4, specialists=0, hard=0.3) == pytest.approx(0.3)


def test_difficulty_worth_by_hand() -> None:
    # k = 1, so companions play no part; w = 1/3 for .1 and .2, 1 for .3 and .4
    worth = difficulty_worth([0.4, 0.1, 0.3, 0.2], specialists=2, hard=0.5, k=1, base_easy=0.8, base_hard=0.5, gain=0.5)
    np.testing.assert_allclose(worth, [0.45, 0.5, 0.4, 0.55])


@pytest.mark.parametrize(("n", "k", "specialists", "hard"), [(30, 3, 9, 0.3), (20, 4, 5, 0.5), (40, 2, 30, 0.2)])
def test_worth_under_difficulty(n, k, specialists, hard) -> None:
    world = difficulty(range(120), n=n, k=k, episodes=1500, specialists=specialists, hard=hard)
    expected = np.stack([difficulty_worth(u, specialists=specialists, hard=hard, k=k) for u in world.utility])
    excess = np.where(counters(world.stream).evidence > 0, plain(world.stream) - expected, 0.0)  # (120, n)
    by_rank = np.take_along_axis(excess, world.utility.argsort(axis=1), axis=1)
    for rank in range(n):
        assert_mean(by_rank[:, rank], 0.0)


# --- hitchhiker ----------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("apart", "k", "gain"), [(0.0, 5, 0.8), (0.3, 5, 0.8), (0.5, 2, 0.6), (1.0, 3, 1.0)])
def test_gap_between_useful_and_useless(apart, k, gain) -> None:
    world = hitchhiker(range(150), apart=apart, retrievals=300, k=k, gain=gain, n=30)
    worth = plain(world.stream)
    gap = worth[:, USEFUL] - worth[:, USELESS]
    expected = hitchhiker_gap(apart, gain=gain, k=k)
    if apart == 0:
        assert (gap == 0).all()
        assert expected == 0
    else:
        assert_mean(gap, expected)


def test_half_power_share_by_hand() -> None:
    # 2pq = ½ and n = 200: noise of the difference √(½/200) = .05; D = .2, z = 2: f* = .1/.2
    assert half_power_share(200, gap=0.2, z=2) == pytest.approx(0.5)
    assert half_power_share(200, gap=0.2, z=2, exclusive=True) == pytest.approx(0.25)
    assert half_power_share(200, gap=0.05, z=2) == pytest.approx(2)  # above 1: out of reach


@pytest.mark.parametrize(("retrievals", "exclusive"), [(400, False), (1000, False), (400, True), (1000, True)])
def test_the_test_has_half_its_power_at_that_share(retrievals, exclusive) -> None:
    share = half_power_share(retrievals, exclusive=exclusive)
    world = hitchhiker(range(300), apart=share, retrievals=retrievals, n=30)
    has = {i: (world.stream.retrieved == i).any(axis=2) for i in (USEFUL, USELESS)}  # (seeds, episodes)
    both = has[USEFUL] & has[USELESS]
    if exclusive:
        has = {i: mask & ~both for i, mask in has.items()}
    rates = [(world.stream.success & has[i]).sum(axis=1) / has[i].sum(axis=1) for i in (USEFUL, USELESS)]
    noise = np.sqrt(2 * 0.25 / has[USEFUL].sum(axis=1))
    power = np.mean(np.abs(rates[0] - rates[1]) / noise > 1.96)
    assert abs(power - 0.5) < 4 * 0.5 / math.sqrt(300)


# --- drift ---------------------------------------------------------------------------------------------------

def test_lags_by_hand() -> None:
    assert plain_lag(100, p_before=0.9, p_after=0.1, threshold=0.5) == pytest.approx(100)
    assert plain_lag(0) == 0
    assert plain_lag(100, p_before=0.3, threshold=0.3) == 0
    # γ = ½ halves the distance to p₂ each time: from .8 to .1 above it takes three
    assert discounted_lag(0.5, p_before=0.9, p_after=0.1, threshold=0.2) == pytest.approx(3)
    assert discounted_lag(0.9, p_before=0.3, threshold=0.3) == 0
    assert discounted_variance(0.5, 0.0) == 0.25
    assert discounted_variance(0.5, 0.6) == pytest.approx(0.0625)


@pytest.mark.parametrize(("before", "after", "change"), [(0.97, 0.01, 100), (0.8, 0.1, 150)])
def test_plain_counters_cross_the_threshold_when_the_formula_says(before, after, change) -> None:
    lag = plain_lag(change, p_before=before, p_after=after)
    episodes = change + round(lag)
    stream = drift(range(200), before=before, after=after, change=change, episodes=episodes).stream
    # at that moment the mean is at the threshold, up to the fraction of a retrieval that rounding added
    expected = (change * before + (episodes - change) * after) / episodes
    assert expected == pytest.approx(0.3, abs=0.003)
    assert_mean(plain(stream)[:, 0], expected)


@pytest.mark.parametrize("gamma", [0.9, 0.95, 0.98])
def test_discounted_counters_cross_the_threshold_when_the_formula_says(gamma) -> None:
    change = round(8 / (1 - gamma))  # a long past
    lag = discounted_lag(gamma)
    late = round(lag)
    stream = drift(range(300), change=change, episodes=change + late).stream
    expected = 0.01 + 0.96 * gamma**late
    assert expected == pytest.approx(0.3, abs=0.02)
    assert_mean(discounted(stream, gamma=gamma)[:, 0], expected)


@pytest.mark.parametrize("gamma", [0.5, 0.9, 0.97])
def test_the_noise_of_discounted_counters(gamma) -> None:
    stream = drift(range(600), before=0.7, change=10_000, episodes=round(8 / (1 - gamma))).stream
    found = (discounted(stream, gamma=gamma)[:, 0] - 0.7) ** 2
    assert_mean(found, discounted_variance(0.7, gamma))


# --- what is refused -----------------------------------------------------------------------------------------

@pytest.mark.parametrize(("call", "words"), [
    (lambda: uniform_worth([0.5, 0.5], k=3), r"k: expected a whole number from 1 to 2, got 3"),
    (lambda: uniform_worth([0.5, 1.5], k=1), r"utility: expected numbers in \[0, 1\], got 1.5"),
    (lambda: uniform_worth([0.5], k=1, base=2), r"base: expected a number in \[0, 1\], got 2"),
    (lambda: evidence(4, k=5), r"k: expected a whole number from 1 to 4, got 5"),
    (lambda: effective_evidence(5, [-1, 2]), r"weights: expected finite numbers of at least 0"),
    (lambda: effective_evidence(5, []), r"weights: .* got \[\]"),
    (lambda: effective_evidence(5, [0, 0]), r"not all 0, got \[0.0, 0.0\]"),
    (lambda: standard_error(0.5, 0), r"retrievals: expected a number in \(0, inf\), got 0"),
    (lambda: signal_to_noise(1), r"n: expected a whole number of at least 2, got 1"),
    (lambda: signal_to_noise(10, k=1, gain=0.8, base=0.9), r"gain: expected .* in \[0, 1\], got 0.5 to 1.3"),
    (lambda: rank_correlation([-1.0]), r"ratio: expected numbers of at least 0, got \[-1.0\]"),
    (lambda: rank_correlation(1.0, n=1), r"n: expected a whole number of at least 2"),
    (lambda: rank_correlation_far(0), r"ratio: expected a number in \(0, inf\)"),
    (lambda: rank_correlation_sd(1.1, 10), r"rho: expected a number in \[-1, 1\]"),
    (lambda: episodes_needed(1.0, 10), r"rho: expected a number in \(0, 1\), got 1.0"),
    (lambda: episodes_needed(0.5, 5, k=5), r"k: expected a whole number from 1 to 4, got 5"),
    (lambda: hard_share(10, specialists=10), r"specialists: expected a whole number from 0 to 9, got 10"),
    (lambda: difficulty_worth([[0.5]], specialists=0), r"utility: expected .* 1 axis, got shape \(1, 1\)"),
    (lambda: difficulty_worth([0.1, 0.2, 0.3], specialists=1, k=3), r"k: expected a whole number from 1 to 2"),
    (lambda: hitchhiker_gap(1.5), r"apart: expected a number in \[0, 1\], got 1.5"),
    (lambda: half_power_share(0), r"retrievals: expected a whole number of at least 1"),
    (lambda: half_power_share(10, gap=0), r"gap: expected a number in \(0, inf\), got 0"),
    (lambda: plain_lag(5, p_after=0.4), r"threshold: expected p_after < threshold <= p_before, got 0.4, 0.3, 0.97"),
    (lambda: discounted_lag(1.0), r"gamma: expected a number in \(0, 1\), got 1.0"),
    (lambda: discounted_variance(0.5, 1.0), r"gamma: expected a number in \[0, 1\), got 1.0"),
])
def test_what_no_world_has_is_refused(call, words) -> None:
    with pytest.raises(ValueError, match=words):
        call()
