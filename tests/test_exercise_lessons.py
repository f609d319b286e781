import numpy as np
import pytest
from exercise_answers import outcome, solution, stub

from helpers import exercise_lessons, exercise_recorded
from helpers.exercise_lessons import (
    OPPOSITE,
    SHELF,
    check_domains,
    check_teach,
    conclusion,
    domain_outcomes,
    lesson_outcomes,
    lesson_table,
    measured,
    status_note,
    taught,
    transfer_table,
)
from helpers.exercise_recorded import asked, bank, gain, lesson, nearest, told
from helpers.exercises import TODO
from helpers.prompts import task_messages
from helpers.stats import Difference, mcnemar, paired_difference

RIGHT_3 = tuple(solution(3)[name] for name in ("search_in_family", "conclude"))
RIGHT_4 = solution(4)["teach"]
SEARCH, CONCLUDE = RIGHT_3


def places(scores, shelf, family, exclude=""):
    return np.flatnonzero((shelf.families == family) & (shelf.sources != exclude))


# --- exercise 3 ---------------------------------------------------------------------------------------------------

def test_untouched_is_not_attempted_and_asks_nothing():
    exercise_recorded.recorded.cache_clear()
    verdict = outcome(check_domains, *(stub(3)[name] for name in ("search_in_family", "conclude")))
    assert (verdict.outcome, verdict.points, verdict.of) == ("not attempted", 0, 13)
    assert exercise_recorded.recorded.cache_info().misses == 0  # no transcript is read for nothing


def test_the_solution_of_exercise_3_is_right(no_sockets):
    verdict = outcome(check_domains, *RIGHT_3)
    assert (verdict.outcome, verdict.points) == ("right", verdict.of)


def test_half_an_answer_has_its_points():
    verdict = outcome(check_domains, SEARCH, stub(3)["conclude"])
    assert (verdict.outcome, verdict.points) == ("wrong", 6)


def in_numpy(scores, shelf, family, k, exclude=""):
    fits = places(scores, shelf, family, exclude)
    return fits[np.argsort(-scores[fits], kind="stable")[:k]]


def with_mcnemar(with_lesson, without):
    side = np.sign(np.mean(with_lesson) - np.mean(without))
    return "not shown" if mcnemar(with_lesson, without) > 0.05 else "helps" if side > 0 else "hurts"


def test_another_way_to_the_same_is_right_too():
    assert outcome(check_domains, in_numpy, with_mcnemar).outcome == "right"


def top_k_first(scores, shelf, family, k, exclude=""):
    fits = places(scores, shelf, family, exclude)
    return [i for i in np.argsort(-scores, kind="stable")[:k] if i in fits]


def turned_round(scores, shelf, family, k, exclude=""):
    fits = places(scores, shelf, family, exclude)
    return fits[np.argsort(scores[fits], kind="stable")[::-1][:k]]


def own_lesson_shown(scores, shelf, family, k, exclude=""):
    return in_numpy(scores, shelf, family, k)


def masked(scores, shelf, family, k, exclude=""):
    allowed = np.isin(np.arange(len(scores)), places(scores, shelf, family, exclude))
    return np.argsort(-np.where(allowed, scores, -np.inf), kind="stable")[:k]


def multiplied(scores, shelf, family, k, exclude=""):
    allowed = np.isin(np.arange(len(scores)), places(scores, shelf, family, exclude))
    return np.argsort(-(scores * allowed), kind="stable")[:min(k, allowed.sum())]


WRONG_SEARCH = [
    (top_k_first, "Filter first, then take the best k"),
    (turned_round, "ties go to the smaller place"),
    (own_lesson_shown, "showing it would be showing the answer"),
    (masked, "fewer than k is an answer"),
    (multiplied, "put lessons of other families"),
]


@pytest.mark.parametrize(("search", "says"), WRONG_SEARCH)
def test_a_wrong_search_is_told_why(search, says):
    verdict = outcome(check_domains, search, CONCLUDE)
    assert verdict.outcome == "wrong" and verdict.points < verdict.of
    assert says in " ".join(verdict.message.split())


def by_the_sign(with_lesson, without):
    return "helps" if np.mean(with_lesson) > np.mean(without) else "hurts"


def two_intervals(with_lesson, without):
    from helpers.stats import proportion_interval
    (low, high), (low_0, high_0) = (proportion_interval(int(sum(x)), len(x)) for x in (with_lesson, without))
    return "helps" if low > high_0 else "hurts" if high < low_0 else "not shown"


def from_zero_up(with_lesson, without):
    found = paired_difference(with_lesson, without, rng=np.random.default_rng(0))
    return "helps" if found.low >= 0 else "hurts" if found.high <= 0 else "not shown"


WRONG_CONCLUSION = [
    (by_the_sign, "the sign of the mean alone says nothing"),
    (two_intervals, "compare them pair by pair"),
    (from_zero_up, "above means above"),
    (lambda a, b: "helps", "a lesson can do harm"),
    (lambda a, b: True, "got True"),
]


@pytest.mark.parametrize(("conclude", "says"), WRONG_CONCLUSION)
def test_a_wrong_conclusion_is_told_why(conclude, says):
    verdict = outcome(check_domains, SEARCH, conclude)
    assert verdict.outcome == "wrong" and 6 <= verdict.points < verdict.of
    assert says in " ".join(verdict.message.split())


@pytest.mark.parametrize(("low", "high", "said"), [(0.01, 0.3, "helps"), (-0.1, 0.3, "not shown"),
                                                   (-0.3, 0.1, "not shown"), (-0.3, -0.01, "hurts")])
def test_the_interval_and_not_the_mean_decides(low, high, said):
    assert conclusion(Difference((low + high) / 2, low, high, 0.95, 5, 5)) == said


def test_a_search_that_raises_is_wrong_and_not_a_crash():
    verdict = outcome(check_domains, lambda scores, shelf, family, k: [], CONCLUDE)
    assert verdict.outcome == "wrong" and "unexpected keyword argument 'exclude'" in " ".join(verdict.message.split())


def test_lessons_without_a_recorded_answer_are_left_out_and_too_many_are_an_error():
    treated, control = domain_outcomes(SEARCH, own=True)
    assert treated.shape == control.shape == (58,) and len(asked()) == 60
    assert np.isfinite(treated).all() and np.isfinite(control).all()

    def least_similar(scores, *rest, **options):
        return SEARCH(-scores, *rest, **options)
    with pytest.raises(ValueError, match="60 lessons found have no recorded answer, so they are not the most similar"):
        domain_outcomes(least_similar, own=True)
    with pytest.raises(ValueError, match="expected one lesson of family empty_none for the problem largest, got 0"):
        domain_outcomes(lambda *a, **o: [], own=True)


def test_the_nearest_lessons_are_those_that_notebook_04_showed():
    for place in asked():
        own, other, near = nearest(place, True), nearest(place, False), nearest(place)
        assert bank()[own].family == bank()[place].family != bank()[other].family
        assert near in (own, other) and place not in (own, other)
    assert lesson(3).source == bank()[3].id


def test_the_table_of_domains(capsys):
    transfer_table(SEARCH)
    head, own, other = capsys.readouterr().out.splitlines()
    assert "difference" in head and own.split()[:4] == ["its", "own", "family", "58"]
    assert other.endswith(str(gain(*domain_outcomes(SEARCH, own=False))))


def test_a_table_never_stops_a_notebook(capsys):
    untouched = stub(3)["search_in_family"], stub(4)["teach"]
    capsys.readouterr()  # what the set-up cell prints
    transfer_table(untouched[0])
    transfer_table(lambda *a, **o: [])
    lesson_table(untouched[1])
    lesson_table(lambda problem: None)
    told(lambda: 1 / 0)
    first, second, third, fourth, fifth = capsys.readouterr().out.splitlines()
    assert first == third == "no table yet: the answer is not attempted"
    assert second.startswith("no table: ValueError: expected one lesson of family")
    assert fourth.startswith("no table: TypeError:") and fifth == "no table: ZeroDivisionError: division by zero"


# --- exercise 4 ---------------------------------------------------------------------------------------------------

def test_exercise_4_untouched_and_solved(no_sockets):
    verdict = outcome(check_teach, stub(4)["teach"])
    assert (verdict.outcome, verdict.points, verdict.of) == ("not attempted", 0, 7)
    verdict = outcome(check_teach, RIGHT_4)
    assert (verdict.outcome, verdict.points) == ("right", 7)


def changed(note=None, roles=("user", "assistant"), question="{question}", answer="{answer}"):
    """A lesson that differs from the right one in what is given."""
    def teach(problem):
        right, turns = RIGHT_4(problem)
        texts = [question.format(question=turns[0]["content"], text=problem.text),
                 answer.format(answer=turns[1]["content"], code=problem.solution, instruction=problem.instruction)]
        line = right if note is None else note.format(text=problem.text, code=problem.solution)
        return line, [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
    return teach


WRONG_LESSON = [
    (changed(note="- {text}: failure after 1 attempt, 0 of 3 tests pass"), "How an attempt ended is no advice", 5),
    (changed(note="- {text}: {code}"), "what to do (`problem.instruction`)", 5),
    (changed(roles=("assistant", "user")), "the user asked, and the assistant answered", 3),
    (changed(roles=("system", "assistant")), "an earlier turn of the conversation", 3),
    (changed(question="{text}"), "a new line, and 'Reply only with Python code.'", 3),
    (changed(answer="{code}"), "three backticks with the word python", 3),
    (changed(answer="{answer}\n"), "and nothing else", 3),
    (changed(answer="```python\n{instruction}\n```"), "the reviewed `problem.solution`", 3),
    (lambda problem: RIGHT_4(problem)[0], "expected two things, a note and a list of messages, got '- Write", 0),
    (lambda problem: changed(answer="{answer}" if problem.id == "get_max" else "{answer}\n")(problem),
     'and later …)\\n```\\n"]]] in place of …)\\n```"]]]', 4),
    (lambda problem: RIGHT_4(bank()[[p.id for p in bank()].index("get_max")]), "The same for another problem", 4),
]


@pytest.mark.parametrize(("teach", "says", "points"), WRONG_LESSON)
def test_a_wrong_lesson_is_told_why(teach, says, points):
    verdict = outcome(check_teach, teach)
    assert (verdict.outcome, verdict.points) == ("wrong", points)
    assert says in " ".join(verdict.message.split())


def test_a_lesson_in_other_words_has_no_recorded_answer():
    other = changed(question="{question} Please.")
    assert measured(other) == "no recorded answer to 60 of 60 prompts"
    message = " ".join(outcome(check_teach, other).message.split())
    assert "A lesson told in other words may well teach, but a model would have to be asked" in message


def test_what_a_lesson_is_worth_is_what_notebook_04_recorded(capsys):
    arms = lesson_outcomes(RIGHT_4)
    assert list(arms) == ["no lesson", "status line", "your note", "your worked example"]
    assert all(np.isfinite(values).all() and values.size == 60 for values in arms.values())
    assert set(lesson_outcomes()) == {"no lesson", "status line"}
    assert measured(RIGHT_4).low > 0 and measured(lambda problem: TODO) is TODO
    lesson_table(RIGHT_4)
    lines = capsys.readouterr().out.splitlines()
    assert lines[4].endswith(str(gain(arms["your worked example"], arms["no lesson"])))
    lesson_table(changed(question="{question} Please."))
    assert capsys.readouterr().out.splitlines()[4].endswith("no recorded answer to 60 of them")


def test_the_note_and_the_turns_are_those_of_the_prompts_of_notebook_04():
    problem = next(p for p in bank() if p.id == "get_max")
    note, turns = taught(problem)
    assert note == f"- {problem.text}: Put the result in a dict: `return {{'value': result}}`."
    assert [turn["role"] for turn in turns] == ["user", "assistant"]
    other = bank()[0]
    shown = [lesson(bank().index(problem))]
    assert exercise_lessons.with_note(other, note) == task_messages(other, shown, "instruction")
    assert [*turns, *task_messages(other)] == task_messages(other, shown)
    assert status_note(problem).startswith(f"- {problem.text}: ")
    assert "after 1 attempt" in status_note(problem)


def test_an_array_of_scores_can_be_turned_round():
    assert SEARCH(OPPOSITE, SHELF, "sums", 1) == [4]
