"""From solutions to exercises: what is left is the same every time, and the two committed notebooks agree."""

import json

import nbformat
import pytest

from helpers.curriculum import CurriculumError
from helpers.exercise_source import EXERCISES, SOLUTIONS, stub, without_solutions, write_exercises
from helpers.exercises import MIME
from helpers.fresh_kernel import execute_one
from helpers.jobs import Job

pytestmark = pytest.mark.filterwarnings("ignore:'asyncio\\.:DeprecationWarning")  # papermill's, on Windows
BEGIN, END = "    # BEGIN SOLUTION", "    # END SOLUTION"
ANSWER = f'def f(x):\n    """Twice x."""\n{BEGIN}\n    y = x\n    return y + x\n{END}'


def cell(text: str, **changes: object) -> dict:
    """An answer cell with its solution."""
    return {"cell_type": "code", "id": "answer-01", "metadata": {"tags": ["exercise", "answer-01"]}, "source": text,
            "outputs": [], "execution_count": 7} | changes


@pytest.mark.parametrize(("source", "left"), [
    (ANSWER, 'def f(x):\n    """Twice x."""\n    return TODO  # your lines here'),
    ("# BEGIN SOLUTION gamma\ngamma = 0.9\n# END SOLUTION\nprint(gamma)",
     "gamma = TODO  # your answer here\nprint(gamma)"),
    (f"class A:\n{BEGIN} x\n    x = 1\n{END}\n{BEGIN} y\n    y = 2\n{END}",
     "class A:\n    x = TODO  # your answer here\n    y = TODO  # your answer here"),
    ("Words.\n\n<!-- BEGIN SOLUTION -->\n**Solved.**\n<!-- END SOLUTION -->", "Words.\n"),
    ("nothing to take out", "nothing to take out")])
def test_a_solution_becomes_a_place_for_an_answer(source, left):
    assert stub(source) == left


@pytest.mark.parametrize(("lines", "told"), [
    ([BEGIN, "    x"], "add END SOLUTION"), (["x", END], "has no counterpart"), ([BEGIN, "x", BEGIN, END], "line 3"),
    ([BEGIN, "x", END, END], "line 4"), ([BEGIN, END], "at least one line"), ([BEGIN, "x", END + "S"], "alone on its"),
    ([BEGIN, "x", "# END SOLUTION"], "indented like its BEGIN"),
    (["x = 1  # BEGIN SOLUTION", "y", END], "alone on its")])
def test_markers_that_do_not_pair_are_refused(lines, told):
    with pytest.raises(CurriculumError, match=r"answer-03.*" + told):
        stub("\n".join(lines), what="answer-03")


def test_outputs_of_cells_that_stayed_the_same_are_kept_and_others_dropped():
    same = cell("print(1)", id="setup", metadata={})
    solutions = {"cells": [cell(ANSWER), same], "metadata": {"a": 1}}
    earlier = {"cells": [cell("other", outputs=["old"]), same | {"outputs": ["1"], "execution_count": 2}]}
    first, second = without_solutions(solutions, earlier)["cells"]
    assert (first["outputs"], first["execution_count"]) == ([], None)
    assert (second["outputs"], second["execution_count"]) == (["1"], 2)
    assert without_solutions(solutions)["metadata"] == {"a": 1}
    assert without_solutions(solutions)["cells"][1]["outputs"] == []


@pytest.mark.parametrize(("spoilt", "told"), [
    (cell("def f(x): return x"), "expected a solution between markers"),
    (cell(ANSWER, metadata={}), "in no other code"),
    (cell("# a\n" * 8 + ANSWER), "a reader gets 11 lines, expected at most 10")])
def test_an_exercise_that_is_none_or_too_long_is_refused(spoilt, told):
    with pytest.raises(CurriculumError, match="cell answer-01: .*" + told):
        without_solutions({"cells": [spoilt]})


def test_writing_twice_gives_the_same_bytes_and_says_so(tmp_path):
    solutions, exercises = tmp_path / "solutions.ipynb", tmp_path / "09.ipynb"
    solutions.write_text(json.dumps({"cells": [cell(ANSWER)], "metadata": {}}), encoding="utf-8")
    assert write_exercises(solutions, exercises) is True
    first = exercises.read_bytes()
    assert write_exercises(solutions, exercises) is False
    assert exercises.read_bytes() == first and b"y = x" not in first and not list(tmp_path.glob("*.part"))


def test_wrong_answers_stop_no_run(tmp_path):
    """Untouched and solved, the notebook is run by `course verify`; here every answer is None."""
    notebook = json.loads(EXERCISES.read_text(encoding="utf-8"))
    for item in notebook["cells"]:
        if "exercise" in item["metadata"].get("tags", []):
            item["source"] = [line.replace("TODO", "None") for line in item["source"]]
    path = tmp_path / EXERCISES.name
    path.write_text(json.dumps(notebook), encoding="utf-8")
    run = execute_one(Job(notebook=path, output=tmp_path / "build"))
    assert (run.passed, run.problem) == (True, "")
    verdicts = [output.data[MIME] for item in nbformat.read(tmp_path / "build" / path.name, as_version=4).cells
                for output in item.get("outputs", []) if MIME in output.get("data", {})]
    assert [verdict["number"] for verdict in verdicts] == list(range(1, 12))
    assert {verdict["outcome"] for verdict in verdicts} == {"wrong"}


def test_the_committed_notebooks_agree_cell_by_cell():
    """What fails here is mended by `course exercises`; solutions are only ever edited in notebooks/solutions/."""
    solutions, exercises = (json.loads(path.read_text(encoding="utf-8")) for path in (SOLUTIONS, EXERCISES))
    made = without_solutions(solutions, exercises)
    assert [item["id"] for item in exercises["cells"]] == [item["id"] for item in made["cells"]]
    for ours, theirs in zip(exercises["cells"], made["cells"], strict=True):
        assert ours == theirs, ours["id"]
    assert exercises["metadata"] == made["metadata"]
    assert "SOLUTION" not in EXERCISES.read_text(encoding="utf-8")
