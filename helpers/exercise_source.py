"""Take the solutions out of the one notebook that holds everything, which leaves the exercises for readers.

A solution stands between the lines `# BEGIN SOLUTION` and `# END SOLUTION` of a cell tagged `exercise`; in its place
comes `return TODO`, or `name = TODO` after `# BEGIN SOLUTION name`. In Markdown, what stands between
`<!-- BEGIN SOLUTION -->` and `<!-- END SOLUTION -->` is left out. Left out here: executing either notebook.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from helpers.curriculum import NOTEBOOKS, CurriculumError

EXERCISES = NOTEBOOKS / "09_exercises.ipynb"
SOLUTIONS = NOTEBOOKS / "solutions" / EXERCISES.name
LINES = 10  # of an answer cell as a reader gets it
MARKER = re.compile(r"(?P<indent>[ ]*)(?:#|<!--)[ ]*(?P<edge>BEGIN|END)[ ]SOLUTION(?:[ ]+(?P<name>\w+))?\s*(?:-->)?\s*")


def stub(source: str, *, what: str = "the cell") -> str:
    """The text of a cell without its solutions; `what` names the cell in errors.

    >>> print(stub("def f(x):\\n    # BEGIN SOLUTION\\n    return 2 * x\\n    # END SOLUTION"))
    def f(x):
        return TODO  # your lines here

    Raises:
        CurriculumError: a marker without its counterpart, inside another pair, indented otherwise, or around nothing.
    """
    kept: list[str] = []
    opened: re.Match[str] | None = None
    inside = 0
    for number, line in enumerate(source.split("\n"), start=1):
        marker = MARKER.fullmatch(line)
        if marker is None:
            if "BEGIN SOLUTION" in line or "END SOLUTION" in line:
                raise CurriculumError(f"{what}, line {number}: expected a marker alone on its line, got {line!r}")
            inside += 1
            kept += [line] * (opened is None)
            continue
        if (marker["edge"] == "BEGIN") != (opened is None):
            raise CurriculumError(f"{what}, line {number}: {line.strip()!r} has no counterpart; expected BEGIN "
                                  "SOLUTION and END SOLUTION in turn")
        if opened is None:
            opened, inside = marker, 0
            kept += _place_for_an_answer(marker)
            continue
        if marker["indent"] != opened["indent"] or not inside:
            raise CurriculumError(f"{what}, line {number}: expected END SOLUTION indented like its BEGIN, after at "
                                  "least one line")
        opened = None
    if opened is not None:
        raise CurriculumError(f"{what}: the line {opened[0].strip()!r} has no counterpart; add END SOLUTION")
    return "\n".join(kept)


def _place_for_an_answer(begin: re.Match[str]) -> list[str]:
    if "<!--" in begin[0]:
        return []
    answer = f"{begin['name']} = TODO  # your answer here" if begin["name"] else "return TODO  # your lines here"
    return [begin["indent"] + answer]


def without_solutions(solutions: dict, earlier: dict | None = None) -> dict:
    """The notebook for readers, as a dict like `solutions`, which holds what is in the notebook with the solutions.

    A code cell that is as it was in `earlier` keeps its outputs from there; the others have none.

    Raises:
        CurriculumError: an exercise without a solution, a solution elsewhere, or an answer cell of over LINES lines.
    """
    stored = {(cell.get("id"), _text(cell)): cell for cell in (earlier or {}).get("cells", [])}
    cells = [_cell(cell, stored) for cell in solutions["cells"]]
    return solutions | {"cells": cells}


def _cell(cell: dict, stored: dict) -> dict:
    what = f"cell {cell.get('id')}"
    before = _text(cell)
    text = stub(before, what=what)
    if cell["cell_type"] == "code":
        exercise = "exercise" in cell["metadata"].get("tags", [])
        if exercise != (text != before):
            raise CurriculumError(f"{what}: expected a solution between markers in each cell tagged `exercise`, and "
                                  "in no other code cell")
        if exercise and len(text.splitlines()) > LINES:
            raise CurriculumError(f"{what}: a reader gets {len(text.splitlines())} lines, expected at most {LINES}; "
                                  "move code to helpers/ or text to the task")
        same = stored.get((cell.get("id"), text), {})
        cell = cell | {"outputs": same.get("outputs", []), "execution_count": same.get("execution_count")}
    return cell | {"source": text.rstrip("\n").splitlines(keepends=True)}


def _text(cell: dict) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def write_exercises(solutions: Path = SOLUTIONS, exercises: Path = EXERCISES) -> bool:
    """Write the notebook for readers from the one with the solutions; whether anything changed."""
    earlier = exercises.read_text(encoding="utf-8") if exercises.exists() else "{}"
    notebook = without_solutions(json.loads(solutions.read_text(encoding="utf-8")), json.loads(earlier))
    text = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    if text == earlier:
        return False
    part = exercises.with_suffix(".part")
    part.write_text(text, encoding="utf-8", newline="\n")
    part.replace(exercises)
    return True
