"""Telling two memories apart: z by hand, what shared episodes do, and power and false alarms as by theory."""

import math
import re

import numpy as np
import pytest
from scipy.stats import norm

from helpers.worth import Stream, exclusive_test, naive_test, plain, share_apart


def pairs(seed: int, *, runs: int, retrievals: int, apart: float, gap: float) -> Stream:
    """Memories 0 and 1, each `retrievals` times, a share of them apart; success .5 + gap with 0 alone, .5 else."""
    alone, shared = round(apart * retrievals), retrievals - round(apart * retrievals)
    retrieved = np.array([[0, 1]] * shared + [[0, -1]] * alone + [[1, -1]] * alone)
    rate = np.array([0.5] * shared + [0.5 + gap] * alone + [0.5] * alone)
    success = np.random.default_rng(seed).random((runs, len(rate))) < rate
    return Stream(np.broadcast_to(retrieved, (runs, *retrieved.shape)), success, n=2)


def test_by_hand():
    """0: 6 of 10, 1: 4 of 10; apart 4 of 5 and 2 of 5."""
    shared = [([0, 1], True)] * 2 + [([0, 1], False)] * 3
    alone = [([0, -1], won) for won in (1, 1, 1, 1, 0)] + [([-1, 1], won) for won in (1, 1, 0, 0, 0)]
    retrieved, success = zip(*shared + alone, strict=True)
    stream = Stream(retrieved, np.array(success, bool), n=2)
    naive, exclusive = naive_test(stream, 0, 1), exclusive_test(stream, 0, 1)
    assert naive.difference == pytest.approx(0.2) and naive.z == pytest.approx(0.2 / math.sqrt(0.25 * 2 / 10))
    assert exclusive.difference == pytest.approx(0.4)
    assert exclusive.z == pytest.approx(0.4 / math.sqrt(0.24 * 2 / 5))
    assert share_apart(stream, 0, 1) == 0.5
    assert [int(n) for n in exclusive.retrievals] == [5, 5] and naive_test(stream, 1, 0).z == -naive.z


def test_the_naive_difference_is_the_difference_of_worths_a_run():
    stream = pairs(0, runs=5, retrievals=100, apart=0.3, gap=0.2)
    np.testing.assert_allclose(naive_test(stream, 0, 1).difference, plain(stream)[:, 0] - plain(stream)[:, 1])


def test_always_together_nothing_is_ever_detected():
    stream = pairs(1, runs=20, retrievals=200, apart=0.0, gap=0.4)
    assert (naive_test(stream, 0, 1).z == 0).all() and not naive_test(stream, 0, 1).detected().any()
    alone = exclusive_test(stream, 0, 1)
    assert np.isnan(alone.z).all() and np.isnan(alone.difference).all() and not alone.detected().any()
    assert (share_apart(stream, 0, 1) == 0).all()


def test_shared_episodes_dilute_the_difference_and_cost_power():
    stream = pairs(2, runs=400, retrievals=400, apart=0.25, gap=0.2)
    naive, exclusive = naive_test(stream, 0, 1), exclusive_test(stream, 0, 1)
    np.testing.assert_allclose(naive.difference, 0.25 * exclusive.difference)
    assert naive.detected().mean() < exclusive.detected().mean() - 0.3


def test_power_of_the_exclusive_test_is_that_of_theory():
    stream = pairs(3, runs=1000, retrievals=400, apart=0.25, gap=0.2)
    spread = math.sqrt((0.7 * 0.3 + 0.25) / 100)
    expected = 1 - norm.cdf(1.96 * math.sqrt(2 * 0.6 * 0.4 / 100) / spread - 0.2 / spread)
    power = exclusive_test(stream, 0, 1).detected().mean()
    assert abs(power - expected) < 4 * math.sqrt(expected * (1 - expected) / 1000)


def test_equal_memories_are_told_apart_as_often_as_the_level_allows():
    stream = pairs(4, runs=2000, retrievals=400, apart=0.5, gap=0.0)
    false = exclusive_test(stream, 0, 1).detected(0.95).mean()
    assert abs(false - 0.05) < 4 * math.sqrt(0.05 * 0.95 / 2000) + 0.01  # counts are discrete
    assert naive_test(stream, 0, 1).detected(0.95).mean() < 0.02  # shared outcomes cancel, which it does not know


def test_outcomes_all_alike_are_no_difference():
    stream = Stream([[0], [1]], [True, True], n=3)
    assert naive_test(stream, 0, 1).z == 0 and np.isnan(naive_test(stream, 0, 2).z)
    assert np.isnan(share_apart(Stream([[2]], [True], n=3), 0, 1))


def test_a_withheld_memory_was_not_there():
    stream = Stream([[0, 1], [0, 1]], [True, False], n=2, kept=[[1, 0], [0, 1]])
    assert exclusive_test(stream, 0, 1).difference == 1.0 and share_apart(stream, 0, 1) == 1.0


@pytest.mark.parametrize("test", [naive_test, exclusive_test, share_apart])
@pytest.mark.parametrize("a, b", [(0, 0), (0, 2), (-1, 0)])
def test_pairs_that_are_none(test, a, b):
    with pytest.raises(ValueError, match=re.escape(f"two different memories from 0 to 1, got {a} and {b}")):
        test(Stream([[0, 1]], [True], n=2), a, b)


def test_a_level_that_is_none():
    with pytest.raises(ValueError, match="level between 0 and 1, got 1"):
        naive_test(Stream([[0, 1]], [True], n=2), 0, 1).detected(1)
