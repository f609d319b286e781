"""The choice among similar lessons: filters, cap, worth, exploration."""


import numpy as np
import pytest
from memory_fakes import Exact, filled, found

from helpers.memory import Lesson, VectorMemory
from helpers.retrieval import Request, choose, whole

pytestmark = pytest.mark.usefixtures("quick_disk")


def test_filters_come_first_and_then_the_top_k(path):
    memory = VectorMemory(path, Exact())
    for number in range(50):
        memory.add("0.9", "loud", family="other", source=f"q{number}")
    memory.add("0.2", "quiet", family="mine", source="p1")
    memory.add("0.1", "quieter", family="mine", source="p2")
    assert found(memory.search("query", 2, family="mine")) == [51, 52]
    assert found(memory.search("query", 2, exclude=[f"q{number}" for number in range(50)])) == [51, 52]
    assert found(memory.search("query", 2, family="mine", exclude="p1")) == [52]
    assert found(memory.search("query", 2, family="mine", exclude=("p2", "p1"))) == []
    assert found(memory.search("query", 2, family="")) == []


def test_exclude_takes_a_string_for_one_name(path):
    memory = VectorMemory(path, Exact())
    for source in ("p", "1", "p1", ""):
        memory.add("0.5", "lesson", source=source)
    assert found(memory.search("query", 9, exclude="p1")) == [1, 2, 4]
    assert found(memory.search("query", 9, exclude={"p", ""})) == [2, 3]
    for wrong in (5, [5], None):
        with pytest.raises(TypeError):
            memory.search("query", exclude=wrong)


def test_fifty_failures_of_one_task_do_not_fill_the_answer(path):
    memory = VectorMemory(path, Exact())
    for number in range(50):
        memory.add("0.99", f"paraphrase {number}", source="one task")
    for number in range(5):
        memory.add("0.3", f"other {number}", source=f"task {number}")
    assert [hit.lesson.source for hit in memory.search("query", 5)] == ["one task"] * 2 + ["task 0", "task 1", "task 2"]
    assert [hit.lesson.source for hit in memory.search("query", 3, max_per_source=1)][:2] == ["one task", "task 0"]
    assert found(memory.search("query", 5, max_per_source=None)) == [1, 2, 3, 4, 5]


def test_min_worth_leaves_out_what_was_shown_bad_and_nothing_untried(path):
    memory = filled(path, "0.9", "0.8", "0.7")
    for number in range(9):
        memory.record(f"e{number}", [1], "failure")
    memory.record("once", [2], "failure")
    assert found(memory.search("query", min_worth=0.5)) == [2, 3]  # 0 of 1 is no proof, 0 of 0 none at all
    assert found(memory.search("query", min_worth=0.8)) == [3]
    assert found(memory.search("query")) == [1, 2, 3]


def test_with_rng_a_lesson_beyond_the_top_k_gets_its_trial(path):
    memory = filled(path, "0.9", "0.8", "0.7", "0.6", "0.5")
    for number in range(3):
        memory.record(f"first {number}", [1, 2, 3], "success")
    assert all(found(memory.search("query")) == [1, 2, 3] for _ in range(20))  # without rng: never
    rng, tried = np.random.default_rng(0), []
    for number in range(3):
        hits = memory.search("query", rng=rng)
        tried.append(found(hits))
        memory.record(f"then {number}", found(hits), "success")
    assert {row[2] for row in tried[:2]} == {4, 5} and [row[:2] for row in tried] == [[1, 2]] * 3
    assert found(VectorMemory(path, Exact()).search("query", 4, rng=rng)) == [1, 2, 3, 4]
    memory.add("0.95", "new, and at the top by itself")
    memory.add("0.1", "new, and last")
    assert {tuple(found(memory.search("query", 2, rng=rng))) for _ in range(20)} == {(6, 1)}  # 6 has its trial already
    assert tried[2] == [1, 2, 3]  # once all were tried, exploration is over
    assert found(memory.search("query", 1, exclude="", rng=rng)) == []  # filters hold here too
    assert found(VectorMemory(memory.path, Exact()).search("query", 9, rng=rng)) == [6, 1, 2, 3, 4, 5, 7]


def test_exploration_keeps_threshold_family_and_cap(path):
    memory = VectorMemory(path, Exact())
    for spec, source in [("0.9", "a"), ("0.8", "a"), ("0.7", "a"), ("0.01", "b"), ("0.6", "c")]:
        memory.add(spec, "text", source=source, family="" if source == "c" else "f")
    memory.record("e", [1, 2], "success")
    for seed in range(20):
        assert found(memory.search("query", 2, family="f", rng=np.random.default_rng(seed))) in ([1, 3],)
        assert found(memory.search("query", 2, family="f", max_per_source=1, rng=np.random.default_rng(seed))) == [3]


def test_choose_looks_further_until_k_pass():
    lessons = {i: Lesson(i, "", "t", source="near" if i < 90 else f"far{i}") for i in range(100)}
    asked = []

    def best(m):
        asked.append(m)
        return [(1 - i / 100, i) for i in range(m)]
    hits = choose(Request.of(3, exclude="near"), lessons, best, 100)
    assert found(hits) == [90, 91, 92] and asked == [8, 64, 100]
    assert found(choose(Request.of(3, 0.97), lessons, best, 100)) == [0, 1] and asked[3:] == [8]
    with pytest.raises(TypeError, match="n: expected a whole number, got 'x'"):
        whole("n", "x", 0)
