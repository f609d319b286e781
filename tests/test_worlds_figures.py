"""The figures of the lab for 20 seeds that no notebook uses: worlds, estimators and failures together.

A figure and its repetition both come from about 20 seeds, so they may differ by 4·sd·√(2/20), sd over single seeds.
"""

import math

import numpy as np
import pytest

from helpers.worlds import USEFUL, USELESS, difficulty, drift, feedback, hitchhiker, uniform
from helpers.worth import (
    cusum_series,
    discounted_series,
    dropout_contrast,
    empirical_bayes,
    lag,
    lower_bound,
    per_type,
    plain,
    plain_series,
    residual,
    ridge,
    spearman,
)

pytestmark = pytest.mark.slow
SEEDS = range(500, 520)


def ranks(world, estimator) -> np.ndarray:
    """(seeds,): Spearman's correlation of an estimate and the utilities."""
    return spearman(estimator(world.stream), world.utility)


def assert_figure(values: np.ndarray, figure: float, sd: float) -> None:
    assert abs(values.mean() - figure) < 4 * sd * math.sqrt(2 / 20), f"{values.mean():.3f}, expected {figure}"


def test_uniform_retrieval() -> None:
    rho = ranks(uniform(SEEDS), plain)
    assert_figure(rho, 0.894, 0.020)
    assert 0.01 < rho.std() < 0.03


def test_difficulty_and_its_repairs() -> None:
    world = difficulty(SEEDS)
    assert_figure(ranks(world, plain), -0.328, 0.012)
    assert_figure(ranks(world, residual), 0.83, 0.04)
    assert_figure(ranks(world, ridge), 0.88, 0.035)
    by_type = ranks(world, per_type)
    assert by_type.std() > 0.08  # fragile, so that only its spread is claimed
    assert ranks(world, residual).min() > by_type.max()


@pytest.mark.parametrize(("explore", "figure", "sd"), [(0.02, 0.84, 0.08), (0.05, 0.90, 0.035)])
def test_a_few_easy_tasks_that_explore_repair_worth_per_type(explore, figure, sd) -> None:
    assert_figure(ranks(difficulty(SEEDS, explore=explore), per_type), figure, sd)


@pytest.mark.parametrize(("dropout", "figure", "sd"), [(0.1, 0.45, 0.085), (0.2, 0.56, 0.085), (0.5, 0.66, 0.05)])
def test_dropout_needs_no_task_types(dropout, figure, sd) -> None:
    assert_figure(ranks(difficulty(SEEDS, dropout=dropout), dropout_contrast), figure, sd)


@pytest.mark.parametrize(("dropout", "figure"), [(0.1, 0.88), (0.2, 0.95)])
def test_dropout_ranks_a_pair_that_is_always_together(dropout, figure) -> None:
    values = dropout_contrast(hitchhiker(range(500, 900), apart=0.0, dropout=dropout).stream)
    right = (values[:, USEFUL] > values[:, USELESS]).mean()
    assert abs(right - figure) < 4 * math.sqrt(2 * figure * (1 - figure) / 400)


def test_feedback_does_not_collapse_until_it_is_cold() -> None:
    assert_figure(ranks(feedback(SEEDS), plain), 0.893, 0.020)
    assert_figure(ranks(feedback(SEEDS, temperature=0.15), plain), 0.89, 0.025)
    locked = ranks(feedback(SEEDS, temperature=0.1), plain)
    assert_figure(locked, 0.71, 0.07)
    assert_figure(ranks(feedback(SEEDS, temperature=0.05), plain), 0.31, 0.125)
    for repair in ({"prior": 5}, {"explore": 0.1}):
        repaired = ranks(feedback(SEEDS, temperature=0.1, **repair), plain)
        assert_figure(repaired, 0.88, 0.025)
        assert repaired.mean() > locked.mean() + 0.1


def test_drift_and_its_repairs() -> None:
    outcomes = drift(SEEDS, episodes=3000).stream.success
    assert_figure(lag(plain_series(outcomes), 0.3, after=500), 1157, 18)
    assert_figure(lag(discounted_series(outcomes, gamma=0.98), 0.3, after=500), 60, 2)
    assert lag(cusum_series(outcomes), 0.3, after=500).mean() < 12
    slow = drift(SEEDS, before=0.8, after=0.5).stream.success
    assert np.isinf(lag(plain_series(slow), 0.5, after=500)).mean() > 0.9


def test_uneven_retrieval_and_the_lower_bound() -> None:
    world = uniform(SEEDS, popularity=1.5)
    bound, shrunk = ranks(world, lower_bound), ranks(world, empirical_bayes)
    assert_figure(bound, 0.55, 0.075)
    assert_figure(shrunk, 0.71, 0.055)
    assert shrunk.mean() > bound.mean() + 0.1
