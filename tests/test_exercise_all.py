"""What holds for every exercise of the notebook: examples, wrong answers with their messages, and a half-done run."""

import json
import re

import nbformat
import pytest
import test_exercise_belt as belt
import test_exercise_capstone as capstone
import test_exercise_causes as causes
import test_exercise_embedder as embedder
import test_exercise_lessons as lessons
import test_exercise_memory as memory
import test_exercise_worth as worth
from exercise_answers import NUMBERS, examples, failed, outcome, with_solutions

from helpers.exercise_source import EXERCISES, SOLUTIONS
from helpers.exercises import MIME
from helpers.fresh_kernel import execute_one
from helpers.jobs import Job

# By exercise: its check, and what the check is given in each of the wrong answers that the tests beside it explain.
WRONG = {
    1: (embedder.check_embedder, [(answer,) for answer, *_ in embedder.WRONG]),
    2: (memory.check_lru, [(answer,) for answer, _ in memory.WRONG_LRU]),
    3: (lessons.check_domains, [*((search, lessons.CONCLUDE) for search, _ in lessons.WRONG_SEARCH),
                                *((lessons.SEARCH, conclude) for conclude, _ in lessons.WRONG_CONCLUSION)]),
    4: (lessons.check_teach, [(teach,) for teach, *_ in lessons.WRONG_LESSON]),
    5: (worth.check_judge, [(judge,) for judge, _ in worth.WRONG_JUDGE]),
    6: (worth.check_fade, [*(((fade, worth.RIGHT),) for fade, _ in worth.WRONG_FADE),
                           *(((worth.faded(), gamma),) for gamma, _ in worth.WRONG_GAMMA)]),
    7: (causes.check_residual, [(answer,) for answer, _ in causes.WRONG_RESIDUAL]),
    8: (causes.check_dropout, [*(((test, causes.NEEDED),) for test, _ in causes.WRONG_TEST),
                               *(((causes.z_test(causes.alone), needed),) for needed, _ in causes.WRONG_PLAN)]),
    9: (memory.check_store, [(pair,) for pair, *_ in memory.WRONG_STORE]),
    10: (belt.check_belt, [*(((way, belt.LETTERS.get),) for way, _ in belt.WRONG_WAY),
                           *(((belt.WAYS[0], (belt.LETTERS | {attack: letter}).get),)
                             for attack, letter, _ in belt.WRONG_LAYER)]),
    11: (capstone.check_policy, [(score,) for score, *_ in capstone.WRONG]),
}
SHOWN = re.compile(r"  ✘ (?P<call>.+)\n {6}got {7}\S[\s\S]*?\n {6}expected {2}\S.*(?P<why>(?:\n {6,}\S.*)*)")
ODD = frozenset(range(1, 12, 2))


def test_the_registry_has_every_exercise_of_the_notebook_and_three_wrong_answers_or_more():
    assert list(WRONG) == NUMBERS
    assert [number for number, (_, wrong) in WRONG.items() if len(wrong) < 3] == []
    heads = [cell.source for cell in nbformat.read(EXERCISES, as_version=4).cells if cell.source.startswith("## ")]
    assert [int(head.split()[1]) for head in heads if re.match(r"## \d+ · ", head)] == NUMBERS


@pytest.mark.parametrize(("number", "which"), [(n, i) for n, (_, wrong) in WRONG.items() for i in range(len(wrong))])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_wrong_answer_is_told_the_call_what_came_what_was_expected_and_why(number, which):
    check, wrong = WRONG[number]
    verdict = outcome(check, *wrong[which])
    assert (verdict.number, verdict.outcome) == (number, "wrong") and verdict.points < verdict.of
    told = list(SHOWN.finditer(verdict.message))
    assert len(told) == verdict.message.count("  ✘ ") >= 1, verdict.message
    calls = {part.call for part in check.__wrapped__(*wrong[which])}
    for part in told:
        assert part["call"] in calls and len(part["why"].split()) >= 5, verdict.message


@pytest.mark.parametrize("number", NUMBERS)
def test_the_examples_that_a_reader_sees_are_true_of_the_solution_and_not_of_the_stub(number):
    """In the names a reader has: those of the set-up and of the cells above the answer."""
    seen, solved = examples(EXERCISES, number), examples(SOLUTIONS, number)
    assert seen and [example.source for example in seen] == [example.source for example in solved]
    assert failed(SOLUTIONS, number) == []
    assert failed(EXERCISES, number)


@pytest.mark.parametrize("solved", [pytest.param(ODD, id="odd ones solved"), pytest.param(
    frozenset(NUMBERS) - ODD, id="even ones solved", marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore:'asyncio\\.:DeprecationWarning")  # papermill's, on Windows
def test_the_notebook_runs_to_its_end_when_half_is_done(solved, tmp_path):
    path = tmp_path / EXERCISES.name
    path.write_text(json.dumps(with_solutions(solved)), encoding="utf-8")
    run = execute_one(Job(notebook=path, output=tmp_path / "build"))
    assert (run.passed, run.problem) == (True, "")
    outputs = [output for cell in nbformat.read(tmp_path / "build" / path.name, as_version=4).cells
               for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]
    verdicts = {data[MIME]["number"]: data[MIME] for output in outputs if MIME in (data := output.get("data", {}))}
    assert list(verdicts) == NUMBERS
    for number, verdict in verdicts.items():
        wanted = ("right", verdict["of"]) if number in solved else ("not attempted", 0)
        assert (verdict["outcome"], verdict["points"]) == wanted, number
    table = [output.text for output in outputs if output.get("name") == "stdout"][-1]
    points = sum(verdict["points"] for verdict in verdicts.values())
    assert table.splitlines()[-1].split() == ["together", str(points), "of", "111"]
