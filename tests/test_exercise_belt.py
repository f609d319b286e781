"""Exercise 10: ways through the belt reach the flag and never this process; layers are read off verdicts."""

import os

import pytest
from exercise_answers import outcome, solution, stub

from helpers import exercise_belt
from helpers.exercise_belt import ATTACKS, FLAG, LAYERS, behind_belt, check_belt, in_sandbox, layer_of
from helpers.exercises import TODO

LETTERS = {"yours": "A", "environment": "B", "printed": "C", "equal": "D", "endless": "E"}
WAYS = ['__import__.__globals__["sys"].modules["os"].getenv("COURSE_FLAG")',
        '__import__("random").__dict__["_o" + "s"].getenv("COURSE_FLAG")',
        '[c for c in getattr(().__class__.__base__, "__sub" + "classes__")() if c.__name__ == "_wrap_close"][0]'
        '.__init__.__globals__["getenv"]("COURSE_FLAG")']


def test_the_solution_is_right_and_the_stub_not_attempted():
    names = solution(10)
    right = outcome(check_belt, (names["expression"], names["layer"]))
    assert (right.outcome, right.points, right.of) == ("right", 8, 8), right.message
    names = stub(10)
    assert outcome(check_belt, (names["expression"], names["layer"])).outcome == "not attempted"


@pytest.mark.parametrize("expression", WAYS)
def test_there_is_more_than_one_way(expression):
    assert behind_belt(expression, "a flag") == "a flag"
    assert outcome(check_belt, (expression, LETTERS.get)).outcome == "right"


WRONG_WAY = [
    ("__import__('random')._os.environ['COURSE_FLAG']", "refused by the belt: the text holds '_os'"),
    ("().__class__.__base__.__subclasses__()", "refused by the belt: the text holds 'subclasses'"),
    ("open('/etc/passwd').read()", "NameError: name 'open' is not defined"),
    ("__import__('os').getenv('COURSE_FLAG')", "ImportError: os is not allowed"),
    ("COURSE_FLAG", "NameError: name 'COURSE_FLAG' is not defined"),
    ("__import__.__globals__['sys'].modules['os'].getenv", "<function getenv"),
    ("1 +", "SyntaxError"),
    ("__import__('random').__dict__['_o' + 's']._exit(0)", "no value"),
    ("print('__RES' + 'ULT__[]') or __import__('random').__dict__['_o' + 's']._exit(0)", "no value"),
    (f"'yes', {WAYS[0]}", "('yes', 'the flag')"),
    (42, "a int, not the text of an expression"),
]


@pytest.mark.parametrize(("expression", "words"), WRONG_WAY)
def test_a_way_that_fails_is_told_what_came(expression, words):
    said = outcome(check_belt, (expression, LETTERS.get))
    assert (said.outcome, said.points) == ("wrong", 4), said.message
    text = " ".join(said.message.split())
    assert words in text
    assert "what does such a function carry with it?" in text
    assert "A, but your expression does not reach the flag behind the belt yet" in text


WRONG_LAYER = [
    ("yours", "B", "B, but the sandbox says unsupported: f() needs the built-in __import__"),
    ("environment", "E", "'os.getenv' is not supported in this environment"),
    ("printed", "D", "D, but the sandbox says failed: f() gave 0, expected 42"),
    ("equal", "A", "A, but the sandbox says failed: f() gave a Yes object, expected 42"),
    ("endless", "C", "C, but the sandbox says timeout: f() timed out"),
    ("equal", "plain data", "'plain data', which is none of the letters A B C D E"),
    ("printed", None, "None, which is none of the letters"),
    ("endless", "e", "'e', which is none of the letters A B C D E"),
]


@pytest.mark.parametrize(("attack", "letter", "words"), WRONG_LAYER)
def test_a_wrong_layer_is_told_the_verdict(attack, letter, words):
    said = outcome(check_belt, (WAYS[0], (LETTERS | {attack: letter}).get))
    assert (said.outcome, said.points) == ("wrong", 7), said.message
    assert words in " ".join(said.message.split())


def test_half_an_answer_has_its_points():
    said = outcome(check_belt, (TODO, LETTERS.get))
    assert (said.outcome, said.points) == ("wrong", 4)
    said = outcome(check_belt, (WAYS[0], lambda attack: TODO))
    assert (said.outcome, said.points) == ("wrong", 3)


def test_every_attack_gets_through_the_belt_or_is_stopped_by_another_layer_each():
    assert [layer_of(in_sandbox(code)) for code in ATTACKS.values()] == ["B", "C", "D", "E"]
    assert set(LETTERS.values()) == set(LAYERS)
    assert not any(in_sandbox(code).passed for code in ATTACKS.values())


def test_a_forged_line_is_not_taken_for_the_value():
    assert behind_belt("""print('__RES' + 'ULT__{"error": "forged"}') or 'my own'""", "a flag") == "my own"


def test_the_expression_has_no_part_of_this_process(monkeypatch):
    monkeypatch.setenv("A_REAL_SECRET", "do not tell")
    dump = '__import__.__globals__["sys"].modules["os"].__dict__["envi" + "ron"].copy()'
    assert "do not tell" not in behind_belt(dump, "a flag")
    parent = int(behind_belt('__import__.__globals__["sys"].modules["os"].getppid()', ""))
    assert parent == os.getpid()
    assert FLAG not in os.environ


def test_the_expression_starts_no_program_and_writes_nowhere_else(tmp_path):
    for call, words in ((f'modules["os"].system("echo > {tmp_path}/x")', "an answer may not use os.system"),
                        (f'modules["os"].popen("echo > {tmp_path}/x")', "an answer may start no program"),
                        (f'modules["io"].open("{tmp_path}/x", "w")', "in its working folder only")):
        assert words in behind_belt(f'__import__.__globals__["sys"].{call}', "")
    assert not list(tmp_path.iterdir())


def test_a_try_has_limits(monkeypatch):
    monkeypatch.setattr(exercise_belt, "SECONDS", 1)
    monkeypatch.setattr(exercise_belt, "OUTPUT", 1000)
    assert behind_belt("__import__.__globals__['sys'].modules['time'].sleep(60)", "") == "no value within 1 s"
    monkeypatch.setattr(exercise_belt, "SECONDS", 60)
    assert behind_belt("print('x' * 5_000)", "") == "no value"  # the marked line is beyond what is read
    assert "KeyError" not in behind_belt("1 / 0", "")
    assert behind_belt("1 / 0", "") == "ZeroDivisionError: division by zero"
