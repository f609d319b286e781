"""The choice among similar lessons; filters, cap, worth and exploration are asked of both stores in the contract."""


import pytest
from memory_fakes import found

from helpers.memory import Lesson
from helpers.retrieval import Request, choose, whole

pytestmark = pytest.mark.usefixtures("quick_disk")


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
