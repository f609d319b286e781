"""Forgetting: the order of each policy, and what evidence says; archive and capacity are in the contract."""

import math

import numpy as np
import pytest
from memory_fakes import filled

from helpers.eviction import POLICIES, check_policy, shown_worth, victims, wilson
from helpers.memory import Lesson

pytestmark = pytest.mark.usefixtures("quick_disk")


def test_each_policy_has_its_own_first_victim(path):
    memory = filled(path, *["0.5"] * 4, policy="none", rng=np.random.default_rng(3))
    memory.record("a", [1, 2, 4], "failure")
    memory.record("b", [1, 3, 4], "success")
    memory.record("c", [3, 1], "success")
    # uses 3 1 2 2; last touched c a c b (3 before 1 in c, both by the same event); worth: 2 is 0 of 1
    touched = memory._ledger.touched
    order = {policy: victims(policy, memory, 4, touched=touched, rng=np.random.default_rng(0)) for policy in POLICIES}
    assert order["fifo"] == [1, 2, 3, 4] and order["lru"][:2] == [2, 4] and order["lfu"][:3] == [2, 4, 3]
    assert order["worth"] == [2, 4, 1, 3]
    assert sorted(victims("random", memory, 4, touched=touched, rng=np.random.default_rng(0))) == [1, 2, 3, 4]
    drawn = {victims("random", memory, 1, touched=touched, rng=np.random.default_rng(seed))[0] for seed in range(40)}
    assert drawn == {1, 2, 3, 4}
    assert victims("random", [], 3, touched={}, rng=np.random.default_rng(0)) == []
    for policy in ("LRU", "none", "", None):
        with pytest.raises(ValueError, match="policy: expected one of fifo, lru, lfu, worth, random; got"):
            check_policy(policy)


def test_worth_gives_up_first_what_evidence_shows_to_be_bad():
    def seen(plus, minus):
        return shown_worth(Lesson(1, "", "t", hits_plus=plus, hits_minus=minus))
    order = [(0, 60), (10, 90), (41, 59), (0, 1), (0, 0), (1, 0), (8, 2), (95, 5), (950, 50)]
    assert [seen(*counts) for counts in order] == sorted(seen(*counts) for counts in order)
    assert len({seen(*counts) for counts in order}) == len(order)
    assert wilson(0, 0) == (0.5, 1.0) and wilson(5, 5)[0] == pytest.approx(0.5)
    for wrong in [(-1, 0), (0, -1), (math.nan, 1)]:
        with pytest.raises(ValueError, match="expected counts from 0 up"):
            wilson(*wrong)


def test_wilson_is_the_interval_of_the_textbook():
    from scipy.stats import binomtest
    for plus, minus in [(0, 7), (3, 4), (50, 1)]:
        high = binomtest(plus, plus + minus).proportion_ci(0.90, "wilson").high  # two-sided 90 %: 95 % on each side
        assert wilson(plus, minus)[1] == pytest.approx(high, abs=1e-5)
