"""The exercise checks: three outcomes, points for the parts that are right, and values compared with care."""

import copy
import math
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers import exercises
from helpers.exercise_seal import _sealer, signature
from helpers.exercise_values import agrees, shown, shown_beside
from helpers.exercises import MIME, TODO, NotAttempted, NotRight, Part, check, judge, points_table, results


@check(number=2, title="Doubling")
def check_double(answer):
    """Two calls of a function that doubles; the second is worth two points."""
    return [Part("double(2)", lambda: answer(2), 4),
            Part("double([1])", lambda: answer([1]), [1, 1], points=2, why="A list is doubled by repeating it.")]


@pytest.fixture(autouse=True)
def no_results(monkeypatch):
    """Each test begins as a fresh kernel does."""
    monkeypatch.setattr(exercises, "_results", {})


def test_a_right_answer_has_all_points(capsys):
    assert check_double(lambda x: x * 2) is None
    assert capsys.readouterr().out == "✔ 2 · Doubling: right, 3 of 3 points\n"
    verdict, = results()
    assert (verdict.number, verdict.outcome, verdict.points, verdict.of) == (2, "right", 3, 3)


def test_a_wrong_answer_shows_the_call_what_came_what_was_expected_and_why():
    verdict = check_double.verdict(lambda x: x * 2 if x == 2 else [2])
    assert (verdict.outcome, verdict.points) == ("wrong", 1)
    assert verdict.message.splitlines() == [
        "✘ 2 · Doubling: not right yet, 1 of 3 points", "  ✔ double(2)", "  ✘ double([1])",
        "      got       [2]", "      expected  [1, 1]", "      A list is doubled by repeating it."]


@pytest.mark.parametrize("answer", [
    TODO, lambda x: TODO, lambda x: [TODO], lambda x: (1, {"a": TODO}), lambda x: TODO + 1, lambda x: len(TODO),
    lambda x: np.array([TODO, 1]), lambda x: TODO.strip(), lambda x: list(TODO), lambda x: 1 if TODO > 2 else 0,
    lambda x: 5 - TODO, lambda x: TODO(x), lambda x: bool(TODO), lambda x: float(TODO), lambda x: 1 in TODO])
def test_whatever_is_done_with_todo_is_not_attempted(answer):
    verdict = check_double.verdict(answer)
    assert (verdict.outcome, verdict.points) == ("not attempted", 0)
    assert verdict.message == "– 2 · Doubling: not attempted yet, 0 of 3 points"


def test_half_an_answer_keeps_the_points_of_its_half():
    verdict = check_double.verdict(lambda x: 4 if x == 2 else TODO)
    assert (verdict.outcome, verdict.points) == ("wrong", 1)
    assert verdict.message.splitlines()[1:] == ["  ✔ double(2)", "  – double([1])"]


@pytest.mark.parametrize(("answer", "told"), [
    (lambda x: 1 / 0, "ZeroDivisionError: division by zero"), (lambda x: sys.exit(0), "SystemExit: 0"),
    (lambda x: Path("/nowhere/at/all").read_text(), "FileNotFoundError: [Errno 2] No such file or directory: '<"),
    (lambda x: (_ for _ in ()).throw(ValueError("one\ntwo")), "ValueError: one two"),
    (3, "TypeError: 'int' object is not")])
def test_an_error_of_the_answer_is_its_result(answer, told):
    message = check_double.verdict(answer).message
    assert f"got       {told}" in message and message.startswith("✘")


def test_an_interrupt_is_no_verdict():
    def interrupted(x):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        check_double.verdict(interrupted)


def test_what_is_accepted_is_told_in_words():
    parts = [Part("f()", lambda: 3, "an even number", accept=lambda got: got % 2 == 0)]
    assert "      expected  an even number" in judge(1, "Even", parts).message
    assert judge(1, "Even", [Part("f()", lambda: 4, "an even number", accept=lambda got: got % 2 == 0)]).points == 1


def test_a_value_that_cannot_be_accepted_or_compared_is_wrong():
    assert judge(1, "x", [Part("f()", lambda: None, "more", accept=lambda got: got > 2)]).outcome == "wrong"


def test_a_part_can_say_that_nothing_was_attempted():
    def nothing():
        raise NotAttempted
    assert judge(1, "x", [Part("f()", nothing, 1)]).outcome == "not attempted"


@pytest.mark.parametrize("parts", [[], [Part("f()", lambda: 1, 1, points=0)]])
def test_a_check_without_points_is_refused(parts):
    with pytest.raises(ValueError, match="exercise 7: expected parts of at least one point each"):
        judge(7, "x", parts)


def test_strict_turns_a_wrong_answer_into_an_error_and_nothing_else(monkeypatch):
    monkeypatch.setenv("COURSE_STRICT", "1")
    check_double(lambda x: x * 2)
    check_double(TODO)
    with pytest.raises(NotRight, match="not right yet, 1 of 3 points"):
        check_double(lambda x: 4)


def test_the_last_verdict_counts_and_the_table_adds_up():
    check_double(TODO)
    check_double(lambda x: 4)
    check(number=1, title="One")(lambda answer: [Part("1", lambda: 1, 1)])(None)
    assert points_table().splitlines() == ["✔ 1 · One         1 of   1", "✘ 2 · Doubling    1 of   3",
                                           "together          2 of   4"]


def test_without_any_check_the_table_is_empty_and_no_error():
    assert points_table() == "together    0 of   0"


def test_in_a_notebook_the_verdict_is_text_and_data(monkeypatch):
    sent = []
    monkeypatch.setattr(exercises, "get_ipython", lambda: object())
    monkeypatch.setattr(exercises, "display", lambda data, raw: sent.append((data, raw)))
    check_double(TODO)
    assert sent == [({"text/plain": "– 2 · Doubling: not attempted yet, 0 of 3 points", MIME: {
        "number": 2, "title": "Doubling", "outcome": "not attempted", "points": 0, "of": 3}}, True)]


def test_todo_stays_itself_and_shows_its_name():
    assert pickle.loads(pickle.dumps(TODO)) is copy.deepcopy(TODO) is TODO
    assert repr([TODO]) == "[TODO]" and TODO == TODO and TODO != 1
    assert not hasattr(TODO, "_repr_html_")


def test_a_seal_needs_the_key_and_is_withheld_once_the_course_was_changed():
    seal, begin = _sealer()
    assert seal({"points": 1}) == {"points": 1}
    state = [True]
    begin(b"key", lambda: state[0])
    assert seal({"points": 1})["seal"] == signature({"points": 1}, b"key") != signature({"points": 2}, b"key")
    state[0] = False
    assert seal({"points": 1}) == {"points": 1}
    with pytest.raises(RuntimeError, match="start another kernel"):
        begin(b"another", bool)


class AlwaysEqual:
    """Says that it equals everything."""

    def __eq__(self, other):
        return True

    __hash__ = None


@pytest.mark.parametrize(("got", "expected", "same"), [
    (1, 1.0, True), (1, 2, False), (True, 1, False), (1, True, False), (np.float64(0.3), 0.1 + 0.2, True),
    (10**20, 10**20 + 1, False), (math.nan, math.nan, True), (math.inf, math.inf, True), (0.0, 1e-12, True),
    ("a", "a", True), (np.int64(3), 3, True), (np.array(3), 3, True), (None, None, True), (0, None, False),
    ([1], (1,), False), ([1, 2], [1], False), ({"a": [0.1 + 0.2]}, {"a": [0.3]}, True), ({"a": 1}, {"b": 1}, False),
    ({1, 2}, {2, 1}, True), ({True}, {1}, False), ({True: 1}, {1: 1}, False),
    ([1, 2], np.array([1.0, 2.0]), True), (np.array([1, 2]), [1, 2], True),
    (np.array([[1, 2]]), np.array([1, 2]), False), ([[1], [2, 3]], np.array([1, 2]), False), (3, np.array([3]), False),
    (np.array([True]), np.array([1]), False), (np.array(["a"]), np.array(["a"]), True),
    (np.array([math.nan]), np.array([math.nan]), True), (AlwaysEqual(), 3, False),
    (AlwaysEqual(), np.array([3]), False)])
def test_values_agree_when_a_reader_would_say_so(got, expected, same):
    assert agrees(got, expected) is same


class Unshowable:
    """Cannot be written down."""

    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(("value", "text"), [
    ("a\nb", "'a\\nb'"), (np.arange(3), "array([0, 1, 2])"), ([object()], "[<object object>]"),
    (np.float32(0.5), "0.5"), ({"a": (np.float64(0.5), [np.int64(2)])}, "{'a': (0.5, [2])}"),
    (Unshowable(), "a Unshowable that cannot be shown (RuntimeError)")])
def test_values_are_shown_on_one_line_without_addresses(value, text):
    assert shown(value) == text


def test_values_that_differ_late_are_told_where():
    assert shown_beside([1, 2], [1, 3]) == "[1, 2]" and shown_beside("x" * 300, "x" * 300) == shown("x" * 300)
    assert shown_beside("x" * 300 + "1", "x" * 300 + "22").endswith("…, and later …xxxxxx1' in place of …xxxxxx22'")
    assert shown_beside("x" * 300, "x" * 301).endswith("in place of …xxxxxxx'")


def test_long_values_are_cut():
    assert len(shown(list(range(1000)))) == len(shown(np.eye(60))) == 200
