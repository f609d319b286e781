"""What to forget and how to rank, on counters by hand."""

import re

import numpy as np
import pytest

from helpers.worth import MemoryWorth, cut, cut_relative, rank_by_worth, rerank


def test_rank_by_worth_orders_each_row_and_breaks_ties_by_id():
    assert rank_by_worth([[0.5, 0.1, 0.5], [0.2, 0.9, 0.1]]).tolist() == [[1, 0, 2], [2, 0, 1]]
    assert rank_by_worth(np.full(100, 0.5)).tolist() == list(range(100))
    with pytest.raises(ValueError, match=re.escape("scores (..., n) without NaN, got (2,) with 1")):
        rank_by_worth([0.5, np.nan])
    with pytest.raises(ValueError, match=re.escape("got () with 0")):
        rank_by_worth(0.5)


def test_cut_needs_a_low_worth_and_enough_evidence():
    worth = MemoryWorth.of([3, 2, 2, 0, 0], [7, 8, 7, 60, 0])
    assert cut(worth).tolist() == [False, True, False, True, False]  # 0.3 itself stays; 9 retrievals are too few
    assert cut(worth, min_evidence=9).tolist() == [False, True, True, True, False]
    assert cut(worth, 0.31, level=0.95).tolist() == [False, False, False, True, False]
    assert not cut(worth, 0.0).any() and cut(worth, 1.0, min_evidence=0).all()


def test_cut_with_a_limit_for_each_set():
    worth = MemoryWorth.of([[4, 6], [4, 6]], [[6, 4], [6, 4]])
    assert cut(worth, [0.5, 0.3]).tolist() == [[True, False], [False, False]]


def test_cut_relative_finds_the_harmful_among_the_successful():
    worth = MemoryWorth.of([70, 88, 95, 3], [30, 12, 5, 4])
    assert not cut(worth).any()
    assert cut_relative(worth, 0.9).tolist() == [True, False, False, False]
    assert cut_relative(worth, 0.9, margin=0.0).tolist() == [True, True, False, False]
    assert cut_relative(worth, 0.9, margin=0.0, level=0.95).tolist() == [True, False, False, False]
    assert not cut_relative(worth, 0.02).any()  # nothing lies below a baseline within the margin of 0


def test_cut_relative_with_a_baseline_for_each_set():
    worth = MemoryWorth.of([[50], [50]], [[50], [50]])
    assert cut_relative(worth, [0.6, 0.5]).tolist() == [[True], [False]]


def test_rerank_by_hand():
    worth = MemoryWorth.of([8, 0, 0], [0, 8, 0])
    np.testing.assert_allclose(rerank([0.5, 0.9, 0.6], worth), [0.45, 0.09, 0.3])
    assert rerank([[0.5, 0.9, 0.6], [0, 0, 0]], worth).shape == (2, 3)


def test_rerank_with_discounted_counters_forgives():
    worth = MemoryWorth(1, discount=0.5)
    worth.update([[0]] * 10, [False] * 8 + [True] * 2)
    assert worth.hits_plus.tolist() == [1.5]
    assert rerank([1.0], worth) == pytest.approx(2.5 / (2 + worth.evidence[0])) and rerank([1.0], worth) > 0.6


@pytest.mark.parametrize("call, message", [
    (lambda w: cut(w, 1.5), "below: expected worths in [0, 1], got 1.5"),
    (lambda w: cut(w, np.nan), "below: expected worths in [0, 1], got nan"),
    (lambda w: cut(w, level=95), "level between 0 and 1, got 95"),
    (lambda w: cut_relative(w, -0.1), "baseline: expected success rates in [0, 1], got -0.1"),
    (lambda w: cut_relative(w, 0.5, margin=-0.1), "margin: expected a difference of rates in [0, 1], got -0.1"),
    (lambda w: rerank([0.5], w), "a similarity for each memory, got (1,) and counters (2,)"),
    (lambda w: rerank(0.5, w), "a similarity for each memory, got () and counters (2,)"),
    (lambda w: rerank([0.5, -0.1], w), "numbers from 0 up, got -0.1; leave such memories out by a floor"),
    (lambda w: rerank([0.5, np.nan], w), "numbers from 0 up, got nan"),
])
def test_policies_refuse(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call(MemoryWorth(2))
