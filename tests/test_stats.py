"""Differences with intervals, checked by hand, by theory and against scipy."""

import numpy as np
import pytest
from scipy.stats import norm

from helpers.stats import holm, mcnemar, paired_difference, proportion_interval


def test_a_hand_worked_difference() -> None:
    d = paired_difference([1, 1, 0, 1], [0, 1, 0, 0], rng=np.random.default_rng(0))
    assert (d.mean, d.up, d.down, d.level) == (0.5, 2, 0, 0.95)
    assert d.low == 0.0
    assert d.high == 1.0
    assert str(d) == "+0.50 [+0.00, +1.00]"


def test_equal_arms_have_no_difference_and_no_width() -> None:
    outcomes = np.random.default_rng(1).integers(2, size=30)
    d = paired_difference(outcomes, outcomes, rng=np.random.default_rng(0))
    assert (d.mean, d.low, d.high, d.up, d.down) == (0, 0, 0, 0, 0)


def test_more_seeds_in_one_arm_are_averaged_per_problem() -> None:
    d = paired_difference([[1, 0], [1, 1], [0, 0]], [0, 1, 1], rng=np.random.default_rng(0))
    assert d.mean == pytest.approx((0.5 + 0 - 1) / 3)
    assert (d.up, d.down) == (1, 1)


def test_the_interval_agrees_with_the_normal_one_on_many_problems() -> None:
    rng = np.random.default_rng(2)
    change = rng.integers(2, size=2000) - rng.integers(2, size=2000)
    d = paired_difference(change, np.zeros(2000), rng=rng)
    half = norm.ppf(0.975) * change.std() / np.sqrt(2000)
    assert d.low == pytest.approx(change.mean() - half, abs=0.004)
    assert d.high == pytest.approx(change.mean() + half, abs=0.004)


def test_the_interval_covers_as_often_as_it_says() -> None:
    rng, truth, covered = np.random.default_rng(3), 0.2, 0
    for _ in range(300):
        treated, control = rng.random(80) < 0.5, rng.random(80) < 0.3
        d = paired_difference(treated, control, rng=rng, resamples=400)
        covered += d.low <= truth <= d.high
    assert abs(covered / 300 - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 300)


def test_seeds_widen_the_interval_of_noisy_problems() -> None:
    rng = np.random.default_rng(4)
    noisy = rng.integers(2, size=(40, 3))
    zero = np.zeros(40)
    with_seeds = paired_difference(noisy, zero, rng=np.random.default_rng(0))
    problems_only = paired_difference(noisy.mean(axis=1), zero, rng=np.random.default_rng(0))
    assert with_seeds.high - with_seeds.low > problems_only.high - problems_only.low


@pytest.mark.parametrize(("treated", "control", "words"), [
    ([1, 0], [1], r"same problems in both arms, got \(2, 1\) and \(1, 1\)"),
    ([], [], r"got \(0, 1\)"),
    ([1, np.nan], [1, 0], "expected finite outcomes, got nan"),
    (np.zeros((2, 2, 2)), [1, 0], r"got \(2, 2, 2\)")])
def test_bad_outcomes_are_refused(treated, control, words) -> None:
    with pytest.raises(ValueError, match=words):
        paired_difference(treated, control, rng=np.random.default_rng(0))


def test_a_level_outside_the_unit_interval_is_refused() -> None:
    with pytest.raises(ValueError, match="level between 0 and 1, got 95"):
        paired_difference([1], [0], rng=np.random.default_rng(0), level=95)


def test_mcnemar_recomputes_reflexions_published_humaneval_log() -> None:
    gained, lost = np.r_[np.ones(10), np.zeros(1)], np.r_[np.zeros(10), np.ones(1)]
    assert mcnemar(gained, lost) == pytest.approx(0.0117, abs=5e-5)


def test_mcnemar_without_a_change_is_one_and_refuses_shares() -> None:
    assert mcnemar([1, 0, 1], [1, 0, 1]) == 1.0
    with pytest.raises(ValueError, match="outcomes of 0 and 1"):
        mcnemar([0.5], [1])
    with pytest.raises(ValueError, match=r"got \(1,\) and \(2,\)"):
        mcnemar([1], [1, 0])


def test_wilson_by_its_formula_and_at_the_edges() -> None:
    z, n, p = norm.ppf(0.975), 20, 0.3
    centre, half = (p + z**2 / 2 / n) / (1 + z**2 / n), z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / 4 / n**2)
    assert proportion_interval(6, 20) == pytest.approx((centre - half, centre + half))
    assert proportion_interval(0, 5)[0] == 0.0
    assert proportion_interval(5, 5)[1] == 1.0


@pytest.mark.parametrize(("successes", "trials"), [(3, 2), (-1, 2), (0, 0)])
def test_impossible_proportions_are_refused(successes, trials) -> None:
    with pytest.raises(ValueError, match=f"got {successes} of {trials}"):
        proportion_interval(successes, trials)


def test_holm_is_monotone_capped_and_keeps_the_order_of_arms() -> None:
    assert holm({"c": 0.9, "a": 0.01, "b": 0.02}) == {"c": 0.9, "a": 0.03, "b": 0.04}
    assert holm({"a": 0.6, "b": 0.7}) == {"a": 1.0, "b": 1.0}
    assert holm({}) == {}
    with pytest.raises(ValueError, match=r"expected p-values in \[0, 1\], got {'a': 2}"):
        holm({"a": 2})
