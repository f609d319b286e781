"""The controls: lessons by lot, and the nearest lessons of a wrong family; never one of the problem itself."""

import math

import pytest

from helpers.controls import RandomLesson, WrongFamily
from helpers.embeddings import BagOfWords
from helpers.memory import VectorMemory
from helpers.problems import load_problems

PROBLEMS = {problem.id: problem for problem in load_problems()}
FAMILIES = {problem.id: problem.family for problem in PROBLEMS.values()}


@pytest.fixture
def memory(tmp_path) -> VectorMemory:
    memory = VectorMemory(tmp_path / "m.jsonl", BagOfWords())
    for problem in list(PROBLEMS.values())[:20]:
        memory.add(problem.text, "note", code=problem.solution, source=problem.id, family=problem.family)
    return memory


def test_a_random_lesson_is_never_the_problems_own_and_every_other_one_can_come(memory) -> None:
    own = next(iter(PROBLEMS))
    drawn = {RandomLesson(memory, draw).search("any words", 1, exclude=own)[0].lesson.source for draw in range(300)}
    assert drawn == set(list(PROBLEMS)[1:20])


def test_one_draw_gives_one_question_the_same_lessons_and_another_draw_others(memory) -> None:
    def sources(draw: int, query: str) -> list[str]:
        return [hit.lesson.source for hit in RandomLesson(memory, draw).search(query, 5)]

    assert sources(3, "one") == sources(3, "one")
    assert len({tuple(sources(draw, "one")) for draw in range(5)}) == 5
    assert sources(3, "one") != sources(3, "two")
    assert len(set(sources(3, "one"))) == 5  # distinct


def test_a_random_lesson_has_no_score_and_an_empty_memory_says_why(memory, tmp_path) -> None:
    assert math.isnan(RandomLesson(memory).search("any", 1)[0].score)
    nothing = RandomLesson(VectorMemory(tmp_path / "empty.jsonl", BagOfWords())).search("any", 1)
    assert nothing == []
    assert nothing.reason == "there is no lesson of another problem"


def test_the_wrong_family_is_the_most_similar_one_that_is_not_the_right_one(memory) -> None:
    problem = next(iter(PROBLEMS.values()))
    hits = WrongFamily(memory, FAMILIES).search(problem.text, 2, exclude=problem.id)
    ranked = memory.search(problem.text, 20, exclude=problem.id)
    assert any(hit.lesson.family == problem.family for hit in ranked[:1])  # it was passed over
    assert [h.lesson.id for h in hits] == [h.lesson.id for h in ranked if h.lesson.family != problem.family][:2]


def test_a_problem_of_unknown_family_is_an_error(memory) -> None:
    with pytest.raises(KeyError, match="nobody"):
        WrongFamily(memory, FAMILIES).search("words", 1, exclude="nobody")
