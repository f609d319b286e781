"""Spearman's ρ against scipy, with ties, without any order, and refusals."""

import re

import numpy as np
import pytest
from scipy.stats import spearmanr

from helpers.worth import plain, spearman
from helpers.worth_stream import Stream


@pytest.mark.parametrize("values", [1000, 5, 2])
def test_spearman_is_scipy_s_row_by_row(values):
    """Many ties with 5 different values, mostly ties with 2."""
    rng = np.random.default_rng(values)
    a, b = rng.integers(values, size=(3, 4, 50)) / 7, rng.integers(values, size=(3, 4, 50))
    for i, j in np.ndindex(3, 4):
        assert spearman(a, b)[i, j] == pytest.approx(spearmanr(a[i, j], b[i, j]).statistic, abs=1e-12)
    assert spearman(a, b[0, 0]).shape == (3, 4)
    assert spearman(a, b[0, 0])[2, 1] == pytest.approx(spearmanr(a[2, 1], b[0, 0]).statistic, abs=1e-12)


def test_order_alone_counts():
    rng = np.random.default_rng(0)
    a = rng.random((5, 30))
    assert (spearman(a, np.exp(9 * a)) == 1).all() and (spearman(a, -a) == -1).all()
    assert spearman([1, 2, 3, 4], [2, 1, 4, 3]) == pytest.approx(1 - 6 * 4 / (4 * 15))  # 1 − 6 Σd² / (n(n² − 1))
    assert spearman([-np.inf, 0, np.inf], [1, 2, 3]) == 1


def test_constant_scores_rank_nothing():
    rho = spearman(np.array([[0.1 + 0.2] * 7, range(7)]), np.arange(7))
    assert rho.tolist() == [0.0, 1.0]
    assert spearman([1, 2], [5, 5]) == 0 and spearman([5, 5], [5, 5]) == 0


def test_systems_that_never_update_have_no_correlation():
    never = Stream([[3], [3]], [True, False], n=4)  # worth 0.5 everywhere
    assert spearman(plain(never), [0.1, 0.9, 0.3, 0.7]) == 0


@pytest.mark.parametrize("a, b, message", [
    ([1, 2, 3], [1, 2], "one length n from 2 up, got (3,) and (2,)"),
    ([1], [1], "one length n from 2 up, got (1,) and (1,)"),
    (1, [1, 2], "got () and (2,)"),
    ([], [], "got (0,) and (0,)"),
    ([1, np.nan], [1, 2], "scores without NaN, got 1 in (2,) and 0 in (2,)"),
])
def test_spearman_refuses(a, b, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        spearman(a, b)
