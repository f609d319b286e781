"""Forgetting: the order of each policy, what evidence says, the archive, the capacity."""

import math

import numpy as np
import pytest
from memory_fakes import Clock, Exact, filled, found, state

from helpers.eviction import POLICIES, check_policy, shown_worth, victims, wilson
from helpers.memory import Lesson, VectorMemory

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


def test_forgotten_is_archived_never_found_and_survives_compaction(path):
    memory = filled(path, "0.9", "0.8", "0.7", clock=Clock())
    memory.record("e", [1, 3], "success")
    assert memory.forget("fifo", 2) == [1, 2]
    memory.record("late", [1], "success")  # an episode that was on its way when the lesson went
    for handle in (memory, VectorMemory(path, Exact())):
        assert found(handle.search("query", 9, None)) == [3] and [lesson.id for lesson in handle] == [3]
        assert [(lesson.id, lesson.text, lesson.hits_plus) for lesson in handle.archived] == [
            (1, "lesson of 0.9", 2.0), (2, "lesson of 0.8", 0.0)]
    memory.compact()
    memory.compact()
    assert state(VectorMemory(path, Exact())) == state(memory)
    assert [lesson.text for lesson in memory.archived] == ["lesson of 0.9", "lesson of 0.8"]
    assert memory.forget("lru", 0) == [] and memory.forget("random", 99) == [3] and memory.forget("worth", 1) == []
    assert VectorMemory(path, Exact()).search("query").reason == "the memory is empty"
    for n, error in [(-1, ValueError), (1.5, TypeError)]:
        with pytest.raises(error, match="n: expected"):
            memory.forget("lru", n)
    with pytest.raises(ValueError, match="policy: expected one of"):
        memory.forget("oldest", 0)


@pytest.mark.parametrize("policy", ["fifo", "lru", "lfu", "worth", "random"])
def test_a_full_memory_gives_up_old_lessons_and_never_the_newcomer(path, policy):
    memory = VectorMemory(path, Exact(), capacity=3, policy=policy)
    for number in range(12):
        new = memory.add("0.5", f"lesson {number}")
        for lesson in memory:
            memory.record(f"{number} {lesson.id}", [lesson.id], "success")  # old ones look better than the newcomer
        assert new in memory and len(memory) == min(number + 1, 3)
    assert len(memory.archived) == 9 and state(VectorMemory(path, Exact())) == state(memory)
    only = VectorMemory(path.parent / "one.jsonl", Exact(), capacity=1, policy=policy)
    assert [only.add("0.5", "x") for _ in range(4)] == [lesson.id for lesson in only.archived] + [4]


def test_lru_and_lfu_over_an_add_and_a_restart(path):
    with VectorMemory(path, Exact(), capacity=2, policy="lru") as memory:
        memory.add("0.9", "A")
        memory.add("0.8", "B")
        memory.record("e", [1], "success")
    with VectorMemory(path, Exact(), capacity=2, policy="lru") as memory:
        memory.compact()  # keeps the order of use
        memory.add("0.7", "C")
        assert [lesson.text for lesson in memory] == ["A", "C"]
    with VectorMemory(path, Exact(), capacity=2, policy="lfu") as memory:
        memory.add("0.6", "D")
        assert [lesson.text for lesson in memory] == ["A", "D"]


def test_the_capacity_holds_on_every_write_path(path):
    filled(path, *["0.5"] * 6)
    small = VectorMemory(path, Exact(), capacity=3, policy="fifo")
    assert len(small) == 6  # opening writes nothing
    small.record("e", [6], "success")
    assert [lesson.id for lesson in small] == [4, 5, 6] and len(VectorMemory(path, Exact())) == 3
    big = VectorMemory(path, Exact())
    for _ in range(4):
        big.add("0.5", "x")
    small.delete(10)
    assert [lesson.id for lesson in small] == [7, 8, 9]
    big.add("0.5", "x")
    big.add("0.5", "x")
    assert small.forget("fifo", 1) == [7] and [lesson.id for lesson in small] == [9, 11, 12]
    with pytest.raises(ValueError, match="policy: expected one that says which lesson leaves a memory of capacity 2"):
        VectorMemory(path, Exact(), capacity=2)
    with pytest.raises(ValueError, match="capacity: expected 1 or more, got 0"):
        VectorMemory(path, Exact(), capacity=0, policy="lru")
    with pytest.raises(ValueError, match="policy: expected one of"):
        VectorMemory(path, Exact(), capacity=2, policy="LRU")
